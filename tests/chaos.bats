#!/usr/bin/env bats
# Random processes of a running chain fail at random moments. ACP_SEED and ACP_ROUNDS (ACP_FAULTS) repeat or prolong a run; the
# seed is printed.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
	# A SIGSEGV that a test sends is no sanitizer's finding.
	export ASAN_OPTIONS=${ASAN_OPTIONS-}:handle_segv=0
}

teardown() {
	end_left_over
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

# storm FAULTS KINDS ARGUMENT...: so many random faults of a chain of these components around the agent, while turns stream.
storm() {
	local faults=$1 kinds=$2
	shift 2
	"$B/helper/storm" run "${ACP_SEED:-$RANDOM}" "${ACP_FAULTS:-$faults}" "$kinds" \
		acp-conduct --grace 1s "$@" -- storm agent >out 2>err || true
	run -0 tail -n 5 out
	assert_line --regexp '^seed [0-9]+: [1-9][0-9]* faults, .* 0 bad$'
	nobody_left || fail "left over: $(left_over)"
}

tap="acp-tap -o /dev/null"
proxy="faulty $tap --way proxy"

@test "kill -9 of random proxies while turns stream: each request of either side is answered once, no update is doubled or overtaken" {
	local kills=200
	case $B in */san) kills=40 ;; esac
	storm "$kills" kill --restarts 1000/1m -p "$tap" -p "$tap" -p "$tap"
}

@test "proxies that fail in seven ways" {
	storm 10 all --restarts 1000/1m -p "$proxy" -p "$tap" -p "$proxy"
}

@test "so do recorded filters, alone and between proxies" {
	storm 8 all --restarts 1000/1m --record /dev/null -f faulty -f "$tap"
	storm 8 all --restarts 1000/1m --record /dev/null -p "$proxy" -f faulty -p "$proxy" -f faulty
}

@test "so do components that are bypassed" {
	storm 20 all --on-crash bypass --restarts 2/1m --record /dev/null -p "$proxy" -f faulty -p "$proxy"
}

@test "a chain that fails with the first of them has answered every request" {
	export STORM_FAIL=1
	for _ in 1 2 3; do
		storm 5 all --on-crash fail --record /dev/null -p "$proxy" -f faulty -p "$proxy"
	done
}
