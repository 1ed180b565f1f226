#include "relay.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/msg.h"

enum {
	BLOCK = 64 * 1024,
	LAST_READS = 64, /* more than a pipe holds: somebody out of reach may go on writing */
};

static void
close_both(struct relay *r)
{
	loop_remove_fd(r->loop, &r->readable);
	loop_remove_fd(r->loop, &r->writable);
	io_close(&r->from, false);
	output_close(&r->to);
	block_drop(r->block);
	r->block = NULL;
	buf_free(&r->first);
	r->ended = r->over = true;
}

static void
finish(struct relay *r)
{
	close_both(r);
	r->event(r->arg, r, RELAY_OVER);
}

/* Writes what can be written, and sets what is watched for. */
static void
flush(struct relay *r)
{
	int waits;

	if (r->over)
		return;
	waits = output_flush(&r->to);
	if (waits < 0 || (waits == 0 && r->ending)) {
		finish(r);
		return;
	}
	loop_watch(r->loop, &r->writable, waits ? POLLOUT : 0);
	loop_watch(r->loop, &r->readable, r->ended || r->to.full ? LOOP_PAUSED : POLLIN);
}

/* --- the first line --- */

static bool
is_blank(struct slice s)
{
	return strspn(s.p, " \t\r\n") >= s.n;
}

/*
 * The end of a message is never a message itself: cut between two strings it lacks a bracket, cut within one it has
 * an odd number of quotes. So what is one has not been begun by anybody.
 */
static bool
is_whole(struct slice line)
{
	struct json_error error;
	struct msg m;
	size_t blank;

	if (line.n <= RELAY_LINE_LIMIT)
		return msg_scan(line, &m, &error) != MSG_NOISE;
	/* Too long to look at. */
	blank = strspn(line.p, " \t\r");
	return line.p[blank] == '{' || line.p[blank] == '[';
}

/* As much of the line as will be waited for is there. */
static int
decide(struct relay *r, bool at_end)
{
	struct slice line = buf_slice(&r->first);
	bool complete = at_end || line.p[line.n - 1] == '\n';
	int result = 0;

	if (!buf_string(&r->first))
		return -1;
	line.p = r->first.p;
	if (is_whole(line)) {
		r->stage = RELAY_PASSES;
		result = output_copy(&r->to, line);
	} else {
		r->dropped = is_blank(line) ? 0 : line.n;
		r->stage = complete ? RELAY_PASSES : RELAY_DROPS;
	}
	buf_free(&r->first);
	if (complete && r->dropped)
		r->event(r->arg, r, RELAY_DROPPED);
	return result;
}

/* Takes what belongs to the first line off the text. 0, or -1 out of memory. */
static int
take_first(struct relay *r, struct slice *text)
{
	const char *newline = memchr(text->p, '\n', text->n);
	size_t n = newline ? (size_t)(newline + 1 - text->p) : text->n;
	struct slice part = slice(text->p, n);

	*text = slice(text->p + n, text->n - n);
	if (r->stage == RELAY_DROPS) {
		r->dropped += n;
		if (newline) {
			r->stage = RELAY_PASSES;
			r->event(r->arg, r, RELAY_DROPPED);
		}
		return 0;
	}
	if (buf_add_slice(&r->first, part) < 0)
		return -1;
	return newline || r->first.n > RELAY_LINE_LIMIT ? decide(r, false) : 0;
}

/* Bytes that came; they lie in the block, or (NULL) are copied. 0, or -1 out of memory. */
static int
take(struct relay *r, struct block *block, struct slice text)
{
	while (r->stage != RELAY_PASSES && text.n > 0)
		if (take_first(r, &text) < 0)
			return -1;
	return block ? output_hold(&r->to, block, text) : output_copy(&r->to, text);
}

/* --- reading --- */

static void
source_ended(struct relay *r)
{
	if (r->ended)
		return;
	r->ended = true;
	loop_watch(r->loop, &r->readable, LOOP_PAUSED);
	if (r->stage == RELAY_JUDGES && r->first.n > 0 && decide(r, true) < 0)
		output_fail(&r->to, ENOMEM);
	r->event(r->arg, r, RELAY_ENDED);
}

/* What was read before may still wait in the block to be written. */
static bool
has_block(struct relay *r)
{
	if (r->block && r->block->owners > 1) {
		block_drop(r->block);
		r->block = NULL;
	}
	if (!r->block)
		r->block = block_new(BLOCK);
	return r->block != NULL;
}

