#!/usr/bin/env bats
# acp-ask --script: prompts, expectations and requests; and random agents against a model.

bats_require_minimum_version 1.5.0

setup() {
	load ask
	ask_setup
}

teardown() {
	ask_teardown
}

script() {
	printf '%s\n' "$@" >s.jsonl
}

@test "prompts run one after the other; what is expected holds" {
	agent '{"turns":[[{"text":"Hello."}],[{"text":"x"},{"stop":"refusal"}]]}'
	script '{"prompt":"one"}' '{"expect":{"stop_reason":"end_turn","text":"Hel*"}}' '' '{"prompt":"two","expect":{"stop_reason":"refusal","tool_calls":[]}}'
	run -0 --separate-stderr ask --script s.jsonl
	assert_output $'Hello.\nx'
	assert_equal "$stderr" ''
	assert_equal "$(sent 'select(.method == "session/prompt").params.prompt[0].text')" $'"one"\n"two"'
}

@test "an expectation that fails is reported with file and line, and the exit status is 1" {
	agent '{"turns":[[{"text":"Hello."}]]}'
	script '{"prompt":"one"}' '{"expect":{"stop_reason":"refusal","nothing":1,"text":"Hello."}}' '{"prompt":"two"}'
	run -1 --separate-stderr ask --script s.jsonl
	assert_equal "$stderr" $'acp-ask: s.jsonl:2: stop_reason is "end_turn", expected "refusal"\nacp-ask: s.jsonl:2: nothing is nothing, expected 1'
	assert_equal "$(sent 'select(.method == "session/prompt")' | wc -l)" 2
}

@test "cancel_after cancels the prompt before it" {
	agent '{"turns":[[{"wait":"session/cancel"},{"stop":"cancelled"}],[{"text":"y"}]]}'
	script '{"prompt":"one"}' '{"cancel_after":"50ms"}' '{"expect":{"stop_reason":"cancelled"}}' '{"prompt":"two"}' '{"expect":{"text":"y"}}'
	run -0 ask --script s.jsonl
	script '{"prompt":"one","cancel_after":"50ms","expect":{"stop_reason":"cancelled"}}'
	run -0 ask --script s.jsonl
	script '{"prompt":"one","expect":{"stop_reason":"c*"}}' '' '{"cancel_after":"50ms","expect":{"stop_reason":"cancelled"}}'
	run -0 timeout 20 acp-ask --script s.jsonl -- "${AGENT[@]}"
}

@test "cancel_after without a prompt in its line or the line before is refused" {
	agent '{}'
	while IFS='|' read -r -a steps; do
		script '{"prompt":"x"}' "${steps[@]}"
		run -2 ask --script s.jsonl
		assert_output "acp-ask: s.jsonl:$((1 + ${#steps[@]})): cancel_after: expected a prompt in this line or the line before"
		[ ! -e in ]
	done <<-'END'
		{"expect":{}}|{"cancel_after":"1s"}
		{"cancel_after":"1s"}|{"cancel_after":"1s"}
		{"prompt":"y","cancel_after":"1s"}|{"cancel_after":"1s"}
	END
	script '{"cancel_after":"1s"}'
	run -2 ask --script s.jsonl
}

@test "after cancel_after a permission request gets cancelled, and a form is cancelled, whatever the rules" {
	agent '{"turns":[[{"wait":"session/cancel"},'"$(permission c1)"',{"ask":"elicitation/create","params":{"sessionId":"s1","mode":"form",
		"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}},{"stop":"cancelled"}]]}'
	script '{"prompt":"one","cancel_after":"1ms","expect":{"stop_reason":"cancelled"}}'
	echo '{"a":"x"}' >f.json
	run -0 ask --permit '*=allow_once' --form f.json --script s.jsonl
	assert_equal "$(sent 'select(.id > 1000) | .result | .outcome.outcome // .action')" $'"cancelled"\n"cancel"'
}

@test "a request is sent as it is, a null session is ours, and its response is printed" {
	agent '{"methods":{"_x/y":{"result":{"a":[1,2.0]}}}}'
	script '{"request":{"method":"_x/y","params":{"b":1.50,"sessionId":null}}}' '{"expect":{"result":{"a":[1.0,2]}}}' \
	    '{"request":{"method":"_x/none"},"expect":{"error":{"code":-32601}}}'
	run -0 ask --script s.jsonl
	assert_output $'{"result":{"a": [1, 2.0]}}\n{"error":{"code": -32601, "message": "no such method"}}'
	assert_equal "$(grep _x/y in)" '{"jsonrpc":"2.0","id":3,"method":"_x/y","params":{"b":1.50,"sessionId":"s1"}}'
}

@test "the response of a request is a line of its own, after text that has no end of line" {
	agent '{"turns":[[{"text":"a"}]]}'
	script '{"request":{"method":"session/prompt","params":{"sessionId":null,"prompt":[{"type":"text","text":"q"}]}}}'
	run -0 ask --script s.jsonl
	assert_output $'a\n{"result":{"stopReason": "end_turn"}}'
}

@test "the text that is expected is the same in every format" {
	local format
	agent '{"turns":[[{"text":"One"},'"$(call c)"','"$(called c)"',{"text":"two"}]]}'
	script '{"prompt":"x","expect":{"text":"One\ntwo"}}'
	for format in text json ndjson; do
		run -0 ask -f $format --script s.jsonl
	done
}

@test "--format json prints an object for each prompt" {
	agent '{"turns":[[{"text":"a"}],[{"error":{"code":-32603,"message":"no"}}]]}'
	script '{"prompt":"one"}' '{"prompt":[{"type":"text","text":"two"}]}' '{"expect":{"error":{"code":-32603}}}'
	run -0 --separate-stderr ask -f json --script s.jsonl
	assert_equal "$(jq -c '[.text, .stop_reason, .error.code]' <<<"$output")" $'["a","end_turn",null]\n["",null,-32603]'
}

@test "a script that is none is refused before anything is sent" {
	agent '{}'
	while read -r line why; do
		script '{"prompt":"x"}' "$line"
		run -2 ask --script s.jsonl
		assert_output "acp-ask: s.jsonl:2: $why"
		[ ! -e in ]
	done <<-'END'
		[1] expected an object, JSON
		{} expected prompt, cancel_after, expect or request
		{"prompt":"x","expct":{}} "expct": expected prompt, cancel_after, expect or request
		{"prompt":1} prompt: expected a text, or a list of content
		{"expect":[]} expect: expected an object
		{"request":{}} request: expected an object with a method
		{"cancel_after":"x"} cancel_after: expected a duration, such as "2s"
	END
	printf '\n \n' >s.jsonl
	run -2 ask --script s.jsonl
	assert_output 'acp-ask: s.jsonl: there is nothing to do in it'
	[ ! -e in ]
	run -2 ask --script missing
	assert_output --partial 'missing: No such file or directory'
	run -2 ask --script s.jsonl hi
	assert_output 'acp-ask: --script does not go with a prompt'
}

# bats test_tags=slow
@test "random agents: the object, the outcomes and the exit status are those of a model" {
	local rounds seed=${ACP_SEED:-$RANDOM}
	rounds=${ACP_ROUNDS:-$(sample 15 200 60)}
	echo "seed $seed, rounds $rounds"
	python3 "$BATS_TEST_DIRNAME/ask_model.py" "$seed" "$rounds"
}
