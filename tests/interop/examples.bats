#!/usr/bin/env bats
# The examples of a client's tests in tests/examples pass, and fail where the recorded session is another one.

bats_require_minimum_version 1.5.0

setup() {
	bats_load_library bats-support
	bats_load_library bats-assert
	EXAMPLES=$PWD/tests/examples
	RUST=$PWD/build/interop/rust/release/client-test
	recording=tests/fixtures/write-with-permission.jsonl
	mkdir -p "$BATS_TEST_TMPDIR/tests/fixtures"
	sed 's/please WRITE/please READ/' "$recording" >"$BATS_TEST_TMPDIR/$recording"
}

# judges COMMAND...: it passes with the recording, and fails with the other one, for the reason that acp-replay gives.
judges() {
	run -0 "$@"
	cd "$BATS_TEST_TMPDIR" || return
	run "$@"
	((status > 0 && status < 126)) || fail "status $status"
	assert_output --partial " of $recording:6; .params.prompt[0].text is "
}

@test "pytest with the Python SDK" {
	[[ -x $PEERS/python/bin/python ]] || skip 'the Python SDK is not installed'
	judges "$PEERS/python/bin/python" -m pytest -p no:cacheprovider "$EXAMPLES/test_client.py"
}

@test "node:test with the TypeScript SDK" {
	# Modules are looked for from where a program lies.
	cp "$EXAMPLES/client.test.mjs" "$PEERS/"
	judges node --test "$PEERS/client.test.mjs"
}

@test "cargo test with the Rust SDK" {
	[[ -x $RUST ]] || skip 'the Rust peers are not built (cargo is needed)'
	judges "$RUST"
}
