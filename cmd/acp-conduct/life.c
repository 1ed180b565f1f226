#include "life.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chain.h"
#include "crash.h"
#include "lib/cli.h"
#include "supervise.h"
#include "wire.h"

static const struct slice nothing = {NULL, 0};

/* --- words --- */

/* Why, and what the component said last, for people and as JSON. */
static void
tell_why(struct route *r, const struct component *c, const char *what)
{
	struct buf text = {0};

	free(r->why_text);
	r->why_text = NULL;
	r->why = what;
	if (buf_printf(&text, "acp-conduct: %s: no answer: %s", c->name, what) == 0 && buf_string(&text))
		r->why = r->why_text = text.p;
	else
		buf_free(&text);
	r->reason.n = 0;
	if (buf_add_string(&r->reason, "{\"component\":") < 0 || json_quote(slice_of(c->name), &r->reason) < 0 ||
		buf_add_string(&r->reason, ",\"status\":") < 0 || json_quote(slice_of(what), &r->reason) < 0 ||
		buf_add_string(&r->reason, ",\"stderr\":") < 0 || json_quote(report_tail(&c->errors), &r->reason) < 0 ||
		buf_add(&r->reason, "}", 1) < 0)
		r->reason.n = 0;
}

/* --- the beginning --- */

/* Who has been asked and has not answered: the last of them keeps the others waiting. */
static struct component *
silent(const struct route *r)
{
	struct component *c = NULL;
	size_t i;

	for (i = 0; i < r->n; i++)
		if (r->ports[i].state == PORT_ASKED && r->ports[i].component)
			c = r->ports[i].component;
	return c;
}

static void
init_over(void *arg)
{
	struct route *r = arg;
	struct component *c = silent(r);
	const char *name = c ? c->name : "a filter";

	report_say(r->report, "%s: did not initialize in time; ending the chain", name);
	if (c)
		tell_why(r, c, "it did not initialize in time");
	life_break(r, EXIT_FAILED, r->why ? r->why : "a component did not initialize in time", route_reason(r));
}

bool
life_start(struct route *r)
{
	struct chain *ch = r->chain;
	struct component *bad = NULL;
	int status = chain_start_rest(ch, &bad);

	r->started = true;
	if (supervise_started(ch) < 0 && status == 0)
		status = EXIT_FAILED;
	if (status) {
		if (bad)
			tell_why(r, bad, "it could not be started");
		life_break(r, status, r->why ? r->why : "a component cannot be started", route_reason(r));
		return false;
	}
	r->init.expired = init_over;
	r->init.arg = r;
	/* Without memory for a timer nobody is hurried. */
	loop_add_timer(r->loop, &r->init, r->init_timeout);
	return true;
}

static const char *
dialect_of(const struct port *p)
{
	return p->dialect == ACP_PLAIN ? "plain" : "underscore";
}

void
life_introduce(struct route *r)
{
	const struct port *p;
	size_t i;

	if (!r->chain->verbose)
		return;
	for (i = 0; i < r->n; i++) {
		p = &r->ports[i];
		if (p->kind == PORT_PROXY && p->component)
			report_say(r->report, "%s: pid %ld, %s, %s", p->name, (long)p->component->pid,
				chain_kind(p->component->kind), dialect_of(p));
	}
}

void
life_sum_up(const struct component *c, const char *end)
{
	const struct port *p = c->port;
	struct buf line = {0};
	/* What a proxy was given, and what the agent was given and has said. */
	const struct port_counts *down = &p->out_counts, *up = p->kind == PORT_PROXY ? down : &p->in_counts;

	buf_printf(&line, "%s: %s, down %" PRIu64 " messages %" PRIu64 " bytes, up %" PRIu64 " messages %" PRIu64 " bytes",
		p->component == c ? c->name : p->name, end, down->messages[LANE_DOWN], down->bytes[LANE_DOWN],
		up->messages[LANE_UP], up->bytes[LANE_UP]);
	if (p->kind == PORT_PROXY)
		buf_printf(&line, ", %" PRIu64 " restarts", p->restarts);
	if (port_time(p, 500) >= 0)
		buf_printf(&line, ", added %.0f us (median) and %.0f us (99th percentile)", port_time(p, 500), port_time(p, 990));
	if (buf_string(&line))
		report_say(p->route->report, "%s", line.p);
	buf_free(&line);
}

/* --- death --- */

static void
took_too_long(void *arg)
{
	struct component *c = arg;

	report_say(&c->chain->report, "%s: did not initialize in time; killed", c->name);
	proc_signal(c->pid, SIGKILL);
}

static bool
start_again(struct component *c)
{
	struct port *p = c->port;

	loop_bury(p->route->loop, &c->child);
	proc_guardian_remove(&c->chain->guardian, c->pid);
	report_hang_up(&c->errors);
	wire_close_proxy(c);
	if (wire_proxy(c) < 0 || chain_start_one(c->chain, c) != 0)
		return false;
	chain_close(&c->out[LANE_UP]->wr);
	if (supervise_started(c->chain) < 0)
		return false;
	c->mending.expired = took_too_long;
	c->mending.arg = c;
	loop_add_timer(p->route->loop, &c->mending, p->route->init_timeout);
	p->restarts++;
	return true;
}

