/* acp: the names of the protocol. The only place that spells methods and fields, and their dialects. */
#ifndef ACP_H
#define ACP_H

#include "lib/base/bytes.h"

/* Who sent a message. */
enum acp_side { ACP_UNKNOWN, ACP_CLIENT, ACP_AGENT };

/* The two directions: client to agent, agent to client. */
enum acp_direction { ACP_DOWN, ACP_UP, ACP_DIRECTIONS };

/* The methods that some tool treats in a way of their own; all others are ACP_OTHER. */
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
extern const char acp_session_id[];     /* sessionId */
extern const char acp_update[];         /* update */
extern const char acp_update_kind[];    /* sessionUpdate, in an update */
extern const char acp_prompt[];         /* prompt: the content of session/prompt, an array of blocks */
extern const char acp_content[];        /* content, of a chunk: a block (v2's whole messages: an array) */
extern const char acp_commands[];       /* availableCommands, of an update */
extern const char acp_request_id[];     /* requestId, of $/cancel_request */
extern const char acp_stop_reason[];    /* stopReason */
extern const char acp_protocol_version[]; /* protocolVersion */
extern const char acp_connection_id[];  /* connectionId, of mcp/connect's response and mcp/message */
extern const char acp_acp_id[];         /* acpId, of mcp/connect */
extern const char acp_server_id[];      /* serverId, of mcp/connect, mcp/message and declarations */
extern const char acp_update_state[];   /* update.state, in the params of a session/update (v2) */
extern const char acp_state[];          /* state, in an update */

/* Members of permission requests, their responses, and MCP servers. */
extern const char acp_options[];        /* options: what a permission request offers */
extern const char acp_option_kind[];    /* kind, of an option */
extern const char acp_option_id[];      /* optionId, likewise */
extern const char acp_mcp_servers[];    /* mcpServers, of what opens a session */
extern const char acp_server_name[];    /* name, of a server */

/* Values: a kind of update, a state, and a stop reason. */
extern const char acp_state_update[];   /* state_update */
extern const char acp_idle[];           /* idle */
extern const char acp_cancelled[];      /* cancelled */

/* What an id is the id of. */
enum acp_id {
	ACP_ID_NONE,
	ACP_ID_SESSION,
	ACP_ID_TOOL_CALL,
	ACP_ID_TERMINAL,
	ACP_ID_MESSAGE,
	ACP_ID_ELICITATION,
	ACP_ID_PLAN,
	ACP_ID_REQUEST,     /* a JSON-RPC id, named in the params of another message */
	ACP_ID_CONNECTION,  /* MCP over ACP */
	ACP_ID_SERVER,      /* likewise */
	ACP_ID_MCP_REQUEST, /* likewise */
	ACP_IDS,
};

/* What a member means where messages are compared. */
struct acp_member {
	const char *name;
	enum acp_id id; /* its value is such an id */
	bool cwd;       /* its value is a session's folder, or a list of them */
	bool kind;      /* its value names a kind, as a method does */
	bool metadata;  /* about the circumstances, not the conversation: _meta, what the client is and can do, times, costs */
	bool opaque;    /* what is in it is not the protocol's: a tool's input, say, where no name has a meaning */
};

/*
 * What a member of that name (a JSON string with its quotes) is in a message of that method, or in the
 * response to one, at any place that is not opaque. Never NULL.
 */
const struct acp_member *acp_member(struct slice name, enum acp_method, bool response);
/* Do its ids live in a session only, so that another session may use them for something else? */
bool acp_id_of_session(enum acp_id);

/* A piece of a message that is streamed. The slices are JSON text. */
struct acp_chunk {
	struct slice kind;    /* agent_message_chunk */
	struct slice message; /* the message's id, or p NULL */
	struct slice text;    /* a string */
};

/* Is this, the params of a session/update, a piece of text? */
bool acp_chunk(struct slice params, struct acp_chunk *);
/* What the user says first in the params of a session/prompt: a JSON string, or p NULL. */
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

/* What a method is, by its name: a JSON string with its quotes, escaped or not. */
enum acp_method acp_method(struct slice name);
/* The dialect in which a proxy-chain method is spelled. */
enum acp_dialect acp_dialect(struct slice name);
/* The name of a method as plain text; for the two proxy-chain methods in the dialect given. */
const char *acp_name(enum acp_method, enum acp_dialect);
/*
 * Which side sends a method, by section 2: ACP_UNKNOWN for what either may send and for what is
 * not listed. The name is a JSON string with its quotes.
 */
enum acp_side acp_sender(struct slice name);
/* Is this a method that ACP has as a notification? Plain text. */
bool acp_is_notification(const char *name);
/* Does this request open a session (new, load, resume, fork), in a folder that it names? */
bool acp_opens_session(enum acp_method);
/*
 * What lasts in a session, of which the last update counts: its usage, its mode, its configuration, its title, its state (version 2);
 * and, beyond ACP_PARTS, what there may be several of: tool calls and sub-agents.
 */
enum acp_part { ACP_PART_USAGE, ACP_PART_MODE, ACP_PART_CONFIG, ACP_PART_INFO, ACP_PART_STATE, ACP_PARTS, ACP_PART_CALL, ACP_PART_CHILD };
/* Which of them a session/update with these params is about; ACP_PARTS: none. */
enum acp_part acp_part_of_update(struct slice params);
/* Is this a kind that an option of a permission request may have? Plain text. */
bool acp_is_option_kind(const char *kind);
/* The first option with an id that has this member (acp_option_id, acp_option_kind) in a permission request's params, or p NULL. */
struct slice acp_find_option(struct slice params, const char *member, const char *value);
/* Appends the result of a permission request that selects an option (its id as a JSON string). 0 or -1. */
int acp_put_selected(struct buf *, struct slice option_id);
/* Appends a block of content with this text (plain). 0 or -1. */
int acp_put_text_block(struct buf *, struct slice text);
/* Is there a server of this name, a JSON string, in this array of MCP servers? */
bool acp_has_server(struct slice servers, struct slice name);
/* The side that is not this one. */
enum acp_side acp_other_side(enum acp_side);
/* "client", "agent" or "unknown". */
const char *acp_side_name(enum acp_side);

#endif
