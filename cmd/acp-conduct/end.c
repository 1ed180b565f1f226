#include "end.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "link.h"
#include "route.h"

enum {
	LOOK = 10 * 1000,          /* us between two looks at what is on its way down */
	KILL_AFTER = 2 * 1000000,  /* us between TERM and KILL, and to each step after the deadline */
	SHORTEST_STEP = 20 * 1000, /* us between two looks at what moves */
	LONGEST_STEP = 500 * 1000,
};

/* Why, and what the component said last, for people and as JSON. */
void
end_reason(struct route *r, const struct component *c, const char *what)
{
	struct buf text = {0};

	free(r->why_text);
	r->why_text = NULL;
	r->why = what;
	if (buf_printf(&text, "acp-conduct: %s: no response: %s", c->name, what) == 0 && buf_string(&text))
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

/* --- up --- */

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

/* The proxies of a stretch end one by one, from the agent's side: what comes up goes through all of them. */
static void
ebb(struct stretch *s)
{
	struct route *r = s->first->route;
	struct port *p;

	for (p = s->last->above; p != s->first && p->state == PORT_GONE; p = p->above)
		;
	if (p != s->first) {
		if (p->state != PORT_MENDING && p->component->life != LIFE_DYING)
			port_finish(p);
		return;
	}
	if (s->over)
		return;
	s->over = true;
	route_fail_calls(s->last, r->why, route_reason(r));
	end_renew(r->chain);
	/* What the client has sent by now is still refused. */
	if (s->first == r->client && endpoint_can_read(&s->first->in)) {
		port_drain(s->first);
		return;
	}
	endpoint_close(&s->first->in);
	end_pass(s->first);
}

void
end_closed(struct port *p)
{
	port_close_out(p);
	if (p->sink)
		link_end(p->sink);
}

static void
begin_ebb(struct stretch *s)
{
	struct route *r = s->first->route;

	if (s->ebbing)
		return;
	s->ebbing = true;
	if (s->last->kind != PORT_OUTER) {
		s->last->state = PORT_GONE;
		route_fail_calls(s->last, r->why, route_reason(r));
		endpoint_close(&s->last->in);
		end_closed(s->last);
	}
	end_renew(r->chain);
	ebb(s);
}

/* --- down --- */

static bool
is_unread(const struct port *p)
{
	return p->state == PORT_MENDING || (p->component && p->component->life == LIFE_DYING) || p->out.out.n > 0 || p->waiting > 0 ||
		(endpoint_can_write(&p->out) && port_consumed(p) < p->out.out.written);
}

/* Is something on its way down to a proxy, or (notes) in its hands? */
static bool
is_under_way(const struct stretch *s, bool notes)
{
	const struct port *p;

	for (p = s->first->below; p != s->last && p != s->first; p = p->below)
		if (notes ? p->notes_in[ACP_DOWN] > p->notes_out[ACP_DOWN] : is_unread(p))
			return true;
	return false;
}

/* Has all that the client sent come through, as far as it is waited for? */
static bool
has_come_through(struct stretch *s)
{
	const struct chain *ch = s->first->route->chain;

	if (ch->given_up || s->unread)
		return true;
	if (s->first->asked && !ch->hurried)
		return false;
	if (is_under_way(s, false))
		return false;
	if (s->flushed || !is_under_way(s, true))
		return true;
	/* A proxy holds notifications, or has dropped them: the next that comes out is after them. */
	if (!s->flushing) {
		s->flushing = true;
		route_send_flush(s->first);
	}
	return false;
}

static void
try_leave(struct stretch *s)
{
	struct chain *ch = s->first->route->chain;

	if (!s->leaving || s->left || s->ebbing)
		return;
	if (!has_come_through(s)) {
		/* Without memory for a timer, the deadline goes on. */
		if ((!s->first->asked || ch->hurried) && !ch->settle.added)
			loop_add_timer(ch->loop, &ch->settle, LOOK);
		return;
	}
	s->left = true;
	if (s->last->kind == PORT_OUTER)
		begin_ebb(s);
	else
		end_pass(s->last);
	end_renew(ch);
}

static void
leave(struct stretch *s)
{
	struct route *r = s->first->route;

	if (s->leaving)
		return;
	s->leaving = true;
	end_renew(r->chain);
	if (!r->started) {
		/* Nothing has begun. */
		s->over = true;
		r->broken = true;
		port_finish(r->client);
	}
	try_leave(s);
}

bool
end_is_leaving(const struct port *p)
{
	const struct stretch *s = stretch_of(p);

	return s && s->leaving;
}

void
end_flushed(struct port *p)
{
	struct stretch *s = stretch_of(p);

	if (s)
		s->flushed = true;
}

/* --- both --- */

void
end_pass(struct port *p)
{
	if (p->pass)
		end_source(p->pass);
	else
		port_finish(p);
}

void
end_source(struct port *p)
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
			end_pass(next);
	} else if (p->kind == PORT_OUTER) {
		leave(&r->stretches[0]);
		if (r->started)
			begin_ebb(&r->stretches[r->nstretches - 1]);
	} else if (p->kind == PORT_ABOVE && stretch_of(p)->over) {
		end_pass(p);
	} else if (p->kind == PORT_ABOVE) {
		leave(stretch_of(p));
	} else if (p->kind == PORT_BELOW) {
		begin_ebb(stretch_of(p));
	}
}

