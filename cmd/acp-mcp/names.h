/* names: how MCP spells what is looked at here. */
#ifndef MCP_NAMES_H
#define MCP_NAMES_H

/* Members and methods; the prefix of the keys in 2026-07-28's _meta; versions. */
static const char mcp_prefix[] = "io.modelcontextprotocol/";
static const char mcp_method[] = "method";
static const char mcp_params[] = "params";
static const char mcp_meta[] = "_meta";
static const char mcp_request_id[] = "requestId";
static const char mcp_initialize[] = "initialize";
static const char mcp_ping[] = "ping";
static const char mcp_discover[] = "server/discover";
static const char mcp_cancelled[] = "notifications/cancelled";
static const char mcp_newest[] = "2026-07-28";
static const char mcp_handshake[] = "2025-11-25"; /* the last version with a handshake */

/* MCP over ACP (PROTOCOL, section 1). */
enum { MCP_ERR_UNAVAILABLE = -33001, MCP_ERR_BACKEND = -33002 };

#endif
