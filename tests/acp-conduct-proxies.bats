#!/usr/bin/env bats
# Chains of proxies: what is routed where, in which form, under which id.

load_components() {
	# An agent that answers each request with its method and params.
	cat >agent.jq <<-'EOF'
		if .method == "initialize" then {jsonrpc: "2.0", id: .id, result: {protocolVersion: 1, mcpCapabilities: {acp: false}}}
		elif .method == "ask" then {jsonrpc: "2.0", id: "q", method: "fs/read", params: .params}
		elif .method == "tell" then {jsonrpc: "2.0", method: "session/update", params: .params}
		elif has("method") and has("id") then {jsonrpc: "2.0", id: .id, result: {method: .method, params: .params}}
		else empty end
	EOF
	agent='jq -c --unbuffered -f agent.jq'
	init='{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'
}

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
	load_components
}

teardown() {
	end_left_over
}

# chain OPTION... : feeds stdin behind initialize, whose answer it leaves out.
chain() {
	{ printf '%s\n' "$init"; cat; } >input
	run --separate-stderr timeout 60 acp-conduct "$@" -- $agent <input
	output=$(sed 1d <<<"$output")
}

@test "an envelope is taken off on the way down and put on on the way up: through two proxies nothing changes" {
	chain -p 'acp-tap -o a.rec' -p 'acp-tap -o b.rec' <<-'EOF'
		{"id":1, "jsonrpc":"2.0" ,"x":1.50,"method":"a","params":{"n":12345678901234567890,"s":"\u0041"}}
		{"jsonrpc":"2.0","method":"tell","params":{"n":0.11358000000000001}}
	EOF
	assert_success
	assert_line '{"jsonrpc":"2.0","id":1,"result":{"method":"a","params":{"n":12345678901234567000,"s":"A"}}}'
	grep -F '{"id":2, "jsonrpc":"2.0" ,"x":1.50,"method":"a","params":{"n":12345678901234567890,"s":"\u0041"}}' b.rec
	grep -F '"params":{"n":0.11358000000000001}' b.rec
}

@test "ids come back as they were spelled" {
	chain -p acp-tap <<-'EOF'
		{"jsonrpc":"2.0","id":1,"method":"a"}
		{"jsonrpc":"2.0","id":2.0,"method":"a"}
		{"jsonrpc":"2.0","id":"1","method":"a"}
		{"jsonrpc":"2.0","id":"\u0031","method":"a"}
		{"jsonrpc":"2.0","id":9223372036854775807,"method":"a"}
		{"jsonrpc":"2.0","id":null,"method":"a"}
	EOF
	assert_success
	run sed 's/.*"id":\([^,]*\),.*/\1/' <<<"$output"
	assert_output $'1\n2.0\n"1"\n"\\u0031"\n9223372036854775807\nnull'
}

@test "the dialect is found out: by -32601, by the question that comes back, by a death" {
	cat >older.jq <<-'EOF'
		if .method == "proxy/initialize" then
			if $how == "refuse" then {jsonrpc: "2.0", id: .id, error: {code: -32601, message: "no"}}
			else {jsonrpc: "2.0", id: 77, method: "_proxy/successor", params: {method: .method}} end
		elif .method == "_proxy/initialize" then {jsonrpc: "2.0", id: .id, result: {asked: "underscore"}}
		else empty end
	EOF
	cat >mortal <<-'EOF'
		#!/bin/sh
		IFS= read -r question
		case $question in *'"proxy/initialize"'*) exit 0 ;; esac
		echo "$question" | jq -c '{jsonrpc: "2.0", id: .id, result: {asked: "underscore"}}'
		cat >/dev/null
	EOF
	chmod +x mortal
	for proxy in 'jq -c --unbuffered --arg how refuse -f older.jq' 'jq -c --unbuffered --arg how forward -f older.jq' ./mortal; do
		printf '%s\n' "$init" >input
		run --separate-stderr timeout 60 acp-conduct -v -p "$proxy" -- $agent <input
		assert_output '{"jsonrpc":"2.0","id":0,"result":{"asked":"underscore"}}'
		[[ $stderr == *': initialized with the underscore dialect'* ]]
	done
}

