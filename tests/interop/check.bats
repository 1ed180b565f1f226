#!/usr/bin/env bats
# acp-check beside a reference validator, and on what a real client and a real agent say to each other.

setup_file() {
	load model
	model_start
}

teardown_file() {
	load model
	model_stop
}

setup() {
	load model
	load ../lib
	lib_setup
	SCHEMAS=$PEERS/node_modules/@agentclientprotocol/sdk/schema
	RUN=$BATS_TEST_TMPDIR/run
}

@test "the tables are those of the pinned schemas" {
	[[ -z ${NEWEST-} ]] || skip 'the schemas are not the pinned ones'
	python3 "$TOP/scripts/schema-tables" "$SCHEMAS" | diff - "$TOP/cmd/acp-check/schema_tables.inc"
}

@test "mutated messages are valid or not as Python's jsonschema says" {
	[[ -z ${NEWEST-} ]] || skip 'the schemas are not those of the tables'
	[[ -x $PEERS/python/bin/python ]] || skip "Python's jsonschema is not installed"
	run "$PEERS/python/bin/python" "$TOP/tests/model/check.py" "$SCHEMAS" "$TOP"/tests/fixtures/*.jsonl "$TOP"/tests/fixtures/agents/*.jsonl
	echo "$output"
	assert_success
}

@test "a session of claude-agent-acp: nothing is wrong, and the client sees what it sees without" {
	peer "$RUN" node "$PEERS/client.mjs" "$RUN/seen" "$RUN/wire" "$RUN/folder" \
		acp-check --unstable -l note -o "$BATS_TEST_TMPDIR/live" -- acp-tap -o "$BATS_TEST_TMPDIR/s.rec" -- claude-agent-acp 2>"$RUN.stderr"
	cat "$BATS_TEST_TMPDIR/live"
	acp-check --unstable "$BATS_TEST_TMPDIR/s.rec"
	acp-check "$BATS_TEST_TMPDIR/s.rec"
	run jq -r '.sessions | keys[]' "$RUN/seen"
	assert_output $'a\nb'
	assert [ ! -s "$BATS_TEST_TMPDIR/live" ]
}

@test "a session of the TypeScript SDK behind acp-fault: noise and responses that are lost are found" {
	local replay=(acp-replay --match method "$TOP/tests/fixtures/four-turns-per-model-usage.jsonl")
	node "$PEERS/turns.mjs" 4 acp-check --unstable -o "$BATS_TEST_TMPDIR/clean" -- "${replay[@]}"
	assert [ ! -s "$BATS_TEST_TMPDIR/clean" ]
	node "$PEERS/turns.mjs" 4 acp-check -f json --unstable -o "$BATS_TEST_TMPDIR/noisy" -- acp-fault --seed 1 --from agent --noise 1 -- "${replay[@]}" || true
	run jq -r .rule "$BATS_TEST_TMPDIR/noisy"
	assert_line noise
	refute_line response-unknown
}
