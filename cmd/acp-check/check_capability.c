/* Checks methods and content that may only be sent to a side which has advertised a capability for them. */
#include <stdio.h>

#include "cmd/acp-check/check.h"

/* The kinds of names. From TO_CLIENT on the client needs the capability, else the agent. CONTEXT: parts of a nes/suggest. */
enum named { TO_AGENT, CONTENT, SERVER, MEMBER, PROMPT_MODE, CONTEXT, TO_CLIENT, ELICITATION, SUGGESTION, OPTION, LOGIN };

/* The path of the capability that the other side needs for these names, in each version; NULL: it needs none. */
static const struct need {
	enum named of;
	const char *v1, *v2;
	const char *names[6]; /* NULL at the end */
} needs[] = {
	{TO_AGENT, "loadSession", NULL, {"session/load"}},
	{TO_AGENT, NULL, "session", {"session/new", "session/prompt"}},
	{TO_AGENT, "sessionCapabilities.list", "session", {"session/list"}},
	{TO_AGENT, "sessionCapabilities.resume", "session", {"session/resume"}},
	{TO_AGENT, "sessionCapabilities.close", "session", {"session/close"}},
	{TO_AGENT, "sessionCapabilities.fork", "session.fork", {"session/fork"}},
	{TO_AGENT, "sessionCapabilities.delete", "session.delete", {"session/delete"}},
	{TO_AGENT, "sessionCapabilities.archive", "session.archive", {"session/archive", "session/unarchive"}},
	{TO_AGENT, "sessionCapabilities.status", "session.status", {"session/status"}},
	{TO_AGENT, "sessionCapabilities.title", "session.title", {"session/set_title"}},
	{TO_AGENT, "auth.logout", NULL, {"logout"}},
	{TO_AGENT, "auth.status", "auth.status", {"auth/status"}},
	{TO_AGENT, "nes", "nes", {"nes/start", "nes/suggest", "nes/accept", "nes/reject", "nes/close"}},
	{TO_AGENT, "nes.events.document.didOpen", "nes.events.document.didOpen", {"document/didOpen"}},
	{TO_AGENT, "nes.events.document.didChange", "nes.events.document.didChange", {"document/didChange"}},
	{TO_AGENT, "nes.events.document.didClose", "nes.events.document.didClose", {"document/didClose"}},
	{TO_AGENT, "nes.events.document.didSave", "nes.events.document.didSave", {"document/didSave"}},
	{TO_AGENT, "nes.events.document.didFocus", "nes.events.document.didFocus", {"document/didFocus"}},
	{TO_AGENT, "providers", "providers", {"providers/list", "providers/set", "providers/disable"}},
	{CONTENT, "promptCapabilities.image", "session.prompt.image", {"image"}},
	{CONTENT, "promptCapabilities.audio", "session.prompt.audio", {"audio"}},
	{CONTENT, "promptCapabilities.embeddedContext", "session.prompt.embeddedContext", {"resource"}},
	{SERVER, "mcpCapabilities.http", "session.mcp.http", {"http"}},
	{SERVER, "mcpCapabilities.sse", NULL, {"sse"}},
	{SERVER, "mcpCapabilities.acp", "session.mcp.acp", {"acp"}},
	{SERVER, NULL, "session.mcp.stdio", {"stdio"}},
	{MEMBER, "sessionCapabilities.additionalDirectories", "session.additionalDirectories", {"additionalDirectories"}},
	{MEMBER, "sessionCapabilities.archive", "session.archive", {"archived"}},
	{MEMBER, "sessionCapabilities.systemPrompt", "session.systemPrompt", {"systemPrompt"}},
	{PROMPT_MODE, "sessionCapabilities.systemPrompt.mode.override", "session.systemPrompt.mode.override", {"override"}},
	{CONTEXT, "nes.context.recentFiles", "nes.context.recentFiles", {"recentFiles"}},
	{CONTEXT, "nes.context.relatedSnippets", "nes.context.relatedSnippets", {"relatedSnippets"}},
	{CONTEXT, "nes.context.editHistory", "nes.context.editHistory", {"editHistory"}},
	{CONTEXT, "nes.context.userActions", "nes.context.userActions", {"userActions"}},
	{CONTEXT, "nes.context.openFiles", "nes.context.openFiles", {"openFiles"}},
	{CONTEXT, "nes.context.diagnostics", "nes.context.diagnostics", {"diagnostics"}},
	{TO_CLIENT, "fs.readTextFile", NULL, {"fs/read_text_file"}},
	{TO_CLIENT, "fs.writeTextFile", NULL, {"fs/write_text_file"}},
	{TO_CLIENT, "terminal", NULL, {"terminal/create", "terminal/output", "terminal/wait_for_exit", "terminal/kill",
		"terminal/release"}},
	{TO_CLIENT, "elicitation.url", "elicitation.url", {"elicitation/complete"}},
	{TO_CLIENT, "session.notices", NULL, {"notice"}},
	{TO_CLIENT, "session.compaction", NULL, {"compaction_update", "compaction_summary_chunk"}},
	{TO_CLIENT, "subagents", NULL, {"subagent_update", "session_message", "session_message_chunk"}},
	{TO_CLIENT, "plan", NULL, {"plan_update", "plan_removed"}},
	{ELICITATION, "elicitation.form", "elicitation.form", {"form"}},
	{ELICITATION, "elicitation.url", "elicitation.url", {"url"}},
	{SUGGESTION, "nes.jump", "nes.jump", {"jump"}},
	{SUGGESTION, "nes.rename", "nes.rename", {"rename"}},
	{SUGGESTION, "nes.searchAndReplace", "nes.searchAndReplace", {"searchAndReplace"}},
	{OPTION, "session.configOptions.boolean", NULL, {"boolean"}},
	{LOGIN, "auth.terminal", "auth.terminal", {"terminal"}},
};

