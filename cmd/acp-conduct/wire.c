#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "look.h"
#include "route.h"

static bool
is_filter(const struct component *c)
{
	return c->kind == KIND_FILTER || c->kind == KIND_DOWN || c->kind == KIND_UP;
}

static struct link *
new_link(struct chain *ch, enum lane lane, struct component *near, struct component *far)
{
	struct link *l = &ch->links[ch->nlinks++];

	*l = (struct link){.chain = ch, .lane = lane, .rd = -1, .wr = -1};
	l->writer = lane == LANE_DOWN ? near : far;
	l->reader = lane == LANE_DOWN ? far : near;
	if (l->writer)
		l->writer->out[lane] = l;
	if (l->reader)
		l->reader->in[lane] = l;
	return l;
}

static struct port *
new_port(struct route *r, enum port_kind kind, struct component *c, const char *name)
{
	struct port *p = &r->ports[r->n++];

	*p = (struct port){.route = r, .kind = kind, .component = c, .name = name, .rest = -1};
	p->dialect = r->fixed ? r->dialect : ACP_UNDERSCORE;
	p->state = kind == PORT_ABOVE ? PORT_READY : PORT_COLD;
	p->live = true;
	if (c)
		c->port = p;
	return p;
}

/* --- runs --- */

/* What a run's ends are joined to: a port, or (NULL at the near end) the client itself. */
struct ends {
	struct port *near, *far;
	int near_in, near_out, far_in, far_out;
};

/* One lane between two neighbours of a run; NULL is the end of the run. */
static int
join(struct chain *ch, enum lane lane, struct component *near, struct component *far, struct ends *e)
{
	struct link *l = near || far ? new_link(ch, lane, near, far) : NULL;
	int pipe[2] = {-1, -1};

	if (!near && !e->near) {
		/* The client's own descriptors. */
		pipe[0] = lane == LANE_DOWN ? STDIN_FILENO : -1;
		pipe[1] = lane == LANE_UP ? STDOUT_FILENO : -1;
		if (l)
			ch->client[lane] = l;
		if (l && lane == LANE_DOWN && isatty(STDIN_FILENO) && proc_pipe(pipe) < 0)
			return -1;
		if (!l && lane == LANE_DOWN)
			pipe[0] = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 8);
		if (!l && lane == LANE_UP)
			pipe[1] = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 8);
	} else if (proc_pipe(pipe) < 0) {
		return -1;
	}
	if (!near && e->near)
		*(lane == LANE_DOWN ? &e->near_out : &e->near_in) = lane == LANE_DOWN ? pipe[1] : pipe[0];
	if (!far)
		*(lane == LANE_DOWN ? &e->far_in : &e->far_out) = lane == LANE_DOWN ? pipe[0] : pipe[1];
	if (!l)
		return 0;
	l->rd = (lane == LANE_DOWN ? far : near) || (!near && !e->near) ? pipe[0] : -1;
	l->wr = (lane == LANE_DOWN ? near : far) || (!near && !e->near) ? pipe[1] : -1;
	return 0;
}

static bool
stands_in(const struct component *c, enum lane lane)
{
	return c->kind != (lane == LANE_DOWN ? KIND_UP : KIND_DOWN);
}

/* Wires components [from, to) directly, and their ends to ports; an agent at the end has none behind it. */
static int
join_run(struct chain *ch, size_t from, size_t to, struct port *near_port, struct port *far_port)
{
	struct ends e = {near_port, far_port, -1, -1, -1, -1};
	struct component *near;
	enum lane lane;
	size_t i;

	for (lane = LANE_DOWN; lane < LANES; lane++) {
		near = NULL;
		for (i = from; i < to; i++) {
			if (!stands_in(&ch->components[i], lane))
				continue;
			if (join(ch, lane, near, &ch->components[i], &e) < 0)
				return -1;
			near = &ch->components[i];
		}
		if (far_port && join(ch, lane, near, NULL, &e) < 0)
			return -1;
	}
	if (near_port && port_open(near_port, e.near_in, e.near_out) < 0)
		return -1;
	return far_port ? port_open(far_port, e.far_in, e.far_out) : 0;
}

/* --- proxies --- */

static int
make_pipes(struct component *c)
{
	int in[2], out[2];

	if (proc_pipe(in) < 0)
		return -1;
	if (proc_pipe(out) < 0) {
		close(in[0]);
		close(in[1]);
		return -1;
	}
	c->in[LANE_DOWN]->rd = c->port->rest = in[0];
	c->out[LANE_UP]->wr = out[1];
	c->in[LANE_DOWN]->ended = false;
	return port_open(c->port, out[0], in[1]);
}

int
wire_proxy(struct component *c)
{
	if (!c->in[LANE_DOWN])
		new_link(c->chain, LANE_DOWN, NULL, c);
	if (!c->out[LANE_UP])
		new_link(c->chain, LANE_UP, NULL, c);
	return make_pipes(c);
}

