#!/usr/bin/env bats
# acp-conduct: what a peer may not say, or can not be understood, is refused where it comes in, and never left without a
# response.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load conduct
	lib_setup
	conduct_setup
}

teardown() {
	end_left_over
}

# --- envelopes

# What the agent was sent, methods only.
methods() { jq -r '.method // empty' agent.log | xargs; }

# bats test_tags=slow
@test "the client sends no envelopes, in either spelling: a filter's --deny can not be gone round" {
	for spelling in proxy/successor _proxy/successor; do
		rm -f agent.log
		start --no-mcp -p 'acp-inject --deny session/set_mode=no' -p 'acp-tap -o /dev/null' -- ./agent
		begin
		say '{"jsonrpc":"2.0","id":1,"method":"'$spelling'","params":{"method":"session/set_mode","params":{}}}'
		say '{"jsonrpc":"2.0","id":2,"method":"'$spelling'","params":{"method":"'$spelling'","params":{"method":"session/set_mode","params":{}}}}'
		say '{"jsonrpc":"2.0","method":"'$spelling'","params":{"method":"session/set_mode","params":{}}}'
		say '{"jsonrpc":"2.0","id":4,"method":"m"}'
		responds 4 '{"method":"m","params":null}'
		responds 1 -32600
		responds 2 -32600
		ends 0
		assert_equal "$(methods)" 'initialize m'
		assert_equal "$(grep -c '^acp-conduct: client: .*envelope' said)" 3
	done
}

# bats test_tags=slow
@test "the agent sends no envelopes: none comes back to it as if from the client" {
	for spelling in proxy/successor _proxy/successor; do
		rm -f heard
		cat >forger.jq <<-'EOS'
			if .method == "initialize" then {jsonrpc: "2.0", id: .id, result: {}}
			elif .method == "go" then
				{jsonrpc: "2.0", id: "f", method: $s, params: {method: "session/set_mode", params: {}}},
				{jsonrpc: "2.0", method: $s, params: {method: "session/cancel", params: {}}}
			else empty end
		EOS
		start --no-mcp -p 'acp-tap -o /dev/null' -- sh -c "tee -a heard | exec jq -c --unbuffered --arg s $spelling -f forger.jq"
		begin
		say '{"jsonrpc":"2.0","method":"go"}'
		wait_for grep -q '"id":"f"' heard
		ends 0
		assert_equal "$(jq -c 'select(.id == "f") | .error.code' heard)" -32600
		run ! grep -q -e set_mode -e session/cancel heard
		run ! grep -q successor got
		assert_equal "$(grep -c '^acp-conduct: agent: .*envelope' said)" 2
	done
}

# bats test_tags=slow
@test "nor does anybody ask proxy/initialize but a conductor: not the agent either" {
	cat >forger.jq <<-'EOS'
		if .method == "initialize" then {jsonrpc: "2.0", id: .id, result: {}},
			{jsonrpc: "2.0", id: "f", method: "proxy/initialize", params: {}} else empty end
	EOS
	start --no-mcp -p 'acp-tap -o /dev/null' -- sh -c 'tee -a heard | exec jq -c --unbuffered -f forger.jq'
	begin
	wait_for grep -q '"id":"f"' heard
	ends 0
	assert_equal "$(jq -c 'select(.id == "f") | .error.code' heard)" -32600
	run ! grep -q proxy/initialize got
}

# bats test_tags=slow
@test "a proxy of the chain sends no envelope in an envelope" {
	cat >nested.jq <<-'EOS'
		def down(id; m; p): {jsonrpc: "2.0", id: id, method: "_proxy/successor", params: {method: m, params: p}};
		if .method == "_proxy/initialize" or .method == "proxy/initialize" then down("i\(.id)"; "initialize"; {})
		elif .method == "m" then down("n\(.id)"; "_proxy/successor"; {method: "session/set_mode", params: {}})
		elif .result or .error then .id |= (.[1:] | tonumber)
		else empty end
	EOS
	start --no-mcp -p 'jq -c --unbuffered -f nested.jq' -p 'acp-tap -o /dev/null' -- ./agent
	begin
	say '{"jsonrpc":"2.0","id":1,"method":"m"}'
	responds 1 -32600
	ends 0
	assert_equal "$(methods)" initialize
}

