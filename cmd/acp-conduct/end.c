#include "end.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

#include "link.h"
#include "recover.h"
#include "route.h"

enum {
	SETTLE_EVERY = 10 * 1000,          /* us between two checks of what is on its way down */
	KILL_AFTER = 2 * 1000000,  /* us between TERM and KILL, and between the steps after the deadline */
	SHORTEST_STEP = 20 * 1000, /* us between two checks for progress */
	LONGEST_STEP = 500 * 1000,
};

/* --- up --- */

static struct segment *
segment_of(const struct port *p)
{
	struct route *r = p->route;

	while (p->peer || p->kind == PORT_PROXY)
		p = p->above;
	for (size_t i = 0; i < r->nsegments; i++)
		if (r->segments[i].first == p || r->segments[i].last == p)
			return &r->segments[i];
	return NULL;
}

/* Is there nothing more to come from them? */
static bool
peers_are_over(const struct port *proxy)
{
	const struct port *p;

	LL_FOREACH2(proxy->peers, p, next_peer)
		if (endpoint_can_read(&p->in))
			return false;
	return true;
}

void
end_peers(struct port *proxy)
{
	struct port *p;

	LL_FOREACH2(proxy->peers, p, next_peer)
		port_finish(p);
}

bool
end_of_peers(const struct port *proxy)
{
	const struct segment *s = segment_of(proxy);

	return proxy->state == PORT_GONE || s->closed_down || s->closing_up;
}

/* The same for the proxies of a segment. */
static void
end_all_peers(struct segment *s)
{
	for (struct port *p = s->first->below; p != s->last && p != s->first; p = p->below)
		end_peers(p);
}

/* Closes the input of the last proxy of a segment that has not ended; once all have, ends the segment. What comes up goes through all of them. */
static void
close_up(struct segment *s)
{
	struct route *r = s->first->route;
	struct port *p;

	for (p = s->last->above; p != s->first && p->state == PORT_GONE; p = p->above)
		;
	if (p != s->first) {
		if (p->state != PORT_RECOVERING && p->component->life != LIFE_DYING && peers_are_over(p))
			port_finish(p);
		return;
	}
	if (s->ended)
		return;
	s->ended = true;
	route_fail_calls(s->last);
	end_renew(r->chain);
	/* What the client has sent by now is still refused. */
	if (s->first == r->client && endpoint_can_read(&s->first->in)) {
		port_drain(s->first);
		return;
	}
	endpoint_close(&s->first->in);
	end_forward(s->first);
}

void
end_closed(struct port *p)
{
	port_close_out(p);
	if (p->sink)
		link_end(p->sink);
}

static void
begin_close_up(struct segment *s)
{
	struct route *r = s->first->route;

	if (s->closing_up)
		return;
	s->closing_up = true;
	end_all_peers(s);
	if (s->last->kind != PORT_OUTER) {
		s->last->state = PORT_GONE;
		route_fail_calls(s->last);
		endpoint_close(&s->last->in);
		end_closed(s->last);
	}
	end_renew(r->chain);
	close_up(s);
}

/* --- down --- */

static bool
is_unread(const struct port *p)
{
	return p->state == PORT_RECOVERING || (p->component && p->component->life == LIFE_DYING) || p->out.out.n > 0 || p->waiting > 0 ||
		(endpoint_can_write(&p->out) && port_consumed(p) < p->out.out.written);
}

/* Has a response to the agent's side come to a proxy, which has not passed it on? */
static bool
holds_a_response(const struct port *p)
{
	for (const struct call *c = p->calls; c; c = c->next_open)
		if (c->dir == ACP_UP && c->child_response.n > 0)
			return true;
	return false;
}

/* Has a proxy something to read or a response to pass on, or (notes) has it read notifications that it has not forwarded? */
static bool
is_under_way(const struct segment *s, bool notes)
{
	for (const struct port *p = s->first->below; p != s->last && p != s->first; p = p->below)
		if (notes ? p->notes_in[ACP_DOWN] > p->notes_out[ACP_DOWN] : is_unread(p) || holds_a_response(p))
			return true;
	return false;
}

static bool
waits_for_responses(const struct segment *s)
{
	return s->first->sent_calls && s->first->route->chain->signals == 0;
}

