#!/usr/bin/env bats
# All tools behind acp-fault, with many seeds: none crashes, those that watch pass what they get, nothing is left over.
# (A sanitizer's report is seen by scripts/run-tests.) ACP_SEED and ACP_ROUNDS repeat or prolong a run.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load replay
	lib_setup
	first=${ACP_SEED:-$RANDOM}
	echo "ACP_SEED=$first"
	rounds=${ACP_ROUNDS:-$(sample 2 20 5)}
	sessions=("$FIXTURES"/*.jsonl)
}

teardown() {
	end_left_over
}

# each_seed COMMAND...: with seed and session set, and the two sides of the session in down and up.
each_seed() {
	for ((seed = first; seed < first + rounds; seed++)); do
		session=${sessions[seed % ${#sessions[@]}]}
		fixture client "$session" >down
		fixture agent "$session" >up
		"$@"
	done
}

# broken [OPTION...]: a stream with all faults in it.
broken() {
	acp-fault --seed "$seed" --drop 3% --duplicate 5% --reorder 5% --corrupt 10% --truncate 5% --noise 5% \
		--wrong-id 5% --id-type 5% --stale-session 5% --overtake 5%,10ms "$@"
}
export -f broken

# survived STATUS...: of those that are not acp-fault.
survived() {
	for status; do
		((status < 128)) || fail "exit status $status with seed $seed and $session"
	done
	wait_for nobody_left
}

@test "acp-tap and acp-usage in a pipe: the bytes pass unchanged, the recording is read again" {
	one() {
		cat down up | broken >in
		acp-tap -o s.rec <in >out
		survived $?
		cmp in out
		acp-usage --pass -o usage.log <in >out
		survived $?
		cmp in out
		acp-tap -f raw s.rec | acp-tap -f pretty --way pipe 2>/dev/null >again
		survived "${PIPESTATUS[@]}"
		for format in pretty trace record; do
			status=0
			acp-tap -f "$format" s.rec >printed || status=$?
			survived "$status"
			[ -s printed ]
		done
		# The noise in it makes a recording no worse.
		status=0
		acp-usage --summary -f json s.rec >sums || status=$?
		survived "$status"
	}
	each_seed one
}

# bats test_tags=slow
@test "recordings that are broken themselves: read as far as they go" {
	one() {
		acp-tap -o s.rec <up >/dev/null
		broken <s.rec >bad.rec
		sed -e "$((seed % 20 + 2))s/[0-9]/x/" s.rec >>bad.rec
		for tool in 'acp-tap bad.rec' 'acp-tap -f trace bad.rec' 'acp-usage --summary bad.rec' 'acp-replay bad.rec'; do
			status=0
			$tool <down >/dev/null 2>&1 || status=$?
			survived "$status"
		done
	}
	each_seed one
}

# bats test_tags=slow
@test "acp-tap and acp-usage around an agent, broken both ways, one of them dying" {
	one() {
		broken --from client <down >in
		status=0
		acp-tap -o a.rec -- acp-usage -o usage.log -- acp-tap -o b.rec -- acp-fault --seed "$seed" --corrupt 10% --noise 10% \
			--exit-after $((seed % 50 + 1)) -- sh -c 'cat up; cat >got' <in >out 2>err || status=$?
		survived "$status"
		# Whatever the one saw the others saw.
		diff <(acp-tap -f raw --from agent a.rec) <(acp-tap -f raw --from agent b.rec)
	}
	each_seed one
}

# bats test_tags=slow
@test "acp-conduct: filters and proxies that break what they pass, with a peer that plays a recording" {
	one() {
		status=0
		broken <down 2>/dev/null | acp-conduct --grace 200ms -f "acp-tap -o s.rec" \
			-p "acp-fault --seed $seed --corrupt 5% --truncate 5% --noise 10% --duplicate 10% --reorder 10%,20ms --delay 1ms,1ms" \
			-f "acp-usage -o usage.log" -f "acp-fault --seed $seed --drop 5% --corrupt 5% --noise 5%" \
			-- acp-replay "$session" >out 2>err || status=$?
		survived "$status"
		# A filter beside a proxy starts with initialize, which may be broken.
		[[ ! -e s.rec ]] || acp-tap s.rec >/dev/null
		rm -f s.rec
	}
	each_seed one
}

# bats test_tags=slow
@test "acp-conduct: components that die, again and again" {
	one() {
		status=0
		acp-conduct -p "acp-fault --exit-after $((seed % 7 + 1))" -f 'acp-tap -o s.rec' \
			-f "acp-fault --exit-after $((seed % 11 + 1))" -- acp-replay "$session" <down >out 2>err || status=$?
		survived "$status"
	}
	each_seed one
}

# bats test_tags=slow
@test "acp-replay as the client, with an agent under acp-fault that loses nothing" {
	one() {
		status=0
		acp-replay --as client "$session" -- acp-fault --seed "$seed" --noise 20% --delay 1ms,1ms --reorder 5%,1ms \
			--from agent -- acp-replay "$session" >out 2>err || status=$?
		survived "$status"
	}
	each_seed one
}

# bats test_tags=slow
@test "acp-replay as the client, with an agent that dies" {
	one() {
		status=0
		acp-replay --as client "$session" -- acp-fault --seed "$seed" --duplicate 10% --exit-after $((seed % 30 + 1)) \
			-- acp-replay "$session" >out 2>err || status=$?
		survived "$status"
		((status > 0))
	}
	each_seed one
}
