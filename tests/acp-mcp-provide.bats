#!/usr/bin/env bats
# acp-mcp --provide: commands that are offered as servers of type acp, to the chain and to the agent behind.

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

# ask ID METHOD PARAMS: the agent's request; ID is told by its answer.
ask() {
	agent "{\"jsonrpc\":\"2.0\",\"id\":$1,\"method\":\"mcp/$2\",\"params\":$3}"
	await got ".id == $1 and .method == null"
}

# bats test_tags=slow
@test "to an agent that does not take them the command is a stdio server, each time it is started" {
	bridge acp-mcp --provide "x=$SERVER x"
	initialize
	session s '[]'
	shim a "$(socket)"
	shim b "$(socket)"
	for name in a b; do
		mcp "$name" "$HELLO" '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}'
		assert_equal "$(await "$name.out" '.id == 1' | jq -r '.result.content[0].text')" 'x: hi'
	done
	unshim a
	wait "${SHIM[a]}"
	mcp b '{"jsonrpc":"2.0","id":2,"method":"ping"}'
	await b.out '.id == 2'
	unshim b
	finish
	run ! grep mcp/ out
	[ ! -s err ]
	leaves_nobody
}

# bats test_tags=slow
@test "in the first form each connection is a command of its own" {
	offer
	one=$(ask 1 connect "{\"acpId\":$ID}" | jq -c .result.connectionId)
	two=$(ask 2 connect "{\"serverId\":$ID}" | jq -c .result.connectionId)
	[ "$one" != "$two" ]
	assert_equal "$(ask 3 message "{\"connectionId\":$one,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"v\"}}" | jq -c .result.protocolVersion)" '"v"'
	assert_equal "$(ask 4 message "{\"connectionId\":$two,\"method\":\"tools/call\",\"params\":{\"name\":\"none\"}}" | jq -c .error)" \
	    '{"code":-32602,"message":"no such tool","data":{"name":"none"}}'
	# The server asks the agent's MCP client.
	agent "{\"id\":5,\"method\":\"mcp/message\",\"params\":{\"connectionId\":$one,\"method\":\"tools/call\",\"params\":{\"name\":\"ask\"}}}"
	request=$(await got '.params.method == "sampling/createMessage"')
	assert_equal "$(jq -c .params.connectionId <<<"$request")" "$one"
	agent "{\"id\":$(jq -c .id <<<"$request"),\"result\":{\"a\":1}}"
	assert_equal "$(await got '.id == 5' | jq -r '.result.content[0].text')" 'answered: {"a":1}'
	assert_equal "$(ask 6 disconnect "{\"connectionId\":$one}" | jq -c .result)" '{}'
	assert_equal "$(ask 7 message "{\"connectionId\":$two,\"method\":\"ping\"}" | jq -c .result)" '{}'
	assert_equal "$(ask 60 message "{\"connectionId\":$one,\"method\":\"ping\"}" | jq -c .error)" \
	    '{"code":-33001,"message":"acp-mcp: there is no such connection any more"}'
	assert_equal "$(ask 61 disconnect "{\"connectionId\":$one}" | jq -c .result)" '{}'
	# What is nobody's here goes on to the client.
	agent '{"id":8,"method":"mcp/message","params":{"connectionId":"x","method":"ping"}}' \
	    '{"id":9,"method":"mcp/connect","params":{"acpId":"no"}}'
	await out '.id == 9'
	assert_equal "$(jq -c 'select(.method).id' out | tr -d '\n')" 89
	finish
	[ ! -s err ]
	leaves_nobody
}

