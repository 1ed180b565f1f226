#include "cmd/acp-tap/preview.h"

#include "cmd/acp-tap/show.h"
#include "lib/json/json.h"

/* One piece of a preview: where it stands, and how it is shown. */
struct part {
	void (*show)(struct cells *, struct slice value);
	const char *path; /* several, with | between: the first that is there; "" for all */
	const char *before, *after;
};

enum { PARTS = 5 };

struct preview {
	const char *name;
	enum style style;
	struct part parts[PARTS];
};

#define PEER(info) {show_peer, info "|info", NULL, NULL}, {show_value, acp_protocol_version, "protocol ", NULL}
#define TOOL {show_status, "status", NULL, NULL}, {show_tool, "", NULL, NULL}, \
	{show_yields, "content", NULL, NULL}

/* By the kind of an update. */
static const struct preview updates[] = {
	{"agent_message_chunk", STYLE_PLAIN, {{show_blocks, "content", NULL, NULL}}},
	{"agent_thought_chunk", STYLE_THOUGHT, {{show_blocks, "content", NULL, NULL}}},
	{"user_message_chunk", STYLE_BOLD, {{show_blocks, "content", NULL, NULL}}},
	{"agent_message", STYLE_PLAIN, {{show_blocks, "content", NULL, NULL}}},
	{"user_message", STYLE_BOLD, {{show_blocks, "content", NULL, NULL}}},
	{"tool_call", STYLE_YELLOW, {TOOL}},
	{"tool_call_update", STYLE_YELLOW, {TOOL}},
	{"plan", STYLE_BLUE, {{show_plan, "entries", NULL, NULL}}},
	{"plan_update", STYLE_BLUE, {{show_plan, "entries|plan.entries", NULL, NULL}}},
	{"available_commands_update", STYLE_DIM, {{show_commands, "availableCommands", NULL, NULL}}},
	{"current_mode_update", STYLE_BLUE, {{show_value, "currentModeId", NULL, NULL}}},
	{"config_option_update", STYLE_BLUE, {{show_settings, "configOptions", NULL, NULL}}},
	{"session_info_update", STYLE_DIM, {{show_value, "title", NULL, NULL}}},
	{"usage_update", STYLE_DIM, {{show_usage, "", NULL, NULL}}},
	{"context_update", STYLE_DIM, {{show_usage, "", NULL, NULL}}},
	{"state_update", STYLE_BOLD, {{show_value, "state", NULL, NULL}, {show_stop, "stopReason", NULL, NULL},
		{show_tokens, "usage", NULL, NULL}, {show_value, "error.message", NULL, NULL}}},
};

