#!/usr/bin/env bats
# acp-mcp: what an agent is told of MCP servers, and what its client is told of the agent.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load mcp
	lib_setup
}

teardown() {
	mcp_teardown
}

X='{"type":"acp","name":"x","id":"X"}'

# claims RESULT: what the client hears of an agent that answers this to initialize.
claims() {
	bridge
	initialize "$1" | jq -c .result
	finish
}

@test "an agent that takes servers of type acp is left alone, byte for byte" {
	bridge
	assert_equal "$(initialize '{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"acp": true}} }')" \
	    '{"jsonrpc":"2.0","id":"init","result":{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"acp": true}} }}'
	client '{"id":1,"method":"session/new","params":{"mcpServers": [ {"type":"acp", "name":"x","id":"X"} ]}}'
	client '{"id":2,"method":"mcp/message","params":{"connectionId":"c","method":"m"}}'
	await got '.id == 2'
	agent '{"id":1,"method":"mcp/connect","params":{"acpId":"X"}}' '{"id":2,"method":"mcp/disconnect","params":{"connectionId":"c"}}'
	await out '.method == "mcp/disconnect"'
	finish
	assert_equal "$(sed 1d got)" '{"id":1,"method":"session/new","params":{"mcpServers": [ {"type":"acp", "name":"x","id":"X"} ]}}
{"id":2,"method":"mcp/message","params":{"connectionId":"c","method":"m"}}'
	[ ! -s err ]
}

# bats test_tags=slow
@test "the client learns that the agent supports them, whatever the agent leaves out" {
	run claims '{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"mcpCapabilities":{"http":true,"acp":false}}}'
	assert_output '{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"mcpCapabilities":{"http":true,"acp":true}}}'
	run claims '{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"http":true}}}'
	assert_output '{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"acp":true,"http":true}}}'
	run claims '{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{}}}'
	assert_output '{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"acp":true}}}'
	run claims '{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":null}}'
	assert_output '{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"acp":true}}}'
	run claims '{"protocolVersion":1,"agentCapabilities":{}}'
	assert_output '{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"acp":true}}}'
	run claims '{"protocolVersion":1}'
	assert_output '{"agentCapabilities":{"mcpCapabilities":{"acp":true}},"protocolVersion":1}'
	run claims '{"protocolVersion":1,"agentCapabilities":7}'
	assert_output '{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"acp":true}}}'
	run claims '{}'
	assert_output '{"agentCapabilities":{"mcpCapabilities":{"acp":true}}}'
	run claims '[]'
	assert_output '[]'
}

# bats test_tags=slow
@test "in v2 a capability is an object, below session; an agent without stdio is left alone" {
	run claims '{"protocolVersion":2,"capabilities":{"session":{"mcp":{"stdio":{}}}}}'
	assert_output '{"protocolVersion":2,"capabilities":{"session":{"mcp":{"acp":{},"stdio":{}}}}}'
	run claims '{"protocolVersion":2,"capabilities":{"session":{"mcp":{"stdio":{},"acp":null}}}}'
	assert_output '{"protocolVersion":2,"capabilities":{"session":{"mcp":{"stdio":{},"acp":{}}}}}'
	run claims '{"protocolVersion":2,"capabilities":{"session":{"mcp":{"acp":{"a":1}}}}}'
	assert_output '{"protocolVersion":2,"capabilities":{"session":{"mcp":{"acp":{"a":1}}}}}'
	run claims '{"protocolVersion":2,"capabilities":{"session":{}}}'
	assert_output '{"protocolVersion":2,"capabilities":{"session":{}}}'
	bridge acp-mcp --provide "y=$SERVER y"
	initialize '{"protocolVersion":2,"capabilities":{}}'
	run session s "[$X]"
	assert_output "[$X]"
	finish
	assert_equal "$(cat err)" 'acp-mcp: the agent supports MCP servers neither of type acp nor of type stdio: none is offered'
}

# bats test_tags=slow
@test "a server of type acp becomes a stdio server: this program and a socket; of v2 with its type" {
	bridge
	initialize
	run session s "[$X]"
	socket=$(jq -r '.[0].args[1]' <<<"$output")
	assert_output "[{\"name\":\"x\",\"command\":\"$B/bin/acp-mcp\",\"args\":[\"--connect\",\"$socket\"],\"env\":[]}]"
	[ -S "$socket" ]
	finish
	bridge
	initialize '{"protocolVersion":2,"capabilities":{"session":{"mcp":{"stdio":{}}}}}'
	run session s "[$X]"
	assert_output --partial '[{"type":"stdio","name":"x","command":'
	finish
}

