#!/usr/bin/env bats
# acp-budget with version 2 of the protocol: the prompt is answered at once, an idle state ends the turn.

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

# v2 TURNS OPTION...: a session in version 2.
v2() {
	plays "$(jq -c '.[0].hello = {protocolVersion: 2, capabilities: {}, info: {name: "x", version: "1"}} | map(.v2 = true)' <<<"$1")"
	budget "${@:2}"
	send '{"id":0,"method":"initialize","params":{"protocolVersion":2}}'
	answer 0
}

# states: what the client sees of them.
states() {
	jq -c 'select(.params.update.sessionUpdate == "state_update").params.update | [.state, .stopReason, .usage.outputTokens]' seen
}

@test "one prompt, one response at once, one idle state with the sum" {
	v2 '[{"out":300,"say":"a"},{"out":800,"say":"b"},{"out":700,"say":"c"}]' --target 2k
	prompt 1 s work
	until_line '"idle"'
	finish
	assert_equal "$LINE" '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn","usage":{"totalTokens":2100,"inputTokens":300,"outputTokens":1800}}}}'
	assert_equal "$(grep -c '"idle"' seen)" 1
	assert_equal "$(jq -c 'select(.id == 1).result' seen)" '{"messageId":"m1"}'
	assert_equal "$(jq -r '.params.update.content.text // empty' seen | tr -d '\n')" abc
	assert_equal "$(told | tail -n 1)" 's: Target: 1,800 / 2,000 (90%): near enough'
}

# bats test_tags=slow
@test "idle states repeat: one completion is counted once, and the repeats of the last say the same" {
	v2 '[{"out":300,"idles":3},{"out":800,"idles":2},{"out":900,"idles":3}]' --target 2k
	prompt 1 s work
	for _ in 1 2 3; do until_line '"idle"'; done
	send '{"id":5,"method":"x/y"}'
	answer 5
	finish
	assert_equal "$(states | grep idle)" '["idle","end_turn",2000]
["idle","end_turn",2000]
["idle","end_turn",2000]'
	assert_equal "$(asked | wc -l)" 3
	assert_equal "$(told)" 's: Target: 300 / 2,000 (15%)
s: Target: 1,100 / 2,000 (55%)
s: Target: 2,000 used (2,000 min ✓)'
}

@test "a repeat of the idle state of a turn without a target is not that of an earlier turn" {
	v2 '[{"out":50},{"out":50},{"out":50,"idles":2}]' --from-prompt --max-continuations 1
	prompt 1 s '+1k work'
	until_line '"idle"'
	prompt 2 s plain
	until_line '"idle"'
	until_line '"idle"'
	finish
	assert_equal "$(states | grep idle)" '["idle","end_turn",100]
["idle","end_turn",50]
["idle","end_turn",50]'
}

# bats test_tags=slow
@test "a response without anything in it is an acceptance" {
	cat >agent <<-'END'
		#!/bin/bash
		idle() { echo '{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn","usage":{"outputTokens":'"$1"'}}}}'; }
		read -r line; echo '{"id":0,"result":{"protocolVersion":2,"capabilities":{}}}'
		read -r line; echo '{"id":1,"result":{}}'; idle 300
		read -r line; sed -n 's/.*"id":\("[^"]*"\).*/{"id":\1,"result":{}}/p' <<<"$line"; idle 1700
		cat >/dev/null
	END
	chmod +x agent
	budget --target 2k
	send '{"id":0,"method":"initialize","params":{"protocolVersion":2}}'
	answer 0
	prompt 1 s work
	until_line '"idle"'
	finish
	assert_equal "$(states)" '["idle","end_turn",2000]'
}

@test "a new prompt: what is held goes on at once" {
	v2 '[{"out":300},{"hold":true},{"out":2000}]' --target 2k
	prompt 1 s one
	wait_for grep -q '15%' err
	prompt 2 s two
	until_line '"idle"'
	until_line '"idle"'
	finish
	assert_equal "$(states | grep idle)" $'["idle","end_turn",300]\n["idle","end_turn",2000]'
	assert_equal "$(told)" 's: Target: 300 / 2,000 (15%)
s: Target: 300 / 2,000 (15%): a new prompt replaces it
s: Target: 2,000 used (2,000 min ✓)'
}

