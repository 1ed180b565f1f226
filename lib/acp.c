#include "lib/acp.h"

#include "lib/json.h"

const char acp_session_id[] = "sessionId";
const char acp_update[] = "update";
const char acp_update_kind[] = "sessionUpdate";
const char acp_request_id[] = "requestId";
const char acp_stop_reason[] = "stopReason";
const char acp_protocol_version[] = "protocolVersion";
const char acp_mcp_servers[] = "mcpServers";
const char acp_connection_id[] = "connectionId";
const char acp_acp_id[] = "acpId";
const char acp_server_id[] = "serverId";

struct method {
	const char *name;
	enum acp_method what;
	enum acp_side sender;
	bool notification;
};

/*
 * Section 2, v1 and v2, stable and not. A prefix ends in '/': it stands for what begins so. The
 * most frequent come first.
 */
static const struct method methods[] = {
	{"session/update", ACP_SESSION_UPDATE, ACP_AGENT, true},
	{"session/prompt", ACP_SESSION_PROMPT, ACP_CLIENT, false},
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
	{"session/close", ACP_OTHER, ACP_CLIENT, false},
	{"session/delete", ACP_OTHER, ACP_CLIENT, false},
	{"session/set_mode", ACP_OTHER, ACP_CLIENT, false},
	{"session/set_model", ACP_OTHER, ACP_CLIENT, false},
	{"session/set_config_option", ACP_OTHER, ACP_CLIENT, false},
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
	{"elicitation/", ACP_OTHER, ACP_AGENT, false},
	{"mcp/connect", ACP_MCP_CONNECT, ACP_AGENT, false},
	{"mcp/message", ACP_MCP_MESSAGE, ACP_UNKNOWN, false},
	{"mcp/disconnect", ACP_MCP_DISCONNECT, ACP_AGENT, false},
	{"$/cancel_request", ACP_CANCEL_REQUEST, ACP_UNKNOWN, true},
	{"proxy/initialize", ACP_PROXY_INITIALIZE, ACP_CLIENT, false},
	{"proxy/successor", ACP_PROXY_SUCCESSOR, ACP_UNKNOWN, false},
	{"_proxy/initialize", ACP_PROXY_INITIALIZE, ACP_CLIENT, false},
	{"_proxy/successor", ACP_PROXY_SUCCESSOR, ACP_UNKNOWN, false},
};

static const struct method other = {"", ACP_OTHER, ACP_UNKNOWN, false};

static bool
is(const struct method *m, struct slice name)
{
	size_t n = strlen(m->name);

	if (m->name[n - 1] == '/')
		return name.n > n && memcmp(m->name, name.p, n) == 0;
	return name.n == n && memcmp(m->name, name.p, n) == 0;
}

static const struct method *
find(struct slice plain)
{
	size_t i;

	for (i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		if (is(&methods[i], plain))
			return &methods[i];
	return &other;
}

/* Nearly no method is ever escaped; the names that we know are short, so a long one is none of them. */
static const struct method *
find_string(struct slice name)
{
	const struct method *m = &other;
	struct buf plain = {0};

	if (name.n < 2 || name.p[0] != '"')
		return m;
	if (!memchr(name.p, '\\', name.n))
		return find(slice(name.p + 1, name.n - 2));
	if (json_unescape(name, &plain) == 0)
		m = find(buf_slice(&plain));
	buf_free(&plain);
	return m;
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
	size_t i;

	for (i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
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
