#!/usr/bin/env bats
# acp-export -f otlp, read by the OpenTelemetry protos.

bats_require_minimum_version 1.5.0

setup() {
	load ../lib
	lib_setup
	python=$PEERS/python/bin/python
	[[ -x $python ]] || skip 'without python3'
}

@test "each fixture's spans are a request that the protos parse strictly" {
	local file
	for file in "$FIXTURES"/*.jsonl "$FIXTURES"/agents/*.jsonl; do
		run -0 "$python" "$PEERS/otlp.py" < <(acp-export -f otlp "$file")
		assert_equal "${output%% *}" "${output##* }"
		assert [ "${output%% *}" -gt 0 ]
	done
}
