#!/usr/bin/env bats
# acp-replay as the agent.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load replay
	lib_setup
}

teardown() {
	end_left_over
}

@test "responses carry the client's own ids, byte for byte" {
	recording s.rec <<-'END'
		> {"id":1,"method":"a"}
		< {"id":1,"result":"first"}
		> {"id":2,"method":"a"}
		< {"id":2,"error":{"code":1,"message":"second"}}
		> {"id":3,"method":"a"}
		< {"id":3,"result":"third"}
		> {"id":"\u0034","method":"a"}
		< {"id":"4","result":"fourth"}
	END
	run acp-replay s.rec <<-'END'
		{"id":"\u0041 \"x\" é","method":"a"}
		{"id":10e0,"method":"a"}
		{"id":null,"method":"a"}
		{"id":18446744073709551616,"method":"a"}
	END
	assert_success
	assert_output - <<-'END'
		{"id":"\u0041 \"x\" é","result":"first"}
		{"id":10e0,"error":{"code":1,"message":"second"}}
		{"id":null,"result":"third"}
		{"id":18446744073709551616,"result":"fourth"}
	END
}

@test "what the agent sent goes out after the client's messages that it had seen by then" {
	a_session
	play_agent s.rec
	tell '{"id":"i","method":"initialize","params":{"protocolVersion":1}}'
	hear
	assert_equal "$line" '{"jsonrpc":"2.0","id":"i","result":{"protocolVersion":1}}'
	tell '{"id":"n","method":"session/new","params":{}}'
	hear
	assert_equal "$line" '{"jsonrpc":"2.0","id":"n","result":{"sessionId":"A"}}'
	tell '{"id":"p","method":"session/prompt","params":{"sessionId":"A"}}'
	hear
	assert_equal "$line" '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"A","n":1}}'
	hear
	assert_equal "$line" '{"jsonrpc":"2.0","id":0,"method":"fs/read_text_file","params":{"path":"/x"}}'
	# The turn does not end before the agent's request is answered: this comes first.
	tell '{"id":"nobody","method":"x"}'
	hear
	assert_regex "$line" '"id":"nobody","error"'
	tell '{"id":0,"result":{"content":"y"}}'
	hear
	assert_equal "$line" '{"jsonrpc":"2.0","id":"p","result":{"stopReason":"end_turn"}}'
	hang_up
	assert_equal "$status" 1
}

@test "--on-miss wait: messages that come early are kept until their turn" {
	a_session
	run --separate-stderr acp-replay --on-miss wait s.rec <<-'END'
		{"id":"q","method":"session/prompt","params":{"sessionId":"A"}}
		{"id":"p","method":"session/prompt","params":{"sessionId":"A"}}
		{"id":"n","method":"session/new","params":{}}
		{"id":"i","method":"initialize","params":{"protocolVersion":1}}
	END
	assert_failure 1
	# Of one method the first that comes is the first.
	assert_line --index 0 --partial '"id":"i","result"'
	assert_line --index 1 --partial '"id":"n","result"'
	assert_line --index 2 --partial '"session/update"'
	assert_line --index 3 --partial '"fs/read_text_file"'
	assert_equal "${#lines[@]}" 4
	assert_equal "$stderr" 'acp-replay: s.rec:8: the client left before the response to "fs/read_text_file"; not played: 1 of the client'\''s messages and 2 of the agent'\''s'
}

@test "a method is the same however it is escaped" {
	a_session
	run acp-replay s.rec <<<'{"id":1,"method":"\u0069nitialize","params":{"protocolVersion":1}}'
	assert_line '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
}

@test "a request and a notification of the same method are two things" {
	recording s.rec <<-'END'
		> {"method":"a"}
		< {"method":"seen"}
		> {"id":1,"method":"a"}
		< {"id":1,"result":{}}
	END
	run acp-replay s.rec <<-'END'
		{"id":5,"method":"a"}
		{"method":"a"}
	END
	assert_success
	assert_output $'{"method":"seen"}\n{"id":5,"result":{}}'
}

