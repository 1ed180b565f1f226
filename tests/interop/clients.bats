#!/usr/bin/env bats
# tests/examples/clients: what clients on the SDKs do with agents that misbehave.

bats_require_minimum_version 1.5.0

setup() {
	load ../lib
	load clients
	lib_setup
	cd "$TOP/tests/examples/clients" || return
	export PATIENCE=60 # 20 MB may take long
}

teardown() {
	end_left_over
}

# A bar is a column's end; none of the commands has one.
@test "what each client does is what the table says" {
	[[ -x $PEERS/python/bin/python ]] || skip 'without Python'
	local agent does should wrote
	usual 2 acp-replay --match method right.rec
	while IFS='|' read -r _ agent does should _; do
		if [[ $agent == *acp-* ]]; then
			[[ $agent != *cancel.rec* ]] || export CANCEL=1
			eval "wrote=\$(reactions 2 ${agent//\`/})"
			unset CANCEL
			echo "|$agent|$does|$should| ${wrote/|/ | } |"
		fi
	done <README.md >"$BATS_TEST_TMPDIR/saw"
	diff <(grep -F '| `acp-' README.md) "$BATS_TEST_TMPDIR/saw"
}