@test "--dialect fixes it" {
	printf '%s\n' "$init" >input
	for dialect in plain underscore; do
		rm -f seen
		run --separate-stderr timeout 60 acp-conduct --dialect "$dialect" -p 'tee seen | acp-tap' -- $agent <input
		assert_success
		head -n 1 seen | grep -q "\"$([[ $dialect == plain ]] || echo _)proxy/initialize\""
	done
}

@test "before initialize, proxy/initialize from the client, and initialize while one is open: -32600; a peer: -32602; the chain goes on" {
	cat >input <<-'EOF'
		{"jsonrpc":"2.0","id":1,"method":"session/new"}
		{"jsonrpc":"2.0","id":2,"method":"proxy/initialize","params":{}}
		{"jsonrpc":"2.0","id":3,"method":"initialize","params":{}}
		{"jsonrpc":"2.0","id":4,"method":"initialize","params":{}}
		{"jsonrpc":"2.0","id":5,"method":"a"}
	EOF
	run --separate-stderr timeout 60 acp-conduct -p acp-tap -- $agent <input
	assert_success
	run jq -sc 'sort_by(.id)[] | [.id, .error.code]' <<<"$output"
	assert_output $'[1,-32600]\n[2,-32600]\n[3,null]\n[4,-32600]\n[5,null]'
	cat >peer.jq <<-'EOF'
		if .method == "proxy/initialize" then {jsonrpc: "2.0", id: .id, method: "proxy/successor", params: {method: "x", peer: "other"}}
		elif .error then {jsonrpc: "2.0", id: .id, result: .error.code}
		else empty end
	EOF
	printf '%s\n' "$init" >input
	run --separate-stderr timeout 60 acp-conduct -p 'jq -c --unbuffered -f peer.jq' -- $agent <input
	assert_output '{"jsonrpc":"2.0","id":0,"result":-32602}'
}

@test "noise, and responses to nothing, are dropped with a line" {
	chain -p acp-tap <<-'EOF'
		hello
		{"jsonrpc":"2.0","id":99,"result":{}}
		{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}
		{"jsonrpc":"2.0","id":1,"method":"a"}
	EOF
	assert_success
	assert_output '{"jsonrpc":"2.0","id":1,"result":{"method":"a","params":null}}'
	[[ $stderr == *'client: line 2: not JSON'* || $stderr == *'client: line 2: expected'* ]]
	[[ $stderr == *'client: a response to no open request: dropped: 99'* ]]
	[[ $stderr == *'client: an error response without an id: dropped'* ]]
}

# bats test_tags=slow
@test "blank lines go without a word, and are no messages" {
	chain -p 'acp-tap -o tapped' <<<$'\n\r\n{"jsonrpc":"2.0","id":1,"method":"a"}\n'
	assert_success
	assert_output '{"jsonrpc":"2.0","id":1,"result":{"method":"a","params":null}}'
	assert_equal "$stderr" ''
}

@test "control characters of a peer do not reach the terminal" {
	printf '%s\n' "$init" >input
	run --separate-stderr timeout 60 acp-conduct --no-mcp -p acp-tap -- sh -c 'printf "\033[32mready\t\033[0m\n"; exec '"$agent" <input
	assert_success
	[[ $stderr == *'dropped: ready '* ]]
	[[ $stderr != *[$'\033\t']* ]]
}

@test "a request is cancelled by the id of its own hop" {
	cat >silent.jq <<-'EOF'
		if .method == "initialize" then {jsonrpc: "2.0", id: .id, result: {}}
		elif .method == "slow" then ($__loc__ | empty)
		elif .method == "$/cancel_request" then {jsonrpc: "2.0", id: .params.requestId, error: {code: -32800, message: "cancelled"}}
		else empty end
	EOF
	agent='jq -c --unbuffered -f silent.jq'
	chain -p acp-tap -p acp-tap <<-'EOF'
		{"jsonrpc":"2.0","id":"mine","method":"slow"}
		{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"m\u0069ne"}}
		{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"other"}}
	EOF
	assert_success
	assert_output '{"jsonrpc":"2.0","id":"mine","error":{"code":-32800,"message":"cancelled"}}'
}

