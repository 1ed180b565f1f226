#!/usr/bin/env bats
# acp-budget before a real agent, with a stand-in for the model.

bats_require_minimum_version 1.5.0

# One test at a time: what the model was asked is in one file.
setup_file() {
	export BATS_NO_PARALLELIZE_WITHIN_FILE=true
	load model
	model_start
}

teardown_file() {
	load model
	model_stop
}

setup() {
	load ../lib
	load ../budget
	lib_setup
}

teardown() {
	exec 8>&- 9<&-
	end_left_over
}

# opened COMMAND...: a session with it; $SESSION is its id.
opened() {
	mkdir -p peer/home peer/folder
	start env HOME="$PWD/peer/home" CLAUDE_CONFIG_DIR="$PWD/peer/home/.claude" "$@"
	send '{"jsonrpc":"2.0","id":100,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}'
	answer 100
	send '{"jsonrpc":"2.0","id":101,"method":"session/new","params":{"cwd":"'"$PWD"'/peer/folder","mcpServers":[]}}'
	answer 101
	SESSION=$(jq -r .result.sessionId <<<"$LINE")
}

# of SIDE: the messages of a recording that it sent.
of() {
	acp-tap -f raw --from "$1" agent.rec
}

@test "+2k is reached over several nudges, with the right sum" {
	opened acp-conduct -f 'acp-budget --from-prompt --threshold 100%' -f 'acp-tap -o agent.rec' -- claude-agent-acp
	turn 1 "$SESSION" '+2k a long story'
	jq -c .result.usage <<<"$LINE" >sum
	finish
	assert_equal "$STATUS" 0
	# Three turns of 700 tokens: what the client is told is what the agent said, added up.
	assert_equal "$(of client | jq -c 'select(.method == "session/prompt")' | wc -l)" 3
	assert_equal "$(jq .outputTokens sum)" 2100
	of agent | jq -sc '[.[] | .result.usage? // empty] | [map(.totalTokens), map(.inputTokens), map(.cachedReadTokens)] | map(add)' >added
	assert_equal "$(jq -c '[.totalTokens, .inputTokens, .cachedReadTokens]' sum)" "$(<added)"
	assert_equal "$(jq -c '.result._meta.quota.model_usage // [] | map(.token_count.outputTokens) | add' <<<"$LINE")" 2100
	assert_equal "$(grep -c '"id":1,' seen)" 1
	# The client sees all three texts, and none of our own words.
	assert_equal "$(jq -r '.params.update? | select(.sessionUpdate? == "agent_message_chunk").content.text' seen | tr -d '\n' | grep -o 'Hello from' | wc -l)" 3
	run ! grep -q 'Output token target' seen
	assert_equal "$(sed -n 's/ · .*//; s/.*: Target/Target/p' err)" 'Target: 700 / 2,000 (35%)
Target: 1,400 / 2,000 (70%)
Target: 2,100 used (2,000 min ✓)'
	# The model was told: the explanation once, and the counts.
	run jq -rs 'map(select(.path == "/v1/messages" and .body.tools)) | last.body.messages | tostring' "$BATS_FILE_TMPDIR/requests"
	assert_output --partial 'hard minimum'
	assert_output --partial 'output_token_usage'
	assert_output --partial '70% of the target is used: 1,400 of 2,000'
}

@test "a cost limit stops the third prompt" {
	opened claude-agent-acp
	turn 1 "$SESSION" 'hello'
	finish
	one=$(jq -s 'map(.params.update?.cost? // empty) | last.amount' seen)
	limit=$(jq -n "$one * 1.5")
	opened acp-budget --max-cost "${limit}USD" -- claude-agent-acp
	turn 1 "$SESSION" 'hello'
	turn 2 "$SESSION" 'hello again'
	assert_equal "$(jq -r .result.stopReason <<<"$LINE")" end_turn
	# The agent tells the cost of a turn behind its answer, at times.
	wait_for_cost() { grep -q 'max-cost' err || until_line '"cost"'; }
	wait_for_cost
	turn 3 "$SESSION" 'and again'
	assert_equal "$(jq .error.code <<<"$LINE")" -32603
	assert_regex "$(jq -r .error.message <<<"$LINE")" '^acp-budget: --max-cost [0-9.]+ USD is reached: [0-9.]+ USD$'
	finish
	assert_equal "$STATUS" 1
}

@test "a cancel in a nudge is the agent's, and the client gets what was done before" {
	opened acp-budget --target 2k --nudge 'HOLD a story' -- claude-agent-acp
	prompt 1 "$SESSION" 'hello'
	until_line '"text":"no"'
	send '{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"'"$SESSION"'"}}'
	answer 1
	assert_equal "$(jq -r .result.stopReason <<<"$LINE")" cancelled
	assert [ "$(jq .result.usage.outputTokens <<<"$LINE")" -ge 42 ]
	finish
}