# bats test_tags=slow
@test "in the newest form the handshake with the command is made here, and results say what they must" {
	offer
	run ask 1 message "{\"serverId\":$ID,\"requestId\":\"r\",\"method\":\"server/discover\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/clientInfo\":{\"name\":\"far\",\"version\":\"1\"}}}}"
	assert_equal "$(jq -c .result <<<"$output")" '{"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"instructions":"Use it.","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"x","version":"1"}}}}'
	run ask 2 message "{\"serverId\":$ID,\"requestId\":\"r\",\"method\":\"tools/list\"}"
	assert_equal "$(jq -c .result <<<"$output")" '{"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"echo","inputSchema":{"type":"object"}}]}}'
	run ask 3 message "{\"serverId\":$ID,\"requestId\":\"r\",\"method\":\"tools/call\",\"params\":{\"name\":\"none\"}}"
	assert_equal "$(jq -c .result <<<"$output")" '{"error":{"code":-32602,"message":"no such tool","data":{"name":"none"}}}'
	run ask 4 message "{\"serverId\":$ID,\"requestId\":\"r4\",\"method\":\"tools/call\",\"params\":{\"name\":\"tell\",\"_meta\":{\"progressToken\":\"p\"}}}"
	assert_equal "$(jq -c .result <<<"$output")" '{"result":{"resultType":"complete","content":[{"type":"text","text":"told"}]}}'
	assert_equal "$(jq -c 'select(.method == "mcp/message").params' got)" "{\"serverId\":$ID,\"requestId\":\"r4\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":\"p\",\"progress\":1}}"
	# It can not ask, and once the handshake is over discovering takes no time.
	assert_equal "$(ask 5 message "{\"serverId\":$ID,\"requestId\":\"r\",\"method\":\"tools/call\",\"params\":{\"name\":\"ask\"}}" | jq -r '.result.result.content[0].text')" \
	    'answered: {"code":-32601,"message":"acp-mcp: the client cannot be asked in this form of MCP over ACP"}'
	agent "{\"id\":6,\"method\":\"mcp/message\",\"params\":{\"serverId\":$ID,\"requestId\":\"r\",\"method\":\"server/discover\"}}"
	await got '.id == 6 and .result.result.ttlMs == 0'
	finish
	[ ! -s err ]
}

# bats test_tags=slow
@test "in the newest form only subscribers get notifications of changes" {
	SERVER="${SERVER/ --arg name/ --arg changes yes --arg name}"
	offer
	listen() { agent "{\"id\":$1,\"method\":\"mcp/message\",\"params\":{\"serverId\":$ID,\"requestId\":\"r$1\",\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":$2}}}"; }
	listen 1 '{"toolsListChanged":true,"promptsListChanged":true}'
	listen 2 '{"resourceSubscriptions":["f:1"]}'
	listen 3 '{}'
	acknowledged() { await got ".params.method == \"notifications/subscriptions/acknowledged\" and .params.requestId == \"$1\"" | jq -c '.params.params'; }
	assert_equal "$(acknowledged r1)" '{"_meta":{"io.modelcontextprotocol/subscriptionId":"r1"},"notifications":{"toolsListChanged":true}}'
	assert_equal "$(acknowledged r2)" '{"_meta":{"io.modelcontextprotocol/subscriptionId":"r2"},"notifications":{"resourceSubscriptions":["f:1"]}}'
	assert_equal "$(acknowledged r3 | jq -c .notifications)" '{}'
	change() { ask "$1" message "{\"serverId\":$ID,\"requestId\":\"r$1\",\"method\":\"tools/call\",\"params\":{\"name\":\"change\",\"arguments\":{\"uri\":\"$2\"}}}"; }
	change 4 f:1 >/dev/null
	change 5 f:2 >/dev/null
	assert_equal "$(jq -c 'select(.params.requestId? and (.params.method | contains("subscriptions") | not)).params | [.requestId, .method]' got | sort | uniq -c | tr -s ' \n' ' ')" \
	    ' 2 ["r1","notifications/tools/list_changed"] 1 ["r2","notifications/resources/updated"] '
	# One that is cancelled hears no more; the command knows nothing of it.
	agent '{"method":"$/cancel_request","params":{"requestId":1}}'
	await got '.id == 1 and .error.code == -32800'
	change 6 f:1 >/dev/null
	assert_equal "$(grep -c tools/list_changed got)" 2
	# When the command ends they all do.
	kill -KILL "$(commands)"
	await got '.id == 2 and .error.code == -33002'
	await got '.id == 3 and .error.code == -33002'
	finish
	leaves_nobody
}