static void
tell_mend(struct port *p, const char *how, const char *text, const struct mend_counts *n)
{
	struct buf line = {0};

	buf_printf(&line, "%s: died (%s); %s", p->name, text, how);
	if (n->adopted)
		buf_printf(&line, "; requests passed on before: %zu", n->adopted);
	if (n->kept)
		buf_printf(&line, "; answered with what it was handed: %zu", n->kept);
	if (n->again)
		buf_printf(&line, "; requests given again: %zu", n->again);
	if (n->unread)
		buf_printf(&line, "; unread messages: %zu", n->unread);
	if (n->past)
		buf_printf(&line, "; passed by: %zu", n->past);
	if (n->failed)
		buf_printf(&line, "; requests refused: %zu", n->failed);
	if (n->lost)
		buf_printf(&line, "; notifications lost: at most %llu", (unsigned long long)n->lost);
	if (buf_string(&line))
		report_say(p->route->report, "%s", line.p);
	buf_free(&line);
}

/* It died before it was initialized, asked in one dialect: perhaps the other is its own. */
static bool
try_other_dialect(struct component *c, const char *text)
{
	struct port *p = c->port;
	struct route *r = p->route;
	struct mend_counts n = {0};

	if (p->state != PORT_ASKED || p->asked_twice || r->fixed || p->told_initialize)
		return false;
	p->asked_twice = true;
	p->dialect = p->dialect == ACP_PLAIN ? ACP_UNDERSCORE : ACP_PLAIN;
	report_say(r->report, "%s: ended when it was asked to initialize (%s); asking in the other dialect", p->name, text);
	mend_sort(p, "", nothing, &n);
	return start_again(c) && route_ask_first(p) == 0;
}

static bool
bypass(struct component *c, const char *text)
{
	struct port *p = c->port;
	struct mend_counts n = {0};

	mend_bypass(p, p->route->why, route_reason(p->route), &n);
	loop_bury(p->route->loop, &c->child);
	proc_guardian_remove(&c->chain->guardian, c->pid);
	report_hang_up(&c->errors);
	wire_close_proxy(c);
	c->life = LIFE_GONE;
	tell_mend(p, "taken out of the chain: its neighbours are joined", text, &n);
	route_flush(p->route);
	return true;
}

static bool
mend(struct component *c, const char *text)
{
	struct port *p = c->port;
	struct route *r = p->route;
	struct mend_counts n = {0};

	if (c->on_crash == CRASH_FAIL || crash_too_often(c)) {
		if (c->on_crash == CRASH_BYPASS)
			return bypass(c, text);
		report_say(r->report, "%s: died (%s); ending the chain", p->name, text);
		return false;
	}
	mend_sort(p, r->why, route_reason(r), &n);
	p->state = PORT_MENDING;
	if (!start_again(c) || route_ask_again(p) < 0) {
		report_say(r->report, "%s: cannot be started again", p->name);
		return false;
	}
	tell_mend(p, "started again", text, &n);
	route_flush(r);
	return true;
}

bool
life_is_dismissed(const struct component *c)
{
	return c->port->closing || c->port->route->broken;
}

bool
life_died(struct component *c, int status)
{
	struct port *p = c->port;
	struct route *r = p->route;
	char text[32];

	proc_describe(status, text, sizeof(text));
	/* What others of its group still write would come between the two. */
	proc_signal(c->pid, SIGKILL);
	route_drain(p);
	port_close_in(p);
	loop_remove_timer(r->loop, &c->mending);
	if (r->broken)
		return false;
	report_drain(&c->errors);
	tell_why(r, c, text);
	if (p->closing) {
		report_say(r->report, "%s: died (%s) while the chain was ending", p->name, text);
		return false;
	}
	if (try_other_dialect(c, text))
		return true;
	if (p->state == PORT_ASKED || p->state == PORT_COLD)
		report_say(r->report, "%s: died (%s) before it was initialized; ending the chain", p->name, text);
	else if (mend(c, text))
		return true;
	life_break(r, 0, r->why, route_reason(r));
	route_flush(r);
	return false;
}

void
life_component_ended(struct component *c, int status)
{
	struct port *p = c->port;
	struct route *r = c->chain->route;
	char text[32];

	if (!p)
		return;
	if (!r->broken && c->kind == KIND_AGENT) {
		proc_describe(status, text, sizeof(text));
		tell_why(r, c, text);
	}
	route_drain(p);
	if (c->kind == KIND_AGENT) {
		if (!p->in_open)
			life_agent_over(p);
	} else {
		port_close_in(p);
		port_close_out(p);
		p->state = PORT_GONE;
		route_fail_calls(p, r->why ? r->why : "that component has ended", route_reason(r));
	}
	route_flush(r);
}

void
life_mended(struct port *p, const struct msg *answer)
{
	loop_remove_timer(p->route->loop, &p->component->mending);
	if (answer->error.p) {
		report_say(p->route->report, "%s: did not initialize again: %.*s", p->name,
			(int)(answer->error.n < 200 ? answer->error.n : 200), answer->error.p);
		proc_signal(p->component->pid, SIGKILL);
		return;
	}
	p->state = PORT_READY;
	if (port_go_live(p) < 0)
		route_no_memory(p->route);
}