# bats test_tags=slow
@test "as a proxy, where envelopes are rightful, acp-conduct refuses those within envelopes" {
	cat >input <<-'EOS'
		{"jsonrpc":"2.0","id":0,"method":"proxy/initialize","params":{}}
		{"jsonrpc":"2.0","id":1,"result":{}}
		{"jsonrpc":"2.0","id":"n","method":"proxy/successor","params":{"method":"proxy/successor","params":{"method":"m"}}}
		{"jsonrpc":"2.0","id":"n2","method":"_proxy/successor","params":{"method":"proxy/successor","params":{"method":"m"}}}
		{"jsonrpc":"2.0","method":"proxy/successor","params":{"method":"_proxy/successor","params":{"method":"m"}}}
	EOS
	run --separate-stderr timeout 60 acp-conduct --no-mcp --dialect plain -p 'acp-tap -o /dev/null' <input
	run jq -c 'select(.error and (.id | type) == "string") | [.id, .error.code]' <<<"$output"
	assert_output $'["n",-32600]\n["n2",-32600]'
	assert_equal "$(grep -c '^acp-conduct: .*envelope' <<<"$stderr")" 3
}

# --- initialize

# bats test_tags=slow
@test "after a refused initialize the client may try again, with another version: it passes down the chain" {
	cat >strict.jq <<-'EOS'
		if .method == "initialize" and .params.protocolVersion != 1 then
			{jsonrpc: "2.0", id: .id, error: {code: -32022, message: "unsupported protocol version"}}
		elif .method == "initialize" then {jsonrpc: "2.0", id: .id, result: {protocolVersion: 1}}
		elif has("id") then {jsonrpc: "2.0", id: .id, result: .method} else empty end
	EOS
	for chain in '-f acp-tap' '--record r.rec' '--control my.sock' '-p acp-tap' '-p acp-tap -f acp-tap -p acp-tap'; do
		# shellcheck disable=SC2086
		start --no-mcp $chain -- jq -c --unbuffered -f strict.jq
		say '{"jsonrpc":"2.0","id":"a","method":"initialize","params":{"protocolVersion":2}}'
		responds '"a"' -32022
		say '{"jsonrpc":"2.0","id":"b","method":"initialize","params":{"protocolVersion":1}}'
		responds '"b"' '{"protocolVersion":1}'
		say '{"jsonrpc":"2.0","id":"c","method":"m"}'
		responds '"c"' '"m"'
		ends 0
	done
}

# bats test_tags=slow
@test "--init-timeout is for the initialization alone, also where the first component is a filter" {
	start --no-mcp --init-timeout 5s -f 'acp-tap -o b.rec' -p 'acp-tap -o a.rec' -- ./agent
	begin
	a_while_passes 6s
	say '{"jsonrpc":"2.0","id":1,"method":"m"}'
	responds 1 '{"method":"m","params":null}'
	ends 0
}

