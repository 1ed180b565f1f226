#include "route_parts.h"

#include <errno.h>
#include <inttypes.h>

#include "chain.h"
#include "life.h"
#include "look.h"

enum { SHOWN = 200 }; /* bytes of a message in a line on stderr */

/* Where we read and write only one end of a component, its name is still the component's. */
void
route_dropped(struct port *p, const char *what, struct slice text)
{
	report_say(p->route->report, "%s: %s: dropped%s%.*s", p->name, what, text.n ? ": " : "",
		(int)(text.n < SHOWN ? text.n : SHOWN), text.n ? text.p : "");
}

static void
noise(struct port *p, const struct line *line, const char *why)
{
	if (!line_is_blank(line))
		report_say(p->route->report, "%s: line %" PRIu64 ": %s: dropped: %.*s", p->name, line->number, why,
			(int)(line->text.n < SHOWN ? line->text.n : SHOWN), line->text.p);
	look_noise(p->route->look, p, line->text);
}

static void
too_long(struct port *p, const struct line *line)
{
	struct buf answer = {0};

	if (!line->first)
		return;
	noise(p, line, "longer than 64 MiB");
	if (msg_make_error(&answer, slice_of("null"), ACP_ERR_INVALID_REQUEST, "the line is longer than 64 MiB",
		slice(NULL, 0)) == 0)
		route_put_made(p, &answer, SENT_RESPONSE, LANE_UP);
}

static void
take_line(struct port *p, const struct line *line)
{
	struct json_error error;
	struct msg m;

	p->in_counts.messages[p->kind == PORT_ABOVE ? LANE_DOWN : LANE_UP]++;
	p->in_counts.bytes[p->kind == PORT_ABOVE ? LANE_DOWN : LANE_UP] += line->text.n + 1;
	switch (msg_scan(line->text, &m, &error)) {
	case MSG_NOISE:
		noise(p, line, error.what);
		break;
	case MSG_BATCH:
		route_array(p, line->block, &m);
		break;
	default:
		route_message(p, line->block, line->text, &m, NULL);
	}
}

static void
ended(struct port *p)
{
	if (p->in.error)
		report_say(p->route->report, "%s: %s", p->name, strerror(p->in.error));
	port_close_in(p);
	life_ended(p);
}

/*
 * Only a proxy whose messages did add to a full queue waits for it. Were any full neighbour enough, two proxies could
 * wait for each other where all goes one way.
 */
static void
hold(struct port *p, uint64_t above, uint64_t below)
{
	bool held_above = p->above && port_full(p->above) && (p->held_above || port_total(p->above) > above);
	bool held_below = p->below && port_full(p->below) && (p->held_below || port_total(p->below) > below);

	if (held_above == p->held_above && held_below == p->held_below)
		return;
	p->held_above = held_above;
	p->held_below = held_below;
	port_watch_around(p);
}

/* Reads once; false when there is nothing more now, or when it has ended. */
static bool
read_once(struct port *p)
{
	uint64_t above = p->above ? port_total(p->above) : 0, below = p->below ? port_total(p->below) : 0;
	ssize_t n = input_fill(&p->in);
	enum input_got got;
	struct line line;

	if (n < 0 && (errno == EAGAIN || errno == ENOMEM) && !p->in.ended)
		return false;
	if (n > 0)
		p->read += (uint64_t)n;
	while (p->in_open) {
		got = input_line(&p->in, &line);
		if (got == INPUT_NOTHING || got == INPUT_END)
			break;
		if (got == INPUT_PIECE)
			too_long(p, &line);
		/* A dying component's last line may be cut; the client's or the agent's only lacks its newline. */
		else if (got == INPUT_TORN && p->kind == PORT_PROXY)
			noise(p, &line, "a torn line");
		else
			take_line(p, &line);
	}
	if (p->kind == PORT_PROXY && p->journal_bytes > 256 * 1024)
		port_journal_trim(p, true);
	hold(p, above, below);
	if (p->in_open && p->in.ended) {
		ended(p);
		return false;
	}
	return p->in_open && n > 0;
}

void
route_readable(void *arg, short revents)
{
	struct port *p = arg;

	(void)revents;
	if (p->in_open)
		read_once(p);
	route_flush(p->route);
}

void
route_drain(struct port *p)
{
	while (p->in_open && read_once(p))
		;
}

void
route_writable(void *arg, short revents)
{
	struct port *p = arg;

	if (p->out.n == 0 && (revents & (POLLERR | POLLHUP))) {
		output_fail(&p->out, EPIPE);
		route_unread(p);
	} else {
		port_touch(p);
	}
	route_flush(p->route);
}

void
route_flush(struct route *r)
{
	struct port *p;

	look_flush(r->look);
	while ((p = r->dirty)) {
		r->dirty = p->next_dirty;
		p->dirty = false;
		port_flush(p);
		port_watch_around(p);
	}
	life_settle(r);
}

void
route_unread(struct port *p)
{
	if (!p->out_open)
		return;
	/* A proxy that does not read is about to end: what it has not read is for the next one. */
	if (p->kind == PORT_PROXY) {
		loop_watch(p->route->loop, &p->writable, LOOP_PAUSED);
		return;
	}
	port_close_out(p);
	life_unread(p);
}
