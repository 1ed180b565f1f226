#!/usr/bin/env bats
# Proxies that die: what becomes of what they had in their hands.
# as long as 30 tests

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
	cat >agent.jq <<-'EOF'
		if .method == "initialize" then {jsonrpc: "2.0", id: .id, result: {protocolVersion: 1}}
		elif has("id") then {jsonrpc: "2.0", id: .id, result: .method} else empty end
	EOF
	agent='jq -c --unbuffered -f agent.jq'
	mkfifo down
}

teardown() {
	end_left_over
}

# mortal.jq: a proxy that kills itself, by way of its shell, for what $how says; once, where ./mark tells.
mortal() {
	cat >mortal.jq <<-'EOF'
		def envelope: .method == "_proxy/successor";
		if .method == "_proxy/initialize" then {jsonrpc: "2.0", id: "i\(.id)", method: "_proxy/successor", params: {method: "initialize"}}
		elif .method == "die" then
			(if $how == "after" then {jsonrpc: "2.0", id: "d\(.id)", method: "_proxy/successor", params: {method: .method}} else empty end), "DIE"
		elif (.id | type) == "string" and (.id | startswith("d")) and $how == "answered" then "DIE"
		elif (.id | type) == "string" then .id |= (.[1:] | tonumber)
		elif envelope then .method = .params.method | .params = .params.params
		elif has("id") then {jsonrpc: "2.0", id: "i\(.id)", method: "_proxy/successor", params: {method: .method}}
		else empty end
	EOF
	cat >mortal <<-'EOF'
		#!/bin/bash
		# mortal HOW TIMES: dies of "die" so often.
		echo x >>lives
		how=$1
		(($(wc -l <lives) <= $2)) || how=lives
		while IFS= read -r line; do
			[[ $line != *'"die"'* || $how == lives ]] || [[ $how != before ]] || { echo last words >&2; kill -KILL $$; }
			out=$(jq -c --arg how "$how" "$(sed 's/.method == "die"/.method == "die" and $how != "lives"/' mortal.jq)" <<<"$line")
			while IFS= read -r o; do
				[[ $o != '"DIE"' ]] || kill -KILL $$
				[[ -z $o ]] || printf '%s\n' "$o"
			done <<<"$out"
		done
	EOF
	chmod +x mortal
}

# conversation OPTION...: initialize, and when that is answered what is on stdin.
conversation() {
	acp-conduct "$@" -- $agent <down >up 2>err &
	conduct=$!
	exec 8>down
	echo '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}' >&8
	wait_for grep -q '"id":0' up
	cat >&8
	exec 8>&-
	ended=0
	wait "$conduct" || ended=$?
}

# bats test_tags=slow
@test "a request that a dead proxy had read fails, passed on or not: -32603 with its name, its end and its last words; the chain goes on" {
	mortal
	for how in before after answered; do
		rm -f lives up
		conversation -p "./mortal $how 1" <<<'{"jsonrpc":"2.0","id":1,"method":"die"}'
		[[ $ended == 0 ]]
		run -0 jq -c 'select(.id == 1) | .error | [.code, .data.component, .data.status]' up
		assert_output '[-32603,"mortal","signal KILL"]'
		[[ $how != before ]] || assert_equal "$(jq -r 'select(.id == 1).error.data.stderr' up)" 'last words'
		grep -q '^acp-conduct: mortal: died (signal KILL); restarted; requests failed: 1$' err
	done
}

# bats test_tags=slow
@test "one that dies too often ends the chain, with its status" {
	mortal
	conversation --restarts 0/1m -p './mortal before 9' <<<'{"jsonrpc":"2.0","id":1,"method":"die"}'
	run -0 jq -c 'select(.id == 1) | .error.code' up
	assert_output '-32603'
	[[ $ended == 137 ]]
	grep -q '^acp-conduct: mortal: died (signal KILL), more often than --restarts 0/1m allows; ending the chain$' err
}

# bats test_tags=slow
@test "bypass joins its neighbours; what it had read fails, what follows passes" {
	mortal
	conversation --on-crash bypass --restarts 0/1m -p acp-tap -p './mortal before 9' <<-'EOF'
		{"jsonrpc":"2.0","id":1,"method":"die"}
		{"jsonrpc":"2.0","id":2,"method":"more"}
	EOF
	run -0 jq -sc '.[1:] | sort_by(.id)[] | [.id, .result]' up
	assert_output $'[1,null]\n[2,"more"]'
	[[ $ended == 0 ]]
	grep -q 'died (.*); bypassed' err
}

# bats test_tags=slow
@test "fail ends the chain at the first death" {
	mortal
	conversation --on-crash fail -p './mortal before 1' <<<'{"jsonrpc":"2.0","id":1,"method":"die"}'
	run -0 jq -c 'select(.id == 1) | .error.code' up
	assert_output '-32603'
	[[ $ended == 137 ]]
}

# bats test_tags=slow
@test "who dies or is silent before initialization is over ends the chain, and is named" {
	run --separate-stderr acp-conduct -p true -- $agent <<<'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}'
	assert_failure 125
	assert_output --partial '"component":"true"'
	run --separate-stderr acp-conduct --init-timeout 50ms --grace 50ms -p 'sleep 1000' -p acp-tap -- $agent \
		<<<'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}'
	assert_failure 125
	assert_output --partial '"component":"sleep"'
	[[ $stderr == *'sleep: did not initialize within --init-timeout; ending the chain'* ]]
	run -127 acp-conduct -p ./not-there -- $agent <<<'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}'
	assert_output --partial 'not-there: command not found'
}

@test "when the agent dies every open request is answered, and its status is the chain's" {
	agent='sh ./agent.sh'
	cat >agent.sh <<-'EOF'
		read -r line
		echo '{"jsonrpc":"2.0","id":1,"result":{}}'
		read -r line
		exit 7
	EOF
	conversation -p acp-tap <<<'{"jsonrpc":"2.0","id":1,"method":"slow"}'
	run -0 jq -c 'select(.id == 1) | [.error.code, .error.data.status]' up
	assert_output '[-32603,"exit status 7"]'
	[[ $ended == 7 ]]
}