/* By the method, the params. */
static const struct preview calls[] = {
	{"session/prompt", STYLE_BOLD, {{show_blocks, "prompt", NULL, NULL}}},
	{"initialize", STYLE_PLAIN, {PEER("clientInfo")}},
	{"proxy/initialize", STYLE_PLAIN, {PEER("clientInfo")}},
	{"_proxy/initialize", STYLE_PLAIN, {PEER("clientInfo")}},
	{"authenticate", STYLE_PLAIN, {{show_value, "methodId", NULL, NULL}}},
	{"auth/login", STYLE_PLAIN, {{show_value, "methodId", NULL, NULL}}},
	{"auth/status_update", STYLE_DIM, {{show_value, "authStatus.label|authStatus.kind", NULL, NULL}}},
	{"_auth/status_update", STYLE_DIM, {{show_value, "authStatus.label|authStatus.kind", NULL, NULL}}},
	{"session/new", STYLE_PLAIN, {{show_value, "cwd", NULL, NULL}, {show_servers, "mcpServers", NULL, NULL}}},
	{"session/load", STYLE_PLAIN, {{show_value, "cwd", NULL, NULL}, {show_servers, "mcpServers", NULL, NULL}}},
	{"session/resume", STYLE_PLAIN, {{show_value, "cwd", NULL, NULL}, {show_servers, "mcpServers", NULL, NULL}}},
	{"session/fork", STYLE_PLAIN, {{show_value, "cwd", NULL, NULL}, {show_servers, "mcpServers", NULL, NULL}}},
	{"session/cancel", STYLE_YELLOW, {{NULL, NULL, NULL, NULL}}},
	{"session/close", STYLE_PLAIN, {{NULL, NULL, NULL, NULL}}},
	{"session/set_mode", STYLE_BLUE, {{show_value, "modeId", NULL, NULL}}},
	{"session/set_model", STYLE_BLUE, {{show_value, "modelId", NULL, NULL}}},
	{"session/set_config_option", STYLE_BLUE, {{show_setting, "", NULL, NULL}}},
	{"session/set_title", STYLE_DIM, {{show_value, "title", NULL, NULL}}},
	{"session/request_permission", STYLE_MAGENTA, {{show_tool, "toolCall", NULL, "?"},
		{show_choices, "options", NULL, NULL}}},
	{"fs/read_text_file", STYLE_CYAN, {{show_value, "path", NULL, NULL}, {show_value, "line", "from line ", NULL},
		{show_value, "limit", "lines ", NULL}}},
	{"fs/write_text_file", STYLE_CYAN, {{show_value, "path", NULL, NULL}, {show_size, "content", NULL, NULL}}},
	{"terminal/create", STYLE_CYAN, {{show_value, "command", NULL, NULL}, {show_words, "args", NULL, NULL}}},
	{"terminal/output", STYLE_CYAN, {{show_value, "terminalId", NULL, NULL}}},
	{"terminal/wait_for_exit", STYLE_CYAN, {{show_value, "terminalId", NULL, NULL}}},
	{"terminal/kill", STYLE_CYAN, {{show_value, "terminalId", NULL, NULL}}},
	{"terminal/release", STYLE_CYAN, {{show_value, "terminalId", NULL, NULL}}},
	{"elicitation/create", STYLE_MAGENTA, {{show_value, "message", NULL, NULL}}},
	{"$/cancel_request", STYLE_YELLOW, {{show_value, acp_request_id, "id ", NULL}}},
	{"mcp/connect", STYLE_CYAN, {{show_value, "acpId|serverId", NULL, NULL}}},
	{"mcp/message", STYLE_CYAN, {{show_value, "method", NULL, NULL}, {show_raw, "params", NULL, NULL}}},
	{"mcp/disconnect", STYLE_CYAN, {{show_value, "connectionId", NULL, NULL}}},
};

#define SESSION {show_value, "modes.currentModeId", "mode ", NULL}, {show_value, "models.currentModelId", "model ", NULL}

/* By the request's method, the result. */
static const struct preview results[] = {
	{"session/prompt", STYLE_PLAIN, {{show_stop, acp_stop_reason, NULL, NULL},
		{show_tokens, "usage|_meta.quota.token_count", NULL, NULL}, {show_value, "messageId", NULL, NULL}}},
	{"session/request_permission", STYLE_MAGENTA, {{show_value, "outcome.optionId|outcome.outcome", NULL, NULL}}},
	{"initialize", STYLE_PLAIN, {PEER("agentInfo")}},
	{"proxy/initialize", STYLE_PLAIN, {PEER("agentInfo")}},
	{"_proxy/initialize", STYLE_PLAIN, {PEER("agentInfo")}},
	{"session/new", STYLE_PLAIN, {SESSION}},
	{"session/load", STYLE_PLAIN, {SESSION}},
	{"session/resume", STYLE_PLAIN, {SESSION}},
	{"session/fork", STYLE_PLAIN, {SESSION}},
	{"session/list", STYLE_PLAIN, {{show_count, "sessions", NULL, " sessions"}}},
	{"fs/read_text_file", STYLE_CYAN, {{show_size, "content", NULL, ":"}, {show_value, "content", NULL, NULL}}},
	{"terminal/create", STYLE_CYAN, {{show_value, "terminalId", NULL, NULL}}},
	{"terminal/output", STYLE_CYAN, {{show_value, "exitStatus.exitCode", "exit ", NULL},
		{show_value, "output", NULL, NULL}}},
	{"terminal/wait_for_exit", STYLE_CYAN, {{show_value, "exitCode", "exit ", NULL},
		{show_value, "signal", "signal ", NULL}}},
	{"mcp/connect", STYLE_CYAN, {{show_value, "connectionId", NULL, NULL}}},
};

