/*
 * Ends a read chain. When the client has left, the end goes down: once the client's requests have their responses, and its other messages
 * have arrived, the inputs of the filters are closed one after the other, and the agent's last. When the agent has ended, the end goes
 * up: each component sees the end of its input when the one below has closed its output, and the client last.
 */
#include <string.h>

#include "lib/run/system.h"
#include "life.h"
#include "send.h"

enum {
	CHECK_EVERY = 10 * 1000,   /* us between two looks at the messages on their way down */
	MOMENT = 1000 * 1000, /* us without progress and without work, after which a component counts as having dropped what it has read */
	WORK = 20 * 1000,     /* us of processor time: less is no work, but a timer of the component */
};

bool
walk_may_end(const struct component *c)
{
	return c->chain->end.broken || c->near->queue.finishing || (c->far && c->far->queue.finishing);
}

/* --- the client --- */

void
walk_client_left(struct chain *ch)
{
	endpoint_drain(&ch->route->client->end);
	endpoint_pause(&ch->route->client->end, false);
	end_begin(ch);
}

/* Has everything been read that the client sent? */
static bool
has_left(const struct route *r)
{
	return !endpoint_can_read(&r->client->end);
}

/* --- a chain that has failed --- */

void
walk_break(struct route *r, const char *why, int status)
{
	struct chain *ch = r->chain;
	struct port *p;

	if (ch->end.broken)
		return;
	if (!r->reason.why && why)
		r->reason.why = strdup(why);
	ch->end.broken = true;
	if (status && ch->end.other_status == 0)
		ch->end.other_status = status;
	loop_remove_timer(r->chain->loop, &r->init);
	for (p = r->ports; p < r->ports + r->n; p++)
		send_all_ended(p);
	/* No proxy is initialized any more, so messages that wait for that go on. */
	for (p = r->ports; p < r->ports + r->n; p++) {
		if (!p->component || !life_runs(p->component))
			continue;
		life_event(p->component, EVENT_INITIALIZED);
		port_go_live(p);
	}
	/* Messages that the client has sent by now are still read. */
	walk_client_left(ch);
}

/* --- down --- */

/* Is a message on its way to the component, or has the component no process that could read it yet? */
static bool
is_under_way(const struct component *c)
{
	const struct port *p = c->near;

	return c->life == LIFE_DYING || c->life == LIFE_ASKED_AGAIN || p->end.out.n > 0 || p->queue.held.n > 0 ||
		(p->queue.unread_end >= 0 && system_unread(p->queue.unread_end) > 0);
}

static bool
has_request_up(const struct call *c, bool sent)
{
	for (; c; c = sent ? c->next_sent : c->next)
		if (c->dir == ACP_UP)
			return true;
	return false;
}

/* Has the component read a notification that it has not forwarded, or got a response without responding in turn? */
static bool
owes_something(const struct component *c)
{
	return c->near->notes.in[ACP_DOWN] > c->far->notes.out[ACP_DOWN] ||
		(has_request_up(c->far->calls.open, false) && !has_request_up(c->near->calls.sent, true));
}

/* Has everything arrived that the client sent? */
static bool
is_quiet(struct route *r)
{
	struct chain *ch = r->chain;
	const struct component *c;
	uint64_t cpu = 0, now = loop_clock();
	bool owes = false;

	if (r->client->calls.sent && ch->end.signals == 0 && endpoint_can_write(&r->client->end))
		return false;
	for (c = ch->components; c < ch->components + ch->n; c++) {
		if (!life_runs(c) && c->life != LIFE_DYING)
			continue;
		if (is_under_way(c))
			return false;
		if (c->far && owes_something(c)) {
			owes = true;
			cpu += system_cpu_time(c->process.pid);
		}
	}
	if (cpu > r->walk.cpu + WORK || cpu < r->walk.cpu) {
		r->walk.cpu = cpu;
		r->walk.cpu_at = now;
	}
	return !owes || (end_idle(ch) > MOMENT && now - r->walk.cpu_at > MOMENT);
}