/* Returns the capability that a name needs; NULL: none. */
static const char *
needed_for(const struct check *c, enum named of, struct slice name)
{
	for (const struct need *n = needs; n < needs + sizeof(needs) / sizeof(*needs); n++)
		if (n->of == of && json_string_in(name, n->names))
			return c->conn.version == 2 ? n->v2 : n->v1;
	return NULL;
}

const char *
check_capability_for(const struct check *c, enum covered_kind kind, enum acp_side from, struct slice name)
{
	/* Either mode of elicitations permits the method; the mode of each request is checked as ELICITATION. */
	if (kind == COVERED_METHOD && json_string_is(name, "elicitation/create"))
		return "elicitation";
	if (kind == COVERED_METHOD || kind == COVERED_UPDATE)
		return needed_for(c, from == ACP_CLIENT ? TO_AGENT : TO_CLIENT, name);
	return kind == COVERED_CONTENT || kind == COVERED_SERVER ? needed_for(c, kind == COVERED_CONTENT ? CONTENT : SERVER, name) : NULL;
}

/* Reports a name if the side has advertised its capabilities without the one that the name needs. */
static void
check_need(struct check *c, enum named of, struct slice name, const char *path)
{
	enum acp_side side = of < TO_CLIENT ? ACP_AGENT : ACP_CLIENT;
	const char *needed;

	if (c->conn.capabilities[side].n == 0 || json_type(name) != JSON_STRING)
		return;
	needed = needed_for(c, of, name);
	if (needed && !check_advertises(c, side, needed))
		check_report(c, RULE_CAPABILITY, path, needed, name);
}

/* Checks that a side refuses no method that it has advertised or offered, or that all have; nor auth/status for want of a login. */
static void
check_refusal(struct check *c, const struct message *s)
{
	static const char *const all_have[] = {"initialize", "session/new", "session/prompt", "session/request_permission", NULL};
	struct slice code = json_get(s->msg.error, "code"), method = message_method(s);
	const char *needed;

	if (slice_is(code, "-32000") && json_string_is(method, "auth/status"))
		check_report(c, RULE_AUTH_STATUS, "error.code", "the state of the authentication", code);
	if (!slice_is(code, "-32601") || !method.p || c->conn.capabilities[s->from].n == 0)
		return;
	needed = needed_for(c, s->from == ACP_AGENT ? TO_AGENT : TO_CLIENT, method);
	if (needed ? check_advertises(c, s->from, needed) : json_string_in(method, all_have) || check_offered(c, s))
		check_report(c, RULE_METHOD_REFUSED, "error.code", needed ? needed : "support for this method", code);
}

/* Checks a member, such as the type, of each object in a list. */
static void
check_items(struct check *c, enum named of, struct slice list, const char *member, const char *path)
{
	struct json_iter it = {.in = list};
	struct slice value;

	while (json_item(&it, &value))
		check_need(c, of, json_get(value, member), path);
}

/* Checks the names of an object's members, except of those that are null or an empty list, which mean nothing. */
static void
check_members(struct check *c, enum named of, struct slice object, const char *path)
{
	struct json_iter it = {.in = object};
	struct slice key, value;
	char at[64];

	while (json_type(object) == JSON_OBJECT && json_next(&it, &key, &value)) {
		if (json_type(value) == JSON_NULL || (json_type(value) == JSON_ARRAY && json_is_empty(value)))
			continue;
		snprintf(at, sizeof(at), "%s.%.*s", path, (int)key.n - 2, key.p + 1);
		check_need(c, of, key, at);
	}
}

/* Checks that a system prompt has content, and nothing but text. */
static void
check_system_prompt(struct check *c, struct slice prompt)
{
	struct slice content = json_get(prompt, acp_content), block;
	struct json_iter it = {.in = content};

	if (json_type(content) == JSON_ARRAY && json_is_empty(content))
		check_report(c, RULE_SYSTEM_PROMPT, "params.systemPrompt.content", "a block", content);
	while (json_item(&it, &block)) {
		struct slice type = json_get_string(block, "type");

		if (type.p && !json_string_is(type, "text"))
			check_report(c, RULE_SYSTEM_PROMPT, "params.systemPrompt.content[].type", "\"text\"", type);
	}
}

/* Checks that an agent which wants whole texts (syncKind full) gets no changes of a range. */
static void
check_changes(struct check *c, struct slice changes)
{
	struct slice kind = json_path(buf_slice(&c->conn.capabilities[ACP_AGENT]), "nes.events.document.didChange.syncKind");
	struct json_iter it = {.in = changes};
	struct slice change;

	while (json_string_is(kind, "full") && json_item(&it, &change))
		if (json_type(json_get(change, "range")) == JSON_OBJECT) {
			check_report(c, RULE_CAPABILITY, "params.contentChanges[].range", "no range: syncKind is full", json_get(change, "range"));
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
