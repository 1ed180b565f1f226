#!/usr/bin/env bats
# acp-conduct --peer: agents that a proxy reaches by name.
# as long as 30 tests

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load conduct
	lib_setup
	conduct_setup
	# A proxy for peers. A message `to` of the client is the params of an envelope. What comes from a peer goes to the client: a
	# notification as `from`, a request as it is.
	cat >coordinator.jq <<-'EOS'
		def response: if has("error") then {error} else {result} end;
		if .method == "\($dialect)proxy/initialize" then
			{jsonrpc: "2.0", id: "i\(.id)", method: "\($dialect)proxy/successor", params: {method: "initialize", params}}
		elif .method == "proxy/initialize" then {jsonrpc: "2.0", id, error: {code: -32601, message: "no"}}
		elif .method == "to" then {jsonrpc: "2.0", id: "p\(.id)", method: "\($dialect)proxy/successor", params}
		elif .method == "tell" then {jsonrpc: "2.0", method: "\($dialect)proxy/successor", params}
		elif .method == "$/cancel_request" and (.params.requestId | type) == "number" then
			("p", "q") as $kind | .params.requestId |= "\($kind)\(.)"
		elif .method == "\($dialect)proxy/successor" and has("id") then {jsonrpc: "2.0", id: "q\(.id)", method: .params.method, params: .params}
		elif .method == "\($dialect)proxy/successor" then {jsonrpc: "2.0", method: "from", params}
		elif .id | type == "string" then {jsonrpc: "2.0", id: (.id[1:] | fromjson)} + response
		else empty end
	EOS
	coordinator="jq -c --unbuffered --arg dialect '' -f coordinator.jq"
	# An agent: it responds with its name; it asks and tells the client, and dies, when it is told so.
	cat >peer.jq <<-'EOS'
		if .method == "initialize" then {jsonrpc: "2.0", id, result: {protocolVersion: 1, me: $me}}
		elif .method == "hang" then empty
		elif .method == "ask" then {jsonrpc: "2.0", id: "mine", method: "session/request_permission", params}
		elif .method == "withdraw" then {jsonrpc: "2.0", method: "$/cancel_request", params: {requestId: "mine"}}
		elif .method == "$/cancel_request" then {jsonrpc: "2.0", id: .params.requestId, error: {code: -32800, message: $me}}
		elif .method == "count" then
			(range(.params.n) | {jsonrpc: "2.0", method: "session/update", params: {n: .}}), {jsonrpc: "2.0", id, result: "counted"}
		elif has("method") and has("id") then {jsonrpc: "2.0", id, result: {me: $me, method, params}}
		elif has("method") then {jsonrpc: "2.0", method: "session/update", params: {me: $me, method, params}}
		else {jsonrpc: "2.0", method: "session/update", params: {me: $me, response: (.result // .error)}} end
	EOS
	cat >peer <<-'EOS'
		#!/bin/bash
		set -o pipefail
		sed -u '/"die"/ { s/.*/these were its last words/; w /dev/stderr
			Q3
		}' | jq -c --unbuffered --arg me "$1" -f peer.jq
	EOS
	chmod +x peer
}

teardown() {
	end_left_over
}

peer() { echo "$1=./peer $1"; }
# A chain of the coordinator with two peers, a and b.
pair() {
	start "${@:2}" --no-mcp -p "${1:-$coordinator}" --peer "$(peer a)" --peer "$(peer b)" -- ./agent
	begin
}
# to ID PEER METHOD [PARAMS]: a request for a peer.
to() { say '{"jsonrpc":"2.0","id":'"$1"',"method":"to","params":{"peer":"'"$2"'","method":"'"$3"'","params":'"${4:-null}"'}}'; }
error() { jq -c "select(.id == $1 and (.method | not)) | .error$2" got; }
tell() { say '{"jsonrpc":"2.0","method":"tell","params":{"peer":"'"$1"'","method":"'"$2"'","params":'"${3:-null}"'}}'; }
initialize() {
	to "$1" "$2" initialize '{}'
	responds "$1" '{"protocolVersion":1,"me":"'"$2"'"}'
}

# bats test_tags=slow
@test "an envelope with a peer goes to that peer, without one to the agent, and what a peer sends comes with its name; in both dialects" {
	for dialect in '' _; do
		rm -f agent.log
		pair "jq -c --unbuffered --arg dialect '$dialect' -f coordinator.jq"
		assert_equal "$(response 0)" '{"protocolVersion":1,"peers":[{"name":"a"},{"name":"b"}]}'
		run ! said '^acp-conduct: [ab]: pid'
		initialize 1 a
		run ! said '^acp-conduct: b: pid'
		initialize 2 b
		to 3 b hello '{"n":1}'
		responds 3 '{"me":"b","method":"hello","params":{"n":1}}'
		to 4 a hello
		responds 4 '{"me":"a","method":"hello","params":null}'
		say '{"jsonrpc":"2.0","id":5,"method":"to","params":{"method":"hello"}}'
		responds 5 '{"method":"hello","params":null}'
		tell a news '{"n":1}'
		gets '{"jsonrpc":"2.0","method":"from","params":{"peer":"a","method":"session/update","params":{"me":"a","method":"news","params":{"n":1}}}}'
		assert_equal "$(jq -c .method agent.log | xargs)" "initialize hello"
		ends 0
		grep -q '^acp-conduct: a: exit status 0, down 3 messages' said
	done
}

# bats test_tags=slow
@test "the peers are added to a list that the successor has sent, and replace what is not a list" {
	local has
	while IFS=';' read -r has expected; do
		start -p "$coordinator" --peer "$(peer a)" --no-mcp -- jq -c --unbuffered --argjson result "$has" '{jsonrpc: "2.0", id, $result}'
		begin
		assert_equal "$(response 0)" "$expected"
		ends 0
	done <<-'EOS'
		{};{"peers":[{"name":"a"}]}
		{"peers":[ ],"x":1};{"peers":[{"name":"a"}],"x":1}
		{"peers":[{"name":"z"}],"x":[]};{"peers":[{"name":"z"},{"name":"a"}],"x":[]}
		{"peers":null};{"peers":[{"name":"a"}]}
		"text";"text"
	EOS
}

# bats test_tags=slow
@test "an unknown peer, and a name that is not a string, get -32602; a request before initialize -32600" {
	pair
	to 1 c hello
	responds 1 -32602
	say '{"jsonrpc":"2.0","id":2,"method":"to","params":{"peer":1,"method":"hello"}}'
	responds 2 -32602
	to 3 a hello
	responds 3 -32600
	initialize 4 a
	ends 0
	start -p "$coordinator" -- ./agent
	begin
	to 1 a hello
	responds 1 -32602
	ends 0
}

@test "names that cannot be used, and a peer of no proxy, are refused" {
	local bad
	for bad in a =cat 'a b=cat' 'a"=cat' a= 'a= '; do
		run -2 acp-conduct -p acp-tap --peer "$bad" -- cat
	done
	assert_output 'acp-conduct: the command of a peer is empty'
	run -2 acp-conduct -p acp-tap --peer a=cat --peer a=cat -- cat
	assert_output 'acp-conduct: --peer a=cat: this proxy has a peer of that name'
	run -2 acp-conduct --peer a=cat -p acp-tap -- cat
	assert_output 'acp-conduct: --peer a=cat: the component before it must be a proxy (-p)'
	run -2 acp-conduct -p acp-tap -f acp-tap --peer a=cat -- cat
}

# bats test_tags=slow
@test "two proxies may have peers of one name, and each reaches its own" {
	start -p "$coordinator" --peer "x=./peer upper" -p "$coordinator" --peer "x=./peer lower" -- ./agent
	begin
	assert_equal "$(response 0 | jq -c .peers)" '[{"name":"x"},{"name":"x"}]'
	to 1 x initialize
	responds 1 '{"protocolVersion":1,"me":"upper"}'
	say '{"jsonrpc":"2.0","id":2,"method":"to","params":{"method":"to","params":{"peer":"x","method":"initialize"}}}'
	responds 2 '{"protocolVersion":1,"me":"lower"}'
	says '^acp-conduct: x: pid'
	says '^acp-conduct: x.2: pid'
	ends 0
}

# bats test_tags=slow
@test "a cancellation reaches the peer that has the request, and the peer withdraws its own" {
	pair
	initialize 1 a
	initialize 2 b
	to 3 a hang
	to 4 b hang
	say '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":4}}'
	responds 4 -32800
	run ! got '"id":3'
	tell a ask '{"sessionId":"s"}'
	gets session/request_permission
	tell a withdraw
	gets '$/cancel_request'
	assert_equal "$(jq -c 'select(.method == "$/cancel_request") | .params.requestId' got)" \
		"$(jq -c 'select(.method == "session/request_permission") | .id' got)"
	ends 0
}

# bats test_tags=slow
@test "a peer asks the client, and gets its response" {
	pair
	initialize 1 a
	initialize 2 b
	tell b ask '{"sessionId":"s"}'
	gets '"peer":"b","method":"session/request_permission","params":{"sessionId":"s"}'
	say '{"jsonrpc":"2.0","id":'"$(jq -c 'select(.method == "session/request_permission") | .id' got)"',"result":{"chosen":"yes"}}'
	gets '"peer":"b","method":"session/update","params":{"me":"b","response":{"chosen":"yes"}}'
	ends 0
}

# bats test_tags=slow
@test "what a peer sends keeps its order, the response last" {
	pair
	initialize 1 a
	initialize 2 b
	to 3 a count '{"n":3000}'
	to 4 b count '{"n":3000}'
	responds 3 '"counted"'
	responds 4 '"counted"'
	for name in a b; do
		assert_equal "$(jq -c --arg name $name 'select(.params.peer == $name) | .params.params.n' got | sort -nc && grep -c "\"peer\":\"$name\"" got)" 3000
		jq -c --arg name $name 'select(.params.peer == $name or .id == (if $name == "a" then 3 else 4 end)) | has("id")' got | tail -n 1 | grep -qx true
	done
	ends 0
}