@test "a request that the rest of the recording does not have is answered with an error: exit 1" {
	a_session
	run acp-replay s.rec <<-'END'
		{"id":"i","method":"initialize","params":{"protocolVersion":1}}
		{"id":"j","method":"initialize","params":{"protocolVersion":1}}
		{"id":"k","method":"session/list"}
		{"id":"n","method":"session/new","params":{}}
		{"id":"p","method":"session/prompt","params":{"sessionId":"A"}}
		{"id":0,"result":{}}
		{"id":"q","method":"session/prompt","params":{"sessionId":"A"}}
	END
	assert_failure 1
	assert_line '{"jsonrpc":"2.0","id":"j","error":{"code":-32603,"message":"acp-replay: not recorded: the next expected request is \"session/new\" of s.rec:3","data":{"expected":{"record":3,"method":"session/new"},"differences":[]}}}'
	assert_line 'acp-replay: client: line 2: "initialize" gets an error response: not recorded: the next expected request is "session/new" of s.rec:3'
	assert_line 'acp-replay: client: line 3: "session/list" gets an error response: not recorded: the next expected request is "session/new" of s.rec:3'
	# All else is played.
	assert_line '{"jsonrpc":"2.0","id":"q","result":{"stopReason":"end_turn"}}'
}

@test "a notification that the rest of the recording does not have is ignored: exit 1" {
	recording s.rec <<-'END'
		> {"id":1,"method":"a"}
		< {"id":1,"result":{}}
	END
	run acp-replay s.rec <<-'END'
		{"method":"b"}
		{"id":1,"method":"a"}
	END
	assert_failure 1
	assert_line 'acp-replay: client: line 1: ignored: the rest of the recording has no matching notification "b"'
	assert_line '{"id":1,"result":{}}'
}

@test "a response to no open request is ignored: exit 1" {
	a_session
	run acp-replay s.rec <<-'END'
		{"id":0,"result":{}}
		{"id":"i","method":"initialize","params":{"protocolVersion":1}}
	END
	assert_failure 1
	assert_line 'acp-replay: client: line 1: ignored: a response to no open request, id 0'
}

@test "a second answer to the same request is ignored: exit 1" {
	recording s.rec <<-'END'
		< {"id":1,"method":"a"}
		> {"id":2,"method":"wait"}
		< {"id":2,"result":"a is not answered yet"}
		> {"id":1,"result":1}
	END
	play_agent s.rec
	hear
	tell '{"id":1,"result":1}'
	tell '{"id":1,"result":2}'
	tell '{"id":2,"method":"wait"}'
	hear
	assert_equal "$line" '{"id":2,"result":"a is not answered yet"}'
	hang_up
	assert_equal "$status" 1
	assert_equal "$(cat err)" 'acp-replay: client: line 2: ignored: a response to no open request, id 1'
}

@test "a response that the recording never has is reported at the end: exit 1" {
	recording s.rec <<-'END'
		> {"id":1,"method":"a"}
		< {"id":1,"method":"b"}
		< {"id":1,"result":{}}
	END
	play_agent s.rec
	tell '{"id":1,"method":"a"}'
	hear
	hear
	tell '{"id":1,"result":{}}'
	hang_up
	assert_equal "$status" 1
	assert_equal "$(cat err)" 'acp-replay: client: line 2: the recording has no response to "b"'
}

@test "a cancel is awaited where the recording has it" {
	recording s.rec <<-'END'
		> {"id":1,"method":"session/prompt","params":{"sessionId":"A"}}
		> {"method":"session/cancel","params":{"sessionId":"A"}}
		< {"id":1,"result":{"stopReason":"cancelled"}}
	END
	run acp-replay s.rec <<-'END'
		{"id":1,"method":"session/prompt","params":{"sessionId":"A"}}
		{"method":"session/cancel","params":{"sessionId":"A"}}
	END
	assert_success
	assert_output '{"id":1,"result":{"stopReason":"cancelled"}}'
}