# bats test_tags=slow
@test "a proxy may put \$/cancel_request into an envelope: it goes on bare, with the id of the next hop" {
	cat >silent.jq <<-'EOF'
		if .method == "initialize" then {jsonrpc: "2.0", id: .id, result: {}}
		elif .method == "$/cancel_request" then
			if (keys | sort) == ["jsonrpc", "method", "params"] then
				{jsonrpc: "2.0", id: .params.requestId, error: {code: -32800, message: "cancelled"}}
			else empty end
		else empty end
	EOF
	cat >hasty.jq <<-'EOF'
		def down(id; m): {jsonrpc: "2.0", id: id, method: "_proxy/successor", params: {method: m}};
		if .method == "_proxy/initialize" or .method == "proxy/initialize" then down("i\(.id)"; "initialize")
		elif .method == "slow" then down("s\(.id)"; "slow"), {jsonrpc: "2.0", method: "_proxy/successor",
			params: {method: "$/cancel_request", params: {requestId: "s\(.id)"}}}
		elif .result or .error then .id |= (.[1:] | tonumber)
		else empty end
	EOF
	agent='jq -c --unbuffered -f silent.jq'
	chain -p acp-tap -p 'jq -c --unbuffered -f hasty.jq' -p 'tee seen | acp-tap' <<<'{"jsonrpc":"2.0","id":"mine","method":"slow"}'
	assert_success
	assert_output '{"jsonrpc":"2.0","id":"mine","error":{"code":-32800,"message":"cancelled"}}'
	# Bare where it is not said in an envelope, too.
	run jq -c 'select(.method == "$/cancel_request") | .params' seen
	assert_output --regexp '^\{"requestId":[0-9]+\}$'
}

# bats test_tags=slow
@test "a request that goes up is cancelled by the id that it has at the client" {
	cat >agent.jq <<-'EOF'
		if .method == "initialize" then {jsonrpc: "2.0", id: .id, result: {}}
		elif .method == "go" then
			{jsonrpc: "2.0", id: "q1", method: "fs/read", params: {}}, {jsonrpc: "2.0", id: "q2", method: "fs/read", params: {}},
			{jsonrpc: "2.0", method: "$/cancel_request", params: {requestId: "q2"}}
		else empty end
	EOF
	mkfifo down
	acp-conduct -p acp-tap -p 'acp-conduct -p acp-tap' -p acp-tap -- $agent <down >up 2>err &
	exec 8>down
	printf '%s\n' "$init" '{"jsonrpc":"2.0","method":"go"}' >&8
	wait_for grep -q cancel_request up
	[[ $(jq -c 'select(.method == "fs/read") | .id' up | tail -n 1) == $(jq -c 'select(.params.requestId?) | .params.requestId' up) ]]
	exec 8>&-
	wait
}

@test "an elicitation for a request names that by the id that it has at the client" {
	cat >asking.jq <<-'EOF'
		if .method == "initialize" then {jsonrpc: "2.0", id: .id, result: {}}
		elif .method == "login" then
			{jsonrpc: "2.0", id: "e", method: "elicitation/create", params: {requestId: .id, mode: "form"}}, {jsonrpc: "2.0", id: .id, result: {}}
		else empty end
	EOF
	agent='jq -c --unbuffered -f asking.jq'
	chain -p acp-tap -f acp-tap -p 'acp-conduct -p acp-tap' <<<'{"jsonrpc":"2.0","id":"mi\u006ee","method":"login"}'
	assert_success
	assert_line --partial '"method":"elicitation/create","params":{"requestId":"mi\u006ee","mode":"form"}'
}

@test "without an agent it is a proxy itself, and chains nest" {
	chain -p "acp-conduct -p 'acp-tap -o a.rec' -f 'acp-tap -o b.rec'" -p 'acp-conduct proxy acp-tap' <<-'EOF'
		{"jsonrpc":"2.0","id":1,"method":"a"}
		{"jsonrpc":"2.0","method":"tell","params":{"n":1}}
	EOF
	assert_success
	assert_line '{"jsonrpc":"2.0","id":1,"result":{"method":"a","params":null}}'
	assert_line '{"jsonrpc":"2.0","method":"session/update","params":{"n":1}}'
	[[ $(grep -c '"msg":' b.rec) == 6 ]]
	run --separate-stderr timeout 60 acp-conduct -p acp-tap <<<"$init"
	assert_output --partial '"code":-32600'
}