# bats test_tags=slow
@test "the death of a peer fails its own requests only, and the next initialize starts it again" {
	pair
	initialize 1 a
	initialize 2 b
	to 3 b hang
	to 4 a hang
	tell a ask '{"sessionId":"s"}'
	gets session/request_permission
	tell a die
	responds 4 -32603
	assert_equal "$(error 4 .data)" '{"component":"a","status":"exit status 3","stderr":"these were its last words\n"}'
	grep -q 'acp-conduct: a: died (exit status 3); requests failed: 1' said
	# What it has asked is withdrawn.
	gets '$/cancel_request'
	run ! got '"id":3'
	to 5 a hello
	responds 5 -32600
	initialize 6 a
	to 7 a hello
	responds 7 '{"me":"a","method":"hello","params":null}'
	say '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":3}}'
	responds 3 -32800
	ends 0
}

# bats test_tags=slow
@test "a peer that dies more often than --restarts allows is not started again" {
	pair '' --restarts 1/10m
	initialize 1 a
	tell a die
	says 'a: died \(exit status 3\)$'
	initialize 2 a
	to 3 a die
	responds 3 -32603
	says 'a: died .exit status 3., more often than --restarts 1/10m allows; not started again; requests failed: 1'
	to 4 a initialize
	responds 4 -32603
	initialize 5 b
	ends 0
}

