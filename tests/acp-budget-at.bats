#!/usr/bin/env bats
# acp-budget --at: a text that is asked ahead of the client's next prompt.

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

commands='{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"review"},{"name":"compact","description":"x"}]}'
cancel='{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}'

@test "at the level, the text is asked before the next prompt; the client sees the updates, not the response" {
	plays '[{"updates":['"$commands,$(context 900)"']},{"say":"compacted","updates":['"$(context 100)"']},{"say":"done"}]'
	budget --at 90%=/compact
	turn 1 s one
	turn 2 s two
	finish
	assert_equal "$(asked | tr -d '\n')" '["one"]["/compact"]["two"]'
	assert_equal "$(jq -c '.id // .params.update.content.text // .params.update.used // empty' seen | tr -d '\n')" '9001"compacted"100"done"2'
	assert_equal "$(<err)" ''
}

# bats test_tags=slow
@test "below the level nothing is asked" {
	plays '[{"updates":['"$(context 899)"']}]'
	budget --at 90%=/compact
	turn 1 s one
	turn 2 s two
	finish
	assert_equal "$(asked | tr -d '\n')" '["one"]["two"]'
}

# bats test_tags=slow
@test "a context that is reported after the response counts" {
	plays '[{"late":['"$(context 950)"']}]'
	budget --at 90=summarize
	turn 1 s one
	until_line 950
	turn 2 s two
	finish
	assert_equal "$(asked | tr -d '\n')" '["one"]["summarize"]["two"]'
}

# bats test_tags=slow
@test "once for each crossing" {
	plays '[{"updates":['"$(context 900)"']},{},{},{"updates":['"$(context 800)"','"$(context 910)"']},{},{}]'
	budget --at 90=summarize
	for i in 1 2 3 4; do turn $i s "$i"; done
	finish
	assert_equal "$(asked | tr -d '\n')" '["1"]["summarize"]["2"]["3"]["summarize"]["4"]'
}

# bats test_tags=slow
@test "several levels, in the order given, as long as they are reached" {
	plays '[{"updates":['"$(context 950)"']},{},{"updates":['"$(context 100)"']}]'
	budget --at 50=note --at 90=summarize --at '95=hand over'
	turn 1 s one
	turn 2 s two
	finish
	assert_equal "$(asked | tr -d '\n')" '["one"]["note"]["summarize"]["two"]'
}

# bats test_tags=slow
@test "a command that the agent does not list is reported once, and sent" {
	plays '[{"updates":['"$(context 900)"']},{"updates":['"$(context 100),$(context 900)"']},{}]'
	budget --at '90%=/compact now'
	for i in 1 2 3; do turn $i s "$i"; done
	finish
	assert_equal "$(asked | tr -d '\n')" '["1"]["/compact now"]["2"]["/compact now"]["3"]'
	assert_equal "$(told)" 's: --at 90%: the agent does not list /compact among its commands'
}

# bats test_tags=slow
@test "/compact is not sent while the agent compacts; other texts are" {
	compaction() {
		printf '{"sessionUpdate":"compaction_update","compactionId":"c","status":"%s"}' "$1"
	}
	plays '[{"updates":['"$commands,$(context 900),$(compaction in_progress)"']},{"updates":['"$(compaction completed)"']},{}]'
	budget --at '90%=/compact now'
	for i in 1 2 3; do turn $i s "$i"; done
	finish
	assert_equal "$(asked | tr -d '\n')" '["1"]["2"]["/compact now"]["3"]'
	budget --at 90%=/compactor --at '90%=summarize'
	for i in 1 2; do turn $i s "$i"; done
	finish
	assert_equal "$(asked | tr -d '\n')" '["1"]["/compactor"]["summarize"]["2"]'
}

# holds: the agent has got two prompts, the second ours, and a prompt of the client waits.
holds() {
	plays '[{"updates":['"$(context 900)"']},{"hold":true},{"say":"done"}]'
	"$@"
	turn 1 s one
	prompt 2 s two
	wait_for grep -q summarize got
}

@test "session/cancel while a prompt waits: it is answered here, the text is cancelled" {
	holds budget --at 90=summarize
	send "$cancel"
	answer 2
	assert_equal "$LINE" '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"cancelled"}}'
	turn 3 s three
	finish
	assert_equal "$(asked | tr -d '\n')" '["one"]["summarize"]["three"]'
	grep -qxF "$cancel" got
}

# bats test_tags=slow
@test "\$/cancel_request of a prompt that waits: it is answered here, and the others go on" {
	holds budget --at 90=summarize
	prompt 3 s three
	send '{"method":"$/cancel_request","params":{"requestId":2}}'
	answer 2
	assert_equal "$LINE" '{"jsonrpc":"2.0","id":2,"error":{"code":-32800,"message":"acp-budget: cancelled"}}'
	run ! grep -q cancel_request got
	send '{"id":4,"method":"session/close","params":{"sessionId":"other"}}'
	answer 4
	run ! grep -q three got
	send "$cancel"
	answer 3
	finish
}