@test "the Rust conductor's command line; an agent of that name goes after --" {
	printf '%s\n' "$init" >input
	run --separate-stderr timeout 60 acp-conduct --trace t.jsons agent 'acp-tap -o a.rec' "$agent" <input
	assert_success
	assert_output --partial '"protocolVersion":1'
	[[ -s a.rec ]]
	run -127 acp-conduct -- agent </dev/null
}

@test "filters and proxies mix in any order" {
	chain -f 'acp-tap -o a.rec' -p 'acp-tap -o b.rec' -u 'sed -u s/"one"/"two"/' -f 'acp-tap -o c.rec' -p acp-tap -d cat -f acp-tap <<-'EOF'
		{"jsonrpc":"2.0","id":1,"method":"a","params":"one"}
		{"jsonrpc":"2.0","method":"tell","params":{"s":"one"}}
	EOF
	assert_success
	assert_line '{"jsonrpc":"2.0","id":1,"result":{"method":"a","params":"two"}}'
	assert_line '{"jsonrpc":"2.0","method":"session/update","params":{"s":"two"}}'
	for rec in a b c; do
		[[ $(grep -c '"msg":' "$rec.rec") == 6 ]]
	done
}

@test "requests that go up are answered from above" {
	cat >reply <<-'EOF'
		{"jsonrpc":"2.0","id":1,"method":"ask","params":{"path":"x"}}
	EOF
	mkfifo down
	(timeout 60 acp-conduct -p acp-tap -p acp-tap -- tee -a sent <down >up 2>err || true) &
	exec 8>down
	printf '%s\n' "$init" >&8
	# tee is an agent that sends everything back: what comes up is a request.
	wait_for grep -q '"method":"initialize"' up
	id=$(jq -c .id up | head -n 1)
	printf '{"jsonrpc":"2.0","id":%s,"result":{"up":true}}\n' "$id" >&8
	wait_for grep -q '"up":true' sent
	exec 8>&-
	wait
}

@test "--trace has every message of every hop, --record names the hops" {
	chain --no-mcp --trace t.jsons --record r.rec -p acp-tap -f acp-tap <<-'EOF'
		{"jsonrpc":"2.0","id":"s","method":"session/prompt","params":{"sessionId":"S"}}
	EOF
	assert_success
	run jq -c 'select(.method == "session/prompt") | [.type, .protocol, .from, .to, .session]' t.jsons
	assert_output '["request","acp","Client","Proxy(0)","S"]
["request","acp","Proxy(0)","Proxy(1)","S"]
["request","acp","Proxy(1)","Agent","S"]'
	run jq -c 'select(.type == "response" and .payload.method == "session/prompt") | [.from, .to, .is_error]' t.jsons
	assert_output '["Agent","Proxy(1)",false]
["Proxy(1)","Proxy(0)",false]
["Proxy(0)","Client",false]'
	run jq -c 'select(.hops) | .hops' r.rec
	assert_output '["acp-tap","acp-tap.2","agent"]'
	run jq -c 'select(.at == 0 and .msg) | .msg.id' r.rec
	assert_output $'0\n"s"\n0\n"s"'
}

@test "--record has what components say on stderr, on their hop" {
	printf '#!/bin/sh\nprintf "one\\377\\ntwo" >&2\nexec acp-tap\n' >talker
	chmod +x talker
	chain --record r.rec -p 'acp-tap -o a' -p ./talker <<<''
	assert_success
	run jq -c 'select(.stderr or .stderr64) | [.at, .from, .stderr // .stderr64]' r.rec
	assert_output --partial '[1,"agent","b25l/w=="]'
	# acp-tap's timeline begins behind what was said before.
	assert_output --partial '[1,"agent","two'
	[[ $(jq -r 'select(.hops) | .hops[1]' r.rec) == talker ]]
	run -0 acp-tap --hop talker r.rec
	assert_output --partial two
}

