#!/usr/bin/env bats
# acp-usage against an independent model of what random sessions used; MODEL_SESSIONS says how many (100).

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
}

teardown() {
	end_left_over
}

@test "files, merges, pipes and replays agree with the model to the last digit" {
	run python3 "$BATS_TEST_DIRNAME/model/usage.py" --count "${MODEL_SESSIONS:-$(sample 5 100)}"
	assert_success
}
