#!/usr/bin/env bats
# acp-budget: targets, and how a turn goes on until it has come to one.

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

# targets [TEXT...]: what acp-budget finds in each; `-` where it finds none.
targets() {
	local i=0 text
	plays '[{"out":0}]'
	budget --from-prompt --max-continuations 0
	for text in "$@"; do
		turn $((++i)) "s$i" "$text"
	done
	finish
	for ((i = 1; i <= $#; i++)); do
		sed -n "s/^acp-budget: s$i: Target: 0 \/ \(.*\) (0%).*/\1/p" err | grep . || echo -
	done
}

# bats test_tags=slow
@test "a target at the beginning, at the end, or anywhere in words; of any spelling and case" {
	run targets '+500k fix it' '  +1.5M' '+2 b' '+3Kx' '+3k_' 'no +3k end' '+500' 'k +500'
	assert_output $'500,000\n1,500,000\n2,000,000,000\n-\n-\n-\n-\n-'
	run targets 'fix it +500k' 'fix it +1.5m.' $'fix it\n+2K !\n ' 'fix it+500k' 'fix it + 500k' 'fix +1k it'
	assert_output $'500,000\n1,500,000\n2,000\n-\n-\n-'
	run targets 'please USE 2m tokens now' 'spend 1.25k token' 'use  10  k  tokens' 'reuse 2m tokens' 'use 2m tokensy' \
	    'use2m tokens' 'use 2000 tokens' 'use 2k, use 3k tokens'
	assert_output $'2,000,000\n1,250\n10,000\n-\n-\n-\n-\n3,000'
}

# bats test_tags=slow
@test "blanks of Unicode are blanks in a target" {
	run targets $'\u3000+500k fix' $'+5\u00a0k\u2003fix' $'fix\u2029+2k\u202f!\ufeff' $'use\u30002m\u1680tokens' $'fix\u200b+2k' $'use\u00e02m tokens'
	assert_output $'500,000\n5,000\n2,000\n2,000,000\n-\n-'
}

# bats test_tags=slow
@test "the first of the three counts, and a target of 0 is none" {
	run targets '+1k and use 2k tokens +3k' 'use 2k tokens +3k' '+0k use 2k tokens' '+0.0005k' '+99999999999999999999b' '+1.5.5k'
	assert_output $'1,000\n3,000\n-\n-\n18,446,744,073,709,551,615\n-'
}

@test "targets are looked for block by block, in blocks of text only" {
	plays '[{"out":5000}]'
	budget --from-prompt
	send '{"id":1,"method":"session/prompt","params":{"sessionId":"a","prompt":[{"type":"text","text":"one"},{"text":"\u002b2k","type":"text"}]}}'
	answer 1
	send '{"id":2,"method":"session/prompt","params":{"sessionId":"b","prompt":[{"type":"resource","resource":{"text":"+2k"}},{"type":"image","text":"+2k"}]}}'
	answer 2
	send '{"id":3,"method":"session/prompt","params":{"sessionId":"c","prompt":[{"type":"text","text":"use 2k"},{"type":"text","text":"tokens"}]}}'
	answer 3
	finish
	assert_equal "$(told)" 'a: Target: 5,000 used (2,000 min ✓)'
}

@test "without a target everything passes as it is" {
	plays '[{"out":100}]'
	budget --from-prompt
	send ' {"id" : 1, "method":"session/prompt","params":{"sessionId":"s","prompt":[ ]} , "x":1.50}'
	until_line '"id":1'
	finish
	assert_equal "$(<got)" ' {"id" : 1, "method":"session/prompt","params":{"sessionId":"s","prompt":[ ]} , "x":1.50}'
	assert_equal "$(<seen)" '{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn","usage":{"totalTokens":200,"inputTokens":100,"outputTokens":100}}}'
	assert_equal "$(<err)" ''
}

@test "a turn goes on until it is near enough, and the client sees one" {
	plays '[{"out":300,"say":"a"},{"out":800,"say":"b"},{"out":700,"say":"c"}]'
	budget --target 2k
	turn 7 s 'work'
	finish
	assert_equal "$(jq -r '.params.update.content.text // .id' seen)" $'a\nb\nc\n7'
	assert_equal "$LINE" '{"jsonrpc":"2.0","id":7,"result":{"stopReason":"end_turn","usage":{"totalTokens":2100,"inputTokens":300,"outputTokens":1800}}}'
	assert_equal "$(told)" 's: Target: 300 / 2,000 (15%)
s: Target: 1,100 / 2,000 (55%)
s: Target: 1,800 / 2,000 (90%): near enough'
	assert_equal "$STATUS" 0
}

# bats test_tags=slow
@test "a target that was reached at once is one line, and nothing else" {
	plays '[{"out":2000}]'
	budget --target 2k
	turn 1 s work
	finish
	assert_equal "$(told)" 's: Target: 2,000 used (2,000 min ✓)'
	assert_equal "$(asked | wc -l)" 1
}

# bats test_tags=slow
@test "the explanation comes once in a session, after the user's blocks; other bytes stay" {
	plays '[{"out":5000}]'
	budget --target 2k
	send ' {"id":1,"method":"session/prompt","params":{"prompt" : [{"text":"one","type":"text","n":1.50} ],"sessionId":"s"}}'
	answer 1
	turn 2 s two
	turn 3 t three
	send '{"id":4,"method":"session/prompt","params":{"sessionId":"u","prompt":[]}}'
	answer 4
	finish
	explanation=$(jq -c 'select(.id == 4).params.prompt' got | sed 's/^\[//; s/\]$//')
	assert_equal "$(sed -n 1p got)" " {\"id\":1,\"method\":\"session/prompt\",\"params\":{\"prompt\" : [{\"text\":\"one\",\"type\":\"text\",\"n\":1.50} ,$explanation],\"sessionId\":\"s\"}}"
	assert_equal "$(jq -c '.params.prompt | length' got | tr '\n' ' ')" '2 1 2 1 '
	assert_regex "$explanation" 'hard minimum'
}

# bats test_tags=slow
@test "a nudge says percentage, tokens so far, target, and the counts object" {
	plays '[{"out":600},{"out":650},{"out":5000}]'
	budget --target 5k --threshold 100 --nudge '{percent} {tokens} {target} {other} {{counts}'
	turn 1 s work
	turn 2 s work
	finish
	assert_equal "$(asked | tail -n +2 | head -n 2)" '["[Output token target] 12% 600 5,000 {other} {{\"type\":\"output_token_usage\",\"turn\":600,\"session\":600,\"budget\":5000}"]
["[Output token target] 25% 1,250 5,000 {other} {{\"type\":\"output_token_usage\",\"turn\":1250,\"session\":1250,\"budget\":5000}"]'
	rm down
	plays '[{"out":600}]'
	budget --target 5k --max-continuations 1
	turn 1 s work
	turn 2 s work
	finish
	assert_equal "$(jq -r 'select(.method == "session/prompt").params.prompt[0].text' got | grep -c '^{"type":"output_token_usage","turn":600,')" 2
	assert_equal "$(jq -r 'select(.method == "session/prompt").params.prompt[0].text' got | grep '^{' | jq -c .session | tr '\n' ' ')" '600 1800 '
}

# bats test_tags=slow
@test "diminishing returns end it: three continuations, and the last two below --min-gain" {
	plays '[{"out":100},{"out":100},{"out":100},{"out":100}]'
	budget --target 200m
	turn 1 s work
	finish
	assert_equal "$(asked | wc -l)" 4
	assert_equal "$(told | tail -n 1)" 's: Target: 400 / 200,000,000 (0%): diminishing returns'
	assert_regex "$(<err)" ' / 200,000,000 \(0%\) · ~[1-9][0-9]*(h [0-5][0-9]m|m [0-5][0-9]s)'
	plays '[{"out":100},{"out":100},{"out":100},{"out":500},{"out":499},{"out":499}]'
	budget --target 100k
	turn 1 s work
	finish
	assert_equal "$(asked | wc -l)" 6
	plays '[{"out":30}]'
	budget --target 1k --min-gain 30 --threshold 100%
	turn 1 s work
	finish
	assert_equal "$(told | tail -n 1)" 's: Target: 1,020 used (1,000 min ✓)'
}

# bats test_tags=slow
@test "--max-continuations ends it" {
	plays '[{"out":1000}]'
	for most in 0 2; do
		budget --target 100k --max-continuations "$most"
		turn 1 s work
		finish
		assert_equal "$(asked | wc -l)" "$((most + 1))"
		assert_equal "$(told | tail -n 1)" "s: Target: $((most + 1)),000 / 100,000 ($((most + 1))%): --max-continuations is reached"
	done
}

# bats test_tags=slow
@test "a stop reason other than end_turn ends it, and is the response's" {
	plays '[{"out":100},{"out":200,"stop":"max_tokens"}]'
	budget --target 2k
	turn 1 s work
	finish
	assert_equal "$LINE" '{"jsonrpc":"2.0","id":1,"result":{"stopReason":"max_tokens","usage":{"totalTokens":500,"inputTokens":200,"outputTokens":300}}}'
	assert_equal "$(told | tail -n 1)" 's: Target: 300 / 2,000 (15%): stop reason max_tokens'
	plays '[{"out":100,"stop":"refusal"}]'
	budget --target 2k
	turn 1 s work
	finish
	assert_equal "$(told)" 's: Target: 100 / 2,000 (5%): stop reason refusal'
	assert_equal "$(asked | wc -l)" 1
}

@test "an error that answers a nudge ends it: the client gets what was done till then" {
	plays '[{"out":100},{"out":200},{"error":{"code":429,"message":"too\nmany"}}]'
	budget --target 2k
	turn 1 s work
	finish
	assert_equal "$LINE" '{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn","usage":{"totalTokens":500,"inputTokens":200,"outputTokens":300}}}'
	assert_equal "$(told | tail -n 1)" 's: Target: 300 / 2,000 (15%): the agent answered a continuation with an error: too many'
}

# bats test_tags=slow
@test "an error that answers the prompt itself passes as it is" {
	plays '[{"error":{"code":-32000,"message":"log in"}}]'
	budget --target 2k
	turn 1 s work
	finish
	assert_equal "$LINE" '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"log in"}}'
	assert_equal "$(told)" 's: Target: 0 / 2,000 (0%): the agent answered with an error: log in'
}

@test "the response is spliced: all but the counts and the stop reason is the agent's own" {
	plays '[{"result":{"x":1,"stopReason":"end_turn","_meta":{"traceparent":"00"},"usage":{"output_tokens":100,"total_tokens":null,"y":[]}}},
		{"result":{"stopReason":"refusal","_meta":{"traceparent":"11"},"usage":{"outputTokens":50,"totalTokens":60,"thoughtTokens":7}}}]'
	budget --target 2k
	turn 1 s work
	finish
	assert_equal "$LINE" '{"jsonrpc":"2.0","id":1,"result":{"x":1,"stopReason":"refusal","_meta":{"traceparent":"00"},"usage":{"output_tokens":150,"total_tokens":60,"y":[],"thoughtTokens":7}}}'
}

@test "what was billed counts: the sum of the rows per model, in the response as well" {
	row() { printf '{"model":"%s","token_count":{"totalTokens":%s,"inputTokens":0,"outputTokens":%s}}' "$1" "$2" "$2"; }
	plays '[{"result":{"stopReason":"end_turn","usage":{"totalTokens":10,"outputTokens":10,"inputTokens":0},"_meta":{"quota":{"model_usage":['"$(row m 10),$(row n 500)"']}}}},
		{"result":{"stopReason":"end_turn","usage":{"totalTokens":20,"outputTokens":20,"inputTokens":0},"_meta":{"quota":{"model_usage":['"$(row m 1500),$(row o 5)"']}}}}]'
	budget --target 2k
	turn 1 s work
	finish
	assert_equal "$(told)" 's: Target: 510 / 2,000 (25%)
s: Target: 2,015 used (2,000 min ✓)'
	assert_equal "$(jq -c .result <<<"$LINE")" '{"stopReason":"end_turn","usage":{"totalTokens":30,"outputTokens":30,"inputTokens":0},"_meta":{"quota":{"model_usage":['"$(row m 1510),$(row n 500),$(row o 5)"']}}}'
}

