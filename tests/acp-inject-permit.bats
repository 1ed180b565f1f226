#!/usr/bin/env bats
# acp-inject --permit-by: a program decides on permission requests.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load inject
	lib_setup
	inject_setup
	options='{"kind":"allow_once","optionId":"a"},{"kind":"allow_always","optionId":"allow_once"},{"kind":"reject_once","optionId":"r"}'
}

teardown() {
	end_left_over
}

permission() { printf '{"jsonrpc":"2.0","id":%s,"method":"session/request_permission","params":{"sessionId":"s", "options":[%s]}}\n' "$1" "$options"; }

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

# An agent that sends what is written to descriptor 7, and a client of which 9 is the input; got and out have what comes.
stage() {
	mkfifo agent.in client.in
	exec 7<>agent.in 9<>client.in
	printf '#!/bin/sh\nexec 7>&- 9>&-\ncat agent.in & exec cat >>got\n' >live
	chmod +x live
	# shellcheck disable=SC2154 # of each_way
	inject "$way" live "$@" <client.in >out 2>err 7>&- 9>&- &
	stream=$!
	if [[ $way == proxy ]]; then
		echo '{"jsonrpc":"2.0","id":"first","method":"initialize","params":{}}' >&9
		wait_for test -s got
		jq -c --unbuffered '{jsonrpc, id, result: {}}' got >&7
		wait_for test -s out
	fi
}
is_in() { grep -qF -- "$2" "$1"; }

@test "the program gets the request on standard input, and prints the id or the kind of an option" {
	asks 1 < <(permission '"\u0061"')
	answered -v --permit-by 'sh -c "cat >asked; echo r"'
	assert_equal "$(cat got)" '{"jsonrpc":"2.0","id":"\u0061","result":{"outcome":{"outcome":"selected","optionId":"r"}}}'
	cmp asked up
	assert_equal "$(cat out)" ''
	assert_equal "$(cat err)" 'acp-inject: --permit-by sh -c "cat >asked; echo r": {"outcome":{"outcome":"selected","optionId":"r"}}'
	# An id before a kind.
	answered --permit-by 'echo allow_once'
	assert_equal "$(jq -r .result.outcome.optionId got)" allow_once
	answered --permit-by 'printf "  \n\n"' --permit-by 'printf "reject_once  \n\n"'
	assert_equal "$(jq -r .result.outcome.optionId got)" r
}

# bats test_tags=slow
@test "a failure, nonsense, much, and no response in time leave it to the next rule, and then to the client; that is reported" {
	asks 1 < <(permission 1)
	for program in 'sh -c "echo a; exit 1"' 'echo nonsense' ./missing 'head -c 1000000 /dev/zero' 'sh -c "kill -9 $$"' 'printf "allow\n_once\n"' 'printf "a\000b"'; do
		answered --permit-by "$program" --permit reject_once
		assert_equal "$(jq -r .result.outcome.optionId got)" r
		assert_equal "$(cat err)" "acp-inject: --permit-by $program: \"session/request_permission\": it failed, or printed no option: the rule is skipped"
	done
	answered --permit-timeout 50ms --permit-by 'sleep 1000' --permit-by 'echo a'
	assert_equal "$(cat err)" 'acp-inject: --permit-by sleep 1000: "session/request_permission": --permit-timeout: the rule is skipped'
	assert_equal "$(jq -r .result.outcome.optionId got)" a
	# What the client gets is what the agent sent, and its response is the agent's; nothing printed is no failure.
	mkfifo back
	acp-inject --permit-by true -- ./asker <back >out 2>err &
	exec 9>back
	wait_for test -s out
	cmp out up
	echo '{"jsonrpc":"2.0", "id":1,"result":"client"}' >&9
	exec 9>&-
	wait $!
	assert_equal "$(cat got)" '{"jsonrpc":"2.0", "id":1,"result":"client"}'
	assert_equal "$(cat err)" ''
	run --separate-stderr acp-inject --strict --permit-by false -- ./asker < <(wait_for test -s never)
	assert_equal "$status" 125
	assert_output ''
}

