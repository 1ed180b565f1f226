/* The trace events of the Rust conductor, as they are meant. */
#include <inttypes.h>

#include "cmd/acp-tap/format.h"

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
	/* Of mcp/message what it carries. A message without params has the value null there. */
	else
		r = put_beginning(to, m->kind == MSG_REQUEST ? "request" : "notification", s, mcp ? "mcp" : "acp")
			|| json_add_member(to, "id", m->id) || json_add_member(to, "method", mcp ? inner : m->method)
			|| json_add_member(to, "session", message_session(s))
			|| json_add_member(to, "params", params.p ? params : slice_of("null"));
	return r || buf_add(to, "}\n", 2) ? -1 : 0;
}

const struct format format_trace = {.name = "trace", .message = put_message};