@test "session/cancel in a nudge" {
	v2 '[{"out":300},{"hold":true}]' --target 2k
	prompt 1 s work
	wait_for grep -q '15%' err
	send '{"method":"session/cancel","params":{"sessionId":"s"}}'
	until_line '"idle"'
	finish
	assert_equal "$(states | tail -n 1)" '["idle","cancelled",300]'
	assert_equal "$(told | tail -n 1)" 's: Target: 300 / 2,000 (15%): cancelled'
	grep -q session/cancel got
}

# bats test_tags=slow
@test "echoes of our own text are left out, as chunks and of whole messages" {
	v2 '[{"out":300,"echo":true},{"out":1700,"echo":true}]' --target 2k
	prompt 1 s work
	until_line '"idle"'
	finish
	assert_equal "$(jq -r '.params.update | select(.sessionUpdate == "user_message_chunk").content.text' seen)" work
	# The whole message, as the agent got it.
	cat >whole.jq <<-'END'
		if .method == "session/prompt" then
			{id, result: {}}, {method: "session/update", params: {sessionId: "s", update: {sessionUpdate: "user_message", messageId: "m", content: .params.prompt}}},
			{method: "session/update", params: {sessionId: "s", update: {sessionUpdate: "state_update", state: "idle", stopReason: "end_turn", usage: {outputTokens: 1000}}}}
		elif .id then {id, result: {protocolVersion: 2, capabilities: {}}} else empty end
	END
	start acp-budget --target 2k -- jq -c --unbuffered -f whole.jq
	send '{"id":0,"method":"initialize","params":{"protocolVersion":2}}'
	answer 0
	prompt 1 s work
	until_line '"idle"'
	finish
	assert_equal "$(jq -c '.params.update | select(.sessionUpdate == "user_message").content' seen)" '[{"type":"text","text":"work"}]'
}

# bats test_tags=slow
@test "--at: the prompt waits for the idle state of the text" {
	v2 '[{"updates":[{"sessionUpdate":"usage_update","used":9,"size":10}]},{"say":"summary"},{"say":"done"}]' --at 90=summarize
	prompt 1 s one
	until_line '"idle"'
	prompt 2 s two
	until_line '"done"'
	until_line '"idle"'
	finish
	assert_equal "$(asked | tr -d '\n')" '["one"]["summarize"]["two"]'
	assert_equal "$(jq -r 'if .id == 2 then "answer" else .params.update.content.text // empty end' seen | tr '\n' ' ')" 'summary answer done '
}

# bats test_tags=slow
@test "an idle state that was sent before the agent had the prompt ends nothing" {
	v2 '[{"out":5,"updates":[{"sessionUpdate":"usage_update","used":9,"size":10}]},{"stale":5,"say":"summary"},{"stale":5,"say":"done","out":7}]' \
	    --at 90=summarize --from-prompt --max-turns 3
	prompt 1 s one
	until_line '"idle"'
	prompt 2 s two
	until_line '"done"'
	until_line '"idle"'
	prompt 3 s '+1k three'
	until_line '"idle"' # stale
	until_line '"done"'
	until_line '"idle"'
	finish
	assert_equal "$(asked | jq -r '.[0][:9]' | head -n 4 | tr '\n' ' ')" 'one summarize two +1k three '
	assert_equal "$(jq -r 'if .id == 2 then "answer" else .params.update.content.text // empty end' seen | head -n 3 | tr '\n' ' ')" 'summary answer done '
	assert_equal "$(told | head -n 1)" 's: Target: 7 / 1,000 (0%)'
}

# bats test_tags=slow
@test "limits hold, and --max-turns counts prompts" {
	v2 '[{"out":900}]' --max-tokens 2k
	for i in 1 2; do
		prompt $i s "$i"
		until_line '"idle"'
	done
	turn 3 s three
	assert_equal "$(jq -r .error.message <<<"$LINE")" 'acp-budget: --max-tokens 2,000 is reached: 2,000 tokens'
	finish
}

@test "--status thought: chunks have a messageId" {
	v2 '[{"out":2000}]' --target 2k --status thought
	prompt 1 s one
	until_line '"idle"'
	finish
	assert_equal "$(jq -r '.params.update | select(.sessionUpdate == "agent_thought_chunk").messageId' seen)" acp-budget-1
}
