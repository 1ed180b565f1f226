#!/usr/bin/env bats
# acp-replay as the client.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load replay
	lib_setup
}

teardown() {
	end_left_over
}

@test "recorded session ids are replaced by those of the live agent" {
	f=$FIXTURES/two-sessions-and-cancel.jsonl
	sed -e 's/2e3de134-cff4-41b9-b7a3-7f022cbccc98/first/g' -e 's/d33d1350-128d-4f8e-a865-e2f53c59d0ae/the other \\\\\\"one\\\\\\"/g' "$f" >live.jsonl
	run acp-replay --as client "$f" -- sh -c 'tee down | acp-replay live.jsonl | tee up'
	assert_success
	fixture client live.jsonl | cmp - down
	fixture agent live.jsonl | cmp - up
}

@test "a session that the recording did not make keeps its id" {
	recording s.rec <<-'END'
		> {"id":1,"method":"session/load","params":{"sessionId":"old"}}
		< {"id":1,"result":{}}
		> {"id":2,"method":"session/prompt","params":{"sessionId":"old"}}
		< {"id":2,"result":{}}
	END
	run acp-replay --as client s.rec -- sh -c 'tee down | acp-replay s.rec'
	assert_success
	assert_equal "$(tail -n 1 down)" '{"id":2,"method":"session/prompt","params":{"sessionId":"old"}}'
}

@test "the client waits for the agent's answers" {
	a_session
	play_client s.rec
	hear
	assert_equal "$line" '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'
	# The next it sends is the answer to this, not session/new.
	tell '{"id":"x","method":"nobody/knows"}'
	hear
	assert_regex "$line" '"id":"x","error":\{"code":-32603'
	tell '{"id":0,"result":{}}'
	hear
	assert_regex "$line" '"session/new"'
	tell '{"id":1,"result":{"sessionId":"L"}}'
	hear
	assert_equal "$line" '{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"L"}}'
	hang_up
	assert_equal "$status" 1
}

@test "in a turn the client waits for what the agent sent before" {
	recording s.rec <<-'END'
		> {"id":1,"method":"session/prompt"}
		< {"method":"session/update"}
		> {"method":"session/cancel"}
		< {"id":1,"result":{}}
	END
	play_client s.rec
	hear
	tell '{"id":"x","method":"nobody/knows"}'
	hear
	assert_regex "$line" '"id":"x","error"'
	tell '{"method":"session/update"}'
	hear
	assert_equal "$line" '{"method":"session/cancel"}'
	tell '{"id":1,"result":{}}'
	hang_up
	assert_equal "$status" 1
}

# bats test_tags=slow
@test "notifications that do not come hold nothing up" {
	recording s.rec <<-'END'
		> {"id":1,"method":"session/prompt"}
		< {"method":"session/update"}
		< {"id":1,"method":"ask"}
		< {"method":"session/update"}
		> {"id":1,"result":{}}
		< {"method":"session/update"}
		< {"id":1,"result":{}}
		< {"method":"session/update"}
		> {"id":2,"method":"session/prompt"}
		< {"id":2,"result":{}}
	END
	play_client --check s.rec
	hear
	tell '{"id":1,"method":"ask"}'
	hear
	assert_equal "$line" '{"id":1,"result":{}}'
	tell '{"id":1,"result":{}}'
	hear
	assert_equal "$line" '{"id":2,"method":"session/prompt"}'
	tell '{"id":2,"result":{}}'
	hang_up
	# But they are missed.
	assert_equal "$status" 1
	assert_equal "$(grep -c ' agent: session/update, .*: missing' err)" 4
}

@test "the agent's requests are answered with their live ids" {
	a_session
	sed 's/"id":0,"method":"fs/"id":"live","method":"fs/; s/^\(.*from":"client".*"id":\)0,"result/\1"live","result/' s.rec >live.rec
	run acp-replay --as client s.rec -- sh -c 'tee down | acp-replay live.rec'
	assert_success
	run cat down
	assert_line '{"jsonrpc":"2.0","id":"live","result":{"content":"x"}}'
}