@test "counts that only a nudge reports are in the response, without what else stands beside them" {
	plays '[{"result":{"stopReason":"end_turn","usage":{"outputTokens":10}}},
		{"result":{"stopReason":"end_turn","usage":{"outputTokens":2000},"_meta":{"x":1,"quota":{"token_count":{"outputTokens":2000}}}}}]'
	budget --target 2k
	turn 1 s work
	finish
	assert_equal "$(jq -c .result <<<"$LINE")" \
	    '{"stopReason":"end_turn","usage":{"outputTokens":2010},"_meta":{"quota":{"token_count":{"outputTokens":2000}}}}'
}

# bats test_tags=slow
@test "running totals are not added: the last one is the sum" {
	plays '[{"hello":{"protocolVersion":1,"agentCapabilities":{},"agentInfo":{"name":"hermes","version":"1"}},"out":300},{"out":1100},{"out":2000}]'
	budget --target 2k
	send '{"id":0,"method":"initialize","params":{"protocolVersion":1}}'
	answer 0
	turn 1 s work
	finish
	assert_equal "$(told)" 's: Target: 300 / 2,000 (15%)
s: Target: 1,100 / 2,000 (55%)
s: Target: 2,000 used (2,000 min ✓)'
	assert_equal "$(jq .result.usage.outputTokens <<<"$LINE")" 2000
}

