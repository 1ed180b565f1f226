#!/usr/bin/env bats
# acp-share: somebody joins a running stream, and sends messages into it.
# as long as 30 tests

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
	load control
	control_setup
}

teardown() {
	end_left_over
}

@test "a guest's request goes on beside the client's; its response is his alone, under his own id" {
	start -- acp-tap -o t.rec -- $agent
	begin
	watch w
	join g
	say '{"jsonrpc":"2.0","id":1,"method":"m","params":"the client"}'
	down '{"jsonrpc":"2.0", "id":1, "method":"m","params":{"n":1.50}}'
	hears '"to":"guest"' g
	hears '"id":1,"result"'
	assert_equal "$(answers g)" '{"jsonrpc":"2.0","id":1,"result":{"method":"m","params":{"n":1.5}}}'
	assert_equal "$(grep -c '"result"' got)" 2
	# Whoever else looks on sees both, and takes neither for the other's.
	hears '{"jsonrpc":"2.0","id":"acp-share-' w
	run grep -E '"from":"client","msg":\{"jsonrpc":"2.0", "id":"acp-share-[0-9a-f]{16}-1", "method":"m","params":\{"n":1.50\}\}\}' w
	assert_success
	run ! grep -qF '"to":"guest"' w
	# He himself is told of his answer once, and gets no copy of what he sends.
	run ! grep -E '"id":"acp-share-[^"]*","result"' g
	down '{"jsonrpc":"2.0","method":"said/by/g"}'
	hears said/by/g w
	run ! grep -E '"n":1.50|"from":"client","msg":.*said/by/g' g
	# The filters behind the hop have it as any other.
	run grep -cF '"params":{"n":1.50}' t.rec
	assert_output 1
	ends
	run ! grep -q acp-share got
}

@test "ids of every kind come back as they were spelled" {
	start
	begin
	join g
	for id in 7 '"seven"' '"a:b"' 2.0 '"\u0041\""' null 9223372036854775807; do
		down "{\"id\":$id,\"method\":\"m\"}"
	done
	count() { [[ $(answers g | grep -c .) -eq 7 ]]; }
	wait_for count
	run bash -c "answers() { grep -F '\"to\":\"guest\"' g | sed 's/.*\"msg\":\(.*\)}\$/\1/'; }; answers | sed 's/.*\"id\":\(.*\),\"result\".*/\1/'"
	assert_output $'7\n"seven"\n"a:b"\n2.0\n"\\u0041\\""\nnull\n9223372036854775807'
	ends
}

@test "also upwards: the client's response to a guest goes to that guest" {
	start
	begin
	join g
	up '{"jsonrpc":"2.0","id":"mine","method":"fs/read","params":{"path":"x"}}'
	hears '"method":"fs/read"'
	id=$(sed -n 's/.*"id":\([^,]*\),"method":"fs\/read".*/\1/p' got)
	say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":\"text\"}"
	hears '"to":"guest"' g
	assert_equal "$(answers g)" '{"jsonrpc":"2.0","id":"mine","result":"text"}'
	assert_equal "$(grep -F '"to":"guest"' g | jq -r .from)" client
	ends
	run ! grep -q heard got
}

@test "notifications pass, both ways" {
	start -- acp-tap -o t.rec -- $agent
	begin
	join g
	down '{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}'
	hears '"method":"seen","params":{"jsonrpc":"2.0","method":"session/cancel"'
	up '{"jsonrpc":"2.0","method":"session/update","params":{"n":1.50}}'
	hears '{"jsonrpc":"2.0","method":"session/update","params":{"n":1.50}}'
	ends
}