# bats test_tags=slow
@test "a peer that cannot be started, or dies of initialize, fails that request" {
	start -p "$coordinator" --peer a=/nowhere --peer 'b=exit 7; cat' -- ./agent
	begin
	for id in 1 2; do
		to "$id" a initialize
		responds "$id" -32603
	done
	assert_equal "$(error 1 .data.component)" '"a"'
	says 'a: command not found: /nowhere'
	to 3 b initialize
	responds 3 -32603
	assert_equal "$(error 3 .data.status)" '"exit status 7"'
	ends 0
}

# bats test_tags=slow
@test "a peer that does not respond to initialize is killed" {
	start --init-timeout 8s -p "$coordinator" --peer 'a=sleep 1000' -- ./agent
	begin
	to 1 a initialize
	responds 1 -32603
	says 'a: did not initialize within --init-timeout; killed'
	ends 0
}

# bats test_tags=slow
@test "a peer that does not read holds up nobody but the client, and is stopped at the end" {
	start --grace 1s -p "$coordinator" --peer 'deaf=read -r line; echo "$line" | jq -c "{jsonrpc: \"2.0\", id, result: 1}"; exec sleep 1000' \
		--peer "$(peer b)" -- ./agent
	begin
	to 1 deaf initialize
	responds 1 1
	initialize 2 b
	to 3 b count '{"n":5}'
	responds 3 '"counted"'
	# More than a pipe holds, and less than what stops the client.
	for ((n = 0; n < 10; n++)); do
		tell deaf x "\"$(printf '%09000d' 1)\""
	done
	to 4 b count '{"n":1000}'
	responds 4 '"counted"'
	to 5 deaf hello
	ends 0
	said 'deaf: did not end within the grace period; stopped'
	assert_equal "$(error 5 .code)" -32603
}

