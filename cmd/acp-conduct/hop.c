#include "hop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "link.h"
#include "route.h"

/* --- it has been started --- */

void
hop_started(struct component *c)
{
	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++) {
		if (c->in[dir] && c->in[dir]->to && !c->in[dir]->to->carries)
			chain_close(c->in[dir], &c->in[dir]->rd);
		/* The agent is not restarted: its death, as its closing of stdout, is an end of file. */
		if (c->out[dir] && (c->out[dir]->from || c->kind == KIND_AGENT))
			chain_close(c->out[dir], &c->out[dir]->wr);
	}
}

/* --- a filter has died --- */

/* Moves the descriptor above 7: returns a copy and closes the original. */
static int
take(struct link *l, int *fd)
{
	int copy = fcntl(*fd, F_DUPFD_CLOEXEC, 8);

	if (copy >= 0)
		chain_close(l, fd);
	return copy;
}

/* What it read from its neighbour's pipe conduct reads now. */
static int
split_in(struct component *c, struct link *l)
{
	struct chain *ch = c->chain;
	bool down = l->dir == ACP_DOWN, left = ch->signals > 0 && l == ch->client[ACP_DOWN];
	size_t at = l->writer ? chain_index(l->writer) + 1 : 0, i = chain_index(c);
	struct port *from, *to;
	int fd;

	loop_remove_fd(ch->loop, &l->watch);
	from = down ? link_port(ch->route, at, PORT_ABOVE, l->writer ? l->writer->name : "client", true)
		: link_port(ch->route, at - 1, PORT_BELOW, l->writer->name, true);
	to = down ? link_port(ch->route, i, PORT_BELOW, c->name, true) : link_port(ch->route, i + 1, PORT_ABOVE, c->name, true);
	if (!from || !to)
		return -1;
	l->reader = NULL;
	l->from = from;
	from->source = l;
	to->sink = link_new(ch, l->dir, NULL, c);
	to->sink->to = to;
	*(down ? &from->below : &from->above) = to;
	to->check_rest = true;
	if (l->writer)
		chain_close(l, &l->wr);
	fd = l->rd < 0 ? -1 : take(l, &l->rd);
	if (fd < 0)
		return l->rd < 0 ? 0 : -1;
	if (port_open_in(from, fd) < 0)
		return -1;
	/* Such a client has left with what it has sent. */
	if (left)
		port_drain(from);
	return 0;
}

/* What it wrote to its neighbour's pipe conduct writes now: its reader continues on a new line. */
static int
split_out(struct component *c, struct link *l)
{
	struct chain *ch = c->chain;
	bool down = l->dir == ACP_DOWN;
	size_t i = chain_index(c), at = l->reader ? chain_index(l->reader) : 0;
	struct port *from, *to;
	int fd, last;

	from = down ? link_port(ch->route, i + 1, PORT_ABOVE, c->name, true) : link_port(ch->route, i, PORT_BELOW, c->name, true);
	to = down ? link_port(ch->route, at, PORT_BELOW, l->reader->name, true)
		: link_port(ch->route, l->reader ? at + 1 : 0, PORT_ABOVE, l->reader ? l->reader->name : "client", true);
	if (!from || !to)
		return -1;
	l->writer = NULL;
	l->to = to;
	to->sink = l;
	from->source = link_new(ch, l->dir, c, NULL);
	from->source->from = from;
	*(down ? &from->below : &from->above) = to;
	if (l->wr < 0)
		return 0;
	last = link_last_unread(l);
	fd = take(l, &l->wr);
	if (fd < 0 || port_open_out(to, fd) < 0)
		return -1;
	if (last >= 0 && last != '\n')
		report_line(&ch->report, "%s: %s: wrote an incomplete line before it died; ended the line with a newline", c->name, down ? "down" : "up");
	return last == '\n' ? 0 : endpoint_put(&to->out, NULL, slice("\n", 1));
}

int
hop_split(struct component *c)
{
	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++)
		if ((c->in[dir] && !c->in[dir]->to && split_in(c, c->in[dir]) < 0) ||
			(c->out[dir] && !c->out[dir]->from && split_out(c, c->out[dir]) < 0))
			return -1;
	return 0;
}

int
hop_read_client(struct chain *ch)
{
	struct link *l = ch->client[ACP_DOWN];
	struct component *c = l->reader;

	if (split_in(c, l) < 0)
		return -1;
	c->in[ACP_DOWN]->to->check_rest = false;
	return link_open(c->in[ACP_DOWN]);
}

/* --- its next process, or none --- */

/* What a dead process has not read of carried lines: what lies in its pipe, and then what is queued. 0 or -1. */
static int
take_unread(struct link *l, struct buf *text)
{
	struct output_part part;
	char bytes[4096];
	struct io io;
	ssize_t n;
	int r = 0;

	if (l->rd >= 0 && io_reader(&io, l->rd) == 0) {
		while (r == 0 && (n = io_read(&io, bytes, sizeof(bytes))) > 0)
			r = buf_add(text, bytes, (size_t)n);
		io_close(&io, false);
	}
	l->rd = -1;
	while (output_take(&l->to->out.out, &part)) {
		if (r == 0)
			r = buf_add_slice(text, part.text);
		block_drop(part.block);
	}
	return r;
}

static void
carry_again(struct port *to, const struct buf *text)
{
	struct slice rest = buf_slice(text);
	struct line line = {0};
	const char *newline;

	while (rest.n > 0) {
		newline = memchr(rest.p, '\n', rest.n);
		line.text = newline ? slice_between(rest.p, newline) : rest;
		route_carry(to, newline ? INPUT_LINE : INPUT_TORN, &line);
		rest = newline ? slice_between(newline + 1, rest.p + rest.n) : slice(NULL, 0);
	}
}

