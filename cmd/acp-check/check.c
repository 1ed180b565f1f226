#include "cmd/acp-check/check.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <stdlib.h>

void
check_close(struct check *c)
{
	check_begin(c, false);
	schema_findings_free(&c->found);
	for (size_t i = 0; i < RULES; i++)
		buf_free(&c->examples[i]);
	buf_free(&c->text);
	baseline_free(&c->baseline);
	buf_free(&c->covered);
	buf_free(&c->first.line);
}

/* --- the schema --- */

/* Is this path in the declaration of an MCP server of the type acp? It has several forms, and no stable schema has any of them. */
static bool
is_acp_server(const struct check *c, const char *path)
{
	static const char servers[] = "params.mcpServers[";
	struct json_iter it = {.in = c->where.message ? json_get(c->where.message->msg.params, acp_mcp_servers) : slice(NULL, 0)};
	struct slice server = {NULL, 0};

	if (strncmp(path, servers, strlen(servers)) != 0)
		return false;
	for (unsigned long n = strtoul(path + strlen(servers), NULL, 10) + 1; n > 0 && json_item(&it, &server); n--)
		;
	return json_string_is(json_get(server, "type"), "acp");
}

/* Checks a value against a node of the schema, and reports the findings. */
static void
check_node(struct check *c, unsigned node, struct slice value, const char *root)
{
	struct schema_findings *f = &c->found;

	schema_check(f, node, value, root);
	for (size_t i = 0; i < f->n && !f->failed; i++)
		if (!is_acp_server(c, f->text.p + f->at[i].path))
			check_report(c, f->at[i].rule, f->text.p + f->at[i].path, f->text.p + f->at[i].expected, f->at[i].found);
	c->failed |= f->failed;
}

/* Checks that the right side sends the method, and as a request or as a notification, whichever it is. */
static void
check_direction(struct check *c, const struct message *s, const struct schema_method *m, enum schema_part part)
{
	enum schema_part other = part == SCHEMA_REQUEST ? SCHEMA_NOTIFICATION : SCHEMA_REQUEST;
	enum schema_side to = m->parts[part].to;

	if (to == SCHEMA_NONE && m->parts[other].to != SCHEMA_NONE)
		check_report(c, RULE_WRONG_KIND, "id", part == SCHEMA_REQUEST ? "a notification" : "a request",
			part == SCHEMA_REQUEST ? s->msg.id : slice(NULL, 0));
	if ((to == SCHEMA_TO_AGENT && s->from == ACP_AGENT) || (to == SCHEMA_TO_CLIENT && s->from == ACP_CLIENT))
		check_report(c, RULE_WRONG_SIDE, "method", to == SCHEMA_TO_AGENT ? "a method of agents" : "a method of clients", s->msg.method);
}

/* Is this message of MCP over ACP in its first form, with connections? No schema has that form. */
static bool
has_connections(const struct message *s)
{
	const struct session_request *r = s->request ? s->request->owner : NULL;
	const struct check_request *request = r ? r->data : NULL;
	struct slice method = message_method(s);

	if (!json_string_is(method, "mcp/message"))
		return json_string_is(method, "mcp/connect") || json_string_is(method, "mcp/disconnect");
	return r ? request && request->connected : json_get(s->msg.params, "connectionId").p != NULL;
}

static void
check_schema(struct check *c, const struct message *s)
{
	const struct schema *schema = schema_of(c->conn.version, c->options->unstable);
	struct slice method = message_method(s), params = s->msg.params;
	const struct schema_method *m = method.p ? schema_method(schema, method) : NULL;
	enum schema_part part = s->msg.kind == MSG_REQUEST ? SCHEMA_REQUEST : SCHEMA_NOTIFICATION;
	struct text name;
	int32_t first;

	/* This search is cheap: jsonrpc is the first member of nearly all messages. */
	if (!json_get(s->msg.text, "jsonrpc").p)
		check_report(c, RULE_JSONRPC, "jsonrpc", "\"2.0\"", slice(NULL, 0));
	if (s->msg.id.p && !(s->msg.error.p && msg_null_id(&s->msg)))
		check_node(c, schema->id, s->msg.id, "id");
	/* Absent params, and params that are null, are checked as an object without members. */
	if (!params.p || json_type(params) == JSON_NULL)
		params = slice_of("{}");
	if (s->msg.error.p) {
		check_node(c, schema->error, s->msg.error, "error");
	} else if (has_connections(s)) {
		return;
	} else if (s->msg.kind == MSG_RESPONSE) {
		check_node(c, m ? m->parts[SCHEMA_RESPONSE].node : 0, s->msg.result, "result");
	} else if (!m) {
		/* Extensions (_), and methods that either side may ignore ($/), are no findings. */
		name = text_of_string(method);
		first = text_next(&name);
		if (first != '_' && !(first == '$' && text_next(&name) == '/'))
			check_report(c, RULE_UNKNOWN_METHOD, "method", schema_method(schema_of(c->conn.version, true), method) ?
				"a method of the stable schema (--unstable knows it)" : "a method that the schema has, or one that begins with _", method);
		check_node(c, 0, params, "params");
	} else {
		check_direction(c, s, m, part);
		if (m->parts[part].to == SCHEMA_NONE)
			part = SCHEMA_REQUEST + SCHEMA_NOTIFICATION - part;
		check_node(c, m->parts[part].node, params, "params");
	}
}

