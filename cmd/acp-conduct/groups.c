#include "groups.h"

#include <signal.h>

#include "chain.h"
#include "end.h"
#include "hop.h"
#include "link.h"
#include "route.h"

enum {
	FIRST_INTERVAL = 1000,     /* us between two checks of a group whose leader has ended: at first ... */
	LAST_INTERVAL = 100 * 1000, /* ... and at most */
};

uint64_t
groups_interval_after(uint64_t last)
{
	return last == 0 ? FIRST_INTERVAL : last * 2 < LAST_INTERVAL ? last * 2 : LAST_INTERVAL;
}

/* May its group still hold a pipe that the chain waits for? Of a filter on the client's own descriptor that is not known: it may. */
static bool
may_hold_links(const struct component *c)
{
	const struct link *out;

	if (endpoint_can_read(&c->errors.in))
		return true;
	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++) {
		out = c->out[dir];
		if (!out)
			continue;
		if (out->from ? endpoint_can_read(&out->from->in) : out->reader ? out->rd >= 0 && !link_has_ended(out) : c->kind != KIND_AGENT)
			return true;
	}
	return false;
}

/* The process of a component has ended: checks whether others of its group still run, and ends those that hold no pipe. */
static void
check_group(struct component *c)
{
	if (!proc_group_lives(c->pid)) {
		c->life = LIFE_GONE;
		hop_close(c);
		chain_bury(c);
		/* A process that has left the group may hold a pipe: only what it has written so far is forwarded. */
		for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS && c->kind != KIND_AGENT; dir++)
			if (c->out[dir] && c->out[dir]->from)
				port_drain(c->out[dir]->from);
	} else if (!c->signal_sent && !may_hold_links(c)) {
		end_signal_component(c);
		end_renew(c->chain);
	}
}

/*
 * Ends the down filters when only they remain: no process reads what they write, and the client may keep their input open for ever.
 */
static void
dismiss_down_filters(struct chain *ch)
{
	struct component *c;

	for (size_t i = 0; i < ch->n; i++) {
		c = &ch->components[i];
		if (c->kind == KIND_DOWN ? c->life == LIFE_NONE : c->life < LIFE_GONE)
			return;
	}
	for (size_t i = 0; i < ch->n; i++) {
		c = &ch->components[i];
		if (c->life != LIFE_RUNS || c->asked_to_end || link_has_ended(c->in[ACP_DOWN]))
			continue;
		c->asked_to_end = true;
		proc_signal(c->pid, SIGTERM);
	}
}

void
groups_check(struct chain *ch)
{
	struct component *c;
	bool lingers = false;

	for (size_t i = 0; i < ch->total; i++) {
		c = &ch->components[i];
		if (c->life == LIFE_ENDED)
			check_group(c);
		lingers = lingers || c->life == LIFE_ENDED;
	}
	route_follow(ch->route);
	if (!end_all_gone(ch) && !ch->routed)
		dismiss_down_filters(ch);
	/* Without memory for a timer, the deadline still looks after what lingers. */
	if (lingers)
		loop_add_timer(ch->loop, &ch->groups_timer, ch->groups_interval);
}

static void
check_again(void *arg)
{
	struct chain *ch = arg;

	ch->groups_interval = groups_interval_after(ch->groups_interval);
	groups_check(ch);
}

void
groups_ended(struct chain *ch)
{
	ch->groups_interval = groups_interval_after(0);
	groups_check(ch);
}

void
groups_open(struct chain *ch)
{
	ch->groups_timer = (struct loop_timer){.expired = check_again, .arg = ch};
}
