/* Makes the ports of a read chain. */
#include <stdlib.h>
#include <unistd.h>
#include <utlist.h>

#include "lib/base/cli.h"
#include "life.h"
#include "send.h"

static struct port *
port_new(struct route *r, size_t hop, enum port_kind kind, struct component *c)
{
	struct port *p = &r->ports[r->n++];

	*p = (struct port){.route = r, .kind = kind, .component = c, .hop = hop,
		.name = c ? c->name : r->chain->has_agent ? "client" : "conductor",
		.queue.theirs = {-1, -1}, .queue.unread_end = -1, .init.dialect = r->fixed ? r->dialect : ACP_PLAIN};
	return p;
}

static void
no_memory(void *arg)
{
	struct route *r = arg;

	report_line(&r->chain->report, "out of memory");
	walk_break(r, "out of memory", EXIT_FAILED);
	end_follow(r->chain);
}

/* Adds a component below `above`. Returns the port below which the next one comes. */
static struct port *
add_component(struct route *r, struct component *c, struct port *above)
{
	size_t i = chain_index(c);

	c->near = port_new(r, c->kind == KIND_PROXY ? i + 1 : i, c->kind == KIND_PROXY ? PORT_PROXY : PORT_BELOW, c);
	port_join(above, c->near);
	if (c->kind == KIND_PROXY)
		c->far = c->near;
	if (c->kind >= KIND_PROXY)
		return c->near;
	c->far = port_new(r, i + 1, PORT_ABOVE, c);
	if (c->kind == KIND_UP)
		c->near->shortcut = c->far;
	if (c->kind == KIND_DOWN)
		c->far->shortcut = c->near;
	return c->far;
}

int
read_open(struct chain *ch)
{
	struct route *r = ch->route;
	struct port *p, *proxy;
	struct component *c;
	int in, out;
	size_t i;

	ch->flow = &read_flow;
	r->walk = (struct walk){.up = (ssize_t)ch->n, .quiet = {.expired = end_follow, .arg = ch}};
	r->line = route_line;
	r->no_memory = (struct loop_task){.run = no_memory, .arg = r};
	r->ports = calloc(2 * ch->total + 1, sizeof(*r->ports));
	if (!r->ports)
		return -1;
	p = r->client = port_new(r, 0, ch->has_agent ? PORT_ABOVE : PORT_OUTER, NULL);
	for (i = 0; i < ch->n; i++)
		p = add_component(r, &ch->components[i], p);
	for (; i < ch->total; i++) {
		c = &ch->components[i];
		proxy = ch->components[c->owner].near;
		c->near = port_new(r, proxy->hop, PORT_BELOW, c);
		c->near->next[ACP_UP] = proxy;
		LL_APPEND2(proxy->peers, c->near, next_peer);
	}
	if (!ch->has_agent)
		port_join(p, r->client);
	cli_waits("acp-conduct", STDIN_FILENO, "the client's messages");
	p = r->client;
	p->end = (struct endpoint){.line = route_line, .event = process_event, .arg = p};
	p->queue.live = true;
	in = proc_copy(STDIN_FILENO);
	out = proc_copy(STDOUT_FILENO);
	if (in < 0 || out < 0) {
		proc_close(in);
		return proc_close(out);
	}
	return endpoint_open(&p->end, ch->loop, in, out, r->line_limit);
}

void
read_free(struct route *r)
{
	struct port *p;

	/* A direct chain has no route. */
	if (!r->ports)
		return;
	for (p = r->ports; p < r->ports + r->n; p++)
		while (p->calls.open)
			call_free(p->calls.open);
	for (p = r->ports; p < r->ports + r->n; p++) {
		port_close(p);
		buf_free(&p->queue.held);
		buf_free(&p->init.request);
		buf_free(&p->init.response);
	}
	free(r->ports);
	free(r->reason.why);
	buf_free(&r->reason.data);
	buf_free(&r->with);
}
