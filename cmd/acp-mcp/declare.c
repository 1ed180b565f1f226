#include "cmd/acp-mcp/declare.h"

#include "cmd/acp-mcp/provide.h"
#include "cmd/acp-mcp/server.h"

/* --- what an agent says that it takes --- */

enum { STEPS = 3 };
static const char *const capability[2][STEPS] = {
	{"agentCapabilities", "mcpCapabilities", "acp"},
	{"capabilities", "session", "mcp"},
};

static const char *
value_of(bool v2)
{
	return v2 ? "{}" : "true";
}

bool
declare_taken(struct slice result, bool *v2)
{
	struct slice version;
	uint64_t n;
	enum json_type t;

	*v2 = false;
	if (json_type(result) != JSON_OBJECT)
		return false;
	version = json_get(result, acp_protocol_version);
	*v2 = json_type(version) == JSON_NUMBER && json_u64(version, &n) && n >= 2;
	t = json_type(json_path(result, *v2 ? "capabilities.session.mcp.acp" : "agentCapabilities.mcpCapabilities.acp"));
	return *v2 ? t == JSON_OBJECT : t == JSON_TRUE;
}

/* "A":{"B":...value... for the steps from `step` on. */
static int
put_steps(bool v2, size_t step, struct buf *to)
{
	size_t i, n = v2 ? STEPS + 1 : STEPS;
	int r = 0;

	for (i = step; i < n; i++)
		r |= buf_printf(to, "%s\"%s\":", i > step ? "{" : "", i < STEPS ? capability[v2][i] : "acp");
	r |= buf_add_string(to, value_of(v2));
	for (i = step + 1; i < n; i++)
		r |= buf_add(to, "}", 1);
	return r;
}

int
declare_claim(struct slice result, bool v2, struct slice *what, struct buf *with)
{
	size_t i, n = v2 ? STEPS + 1 : STEPS;
	struct json_iter first = {0};
	struct slice at = result, next, key, value;

	if (json_type(result) != JSON_OBJECT)
		return 0;
	for (i = 0; i < n; i++) {
		next = json_get(at, i < STEPS ? capability[v2][i] : "acp");
		if (!next.p)
			break;
		at = next;
		if (i == n - 1) {
			*what = at;
			return buf_add_string(with, value_of(v2)) < 0 ? -1 : 1;
		}
		if (json_type(at) != JSON_OBJECT) {
			*what = at;
			return (buf_add(with, "{", 1) | put_steps(v2, i + 1, with) | buf_add(with, "}", 1)) < 0 ? -1 : 1;
		}
	}
	*what = slice(at.p + 1, 0);
	first.in = at;
	if (put_steps(v2, i, with) < 0 || (json_next(&first, &key, &value) && buf_add(with, ",", 1) < 0))
		return -1;
	return 1;
}

/* --- what it is told of --- */

static bool
is_acp(struct slice declaration)
{
	struct slice type = json_type(declaration) == JSON_OBJECT ? json_get(declaration, "type") : slice(NULL, 0);

	return json_type(type) == JSON_STRING && json_string_is(type, "acp");
}

/* One of ours that the client declares already. */
static bool
has_name(struct slice servers, struct slice name)
{
	struct json_iter i = {.in = servers};
	struct slice key, one, its;

	while (json_type(servers) == JSON_ARRAY && json_next(&i, &key, &one)) {
		its = json_type(one) == JSON_OBJECT ? json_get(one, "name") : slice(NULL, 0);
		if (json_type(its) == JSON_STRING && json_string_eq(its, name))
			return true;
	}
	return false;
}

/* A declaration as the agent is to have it, with a comma before it where it is not the first. 1 where something was put. */
static int
put_acp(struct mcp *m, struct slice declaration, bool first, struct buf *to)
{
	const char *why = "out of memory";
	const struct server *s;

	if (m->agent == AGENT_TAKES)
		return buf_add_string(to, first ? "" : ",") | buf_add_slice(to, declaration) ? -1 : 1;
	s = server_declared(m, declaration, &why);
	if (!s) {
		frame_say(m->frame, "an MCP server is left out: %s: %.*s", why, (int)(declaration.n < 200 ? declaration.n : 200), declaration.p);
		return 0;
	}
	return buf_add_string(to, first ? "" : ",") | server_put_stdio(s, to) ? -1 : 1;
}

static int
put_provided(struct mcp *m, struct slice servers, bool first, struct buf *to)
{
	const struct options *o = m->options;
	struct buf declaration = {0};
	size_t i;
	int r = 0;

	for (i = 0; i < o->nprovided && r >= 0; i++) {
		if (has_name(servers, buf_slice(&o->provided[i].name)))
			continue;
		declaration.n = 0;
		r = provide_put(&o->provided[i], &declaration);
		if (r == 0)
			r = put_acp(m, buf_slice(&declaration), first, to);
		first = first && r != 1;
	}
	buf_free(&declaration);
	return r < 0 ? -1 : 0;
}

/* The entries that are there: those of type acp changed, the others with what is between them as they are. */
static int
put_entries(struct mcp *m, struct slice servers, bool *first, struct buf *to)
{
	struct json_iter i = {.in = servers};
	const char *from = servers.p + 1;
	struct slice key, one;
	int r;

	while (json_next(&i, &key, &one)) {
		if (is_acp(one)) {
			r = put_acp(m, one, *first, to);
		} else {
			r = buf_add_slice(to, *first && from != servers.p + 1 ? one : slice_between(from, one.p + one.n)) < 0 ? -1 : 1;
		}
		if (r < 0)
			return -1;
		*first = *first && r == 0;
		from = one.p + one.n;
	}
	return buf_add_slice(to, slice_between(from, servers.p + servers.n - 1));
}

int
declare_change(struct mcp *m, struct slice params, struct slice *what, struct buf *with)
{
	struct slice servers, key, value;
	struct json_iter members = {.in = params};
	bool first = true;
	int r;

	if (json_type(params) != JSON_OBJECT)
		return 0;
	servers = json_get(params, acp_mcp_servers);
	if (json_type(servers) == JSON_ARRAY) {
		*what = servers;
		r = buf_add(with, "[", 1) | put_entries(m, servers, &first, with) | put_provided(m, servers, first, with)
			| buf_add(with, "]", 1);
		return r < 0 ? -1 : !slice_eq(servers, buf_slice(with));
	}
	if (m->options->nprovided == 0)
		return 0;
	*what = json_type(servers) == JSON_NULL ? servers : slice(params.p + 1, 0);
	if (!servers.p && buf_printf(with, "\"%s\":", acp_mcp_servers) < 0)
		return -1;
	r = buf_add(with, "[", 1) | put_provided(m, slice(NULL, 0), true, with) | buf_add(with, "]", 1);
	if (r == 0 && !servers.p && json_next(&members, &key, &value))
		r = buf_add(with, ",", 1);
	return r < 0 ? -1 : 1;
}