@test "what a program makes of a request leaves after it, or after the response to it, when the program has decided" {
	local by
	for by in true false 'echo r'; do
		asks 1 < <(permission 1)
		rm -f got
		: >out
		{
			wait_for grep -q post out && permission 1 | jq -c '{jsonrpc, id, result: {}}'
		} | acp-inject -m session/request_permission -e '., {method: "post"}' --permit-by "sh -c 'sleep .1; $by'" \
			--permit-by true -- ./asker >out
		[ -s got ]
		if [[ $by == echo* ]]; then
			assert_equal "$(jq -r .method out)" post
		else
			assert_equal "$(jq -r .method out | tr '\n' ' ')" 'session/request_permission post '
		fi
	done
	# So do those of a request whose turn is cancelled.
	asks 2 < <(permission 1)
	: >out
	{
		wait_for test -s asked
		echo '{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}'
		wait_for grep -q post out
	} | acp-inject -m session/request_permission -e '., {method: "post"}' --permit-by 'sh -c "cat >asked; sleep 60"' -- ./asker >out
	assert_equal "$(jq -r .method out)" post
	assert_equal "$(jq -c '.method // .result.outcome.outcome' got | tr '\n' ' ')" '"session/cancel" "cancelled" '
}

# bats test_tags=slow
@test "each request has its own process, a few at a time, and the stream goes on" {
	local n
	n=$(sample 40 400)
	asks "$n" < <(for ((i = 0; i < n; i++)); do permission "$i"; done; echo '{"jsonrpc":"2.0","method":"session/update"}')
	mkfifo go
	rm -f got
	# The client stays until the agent has its last response: head may write the first ones earlier.
	all() { [[ -s got && $(wc -l <got) -eq $n ]]; }
	(ulimit -n 64; wait_for all | acp-inject --permit-by 'sh -c "read -r x; echo >>began; read -r y <go; echo allow_once"' -- ./asker >out 2>err) &
	# The update passes all of them.
	wait_for test -s out
	assert_equal "$(cat out)" '{"jsonrpc":"2.0","method":"session/update"}'
	eight() { [[ $(wc -l <began) -eq 8 ]]; }
	wait_for eight
	exec 8<>go
	for ((i = 0; i < n; i++)); do echo; done >&8
	wait $!
	exec 8>&-
	assert_equal "$(jq -r '.id, .result.outcome.optionId' got | sort -n | uniq -c | sed 's/^ *//' | sort -u | wc -l)" $((n + 1))
	assert_equal "$(jq -r .id got | sort -n | uniq | wc -l)" "$n"
	assert_equal "$(cat err)" ''
}

withdrawn() {
	rm -f agent.in client.in began
	stage --permit-by 'sh -c "echo \$\$ >>began; exec sleep 1000"'
	permission 5 >&7
	wait_for test -s began
	# The client has not seen it: nor does it see that the agent cancels it.
	echo '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":5}}' >&7
	wait_for is_in got -32800
	gone() { run ! kill -0 "$(tail -n 1 began)" 2>/dev/null; }
	wait_for gone
	permission '"x"' >&7
	two() { [[ $(wc -l <began) -eq 2 ]]; }
	wait_for two
	echo '{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"other"}}' >&9
	echo '{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}' >&9
	wait_for is_in got '"cancelled"}'
	wait_for gone
	assert_equal "$(grep -v '"initialize"' got | jq -c '[.id, .method, .error.code, .params.sessionId, .result.outcome.outcome]')" '[5,null,-32800,null,null]
[null,"session/cancel",null,"other",null]
[null,"session/cancel",null,"s",null]
["x",null,null,null,"cancelled"]'
	run ! grep -vF '"first"' out
	exec 7>&- 9>&-
	wait "$stream" || true
}

@test "a request that the agent cancels, or whose turn the client cancels, has its response, and the program is killed" {
	each_way withdrawn
}

@test "a session/cancel that spells the session's id in another way cancels its requests" {
	way=wrap
	stage --permit-by 'sh -c "echo >began; exec sleep 1000"'
	permission 5 >&7
	wait_for test -s began
	echo '{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"\u0073"}}' >&9
	wait_for is_in got '"cancelled"}'
	exec 7>&- 9>&-
	wait "$stream" || true
}

@test "--session: a request that the agent cancels has its response, though \$/cancel_request names no session" {
	way=wrap
	stage --session s --permit-by 'sh -c "echo >began; exec sleep 1000"'
	permission 5 >&7
	wait_for test -s began
	echo '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":5}}' >&7
	wait_for is_in got -32800
	echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"other"}}' >&7
	wait_for test -s out
	assert_equal "$(cat out)" '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"other"}}'
	exec 7>&- 9>&-
	wait "$stream" || true
}

