/* acp: the names of the protocol's methods and members, in each dialect. Other files do not spell them. */
#ifndef ACP_H
#define ACP_H

#include "lib/base/bytes.h"

/* The sender of a message. */
enum acp_side { ACP_UNKNOWN, ACP_CLIENT, ACP_AGENT };

/* The two directions: client to agent, agent to client. */
enum acp_direction { ACP_DOWN, ACP_UP, ACP_DIRECTIONS };

/* The other direction. */
static inline enum acp_direction
acp_back(enum acp_direction dir)
{
	return dir == ACP_DOWN ? ACP_UP : ACP_DOWN;
}

/* The methods that a tool handles in a special way; all others are ACP_OTHER. */
enum acp_method {
	ACP_OTHER,
	ACP_INITIALIZE,
	ACP_SESSION_NEW,
	ACP_SESSION_LOAD,
	ACP_SESSION_RESUME,
	ACP_SESSION_FORK,
	ACP_SESSION_CLOSE,
	ACP_SESSION_DELETE,
	ACP_SESSION_SET_MODE,
	ACP_SESSION_SET_CONFIG,
	ACP_SESSION_PROMPT,
	ACP_SESSION_CANCEL,
	ACP_SESSION_UPDATE,
	ACP_REQUEST_PERMISSION,
	ACP_ELICITATION_CREATE,
	ACP_CANCEL_REQUEST,
	ACP_PROXY_INITIALIZE,
	ACP_PROXY_SUCCESSOR,
	ACP_MCP_CONNECT,
	ACP_MCP_MESSAGE,
	ACP_MCP_DISCONNECT,
	ACP_RESTARTED, /* an extension: the agent has been restarted (acp-filters(7)) */
	ACP_NES_START,
	ACP_NES_CLOSE,
};

/* The two spellings of the proxy-chain methods: proxy/successor and _proxy/successor. */
enum acp_dialect { ACP_PLAIN, ACP_UNDERSCORE };

/* Members of params, results and updates, as paths for json_path. */
static const char acp_session_id[] = "sessionId";
static const char acp_update[] = "update";
static const char acp_update_kind[] = "sessionUpdate";  /* in an update */
static const char acp_prompt[] = "prompt";              /* the content of session/prompt, an array of blocks */
static const char acp_content[] = "content";            /* of a chunk: a block (v2's whole messages: an array) */
static const char acp_commands[] = "availableCommands"; /* of an update */
static const char acp_request_id[] = "requestId";       /* of $/cancel_request */
static const char acp_stop_reason[] = "stopReason";
static const char acp_protocol_version[] = "protocolVersion";
static const char acp_connection_id[] = "connectionId"; /* of mcp/connect's response and mcp/message */
static const char acp_acp_id[] = "acpId";               /* of mcp/connect */
static const char acp_server_id[] = "serverId";         /* of mcp/connect, mcp/message and declarations */
static const char acp_update_state[] = "update.state";  /* in the params of a session/update (v2) */
static const char acp_state[] = "state";                /* in an update */

/* Members of permission requests, their responses, and MCP servers. */
static const char acp_options[] = "options";            /* of a permission request */
static const char acp_option_kind[] = "kind";           /* of an option */
static const char acp_option_id[] = "optionId";         /* of an option */
static const char acp_mcp_servers[] = "mcpServers";     /* of a request that opens a session */
static const char acp_server_name[] = "name";           /* of a server */

/* Values: a kind of update, a state, and a stop reason. */
static const char acp_state_update[] = "state_update";
static const char acp_idle[] = "idle";
static const char acp_cancelled[] = "cancelled";

/* The thing that an id names. */
enum acp_id {
	ACP_ID_NONE,
	ACP_ID_SESSION,
	ACP_ID_TOOL_CALL,
	ACP_ID_TERMINAL,
	ACP_ID_MESSAGE,
	ACP_ID_ELICITATION,
	ACP_ID_PLAN,
	ACP_ID_REQUEST,     /* a JSON-RPC id, in the params of another message */
	ACP_ID_CONNECTION,  /* these three: of MCP over ACP */
	ACP_ID_SERVER,
	ACP_ID_MCP_REQUEST,
	ACP_IDS,
};