# Two turns: in the first the client is asked for something, the second is cancelled.
two_turns() {
	recording s.rec <<-'END'
		> {"id":1,"method":"session/prompt","params":{"sessionId":"A"}}
		< {"id":7,"method":"session/request_permission","params":{"sessionId":"A"}}
		> {"id":7,"result":{"outcome":{"outcome":"selected"}}}
		< {"method":"session/update","params":{"sessionId":"A","update":"allowed"}}
		< {"id":1,"result":{"stopReason":"end_turn"}}
		> {"id":3,"method":"session/prompt","params":{"sessionId":"A"}}
		> {"method":"session/cancel","params":{"sessionId":"A"}}
		< {"id":3,"result":{"stopReason":"cancelled"}}
	END
}

@test "a cancel that the recording does not have ends the open turn as cancelled, and no later one: exit 1" {
	two_turns
	play_agent s.rec
	tell '{"id":1,"method":"session/prompt","params":{"sessionId":"A"}}'
	hear
	assert_equal "$line" '{"id":7,"method":"session/request_permission","params":{"sessionId":"A"}}'
	tell '{"method":"session/cancel","params":{"sessionId":"\u0041"}}'
	hear
	assert_equal "$line" '{"jsonrpc":"2.0","id":1,"result":{"stopReason":"cancelled"}}'
	# The answer to what was asked comes late, as it should, and is nothing to be told.
	tell '{"id":7,"result":{"outcome":{"outcome":"cancelled"}}}'
	tell '{"id":3,"method":"session/prompt","params":{"sessionId":"A"}}'
	tell '{"method":"session/cancel","params":{"sessionId":"A"}}'
	hear
	assert_equal "$line" '{"id":3,"result":{"stopReason":"cancelled"}}'
	hang_up
	assert_equal "$status" 1
	assert_equal "$(cat err)" 'acp-replay: client: line 2: the recording has no session/cancel here: ended the turn as cancelled'
}

@test "what a cancelled turn would still have asked for is asked no more, and not waited for" {
	recording s.rec <<-'END'
		> {"id":1,"method":"session/prompt","params":{"sessionId":"A"}}
		< {"id":7,"method":"session/request_permission","params":{"sessionId":"A"}}
		> {"id":7,"result":{}}
		< {"id":8,"method":"session/request_permission","params":{"sessionId":"A"}}
		> {"id":8,"result":{}}
		< {"id":9,"method":"session/request_permission","params":{"sessionId":"A"}}
		< {"id":1,"result":{"stopReason":"end_turn"}}
		> {"id":9,"result":{}}
		< {"method":"session/update","params":{"sessionId":"A"}}
	END
	play_agent s.rec
	tell '{"id":1,"method":"session/prompt","params":{"sessionId":"A"}}'
	hear
	tell '{"method":"session/cancel","params":{"sessionId":"A"}}'
	hear
	assert_equal "$line" '{"jsonrpc":"2.0","id":1,"result":{"stopReason":"cancelled"}}'
	hear
	assert_equal "$line" '{"method":"session/update","params":{"sessionId":"A"}}'
	tell '{"id":7,"result":{}}'
	hang_up
	assert_equal "$status" 1
	assert_equal "$rest" ''
}

@test "a cancelled turn is not waited for, whatever the client sent in it" {
	recording s.rec <<-'END'
		> {"id":1,"method":"session/prompt","params":{"sessionId":"A"}}
		< {"id":7,"method":"session/request_permission","params":{"sessionId":"A"}}
		> {"id":2,"method":"session/set_mode","params":{"sessionId":"A"}}
		< {"id":2,"result":{}}
		> {"id":7,"result":{}}
		< {"id":1,"result":{"stopReason":"end_turn"}}
		> {"id":3,"method":"session/set_mode","params":{"sessionId":"A"}}
		< {"method":"session/update","params":{"sessionId":"A"}}
		< {"id":3,"result":{}}
	END
	play_agent s.rec
	tell '{"id":1,"method":"session/prompt","params":{"sessionId":"A"}}'
	hear
	tell '{"id":2,"method":"session/set_mode","params":{"sessionId":"A"}}'
	hear
	# It looks for this request behind the response to its own.
	tell '{"id":8,"method":"session/nothing","params":{"sessionId":"A"}}'
	hear
	tell '{"method":"session/cancel","params":{"sessionId":"A"}}'
	hear
	assert_equal "$line" '{"jsonrpc":"2.0","id":1,"result":{"stopReason":"cancelled"}}'
	tell '{"id":3,"method":"session/set_mode","params":{"sessionId":"A"}}'
	hear
	assert_equal "$line" '{"method":"session/update","params":{"sessionId":"A"}}'
	hear
	assert_equal "$line" '{"id":3,"result":{}}'
	hang_up
	assert_equal "$status" 1
}

