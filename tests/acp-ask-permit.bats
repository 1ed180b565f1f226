#!/usr/bin/env bats
# acp-ask: permission requests and forms: rules, a program, a person at a terminal.

bats_require_minimum_version 1.5.0

setup() {
	load ask
	ask_setup
}

teardown() {
	ask_teardown
}

outcomes() {
	sent 'select(.id > 1000) | .result.outcome | .optionId // .outcome' | tr -d '"\n'
}

one_permission() {
	agent '{"turns":[['"$(call c1),$(permission c1)"']]}'
}

@test "without a terminal a request is rejected, and the exit status is 1" {
	one_permission
	run -1 ask hi
	assert_line 'permission: Read x: reject_once (there is no terminal)'
	assert_line 'acp-ask: rejected permission requests: 1'
	assert_equal "$(outcomes)" r
}

@test "a request that comes when no response can be sent any more is not decided, and is no rejection" {
	agent '{"last":['"$(permission c1)"']}'
	run -0 ask hi
	refute_output
}

@test "--permit: by kind, by name or title; the first rule that matches counts" {
	while read -r options want; do
		one_permission
		rm -f in
		ask -q $options hi || true
		assert_equal "$options $(outcomes)" "$options $want"
	done <<-'END'
		--permit=read=allow_once a
		--permit=re*=allow_always always
		--permit=Read?x=allow_once a
		--permit=edit=allow_once r
		--permit=*=reject_once r
		--permit=edit=allow_once\ --permit=*=allow_always r
	END
	one_permission
	rm in
	ask -q --permit edit=allow_always --permit read=allow_once --permit '*=reject_once' hi
	assert_equal "$(outcomes)" a
}

@test "a NUL hides nothing of a title, from a rule or from a person" {
	agent '{"turns":[['"$(call c1 'Read x\u0000; rm')","$(permission c1)"']]}'
	run -1 ask --permit 'Read x=allow_once' hi
	assert_line 'permission: Read x�; rm: reject_once (there is no terminal)'
	assert_equal "$(outcomes)" r
}

@test "a rule whose option is not offered rejects" {
	one_permission
	run -1 ask --permit '*=reject_always' hi
	assert_line 'permission: Read x: reject_once (--permit: no such option)'
}

@test "where nothing rejects, the outcome is cancelled" {
	agent '{"turns":[[{"ask":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"c"},"options":[{"optionId":"a","name":"A","kind":"allow_once"}]}}]]}'
	run -1 ask hi
	assert_equal "$(outcomes)" cancelled
}

@test "in version 2 the subject has the tool call, and the request the title" {
	agent '{"version":2,"turns":[[{"ask":"session/request_permission","params":{"sessionId":"s1","title":"Do it?","subject":{"type":"tool_call","toolCall":{"toolCallId":"c","kind":"edit"}},"options":[{"optionId":"a","name":"A","kind":"allow_once"}]}}]]}'
	run -0 ask --protocol 2 --permit edit=allow_once hi
	assert_output 'permission: Do it?: allow_once (--permit)'
	assert_equal "$(outcomes)" a
}

@test "in version 2 a rule sees both titles: of the tool call and of the request" {
	local request='{"ask":"session/request_permission","params":{"sessionId":"s1","title":"May I?","options":[
		{"optionId":"a","name":"A","kind":"allow_once"},{"optionId":"r","name":"R","kind":"reject_once"}]}}'
	agent '{"version":2,"turns":[['"$(jq -c '.params.subject = {type: "tool_call", toolCall: {toolCallId: "c", title: "rm -r x"}}' <<<"$request")"']]}'
	run -1 ask --protocol 2 --permit 'rm *=reject_once' --permit '*=allow_once' hi
	assert_line 'permission: May I?: reject_once (--permit)'
	run -0 ask --protocol 2 --permit 'May*=allow_once' hi
	agent '{"version":2,"turns":[['"$request"']]}'
	run -0 ask --protocol 2 --permit 'May*=allow_once' hi
}

@test "of two tool calls with the same id, a rule sees that of the session of the request" {
	agent "$(jq -nc --argjson call "$(call c1)" --argjson permission "$(permission c1)" '{turns: [[$call,
		($call | .session = "other" | .update.kind = "edit" | .update.title = "Edit y"), ($permission | .params.sessionId = "other"), $permission]]}')"
	run -0 ask --permit read=allow_once --permit edit=allow_always --permit '*=reject_once' hi
	assert_line 'permission: Edit y: allow_always (--permit)'
	assert_equal "$(outcomes)" alwaysa
	agent "$(jq -nc --argjson call "$(call c1)" --argjson permission "$(permission c1)" '{turns: [[$call, ($permission | .params.sessionId = "other")]]}')"
	rm in
	run -1 ask --permit read=allow_once hi
	assert_equal "$(outcomes)" r
}