/* Has everything that the client sent arrived at the end of the segment, or is that not waited for? */
static bool
has_come_through(struct segment *s)
{
	const struct chain *ch = s->first->route->chain;

	if (ch->grace_over || s->unread)
		return true;
	if (waits_for_responses(s))
		return false;
	if (is_under_way(s, false))
		return false;
	if (s->last->flushed || !is_under_way(s, true))
		return true;
	/* A proxy holds notifications, or has dropped them: the next that comes out is after them. */
	if (!s->flushing) {
		s->flushing = true;
		route_send_flush(s->first);
	}
	return false;
}

static void
try_close_down(struct segment *s)
{
	struct chain *ch = s->first->route->chain;

	if (!s->closing_down || s->closed_down || s->closing_up)
		return;
	if (!has_come_through(s)) {
		/* Without memory for a timer, the deadline goes on. */
		if (!waits_for_responses(s) && !ch->settle.added)
			loop_add_timer(ch->loop, &ch->settle, SETTLE_EVERY);
		return;
	}
	s->closed_down = true;
	end_all_peers(s);
	if (s->last->kind == PORT_OUTER)
		begin_close_up(s);
	else
		end_forward(s->last);
	end_renew(ch);
}

static void
begin_close_down(struct segment *s)
{
	struct route *r = s->first->route;

	if (s->closing_down)
		return;
	s->closing_down = true;
	end_renew(r->chain);
	if (!r->started) {
		/* Nothing has begun. */
		s->ended = true;
		r->broken = true;
		port_finish(r->client);
	}
	try_close_down(s);
}

bool
end_client_has_left(const struct port *p)
{
	const struct segment *s = segment_of(p);

	return s && (s->closing_down || (p->peer && end_of_peers(p->above)));
}

/* --- both --- */

void
end_forward(struct port *p)
{
	if (p->forward_to)
		end_input(p->forward_to);
	else
		port_finish(p);
}

void
end_input(struct port *p)
{
	struct route *r = p->route;
	struct port *next;

	if (p->input_over)
		return;
	p->input_over = true;
	end_renew(r->chain);
	if (p->carries) {
		next = p->kind == PORT_ABOVE ? p->below : p->above;
		if (next)
			end_forward(next);
	} else if (p->kind == PORT_OUTER) {
		begin_close_down(&r->segments[0]);
		if (r->started)
			begin_close_up(&r->segments[r->nsegments - 1]);
	} else if (p->peer) {
		p->state = PORT_GONE;
		recover_end(p);
		port_close(p);
	} else if (p->kind == PORT_ABOVE && segment_of(p)->ended) {
		end_forward(p);
	} else if (p->kind == PORT_ABOVE) {
		begin_close_down(segment_of(p));
	} else if (p->kind == PORT_BELOW) {
		begin_close_up(segment_of(p));
	}
}

void
end_client_unread(struct port *client)
{
	struct segment *s = client->carries ? NULL : segment_of(client);

	endpoint_close(&client->in);
	if (s)
		s->unread = true;
	end_input(client);
	route_follow(client->route);
}

void
end_break(struct route *r, int status, const char *why)
{
	if (r->broken)
		return;
	r->broken = true;
	r->why = why;
	if (status && r->chain->other_status == 0)
		r->chain->other_status = status;
	loop_remove_timer(r->loop, &r->init);
	for (size_t i = 0; i < r->n; i++)
		route_fail_calls(r->ports[i]);
	for (size_t i = 0; i < r->n; i++) {
		/* The client hears of it; all others are to end. */
		if (r->ports[i] == r->client || r->ports[i]->carries)
			continue;
		r->ports[i]->live = true;
		end_closed(r->ports[i]);
	}
	/* What the client has sent by now is still refused. */
	if (r->client)
		port_drain(r->client);
	end_renew(r->chain);
}

bool
end_all_gone(const struct chain *ch)
{
	for (size_t i = 0; i < ch->total; i++)
		if (ch->components[i].life != LIFE_NONE && ch->components[i].life != LIFE_GONE)
			return false;
	return true;
}

/* What a component has written that is still carried. */
static bool
is_carrying(const struct port *p)
{
	return p->carries && ((p->source && p->source->writer && endpoint_can_read(&p->in)) ||
		(endpoint_can_write(&p->out) && p->out.out.n > 0 && p->sink && !p->sink->reader));
}

