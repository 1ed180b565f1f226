/* What the one line of a message shows, for each method and kind of update. */
#include "cmd/acp-tap/show.h"

#include "lib/json/json.h"

/* One piece of a preview: its path in the message, and how it is shown. */
struct part {
	void (*show)(struct cells *, struct slice value);
	const char *path; /* several, with | between: the first that is there; "" for all */
	const char *before, *after;
	const char *each; /* separates the elements of an array, each of which is shown; NULL: the array is shown as a whole */
	const char *noun; /* the elements of an array are counted, and each is shown */
};

enum { PARTS = 5 };

struct preview {
	const char *name;
	enum style style;
	struct part parts[PARTS];
};

#define PEER(info) {show_peer, .path = info "|info"}, {show_value, .path = acp_protocol_version, .before = "protocol "}
#define TOOL {show_status, .path = "status"}, {show_tool, .path = ""}, {show_tool_content, .path = "content", .each = " "}

/* By the kind of an update. */
static const struct preview updates[] = {
	{"agent_message_chunk", STYLE_PLAIN, {{show_block, .path = "content", .each = " "}}},
	{"agent_thought_chunk", STYLE_THOUGHT, {{show_block, .path = "content", .each = " "}}},
	{"user_message_chunk", STYLE_BOLD, {{show_block, .path = "content", .each = " "}}},
	{"agent_message", STYLE_PLAIN, {{show_block, .path = "content", .each = " "}}},
	{"user_message", STYLE_BOLD, {{show_block, .path = "content", .each = " "}}},
	{"tool_call", STYLE_YELLOW, {TOOL}},
	{"tool_call_update", STYLE_YELLOW, {TOOL}},
	{"plan", STYLE_BLUE, {{show_plan, .path = "entries"}}},
	{"plan_update", STYLE_BLUE, {{show_plan, .path = "entries|plan.entries"}}},
	{"available_commands_update", STYLE_DIM, {{show_name, .path = "availableCommands", .noun = "command"}}},
	{"current_mode_update", STYLE_BLUE, {{show_value, .path = "currentModeId"}}},
	{"config_option_update", STYLE_BLUE, {{show_setting, .path = "configOptions", .each = ", "}}},
	{"session_info_update", STYLE_DIM, {{show_value, .path = "title"}}},
	{"usage_update", STYLE_DIM, {{show_usage, .path = ""}}},
	{"context_update", STYLE_DIM, {{show_usage, .path = ""}}},
	{"subagent_update", STYLE_MAGENTA, {{show_value, .path = "state.state"}, {show_value, .path = "title|sessionId"},
		{show_stop, .path = "state.stopReason"}}},
	{"session_message", STYLE_MAGENTA, {{show_block, .path = "content", .each = " "}}},
	{"session_message_chunk", STYLE_MAGENTA, {{show_block, .path = "content", .each = " "}}},
	{"compaction_update", STYLE_BLUE, {{show_status, .path = "status"}, {show_block, .path = "summary", .each = " "},
		{show_value, .path = "error.message"}}},
	{"compaction_summary_chunk", STYLE_BLUE, {{show_block, .path = "content", .each = " "}}},
	{"notice", STYLE_YELLOW, {{show_value, .path = "severity", .after = ":"}, {show_value, .path = "title"}}},
	{"state_update", STYLE_BOLD, {{show_value, .path = "state"}, {show_stop, .path = "stopReason"},
		{show_tokens, .path = "usage"}, {show_value, .path = "error.message"}}},
};

#define PAGE {show_value, .path = "cursor", .before = "from "}

