#include "lib/acp/acp.h"

#include "lib/json/json.h"

struct method {
	const char *name;
	enum acp_method what;
	enum acp_side sender;
	bool notification;
};

/*
 * The methods of section 2: of both versions, stable and unstable. A name with '/' at its end is a prefix. The most frequent are first.
 */
static const struct method methods[] = {
	{"session/update", ACP_SESSION_UPDATE, ACP_AGENT, true},
	{"session/prompt", ACP_SESSION_PROMPT, ACP_CLIENT, false},
	{"proxy/successor", ACP_PROXY_SUCCESSOR, ACP_UNKNOWN, false},
	{"_proxy/successor", ACP_PROXY_SUCCESSOR, ACP_UNKNOWN, false},
	{"session/request_permission", ACP_REQUEST_PERMISSION, ACP_AGENT, false},
	{"session/cancel", ACP_SESSION_CANCEL, ACP_CLIENT, true},
	{"initialize", ACP_INITIALIZE, ACP_CLIENT, false},
	{"authenticate", ACP_OTHER, ACP_CLIENT, false},
	{"logout", ACP_OTHER, ACP_CLIENT, false},
	{"session/new", ACP_SESSION_NEW, ACP_CLIENT, false},
	{"session/load", ACP_SESSION_LOAD, ACP_CLIENT, false},
	{"session/resume", ACP_SESSION_RESUME, ACP_CLIENT, false},
	{"session/fork", ACP_SESSION_FORK, ACP_CLIENT, false},
	{"session/list", ACP_OTHER, ACP_CLIENT, false},
	{"session/close", ACP_SESSION_CLOSE, ACP_CLIENT, false},
	{"session/delete", ACP_SESSION_DELETE, ACP_CLIENT, false},
	{"session/set_mode", ACP_SESSION_SET_MODE, ACP_CLIENT, false},
	{"session/set_model", ACP_OTHER, ACP_CLIENT, false},
	{"session/set_config_option", ACP_SESSION_SET_CONFIG, ACP_CLIENT, false},
	{"session/archive", ACP_OTHER, ACP_CLIENT, false},
	{"session/unarchive", ACP_OTHER, ACP_CLIENT, false},
	{"session/set_title", ACP_OTHER, ACP_CLIENT, false},
	{"session/status", ACP_OTHER, ACP_CLIENT, false},
	{"auth/status", ACP_OTHER, ACP_CLIENT, false},
	{"auth/login", ACP_OTHER, ACP_CLIENT, false},
	{"auth/logout", ACP_OTHER, ACP_CLIENT, false},
	{"auth/status_update", ACP_OTHER, ACP_AGENT, true},
	{"_auth/status_update", ACP_OTHER, ACP_AGENT, true},
	{"providers/", ACP_OTHER, ACP_CLIENT, false},
	{"fs/", ACP_OTHER, ACP_AGENT, false},
	{"terminal/cancel", ACP_OTHER, ACP_CLIENT, false},
	{"tool_call/cancel", ACP_OTHER, ACP_CLIENT, false},
	{"terminal/", ACP_OTHER, ACP_AGENT, false},
	{"elicitation/complete", ACP_OTHER, ACP_AGENT, true},
	{"elicitation/create", ACP_ELICITATION_CREATE, ACP_AGENT, false},
	{"elicitation/", ACP_OTHER, ACP_AGENT, false},
	{"mcp/connect", ACP_MCP_CONNECT, ACP_AGENT, false},
	{"mcp/message", ACP_MCP_MESSAGE, ACP_UNKNOWN, false},
	{"mcp/disconnect", ACP_MCP_DISCONNECT, ACP_AGENT, false},
	{"$/cancel_request", ACP_CANCEL_REQUEST, ACP_UNKNOWN, true},
	{"proxy/initialize", ACP_PROXY_INITIALIZE, ACP_CLIENT, false},
	{"_proxy/initialize", ACP_PROXY_INITIALIZE, ACP_CLIENT, false},
	{"_acp-revive/restarted", ACP_RESTARTED, ACP_AGENT, true},
	{"nes/start", ACP_NES_START, ACP_CLIENT, false},
	{"nes/close", ACP_NES_CLOSE, ACP_CLIENT, false},
	{"nes/accept", ACP_OTHER, ACP_CLIENT, true},
	{"nes/reject", ACP_OTHER, ACP_CLIENT, true},
	{"nes/", ACP_OTHER, ACP_CLIENT, false},
	{"document/", ACP_OTHER, ACP_CLIENT, true},
};

static const struct method other = {"", ACP_OTHER, ACP_UNKNOWN, false};

static bool
has_name(const struct method *m, struct slice name)
{
	size_t n;

	if (name.n == 0 || *m->name != *name.p)
		return false;
	n = strlen(m->name);
	if (m->name[n - 1] == '/')
		return name.n > n && memcmp(m->name, name.p, n) == 0;
	return name.n == n && memcmp(m->name, name.p, n) == 0;
}

