#include "cmd/acp-tap/preview.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/json.h"

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

/* --- values --- */

/* The first of the paths that is there and not null. */
static struct slice
lookup(struct slice object, const char *paths)
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

static bool
is(struct slice value, enum json_type type)
{
	return value.p && json_type(value) == type;
}

static bool
is_text(struct slice value, const char *text)
{
	return is(value, JSON_STRING) && json_string_is(value, text);
}

static void
show_value(struct cells *c, struct slice v)
{
	cells_value(c, v);
}

/* A value that says something: {}, [] and null do not. */
static void
show_raw(struct cells *c, struct slice v)
{
	if (v.n > 2 && json_type(v) != JSON_NULL)
		cells_value(c, v);
}

static void
show_size(struct cells *c, struct slice v)
{
	char text[16];

	if (is(v, JSON_STRING))
		cells_ascii(c, people_bytes(text, v.n - 2));
}

static size_t
count_of(struct slice v)
{
	struct json_iter it = {.in = v};
	struct slice key, value;
	size_t n = 0;

	if (!is(v, JSON_ARRAY))
		return 0;
	while (json_next(&it, &key, &value))
		n++;
	return n;
}

static void
show_count(struct cells *c, struct slice v)
{
	cells_printf(c, "%zu", count_of(v));
}

static void
show_peer(struct cells *c, struct slice v)
{
	struct slice name = lookup(v, "title|name"), version = lookup(v, "version");

	if (name.p)
		cells_value(c, name);
	if (version.p) {
		cells_ascii(c, " ");
		cells_value(c, version);
	}
}

static void
show_servers(struct cells *c, struct slice v)
{
	size_t n = count_of(v);

	if (n)
		cells_printf(c, "%zu MCP server%s", n, n == 1 ? "" : "s");
}

/* Shows something of each element of an array. */
static void
show_each(struct cells *c, struct slice v, const char *between, void (*show)(struct cells *, struct slice))
{
	struct json_iter it = {.in = v};
	struct slice key, value;
	unsigned before = c->used;

	if (!is(v, JSON_ARRAY)) {
		show(c, v);
		return;
	}
	while (!c->cut && json_next(&it, &key, &value)) {
		if (c->used > before)
			cells_ascii(c, between);
		before = c->used;
		show(c, value);
	}
}

static void
show_name(struct cells *c, struct slice v)
{
	struct slice name = is(v, JSON_OBJECT) ? lookup(v, "name|optionId|id") : v;

	if (name.p)
		cells_value(c, name);
}

static void
show_names(struct cells *c, struct slice v)
{
	show_each(c, v, ", ", show_name);
}

static void
show_commands(struct cells *c, struct slice v)
{
	size_t n = count_of(v);

	cells_printf(c, "%zu command%s%s", n, n == 1 ? "" : "s", n ? ": " : "");
	show_names(c, v);
}

static void
show_choices(struct cells *c, struct slice v)
{
	show_each(c, v, " | ", show_name);
}

static void
show_words(struct cells *c, struct slice v)
{
	show_each(c, v, " ", show_value);
}

static void
show_setting(struct cells *c, struct slice v)
{
	struct slice name = lookup(v, "id|configId"), value = lookup(v, "currentValue|value");

	if (name.p)
		cells_value(c, name);
	if (value.p) {
		cells_ascii(c, "=");
		cells_value(c, value);
	}
}

static void
show_settings(struct cells *c, struct slice v)
{
	show_each(c, v, ", ", show_setting);
}

/* --- content --- */

/* A text, or what kind of thing it is: [image image/png]. */
static void
show_block(struct cells *c, struct slice v)
{
	struct slice type = lookup(v, "type"), what;

	if (!is(v, JSON_OBJECT)) {
		cells_value(c, v);
		return;
	}
	what = lookup(v, "text");
	if (is_text(type, "text") && is(what, JSON_STRING)) {
		cells_string(c, what);
		return;
	}
	what = lookup(v, "uri|resource.uri|mimeType|name");
	cells_ascii(c, "[");
	if (type.p)
		cells_value(c, type);
	if (what.p) {
		cells_ascii(c, " ");
		cells_value(c, what);
	}
	cells_ascii(c, "]");
}

static void
show_blocks(struct cells *c, struct slice v)
{
	show_each(c, v, " ", show_block);
}

/* What a tool shows: content, a diff, a terminal. */
static void
show_yield(struct cells *c, struct slice v)
{
	struct slice type = lookup(v, "type"), path;

	if (is_text(type, "diff")) {
		path = lookup(v, "path");
		cells_ascii(c, "diff ");
		if (path.p)
			cells_value(c, path);
	} else if (is_text(type, "terminal")) {
		path = lookup(v, "terminalId");
		cells_ascii(c, "terminal ");
		if (path.p)
			cells_value(c, path);
	} else {
		show_block(c, is(v, JSON_OBJECT) && lookup(v, "content").p ? lookup(v, "content") : v);
	}
}

static void
show_yields(struct cells *c, struct slice v)
{
	show_each(c, v, " ", show_yield);
}

static void
show_status(struct cells *c, struct slice v)
{
	static const struct {
		const char *status;
		enum style style;
	} styles[] = {{"completed", STYLE_GREEN}, {"failed", STYLE_RED}, {"in_progress", STYLE_YELLOW}, {"", STYLE_DIM}};
	enum style before = c->style;
	size_t i = 0;

	while (*styles[i].status && !is_text(v, styles[i].status))
		i++;
	cells_style(c, styles[i].style);
	cells_value(c, v);
	cells_style(c, before);
}