# bats test_tags=slow
@test "what is not a message, and an envelope, from a peer are refused and reported" {
	cat >odd <<-'EOS'
		#!/bin/sh
		read -r line
		echo garbage
		echo '{"jsonrpc":"2.0","id":9,"method":"proxy/successor","params":{"peer":"a","method":"x"}}'
		echo '{"jsonrpc":"2.0","id":10,"method":"proxy/initialize","params":{}}'
		echo '{"jsonrpc":"2.0","id":99,"result":{}}'
		echo "$line" | jq -c '{jsonrpc: "2.0", id, result: 1}'
		exec tee -a odd.log >/dev/null
	EOS
	chmod +x odd
	start -p "$coordinator" --peer a=./odd -- ./agent
	begin
	to 1 a initialize
	responds 1 1
	says 'a: line 1: .*: dropped: garbage'
	says 'a: an envelope .proxy/successor. that does not come from a proxy: refused'
	says 'a: a response to no open request: dropped: 99'
	wait_for grep -q '"id":10,"error":{"code":-32600' odd.log
	grep -q '"id":9,"error":{"code":-32600' odd.log
	ends 0
}

# bats test_tags=slow
@test "a peer that closes its output or its input and lives on counts as dead" {
	for closes in '>&-' '<&-'; do
		start --grace 300ms -p "$coordinator" \
			--peer "a=read -r line; echo \"\$line\" | jq -c '{jsonrpc: \"2.0\", id, result: 1}'; exec sleep 1000 $closes" -- ./agent
		begin
		to 1 a initialize
		to 2 a hello
		responds 1 1
		responds 2 -32603
		says 'a: closed its standard (out|in)put but is still running; stopping it'
		ends 0
	done
}

# bats test_tags=slow
@test "a peer may be a chain, and a chain of proxies without an agent may have peers" {
	start -p "$coordinator" --peer "a=acp-conduct -p acp-tap -- ./peer inner" -- ./agent
	begin
	to 1 a initialize
	await_line got response_in 1 >/dev/null
	to 2 a hello
	responds 2 '{"me":"inner","method":"hello","params":null}'
	ends 0
	start -p "acp-conduct -p \"$coordinator\" --peer \"$(peer a)\"" -- ./agent
	begin
	assert_equal "$(response 0 | jq -c .peers)" '[{"name":"a"}]'
	initialize 1 a
	to 2 a hello
	responds 2 '{"me":"a","method":"hello","params":null}'
	say '{"jsonrpc":"2.0","id":5,"method":"to","params":{"method":"hello"}}'
	responds 5 '{"method":"hello","params":null}'
	ends 0
}

# bats test_tags=slow
@test "when the proxy dies, its next process learns what was initialized, and an open request at a peer gets one response" {
	pair
	initialize 1 a
	to 2 a hang
	to 3 b initialize
	await_line got response_in 3 >/dev/null
	kill -KILL "$(pid_of jq)"
	says 'jq: died \(signal KILL\); restarted'
	initialize 4 a
	to 5 a hello
	responds 5 '{"me":"a","method":"hello","params":null}'
	ends 0
	assert_equal "$(grep -c '^acp-conduct: a: pid' said)" 1
	assert_equal "$(jq -s 'map(select(.id == 2)) | length' got)" 1
}