# bats test_tags=slow
@test "50 MB cross four proxies unchanged, and cost acp-conduct a small multiple of it in memory" {
	{
		printf '%s\n' "$init"
		printf '{"jsonrpc":"2.0","method":"session/cancel","params":{"s":"'
		head -c 50000000 /dev/zero | tr '\0' x
		printf '"}}\n'
	} >input
	cat >agent <<-'EOF'
		#!/bin/sh
		IFS= read -r line
		echo '{"jsonrpc":"2.0","id":1,"result":{}}'
		cat >big
		# Its parent is the conductor: the most that it has had so far.
		grep VmHWM "/proc/$PPID/status" >peak
	EOF
	chmod +x agent
	run --separate-stderr acp-conduct --grace 300s -p 'acp-tap -o /dev/null' -p 'acp-tap -o /dev/null' -p 'acp-tap -o /dev/null' \
		-p 'acp-tap -o /dev/null' -- ./agent <input
	assert_success
	cmp <(tail -n 1 input) big || fail "$stderr"
	case $B in
	*/san) ;;
	*) (($(awk '{ print $2 }' peak) < 300000)) || fail "$(<peak)" ;;
	esac
}

# bats test_tags=slow
@test "memory does not grow with what goes by (ACP_SOAK messages)" {
	cat >agent <<-'EOF'
		#!/bin/sh
		updates() {
			awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++)
				printf "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"i\":%d}}\n", i }'
		}
		IFS= read -r line
		echo '{"jsonrpc":"2.0","id":1,"result":{}}'
		updates 20000
		grep VmHWM "/proc/$PPID/status" >before
		updates "$1"
		grep VmHWM "/proc/$PPID/status" >after
	EOF
	chmod +x agent
	local n=${ACP_SOAK:-100000}
	mkfifo down
	acp-conduct -p 'acp-tap -o /dev/null' -f 'acp-tap -o /dev/null' -p 'acp-tap -o /dev/null' -- ./agent "$n" <down 2>err | wc -l >lines &
	exec 8>down
	printf '%s\n' "$init" >&8
	wait
	exec 8>&-
	[[ $(<lines) == $((n + 20001)) ]]
	case $B in
	*/san) ;;
	*) (($(awk '{ print $2 }' after) < $(awk '{ print $2 }' before) + 2048)) || fail "$(<before) $(<after)" ;;
	esac
}

# The agent has been writing in vain for a while: all in front of it is full.
is_stuck() {
	local looks last='' now
	for ((looks = 0; looks < 10; looks++)); do
		now=$(grep ^wchar "/proc/$1/io") || return
		[[ -z $last || $now == "$last" ]] || return
		[[ $(<"/proc/$1/wchan") == *pipe_write ]] || return
		last=$now
	done
}

# bats test_tags=slow
@test "proxies that wait for their output to be read, and so do not read, do not wait for each other for ever" {
	cat >agent <<-'EOF'
		#!/bin/sh
		echo $$ >agent.pid
		read -r line
		echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
		read -r line <begin
		exec awk 'BEGIN { for (i = 0; i < 60000; i++) printf "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"i\":%d}}\n", i }'
	EOF
	chmod +x agent
	mkfifo down begin
	acp-conduct -v -p 'acp-tap -o a' -p 'acp-tap -o b' -p 'acp-tap -o c' -- ./agent <down >up 2>err &
	conduct=$!
	exec 8>down
	printf '%s\n' "$init" >&8
	wait_for grep -q '"id":0' up
	wait_for grep -q 'acp-tap.2: pid' err
	slow=$(sed -n 's/^acp-conduct: acp-tap.2: pid \([0-9]*\), .*/\1/p' err)
	kill -STOP "$slow"
	echo >begin
	wait_for is_stuck "$(<agent.pid)"
	kill -CONT "$slow"
	wait_for grep -q '"i":59999}' up
	exec 8>&-
	wait "$conduct"
	cmp <(jq -c 'select(.params).params.i' up) <(seq 0 59999)
}
