#!/usr/bin/env bats
# acp-fault: lines that are whole, and wrong in the protocol's terms.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load fault
	lib_setup
}

teardown() {
	end_left_over
}

responses() {
	printf '%s\n' '{"id":1,"result":{"id":1}}' '{"result":[], "id" : "a"}' '{"id":"7","error":{"code":1,"message":""}}' \
		'{"id":1.0,"result":1.50}'
}

@test "--error: the request fails here, and the agent never sees it" {
	printf '%s\n' '{"id":1,"method":"session/prompt"}' '{"id":"x","method":"session/new"}' '{"method":"session/prompt"}' >in
	acp-fault --error session/prompt=-32603,'too, "busy"' --report report -- tee got <in >out
	assert_equal "$(cat got)" "$(sed 1d in)"
	assert_equal "$(head -n 1 out)" '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"too, \"busy\""}}'
	assert_equal "$(faults '[.n, .id, .fault, .code, .message]')" '[1,1,"error",-32603,"too, \"busy\""]'
	acp-fault --error 'session/*=7' --kind request -- cat <in >out
	assert_equal "$(jq -c '[.id, .error.code, .error.message]' out | tr '\n' ' ')" \
		'[1,7,"acp-fault"] ["x",7,"acp-fault"] [null,null,null] '
}

@test "--error: requests of the agent fail, too, in each way to meet the stream" {
	echo '{"id":5,"method":"fs/read_text_file"}' >up
	: >down
	acp-fault --error fs/read_text_file=-32000 -- sh -c 'cat up; head -n 1 >got' < <(wait_for test -s got) >out
	assert_equal "$(jq .error.code got)" -32000
	[ ! -s out ]
	rm got
	link acp-fault --error fs/read_text_file=-32000 -- sh -c 'cat up; head -n 1 >got' < <(wait_for test -s got) >out
	assert_equal "$(jq -c '[.id, .error.code]' got)" '[5,-32000]'
	printf '%s\n' '{"id":0,"method":"proxy/initialize"}' '{"id":9,"method":"session/prompt"}' \
		'{"id":3,"method":"proxy/successor","params":{"method":"fs/read_text_file"}}' >in
	acp-fault --error '*=-32000' -m '!initialize' <in >out
	assert_equal "$(sed 1d out | jq -c '[.id, .error.code]' | tr '\n' ' ')" '[9,-32000] [3,-32000] '
}

# bats test_tags=slow
@test "--error: its response keeps its place among those that are late" {
	printf '%s\n' '{"method":"one"}' >up
	acp-fault --error m=1 -m '!two' --delay 100ms -- sh -c 'cat up; : >written; cat' \
		< <(until [[ -e written ]]; do sleep 0.01; done; sleep 0.05; numbered 1) >out
	assert_equal "$(jq -c '.method // .id' out | tr '\n' ' ')" '"one" 1 '
}

# bats test_tags=slow
@test "--error: a one-way pipe has no way back" {
	numbered 1 >in
	run -2 acp-fault --error m=1 <in
	assert_output 'acp-fault: --error sends responses: a one-way pipe cannot carry them back (use -- COMMAND, acp-conduct -f, or a proxy chain)'
}

@test "--hang: nobody responds to the request" {
	printf '%s\n' '{"id":1,"method":"a"}' '{"id":2,"method":"b"}' '{"method":"a"}' >in
	acp-fault --hang a --report report <in >out
	assert_equal "$(cat out)" "$(sed 1d in)"
	assert_equal "$(faults '[.n, .method, .id, .fault]')" '[1,"a",1,"hang"]'
}

@test "a selection or a method that fits no message is reported at the end" {
	printf '%s\n' '{"id":1,"method":"session/prompt"}' >in
	run -0 --separate-stderr acp-fault --hang session/promt <in
	assert_equal "$stderr" 'acp-fault: --hang: no message is selected (did you mean session/prompt?); there are: session/prompt'
	run -0 --separate-stderr acp-fault -m session/promt --hang session/prompt <in
	assert_equal "$stderr" 'acp-fault: no message is selected (did you mean session/prompt?); there are: session/prompt'
	printf '%s\n' '--drop 1 -m x' '--hang session/prompt --from-match 9' >plan
	run -0 --separate-stderr acp-fault --plan plan <in
	assert_equal "$stderr" 'acp-fault: line 1 of the plan: no message is selected; there are: session/prompt'
	run -0 --separate-stderr acp-fault --hang m </dev/null
	assert_equal "$stderr" ''
}

@test "--error and --hang choose like the others: the second of them, once" {
	numbered 4 >in
	acp-fault --hang m --from-match 2 --once <in >out
	assert_equal "$(ids <out)" '1 3 4 '
}

