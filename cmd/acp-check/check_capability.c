/* What may only be sent to a side that has advertised it. */
#include "cmd/acp-check/check.h"

/* A method or a kind of update, and where the capability is that the other side needs; NULL: every peer has it. */
struct need {
	const char *name;
	const char *v1, *v2;
};

static const struct need of_agents[] = {
	{"session/load", "loadSession", NULL},
	{"session/list", "sessionCapabilities.list", NULL},
	{"session/resume", "sessionCapabilities.resume", NULL},
	{"session/close", "sessionCapabilities.close", NULL},
	{"session/fork", "sessionCapabilities.fork", "session.fork"},
	{"session/delete", "sessionCapabilities.delete", "session.delete"},
	{"session/archive", "sessionCapabilities.archive", "session.archive"},
	{"session/unarchive", "sessionCapabilities.archive", "session.archive"},
	{"session/status", "sessionCapabilities.status", "session.status"},
	{"session/set_title", "sessionCapabilities.title", "session.title"},
	{"logout", "auth.logout", NULL},
	{"auth/status", "auth.status", "auth.status"},
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
	{"elicitation/create", "elicitation", "elicitation"},
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

/* Looks a name up, and reports it where the side does not have what it needs. */
static void
check_need(struct check *c, const struct need *n, enum acp_side side, struct slice name, const char *path)
{
	const struct buf *capabilities = &c->c.capabilities[side];
	const char *needed;
	enum json_type type;

	if (capabilities->n == 0 || json_type(name) != JSON_STRING)
		return;
	while (n->name && !json_string_is(name, n->name))
		n++;
	needed = !n->name ? NULL : c->c.version == 2 ? n->v2 : n->v1;
	if (!needed)
		return;
	type = json_type(json_path(buf_slice(capabilities), needed));
	if (type != JSON_TRUE && type != JSON_OBJECT)
		check_find(c, RULE_CAPABILITY, path, needed, name);
}

/* The types of the objects in a list. */
static void
check_types(struct check *c, const struct need *needs, struct slice list, const char *path)
{
	struct json_iter it = {.in = list};
	struct slice key, value;

	if (json_type(list) == JSON_ARRAY)
		while (json_next(&it, &key, &value))
			check_need(c, needs, ACP_AGENT, json_get(value, "type"), path);
}

void
check_capabilities(struct check *c, const struct message *s)
{
	if (s->from == ACP_CLIENT) {
		check_need(c, of_agents, ACP_AGENT, s->msg.method, "method");
		if (s->msg.what == ACP_SESSION_PROMPT)
			check_types(c, content, json_get(s->msg.params, acp_prompt), "params.prompt[].type");
		if (acp_opens_session(s->msg.what))
			check_types(c, servers, json_get(s->msg.params, acp_mcp_servers), "params.mcpServers[].type");
	} else if (s->from == ACP_AGENT) {
		if (s->msg.what == ACP_SESSION_UPDATE)
			check_need(c, of_clients, ACP_CLIENT, json_get(c->update, acp_update_kind), "params.update.sessionUpdate");
		else
			check_need(c, of_clients, ACP_CLIENT, s->msg.method, "method");
	}
}