@test "--permit-by: a program gets the request, and prints the id or the kind of an option" {
	one_permission
	run -0 ask --permit-by 'sh -c "cat >asked; echo always"' hi
	assert_line 'permission: Read x: allow_always (--permit-by)'
	assert_equal "$(jq -c '[.method, .params.toolCall.toolCallId]' asked)" '["session/request_permission","c1"]'
	rm in
	ask -q --permit-by 'echo allow_once' hi
	assert_equal "$(outcomes)" a
}

# bats test_tags=slow
@test "--permit-by: a failure, nonsense or no response in time is a rejection" {
	for program in 'sh -c "echo a; exit 1"' 'echo nonsense' true ./missing; do
		one_permission
		rm -f in
		run -1 ask --permit-by "$program" hi
		assert_line 'permission: Read x: reject_once (--permit-by failed)'
		assert_equal "$(outcomes)" r
	done
	run -1 ask --permit-timeout 100ms --permit-by 'sleep 1000' hi
	assert_line 'permission: Read x: reject_once (--permit-timeout)'
}

@test "a request that the agent cancels gets an error, and nobody is asked any more" {
	agent '{"turns":[['"$(permission c1 | jq -c '. + {id: 5, later: true}')"',{"tell":"$/cancel_request","params":{"requestId":5}},{"text":"x"}]]}'
	run -0 ask --permit-by 'sleep 1000' hi
	assert_equal "$(sent 'select(.id == 5) | .error.code // "response"')" -32800
}

@test "the error of a cancelled request has its id as the request spelled it" {
	agent '{"turns":[['"$(permission c1 | jq -c '. + {id: 5, later: true}')"',{"tell":"$/cancel_request","params":{"requestId":5.0}},{"text":"x"}]]}'
	run -0 ask --permit-by 'sleep 1000' hi
	run -0 grep -o '"id":5.*-32800' in
	assert_output '"id":5,"error":{"code":-32800'
}

@test "a request that the agent cancels takes no other one with it" {
	agent '{"turns":[['"$(permission c1 | jq -c '. + {id: 5, later: true}'),$(permission c1 | jq -c '. + {id: 6, later: true}')"',
		{"tell":"$/cancel_request","params":{"requestId":5}},{"answers":2}]]}'
	run -0 ask -q --permit-by 'sh -c "until grep -q 32800 in; do sleep 0.1; done; echo a"' hi
	assert_equal "$(sent 'select(.id == 6) | .error.code // .result.outcome.optionId')" '"a"'
}

@test "a cancellation that names no request cancels none" {
	agent '{"turns":[['"$(permission c1 | jq -c '. + {id: 5, later: true}')"',{"tell":"$/cancel_request","params":{}},{"ask":"x/y","params":{}},{"answers":2}]]}'
	run -0 ask -q --permit-by 'sh -c "until grep -q 32601 in; do sleep 0.1; done; echo a"' hi
	assert_equal "$(sent 'select(.id == 5) | .result.outcome.optionId')" '"a"'
}

# bats test_tags=slow
@test "1,000 permission requests at once, by rules and by programs" {
	local n
	n=$(sample 100 400)
	agent "$(jq -nc --argjson p "$(permission c1)" '{turns: [[range(1000) | $p + {later: true, id: (. + 2000)}] + [{"answers":1000}]]}')"
	ask -q --permit '*=allow_once' hi
	assert_equal "$(sent 'select(.result.outcome.optionId == "a").id' | sort -u | wc -l)" 1000
	agent "$(jq -nc --argjson p "$(permission c1)" --argjson n "$n" '{turns: [[range($n) | $p + {later: true, id: (. + 2000)}] + [{"answers":$n}]]}')"
	rm in
	# More than a process may have descriptors for.
	(ulimit -n 64; ask -q --permit-by 'echo a' hi)
	assert_equal "$(sent 'select(.result.outcome.optionId == "a").id' | sort -u | wc -l)" "$n"
}

@test "a person is shown the options, and types a number; what is none is asked for again" {
	one_permission
	typed $'7\nx\n2' ask_at_terminal
	assert_line 'permission: Read x'
	assert_line '  1) Allow'
	assert_line '  3) Reject'
	assert_line 'permission: Read x: allow_always'
	assert_equal "$status" 0
	assert_equal "$(outcomes)" always
	rm in
	typed $'3' ask_at_terminal
	assert_equal "$status" 1
	assert_equal "$(outcomes)" r
}

