#!/usr/bin/env bats
# acp-tap beside a chain that runs.

setup() {
	load lib
	load attach
	attach_setup
}

teardown() {
	attach_teardown
}

@test "what passes is shown on standard output, for nothing else passes there" {
	conduct socket
	attach acp-tap --color never
	cat >&9 <<-END
		$HEADER
		{"t":0.000360,"at":0,"from":"client","msg":{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}}
		{"t":0.500000,"at":0,"from":"agent","msg":{"jsonrpc":"2.0","id":0,"result":{}}}
		{"t":0.600000,"at":0,"from":"agent","stderr":"warm"}
	END
	wait_for grep -q warm out
	exec 9>&-
	ends 0
	run sed 's/  */ /g; s/ $//; /exit/s/^ [0-9.]*/ T/' out
	assert_output - <<-'END'
		 0.000 → req 0 initialize 58
		 0.500 ← res 0 initialize 36 +500ms
		 0.600 ← stderr 4 warm
		 T ← exit exit status 0
	END
	assert_equal "$(<seen)" ''
}

@test "a program that reads the output gets each line as it comes, and its end is the end of the tool" {
	conduct socket
	mkfifo lines
	acp-tap --attach socket -f raw </dev/null >lines 2>seen 9>&- 3>&- &
	filter=$!
	exec 8<lines
	echo "$HEADER" >&9
	echo '{"t":0.1,"at":0,"from":"client","msg":{"jsonrpc":"2.0","method":"one"}}' >&9
	read -r line <&8
	assert_equal "$line" '{"jsonrpc":"2.0","method":"one"}'
	exec 8<&-
	echo '{"t":0.2,"at":0,"from":"client","msg":{"jsonrpc":"2.0","method":"two"}}' >&9
	ends 141
	assert_equal "$(<seen)" ''
	exec 9>&-
}

@test "-o: a recording with the chain's beginning and times, byte for byte" {
	session write-with-permission.jsonl >session
	conduct socket
	attach acp-tap -o s.rec
	cat session >&9
	exec 9>&-
	ends 0
	assert_equal "$(<seen)" ""
	head -n 1 s.rec | jq -e '.started == "2026-11-20T15:56:02.500000Z" and (.by | startswith("acp-tap "))'
	cmp <(acp-tap -f raw session) <(acp-tap -f raw s.rec)
	cmp <(jq -c '[.t, .from]' session | tail -n +2) <(jq -c 'select(.event | not) | [.t, .from]' s.rec | tail -n +2)
}

@test "what is lost is in the recording, and reported at the end; the status is 125" {
	conduct socket
	attach acp-tap -o s.rec
	cat >&9 <<-END
		$HEADER
		{"t":1.000000,"at":0,"event":"lost","count":3,"why":"its reader is too slow"}
		{"t":2.000000,"at":0,"event":"lost","count":4,"why":"its reader is too slow"}
		{"t":3.000000,"at":0,"from":"agent","msg":{"jsonrpc":"2.0","method":"x"}}
	END
	exec 9>&-
	ends 125
	assert_equal "$(<seen)" "acp-tap: 7 messages were lost: its reader is too slow"
	run sed '1d; /"exit"/d' s.rec
	assert_output - <<-'END'
		{"t":1.000000,"event":"lost","count":3,"why":"its reader is too slow"}
		{"t":2.000000,"event":"lost","count":4,"why":"its reader is too slow"}
		{"t":3.000000,"from":"agent","msg":{"jsonrpc":"2.0","method":"x"}}
	END
}

# same OPTION...: what is written beside a chain is what is written of its recording.
same() {
	rm -f socket
	conduct socket
	attach acp-tap -o s.out "$@"
	cat session >&9
	exec 9>&-
	ends 0
	wait "$conductor"
	acp-tap "$@" session >expected 2>/dev/null
	cmp <(grep -v acp-recording s.out) <(grep -v acp-recording expected | sed 's/"at":0,//')
	[[ -s expected ]]
}

# bats test_tags=slow
@test "selection, --redact, -c and formats are as elsewhere" {
	session write-with-permission.jsonl >session
	same -f record -m session/update
	same -f raw -w '.method == "session/prompt"'
	same -f trace --from agent -c 3
	same -f raw --redact
}

@test "a chain that is not there leaves the file of -o as it was" {
	echo old >s.rec
	run acp-tap --attach nowhere -o s.rec
	assert_failure 2
	assert_output "acp-tap: nowhere: No such file or directory"
	assert_equal "$(<s.rec)" old
}

@test "^C: what has come is written, status 0" {
	conduct socket
	attach acp-tap -o s.rec
	printf '%s\n' "$HEADER" '{"t":1.000000,"from":"agent","msg":{"jsonrpc":"2.0","method":"x"}}' >&9
	wait_for grep -q '"x"' s.rec
	kill -INT "$filter"
	ends 0
	wait_for grep -q left log
	assert_equal "$(wc -l <s.rec)" 2
}

@test "SIGUSR1 reopens the file" {
	conduct socket
	attach acp-tap -o s.rec
	printf '%s\n' "$HEADER" '{"t":1.000000,"from":"agent","msg":{"jsonrpc":"2.0","method":"x"}}' >&9
	wait_for grep -q '"x"' s.rec
	mv s.rec old.rec
	kill -USR1 "$filter"
	wait_for test -e s.rec
	echo '{"t":2.000000,"from":"agent","msg":{"jsonrpc":"2.0","method":"y"}}' >&9
	exec 9>&-
	ends 0
	grep -q '"started":"2026-11-20T15:56:02.500000Z"' s.rec
	grep -q '"t":2.000000.*"y"' s.rec
}

@test "a file that cannot be written: one line, status 125" {
	conduct socket
	attach acp-tap -o no/such/folder
	echo "$HEADER" >&9
	ends 125
	assert_equal "$(<seen)" "acp-tap: no/such/folder: No such file or directory"
}

@test "only options go with --attach" {
	run acp-tap --attach x -- cat
	assert_failure 2
	assert_output "acp-tap: --attach joins a running stream, and takes no command"
	run acp-tap --attach x s.rec
	assert_failure 2
	assert_output "acp-tap: s.rec: --attach takes no operands"
	for option in '--way pipe' '--clean' '--grace 1s'; do
		# shellcheck disable=SC2086
		run acp-tap --attach x $option
		assert_failure 2
		assert_output "acp-tap: ${option% *} does not go with --attach"
	done
	run acp-tap --hop 1
	assert_failure 2
	assert_output "acp-tap: --hop requires recordings or --attach"
}
