#include "lib/acp/trace.h"

#include "lib/json/json.h"

/* Is this the name of a peer of acp-conduct, which has no position in the chain? */
static bool
is_peer(struct slice name)
{
	static const char peer[] = "\"Peer(";

	return name.n > sizeof(peer) && memcmp(name.p, peer, sizeof(peer) - 1) == 0;
}

/* Finds the position of a component in the chain, 0 for the client. False: this is no name. */
static bool
position(struct slice name, uint64_t *at)
{
	static const char proxy[] = "\"Proxy(", end[] = ")\"";
	size_t n = sizeof(proxy) - 1, i;

	*at = 0;
	if (!name.p || slice_is(name, "\"Client\""))
		return name.p != NULL;
	if (slice_is(name, "\"Agent\"") || is_peer(name)) {
		*at = UINT64_MAX;
		return true;
	}
	if (name.n < n || memcmp(name.p, proxy, n) != 0)
		return false;
	for (i = n; i < name.n && i < n + 9 && name.p[i] >= '0' && name.p[i] <= '9'; i++)
		*at = *at * 10 + (uint64_t)(name.p[i] - '0');
	++*at;
	return i > n && slice_is(slice(name.p + i, name.n - i), end);
}

bool
trace_read(struct slice object, struct trace *t)
{
	static const char *const names[] = {"type", "from", "to", "id", "method", "params", "payload", "is_error"};
	struct json_iter it = {.in = object};
	struct slice v[8];
	uint64_t from, to;

	json_pick(&it, names, 8, v);
	*t = (struct trace){.type = v[0], .from = v[1], .to = v[2], .id = v[3], .method = v[4], .params = v[5], .payload = v[6],
		.is_error = v[7]};
	if (!t->type.p || !(slice_is(t->type, "\"request\"") || slice_is(t->type, "\"response\"")
		|| slice_is(t->type, "\"notification\"")))
		return false;
	if (!position(t->from, &from) || !position(t->to, &to) || from == to)
		return false;
	t->sender = from < to ? ACP_CLIENT : ACP_AGENT;
	t->below = from < to ? t->to : t->from;
	/* A peer's hop has no number. */
	t->hop = is_peer(t->below) ? UINT64_MAX : from < to ? from : to;
	return true;
}

int
trace_message(const struct trace *t, struct buf *b)
{
	/* The trace shows the client's initialize as the conductor sends it to the first proxy. */
	bool initialize = t->hop == 0 && t->sender == ACP_CLIENT &&
		(slice_is(t->method, "\"proxy/initialize\"") || slice_is(t->method, "\"_proxy/initialize\""));
	bool ok = buf_add_string(b, "{\"jsonrpc\":\"2.0\"") == 0;

	if (!slice_is(t->type, "\"notification\""))
		ok = ok && json_add_member(b, "id", t->id) == 0;
	if (slice_is(t->type, "\"response\"")) {
		ok = ok && json_add_member(b, slice_is(t->is_error, "true") ? "error" : "result", t->payload) == 0;
	} else {
		ok = ok && json_add_member(b, "method", initialize ? slice_of("\"initialize\"") : t->method) == 0;
		if (!slice_is(t->params, "null"))
			ok = ok && json_add_member(b, "params", t->params) == 0;
	}
	return ok && buf_add_string(b, "}") == 0 ? 0 : -1;
}
