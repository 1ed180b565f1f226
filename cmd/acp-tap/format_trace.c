/* The trace events of the Rust conductor (PROTOCOL, section 7), as they are meant. */
#include <inttypes.h>

#include "cmd/acp-tap/format.h"

static bool
put_member(struct buf *to, const char *name, struct slice value)
{
	return !value.p || (buf_printf(to, ",\"%s\":", name) == 0 && buf_add_slice(to, value) == 0);
}

/* A message without params has the value null there. */
static struct slice
or_null(struct slice value)
{
	return value.p ? value : slice_of("null");
}

static bool
put_beginning(struct buf *to, const char *type, const struct message *s, const char *protocol)
{
	bool up = s->from == ACP_AGENT;

	return buf_printf(to, "{\"type\":\"%s\",\"ts\":%" PRIu64 ".%06" PRIu64, type, s->t / 1000000, s->t % 1000000) == 0 &&
		(!protocol || buf_printf(to, ",\"protocol\":\"%s\"", protocol) == 0) &&
		buf_printf(to, ",\"from\":\"%s\",\"to\":\"%s\"", up ? "Agent" : "Client", up ? "Client" : "Agent") == 0;
}

static bool
put_response(struct buf *to, const struct message *s)
{
	const struct msg *m = &s->msg;

	return put_beginning(to, "response", s, NULL) && put_member(to, "id", m->id) &&
		put_member(to, "is_error", slice_of(m->error.p ? "true" : "false")) &&
		put_member(to, "payload", m->error.p ? m->error : m->result);
}

/* A request or notification; of mcp/message what it carries. */
static bool
put_call(struct buf *to, const struct message *s)
{
	const struct msg *m = &s->msg;
	struct slice method = m->method, params = m->params, inner;
	bool mcp = false;

	if (m->what == ACP_MCP_MESSAGE && params.p && json_type(params) == JSON_OBJECT) {
		inner = json_get(params, "method");
		if (inner.p && json_type(inner) == JSON_STRING) {
			mcp = true;
			method = inner;
			params = json_get(params, "params");
		}
	}
	return put_beginning(to, m->kind == MSG_REQUEST ? "request" : "notification", s, mcp ? "mcp" : "acp") &&
		put_member(to, "id", m->id) && put_member(to, "method", method) &&
		put_member(to, "session", message_session(s)) && put_member(to, "params", or_null(params));
}

static int
put_message(struct writer *w, struct buf *to, const struct message *s)
{
	(void)w;
	if (s->msg.kind == MSG_NOISE)
		return 0;
	if (!(s->msg.kind == MSG_RESPONSE ? put_response(to, s) : put_call(to, s)))
		return -1;
	return buf_add(to, "}\n", 2);
}

const struct format format_trace = {.name = "trace", .message = put_message};
