/* names: names of MCP that are used here, and functions to get members. */
#ifndef MCP_NAMES_H
#define MCP_NAMES_H

#include "lib/json/json.h"

/* Members and methods. */
static const char mcp_method[] = "method";
static const char mcp_params[] = "params";
static const char mcp_result[] = "result";
static const char mcp_error[] = "error";
static const char mcp_meta[] = "_meta";
static const char mcp_capabilities[] = "capabilities";
static const char mcp_client_info[] = "clientInfo";
static const char mcp_server_info[] = "serverInfo";
static const char mcp_instructions[] = "instructions";
static const char mcp_request_id[] = "requestId";
static const char mcp_initialize[] = "initialize";
static const char mcp_ping[] = "ping";
static const char mcp_discover[] = "server/discover";
static const char mcp_listen[] = "subscriptions/listen";
static const char mcp_acknowledged[] = "notifications/subscriptions/acknowledged";
static const char mcp_initialized[] = "notifications/initialized";
static const char mcp_subscribe[] = "resources/subscribe";
static const char mcp_unsubscribe[] = "resources/unsubscribe";
static const char mcp_uri[] = "uri";
static const char mcp_filter[] = "notifications";       /* of subscriptions/listen */
static const char mcp_uris[] = "resourceSubscriptions"; /* in it */
static const char mcp_cancelled[] = "notifications/cancelled";

/* Keys in the _meta of 2026-07-28, where there is no handshake; and the last version with one. */
static const char mcp_key_version[] = "io.modelcontextprotocol/protocolVersion";
static const char mcp_key_capabilities[] = "io.modelcontextprotocol/clientCapabilities";
static const char mcp_key_client[] = "io.modelcontextprotocol/clientInfo";
static const char mcp_key_level[] = "io.modelcontextprotocol/logLevel";
static const char mcp_key_server[] = "io.modelcontextprotocol/serverInfo";
static const char mcp_key_subscription[] = "io.modelcontextprotocol/subscriptionId";
static const char mcp_newest[] = "2026-07-28";
static const char mcp_handshake[] = "\"2025-11-25\""; /* a JSON string */

/* Returns a member that is an object. p NULL: there is none. */
static inline struct slice
mcp_object(struct slice object, const char *member)
{
	struct slice v = json_get(object, member);

	return json_type(v) == JSON_OBJECT ? v : slice(NULL, 0);
}

/* MCP over ACP. */
enum { MCP_ERR_LIMIT = -33000, MCP_ERR_UNAVAILABLE = -33001, MCP_ERR_BACKEND = -33002 };

#endif