/* Moves the end down by as many components as it can. Returns whether it has moved. */
static bool
go_down(struct route *r, bool hurry)
{
	struct chain *ch = r->chain;
	struct component *c;
	bool moved = false;

	for (; r->walk.down < ch->n; r->walk.down++) {
		c = &ch->components[r->walk.down];
		if (c->kind == KIND_PROXY || c->kind == KIND_UP || c->life == LIFE_NONE || c->life >= LIFE_ENDED)
			continue;
		if (!c->near->queue.finishing && !hurry && !is_quiet(r)) {
			/* Nothing reports that a pipe is empty, so look again. */
			if (!r->walk.quiet.added)
				loop_add_timer(ch->loop, &r->walk.quiet, CHECK_EVERY);
			return moved;
		}
		if (!c->near->queue.finishing) {
			moved = true;
			/* Nobody will initialize the component any more. */
			if (c->life == LIFE_STARTED && c->near->queue.held.n == 0)
				port_go_live(c->near);
			port_finish(c->near);
			for (size_t i = ch->n; c->kind == KIND_AGENT && i < ch->total; i++)
				port_finish(ch->components[i].near);
		}
		if (c->kind != KIND_AGENT && endpoint_can_read(&c->far->end))
			return moved;
	}
	return moved;
}

/* --- up --- */

/* Will nothing more come from these components? */
static bool
peers_are_over(const struct port *proxy)
{
	bool over = true;

	for (struct port *p = proxy->peers; p; p = p->next_peer) {
		port_finish(p);
		over = over && !endpoint_can_read(&p->end);
	}
	return over;
}

/* Has the end of the row closed its output? */
static bool
may_go_up(struct route *r, bool hurry)
{
	struct chain *ch = r->chain;
	struct component *agent = chain_agent(ch);

	if (!agent)
		return has_left(r) && r->walk.down == ch->n && (hurry || is_quiet(r));
	if (life_is_over(agent) && endpoint_can_read(&agent->near->end) && hurry)
		endpoint_drain(&agent->near->end);
	return (agent->life >= LIFE_ENDED || (agent->life == LIFE_NONE && ch->end.broken)) && !endpoint_can_read(&agent->near->end);
}

static void
go_up(struct route *r)
{
	struct chain *ch = r->chain;
	struct component *c;

	for (; r->walk.up >= 0; r->walk.up--) {
		c = &ch->components[r->walk.up];
		if (c->life == LIFE_NONE || c->life == LIFE_GONE)
			continue;
		if (c->life == LIFE_DYING || !peers_are_over(c->near))
			return;
		port_finish(c->near);
		port_finish(c->far);
		if (c->kind != KIND_DOWN && endpoint_can_read(&c->near->end))
			return;
	}
	/* Requests that the client has sent by now are still refused. */
	if (has_left(r))
		port_finish(r->client);
	else
		walk_client_left(ch);
}

bool
walk_proceed(struct chain *ch, bool hurry)
{
	struct route *r = ch->route;
	ssize_t n = (ssize_t)ch->n, up = r->walk.up;
	bool moved = false;

	if (r->flow_changed)
		read_admit(r);
	/* The client has hung up, and its last messages find no room: they are not read. */
	if (hurry && r->client->end.hung_up && !has_left(r)) {
		endpoint_close_in(&r->client->end);
		moved = true;
	}
	if (has_left(r) && !r->started) {
		ch->end.broken = true;
		r->walk.down = ch->n;
	}
	if (has_left(r) && r->walk.up == n)
		moved = go_down(r, hurry) || moved;
	if (r->walk.up == n && (has_left(r) || ch->end.broken || ch->has_agent) && may_go_up(r, hurry)) {
		r->walk.up = ch->has_agent ? n - 2 : n - 1;
		end_renew(ch);
	}
	if (r->walk.up < n)
		go_up(r);
	return moved || r->walk.up != up;
}

/* --- for the engine --- */

uint64_t
walk_progress(const struct chain *ch)
{
	const struct route *r = ch->route;
	const struct port *p;
	uint64_t h = 0;

	for (size_t i = 0; i < ch->total; i++)
		h = h * 1000003 + ch->components[i].life;
	for (p = r->ports; p < r->ports + r->n; p++) {
		h = h * 1000003 + p->end.out.written + p->figures.in_bytes;
		h = h * 31 + (p->queue.unread_end < 0 ? 0 : (uint64_t)system_unread(p->queue.unread_end));
	}
	return h;
}

bool
walk_is_client_slow(const struct chain *ch)
{
	return ch->has_agent && ch->components[ch->n - 1].life >= LIFE_ENDED && ch->route->client->end.out.n > 0;
}

bool
walk_is_over(const struct chain *ch)
{
	const struct endpoint *client = &ch->route->client->end;

	return ch->end.forced || (!endpoint_can_read(client) && !endpoint_can_write(client));
}

void
walk_fail(struct component *c, const char *what, int status)
{
	send_set_reason(c, what);
	walk_break(c->chain->route, what, status);
}
