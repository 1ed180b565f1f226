/*
 * How a routed chain ends. A stretch is left from above: when the client has left and all is quiet, what is below is told
 * to end. It ebbs from below: its proxies end one by one, from the agent's side, so that all comes up that will.
 */
#include "life.h"

#include <stdio.h>
#include <sys/ioctl.h>

#include "chain.h"
#include "patience.h"
#include "supervise.h"

enum {
	LOOK = 10 * 1000,    /* us between two looks, when the client has left */
	QUIET = 1000 * 1000, /* us without a move: what a proxy has read and not passed on by then, it keeps */
};

void
life_break(struct route *r, int status, const char *why, struct slice data)
{
	struct chain *ch = r->chain;
	size_t i;

	if (r->broken)
		return;
	r->broken = true;
	r->why = why;
	if (status && ch->other_status == 0)
		ch->other_status = status;
	loop_remove_timer(r->loop, &r->init);
	for (i = 0; i < r->n; i++)
		route_fail_calls(&r->ports[i], why, data);
	for (i = 0; i < r->n; i++) {
		/* The client hears of it; all others are to end. */
		if (&r->ports[i] == r->stretches[0].first)
			continue;
		r->ports[i].live = true;
		port_close_out(&r->ports[i]);
	}
	patience_renew(ch);
}

/* The proxies of a stretch end one by one, from the agent's side: what comes up goes through all of them. */
static void
ebb(struct stretch *s)
{
	struct port *p;

	for (p = s->last->above; p != s->first && p->state == PORT_GONE; p = p->above)
		;
	if (p != s->first) {
		if (p->state != PORT_MENDING)
			port_finish(p);
		return;
	}
	if (s->over)
		return;
	s->over = true;
	route_fail_calls(s->last, s->route->why, route_reason(s->route));
	port_close_in(s->first);
	port_finish(s->first);
	patience_renew(s->route->chain);
}

static void
begin_ebb(struct stretch *s)
{
	struct route *r = s->route;

	if (s->ebbing)
		return;
	s->ebbing = true;
	if (s->last->kind != PORT_OUTER) {
		s->last->state = PORT_GONE;
		route_fail_calls(s->last, r->why, route_reason(r));
		port_close_in(s->last);
		port_close_out(s->last);
	}
	patience_renew(r->chain);
	ebb(s);
}

static struct stretch *
stretch_of(const struct port *p)
{
	struct route *r = p->route;
	size_t i;

	for (i = 0; i < r->nstretches; i++)
		if (r->stretches[i].first == p || r->stretches[i].last == p)
			return &r->stretches[i];
	return NULL;
}

/* Is something still on its way down? */
static bool
is_quiet(const struct stretch *s)
{
	const struct port *p;
	int n;

	for (p = s->first->below; ; p = p->below) {
		if (p->out_open && (p->out.n > 0 || p->waiting > 0))
			return false;
		if (p == s->last || p == s->first)
			return true;
		if (p->state == PORT_MENDING || (p->rest >= 0 && ioctl(p->rest, FIONREAD, &n) == 0 && n > 0))
			return false;
	}
}

static bool
holds_notes(const struct stretch *s)
{
	const struct port *p;

	for (p = s->first->below; p != s->last && p != s->first; p = p->below)
		if (p->notes_in[LANE_DOWN] > p->notes_out[LANE_DOWN])
			return true;
	return false;
}

/* A process that sleeps is done with what it has; one that runs, or would, on a busy machine, may not be. */
static bool
is_asleep(pid_t pid)
{
	char path[64], text[512], *state;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	f = fopen(path, "re");
	if (!f)
		return true;
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	/* Behind the name, which may have anything in it. */
	state = strrchr(text, ')');
	return !state || state[1] == '\0' || !strchr("RD", state[2]);
}

static bool
works_on(const struct stretch *s)
{
	const struct port *p;

	for (p = s->first->below; p != s->last && p != s->first; p = p->below)
		if (p->component && p->component->life == LIFE_RUNS && !is_asleep(p->component->pid))
			return true;
	return false;
}

