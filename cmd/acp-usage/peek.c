#include "cmd/acp-usage/peek.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

ssize_t
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