/* Where a direction goes on after a component: the port to which what it writes there goes. NULL: a message decides. */
static struct port *
after(const struct link *out)
{
	const struct port *p = out->from;

	return !p || !p->carries ? NULL : out->dir == ACP_DOWN ? p->below : p->above;
}

/* The port that carries to this one; NULL: none. */
static struct port *
feeder(const struct port *to)
{
	const struct route *r = to->route;
	struct port *p;

	for (size_t i = 0; i < r->n; i++) {
		p = r->ports[i];
		if (p->carries && (p->kind == PORT_ABOVE ? p->below : p->above) == to)
			return p;
	}
	return NULL;
}

void
hop_discard(struct port *to)
{
	struct port *from = to->carries ? feeder(to) : NULL;

	if (!from)
		return;
	from->discards = true;
	/* What a dead process wrote is read to its end, and discarded: its replacement waits for that end. */
	if (!from->in.draining)
		endpoint_close(&from->in);
}

/* No process reads what it would forward in this direction: it has nothing to read there. */
static int
renew_closed(struct component *c, struct link *in, struct link *out)
{
	struct port *from = feeder(in->to);
	SCOPED struct buf lost = {0};
	int unread = 0;

	if (from && endpoint_can_read(&from->in)) {
		if (ioctl(from->in.in.io.fd, FIONREAD, &unread) < 0)
			unread = 0;
		endpoint_close(&from->in);
	}
	take_unread(in, &lost);
	if (lost.n + (size_t)unread > 0)
		report_line(&c->chain->report, "%s: %s: %zu unread bytes are lost, because the next component in this direction has closed its input",
			c->name, in->dir == ACP_DOWN ? "down" : "up", lost.n + (size_t)unread);
	port_close_out(in->to);
	in->rd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	out->wr = open("/dev/null", O_WRONLY | O_CLOEXEC);
	in->ended = true;
	return in->rd < 0 || out->wr < 0 ? -1 : 0;
}

static int
renew(struct component *c, struct link *in, struct link *out)
{
	struct port *to = in->to, *next = to->carries ? after(out) : NULL;
	SCOPED struct buf text = {0};
	bool finishing = to->finishing;
	int r = 0;

	if (next && !next->forward_to && !endpoint_can_write(&next->out))
		return renew_closed(c, in, out);
	if (to->carries)
		r = take_unread(in, &text);
	port_close_out(to);
	if (r == 0)
		r = link_open(in);
	if (r == 0 && text.n > 0) {
		to->check_rest = true;
		carry_again(to, &text);
	}
	if (finishing)
		port_finish(to);
	endpoint_close(&out->from->in);
	return r < 0 ? -1 : link_open(out);
}

int
hop_renew(struct component *c)
{
	if (c->kind >= KIND_PROXY)
		return renew(c, c->in[ACP_DOWN], c->out[ACP_UP]);
	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++)
		if (c->in[dir] && renew(c, c->in[dir], c->out[dir]) < 0)
			return -1;
	return 0;
}

/* What waits in a routed queue goes on as if the component had passed it on. */
static int
pass_journal(struct port *p)
{
	SCOPED struct buf text = {0};
	struct entry s;
	struct line line = {0};
	int r = 0;

	while (port_journal_take(p, &s)) {
		text.n = 0;
		r = pieces_write(&s.text, &text) < 0 ? -1 : r;
		if (text.n > 0) {
			line.text = slice(text.p, text.n - 1);
			route_line(p->forward_to, INPUT_LINE, &line);
		}
		pieces_drop(&s.text);
	}
	return r;
}

int
hop_bypass(struct component *c)
{
	struct link *in, *out;
	SCOPED struct buf text = {0};
	int r = 0;

	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++) {
		in = c->in[dir];
		out = c->out[dir];
		if (!in)
			continue;
		text.n = 0;
		if (in->to->carries && take_unread(in, &text) < 0)
			r = -1;
		port_close_out(in->to);
		endpoint_close(&out->from->in);
		in->to->forward_to = out->from;
		in->to->input_closed = in->to->refuses = false;
		in->to->check_rest = in->to->check_rest || text.n > 0;
		carry_again(in->to, &text);
		if (!in->to->carries && pass_journal(in->to) < 0)
			r = -1;
	}
	return r;
}

/* --- the end --- */

void
hop_close(struct component *c)
{
	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++) {
		if (c->in[dir]) {
			loop_remove_fd(c->chain->loop, &c->in[dir]->watch);
			chain_close(c->in[dir], &c->in[dir]->rd);
		}
		if (c->in[dir] && c->in[dir]->to && c->life >= LIFE_ENDED)
			hop_discard(c->in[dir]->to);
		if (c->out[dir] && (c->out[dir] != c->chain->client[ACP_UP] || c->life == LIFE_GONE))
			chain_close(c->out[dir], &c->out[dir]->wr);
	}
}

void
hop_free(struct chain *ch)
{
	struct route *r = ch->route;

	for (size_t i = 0; i < r->n; i++)
		calls_free(r->ports[i]);
	for (size_t i = 0; i < r->n; i++)
		port_free(r->ports[i]);
	free(r->ports);
	free(r->sides);
	free(r->segments);
	free(r->why_text);
	buf_free(&r->reason);
	buf_free(&r->with);
}
