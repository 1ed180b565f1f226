#!/usr/bin/env bats
# acp-budget: what a client does while a budget goes on, and what becomes of it when someone dies.

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

# nudged N: the agent has got N prompts.
got_prompts() {
	[ "$(grep -c '"session/prompt"' got)" -ge "$1" ]
}

cancel='{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}'

@test "session/cancel in a nudge: the agent ends it, the client gets what was done, and nothing follows" {
	plays '[{"out":100},{"hold":true},{"out":5000}]'
	budget --target 2k
	prompt 1 s work
	wait_for got_prompts 2
	send "$cancel"
	answer 1
	assert_equal "$LINE" '{"jsonrpc":"2.0","id":1,"result":{"stopReason":"cancelled","usage":{"totalTokens":200,"inputTokens":100,"outputTokens":100}}}'
	turn 2 s again
	finish
	assert_equal "$(told)" 's: Target: 100 / 2,000 (5%)
s: Target: 100 / 2,000 (5%): cancelled
s: Target: 5,000 used (2,000 min ✓)'
	assert_equal "$(grep -cF "$cancel" got)" 1
}

@test "session/cancel in the client's own turn drops the budget" {
	plays '[{"hold":true},{"out":5000}]'
	budget --target 2k
	prompt 1 s work
	wait_for got_prompts 1
	send "$cancel"
	answer 1
	finish
	assert_equal "$LINE" '{"jsonrpc":"2.0","id":1,"result":{"stopReason":"cancelled"}}'
	assert_equal "$(told)" 's: Target: 0 / 2,000 (0%): cancelled'
	assert_equal "$(grep -c '"session/prompt"' got)" 1
}

@test "a cancel that crosses the end of a nudge: no other nudge is sent" {
	# The agent ends its turn in order at the cancel.
	cat >crosses.jq <<-'END'
		foreach inputs as $m ({n: 0};
			.out = []
			| if $m.method == "session/prompt" then
				.n += 1 | .id = $m.id
				| if .n == 1 then .out = [{id: $m.id, result: {stopReason: "end_turn", usage: {outputTokens: 5}}}] else . end
			elif $m.method == "session/cancel" then .out = [{id: .id, result: {stopReason: "end_turn", usage: {outputTokens: 6}}}]
			else . end;
			.out[])
	END
	start acp-budget --target 2k -- sh -c 'tee got | jq -nc --unbuffered -f crosses.jq'
	prompt 1 s work
	wait_for got_prompts 2
	send "$cancel"
	answer 1
	finish
	assert_equal "$LINE" '{"id":1,"result":{"stopReason":"end_turn","usage":{"outputTokens":11}}}'
	assert_equal "$(grep -c '"session/prompt"' got)" 2
	assert_equal "$(told | tail -n 1)" 's: Target: 11 / 2,000 (0%): cancelled'
}

@test "a cancelled nudge that ends in an error: the client gets cancelled, with what was done" {
	cat >fails.jq <<-'END'
		foreach inputs as $m ({n: 0};
			.out = []
			| if $m.method == "session/prompt" then
				.n += 1 | .id = $m.id
				| if .n == 1 then .out = [{id: $m.id, result: {stopReason: "end_turn", usage: {outputTokens: 5}}}] else . end
			elif $m.method == "session/cancel" then .out = [{id: .id, error: {code: -32800, message: "cancelled"}}]
			else . end;
			.out[])
	END
	start acp-budget --target 2k -- sh -c 'tee got | jq -nc --unbuffered -f fails.jq'
	prompt 1 s work
	wait_for got_prompts 2
	send "$cancel"
	answer 1
	finish
	assert_equal "$LINE" '{"id":1,"result":{"stopReason":"cancelled","usage":{"outputTokens":5}}}'
}