void
wire_close_proxy(struct component *c)
{
	loop_remove_fd(c->chain->loop, &c->in[LANE_DOWN]->watch);
	port_close_in(c->port);
	port_close_out(c->port);
	chain_close(&c->in[LANE_DOWN]->rd);
	chain_close(&c->out[LANE_UP]->wr);
	c->port->rest = -1;
}

/* --- stretches --- */

struct plan {
	struct chain *ch;
	struct route *r;
	struct port *last; /* the one that the next is joined to */
};

/* Is conduct to read between this component and the one before? */
static bool
apart(const struct plan *pl, size_t i)
{
	return look_wants(pl->r->look, i);
}

static void
below(struct plan *pl, struct port *p)
{
	pl->last->below = p;
	p->above = pl->last;
	pl->last = p;
}

static void
begin_stretch(struct plan *pl, struct port *first, size_t hop)
{
	struct stretch *s = &pl->r->stretches[pl->r->nstretches++];

	*s = (struct stretch){.first = first, .route = pl->r};
	first->hop = hop;
	pl->last = first;
}

static void
end_stretch(struct plan *pl, struct port *last)
{
	below(pl, last);
	pl->r->stretches[pl->r->nstretches - 1].last = last;
}

static size_t
run_end(const struct plan *pl, size_t i)
{
	size_t end = i + 1;

	while (end < pl->ch->n && is_filter(&pl->ch->components[end]) && !apart(pl, end))
		end++;
	return end;
}

static int
add_proxy(struct plan *pl, size_t i)
{
	struct component *c = &pl->ch->components[i];
	struct port *p = new_port(pl->r, PORT_PROXY, c, c->name);

	p->hop = i + 1;
	p->live = pl->r->fixed;
	below(pl, p);
	return wire_proxy(c);
}

/* A run of filters, or one with the agent behind it. Returns where the next begins; SIZE_MAX with errno. */
static size_t
add_run(struct plan *pl, size_t i)
{
	struct chain *ch = pl->ch;
	size_t end = run_end(pl, i), agent = ch->has_agent ? ch->n - 1 : ch->n;
	struct port *near = new_port(pl->r, PORT_BELOW, NULL, ch->components[i].name), *far;

	end_stretch(pl, near);
	if (end == agent && ch->has_agent && !apart(pl, agent)) {
		near->component = &ch->components[agent];
		ch->components[agent].port = near;
		return join_run(ch, i, agent + 1, near, NULL) < 0 ? SIZE_MAX : ch->n;
	}
	far = new_port(pl->r, PORT_ABOVE, NULL, ch->components[end - 1].name);
	if (join_run(ch, i, end, near, far) < 0)
		return SIZE_MAX;
	begin_stretch(pl, far, end);
	return end;
}

static int
add_agent(struct plan *pl)
{
	struct component *c = &pl->ch->components[pl->ch->n - 1];
	struct port *p = new_port(pl->r, PORT_BELOW, c, c->name);

	end_stretch(pl, p);
	return join_run(pl->ch, pl->ch->n - 1, pl->ch->n, p, NULL);
}

static int
add_client(struct plan *pl, size_t *i)
{
	struct route *r = pl->r;
	struct port *p = new_port(r, r->outer ? PORT_OUTER : PORT_ABOVE, NULL, r->outer ? "conductor" : "client");

	begin_stretch(pl, p, 0);
	if (!r->outer && is_filter(&pl->ch->components[0]) && !apart(pl, 0)) {
		*i = p->hop = run_end(pl, 0);
		return join_run(pl->ch, 0, *i, NULL, p);
	}
	return port_open(p, fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 8), fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 8));
}

int
wire(struct chain *ch)
{
	struct route *r = ch->route;
	struct plan pl = {.ch = ch, .r = r};
	size_t i = 0;

	r->outer = !ch->has_agent;
	r->ports = calloc(2 * ch->n + 2, sizeof(*r->ports));
	r->stretches = calloc(ch->n + 1, sizeof(*r->stretches));
	ch->links = calloc(4 * ch->n + 4, sizeof(*ch->links));
	if (!r->ports || !r->stretches || !ch->links || add_client(&pl, &i) < 0)
		return -1;
	while (i < ch->n) {
		if (ch->components[i].kind == KIND_AGENT) {
			if (add_agent(&pl) < 0)
				return -1;
			i++;
		} else if (ch->components[i].kind == KIND_PROXY) {
			if (add_proxy(&pl, i++) < 0)
				return -1;
		} else {
			i = add_run(&pl, i);
			if (i == SIZE_MAX)
				return -1;
		}
	}
	if (r->outer)
		end_stretch(&pl, r->stretches[0].first);
	return 0;
}

void
wire_free(struct chain *ch)
{
	struct route *r = ch->route;
	size_t i;

	for (i = 0; i < r->n; i++)
		port_free(&r->ports[i]);
	free(r->ports);
	free(r->stretches);
	free(r->why_text);
	buf_free(&r->reason);
}