@test "requests that come in another order are answered by their method" {
	recording s.rec <<-'END'
		> {"id":1,"method":"session/prompt"}
		< {"id":1,"method":"a"}
		> {"id":1,"result":"a"}
		< {"id":2,"method":"b"}
		> {"id":2,"result":"b1"}
		< {"id":3,"method":"b"}
		> {"id":3,"result":"b2"}
		< {"id":1,"result":{}}
	END
	play_client s.rec
	hear
	tell '{"id":"first","method":"b"}'
	hear
	assert_equal "$line" '{"id":"first","result":"b1"}'
	tell '{"id":"second","method":"b"}'
	hear
	assert_equal "$line" '{"id":"second","result":"b2"}'
	tell '{"id":"third","method":"a"}'
	hear
	assert_equal "$line" '{"id":"third","result":"a"}'
	tell '{"id":"fourth","method":"b"}'
	hear
	assert_regex "$line" '"id":"fourth","error":\{"code":-32603'
	tell '{"id":1,"result":{}}'
	hang_up
	assert_equal "$status" 1
	assert_equal "$(head -n 1 err)" 'acp-replay: agent: line 4: "b" gets an error response: not recorded: no further request is expected'
}

@test "a request that was not answered in the recording is not answered" {
	recording s.rec <<-'END'
		> {"id":1,"method":"session/prompt"}
		< {"id":1,"method":"a"}
		< {"id":2,"method":"b"}
		< {"id":1,"result":{}}
	END
	play_client s.rec
	hear
	tell '{"id":"a","method":"a"}'
	tell '{"id":"b","method":"b"}'
	tell '{"id":1,"result":{}}'
	hang_up
	assert_equal "$rest" ''
	assert_equal "$status" 0
}

@test "1,000 requests of the agent at once, in another order" {
	{
		echo '> {"id":"p","method":"session/prompt"}'
		seq 0 999 | sed 's/.*\(.\)$/< {"id":&,"method":"m\1"}/'
		seq 0 999 | sed 's/.*/> {"id":&,"result":&}/'
		echo '< {"id":"p","result":{}}'
	} | recording s.rec
	{
		seq 999 -1 0 | sed 's/.*\(.\)$/{"id":"live-&","method":"m\1"}/'
		echo '{"id":"p","result":{}}'
	} >up
	acp-replay --as client s.rec <up >down 2>err || assert_equal "$?" 1
	assert_equal "$(wc -l <down)" 1001
	# Of one method the first to come gets the first answer, and each one answer.
	grep -qF '{"id":"live-999","result":9}' down
	grep -qF '{"id":"live-989","result":19}' down
	assert_equal "$(grep -o '"live-[0-9]*"' down | sort -u | wc -l)" 1000
	assert_equal "$(grep -o '"result":[0-9]*' down | sort -u | wc -l)" 1000
}

@test "an agent that ends before the end of the recording: exit 1, and before what" {
	a_session
	run acp-replay --as client s.rec -- sh -c 'read -r line; echo "{\"id\":0,\"result\":{}}"'
	assert_failure 1
	assert_line 'acp-replay: s.rec:4: the agent left before the response to "session/new"; not played: 5 of the agent'\''s messages and 3 of the client'\''s'
}

@test "an agent that dies is noticed while something waits for it" {
	a_session
	run acp-replay --as client s.rec -- sh -c 'kill -9 $$'
	assert_failure 1
	assert_output --partial 'the agent left before the response to "initialize"'
}

@test "when all was played the agent's own status counts" {
	recording s.rec <<-'END'
		> {"id":1,"method":"a"}
		< {"id":1,"result":{}}
	END
	run acp-replay --as client s.rec -- sh -c 'acp-replay s.rec; exit 7'
	assert_failure 7
	run acp-replay --as client s.rec -- sh -c 'acp-replay s.rec; kill -USR1 $$'
	assert_failure $((128 + $(kill -l USR1)))
}

@test "an agent that does not end after its input is ended: exit 0 and a line" {
	recording s.rec <<-'END'
		> {"id":1,"method":"a"}
		< {"id":1,"result":{}}
	END
	run acp-replay --as client --grace 10ms s.rec -- sh -c 'acp-replay s.rec; exec sleep 1000'
	assert_success
	assert_output 'acp-replay: the agent did not end within the grace period: sending it SIGTERM'
}

