#!/usr/bin/env bats
# acp-usage beside what others work out.

bats_require_minimum_version 1.5.0

setup() {
	load ../lib
	lib_setup
}

teardown() {
	end_left_over
}

@test "estimates agree to the cent with LiteLLM's, for every model of its list, or for a reason that has a name" {
	[[ -x $PEERS/litellm/bin/python ]] || skip 'LiteLLM is not installed'
	"$PEERS/litellm/bin/python" "$BATS_TEST_DIRNAME/prices.py" . 2>err || { tail -n 5 err; false; }
}