static const struct preview *
find(const struct preview *all, size_t n, struct slice name)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (json_string_is(name, all[i].name))
			return &all[i];
	return NULL;
}
#define FIND(all, name) find(all, sizeof(all) / sizeof((all)[0]), name)

/* Puts one piece. Where it has nothing to show, what leads to it is taken back. */
static void
show_part(struct cells *c, const struct part *part, struct slice v, bool first)
{
	struct cells before = *c;
	size_t length = c->to->n;
	unsigned used;

	if (!first)
		cells_ascii(c, "  ");
	if (part->before)
		cells_ascii(c, part->before);
	used = c->used;
	part->show(c, v);
	if (c->used == used && !c->cut) {
		*c = before;
		c->to->n = length;
	} else if (part->after) {
		cells_ascii(c, part->after);
	}
}

static void
show_parts(struct cells *c, const struct preview *p, struct slice object)
{
	unsigned start = c->used;
	struct slice v;
	size_t i;

	for (i = 0; i < PARTS && p->parts[i].show && !c->cut; i++) {
		v = show_find(object, p->parts[i].path);
		if (v.p)
			show_part(c, &p->parts[i], v, c->used == start);
	}
}

static void
put_error(struct cells *c, struct slice error)
{
	struct slice code = show_find(error, "code"), message = show_find(error, "message"), data = show_find(error, "data");

	cells_style(c, STYLE_RED);
	if (json_type(error) != JSON_OBJECT) {
		cells_value(c, error);
		return;
	}
	cells_value(c, code);
	if (message.p) {
		cells_ascii(c, " ");
		cells_value(c, message);
	}
	if (data.p) {
		cells_ascii(c, "  ");
		cells_style(c, STYLE_DIM);
		show_raw(c, data);
	}
}

static void
put_object(struct cells *c, const struct preview *p, struct slice object)
{
	if (!object.p)
		return;
	if (!p || json_type(object) != JSON_OBJECT) {
		cells_style(c, STYLE_DIM);
		show_raw(c, object);
		return;
	}
	cells_style(c, p->style == STYLE_BOLD || p->style == STYLE_THOUGHT || p->style == STYLE_DIM ? p->style : STYLE_PLAIN);
	show_parts(c, p, object);
}

void
preview_put(struct cells *c, const struct message *s)
{
	const struct msg *m = &s->msg;
	struct slice kind = msg_update_kind(m), method = message_method(s);

	if (m->error.p)
		put_error(c, m->error);
	else if (m->kind == MSG_RESPONSE)
		put_object(c, method.p ? FIND(results, method) : NULL, m->result);
	else if (m->what == ACP_SESSION_UPDATE && kind.p)
		put_object(c, FIND(updates, kind), json_get(m->params, acp_update));
	else
		put_object(c, method.p ? FIND(calls, method) : NULL, m->params);
}

enum style
preview_style(struct slice name)
{
	const struct preview *p = FIND(updates, name);

	if (!p)
		p = FIND(calls, name);
	return p ? p->style : STYLE_PLAIN;
}

struct slice
preview_chunk(const struct message *s, struct slice kind)
{
	static const char ending[] = "_chunk\"";
	size_t n = sizeof(ending) - 1;
	struct slice text;

	if (kind.n <= n || memcmp(kind.p + kind.n - n, ending, n) != 0)
		return slice(NULL, 0);
	text = json_path(s->msg.params, "update.content.text");
	if (json_type(text) != JSON_STRING || !json_string_is(json_path(s->msg.params, "update.content.type"), "text"))
		return slice(NULL, 0);
	return text;
}