# bats test_tags=slow
@test "initialize may be repeated after the filter that had forwarded it has died: it has the whole of --init-timeout again" {
	cat >filter <<-'EOS'
		#!/bin/sh
		[ ! -e asked ] || exec acp-tap -o /dev/null
		head -n 1 >&7
		while [ ! -e asked ]; do sleep 0.01; done
		kill -KILL $$
	EOS
	cat >late <<-'EOS'
		#!/bin/sh
		read -r line
		touch asked
		until read -r line && [ "${line#*initialize}" != "$line" ]; do :; done
		id=${line#*\"id\":} id=${id%%,*}
		while [ ! -e respond ]; do sleep 0.01; done
		echo '{"jsonrpc":"2.0","id":'"$id"',"result":{}}'
		exec cat >/dev/null
	EOS
	chmod +x filter late
	start --no-mcp --init-timeout 6s --record r.rec -f ./filter -- ./late
	say "$init"
	responds 0 -32603
	a_while_passes 4s
	say '{"jsonrpc":"2.0","id":"again","method":"initialize","params":{"protocolVersion":1}}'
	a_while_passes 4s
	touch respond
	responds '"again"' '{}'
	ends 0
}

@test "initialize may be repeated after it was answered, too: everybody is asked again" {
	start --no-mcp -p 'acp-tap -o a.rec' -f 'acp-tap -o b.rec' -- ./agent
	begin
	say '{"jsonrpc":"2.0","id":"b","method":"initialize","params":{"protocolVersion":7}}'
	responds '"b"' '{"protocolVersion":1}'
	say '{"jsonrpc":"2.0","id":"c","method":"m"}'
	responds '"c"' '{"method":"m","params":null}'
	ends 0
	assert_equal "$(jq -c 'select(.method == "initialize") | .params.protocolVersion' agent.log | xargs)" '1 7'
}

# --- programs that are no proxies

# no_proxy COMMAND NAME: behind -p, that ends the chain soon, and says who and why.
no_proxy() {
	start --no-mcp --init-timeout 1000s -p "$1" -- ./agent
	say "$init"
	gets '"id":0'
	assert_equal "$(jq -c 'select(.id == 0) | .error | [.code, .data.component]' got)" "[-32603,\"$2\"]"
	local status=0
	wait "$conduct" || status=$?
	((status == 125)) || fail "status $status; $(cat said)"
	exec 9>&-
	wait_for nobody_left
	said "^acp-conduct: ${2//./\\.}: is not a proxy"
	run ! grep -q proxy/initialize got
}

@test "an agent given as -p refuses proxy/initialize: it is named, and the chain ends at once" {
	cat >plain.jq <<-'EOS'
		if .method == "initialize" then {jsonrpc: "2.0", id: .id, result: {}}
		else {jsonrpc: "2.0", id: .id, error: {code: -32601, message: "Method not found"}} end
	EOS
	no_proxy 'jq -c --unbuffered -f plain.jq' jq
}

# bats test_tags=slow
@test "cat given as -p echoes the question: it is named, and the client does not receive it" {
	no_proxy cat cat
}

# --- what can not be forwarded

@test "a request that can not be forwarded gets -32600 under its id, where that can be read" {
	start --record r.rec -- ./agent
	begin
	say $'{"jsonrpc":"2.0","id":1,"method":"m","params":{"text":"bad \xff UTF-8"}}'
	say '{"jsonrpc":"2.0","id":2,"method":"m","params":{},"params":{}}'
	say '{"jsonrpc":"2.0","id":"3","method":"m","method":"n"}'
	say '{"jsonrpc":"2.0","id":4.5,"method":"m"}'
	say '{"jsonrpc":"2.0","id":5,"id":6,"method":"m"}'
	# Neither of these asks for anything.
	say 'not JSON' '"scalar"' $'{"jsonrpc":"2.0","method":"note","params":"\xff"}'
	say '{"jsonrpc":"2.0","id":9,"method":"m"}'
	responds 9 '{"method":"m","params":null}'
	ends 0
	assert_equal "$(jq -c 'select(.error) | [.id, .error.code]' got)" \
		"$(printf '%s\n' '[1,-32600]' '[2,-32600]' '["3",-32600]' '[null,-32600]' '[null,-32600]')"
}

# bats test_tags=slow
@test "where a response can not be forwarded, its request gets -32603" {
	cat >broken <<-'EOS'
		#!/bin/bash
		while IFS= read -r line; do
			id=$(jq -c .id <<<"$line")
			case $line in
			*'"utf8"'*) printf '{"jsonrpc":"2.0","id":%s,"result":"\xff"}\n' "$id" ;;
			*'"twice"'*) printf '{"jsonrpc":"2.0","id":%s,"result":1,"result":2}\n' "$id" ;;
			*) printf '{"jsonrpc":"2.0","id":%s,"result":{}}\n' "$id" ;;
			esac
		done
	EOS
	chmod +x broken
	for chain in '--record r.rec' '-p acp-tap'; do
		# shellcheck disable=SC2086
		start --no-mcp $chain -- ./broken
		begin
		say '{"jsonrpc":"2.0","id":1,"method":"utf8"}' '{"jsonrpc":"2.0","id":2,"method":"twice"}' \
			'{"jsonrpc":"2.0","id":4,"method":"whole"}'
		responds 4 '{}'
		responds 1 -32603
		responds 2 -32603
		ends 0
	done
}

