#include "cmd/acp-check/rules.h"

const char *const level_names[LEVELS + 1] = {"violation", "tolerated", "note", NULL};

const struct rule rules[RULES] = {
#define RULE(id, ...) {__VA_ARGS__},
#include "cmd/acp-check/rules.inc"
#undef RULE
};

const struct unchecked unchecked[] = {
	{"initialization", "The client sends the latest version that it supports.", "not on the wire"},
	{"initialization", "The agent responds with the requested version if it supports that.", "what it supports is not on the wire"},
	{"initialization", "The client closes the connection if it does not support the agent's version.", "it may do so later"},
	{"initialization", "Agents take text and links in prompts.", "one that refuses a prompt may have another reason"},
	{"authentication", "The agent refuses sessions until the client has logged in, if that is needed.", "the need is not on the wire"},
	{"session-setup", "The directory of a session is used as such, whatever the agent's own is.", "not on the wire"},
	{"session-setup", "The agent connects to all MCP servers that the client names.", "not on the wire"},
	{"session-setup", "The agent supports MCP servers that are commands.", "not on the wire"},
	{"session-setup", "The agent replays the whole conversation in session/load.", "what the conversation was is not on the wire"},
	{"session-setup", "The agent answers -32602 to servers, content, cursors and modes that it does not support.",
		"an agent may support more than it advertises"},
	{"v2/session-setup", "session/resume names the directory that the session has.", "two paths may lead to one directory"},
	{"v2/session-setup", "Chunks of a replayed message follow an update that clears it.", "live work may send chunks during the replay"},
	{"v2/session-setup", "A replayed message has the id that it had.", "whether a message is an earlier one is not on the wire"},
	{"session-list", "A list has only sessions of the directory that was asked for.", "two paths may lead to one directory"},
	{"session-list", "Clients do not infer directories that a list leaves out.", "not on the wire"},
	{"session-delete", "A session that was deleted is in no list.", "another client of the agent may have brought it back"},
	{"prompt-turn", "The agent stops requests to models and tools as soon as possible after a cancel.", "not on the wire"},
	{"prompt-turn", "The client shows open tool calls as cancelled after a cancel.", "not on the wire"},
	{"v1/draft/prompt-turn", "Each compaction that has begun ends.", "a recording may end before that"},
	{"v1/draft/prompt-turn", "Notices are not replayed.", "live ones may come during a replay"},
	{"content", "Resources that are named exist.", "not on the wire"},
	{"v2/content", "Icons are at https: and data: URIs.", "a client shows none instead, and contents are read by the schema only"},
	{"tool-calls", "A choice that was not offered is no approval.", "not on the wire"},
	{"v2/tool-calls", "A patch has absolute paths, and fits the changes beside it.", "it is a text in the format of another program"},
	{"v2/tool-calls", "Work in the background is over before a state leaves it out.", "it may have ended before this connection"},
	{"file-system", "The client creates a file that it writes if that does not exist.", "not on the wire"},
	{"file-system", "The client refuses paths outside of the session's directories.", "what it permits is for its user to say"},
	{"terminals", "The agent releases each terminal that it has created.", "a recording may end before that"},
	{"terminals", "Output is cut at the border of a character.", "where it was cut is not on the wire"},
	{"agent-plan", "Each plan has all entries, and replaces the one before.", "whether entries are missing is not on the wire"},
	{"session-modes", "A mode that the agent reports is among those that it has listed.", "agents change the list without a message"},
	{"session-config-options", "Nothing depends on the category of an option.", "not on the wire"},
	{"v2/session-config-options", "The agent answers -32602 to an unknown option or value, and changes nothing.",
		"it may refuse the request for another reason first"},
	{"slash-commands", "A command in a prompt is one that the agent has announced.", "a prompt may begin with a slash"},
	{"elicitation", "The user sees who asks, where a link leads, and what is sent.", "not on the wire"},
	{"elicitation", "Forms do not ask for secrets.", "what is secret is not on the wire"},
	{"cancellation", "A request that was cancelled gets a result or the error -32800.", "it may have failed for another reason"},
	{"extensibility", "Nobody relies on what is in _meta.", "not on the wire"},
	{"extensibility", "Unknown values are kept, and are handled as the generic one.", "not on the wire"},
	{"v2/prompt-lifecycle", "The agent reports running before work without a prompt, and when blocked work goes on.",
		"what runs in the background sends the same updates while the session is idle"},
	{"v2/prompt-lifecycle", "The agent reports idle when all work has ended.", "a recording may end before that"},
	{"v2/prompt-lifecycle", "A prompt that was inserted is not answered with an error.", "only the response says which message is whose"},
	{"terminals", "The client still shows the output of a terminal that was released.", "not on the wire"},
	{NULL, NULL, NULL},
};
