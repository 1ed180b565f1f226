/* What may only be sent to a side that has advertised it. */
#include "cmd/acp-check/check.h"

/* A method or a kind of update, and where the capability is that the other side needs; NULL: every peer has it. */
struct need {
	const char *name;
	const char *v1, *v2;
};

static const struct need of_agents[] = {
	{"session/load", "loadSession", NULL},
	{"session/new", NULL, "session"},
	{"session/prompt", NULL, "session"},
	{"session/list", "sessionCapabilities.list", "session"},
	{"session/resume", "sessionCapabilities.resume", "session"},
	{"session/close", "sessionCapabilities.close", "session"},
	{"session/fork", "sessionCapabilities.fork", "session.fork"},
	{"session/delete", "sessionCapabilities.delete", "session.delete"},
	{"session/archive", "sessionCapabilities.archive", "session.archive"},
	{"session/unarchive", "sessionCapabilities.archive", "session.archive"},
	{"session/status", "sessionCapabilities.status", "session.status"},
	{"session/set_title", "sessionCapabilities.title", "session.title"},
	{"logout", "auth.logout", NULL},
	{"auth/status", "auth.status", "auth.status"},
	{"nes/start", "nes", "nes"},
	{"nes/suggest", "nes", "nes"},
	{"nes/accept", "nes", "nes"},
	{"nes/reject", "nes", "nes"},
	{"nes/close", "nes", "nes"},
	{"document/didOpen", "nes.events.document.didOpen", "nes.events.document.didOpen"},
	{"document/didChange", "nes.events.document.didChange", "nes.events.document.didChange"},
	{"document/didClose", "nes.events.document.didClose", "nes.events.document.didClose"},
	{"document/didSave", "nes.events.document.didSave", "nes.events.document.didSave"},
	{"document/didFocus", "nes.events.document.didFocus", "nes.events.document.didFocus"},
	{"providers/list", "providers", "providers"},
	{"providers/set", "providers", "providers"},
	{"providers/disable", "providers", "providers"},
	{NULL, NULL, NULL},
};

static const struct need of_clients[] = {
	{"fs/read_text_file", "fs.readTextFile", NULL},
	{"fs/write_text_file", "fs.writeTextFile", NULL},
	{"terminal/create", "terminal", NULL},
	{"terminal/output", "terminal", NULL},
	{"terminal/wait_for_exit", "terminal", NULL},
	{"terminal/kill", "terminal", NULL},
	{"terminal/release", "terminal", NULL},
	{"elicitation/complete", "elicitation.url", "elicitation.url"},
	{"notice", "session.notices", NULL},
	{"compaction_update", "session.compaction", NULL},
	{"compaction_summary_chunk", "session.compaction", NULL},
	{"subagent_update", "subagents", NULL},
	{"session_message", "subagents", NULL},
	{"session_message_chunk", "subagents", NULL},
	{"plan_update", "plan", NULL},
	{"plan_removed", "plan", NULL},
	{NULL, NULL, NULL},
};

static const struct need content[] = {
	{"image", "promptCapabilities.image", "session.prompt.image"},
	{"audio", "promptCapabilities.audio", "session.prompt.audio"},
	{"resource", "promptCapabilities.embeddedContext", "session.prompt.embeddedContext"},
	{NULL, NULL, NULL},
};

static const struct need servers[] = {
	{"http", "mcpCapabilities.http", "session.mcp.http"},
	{"sse", "mcpCapabilities.sse", NULL},
	{"acp", "mcpCapabilities.acp", "session.mcp.acp"},
	{"stdio", NULL, "session.mcp.stdio"},
	{NULL, NULL, NULL},
};

static const struct need modes[] = {
	{"form", "elicitation.form", "elicitation.form"},
	{"url", "elicitation.url", "elicitation.url"},
	{NULL, NULL, NULL},
};

static const struct need members[] = {
	{"additionalDirectories", "sessionCapabilities.additionalDirectories", "session.additionalDirectories"},
	{"systemPrompt", "sessionCapabilities.systemPrompt", "session.systemPrompt"},
	{NULL, NULL, NULL},
};

static const struct need options[] = {
	{"boolean", "session.configOptions.boolean", NULL},
	{NULL, NULL, NULL},
};

static const struct need logins[] = {
	{"terminal", "auth.terminal", "auth.terminal"},
	{NULL, NULL, NULL},
};

/* The capability that the version has for this name; NULL: none is needed. */
static const char *
needed_for(const struct check *c, const struct need *n, struct slice name)
{
	while (n->name && !json_string_is(name, n->name))
		n++;
	return !n->name ? NULL : c->c.version == 2 ? n->v2 : n->v1;
}

