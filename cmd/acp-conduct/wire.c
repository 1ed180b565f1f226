#include "wire.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

#include "hop.h"
#include "lib/base/cli.h"
#include "lib/run/system.h"
#include "link.h"
#include "memory.h"
#include "route.h"

static bool
is_proxy(const struct chain *ch, size_t i)
{
	return i < ch->n && ch->components[i].kind == KIND_PROXY;
}

/* Has conduct to read at this hop? */
static bool
is_read(const struct chain *ch, size_t hop)
{
	return is_proxy(ch, hop) || (hop > 0 && is_proxy(ch, hop - 1)) || (!ch->has_agent && (hop == 0 || hop == ch->n)) ||
		ch->route->logs || (ch->has_agent && hop == ch->n - 1 && chain_may_return(&ch->components[hop]));
}

/* The links of a component that speaks on 0 and 1 alone, and its port. */
static void
join_routed(struct component *c, struct port *p)
{
	p->component = c;
	c->near = p;
	p->sink = link_new(c->chain, ACP_DOWN, NULL, c);
	p->sink->to = p;
	p->source = link_new(c->chain, ACP_UP, c, NULL);
	p->source->from = p;
}

static int
add_memory(struct port *p)
{
	p->memory = calloc(1, sizeof(*p->memory));
	return p->memory ? 0 : -1;
}

/* Its pipes are made when it starts. */
static int
add_peer(struct component *c)
{
	struct port *proxy = c->chain->components[c->owner].near;
	struct port *p = link_new_port(proxy->route, proxy->hop, PORT_BELOW, c->name, false);

	if (!p)
		return -1;
	join_routed(c, p);
	p->peer = c->peer;
	p->above = proxy;
	LL_APPEND2(proxy->peers, p, next_peer);
	return c->on_crash == CRASH_RESTART ? add_memory(p) : 0;
}

static int
add_proxy(struct component *c)
{
	struct route *r = c->chain->route;
	size_t i = chain_index(c);
	struct port *p = link_port(r, i + 1, PORT_PROXY, c->name, false);

	if (!p)
		return -1;
	p->live = r->fixed;
	join_routed(c, p);
	c->far = r->sides[2 * i + 1] = p;
	return hop_renew(c);
}

/* The two ports of a hop that is read. */
static int
add_ports(struct chain *ch, size_t hop)
{
	struct route *r = ch->route;
	struct component *before = hop > 0 ? &ch->components[hop - 1] : NULL, *after = hop < ch->n ? &ch->components[hop] : NULL;
	struct port *above, *below;

	if (!before)
		above = link_port(r, 0, r->outer ? PORT_OUTER : PORT_ABOVE, r->outer ? "conductor" : "client", false);
	else
		above = link_port(r, hop, PORT_ABOVE, before->name, false);
	if (!after)
		r->sides[2 * hop + 1] = r->sides[0];
	below = link_port(r, hop, PORT_BELOW, after ? after->name : NULL, false);
	if (!above || !below)
		return -1;
	if (!r->client)
		r->client = above;
	above->below = below;
	below->above = above;
	if (!after || after->kind != KIND_AGENT)
		return 0;
	below->component = after;
	return chain_may_return(after) ? add_memory(below) : 0;
}

/* What the next in a direction reads: what a component writes, or a port; neither: the client. */
struct from {
	struct component *writer;
	struct port *port;
};

/* To a port. 0, or -1 with errno. */
static int
join_port(struct chain *ch, enum acp_direction dir, const struct from *f, struct port *p)
{
	int fd;

	if (f->writer && f->writer->kind == KIND_PROXY)
		return 0;
	if (f->port) {
		f->port->forward_to = p;
		return 0;
	}
	if (!f->writer) {
		fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 8);
		return fd < 0 ? -1 : port_open_in(p, fd);
	}
	p->source = link_new(ch, dir, f->writer, NULL);
	p->source->from = p;
	return link_open(p->source);
}

/* The client's own descriptor, where a component has it. */
static void
join_client(struct chain *ch, enum acp_direction dir, struct link *l)
{
	ch->client[dir] = l;
	if (dir == ACP_DOWN)
		l->rd = STDIN_FILENO;
	else
		l->wr = STDOUT_FILENO;
}

/* To a component; NULL: to the client. 0, or -1 with errno. */
static int
join_component(struct chain *ch, enum acp_direction dir, const struct from *f, struct component *c)
{
	struct link *l;
	int ends[2], fd;

	if (f->port && !c) {
		fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 8);
		return fd < 0 ? -1 : port_open_out(f->port, fd);
	}
	l = link_new(ch, dir, f->writer, c);
	if (f->port) {
		l->to = f->port;
		f->port->sink = l;
		return link_open(l);
	}
	if (!f->writer || !c) {
		join_client(ch, dir, l);
		return 0;
	}
	if (proc_pipe(ends) < 0)
		return -1;
	l->rd = ends[0];
	l->wr = ends[1];
	return 0;
}

