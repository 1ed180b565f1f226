# An MCP server on standard input and output.
#
#   jq -c --unbuffered -n --arg name NAME -f mcp.jq
#
# Tools: echo (its text back), big (so many bytes), ask (asks the client, and says what it answered), tell (a
# notification, then done), never (no answer), env (what the arguments say, after a progress notification).
# With --arg changes yes its lists change, and resources can be subscribed to; the tool change tells of it: of the tools, and of
# the resource in its arguments.

def result($m; $r): {jsonrpc: "2.0", id: $m.id, result: $r};
def text($t): {content: [{type: "text", text: $t}]};
def told($method; $params): {jsonrpc: "2.0", method: $method, params: $params};

def call($m):
	$m.params as $p
	| if $p.name == "echo" then result($m; text("\($name): \($p.arguments.text)"))
	elif $p.name == "big" then result($m; text("0123456789abcdef" * ($p.arguments.bytes / 16)))
	elif $p.name == "ask" then {jsonrpc: "2.0", id: "q\($m.id)", method: "sampling/createMessage", params: {for: $m.id}}
	elif $p.name == "tell" then
		told("notifications/progress"; {progressToken: $p._meta.progressToken, progress: 1}), result($m; text("told"))
	elif $p.name == "change" then
		told("notifications/tools/list_changed"; null), told("notifications/resources/updated"; {uri: $p.arguments.uri}), result($m; text("changed"))
	elif $p.name == "never" then empty
	else {jsonrpc: "2.0", id: $m.id, error: {code: -32602, message: "no such tool", data: {name: $p.name}}} end;

inputs as $m
| if $m.method == "initialize" then
	if $m.params.protocolVersion == "2026-07-28" then {jsonrpc: "2.0", id: $m.id, error: {code: -32601, message: "what?"}}
	else result($m; {protocolVersion: $m.params.protocolVersion,
		capabilities: (if $ARGS.named.changes then {tools: {listChanged: true}, resources: {subscribe: true}} else {tools: {}} end),
		serverInfo: {name: $name, version: "1"}, instructions: "Use it."}) end
elif $m.method == "ping" or $m.method == "resources/subscribe" then result($m; {})
elif $m.method == "tools/list" then result($m; {tools: [{name: "echo", inputSchema: {type: "object"}}]})
elif $m.method == "tools/call" then call($m)
elif $m.method == null and ($m.id | type) == "string" then
	{jsonrpc: "2.0", id: ($m.id[1:] | fromjson), result: text("answered: \($m.result // $m.error | tojson)")}
elif $m.id == null then empty
else {jsonrpc: "2.0", id: $m.id, error: {code: -32601, message: "no such method"}} end