# bats test_tags=slow
@test "new, load, resume and fork are rewritten; other requests, and other servers, are not touched" {
	bridge
	initialize
	for method in new load resume fork; do
		client "{\"id\":\"$method\",\"method\":\"session/$method\",\"params\":{\"a\" : 1.50,\"mcpServers\" : [ {\"name\" : \"\\u0061\"} ,$X , {\"b\": 2}  ],\"z\":[]}}"
		await got ".id == \"$method\"" >/dev/null
		line=$(grep -F "\"$method\"" got)
		socket=$(jq -r '.params.mcpServers[1].args[1]' <<<"$line")
		assert_equal "$line" "{\"id\":\"$method\",\"method\":\"session/$method\",\"params\":{\"a\" : 1.50,\"mcpServers\" : [ {\"name\" : \"\\u0061\"} ,{\"name\":\"x\",\"command\":\"$B/bin/acp-mcp\",\"args\":[\"--connect\",\"$socket\"],\"env\":[]} , {\"b\": 2}  ],\"z\":[]}}"
	done
	for line in "{\"id\":5,\"method\":\"session/list\",\"params\":{\"mcpServers\":[$X]}}" \
	    '{"id":6,"method":"session/new","params":{"mcpServers":[ ]}}' '{"id":7,"method":"session/new","params":{"mcpServers":7}}' \
	    '{"id":8,"method":"session/new"}' "{\"method\":\"session/new\",\"params\":{\"mcpServers\":[$X]}}"; do
		client "$line"
		wait_for grep -qxF "$line" got
	done
	finish
}

