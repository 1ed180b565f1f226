#include "engine.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "death.h"
#include "end.h"
#include "hop.h"
#include "lib/base/cli.h"
#include "lib/run/proc.h"
#include "groups.h"
#include "link.h"
#include "logs.h"
#include "recover.h"
#include "restore.h"
#include "route.h"
#include "start.h"

enum {
	STUCK = 1000 * 1000,      /* us that a component may keep what it has read before others are not held up for it */
	STUCK_EVERY = 250 * 1000, /* us between two looks at what is stuck */
};

/* --- what comes in --- */

/* May a running component close this output? Only if its input in that direction has ended, or its output has no reader. */
static bool
may_end(const struct link *out)
{
	const struct component *c = out->writer;
	const struct link *in = c->in[out->dir];

	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++)
		if (c->out[dir] && link_has_no_reader(c->out[dir]))
			return true;
	return !in || link_has_ended(in);
}

/* The input of a port has ended. */
static void
input_ended(struct port *p)
{
	struct component *c = p->source ? p->source->writer : NULL, *agent = chain_agent(p->route->chain);

	if (p->in.in.error)
		report_line(p->route->report, "%s: %s", p->name, strerror(p->in.in.error));
	if (c && c->kind == KIND_PROXY && c->life > LIFE_DYING) {
		death_proxy_over(p);
	} else if (c && c->life == LIFE_DYING) {
		death_proceed(c);
	} else if (p->route->broken || !c) {
		end_input(p);
	} else if (c->life == LIFE_RUNS && (c->kind == KIND_PROXY || c->kind == KIND_PEER || (c->kind == KIND_AGENT ? death_is_replaceable(c) : !may_end(p->source)))) {
		start_closed_timer(c, c->kind == KIND_FILTER && p->kind == PORT_ABOVE ? "output (descriptor 7)" : "standard output");
	} else if (p->faces_agent && agent->life == LIFE_RUNS) {
		/* Why it has ended is known when its process has. */
		agent->unread = agent->near && !agent->near->finishing ? recover_count_unread(agent->near) : 0;
		port_finish(p);
		start_closed_timer(agent, "standard output");
		end_renew(agent->chain);
	} else if (c->kind != KIND_PROXY) {
		end_input(p);
	}
}

static void
on_input(void *arg, enum endpoint_event event)
{
	struct port *p = arg;
	struct route *r = p->route;

	if (event == ENDPOINT_ENDED)
		input_ended(p);
	/* What the death of a component means is known when its process has ended. */
	else if (event == ENDPOINT_HUNG_UP && (!p->source || !p->source->writer))
		end_renew(r->chain);
	/* Before what was read is forwarded. */
	logs_flush(r->logs);
	route_follow(r);
}

/* --- output --- */

/* A component, or the client, does not read what is written to it any more. */
static void
not_read(struct port *p)
{
	struct component *c = p->sink ? p->sink->reader : NULL;
	struct link *in = p->route->chain->client[ACP_DOWN];

	p->input_closed = true;
	hop_discard(p);
	if (!c) {
		if (in && in->rd >= 0 && !in->from && !in->ended)
			start_link_ended(in);
		end_client_unread(p);
		return;
	}
	if (p->carries || c->life != LIFE_RUNS || p->route->broken)
		return;
	/* An agent may still have something to say; another component is replaced once there is something for it to read. */
	if (c->kind != KIND_AGENT || death_is_replaceable(c))
		p->live = false;
	/* A process closes its pipes a little before it has ended: the next look is not at once. */
	loop_remove_timer(p->route->loop, &p->route->stuck);
	p->route->check_stuck = true;
}

static void
on_output(void *arg, enum endpoint_event event)
{
	struct port *p = arg;
	struct route *r = p->route;

	if (event == ENDPOINT_CLOSED && p->out.out.error)
		not_read(p);
	else if (event == ENDPOINT_CLOSED)
		end_closed(p);
	if (p->out.out.n == 0 && p->self_blocked) {
		p->self_blocked = false;
		r->flow_changed = true;
	}
	port_queue_changed(p);
	route_follow(r);
}