/* By the method, the params. */
static const struct preview calls[] = {
	{"session/prompt", STYLE_BOLD, {{show_block, .path = "prompt", .each = " "}}},
	{"initialize", STYLE_PLAIN, {PEER("clientInfo")}},
	{"proxy/initialize", STYLE_PLAIN, {PEER("clientInfo")}},
	{"_proxy/initialize", STYLE_PLAIN, {PEER("clientInfo")}},
	{"authenticate", STYLE_PLAIN, {{show_value, .path = "methodId"}}},
	{"auth/login", STYLE_PLAIN, {{show_value, .path = "methodId"}}},
	{"auth/status_update", STYLE_DIM, {{show_value, .path = "authStatus.label|authStatus.kind"}}},
	{"_auth/status_update", STYLE_DIM, {{show_value, .path = "authStatus.label|authStatus.kind"}}},
	{"session/new", STYLE_PLAIN, {{show_value, .path = "cwd"}, {show_servers, .path = "mcpServers"}}},
	{"session/load", STYLE_PLAIN, {{show_value, .path = "cwd"}, {show_servers, .path = "mcpServers"}}},
	{"session/resume", STYLE_PLAIN, {{show_value, .path = "cwd"}, {show_servers, .path = "mcpServers"}}},
	{"session/fork", STYLE_PLAIN, {{show_value, .path = "cwd"}, {show_servers, .path = "mcpServers"}}},
	{"session/cancel", STYLE_YELLOW, {{0}}},
	{"session/close", STYLE_PLAIN, {{0}}},
	{"session/set_mode", STYLE_BLUE, {{show_value, .path = "modeId"}}},
	{"session/set_model", STYLE_BLUE, {{show_value, .path = "modelId"}}},
	{"session/set_config_option", STYLE_BLUE, {{show_setting, .path = ""}}},
	{"session/set_title", STYLE_DIM, {{show_value, .path = "title"}}},
	{"session/request_permission", STYLE_MAGENTA, {{show_tool, .path = "toolCall", .after = "?"}, {show_name, .path = "options", .each = " | "}}},
	{"fs/read_text_file", STYLE_CYAN, {{show_value, .path = "path"}, {show_value, .path = "line", .before = "from line "},
		{show_value, .path = "limit", .before = "lines "}}},
	{"fs/write_text_file", STYLE_CYAN, {{show_value, .path = "path"}, {show_size, .path = "content"}}},
	{"terminal/create", STYLE_CYAN, {{show_value, .path = "command"}, {show_value, .path = "args", .each = " "}}},
	{"terminal/output", STYLE_CYAN, {{show_value, .path = "terminalId"}}},
	{"terminal/wait_for_exit", STYLE_CYAN, {{show_value, .path = "terminalId"}}},
	{"terminal/kill", STYLE_CYAN, {{show_value, .path = "terminalId"}}},
	{"terminal/release", STYLE_CYAN, {{show_value, .path = "terminalId"}}},
	{"elicitation/create", STYLE_MAGENTA, {{show_value, .path = "message"}}},
	{"$/cancel_request", STYLE_YELLOW, {{show_value, .path = acp_request_id, .before = "id "}}},
	{"mcp/connect", STYLE_CYAN, {{show_value, .path = "acpId|serverId"}}},
	{"mcp/message", STYLE_CYAN, {{show_value, .path = "method"}, {show_raw, .path = "params"}}},
	{"mcp/disconnect", STYLE_CYAN, {{show_value, .path = "connectionId"}}},

	/* Of MCP servers. */
	{"tools/call", STYLE_YELLOW, {{show_value, .path = "name"}, {show_arguments, .path = "arguments"}}},
	{"tools/list", STYLE_CYAN, {PAGE}},
	{"prompts/list", STYLE_CYAN, {PAGE}},
	{"prompts/get", STYLE_CYAN, {{show_value, .path = "name"}, {show_arguments, .path = "arguments"}}},
	{"resources/list", STYLE_CYAN, {PAGE}},
	{"resources/templates/list", STYLE_CYAN, {PAGE}},
	{"resources/read", STYLE_CYAN, {{show_value, .path = "uri"}}},
	{"resources/subscribe", STYLE_CYAN, {{show_value, .path = "uri"}}},
	{"resources/unsubscribe", STYLE_CYAN, {{show_value, .path = "uri"}}},
	{"sampling/createMessage", STYLE_MAGENTA, {{show_turn, .path = "messages", .each = " "}}},
	{"logging/setLevel", STYLE_BLUE, {{show_value, .path = "level"}}},
	{"notifications/progress", STYLE_DIM, {{show_value, .path = "progress"}, {show_value, .path = "total", .before = "of "},
		{show_value, .path = "message"}}},
	{"notifications/message", STYLE_DIM, {{show_value, .path = "level", .after = ":"}, {show_value, .path = "logger"},
		{show_value, .path = "data"}}},
	{"notifications/cancelled", STYLE_YELLOW, {{show_value, .path = acp_request_id, .before = "id "}, {show_value, .path = "reason"}}},
	{"notifications/resources/updated", STYLE_DIM, {{show_value, .path = "uri"}}},
};