/* Is everything forwarded that there was? */
static bool
is_over(const struct chain *ch)
{
	const struct route *r = ch->route;

	for (size_t i = 0; i < r->n && !ch->forced; i++)
		if (is_carrying(r->ports[i]))
			return false;
	if (!ch->routed || !r->client)
		return true;
	if (!r->broken && !r->segments[0].ended)
		return false;
	return ch->forced || (!endpoint_can_read(&r->client->in) && (!endpoint_can_write(&r->client->out) || r->client->out.out.n == 0));
}

void
end_settle(struct chain *ch)
{
	struct route *r = ch->route;

	for (size_t i = 0; i < r->nsegments; i++) {
		if (r->segments[i].closing_down && !r->segments[i].ended)
			try_close_down(&r->segments[i]);
		if (r->segments[i].closing_up && !r->segments[i].ended)
			close_up(&r->segments[i]);
	}
	if (end_all_gone(ch) && is_over(ch))
		loop_stop(ch->loop);
}

/* --- the deadline --- */

/* A digest that changes with any progress of the chain. */
static uint64_t
progress(const struct chain *ch)
{
	const struct route *r = ch->route;
	off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR);
	uint64_t h = at < 0 ? 0 : (uint64_t)at;

	for (size_t i = 0; i < ch->nlinks; i++)
		h = h * 1000003 + (uint64_t)link_unread(&ch->links[i]);
	for (size_t i = 0; i < ch->total; i++)
		h = h * 1000003 + (ch->components[i].life >= LIFE_ENDED);
	for (size_t i = 0; i < r->n; i++)
		h = h * 1000003 + r->ports[i]->out.out.written + r->ports[i]->read;
	return h;
}

static void
wait_for(struct chain *ch, uint64_t us)
{
	/* Where there is no memory for a timer, a signal still ends us. */
	loop_add_timer(ch->loop, &ch->deadline, us);
}

/* How long the chain may make no progress, us: after the first deadline only a short time. */
static uint64_t
period(const struct chain *ch)
{
	return ch->deadlines_passed && ch->grace > KILL_AFTER ? KILL_AFTER : ch->grace;
}

static void
wait_a_step(struct chain *ch)
{
	uint64_t step = period(ch) / 10;

	if (step < SHORTEST_STEP)
		step = ch->grace ? SHORTEST_STEP : 0;
	wait_for(ch, step < LONGEST_STEP ? step : LONGEST_STEP);
}

void
end_renew(struct chain *ch)
{
	ch->last_progress = progress(ch);
	if (ch->deadlines_passed == 0)
		ch->progress_at = loop_clock();
	if (!ch->forced && ch->deadlines_passed == 0)
		wait_a_step(ch);
}

/* Is stdin a file that has not been read to its end? */
static bool
client_is_a_file(const struct chain *ch)
{
	const struct link *l = ch->client[ACP_DOWN];
	struct stat st;

	return l && l->rd == STDIN_FILENO && fstat(l->rd, &st) == 0 && S_ISREG(st.st_mode) &&
		lseek(l->rd, 0, SEEK_CUR) < st.st_size;
}

/* Does what is on its way to the client wait for the client alone? */
static bool
client_is_slow(struct chain *ch)
{
	const struct link *l = ch->client[ACP_UP];

	if (!ch->has_agent || chain_agent(ch)->life < LIFE_ENDED)
		return false;
	if (!l || l->to)
		return ch->route->n > 0 && ch->route->sides[0] && ch->route->sides[0]->out.out.n > 0;
	return link_unread(l) > 0 && !link_has_no_reader(l);
}

void
end_signal_component(struct component *c)
{
	c->signal_sent = c->signal_sent ? SIGKILL : SIGTERM;
	proc_signal(c->pid, c->signal_sent);
}

/* Does it hold up a direction: its input has ended, and its output goes on? The agent turns one into the other. */
static bool
holds_up_a_direction(const struct component *c)
{
	const struct link *in, *out;

	for (enum acp_direction dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++) {
		in = c->in[dir];
		out = c->kind >= KIND_PROXY ? c->out[ACP_UP] : c->out[dir];
		if (in && link_has_ended(in) && !(out->from ? !endpoint_can_read(&out->from->in) : link_has_ended(out)))
			return true;
	}
	return false;
}