# bats test_tags=slow
@test "a change at the one end is reported at the other, whatever is between" {
	SERVER="${SERVER/ --arg name/ --arg changes yes --arg name}"
	for dialect in acpId newest; do
		bridge acp-mcp --provide "x=$SERVER x" -- acp-mcp --dialect $dialect
		initialize
		session s '[]'
		shim a "$(socket)"
		mcp a "$HELLO" '{"jsonrpc":"2.0","method":"notifications/initialized"}' '{"id":1,"method":"resources/subscribe","params":{"uri":"f:1"}}'
		await a.out '.id == 1'
		mcp a '{"id":2,"method":"tools/call","params":{"name":"change","arguments":{"uri":"f:1"}}}'
		await a.out '.method == "notifications/tools/list_changed"'
		await a.out '.method == "notifications/resources/updated" and .params.uri == "f:1"'
		unshim a
		finish
		run ! grep subscriptions a.out
		[ ! -s err ]
		rm -f down up a.in a.out
	done
	leaves_nobody
}

# bats test_tags=slow
@test "one outside offers, one inside bridges: by --dialect in each form" {
	for dialect in '' acpId serverId newest; do
		bridge acp-mcp --provide "x=$SERVER x" -- acp-mcp ${dialect:+--dialect $dialect}
		initialize
		session s '[{"name":"own","command":"c"}]'
		shim a "$(socket)"
		mcp a "$HELLO" '{"jsonrpc":"2.0","method":"notifications/initialized"}' \
		    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}' \
		    '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"tell","_meta":{"progressToken":7}}}'
		assert_equal "$(await a.out '.id == 1' | jq -r '.result.content[0].text')" 'x: hi'
		await a.out '.id == 2'
		await a.out '.method == "notifications/progress"'
		assert_equal "$(jq -c 'select(.id == 0).result | [.protocolVersion, .serverInfo.name, .instructions]' a.out)" '["2025-06-18","x","Use it."]'
		unshim a
		finish
		run ! grep mcp/ out
		[ ! -s err ]
	done
	leaves_nobody
}

# bats test_tags=slow
@test "a command that can not be started: the chain gets an error, the agent's shim an end" {
	bridge acp-mcp --provide 'x=./no-such-command'
	initialize '{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"acp":true}}}'
	ID=$(session s '[]' | jq -c '.[0].id')
	assert_equal "$(ask 1 connect "{\"acpId\":$ID}" | jq -c .error)" '{"code":-33002,"message":"acp-mcp: the server could not be started"}'
	assert_equal "$(ask 2 message "{\"serverId\":$ID,\"requestId\":\"r\",\"method\":\"m\"}" | jq -c .error.code)" -33002
	finish
	bridge acp-mcp --provide 'x=./no-such-command'
	initialize
	session s '[]'
	shim a "$(socket)"
	wait "${SHIM[a]}"
	[ ! -s a.out ]
	finish
	grep -q '^acp-mcp: .*no-such-command' err
}