# bats test_tags=slow
@test "counts of each call are counts" {
	call() { printf '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""},"_meta":{"usage":{"inputTokens":10,"outputTokens":%s,"totalTokens":%s}}}' "$1" "$(($1 + 10))"; }
	plays '[{"updates":['"$(call 200),$(call 300)"']},{"updates":['"$(call 1500)"']}]'
	budget --target 2k
	turn 1 s work
	finish
	assert_equal "$(told)" 's: Target: 500 / 2,000 (25%)
s: Target: 2,000 used (2,000 min ✓)'
	assert_equal "$LINE" '{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}'
}

@test "an agent without usage: refused once a session, and prompts go through as they are" {
	plays '[{"say":"text"}]'
	budget --target 2k
	turn 1 s one
	turn 2 s two
	turn 3 t three
	finish
	assert_equal "$(asked | tail -n +2)" $'["two"]\n["three"]'
	assert_equal "$(told)" 's: no budget: the agent reports no usage of its turns (--estimate counts the text)
t: no budget: the agent reports no usage of its turns (--estimate counts the text)'
	assert_equal "$(grep -c '"id":1' seen)" 1
}

# bats test_tags=slow
@test "a turn without usage that nobody asked to count says nothing about the agent" {
	plays '[{"say":"help"},{"out":300},{"out":1700}]'
	budget --from-prompt
	turn 1 s /help
	turn 2 s '+2k work'
	finish
	assert_equal "$(told | tail -n 1)" 's: Target: 2,000 used (2,000 min ✓)'
}