/* Signals the components in this state; `due`: only those that hold up a direction. Returns how many. (One that ends makes the next due.) */
static size_t
signal_all(struct chain *ch, enum life life, bool due)
{
	struct component *c;
	size_t i, n = 0;

	for (i = 0; i < ch->total; i++) {
		c = &ch->components[i];
		c->to_signal = c->life == life && (life != LIFE_ENDED || c->signal_sent != SIGKILL) && (!due || holds_up_a_direction(c));
	}
	for (i = 0; i < ch->total; i++) {
		if (!ch->components[i].to_signal)
			continue;
		end_signal_component(&ch->components[i]);
		n++;
	}
	return n;
}

/* First process groups that have outlived their component, for others may wait for them; then components that hold up a direction; then all. */
static void
signal_next(struct chain *ch)
{
	if (ch->forced || ch->deadlines_passed > 2) {
		signal_all(ch, LIFE_ENDED, false);
		signal_all(ch, LIFE_RUNS, false);
		return;
	}
	if (signal_all(ch, LIFE_ENDED, false) > 0)
		return;
	if (signal_all(ch, LIFE_RUNS, true) == 0 && ch->grace_over)
		signal_all(ch, LIFE_RUNS, false);
}

/* Forwards the ends that still wait for responses or deliveries. Returns whether there was one. */
static bool
close_waiting_segments(struct chain *ch)
{
	struct route *r = ch->route;
	bool waits = false;

	for (size_t i = 0; i < r->nsegments; i++) {
		/* What has left, and is not read for want of room. */
		if (r->segments[i].first->in.hung_up && !r->segments[i].closing_down) {
			endpoint_close(&r->segments[i].first->in);
			end_input(r->segments[i].first);
		}
		waits = waits || (r->segments[i].closing_down && !r->segments[i].closed_down && !r->segments[i].ended && !r->segments[i].closing_up);
	}
	ch->grace_over = true;
	end_settle(ch);
	return waits;
}

static void
expired(void *arg)
{
	struct chain *ch = arg;
	uint64_t moved = progress(ch), now = loop_clock();

	/* A client that does not read cannot hold a chain that was forced to end. */
	if (ch->forced && end_all_gone(ch)) {
		loop_stop(ch->loop);
		return;
	}
	if (!ch->forced) {
		if (moved != ch->last_progress || (ch->deadlines_passed == 0 && client_is_a_file(ch)))
			ch->progress_at = now;
		ch->last_progress = moved;
		if (now - ch->progress_at < period(ch) && ch->deadlines_passed < 2) {
			wait_a_step(ch);
			return;
		}
	}
	if (client_is_slow(ch) && !ch->forced) {
		ch->progress_at = now;
		signal_all(ch, LIFE_ENDED, false);
		wait_for(ch, LONGEST_STEP);
		return;
	}
	ch->progress_at = now;
	ch->deadlines_passed++;
	if (!ch->forced && !ch->grace_over && close_waiting_segments(ch))
		wait_a_step(ch);
	else {
		signal_next(ch);
		if (ch->deadlines_passed < 2)
			ch->deadlines_passed = 2;
		wait_for(ch, KILL_AFTER);
	}
}

static void
settle_again(void *arg)
{
	end_settle(arg);
}

int
end_open(struct chain *ch)
{
	struct route *r = ch->route;
	struct port *p;
	struct segment *s;

	ch->deadline = (struct loop_timer){.expired = expired, .arg = ch};
	ch->settle = (struct loop_timer){.expired = settle_again, .arg = ch};
	r->segments = calloc(r->nhops + 1, sizeof(*r->segments));
	if (!r->segments)
		return -1;
	for (size_t i = 0; i < r->nhops; i++) {
		p = r->sides[2 * i];
		if (!p || p->kind == PORT_PROXY || p->carries)
			continue;
		s = &r->segments[r->nsegments++];
		s->first = p;
		for (s->last = p->below; s->last->kind == PORT_PROXY; s->last = s->last->below)
			;
	}
	return 0;
}

void
end_force(struct chain *ch)
{
	signal_next(ch);
	wait_for(ch, KILL_AFTER);
}