@test "no such command: 127; not executable: 126" {
	a_session
	run -127 acp-replay --as client s.rec -- ./nothing
	assert_output 'acp-replay: ./nothing: command not found'
	run acp-replay --as client s.rec -- ./s.rec
	assert_failure 126
	assert_output 'acp-replay: ./s.rec: Permission denied'
}

@test "the agent is started without PROTO and with its stderr" {
	recording s.rec <<-'END'
		> {"id":1,"method":"a"}
		< {"id":1,"result":{}}
	END
	PROTO=ACP run --separate-stderr acp-replay --as client s.rec -- \
		sh -c 'echo "proto ${PROTO-none}" >&2; acp-replay s.rec'
	assert_success
	assert_equal "$stderr" 'proto none'
}

@test "an agent does not outlive a client that is killed" {
	! portable || skip 'the kernel does not end the child of a killed tool where the system is not Linux'
	a_session
	mkfifo alive
	acp-replay --as client s.rec -- sh -c 'exec 4>alive; echo up >&4; exec sleep 1000' 3>&- &
	exec 9<alive
	read -r line <&9
	kill -9 "$!"
	# Ends when the agent has gone.
	run cat <&9
	assert_output ''
}

@test "a first signal is the client's leaving, a second ends the agent" {
	a_session
	mkfifo alive
	acp-replay --as client s.rec -- sh -c 'exec 4>alive; trap "" TERM; echo up >&4; cat >/dev/null; echo "end of input" >&4; exec sleep 1000' 2>err 3>&- &
	exec 9<alive
	read -r line <&9
	kill "$!"
	read -r line <&9
	assert_equal "$line" 'end of input'
	kill "$!"
	status=0
	wait "$!" || status=$?
	assert_equal "$status" 143
}

@test "noise of the client is sent as it was" {
	recording s.rec <<-'END'
		{"t":0,"from":"client","noise":"hello"}
		> {"id":1,"method":"a"}
		< {"id":1,"result":{}}
	END
	run acp-replay --as client s.rec <<<'{"id":1,"result":{}}'
	assert_success
	assert_output $'hello\n{"id":1,"method":"a"}'
}