# bats test_tags=slow
@test "a second initialize reaches the peer, except from a restarted proxy for its first one" {
	sed -i 's/elif .method == "hang"/elif .method == "count" then {jsonrpc: "2.0", id, result: "counted"} &/; s/{protocolVersion: 1, me: $me}/{protocolVersion: 1, me: $me, asked: .params}/' peer.jq
	pair
	to 1 a initialize '{"n":1}'
	responds 1 '{"protocolVersion":1,"me":"a","asked":{"n":1}}'
	to 2 a initialize '{"n":2}'
	responds 2 '{"protocolVersion":1,"me":"a","asked":{"n":2}}'
	kill -KILL "$(pid_of jq)"
	says 'jq: died \(signal KILL\); restarted'
	to 3 a initialize '{"n":3}'
	responds 3 '{"protocolVersion":1,"me":"a","asked":{"n":2}}'
	to 4 a initialize '{"n":4}'
	responds 4 '{"protocolVersion":1,"me":"a","asked":{"n":4}}'
	ends 0
}

# bats test_tags=slow
@test "the peers of a proxy that is bypassed end" {
	pair '' --on-crash bypass --restarts 0/1m
	initialize 1 a
	to 2 a hang
	kill -KILL "$(pid_of jq)"
	says 'jq: died .signal KILL.; bypassed'
	says '^acp-conduct: a: exit status 0'
	say '{"jsonrpc":"2.0","id":5,"method":"hello"}'
	responds 5 '{"method":"hello","params":null}'
	ends 0
}

# bats test_tags=slow
@test "a recording and a trace have a hop for each peer, and no turn counts twice" {
	pair '' --record all.rec --trace all.trace
	initialize 1 a
	to 2 a session/prompt '{"sessionId":"s","prompt":[]}'
	await_line got response_in 2 >/dev/null
	say '{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}'
	tell b news
	ends 0
	assert_equal "$(jq -c 'select(.hops).hops' all.rec)" '["jq","agent","a","b"]'
	run -0 acp-tap --hop a -f raw all.rec
	assert_equal "$(jq -c 'select(.method) | .method' <<<"$output" | xargs)" 'initialize session/prompt'
	assert_equal "$(jq -c 'select(.from == "Peer(a)" or .to == "Peer(a)") | .type' all.trace | xargs)" 'request response request response'
	assert_equal "$(acp-tap --hop 'Peer(a)' -f raw all.trace | grep -c .)" 4
	for file in all.rec all.trace; do
		for hop in 0 1; do
			run ! grep -q '"me":"a"' <(acp-tap --hop "$hop" -f raw "$file" | grep -v '"id":[12]\b')
		done
	done
}

# bats test_tags=slow
@test "peers outlive no chain: the client leaves with a request open, a signal, kill -9 of acp-conduct" {
	pair '' --grace 1s
	initialize 1 a
	to 2 a hang
	ends 0
	assert_equal "$(error 2 .code)" -32603
	pair '' --grace 1s
	initialize 1 a
	to 2 a hang
	kill -TERM "$conduct"
	ends 0
	pair
	initialize 1 a
	kill -KILL "$conduct"
	ends 137
}

@test "when the agent ends, its status counts, and what peers say at their end still reaches their proxy" {
	cat >late <<-'EOS'
		#!/bin/sh
		read -r line
		echo "$line" | jq -c '{jsonrpc: "2.0", id, result: 1}'
		cat >/dev/null
		echo '{"jsonrpc":"2.0","method":"last"}'
	EOS
	chmod +x late
	printf '%s\n' '#!/bin/bash' 'set -o pipefail' 'sed -u /leave/Q4 | jq -c --unbuffered "{jsonrpc: \"2.0\", id, result: 1}"' >leaver
	chmod +x leaver
	start -p "$coordinator" --peer a=./late -- ./leaver
	begin
	to 1 a initialize
	await_line got response_in 1 >/dev/null
	say '{"jsonrpc":"2.0","method":"tell","params":{"method":"leave"}}'
	gets '{"jsonrpc":"2.0","method":"from","params":{"peer":"a","method":"last"}}'
	ends 4
}