/* Goes past a component, and joins it where it stands in the direction. */
static int
past_component(struct chain *ch, enum acp_direction dir, struct from *f, struct component *c)
{
	if (!chain_stands_in(c, dir))
		return 0;
	if (c->kind != KIND_PROXY && (c->kind != KIND_AGENT || dir == ACP_DOWN) && join_component(ch, dir, f, c) < 0)
		return -1;
	*f = (struct from){.writer = c};
	return 0;
}

static int
past_hop(struct chain *ch, enum acp_direction dir, struct from *f, size_t hop)
{
	struct port **sides = ch->route->sides;
	bool first = dir == ACP_UP && hop == ch->n;

	if (!sides[2 * hop])
		return 0;
	if (!first && join_port(ch, dir, f, sides[2 * hop + (dir == ACP_UP)]) < 0)
		return -1;
	*f = (struct from){.port = sides[2 * hop + (dir == ACP_DOWN)]};
	return 0;
}

static int
join_all(struct chain *ch)
{
	struct from down = {0}, up = {0};
	size_t i, nhops = ch->route->nhops;

	for (i = 0; i < nhops; i++)
		if (past_hop(ch, ACP_DOWN, &down, i) < 0 || (i < ch->n && past_component(ch, ACP_DOWN, &down, &ch->components[i]) < 0))
			return -1;
	for (i = nhops; i-- > 0;)
		if ((i < ch->n && past_component(ch, ACP_UP, &up, &ch->components[i]) < 0) || past_hop(ch, ACP_UP, &up, i) < 0)
			return -1;
	return join_component(ch, ACP_UP, &up, NULL);
}

static bool
reads_from(const struct port *p, const struct component *c)
{
	return p && p->source && p->source->writer == c;
}

/*
 * The ports that write to a component. A filter between two hops that are read keeps the ids of requests: what it forwards
 * is known.
 */
static void
find_twins(struct chain *ch)
{
	for (struct component *c = ch->components; c < ch->components + ch->n; c++) {
		if (c->kind == KIND_PROXY)
			continue;
		c->near = c->in[ACP_DOWN] ? c->in[ACP_DOWN]->to : NULL;
		c->far = c->in[ACP_UP] ? c->in[ACP_UP]->to : NULL;
		if (c->kind != KIND_FILTER || !reads_from(c->near, c) || !reads_from(c->far, c))
			continue;
		c->near->other_side = c->far;
		c->far->other_side = c->near;
		c->near->component = c->far->component = c;
	}
}

/*
 * Must conduct read the client's descriptor, though a component has it? Components are background process groups, which a terminal
 * stops when they read from it; and the end of a socket may show only to its reader.
 */
static bool
is_client_read(const struct chain *ch)
{
	return ch->client[ACP_DOWN] && (isatty(STDIN_FILENO) || (!system_hangup && link_type(STDIN_FILENO) == S_IFSOCK));
}

int
wire_chain(struct chain *ch)
{
	struct route *r = ch->route;

	r->outer = !ch->has_agent;
	r->nhops = ch->n + r->outer;
	r->sides = calloc(2 * r->nhops, sizeof(struct port *));
	r->ports = calloc(2 * r->nhops + ch->total, sizeof(struct port *));
	ch->links = calloc(4 * ch->total + 4, sizeof(*ch->links));
	if (!r->sides || !r->ports || !ch->links)
		return -1;
	for (size_t i = 0; i < ch->n; i++)
		if (is_proxy(ch, i) && add_proxy(&ch->components[i]) < 0)
			return -1;
	for (size_t i = ch->n; i < ch->total; i++)
		if (add_peer(&ch->components[i]) < 0)
			return -1;
	for (size_t i = 0; i < r->nhops; i++)
		if (is_read(ch, i) && add_ports(ch, i) < 0)
			return -1;
	if (join_all(ch) < 0)
		return -1;
	find_twins(ch);
	for (size_t i = r->nhops; ch->has_agent && i-- > 0;) {
		if (!r->sides[2 * i])
			continue;
		/* What comes up there, in the end, is the agent's. */
		r->sides[2 * i + 1]->faces_agent = true;
		r->sides[2 * i + 1]->name = chain_agent(ch)->name;
		break;
	}
	cli_waits("acp-conduct", STDIN_FILENO, "the client's messages");
	return is_client_read(ch) ? hop_read_client(ch) : 0;
}
