#!/usr/bin/env bats
# acp-usage: levels, alerts and limits.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load usage
	lib_setup
}

teardown() {
	end_left_over
}

@test "the level is the true one, compared unrounded" {
	run updates "$USAGE/levels.rec" used level
	assert_output "7499 normal
7500 yellow
8999 yellow
9000 orange
9500 orange
9501 red
9100 orange
7400 normal
6999 normal
7500 yellow"
}

@test "levels hold near 2^64" {
	update s '"used":17524406870024074034,"size":18446744073709551615' >large
	update s '"used":17524406870024074035,"size":18446744073709551615' >>large
	run updates large level
	assert_output $'orange\nred'
}

@test "a crossing is reported once, and rearmed 5 points below" {
	run --separate-stderr acp-usage --warn 75,90,95 -f tsv "$USAGE/levels.rec"
	assert_equal "$stderr" "acp-usage: levels-o: 75%, 2.5K tokens left: Context filling up
acp-usage: levels-o: 90%, 1.0K tokens left: Start new session or summarize
acp-usage: levels-o: 95%, 499 tokens left: Next prompt may fail - handoff recommended
acp-usage: levels-o: 75%, 2.5K tokens left: Context filling up"
}

@test "a value less than 5 points below a level does not rearm it, one 5 points below does" {
	for used in 76 74 76 71 76 70 76; do update s "\"used\":$used,\"size\":100"; done >waves
	run --separate-stderr acp-usage --warn 75,90,95 -f tsv waves
	assert_equal "${#stderr_lines[@]}" 2
	# Below 5 % there is only 0.
	for used in 4 1 4 0 4; do update s "\"used\":$used,\"size\":100"; done >waves
	run --separate-stderr acp-usage --warn 3,90,95 -f tsv waves
	assert_equal "${#stderr_lines[@]}" 2
	# Nothing falls below a level of 0.
	for used in 0 0 0; do update s "\"used\":$used,\"size\":100"; done >waves
	run --separate-stderr acp-usage --warn 0,90,95 -f tsv waves
	assert_equal "${#stderr_lines[@]}" 1
}

@test "--warn has levels of one's own" {
	update s '"used":50,"size":100' >half
	run --separate-stderr acp-usage --warn 10,50,60 half
	assert_output --partial orange
	assert_regex "$stderr" 'Start new session or summarize'
}

@test "--warn-cost is reported once for each amount, in its own currency" {
	for amount in 0.5 1 1.5 5 6; do
		update s "\"used\":1,\"size\":100,\"cost\":{\"amount\":$amount,\"currency\":\"USD\"}"
	done >costs
	run --separate-stderr acp-usage --warn-cost 1USD,5USD,1EUR -f tsv costs
	assert_equal "$stderr" $'acp-usage: s: the cost of 1 USD is reached\nacp-usage: s: the cost of 5 USD is reached'
}

@test "--exec runs a command at each crossing, with what it has to know" {
	update session '"used":80,"size":100,"cost":{"amount":0.5,"currency":"USD"}' >high
	# shellcheck disable=SC2016
	run --separate-stderr acp-usage --exec 'echo $ACP_SESSION $ACP_LEVEL $ACP_PERCENT $ACP_USED $ACP_SIZE $ACP_REMAINING $ACP_COST $ACP_CURRENCY >told.tmp; mv told.tmp told' high
	wait_for test -e told
	run cat told
	assert_output 'session yellow 80 80 100 20 0.5 USD'
}

@test "--exec never holds the stream up" {
	update s '"used":80,"size":100' >high
	mkfifo ./wait
	run --separate-stderr acp-usage --exec 'read -r line <wait; touch went' -- cat <high
	assert_success
	assert_output "$(<high)"
	refute [ -e went ]
	echo go >./wait
	wait_for test -e went
}

@test "--fail-at exits with 1 where the level was reached, and says when" {
	run --separate-stderr acp-usage --fail-at orange -f tsv "$USAGE/levels.rec"
	assert_failure 1
	assert_equal "$stderr" 'acp-usage: levels-o: --fail-at orange is reached: 90%'
	update s '"used":1,"size":100' >low
	run acp-usage --fail-at yellow low
	assert_success
}

@test "--max-cost exits with 1, and only by its own currency" {
	update s '"used":1,"size":100,"cost":{"amount":5.00,"currency":"USD"}' >cost
	run --separate-stderr acp-usage --max-cost 5USD cost
	assert_failure 1
	assert_equal "$stderr" 'acp-usage: s: --max-cost 5 USD is reached'
	run acp-usage --max-cost 5.01USD,1EUR cost
	assert_success
}

@test "--max-tokens counts what was billed" {
	run --separate-stderr acp-usage --max-tokens 250k "$FIXTURES/four-turns-per-model-usage.jsonl"
	assert_failure 1
	assert_regex "$stderr" 'max-tokens 250000 is reached'
	run --separate-stderr acp-usage --max-tokens 300k "$FIXTURES/four-turns-per-model-usage.jsonl"
	assert_success
}

# bats test_tags=slow
@test "bad options are refused before anything is read" {
	for option in '--warn 90,75,95' '--warn 75,90' '--warn x,y,z' '--warn-cost 5' '--warn-cost USD' '--max-cost 1USD,' \
	    '--max-tokens many' '--fail-at normal' '--fail-at purple' '-f xml' '--by colour' '--basis none' '--size 0' \
	    '--meter=screen' '--way round' '-a' '--summary -f tsv' '--pass' '--fill' '--since when' '--merge --since 7d' '--merge --by day'; do
		# shellcheck disable=SC2086
		run acp-usage $option "$USAGE/one-turn.rec"
		assert_failure 2
		assert_output --regexp '^acp-usage: '
	done
}

# bats test_tags=slow
@test "memory: less than 8 MiB and 1,250 bytes a session, with its row" {
	mkfifo in
	acp-usage -f tsv <in >rows 2>/dev/null &
	pid=$!
	exec 9>in
	awk -v n=20000 'BEGIN {
		for (i = 1; i <= n; i++) {
			s = sprintf("68eb7d40-5122-4bb7-8318-%012d", i)
			printf "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"%s\",\"prompt\":[]}}\n", i, s
			printf "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"%s\",\"update\":{\"sessionUpdate\":\"usage_update\",\"used\":15201,\"size\":1000000,\"cost\":{\"amount\":0.11358000000000001,\"currency\":\"USD\"}}}}\n", s
			printf "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"stopReason\":\"end_turn\",\"usage\":{\"inputTokens\":8700,\"outputTokens\":129,\"totalTokens\":8829}}}\n", i
		}
	}' >&9
	# The turns of all sessions are judged at once; their rows are written as they come.
	written() { (($(grep -c $'\tturn\t' rows) == 20000)); }
	wait_for written
	kib=$(awk '$1 == "VmHWM:" { print $2 }' /proc/$pid/status)
	exec 9>&-
	wait $pid
	# A sanitizer needs more for itself.
	[[ $B == *san* ]] || ((kib < 8 * 1024 + 24414)) || fail "$kib KiB"
}
