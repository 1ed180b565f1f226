/*
 * preview: shows the contents of a message in a few words. Tables say which values of a method or kind of update are shown, and how.
 */
#include "cmd/acp-tap/tap.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/base/people.h"
#include "lib/usage/usage.h"

/* --- values: each function takes any JSON value, and writes nothing for an absent one (p NULL), as cells_value does --- */

static struct slice
show_find(struct slice object, const char *paths)
{
	char path[128];
	struct slice v = object;
	size_t n;

	if (*paths == '\0')
		return v;
	for (;; paths += n + 1) {
		n = strcspn(paths, "|");
		snprintf(path, sizeof(path), "%.*s", (int)n, paths);
		v = json_path(object, path);
		if (v.p && json_type(v) != JSON_NULL)
			return v;
		if (!paths[n])
			return slice(NULL, 0);
	}
}

/* Shows a value, but not {}, [] and null. */
static void
show_raw(struct cells *c, struct slice v)
{
	if (v.n > 2 && json_type(v) != JSON_NULL)
		cells_value(c, v);
}

static void
show_size(struct cells *c, struct slice v)
{
	char text[PEOPLE_FIGURE];

	if (json_type(v) == JSON_STRING)
		cells_ascii(c, people_bytes(text, v.n - 2));
}

/* Shows the number of an array's elements, and returns it. */
static size_t
show_count(struct cells *c, struct slice v, const char *noun)
{
	struct json_iter it = {.in = v};
	struct slice value;
	size_t n = 0;

	while (json_item(&it, &value))
		n++;
	cells_printf(c, "%zu %s%s", n, noun, n == 1 ? "" : "s");
	return n;
}

static void
show_pair(struct cells *c, struct slice first, const char *between, struct slice second)
{
	cells_value(c, first);
	if (second.p) {
		cells_ascii(c, between);
		cells_value(c, second);
	}
}

/* Shows a value in a style. */
static void
show_styled(struct cells *c, enum style style, struct slice v)
{
	enum style before = c->style;

	cells_style(c, style);
	cells_value(c, v);
	cells_style(c, before);
}

static void
show_peer(struct cells *c, struct slice v)
{
	show_pair(c, show_find(v, "title|name"), " ", show_find(v, "version"));
}

static void
show_servers(struct cells *c, struct slice v)
{
	if (json_type(v) == JSON_ARRAY && !json_is_empty(v))
		show_count(c, v, "MCP server");
}

static void
show_each(struct cells *c, struct slice v, const char *separator, void (*show)(struct cells *, struct slice))
{
	struct json_iter it = {.in = v};
	struct slice value;
	unsigned before = c->used;

	if (json_type(v) != JSON_ARRAY)
		show(c, v);
	while (!c->cut && json_item(&it, &value)) {
		if (c->used > before)
			cells_ascii(c, separator);
		before = c->used;
		show(c, value);
	}
}

static void
show_list(struct cells *c, struct slice v, const char *noun, void (*show)(struct cells *, struct slice))
{
	if (show_count(c, v, noun)) {
		cells_ascii(c, ": ");
		show_each(c, v, ", ", show);
	}
}

static void
show_name(struct cells *c, struct slice v)
{
	cells_value(c, json_type(v) == JSON_OBJECT ? show_find(v, "name|optionId|id|title|sessionId|uri") : v);
}

static void
show_arguments(struct cells *c, struct slice v)
{
	struct json_iter it = {.in = v};
	struct slice key, value;
	const char *separator = "";

	if (json_type(v) != JSON_OBJECT) {
		cells_value(c, v);
		return;
	}
	for (; !c->cut && json_next(&it, &key, &value); separator = ", ") {
		cells_ascii(c, separator);
		show_pair(c, key, "=", value);
	}
}

static void
show_setting(struct cells *c, struct slice v)
{
	show_pair(c, show_find(v, "id|configId"), "=", show_find(v, "currentValue|value"));
}

/* --- content --- */