void
end_unread(struct port *client)
{
	struct stretch *s = client->carries ? NULL : stretch_of(client);

	endpoint_close(&client->in);
	if (s)
		s->unread = true;
	end_source(client);
	end_settle(client->route->chain);
}

void
end_break(struct route *r, int status, const char *why)
{
	size_t i;

	if (r->broken)
		return;
	r->broken = true;
	r->why = why;
	if (status && r->chain->other_status == 0)
		r->chain->other_status = status;
	loop_remove_timer(r->loop, &r->init);
	for (i = 0; i < r->n; i++)
		route_fail_calls(r->ports[i], why, route_reason(r));
	for (i = 0; i < r->n; i++) {
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
	size_t i;

	for (i = 0; i < ch->n; i++)
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

bool
end_is_over(const struct chain *ch)
{
	const struct route *r = ch->route;
	size_t i;

	for (i = 0; i < r->n && !ch->forced; i++)
		if (is_carrying(r->ports[i]))
			return false;
	if (!ch->routed || !r->client)
		return true;
	if (!r->broken && !r->stretches[0].over)
		return false;
	return ch->forced || (!endpoint_can_read(&r->client->in) && (!endpoint_can_write(&r->client->out) || r->client->out.out.n == 0));
}

void
end_settle(struct chain *ch)
{
	struct route *r = ch->route;
	size_t i;

	for (i = 0; i < r->nstretches; i++) {
		if (r->stretches[i].leaving && !r->stretches[i].over)
			try_leave(&r->stretches[i]);
		if (r->stretches[i].ebbing && !r->stretches[i].over)
			ebb(&r->stretches[i]);
	}
	if (end_all_gone(ch) && end_is_over(ch))
		loop_stop(ch->loop);
}

/* --- the deadline --- */

/* How far everything is, as a number that changes with it. */
static uint64_t
progress(const struct chain *ch)
{
	const struct route *r = ch->route;
	off_t at = lseek(STDIN_FILENO, 0, SEEK_CUR);
	uint64_t h = at < 0 ? 0 : (uint64_t)at;
	size_t i;

	for (i = 0; i < ch->nlinks; i++)
		h = h * 1000003 + (uint64_t)link_unread(&ch->links[i]);
	for (i = 0; i < ch->n; i++)
		h = h * 1000003 + (ch->components[i].life >= LIFE_ENDED);
	for (i = 0; i < r->n; i++)
		h = h * 1000003 + r->ports[i]->out.out.written + r->ports[i]->read;
	return h;
}

static void
wait_for(struct chain *ch, uint64_t us)
{
	/* Where there is no memory for a timer, a signal still ends us. */
	loop_add_timer(ch->loop, &ch->patience, us);
}

/* How long nothing may move: after the deadline what is left to do gets a little time, and no second grace period. */
static uint64_t
period(const struct chain *ch)
{
	return ch->late && ch->grace > KILL_AFTER ? KILL_AFTER : ch->grace;
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
	ch->moved = progress(ch);
	if (ch->late == 0)
		ch->since = loop_clock();
	if (!ch->forced && ch->late == 0)
		wait_a_step(ch);
}

/* Is stdin a file that has not been read to its end? */
static bool
reads_a_file(const struct chain *ch)
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
		l = NULL;
	if (!l)
		return ch->route->n > 0 && ch->route->sides[0] && ch->route->sides[0]->out.out.n > 0;
	return link_unread(l) > 0 && !link_has_no_reader(l);
}

void
end_press(struct component *c)
{
	c->sent = c->sent ? SIGKILL : SIGTERM;
	proc_signal(c->pid, c->sent);
}

/* Does it hold up a direction: its input has ended, and its output goes on? The agent turns one into the other. */
static bool
is_due(const struct component *c)
{
	const struct link *in, *out;
	enum acp_direction dir;

	for (dir = ACP_DOWN; dir < ACP_DIRECTIONS; dir++) {
		in = c->in[dir];
		out = c->kind >= KIND_PROXY ? c->out[ACP_UP] : c->out[dir];
		if (in && link_has_ended(in) && !(out->from ? !endpoint_can_read(&out->from->in) : link_has_ended(out)))
			return true;
	}
	return false;
}

/* Those that are in this stage of life, and of them perhaps only those that are due now: one that ends makes the next due. */
static size_t
press_all(struct chain *ch, enum life life, bool due)
{
	struct component *c;
	size_t i, n = 0;

	for (i = 0; i < ch->n; i++) {
		c = &ch->components[i];
		c->pressed = c->life == life && (life != LIFE_ENDED || c->sent != SIGKILL) && (!due || is_due(c));
	}
	for (i = 0; i < ch->n; i++) {
		if (!ch->components[i].pressed)
			continue;
		end_press(&ch->components[i]);
		n++;
	}
	return n;
}

/* What others left behind goes first, since it may be what the rest waits for; then who holds up a direction; then everybody. */
static void
press_next(struct chain *ch)
{
	if (ch->forced || ch->late > 2) {
		press_all(ch, LIFE_ENDED, false);
		press_all(ch, LIFE_RUNS, false);
		return;
	}
	if (press_all(ch, LIFE_ENDED, false) > 0)
		return;
	if (press_all(ch, LIFE_RUNS, true) == 0 && ch->given_up)
		press_all(ch, LIFE_RUNS, false);
}

/* Does something still wait for what the end of the chain can be told without? */
static bool
gives_up(struct chain *ch)
{
	struct route *r = ch->route;
	bool waits = false;
	size_t i;

	for (i = 0; i < r->nstretches; i++) {
		/* What has left, and is not read for want of room. */
		if (r->stretches[i].first->in.hung_up && !r->stretches[i].leaving) {
			endpoint_close(&r->stretches[i].first->in);
			end_source(r->stretches[i].first);
		}
		waits = waits || (r->stretches[i].leaving && !r->stretches[i].left && !r->stretches[i].over && !r->stretches[i].ebbing);
	}
	ch->given_up = true;
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
		if (moved != ch->moved || (ch->late == 0 && reads_a_file(ch)))
			ch->since = now;
		ch->moved = moved;
		if (now - ch->since < period(ch) && ch->late < 2) {
			wait_a_step(ch);
			return;
		}
	}
	if (client_is_slow(ch) && !ch->forced) {
		ch->since = now;
		press_all(ch, LIFE_ENDED, false);
		wait_for(ch, LONGEST_STEP);
		return;
	}
	ch->since = now;
	ch->late++;
	if (!ch->forced && !ch->given_up && gives_up(ch))
		wait_a_step(ch);
	else {
		press_next(ch);
		if (ch->late < 2)
			ch->late = 2;
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
	struct stretch *s;
	size_t i;

	ch->patience = (struct loop_timer){.expired = expired, .arg = ch};
	ch->settle = (struct loop_timer){.expired = settle_again, .arg = ch};
	r->stretches = calloc(r->nhops + 1, sizeof(*r->stretches));
	if (!r->stretches)
		return -1;
	for (i = 0; i < r->nhops; i++) {
		p = r->sides[2 * i];
		if (!p || p->kind == PORT_PROXY)
			continue;
		s = &r->stretches[r->nstretches++];
		s->first = p;
		for (s->last = p->below; s->last->kind == PORT_PROXY; s->last = s->last->below)
			;
	}
	return 0;
}

void
end_force(struct chain *ch)
{
	press_next(ch);
	wait_for(ch, KILL_AFTER);
}

void
end_close(struct chain *ch)
{
	free(ch->route->stretches);
}
