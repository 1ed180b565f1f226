#!/usr/bin/env bats
# acp-replay: --start, --until, --loop, --speed.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load replay
	lib_setup
	a_session
}

teardown() {
	end_left_over
}

@test "--start begins at a record, and answers earlier initialize and session/new" {
	play_agent --start 10 s.rec
	tell '{"id":"i","method":"initialize","params":{"protocolVersion":1}}'
	hear
	assert_equal "$line" '{"jsonrpc":"2.0","id":"i","result":{"protocolVersion":1}}'
	tell '{"id":"n","method":"session/new","params":{}}'
	hear
	assert_equal "$line" '{"jsonrpc":"2.0","id":"n","result":{"sessionId":"A"}}'
	tell '{"id":"p","method":"session/prompt","params":{"sessionId":"A"}}'
	hear
	assert_equal "$line" '{"jsonrpc":"2.0","id":"p","result":{"stopReason":"end_turn"}}'
	hang_up
	assert_equal "$status" 0
	assert_equal "$rest" ''
}

@test "--start: what is earlier need not come" {
	run acp-replay --start 10 s.rec <<<'{"id":"p","method":"session/prompt","params":{"sessionId":"A"}}'
	assert_success
	assert_output '{"jsonrpc":"2.0","id":"p","result":{"stopReason":"end_turn"}}'
}

@test "--start and --until that name nothing in the recording: exit 2" {
	run -2 acp-replay --start 1000 s.rec </dev/null
	assert_output 'acp-replay: --start 1000: s.rec has no message at or after record 1000'
	run -2 acp-replay --as client --start 1000 s.rec -- cat
	run -2 acp-replay --until 1000 s.rec </dev/null
	assert_output 'acp-replay: --until 1000: s.rec has no such record'
	run -2 acp-replay --until 'session/updates' s.rec </dev/null
	assert_output 'acp-replay: --until session/updates: no message of s.rec matches it'
	# The first message that matches lies before --start.
	run -2 acp-replay --start 9 --until 'session/new' s.rec </dev/null
	run -0 acp-replay --until 11 --start 11 s.rec </dev/null
}

@test "--as client --start sends initialize and session/new, and goes on from there" {
	run acp-replay --as client --start 10 s.rec -- sh -c 'tee down | acp-replay --start 10 s.rec'
	assert_success
	assert_equal "$(jq -r .method down | xargs)" 'initialize session/new session/prompt'
}

@test "what is reported of the recording names a line that it has, or none" {
	echo '{"acp-recording":1}' >head.rec
	for ends in s.rec '--start 1000 s.rec' '--until 1 s.rec' '--loop s.rec' '--hop 7 s.rec' head.rec '--as client s.rec' \
		'--as client --start 1000 s.rec'; do
		# shellcheck disable=SC2086
		run acp-replay $ends </dev/null
		refute_output --partial '.rec:0'
	done
	# Begun again, and nothing of it read.
	head -n 2 s.rec >short.rec
	play_agent --loop short.rec
	tell '{"id":"i","method":"initialize","params":{"protocolVersion":1}}'
	hear
	kill -TERM "$pid"
	hang_up
	run cat err
	refute_output --partial '.rec:0'
}

@test "--until ends after a record, by its number" {
	run acp-replay --until 2 s.rec <<<'{"id":1,"method":"initialize","params":{"protocolVersion":1}}'
	assert_success
	run acp-replay --until 3 s.rec <<<'{"id":1,"method":"initialize","params":{"protocolVersion":1}}'
	assert_failure 1
}

@test "--until ends after the first record that is like a glob" {
	jq -c 'select(.from == "client").msg' s.rec | head -n 3 >client
	run acp-replay --until 'session/upd*' s.rec <client
	assert_success
	assert_equal "${#lines[@]}" 3
	assert_line --index 2 --partial 'session/update'
	run acp-replay --as client --until session/new s.rec -- sh -c 'tee down | acp-replay s.rec 2>/dev/null'
	assert_equal "$(jq -r .method down | xargs)" 'initialize session/new'
}

@test "--loop begins again at the end, until the client leaves there" {
	head -n 2 s.rec >short.rec
	play_agent --loop short.rec
	for id in a b c; do
		tell "{\"id\":\"$id\",\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}"
		hear
		assert_equal "$line" "{\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"result\":{\"protocolVersion\":1}}"
	done
	hang_up
	assert_equal "$status" 0
	assert_equal "$(cat err)" ''
}