/* Shows a text, or the type of other content: [image image/png]. The contents of a resource have no type. */
static void
show_block(struct cells *c, struct slice v)
{
	struct slice type = show_find(v, "type"), what;

	what = json_type(v) == JSON_OBJECT ? show_find(v, "text") : v;
	if (json_type(v) != JSON_OBJECT || ((!type.p || json_string_is(type, "text")) && json_type(what) == JSON_STRING)) {
		cells_value(c, what);
		return;
	}
	cells_ascii(c, "[");
	show_pair(c, type, type.p ? " " : "", show_find(v, "uri|resource.uri|mimeType|name"));
	cells_ascii(c, "]");
}

/* Shows a tool call's content: a block, a diff or a terminal. */
static void
show_tool_content(struct cells *c, struct slice v)
{
	struct slice type = show_find(v, "type"), content = show_find(v, "content");

	if (json_string_is(type, "diff")) {
		cells_ascii(c, "diff ");
		cells_value(c, show_find(v, "path"));
	} else if (json_string_is(type, "terminal")) {
		cells_ascii(c, "terminal ");
		cells_value(c, show_find(v, "terminalId"));
	} else {
		show_block(c, content.p ? content : v);
	}
}

static void
show_tool_result(struct cells *c, struct slice v)
{
	struct slice content = show_find(v, "content");

	if (json_type(show_find(v, "isError")) == JSON_TRUE)
		show_styled(c, STYLE_RED, slice_of("error: "));
	if (content.n > 2)
		show_each(c, content, " ", show_block);
	else
		show_raw(c, show_find(v, "structuredContent"));
}

static void
show_turn(struct cells *c, struct slice v)
{
	cells_value(c, show_find(v, "role"));
	cells_ascii(c, ": ");
	show_each(c, show_find(v, "content"), " ", show_block);
}

static void
show_status(struct cells *c, struct slice v)
{
	static const struct {
		const char *status;
		enum style style;
	} styles[] = {{"completed", STYLE_GREEN}, {"failed", STYLE_RED}, {"in_progress", STYLE_YELLOW}, {"", STYLE_DIM}};
	size_t i = 0;

	while (*styles[i].status && !json_string_is(v, styles[i].status))
		i++;
	show_styled(c, styles[i].style, v);
}

/* Shows a tool call: its title, or its id, which is often all that a later update has. */
static void
show_tool(struct cells *c, struct slice v)
{
	struct slice title = show_find(v, "title");

	if (title.p)
		cells_value(c, title);
	else
		show_styled(c, STYLE_DIM, show_find(v, "toolCallId"));
}

/* Shows the number of finished entries of a plan, and the entry in progress. */
static void
show_plan(struct cells *c, struct slice v)
{
	struct json_iter it = {.in = v};
	struct slice entry, doing = {0};
	size_t n = 0, done = 0;

	if (json_type(v) != JSON_ARRAY)
		return;
	for (; json_item(&it, &entry); n++) {
		done += json_string_is(show_find(entry, "status"), "completed");
		if (!doing.p && json_string_is(show_find(entry, "status"), "in_progress"))
			doing = show_find(entry, "content");
	}
	cells_printf(c, "%zu of %zu done", done, n);
	show_pair(c, slice(NULL, 0), "  ", doing);
}

/* --- usage --- */

/* Shows an amount with at most four decimals; many agents send binary fractions. */
static void
show_cost(struct cells *c, struct slice cost)
{
	struct slice amount = show_find(cost, "amount"), currency = show_find(cost, "currency");
	char text[64];
	size_t n;

	if (json_type(amount) != JSON_NUMBER)
		return;
	snprintf(text, sizeof(text), "%.*s", (int)amount.n, amount.p);
	snprintf(text, sizeof(text), "%.4f", strtod(text, NULL));
	n = strlen(text);
	while (n > 3 && text[n - 1] == '0' && text[n - 3] != '.')
		text[--n] = '\0';
	cells_ascii(c, "  ");
	show_pair(c, slice_of(text), " ", currency);
}

static void
show_usage(struct cells *c, struct slice v)
{
	struct slice cost = show_find(v, "cost");
	char a[PEOPLE_FIGURE], b[PEOPLE_FIGURE];
	uint64_t used, size = 0;
	enum style before = c->style;

	if (!json_u64(show_find(v, "used"), &used)) {
		show_raw(c, v);
		return;
	}
	if (json_u64(show_find(v, "size"), &size) && size > 0) {
		cells_style(c, usage_reaches(used, size, 95, false) ? STYLE_RED : usage_reaches(used, size, 90, true) ? STYLE_ORANGE :
			usage_reaches(used, size, 75, true) ? STYLE_YELLOW : STYLE_PLAIN);
		cells_printf(c, "%d%%", usage_percent(used, size));
		cells_style(c, before);
		cells_printf(c, "  %s/%s", people_count(a, used), people_count(b, size));
	} else {
		cells_ascii(c, people_count(a, used));
	}
	if (json_type(cost) == JSON_OBJECT)
		show_cost(c, cost);
}