@test "a program that runs when the client leaves ends with the stream" {
	asks 1 < <(permission 1)
	acp-inject --permit-by 'sh -c "echo $$ >began; exec sleep 1000"' -- ./asker < <(wait_for test -s began) >out 2>err
	run ! kill -0 "$(cat began)"
	assert_equal "$(cat out)$(cat err)$(cat got)" ''
}

@test "a client that responds to what it has not seen has responded, and the program is killed" {
	asks 1 < <(permission 1)
	early() { wait_for test -s began; echo '{"jsonrpc":"2.0","id":1,"result":"early"}'; wait_for test -s got; }
	acp-inject --permit-by 'sh -c "echo $$ >began; exec sleep 1000"' -- ./asker < <(early) >out 2>err
	assert_equal "$(cat got)" '{"jsonrpc":"2.0","id":1,"result":"early"}'
	run ! kill -0 "$(cat began)"
	assert_equal "$(cat out)$(cat err)" ''
}

@test "of two requests with the same id, a response of the client is to the first" {
	asks 2 < <(
		permission 1
		permission 1
	)
	mkfifo go
	running() { [[ -e began && $(xargs -n 1 kill -0 <began 2>&1 | wc -l) -eq 0 && $(wc -l <began) -eq 2 ]]; }
	one_left() { [[ $(xargs -n 1 kill -0 <began 2>&1 | wc -l) -eq 1 ]]; }
	early() {
		wait_for running
		echo '{"jsonrpc":"2.0","id":1,"result":"early"}'
		wait_for one_left
		echo >go
		wait_for test -s got
	}
	acp-inject --permit-by 'sh -c "echo $$ >>began; read -r x <go; echo r"' -- ./asker < <(early) >out 2>err
	assert_equal "$(jq -c .result got)" $'"early"\n{"outcome":{"outcome":"selected","optionId":"r"}}'
	assert_equal "$(cat out)$(cat err)" ''
}

# --- beside a stream

# shared OPTION...: an acp-share, with an agent that asks each time it is told to.
shared() {
	load control
	control_setup
	start "$@"
	begin
}
question() {
	say '{"jsonrpc":"2.0","method":"question","params":{"id":'"$1"',"method":"session/request_permission","params":{"sessionId":"s","options":['"$options"']}}}'
}
told() { jq -r 'select(.method == "heard") | .params | "\(.id) \(.result.outcome.optionId)"' got; }
told_all() { [[ $(told | wc -l) -eq $1 ]]; }

# bats test_tags=slow
@test "--attach: --permit and --permit-by respond beside the client, also to what is open; what they do not decide is the client's" {
	shared --answers
	question 1
	hears '"id":1'
	acp-inject -v --attach "$socket" --permit-by 'sh -c "jq -r \"select(.params.sessionId == \\\"s\\\" and .id < 3).params.options[0].optionId\""' \
		--permit reject_once 9>&- 2>seen &
	inject=$!
	wait_for told_all 1
	question 2
	wait_for told_all 2
	question 3
	wait_for told_all 3
	# The program is told of the client's response by the stream.
	run -0 told
	assert_output $'1 a\n2 a\n3 r'
	assert_equal "$(grep -c cancel_request got)" 3
	ends
	wait "$inject"
	assert_equal "$(grep -c 'outcome' seen)" 3
}

@test "--attach: the client is first: the program is killed, and the agent has one response" {
	shared --answers
	acp-inject --attach "$socket" --permit-by 'sh -c "echo $$ >began; exec sleep 1000"' 9>&- 2>seen &
	inject=$!
	question 1
	hears '"id":1'
	wait_for test -s began
	say '{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"client"}}}'
	wait_for told_all 1
	gone() { run ! kill -0 "$(cat began)" 2>/dev/null; }
	wait_for gone
	run ! grep cancel_request got
	ends
	wait "$inject"
	assert_equal "$(cat seen)" ''
}

@test "--attach: a stream without --answers is refused, before anything is sent" {
	shared
	run -2 acp-inject --attach "$socket" --permit allow_once
	assert_output 'acp-inject: guests may not respond to the agent here: acp-share was started without --answers'
	ends
}

@test "options that do not go together are refused" {
	run -2 acp-inject --permit-timeout 1s --permit allow_once -- cat
	assert_output 'acp-inject: --permit-timeout requires --permit-by'
	run -2 acp-inject --permit-by '' -- cat
	assert_line --index 0 --partial 'expected a command'
	run -2 acp-inject --attach socket --leave --permit allow_once
	assert_output 'acp-inject: --leave requires --send'
	run -2 acp-inject --permit-by true </dev/null
	assert_line --partial 'one-way'
}
