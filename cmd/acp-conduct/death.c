#include "death.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <utlist.h>

#include "end.h"
#include "hop.h"
#include "lib/base/cli.h"
#include "groups.h"
#include "link.h"
#include "memory.h"
#include "recover.h"
#include "restore.h"
#include "route.h"
#include "start.h"

/* --- how it ended --- */

bool
death_is_replaceable(const struct component *c)
{
	const struct port *p = c->near;

	return c->on_crash == CRASH_RESTART && p->state != PORT_NEW && p->state != PORT_GONE && !end_client_has_left(p);
}

/* Why a component ended, as far as it concerns us. */
enum end {
	END_IN_ORDER,
	END_STOPPED,   /* we did it: counts as 0 */
	END_UNREAD,    /* SIGPIPE, since no process reads its output any more */
	END_DEATH,
};

/* May it end, or close what it writes? Its input has ended, or no process reads it. */
static bool
has_excuse(const struct component *c)
{
	if (c->chain->route->broken)
		return true;
	if (c->kind == KIND_PROXY)
		return c->near->finishing;
	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++)
		if ((c->in[dir] && link_has_ended(c->in[dir])) ||
			(c->out[dir] && link_has_no_reader(c->out[dir])))
			return true;
	return false;
}

static enum end
judge(const struct component *c)
{
	int status = c->status, counts = proc_status(status);

	if (c->signal_sent || (c->asked_to_end && counts == 128 + SIGTERM))
		return END_STOPPED;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE && has_excuse(c))
		return END_UNREAD;
	if (WIFSIGNALED(status))
		return END_DEATH;
	return (c->kind == KIND_AGENT && !death_is_replaceable(c)) || has_excuse(c) ? END_IN_ORDER : END_DEATH;
}

/* The exit status is the agent's; where that is 0, the first of the others' that is not. */
static void
count_status(struct chain *ch, const struct component *c, enum end end)
{
	int counts = proc_status(c->status);

	if (end == END_STOPPED || (end == END_UNREAD && c->kind != KIND_AGENT) || (end == END_DEATH && c->kind == KIND_PEER))
		return;
	if (end == END_DEATH && counts == 0 && c->kind != KIND_AGENT)
		counts = EXIT_FAILED;
	if (c->kind == KIND_AGENT)
		ch->agent_status = counts;
	else if (ch->other_status == 0)
		ch->other_status = counts;
}

/* With -v: what has gone through it, and how it ended. */
static void
report_totals(const struct component *c)
{
	const struct port *p = c->near;
	SCOPED struct buf line = {0};
	/* What a proxy was given, and what the agent was given and has said. */
	const struct port_counts *down, *up;

	if (!c->chain->verbose)
		return;
	buf_printf(&line, "%s: %s", c->name, c->how);
	if (p && c->kind >= KIND_PROXY) {
		down = &p->out_counts;
		up = c->kind == KIND_PROXY ? down : &p->in_counts;
		buf_printf(&line, ", down %" PRIu64 " messages %" PRIu64 " bytes, up %" PRIu64 " messages %" PRIu64 " bytes",
			down->messages[ACP_DOWN], down->bytes[ACP_DOWN], up->messages[ACP_UP], up->bytes[ACP_UP]);
	} else {
		buf_printf(&line, ", down - messages - bytes, up - messages - bytes");
	}
	if (chain_may_return(c))
		buf_printf(&line, ", %" PRIu64 " restarts", c->restarts);
	if (p && c->kind == KIND_PROXY && port_time(p, 500) >= 0)
		buf_printf(&line, ", added %.0f us (median) and %.0f us (99th percentile)", port_time(p, 500), port_time(p, 990));
	if (buf_string(&line))
		report_line(&c->chain->report, "%s", line.p);
}

static void
report_death(const struct component *c)
{
	struct chain *ch = c->chain;

	if (c->kind == KIND_PEER)
		report_line(&ch->report, "%s: died (%s)", c->name, c->how);
	else if (c->limit_reached)
		report_line(&ch->report, "%s: died (%s), more often than --restarts %s allows; ending the chain", c->name, c->how, ch->allowed);
	else
		report_line(&ch->report, "%s: died (%s); ending the chain", c->name, c->how);
}

/* Has an agent failed without a word of its own? */
static bool
failed_silently(struct component *c)
{
	report_drain(&c->errors);
	return c->kind == KIND_AGENT && proc_status(c->status) != 0 && report_tail(&c->errors).n == 0;
}