/* Reads once. False when nothing more is to be had now. */
static bool
read_on(struct relay *r)
{
	ssize_t n;

	if (r->over || r->ended || !has_block(r))
		return false;
	n = io_read(&r->from, r->block->data, r->block->cap);
	if (n < 0 && errno == EAGAIN)
		return false;
	if (n <= 0)
		source_ended(r);
	else if (take(r, r->block, slice(r->block->data, (size_t)n)) < 0)
		output_fail(&r->to, ENOMEM);
	return n > 0;
}

static void
on_readable(void *arg, short revents)
{
	struct relay *r = arg;

	(void)revents;
	read_on(r);
	flush(r);
}

static void
on_writable(void *arg, short revents)
{
	struct relay *r = arg;

	/* Nobody reads it, and nothing waits to be written that would show it. */
	if ((revents & (POLLERR | POLLHUP)) && r->to.n == 0)
		output_fail(&r->to, EPIPE);
	flush(r);
}

/* --- from outside --- */

struct relay *
relay_new(struct loop *loop, int fd, void (*event)(void *arg, struct relay *, enum relay_event), void *arg)
{
	struct relay *r = calloc(1, sizeof(*r));

	if (!r) {
		close(fd);
		return NULL;
	}
	*r = (struct relay){.loop = loop, .event = event, .arg = arg, .from = {.fd = -1}};
	if (output_open(&r->to, fd) < 0) {
		close(fd);
		free(r);
		return NULL;
	}
	r->writable = (struct loop_fd){.fd = r->to.io.fd, .ready = on_writable, .arg = r};
	if (loop_add_fd(loop, &r->writable) < 0) {
		relay_free(r);
		return NULL;
	}
	return r;
}

int
relay_read(struct relay *r, int fd)
{
	if (r->over) {
		close(fd);
		return 0;
	}
	loop_remove_fd(r->loop, &r->readable);
	io_close(&r->from, false);
	if (io_reader(&r->from, fd) < 0) {
		close(fd);
		return -1;
	}
	r->ended = false;
	r->readable = (struct loop_fd){.fd = r->from.fd, .events = POLLIN, .ready = on_readable, .arg = r};
	if (loop_add_fd(r->loop, &r->readable) < 0)
		return -1;
	flush(r);
	return 0;
}

void
relay_judge(struct relay *r)
{
	r->stage = RELAY_JUDGES;
	r->dropped = 0;
}

int
relay_write(struct relay *r, struct slice text)
{
	int result = output_copy(&r->to, text);

	flush(r);
	return result;
}

/* What lies unread in the pipe. 0, or -1 out of memory. */
static int
take_unread(struct relay *heir, int fd)
{
	struct relay back = {0};
	int result = 0;
	ssize_t n;

	if (io_reader(&back.from, fd) < 0) {
		close(fd);
		return 0;
	}
	while (result == 0 && (result = has_block(&back) ? 0 : -1) == 0) {
		n = io_read(&back.from, back.block->data, back.block->cap);
		if (n <= 0)
			break;
		result = take(heir, back.block, slice(back.block->data, (size_t)n));
	}
	block_drop(back.block);
	io_close(&back.from, false);
	return result;
}

int
relay_inherit(struct relay *heir, struct relay *dead, int fd)
{
	struct output_part part;
	int result;

	relay_judge(heir);
	result = fd < 0 ? 0 : take_unread(heir, fd);
	while (output_take(&dead->to, &part)) {
		if (result == 0)
			result = take(heir, part.block, part.text);
		block_drop(part.block);
	}
	if (result == 0 && dead->stage == RELAY_JUDGES)
		result = take(heir, NULL, buf_slice(&dead->first));
	if (dead->stage == RELAY_DROPS) {
		heir->stage = RELAY_DROPS;
		heir->dropped = dead->dropped;
	}
	return result;
}

void
relay_drain(struct relay *r)
{
	int i;

	for (i = 0; i < LAST_READS && read_on(r); i++)
		;
	flush(r);
}

void
relay_cut(struct relay *r)
{
	source_ended(r);
	flush(r);
}

void
relay_end(struct relay *r)
{
	r->ending = true;
	flush(r);
}

void
relay_free(struct relay *r)
{
	if (!r)
		return;
	if (!r->over)
		close_both(r);
	free(r);
}