# bats test_tags=slow
@test "a guest cancels what he asked himself, and nothing else" {
	start
	begin
	watch w
	join g
	say '{"jsonrpc":"2.0","id":1,"method":"hang"}'
	down '{"jsonrpc":"2.0","id":"\u0041","method":"hang"}' '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}' \
		'{"jsonrpc":"2.0","id":7,"method":"$/cancel_request","params":{"requestId":"A"}}' '{"jsonrpc":"2.0","id":2,"method":"m"}'
	hears '"id":2,"result"' g
	# A request of that name cancels nothing.
	assert_equal "$(answers g | jq -c 'select(.error) | [.id, .error.code]')" '[7,-32601]'
	run ! grep -q cancelled got
	down '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"A"}}' '{"jsonrpc":"2.0","id":3,"method":"m"}'
	hears '"id":3,"result"' g
	assert_equal "$(grep -c cancelled got)" 1
	id=$(sed -n 's/.*"id":\("acp-share-[^"]*"\),"method":"hang".*/\1/p' w)
	hears "\"method\":\"cancelled\",\"params\":{\"requestId\":$id}"
	hears "\"method\":\"\$/cancel_request\",\"params\":{\"requestId\":$id}" w
	leaves
	ends
}

@test "a guest cancels a request in the direction of the cancellation, also if it has the same id in the other one" {
	start
	begin
	join g
	up '{"jsonrpc":"2.0","id":7,"method":"of-agent"}'
	hears '"method":"of-agent"'
	down '{"jsonrpc":"2.0","id":7,"method":"hang"}'
	up '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}'
	id=$(sed -n 's/.*"id":\("acp-share-[^"]*"\),"method":"of-agent".*/\1/p' got)
	hears "\"method\":\"\$/cancel_request\",\"params\":{\"requestId\":$id}"
	down '{"jsonrpc":"2.0","id":2,"method":"m"}'
	hears '"id":2,"result"' g
	run ! grep -q cancelled got
	down '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":7}}'
	hears '"method":"cancelled"'
	leaves
	ends
}

# bats test_tags=slow
@test "what a guest may not send is refused, with the reason" {
	start
	join g
	down '{"jsonrpc":"2.0","id":1,"method":"m"}'
	hears '"to":"guest"' g
	assert_equal "$(answers g)" '{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"before initialize"}}'
	begin
	say '{"jsonrpc":"2.0","method":"ask","params":{}}'
	hears '"id":"q"'
	hears '"method":"fs/read"' g
	down "$init" '{"jsonrpc":"2.0","id":9,"method":"proxy/successor","params":{"method":"m"}}' \
		'{"jsonrpc":"2.0","id":"q","result":"stolen"}' '[{"jsonrpc":"2.0","id":3,"method":"m"}]' '{"x":1}' \
		'{"jsonrpc":"2.0","method":"initialize"}'
	printf '%s\n' garbage '{"from":"client"}' '{"from":"me","msg":{"id":1,"method":"m"}}' '[]' '' '{"from":"client","msg":' >&8
	down '{"jsonrpc":"2.0","id":"last","method":"m"}'
	hears '"id":"last","result"' g
	run jq -r 'select(.event == "error") | .why' g
	assert_output "$(cat <<-'EOS'
		a guest may not send responses
		an array: ACP has no batches
		neither method, result nor error
		a guest may not initialize, and may not send envelopes
		expected a value
		not a record with a message
		a record needs the member "from", which is "client" or "agent"
		not a record with a message
		expected a value
	EOS
	)"
	assert_equal "$(answers g | jq -c 'select(.error) | [.id, .error.code]')" $'[1,-32600]\n[0,-32600]\n[9,-32600]'
	wait_for grep -qxF 'acp-share: guest.1: line 4: a guest may not send responses: discarded' said
	# The question is open still: it is the client's to answer.
	id=$(sed -n 's/.*"id":\([^,]*\),"method":"fs\/read".*/\1/p' got)
	say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":\"real\"}"
	hears '"method":"heard","params":{"jsonrpc":"2.0","id":"q","result":"real"}'
	run ! grep -q stolen got
	ends
}

