#!/usr/bin/env bats
# acp-replay: the fixtures against themselves, what it reads, and how it ends.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load replay
	lib_setup
}

teardown() {
	end_left_over
}

# against_itself FIXTURE: its client's side plays with its agent's.
against_itself() {
	run --separate-stderr acp-replay --as client "$1" -- sh -c 'tee down | acp-replay "$1" | tee up' sh "$1"
	assert_success
	fixture client "$1" | cmp - down
	fixture agent "$1" | cmp - up
}

@test "a session with a tool call plays against itself, byte for byte" {
	against_itself "$FIXTURES/bash-tool.jsonl"
}

# bats test_tags=slow
@test "four turns play against themselves, byte for byte" {
	against_itself "$FIXTURES/four-turns-per-model-usage.jsonl"
}

# bats test_tags=slow
@test "two sessions at once and a cancelled turn play against themselves, byte for byte" {
	against_itself "$FIXTURES/two-sessions-and-cancel.jsonl"
}

@test "a session with a permission request plays against itself, byte for byte" {
	against_itself "$FIXTURES/write-with-permission.jsonl"
}

# bats test_tags=slow
@test "the same in a ring of pipes, the client on its own stdin and stdout" {
	for fixture in "$FIXTURES"/*.jsonl; do
		rm -f ring
		mkfifo ring
		acp-replay --as client "$fixture" <ring | tee down | acp-replay "$fixture" 2>err | tee up >ring
		fixture client "$fixture" | cmp - down
		fixture agent "$fixture" | cmp - up
	done
}

@test "the same over a socket, both ways on one" {
	f=$FIXTURES/write-with-permission.jsonl
	run --separate-stderr socat EXEC:"acp-replay --as client '$f'" SYSTEM:"tee down | acp-replay '$f' | tee up"
	assert_success
	fixture client "$f" | cmp - down
	fixture agent "$f" | cmp - up
}

# bats test_tags=slow
@test "a named pipe whose writer has left before the start is read to its end" {
	a_session
	head -n 2 s.rec >short.rec
	mkfifo to
	exec 7<>to 8<to
	echo '{"id":1,"method":"initialize","params":{"protocolVersion":1}}' >&7
	exec 7>&-
	run acp-replay short.rec <&8
	assert_success
	assert_output '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
}

@test "the demo: both sides of a recording with a chain between them" {
	run --separate-stderr "$TOP/scripts/demo"
	assert_success
	assert_line '4 messages of the client, 573 bytes: as they were sent.'
	assert_line '37 messages of the agent, 9748 bytes: as they were sent.'
	assert_line --partial 'session/request_permission'
	assert_line --partial 'end_turn'
	assert_equal "$stderr" ''
}

@test "stderr of the agent goes to stderr, in an agent's place only" {
	f=$FIXTURES/four-turns-per-model-usage.jsonl
	fixture client "$f" >client
	run --separate-stderr acp-replay "$f" <client
	assert_success
	assert_equal "$stderr" "$(jq -r 'select(.stderr).stderr' "$f")"
	run --separate-stderr acp-replay --as client "$f" -- sh -c 'acp-replay "$1" 2>/dev/null' sh "$f"
	assert_success
	assert_equal "$stderr" ''
}

@test "a carriage return, white space and a number's spelling are sent as recorded" {
	printf '%s\r}\n' '{"t":0.1,"from":"client","msg": {"id":1,"method":"a"}' '{"t":0.2,"from":"agent","msg": {"result" : 1.50e0, "id" : 1 }' >s.rec
	printf '%s\r\n' '{"id":1,"method":"a"}' >client
	run acp-replay s.rec <client
	assert_success
	assert_output $' {"result" : 1.50e0, "id" : 1 }\r'
}

@test "noise of the agent is sent as it was, also what is not UTF-8" {
	recording s.rec <<-'END'
		{"t":0,"from":"agent","noise":"Welcome!"}
		{"t":0,"from":"agent","noise":""}
		{"t":0,"from":"agent","noise64":"/wD+"}
		{"t":0,"from":"client","noise":"not ours"}
		> {"id":1,"method":"a"}
		< {"id":1,"result":{}}
	END
	acp-replay s.rec <<<'{"id":1,"method":"a"}' >up
	printf 'Welcome!\n\n\377\0\376\n{"id":1,"result":{}}\n' | cmp - up
}

@test "--hop plays another hop" {
	recording s.rec <<-'END'
		{"acp-recording":1,"hops":["tap","agent"]}
		{"t":0,"at":0,"from":"client","msg":{"id":1,"method":"a"}}
		{"t":0,"at":1,"from":"client","msg":{"id":7,"method":"a"}}
		{"t":0,"at":1,"from":"agent","msg":{"id":7,"result":"of 1"}}
		{"t":0,"at":0,"from":"agent","msg":{"id":1,"result":"of 0"}}
	END
	echo '{"id":1,"method":"a"}' >client
	run acp-replay s.rec <client
	assert_output '{"id":1,"result":"of 0"}'
	run acp-replay --hop 1 s.rec <client
	assert_output '{"id":1,"result":"of 1"}'
	run acp-replay --hop agent s.rec <client
	assert_output '{"id":1,"result":"of 1"}'
	run acp-replay --hop nobody s.rec <client
	assert_failure 2
	assert_output 'acp-replay: s.rec: no message at hop nobody; there are: 0 tap, 1 agent'
}

@test "bare messages play; the method shows the sender" {
	printf '%s\n' '{"id":1,"method":"initialize"}' '{"id":1,"result":{}}' >s.ndjson
	run acp-replay s.ndjson <<<'{"id":"x","method":"initialize"}'
	assert_success
	assert_output '{"id":"x","result":{}}'
	run acp-replay --as client s.ndjson <<<'{"id":1,"result":{}}'
	assert_success
	assert_output '{"id":1,"method":"initialize"}'
}

@test "bare messages: a sub-agent's keep their place among its parent's" {
	printf '%s\n' '{"id":1,"method":"session/prompt","params":{"sessionId":"A"}}' \
		'{"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"subagent_update","sessionId":"child"}}}' \
		'{"method":"session/update","params":{"sessionId":"child","update":"1"}}' '{"id":1,"result":{}}' >s.ndjson
	# The client leaves without a prompt.
	run --separate-stderr acp-replay s.ndjson </dev/null
	assert_failure 1
	assert_output ''
}

@test "a recording may come through a pipe" {
	a_session
	run acp-replay <(cat s.rec) <<<'{"id":"x","method":"initialize","params":{"protocolVersion":1}}'
	assert_failure 1
	assert_line '{"jsonrpc":"2.0","id":"x","result":{"protocolVersion":1}}'
	run acp-replay --as client - -- acp-replay s.rec <s.rec
	assert_success
}

@test "a line that can not be read is reported with its number before anything is played: exit 2" {
	recording s.rec <<-'END'
		> {"id":1,"method":"a"}
		< {"id":1,"result":{}}
		{"t":1,"from":"agent","msg":{]}
		> {"id":1,"method":"b"}
	END
	run acp-replay s.rec <<<'{"id":1,"method":"a"}'
	assert_failure 2
	assert_output "acp-replay: s.rec:3: not a record at byte 30: expected a member's name"
	# What --until leaves out is not read.
	run -0 acp-replay --until 2 s.rec <<<'{"id":1,"method":"a"}'
}

@test "a torn last record is the end, with a warning" {
	a_session
	head -n 2 s.rec >torn.rec
	printf '{"t":1,"from":"cli' >>torn.rec
	run acp-replay torn.rec <<<'{"id":0,"method":"initialize","params":{"protocolVersion":1}}'
	assert_success
	assert_line --partial 'acp-replay: torn.rec:3: the last line is torn at byte'
}

@test "lost records are reported" {
	recording s.rec <<-'END'
		> {"id":1,"method":"a"}
		{"t":0,"event":"lost","count":3,"why":"No space left on device"}
		< {"id":1,"result":{}}
	END
	run acp-replay s.rec <<<'{"id":1,"method":"a"}'
	assert_success
	assert_line 'acp-replay: s.rec:2: 3 records are missing here: No space left on device'
}

@test "no such file, a folder, an empty file: exit 2" {
	run acp-replay nothing.rec </dev/null
	assert_failure 2
	assert_output 'acp-replay: nothing.rec: No such file or directory'
	run acp-replay . </dev/null
	assert_failure 2
	assert_output 'acp-replay: .: Is a directory'
	: >empty.rec
	run acp-replay empty.rec </dev/null
	assert_failure 2
	assert_output 'acp-replay: empty.rec: no message in it'
}

@test "bad usage: exit 2 and a line that says what" {
	: >s.rec
	run acp-replay
	assert_failure 2
	run acp-replay --as editor s.rec
	assert_failure 2
	assert_output 'acp-replay: --as editor: expected agent or client'
	run acp-replay s.rec -- agent
	assert_failure 2
	assert_output --partial 'only --as client starts a command'
	run acp-replay --as client s.rec --
	assert_failure 2
	run acp-replay s.rec t.rec
	assert_failure 2
	run acp-replay -
	assert_failure 2
	run acp-replay --max-line much s.rec
	assert_failure 2
	run acp-replay --grace soon s.rec
	assert_failure 2
	run acp-replay --speed 2 s.rec
	assert_failure 2
}

@test "--help and --version go to stdout" {
	run --separate-stderr acp-replay --help
	assert_success
	assert_output --partial 'usage: acp-replay'
	run --separate-stderr acp-replay -V
	assert_success
	assert_output --regexp '^acp-replay [0-9]'
}

# bats test_tags=slow
@test "memory: 150 bytes a message, as the page says, whatever the length of its text" {
	[[ $B != *san* ]] || skip 'the sanitizers keep what is freed'
	# peak MESSAGES TEXT: KiB that playing so many of the agent's messages takes.
	peak() {
		awk -v n="$1" -v text="$2" 'BEGIN {
			print "{\"from\":\"client\",\"msg\":{\"id\":1,\"method\":\"a\"}}"
			for (i = 0; i < n; i++)
				printf "{\"from\":\"agent\",\"msg\":{\"method\":\"b\",\"params\":[\"%s\"]}}\n", text
			print "{\"from\":\"agent\",\"msg\":{\"id\":1,\"result\":{}}}"
			print "{\"from\":\"client\",\"msg\":{\"id\":2,\"method\":\"c\"}}"
		}' >s.rec
		rm -f to
		mkfifo to
		acp-replay s.rec <to >up 2>err 3>&- &
		exec 8>to
		echo '{"id":1,"method":"a"}' >&8
		wait_for grep -q '"result"' up
		awk '/^VmHWM/ { print $2 }' "/proc/$!/status"
		exec 8>&-
		wait "$!" || assert_equal "$?" 1
	}
	little=$(peak 1000 x)
	much=$(peak 101000 x)
	((much - little < 150 * 100000 / 1024)) || fail "$little and $much KiB"
	long=$(peak 1000 "$(printf '%010000d' 0)")
	((long - little < 2048)) || fail "$little and $long KiB"
}

@test "--env: names of the environment in messages, and a name that is not set is reported: exit 2" {
	recording s.rec <<-'END'
		> {"id":1,"method":"a","params":{"cwd":"${FOLDER}"}}
		< {"id":1,"result":{"home":"${FOLDER}/x"}}
	END
	FOLDER='/a "b"' run acp-replay --env s.rec <<<'{"id":1,"method":"a","params":{"cwd":"/a \"b\""}}'
	assert_success
	assert_output '{"id":1,"result":{"home":"/a \"b\"/x"}}'
	FOLDER=/x run --separate-stderr acp-replay --env --as client s.rec -- sh -c 'tee down | acp-replay --env s.rec'
	assert_success
	assert_equal "$(cat down)" '{"id":1,"method":"a","params":{"cwd":"/x"}}'
	run acp-replay --env s.rec </dev/null
	assert_failure 2
	assert_line --regexp '^acp-replay: s.rec:1: .*FOLDER'
	run acp-replay s.rec <<<'{"id":1,"method":"a","params":{"cwd":"${FOLDER}"}}'
	assert_success
}

@test "a recording that was written by hand: comments, blank lines, no header, no times" {
	cat >s.rec <<-'END'
		# A greeting.
		{"from":"client","msg":{"id":1,"method":"hello"}}

		# And its answer.
		{"from":"agent","msg":{"id":1,"result":"hi"}}
	END
	run acp-replay --speed recorded s.rec <<<'{"id":"x","method":"hello"}'
	assert_success
	assert_output '{"id":"x","result":"hi"}'
	run acp-replay s.rec </dev/null
	assert_failure 1
	assert_line --partial 's.rec:2: the client left before "hello"'
}

# bats test_tags=slow
@test "200 clients at once: 200 agents of one recording" {
	f=$FIXTURES/two-sessions-and-cancel.jsonl
	fixture agent "$f" | jq -c 'select(.params.sessionId == "2e3de134-cff4-41b9-b7a3-7f022cbccc98")' >expected
	for ((i = 0; i < 200; i++)); do
		acp-replay --as client "$f" -- sh -c 'acp-replay "$1" 2>/dev/null | tee "up.$2"' sh "$f" "$i" >"report.$i" 2>&1 3>&- &
		pids[i]=$!
	done
	for pid in "${pids[@]}"; do wait "$pid"; done
	cat report.* | cmp - /dev/null
	for ((i = 0; i < 200; i += 20)); do
		jq -c 'select(.params.sessionId == "2e3de134-cff4-41b9-b7a3-7f022cbccc98")' "up.$i" | cmp - expected
	done
}
