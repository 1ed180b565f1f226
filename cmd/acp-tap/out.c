#include "cmd/acp-tap/out.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

struct buf *
out_buf(struct out *o)
{
	return o->log ? log_buf(o->log) : &o->own;
}

void
out_mark(struct out *o)
{
	if (o->log)
		log_mark(o->log);
}

void
out_lost(struct out *o)
{
	if (o->log)
		log_add(o->log, slice(NULL, 0));
	else
		o->error = ENOMEM;
}

static int
wait_for(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	return poll(&p, 1, -1) < 0 && errno != EINTR ? -1 : 0;
}

static int
print_log(struct log *l)
{
	if (log_flush(l) < 0)
		return -1;
	log_wait(l, -1);
	return log_flush(l);
}

static int
print_own(struct out *o)
{
	size_t sent = 0;
	ssize_t n;

	while (!o->error && sent < o->own.n) {
		n = write(STDOUT_FILENO, o->own.p + sent, o->own.n - sent);
		if (n >= 0)
			sent += (size_t)n;
		else if (errno != EINTR && (errno != EAGAIN || wait_for(STDOUT_FILENO) < 0))
			o->error = errno;
	}
	o->own.n = 0;
	errno = o->error;
	return o->error ? -1 : 0;
}

int
out_print(struct out *o)
{
	return o->log ? print_log(o->log) : print_own(o);
}