@test "a prompt that was recorded in a cancelled turn has a turn of its own, which waits for it" {
	recording s.rec <<-'END'
		> {"id":1,"method":"session/prompt","params":{"sessionId":"A"}}
		< {"id":7,"method":"session/request_permission","params":{"sessionId":"A"}}
		> {"id":7,"result":{}}
		> {"id":2,"method":"session/prompt","params":{"sessionId":"A"}}
		< {"id":1,"result":{"stopReason":"end_turn"}}
		< {"method":"session/update","params":{"sessionId":"A","update":"two"}}
		< {"id":2,"result":{"stopReason":"end_turn"}}
	END
	play_agent s.rec
	tell '{"id":1,"method":"session/prompt","params":{"sessionId":"A"}}'
	hear
	tell '{"method":"session/cancel","params":{"sessionId":"A"}}'
	hear
	assert_equal "$line" '{"jsonrpc":"2.0","id":1,"result":{"stopReason":"cancelled"}}'
	tell '{"id":8,"method":"session/nothing","params":{"sessionId":"A"}}'
	hear
	assert_equal "$(jq -c '[.id, .error.code]' <<<"$line")" '[8,-32603]'
	tell '{"id":2,"method":"session/prompt","params":{"sessionId":"A"}}'
	hear
	assert_equal "$line" '{"method":"session/update","params":{"sessionId":"A","update":"two"}}'
	hear
	assert_equal "$line" '{"id":2,"result":{"stopReason":"end_turn"}}'
	hang_up
	assert_equal "$status" 1
}

@test "a cancel when no turn is open is ignored, and does not cancel a later one: exit 1" {
	two_turns
	play_agent s.rec
	tell '{"method":"session/cancel","params":{"sessionId":"A"}}'
	tell '{"method":"session/cancel","params":{"sessionId":"B"}}'
	tell '{"id":1,"method":"session/prompt","params":{"sessionId":"A"}}'
	hear
	tell '{"id":7,"result":{"outcome":{"outcome":"selected"}}}'
	hear
	hear
	assert_equal "$line" '{"id":1,"result":{"stopReason":"end_turn"}}'
	tell '{"id":3,"method":"session/prompt","params":{"sessionId":"A"}}'
	tell '{"method":"session/cancel","params":{"sessionId":"A"}}'
	hear
	assert_equal "$line" '{"id":3,"result":{"stopReason":"cancelled"}}'
	hang_up
	assert_equal "$status" 1
	assert_equal "$(cat err)" "$(printf 'acp-replay: client: line %d: ignored: no turn is open that it could cancel\n' 1 2)"
}

@test "a cancelled turn of v2 ends with an idle state" {
	recording s.rec <<-'END'
		> {"id":1,"method":"session/prompt","params":{"sessionId":"A"}}
		< {"id":1,"result":{"messageId":"m"}}
		< {"id":7,"method":"session/request_permission","params":{"sessionId":"A"}}
		> {"id":7,"result":{"outcome":{"outcome":"selected"}}}
		< {"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn"}}}
		> {"id":3,"method":"session/prompt","params":{"sessionId":"A"}}
		< {"id":3,"result":{"messageId":"n"}}
	END
	play_agent s.rec
	tell '{"id":1,"method":"session/prompt","params":{"sessionId":"A"}}'
	hear
	hear
	tell '{"method":"session/cancel","params":{"sessionId":"A"}}'
	hear
	assert_equal "$line" '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"state_update","state":"idle","stopReason":"cancelled"}}}'
	tell '{"id":3,"method":"session/prompt","params":{"sessionId":"A"}}'
	hear
	assert_equal "$line" '{"id":3,"result":{"messageId":"n"}}'
	hang_up
	assert_equal "$status" 1
}

