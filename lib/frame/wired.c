/* What standard input is, for tools that also read recordings there. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/acp/msg.h"
#include "lib/frame/frame_options.h"
#include "lib/run/io.h"

enum { PEEK = 4096 };

/* A conductor's first message says that we are a proxy. It is written at once, so it is there whole. */
static bool
first_is_proxy(void)
{
	char text[PEEK];
	struct slice line;
	struct json_error error;
	ssize_t n = io_peek(STDIN_FILENO, text, sizeof(text));
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