# bats test_tags=slow
@test "a command that ends, or is killed, leaves errors and one line; the next connection starts another" {
	offer
	one=$(ask 1 connect "{\"acpId\":$ID}" | jq -c .result.connectionId)
	two=$(ask 2 connect "{\"acpId\":$ID}" | jq -c .result.connectionId)
	agent "{\"id\":3,\"method\":\"mcp/message\",\"params\":{\"connectionId\":$one,\"method\":\"tools/call\",\"params\":{\"name\":\"never\"}}}"
	ask 4 message "{\"connectionId\":$one,\"method\":\"ping\"}"
	kill -KILL "$(commands | head -n 1)"
	wait_for grep -q KILL err
	kill -KILL "$(commands | head -n 1)"
	assert_equal "$(await got '.id == 3' | jq -c .error)" '{"code":-33002,"message":"acp-mcp: the server has ended"}'
	assert_equal "$(ask 5 message "{\"connectionId\":$one,\"method\":\"ping\"}" | jq -c .error)" '{"code":-33001,"message":"acp-mcp: the server has ended"}'
	assert_equal "$(ask 6 disconnect "{\"connectionId\":$one}" | jq -c .result)" '{}'
	three=$(ask 7 connect "{\"acpId\":$ID}" | jq -c .result.connectionId)
	assert_equal "$(ask 8 message "{\"connectionId\":$three,\"method\":\"ping\"}" | jq -c .result)" '{}'
	ask 9 message "{\"serverId\":$ID,\"requestId\":\"r\",\"method\":\"tools/list\"}" >/dev/null
	ask 10 disconnect "{\"connectionId\":$three}" >/dev/null
	kill -KILL "$(commands)"
	wait_for eval '[ "$(grep -c KILL err)" -eq 3 ]'
	assert_equal "$(ask 11 message "{\"serverId\":$ID,\"requestId\":\"r\",\"method\":\"tools/list\"}" | jq -c .result.result.resultType)" '"complete"'
	finish
	assert_equal "$(sort -u err)" 'acp-mcp: server "x": jq has ended: signal KILL'
	leaves_nobody
}

# bats test_tags=slow
@test "a command that has ended is no server any more, though a process that it has left holds its output; that is ended, too" {
	cat >leaving <<-'EOS'
		#!/bin/sh
		trap '' TERM
		sleep 1000 &
		echo $! >left
		read -r line
		exit 3
	EOS
	chmod +x leaving
	gone() { ! kill -0 "$(cat left)" 2>/dev/null; }
	offer ./leaving
	one=$(ask 1 connect "{\"acpId\":$ID}" | jq -c .result.connectionId)
	assert_equal "$(ask 2 message "{\"connectionId\":$one,\"method\":\"ping\"}" | jq -c .error.code)" -33002
	assert_equal "$(ask 3 message "{\"connectionId\":$one,\"method\":\"ping\"}" | jq -c .error.code)" -33001
	wait_for gone
	assert_equal "$(ask 4 message "{\"serverId\":$ID,\"requestId\":\"r\",\"method\":\"ping\"}" | jq -c .error.code)" -33002
	finish
	wait_for gone
	# One that serves a shim.
	bridge acp-mcp --provide x=./leaving
	initialize
	session s '[]'
	shim a "$(socket)"
	mcp a '{"id":1,"method":"ping"}'
	wait "${SHIM[a]}"
	finish
	wait_for gone
	assert_equal "$(cat err)" 'acp-mcp: server "x": ./leaving has ended: exit status 3'
}

@test "a command that closes its output is reported when it ends, though the agent disconnects first" {
	cat >closing <<-'EOS'
		#!/bin/sh
		read -r line
		exec >&-
		sleep 0.5
		exit 5
	EOS
	chmod +x closing
	offer ./closing
	one=$(ask 1 connect "{\"acpId\":$ID}" | jq -c .result.connectionId)
	assert_equal "$(ask 2 message "{\"connectionId\":$one,\"method\":\"ping\"}" | jq -c .error.code)" -33002
	assert_equal "$(ask 3 disconnect "{\"connectionId\":$one}" | jq -c .result)" '{}'
	wait_for test -s err
	finish
	assert_equal "$(cat err)" 'acp-mcp: server "x": ./closing has ended: exit status 5'
}

# bats test_tags=slow
@test "a command that does not read is given up, and its end then is not reported" {
	cat >deaf <<-'EOS'
		#!/bin/sh
		until grep -q 'does not read' err; do sleep 0.05; done
	EOS
	chmod +x deaf
	bridge acp-mcp --max-line 1M --timeout 1s --provide x=./deaf
	initialize '{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"acp":true}}}'
	ID=$(session s '[]' | jq -c '.[0].id')
	one=$(ask 1 connect "{\"acpId\":$ID}" | jq -c .result.connectionId)
	printf '{"jsonrpc":"2.0","method":"mcp/message","params":{"connectionId":%s,"method":"m","params":{"x":"%0900000d"}}}\n' "$one" 0 >line
	cat line line line >&7
	wait_for test -s err
	assert_equal "$(ask 3 disconnect "{\"connectionId\":$one}" | jq -c .result)" '{}'
	finish
	assert_equal "$(cat err)" 'acp-mcp: server "x": the command does not read: closing the connection'
}

