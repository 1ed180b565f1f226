#include "terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Either something waits to be written, or more may be read. */
static void
turn(struct terminal *t)
{
	bool waits = t->from < t->to;

	loop_watch(t->loop, &t->typed, waits ? LOOP_PAUSED : POLLIN);
	loop_watch(t->loop, &t->room, waits ? POLLOUT : 0);
}

static void
write_on(struct terminal *t)
{
	struct iovec rest = {t->data + t->from, t->to - t->from};
	ssize_t r = io_writev(&t->out, &rest, 1);

	if (r > 0)
		t->from += (size_t)r;
	if (r < 0 && errno != EAGAIN)
		terminal_close(t);
	else
		turn(t);
}

static void
on_typed(void *arg, short revents)
{
	struct terminal *t = arg;
	ssize_t r = io_read(&t->in, t->data, sizeof(t->data));

	(void)revents;
	if (r < 0 && errno == EAGAIN)
		return;
	if (r <= 0) {
		terminal_close(t);
		return;
	}
	t->from = 0;
	t->to = (size_t)r;
	write_on(t);
}

static void
on_room(void *arg, short revents)
{
	struct terminal *t = arg;

	if (t->from < t->to)
		write_on(t);
	else if (revents & (POLLERR | POLLHUP))
		terminal_close(t); /* no process reads any more */
}

int
terminal_open(struct terminal *t, struct loop *loop, int to)
{
	int from = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 8);

	*t = (struct terminal){0};
	if (from < 0) {
		close(to);
		return -1;
	}
	t->loop = loop;
	if (io_reader(&t->in, from) < 0 || io_writer(&t->out, to) < 0)
		return -1;
	t->typed = (struct loop_fd){.fd = t->in.fd, .ready = on_typed, .arg = t};
	t->room = (struct loop_fd){.fd = t->out.fd, .ready = on_room, .arg = t};
	turn(t);
	loop_add_fd(loop, &t->typed);
	loop_add_fd(loop, &t->room);
	return 0;
}

void
terminal_close(struct terminal *t)
{
	if (!t->loop)
		return;
	loop_remove_fd(t->loop, &t->typed);
	loop_remove_fd(t->loop, &t->room);
	io_close(&t->in, false);
	io_close(&t->out, false);
	t->loop = NULL;
}