static void
show_tokens(struct cells *c, struct slice v)
{
	static const struct {
		const char *path, *name;
	} counts[] = {{"inputTokens|input_tokens", "in"}, {"outputTokens|output_tokens", "out"},
		{"totalTokens|total_tokens", "tokens"}};
	unsigned start = c->used;
	char text[PEOPLE_FIGURE];
	uint64_t n;

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		if (json_u64(show_find(v, counts[i].path), &n))
			cells_printf(c, "%s%s %s", c->used > start ? ", " : "", people_count(text, n), counts[i].name);
}

static void
show_stop(struct cells *c, struct slice v)
{
	show_styled(c, json_string_is(v, "end_turn") ? STYLE_GREEN : json_string_is(v, "cancelled") ? STYLE_YELLOW : STYLE_RED, v);
}

/* --- tables --- */

/* A piece of a preview: its path in the message, and the function that shows it. */
struct part {
	void (*show)(struct cells *, struct slice value);
	const char *path; /* or several paths with | between them: the first that is present; "": the whole value */
	const char *before, *after;
	const char *each; /* shows each element of an array, with this text between them; NULL: shows the array as a whole */
	const char *noun; /* shows the number of an array's elements, with this noun, and each element */
};

enum { NAMES = 5, PARTS = 5 };

struct preview {
	const char *names[NAMES]; /* with NULL at the end */
	enum style style;
	struct part parts[PARTS];
};

#define PEER(info) {show_peer, .path = info "|info"}, {cells_value, .path = acp_protocol_version, .before = "protocol "}
#define CONTENT {show_block, .path = "content", .each = " "}
#define MORE {cells_value, .path = "nextCursor", .before = "more from "}

/* Updates, by their kind. */
static const struct preview updates[] = {
	{{"agent_message_chunk", "agent_message"}, STYLE_PLAIN, {CONTENT}},
	{{"agent_thought_chunk"}, STYLE_THOUGHT, {CONTENT}},
	{{"user_message_chunk", "user_message"}, STYLE_BOLD, {CONTENT}},
	{{"tool_call", "tool_call_update"}, STYLE_YELLOW, {{show_status, .path = "status"}, {show_tool, .path = ""},
		{show_tool_content, .path = "content", .each = " "}}},
	{{"plan"}, STYLE_BLUE, {{show_plan, .path = "entries"}}},
	{{"plan_update"}, STYLE_BLUE, {{show_plan, .path = "entries|plan.entries"}}},
	{{"available_commands_update"}, STYLE_DIM, {{show_name, .path = "availableCommands", .noun = "command"}}},
	{{"current_mode_update"}, STYLE_BLUE, {{cells_value, .path = "currentModeId"}}},
	{{"config_option_update"}, STYLE_BLUE, {{show_setting, .path = "configOptions", .each = ", "}}},
	{{"session_info_update"}, STYLE_DIM, {{cells_value, .path = "title"}}},
	{{"usage_update", "context_update"}, STYLE_DIM, {{show_usage, .path = ""}}},
	{{"subagent_update"}, STYLE_MAGENTA, {{cells_value, .path = "state.state"}, {cells_value, .path = "title|sessionId"},
		{show_stop, .path = "state.stopReason"}}},
	{{"session_message", "session_message_chunk"}, STYLE_MAGENTA, {CONTENT}},
	{{"compaction_update"}, STYLE_BLUE, {{show_status, .path = "status"}, {show_block, .path = "summary", .each = " "},
		{cells_value, .path = "error.message"}}},
	{{"compaction_summary_chunk"}, STYLE_BLUE, {CONTENT}},
	{{"notice"}, STYLE_YELLOW, {{cells_value, .path = "severity", .after = ":"}, {cells_value, .path = "title"}}},
	{{"state_update"}, STYLE_BOLD, {{cells_value, .path = "state"}, {show_stop, .path = "stopReason"},
		{show_tokens, .path = "usage"}, {cells_value, .path = "error.message"}}},
};

