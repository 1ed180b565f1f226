#!/usr/bin/env bats
# A client on the TypeScript SDK behind acp-fault: it survives what is legal, and reports what is not. The agent is
# acp-replay with a session of four turns, 87 updates and one permission request.

setup() {
	bats_load_library bats-support
	bats_load_library bats-assert
	TOP=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	REPLAY=(acp-replay --match method "$TOP/tests/fixtures/four-turns-per-model-usage.jsonl")
	ERR=$BATS_TEST_TMPDIR/err
}

# turns OPTION...: what the client met with acp-fault and these options before the agent; its standard error is in $ERR.
turns() {
	node "$PEERS/turns.mjs" 4 acp-fault --seed 1 "$@" -- "${REPLAY[@]}" 2>"$ERR"
}

all='"turns":["end_turn","end_turn","end_turn","end_turn"]'

# The lines of $ERR, but for what the recorded agent has written there.
reported() {
	grep -E 'Got response|answers no request' "$ERR"
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

@test "a second answer to a request is reported" {
	run turns --from agent -m session/prompt --duplicate 1
	assert_output "{$all,\"updates\":87,\"permissions\":1,\"error\":null}"
	run reported
	assert_output --regexp $'^(Got response to unknown request [0-9]+\n?){4}$'
}

@test "a lost answer and an agent that dies: the client is told, not left waiting" {
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