/* Later updates of a tool call often have its id only. */
static void
show_tool(struct cells *c, struct slice v)
{
	struct slice title = lookup(v, "title"), id = lookup(v, "toolCallId");
	enum style before = c->style;

	if (title.p) {
		cells_value(c, title);
	} else if (id.p) {
		cells_style(c, STYLE_DIM);
		cells_value(c, id);
		cells_style(c, before);
	}
}

/* How far a plan is, and what is being done. */
static void
show_plan(struct cells *c, struct slice v)
{
	struct json_iter it = {.in = v};
	struct slice key, entry, doing = {0};
	size_t n = 0, done = 0;

	if (!is(v, JSON_ARRAY))
		return;
	for (; json_next(&it, &key, &entry); n++) {
		done += is_text(lookup(entry, "status"), "completed");
		if (!doing.p && is_text(lookup(entry, "status"), "in_progress"))
			doing = lookup(entry, "content");
	}
	cells_printf(c, "%zu of %zu done", done, n);
	if (doing.p) {
		cells_ascii(c, "  ");
		cells_value(c, doing);
	}
}

/* --- usage --- */

static enum style
style_of_fill(double percent)
{
	if (percent > 95)
		return STYLE_RED;
	return percent >= 90 ? STYLE_ORANGE : percent >= 75 ? STYLE_YELLOW : STYLE_PLAIN;
}

/* Amounts come as binary floats in full: people are shown four decimals at most. */
static void
show_cost(struct cells *c, struct slice cost)
{
	struct slice amount = lookup(cost, "amount"), currency = lookup(cost, "currency");
	char text[64];
	size_t n;

	if (!is(amount, JSON_NUMBER))
		return;
	snprintf(text, sizeof(text), "%.*s", (int)amount.n, amount.p);
	snprintf(text, sizeof(text), "%.4f", strtod(text, NULL));
	n = strlen(text);
	while (n > 3 && text[n - 1] == '0' && text[n - 3] != '.')
		text[--n] = '\0';
	cells_printf(c, "  %s", text);
	if (currency.p) {
		cells_ascii(c, " ");
		cells_value(c, currency);
	}
}

static void
show_usage(struct cells *c, struct slice v)
{
	struct slice cost = lookup(v, "cost"), used_text = lookup(v, "used"), size_text = lookup(v, "size");
	char a[16], b[16];
	uint64_t used, size = 0;
	enum style before = c->style;
	double percent;

	if (!is(used_text, JSON_NUMBER) || !json_u64(used_text, &used)) {
		show_raw(c, v);
		return;
	}
	if (is(size_text, JSON_NUMBER) && json_u64(size_text, &size) && size > 0) {
		percent = (double)used * 100 / (double)size;
		cells_style(c, style_of_fill(percent));
		cells_printf(c, "%.0f%%", percent);
		cells_style(c, before);
		cells_printf(c, "  %s/%s", people_count(a, used), people_count(b, size));
	} else {
		cells_ascii(c, people_count(a, used));
	}
	if (is(cost, JSON_OBJECT))
		show_cost(c, cost);
}

static bool
show_tokens_of(struct cells *c, struct slice v, const char *path, const char *after)
{
	struct slice number = lookup(v, path);
	char text[16];
	uint64_t n;

	if (!is(number, JSON_NUMBER) || !json_u64(number, &n))
		return false;
	cells_printf(c, "%s %s", people_count(text, n), after);
	return true;
}

static void
show_tokens(struct cells *c, struct slice v)
{
	if (!is(v, JSON_OBJECT))
		return;
	if (show_tokens_of(c, v, "inputTokens|input_tokens", "in"))
		cells_ascii(c, ", ");
	if (show_tokens_of(c, v, "outputTokens|output_tokens", "out"))
		cells_ascii(c, ", ");
	show_tokens_of(c, v, "totalTokens|total_tokens", "tokens");
}

static void
show_stop(struct cells *c, struct slice v)
{
	enum style before = c->style;

	cells_style(c, is_text(v, "end_turn") ? STYLE_GREEN : is_text(v, "cancelled") ? STYLE_YELLOW : STYLE_RED);
	cells_value(c, v);
	cells_style(c, before);
}

/* --- which message shows what --- */

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
		v = lookup(object, p->parts[i].path);
		if (v.p)
			show_part(c, &p->parts[i], v, c->used == start);
	}
}

static void
put_error(struct cells *c, struct slice error)
{
	struct slice code = lookup(error, "code"), message = lookup(error, "message"), data = lookup(error, "data");

	cells_style(c, STYLE_RED);
	if (!is(error, JSON_OBJECT)) {
		cells_value(c, error);
		return;
	}
	if (code.p)
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
	if (!p || !is(object, JSON_OBJECT)) {
		cells_style(c, STYLE_DIM);
		show_raw(c, object);
		return;
	}
	cells_style(c, p->style == STYLE_BOLD || p->style == STYLE_THOUGHT || p->style == STYLE_DIM ? p->style : STYLE_PLAIN);
	show_parts(c, p, object);
}

void
preview_put(struct cells *c, const struct seen *s)
{
	const struct msg *m = &s->msg;
	struct slice kind = msg_update_kind(m), method = seen_method(s);

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
preview_chunk(const struct seen *s, struct slice kind)
{
	static const char ending[] = "_chunk\"";
	size_t n = sizeof(ending) - 1;
	struct slice text;

	if (kind.n <= n || memcmp(kind.p + kind.n - n, ending, n) != 0)
		return slice(NULL, 0);
	text = json_path(s->msg.params, "update.content.text");
	return is(text, JSON_STRING) && is_text(json_path(s->msg.params, "update.content.type"), "text") ? text : slice(NULL, 0);
}
