#include "lib/run/endpoint.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/run/proc.h"
#include "lib/run/system.h"

enum {
	DRAIN_LEAST = 1024 * 1024, /* bytes that are drained at least: the largest pipe that an unprivileged process can have */
	READS_NOW = 64,            /* reads of endpoint_read_now at most: more than a pipe holds */
	LONG_PART = 4096,          /* bytes: a shorter part of a line is copied, which costs less than to hold its block */
};

bool
endpoint_can_read(const struct endpoint *e)
{
	return e->in.io.kind != IO_CLOSED;
}

bool
endpoint_can_write(const struct endpoint *e)
{
	return e->out.io.kind != IO_CLOSED;
}

static void
emit(const struct endpoint *e, enum endpoint_event event)
{
	if (e->event)
		e->event(e->arg, event);
}

/* --- reading --- */

static void
watch_input(struct endpoint *e)
{
	/* While paused, only a hang-up is watched for; poll reports a socket's only on request. */
	short hangup = e->hung_up ? LOOP_PAUSED : e->in.io.kind == IO_SOCKET ? system_hangup : 0;

	loop_set_events(e->loop, &e->readable, e->paused ? hangup : POLLIN);
}

/* Reads once. Did bytes come? */
static bool
fill(struct endpoint *e)
{
	ssize_t n = input_fill(&e->in);

	if (n < 0 && !e->in.ended && errno != EAGAIN) {
		e->in.error = errno;
		e->in.ended = true;
	}
	if (e->draining) {
		e->unread -= n < 0 || (size_t)n > e->unread ? e->unread : (size_t)n;
		e->in.ended |= e->unread == 0;
	}
	return n > 0;
}

static void
hand_out(struct endpoint *e)
{
	struct slice text;

	while (endpoint_can_read(e) && !e->paused) {
		if (!e->again)
			e->got = input_line(&e->in, &e->last);
		if (e->got == INPUT_NOTHING || e->got == INPUT_END)
			return;
		text = e->last.text;
		e->torn = e->got == INPUT_TORN || (e->got == INPUT_PIECE && (text.n == 0 || text.p[text.n - 1] != '\n'));
		e->again = !e->line(e->arg, e->got, &e->last);
		if (e->again)
			endpoint_pause(e, true);
	}
}

static void
read_lines(struct endpoint *e, bool ready)
{
	bool ended = false;

	hand_out(e);
	if ((ready || e->draining || e->more) && endpoint_can_read(e) && !e->paused) {
		e->more = fill(e) && e->layer;
		hand_out(e);
	}
	if (endpoint_can_read(e) && !e->paused) {
		ended = e->got == INPUT_END;
		if (ended)
			endpoint_close_in(e);
		else if (e->draining || e->more)
			loop_add_task(e->loop, &e->reads);
	}
	emit(e, ended ? ENDPOINT_ENDED : ENDPOINT_READ);
}

static void
on_readable(void *arg, short revents)
{
	struct endpoint *e = arg;

	if (!e->paused) {
		read_lines(e, true);
	} else if (!(revents & POLLIN)) {
		e->hung_up = true;
		watch_input(e);
		emit(e, ENDPOINT_HUNG_UP);
	}
}

/* The task `reads`: goes on with bytes that are in memory, or drained, without waiting for the descriptor. */
static void
continue_reading(void *arg)
{
	read_lines(arg, false);
}

void
endpoint_pause(struct endpoint *e, bool paused)
{
	if (!endpoint_can_read(e) || e->paused == paused)
		return;
	e->paused = paused;
	watch_input(e);
	if (!paused && (e->again || e->draining || e->more || e->in.ended || e->in.searched < e->in.end))
		loop_add_task(e->loop, &e->reads);
}

void
endpoint_drain(struct endpoint *e)
{
	int unread = 0;

	if (!endpoint_can_read(e) || e->draining)
		return;
	e->draining = true;
	if (e->in.io.kind != IO_FILE)
		ioctl(e->in.io.fd, FIONREAD, &unread);
	e->unread = unread > DRAIN_LEAST ? (size_t)unread : DRAIN_LEAST;
	if (!e->paused)
		loop_add_task(e->loop, &e->reads);
}

void
endpoint_read_now(struct endpoint *e, bool last)
{
	hand_out(e);
	for (int i = 0; i < READS_NOW && endpoint_can_read(e) && !e->paused && fill(e); i++)
		hand_out(e);
	if (!last)
		return;
	e->in.ended = true;
	hand_out(e);
	endpoint_close_in(e);
}

/* --- writing --- */

void
endpoint_close_out(struct endpoint *e)
{
	if (!endpoint_can_write(e))
		return;
	loop_remove_task(e->loop, &e->writes);
	loop_remove_fd(e->loop, &e->writable);
	e->out.io.lent = e->out.io.fd == e->in.io.fd;
	io_close(&e->out.io, e->shared);
	output_close(&e->out);
}

static void
flush(void *arg)
{
	struct endpoint *e = arg;
	uint64_t before = e->out.written;

	output_flush(&e->out);
	if (e->out.error || (e->finishing && e->out.n == 0)) {
		if (e->out.error && e->out.keeps) {
			loop_remove_fd(e->loop, &e->writable);
			loop_remove_task(e->loop, &e->writes);
		} else {
			endpoint_close_out(e);
		}
		emit(e, ENDPOINT_CLOSED);
		return;
	}
	loop_set_events(e->loop, &e->writable, e->out.n > 0 ? POLLOUT : 0);
	if (e->out.written > before)
		emit(e, ENDPOINT_WROTE);
}

