#!/usr/bin/env bats
# A chain of three acp-tap around an agent, numbered messages both ways, and one process killed at
# a random moment. ACP_SEED and ACP_ROUNDS repeat or prolong a run; the seed is printed.

setup() {
	load lib
	lib_setup
}

rounds() {
	# Sanitizers make each start slow.
	case $B in */san) echo 40 ;; *) echo 200 ;; esac
}

@test "kill -9 of any process: no gap, no double, survivors deliver, nobody is left over" {
	run "$B/helper/chaos" run "${ACP_SEED:-$RANDOM}" "${ACP_ROUNDS:-$(rounds)}" "$BATS_TEST_TMPDIR"
	assert_success
	assert_line --regexp '^[0-9]+ rounds, 0 bad$'
}
