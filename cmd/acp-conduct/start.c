#include "start.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "end.h"
#include "hop.h"
#include "lib/base/cli.h"
#include "link.h"
#include "memory.h"
#include "route.h"

/* Who it is, with its command. */
void
start_introduce(const struct component *c)
{
	SCOPED struct buf command = {0};

	if (!c->chain->verbose || c->chain->forced)
		return;
	if (c->command)
		buf_add_string(&command, c->command);
	for (size_t i = 0; !c->command && c->argv[i]; i++)
		buf_printf(&command, "%s%s", i ? " " : "", c->argv[i]);
	if (buf_string(&command))
		report_line(&c->chain->report, "%s: pid %ld, %s: %s", c->name, (long)c->pid, chain_kind(c->kind), command.p);
}

/* --- links that the neighbours share --- */

void
start_link_ended(struct link *l)
{
	link_end(l);
	end_renew(l->chain);
}

static void
on_hangup(void *arg, short revents)
{
	(void)revents;
	start_link_ended(arg);
}

/* The client does not read any more: who writes to it sees that, and decides alone what goes on. */
static void
on_unread(void *arg, short revents)
{
	struct link *l = arg, *in = l->chain->client[ACP_DOWN];
	struct component *c = l->writer;

	(void)revents;
	loop_remove_fd(l->chain->loop, &l->watch);
	if (c && c->in[ACP_UP] && !c->in[ACP_UP]->to)
		chain_close(c->in[ACP_UP], &c->in[ACP_UP]->rd);
	if (in && !in->from && in->reader && in->reader->out[ACP_DOWN] && !in->reader->out[ACP_DOWN]->from)
		chain_close(in->reader->out[ACP_DOWN], &in->reader->out[ACP_DOWN]->wr);
	for (enum acp_direction dir = ACP_DOWN; c && dir < ACP_DIRECTIONS; dir++)
		if (c->in[dir] && !c->in[dir]->to)
			loop_remove_fd(l->chain->loop, &c->in[dir]->watch);
	end_renew(l->chain);
}

static void
watch_link(struct link *l)
{
	struct chain *ch = l->chain;
	bool writes = l == ch->client[ACP_UP];
	int fd = writes ? l->wr : l->rd;
	mode_t type;

	if (fd < 0 || l->watch.added || l->ended || l->to || l->from || (l->reader && l->reader->life == LIFE_DYING))
		return;
	type = link_type(fd);
	/* A file never hangs up: it counts as ended from the start. */
	if (type != S_IFIFO && (type != S_IFSOCK || writes)) {
		if (!writes)
			start_link_ended(l);
		return;
	}
	l->watch = (struct loop_fd){.fd = fd, .events = writes ? 0 : link_hangup_events(fd), .ready = writes ? on_unread : on_hangup, .arg = l};
	loop_add_fd(ch->loop, &l->watch);
}

void
start_watch(struct chain *ch)
{
	for (size_t i = 0; i < ch->nlinks; i++)
		watch_link(&ch->links[i]);
}

/* --- a component that closes what it should use --- */

void
start_closed_timer(struct component *c, const char *closed)
{
	if (c->closed_timer.added || c->life != LIFE_RUNS)
		return;
	c->closed_name = closed;
	loop_add_timer(c->chain->loop, &c->closed_timer, c->chain->grace);
}

/* It lives, and does not do what it is there for. */
static void
on_closed(void *arg)
{
	struct component *c = arg;
	struct chain *ch = c->chain;

	if (c->life == LIFE_ENDED || c->life == LIFE_GONE) {
		/* A process that has left the group holds its output, and the grace period is over. */
		if (c->out[ACP_UP]->from)
			port_drain(c->out[ACP_UP]->from);
	} else if (c->life == LIFE_RUNS) {
		report_line(&ch->report, "%s: closed its %s but is still running; stopping it", c->name, c->closed_name);
		c->asked_to_end = !chain_may_return(c);
		proc_signal(c->pid, c->asked_to_end ? SIGTERM : SIGKILL);
	}
}