static void
report_end(struct chain *ch, struct component *c, enum end end)
{
	size_t unread = c->unread;

	if (end == END_DEATH && c->kind != KIND_PROXY)
		report_death(c);
	else if (end == END_STOPPED && c->signal_sent && !ch->forced)
		report_line(&ch->report, "%s: did not end within the grace period; stopped (%s)", c->name, c->how);
	else if (end == END_STOPPED && ch->signals)
		report_line(&ch->report, "%s: stopped (%s)", c->name, c->how);
	else if (end == END_IN_ORDER && (c->kind == KIND_AGENT ? failed_silently(c) : proc_status(c->status) != 0))
		report_line(&ch->report, "%s: ended with %s", c->name, c->how);
	if (c->kind == KIND_AGENT && c->near && !c->near->finishing)
		unread = recover_count_unread(c->near);
	if (unread > 0 && !ch->forced)
		report_line(&ch->report, "%s: ended without reading %zu messages", c->name, unread);
	report_totals(c);
}

/* A proxy has ended, and what it wrote is read. */
void
death_proxy_over(struct port *p)
{
	port_close(p);
	p->state = PORT_GONE;
	route_fail_calls(p);
}

/* What the end of a component is to its neighbours, as far as ports know it. */
static void
end_ports(struct component *c)
{
	struct route *r = c->chain->route;
	struct port *p;

	if (c->kind == KIND_PROXY) {
		/* What it wrote is still read. */
		port_drain(c->near);
		if (!endpoint_can_read(&c->near->in) || r->broken)
			death_proxy_over(c->near);
		return;
	}
	if (c->kind == KIND_AGENT && !r->broken)
		route_set_reason(r, c, c->how);
	for (size_t i = 0; c->kind == KIND_AGENT && i < r->n; i++)
		if (r->ports[i]->faces_agent && !endpoint_can_read(&r->ports[i]->in))
			end_input(r->ports[i]);
	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++) {
		p = c->out[dir] ? c->out[dir]->from : NULL;
		if (p && !endpoint_can_read(&p->in))
			end_input(p);
		else if (p && c->kind == KIND_AGENT && !c->closed_timer.added)
			loop_add_timer(c->chain->loop, &c->closed_timer, c->chain->grace);
	}
}

static void
end_component(struct component *c, enum end end)
{
	struct chain *ch = c->chain;

	c->life = LIFE_ENDED;
	loop_remove_timer(ch->loop, &c->timer);
	loop_remove_timer(ch->loop, &c->closed_timer);
	count_status(ch, c, end);
	report_end(ch, c, end);
	hop_close(c);
	if (c->child.added)
		loop_reap(ch->loop, &c->child);
	end_ports(c);
	end_renew(ch);
	groups_ended(ch);
	route_follow(ch->route);
}

/* --- another process takes its place --- */

void
death_own_response(struct port *p, enum acp_method what, const struct msg *m)
{
	struct slice error = m->error;

	if (what != ACP_INITIALIZE) {
		restore_response(p, m);
		return;
	}
	if (p->state == PORT_GONE)
		return;
	loop_remove_timer(p->route->loop, &p->component->timer);
	if (!error.p) {
		if (p->memory)
			restore_begin(p, m);
		return;
	}
	report_line(p->route->report, "%s: refused to initialize after its restart; killed: %.*s", p->name, (int)(error.n < 200 ? error.n : 200), error.p);
	proc_signal(p->component->pid, SIGKILL);
}

/* 0, or -1 after a line that says why. */
static int
restart(struct component *c)
{
	struct port *p = c->near;

	if (start_again(c) < 0)
		return -1;
	c->restarts++;
	if (c->kind < KIND_PROXY)
		return (c->near && port_go_live(c->near) < 0) || (c->far && port_go_live(c->far) < 0) ? -1 : 0;
	/* The first initialization has the time of the whole chain. */
	if (p->state != PORT_INITIALIZING)
		start_init_timer(c);
	return 0;
}

/* It died before it was initialized, asked in one dialect: perhaps the other is its own. */
static bool
try_other_dialect(struct component *c)
{
	struct port *p = c->near;
	struct recover_counts n = {0};

	if (!route_take_other_dialect(p))
		return false;
	report_line(p->route->report, "%s: ended while it was being initialized (%s); restarting it with the other dialect", p->name, c->how);
	recover_sort(c, &n);
	return restart(c) == 0 && route_ask_first(p) == 0;
}

