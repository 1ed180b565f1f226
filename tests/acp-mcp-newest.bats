#!/usr/bin/env bats
# acp-mcp --provide: the newest form of MCP over ACP before servers of older and of newer MCP.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load mcp
	lib_setup
}

teardown() {
	mcp_teardown
}

HELLO='{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"me","version":"3"}}}'
ENVELOPE='"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}'

# request ID METHOD PARAMS: the agent's request in the newest form.
request() {
	agent "{\"jsonrpc\":\"2.0\",\"id\":$1,\"method\":\"mcp/message\",\"params\":{\"serverId\":$ID,\"requestId\":\"r$1\",\"method\":\"$2\",\"params\":$3}}"
}

# A server that has made a handshake refuses what carries the envelope of 2026-07-28, as Python's mcp does.
handshake_server() {
	cat >handshake.jq <<-'END'
		inputs
		| if .method == "initialize" then {jsonrpc: "2.0", id, result: {protocolVersion: .params.protocolVersion, capabilities: {tools: {}, logging: {}}, serverInfo: {name: "x", version: "1"}}}
		elif has("id") | not then empty
		elif [.params._meta // {} | keys[] | select(startswith("io.modelcontextprotocol/"))] != [] then {jsonrpc: "2.0", id, error: {code: -32600, message: "an envelope"}}
		elif .method == "logging/setLevel" then {jsonrpc: "2.0", id, result: {}}
		else {jsonrpc: "2.0", id, result: {got: .params}} end
	END
	echo 'jq -c --unbuffered -n -f handshake.jq'
}

# A server of 2026-07-28 only: it wants the envelope, and has subscriptions. The tool change reports a change to each.
newest_server() {
	cat >newest.jq <<-'END'
		def about($id): {"io.modelcontextprotocol/subscriptionId": $id};
		foreach inputs as $m ({open: []};
			if $m.method == "subscriptions/listen" then .open += [$m.id]
			elif $m.method == "notifications/cancelled" then .open -= [$m.params.requestId] else . end
			| .m = $m;
			.open as $open | .m
			| if has("id") | not then empty
			elif .params._meta["io.modelcontextprotocol/protocolVersion"] != "2026-07-28" then {jsonrpc: "2.0", id, error: {code: -32022, message: "unsupported"}}
			elif .method == "subscriptions/listen" then
				{jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged", params: {_meta: about(.id), notifications: .params.notifications}}
			elif .params.name? == "change" then
				($open[] | {jsonrpc: "2.0", method: "notifications/tools/list_changed", params: {_meta: about(.)}}),
				{jsonrpc: "2.0", id, result: {resultType: "complete", content: []}}
			elif .params.name? == "close" then
				($open[] | {jsonrpc: "2.0", id: ., result: {resultType: "complete", _meta: about(.)}}),
				{jsonrpc: "2.0", id, result: {resultType: "complete", content: []}}
			elif .method == "server/discover" then
				{jsonrpc: "2.0", id, result: {resultType: "complete", supportedVersions: ["2026-07-28"], capabilities: {tools: {listChanged: true}}}}
			else {jsonrpc: "2.0", id, result: {resultType: "complete", got: .method}} end)
	END
	echo 'jq -c --unbuffered -n -f newest.jq'
}

# bats test_tags=slow
@test "a server with a handshake gets requests without the envelope of 2026-07-28" {
	offer "$(handshake_server)"
	request 1 tools/call "{\"name\":\"t\",\"_meta\":{\"a\":1.5,$ENVELOPE,\"io.modelcontextprotocol/clientInfo\":{},\"io.modelcontextprotocol/logLevel\":\"debug\",\"progressToken\":5},\"z\":[]}"
	await got '.id == 1 and .result' >/dev/null
	grep -qF '"got":{"name":"t","_meta":{"a":1.5,"progressToken":5},"z":[]}' got
	request 2 tools/call "{\"_meta\":{$ENVELOPE}}"
	assert_equal "$(await got '.id == 2 and .result' | jq -c .result.result.got)" '{"_meta":{}}'
	finish
	[ ! -s err ]
}

# bats test_tags=slow
@test "an older MCP client gets results without the members of 2026-07-28" {
	bridge acp-mcp --provide "x=$(handshake_server)" -- acp-mcp --dialect newest
	initialize
	session s '[]'
	shim a "$(socket)"
	mcp a "$HELLO" '{"jsonrpc":"2.0","method":"notifications/initialized"}' \
	    '{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}' '{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}'
	assert_equal "$(await a.out '.id == 1' | jq -c .result)" '{}'
	assert_equal "$(await a.out '.id == 2' | jq -c .result)" '{"got":{"_meta":{}}}'
	unshim a
	finish
	[ ! -s err ]
}

# bats test_tags=slow
@test "a server of 2026-07-28 only gets each request as it came, and its subscriptions reach who asked" {
	offer "$(newest_server)"
	request 1 subscriptions/listen "{\"notifications\":{\"toolsListChanged\":true},\"_meta\":{$ENVELOPE}}"
	request 2 subscriptions/listen "{\"notifications\":{},\"_meta\":{$ENVELOPE}}"
	acknowledged() { await got ".params.method == \"notifications/subscriptions/acknowledged\" and .params.requestId == \"$1\"" | jq -c '.params.params | [.notifications, ._meta[]]'; }
	assert_equal "$(acknowledged r1)" '[{"toolsListChanged":true},"r1"]'
	assert_equal "$(acknowledged r2)" '[{},"r2"]'
	request 3 tools/call "{\"name\":\"change\",\"_meta\":{$ENVELOPE}}"
	await got '.id == 3 and .result' >/dev/null
	assert_equal "$(jq -c 'select(.params.method? == "notifications/tools/list_changed") | [.params.requestId, .params.params._meta[]]' got | tr '\n' ' ')" \
	    '["r1","r1"] ["r2","r2"] '
	agent '{"method":"$/cancel_request","params":{"requestId":1}}'
	await got '.id == 1 and .error.code == -32800' >/dev/null
	request 4 tools/call "{\"name\":\"close\",\"_meta\":{$ENVELOPE}}"
	assert_equal "$(await got '.id == 2 and .result' | jq -c '.result.result._meta[]')" '"r2"'
	await got '.id == 4 and .result' >/dev/null
	finish
	[ ! -s err ]
}

# bats test_tags=slow
@test "an older MCP client uses a server of 2026-07-28 only, its changes included" {
	bridge acp-mcp --provide "x=$(newest_server)" -- acp-mcp --dialect newest
	initialize
	session s '[]'
	shim a "$(socket)"
	mcp a "$HELLO" '{"jsonrpc":"2.0","method":"notifications/initialized"}' '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"change"}}'
	assert_equal "$(await a.out '.id == 0' | jq -c .result.capabilities)" '{"tools":{"listChanged":true}}'
	assert_equal "$(await a.out '.id == 1' | jq -c .result)" '{"content":[]}'
	await a.out '.method == "notifications/tools/list_changed"'
	unshim a
	finish
	[ ! -s err ]
}

# bats test_tags=slow
@test "an MCP client of 2026-07-28 uses a server of its kind in every form, its subscriptions included" {
	for dialect in acpId newest; do
		bridge acp-mcp --provide "x=$(newest_server)" -- acp-mcp --dialect $dialect
		initialize
		session s '[]'
		shim a "$(socket)"
		mcp a "{\"jsonrpc\":\"2.0\",\"id\":\"l\",\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":{},\"_meta\":{$ENVELOPE}}}"
		assert_equal "$(await a.out '.method == "notifications/subscriptions/acknowledged"' | jq -c '.params._meta[]')" '"l"'
		mcp a "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"close\",\"_meta\":{$ENVELOPE}}}"
		assert_equal "$(await a.out '.id == "l"' | jq -c '.result._meta[]')" '"l"'
		await a.out '.id == 2'
		unshim a
		finish
		[ ! -s err ]
		rm -f ./*.in ./*.out
	done
}