# bats test_tags=slow
@test "a peer within acp-revive that dies is started again, and its sessions go on" {
	command -v python3 >/dev/null || skip 'python3 is needed'
	cat >pass.jq <<-'EOS'
		if .method == "proxy/initialize" then {jsonrpc: "2.0", id: "i\(.id)", method: "proxy/successor", params: {method: "initialize", params}}
		elif .id | type == "string" and startswith("i") then
			{jsonrpc: "2.0", id: ("j" + .id[1:]), method: "proxy/successor", params: {peer: "agent", method: "initialize", params: {protocolVersion: 1}}}
		elif .id | type == "string" and startswith("j") then .id |= (.[1:] | fromjson)
		elif .method == "proxy/successor" then . + .params | del(.peer)
		elif .method == "$/cancel_request" or (has("method") | not) then .
		else .params = {peer: "agent", method, params} | .method = "proxy/successor" end
	EOS
	python="$(python3 -c 'import sys; print(sys.executable)') -SE"
	for how in resume load; do
		for ((point = 4; point < 30; point += $(sample 7 2))); do
			rm -f lives points count agent.log past-*
			DIE=$point $python "$TOP/tests/returning.py" client 1 acp-conduct \
				-p 'jq -c --unbuffered -f pass.jq' --peer "agent=acp-revive --restarts 9/10m -- $python $TOP/tests/returning.py agent $how" -- ./agent >met 2>err ||
				{ cat met err; fail "at $point"; }
			[[ $(<met) == 'done; status 0;'* ]] || { cat met err; fail "at $point"; }
			assert_equal "$(wc -l <lives)" 2
		done
	done
}

# bats test_tags=slow
@test "the example: a prompt goes to two peers, their texts come back as one turn, and their permission requests reach the client" {
	command -v python3 >/dev/null || skip 'python3 is needed'
	cat >writer.jq <<-'EOS'
		def says($text): {jsonrpc: "2.0", method: "session/update", params: {sessionId: $me, update:
			{sessionUpdate: "agent_message_chunk", content: {type: "text", $text}}}};
		if .method == "initialize" then {jsonrpc: "2.0", id, result: {protocolVersion: 1}}
		elif .method == "session/new" then {jsonrpc: "2.0", id, result: {sessionId: $me}}
		elif .method == "session/prompt" and .params.prompt[0].text == "hang" then empty
		elif .method == "$/cancel_request" then {jsonrpc: "2.0", id: .params.requestId, error: {code: -32800, message: "cancelled"}}
		elif .method == "session/prompt" then says("I am "), {jsonrpc: "2.0", id: "may \(.id)", method: "session/request_permission",
			params: {sessionId: .params.sessionId, options: []}}
		elif .id | type == "string" then says("\($me), and may: \(.result.outcome.optionId)"),
			{jsonrpc: "2.0", id: (.id[4:] | fromjson), result: {stopReason: "end_turn"}}
		else empty end
	EOS
	start -p "python3 -SE $BATS_TEST_DIRNAME/examples/coordinator.py" \
		--peer 'one=jq -c --unbuffered --arg me first -f writer.jq' --peer 'two=jq -c --unbuffered --arg me second -f writer.jq' -- ./agent
	say "$init"
	await_line got response_in 0 >/dev/null
	say '{"jsonrpc":"2.0","id":"new","method":"session/new","params":{"cwd":"/","mcpServers":[]}}'
	await_line got response_in '"new"' >/dev/null
	session=$(response '"new"' | jq .sessionId)
	say '{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":'"$session"',"prompt":[{"type":"text","text":"who?"}]}}'
	wait_for eval '(($(grep -c request_permission got) == 2))'
	jq -c 'select(.method == "session/request_permission") | {jsonrpc: "2.0", id, result: {outcome: {outcome: "selected", optionId: "yes"}}}' got >answers
	say "$(cat answers)"
	responds 1 '{"stopReason":"end_turn"}'
	assert_equal "$(jq -c 'select(.method == "session/update") | .params' got)" \
		'{"sessionId":'"$session"',"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"one: I am first, and may: yes\ntwo: I am second, and may: yes\n"}}}'
	assert_equal "$(jq -c 'select(.method == "session/request_permission") | .params.sessionId' got | sort -u)" "$session"
	say '{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":'"$session"',"prompt":[{"type":"text","text":"hang"}]}}' \
		'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":2}}'
	responds 2 -32800
	kill -KILL "$(pid_of two)"
	says 'two: died'
	say '{"jsonrpc":"2.0","id":3,"method":"other"}'
	responds 3 '{"method":"other","params":null}'
	ends 0
}