/* --- what gets stuck --- */

/*
 * For a component that has closed its input and still runs after a moment: requests to an agent that is not restarted get an error.
 * If something waits for another component, starts the timer after which it counts as dead.
 */
static bool
check_closed_input(struct port *p)
{
	struct component *c = p->sink ? p->sink->reader : NULL;

	if (!p->input_closed || p->carries || p->refuses || !c || c->life != LIFE_RUNS || p->route->broken)
		return false;
	if (c->kind == KIND_AGENT && !death_is_replaceable(c)) {
		p->refuses = true;
		recover_fail_unread(p, "the agent has closed its standard input");
		return false;
	}
	if (recover_count_unread(p) > 0 || p->calls)
		start_closed_timer(c, c->kind == KIND_FILTER && p->kind == PORT_ABOVE ? "input (descriptor 6)" : "standard input");
	return true;
}

/* A component that has not forwarded what keeps a place, or a request that is sent again, holds up others no longer. */
static bool
release_stuck(struct port *p, uint64_t now)
{
	uint64_t consumed = p->places ? port_consumed(p) : 0;
	bool waits = p->places || p->resent;
	struct call *c, *next;

	for (c = p->places ? p->calls : NULL; c; c = next) {
		next = c->next_open;
		if (!c->has_place || c->child_response_end == 0 || c->child_response_end > consumed)
			continue;
		if (!c->stuck)
			c->stuck = now;
		else if (now - c->stuck > STUCK)
			route_answer_from_child(c);
	}
	c = p->resent ? call_open(p, p->resent) : NULL;
	if (c && now - p->resent_at > STUCK)
		port_settled(p, c);
	return waits;
}

static void
on_stuck(void *arg)
{
	struct route *r = arg;
	uint64_t now = loop_clock();

	r->check_stuck = false;
	for (size_t i = 0; i < r->n; i++)
		r->check_stuck = check_closed_input(r->ports[i]) || release_stuck(r->ports[i], now) || r->check_stuck;
	route_follow(r);
}

/* --- after each event --- */

static void
check_overrun(struct route *r)
{
	struct port *p;

	for (size_t i = 0; i < r->n; i++) {
		p = r->ports[i];
		if (p->kind != PORT_PROXY || !p->overrun || p->component->life != LIFE_RUNS || p->component->closed_name)
			continue;
		p->component->closed_name = "standard input";
		report_line(r->report, "%s: does not read its standard input, and more than %d MiB are queued for it; killed", p->name, PORT_BOUND >> 20);
		proc_signal(p->component->pid, SIGKILL);
	}
}

static void
follow(void *arg)
{
	struct route *r = arg;

	logs_flush(r->logs);
	if (r->flow_changed) {
		port_admit(r);
		check_overrun(r);
	}
	if (r->check_stuck && !r->stuck.added)
		loop_add_timer(r->loop, &r->stuck, STUCK_EVERY);
	end_settle(r->chain);
}

/* --- from outside --- */

static void
force(struct chain *ch, int status)
{
	if (!ch->forced)
		ch->forced = status;
	end_force(ch);
}

/*
 * The first signal: as if the client had left. The component that reads its messages holds its stdin itself, and so has to be
 * told; a filter takes its first SIGTERM just so.
 */
static void
client_leaves(struct chain *ch)
{
	struct link *l = ch->client[ACP_DOWN];

	if (!l) {
		port_drain(ch->route->client);
		if (!endpoint_can_read(&ch->route->client->in))
			end_input(ch->route->client);
	} else if (l->from) {
		port_drain(l->from);
	} else if (l->reader->life == LIFE_DYING) {
		l->ended = true; /* once it is replaced */
	} else {
		if (l->reader->life == LIFE_RUNS) {
			l->reader->asked_to_end = true;
			proc_signal(l->reader->pid, SIGTERM);
		}
		start_link_ended(l);
	}
	end_renew(ch);
	route_follow(ch->route);
}