# bats test_tags=slow
@test "--wrong-id: a response has an id of the same type that nobody has used; nothing else changes" {
	responses >in
	acp-fault --seed 1 --wrong-id 1 --report report <in >out
	assert_equal "$(jq -c '.id | type' out | tr '\n' ' ')" '"number" "string" "string" "number" '
	diff <(jq -c 'del(.id)' in) <(jq -c 'del(.id)' out)
	assert_equal "$(sed -n 2p out)" "{\"result\":[], \"id\" : $(faults .is | sed -n 2p)}"
	assert_equal "$(grep -o '"was":[^,]*' report | tr '\n' ' ')" '"was":1 "was":"a" "was":"7" "was":1.0 '
	diff <(faults .is) <(jq -c .id out)
	# No request and no notification has it.
	printf '{"id":1,"method":"m"}\n{"method":"n"}\n' >in
	acp-fault --wrong-id 1 --report report <in 2>err | cmp in -
	assert_equal "$(faults)" ''
}

@test "--id-type: the id is of another type, with its digits where it has some" {
	responses >in
	acp-fault --seed 1 --id-type 1 --report report <in >out
	assert_equal "$(jq -c .id out | sed 's/[0-9]\{10\}/N/' | tr '\n' ' ')" '"1" N 7 "1.0" '
	diff <(jq -c 'del(.id)' in) <(jq -c 'del(.id)' out)
	diff <(faults .is) <(jq -c .id out)
}

@test "--id-type: a string of many digits keeps them; one that is no number in JSON has others" {
	printf '%s\n' '{"id":"12345678901234567890123","result":{}}' '{"id":"007","result":{}}' '{"id":"1.0","result":{}}' >in
	acp-fault --seed 1 --id-type 1 <in | sed 's/^{"id":\([^,]*\),.*/\1/; s/^[0-9]\{10\}$/N/' >ids
	assert_equal "$(cat ids)" $'12345678901234567890123\nN\nN'
}

# bats test_tags=slow
@test "--stale-session: a message names a session that there is not" {
	printf '%s\n' '{"method":"session/update","params":{"a":1, "sessionId":"A\u0041","b":2}}' '{"method":"x","params":{"sessionId":5}}' \
		'{"id":1,"method":"y"}' '{"id":1,"result":{"sessionId":"A"}}' >in
	acp-fault --seed 1 --stale-session 1 --report report <in >out
	assert_equal "$(faults '[.n, .was]')" '[1,"AA"]'
	assert_equal "$(jq -r .params.sessionId out | head -n 1)" "$(faults .is | jq -r .)"
	sed "1s/\"A.u0041\"/$(faults .is)/" in | cmp - out
	# In an envelope, too.
	printf '%s\n' '{"id":0,"method":"proxy/initialize"}' '{"method":"x","params":{"sessionId":"A"}}' >in
	acp-fault --seed 1 --stale-session 1 --corrupt 1 -m x --report report <in >out
	assert_equal "$(faults .fault | tr '\n' ' ')" '"stale-session" "corrupt" '
	byte=$(jq 'select(.byte).byte' report)
	is=$(jq 'select(.byte).is' report)
	assert_equal "$(sed -n 2p out | tail -c +"$byte" | head -c 1 | od -An -tu1 | tr -d ' ')" "$is"
}

@test "--pad: the message is longer in _meta; every other byte stays" {
	printf '%s\n' '{"method":"x","params":{"a":1.50, "a":2}}' '{ "id":1,"method":"x","params":{"b":"\u0041","_meta": {"k":[1]}} }' \
		'{"id":1,"result":{}}' '{"id":2,"result":{"_meta":{}}}' >in
	acp-fault --pad 5 --report report <in >out
	sed '1s/"a":1/"_meta":{"acp-fault":"xxxxx"},&/; 2s/"k"/"acp-fault":"xxxxx",&/; 3s/{}/{"_meta":{"acp-fault":"xxxxx"}}/
		4s/{}/{"acp-fault":"xxxxx"}/' in | cmp - out
	assert_equal "$(faults '[.n, .fault, .byte, .bytes]' | tr '\n' ' ')" '[1,"pad",25,30] [2,"pad",56,20] [3,"pad",19,29] [4,"pad",28,19] '
	# A second acp-fault goes on with the text of the first, so that no member is there twice.
	acp-fault --pad 3 <out | cmp - <(sed 's/xxxxx/xxxxxxxx/' out)
}

