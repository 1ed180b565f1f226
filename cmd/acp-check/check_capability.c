/* What may only be sent to a side that has advertised it. */
#include <stdio.h>

#include "cmd/acp-check/check.h"

/* What a name is; from TO_CLIENT on, the client needs the capability. CONTEXT: what an agent wants to know for a suggestion. */
enum named { TO_AGENT, CONTENT, SERVER, MEMBER, PROMPT_MODE, CONTEXT, TO_CLIENT, ELICITATION, SUGGESTION, OPTION, LOGIN };

/* Where the capability is that the other side needs, in both versions; NULL: every peer has it. */
static const struct need {
	enum named of;
	const char *name;
	const char *v1, *v2;
} needs[] = {
	{TO_AGENT, "session/load", "loadSession", NULL},
	{TO_AGENT, "session/new", NULL, "session"},
	{TO_AGENT, "session/prompt", NULL, "session"},
	{TO_AGENT, "session/list", "sessionCapabilities.list", "session"},
	{TO_AGENT, "session/resume", "sessionCapabilities.resume", "session"},
	{TO_AGENT, "session/close", "sessionCapabilities.close", "session"},
	{TO_AGENT, "session/fork", "sessionCapabilities.fork", "session.fork"},
	{TO_AGENT, "session/delete", "sessionCapabilities.delete", "session.delete"},
	{TO_AGENT, "session/archive", "sessionCapabilities.archive", "session.archive"},
	{TO_AGENT, "session/unarchive", "sessionCapabilities.archive", "session.archive"},
	{TO_AGENT, "session/status", "sessionCapabilities.status", "session.status"},
	{TO_AGENT, "session/set_title", "sessionCapabilities.title", "session.title"},
	{TO_AGENT, "logout", "auth.logout", NULL},
	{TO_AGENT, "auth/status", "auth.status", "auth.status"},
	{TO_AGENT, "nes/start", "nes", "nes"},
	{TO_AGENT, "nes/suggest", "nes", "nes"},
	{TO_AGENT, "nes/accept", "nes", "nes"},
	{TO_AGENT, "nes/reject", "nes", "nes"},
	{TO_AGENT, "nes/close", "nes", "nes"},
	{TO_AGENT, "document/didOpen", "nes.events.document.didOpen", "nes.events.document.didOpen"},
	{TO_AGENT, "document/didChange", "nes.events.document.didChange", "nes.events.document.didChange"},
	{TO_AGENT, "document/didClose", "nes.events.document.didClose", "nes.events.document.didClose"},
	{TO_AGENT, "document/didSave", "nes.events.document.didSave", "nes.events.document.didSave"},
	{TO_AGENT, "document/didFocus", "nes.events.document.didFocus", "nes.events.document.didFocus"},
	{TO_AGENT, "providers/list", "providers", "providers"},
	{TO_AGENT, "providers/set", "providers", "providers"},
	{TO_AGENT, "providers/disable", "providers", "providers"},
	{CONTENT, "image", "promptCapabilities.image", "session.prompt.image"},
	{CONTENT, "audio", "promptCapabilities.audio", "session.prompt.audio"},
	{CONTENT, "resource", "promptCapabilities.embeddedContext", "session.prompt.embeddedContext"},
	{SERVER, "http", "mcpCapabilities.http", "session.mcp.http"},
	{SERVER, "sse", "mcpCapabilities.sse", NULL},
	{SERVER, "acp", "mcpCapabilities.acp", "session.mcp.acp"},
	{SERVER, "stdio", NULL, "session.mcp.stdio"},
	{MEMBER, "additionalDirectories", "sessionCapabilities.additionalDirectories", "session.additionalDirectories"},
	{MEMBER, "archived", "sessionCapabilities.archive", "session.archive"},
	{MEMBER, "systemPrompt", "sessionCapabilities.systemPrompt", "session.systemPrompt"},
	{PROMPT_MODE, "override", "sessionCapabilities.systemPrompt.mode.override", "session.systemPrompt.mode.override"},
	{CONTEXT, "recentFiles", "nes.context.recentFiles", "nes.context.recentFiles"},
	{CONTEXT, "relatedSnippets", "nes.context.relatedSnippets", "nes.context.relatedSnippets"},
	{CONTEXT, "editHistory", "nes.context.editHistory", "nes.context.editHistory"},
	{CONTEXT, "userActions", "nes.context.userActions", "nes.context.userActions"},
	{CONTEXT, "openFiles", "nes.context.openFiles", "nes.context.openFiles"},
	{CONTEXT, "diagnostics", "nes.context.diagnostics", "nes.context.diagnostics"},
	{TO_CLIENT, "fs/read_text_file", "fs.readTextFile", NULL},
	{TO_CLIENT, "fs/write_text_file", "fs.writeTextFile", NULL},
	{TO_CLIENT, "terminal/create", "terminal", NULL},
	{TO_CLIENT, "terminal/output", "terminal", NULL},
	{TO_CLIENT, "terminal/wait_for_exit", "terminal", NULL},
	{TO_CLIENT, "terminal/kill", "terminal", NULL},
	{TO_CLIENT, "terminal/release", "terminal", NULL},
	{TO_CLIENT, "elicitation/complete", "elicitation.url", "elicitation.url"},
	{TO_CLIENT, "notice", "session.notices", NULL},
	{TO_CLIENT, "compaction_update", "session.compaction", NULL},
	{TO_CLIENT, "compaction_summary_chunk", "session.compaction", NULL},
	{TO_CLIENT, "subagent_update", "subagents", NULL},
	{TO_CLIENT, "session_message", "subagents", NULL},
	{TO_CLIENT, "session_message_chunk", "subagents", NULL},
	{TO_CLIENT, "plan_update", "plan", NULL},
	{TO_CLIENT, "plan_removed", "plan", NULL},
	{ELICITATION, "form", "elicitation.form", "elicitation.form"},
	{ELICITATION, "url", "elicitation.url", "elicitation.url"},
	{SUGGESTION, "jump", "nes.jump", "nes.jump"},
	{SUGGESTION, "rename", "nes.rename", "nes.rename"},
	{SUGGESTION, "searchAndReplace", "nes.searchAndReplace", "nes.searchAndReplace"},
	{OPTION, "boolean", "session.configOptions.boolean", NULL},
	{LOGIN, "terminal", "auth.terminal", "auth.terminal"},
};