/* Params, by their method. */
static const struct preview calls[] = {
	{{"session/prompt"}, STYLE_BOLD, {{show_block, .path = "prompt", .each = " "}}},
	{{"initialize", "proxy/initialize", "_proxy/initialize"}, STYLE_PLAIN, {PEER("clientInfo")}},
	{{"authenticate", "auth/login"}, STYLE_PLAIN, {{cells_value, .path = "methodId"}}},
	{{"auth/status_update", "_auth/status_update"}, STYLE_DIM, {{cells_value, .path = "authStatus.label|authStatus.kind"}}},
	{{"session/new", "session/load", "session/resume", "session/fork"}, STYLE_PLAIN,
		{{cells_value, .path = "cwd"}, {show_servers, .path = "mcpServers"}}},
	{{"session/cancel"}, STYLE_YELLOW, {{0}}},
	{{"session/close"}, STYLE_PLAIN, {{0}}},
	{{"session/set_mode"}, STYLE_BLUE, {{cells_value, .path = "modeId"}}},
	{{"session/set_model"}, STYLE_BLUE, {{cells_value, .path = "modelId"}}},
	{{"session/set_config_option"}, STYLE_BLUE, {{show_setting, .path = ""}}},
	{{"session/set_title"}, STYLE_DIM, {{cells_value, .path = "title"}}},
	{{"session/request_permission"}, STYLE_MAGENTA,
		{{cells_value, .path = "title"}, {show_tool, .path = "toolCall|subject.toolCall", .after = "?"},
			{cells_value, .path = "subject.command"}, {show_name, .path = "options", .each = " | "}}},
	{{"fs/read_text_file"}, STYLE_CYAN, {{cells_value, .path = "path"}, {cells_value, .path = "line", .before = "from line "},
		{cells_value, .path = "limit", .before = "lines "}}},
	{{"fs/write_text_file"}, STYLE_CYAN, {{cells_value, .path = "path"}, {show_size, .path = "content"}}},
	{{"terminal/create"}, STYLE_CYAN, {{cells_value, .path = "command"}, {cells_value, .path = "args", .each = " "}}},
	{{"terminal/output", "terminal/wait_for_exit", "terminal/kill", "terminal/release"}, STYLE_CYAN, {{cells_value, .path = "terminalId"}}},
	{{"elicitation/create"}, STYLE_MAGENTA, {{cells_value, .path = "message"}}},
	{{"$/cancel_request"}, STYLE_YELLOW, {{cells_value, .path = acp_request_id, .before = "id "}}},
	{{"mcp/connect"}, STYLE_CYAN, {{cells_value, .path = "acpId|serverId"}}},
	{{"mcp/message"}, STYLE_CYAN, {{cells_value, .path = "method"}, {show_raw, .path = "params"}}},
	{{"mcp/disconnect"}, STYLE_CYAN, {{cells_value, .path = "connectionId"}}},

	/* messages of MCP */
	{{"tools/call"}, STYLE_YELLOW, {{cells_value, .path = "name"}, {show_arguments, .path = "arguments"}}},
	{{"prompts/get"}, STYLE_CYAN, {{cells_value, .path = "name"}, {show_arguments, .path = "arguments"}}},
	{{"tools/list", "prompts/list", "resources/list", "resources/templates/list"}, STYLE_CYAN,
		{{cells_value, .path = "cursor", .before = "from "}}},
	{{"resources/read", "resources/subscribe", "resources/unsubscribe"}, STYLE_CYAN, {{cells_value, .path = "uri"}}},
	{{"sampling/createMessage"}, STYLE_MAGENTA, {{show_turn, .path = "messages", .each = " "}}},
	{{"logging/setLevel"}, STYLE_BLUE, {{cells_value, .path = "level"}}},
	{{"notifications/progress"}, STYLE_DIM, {{cells_value, .path = "progress"}, {cells_value, .path = "total", .before = "of "},
		{cells_value, .path = "message"}}},
	{{"notifications/message"}, STYLE_DIM, {{cells_value, .path = "level", .after = ":"}, {cells_value, .path = "logger"},
		{cells_value, .path = "data"}}},
	{{"notifications/cancelled"}, STYLE_YELLOW,
		{{cells_value, .path = acp_request_id, .before = "id "}, {cells_value, .path = "reason"}}},
	{{"notifications/resources/updated"}, STYLE_DIM, {{cells_value, .path = "uri"}}},
};