# An agent that takes everything and answers the first N prompts.
answers_first() {
	cat >some.jq <<-'END'
		foreach inputs as $m (0; if $m.method == "session/prompt" then . + 1 else . end;
			if . <= $n and $m.method == "session/prompt" then
				{method: "session/update", params: {sessionId: "s", update: {sessionUpdate: "usage_update", used: 95, size: 100}}},
				{id: $m.id, result: {stopReason: "end_turn", usage: {outputTokens: 5}}}
			else empty end)
	END
	start acp-budget "${@:2}" -- sh -c 'tee got | jq -nc --unbuffered --argjson n "$1" -f some.jq' sh "$1"
}

# bats test_tags=slow
@test "a cancelled nudge that never ends: after --grace the client gets cancelled, with what was done" {
	for how in "$cancel" '{"method":"$/cancel_request","params":{"requestId":1}}'; do
		answers_first 1 --target 2k --grace 100ms
		prompt 1 s work
		wait_for got_prompts 2
		send "$how"
		answer 1
		finish
		assert_equal "$LINE" '{"id":1,"result":{"stopReason":"cancelled","usage":{"outputTokens":5}}}'
		grep -q session/cancel got
	done
}

# bats test_tags=slow
@test "a cancelled nudge of a prompt that another has replaced is not waited for either" {
	answers_first 1 --target 2k --grace 100ms
	prompt 1 s work
	wait_for got_prompts 2
	prompt 2 s more
	wait_for got_prompts 3
	send "$cancel"
	answer 1
	finish
	assert_equal "$LINE" '{"id":1,"result":{"stopReason":"cancelled","usage":{"outputTokens":5}}}'
}

# bats test_tags=slow
@test "a cancelled text of --at that never ends does not keep the next prompt waiting" {
	answers_first 1 --at 90=summarize --grace 100ms
	turn 1 s one
	prompt 2 s two
	wait_for got_prompts 2
	send "$cancel"
	answer 2
	prompt 3 s three
	wait_for got_prompts 3
	finish
	assert_equal "$(asked | tr -d '\n')" '["one"]["summarize"]["three"]'
}

@test "a prompt that a limit refuses ends the running target" {
	plays '[{"out":100},{"hold":true}]'
	budget --target 2k --max-turns 1
	prompt 1 s work
	wait_for got_prompts 2
	turn 2 s more
	send "$cancel"
	answer 1
	finish
	assert_equal "$(told | grep refused)" 's: Target: 100 / 2,000 (5%): a new prompt was refused'
}

# bats test_tags=slow
@test "after a restart, the response to a nudge of the life before reaches nobody" {
	plays '[{"out":100},{"hold":true}]'
	start acp-conduct -f 'acp-budget --target 2k' -- ./agent
	prompt 1 s work
	wait_for got_prompts 2
	kill -KILL "$(pgrep -P "$PID" -x acp-budget)"
	wait_for grep -q "signal KILL" err
	send "$cancel"
	send '{"id":3,"method":"x/y"}'
	answer 3
	finish
	assert_equal "$(jq -c 'select(.method | not).id' seen)" 3
}

# bats test_tags=slow
@test "a cancel of another session changes nothing" {
	plays '[{"out":100},{"hold":true}]'
	budget --target 2k
	prompt 1 s work
	wait_for got_prompts 2
	send '{"method":"session/cancel","params":{"sessionId":"t"}}'
	send '{"id":5,"method":"x/y"}'
	answer 5
	run ! grep -q '"id":1,' seen
	send "$cancel"
	answer 1
	finish
}

# bats test_tags=slow
@test "\$/cancel_request of a prompt whose answer is held cancels the nudge" {
	plays '[{"out":100},{"hold":true}]'
	for around in acp-budget 'acp-conduct -p'; do
		case $around in
		acp-budget) budget --target 2k ;;
		*) start acp-conduct -p 'acp-budget --target 2k' -- ./agent ;;
		esac
		send '{"id":0,"method":"initialize","params":{"protocolVersion":1}}'
		answer 0
		prompt '"\u0031"' s work
		wait_for got_prompts 2
		send '{"method":"$/cancel_request","params":{"requestId":"1"}}'
		until_line '"id":"'
		finish
		assert_equal "$(jq -c '[.id, .result.stopReason]' <<<"$LINE")" '["1","cancelled"]'
		run ! grep -q cancel_request got
		grep -q session/cancel got
	done
}

