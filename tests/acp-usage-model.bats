#!/usr/bin/env bats
# acp-usage against an independent model of what random sessions used; ACP_ROUNDS says how many.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
}

teardown() {
	end_left_over
}

# bats test_tags=slow
@test "files, merges, pipes and replays agree with the model to the last digit" {
	run python3 "$BATS_TEST_DIRNAME/model/usage.py" --count "${ACP_ROUNDS:-$(sample 5 100)}"
	assert_success
}
