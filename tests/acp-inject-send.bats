#!/usr/bin/env bats
# acp-inject: messages of its own, when others go by.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load inject
	lib_setup
	inject_setup
}

teardown() {
	end_left_over
}

new='{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"n":1}}'
mode='{method: "session/set_mode", params: {sessionId: .result.sessionId, modeId: "plan"}}'

@test "after the response to a request, once a session; the response to it reaches nobody" {
	after() {
		talk 3 --send "down:after:session/new=$mode" <<-EOF
			$new
			{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"n":2}}
			{"jsonrpc":"2.0","id":3,"method":"session/load","params":{"sessionId":"S1"}}
		EOF
		[[ $(jq -c 'select(.method == "session/set_mode").params' got | sort) == '{"sessionId":"S1","modeId":"plan"}
{"sessionId":"S2","modeId":"plan"}' ]]
		[[ $(jq .id out | sort) == $'1\n2\n3' && ! -s err ]]
	}
	each_way after
}

# bats test_tags=slow
@test "the response is held until what was sent has been answered" {
	held() {
		talk 2 --send "down:answer:session/new=$mode" <<-EOF
			$new
			{"jsonrpc":"2.0","id":2,"method":"other"}
		EOF
		# Not before the mode is set, and what came meanwhile has passed it.
		[[ $(jq .id out) == $'2\n1' ]]
		[[ $(jq -r .method got) == $'session/new\nother\nsession/set_mode' || $(jq -r .method got) == $'session/new\nsession/set_mode\nother' ]]
		[[ $(jq -c 'select(.id == 1).result' out) == '{"sessionId":"S1"}' ]]
	}
	# An agent that answers the mode last.
	cat >agent <<-'END'
		#!/bin/sh
		tee -a got | jq -c --unbuffered -f agent.jq | while IFS= read -r line; do
			case $line in
			*'"session/set_mode"'*) late=$line ;;
			*'"other"'*) other=$line ;;
			*) printf '%s\n' "$line"; continue ;;
			esac
			[ "$late" ] && [ "$other" ] && printf '%s\n%s\n' "$other" "$late"
		done
	END
	each_way held
}