#define SESSION {show_value, .path = "modes.currentModeId", .before = "mode "}, {show_value, .path = "models.currentModelId", .before = "model "}
#define MORE {show_value, .path = "nextCursor", .before = "more from "}

/* By the request's method, the result. */
static const struct preview results[] = {
	{"session/prompt", STYLE_PLAIN, {{show_stop, .path = acp_stop_reason},
		{show_tokens, .path = "usage|_meta.quota.token_count"}, {show_value, .path = "messageId"}}},
	{"session/request_permission", STYLE_MAGENTA, {{show_value, .path = "outcome.optionId|outcome.outcome"}}},
	{"initialize", STYLE_PLAIN, {PEER("agentInfo|serverInfo")}},
	{"proxy/initialize", STYLE_PLAIN, {PEER("agentInfo")}},
	{"_proxy/initialize", STYLE_PLAIN, {PEER("agentInfo")}},
	{"session/new", STYLE_PLAIN, {SESSION}},
	{"session/load", STYLE_PLAIN, {SESSION}},
	{"session/resume", STYLE_PLAIN, {SESSION}},
	{"session/fork", STYLE_PLAIN, {SESSION}},
	{"session/list", STYLE_PLAIN, {{show_name, .path = "sessions", .noun = "session"}}},
	{"fs/read_text_file", STYLE_CYAN, {{show_size, .path = "content", .after = ":"}, {show_value, .path = "content"}}},
	{"terminal/create", STYLE_CYAN, {{show_value, .path = "terminalId"}}},
	{"terminal/output", STYLE_CYAN, {{show_value, .path = "exitStatus.exitCode", .before = "exit "}, {show_value, .path = "output"}}},
	{"terminal/wait_for_exit", STYLE_CYAN, {{show_value, .path = "exitCode", .before = "exit "},
		{show_value, .path = "signal", .before = "signal "}}},
	{"mcp/connect", STYLE_CYAN, {{show_value, .path = "connectionId"}}},

	/* Of MCP servers. */
	{"server/discover", STYLE_PLAIN, {{show_value, .path = "supportedVersions", .before = "protocol ", .each = ", "}}},
	{"tools/call", STYLE_YELLOW, {{show_tool_result, .path = ""}}},
	{"tools/list", STYLE_CYAN, {{show_name, .path = "tools", .noun = "tool"}, MORE}},
	{"prompts/list", STYLE_CYAN, {{show_name, .path = "prompts", .noun = "prompt"}, MORE}},
	{"prompts/get", STYLE_CYAN, {{show_turn, .path = "messages", .each = " "}}},
	{"resources/list", STYLE_CYAN, {{show_name, .path = "resources", .noun = "resource"}, MORE}},
	{"resources/templates/list", STYLE_CYAN, {{show_name, .path = "resourceTemplates", .noun = "template"}, MORE}},
	{"resources/read", STYLE_CYAN, {{show_block, .path = "contents", .each = " "}}},
	{"sampling/createMessage", STYLE_MAGENTA, {{show_value, .path = "model"}, {show_turn, .path = ""}}},
};

static const struct preview *
find(const struct preview *all, size_t n, struct slice name)
{
	for (size_t i = 0; i < n; i++)
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
	if (part->noun)
		show_list(c, v, part->noun, part->show);
	else if (part->each)
		show_each(c, v, part->each, part->show);
	else
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

	for (size_t i = 0; i < PARTS && p->parts[i].show && !c->cut; i++) {
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
	show_pair(c, code, " ", message);
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