@test "--loop: a client that leaves in the middle: exit 1" {
	play_agent --loop s.rec
	tell '{"id":"i","method":"initialize","params":{"protocolVersion":1}}'
	hear
	hang_up
	assert_equal "$status" 1
}

@test "--loop with --start plays turns again and again in one session" {
	play_agent --loop --start 10 s.rec
	tell '{"id":"i","method":"initialize","params":{"protocolVersion":1}}'
	hear
	tell '{"id":"n","method":"session/new","params":{}}'
	hear
	for id in a b c; do
		tell "{\"id\":\"$id\",\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"A\"}}"
		hear
		assert_equal "$line" "{\"jsonrpc\":\"2.0\",\"id\":\"$id\",\"result\":{\"stopReason\":\"end_turn\"}}"
	done
	hang_up
	assert_equal "$status" 0
}

# at T FROM MSG: a record of that time.
at() {
	printf '{"t":%s,"from":"%s","msg":%s}\n' "$@"
}

slow() {
	at 0.000000 client '{"id":1,"method":"a"}'
	at 0.200000 agent '{"method":"one"}'
	at 0.600000 agent '{"method":"two"}'
	at "$1" agent '{"id":1,"result":{}}'
}

once() {
	acp-replay "$@" s.rec <<<'{"id":1,"method":"a"}' >up
}

# bats test_tags=slow
@test "--speed: without pauses by default, as recorded, or a multiple" {
	slow 0.800000 >s.rec
	took once --speed recorded
	((elapsed >= 800000)) || fail "$elapsed µs"
	assert_equal "$(jq -c . up | wc -l)" 3
	took once --speed 2
	((elapsed >= 400000)) || fail "$elapsed µs"
	# An hour is no matter where nobody wants the pauses.
	slow 3600.000000 >s.rec
	once
	once --speed max
}

@test "--speed as the client: a pause before a session's first message counts, too" {
	{
		at 0.000000 client '{"id":1,"method":"session/new","params":{}}'
		at 0.000000 agent '{"id":1,"result":{"sessionId":"A"}}'
		at 0.400000 client '{"id":2,"method":"session/prompt","params":{"sessionId":"A"}}'
		at 0.400000 agent '{"id":2,"result":{}}'
	} >s.rec
	took acp-replay --as client --speed recorded s.rec -- acp-replay s.rec
	((elapsed >= 400000)) || fail "$elapsed µs"
}

@test "--until before --start, and one that only matches before it, are named" {
	slow 0.800000 >s.rec
	run -2 acp-replay --start 3 --until 2 s.rec </dev/null
	assert_output 'acp-replay: --until 2: that is before --start'
	run -2 acp-replay --start 3 --until a s.rec </dev/null
	assert_output 'acp-replay: --until a: no message of s.rec matches it from --start on'
}

@test "--max-pause: no pause is longer" {
	slow 3600.000000 >s.rec
	took once --speed recorded --max-pause 50ms
	((elapsed >= 150000)) || fail "$elapsed µs"
	assert_equal "$(jq -c . up | wc -l)" 3
}

@test "--speed: an error does not wait for a pause, and a session's pause holds up no other session" {
	{
		at 0.000000 client '{"id":1,"method":"session/prompt","params":{"sessionId":"A"}}'
		at 0.000000 client '{"id":2,"method":"session/prompt","params":{"sessionId":"B"}}'
		at 0.000000 agent '{"id":2,"result":{}}'
		at 3600.000000 agent '{"id":1,"result":{}}'
	} >s.rec
	play_agent --speed recorded s.rec
	tell '{"id":1,"method":"session/prompt","params":{"sessionId":"A"}}'
	tell '{"id":3,"method":"nobody/knows"}'
	hear
	assert_regex "$line" '"id":3,"error"'
	tell '{"id":2,"method":"session/prompt","params":{"sessionId":"B"}}'
	hear
	assert_equal "$line" '{"id":2,"result":{}}'
	kill "$pid"
	hang_up
	assert_equal "$status" 1
}