@test "an agent that is known for the last call's counts only: refused from the first prompt on" {
	plays '[{"hello":{"protocolVersion":1,"agentCapabilities":{},"agentInfo":{"name":"opencode","version":"1"}},"out":300}]'
	budget --target 2k
	send '{"id":0,"method":"initialize","params":{"protocolVersion":1}}'
	answer 0
	turn 1 s one
	finish
	assert_equal "$(asked)" '["one"]'
	assert_equal "$(told)" "s: no budget: the agent reports the usage of a turn's last call only (--estimate counts the text)"
}

@test "--basis says what the counts cover" {
	plays '[{"out":300},{"out":1100},{"out":2000}]'
	budget --target 2k --basis session
	turn 1 s work
	finish
	assert_equal "$(told | tail -n 1)" 's: Target: 2,000 used (2,000 min ✓)'
	budget --target 2k --basis call
	turn 1 s work
	finish
	assert_regex "$(told)" "last call only"
}

@test "--estimate counts the text, four bytes a token, and every figure has its mark" {
	plays '[{"say":"0123456789ä"},{"say":"'"$(printf '%4000s' '')"'","updates":[{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"\u00e4\u00e4"}}]}]'
	budget --target 1k --estimate
	turn 1 s work
	finish
	assert_equal "$(told)" 's: Target: ~3 / 1,000 (~0%)
s: Target: ~1,004 used (1,000 min ✓)'
	assert_regex "$(asked | tail -n 1)" '~0% of the target is used: ~3 of 1,000.*\\"estimate\\":true}'
	assert_equal "$LINE" '{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}'
}

@test "--estimate counts no text of a history, nor what comes between turns" {
	cat >talks.jq <<-'END'
		def text: {method: "session/update", params: {sessionId: "s", update: {sessionUpdate: "agent_message_chunk", content: {type: "text", text: .}}}};
		if .method == "session/load" then ("history" * 1000 | text), {id, result: {}}
		elif .method == "session/prompt" then ("short" | text), {id, result: {stopReason: "end_turn"}}, ("between" * 1000 | text)
		else empty end
	END
	start acp-budget --target 1k --estimate --max-continuations 0 -- jq -c --unbuffered -f talks.jq
	send '{"id":1,"method":"session/load","params":{"sessionId":"s"}}'
	answer 1
	turn 2 s work
	until_line between
	turn 3 s more
	finish
	assert_equal "$(told)" 's: Target: ~2 / 1,000 (~0%): --max-continuations is reached
s: Target: ~2 / 1,000 (~0%): --max-continuations is reached'
}

# bats test_tags=slow
@test "--estimate leaves reported counts alone" {
	plays '[{"out":300,"say":"text"},{"out":1700}]'
	budget --target 2k --estimate
	turn 1 s work
	finish
	assert_equal "$(told | tail -n 1)" 's: Target: 2,000 used (2,000 min ✓)'
}