# The commands that serve, by their pids.
commands() {
	wait_for pgrep -P "$BRIDGE" -x jq >/dev/null
	pgrep -P "$BRIDGE" -x jq
}

# bats test_tags=slow
@test "a command that does not end by itself is ended: with its connection, and at the end" {
	cat >stubborn <<-'END'
		trap '' TERM
		echo $$ >>pids
		while read -r line; do :; done
		while :; do sleep 1; done
	END
	bridge acp-mcp --provide 'x=bash stubborn'
	initialize '{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"acp":true}}}'
	ID=$(session s '[]' | jq -c '.[0].id')
	one=$(ask 1 connect "{\"acpId\":$ID}" | jq -c .result.connectionId)
	wait_for test -s pids
	ask 2 disconnect "{\"connectionId\":$one}"
	wait_for eval '! kill -0 "$(cat pids)" 2>/dev/null'
	for i in 3 4 5; do ask $i connect "{\"acpId\":$ID}"; done
	wait_for eval '[ "$(wc -l <pids)" -eq 4 ]'
	finish
	leaves_nobody
	rm pids
	# One that serves a shim.
	bridge acp-mcp --provide 'x=bash stubborn'
	initialize
	session s '[]'
	shim a "$(socket)"
	wait_for test -s pids
	kill -KILL "${SHIM[a]}"
	wait_for eval '! kill -0 "$(cat pids)" 2>/dev/null'
	finish
	leaves_nobody
}

# bats test_tags=slow
@test "at the end a command may do on SIGTERM what it must before it ends" {
	cat >tidy <<-'END'
		trap 'ls / >/dev/null; echo saved >saved; exit' TERM
		echo $$ >>pids
		while read -r line; do :; done
		while :; do sleep 1; done
	END
	bridge acp-mcp --provide 'x=bash tidy'
	initialize '{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"acp":true}}}'
	ID=$(session s '[]' | jq -c '.[0].id')
	ask 1 connect "{\"acpId\":$ID}"
	wait_for test -s pids
	finish
	assert_equal "$(<saved)" saved
	leaves_nobody
}

# bats test_tags=slow
@test "what a command writes that is not a message is said, and does no harm" {
	bridge acp-mcp --provide "x=sh -c 'echo starting...; echo 5; $SERVER x'"
	initialize '{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"acp":true}}}'
	ID=$(session s '[]' | jq -c '.[0].id')
	one=$(ask 1 connect "{\"acpId\":$ID}" | jq -c .result.connectionId)
	assert_equal "$(ask 2 message "{\"connectionId\":$one,\"method\":\"ping\"}" | jq -c .result)" '{}'
	finish
	assert_equal "$(grep -c 'server "x": a line of the command is not a message' err)" 2
}

@test "as provider and bridge in one, acp-mcp connects the agent and a command directly: lines pass as they are, at any length" {
	bridge acp-mcp --max-line 1K --provide "x=sh -c 'echo starting...; printf %02000d 0; echo; cat'"
	initialize
	session s '[]'
	shim a "$(socket)"
	mcp a '[]'
	wait_for grep -qxF '[]' a.out
	assert_equal "$(cat a.out)" "$(printf 'starting...\n%02000d\n[]' 0)"
	unshim a
	wait "${SHIM[a]}"
	finish
	[ ! -s err ]
}