# bats test_tags=slow
@test "\$/cancel_request of a prompt that runs goes on, and drops the budget; others go on" {
	plays '[{"hold":true}]'
	budget --target 2k
	prompt 1 s work
	wait_for got_prompts 1
	send '{"method":"$/cancel_request","params":{"requestId":7}}'
	send '{"method":"$/cancel_request","params":{"requestId":1}}'
	send '{"id":5,"method":"x/y"}'
	answer 5
	assert_equal "$(grep -c cancel_request got)" 2
	assert_equal "$(told)" 's: Target: 0 / 2,000 (0%): cancelled'
	send "$cancel"
	answer 1
	finish
}

@test "a new prompt replaces the budget: its own starts from 0" {
	plays '[{"out":100},{"hold":true},{"out":100},{"out":1950}]'
	budget --target 2k
	prompt 1 s one
	wait_for got_prompts 2
	turn 2 s two
	assert_equal "$(jq .result.usage.outputTokens <<<"$LINE")" 2050
	run ! grep -q '"id":1,' seen
	send "$cancel"
	answer 1
	finish
	assert_equal "$(jq -c '[.result.stopReason, .result.usage.outputTokens]' <<<"$LINE")" '["cancelled",100]'
	assert_equal "$(told | sort)" 's: Target: 100 / 2,000 (5%)
s: Target: 100 / 2,000 (5%)
s: Target: 100 / 2,000 (5%): a new prompt replaces it
s: Target: 2,050 used (2,000 min ✓)'
}

# bats test_tags=slow
@test "a new prompt without a target clears it" {
	plays '[{"out":100},{"hold":true},{"out":100}]'
	budget --from-prompt
	prompt 1 s '+2k one'
	wait_for got_prompts 2
	turn 2 s two
	assert_equal "$(jq .result.usage.outputTokens <<<"$LINE")" 100
	send "$cancel"
	answer 1
	finish
	assert_equal "$(grep -c '"session/prompt"' got)" 3
}

# bats test_tags=slow
@test "a session that is closed in a nudge: the client gets its response before close's" {
	plays '[{"out":100},{"hold":true}]'
	budget --target 2k
	prompt 1 s work
	wait_for got_prompts 2
	send '{"id":2,"method":"session/close","params":{"sessionId":"s"}}'
	answer 2
	assert_equal "$(jq -c .id seen | tr '\n' ' ')" '1 2 '
	# What the agent says to the nudge later on goes to nobody.
	send "$cancel"
	send '{"id":3,"method":"x/y"}'
	answer 3
	finish
	assert_equal "$(jq -c .id seen | tr '\n' ' ')" '1 2 3 '
	assert_equal "$(told | tail -n 1)" 's: Target: 100 / 2,000 (5%): the session was closed'
}

@test "a session that is closed: a prompt whose budget a new prompt has replaced gets its response, too" {
	plays '[{"out":100},{"hold":true},{"hold":true}]'
	budget --target 2k
	prompt 1 s one
	wait_for got_prompts 2
	prompt 2 s two
	wait_for got_prompts 3
	send '{"id":3,"method":"session/close","params":{"sessionId":"s"}}'
	answer 3
	assert_equal "$(jq .id seen | head -n 1)" 1
	finish
	assert_regex "$(told)" 's: Target: 100 / 2,000 \(5%\): a new prompt replaces it'
}

