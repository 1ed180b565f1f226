/* What standard input is, for tools that also read recordings there. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/acp/msg.h"
#include "lib/frame/frame_options.h"

enum { PEEK = 4096 };

/* Waits until something is there on standard input, and copies at most n bytes of it. 0 at its end, -1 with errno. */
static ssize_t
peek_stdin(char *to, size_t n)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	int copy[2];
	ssize_t r;

	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
	r = recv(STDIN_FILENO, to, n, MSG_PEEK | MSG_DONTWAIT);
	if (r >= 0 || errno != ENOTSOCK || pipe2(copy, O_CLOEXEC) < 0)
		return r;
	r = tee(STDIN_FILENO, copy[1], n, SPLICE_F_NONBLOCK);
	if (r > 0)
		r = read(copy[0], to, (size_t)r);
	close(copy[0]);
	close(copy[1]);
	return r;
}

/* A conductor's first message says that we are a proxy. It is written at once, so it is there whole. */
static bool
first_is_proxy(void)
{
	char text[PEEK];
	struct slice line;
	struct json_error error;
	ssize_t n = peek_stdin(text, sizeof(text));
	const char *p = text, *end;
	struct msg m;

	for (; n > 0 && p < text + n; p = end + 1) {
		end = memchr(p, '\n', (size_t)(text + n - p));
		if (!end)
			end = text + n;
		line = slice_between(p, end);
		if (msg_scan(line, &m, &error) != MSG_NOISE)
			return m.what == ACP_PROXY_INITIALIZE;
	}
	return false;
}

bool
frame_is_wired(void)
{
	const char *proto = getenv("PROTO");
	struct stat st;

	if (proto && strcmp(proto, "ACP") == 0 && fcntl(6, F_GETFD) >= 0 && fcntl(7, F_GETFD) >= 0)
		return true;
	if (fstat(STDIN_FILENO, &st) < 0 || !(S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		return false;
	return first_is_proxy();
}