void
engine_signal(void *arg, int signal)
{
	struct chain *ch = arg;

	if (ch->signals++ == 0)
		client_leaves(ch);
	else
		force(ch, 128 + signal);
}

static void
on_no_proxy(struct port *p, const char *why)
{
	struct route *r = p->route;

	report_line(r->report, "%s: is not a proxy: %s; ending the chain", p->name, why);
	route_set_reason(r, p->component, "is not a proxy");
	end_break(r, EXIT_FAILED, r->why);
}

static void
no_memory(void *arg)
{
	struct route *r = arg;

	report_line(r->report, "out of memory");
	end_break(r, EXIT_FAILED, "out of memory");
	route_follow(r);
}

void
engine_open(struct chain *ch)
{
	struct route *r = ch->route;

	r->on_line = route_line;
	r->on_input = on_input;
	r->on_output = on_output;
	r->start = start_for_initialize;
	r->own_response = death_own_response;
	r->no_proxy = on_no_proxy;
	r->no_memory = (struct loop_task){.run = no_memory, .arg = r};
	r->follow = (struct loop_task){.run = follow, .arg = r};
	r->stuck = (struct loop_timer){.expired = on_stuck, .arg = r};
	ch->ended = death_ended;
	groups_open(ch);
}

/* --- the guardian --- */

static void watch_guardian(struct chain *);

/* Starts another guardian, which ends the components if conduct is killed. */
static void
guardian_died(void *arg, int status)
{
	struct chain *ch = arg;

	(void)status;
	loop_reap(ch->loop, &ch->guardian_watch);
	proc_close(ch->guardian.fd);
	if (proc_guardian_start(&ch->guardian) < 0) {
		report_line(&ch->report, "cannot restart the guardian process; if acp-conduct is killed, components may keep running");
		return;
	}
	watch_guardian(ch);
	for (size_t i = 0; i < ch->total; i++)
		if (ch->components[i].life != LIFE_NONE && ch->components[i].life != LIFE_GONE)
			proc_guardian_add(&ch->guardian, ch->components[i].pid);
}

static void
watch_guardian(struct chain *ch)
{
	ch->guardian_watch = (struct loop_child){.pid = ch->guardian.pid, .ended = guardian_died, .arg = ch};
	loop_add_child(ch->loop, &ch->guardian_watch);
}

/* --- the run --- */

/* Starts every component where all hops are direct; else only those with the client's descriptors. 0, or the exit status. */
static int
start_first(struct chain *ch)
{
	struct component *bad;
	size_t first = 0;

	if (!ch->routed)
		return start_all(ch, ch->n, &bad);
	while ((ch->client[ACP_DOWN] || ch->client[ACP_UP]) && first < ch->n && ch->components[first].kind < KIND_PROXY)
		first++;
	return start_all(ch, first, &bad);
}

/* Ends a chain of which not all could be started. */
static void
failed_start(struct chain *ch, int status)
{
	for (size_t i = 0; i < ch->total; i++)
		hop_close(&ch->components[i]);
	force(ch, status);
	if (!end_all_gone(ch))
		loop_run(ch->loop);
}

int
engine_run(struct chain *ch)
{
	int status = end_open(ch) < 0 ? EXIT_FAILED : 0;

	watch_guardian(ch);
	if (status == 0)
		status = start_first(ch);
	if (status) {
		failed_start(ch, status);
	} else if (loop_run(ch->loop) < 0) {
		report_line(&ch->report, "%s", strerror(errno));
		failed_start(ch, EXIT_FAILED);
	}
	proc_guardian_stop(&ch->guardian);
	if (ch->forced)
		return ch->forced;
	return ch->agent_status ? ch->agent_status : ch->other_status;
}
