#!/usr/bin/env bats
# acp-check beside a reference validator, and on what a real client and a real agent say to each other.

bats_require_minimum_version 1.5.0

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

teardown() {
	end_left_over
}

@test "the tables are those of the pinned schemas" {
	[[ -z ${NEWEST-} ]] || skip 'the schemas are not the pinned ones'
	python3 "$TOP/scripts/schema-tables" "$SCHEMAS" | diff - "$TOP/cmd/acp-check/schema_tables.inc"
}

@test "mutated messages are valid or not as Python's jsonschema says" {
	[[ -z ${NEWEST-} ]] || skip 'the schemas are not those of the tables'
	[[ -x $PEERS/python/bin/python ]] || skip "Python's jsonschema is not installed"
	run "$PEERS/python/bin/python" "$TOP/tests/model/check.py" --count "${ACP_ROUNDS:-10000}" "$SCHEMAS" "$TOP"/tests/fixtures/*.jsonl "$TOP"/tests/fixtures/agents/*.jsonl
	echo "$output"
	assert_success
}

@test "-f sarif is what the schema of SARIF 2.1.0 allows: pydantic-sarif is made from that" {
	[[ -x $PEERS/python/bin/python ]] || skip 'pydantic-sarif is not installed'
	local files=("$TOP"/tests/fixtures/check/*.rec "$TOP"/tests/fixtures/agents/*.jsonl)
	run -1 acp-check -f sarif -l note -o some "${files[@]}"
	acp-check -f sarif "$TOP/tests/fixtures/demo.rec" >none
	sed 's/"level":"note"/"level":"rude"/' some >wrong
	run "$PEERS/python/bin/python" -c '
import sys
from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as Sarif
for name in sys.argv[1:]:
    with open(name, encoding="utf-8") as f:
        print(name, len(Sarif.model_validate_json(f.read()).runs[0].results))' some none wrong
	assert_equal "$status" 1
	assert_line --regexp '^some [1-9][0-9]+$'
	assert_line 'none 0'
	assert_line --partial "Input should be 'none', 'note', 'warning' or 'error'"
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

@test "a session of the TypeScript SDK under acp-fault: noise and responses that are lost are found" {
	local replay=(acp-replay --match method "$TOP/tests/fixtures/four-turns-per-model-usage.jsonl")
	node "$PEERS/turns.mjs" 4 acp-check --unstable -o "$BATS_TEST_TMPDIR/clean" -- "${replay[@]}"
	assert [ ! -s "$BATS_TEST_TMPDIR/clean" ]
	node "$PEERS/turns.mjs" 4 acp-check -f json --unstable -o "$BATS_TEST_TMPDIR/noisy" -- acp-fault --seed 1 --from agent --noise 1 -- "${replay[@]}" || true
	run jq -r .rule "$BATS_TEST_TMPDIR/noisy"
	assert_line noise
	refute_line response-unknown
}