@test "a cancelled nudge that the end of the session, or of the agent, cuts off: the client gets cancelled" {
	for end in '{"id":2,"method":"session/close","params":{"sessionId":"s"}}' '{"method":"die"}'; do
		cat >cut.jq <<-'END'
			foreach inputs as $m (0; if $m.method == "session/prompt" then . + 1 else . end;
				if $m.method == "die" then halt
				elif $m.method == "session/close" then {id: $m.id, result: {}}
				elif $m.method == "session/prompt" and . == 1 then {id: $m.id, result: {stopReason: "end_turn", usage: {outputTokens: 5}}}
				else empty end)
		END
		start acp-budget --target 2k -- sh -c 'tee got | jq -nc --unbuffered -f cut.jq'
		prompt 1 s work
		wait_for got_prompts 2
		send "$cancel"
		send "$end"
		answer 1
		finish
		assert_equal "$LINE" '{"id":1,"result":{"stopReason":"cancelled","usage":{"outputTokens":5}}}'
	done
}

@test "an agent that dies in a nudge: the client still gets its response" {
	plays '[{"out":100},{"out":200},{"die":true}]'
	budget --target 2k
	prompt 1 s work
	answer 1
	assert_equal "$LINE" '{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn","usage":{"totalTokens":500,"inputTokens":200,"outputTokens":300}}}'
	finish
	assert_equal "$(told | tail -n 1)" 's: Target: 300 / 2,000 (15%): the agent has ended'
}

@test "a client that leaves in a nudge: what runs ends, and no other nudge is sent" {
	plays '[{"out":100},{"hold":true}]'
	budget --target 2k --grace 100ms
	prompt 1 s work
	wait_for got_prompts 2
	finish
	assert_equal "$(jq -c '[.id, .result.usage.outputTokens]' seen)" '[1,100]'
	assert_equal "$(grep -c '"session/prompt"' got)" 2
	assert_regex "$(told | grep Target | tail -n 1)" 'the client has left'
}

# bats test_tags=slow
@test "a client that has sent all and left gets its response" {
	plays '[{"out":100}]'
	start acp-budget --target 2k -- ./agent
	prompt 1 s work
	finish
	assert_equal "$(jq -c '.id // empty' seen)" 1
}

# bats test_tags=slow
@test "updates after the response of a turn that goes on pass at once" {
	plays '[{"out":100,"late":[{"sessionUpdate":"usage_update","used":5,"size":10}]},{"hold":true}]'
	budget --target 2k
	prompt 1 s work
	until_line usage_update
	run ! grep -q '"id":1,' seen
	send "$cancel"
	answer 1
	finish
}

# bats test_tags=slow
@test "a client that uses ids like ours, twice, in both directions" {
	plays '[{"out":100},{"out":1900}]'
	budget --target 2k
	send '{"id":"acp-budget-1","method":"session/prompt","params":{"sessionId":"s","prompt":[]}}'
	until_line '"id":"acp-budget-1"'
	send '{"id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}'
	send '{"id":1,"method":"session/prompt","params":{"sessionId":"t","prompt":[]}}'
	answer 1
	answer 1
	finish
	assert_equal "$(jq -c '[.id, .result.usage.outputTokens]' seen | sort | tr '\n' ' ')" '["acp-budget-1",2000] [1,1900] [1,1900] '
}

# bats test_tags=slow
@test "odd prompts pass: no session, no array, no id, a string for a session's number" {
	plays '[{"out":5}]'
	budget --target 2k
	for params in '{}' '{"sessionId":7,"prompt":[]}' '{"sessionId":"s","prompt":"text"}' '[]' 'null'; do
		send '{"id":1,"method":"session/prompt","params":'"$params"'}'
		answer 1
	done
	send '{"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}'
	send '{"id":2,"method":"session/prompt"}'
	answer 2
	finish
	assert_equal "$(wc -l <got)" 7
	assert_equal "$(<err)" ''
}

