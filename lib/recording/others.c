/* Reads what other programs write, line by line. A new shape needs a function here and an entry in by_shape (recording.c). */
#include <strings.h>

#include "lib/recording/recording_parts.h"
#include "lib/acp/trace.h"

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

enum outcome
recording_trace(struct recording *rec, struct record *r, const struct slice *v)
{
	struct slice name;
	struct trace t;

	if (!v[TYPE].p || !v[TS].p || !trace_read(r->raw, &t))
		return OTHER_SHAPE;
	r->from = t.sender;
	/* A hop of a trace has a number, and the name of the side toward the agent. */
	name = slice(t.below.p + 1, t.below.n - 2);
	if (rec->numbered ? t.hop != rec->hop_number : name.n != strlen(rec->hop) || strncasecmp(name.p, rec->hop, name.n) != 0)
		return recording_other_hop(rec, t.hop == UINT64_MAX ? NULL : &t.hop, t.below);
	rec->held = true;
	rec->text.n = 0;
	if (trace_message(&t, &rec->text) < 0)
		return NO_MEMORY;
	return recording_message(rec, r, buf_slice(&rec->text));
}