bool
check_advertises(const struct check *c, enum acp_side side, const char *capability)
{
	enum json_type type = json_type(json_path(buf_slice(&c->c.capabilities[side]), capability));

	return type == JSON_TRUE || type == JSON_OBJECT;
}

const char *
check_capability_for(const struct check *c, enum covered_kind kind, enum acp_side from, struct slice name)
{
	static const struct need *const needs[COVERED_KINDS] = {
		[COVERED_UPDATE] = of_clients, [COVERED_CONTENT] = content, [COVERED_SERVER] = servers};
	const struct need *n = kind == COVERED_METHOD ? from == ACP_CLIENT ? of_agents : of_clients : needs[kind];

	/* The modes of an elicitation are checked one by one. */
	if (kind == COVERED_METHOD && json_string_is(name, "elicitation/create"))
		return "elicitation";
	return n ? needed_for(c, n, name) : NULL;
}

/* Looks a name up, and reports it where the side does not have what it needs. */
static void
check_need(struct check *c, const struct need *n, enum acp_side side, struct slice name, const char *path)
{
	const char *needed;

	if (c->c.capabilities[side].n == 0 || json_type(name) != JSON_STRING)
		return;
	needed = needed_for(c, n, name);
	if (needed && !check_advertises(c, side, needed))
		check_find(c, RULE_CAPABILITY, path, needed, name);
}

/* A response "method not found": not to what the side has advertised, or what all have. */
static void
check_refusal(struct check *c, const struct message *s)
{
	static const char *const all_have[] = {"initialize", "session/new", "session/prompt", "session/request_permission", NULL};
	struct slice code = json_get(s->msg.error, "code"), method = message_method(s);
	const char *needed;

	if (!slice_is(code, "-32601") || !method.p || c->c.capabilities[s->from].n == 0)
		return;
	needed = needed_for(c, s->from == ACP_AGENT ? of_agents : of_clients, method);
	if (needed ? check_advertises(c, s->from, needed) : json_string_in(method, all_have))
		check_find(c, RULE_METHOD_REFUSED, "error.code", needed ? needed : "support for this method", code);
}

/* The types of the objects in a list. */
static void
check_types(struct check *c, const struct need *needs, enum acp_side side, struct slice list, const char *path)
{
	struct json_iter it = {.in = list};
	struct slice key, value;

	if (json_type(list) == JSON_ARRAY)
		while (json_next(&it, &key, &value))
			check_need(c, needs, side, json_get(value, "type"), path);
}

/* What opens a session, or what an agent says of one. */
static void
check_opening(struct check *c, const struct message *s)
{
	struct slice more = json_get(s->msg.params, "additionalDirectories"), prompt = json_get(s->msg.params, "systemPrompt");

	check_types(c, servers, ACP_AGENT, json_get(s->msg.params, acp_mcp_servers), "params.mcpServers[].type");
	if (json_type(more) == JSON_ARRAY && more.n > 2)
		check_need(c, members, ACP_AGENT, slice_of("\"additionalDirectories\""), "params.additionalDirectories");
	if (json_type(prompt) != JSON_NONE && json_type(prompt) != JSON_NULL)
		check_need(c, members, ACP_AGENT, slice_of("\"systemPrompt\""), "params.systemPrompt");
}

void
check_capabilities(struct check *c, const struct message *s, struct slice kind, struct slice update)
{
	check_refusal(c, s);
	if (s->from == ACP_CLIENT) {
		check_need(c, of_agents, ACP_AGENT, s->msg.method, "method");
		if (s->msg.what == ACP_SESSION_PROMPT)
			check_types(c, content, ACP_AGENT, json_get(s->msg.params, acp_prompt), "params.prompt[].type");
		if (acp_opens_session(s->msg.what))
			check_opening(c, s);
	} else if (s->from == ACP_AGENT) {
		check_types(c, options, ACP_CLIENT, json_get(update, "configOptions"), "params.update.configOptions[].type");
		check_types(c, options, ACP_CLIENT, json_get(s->msg.result, "configOptions"), "result.configOptions[].type");
		check_types(c, logins, ACP_CLIENT, json_get(s->msg.result, "authMethods"), "result.authMethods[].type");
		if (s->msg.what == ACP_ELICITATION_CREATE)
			check_need(c, modes, ACP_CLIENT, json_get(s->msg.params, "mode"), "params.mode");
		if (s->msg.what == ACP_SESSION_UPDATE)
			check_need(c, of_clients, ACP_CLIENT, kind, "params.update.sessionUpdate");
		else
			check_need(c, of_clients, ACP_CLIENT, s->msg.method, "method");
	}
}
