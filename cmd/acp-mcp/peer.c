#include "cmd/acp-mcp/peer.h"

#include <errno.h>

static void
hear(struct peer *p, struct slice line)
{
	struct json_iter entries = {0};
	struct json_error error;
	struct msg m, entry;

	switch (msg_scan(line, &m, &error)) {
	case MSG_NOISE:
		p->noise(p->arg, &error);
		break;
	case MSG_BATCH:
		entries.in = m.text;
		while (msg_next(&entries, &entry))
			p->message(p->arg, &entry);
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

/* The lines that have been read, as long as the owner wants them. */
static void
hear_read(struct peer *p)
{
	static const struct json_error too_long = {.at = 0, .what = "it is too long"};
	struct line line;

	while (p->in.io.fd >= 0 && !p->paused) {
		switch (input_line(&p->in, &line)) {
		case INPUT_LINE:
		case INPUT_TORN:
			if (line.text.n > 0)
				hear(p, line.text);
			break;
		case INPUT_PIECE:
			if (line.first)
				p->noise(p->arg, &too_long);
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
		hear_read(p);
	p->moved(p->arg);
}

/* Nobody reads what is written: the owner hears of it when the other direction ends. */
static void
flush(struct peer *p)
{
	if (p->out.io.fd < 0)
		return;
	output_flush(&p->out);
	p->writes.events = p->out.error ? LOOP_PAUSED : p->out.n > 0 ? POLLOUT : 0;
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
	if (!p->open || p->out.io.fd < 0)
		return 0;
	if (output_copy(&p->out, message) < 0 || output_copy(&p->out, slice_of("\n")) < 0)
		return -1;
	flush(p);
	return 0;
}

void
peer_pause(struct peer *p, bool paused)
{
	if (p->in.io.fd < 0 || p->paused == paused)
		return;
	p->paused = paused;
	p->reads.events = paused ? LOOP_PAUSED : POLLIN;
	/* What was read before waits no longer, and poll does not know of it. */
	if (!paused)
		hear_read(p);
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
	p->open = false;
}
