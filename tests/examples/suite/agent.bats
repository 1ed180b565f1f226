#!/usr/bin/env bats
# Tests of an agent. AGENT is its command; SESSION a recording.

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	read -ra agent <<<"$AGENT"
}

# play COMMAND...: the client of the recording talks to it.
play() {
	acp-replay --as client --check --timeout 5m --record new.rec \
		"$SESSION" -- "$@"
}

@test "the agent does what it did in the recording" {
	play "${agent[@]}"
}

@test "no message breaks a rule" {
	play "${agent[@]}"
	acp-check new.rec
}

@test "a request that comes in pieces makes no difference" {
	play acp-fault --from client --split 50 -- "${agent[@]}"
}

@test "nothing stays open, and no turn takes five minutes" {
	play "${agent[@]}"
	acp-stat --max open=0 --max turn.max=5m new.rec
}
