#!/usr/bin/env bats
# acp-inject beside a chain that runs: it sends, and changes nothing.

setup() {
	load lib
	load attach
	attach_setup
	INITIALIZED='{"t":0.1,"at":0,"from":"client","msg":{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}}
{"t":0.2,"at":0,"from":"agent","msg":{"jsonrpc":"2.0","id":0,"result":{}}}'
}

teardown() {
	attach_teardown
}

@test "after:initialize happens at once: who joins learns how the chain was initialized" {
	conduct socket
	attach acp-inject --send 'down:after:initialize={method:"session/cancel",params:{sessionId:"s"}}'
	printf '%s\n' "$HEADER" "$INITIALIZED" >&9
	wait_for grep -q got log
	run cat log
	assert_output - <<-'END'
		asked {"want":"join"}
		got {"from":"client","msg":{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}}
	END
	exec 9>&-
	ends 0
	assert_equal "$(<seen)" ""
}

@test "--leave: it ends when all is sent and answered" {
	conduct socket
	attach acp-inject -v --leave --send 'down:after:initialize={method:"a"}' --send 'up:after:go={method:"b"}'
	printf '%s\n' "$HEADER" "$INITIALIZED" >&9
	wait_for grep -q '"a"' log
	echo '{"t":1,"from":"client","msg":{"jsonrpc":"2.0","method":"go"}}' >&9
	wait_for grep -q '"b"' log
	a=$(grep '"a"' log | grep -o '"id":"[^"]*"')
	b=$(grep '"b"' log | grep -o '"id":"[^"]*"')
	echo "{\"t\":2,\"from\":\"agent\",\"to\":\"guest\",\"msg\":{\"jsonrpc\":\"2.0\",$a,\"result\":1}}" >&9
	wait_for grep -q 'a: 1' seen
	kill -0 "$filter"
	echo "{\"t\":2,\"from\":\"client\",\"to\":\"guest\",\"msg\":{\"jsonrpc\":\"2.0\",$b,\"result\":2}}" >&9
	ends 0
	wait_for grep -q left log
}

@test "--leave: a response that is an error, a program that fails, a chain that ends before: status 1" {
	conduct socket
	attach acp-inject --leave --send 'down:after:initialize={method:"a"}'
	printf '%s\n' "$HEADER" "$INITIALIZED" >&9
	wait_for grep -q '"a"' log
	a=$(grep '"a"' log | grep -o '"id":"[^"]*"')
	echo "{\"t\":2,\"from\":\"agent\",\"to\":\"guest\",\"msg\":{\"jsonrpc\":\"2.0\",$a,\"error\":{\"code\":1,\"message\":\"no\"}}}" >&9
	ends 1
	assert_equal "$(<seen)" 'acp-inject: a: refused: {"code":1,"message":"no"}'
	exec 9>&-
	wait "$conductor"

	rm socket
	conduct socket
	attach acp-inject --leave --send 'down:after:initialize=.x.y.z | error("bad")'
	printf '%s\n' "$HEADER" "$INITIALIZED" >&9
	ends 1
	grep -q 'nothing sent' seen
	exec 9>&-
	wait "$conductor"

	rm socket
	conduct socket
	attach acp-inject --leave --send 'down:after:initialize={method:"a"}'
	printf '%s\n' "$HEADER" "$INITIALIZED" >&9
	wait_for grep -q '"a"' log
	exec 9>&-
	ends 1
	assert_equal "$(<seen)" "acp-inject: ended before everything was sent and had its response"
}

@test "what is lost is reported" {
	conduct socket
	attach acp-inject --send 'down:after:x={method:"x"}'
	printf '%s\n' "$HEADER" '{"t":1.000000,"at":0,"event":"lost","count":3,"why":"its reader is too slow"}' >&9
	exec 9>&-
	ends 125
	run cat seen
	assert_output - <<-'END'
		acp-inject: 3 messages were lost: a --send that waits for one of them sends nothing
		acp-inject: 3 messages were lost: its reader is too slow
	END
}

# bats test_tags=slow
@test "rules that edit, respond, or must act before a message are refused before anything is asked" {
	conduct socket
	for rule in '-e .' '--prepend x' '--append x' '--mcp-server {"name":"x","command":"y"}' '--answer x=1' \
		'--deny x' '--send down:before:x={method:"y"}' '--send down:answer:x={method:"y"}'; do
		run acp-inject --attach socket "${rule%% *}" "${rule#* }" --send 'down:after:x={method:"y"}'
		assert_failure 2
		assert_output "acp-inject: --attach can only watch, send, and permit: to change messages, or answer others, a tool must be part of the chain (use -- COMMAND, acp-conduct -f, or a proxy chain)"
	done
	assert_equal "$(<log)" ""
	run acp-inject --leave --send 'down:after:x={method:"y"}' -- cat
	assert_failure 2
	assert_output "acp-inject: --leave requires --attach"
	run acp-inject --hop 1 --send 'down:after:x={method:"y"}' -- cat
	assert_failure 2
	assert_output "acp-inject: --hop requires --attach"
}
