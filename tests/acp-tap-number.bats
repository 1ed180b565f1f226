#!/usr/bin/env bats
# acp-tap: from a line of the timeline to its message; and a run of chunks that grows on a terminal.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
	REC=$FIXTURES/demo.rec
}

teardown() {
	end_left_over
}

@test "-n: a record's number is that of its line" {
	acp-tap -n --no-fold "$REC" | sed 1d >out
	assert_equal "$(awk '{ print $1 }' out)" "$(seq 2 "$(wc -l <"$REC")")"
	run acp-tap -n -m session/prompt "$REC"
	assert_line --index 1 --regexp '^    7 .* session/prompt '
	assert_equal "$(sed -n 7p "$REC" | jq -r .msg.method)" session/prompt
}

@test "--start and --until: these records only, and they are known by what came before" {
	run acp-tap -f raw --start 7 --until 8 "$REC"
	assert_output "$(sed -n 7,8p "$REC" | jq -c .msg)"
	run acp-tap -n --start 3 --until 3 "$REC"
	assert_equal "${#lines[@]}" 2
	assert_line --index 1 --regexp '^    3 .* res  0 +initialize .*[+]272ms '
	run -1 acp-tap --start 1000 "$REC"
	assert_output --partial "acp-tap: --start 1000: the last record has number $(grep -c . "$REC")"
	{ cat "$REC"; sed 1d "$REC"; } >long.rec
	run -0 --separate-stderr acp-tap --start "$(grep -c . long.rec)" long.rec "$REC"
	assert_equal "$stderr" ""
	run acp-tap -f record --start 7 --until 7 "$REC"
	assert_output "$(sed -n '1s/}$/,"selected":true}/p;7p' "$REC")"
}

@test "the same number in acp-replay" {
	run -0 acp-replay --start 7 --until 7 "$REC" < <(acp-tap -f raw --start 7 --until 7 "$REC")
}

@test "-f full: the whole message, a member a line, as it is spelled" {
	cat >s.rec <<-'END'
		{"t":1,"from":"agent","msg":{ "method":"m","params":{"n":1.50,"big":123456789012345678901,"e":{ },"a":[],"s":"a\\"\u001b\u00e4{,:éRLO","list":[1,{"x":null}]}}}
		{"t":2,"from":"agent","noise":"not \u001b[2J JSON"}
	END
	sed -i $'s/RLO/\u202e/; s/\\\\\\\\"/\\\\"/' s.rec
	run acp-tap -f full --color never s.rec
	assert_line --index 0 --partial ' ntf '
	assert_equal "$(printf '%s\n' "${lines[@]:1:16}")" '    {
      "method": "m",
      "params": {
        "n": 1.50,
        "big": 123456789012345678901,
        "e": {},
        "a": [],
        "s": "a\"\u001b\u00e4{,:é<U+202E>",
        "list": [
          1,
          {
            "x": null
          }
        ]
      }
    }'
	assert_line --index 18 '    not ^[[2J JSON'
	acp-tap -f full --color never --redact "$REC" 2>/dev/null | sed '/^    [{} ]/!d' | jq -c . >full
	acp-tap -f raw --redact "$REC" 2>/dev/null | jq -c . | cmp - full
}

@test "what makes no sense is refused" {
	for options in -n '--start 2' '--until 2'; do
		# shellcheck disable=SC2086
		run -2 acp-tap $options </dev/null
		assert_output --partial ' requires recordings'
	done
	run -2 acp-tap -n -f raw "$REC"
	run -2 acp-tap --start 3 --until 2 "$REC"
	run -2 acp-tap --start x "$REC"
}

@test "a stream on a terminal: a run of chunks is one line that grows in its place" {
	for text in one ' two' ' three'; do
		jq -nc --arg text "$text" '{jsonrpc: "2.0", method: "session/update", params: {sessionId: "s", update:
			{sessionUpdate: "agent_message_chunk", content: {type: "text", text: $text}}}}'
	done >up
	echo '{"jsonrpc":"2.0","method":"other"}' >>up
	printf '#!/bin/sh\ncat up; exec cat >/dev/null\n' >agent
	chmod +x agent
	script -qec 'stty cols 80; acp-tap --color never -- ./agent </dev/null >out' /dev/null </dev/null >terminal
	tr '\r' '\n' <terminal | grep agent_message >drawn
	assert_equal "$(sed 's/.* //' drawn | tr '\n' ' ')" 'one two three three '
	assert_equal "$(tail -n 1 drawn | grep -c '×3 .*one two three$')" 1
	# On the terminal it is one line, cleared before each drawing, and the next message has its own.
	assert_equal "$(grep -c agent_message terminal)" 1
	assert_equal "$(grep -o $'\r\e\\[K' terminal | wc -l)" 3
	assert_equal "$(grep -c ' other' terminal)" 1
	script -qec 'acp-tap --no-fold --color never -- ./agent </dev/null >out' /dev/null </dev/null >terminal
	assert_equal "$(grep -c agent_message terminal)" 3
	acp-tap -- ./agent </dev/null 2>file >out
	assert_equal "$(grep -c agent_message file)" 3
}
