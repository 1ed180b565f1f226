#!/usr/bin/env bats
# acp-usage: what a session cost when its agent was restarted, and the new process may or may not have begun at 0.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load usage
	lib_setup
	restarted='{"jsonrpc":"2.0","method":"_acp-revive/restarted","params":{"restarts":1,"why":"killed"}}'
}

teardown() {
	end_left_over
}

# spent AMOUNT [SESSION]: a turn, after which the agent reports this cost.
spent() {
	prompt 1 "${2-s}"
	update "${2-s}" '"used":10,"size":100,"cost":{"amount":'"$1"',"currency":"USD"}'
	answer 1
}

# cost FILE: of the only session.
cost() {
	acp-usage --summary -f json "$1" 2>/dev/null | jq -c 'select(.session) | .cost'
}

@test "a cost that is not lower after a restart is a lower bound, and limits count the higher sum" {
	{ spent 0.02; echo "$restarted"; spent 0.02; spent 0.04; } >costs
	run cost costs
	assert_output '[{"amount":0.04,"currency":"USD","at_most":0.06}]'
	run -1 acp-usage --max-cost 0.06USD costs
	assert_output --partial '--max-cost 0.06 USD is reached'
	run -0 acp-usage --max-cost 0.061USD costs
	run acp-usage --summary costs
	assert_line --index 1 --regexp ' >=0.0400 USD$'
	assert_line --index 2 --regexp ' >=0.0400 USD$'
	run acp-usage costs
	assert_line --index 0 --regexp ' 0.0200 USD '
	assert_line --index -1 --regexp ' >=0.0400 USD '
	run -0 jq -r .lower_bound <(acp-usage -f json costs)
	assert_line --index 0 null
	assert_line --index -1 cost
	for by in model day project agent; do
		run acp-usage --summary --by $by -f json costs
		assert_line --index -1 --partial '"cost":[{"amount":0.04,"currency":"USD","at_most":0.06}]'
	done
}

# bats test_tags=slow
@test "a restart is known by the message, by the event of a recording, and by both it is one" {
	{ spent 1; echo "$restarted"; spent 3; } >costs
	acp-tap -o s.rec -- cat costs >/dev/null </dev/null
	run -0 grep -c '"event":"restart"' s.rec
	assert_output 1
	grep -v _acp-revive s.rec >event.rec
	grep -v '"restart"' s.rec >message.rec
	for file in costs s.rec event.rec message.rec; do
		run cost "$file"
		assert_output '[{"amount":3,"currency":"USD","at_most":4}]'
	done
	run jq -c 'select(.session).cost' <(acp-usage --pass --summary -f json -o out <costs >/dev/null; cat out)
	assert_output '[{"amount":3,"currency":"USD","at_most":4}]'
}

@test "a new process is recognized where it can be: by a fall, and by a cost before it has worked" {
	{ spent 2; echo "$restarted"; spent 1; spent 3; } >began
	run cost began
	assert_output '[{"amount":5,"currency":"USD"}]'
	{ spent 2; echo "$restarted"; update s '"used":10,"size":100,"cost":{"amount":2,"currency":"USD"}'; spent 3; } >restored
	run cost restored
	assert_output '[{"amount":3,"currency":"USD"}]'
	# A prompt that was open when the agent died may have been sent to the new one.
	{ spent 2; prompt 2 s; echo "$restarted"; update s '"used":10,"size":100,"cost":{"amount":2,"currency":"USD"}'; answer 2; } >open
	run cost open
	assert_output '[{"amount":2,"currency":"USD","at_most":4}]'
	# A cost of 0 says nothing, and what was never reported before is no doubt.
	{ spent 2; echo "$restarted"; spent 0; spent 3; echo "$restarted"; echo "$restarted"; spent 4; spent 1 other; } >zero
	run -0 jq -c 'select(.total).cost' <(acp-usage --summary -f json zero)
	assert_output '[{"amount":5,"currency":"USD","at_most":10}]'
}

@test "a doubt lasts over recordings and through --merge" {
	{ spent 2; echo "$restarted"; } | acp-tap -o 1.rec >/dev/null
	spent 3 | acp-tap -o 2.rec >/dev/null
	{ spent 4; echo "$restarted"; spent 4; } | acp-tap -o 3.rec >/dev/null
	for i in 1 2 3; do
		sed -i '1s/"started":"[^"]*"/"started":"2026-11-0'$i'T00:00:00Z"/' $i.rec
		acp-usage --summary -f json $i.rec >$i.json
	done
	acp-usage --summary -f json 3.rec 1.rec 2.rec >whole
	run -0 jq -c 'select(.total).cost' whole
	assert_output '[{"amount":4,"currency":"USD","at_most":10}]'
	acp-usage --merge -f json 3.json 1.json 2.json | cmp - whole
	acp-usage --merge -f json 2.json 3.json 1.json | cmp - whole
}

@test "a running total of tokens that goes on after a restart is a lower bound" {
	counts() {
		prompt "$1" s
		answer "$1" '"usage":{"totalTokens":'"$2"',"inputTokens":'$(($2 - 5))',"outputTokens":5}'
	}
	opened='{"jsonrpc":"2.0","id":9,"method":"session/new","params":{"cwd":"/"}}
{"jsonrpc":"2.0","id":9,"result":{"sessionId":"s"}}'
	{ echo "$opened"; counts 1 100; echo "$restarted"; counts 2 150; } >higher
	{ echo "$opened"; counts 1 100; echo "$restarted"; counts 2 50; } >lower
	run -0 jq -c 'select(.session) | [.tokens.total, .lower_bound]' <(acp-usage --summary -f json --basis session higher)
	assert_output '[150,"tokens"]'
	run -0 jq -c 'select(.session) | [.tokens.total, .lower_bound]' <(acp-usage --summary -f json --basis session lower)
	assert_output '[150,null]'
}