@test "a v2 agent: the client waits for the end of the turn, not for the response to the prompt" {
	recording s.rec <<-'END'
		> {"id":1,"method":"session/prompt","params":{"sessionId":"A","prompt":[]}}
		< {"id":1,"result":{"messageId":"m"}}
		< {"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"agent_message"}}}
		< {"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"state_update","state":"idle"}}}
		> {"id":2,"method":"session/prompt","params":{"sessionId":"A","prompt":[]}}
		< {"id":2,"result":{"messageId":"n"}}
		< {"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"state_update","state":"idle"}}}
	END
	play_client s.rec
	hear
	tell '{"id":1,"result":{"messageId":"m"}}'
	for kind in agent_message agent_message agent_message; do
		tell "{\"method\":\"session/update\",\"params\":{\"sessionId\":\"A\",\"update\":{\"sessionUpdate\":\"$kind\"}}}"
	done
	# The idle state of a sub-agent ends no turn.
	tell '{"method":"session/update","params":{"sessionId":"child","update":{"sessionUpdate":"state_update","state":"idle"}}}'
	tell '{"id":"x","method":"nobody/knows"}'
	hear
	assert_regex "$line" '"id":"x","error"'
	tell '{"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"state_update","state":"idle"}}}'
	hear
	assert_regex "$line" '"id":2,"method":"session/prompt"'
	tell '{"id":2,"result":{"messageId":"n"}}'
	tell '{"id":"y","method":"nobody/knows"}'
	hear
	assert_regex "$line" '"id":"y","error"'
	tell '{"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"state_update","state":"idle"}}}'
	hang_up
	assert_equal "$rest" ''
	assert_equal "$status" 1
	run cat err
	refute_output --partial ' before '
}

@test "version 2: a response to a prompt accepts it, whether it names a message or not" {
	idle='{"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"state_update","state":"idle"}}}'
	recording s.rec <<-END
		> {"id":0,"method":"initialize","params":{"protocolVersion":2}}
		< {"id":0,"result":{"protocolVersion":2}}
		> {"id":1,"method":"session/prompt","params":{"sessionId":"A","prompt":[]}}
		< {"id":1,"result":{}}
		< $idle
		> {"id":2,"method":"session/prompt","params":{"sessionId":"A","prompt":[]}}
		< {"id":2,"result":{}}
		< $idle
	END
	play_client s.rec
	hear
	tell '{"id":0,"result":{"protocolVersion":2}}'
	hear
	tell '{"id":1,"result":{}}'
	tell "$idle"
	hear
	assert_regex "$line" '"id":2,"method":"session/prompt"'
	tell '{"id":2,"result":{}}'
	tell "$idle"
	hang_up
	assert_equal "$rest" ''
	assert_equal "$status" 0
}

@test "what the agent reports last is waited for a moment, and moved is no difference" {
	update() { printf '{"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"%s"}}}' "$1"; }
	recording s.rec <<-END
		> {"id":1,"method":"session/prompt","params":{"sessionId":"A"}}
		< $(update usage_update)
		< {"id":1,"result":{"stopReason":"end_turn"}}
		< $(update session_info_update)
	END
	play_client --check s.rec
	hear
	tell "$(update session_info_update)"
	tell '{"id":1,"result":{"stopReason":"end_turn"}}'
	tell "$(update usage_update)"
	hang_up
	assert_equal "$status" 0
}

@test "--timeout: a hanging agent ends with a report that names what is awaited" {
	a_session
	run -1 timeout 60 acp-replay --as client --timeout 100ms --grace 10ms s.rec -- sh -c 'exec sleep 1000'
	assert_line --partial 's.rec:2: no message came within --timeout before the response to "initialize"; not played: 6'
}

# bats test_tags=slow
@test "--timeout: a hanging client, before its message and after the last" {
	a_session
	mkfifo to
	sleep 1000 >to 3>&- &
	run -1 timeout 60 acp-replay --timeout 100ms s.rec <to
	assert_line --partial 's.rec:1: no message came within --timeout before "initialize"'
	kill $!
	head -n 2 s.rec >short.rec
	# The client's message is there before acp-replay is, and the end never comes.
	exec 5<>to
	jq -c .msg short.rec | head -n 1 >&5
	run -1 timeout 60 acp-replay --timeout 300ms short.rec <to
	exec 5>&-
	assert_line 'acp-replay: the client did not end within --timeout'
}

@test "--timeout: a client that stays after the recorded agent has closed its output is not waited for" {
	recording s.rec <<-'END'
		> {"id":1,"method":"a"}
		< {"id":1,"result":{}}
		{"t":1,"event":"eof","from":"agent"}
	END
	mkfifo to
	exec 5<>to
	echo '{"id":1,"method":"a"}' >&5
	run -1 timeout -k 1 60 acp-replay --timeout 100ms s.rec <to
	assert_line 'acp-replay: the client did not end within --timeout'
	echo '> {"method":"b"}' | recording b.rec
	cat b.rec >>s.rec
	echo '{"id":1,"method":"a"}' >&5
	run -1 timeout -k 1 60 acp-replay --timeout 100ms s.rec <to
	assert_line --partial 's.rec:4: no message came within --timeout before "b"'
}

@test "another side that does not read is not waited for after --timeout or a signal" {
	local many line
	# More than a pipe holds, and less than a full queue.
	many=$(yes "{\"method\":\"$(printf '%08000d' 0)\"}" | head -n 20)
	recording s.rec <<<$'> {"id":1,"method":"a"}\n'"< ${many//$'\n'/$'\n'< }"$'\n> {"method":"b"}'
	mkfifo to from
	exec 5<>to 6<>from
	echo '{"id":1,"method":"a"}' >&5
	status=0
	timeout -k 1 60 acp-replay --timeout 100ms s.rec <to >from 2>err || status=$?
	assert_equal "$status$(<err)" "1acp-replay: s.rec:22: no message came within --timeout before \"b\"; not played: 1 of the client's messages and 0 of the agent's"
	mkfifo again
	exec 6<>again
	echo '{"id":1,"method":"a"}' >&5
	acp-replay s.rec <to >again 2>err 3>&- &
	read -r line <&6
	kill $!
	status=0
	wait $! || status=$?
	assert_equal "$status" 1
	recording s.rec <<<"> ${many//$'\n'/$'\n'> }"$'\n> {"id":3,"method":"b"}\n< {"id":3,"result":{}}'
	run -1 timeout -k 1 60 acp-replay --as client --timeout 100ms --grace 100ms s.rec -- sh -c 'exec sleep 1000'
	assert_line 'acp-replay: the agent did not end within the grace period: sending it SIGTERM'
	acp-replay --as client --grace 100ms s.rec -- sh -c ': >started; exec sleep 1000' 2>err 3>&- &
	wait_for test -e started
	kill $!
	status=0
	wait $! || status=$?
	assert_equal "$status" 1
}

@test "the agent's exit status is reported" {
	recording s.rec <<-'END'
		> {"id":1,"method":"a"}
		< {"id":1,"result":{}}
	END
	run -7 acp-replay --as client s.rec -- sh -c 'acp-replay s.rec; exit 7'
	assert_output 'acp-replay: the agent ended with exit status 7'
}

# new SESSION ID, prompt SESSION ID, text SESSION TEXT, ends ID REASON: lines of a recording.
new() {
	printf '> {"id":%s,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}\n< {"id":%s,"result":{"sessionId":"%s"}}\n' "$2" "$2" "$1"
}
prompt() {
	printf '> {"id":%s,"method":"session/prompt","params":{"sessionId":"%s","prompt":[{"type":"text","text":"x"}]}}\n' "$2" "$1"
}
text() {
	printf '< {"method":"session/update","params":{"sessionId":"%s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}\n' "$@"
}
commands() {
	printf '< {"method":"session/update","params":{"sessionId":"%s","update":{"sessionUpdate":"available_commands_update","availableCommands":[]}}}\n' "$1"
}
ends() {
	printf '< {"id":%s,"result":{"stopReason":"%s"}}\n' "$@"
}
cancels() {
	printf '> {"method":"session/cancel","params":{"sessionId":"%s"}}\n' "$1"
}

# bats test_tags=slow
@test "what another session reports, early or late, holds nothing up" {
	{ new A 1; new B 2; prompt B 3; commands A; prompt A 4; ends 4 end_turn; cancels B; ends 3 cancelled; } | recording s.rec
	{ new A 1; commands A; new B 2; prompt A 4; ends 4 end_turn; prompt B 3; cancels B; ends 3 cancelled; } | recording early.rec
	{ new A 1; new B 2; prompt A 4; prompt B 3; cancels B; ends 3 cancelled; ends 4 end_turn; commands A; } | recording late.rec
	for live in s.rec early.rec late.rec; do
		run -0 timeout 60 acp-replay --as client --check s.rec -- acp-replay "$live"
		assert_output ''
	done
}

# bats test_tags=slow
@test "a recorded cancel is sent when as much text has come, in however many chunks" {
	{ new A 1; prompt A 2; text A 'one '; text A 'two'; cancels A; ends 2 cancelled; } | recording s.rec
	{ new A 1; prompt A 2; text A 'one two'; cancels A; ends 2 cancelled; } | recording one.rec
	{ new A 1; prompt A 2; for t in o n 'e t' w o; do text A "$t"; done; cancels A; ends 2 cancelled; } | recording five.rec
	# Less than was recorded: nothing more comes.
	{ new A 1; prompt A 2; text A 'one'; cancels A; ends 2 cancelled; } | recording less.rec
	for live in s.rec one.rec five.rec less.rec; do
		run -0 timeout 60 acp-replay --as client --check s.rec -- acp-replay "$live"
		assert_output ''
	done
	# A turn that has ended is not cancelled any more, but the recording is played to its end.
	{ new A 1; prompt A 2; text A 'one'; ends 2 end_turn; cancels A; } | recording ended.rec
	run -1 timeout 60 acp-replay --as client --check --match params s.rec -- acp-replay ended.rec
	assert_line --partial '.result.stopReason is "end_turn", was "cancelled"'
}

@test "text that did not come in one turn is not waited for in the next" {
	{ new A 1; prompt A 2; text A 'much text'; ends 2 end_turn; prompt A 3; text A 'two'; cancels A; ends 3 cancelled; } | recording s.rec
	play_client s.rec
	hear && tell '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"A"}}'
	hear && tell '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}'
	hear && assert_equal "$(jq .id <<<"$line")" 3
	tell "$(text A two | sed 's/^< //')"
	# The agent goes on, so that no pause ends the wait.
	for ((i = 0; i < 100; i++)); do
		tell '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"plan","entries":[]}}}'
		! IFS= read -r -t 0.1 line <&9 || break
	done
	assert_equal "$(jq -r .method <<<"$line")" session/cancel
	tell '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}'
	hang_up
	assert_equal "$status" 0
}

@test "a queued prompt is sent when what came before it in its session has come" {
	{ new A 1; prompt A 2; text A 'one two'; prompt A 3; ends 2 end_turn; ends 3 end_turn; } |
		recording /dev/stdout | sed '4,$s/"t":0.000000/"t":100/' >s.rec
	play_client s.rec
	hear
	tell '{"id":1,"result":{"sessionId":"L"}}'
	hear
	assert_regex "$line" '"id":2,"method":"session/prompt"'
	for kind in usage_update plan available_commands_update; do
		tell "{\"method\":\"session/update\",\"params\":{\"sessionId\":\"L\",\"update\":{\"sessionUpdate\":\"$kind\"}}}"
	done
	tell "$(text L 'one tw' | cut -c3-)"
	tell '{"id":"x","method":"nobody/knows"}'
	hear
	assert_regex "$line" '"id":"x","error"'
	tell "$(text L o | cut -c3-)"
	hear
	assert_regex "$line" '"id":3,"method":"session/prompt"'
	tell '{"id":2,"result":{"stopReason":"end_turn"}}'
	tell '{"id":3,"result":{"stopReason":"end_turn"}}'
	hang_up
	assert_equal "$rest" ''
	assert_equal "$(wc -l <err)" 1
}

# bats test_tags=slow
@test "a request that the agent waits with does not hang the client, and one that never comes is reported" {
	ask='{"id":7,"method":"fs/read_text_file","params":{"sessionId":"A","path":"/x"}}'
	mode='{"id":5,"method":"session/set_mode","params":{"sessionId":"A","modeId":"m"}}'
	other='{"id":6,"method":"session/set_mode","params":{"sessionId":"A","modeId":"n"}}'
	{ new A 1; prompt A 2; echo "> $mode"; echo "< $ask"; echo '< {"id":5,"result":{}}'; echo "> $other"
		echo '> {"id":7,"result":{"content":""}}'; echo '< {"id":6,"result":{}}'; ends 2 end_turn; } | recording s.rec
	# This agent responds to nothing before it has its own response.
	{ new A 1; prompt A 2; echo "> $mode"; echo "< $ask"; echo '> {"id":7,"result":{"content":""}}'
		echo '< {"id":5,"result":{}}'; echo "> $other"; echo '< {"id":6,"result":{}}'; ends 2 end_turn; } | recording live.rec
	run -0 timeout 60 acp-replay --as client --check s.rec -- acp-replay live.rec
	assert_output ''
	grep -v '"id":7' live.rec >never.rec
	run -1 timeout 60 acp-replay --as client s.rec -- acp-replay never.rec
	assert_output 'acp-replay: s.rec:5: the agent did not send "fs/read_text_file"'
}

@test "--check: the output of a tool in other pieces is no difference, another state is one" {
	call() {
		printf '< {"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"%s","toolCallId":"c",%s}}}\n' "$@"
	}
	output() {
		call tool_call_update "\"_meta\":{\"terminal_output_delta\":\"$1\"}"
	}
	session() {
		new A 1
		prompt A 2
		call tool_call '"title":"make","status":"in_progress"'
		for piece in "${@:2}"; do output "$piece"; done
		call tool_call_update "\"status\":\"$1\""
		ends 2 end_turn
	}
	session completed one two three | recording s.rec
	session completed 'one two three' | recording live.rec
	for match in shape params; do
		run -0 timeout 60 acp-replay --as client --check --match "$match" s.rec -- acp-replay live.rec
		assert_output ''
	done
	session failed one 'two three' | recording live.rec
	run -1 timeout 60 acp-replay --as client --check --match params s.rec -- acp-replay live.rec
	assert_line '-    "completed"'
	assert_line '1 difference in 1 of 2 turns, 5 messages'
}