static void
close_below(struct stretch *s)
{
	if (s->last->kind == PORT_OUTER)
		begin_ebb(s);
	else
		port_finish(s->last);
	patience_renew(s->route->chain);
}

static void
look_again(void *arg)
{
	struct stretch *s = arg;
	uint64_t moved = life_progress(s->route), now = loop_clock();

	if (moved != s->moved || !is_quiet(s) || works_on(s))
		s->since = now;
	s->moved = moved;
	s->given_up = s->given_up || now - s->since >= QUIET;
	life_settle(s->route);
	route_flush(s->route);
}

static void
try_leave(struct stretch *s)
{
	if (!s->leaving || s->ebbing || s->last->closing || !s->last->out_open || s->quiet.added)
		return;
	if (!s->given_up) {
		if (s->first->asked)
			return;
		if (!is_quiet(s) || holds_notes(s)) {
			s->quiet.expired = look_again;
			s->quiet.arg = s;
			if (loop_add_timer(s->route->loop, &s->quiet, LOOK) == 0)
				return;
		}
	}
	close_below(s);
}

static void
leave(struct stretch *s)
{
	struct route *r = s->route;

	if (s->leaving)
		return;
	s->leaving = true;
	s->since = loop_clock();
	patience_renew(r->chain);
	if (!r->started) {
		/* Nothing has begun. */
		s->over = true;
		r->broken = true;
		port_finish(r->stretches[0].first);
		supervise_settle(r->chain);
	}
}

void
life_ended(struct port *p)
{
	struct route *r = p->route;
	struct stretch *s = stretch_of(p);

	switch (p->kind) {
	case PORT_PROXY:
	case PORT_GUEST:
		break;
	case PORT_OUTER:
		leave(&r->stretches[0]);
		if (r->started)
			begin_ebb(&r->stretches[r->nstretches - 1]);
		break;
	case PORT_ABOVE:
		leave(s);
		break;
	case PORT_BELOW:
		/* Why it has ended is known when its process has. */
		if (p->component && p->component->life == LIFE_RUNS && !r->broken)
			port_close_out(p);
		else
			begin_ebb(s);
	}
	supervise_settle(r->chain);
}

void
life_agent_over(struct port *p)
{
	begin_ebb(stretch_of(p));
}

void
life_unread(struct port *p)
{
	struct stretch *s = stretch_of(p);

	if (!s || p->kind == PORT_BELOW)
		return;
	/* The client has left, and does not read either. */
	port_close_in(p);
	s->given_up = true;
	life_ended(p);
}

void
life_client_left(struct route *r)
{
	struct port *p = r->stretches[0].first;

	port_close_in(p);
	r->stretches[0].given_up = true;
	life_ended(p);
	route_flush(r);
}

bool
life_impatient(struct route *r)
{
	bool changed = false;
	size_t i;

	for (i = 0; i < r->nstretches; i++) {
		if (!r->stretches[i].leaving || r->stretches[i].given_up || r->stretches[i].over)
			continue;
		r->stretches[i].given_up = changed = true;
	}
	if (changed)
		route_flush(r);
	return changed;
}

void
life_settle(struct route *r)
{
	size_t i;

	for (i = 0; i < r->nstretches; i++) {
		if (r->stretches[i].leaving && !r->stretches[i].over)
			try_leave(&r->stretches[i]);
		if (r->stretches[i].ebbing && !r->stretches[i].over)
			ebb(&r->stretches[i]);
	}
	if (r->broken || r->stretches[0].over)
		supervise_settle(r->chain);
	while (r->dirty)
		route_flush(r);
}

bool
life_over(const struct route *r)
{
	const struct port *client = r->stretches[0].first;

	return (r->broken || r->stretches[0].over) && (!client->out_open || client->out.n == 0);
}

uint64_t
life_progress(const struct route *r)
{
	uint64_t h = 0;
	size_t i;

	for (i = 0; i < r->n; i++)
		h += r->ports[i].out.written + r->ports[i].read;
	return h;
}
