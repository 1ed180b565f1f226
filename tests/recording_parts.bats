#!/usr/bin/env bats
# A stream whose recording stands in several files, or has only a part of the messages: what its header says, and what readers make of it.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
}

teardown() {
	end_left_over
}

# say FD MESSAGE: the client (5) or the agent (6) sends it, and it is recorded.
say() {
	echo "$2" >&"$1"
	wait_for grep -qF "$2" s.rec
}

# A turn of session s with a tool call, recorded in two parts: the file is rotated within the turn. ARG...: options of acp-tap.
# shellcheck disable=SC2120
rotated() {
	mkfifo in up
	acp-tap -o s.rec "$@" -- cat up <in >out &
	local pid=$!
	exec 5>in 6>up
	say 5 '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'
	say 6 '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{}}}'
	say 5 '{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}'
	say 6 '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}'
	say 5 '{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"hi"}]}}'
	say 6 '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","kind":"read"}}}'
	mv s.rec s.rec.1
	kill -USR1 $pid
	wait_for test -e s.rec
	say 6 '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}}}'
	say 6 '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"usage_update","used":10,"size":100,"cost":{"amount":0.5,"currency":"USD"}}}}'
	say 6 '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn","usage":{"inputTokens":10,"outputTokens":5,"totalTokens":15}}}'
	exec 5>&- 6>&-
	wait $pid
}

@test "the header of a file that was rotated in says so, and the file before ends with an event" {
	rotated
	assert_equal "$(head -n 1 s.rec.1 | jq -c '[.continues, .selected]')" '[null,null]'
	assert_equal "$(head -n 1 s.rec | jq -c '[.continues, .selected]')" '[true,null]'
	assert_equal "$(head -n 1 s.rec | jq .started)" "$(head -n 1 s.rec.1 | jq .started)"
	assert_equal "$(tail -n 1 s.rec.1 | jq -c 'del(.t)')" '{"event":"rotated"}'
	assert_equal "$(grep -c rotated s.rec)" 0
}

# bats test_tags=slow
@test "printed as recordings again, both still say what they are; a header says it once" {
	rotated
	for option in '' --redact; do
		# shellcheck disable=SC2086 # none, or one
		acp-tap -f record $option s.rec.1 | tail -n 1 | jq -e '.event == "rotated"'
		# shellcheck disable=SC2086
		acp-tap -f record $option s.rec >again.rec
		assert_equal "$(head -n 1 again.rec | jq -c .continues)" true
		assert_equal "$(head -n 1 again.rec | grep -o continues | wc -l)" 1
	done
	acp-tap -f record s.rec | cmp - s.rec
}

# bats test_tags=slow
@test "a recording of selected messages says so, written live or printed" {
	rotated
	for options in '--session s' '--from agent' '-m session/prompt' '--kind request' '-c 3' '--start 3' '--until 3' '-w .id'; do
		# shellcheck disable=SC2086 # words
		acp-tap -f record $options s.rec.1 >part.rec
		assert_equal "$(head -n 1 part.rec | jq -c '[.continues, .selected]')" '[null,true]'
	done
	acp-tap -f raw s.rec.1 | acp-tap -o part.rec --session s >out
	assert_equal "$(head -n 1 part.rec | jq -c .selected)" true
	# A recording by hand has no header: one is written.
	sed 1d s.rec.1 | acp-tap -f record --session s - >part.rec
	assert_equal "$(head -n 1 part.rec | jq -c .selected)" true
	acp-tap -f record --from client part.rec | head -n 1 >first
	assert_equal "$(grep -o selected first | wc -l)" 1
}

@test "acp-check: no part of a recording is blamed for what the other has" {
	rotated
	run -0 acp-check --unstable --level note s.rec.1
	refute_output
	run -0 acp-check --unstable --level note s.rec
	refute_output
	run -0 acp-check --unstable --level note s.rec.1 s.rec
	refute_output
	run -0 acp-check --unstable --level note s.rec s.rec.1
	refute_output
	cat s.rec.1 s.rec >whole.rec
	run -0 acp-check --unstable --level note whole.rec
	refute_output
	for options in '--session s' '--from agent' '--from client' '-m session/update' '--kind request' '-c 3' '--start 5' '--until 6'; do
		# shellcheck disable=SC2086
		acp-tap -f record $options whole.rec >part.rec
		run -0 acp-check --unstable --level note part.rec
		refute_output
	done
}

@test "acp-check: what one part breaks is found across the parts, with its file and line" {
	rotated
	sed -i '/tool_call_update/d' s.rec
	run -0 acp-check s.rec.1 s.rec
	assert_output --regexp '^s.rec:[0-9]+: .*: tolerated: tool-call-open: '
	# The last part has the end of the stream: the request of the first has no response.
	sed -i '/end_turn/d; /"eof"/d' s.rec
	run -1 acp-check -f json -l violation s.rec.1 s.rec
	assert_equal "$(jq -c '[.rule, .file, .record]' <<<"$output")" '["unanswered","s.rec.1",6]'
	# Without the event the part is a stream of its own.
	grep -v rotated s.rec.1 >alone.rec
	run -1 acp-check -f json -l violation alone.rec
	assert_equal "$(jq -r .rule <<<"$output")" unanswered
	# A part of another stream does not go on with this one.
	sed '1s/"started":"[^"]*"/"started":"2026-01-01T00:00:00.000000Z"/' s.rec >other.rec
	run -0 acp-check -l violation --ignore unanswered alone.rec other.rec
	refute_output
}

# bats test_tags=slow
@test "acp-stat, acp-usage, acp-export: a turn and a call that go on in the next file are one" {
	rotated
	cat s.rec.1 s.rec >whole.rec
	grep -v -e rotated -e '"continues"' whole.rec >plain.rec
	grep -c end_turn plain.rec
	for files in 's.rec.1 s.rec' whole.rec; do
		# shellcheck disable=SC2086 # a list of files
		diff <(acp-stat -f json plain.rec | jq -S 'del(.file)') <(acp-stat -f json $files | jq -S 'del(.file)')
		# shellcheck disable=SC2086
		diff <(acp-usage --summary -f json plain.rec | jq -S .) <(acp-usage --summary -f json $files | jq -S .)
		for format in html markdown otlp perfetto; do
			# shellcheck disable=SC2086
			diff <(acp-export -f $format plain.rec) <(acp-export -f $format $files)
		done
	done
	# Without the header's word the turn ends with the first file.
	sed 's/,"continues":true//' s.rec >new.rec
	run ! diff <(acp-export -f markdown plain.rec) <(acp-export -f markdown s.rec.1 new.rec)
}

# bats test_tags=slow
@test "acp-usage -F follows a recording across its rotation" {
	rotated
	cat s.rec.1 >f.rec
	acp-usage -F -f json f.rec >rows &
	wait_for test -e rows
	cp s.rec next.rec
	mv next.rec f.rec
	wait_for grep -q 15 rows
	kill -INT $!
	wait $! || true
	assert_equal "$(acp-usage --summary -f json s.rec.1 s.rec | jq -s 'map(select(.turns)) | .[0].turns')" 1
}
