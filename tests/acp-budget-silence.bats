#!/usr/bin/env bats
# acp-budget --max-silence: a turn without a message from the agent.
# as long as 30 tests

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load budget
	lib_setup
}

teardown() {
	exec 8>&- 9<&-
	end_left_over
}

# silent UPDATE... : an agent that sends these updates at each prompt, and no response; what it gets is in got.
silent() {
	printf '%s\n' "$@" | jq -c '{method: "session/update", params: {sessionId: "s", update: .}}' >updates
	cat >agent <<-'END'
		#!/bin/sh
		tee got | while read -r line; do
			case $line in
			*'"initialize"'*) echo '{"id":0,"result":{"protocolVersion":2,"capabilities":{}}}' ;;
			*session/prompt*'"t"'*) ;;
			*session/prompt*)
				[ ! -e v2 ] || echo '{"id":1,"result":{}}'
				cat updates
				;;
			*x/accept*) echo '{"id":1,"result":{"messageId":"m"}}' ;;
			*x/used*) echo '{"id":1,"result":{"stopReason":"end_turn","usage":{"totalTokens":1100,"inputTokens":900,"outputTokens":200}}}' ;;
			*x/late*) echo '{"id":1,"result":{"stopReason":"end_turn"}}' ;;
			*x/*) echo '{"id":5,"result":{}}' ;;
			esac
		done
	END
	chmod +x agent
}

call='{"sessionUpdate":"tool_call","toolCallId":"c","status":"in_progress"}'

# bats test_tags=slow
@test "a silent turn is reported, cancelled, and answered with an error; a late response is discarded" {
	silent '{"sessionUpdate":"plan"}'
	budget --max-silence 300ms
	prompt 1 s work
	answer 1
	assert_equal "$LINE" '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"acp-budget: no message from the agent for 0.9s"}}'
	assert_equal "$(told)" 's: no message from the agent for 0.3s
s: no message from the agent for 0.6s: cancelled
s: no message from the agent for 0.9s: answered in its place'
	wait_for grep -q session/cancel got
	send '{"method":"x/late"}'
	send '{"id":5,"method":"x/y"}'
	answer 5
	finish
	assert_equal "$(jq -c '.id // empty' seen | tr '\n' ' ')" '1 5 '
	assert_equal "$STATUS" 1
}

# stamped OPTION...: acp-budget around the agent; each line of its stderr gets the time, in ms, before it.
stamped() {
	start bash -c 'acp-budget "$@" -- ./agent 2> >(while read -r line; do echo "$(date +%s%3N) $line"; done >stamps)' - "$@"
}

# since TIME TEXT: ms from then to the line that has the text.
since() {
	echo $(($(grep -F -m 1 "$2" stamps | cut -d ' ' -f 1) - $1))
}

# bats test_tags=slow
@test "each silence has its whole time, and begins with any message of the agent" {
	silent '{"sessionUpdate":"plan"}'
	stamped --max-silence 400ms
	began=$(date +%s%3N)
	prompt 1 s work
	answer 1
	finish
	wait_for grep -q 1.2s stamps
	(($(since "$began" 0.4s) >= 400))
	(($(since "$began" 0.8s) >= 800))
	(($(since "$began" 1.2s) >= 1200))
	# What is of no session in particular is a message, too.
	cat >agent <<-'END'
		#!/bin/sh
		read -r line
		sleep 0.2
		date +%s%3N >alive
		echo '{"method":"_alive"}'
		cat >got
	END
	stamped --max-silence 400ms
	prompt 1 s work
	answer 1
	finish
	wait_for grep -q 1.2s stamps
	(($(since "$(<alive)" 0.4s) >= 400))
}

# bats test_tags=slow
@test "v2: a late acceptance of a prompt that was answered in the agent's place is discarded" {
	silent
	budget --max-silence 100ms
	send '{"id":0,"method":"initialize","params":{"protocolVersion":2}}'
	answer 0
	prompt 1 s work
	answer 1
	assert_equal "$(jq -r .error.message <<<"$LINE")" 'acp-budget: no message from the agent for 0.3s'
	send '{"method":"x/accept"}'
	send '{"id":5,"method":"x/y"}'
	answer 5
	finish
	assert_equal "$(jq -c 'select(.id == 1)' seen | wc -l)" 1
}

# bats test_tags=slow
@test "the tokens of a late response count" {
	silent
	budget --max-silence 100ms --max-tokens 1000
	prompt 1 s work
	answer 1
	send '{"method":"x/used"}'
	send '{"id":5,"method":"x/y"}'
	answer 5
	prompt 2 s more
	answer 2
	finish
	assert_equal "$(jq -r .error.message <<<"$LINE")" 'acp-budget: --max-tokens 1,000 is reached: 1,100 tokens'
}

# bats test_tags=slow
@test "after a late response nothing runs: a text of --at can be sent" {
	silent '{"sessionUpdate":"usage_update","used":9,"size":10}'
	budget --max-silence 100ms --at 90=summarize
	prompt 1 s work
	answer 1
	send '{"method":"x/late"}'
	send '{"id":5,"method":"x/y"}'
	answer 5
	prompt 2 s two
	wait_for grep -q summarize got
	finish
}

# bats test_tags=slow
@test "the time of a tool and of a question to the user does not count" {
	# waits WHAT MESSAGE: nothing is reported before the client sends the message.
	waits() {
		silent "$1"
		! [[ $1 == '{"id"'* ]] || printf '%s\n' "$1" >updates
		budget --max-silence 400ms
		prompt 1 s work
		until_line "$3"
		prompt 2 t other
		answer 2
		assert_equal "$(told | grep -c '^s:')" 0
		send "$2"
		answer 1
		finish
	}
	waits '{"id":"q","method":"session/request_permission","params":{"sessionId":"s"}}' '{"id":"q","result":{}}' '"q"'
	assert_equal "$(told | grep -c '^s:')" 3
	silent "$call" '{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}'
	budget --max-silence 400ms
	prompt 1 s work
	answer 1
	finish
	silent "$call"
	budget --max-silence 400ms
	prompt 1 s work
	until_line tool_call
	prompt 2 t other
	answer 2
	finish
	assert_equal "$(told | grep -c '^s:')" 0
}

# bats test_tags=slow
@test "the time of a sub-agent's tool does not count" {
	silent '{"sessionUpdate":"subagent_update","sessionId":"child","state":{"state":"running"}}'
	jq -cn --argjson call "$call" '{method: "session/update", params: {sessionId: "child", update: $call}}' >>updates
	budget --max-silence 400ms
	prompt 1 s work
	until_line tool_call
	prompt 2 t other
	answer 2
	finish
	assert_equal "$(told | grep -c '^s:')" 0
}

# bats test_tags=slow
@test "a nudge that is silent: the client gets what was done" {
	plays '[{"out":100},{"hold":true}]'
	# It does not end at a cancel either.
	start acp-budget --target 2k --max-silence 1s -- sh -c 'grep --line-buffered -v session/cancel | ./agent'
	prompt 1 s work
	answer 1
	finish
	assert_equal "$LINE" '{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn","usage":{"totalTokens":200,"inputTokens":100,"outputTokens":100}}}'
}

# bats test_tags=slow
@test "v2: the silent turn ends in an idle state" {
	silent '{"sessionUpdate":"state_update","state":"running"}'
	: >v2
	budget --max-silence 100ms
	send '{"id":0,"method":"initialize","params":{"protocolVersion":2}}'
	answer 0
	prompt 1 s work
	until_line '"idle"'
	finish
	assert_equal "$(jq -c '.params.update' <<<"$LINE")" '{"sessionUpdate":"state_update","state":"idle","stopReason":"error","error":{"code":-32603,"message":"acp-budget: no message from the agent for 0.3s"}}'
}

# bats test_tags=slow
@test "v2: a state that waits for the user is not silent" {
	silent '{"sessionUpdate":"state_update","state":"running"}' '{"sessionUpdate":"state_update","state":"requires_action"}'
	: >v2
	budget --max-silence 400ms
	send '{"id":0,"method":"initialize","params":{"protocolVersion":2}}'
	answer 0
	prompt 1 s work
	until_line requires_action
	prompt 1 t other
	answer 1
	finish
	assert_equal "$(told | grep -c '^s:')" 0
}