@test "a cancelled turn ends as cancelled only for the session that is meant" {
	{
		for s in A B; do
			printf '> {"id":"%s","method":"session/prompt","params":{"sessionId":"%s"}}\n' "$s" "$s"
			printf '< {"id":"ask %s","method":"session/request_permission","params":{"sessionId":"%s"}}\n' "$s" "$s"
		done
		for s in A B; do
			printf '> {"id":"ask %s","result":{}}\n< {"id":"%s","result":{"stopReason":"end_turn"}}\n' "$s" "$s"
		done
	} | recording s.rec
	play_agent s.rec
	tell '{"id":1,"method":"session/prompt","params":{"sessionId":"A"}}'
	tell '{"id":2,"method":"session/prompt","params":{"sessionId":"B"}}'
	hear
	hear
	tell '{"method":"session/cancel","params":{"sessionId":"B"}}'
	hear
	assert_equal "$line" '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"cancelled"}}'
	tell '{"id":"ask A","result":{}}'
	hear
	assert_equal "$line" '{"id":1,"result":{"stopReason":"end_turn"}}'
	hang_up
	assert_equal "$status" 1
}

@test "a client that leaves before the end: exit 1, and what is left" {
	a_session
	run --separate-stderr acp-replay s.rec </dev/null
	assert_failure 1
	assert_output ''
	assert_equal "$stderr" 'acp-replay: s.rec:1: the client left before "initialize"; not played: 5 of the client'\''s messages and 6 of the agent'\''s'
}

@test "when all is played the agent stays until the client leaves" {
	a_session
	head -n 2 s.rec >short.rec
	play_agent short.rec
	tell '{"id":1,"method":"initialize","params":{"protocolVersion":1}}'
	hear
	# Still there: it answers.
	tell '{"id":2,"method":"initialize","params":{"protocolVersion":1}}'
	hear
	assert_regex "$line" '"id":2,"error"'
	hang_up
	assert_equal "$status" 1
}

@test "all played, the client has left: exit 0 and nothing more is sent" {
	a_session
	head -n 2 s.rec >short.rec
	play_agent short.rec
	tell '{"id":1,"method":"initialize","params":{"protocolVersion":1}}'
	hear
	hang_up
	assert_equal "$status" 0
	assert_equal "$rest" ''
	assert_equal "$(cat err)" ''
}

@test "an agent that ended in the recording ends there, with its status" {
	recording s.rec <<-'END'
		> {"id":1,"method":"a"}
		< {"id":1,"result":{}}
		{"t":1,"event":"exit","status":3}
	END
	play_agent s.rec
	tell '{"id":1,"method":"a"}'
	hear
	# Our end is still open: it does not wait for it.
	run ! hear
	status=0
	wait "$pid" || status=$?
	assert_equal "$status" 3
}

@test "an agent that was killed in the recording: exit 128 + N" {
	recording s.rec <<-'END'
		> {"id":1,"method":"a"}
		{"t":1,"event":"exit","signal":"KILL"}
	END
	run acp-replay s.rec <<<'{"id":1,"method":"a"}'
	assert_failure 137
}

@test "an agent that a signal without a name here has killed: a failure" {
	recording s.rec <<-'END'
		> {"id":1,"method":"a"}
		{"t":1,"event":"exit","signal":"INFO"}
	END
	run acp-replay s.rec <<<'{"id":1,"method":"a"}'
	assert_failure 254
}

@test "an agent that ended when the client had left waits for that" {
	recording s.rec <<-'END'
		> {"id":1,"method":"a"}
		< {"id":1,"result":{}}
		{"t":1,"event":"eof","from":"client"}
		< {"method":"bye"}
		{"t":1,"event":"eof","from":"agent"}
		{"t":1,"event":"exit","status":4}
	END
	play_agent s.rec
	tell '{"id":1,"method":"a"}'
	hear
	tell '{"id":2,"method":"a"}'
	hear
	assert_regex "$line" '"id":2,"error"'
	hang_up
	assert_equal "$rest" '{"method":"bye"}'
	assert_equal "$status" 4
}