/* The meaning of a member, for comparing messages. */
struct acp_member {
	const char *name;
	enum acp_id id; /* its value is an id of this kind */
	bool cwd;       /* its value is a session's folder, or a list of them */
	bool kind;      /* its value names a kind, as a method does */
	bool metadata;  /* it is no part of the conversation: _meta, the client's name and capabilities, times, costs */
	bool opaque;    /* the protocol does not define its contents, for example a tool's input */
};

/*
 * The meaning of a member with this name (a JSON string with its quotes) in a message of this method, or in the response to it, outside of
 * opaque values. Never NULL.
 */
const struct acp_member *acp_member(struct slice name, enum acp_method, bool response);
/* Is an id of this kind unique only within its session? */
bool acp_id_of_session(enum acp_id);

/* A chunk of a streamed message. The slices are JSON text. */
struct acp_chunk {
	struct slice kind;    /* for example "agent_message_chunk" */
	struct slice message; /* the message's id, or p NULL */
	struct slice text;    /* a string */
};

/* Are these params of a session/update a chunk of text? Then fills in the chunk. */
bool acp_chunk(struct slice params, struct acp_chunk *);
/* The first text in the params of a session/prompt: a JSON string; or p NULL. */
struct slice acp_prompt_text(struct slice params);

/* Errors of JSON-RPC and of ACP. */
enum {
	ACP_ERR_PARSE = -32700,
	ACP_ERR_INVALID_REQUEST = -32600,
	ACP_ERR_METHOD = -32601,
	ACP_ERR_PARAMS = -32602,
	ACP_ERR_INTERNAL = -32603,
	ACP_ERR_CANCELLED = -32800,
	ACP_ERR_NOT_FOUND = -32002,
};

/* The method of this name, a JSON string with its quotes, with or without escapes. */
enum acp_method acp_method(struct slice name);
/* The dialect in which a proxy-chain method is spelled. */
enum acp_dialect acp_dialect(struct slice name);
/* The plain name of a method. The dialect matters for the two proxy-chain methods only. */
const char *acp_name(enum acp_method, enum acp_dialect);
/*
 * The side that sends a method, by section 2; ACP_UNKNOWN if both may send it, or if it is not listed. name: a JSON string with its quotes.
 */
enum acp_side acp_sender(struct slice name);
/* Is the method of this plain name a notification of ACP? */
bool acp_is_notification(const char *name);
/* Does this request open a session (new, load, resume, fork) in a directory that it names? */
bool acp_opens_session(enum acp_method);
/* The kind of a session/update with these params: a JSON string; or p NULL. Reads only to the kind, usually the update's first member. */
struct slice acp_kind_of_update(struct slice params);
/*
 * The parts of a session that last, and that its last update sets: usage, mode, configuration, title, state (version 2). Beyond ACP_PARTS:
 * the parts of which a session may have several, tool calls and sub-agents.
 */
enum acp_part { ACP_PART_USAGE, ACP_PART_MODE, ACP_PART_CONFIG, ACP_PART_INFO, ACP_PART_STATE, ACP_PARTS, ACP_PART_CALL, ACP_PART_CHILD };
/* The part that a session/update with these params sets; ACP_PARTS: none. */
enum acp_part acp_part_of_update(struct slice params);
/* Is this plain text a kind of option of a permission request? */
bool acp_is_option_kind(const char *kind);
/* The first option with an id whose member (acp_option_id, acp_option_kind) has this value, in a permission request's params; or p NULL. */
struct slice acp_find_option(struct slice params, const char *member, const char *value);
/* Appends the result of a permission request that selects an option; option_id: a JSON string. 0, or -1 out of memory. */
int acp_put_selected(struct buf *, struct slice option_id);
/* Appends a block of content with this plain text. 0, or -1 out of memory. */
int acp_put_text_block(struct buf *, struct slice text);
/* Has this array of MCP servers one with this name, a JSON string? */
bool acp_has_server(struct slice servers, struct slice name);
/* Client for agent, agent for client; else ACP_UNKNOWN. */
enum acp_side acp_other_side(enum acp_side);
/* "client", "agent" or "unknown". */
const char *acp_side_name(enum acp_side);

#endif