# bats test_tags=slow
@test "echoes of nudges and of the explanation are left out, in pieces as well; other echoes pass" {
	cat >pieces.jq <<-'END'
		# Each chunk of the user's in two pieces.
		if .params.update.sessionUpdate? == "user_message_chunk" then
			(.params.update.content.text) as $t | (($t | length) / 2 | floor) as $n
			| (.params.update.content.text = $t[:$n]), (.params.update.content.text = $t[$n:])
		else . end
	END
	for pieces in 'cat' 'jq -c --unbuffered -f pieces.jq'; do
		plays '[{"out":300,"echo":true},{"out":300,"echo":true,"updates":[{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"else"}}]},{"out":2000,"echo":true,"say":"done"}]'
		start acp-budget --target 2k -- sh -c "./agent | $pieces"
		turn 1 s work
		finish
		assert_equal "$(jq -r '.params.update | select(.).content.text' seen | tr -d '\n')" workelsedone
	done
}

# bats test_tags=slow
@test "what bears our mark is left out of the history that another process replays" {
	cat >replays.jq <<-'END'
		def chunk($text): {method: "session/update", params: {sessionId: "s", update: {sessionUpdate: "user_message_chunk", content: {type: "text", text: $text}}}};
		if .method == "session/load" then
			chunk("work"), chunk($explanation), chunk("[Output token target] 5% of it"), chunk("joined\n" + $explanation + "\nand more"), chunk("[Output"),
			{id, result: {}}
		else empty end
	END
	plays '[{"out":2000}]'
	budget --target 2k
	turn 1 s work
	finish
	start acp-budget --target 2k -- jq -c --unbuffered --arg explanation "$(asked | jq -r '.[1]')" -f replays.jq
	send '{"id":1,"method":"session/load","params":{"sessionId":"s"}}'
	answer 1
	finish
	assert_equal "$(jq -c '.params.update.content.text // empty' seen)" '"work"
"joined\n\nand more"
"[Output"'
}

@test "a prompt that is a command of its session has no target" {
	plays '[{"out":100,"updates":[{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"context"}]}]}]'
	budget --target 2k --max-continuations 0
	turn 1 s '/context'
	turn 2 s '/context all'
	turn 3 s 'context'
	finish
	assert_equal "$(asked | jq -c length | tr '\n' ' ')" '2 1 1 '
	assert_equal "$(told | grep -c Target)" 2
}

@test "several sessions each have their own, and none waits for another" {
	plays '[{"out":100},{"hold":true},{"out":300},{"out":1900}]'
	budget --target 2k
	prompt 1 a work
	wait_for grep -q '15%\|5%' err
	# a's nudge is in flight and is not answered; b comes to its end all the same.
	turn 2 b work
	assert_equal "$(jq .result.usage.outputTokens <<<"$LINE")" 2200
	run ! grep -q '"id":1,' seen
	send '{"method":"session/cancel","params":{"sessionId":"a"}}'
	answer 1
	assert_equal "$(jq -c '[.result.stopReason, .result.usage.outputTokens]' <<<"$LINE")" '["cancelled",100]'
	finish
}

@test "bad options are refused before the agent is started" {
	for options in '' '--target 0' '--target many' '--target 1 --from-prompt' '--target 1 --threshold 0' '--target 1 --threshold 0.5' \
	    '--target 1 --threshold 101%' '--max-cost 5' '--max-cost USD' '--max-cost 1USD,' '--max-cost 0USD' '--max-turns 0' \
	    '--max-context 0%' '--at 90%' '--at 90%=' '--at x=y' '--at 101%=y' '--target 1 --hard' '--target 1 --status loud' \
	    '--target 1 --basis none' '--target 1 --way round' '--target 1 --way link' '--max-tokens x' '--target 1 --nope'; do
		# shellcheck disable=SC2086
		run acp-budget $options -- touch started
		assert_failure 2
		assert_equal "${#lines[@]}" 1
	done
	run acp-budget --target 1 word
	assert_failure 2
	run acp-budget --target 1 --
	assert_failure 2
	refute [ -e started ]
}

@test "a one-way pipe is refused" {
	run acp-budget --target 1 </dev/null
	assert_failure 2
	assert_output --partial 'needs both directions'
}

@test "help and version" {
	run acp-budget --help
	assert_success
	run acp-budget -V
	assert_output --regexp '^acp-budget [0-9.]+$'
}
