#include "cmd/acp-mcp/peer.h"

#include <errno.h>

static bool
is_open(const struct io *io)
{
	return io->kind != IO_CLOSED;
}

/* An older MCP has arrays. Their answers go one by one. */
static void
hear_entry(struct peer *p)
{
	struct block *array = p->array;
	struct msg entry;

	if (!msg_next(&p->entries, &entry)) {
		p->array = NULL;
		block_drop(array);
		return;
	}
	/* The owner may let other lines be heard, and so the array go, before it returns. */
	block_hold(array);
	if (entry.kind == MSG_NOISE || entry.kind == MSG_BATCH)
		p->noise(p->arg, "an entry of an array is none");
	else
		p->message(p->arg, &entry);
	block_drop(array);
}

static void
hear_line(struct peer *p, const struct line *line)
{
	struct json_error error;
	struct msg m;

	if (line->text.n == 0)
		return;
	switch (msg_scan(line->text, &m, &error)) {
	case MSG_NOISE:
		p->noise(p->arg, error.what);
		break;
	case MSG_BATCH:
		p->array = block_hold(line->block);
		p->entries = (struct json_iter){.in = m.text};
		break;
	default:
		p->message(p->arg, &m);
	}
}

static void
end(struct peer *p)
{
	loop_remove_fd(p->loop, &p->reads);
	input_close(&p->in);
	p->ended(p->arg);
}

/* What has been read, as long as the owner wants it. Each of its functions may have changed all but p itself. */
static void
hear(struct peer *p)
{
	struct line line;

	while (is_open(&p->in.io) && !p->paused) {
		if (p->array) {
			hear_entry(p);
			continue;
		}
		switch (input_line(&p->in, &line)) {
		case INPUT_LINE:
		case INPUT_TORN:
			hear_line(p, &line);
			break;
		case INPUT_PIECE:
			if (line.first)
				p->noise(p->arg, "it is too long");
			break;
		case INPUT_END:
			end(p);
			return;
		case INPUT_NOTHING:
			return;
		}
	}
}

static void
read_ready(void *arg, short revents)
{
	struct peer *p = arg;

	(void)revents;
	if (input_fill(&p->in) < 0 && !p->in.ended && errno != EAGAIN)
		end(p);
	else
		hear(p);
	p->moved(p->arg);
}

/* Where nobody reads what is written the owner hears of it when the other direction ends. */
static void
flush(struct peer *p)
{
	if (!is_open(&p->out.io))
		return;
	output_flush(&p->out);
	loop_watch(p->loop, &p->writes, p->out.error ? LOOP_PAUSED : p->out.n > 0 ? POLLOUT : 0);
	if (!p->open && (p->out.error || p->out.n == 0)) {
		loop_remove_fd(p->loop, &p->writes);
		io_close(&p->out.io, true);
	}
}

static void
write_ready(void *arg, short revents)
{
	struct peer *p = arg;

	if (revents & (POLLERR | POLLHUP | POLLNVAL))
		output_fail(&p->out, EPIPE);
	flush(p);
	p->moved(p->arg);
}

int
peer_open(struct peer *p, struct loop *loop, int reads, int writes, size_t limit)
{
	p->loop = loop;
	p->reads = (struct loop_fd){.fd = reads, .events = POLLIN, .ready = read_ready, .arg = p};
	p->writes = (struct loop_fd){.fd = writes, .events = 0, .ready = write_ready, .arg = p};
	p->open = true;
	/* Both take their descriptor even where they fail. */
	if ((input_open(&p->in, reads, limit) | output_open(&p->out, writes)) == 0) {
		p->reads.fd = p->in.io.fd;
		p->writes.fd = p->out.io.fd;
		if (loop_add_fd(loop, &p->reads) == 0 && loop_add_fd(loop, &p->writes) == 0)
			return 0;
	}
	peer_close(p);
	return -1;
}

int
peer_send(struct peer *p, struct slice message)
{
	if (!p->open || !is_open(&p->out.io))
		return 0;
	if (output_copy(&p->out, message) < 0 || output_copy(&p->out, slice_of("\n")) < 0)
		return -1;
	flush(p);
	return 0;
}

void
peer_pause(struct peer *p, bool paused)
{
	if (!is_open(&p->in.io) || p->paused == paused)
		return;
	p->paused = paused;
	loop_watch(p->loop, &p->reads, paused ? LOOP_PAUSED : POLLIN);
	/* What was read before waits no longer, and poll does not know of it. */
	if (!paused)
		hear(p);
}

void
peer_finish(struct peer *p)
{
	p->open = false;
	flush(p);
}

void
peer_close(struct peer *p)
{
	loop_remove_fd(p->loop, &p->reads);
	loop_remove_fd(p->loop, &p->writes);
	input_close(&p->in);
	output_close(&p->out);
	if (p->array)
		block_drop(p->array);
	p->array = NULL;
	p->open = false;
}
