#!/usr/bin/env bats
# Random streams, and independent models of what must come out of them. ACP_ROUNDS=N: so many of them.
# as long as 30 tests

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
	# Each model has a full size of its own.
	[[ -n ${ACP_TEST_FULL-} ]] || export ACP_ROUNDS=${ACP_ROUNDS:-10}
}

teardown() {
	end_left_over
}

# bats test_tags=slow
@test "acp-inject edits, adds, answers, denies and holds messages as its model does" {
	python3 "$TOP/tests/model/inject.py"
}

# bats test_tags=slow
@test "acp-budget continues, refuses, cancels and ends turns as its model does" {
	python3 "$TOP/tests/model/budget.py"
}

# bats test_tags=slow
@test "acp-diff finds each random change of a recording, as one difference, at the levels that have to" {
	cd "$TOP"
	python3 tests/model/diff.py --count "${ACP_ROUNDS:-100}" \
		tests/fixtures/*.jsonl tests/fixtures/demo.rec
}

@test "acp-diff: another run of the same sessions is no difference, and one change in it is one" {
	python3 "$TOP/tests/model/diff_sessions.py"
}

# bats test_tags=slow
@test "acp-replay plays sessions to itself and to an agent that sends them otherwise: it ends, and --check finds what changed" {
	python3 "$TOP/tests/model/replay.py"
}

# bats test_tags=slow
@test "acp-revive: an agent may die at any byte, of lines below and above --max-line: nothing is lost, doubled or reordered" {
	python3 "$TOP/tests/model/revive.py"
}

@test "acp-fault: what goes out is what came in and what the report says" {
	python3 "$TOP/tests/model/fault.py"
}

@test "acp-inject --wrap-mcp: what leaves for a declaration is what its writer says, byte for byte" {
	python3 "$TOP/tests/model/wrap_mcp.py"
}

@test "lib/session makes the sessions, turns, calls and questions of a stream that an independent fold makes of it" {
	python3 "$TOP/tests/model/session.py" --count "${ACP_ROUNDS:-300}"
}

# bats test_tags=slow
@test "--redact leaves no secret whole, whatever chunks it and its name come in" {
	python3 "$TOP/tests/model/redact.py"
}

# bats test_tags=slow
@test "acp-check and acp-stat find the same in chunks that are like the one before and in chunks that are not" {
	python3 "$TOP/tests/model/chunks.py"
}

# The same streams, and what each tool says of their turns and calls.
same_meaning() {
	python3 "$TOP/tests/model/meaning.py" --count "${ACP_MODEL_COUNT:-60}" --seed "${ACP_SEED:-$RANDOM}" "$@"
}

# bats test_tags=slow
@test "acp-stat says of turns and calls what lib/session says" {
	same_meaning acp-stat
}

# bats test_tags=slow
@test "acp-tap closes turns where lib/session says that they end" {
	same_meaning acp-tap
}

# bats test_tags=slow
@test "acp-budget ends the budget of a prompt when lib/session ends its turn, and says why" {
	same_meaning acp-budget
}

# bats test_tags=slow
@test "acp-check says of requests what lib/session says, and of a hop in envelopes what it says of the plain one" {
	same_meaning acp-check
}

# bats test_tags=slow
@test "acp-usage says of turns what lib/session says" {
	same_meaning acp-usage
}

# bats test_tags=slow
@test "acp-export says of turns what lib/session says" {
	same_meaning acp-export
}