/* NULL: the name needs nothing. */
static const char *
needed_for(const struct check *c, enum named of, struct slice name)
{
	for (const struct need *n = needs; n < needs + sizeof(needs) / sizeof(*needs); n++)
		if (n->of == of && json_string_is(name, n->name))
			return c->c.version == 2 ? n->v2 : n->v1;
	return NULL;
}

const char *
check_capability_for(const struct check *c, enum covered_kind kind, enum acp_side from, struct slice name)
{
	/* The modes of an elicitation are checked one by one. */
	if (kind == COVERED_METHOD && json_string_is(name, "elicitation/create"))
		return "elicitation";
	if (kind == COVERED_METHOD || kind == COVERED_UPDATE)
		return needed_for(c, from == ACP_CLIENT ? TO_AGENT : TO_CLIENT, name);
	return kind == COVERED_CONTENT || kind == COVERED_SERVER ? needed_for(c, kind == COVERED_CONTENT ? CONTENT : SERVER, name) : NULL;
}

/* Looks a name up, and reports it where the side does not have what it needs. */
static void
check_need(struct check *c, enum named of, struct slice name, const char *path)
{
	enum acp_side side = of < TO_CLIENT ? ACP_AGENT : ACP_CLIENT;
	const char *needed;

	if (c->c.capabilities[side].n == 0 || json_type(name) != JSON_STRING)
		return;
	needed = needed_for(c, of, name);
	if (needed && !check_advertises(c, side, needed))
		check_find(c, RULE_CAPABILITY, path, needed, name);
}

/* A response "method not found": not to what the side has advertised or offered, or what all have. And "authentication required". */
static void
check_refusal(struct check *c, const struct message *s)
{
	static const char *const all_have[] = {"initialize", "session/new", "session/prompt", "session/request_permission", NULL};
	struct slice code = json_get(s->msg.error, "code"), method = message_method(s);
	const char *needed;

	if (slice_is(code, "-32000") && json_string_is(method, "auth/status"))
		check_find(c, RULE_AUTH_STATUS, "error.code", "the state of the authentication", code);
	if (!slice_is(code, "-32601") || !method.p || c->c.capabilities[s->from].n == 0)
		return;
	needed = needed_for(c, s->from == ACP_AGENT ? TO_AGENT : TO_CLIENT, method);
	if (needed ? check_advertises(c, s->from, needed) : json_string_in(method, all_have) || check_offered(c, s))
		check_find(c, RULE_METHOD_REFUSED, "error.code", needed ? needed : "support for this method", code);
}