static const struct method *
find(struct slice plain)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (has_name(&methods[i], plain))
			return &methods[i];
	return &other;
}

static const struct method *
find_string(struct slice name)
{
	SCOPED struct buf room = {0};

	return find(json_text(name, &room));
}

/* The members of sections 2 and 5, and those that agents add in _meta. The most frequent are first. */
static const struct acp_member members[] = {
	{"sessionId", .id = ACP_ID_SESSION},
	{"sessionUpdate", .kind = true},
	{"messageId", .id = ACP_ID_MESSAGE},
	{"toolCallId", .id = ACP_ID_TOOL_CALL},
	{"_meta", .metadata = true},
	{"meta", .metadata = true},
	{"rawInput", .opaque = true},
	{"rawOutput", .opaque = true},
	{"cost", .metadata = true},
	{"terminalId", .id = ACP_ID_TERMINAL},
	{"cwd", .cwd = true},
	{"additionalDirectories", .cwd = true},
	{"requestId", .id = ACP_ID_REQUEST},
	{"userMessageId", .id = ACP_ID_MESSAGE},
	{"parentMessageId", .id = ACP_ID_MESSAGE},
	{"parentSessionId", .id = ACP_ID_SESSION},
	{"parentToolCallId", .id = ACP_ID_TOOL_CALL},
	{"parentToolUseId", .id = ACP_ID_TOOL_CALL},
	{"toolUseId", .id = ACP_ID_TOOL_CALL},
	{"elicitationId", .id = ACP_ID_ELICITATION},
	{"planId", .id = ACP_ID_PLAN},
	{"connectionId", .id = ACP_ID_CONNECTION},
	{"serverId", .id = ACP_ID_SERVER},
	{"acpId", .id = ACP_ID_SERVER},
	{"arguments", .opaque = true},
	{"structuredContent", .opaque = true},
	{"clientInfo", .metadata = true},
	{"clientCapabilities", .metadata = true},
	{"info", .metadata = true},
	{"capabilities", .metadata = true},
	{"updatedAt", .metadata = true},
	{"createdAt", .metadata = true},
	{"startedAt", .metadata = true},
	{"endedAt", .metadata = true},
	{"timestamp", .metadata = true},
	{"durationMs", .metadata = true},
};

static const struct acp_member no_member;
static const struct acp_member mcp_request = {"requestId", .id = ACP_ID_MCP_REQUEST};

/* Some members have their meaning in some messages only. */
static const struct acp_member *
in_message(const struct acp_member *m, enum acp_method what, bool response)
{
	bool initialize = what == ACP_INITIALIZE || what == ACP_PROXY_INITIALIZE;
	struct slice name = slice_of(m->name);

	if (m->cwd && !acp_opens_session(what))
		return &no_member;
	if (m->id == ACP_ID_REQUEST && what != ACP_CANCEL_REQUEST)
		return what == ACP_MCP_MESSAGE ? &mcp_request : &no_member;
	/* The client's capabilities are metadata, the agent's are part of the conversation. */
	if (m->metadata && ((slice_is(name, "meta") && what != ACP_PROXY_SUCCESSOR) || (slice_is(name, "info") && !initialize) ||
		(slice_is(name, "capabilities") && (!initialize || response))))
		return &no_member;
	return m;
}

const struct acp_member *
acp_member(struct slice name, enum acp_method what, bool response)
{
	SCOPED struct buf room = {0};
	struct slice plain = json_text(name, &room);

	for (size_t i = 0; plain.n && i < sizeof(members) / sizeof(members[0]); i++)
		if (*plain.p == *members[i].name && slice_is(plain, members[i].name))
			return in_message(&members[i], what, response);
	return &no_member;
}

bool
acp_id_of_session(enum acp_id id)
{
	return id >= ACP_ID_TOOL_CALL && id <= ACP_ID_PLAN;
}

static struct slice
text_of(struct slice block)
{
	struct slice type = json_get(block, "type");

	return json_string_is(type, "text") ? json_get_string(block, "text") : slice(NULL, 0);
}

bool
acp_chunk(struct slice params, struct acp_chunk *c)
{
	static const char *const kinds[] = {"agent_message_chunk", "agent_thought_chunk", "user_message_chunk", NULL};
	struct slice update = json_get(params, acp_update);

	*c = (struct acp_chunk){.kind = json_get_string(update, acp_update_kind)};
	if (!c->kind.p || !json_string_in(c->kind, kinds))
		return false;
	c->message = json_get(update, "messageId");
	c->text = text_of(json_get(update, "content"));
	return c->text.p;
}

struct slice
acp_prompt_text(struct slice params)
{
	struct json_iter it = {.in = json_get(params, "prompt")};
	struct slice key, block, text = {0};

	while (!text.p && json_next(&it, &key, &block))
		text = text_of(block);
	return text;
}

enum acp_method
acp_method(struct slice name)
{
	return find_string(name)->what;
}