@test "an agent that closed its output in the recording does so, and goes on" {
	recording s.rec <<-'END'
		> {"id":1,"method":"a"}
		< {"id":1,"result":{}}
		{"t":1,"event":"eof","from":"agent"}
		> {"method":"b"}
	END
	play_agent s.rec
	tell '{"id":1,"method":"a"}'
	hear
	run ! hear
	tell '{"method":"b"}'
	hang_up
	assert_equal "$status" 0
}

@test "a last line without its newline counts" {
	a_session
	head -n 2 s.rec >short.rec
	run acp-replay short.rec < <(printf '{"id":1,"method":"initialize","params":{"protocolVersion":1}}')
	assert_success
	assert_output '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
}

@test "half a line is reported, and is not a message" {
	a_session
	head -n 2 s.rec >short.rec
	run --separate-stderr acp-replay short.rec < <(printf '{"id":1,"method":"initial')
	assert_failure 1
	assert_output '{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"the text ends in a string"}}'
	assert_regex "$stderr" '^acp-replay: client: line 1: not a message at byte 26: '
}

@test "noise of the client is reported and ignored" {
	a_session
	head -n 2 s.rec >short.rec
	run --separate-stderr acp-replay short.rec < <(printf 'hello\n\n{"id":1,"method":"initialize","params":{"protocolVersion":1}}\r\n')
	assert_success
	assert_output '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
	assert_equal "$stderr" 'acp-replay: client: line 1: not a message at byte 1: expected a value'
}

@test "an id that is none makes a line no message" {
	a_session
	head -n 2 s.rec >short.rec
	run --separate-stderr acp-replay short.rec <<-'END'
		{"id":1.5,"method":"initialize","params":{"protocolVersion":1}}
		{"id":{},"method":"initialize","params":{"protocolVersion":1}}
		{"id":1,"id":2,"method":"initialize","params":{"protocolVersion":1}}
	END
	assert_failure 1
	assert_equal "$(jq -c '[.id, .error.code]' <<<"$output")" $'[null,-32600]\n[null,-32600]\n[null,-32600]'
	assert_equal "$(grep -c 'not a message' <<<"$stderr")" 3
}

@test "a line over --max-line is refused: exit 1" {
	a_session
	head -n 2 s.rec >short.rec
	long=$(printf '%0100000d' 0)
	run acp-replay --max-line 50K short.rec <<-END
		{"id":1,"method":"initialize","params":"$long"}
		{"id":2,"method":"initialize","params":{"protocolVersion":1}}
	END
	assert_failure 1
	assert_line '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"acp-replay: the line is longer than --max-line"}}'
	assert_line 'acp-replay: client: line 1: longer than --max-line: refused'
	assert_line '{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":1}}'
}

@test "a response to nothing goes out as it was" {
	recording s.rec <<-'END'
		{"t":0,"from":"client","noise":"what?"}
		< {"id":null,"error":{"code":-32700,"message":"Parse error"}}
	END
	run acp-replay s.rec </dev/null
	assert_success
	assert_output '{"id":null,"error":{"code":-32700,"message":"Parse error"}}'
}

@test "1,000 concurrent requests, and responses in another order" {
	{
		seq 0 999 | sed 's/.*/> {"id":&,"method":"m&"}/'
		seq 999 -1 0 | sed 's/.*/< {"id":&,"result":&}/'
	} | recording s.rec
	seq 999 -1 0 | sed 's/.*/{"id":"live-&","method":"m&"}/' >client
	acp-replay s.rec <client >up
	seq 999 -1 0 | sed 's/.*/{"id":"live-&","result":&}/' | cmp - up
}

@test "1,000 requests of the agent at once, answered in another order" {
	{
		seq 0 999 | sed 's/.*/< {"id":&,"method":"m"}/'
		seq 0 999 | sed 's/.*/> {"id":&,"result":{}}/'
		echo '< {"method":"done"}'
	} | recording s.rec
	play_agent s.rec
	assert_equal "$(sed -n '1000{p;q}' <&9)" '{"id":999,"method":"m"}'
	seq 999 -1 0 | sed 's/.*/{"id":&,"result":{}}/' >&8
	hear
	assert_equal "$line" '{"method":"done"}'
	hang_up
	assert_equal "$status" 0
}