# bats test_tags=slow
@test "a declaration that can not be met is left out, and said" {
	bridge acp-mcp --socket-dir "$PWD/none"
	initialize
	run session s "[$X,{\"name\":\"other\"},{\"type\":\"acp\",\"name\":\"n\"}]"
	assert_output '[{"name":"other"}]'
	finish
	assert_equal "$(cat err)" "acp-mcp: an MCP server is left out: $PWD/none: No such file or directory: $X
acp-mcp: an MCP server is left out: it has no name, or no id: {\"type\":\"acp\",\"name\":\"n\"}"
}

# bats test_tags=slow
@test "what --provide offers is declared in every session, with both ids, where the agent takes it" {
	bridge acp-mcp --provide "y=$SERVER y" --provide 'z=true'
	initialize '{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"acp":true}}}'
	run session s '[{"name":"a"}]'
	assert_equal "$(jq -c '[.[] | [.type, .name, (.id == .serverId), (.id | type)]]' <<<"$output")" \
	    '[[null,"a",true,"null"],["acp","y",true,"string"],["acp","z",true,"string"]]'
	client '{"id":1,"method":"session/load","params":{}}' '{"id":2,"method":"session/new","params":{"mcpServers":null,"cwd":"/"}}'
	await got '.id == 2'
	jq -se '.[-2:] | map(.params.mcpServers | map(.name)) == [["y","z"],["y","z"]]' got
	# Who has the name already keeps it.
	run session t '[{"name":"y"}]'
	assert_equal "$(jq -c '[.[].name]' <<<"$output")" '["y","z"]'
	finish
	assert_equal "$(cat err)" 'acp-mcp: server "y": the session already has a server of this name: the one of --provide is left out'
}

# bats test_tags=slow
@test "a session that needs rewriting waits until the agent has reported what it takes, and later messages keep their order" {
	bridge
	client '{"id":"init","method":"initialize","params":{}}' '{"method":"before"}' \
	    "{\"id\":\"s\",\"method\":\"session/load\",\"params\":{\"sessionId\":\"s\",\"mcpServers\":[$X]}}" \
	    '{"id":"p","method":"session/prompt","params":{"sessionId":"s"}}' '{"method":"$/cancel_request","params":{"requestId":"p"}}' \
	    '{"method":"session/cancel","params":{"sessionId":"s"}}' '{"id":"ask","result":{}}' '{"method":"$/cancel_request","params":{"requestId":"init"}}'
	# What the agent may need in order to respond to initialize is not held.
	await got '.method == "$/cancel_request"' >/dev/null
	assert_equal "$(jq -r '.method // .id' got | tr '\n' ' ')" 'initialize before ask $/cancel_request '
	agent '{"id":"init","result":{"protocolVersion":1}}'
	await got '.method == "session/cancel"' >/dev/null
	assert_equal "$(sed 1,4d got | jq -c '[.method, .params.requestId]' | tr '\n' ' ')" \
	    '["session/load",null] ["session/prompt",null] ["$/cancel_request","p"] ["session/cancel",null] '
	[ -S "$(socket)" ]
	client '{"method":"after"}'
	await got '.method == "after"'
	finish
}

# bats test_tags=slow
@test "a session without servers of type acp does not wait for initialize" {
	bridge
	client '{"id":"init","method":"initialize","params":{}}' \
	    '{"id":"s","method":"session/load","params":{"sessionId":"s","mcpServers":[{"name":"own","command":"c"}]}}' \
	    '{"id":"p","method":"session/prompt","params":{"sessionId":"s"}}'
	await got '.method == "session/prompt"' >/dev/null
	assert_equal "$(jq -r .method got | tr '\n' ' ')" 'initialize session/load session/prompt '
	finish
}

# bats test_tags=slow
@test "one whose client never asks, or whose agent refuses to say, is opened all the same" {
	bridge
	run session s "[$X]"
	assert_output --partial '"command"'
	client '{"id":"i","method":"initialize"}' "{\"id\":\"t\",\"method\":\"session/new\",\"params\":{\"mcpServers\":[$X]}}"
	await got '.id == "i"'
	agent '{"id":"i","error":{"code":-32603,"message":"no"}}'
	await got '.id == "t"'
	finish
}

# --- sockets ---

# bats test_tags=slow
@test "sockets are for this user only, and are gone at the end, after a signal too" {
	mkdir dir
	bridge acp-mcp --socket-dir "$PWD/dir"
	initialize
	session s "[$X]"
	assert_equal "$(stat -c %a "$(socket)" "$(dirname "$(socket)")" | tr '\n' ' ')" '600 700 '
	finish
	[ -z "$(ls dir)" ]
	bridge acp-mcp --socket-dir "$PWD/dir"
	initialize
	session s "[$X]"
	shim a "$(socket)"
	kill -TERM "$BRIDGE"
	exec 7>&-
	wait "$BRIDGE"
	[ -z "$(ls dir)" ]
	wait "${SHIM[a]}" || true
	wait_for nobody_left
}

# bats test_tags=slow
@test "another user's process is refused" {
	((EUID == 0)) || skip 'only root can become another user'
	setpriv --reuid=65534 --regid=65534 --clear-groups true || skip 'no other user here'
	dir=$(mktemp -d /tmp/acp-mcp-test-XXXXXX)
	cp "$B/bin/acp-mcp" "$dir/program"
	bridge acp-mcp --socket-dir "$dir"
	initialize
	session s "[$X]"
	run -125 setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/program" --connect "$(socket)"
	assert_output --partial 'Permission denied'
	# Even where the modes would let it.
	chmod 755 "$dir" "$dir"/acp-mcp.*
	chmod 666 "$(socket)"
	run setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/program" --connect "$(socket)" </dev/null
	wait_for grep -qxF "acp-mcp: $(socket): a process of another user was refused" err
	finish
	run ! grep -q mcp/connect out
	rm -r "$dir"
}

# bats test_tags=slow
@test "a server's socket lives as long as a session that was told of it" {
	bridge
	initialize
	session s "[$X]"
	session t "[$X,{\"type\":\"acp\",\"name\":\"y\",\"id\":\"Y\"}]"
	path=$(socket x s)
	assert_equal "$(socket x t)" "$path"
	y=$(socket y t)
	close() {
		client "{\"id\":\"$1\",\"method\":\"session/$2\",\"params\":{\"sessionId\":\"$3\"}}"
		await got ".id == \"$1\"" >/dev/null
		agent "{\"id\":\"$1\",$4}"
		await out ".id == \"$1\"" >/dev/null
	}
	close c1 close t '"error":{"code":-32603,"message":"no"}'
	[[ -S $path && -S $y ]]
	close c2 close t '"result":{}'
	[[ -S $path && ! -e $y ]]
	close c3 delete s '"result":{}'
	[ ! -e "$path" ]
	# Nor is it kept for a session that was never opened.
	client "{\"id\":\"u\",\"method\":\"session/new\",\"params\":{\"mcpServers\":[$X]}}"
	path=$(socket x u)
	[ -S "$path" ]
	agent '{"id":"u","error":{"code":-32603,"message":"no"}}'
	wait_for test ! -e "$path"
	# A session that is taken up is known by its request.
	client "{\"id\":\"v\",\"method\":\"session/load\",\"params\":{\"sessionId\":\"old\",\"mcpServers\":[$X]}}"
	path=$(socket x v)
	agent '{"id":"v","result":{}}'
	shim a "$path"
	answer '.method == "mcp/connect"' '{"connectionId":"c"}'
	close c4 close old '"result":{}'
	[ ! -e "$path" ]
	# Who is connected stays so.
	mcp a '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
	answer '.params.method == "tools/list"' '{"tools":[]}'
	await a.out '.id == 1'
	finish
}
