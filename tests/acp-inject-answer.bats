#!/usr/bin/env bats
# acp-inject: requests that are answered here.

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

# asks N: an agent that sends the file up and takes N lines into the file got before it ends.
asks() {
	cat >up
	printf '#!/bin/sh\ncat up\nhead -n %s >got\n' "$1" >asker
	chmod +x asker
}

# answered OPTION...: runs it until the agent has its answers.
answered() {
	rm -f got
	wait_for test -s got | acp-inject "$@" -- ./asker >out 2>err
}

permission() {
	printf '{"jsonrpc":"2.0","id":%s,"method":"session/request_permission","params":{"sessionId":"s","options":[%s]}}\n' "$1" "$2"
}

@test "a request of the agent's is answered by a program, and does not reach the client" {
	asks 1 < <(permission 7.0 '{"kind":"allow_once","optionId":"yes"}')
	answered --arg a 5 --answer 'session/request_permission={outcome: {outcome: "selected", optionId: .params.options[0].optionId}, told: [$from, $method, $session, $a]}'
	assert_equal "$(cat got)" '{"jsonrpc":"2.0","id":7.0,"result":{"outcome":{"outcome":"selected","optionId":"yes"},"told":["agent","session/request_permission","s","5"]}}'
	[[ ! -s out ]]
}

@test "a permission is answered by the kind of option, with its own bytes" {
	asks 1 < <(permission '"\u0061"' '{"kind":"reject_once","optionId":"no"},7,{"kind":"allow_once"},{"kind":"\u0061llow_once","optionId":"\u0041"}')
	answered --permit allow_once
	assert_equal "$(cat got)" '{"jsonrpc":"2.0","id":"\u0061","result":{"outcome":{"outcome":"selected","optionId":"\u0041"}}}'
	answered --permit reject_once
	assert_equal "$(jq -r .result.outcome.optionId got)" no
	answered --permit allow_always --permit reject_once --permit allow_once
	assert_equal "$(jq -r .result.outcome.optionId got)" no
}

@test "a permission for which no such option is offered reaches the client, which is said once" {
	permission 1 '{"kind":"reject_once","optionId":"no"}' >down
	printf '{"jsonrpc":"2.0","id":2,"method":"session/request_permission"}\n' >>down
	cp down up
	acp-inject --permit allow_once -- ./taker </dev/null >out 2>err
	cmp up out
	assert_equal "$(cat err)" 'acp-inject: --permit allow_once: "session/request_permission": no such option is offered: the rule is skipped'
}

@test "a denied request is answered with an error that names the tool" {
	asks 3 <<-'EOF'
		{"id":1,"method":"fs/write_text_file","params":{}}
		{"id":2,"method":"terminal/create"}
		{"id":"x","method":"terminal/kill"}
	EOF
	answered --deny 'fs/write_text_file=read only' --deny 'terminal/*'
	assert_equal "$(cat got)" '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"read only"}}
{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"acp-inject: denied"}}
{"jsonrpc":"2.0","id":"x","error":{"code":-32603,"message":"acp-inject: denied"}}'
	[[ ! -s out ]]
}

# bats test_tags=slow
@test "a denied request has the code that is asked for" {
	asks 4 <<-'EOF'
		{"id":1,"method":"a"}
		{"id":2,"method":"b"}
		{"id":3,"method":"c"}
		{"id":4,"method":"d"}
	EOF
	answered --deny 'a=-32000,log in first' --deny 'b=429,' --deny 'c=5 of them, no more' --deny 'd=,x'
	assert_equal "$(jq -c '.error | [.code, .message]' got)" '[-32000,"log in first"]
[429,"acp-inject: denied"]
[-32603,"5 of them, no more"]
[-32603,",x"]'
	run acp-inject --deny 'a=99999999999,x'
	assert_equal "$status" 2
	assert_output --partial 'expected an error code'
}

@test "a client's request is denied as well, and a notification never" {
	denied() {
		talk 1 --deny session/set_mode --deny session/cancel <<-'EOF'
			{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}
			{"jsonrpc":"2.0","id":1,"method":"session/set_mode"}
		EOF
		[[ $(jq -c . out) == '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"acp-inject: denied"}}' ]]
		[[ $(without_ids got) == '{"method":"session/cancel","params":{"sessionId":"s"}}' ]]
	}
	each_way denied
}

# bats test_tags=slow
@test "the first rule that matches wins, in the order given, whatever its kind" {
	asks 1 < <(permission 1 '{"kind":"allow_once","optionId":"yes"}')
	answered --permit allow_always --deny session/request_permission=no --permit allow_once
	assert_equal "$(jq -r .error.message got)" no
	answered --permit allow_once --deny session/request_permission=no
	assert_equal "$(jq -r .result.outcome.optionId got)" yes
	answered --answer 'session/*=1' --permit allow_once
	assert_equal "$(jq -r .result got)" 1
}

@test "a program without an output leaves the request to the next rule, and then to the client" {
	asks 1 <<-'EOF'
		{"id":1,"method":"fs/read_text_file","params":{"path":"secret"}}
		{"id":2,"method":"fs/read_text_file","params":{"path":"other"}}
	EOF
	answered --answer 'fs/read_text_file=select(.params.path == "secret") | {content: ""}'
	assert_equal "$(cat got)" '{"jsonrpc":"2.0","id":1,"result":{"content":""}}'
	assert_equal "$(cat out)" '{"id":2,"method":"fs/read_text_file","params":{"path":"other"}}'
	[[ ! -s err ]]
}

# bats test_tags=slow
@test "a program that fails leaves it to the next rule, which is said; with --strict it is the end" {
	asks 1 <<-'EOF'
		{"id":1,"method":"x"}
	EOF
	answered --answer 'x=error("no")' --answer 'x=2'
	assert_equal "$(jq .result got)" 2
	assert_equal "$(cat err)" 'acp-inject: --answer x: "x": no: the rule is skipped'
	mkfifo open
	run --separate-stderr acp-inject --strict --answer 'x=error("no")' --answer 'x=2' -- ./asker <>open
	assert_equal "$status" 125
	assert_output ''
}

# bats test_tags=slow
@test "what the edit has made is answered, and the edit sees what is answered here" {
	asks 1 <<-'EOF'
		{"id":1,"method":"x","params":{"n":1}}
	EOF
	answered -m x -e '.params.n = 2' --answer 'x=.params'
	assert_equal "$(jq -c .result got)" '{"n":2}'
}

@test "permissions are answered in a link and in a proxy chain" {
	permission 1 '{"kind":"allow_once","optionId":"yes"}' >up
	cat >asker <<-'END'
		#!/bin/sh
		read -r line
		printf '%s\n' "$line" | sed 's/.*"id":\([^,}]*\).*/{"jsonrpc":"2.0","id":\1,"result":{"protocolVersion":1}}/'
		cat up
		head -n 1 >got
	END
	chmod +x asker
	for way in link proxy; do
		rm -f got
		{ echo '{"jsonrpc":"2.0","id":"i","method":"initialize"}'; wait_for test -s got; } | inject "$way" asker --permit allow_once >out
		assert_equal "$(jq -r .result.outcome.optionId got)" yes
		refute grep -q request_permission out
	done
}

@test "with -v it is said what is answered here" {
	asks 2 < <(permission 1 '{"kind":"allow_once","optionId":"yes"}'; echo '{"id":2,"method":"fs/x"}')
	answered -v --permit allow_once --deny 'fs/*'
	assert_equal "$(cat err)" 'acp-inject: --permit allow_once: {"outcome":{"outcome":"selected","optionId":"yes"}}
acp-inject: --deny fs/*: "fs/x"'
}
