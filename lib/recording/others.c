/* Reads what other programs write, line by line. A new shape needs a function here and an entry in by_shape (recording.c). */
#include <strings.h>

#include "lib/recording/recording_parts.h"

enum outcome
recording_bare(struct recording *rec, struct record *r)
{
	/* Agents' own files are often taken for recordings. A member that each line has tells them. */
	static const char *const others[][2] = {{"parentUuid", "not an ACP message (a Claude Code transcript?)"},
		{"payload", "not an ACP message (a Codex rollout?)"}};
	enum outcome o = recording_message(rec, r, r->raw);

	if (r->kind != RECORD_NOISE)
		return o;
	r->kind = RECORD_BAD;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others) && json_type(r->raw) == JSON_OBJECT; i++)
		if (json_get(r->raw, others[i][0]).p && !json_get(r->raw, "jsonrpc").p)
			r->error = (struct json_error){1, others[i][1]};
	return o;
}

enum outcome
recording_line_text(struct recording *rec, struct record *r, const struct slice *v)
{
	if (!v[LINE].p)
		return OTHER_SHAPE;
	if (recording_text(rec, r, RECORD_NOISE, v[LINE]) == NO_MEMORY)
		return NO_MEMORY;
	if (r->kind == RECORD_BAD)
		return READ;
	if (memchr(r->text.p, '\n', r->text.n))
		return recording_bad(r, v[LINE], "a newline in a message");
	return recording_message(rec, r, r->text);
}

/* --- traces of the Rust conductor --- */

/* An event. All slices are values as they are written; p is NULL if the member is absent. */
struct event {
	struct slice type, id, method, params, payload, is_error;
	enum acp_side sender; /* the side that sent the message */
	uint64_t hop;         /* the hop's number, 0 for the client's; UINT64_MAX: a peer's */
	struct slice below;   /* the name of the component on the hop's agent side, with its quotes */
};

/* Is this the name of a peer of acp-conduct, which has no position in the chain? */
static bool
is_peer(struct slice name)
{
	const char *p = name.p;

	return p && bytes_skip(&p, p + name.n, "\"Peer(");
}

/* Finds the position of a component in the chain, 0 for the client. False: this is no name. */
static bool
position(struct slice name, uint64_t *at)
{
	const char *p = name.p, *end;

	*at = slice_is(name, "\"Agent\"") || is_peer(name) ? UINT64_MAX : 0;
	if (!p || *at || slice_is(name, "\"Client\""))
		return p;
	end = p + name.n;
	if (!bytes_skip(&p, end, "\"Proxy(") || !bytes_number(&p, end, 9, at))
		return false;
	++*at;
	return slice_is(slice_between(p, end), ")\"");
}

/* Reads an object. False: it is no event, or not one between two neighbours. */
static bool
read_event(struct slice object, struct event *t)
{
	static const char *const names[] = {"type", "from", "to", "id", "method", "params", "payload", "is_error"};
	struct json_iter it = {.in = object};
	struct slice v[8];
	uint64_t from, to;

	json_pick(&it, names, 8, v);
	*t = (struct event){.type = v[0], .id = v[3], .method = v[4], .params = v[5], .payload = v[6], .is_error = v[7]};
	if (!slice_is(t->type, "\"request\"") && !slice_is(t->type, "\"response\"") && !slice_is(t->type, "\"notification\""))
		return false;
	if (!position(v[1], &from) || !position(v[2], &to) || from == to)
		return false;
	t->sender = from < to ? ACP_CLIENT : ACP_AGENT;
	t->below = v[from < to ? 2 : 1];
	/* A peer's hop has no number. */
	t->hop = is_peer(t->below) ? UINT64_MAX : from < to ? from : to;
	return true;
}

/* Appends the event's message, without params that are null, which were absent in the message. 0, or -1 out of memory. */
static int
put_message(const struct event *t, struct buf *b)
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

enum outcome
recording_trace(struct recording *rec, struct record *r, const struct slice *v)
{
	struct slice name;
	struct event t;

	if (!v[TYPE].p || !v[TS].p || !read_event(r->raw, &t))
		return OTHER_SHAPE;
	r->from = t.sender;
	/* A hop of a trace has a number, and the name of the side toward the agent. */
	name = slice(t.below.p + 1, t.below.n - 2);
	if (rec->numbered ? t.hop != rec->hop_number : name.n != strlen(rec->hop) || strncasecmp(name.p, rec->hop, name.n) != 0)
		return recording_other_hop(rec, t.hop == UINT64_MAX ? NULL : &t.hop, t.below);
	rec->held = true;
	rec->text.n = 0;
	if (put_message(&t, &rec->text) < 0)
		return NO_MEMORY;
	return recording_message(rec, r, buf_slice(&rec->text));
}