/* Does conduct read all that it reads and writes? Then it knows what is lost; else only that something may be. */
static bool
is_counted(const struct component *c)
{
	return c->kind >= KIND_PROXY || (c->near && c->near->other_side);
}

/*
 * A peer has died and is not restarted: what it was asked fails, and nothing else does. The next initialize starts it, unless it has
 * died too often.
 */
static void
rest(struct component *c)
{
	struct port *p = c->near;
	struct recover_counts n = {0};
	const struct call *call;
	char what[160];

	if (c->on_crash == CRASH_FAIL)
		chain_count_death(c);
	DL_COUNT2(p->calls, call, n.failed, next_open);
	snprintf(what, sizeof(what), c->limit_reached ? "died (%s), more often than --restarts %s allows; not started again" : "died (%s)",
		c->how, c->chain->allowed);
	recover_report(p, what, &n);
	report_totals(c);
	hop_close(c);
	port_close(p);
	c->life = LIFE_NONE;
	p->state = c->limit_reached || end_of_peers(p->above) ? PORT_GONE : PORT_NEW;
	p->successor.n = 0;
	recover_end(p);
}

static void
bypass(struct component *c, const char *text)
{
	struct route *r = c->chain->route;
	struct recover_counts n = {0};

	if (c->kind == KIND_PROXY) {
		recover_bypass(c->near, &n);
		port_close(c->near);
		end_peers(c->near);
		recover_report(c->near, text, &n);
	} else {
		if (!is_counted(c))
			report_line(&c->chain->report, "%s: %s; messages that it had read but not forwarded are lost", c->name, text);
		recover_sort(c, &n);
		if (is_counted(c))
			recover_report(c->near, text, &n);
		if (hop_bypass(c) < 0)
			route_no_memory(r);
		/* The end of its input came before it was bypassed. */
		for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++)
			if (c->in[dir] && c->in[dir]->to->finishing)
				end_input(c->out[dir]->from);
	}
	c->life = LIFE_GONE;
}

/* A line that it left half written is closed by the newline of the next. */
static void
report_torn(struct component *c)
{
	const struct port *p;

	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++) {
		p = c->out[dir] ? c->out[dir]->from : NULL;
		if (p && p->carries && p->in.torn)
			report_line(&c->chain->report, "%s: %s: wrote an incomplete line before it died; ended the line with a newline", c->name, dir == ACP_DOWN ? "down" : "up");
	}
}

/* 0; -1: the chain ends. */
static int
replace(struct component *c)
{
	struct chain *ch = c->chain;
	struct recover_counts n = {0};
	char what[160];

	if (c->kind == KIND_PROXY && c->near->state == PORT_INITIALIZING)
		return try_other_dialect(c) ? 0 : -1;
	if (c->bypassed) {
		snprintf(what, sizeof(what), "died (%s); bypassed", c->how);
		bypass(c, what);
		return 0;
	}
	if (!is_counted(c))
		report_line(&ch->report, "%s: died (%s); restarting it; messages that it had read but not forwarded are lost", c->name, c->how);
	report_torn(c);
	recover_sort(c, &n);
	if (c->kind >= KIND_PROXY)
		c->near->state = PORT_RECOVERING;
	if (c->kind >= KIND_AGENT)
		n = (struct recover_counts){.failed = n.failed, .unread = n.unread, .sessions = restore_prepare(c->near, c->how)};
	if (restart(c) < 0 || (c->kind >= KIND_PROXY && route_ask_again(c->near) < 0)) {
		report_line(&ch->report, "%s: cannot be restarted", c->name);
		return -1;
	}
	snprintf(what, sizeof(what), "died (%s); restarted", c->how);
	if (is_counted(c))
		recover_report(c->near, what, &n);
	return 0;
}

static void
end_dead(struct component *c)
{
	struct route *r = c->chain->route;

	if (c->kind == KIND_PROXY && !r->broken) {
		route_set_reason(r, c, c->how);
		if (c->near->finishing)
			report_line(r->report, "%s: died (%s) while the chain was ending", c->name, c->how);
		else if (c->near->state == PORT_INITIALIZING || c->near->state == PORT_NEW)
			report_line(r->report, "%s: died (%s) before it was initialized; ending the chain", c->name, c->how);
		else
			report_death(c);
		if (!c->near->finishing)
			end_break(r, 0, r->why);
	}
	end_component(c, END_DEATH);
}