# bats test_tags=slow
@test "odd responses pass: no object, no result that is one, usage that is none" {
	for result in 'null' '5' '[]' '{"stopReason":5}' '{"usage":7,"stopReason":"end_turn"}' '{"usage":{"outputTokens":-1},"stopReason":"end_turn"}'; do
		cat >agent <<-END
			#!/bin/sh
			while read -r line; do echo '{"id":1,"result":$result}'; done
		END
		chmod +x agent
		budget --target 2k
		prompt 1 s work
		answer 1
		finish
		assert_equal "$LINE" '{"id":1,"result":'"$result"'}'
	done
}

@test "an agent that repeats a part of a nudge: after the next prompt, the user's own words pass" {
	cat >agent <<-'END'
		#!/bin/sh
		says() { printf '{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"%s","content":{"type":"text","text":"%s"}}}}\n' "$1" "$2"; }
		read -r line
		echo '{"id":1,"result":{"stopReason":"end_turn","usage":{"outputTokens":100}}}'
		read -r nudge
		says user_message_chunk '[Output token target] more '
		says agent_message_chunk repeated
		read -r line
		printf '%s\n' "$nudge" | sed 's/.*"id":\("[^"]*"\).*/{"id":\1,"result":{"stopReason":"end_turn","usage":{"outputTokens":1}}}/'
		says user_message_chunk work
		echo '{"id":2,"result":{"stopReason":"end_turn","usage":{"outputTokens":3000}}}'
		cat >/dev/null
	END
	chmod +x agent
	budget --target 2k --nudge 'more work'
	prompt 1 s one
	until_line repeated
	prompt 2 s work
	answer 2
	finish
	assert_equal "$(jq -r '.params.update? | select(.sessionUpdate == "user_message_chunk").content.text' seen)" work
}

# bats test_tags=slow
@test "an agent that answers a prompt again while its response is held: the repeat is discarded" {
	cat >agent <<-'END'
		#!/bin/sh
		read -r line
		echo '{"id":1,"result":{"stopReason":"end_turn","usage":{"outputTokens":100}}}'
		read -r nudge
		echo '{"id":1,"result":{"stopReason":"end_turn","usage":{"outputTokens":1000000}}}'
		printf '%s\n' "$nudge" | sed 's/.*"id":\("[^"]*"\).*/{"id":\1,"result":{"stopReason":"end_turn","usage":{"outputTokens":1900}}}/'
		cat >/dev/null
	END
	chmod +x agent
	budget --target 2k
	turn 1 s work
	finish
	assert_equal "$(<seen)" '{"id":1,"result":{"stopReason":"end_turn","usage":{"outputTokens":2000}}}'
}

# bats test_tags=slow
@test "each way: wrap, link, a filter of a conductor, sockets" {
	plays '[{"out":300,"say":"a"},{"out":800},{"out":700}]'
	each() {
		start "$@"
		turn 7 s work
		finish
		assert_equal "$LINE" '{"jsonrpc":"2.0","id":7,"result":{"stopReason":"end_turn","usage":{"totalTokens":2100,"inputTokens":300,"outputTokens":1800}}}'
		assert_regex "$(told | tail -n 1)" 's: Target: 1,800 / 2,000 \(90%\): near enough$'
		assert_equal "$STATUS" 0
	}
	each acp-budget --target 2k -- ./agent
	each sockpair acp-budget --target 2k -- ./agent
	each link acp-budget --target 2k -- ./agent
	each link -s acp-budget --target 2k -- ./agent
	each acp-conduct -f 'acp-budget --target 2k' -- ./agent
}

@test "as a proxy of a conductor" {
	plays '[{"out":300,"say":"a"},{"hold":true},{"out":700}]'
	start acp-conduct -f 'acp-tap -o /dev/null' -p 'acp-budget --target 2k' -p 'acp-tap -o /dev/null' -- ./agent
	send '{"id":0,"method":"initialize","params":{"protocolVersion":1}}'
	answer 0
	prompt 1 s work
	wait_for got_prompts 2
	send "$cancel"
	answer 1
	finish
	assert_equal "$(jq -c '[.result.stopReason, .result.usage.outputTokens]' <<<"$LINE")" '["cancelled",300]'
}