/* --- processes --- */

/* 0, or the exit status. */
int
start_component(struct component *c)
{
	struct chain *ch = c->chain;
	int status = chain_start(c);

	if (status)
		return status;
	hop_started(c);
	c->asked_to_end = false;
	c->closed_name = NULL;
	c->closed_timer = (struct loop_timer){.expired = on_closed, .arg = c};
	c->child = (struct loop_child){.pid = c->pid, .ended = ch->ended, .arg = c};
	loop_add_child(ch->loop, &c->child);
	return 0;
}

int
start_again(struct component *c)
{
	if (hop_renew(c) < 0) {
		report_line(&c->chain->report, "%s: %s", c->name, strerror(errno));
		return -1;
	}
	if (start_component(c) != 0)
		return -1;
	start_watch(c->chain);
	start_introduce(c);
	return 0;
}

int
start_all(struct chain *ch, size_t n, struct component **bad)
{
	size_t begin = 0, i;
	int status = 0;

	while (begin < n && ch->components[begin].life != LIFE_NONE)
		begin++;
	for (i = n; status == 0 && i-- > begin;) {
		*bad = &ch->components[i];
		status = start_component(*bad);
	}
	for (i = begin; status == 0 && i < n; i++)
		start_introduce(&ch->components[i]);
	if (status == 0)
		start_watch(ch);
	return status;
}

/* --- initialization --- */

/* Who has been asked and has not answered: the last of them keeps the others waiting. */
static struct component *
silent(const struct route *r)
{
	struct component *c = NULL, *at;
	struct chain *ch = r->chain;

	for (at = ch->components; at < ch->components + ch->total; at++)
		if (at->near && at->near->state == PORT_INITIALIZING)
			c = at;
	return c;
}

static void
took_too_long(void *arg)
{
	struct component *c = arg;

	report_line(&c->chain->report, "%s: did not %s within --init-timeout; killed", c->name,
		c->near->memory && c->near->memory->at ? "restore a session" : "initialize");
	proc_signal(c->pid, SIGKILL);
}

void
start_init_timer(struct component *c)
{
	c->timer = (struct loop_timer){.expired = took_too_long, .arg = c};
	/* Without memory for a timer there is no limit. */
	loop_add_timer(c->chain->loop, &c->timer, c->chain->route->init_timeout);
}

static bool
start_peer(struct port *p)
{
	struct component *c = p->component;

	if (c->chain->forced || end_of_peers(p->above)) {
		route_set_reason(p->route, c, "the chain is ending");
		return false;
	}
	if (start_again(c) < 0) {
		route_set_reason(p->route, c, "could not be started");
		hop_close(c);
		port_close(p);
		return false;
	}
	start_init_timer(c);
	return true;
}

static void
init_over(void *arg)
{
	struct route *r = arg;
	struct component *c = silent(r);

	report_line(r->report, "%s: did not initialize within --init-timeout; ending the chain", c ? c->name : "a filter");
	if (c)
		route_set_reason(r, c, "did not initialize within --init-timeout");
	end_break(r, EXIT_FAILED, r->why ? r->why : "a component did not initialize within --init-timeout");
	route_follow(r);
}

static bool
start_components(struct route *r)
{
	struct chain *ch = r->chain;
	struct component *bad = NULL;
	int status = start_all(ch, ch->n, &bad);

	r->started = true;
	if (status) {
		if (bad)
			route_set_reason(r, bad, "could not be started");
		end_break(r, status, r->why ? r->why : "a component could not be started");
		return false;
	}
	r->init = (struct loop_timer){.expired = init_over, .arg = r};
	/* Without memory for a timer there is no limit. */
	loop_add_timer(r->loop, &r->init, r->init_timeout);
	return true;
}

bool
start_for_initialize(struct port *to)
{
	if (!to->route->started && !start_components(to->route))
		return false;
	return !to->peer || to->component->life != LIFE_NONE || start_peer(to);
}
