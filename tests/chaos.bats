#!/usr/bin/env bats
# Random processes of a running chain fail at random moments. ACP_SEED and ACP_ROUNDS (ACP_FAULTS) repeat or prolong a run; the
# seed is printed, also to the file ACP_STORMS. STORM_STOP: for how many ms one is stopped.
# as long as 30 tests

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

# bats test_tags=slow
@test "kill -9 of any process: no gap, no double, survivors deliver, nobody is left over" {
	run "$B/helper/chaos" run "${ACP_SEED:-$RANDOM}" "${ACP_ROUNDS:-$(sample 20 200 40)}" "$BATS_TEST_TMPDIR"
	assert_success
	assert_line --regexp '^[0-9]+ rounds, 0 bad$'
}

# faults FAULTS KINDS ARGUMENT...: so many random faults of a chain of these components around the agent, while turns stream.
faults() {
	local faults=$1 kinds=$2
	shift 2
	"$B/helper/storm" run "${ACP_SEED:-$RANDOM}" "${ACP_FAULTS:-$faults}" "$kinds" \
		acp-conduct --grace 1s "$@" -- storm agent >out 2>err || true
	run -0 tail -n 5 out
	assert_line --regexp '^seed [0-9]+: [1-9][0-9]* faults, .* 0 bad$'
	[[ -z ${ACP_STORMS-} ]] || echo "${lines[-1]} ($*)" >>"$ACP_STORMS"
}

# The same, and no process is left over; no more updates are lost than acp-conduct reports.
storm() {
	local lost reported
	faults "$@"
	leaves_nobody || fail "left over: $(left_over)"
	lost=$(sed -n 's/.* \([0-9]*\) updates lost, .*/\1/p' out)
	reported=$(sed -n 's/.*notifications lost: at most \([0-9]*\).*/\1/p' err | jq -s 'add // 0')
	((lost <= reported)) || fail "$lost updates are lost, acp-conduct reports at most $reported: $(tail -n 20 err)"
}

tap="acp-tap -o /dev/null"
proxy="faulty $tap --way proxy"

# bats test_tags=slow
@test "kill -9 of random proxies while turns stream: each request of either side is answered once, no update is doubled or overtaken" {
	storm "$(sample 20 200 40)" kill --restarts 1000/1m -p "$tap" -p "$tap" -p "$tap"
}

@test "proxies that fail in seven ways" {
	storm "$(sample 3 10)" all --restarts 1000/1m -p "$proxy" -p "$tap" -p "$proxy"
}

# bats test_tags=slow
@test "so do recorded filters, alone and between proxies" {
	storm "$(sample 2 8)" all --restarts 1000/1m --record /dev/null -f faulty -f "$tap"
	storm "$(sample 2 8)" all --restarts 1000/1m --record /dev/null -p "$proxy" -f faulty -p "$proxy" -f faulty
}

@test "so do components that are bypassed" {
	storm "$(sample 4 20)" all --on-crash bypass --restarts 2/1m --record /dev/null -p "$proxy" -f faulty -p "$proxy"
}

# bats test_tags=slow
@test "so do peers, with the proxy that passes all on to them" {
	# After an error the peer may have to be started again.
	cat >pass.jq <<-'EOS'
		if .method == "proxy/initialize" then {jsonrpc: "2.0", id: "i\(.id)", method: "proxy/successor", params: {method: "initialize", params}}
		elif .id | type == "string" and startswith("i") then
			{jsonrpc: "2.0", id: ("j" + .id[1:]), method: "proxy/successor", params: {peer: "a", method: "initialize", params: {}}}
		elif .id | type == "string" and startswith("j") then .id |= (.[1:] | fromjson)
		elif .id == "again" then empty
		elif has("error") then
			., {jsonrpc: "2.0", id: "again", method: "proxy/successor", params: {peer: "a", method: "initialize", params: {}}}
		elif .method == "proxy/successor" then . + .params | del(.peer)
		elif .method == "$/cancel_request" or (has("method") | not) then .
		else .params = {peer: "a", method, params} | .method = "proxy/successor" end
	EOS
	pass='jq -c --unbuffered -f pass.jq'
	storm "$(sample 4 40)" all --restarts 1000/1m -p "$pass" --peer 'a=faulty storm agent'
	storm "$(sample 4 40)" all --restarts 1000/1m --record /dev/null -p "$proxy" -p "faulty $pass" \
		--peer 'a=faulty storm agent' -p "$tap"
}

# bats test_tags=slow
@test "a chain that fails with the first of them has answered every request" {
	export STORM_FAIL=1
	for _ in 1 2 3; do
		storm "$(sample 2 5)" all --on-crash fail --record /dev/null -p "$proxy" -f faulty -p "$proxy"
	done
}

# visitors SOCKET: one who joins comes again and again, with requests, and one who watches, until the file `over` is there.
visitors() {
	seq -f '{"from":"client","msg":{"jsonrpc":"2.0","id":%.0f,"method":"_test/guest"}}' 50 >asked
	until [[ -e over ]]; do
		visit "$1" often 5 >/dev/null 2>&1 || true
		visit "$1" call <asked >heard 2>/dev/null || true
		# No response comes twice, and none that is another's.
		jq -c 'select(.to == "guest") | .msg.id' heard 2>/dev/null | sort | uniq -d >>twice
	done
}

# shared SOCKET FAULTS ARGUMENT...: a storm with guests at this socket; nothing of it stays.
shared() {
	local socket=$1 guests
	shift
	rm -f over twice
	visitors "$socket" &
	guests=$!
	faults "$@"
	touch over
	wait "$guests"
	leaves_nobody || fail "left over: $(left_over)"
	run cat twice
	assert_output ''
}

share="acp-share --control s --name here"

# bats test_tags=slow
@test "so does acp-share, with guests, as a filter and as a proxy, beside others that fail" {
	export XDG_RUNTIME_DIR=$PWD/run
	mkdir run
	shared s 25 all --restarts 1000/1m --record /dev/null -f "$share" -f faulty -f "$tap"
	shared s 25 all --restarts 1000/1m -p "$proxy" -f "$share" -p "$tap"
	shared s 25 all --restarts 1000/1m -p "$tap" -p "faulty $share --way proxy" -p "$proxy"
	shared s.2 25 all --restarts 1000/1m --control "$PWD/s" --control-hop 0 --control-hop 1 -p "$proxy" -p "$tap"
	run find . -type s -o -type l
	assert_output ''
}

# bats test_tags=slow
@test "a share that is bypassed takes no turn with it; what it leaves, the next list takes away" {
	export XDG_RUNTIME_DIR=$PWD/run
	mkdir run
	shared s 12 all --on-crash bypass --restarts 2/1m -p "$proxy" -f "acp-share --name here" -p "faulty acp-share --name there --way proxy"
	run acp-share --list
	run find . -type s -o -type l
	assert_output ''
}

# bats test_tags=slow
@test "a walk over random chains, whose processes die while both sides talk: every request has one response, in order, and the chain ends by itself" {
	command -v python3 >/dev/null || skip 'python3 is needed'
	run python3 -SE "$TOP/tests/walk.py" run "${ACP_SEED:-$RANDOM}" "${ACP_CHAINS:-$(sample 20 500 200)}"
	assert_success
	assert_line --regexp '^[0-9]+ chains from seed [0-9]+, [0-9]+ deaths, 0 bad$'
	leaves_nobody || fail "left over: $(left_over)"
}