# bats test_tags=slow
@test "a client that does not read is waited for" {
	{
		echo '> {"id":1,"method":"a"}'
		yes '< {"method":"0123456789012345678901234567890123456789"}' | head -n 20000
		echo '< {"id":1,"result":{}}'
	} | recording s.rec
	play_agent s.rec
	tell '{"id":1,"method":"a"}'
	exec 8>&-
	# It has more to say than the pipe and its queue hold; all of it comes when it is read.
	run cat <&9
	assert_equal "${#lines[@]}" 20001
	wait "$pid"
}

@test "a client that closes its input has left: exit 1" {
	a_session
	play_agent s.rec
	exec 9<&-
	# It may have ended before it can be told anything.
	(trap '' PIPE; tell '{"id":1,"method":"initialize","params":{"protocolVersion":1}}') || true
	status=0
	wait "$pid" || status=$?
	assert_equal "$status" 1
}

@test "a signal is as if the client had left" {
	a_session
	play_agent s.rec
	tell '{"id":1,"method":"initialize","params":{"protocolVersion":1}}'
	hear
	kill "$pid"
	run ! hear
	status=0
	wait "$pid" || status=$?
	assert_equal "$status" 1
	assert_equal "$(cat err)" 'acp-replay: s.rec:3: stopped by a signal before "session/new"; not played: 4 of the client'\''s messages and 5 of the agent'\''s'
}

@test "the client's responses are compared with the recorded ones, at the level of --match" {
	recording s.rec <<-'END'
		> {"id":1,"method":"session/prompt","params":{"sessionId":"A"}}
		< {"id":5,"method":"session/request_permission","params":{"sessionId":"A"}}
		> {"id":5,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}
		< {"id":1,"result":{}}
	END
	answer() { printf '%s\n' '{"id":1,"method":"session/prompt","params":{"sessionId":"A"}}' "$1"; }
	run -0 acp-replay s.rec < <(answer '{"id":5,"result":{"outcome":{"optionId":"allow","outcome":"selected"}}}')
	run -1 acp-replay s.rec < <(answer '{"id":5,"result":{"outcome":{"outcome":"selected","optionId":"reject"}}}')
	assert_line 'acp-replay: client: line 2: the response to "session/request_permission" differs from s.rec:3: .result.outcome.optionId is "reject", was "allow"'
	assert_line '{"id":1,"result":{}}'
	run -0 acp-replay --match shape s.rec < <(answer '{"id":5,"result":{"outcome":{"outcome":"selected","optionId":"reject"}}}')
	run -1 acp-replay --match shape s.rec < <(answer '{"id":5,"error":{"code":-32000,"message":"no"}}')
}

@test "a client that does not read standard error does not hang" {
	{
		echo '> {"id":1,"method":"a"}'
		seq 3000 | sed 's/.*/{"t":0,"from":"agent","stderr":"&: a line of standard error that nobody reads, again and again"}/'
		echo '< {"id":1,"result":{}}'
	} | recording s.rec
	mkfifo err
	sh -c 'exec sleep 1000' <err 3>&- &
	run -0 timeout 60 sh -c 'acp-replay s.rec 2>err' <<<'{"id":1,"method":"a"}'
	assert_output '{"id":1,"result":{}}'
	kill $!
}

@test "a miss names the nearest recorded request and the first difference" {
	recording s.rec <<-'END'
		> {"id":1,"method":"a","params":{"n":1,"m":1}}
		< {"id":1,"result":{}}
		> {"id":2,"method":"a","params":{"n":2,"m":2}}
		< {"id":2,"result":{}}
		> {"id":3,"method":"b"}
		< {"id":3,"result":{}}
	END
	{ cat s.rec; echo '> {"id":4,"method":"c"}' | recording /dev/stdout; } >t.rec
	run -1 acp-replay s.rec <<<'{"id":7,"method":"b","params":{"x":1}}'
	assert_line --partial 'not recorded: the nearest request is "b" of s.rec:5; .params is {"x":1}, was nothing'
	run -1 acp-replay s.rec <<<$'{"id":1,"method":"a","params":{"n":1,"m":1}}\n{"id":7,"method":"a","params":{"n":2,"m":3}}'
	assert_line --partial 'not recorded: the nearest request is "a" of s.rec:3; .params.m is 3, was 2'
}