@test "a person who types an end of input rejects; one who does not type, after --permit-timeout" {
	one_permission
	typed $'\x04' ask_at_terminal
	assert_equal "$(outcomes)" r
	rm in
	typed '' ask_at_terminal --permit-timeout 100ms
	assert_line 'permission: Read x: reject_once (--permit-timeout)'
}

@test "several requests are shown one after the other" {
	agent "$(jq -nc --argjson p "$(permission c1)" '{turns: [[$p + {later: true, id: 2001}, $p + {later: true, id: 2002}, $p + {id: 2003}, {"answers":3}]]}')"
	typed $'1\n2\n1' ask_at_terminal
	assert_equal "$(sent 'select(.id > 2000) | [.id, .result.outcome.optionId]' | tr -d '\n')" '[2001,"a"][2002,"always"][2003,"a"]'
}

form() {
	agent '{"turns":[[{"ask":"elicitation/create","params":{"sessionId":"s1","mode":"form","message":"Who?","requestedSchema":{"type":"object",
		"required":["name","n"],"properties":{"name":{"type":"string","title":"Name"},"n":{"type":"integer"},
		"ok":{"type":"boolean","default":true},"color":{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"g","title":"Green"}]},
		"tags":{"type":"array","items":{"type":"string","enum":["a","b"]}}}}}}]]}'
}

@test "a form that nests deeper than jq reads is cancelled, and the turn goes on" {
	local deep
	deep=$(printf '[%.0s' {1..300})$(printf ']%.0s' {1..300})
	agent '{"turns":[[{"ask":"elicitation/create","params":{"sessionId":"s1","mode":"form","message":"m","_meta":{"d":'"$deep"'},
		"requestedSchema":{"type":"object","properties":{"a":{"type":"string"}}}}},{"text":"done"}]]}'
	! jq . a.json >/dev/null 2>&1 || skip 'this jq reads it'
	typed '' acp-ask --timeout 60s hi -- "${AGENT[@]}"
	assert_equal "$status" 1
	assert_equal "$(sent 'select(.id == 1001).result')" '{"action":"cancel"}'
	assert_line --partial 'nested too deep'
	assert_line --partial 'done'
}

# bats test_tags=slow
@test "--form has the values of forms; what is missing or wrong cancels, and the exit status is 1" {
	form
	echo '{"name":"Ann","n":3,"color":"g","tags":["a"],"other":1}' >f.json
	ask --form f.json hi
	assert_equal "$(sent 'select(.id == 1001).result')" '{"action":"accept","content":{"name":"Ann","n":3,"color":"g","tags":["a"]}}'
	assert_equal "$(sent 'select(.method == "initialize").params.clientCapabilities')" '{"elicitation":{"form":{}}}'
	for values in '{"n":3}' '{"name":"A","n":1.5}' '{"name":"A","n":1,"color":"x"}' '{"name":"A","n":1,"tags":["c"]}'; do
		echo "$values" >f.json
		rm in
		run -1 ask --form f.json hi
		assert_output 'acp-ask: --form f.json does not have what is asked for'
		assert_equal "$(sent 'select(.id == 1001).result')" '{"action":"cancel"}'
	done
	echo '[1]' >f.json
	run -2 ask --form f.json hi
	assert_output 'acp-ask: --form f.json: expected an object'
}

@test "without a terminal and a file a form is cancelled; it was not offered" {
	form
	ask hi
	assert_equal "$(sent 'select(.id == 1001).result')" '{"action":"cancel"}'
	assert_equal "$(sent 'select(.method == "initialize").params.clientCapabilities')" '{}'
}

@test "what a request and a form say obeys no terminal" {
	agent '{"turns":[[{"ask":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"c","title":"T\u001b[2J\u009bx"},
		"options":[{"optionId":"a","name":"A\u001b[2J\u009bx","kind":"allow_once"}]}},
		{"ask":"elicitation/create","params":{"sessionId":"s1","mode":"form","message":"M\u001b[2J","requestedSchema":{"type":"object",
		"properties":{"n":{"type":"string","title":"N\u001b[2J","description":"D\u001b[2J","default":"d\u009bx"}}}}}]]}'
	LC_ALL=C.UTF-8 typed $'1\n' ask_at_terminal
	assert_line '  1) A^[[2J<U+009B>x'
	assert_line 'form: M^[[2J'
	assert_line --partial 'value ["d<U+009B>x"]: '
	run ! grep -aE $'\e\[2J|\u9b' <<<"$output"
	assert_equal "$(sent 'select(.id == 1002).result.content.n == "d\u009bx"')" true
}

@test "a form that is a page is cancelled" {
	agent '{"turns":[[{"ask":"elicitation/create","params":{"sessionId":"s1","mode":"url","message":"m","elicitationId":"e","url":"https://example.com"}}]]}'
	typed '' ask_at_terminal
	assert_equal "$(sent 'select(.id == 1001).result')" '{"action":"cancel"}'
}

