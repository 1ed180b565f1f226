#!/usr/bin/env bats
# acp-mcp: a server that has ended can be started again, and its connections end with it.
# as long as 30 tests

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

# A server that ends at a request before its handshake, as those built on rmcp do.
strict_server() {
	cat >strict.jq <<-'EOF2'
		foreach inputs as $m (null; if . == null and $m.method != "initialize" then halt_error(1) else 1 end; $m)
		| if .method == "initialize" then {jsonrpc: "2.0", id, result: {protocolVersion: .params.protocolVersion, capabilities: {tools: {}}, serverInfo: {name: "x", version: "1"}}}
		elif has("id") then {jsonrpc: "2.0", id, result: {said: .method}} else empty end
	EOF2
	echo 'jq -c --unbuffered -n -f strict.jq'
}

# bats test_tags=slow
@test "a server that ends at server/discover is started again by the agent's next connection" {
	for between in '' 'acp-mcp --dialect acpId'; do
		# shellcheck disable=SC2086
		bridge acp-mcp --provide "x=$(strict_server)" ${between:+-- $between}
		initialize
		session s '[]'
		shim a "$(socket)"
		mcp a '{"jsonrpc":"2.0","id":"probe","method":"server/discover"}'
		wait "${SHIM[a]}"
		# An error would tell the client to go on with an older protocol on the same connection.
		[ ! -s a.out ]
		shim b "$(socket)"
		mcp b "$HELLO" '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
		await b.out '.id == 1 and .result.said == "tools/list"'
		unshim a
		unshim b
		finish
		rm -f ./*.in ./*.out
	done
	leaves_nobody
}

# bats test_tags=slow
@test "when a provider reports that the server has ended, all open requests get the error and the connection ends" {
	for code in -33001 -33002; do
		begin "$OLD"
		answer '.method == "mcp/connect"' '{"connectionId":"c"}'
		mcp a '{"id":1,"method":"slow"}' '{"id":2,"method":"tools/list"}'
		client '{"id":"p","method":"mcp/message","params":{"connectionId":"c","method":"roots/list"}}'
		await a.out '.method == "roots/list"'
		refuse '.params.method == "tools/list"' "{\"code\":$code,\"message\":\"gone\"}"
		for id in 1 2; do
			assert_equal "$(await a.out ".id == $id and .error" | jq -c .error.code)" $code
		done
		# The agent has closed nothing.
		wait "${SHIM[a]}"
		assert_equal "$(await out '.method == "mcp/disconnect"' | jq -c .params)" '{"connectionId":"c"}'
		await out ".method == \"\$/cancel_request\" and .params.requestId == $(await out '.params.method == "slow"' | jq .id)"
		await out '.id == "p" and .error.code == -33001'
		unshim a
		# The next connection is a new one.
		shim b "$(socket)"
		wait_for eval '[ "$(grep -c mcp/connect out)" -eq 2 ]'
		unshim b
		finish
		[ ! -s err ]
		rm -f ./*.in ./*.out
	done
}

# bats test_tags=slow
@test "other errors of a provider do not end the connection" {
	begin "$OLD"
	answer '.method == "mcp/connect"' '{"connectionId":"c"}'
	mcp a '{"id":1,"method":"one"}'
	refuse '.params.method == "one"' '{"code":-33000,"message":"busy"}'
	await a.out '.id == 1 and .error.code == -33000'
	mcp a '{"id":2,"method":"two"}'
	answer '.params.method == "two"' '{}'
	await a.out '.id == 2 and .result'
	finish
}

# bats test_tags=slow
@test "in the newest form, too, a binding that has failed ends the connection" {
	begin "$NEW"
	mcp a "$HELLO"
	answer '.params.method == "server/discover"' '{"result":{"capabilities":{"tools":{}}}}'
	mcp a '{"id":1,"method":"tools/list"}'
	refuse '.params.method == "tools/list"' '{"code":-33002,"message":"gone"}'
	await a.out '.id == 1 and .error.code == -33002'
	wait "${SHIM[a]}"
	unshim a
	finish
}

# bats test_tags=slow
@test "a connection that was refused ends when its first request has its error" {
	begin "$OLD"
	mcp a "$HELLO"
	refuse '.method == "mcp/connect"' '{"code":-32002,"message":"no such server"}'
	await a.out '.id == 0 and .error.code == -32002'
	wait "${SHIM[a]}"
	unshim a
	finish
	assert_equal "$(cat err)" 'acp-mcp: server "x": no connection: {"code":-32002,"message":"no such server"}'
	run ! grep mcp/disconnect out
}

# bats test_tags=slow
@test "after the fallback to mcp/connect, server/discover gets -32601 and does not reach the server" {
	begin "$NEW"
	mcp a '{"id":"probe","method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}'
	refuse '.method == "mcp/message"' '{"code":-32601,"message":"what?"}'
	answer '.method == "mcp/connect"' '{"connectionId":"c"}'
	await a.out '.id == "probe" and .error.code == -32601'
	mcp a "$HELLO"
	answer '.params.connectionId == "c" and .params.method == "initialize"' '{"protocolVersion":"2025-06-18"}'
	await a.out '.id == 0 and .result'
	unshim a
	finish
	assert_equal "$(grep -c server/discover out)" 1
}
