#!/usr/bin/env bats
# acp-mcp: where its sockets are, and what is reported of servers.

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

# opened [OPTION...]: a session with a server of type acp; where the agent is told that it is.
opened() {
	bridge acp-mcp "$@"
	initialize >/dev/null
	session s "[$X]" >/dev/null
	socket
}

# bats test_tags=slow
@test "the agent gets an absolute path, however the directory is named" {
	mkdir dir
	run opened --socket-dir dir
	assert_output --regexp "^$PWD/dir/acp-mcp\.[^/]*/1\$"
	XDG_RUNTIME_DIR=dir run opened
	assert_output --regexp "^$PWD/dir/acp-mcp\.[^/]*/1\$"
}

# bats test_tags=slow
@test "where no socket's path fits, /tmp is used; that is reported if --socket-dir was given" {
	long=$PWD/$(printf '%0100d' 0)
	mkdir "$long"
	opened --socket-dir "$long" >path
	assert_regex "$(cat path)" '^/tmp/acp-mcp\.[^/]*/1$'
	shim a "$(cat path)"
	await out '.method == "mcp/connect"'
	finish
	assert_equal "$(cat err)" "acp-mcp: $long: too long for the path of a socket: $(dirname "$(cat path)") is used"
	export XDG_RUNTIME_DIR=$long
	opened >path
	assert_regex "$(cat path)" '^/tmp/acp-mcp\.[^/]*/1$'
	finish
	[ ! -s err ]
}

# bats test_tags=slow
@test "a missing --socket-dir is named, an empty one refused; a missing XDG_RUNTIME_DIR does no harm" {
	opened --socket-dir "$PWD/none"
	finish
	assert_equal "$(cat err)" "acp-mcp: an MCP server is left out: $PWD/none: No such file or directory: $X"
	run -2 acp-mcp --socket-dir '' -- true
	assert_output 'acp-mcp: --socket-dir : expected a directory'
	XDG_RUNTIME_DIR=$PWD/none opened >path
	assert_regex "$(cat path)" '^/tmp/acp-mcp\.[^/]*/1$'
	finish
	[ ! -s err ]
}

# bats test_tags=slow
@test "directories of processes that were killed are removed at the next start, others are not" {
	mkdir dir dir/acp-mcp.notour dir/other dir/acp-mcp.longer-name
	touch dir/acp-mcp.notour/file
	opened --socket-dir dir >killed
	kill -KILL "$BRIDGE"
	wait "$BRIDGE" || true
	[ -S "$(cat killed)" ]
	opened --socket-dir dir >first
	exec 6>&8 5<>up
	[ ! -e "$(dirname "$(cat killed)")" ]
	one=$BRIDGE
	# A second one beside it.
	mkdir beside && cd beside
	opened --socket-dir ../dir >second
	[ -S "$(cat ../first)" ]
	[ -S "$(cat second)" ]
	finish
	exec 6>&- 5>&-
	wait "$one"
	cd ..
	assert_equal "$(cd dir && echo *)" 'acp-mcp.longer-name acp-mcp.notour other'
}

# bats test_tags=slow
@test "two servers of one name are refused" {
	run -2 acp-mcp --provide a=X --provide b=X --provide a=Y -- true
	assert_output 'acp-mcp: --provide a=Y: there is a server of this name already'
}

# --- what is reported ---

# bats test_tags=slow
@test "when an agent has opened a session and nobody has come to its server, one line says what may be missing" {
	missing='acp-mcp: server "x": the agent has not started its command: an agent on another machine needs "acp-mcp --" before it there'
	opened --timeout 50ms
	wait_for grep -qxF "$missing" err
	finish
	# Sooner, when a turn has ended.
	opened
	for id in 1 2; do
		client "{\"id\":$id,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"s\"}}"
		await got ".id == $id"
		agent "{\"id\":$id,\"result\":{\"stopReason\":\"end_turn\"}}"
		await out ".id == $id"
	done
	finish
	assert_equal "$(cat err)" "$missing"
	# Not where somebody has come.
	opened
	shim a "$(socket)"
	answer '.method == "mcp/connect"' '{"connectionId":"c"}'
	client '{"id":1,"method":"session/prompt","params":{"sessionId":"s"}}'
	await got '.id == 1'
	agent '{"id":1,"result":{"stopReason":"end_turn"}}'
	await out '.id == 1'
	unshim a
	finish
	[ ! -s err ]
}

@test "in version 2 a turn ends, for that line, with the state idle after a prompt" {
	bridge
	initialize '{"protocolVersion":2,"capabilities":{"session":{"mcp":{"stdio":{}}}}}'
	session s "[$X]"
	state() { agent "{\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{\"sessionUpdate\":\"state_update\",\"state\":\"$1\"}}}"; }
	state idle
	client '{"id":1,"method":"session/prompt","params":{"sessionId":"s"}}'
	await got '.id == 1'
	agent '{"id":1,"result":{}}'
	state running
	await out '.params.update.state == "running"'
	[ ! -s err ]
	state idle
	state idle
	agent '{"method":"after"}'
	await out '.method == "after"'
	finish
	assert_equal "$(grep -c 'the agent has not started its command' err)" 1
}

# bats test_tags=slow
@test "a command that exits with status 0, without being asked to, is reported" {
	bridge acp-mcp --provide 'x=true'
	initialize
	session s '[]'
	shim a "$(socket)"
	wait "${SHIM[a]}"
	unshim a
	finish
	assert_equal "$(cat err)" 'acp-mcp: server "x": true has ended: exit status 0'
	bridge acp-mcp --provide 'x=true'
	initialize '{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"acp":true}}}'
	id=$(session s '[]' | jq -c '.[0].id')
	agent "{\"id\":1,\"method\":\"mcp/connect\",\"params\":{\"acpId\":$id}}"
	await got '.id == 1 and .result'
	wait_for test -s err
	finish
	assert_equal "$(cat err)" 'acp-mcp: server "x": true has ended: exit status 0'
}

# bats test_tags=slow
@test "a line of a command that is not a message is quoted once, and counted when it comes again" {
	bridge acp-mcp --provide "x=sh -c 'for i in 1 2 3 4; do echo starting; done; echo ready; cat >/dev/null; :'"
	initialize '{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"acp":true}}}'
	id=$(session s '[]' | jq -c '.[0].id')
	agent "{\"id\":1,\"method\":\"mcp/connect\",\"params\":{\"acpId\":$id}}"
	await got '.id == 1 and .result'
	wait_for grep -q ready err
	finish
	assert_equal "$(cat err)" 'acp-mcp: server "x": a line of the command is not a message: expected a value: starting
acp-mcp: server "x": repetitions of the last line: 3
acp-mcp: server "x": a line of the command is not a message: expected a value: ready'
}