/* Results, by the method of their request. */
static const struct preview results[] = {
	{{"session/prompt"}, STYLE_PLAIN, {{show_stop, .path = acp_stop_reason},
		{show_tokens, .path = "usage|_meta.quota.token_count"}, {cells_value, .path = "messageId"}}},
	{{"session/request_permission"}, STYLE_MAGENTA, {{cells_value, .path = "outcome.optionId|outcome.outcome"}}},
	{{"initialize"}, STYLE_PLAIN, {PEER("agentInfo|serverInfo")}},
	{{"proxy/initialize", "_proxy/initialize"}, STYLE_PLAIN, {PEER("agentInfo")}},
	{{"session/new", "session/load", "session/resume", "session/fork"}, STYLE_PLAIN,
		{{cells_value, .path = "modes.currentModeId", .before = "mode "}, {cells_value, .path = "models.currentModelId", .before = "model "}}},
	{{"session/list"}, STYLE_PLAIN, {{show_name, .path = "sessions", .noun = "session"}}},
	{{"fs/read_text_file"}, STYLE_CYAN, {{show_size, .path = "content", .after = ":"}, {cells_value, .path = "content"}}},
	{{"terminal/create"}, STYLE_CYAN, {{cells_value, .path = "terminalId"}}},
	{{"terminal/output"}, STYLE_CYAN, {{cells_value, .path = "exitStatus.exitCode", .before = "exit "}, {cells_value, .path = "output"}}},
	{{"terminal/wait_for_exit"}, STYLE_CYAN, {{cells_value, .path = "exitCode", .before = "exit "},
		{cells_value, .path = "signal", .before = "signal "}}},
	{{"mcp/connect"}, STYLE_CYAN, {{cells_value, .path = "connectionId"}}},

	/* messages of MCP */
	{{"server/discover"}, STYLE_PLAIN, {{cells_value, .path = "supportedVersions", .before = "protocol ", .each = ", "}}},
	{{"tools/call"}, STYLE_YELLOW, {{show_tool_result, .path = ""}}},
	{{"tools/list"}, STYLE_CYAN, {{show_name, .path = "tools", .noun = "tool"}, MORE}},
	{{"prompts/list"}, STYLE_CYAN, {{show_name, .path = "prompts", .noun = "prompt"}, MORE}},
	{{"prompts/get"}, STYLE_CYAN, {{show_turn, .path = "messages", .each = " "}}},
	{{"resources/list"}, STYLE_CYAN, {{show_name, .path = "resources", .noun = "resource"}, MORE}},
	{{"resources/templates/list"}, STYLE_CYAN, {{show_name, .path = "resourceTemplates", .noun = "template"}, MORE}},
	{{"resources/read"}, STYLE_CYAN, {{show_block, .path = "contents", .each = " "}}},
	{{"sampling/createMessage"}, STYLE_MAGENTA, {{cells_value, .path = "model"}, {show_turn, .path = ""}}},
};

static const struct preview *
find(const struct preview *all, size_t n, struct slice name)
{
	for (size_t i = 0; i < n; i++)
		if (json_string_in(name, all[i].names))
			return &all[i];
	return NULL;
}
#define FIND(all, name) find(all, sizeof(all) / sizeof((all)[0]), name)

/* Shows a piece. Removes the text before it if the piece shows nothing. */
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
	unsigned start = c->used;
	struct slice v;

	if (!object.p)
		return;
	if (!p || json_type(object) != JSON_OBJECT) {
		cells_style(c, STYLE_DIM);
		show_raw(c, object);
		return;
	}
	cells_style(c, p->style == STYLE_BOLD || p->style == STYLE_THOUGHT || p->style == STYLE_DIM ? p->style : STYLE_PLAIN);
	for (size_t i = 0; i < PARTS && p->parts[i].show && !c->cut; i++) {
		v = show_find(object, p->parts[i].path);
		if (v.p)
			show_part(c, &p->parts[i], v, c->used == start);
	}
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
