/* Which MCP servers an agent supports, and the servers that a request declares to it. */
#include "cmd/acp-mcp/mcp.h"

/* --- which servers an agent supports --- */

/* The paths to the capability: in v1 {"agentCapabilities":{"mcpCapabilities":{"acp":true}}}; in v2 an object stands for true. */
enum { STEPS = 4 };
static const char *const capability[2][STEPS + 1] = {
	{"agentCapabilities", "mcpCapabilities", "acp"},
	{"capabilities", "session", "mcp", "acp"},
};
static const char *const claimed[2] = {"true", "{}"};

enum agent_kind
declare_agent_kind(struct slice result, bool *v2)
{
	struct slice mcp;
	uint64_t n;

	*v2 = json_u64(json_get(result, acp_protocol_version), &n) && n >= 2;
	if (!*v2)
		return json_type(json_path(result, "agentCapabilities.mcpCapabilities.acp")) == JSON_TRUE ? AGENT_ACP : AGENT_STDIO;
	mcp = json_path(result, "capabilities.session.mcp");
	if (mcp_object(mcp, "acp").p)
		return AGENT_ACP;
	return mcp_object(mcp, "stdio").p ? AGENT_STDIO : AGENT_NEITHER;
}

int
declare_claim(struct slice result, bool v2, struct slice *what, struct buf *with)
{
	const char *const *path = capability[v2];
	struct slice at = result, next;
	int r = 0, depth = 0;

	if (json_type(result) != JSON_OBJECT)
		return 0;
	while ((next = json_get(at, *path)).p && path[1] && json_type(next) == JSON_OBJECT) {
		at = next;
		path++;
	}
	/* Replaces the member's value; or inserts the missing members, "A":{"B":...value...}. */
	*what = next.p ? next : slice(at.p + 1, 0);
	for (path += next.p ? 1 : 0; *path; path++, depth++)
		r |= buf_printf(with, "%s\"%s\":", next.p || depth ? "{" : "", *path);
	r |= buf_add_string(with, claimed[v2]);
	for (depth -= !next.p; depth > 0; depth--)
		r |= buf_add(with, "}", 1);
	if (!next.p && !json_is_empty(at))
		r |= buf_add(with, ",", 1);
	return r < 0 ? -1 : 1;
}

/* --- which servers are declared to the agent --- */

/* A change to the servers that a request declares. */
struct change {
	struct mcp *mcp;
	const struct msg *request;
	struct buf *to;
	bool first; /* no server has been put yet */
};

bool
declare_any(const struct mcp *m, const struct msg *request)
{
	struct json_iter i = {.in = json_get(request->params, acp_mcp_servers)};
	bool any = m->options->nprovided > 0;
	struct slice one;

	while (!any && json_item(&i, &one))
		any = json_string_is(json_get(one, "type"), "acp");
	return any;
}

/* Appends `gap` and a server, as the agent gets it; or leaves the server out. 0, or -1 out of memory. */
static int
put_one(struct change *c, struct slice gap, struct slice one)
{
	const struct server *s = NULL;
	SCOPED struct buf why = {0};
	int r;

	if (c->mcp->agent != AGENT_ACP && json_string_is(json_get(one, "type"), "acp") &&
		!(s = server_declared(c->mcp, c->request, one, &why))) {
		frame_warn(c->mcp->frame, "an MCP server is left out: %.*s: %.*s", (int)why.n, why.p, (int)(one.n < 200 ? one.n : 200), one.p);
		return 0;
	}
	c->first = false;
	r = buf_add_slice(c->to, gap);
	return r | (s ? server_put_stdio(s, c->to) : buf_add_slice(c->to, one));
}

static int
put_provided(struct change *c, struct slice servers)
{
	const struct options *o = c->mcp->options;
	SCOPED struct buf declaration = {0};
	int r = 0;

	for (const struct provided *p = o->provided; r == 0 && p < o->provided + o->nprovided; p++) {
		if (acp_has_server(servers, buf_slice(&p->name))) {
			frame_warn(c->mcp->frame, "server %.*s: the session already has a server of this name: the one of --provide is left out",
				(int)p->name.n, p->name.p);
			continue;
		}
		declaration.n = 0;
		r = buf_printf(&declaration, "{\"type\":\"acp\",\"name\":%.*s,\"id\":%.*s,\"%s\":%.*s}", (int)p->name.n, p->name.p,
			(int)p->id.n, p->id.p, acp_server_id, (int)p->id.n, p->id.p);
		if (r == 0)
			r = put_one(c, slice_of(c->first ? "" : ","), buf_slice(&declaration));
	}
	return r;
}

static int
put_servers(struct change *c, struct slice servers)
{
	struct json_iter i = {.in = servers};
	const char *begin = servers.p ? servers.p + 1 : NULL, *from = begin;
	struct slice one;
	int r = buf_add(c->to, "[", 1);

	/* Appends the declared servers with the bytes between them. Where all servers before one are left out, so is the comma. */
	while (r == 0 && json_item(&i, &one)) {
		r = put_one(c, c->first && from != begin ? slice_of("") : slice_between(from, one.p), one);
		from = one.p + one.n;
	}
	if (servers.p)
		r |= buf_add_slice(c->to, slice_between(from, servers.p + servers.n - 1));
	r |= put_provided(c, servers);
	return r | buf_add(c->to, "]", 1);
}

int
declare_change(struct mcp *m, const struct msg *request, struct slice *what, struct buf *with)
{
	struct change c = {.mcp = m, .request = request, .to = with, .first = true};
	struct slice params = request->params, servers;
	int r = 0;

	if (json_type(params) != JSON_OBJECT || m->agent == AGENT_NEITHER)
		return 0;
	servers = json_get(params, acp_mcp_servers);
	if (json_type(servers) == JSON_ARRAY) {
		*what = servers;
		return put_servers(&c, servers) < 0 ? -1 : !slice_eq(servers, buf_slice(with));
	}
	/* A value that is not an array is left for the agent to refuse. */
	if (m->options->nprovided == 0 || (servers.p && json_type(servers) != JSON_NULL))
		return 0;
	*what = servers.p ? servers : slice(params.p + 1, 0);
	if (!servers.p)
		r = buf_printf(with, "\"%s\":", acp_mcp_servers);
	r |= put_servers(&c, slice(NULL, 0));
	if (!servers.p && !json_is_empty(params))
		r |= buf_add(with, ",", 1);
	return r < 0 ? -1 : 1;
}
