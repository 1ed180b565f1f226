#!/usr/bin/env bats
# acp-usage beside a chain that runs.

setup() {
	load lib
	load attach
	attach_setup
}

teardown() {
	attach_teardown
}

@test "rows, live, as of any stream; the clock is the chain's" {
	session four-turns-per-model-usage.jsonl >session
	conduct socket
	attach acp-usage -o log
	cat session >&9
	# The last turn is complete when it has been quiet, or when the chain ends.
	wait_for grep -q '0.2712 USD .* update' log
	exec 9>&-
	ends 0
	acp-usage session >expected 2>/dev/null
	cmp log expected
	grep -q '^2026-11-20 15:56:0' log
}

@test "--summary and --max-tokens as of the same session's recording" {
	session four-turns-per-model-usage.jsonl >session
	conduct socket
	attach acp-usage --summary --max-tokens 100k
	cat session >&9
	exec 9>&-
	ends 1
	acp-usage --summary session >expected 2>/dev/null
	cmp out expected
	grep -q 'max-tokens 100000 is reached' seen
}

@test "metrics are written while it runs" {
	session four-turns-per-model-usage.jsonl >session
	conduct socket
	attach acp-usage -f prom -o metrics
	cat session >&9
	wait_for grep -qs 0.271152 metrics
	kill -INT "$filter"
	ends 0
	acp-usage -f prom session >expected 2>/dev/null
	cmp <(grep -v '_seconds' metrics) <(grep -v '_seconds' expected)
}

@test "what is lost is said at once, once, and at the end" {
	conduct socket
	attach acp-usage
	cat >&9 <<-END
		$HEADER
		{"t":1.000000,"at":0,"event":"lost","count":3,"why":"its reader is too slow"}
		{"t":2.000000,"at":0,"event":"lost","count":4,"why":"its reader is too slow"}
	END
	wait_for grep -q 'figures may be too low' seen
	exec 9>&-
	ends 125
	run cat seen
	assert_output - <<-'END'
		acp-usage: messages were lost: figures may be too low from here on
		acp-usage: 7 messages were lost: its reader is too slow
	END
}

@test "what would change the stream is refused" {
	run acp-usage --attach x --fill
	assert_failure 2
	assert_output --partial "acp-usage: --attach can only watch, send, and permit"
	run acp-usage --attach x --pass
	assert_failure 2
	assert_output "acp-usage: --pass does not go with --attach"
	run acp-usage --attach x --merge
	assert_failure 2
	assert_output "acp-usage: --merge does not go with --attach"
	run acp-usage --attach x s.rec
	assert_failure 2
	assert_output "acp-usage: s.rec: --attach takes no operands"
}

@test "a chain that is not there leaves the file of -o as it was" {
	echo old >log
	run acp-usage --attach nowhere -o log
	assert_failure 2
	assert_equal "$(<log)" old
}