static void
on_writable(void *arg, short revents)
{
	struct endpoint *e = arg;

	/* poll reports that the peer has closed its input, before a write fails. */
	if (revents & (POLLERR | POLLHUP | POLLNVAL))
		output_fail(&e->out, EPIPE);
	flush(e);
}

/* Schedules a flush, unless the loop already waits for the peer to read. Returns result. */
static int
schedule_flush(struct endpoint *e, int result)
{
	if (endpoint_can_write(e) && e->writable.events != POLLOUT && !e->out.error)
		loop_add_task(e->loop, &e->writes);
	return result;
}

int
endpoint_put(struct endpoint *e, struct block *block, struct slice bytes)
{
	return schedule_flush(e, block ? output_hold(&e->out, block, bytes) : output_copy(&e->out, bytes));
}

int
endpoint_put_line(struct endpoint *e, struct block *block, struct slice line, bool torn)
{
	int r = output_end_line(&e->out);

	if (r == 0 && block)
		r = output_hold(&e->out, block, slice(line.p, line.n + !torn));
	else if (r == 0)
		r = output_copy_parts(&e->out, &(struct iovec){(char *)line.p, line.n}, 1, !torn);
	return schedule_flush(e, r);
}

int
endpoint_put_parts(struct endpoint *e, struct block *block, const struct iovec *parts, size_t n)
{
	size_t copied = 0, i;
	struct slice text;
	int r = 0;

	for (i = 0; r == 0 && i < n; i++) {
		text = slice(parts[i].iov_base, parts[i].iov_len);
		if (!block || text.n <= LONG_PART || text.p < block->data || text.p + text.n >= block->data + block->cap ||
			(i + 1 == n && text.p[text.n] != '\n'))
			continue;
		r = output_copy_parts(&e->out, parts + copied, i - copied, false);
		/* In its block a line is followed by its newline. */
		if (r == 0)
			r = output_hold(&e->out, block, slice(text.p, text.n + (i + 1 == n)));
		copied = i + 1;
	}
	if (r == 0 && (copied < n || n == 0))
		r = output_copy_parts(&e->out, parts + copied, n - copied, true);
	return schedule_flush(e, r);
}

void
endpoint_finish(struct endpoint *e)
{
	e->finishing = true;
	schedule_flush(e, 0);
}

bool
endpoint_flush(struct endpoint *e, int idle_ms, int total_ms)
{
	uint64_t now = loop_clock(), end = now + (uint64_t)total_ms * 1000;
	struct pollfd p = {.fd = e->out.io.fd, .events = POLLOUT};
	uint64_t left;

	while (endpoint_can_write(e) && output_flush(&e->out) == 1 && (now = loop_clock()) < end) {
		left = (end - now) / 1000 + 1;
		if (poll(&p, 1, left < (uint64_t)idle_ms ? (int)left : idle_ms) == 0)
			break;
	}
	return e->out.queued == 0;
}

/* --- opening and closing --- */

int
endpoint_open(struct endpoint *e, struct loop *loop, int in, int out, size_t limit)
{
	*e = (struct endpoint){.line = e->line, .event = e->event, .arg = e->arg, .layer = e->layer, .loop = loop,
		.shared = io_same_socket(in, out)};
	e->reads = (struct loop_task){.run = continue_reading, .arg = e};
	e->writes = (struct loop_task){.run = flush, .arg = e};
	/* Both sides of a socket share a descriptor. Of anything else each side gets its own, as io_open may reopen it. */
	if (in >= 0 && in == out && !e->shared)
		out = proc_copy(in);
	/* No short circuit: both descriptors are taken over, even where one fails. */
	if (((in >= 0 ? input_open(&e->in, in, limit) : 0) | (out >= 0 ? output_open(&e->out, out) : 0)) < 0)
		return -1;
	e->in.io.layer = e->out.io.layer = e->layer;
	e->readable = (struct loop_fd){.fd = e->in.io.fd, .events = POLLIN, .ready = on_readable, .arg = e};
	e->writable = (struct loop_fd){.fd = e->out.io.fd, .ready = on_writable, .arg = e};
	if (endpoint_can_read(e))
		loop_add_fd(loop, &e->readable);
	if (endpoint_can_write(e))
		loop_add_fd(loop, &e->writable);
	return 0;
}

void
endpoint_close_in(struct endpoint *e)
{
	if (!endpoint_can_read(e))
		return;
	loop_remove_task(e->loop, &e->reads);
	loop_remove_fd(e->loop, &e->readable);
	e->in.io.lent = e->in.io.fd == e->out.io.fd;
	input_close(&e->in);
}

void
endpoint_close(struct endpoint *e)
{
	endpoint_close_in(e);
	endpoint_close_out(e);
}

void
endpoint_abort(struct endpoint *e)
{
	endpoint_close_out(e);
	if (!endpoint_can_read(e))
		return;
	e->in.start = e->in.searched = e->in.end;
	e->in.ended = true;
	e->again = e->more = e->paused = false;
	loop_set_events(e->loop, &e->readable, LOOP_PAUSED);
	loop_add_task(e->loop, &e->reads);
}