/* Checks that the client sends initialize first. from: the side that wrote on this wire; in an envelope s->from differs. */
static void
check_early(struct check *c, const struct message *s, enum acp_side from)
{
	if (c->conn.initialized || c->conn.partial || c->conn.early || s->msg.kind == MSG_RESPONSE)
		return;
	if (s->from == ACP_CLIENT) {
		c->conn.early = true;
		check_report(c, RULE_BEFORE_INITIALIZE, "method", "initialize", s->msg.method);
	} else if (s->from == ACP_AGENT && !c->conn.seen[from == ACP_UNKNOWN ? ACP_CLIENT : acp_other_side(from)]) {
		c->conn.early_agent = true;
	}
}

/* --- messages --- */

void
check_message(struct check *c, const struct session_message *seen)
{
	const struct message *s = &c->message;
	enum acp_side from = seen->message.from;
	struct shape *shape = seen->kind.p ? seen->message.msg.shape : NULL;
	struct slice update = seen->update;
	uint64_t findings = c->findings, mark;

	check_locate(c, seen);
	mark = c->marks << 2 | s->from;
	/* watch_missed has to know whether any message was selected, also one without a finding. */
	if (select_is_set(c->options->select))
		check_selects(c);
	c->messages++;
	c->conn.sent[from]++;
	c->conn.last[from] = c->now;
	if (c->options->coverage && !seen->copy)
		coverage_see(c, seen->kind, update.p || !seen->kind.p ? update : json_get(s->msg.params, acp_update));
	if (!seen->copy) {
		check_early(c, s, from);
		/* The text of a chunk breaks no rule: if its shape is marked, a chunk with another text had no finding. */
		if (!shape || shape->mark != mark) {
			if (seen->kind.p && !update.p)
				update = json_get(s->msg.params, acp_update);
			check_schema(c, s);
			check_capabilities(c, s, seen->kind, update);
			if (shape && c->findings == findings)
				shape->mark = mark;
		}
		check_session_of(c, seen);
		check_update(c, seen, update);
	}
	if (s->msg.kind == MSG_RESPONSE && seen->request) {
		free(seen->request->data);
		seen->request->data = NULL;
	} else if (s->msg.kind == MSG_RESPONSE && c->conn.excused[from]) {
		c->conn.excused[from]--;
	} else if (s->msg.kind == MSG_RESPONSE && !c->conn.partial && c->conn.seen[acp_other_side(from)] &&
		!(s->msg.error.p && msg_null_id(&s->msg))) {
		check_report(c, RULE_RESPONSE_UNKNOWN, "id", "the id of an open request", s->msg.id);
	}
	c->conn.forgot_session = c->conn.forgets_session;
	c->conn.forgot_call = c->conn.forgets_call;
	c->where.message = NULL;
}

/* --- noise, and the end of a side --- */

void
check_noise(struct check *c, struct slice line)
{
	static const struct json_keys none = {0};
	struct json_error error;
	struct slice id;
	char expected[128];
	struct msg m;

	if (!json_utf8(line)) {
		check_report(c, RULE_UTF8, "", "UTF-8", line);
	} else if (json_members(line, JSON_DEPTH, &none, NULL, NULL) == JSON_ARRAY) {
		check_report(c, RULE_BATCH, "", "one message", line);
	} else {
		msg_scan(line, &m, &error);
		snprintf(expected, sizeof(expected), "a message (%s)", error.what);
		check_report(c, strcmp(error.what, "duplicate member") == 0 ? RULE_DUPLICATE_KEY : RULE_NOISE, "", expected, line);
	}
	/* If the line was meant as a message, the consequences of its loss are not reported. */
	switch (msg_guess_kind(line, &id)) {
	case MSG_REQUEST:
		c->conn.excused[acp_other_side(c->where.from)]++;
		break;
	case MSG_RESPONSE:
		c->giving_up = GIVING_UP_NOISE;
		sessions_give_up(c->watch->sessions, acp_other_side(c->where.from), id);
		c->giving_up = GIVING_UP_END;
		break;
	default:
		break;
	}
}

void
check_eof(struct check *c, bool torn)
{
	enum acp_side side = c->where.from;

	if (torn)
		check_report(c, RULE_TORN_LINE, "", "a newline at the end", slice(NULL, 0));
	if (side == ACP_UNKNOWN)
		return;
	c->conn.seen[side] = true;
	c->giving_up = GIVING_UP_EOF;
	sessions_give_up(c->watch->sessions, acp_other_side(side), slice(NULL, 0));
	c->giving_up = GIVING_UP_END;
	c->conn.ended[side] = true;
}
