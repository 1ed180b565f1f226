#!/usr/bin/env bats
# Clients on the TypeScript and the Python SDK that acp-fault stands before: they survive what is legal, and report what is not.
# The agent is acp-replay with a session of four turns, 87 updates and one permission request.

setup() {
	load ../lib
	lib_setup
	REPLAY=(acp-replay --match method "$TOP/tests/fixtures/four-turns-per-model-usage.jsonl")
	ERR=$BATS_TEST_TMPDIR/err
}

teardown() {
	end_left_over
}

# turns OPTION...: what the client met with acp-fault and these options before the agent; its standard error is in $ERR.
turns() {
	node "$PEERS/turns.mjs" 4 acp-fault --seed 1 "$@" -- "${REPLAY[@]}" 2>"$ERR"
}

all='"turns":["end_turn","end_turn","end_turn","end_turn"]'

# The lines of $ERR, but for what the recorded agent has written there.
reported() {
	grep -E 'Got response|an error response without a request' "$ERR"
}

@test "without faults: four turns" {
	run turns
	assert_output "{$all,\"updates\":87,\"permissions\":1,\"error\":null}"
	run reported
	assert_output ''
}

@test "what comes late is legal: delays with jitter, stalls" {
	run turns --delay 3ms,3ms
	assert_output "{$all,\"updates\":87,\"permissions\":1,\"error\":null}"
	run turns -m '!session/update' --stall 20ms
	assert_output "{$all,\"updates\":87,\"permissions\":1,\"error\":null}"
	run reported
	assert_output ''
}

@test "notifications may be lost, come twice, or in another order" {
	run turns --from agent -m session/update --reorder 1,10ms
	assert_output "{$all,\"updates\":87,\"permissions\":1,\"error\":null}"
	run turns --from agent -m session/update --duplicate 1
	assert_output "{$all,\"updates\":174,\"permissions\":1,\"error\":null}"
	run turns --from agent -m session/update --drop 1
	assert_output "{$all,\"updates\":0,\"permissions\":1,\"error\":null}"
	run reported
	assert_output ''
}

@test "noise is answered with an error without an id, and the session goes on" {
	run turns --from agent --noise 1
	assert_output "{$all,\"updates\":87,\"permissions\":1,\"error\":null}"
	run reported
	assert_line --partial '"code":-32700'
	assert_line --partial '"code":-32600'
}

@test "so is a damaged notification: nothing else is lost" {
	run turns --from agent -m session/update --truncate 1
	assert_output "{$all,\"updates\":0,\"permissions\":1,\"error\":null}"
	run reported
	assert_equal "${#lines[@]}" 87
}

@test "a second response to a request is reported" {
	run turns --from agent -m session/prompt --duplicate 1
	assert_output "{$all,\"updates\":87,\"permissions\":1,\"error\":null}"
	run reported
	assert_output --regexp $'^(Got response to unknown request [0-9]+\n?){4}$'
}

@test "a lost response and an agent that dies: the client gets an error and does not wait" {
	run turns --from agent -m session/prompt --drop 1 --exit-after 1
	assert_output '{"turns":[],"updates":20,"permissions":0,"error":"ACP connection closed"}'
	run turns --from agent -m session/update --exit-after 3
	assert_output '{"turns":[],"updates":3,"permissions":0,"error":"ACP connection closed"}'
	run turns --from agent -m initialize --truncate 1 --exit-after 1
	assert_output --regexp '^\{"turns":\[\],"updates":0,"permissions":0,"error":"[^"]+"\}$'
}

@test "the same in a chain of acp-conduct, as a filter and as a proxy" {
	for way in -f -p; do
		run node "$PEERS/turns.mjs" 4 acp-conduct "$way" 'acp-fault --seed 1 --delay 2ms,2ms' \
			"$way" 'acp-fault --seed 1 --from agent -m session/update --duplicate 1' -- "${REPLAY[@]}"
		assert_line "{$all,\"updates\":174,\"permissions\":1,\"error\":null}"
	done
}

# --- the table of the man page ---

# rows: the lines of the table in acp-testing(7), "OPTIONS|TYPESCRIPT|PYTHON".
rows() {
	sed -nE 's/^\.It Li "(.*)" Ta (.*) Ta (.*)$/\1|\2|\3/p' "$TOP/man/acp-testing.7" | sed 's/\\-/-/g'
}

@test "what each client does is what the man page says: survives, reports, fails or hangs" {
	local options words saw=()
	[[ -x $PEERS/python/bin/python ]] || skip 'without Python'
	load clients
	usual 4 acp-fault -- "${REPLAY[@]}"
	while IFS='|' read -r options _; do
		# The page writes R for these.
		read -ra words <<<"${options/% R/ -m session/prompt --kind response}"
		saw+=("$options|$(reactions 4 acp-fault --seed 1 "${words[@]}" -- "${REPLAY[@]}")")
	done < <(rows)
	((${#saw[@]} > 15))
	diff <(rows) <(printf '%s\n' "${saw[@]}")
}