@test "a trace of the Rust conductor with a proxy: the client's hop, where its initialize has another name, and the agent's" {
	cat >s.jsons <<-'END'
		{"type":"request","ts":0,"protocol":"acp","from":"Client","to":"Proxy(0)","id":"a","method":"proxy/initialize","params":{"protocolVersion":1}}
		{"type":"request","ts":1,"protocol":"acp","from":"Proxy(0)","to":"Agent","id":"b","method":"initialize","params":{"protocolVersion":1}}
		{"type":"response","ts":2,"from":"Agent","to":"Proxy(0)","id":"b","is_error":false,"payload":{"protocolVersion":1,"n":1}}
		{"type":"response","ts":3,"from":"Proxy(0)","to":"Client","id":"a","is_error":false,"payload":{"protocolVersion":1,"n":0}}
		{"type":"notification","ts":4,"protocol":"acp","from":"Agent","to":"Proxy(0)","method":"_x","params":{}}
	END
	hello='{"id":7,"method":"initialize","params":{"protocolVersion":1}}'
	for method in proxy/initialize _proxy/initialize; do
		sed -i "1s|\"_*proxy/initialize\"|\"$method\"|" s.jsons
		run -0 acp-replay --timeout 10s s.jsons <<<"$hello"
		assert_output '{"jsonrpc":"2.0","id":7,"result":{"protocolVersion":1,"n":0}}'
	done
	run -0 acp-replay --timeout 10s --hop Agent s.jsons <<<"$hello"
	assert_output '{"jsonrpc":"2.0","id":7,"result":{"protocolVersion":1,"n":1}}
{"jsonrpc":"2.0","method":"_x","params":{}}'
}

@test "a cancel that comes at once with its prompt cancels what the turn has not sent yet, and no turn before" {
	two_turns
	# In one piece: prompt, cancel; and then the recorded turn with its recorded cancel.
	run --separate-stderr acp-replay s.rec <<-'END'
		{"id":1,"method":"session/prompt","params":{"sessionId":"A"}}
		{"method":"session/cancel","params":{"sessionId":"A"}}
		{"id":7,"result":{"outcome":{"outcome":"cancelled"}}}
		{"id":3,"method":"session/prompt","params":{"sessionId":"A"}}
		{"method":"session/cancel","params":{"sessionId":"A"}}
	END
	assert_failure 1
	assert_output - <<-'END'
		{"id":7,"method":"session/request_permission","params":{"sessionId":"A"}}
		{"jsonrpc":"2.0","id":1,"result":{"stopReason":"cancelled"}}
		{"id":3,"result":{"stopReason":"cancelled"}}
	END
	assert_equal "$stderr" 'acp-replay: client: line 2: the recording has no session/cancel here: ended the turn as cancelled'
}

@test "a message whose sender nobody knows is left out, which is a difference; an error that responds to nothing is only reported" {
	a_session
	sed '3i {"t":0.000000,"from":"unknown","msg":{"jsonrpc":"2.0","id":7,"result":{}}}' s.rec | head -n 4 >u.rec
	run -1 --separate-stderr acp-replay u.rec < <(jq -c 'select(.from == "client").msg' u.rec)
	assert_equal "$stderr" 'acp-replay: u.rec:3: left out: the sender is unknown'
	assert_output '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'
	head -n 3 s.rec >u.rec
	run -0 --separate-stderr acp-replay u.rec < <(jq -c 'select(.from == "client").msg' u.rec |
		sed '1a {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}')
	assert_equal "$stderr" 'acp-replay: client: line 2: an error response without a request: {"code":-32700,"message":"no"}'
}