enum acp_dialect
acp_dialect(struct slice name)
{
	return name.n > 1 && name.p[1] == '_' ? ACP_UNDERSCORE : ACP_PLAIN;
}

const char *
acp_name(enum acp_method what, enum acp_dialect dialect)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		if (methods[i].what != what || what == ACP_OTHER)
			continue;
		if (dialect == ACP_UNDERSCORE && (what == ACP_PROXY_INITIALIZE || what == ACP_PROXY_SUCCESSOR) &&
			methods[i].name[0] != '_')
			continue;
		return methods[i].name;
	}
	return "";
}

enum acp_side
acp_sender(struct slice name)
{
	return find_string(name)->sender;
}

bool
acp_is_notification(const char *name)
{
	return find(slice_of(name))->notification;
}

bool
acp_opens_session(enum acp_method what)
{
	return what == ACP_SESSION_NEW || what == ACP_SESSION_LOAD || what == ACP_SESSION_RESUME || what == ACP_SESSION_FORK;
}

/*
 * The kind of an update that is written as nearly all are, without blanks and escapes. It only compares bytes, because it is called for
 * each chunk of a text.
 */
static bool
usual_kind(struct slice params, struct slice *kind)
{
	const char *p = params.p, *end = p + params.n, *quote;

	if (!bytes_skip(&p, end, "{\"sessionId\":\"") || !(p = memchr(p, '"', (size_t)(end - p)))
		|| !bytes_skip(&p, end, "\",\"update\":{\"sessionUpdate\":\"") || !(quote = memchr(p, '"', (size_t)(end - p)))
		|| quote[-1] == '\\')
		return false;
	*kind = slice_between(p - 1, quote + 1);
	return true;
}

struct slice
acp_kind_of_update(struct slice params)
{
	struct json_iter it = {.in = params}, update;
	struct slice key, kind;

	if (params.n > 0 && usual_kind(params, &kind))
		return kind;
	while (json_step(&it, &key) && !json_string_is(key, acp_update))
		json_value(&it);
	if (!key.p || !json_enter(&it, &update))
		return slice(NULL, 0);
	while (json_step(&update, &key) && !json_string_is(key, acp_update_kind))
		json_value(&update);
	kind = key.p ? json_value(&update) : slice(NULL, 0);
	return json_type(kind) == JSON_STRING ? kind : slice(NULL, 0);
}

enum acp_part
acp_part_of_update(struct slice params)
{
	/* Some agents still send usage_update by a draft's name. */
	static const struct {
		const char *name;
		enum acp_part part;
	} kinds[] = {
		{"usage_update", ACP_PART_USAGE}, {"context_update", ACP_PART_USAGE}, {"current_mode_update", ACP_PART_MODE},
		{"config_option_update", ACP_PART_CONFIG}, {"session_info_update", ACP_PART_INFO}, {"state_update", ACP_PART_STATE},
		{"tool_call", ACP_PART_CALL}, {"tool_call_update", ACP_PART_CALL}, {"subagent_update", ACP_PART_CHILD},
	};
	struct slice kind = acp_kind_of_update(params);

	/* Nearly all updates are chunks, and no escape ends in this letter. */
	if (kind.n < 2 || kind.p[kind.n - 2] == 'k')
		return ACP_PARTS;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (json_string_is(kind, kinds[i].name))
			return kinds[i].part;
	return ACP_PARTS;
}

bool
acp_is_option_kind(const char *kind)
{
	static const char *const kinds[] = {"allow_once", "allow_always", "reject_once", "reject_always"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i], kind) == 0)
			return true;
	return false;
}

struct slice
acp_find_option(struct slice params, const char *member, const char *value)
{
	struct json_iter it = {.in = json_get(params, acp_options)};
	struct slice option;

	while (json_item(&it, &option))
		if (json_get_string(option, acp_option_id).p && json_string_is(json_get(option, member), value))
			return option;
	return slice(NULL, 0);
}

int
acp_put_selected(struct buf *b, struct slice option_id)
{
	return buf_printf(b, "{\"outcome\":{\"outcome\":\"selected\",\"optionId\":%.*s}}", (int)option_id.n, option_id.p);
}

int
acp_put_text_block(struct buf *b, struct slice text)
{
	if (buf_add_string(b, "{\"type\":\"text\",\"text\":") < 0 || json_quote(text, b) < 0)
		return -1;
	return buf_add(b, "}", 1);
}

bool
acp_has_server(struct slice servers, struct slice name)
{
	struct json_iter it = {.in = servers};
	struct slice key, one;

	while (json_next(&it, &key, &one))
		if (json_string_eq(json_get(one, acp_server_name), name))
			return true;
	return false;
}

enum acp_side
acp_other_side(enum acp_side side)
{
	if (side == ACP_UNKNOWN)
		return ACP_UNKNOWN;
	return side == ACP_CLIENT ? ACP_AGENT : ACP_CLIENT;
}

const char *
acp_side_name(enum acp_side side)
{
	static const char *const names[] = {"unknown", "client", "agent"};

	return names[side];
}
