#!/usr/bin/env bats
# acp-replay: what happens is compared with what was recorded, and written down.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load replay
	lib_setup
}

teardown() {
	end_left_over
}

# live SED: another agent: that of s.rec, changed.
live() {
	sed "$1" s.rec >live.rec
	cat >agent <<-'END'
		#!/bin/sh
		exec acp-replay --match method live.rec
	END
	chmod +x agent
}

# bats test_tags=slow
@test "every fixture against itself: nothing differs, at any level" {
	for f in "$FIXTURES"/*.jsonl "$FIXTURES"/demo.rec; do
		for level in method shape params exact; do
			run acp-replay --as client --match "$level" --check "$f" -- acp-replay --match "$level" "$f" 2>/dev/null
			assert_success
			refute_output --regexp '^[-+@]'
		done
	done
}

# bats test_tags=slow
@test "every fixture against itself, with filters in between" {
	for f in "$FIXTURES"/*.jsonl "$FIXTURES"/demo.rec; do
		run --separate-stderr acp-replay --as client --match exact "$f" -- \
			acp-conduct -f 'acp-tap -o tap.rec' -f 'acp-usage -o /dev/null' -- acp-replay --match exact "$f"
		assert_success
		assert_output ''
	done
}

@test "an agent that has changed: what differs is reported, exit 1" {
	a_session
	live 's/"n":1/"n":"one"/'
	run --separate-stderr acp-replay --as client --check s.rec -- ./agent
	assert_failure 1
	assert_line '--- s.rec'
	assert_line '+++ ./agent'
	assert_line '   .params.n'
	assert_line '-    1'
	assert_line '+    "one"'
	assert_equal "$stderr" ''
}

@test "--match says how close it has to be; times, costs and _meta do not matter below exact" {
	a_session
	live 's/"n":1/"n":2/'
	run acp-replay --as client --check s.rec -- ./agent
	assert_success
	run acp-replay --as client --check --match params s.rec -- ./agent
	assert_failure 1
	run acp-replay --as client --check --match params --normalize 'del(.params.n?)' s.rec -- ./agent
	assert_success
	live 's/"stopReason":"end_turn"/&,"_meta":{"a":1}/'
	run acp-replay --as client --check --match params s.rec -- ./agent
	assert_success
	run acp-replay --as client --check --match exact s.rec -- ./agent
	assert_failure 1
}

@test "a stream of chunks is compared by its text, however it is cut" {
	chunk() { printf '< {"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}\n' "$1"; }
	turn() {
		echo '> {"id":1,"method":"session/prompt","params":{"sessionId":"A"}}'
		for text in "$@"; do chunk "$text"; done
		echo '< {"id":1,"result":{}}'
	}
	turn 'one ' 'two ' three | recording s.rec
	turn 'one two' ' three' | recording live.rec
	run acp-replay --as client --check --match params s.rec -- acp-replay live.rec
	assert_success
	assert_output ''
	sed -i 's/ three/ four/' live.rec
	run acp-replay --as client --check --match params s.rec -- acp-replay live.rec
	assert_failure 1
	assert_line '-    "one two three"'
	assert_line '+    "one two four"'
}

@test "--check -f json and -f junit, also where nothing differs" {
	a_session
	live 's/refusal/&/'
	run --separate-stderr acp-replay --as client --check -f json s.rec -- ./agent
	assert_success
	jq -e -s 'length > 0' <<<"$output"
	run --separate-stderr acp-replay --as client --check -f junit s.rec -- ./agent
	assert_success
	assert_output --partial '<testsuite'
	refute_output --partial '<failure'
	live 's/end_turn/refusal/'
	run --separate-stderr acp-replay --as client --check -f junit --match params s.rec -- ./agent
	assert_failure 1
	assert_output --partial '<failure'
}

@test "without a command the report goes to standard error" {
	recording s.rec <<-'END'
		> {"id":1,"method":"a"}
		< {"id":1,"result":{}}
	END
	run --separate-stderr acp-replay --as client --check s.rec <<<'{"id":1,"result":[]}'
	assert_failure 1
	assert_output '{"id":1,"method":"a"}'
	assert_regex "$stderr" '-    \{\}'
}

@test "an agent that ends too early: what it did not send is reported, too" {
	a_session
	run acp-replay --as client --check s.rec -- sh -c 'read -r line; echo "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":1}}"'
	assert_failure 1
	assert_line --partial 'the agent left before the response to "session/new"'
	assert_line ' client: session/prompt, -5: missing'
}

# bats test_tags=slow
@test "--normalize that fails on a message: exit 2, and the session goes on" {
	a_session
	live 's/x/x/'
	run acp-replay --as client --check --normalize 'error("no")' s.rec -- ./agent
	assert_failure 2
	assert_line --regexp '^acp-diff: s.rec:1: --normalize: .*no'
	run acp-replay --as client --check --normalize '.a |' s.rec -- ./agent
	assert_failure 2
}

@test "--normalize: the agent takes requests for the same that are so after it" {
	recording s.rec <<-'END'
		> {"id":1,"method":"a","params":{"now":1}}
		< {"id":1,"result":{}}
	END
	run acp-replay s.rec <<<'{"id":7,"method":"a","params":{"now":2}}'
	assert_failure 1
	run acp-replay --normalize 'del(.params.now)' s.rec <<<'{"id":7,"method":"a","params":{"now":2}}'
	assert_success
	assert_output '{"id":7,"result":{}}'
}

@test "--record writes what happened as a recording" {
	a_session
	live 's/"n":1/"n":2/'
	acp-replay --as client --record new.rec s.rec -- ./agent
	assert_equal "$(head -n 1 new.rec | jq -c '[."acp-recording", .command]')" '[1,["./agent"]]'
	diff <(jq -c 'select(.msg).msg' new.rec) <(jq -c 'select(.msg).msg' live.rec)
	assert_equal "$(stat -c %a new.rec)" 600
	assert_equal "$(tail -n 1 new.rec | jq -c '[.event, .status]')" '["exit",0]'
	# It plays.
	run acp-replay --as client --match exact new.rec -- acp-replay new.rec
	assert_success
	acp-replay --record agent.rec s.rec < <(jq -c 'select(.from == "client").msg' s.rec) >/dev/null
	diff <(jq -c 'select(.msg) | [.from, .msg]' agent.rec | sort) <(jq -c '[.from, .msg]' s.rec | sort)
}

# bats test_tags=slow
@test "--record: the name is taken as it is" {
	a_session
	acp-replay --as client --record '%d.rec' s.rec -- acp-replay s.rec
	[[ -s %d.rec ]]
}

@test "--record: a file that can not be made: exit 2" {
	a_session
	run acp-replay --as client --record nowhere/new.rec s.rec -- acp-replay s.rec
	assert_failure 2
	assert_output --partial 'acp-replay: nowhere/new.rec: No such file or directory'
}

@test "--record on a full disk: the session goes on, exit 125" {
	[[ -e /dev/full ]] || skip 'there is no /dev/full'
	a_session
	run acp-replay --as client --record /dev/full s.rec -- acp-replay s.rec
	assert_failure 125
	assert_line --partial 'No space left on device'
}

@test "a full disk under standard output is named, and is not the other side's leaving: 125" {
	[[ -e /dev/full ]] || skip 'there is no /dev/full'
	a_session
	mkfifo other
	exec 9<>other
	echo '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}' >&9
	run -125 bash -c 'acp-replay s.rec <other >/dev/full 9>&-'
	assert_output 'acp-replay: standard output: No space left on device'
	run -125 bash -c 'acp-replay --as client s.rec <other >/dev/full 9>&-'
	assert_output 'acp-replay: standard output: No space left on device'
}

@test "--update puts what happened in the place of the recording, with its mode, and leaves the old one as FILE~" {
	a_session
	sed -i '1i {"acp-recording":1}' s.rec
	chmod 640 s.rec
	cp s.rec before.rec
	ln -s s.rec link.rec
	live 's/"n":1/"n":2/'
	run acp-replay --as client --check --update link.rec -- ./agent
	assert_success
	assert_output ''
	diff <(jq -c 'select(.msg).msg' s.rec) <(jq -c 'select(.msg).msg' live.rec)
	assert_equal "$(stat -c %a s.rec)" 640
	[[ -L link.rec ]]
	cmp s.rec~ before.rec
	assert_equal "$(ls)" "$(printf '%s\n' agent before.rec link.rec live.rec s.rec s.rec~)"
}

@test "--update: where something differs, or is missed, the recording stays as it is" {
	a_session
	cp s.rec before.rec
	live 's/"n":1/"n":"one"/'
	run acp-replay --as client --check --update s.rec -- ./agent
	assert_failure 1
	assert_line 'acp-replay: s.rec: not updated: the session did not pass'
	cmp s.rec before.rec
	run acp-replay --as client --check --update s.rec -- true
	assert_failure 1
	cmp s.rec before.rec
	# An agent that fails at the end, too.
	live ''
	sed -i 's/exec//' agent
	printf '(exit 3)\n' >>agent
	run -3 acp-replay --as client --check --update s.rec -- ./agent
	assert_line 'acp-replay: s.rec: not updated: the session did not pass'
	cmp s.rec before.rec
	# Killed in the middle: the same.
	acp-replay --as client --check --update s.rec -- sh -c 'kill -9 $PPID' || true
	cmp s.rec before.rec
}

# bats test_tags=slow
@test "--update neither writes what the environment holds nor takes any session for the same" {
	a_session
	cp s.rec before.rec
	run -2 acp-replay --as client --check --update --env s.rec -- ./agent
	assert_output 'acp-replay: --update does not go with --env'
	run -2 acp-replay --check --update --on-miss next s.rec
	assert_output 'acp-replay: --update does not go with --on-miss next'
	cmp s.rec before.rec
}

@test "--update as the agent takes over what the client said this time" {
	recording s.rec <<-'END'
		{"acp-recording":1}
		> {"id":1,"method":"initialize","params":{"clientInfo":{"version":"1"}}}
		< {"id":1,"result":{}}
	END
	run acp-replay --check --update s.rec <<<'{"id":1,"method":"initialize","params":{"clientInfo":{"version":"2"}}}'
	assert_success
	assert_equal "$(jq -r 'select(.from == "client") | .msg.params.clientInfo.version // empty' s.rec)" 2
	run acp-replay --check --update s.rec </dev/null
	assert_failure 1
	assert_equal "$(jq -r 'select(.from == "client") | .msg.params.clientInfo.version // empty' s.rec)" 2
}

# bats test_tags=slow
@test "--update: no other hops are lost" {
	printf '%s\n' '{"acp-recording":1,"hops":["a","agent"]}' \
		'{"t":0,"at":0,"from":"client","msg":{"id":1,"method":"a"}}' '{"t":0,"at":0,"from":"agent","msg":{"id":1,"result":{}}}' >s.rec
	cp s.rec before.rec
	run acp-replay --as client --check --update s.rec -- acp-replay s.rec
	assert_failure 2
	assert_output 'acp-replay: s.rec: not updated: it holds several hops, and only one was played'
	cmp s.rec before.rec
}

@test "--update wants a whole recording that it may replace: exit 2" {
	a_session
	for bad in '--start 3' '--until 3' --loop '--hop 0' '--record x'; do
		# shellcheck disable=SC2086
		run acp-replay --as client --check --update $bad s.rec -- true
		assert_failure 2
	done
	run acp-replay --as client --check --update - -- true
	assert_failure 2
}

@test "--update keeps the file's own format, or refuses" {
	a_session
	sed -i 's/"n":1/"n":2/' s.rec
	cp s.rec before.rec
	live 's/"n":2/"n":3/'
	run -2 acp-replay --as client --check --update s.rec -- ./agent
	assert_output 'acp-replay: s.rec: not updated: it is not in the format that acp-tap writes'
	cmp s.rec before.rec
	jq -c .msg before.rec >s.rec
	run -2 acp-replay --as client --check --update s.rec -- ./agent
	assert_equal "$(jq -c . s.rec)" "$(jq -c .msg before.rec)"
	sed '1i {"acp-recording":1}\n# by hand' before.rec >s.rec
	cp s.rec comment.rec
	run -2 acp-replay --as client --check --update s.rec -- ./agent
	assert_output 'acp-replay: s.rec: not updated: it has comments, which would be lost'
	cmp s.rec comment.rec
}

@test "--check reads the recording twice: it has to be a file" {
	a_session
	run -2 acp-replay --as client --check - -- true <s.rec
	assert_output 'acp-replay: --check: -: it is not a regular file'
	run -2 acp-replay --as client --check <(cat s.rec) -- true
}

@test "--check leaves no file of its own" {
	a_session
	mkdir tmp
	TMPDIR=$PWD/tmp run acp-replay --as client --check s.rec -- acp-replay s.rec
	assert_success
	assert_equal "$(ls tmp)" ''
}

@test "--check as the agent: what the client said otherwise" {
	recording s.rec <<-'END'
		> {"id":1,"method":"a","params":{"n":1}}
		< {"id":1,"result":{}}
	END
	run --separate-stderr -1 acp-replay --match shape --check s.rec <<<'{"id":7,"method":"a","params":{"n":2,"m":1}}'
	run --separate-stderr -0 acp-replay --match shape --check s.rec <<<'{"id":7,"method":"a","params":{"n":2}}'
	assert_equal "$stderr" ''
}