@test "--max-line is for the messages of guests, too: a longer request gets its error" {
	start --max-line 1K
	begin
	join g
	head -n 1 g | jq -e .selected
	down "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"x\":\"$(printf '%2000s' x)\"}}"
	down '{"jsonrpc":"2.0","id":2,"method":"m"}'
	hears '"id":2,"result"' g
	assert_equal "$(jq -c 'select(.to == "guest" and .msg.id == 1).msg.error' g)" '{"code":-32600,"message":"a message that is longer than --max-line"}'
	ends
}

# bats test_tags=slow
@test "a line of 100 MB of a guest is discarded, and he may go on" {
	start
	begin
	join g
	{ head -c 100M /dev/zero | tr '\0' x && echo; } >&8
	hears '"event":"error"' g
	down '{"jsonrpc":"2.0","id":1,"method":"m"}'
	hears '"to":"guest"' g
	hears 'a line that is longer' said
	say '{"jsonrpc":"2.0","id":2,"method":"m"}'
	hears '"id":2,"result"'
	ends
}

@test "a guest who leaves takes his open requests with him; half a line of his is discarded" {
	start
	begin
	watch w
	join g
	down '{"jsonrpc":"2.0","id":1,"method":"hang"}'
	hears '"method":"hang"' w
	printf '{"from":"client","msg":{"id":2,"meth' >&8
	leaves
	hears '"method":"cancelled","params":{"requestId":"acp-share-'
	say '{"jsonrpc":"2.0","id":3,"method":"m"}'
	hears '"id":3,"result"'
	ends
}

# bats test_tags=slow
@test "who says something and leaves at once has said it" {
	start
	begin
	for i in {1..20}; do
		echo '{"from":"client","msg":{"jsonrpc":"2.0","method":"note","params":'$i'}}' | visit "$socket" call 2>/dev/null >&2
	done
	all() { [[ $(grep -c '"method":"seen"' got) -eq 20 ]]; }
	wait_for all
	ends
}

# bats test_tags=slow
@test "a thousand requests of a guest are all answered, in the midst of a stream" {
	start
	begin
	join g
	say '{"jsonrpc":"2.0","id":1,"method":"stream","params":{"n":20000}}'
	for i in {1..1000}; do echo '{"from":"client","msg":{"jsonrpc":"2.0","id":'$i',"method":"m"}}'; done >&8
	hears '"id":1,"result"'
	all() { [[ $(answers g | grep -c .) -ge 1000 ]]; }
	wait_for all
	assert_equal "$(answers g | jq .id | sort -n | tr '\n' ' ')" "$(seq -s ' ' 1000) "
	assert_equal "$(grep -c agent_message_chunk got)" 20000
	run ! grep -q error g
	ends
}

# bats test_tags=slow
@test "so many requests may be open, and no more; the others are refused" {
	start
	begin
	join g
	for i in {1..1002}; do echo '{"from":"client","msg":{"id":'$i',"method":"hang"}}'; done >&8
	hears '"id":1002,"error"' g
	assert_equal "$(answers g | jq -c '[.id, .error.code, .error.message]')" \
		$'[1001,-32603,"too many open requests of one guest"]\n[1002,-32603,"too many open requests of one guest"]'
	say '{"jsonrpc":"2.0","id":1,"method":"m"}'
	hears '"id":1,"result"'
	leaves
	ends
}

# bats test_tags=slow
@test "a guest who does not read loses copies and no response, and the client nothing" {
	start
	begin
	join g
	kill -STOP "$guest"
	# What is in the guest's pipe is read when he goes on.
	down '{"jsonrpc":"2.0","id":"first","method":"m"}'
	say '{"jsonrpc":"2.0","id":1,"method":"stream","params":{"n":40000}}'
	hears '"id":1,"result"'
	assert_equal "$(grep -c agent_message_chunk got)" 40000
	kill -CONT "$guest"
	hears '"id":"first","result"' g
	hears '"event":"lost"' g
	ends
}

