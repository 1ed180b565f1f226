#include "linger.h"

#include <signal.h>

#include "chain.h"
#include "end.h"
#include "hop.h"
#include "link.h"
#include "route.h"

enum {
	FIRST_LOOK = 1000,     /* us between two looks at a group whose leader has ended: at first ... */
	LAST_LOOK = 100 * 1000, /* ... and when it takes long */
};

uint64_t
linger_pause(uint64_t last)
{
	return last == 0 ? FIRST_LOOK : last * 2 < LAST_LOOK ? last * 2 : LAST_LOOK;
}

/* May others of its group still hold what the chain waits for? On the client's own descriptor a filter is given the benefit of the doubt. */
static bool
may_hold_links(const struct component *c)
{
	const struct link *out;
	enum acp_direction dir;

	if (c->errors.open)
		return true;
	for (dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++) {
		out = c->out[dir];
		if (!out)
			continue;
		if (out->from ? endpoint_can_read(&out->from->in) : out->reader ? out->rd >= 0 && !link_has_ended(out) : c->kind != KIND_AGENT)
			return true;
	}
	return false;
}

/* A process has ended; are others of its group left? */
static void
look_at_group(struct component *c)
{
	enum acp_direction dir;

	if (!proc_group_lives(c->pid)) {
		c->life = LIFE_GONE;
		hop_close(c);
		chain_bury(c);
		/* Somebody out of reach may hold a pipe: what he has written so far is all that goes on. */
		for (dir = ACP_DOWN; dir < ACP_DIRECTIONS && c->kind != KIND_AGENT; dir++)
			if (c->out[dir] && c->out[dir]->from)
				port_drain(c->out[dir]->from);
	} else if (!c->sent && !may_hold_links(c)) {
		end_press(c);
		end_renew(c->chain);
	}
}

/*
 * What is left, once the agent has ended, when all others are down filters: they write for nobody, and the client may keep their
 * input open for ever.
 */
static void
dismiss_down_filters(struct chain *ch)
{
	struct component *c;
	size_t i;

	for (i = 0; i < ch->n; i++) {
		c = &ch->components[i];
		if (c->kind == KIND_DOWN ? c->life == LIFE_NONE : c->life < LIFE_GONE)
			return;
	}
	for (i = 0; i < ch->n; i++) {
		c = &ch->components[i];
		if (c->life != LIFE_RUNS || c->told || link_has_ended(c->in[ACP_DOWN]))
			continue;
		c->told = true;
		proc_signal(c->pid, SIGTERM);
	}
}

void
linger_settle(struct chain *ch)
{
	struct component *c;
	bool lingers = false;
	size_t i;

	for (i = 0; i < ch->n; i++) {
		c = &ch->components[i];
		if (c->life == LIFE_ENDED)
			look_at_group(c);
		lingers = lingers || c->life == LIFE_ENDED;
	}
	end_settle(ch);
	if (!end_all_gone(ch) && !ch->routed)
		dismiss_down_filters(ch);
	/* Without memory for a timer, the deadline still looks after what lingers. */
	if (lingers)
		loop_add_timer(ch->loop, &ch->look, ch->pause);
}

static void
look_again(void *arg)
{
	struct chain *ch = arg;

	ch->pause = linger_pause(ch->pause);
	linger_settle(ch);
}

void
linger_ended(struct chain *ch)
{
	ch->pause = linger_pause(0);
	linger_settle(ch);
}

void
linger_open(struct chain *ch)
{
	ch->look = (struct loop_timer){.expired = look_again, .arg = ch};
}