@test "--speed: what a sub-agent does in the background does not pass the response that was recorded before" {
	{
		at 0.000000 client '{"id":1,"method":"session/prompt","params":{"sessionId":"A"}}'
		at 0.000000 agent '{"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"subagent_update","sessionId":"child"}}}'
		at 0.000000 agent '{"method":"session/update","params":{"sessionId":"child","update":"1"}}'
		at 1.000000 agent '{"method":"session/update","params":{"sessionId":"A","update":"1"}}'
		at 2.000000 agent '{"id":1,"result":{}}'
		at 3.000000 agent '{"method":"session/update","params":{"sessionId":"child","update":"2"}}'
	} >s.rec
	play_agent --speed recorded --max-pause 50ms s.rec
	tell '{"id":1,"method":"session/prompt","params":{"sessionId":"A"}}'
	hear
	hear
	hear
	hear
	assert_equal "$line" '{"id":1,"result":{}}'
	hear
	hang_up
	assert_equal "$status" 0
}

@test "--speed: nobody waits for the part before --start" {
	{
		at 0.000000 client '{"id":1,"method":"initialize","params":{}}'
		at 0.000000 agent '{"id":1,"result":{}}'
		at 3600.000000 client '{"id":2,"method":"session/new","params":{}}'
		at 3600.000000 agent '{"id":2,"result":{"sessionId":"A"}}'
		at 7200.000000 agent '{"method":"session/update","params":{"sessionId":"A","update":"ready"}}'
		at 7200.000000 client '{"id":3,"method":"session/prompt","params":{"sessionId":"A"}}'
		at 7200.000000 agent '{"id":3,"result":{}}'
	} >s.rec
	run timeout 60 acp-replay --as client --speed recorded --start 6 s.rec -- acp-replay --speed recorded --start 5 s.rec
	assert_success
}

@test "--speed: the client has its pauses, too" {
	{
		at 0.000000 client '{"id":1,"method":"a"}'
		at 0.100000 agent '{"id":1,"result":{}}'
		at 0.500000 client '{"id":2,"method":"a"}'
		at 0.500000 agent '{"id":2,"result":{}}'
	} >s.rec
	took acp-replay --as client --speed recorded s.rec -- acp-replay s.rec
	((elapsed >= 400000)) || fail "$elapsed µs"
}

@test "bad arguments: exit 2 and a line that says what" {
	for bad in '--speed fast' '--speed -1' '--speed 0' '--max-pause soon' '--start 0' '--start x' '--match all' '--on-miss die'; do
		# shellcheck disable=SC2086
		run acp-replay $bad s.rec </dev/null
		assert_failure 2
		assert_output --partial "acp-replay: $bad: expected "
	done
}

@test "an option that would do nothing is refused" {
	run -2 acp-replay --grace 1s s.rec </dev/null
	assert_output 'acp-replay: --grace requires --as client'
	run -2 acp-replay --as client --on-miss wait s.rec -- true
	assert_output 'acp-replay: --on-miss does not go with --as client'
	run -2 acp-replay --as client --loop s.rec -- true
	assert_output 'acp-replay: --loop does not go with --as client'
	run -2 acp-replay --max-pause 1s s.rec </dev/null
	assert_output 'acp-replay: --max-pause requires --speed'
	run -2 acp-replay --max-pause 1s --speed max s.rec </dev/null
	assert_output 'acp-replay: --max-pause does not go with speed max'
}

@test "--start: a session whose beginning was not played is the one that the client names" {
	n=$(grep -n '"method":"session/prompt"' "$FIXTURES/demo.rec" | head -n 1 | cut -d: -f1)
	play_agent --start "$n" "$FIXTURES/demo.rec"
	tell "$(sed -n "${n}p" "$FIXTURES/demo.rec" | jq -c .msg)"
	hear
	assert_regex "$line" '"session/update"'
	hang_up
	assert_equal "$status" 1
}

@test "--loop: the recorded ends of both sides do not matter" {
	{
		echo '{"acp-recording":1}'
		head -n 2 s.rec
		printf '%s\n' '{"t":1,"event":"eof","from":"client"}' '{"t":1,"event":"eof","from":"agent"}' '{"t":2,"event":"exit","status":3}'
	} >short.rec
	play_agent --loop short.rec
	for id in a b c; do
		tell "{\"id\":\"$id\",\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}"
		hear
		assert_regex "$line" "\"id\":\"$id\",\"result\""
	done
	hang_up
	assert_equal "$status" 0
}
