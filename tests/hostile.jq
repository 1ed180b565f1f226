# Messages of every kind with a hostile string in every place that may hold one: for each message below one variant for each
# of its strings and names of members, and one with all of them at once. $hostile is the string. $side: client or agent.

def text: {type: "text", text: "t"};
def usage: {totalTokens: 9, inputTokens: 5, outputTokens: 4};
def tool: {toolCallId: "tc", title: "Tool", kind: "edit", status: "in_progress", name: "n",
	content: [{type: "content", content: text}, {type: "diff", path: "/p", oldText: "a", newText: "b"},
		{type: "terminal", terminalId: "te"}], locations: [{path: "/p", line: 1}], rawInput: {command: "ls"}, rawOutput: "out"};
def update(u): {jsonrpc: "2.0", method: "session/update", params: {sessionId: "s-1", update: u}};
def request(i; m; p): {jsonrpc: "2.0", id: i, method: m, params: p};
def result(i; r): {jsonrpc: "2.0", id: i, result: r};

def from_client:
	request("i0"; "initialize"; {protocolVersion: 1, clientInfo: {name: "c", title: "C", version: "1"}, clientCapabilities: {x: "y"}}),
	request("i1"; "session/new"; {cwd: "/w", mcpServers: [{type: "acp", name: "m", id: "mid"},
		{name: "n", command: "c", args: ["a"], env: [{name: "E", value: "v"}]}]}),
	request("i2"; "session/load"; {sessionId: "s-1", cwd: "/w", mcpServers: []}),
	request("i3"; "session/prompt"; {sessionId: "s-1", prompt: [text, {type: "resource_link", uri: "file:///x", name: "x"}]}),
	request("i4"; "session/set_mode"; {sessionId: "s-1", modeId: "mode"}),
	request("i5"; "session/set_model"; {sessionId: "s-1", modelId: "model"}),
	request("i6"; "session/set_config_option"; {sessionId: "s-1", configId: "c", value: "v"}),
	request("i7"; "authenticate"; {methodId: "m"}),
	request("i8"; "session/list"; {cursor: "c"}),
	request("i9"; "_vendor/thing"; {deep: [{er: "x"}]}),
	{jsonrpc: "2.0", method: "session/cancel", params: {sessionId: "s-1"}},
	{jsonrpc: "2.0", method: "$/cancel_request", params: {requestId: "i3"}},
	result("a1"; {outcome: {outcome: "selected", optionId: "o"}}),
	result("a2"; {content: "file"}),
	result("a3"; {terminalId: "te"}),
	result("a4"; {output: "out", exitStatus: {exitCode: 0, signal: "KILL"}}),
	{jsonrpc: "2.0", id: "a5", error: {code: -32000, message: "m", data: {why: "d"}}};

def from_agent:
	result("i0"; {protocolVersion: 1, agentInfo: {name: "a", title: "A", version: "1"}, agentCapabilities: {},
		authMethods: [{id: "m", name: "M", description: "d"}]}),
	result("i1"; {sessionId: "s-1", modes: {currentModeId: "m", availableModes: [{id: "m", name: "M"}]},
		models: {currentModelId: "mo", availableModels: [{modelId: "mo", name: "M"}]}}),
	result("i2"; {}),
	update({sessionUpdate: "agent_message_chunk", content: text}),
	update({sessionUpdate: "agent_thought_chunk", content: text}),
	update({sessionUpdate: "user_message_chunk", content: {type: "image", data: "d", mimeType: "image/png", uri: "u"}}),
	update(tool + {sessionUpdate: "tool_call"}),
	update({sessionUpdate: "tool_call_update", toolCallId: "tc", status: "failed"}),
	update({sessionUpdate: "plan", entries: [{content: "c", status: "in_progress", priority: "high"}]}),
	update({sessionUpdate: "available_commands_update", availableCommands: [{name: "n", description: "d"}]}),
	update({sessionUpdate: "current_mode_update", currentModeId: "m"}),
	update({sessionUpdate: "config_option_update", configOptions: [{id: "i", name: "n", currentValue: "v"}]}),
	update({sessionUpdate: "session_info_update", title: "t", updatedAt: "now"}),
	update({sessionUpdate: "usage_update", used: 190000, size: 200000, cost: {amount: 1.5, currency: "USD"},
		_meta: {"_claude/model": "mo"}}),
	update({sessionUpdate: "notice", severity: "warning", title: "t"}),
	update({sessionUpdate: "compaction_update", compactionId: "c", status: "failed", summary: "s", error: {message: "e"}}),
	update({sessionUpdate: "subagent_update", sessionId: "s-2", title: "t", state: "running"}),
	update({sessionUpdate: "state_update", state: "idle", stopReason: "end_turn", usage: usage, error: {message: "e"}}),
	update({sessionUpdate: "something_new", said: "x"}),
	request("a1"; "session/request_permission"; {sessionId: "s-1", toolCall: tool,
		options: [{optionId: "o", name: "O", kind: "allow_once"}]}),
	request("a2"; "fs/read_text_file"; {sessionId: "s-1", path: "/p", line: 1, limit: 2}),
	request("a3"; "terminal/create"; {sessionId: "s-1", command: "c", args: ["a"], cwd: "/w", env: [{name: "E", value: "v"}]}),
	request("a4"; "terminal/output"; {sessionId: "s-1", terminalId: "te"}),
	request("a5"; "fs/write_text_file"; {sessionId: "s-1", path: "/p", content: "c"}),
	request("a6"; "elicitation/create"; {sessionId: "s-1", message: "m"}),
	request("a7"; "mcp/connect"; {acpId: "mid"}),
	request("a8"; "mcp/message"; {connectionId: "c", method: "tools/call", params: {name: "n"}}),
	result("i3"; {stopReason: "end_turn", usage: usage, _meta: {quota: {token_count: {totalTokens: 9},
		model_usage: [{model: "mo", token_count: {totalTokens: 9, inputTokens: 5, outputTokens: 4}}]}}}),
	{jsonrpc: "2.0", id: "i4", error: {code: -32603, message: "m", data: {details: "d"}}},
	{jsonrpc: "2.0", method: "auth/status_update", params: {authStatus: {kind: "k", label: "l"}}},
	{jsonrpc: "2.0", method: "_vendor/event", params: {deep: [{er: "x"}]}};

# What makes a message the kind it is.
def names_kind: . == ["method"] or . == ["params", "update", "sessionUpdate"] or .[0] == "jsonrpc";

def renamed($path): reduce ($path | length) as $_ (.; getpath($path) as $v | delpaths([$path])
	| setpath($path[:-1] + [$path[-1] + $hostile]; $v));

def variants:
	. as $message
	| [paths(type == "string")] as $strings
	| [paths | select(length > 1 and (.[-1] | type) == "string")] as $names
	| $message,
	  ($strings[] as $p | $message | setpath($p; $hostile)),
	  ($names[] as $p | $message | renamed($p)),
	  (reduce ($strings[] | select(names_kind | not)) as $p ($message; setpath($p; $hostile)));

if $side == "client" then from_client else from_agent end | variants