# bats test_tags=slow
@test "several requests are all waited for, and their errors are reported" {
	several() {
		talk 1 -v --send "down:answer:session/new=$mode, ($mode | .params.modeId = \"no\")" --send 'down:answer:session/new={method: "x"}' <<<"$new"
		[[ $(jq -c 'select(.method != "session/new") | [.method, .params.modeId]' got) == '["session/set_mode","plan"]
["session/set_mode","no"]
["x",null]' ]]
		grep -q 'acp-inject: session/set_mode: refused: {"code":-32602,"message":"no"}$' err
		grep -q 'acp-inject: x: {"method":"x"' err
	}
	each_way several
}

# bats test_tags=slow
@test "before a message, in its own direction and in the other" {
	before() {
		talk 3 --send 'down:before:session/prompt={method: "a", params: {s: $session}}' \
			--send 'up:before:session/prompt={method: "session/update", params: {sessionId: .params.sessionId}}' <<-'EOF' || return 1
			{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}
			{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}
		EOF
		[[ $(jq -c '[.method, .params.s]' got) == '["a","s"]
["session/prompt",null]
["session/prompt",null]' ]]
		[[ $(jq -c 'select(.method)' out) == '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s"}}' ]]
	}
	each_way before
}

# bats test_tags=slow
@test "after a notification, in its own direction, and after what was held" {
	printf '{"method":"%s"}\n' a b c >up
	run acp-inject --send 'up:after:b={method: "x", notify: true, params: [1]}' -- ./taker </dev/null
	assert_output '{"method":"a"}
{"method":"b"}
{"jsonrpc":"2.0","method":"x","params":[1]}
{"method":"c"}'
	way=wrap
	talk 2 --send "down:answer:session/new=$mode" --send 'up:after:session/new={method: "session/update", params: .result}' <<<"$new"
	assert_equal "$(jq -r '.method // .id' out)" $'1\nsession/update'
}

# bats test_tags=slow
@test "with --send-every each time; without a session each time, too" {
	each() {
		talk 2 "$@" --send 'down:before:session/prompt={method: "a"}' --send 'down:before:m={method: "b"}' <<-'EOF'
			{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s"}}
			{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s"}}
			{"jsonrpc":"2.0","method":"m"}
			{"jsonrpc":"2.0","method":"m"}
		EOF
		jq -r .method got | grep -c '^[ab]$'
	}
	way=wrap
	[[ $(each --send-every) == 4 ]]
	rm got
	[[ $(each) == 3 ]]
}

# bats test_tags=slow
@test "a program without an output sends nothing, and waits for the next" {
	way=wrap
	talk 2 --send 'down:before:session/prompt=select(.params.n == 2) | {method: "a"}' <<-'EOF'
		{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","n":1}}
		{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","n":2}}
	EOF
	assert_equal "$(jq -r '.method' got)" $'session/prompt\na\nsession/prompt'
}

# bats test_tags=slow
@test "a response that is an error sends nothing and is not held" {
	way=wrap
	talk 1 --send 'down:after:fail={method: "a"}' --send 'down:answer:fail={method: "b"}' <<<'{"jsonrpc":"2.0","id":1,"method":"fail"}'
	assert_equal "$(jq -r .method got)" fail
}

@test "what ACP has as a notification, or says so, is one; the rest has an id of its own" {
	way=wrap
	talk 1 --send 'down:before:m={method: "session/cancel", id: 5}, {method: "x", notify: true}, {method: "y", id: 1, notify: false}' <<<'{"jsonrpc":"2.0","id":1,"method":"m"}'
	assert_equal "$(head -n 2 got)" '{"jsonrpc":"2.0","method":"session/cancel"}
{"jsonrpc":"2.0","method":"x"}'
	[[ $(sed -n 3p got) =~ ^'{"jsonrpc":"2.0","id":"acp-inject-'[0-9a-f]{16}-1'","method":"y"}'$ ]]
	assert_equal "$(jq -c .id out)" 1
}

# bats test_tags=slow
@test "what cannot be sent is reported, and nothing of it is sent" {
	for made in 1 '{}' '{method: 1}' '{method: ""}' '{method: "a"}, {method: "b", params: "x"}' '{method: "a\u0000b"}' 'error("no")'; do
		rm -f got
		# shellcheck disable=SC2034 # talk goes by it
		way=wrap
		talk 1 --send "down:before:m=$made" <<<'{"jsonrpc":"2.0","id":1,"method":"m"}'
		assert_equal "$(jq -r .method got)" m
		[[ $(cat err) == 'acp-inject: --send down:before:m: "m": '*': nothing sent' ]]
	done
}

# bats test_tags=slow
@test "an agent that dies instead of answering: the held response goes on" {
	printf '#!/bin/sh\nread -r line\necho "{\\"id\\":1,\\"result\\":{\\"sessionId\\":\\"s\\"}}"\nread -r line\n' >mortal
	chmod +x mortal
	mkfifo open
	exec 8<>open
	echo "$new" >&8
	run inject wrap mortal --send "down:answer:session/new=$mode" <&8
	assert_success
	assert_output '{"id":1,"result":{"sessionId":"s"}}'
}

# bats test_tags=slow
@test "a client that leaves what it was asked: what is held for it goes on, and all ends" {
	cat >asker <<-'END'
		#!/bin/sh
		echo '{"id":7,"method":"fs/read_text_file"}'
		cat >got
	END
	chmod +x asker
	: >out
	{ wait_for has 1; echo '{"id":7,"result":{"content":"x"}}'; wait_for has 2; } |
		acp-inject --send 'up:answer:fs/read_text_file={method: "never/answered"}' -- ./asker >>out
	assert_equal "$(cat got)" '{"id":7,"result":{"content":"x"}}'
	grep -q '"never/answered"' out
}

# bats test_tags=slow
@test "an own request that is answered twice: the client sees neither response" {
	printf '%s\n' '{"id":1,"method":"session/new","params":{"n":1}}' >down
	{
		cat down
		wait_for has 1
	} | acp-inject --send 'down:answer:session/new={method:"session/set_mode",params:{sessionId:.result.sessionId,modeId:"a"}}' \
	    -- acp-fault --duplicate 1 --from agent -m session/set_mode -- ./agent >out 2>err
	assert_equal "$(without_ids out)" '{"result":{"sessionId":"S1"}}'
	grep -q '^acp-inject: agent: line 3: a response to no open request of ours: dropped$' err
}