@test "a person fills in a form, field by field; Ctrl-D declines" {
	form
	typed $'Ann\nx\n3\n\n2\n1, b' ask_at_terminal
	assert_line 'form: Who?'
	assert_line '  2) Green'
	assert_equal "$(sent 'select(.id == 1001).result')" '{"action":"accept","content":{"name":"Ann","n":3,"ok":true,"color":"g","tags":["a","b"]}}'
	rm in
	typed $'Ann\n\x04' ask_at_terminal
	assert_equal "$(sent 'select(.id == 1001).result')" '{"action":"decline"}'
}

@test "a person accepts or declines a form without fields" {
	local typed want
	agent '{"turns":[[{"ask":"elicitation/create","params":{"sessionId":"s1","mode":"form","message":"Delete it?","requestedSchema":{"type":"object","properties":{}}}}]]}'
	while read -r typed want; do
		rm -f in
		typed "$(printf "$typed")" ask_at_terminal
		assert_line 'form: Delete it?'
		assert_equal "$(sent 'select(.id == 1001).result')" "$want"
	done <<-'END'
		\nx\ny {"action":"accept","content":{}}
		No {"action":"decline"}
		\x04 {"action":"decline"}
	END
}

# field SCHEMA: an agent that asks for the required field x.
field() {
	agent '{"turns":[[{"ask":"elicitation/create","params":{"sessionId":"s1","mode":"form","message":"M","requestedSchema":{"type":"object",
		"properties":{"x":'"$1"'},"required":["x"]}}}]]}'
}

@test "what is typed at a list is the number of a choice; or, if it is none, a choice itself" {
	field '{"type":"string","enum":["3","2","1","40"]}'
	typed 1 ask_at_terminal
	assert_equal "$(sent 'select(.id == 1001).result.content.x')" '"3"'
	rm in
	typed 40 ask_at_terminal
	assert_equal "$(sent 'select(.id == 1001).result.content.x')" '"40"'
}

@test "a value must match the pattern of its field, and a number be one of JSON" {
	field '{"type":"string","pattern":"^[a-z]+$"}'
	typed $'A1\nab' ask_at_terminal
	assert_equal "$(sent 'select(.id == 1001).result.content.x')" '"ab"'
	rm in
	echo '{"x":"A1"}' >f.json
	run -1 ask --form f.json hi
	assert_output 'acp-ask: --form f.json does not have what is asked for'
	rm in
	field '{"type":"string","pattern":"("}'
	run -0 ask --form f.json hi
	rm in
	field '{"type":"number"}'
	typed $'nan\n1e999\n1.5' ask_at_terminal
	assert_equal "$(sent 'select(.id == 1001).result.content.x')" 1.5
}

@test "a value must have the format of its field, be one of its numbers, and lie within its exclusive bounds" {
	local schema good bad value
	while read -r schema good bad; do
		field "$schema"
		for value in "$good" $bad; do
			echo "{\"x\":$value}" >f.json
			rm -f in
			ask --form f.json hi 2>err || true
			assert_equal "$value$(sent 'select(.id == 1001).result.action')" "$value$([[ $value == "$good" ]] && echo '"accept"' || echo '"cancel"')"
		done
	done <<-'END'
		{"type":"string","format":"email"} "a@b.c" "a@b@c" "ab"
		{"type":"string","format":"uri"} "mailto:a@b" "a/b"
		{"type":"string","format":"date"} "2026-02-28" "2026-13-01" "2026-02-28T" "26-02-28"
		{"type":"string","format":"date-time"} "2026-02-28T12:00:00.5+01:00" "2026-02-28" "2026-02-28T25:00:00Z"
		{"type":"string","format":"unknown"} "x\ny"
		{"type":"integer","enum":[5,7]} 7 6
		{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1} 0.5 0 1
	END
	field '{"type":"integer","enum":[5,7]}'
	rm in
	typed $'6\n2' ask_at_terminal
	assert_equal "$(sent 'select(.id == 1001).result.content.x')" 7
	rm in
	typed 5 ask_at_terminal
	assert_equal "$(sent 'select(.id == 1001).result.content.x')" 5
}

@test "acp-check finds nothing in the responses to permission requests and forms" {
	form
	echo '{"name":"Ann","n":3}' >f.json
	acp-ask --form f.json hi -- acp-tap -o s.rec -- "${AGENT[@]}"
	run -0 checked --unstable
	one_permission
	rm s.rec
	acp-ask --permit '*=allow_once' hi -- acp-tap -o s.rec -- "${AGENT[@]}"
	run -0 checked
}