# bats test_tags=slow
@test "a guest who asks much and does not read is not read any more" {
	start
	begin
	pad=$(printf '%030000d' 0)
	for i in {1..200}; do echo '{"from":"client","msg":{"id":'$i',"method":"large","params":{"n":200000,"pad":"'$pad'"}}}'; done >much
	visit "$socket" deaf <much 2>answer 9>&- &
	guest=$!
	wait_for grep -qs hop answer
	# By then he would have said it all.
	for i in {1..100}; do
		say '{"jsonrpc":"2.0","id":'$i',"method":"m"}'
		hears '"id":'$i',"result"'
	done
	(($(ask '{"want":"list"}' | jq .messages.down) < 200))
	kill -KILL "$guest"
	say '{"jsonrpc":"2.0","id":"last","method":"m"}'
	hears '"id":"last","result"'
	ends
}

@test "when the agent dies a guest's open request gets an error" {
	start
	begin
	watch w
	join g
	down '{"jsonrpc":"2.0","id":"x","method":"hang"}'
	hears '"method":"hang"' w
	kill -KILL "$(pgrep -P "$stream")"
	hears '"to":"guest"' g
	assert_equal "$(answers g)" '{"jsonrpc":"2.0","id":"x","error":{"code":-32603,"message":"the agent has ended"}}'
	wait "$guest"
	exec 8>&-
	ends 137
}

# bats test_tags=slow
@test "when the client has left, nobody sends any more; who waits for the client gets an error, who waits for the agent its response" {
	start --grace 60s
	begin
	watch w
	join g
	up '{"jsonrpc":"2.0","id":"up","method":"fs/read","params":{}}'
	hears '"method":"fs/read"'
	say '{"jsonrpc":"2.0","id":1,"method":"stream","params":{"n":200000}}'
	down '{"jsonrpc":"2.0","id":"down","method":"m"}'
	hears '"method":"m"' w
	exec 9>&-
	hears '"id":"up","error"' g
	down '{"jsonrpc":"2.0","id":"late","method":"m"}'
	wait "$guest" || true
	exec 8>&-
	assert_equal "$(answers g | jq -c '[.id, .error.message // "ok"]' | sort)" '["down","ok"]
["late","the client has left"]
["up","the client has left"]'
	wait "$stream"
}

# bats test_tags=slow
@test "one who lets responses wait without end is detached, and says so; the memory is bounded in bytes" {
	start
	begin
	visit "$socket" deaf 2>answer 9>&- < <(for i in {1..30}; do
		echo '{"from":"client","msg":{"id":'$i',"method":"large","params":{"n":1000000}}}'
	done) &
	guest=$!
	wait_for grep -q 'guest.1: does not read its responses: detached' said
	kill -KILL "$guest"
	(($(awk '/VmHWM/ { print $2 }' "/proc/$stream/status") < 40000)) || [[ ${B##*/} == san ]]
	say '{"jsonrpc":"2.0","id":"last","method":"m"}'
	hears '"id":"last","result"'
	ends
}

# bats test_tags=slow
@test "several guests have ids of their own" {
	start
	begin
	join one
	exec 7>&8
	first=$guest
	mv guest guest.1
	join two
	down '{"id":1,"method":"m","params":"two"}'
	echo '{"from":"client","msg":{"id":1,"method":"m","params":"one"}}' >&7
	hears '"to":"guest"' one
	hears '"to":"guest"' two
	assert_equal "$(answers one)$(answers two)" \
		'{"jsonrpc":"2.0","id":1,"result":{"method":"m","params":"one"}}{"jsonrpc":"2.0","id":1,"result":{"method":"m","params":"two"}}'
	exec 7>&-
	kill "$first"
	ends
}

# bats test_tags=slow
@test "random guests: the client gets what it gets without them, and each guest its own responses once" {
	local seed=${ACP_SEED:-$RANDOM} round
	for ((round = 0; round < ${ACP_ROUNDS:-1}; round++)); do
		timeout 300 python3 "$TOP/tests/model/share.py" $((seed + round)) 25
	done
}
