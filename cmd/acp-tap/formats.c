/* The formats for programs. */
#include <inttypes.h>

#include "cmd/acp-tap/tap.h"

/* --- raw: the lines of the stream, with noise --- */

static int
put_bare(struct buf *to, struct slice line)
{
	return buf_reserve(to, line.n + 1) < 0 || buf_add_slice(to, line) < 0 ? -1 : buf_add(to, "\n", 1);
}

static int
put_raw(struct writer *w, struct buf *to, const struct message *s)
{
	(void)w;
	return put_bare(to, s->line);
}

static int
put_raw_event(struct writer *w, struct buf *to, const struct record *e)
{
	(void)w;
	return e->kind == RECORD_NOISE && e->text.p ? put_bare(to, e->text) : 0;
}

const struct format format_raw = {.message = put_raw, .lines = true, .event = put_raw_event};

/* --- recordings, acp-recording(5) --- */

static int
put_header(struct writer *w, struct buf *to, const struct watch_start *h)
{
	int r = h->header.p ? -(buf_add_slice(to, h->header) < 0 || buf_add(to, "\n", 1) < 0) :
		recording_put_header(to, h->started, "acp-tap " VERSION, h->command, NULL);

	(void)w;
	return r < 0 || (h->continues && recording_header_add(to, "continues") < 0) ||
		(h->selected && recording_header_add(to, "selected") < 0) ? -1 : 0;
}

static int
put_record(struct writer *w, struct buf *to, const struct message *s)
{
	(void)w;
	return recording_put_message(to, s->t, -1, s->from, s->line);
}

static int
put_record_event(struct writer *w, struct buf *to, const struct record *e)
{
	struct record r = *e;

	(void)w;
	if ((r.kind == RECORD_NOISE || r.kind == RECORD_STDERR) && !r.text.p)
		r.text = slice_of("<redacted>");
	return r.kind == RECORD_BAD || r.kind == RECORD_ERROR ? 0 : recording_put(to, -1, &r);
}

const struct format format_record = {.header = put_header, .message = put_record, .lines = true, .event = put_record_event};

/* --- the trace events of the Rust conductor --- */

static int
put_beginning(struct buf *to, const char *type, const struct message *s, const char *protocol)
{
	bool up = s->from == ACP_AGENT;

	return buf_printf(to, "{\"type\":\"%s\",\"ts\":%" PRIu64 ".%06" PRIu64, type, s->t / 1000000, s->t % 1000000)
		|| (protocol && buf_printf(to, ",\"protocol\":\"%s\"", protocol))
		|| buf_printf(to, ",\"from\":\"%s\",\"to\":\"%s\"", up ? "Agent" : "Client", up ? "Client" : "Agent");
}

static int
put_message(struct writer *w, struct buf *to, const struct message *s)
{
	const struct msg *m = &s->msg;
	struct slice inner = json_get(m->params, "method");
	bool mcp = m->what == ACP_MCP_MESSAGE && json_type(inner) == JSON_STRING;
	struct slice params = mcp ? json_get(m->params, "params") : m->params;
	int r;

	(void)w;
	if (m->kind == MSG_RESPONSE)
		r = put_beginning(to, "response", s, NULL) || json_add_member(to, "id", m->id)
			|| json_add_member(to, "is_error", slice_of(m->error.p ? "true" : "false"))
			|| json_add_member(to, "payload", m->error.p ? m->error : m->result);
	/* The event has the message within an mcp/message, and null for absent params. */
	else
		r = put_beginning(to, m->kind == MSG_REQUEST ? "request" : "notification", s, mcp ? "mcp" : "acp")
			|| json_add_member(to, "id", m->id) || json_add_member(to, "method", mcp ? inner : m->method)
			|| json_add_member(to, "session", message_session(s))
			|| json_add_member(to, "params", params.p ? params : slice_of("null"));
	return r || buf_add(to, "}\n", 2) ? -1 : 0;
}

const struct format format_trace = {.message = put_message};