@test "--status thought shows the client, in its own session" {
	plays '[{"out":300},{"out":1700}]'
	budget --target 2k --status thought
	turn 1 's"x' work
	finish
	assert_equal "$(jq -c 'select(.params) | .params | [.sessionId, .update.sessionUpdate, .update.content.type, (.update.content.text | sub(" · .*"; "…"))]' seen)" \
	    '["s\"x","agent_thought_chunk","text","Target: 300 / 2,000 (15%)…\n"]
["s\"x","agent_thought_chunk","text","Target: 2,000 used (2,000 min ✓)\n"]'
	assert_equal "$(tail -n 1 seen | jq .id)" 1
	assert_equal "$(<err)" ''
}

# bats test_tags=slow
@test "--status notice sends notices to a client that shows them; another's are on standard error" {
	plays '[{"out":2000}]'
	for capability in '"clientCapabilities":{"session":{"notices":{}}}' '"capabilities":{"session":{"notices":{}}}' '"clientCapabilities":{"session":{}}'; do
		budget --target 2k --status notice
		send '{"id":0,"method":"initialize","params":{"protocolVersion":1,'"$capability"'}}'
		answer 0
		turn 1 s work
		finish
		if [[ $capability == *notices* ]]; then
			assert_equal "$(jq -c 'select(.params).params' seen)" '{"sessionId":"s","update":{"sessionUpdate":"notice","severity":"info","title":"Target: 2,000 used (2,000 min ✓)"}}'
			assert_equal "$(<err)" ''
		else
			assert_equal "$(told)" 's: Target: 2,000 used (2,000 min ✓)'
			run ! grep -q notice seen
		fi
	done
}

# bats test_tags=slow
@test "an agent that answers everything twice: the client gets one response, with the sum" {
	plays '[{"out":1000}]'
	start acp-budget --target 3k -- acp-fault --duplicate 1 --from agent -m session/prompt --seed 1 -- ./agent
	turn 1 s work
	finish
	assert_equal "$(<seen)" '{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn","usage":{"totalTokens":3300,"inputTokens":300,"outputTokens":3000}}}'
	assert_equal "$(grep -c 'agent: line [46]: a response to no open request of ours: dropped' err)" 2
}

# bats test_tags=slow
@test "--status none shows nothing, --status tty writes to the terminal or reports that there is none" {
	plays '[{"out":2000}]'
	budget --target 2k --status none
	turn 1 s work
	finish
	assert_equal "$(<err)" ''
	run -125 setsid -w acp-budget --target 2k --status tty -- ./agent </dev/null
	assert_output --regexp '^acp-budget: --status tty: /dev/tty: '
	# shellcheck disable=SC2016
	printf '{"id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}\n' >in
	python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' sh -c 'acp-budget --target 2k --status tty -- ./agent <in >out 2>err2' </dev/null >terminal
	grep -q 's: Target: 2,000 used (2,000 min ✓)' terminal
	assert_equal "$(cat err2)" ''
}

# bats test_tags=slow
@test "the session's memory does not grow with its turns" {
	plays '[{"out":100}]'
	printf '{"id":%d,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}\n' {1..2000} >in
	start acp-budget --target 1k --status none -- sh -c 'exec jq -c --unbuffered -n --argjson script "$(cat script)" -f "$0"' "$TOP/tests/agent.jq"
	memory() { awk '/^VmRSS/ { print $2 }' "/proc/$PID/status"; }
	for ((i = 100; i <= 2000; i += 100)); do
		head -n "$i" in | tail -n 100 >&8
		answer "$i"
		((i > 200)) || first=$(memory)
	done
	last=$(memory)
	finish
	# A sanitizer keeps what is freed.
	[[ $B == *san* ]] || assert [ $((last - first)) -lt 1024 ]
}