@test "prompts that wait go on in their order" {
	plays '[{"updates":['"$(context 900)"']},{"hold":true},{"say":"done"}]'
	# The agent ends the text by itself when it is asked for something else.
	cat >ends.jq <<-'END'
		foreach inputs as $m ({n: 0};
			.out = []
			| if $m.method == "session/prompt" then
				.n += 1
				| if .n == 1 then .out = [{method: "session/update", params: {sessionId: "s", update: {sessionUpdate: "usage_update", used: 9, size: 10}}}, {id: $m.id, result: {stopReason: "end_turn"}}]
				elif .n == 2 then .id = $m.id else .out = [{id: $m.id, result: {stopReason: "end_turn"}}] end
			elif $m.method == "x/go" then .out = [{id: .id, result: {stopReason: "end_turn"}}, {id: $m.id, result: {}}] else . end;
			.out[])
	END
	start acp-budget --at 90=summarize -- sh -c 'tee got | jq -nc --unbuffered -f ends.jq'
	turn 1 s one
	prompt 2 s two
	prompt 3 s three
	send '{"id":4,"method":"x/go"}'
	until_line '"id":3'
	finish
	assert_equal "$(jq -r '.params.prompt[0].text? // .method' got | tr '\n' ' ')" 'one summarize x/go two three '
	assert_equal "$(jq -c '.id // empty' seen | tr '\n' ' ')" '1 4 2 3 '
}

# bats test_tags=slow
@test "another session's prompts do not wait" {
	holds budget --at 90=summarize
	turn 3 t three
	run ! grep -q two got
	send "$cancel"
	answer 2
	finish
}

# bats test_tags=slow
@test "an error that answers the text: the prompt goes on" {
	plays '[{"updates":['"$(context 900)"']},{"error":{"code":1,"message":"no"}},{}]'
	budget --at 90=summarize
	turn 1 s one
	turn 2 s two
	finish
	assert_equal "$(asked | tr -d '\n')" '["one"]["summarize"]["two"]'
	assert_equal "$(jq -c '.id // empty' seen | tr '\n' ' ')" '1 2 '
}

# bats test_tags=slow
@test "at a limit no text of ours is asked; a prompt that has waited is refused when it is reached meanwhile" {
	plays '[{"updates":['"$(context 960)"']}]'
	budget --at 90=summarize --max-context 95
	turn 1 s one
	turn 2 s two
	assert_equal "$(jq .error.code <<<"$LINE")" -32603
	finish
	assert_equal "$(asked | wc -l)" 1
	plays '[{"updates":['"$(context 900)"']},{"updates":['"$(context 960)"']}]'
	budget --at 90=summarize --max-context 95
	turn 1 s one
	turn 2 s two
	assert_equal "$(jq .error.message <<<"$LINE")" '"acp-budget: --max-context 95% is reached: 96%, 960 of 1,000 tokens"'
	finish
	assert_equal "$(asked | tr -d '\n')" '["one"]["summarize"]'
}

# bats test_tags=slow
@test "a prompt that has waited gets its budget all the same" {
	plays '[{"out":2000,"updates":['"$(context 900)"']},{"out":7},{"out":300},{"out":1700}]'
	budget --at 90=summarize --from-prompt
	turn 1 s one
	turn 2 s 'two +2k'
	assert_equal "$(jq .result.usage.outputTokens <<<"$LINE")" 2000
	finish
	assert_equal "$(asked | jq length | tr '\n' ' ')" '1 1 2 1 '
	assert_equal "$(told | tail -n 1)" 's: Target: 2,000 used (2,000 min ✓)'
}

# bats test_tags=slow
@test "an agent that dies while a prompt waits: the client gets an error" {
	plays '[{"updates":['"$(context 900)"']},{"die":true}]'
	budget --at 90=summarize
	turn 1 s one
	turn 2 s two
	assert_equal "$LINE" '{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"acp-budget: the agent has ended"}}'
	finish
}

# bats test_tags=slow
@test "a client that leaves while its prompt waits: the prompt still arrives" {
	plays '[{"updates":['"$(context 900)"']},{},{}]'
	budget --at 90=summarize
	turn 1 s one
	prompt 2 s two
	finish
	assert_equal "$(asked | tr -d '\n')" '["one"]["summarize"]["two"]'
}

@test "a prompt that had to wait gets a response when both sides end before the agent has responded to it" {
	# It responds to the text, and is gone.
	cat >agent <<-'END'
		#!/bin/sh
		read -r line
		echo '{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"usage_update","used":900,"size":1000}}}'
		echo '{"id":1,"result":{"stopReason":"end_turn"}}'
		read -r line
		id=${line#*'"id":'} id=${id%%,*}
		until [ -e left ]; do sleep 0.01; done
		echo '{"id":'$id',"result":{"stopReason":"end_turn"}}'
		exec >&-
		cat >got
	END
	chmod +x agent
	for leaves in yes no; do
		rm -f left
		budget --at 90=summarize
		turn 1 s one
		prompt 2 s two
		[[ $leaves == no ]] || exec 8>&-
		: >left
		answer 2
		assert_equal "$(jq -r .error.message <<<"$LINE")" 'acp-budget: the '"$([[ $leaves == yes ]] && echo client has left || echo agent has ended)"
		finish
		assert_equal "$(asked)" '["two"]'
	done
}