# bats test_tags=slow
@test "what is malformed in a message for one of ours is refused" {
	offer
	one=$(ask 1 connect "{\"acpId\":$ID}" | jq -c .result.connectionId)
	assert_equal "$(ask 2 message "{\"connectionId\":$one}" | jq -c .error)" '{"code":-32602,"message":"acp-mcp: mcp/message without a method"}'
	assert_equal "$(ask 3 message "{\"connectionId\":$one,\"method\":7}" | jq -c .error.code)" -32602
	assert_equal "$(ask 4 message "{\"serverId\":$ID,\"requestId\":\"r\",\"method\":null}" | jq -c .error.code)" -32602
	agent "{\"id\":5,\"method\":\"mcp/message\",\"params\":[]}" '{"id":6,"method":"mcp/message"}' '{"id":7,"method":"mcp/disconnect","params":{"connectionId":7}}' \
	    '{"method":"$/cancel_request"}' '{"method":"$/cancel_request","params":{"requestId":{}}}'
	await out '.id == 7'
	assert_equal "$(ask 8 message "{\"connectionId\":$one,\"method\":\"ping\"}" | jq -c .result)" '{}'
	finish
}

# bats test_tags=slow
@test "a server has at most --max-connections processes, 16 by default; one that is refused gets an error, one that ends makes room" {
	bridge acp-mcp --provide "x=$SERVER x" --provide "y=$SERVER y" --max-connections 2
	initialize '{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"acp":true}}}'
	servers=$(session s '[]')
	x=$(jq -c '.[0].id' <<<"$servers") y=$(jq -c '.[1].id' <<<"$servers")
	one=$(ask 1 connect "{\"acpId\":$x}" | jq -c .result.connectionId)
	ask 2 connect "{\"acpId\":$x}" | jq -e .result.connectionId
	assert_equal "$(ask 3 connect "{\"acpId\":$x}" | jq -c .error)" '{"code":-33000,"message":"acp-mcp: too many connections"}'
	assert_equal "$(ask 4 message "{\"serverId\":$x,\"requestId\":\"r\",\"method\":\"tools/list\"}" | jq -c .error.code)" -33000
	# Each server has a limit of its own.
	ask 5 connect "{\"acpId\":$y}" | jq -e .result.connectionId
	ask 6 disconnect "{\"connectionId\":$one}" >/dev/null
	again() {
		((++n))
		ask "$((100 + n))" connect "{\"acpId\":$x}" | jq -e .result.connectionId
	}
	n=0
	wait_for again
	assert_equal "$(ask 7 message "{\"connectionId\":$one,\"method\":\"ping\"}" | jq -c .error.code)" -33001
	finish
	offer 'sh -c "read -r end"'
	for i in {1..16}; do
		ask "$i" connect "{\"acpId\":$ID}" | grep '"result":{"connectionId":"'
	done
	assert_equal "$(ask 17 connect "{\"acpId\":$ID}" | jq -c .error.code)" -33000
	finish
	leaves_nobody
}

# bats test_tags=slow
@test "shims beyond --max-connections are closed, with a line" {
	bridge acp-mcp --provide "x=$SERVER x" --max-connections 1
	initialize
	session s '[]'
	shim a "$(socket)"
	mcp a "$HELLO"
	await a.out '.id == 0' >/dev/null
	shim b "$(socket)"
	wait "${SHIM[b]}" || true
	[ ! -s b.out ]
	grep -x 'acp-mcp: server "x": a connection is refused: there are 1 (--max-connections)' err
	mcp a '{"jsonrpc":"2.0","id":1,"method":"ping"}'
	await a.out '.id == 1'
	unshim a
	finish
}

# bats test_tags=slow
@test "a cancellation of a request that was responded to here does not reach the client; others do" {
	offer
	ask 1 connect "{\"acpId\":$ID}" >/dev/null
	agent '{"method":"$/cancel_request","params":{"requestId":1}}' '{"method":"$/cancel_request","params":{"requestId":"never"}}' \
	    '{"id":2,"method":"_x/ask"}' '{"method":"$/cancel_request","params":{"requestId":2}}' '{"method":"_x/end"}'
	await out '.method == "_x/end"'
	assert_equal "$(jq -c 'select(.method == "$/cancel_request").params.requestId' out)" 2
	finish
}