@test "--pad: a message that can have no _meta passes as it came, and is no match" {
	printf '%s\n' '{"method":"a"}' '{"method":"b","params":[{}]}' '{"id":1,"result":null}' '{"id":2,"error":{"code":1,"message":""}}' \
		'{"method":"c","params":{"_meta":null}}' '{"method":"d","params":{"_meta":"s"}}' noise >in
	acp-fault --pad 5 --report report <in | cmp in -
	assert_equal "$(faults)" ''
}

@test "--pad: in a link, around an agent, in a proxy chain, and with damage after it" {
	printf '{"id":%d,"method":"m","params":{"n":%d}}\n' 1 1 2 2 >down
	printf '{"method":"session/update","params":{"sessionId":"s"}}\n' >up
	both --pad 100K --from client
	cmp up out
	assert_equal "$(jq '.params._meta["acp-fault"] | length' got | tr '\n' ' ')" '102400 102400 '
	rm got
	link acp-fault --pad 100K -m session/update -- sh -c 'cat up; cat >got' <down >out
	cmp down got
	assert_equal "$(jq '.params._meta["acp-fault"] | length' out)" 102400
	{ echo '{"id":0,"method":"proxy/initialize"}'; cat down; } >in
	acp-fault --pad 4 -m m --stale-session 1 <in >out
	assert_equal "$(sed 1d out | jq -c .params.params | tr '\n' ' ')" \
		'{"_meta":{"acp-fault":"xxxx"},"n":1} {"_meta":{"acp-fault":"xxxx"},"n":2} '
	# What is corrupt, or cut, is the padded line: here in what was added, for the most part.
	acp-fault --seed 1 --pad 10K --corrupt 1 --truncate 1 --report report <up >out
	assert_equal "$(faults .fault | tr '\n' ' ')" '"pad" "corrupt" "truncate" '
	assert_equal "$(faults .of | tail -n 1)" "$(($(wc -c <up) - 1 + $(faults .bytes | head -n 1)))"
}

# bats test_tags=slow
@test "--pad: a long line waits until it is read, and the reader that leaves ends it" {
	printf '{"method":"m","params":{"n":%d}}\n' 1 2 3 >in
	acp-fault --pad 32M <in | tail -n 1 | jq -c '[.params.n, (.params._meta["acp-fault"] | length)]' >last
	assert_equal "$(cat last)" '[3,33554432]'
	acp-fault --pad 32M <in | head -c 1 >first
	assert_equal "$(cat first)" '{'
}

@test "--overtake: the next response passes a notification, and all that came after it" {
	printf '%s\n' '{"method":"a"}' '{"id":1,"method":"b"}' noise '{"id":1,"result":0}' '{"method":"c"}' '{"id":2,"result":0}' >in
	acp-fault --seed 1 --overtake 1 --report report <in >out
	assert_equal "$(cat out)" "$(sed -n 4p in; sed -n 1,3p in; sed -n 6p in; sed -n 5p in)"
	assert_equal "$(faults '[.n, .fault, .behind]' | tr '\n' ' ')" '[1,"overtake",3] [4,"overtake",5] '
}

# bats test_tags=slow
@test "--overtake: without a response it goes after a while, in its place" {
	printf '%s\n' '{"method":"a"}' '{"method":"b"}' >in
	mkfifo slow
	acp-fault --overtake 1,50ms --report report <slow >out &
	exec 8>slow
	cat in >&8
	wait_for cmp -s in out
	exec 8>&-
	wait
	assert_equal "$(faults '[.n, .behind]')" '[1,null]'
}

@test "a response twice: --duplicate for responses" {
	numbered 1 >down
	acp-fault --kind response --duplicate 1 --report report -- sed 's/"method":"m"/"result":0/' <down >out
	assert_equal "$(cat out)" $'{"id":1,"result":0}\n{"id":1,"result":0}'
	assert_equal "$(faults '[.from, .fault]')" '["agent","duplicate"]'
}

@test "bad usage: protocol faults" {
	want='expected METHOD=CODE or METHOD=CODE,MESSAGE, such as session/prompt=-32603,overloaded'
	for argument in m m= m=x m=1x "m=1," m=99999999999; do
		bad "--error $argument: $want" --error "$argument"
	done
	bad '--error =1: expected a method' --error =1
	bad '--hang : expected a method' --hang ''
	bad '--hang b: given twice: put the second one into a --plan' --hang a --hang b
	for argument in 0 x -1 ''; do
		bad "--pad $argument: expected a size in bytes, such as 500 or 64K" --pad "$argument"
	done
	bad '--wrong-id 2: expected a probability, such as 0.1 or 10%' --wrong-id 2
	bad '--overtake 1,x: expected a probability, and a duration after a comma, such as 10%,500ms' --overtake 1,x
}
