#!/usr/bin/env bats
# Random streams, and independent models of what must come out of them. ACP_MODEL_COUNT=N: more of them;
# ACP_MODEL_SEED=N: that one once more.
# as long as 30 tests

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
	# Each model has a full size of its own.
	[[ -n ${ACP_TEST_FULL-} ]] || export ACP_MODEL_COUNT=${ACP_MODEL_COUNT:-10}
}

teardown() {
	end_left_over
}

@test "acp-inject edits, adds, answers, denies and holds as its model does" {
	python3 "$TOP/tests/model/inject.py"
}

@test "acp-budget continues, refuses, cancels and ends turns as its model does" {
	python3 "$TOP/tests/model/budget.py"
}

@test "acp-diff finds each random change of a recording, as one difference, at the levels that have to" {
	cd "$TOP"
	python3 tests/model/diff.py --count "${ACP_MODEL_COUNT:-100}" ${ACP_MODEL_SEED:+--seed "$ACP_MODEL_SEED"} \
		tests/fixtures/*.jsonl tests/fixtures/demo.rec
}

@test "acp-fault: what goes out is what came in and what the report says" {
	python3 "$TOP/tests/model/fault.py"
}