# bats test_tags=slow
@test "--max-line: a longer line is not forwarded; a request gets -32600, the request of a response -32603" {
	cat >long <<-'EOS'
		#!/bin/bash
		while IFS= read -r line; do
			id=$(jq -c .id <<<"$line")
			[[ $line != *'"long"'* ]] || printf '{"jsonrpc":"2.0","id":%s,"result":"%05000d"}\n' "$id" 0
			[[ $line == *'"long"'* ]] || printf '{"jsonrpc":"2.0","id":%s,"result":{}}\n' "$id"
		done
	EOS
	chmod +x long
	start --max-line 4K --record r.rec -- ./long
	begin
	say "$(printf '{"jsonrpc":"2.0","id":1,"method":"m","params":"%05000d"}' 0)"
	responds 1 -32600
	say '{"jsonrpc":"2.0","id":2,"method":"long"}' '{"jsonrpc":"2.0","id":3,"method":"short"}'
	responds 3 '{}'
	responds 2 -32603
	ends 0
	run -2 acp-conduct --max-line 0 -- cat
	run -2 acp-conduct --max-line x -- cat
	assert_output --partial -- '--max-line x'
}

# --- what is recorded

# bats test_tags=slow
@test "--record and --trace have the requests that were refused, before their refusals" {
	start --no-mcp --record r.rec --trace t.jsons -p acp-tap -- ./agent
	say '{"jsonrpc":"2.0","id":"early","method":"session/new"}'
	gets '"early"'
	begin
	say '{"jsonrpc":"2.0","id":"forged","method":"proxy/successor","params":{"method":"m"}}'
	gets '"forged"'
	ends 0
	for id in early forged; do
		run jq -c --arg id $id 'select(.at == 0 and .msg.id == $id) | [.from, .msg.method, .msg.error.code]' r.rec
		assert_line --index 0 --regexp '^\["client","(session/new|proxy/successor)",null\]$'
		assert_line --index 1 '["agent",null,-32600]'
		run jq -c --arg id $id 'select(.id == $id) | [.type, .from]' t.jsons
		assert_output $'["request","Client"]\n["response","Proxy(0)"]'
	done
}

@test "--record has how a dead component's request is withdrawn, and the response that is discarded, under the component's id" {
	cat >agent.jq <<-'EOS'
		{jsonrpc: "2.0", id: (.id // .params.requestId)} +
			if .method == "initialize" then {result: {protocolVersion: 1}} elif .method == "session/new" then {result: {sessionId: "s"}}
			elif .method == "$/cancel_request" then {result: {stopReason: "cancelled"}}
			elif .params.prompt == [] then {result: {stopReason: "end_turn"}} else empty end
	EOS
	for kind in -f -p; do
		rm -f agent.log r.rec
		start --no-mcp --record r.rec $kind 'acp-tap -o /dev/null' -- ./agent
		begin
		say '{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}'
		gets '"sessionId":"s"'
		say '{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"a"}]}}'
		reads session/prompt
		kill -KILL "$(pid_of acp-tap)"
		await_line r.rec grep -F '"cancelled"' >/dev/null
		say '{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}'
		gets '"id":2,"result"'
		ends 0
		id=$(jq -r 'select(.at == 1 and .msg.method == "session/prompt").msg.id' r.rec | head -n 1)
		run jq -c --argjson id "$id" 'select(.at == 1 and (.msg.params.requestId == $id or .msg.method == "session/cancel" or .msg.result.stopReason == "cancelled"))
			| [.from, .msg.method, .msg.params.requestId // .msg.id]' r.rec
		assert_output "[\"client\",\"\$/cancel_request\",$id]"$'\n["client","session/cancel",null]\n["agent",null,'"$id]"
		run -0 acp-check --hop 1 r.rec
		refute_output
	done
}