/* A file's reader has no end of input that could be told from its own. */
static bool
reads_a_file(const struct component *c)
{
	const struct link *l = c->in[ACP_DOWN];

	return c->kind != KIND_PROXY && l && l == c->chain->client[ACP_DOWN] && !l->from && S_ISREG(link_type(l->rd));
}

/* May it be replaced? Counts the death. */
static bool
decide_restart(struct component *c)
{
	struct chain *ch = c->chain;
	bool too_often;

	if (ch->forced || ch->route->broken || c->life != LIFE_RUNS || (c->kind >= KIND_AGENT && !death_is_replaceable(c)))
		return false;
	if (c->kind == KIND_PROXY && (c->near->state == PORT_INITIALIZING || c->near->state == PORT_NEW))
		return c->near->state == PORT_INITIALIZING;
	if (c->on_crash == CRASH_FAIL || (c->kind == KIND_PROXY && c->near->finishing))
		return false;
	if (c->kind != KIND_AGENT && reads_a_file(c)) {
		report_line(&ch->report, "%s: reads its input from a file, so it cannot be restarted", c->name);
		return false;
	}
	too_often = chain_count_death(c);
	c->bypassed = too_often && c->on_crash == CRASH_BYPASS;
	return !too_often || c->bypassed;
}

/* Has all been read that it wrote where conduct reads it? */
static bool
is_drained(const struct component *c)
{
	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++)
		if (c->out[dir] && c->out[dir]->from && endpoint_can_read(&c->out[dir]->from->in))
			return false;
	return true;
}

static void
check_group(void *arg)
{
	death_proceed(arg);
	route_follow(((struct component *)arg)->chain->route);
}

/* Still? Much may have happened since its death, and a peer's response to initialize was not among what it wrote. */
static bool
may_be_replaced(const struct component *c)
{
	return !c->no_restart && (c->kind != KIND_PEER || (c->near->state != PORT_INITIALIZING && death_is_replaceable(c)));
}

/* Nothing is touched before all are gone that may still read or write, and what they wrote is read. */
void
death_proceed(struct component *c)
{
	struct chain *ch = c->chain;

	if (c->life != LIFE_DYING)
		return;
	if (ch->forced || ch->route->broken || (c->kind == KIND_AGENT && !death_is_replaceable(c))) {
		end_dead(c);
		return;
	}
	if (proc_group_lives(c->pid)) {
		c->group_interval = groups_interval_after(c->group_interval);
		loop_add_timer(ch->loop, &c->timer, c->group_interval);
		return;
	}
	if (!is_drained(c))
		return;
	/* Its response to initialize was not among what it wrote. */
	if (c->kind == KIND_AGENT && c->near->state == PORT_INITIALIZING) {
		end_dead(c);
		return;
	}
	/* Its group may have gone before the next check of it. */
	loop_remove_timer(ch->loop, &c->timer);
	chain_bury(c);
	route_set_reason(ch->route, c, c->how);
	if (!may_be_replaced(c) || hop_split(c) < 0 || replace(c) < 0) {
		if (c->kind != KIND_PEER) {
			end_dead(c);
			return;
		}
		rest(c);
	}
	route_clear_reason(ch->route);
	groups_check(ch);
	route_follow(ch->route);
}

/* The process of a component has ended. */
void
death_ended(void *arg, int status)
{
	struct component *c = arg;
	struct chain *ch = c->chain;
	enum end end;

	c->status = status;
	proc_describe(status, c->how, sizeof(c->how));
	end = judge(c);
	loop_remove_timer(ch->loop, &c->closed_timer);
	loop_remove_timer(ch->loop, &c->timer);
	c->no_restart = end != END_DEATH || !decide_restart(c);
	if (c->no_restart && (end != END_DEATH || (c->kind != KIND_PROXY && c->kind != KIND_PEER) || ch->route->broken || ch->forced)) {
		end_component(c, end);
		return;
	}
	c->life = LIFE_DYING;
	if (c->near)
		c->near->live = false;
	if (c->far)
		c->far->live = false;
	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++) {
		if (c->in[dir] && !c->in[dir]->to)
			loop_remove_fd(ch->loop, &c->in[dir]->watch);
		if (c->out[dir] && c->out[dir]->from)
			port_drain(c->out[dir]->from);
	}
	proc_signal(c->pid, SIGKILL);
	report_drain(&c->errors);
	c->group_interval = 0;
	c->timer = (struct loop_timer){.expired = check_group, .arg = c};
	check_group(c);
}