/* A member of each object in a list: its type, or its kind. */
static void
check_items(struct check *c, enum named of, struct slice list, const char *member, const char *path)
{
	struct json_iter it = {.in = list};
	struct slice key, value;

	if (json_type(list) == JSON_ARRAY)
		while (json_next(&it, &key, &value))
			check_need(c, of, json_get(value, member), path);
}

/* The members of an object; null and an empty list are as none. */
static void
check_members(struct check *c, enum named of, struct slice object, const char *path)
{
	struct json_iter it = {.in = object}, items;
	struct slice key, value, item, none;
	char at[64];

	if (json_type(object) != JSON_OBJECT)
		return;
	while (json_next(&it, &key, &value)) {
		items = (struct json_iter){.in = value};
		if (json_type(value) == JSON_NULL || (json_type(value) == JSON_ARRAY && !json_next(&items, &none, &item)))
			continue;
		snprintf(at, sizeof(at), "%s.%.*s", path, (int)key.n - 2, key.p + 1);
		check_need(c, of, key, at);
	}
}

/* Text, and some of it. */
static void
check_system_prompt(struct check *c, struct slice prompt)
{
	struct slice content = json_get(prompt, acp_content), key, block;
	struct json_iter it = {.in = content};

	if (json_type(content) != JSON_ARRAY)
		return;
	if (json_is_empty(content))
		check_find(c, RULE_SYSTEM_PROMPT, "params.systemPrompt.content", "a block", content);
	while (json_next(&it, &key, &block)) {
		struct slice type = json_get_string(block, "type");

		if (type.p && !json_string_is(type, "text"))
			check_find(c, RULE_SYSTEM_PROMPT, "params.systemPrompt.content[].type", "\"text\"", type);
	}
}

/* An agent that wants whole texts cannot apply a change of a range. */
static void
check_changes(struct check *c, struct slice changes)
{
	struct slice kind = json_path(buf_slice(&c->c.capabilities[ACP_AGENT]), "nes.events.document.didChange.syncKind"), key, change;
	struct json_iter it = {.in = changes};

	if (json_type(kind) != JSON_STRING || !json_string_is(kind, "full") || json_type(changes) != JSON_ARRAY)
		return;
	while (json_next(&it, &key, &change))
		if (json_type(json_get(change, "range")) == JSON_OBJECT) {
			check_find(c, RULE_CAPABILITY, "params.contentChanges[].range", "no range: syncKind is full", json_get(change, "range"));
			return;
		}
}

void
check_capabilities(struct check *c, const struct message *s, struct slice kind, struct slice update)
{
	struct slice params = s->msg.params, result = s->msg.result;

	check_refusal(c, s);
	check_offers(c, s, kind, update);
	if (s->from == ACP_CLIENT) {
		check_need(c, TO_AGENT, s->msg.method, "method");
		if (s->msg.what == ACP_SESSION_PROMPT)
			check_items(c, CONTENT, json_get(params, acp_prompt), "type", "params.prompt[].type");
		if (acp_opens_session(s->msg.what)) {
			check_items(c, SERVER, json_get(params, acp_mcp_servers), "type", "params.mcpServers[].type");
			check_members(c, MEMBER, params, "params");
			check_need(c, PROMPT_MODE, json_path(params, "systemPrompt.mode"), "params.systemPrompt.mode");
			check_system_prompt(c, json_get(params, "systemPrompt"));
		}
		if (json_string_is(s->msg.method, "nes/suggest"))
			check_members(c, CONTEXT, json_get(params, "context"), "params.context");
		else if (json_string_is(s->msg.method, "session/list"))
			check_members(c, MEMBER, params, "params");
		else if (json_string_is(s->msg.method, "document/didChange"))
			check_changes(c, json_get(params, "contentChanges"));
	} else if (s->from == ACP_AGENT) {
		check_items(c, OPTION, json_get(update, "configOptions"), "type", "params.update.configOptions[].type");
		check_items(c, OPTION, json_get(result, "configOptions"), "type", "result.configOptions[].type");
		check_items(c, LOGIN, json_get(result, "authMethods"), "type", "result.authMethods[].type");
		check_items(c, SUGGESTION, json_get(result, "suggestions"), "kind", "result.suggestions[].kind");
		if (s->msg.what == ACP_ELICITATION_CREATE)
			check_need(c, ELICITATION, json_get(params, "mode"), "params.mode");
		if (s->msg.what == ACP_SESSION_UPDATE)
			check_need(c, TO_CLIENT, kind, "params.update.sessionUpdate");
		else
			check_need(c, TO_CLIENT, s->msg.method, "method");
	}
}
