#!/usr/bin/env bats
# acp-ask as the client of real agents.

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
	exec </dev/null
	DIR=$BATS_TEST_TMPDIR/agent
	export XDG_STATE_HOME=$BATS_TEST_TMPDIR/state
}

teardown() {
	end_left_over
}

# asked COMMAND... -- OPTION...: asks it, recorded in s.rec: right text, end_turn, and nothing that acp-check finds.
asked() {
	local agent=()
	while [[ $1 != -- ]]; do
		agent+=("$1")
		shift
	done
	shift
	rm -f s.rec
	peer "$DIR" acp-ask --cwd "$DIR/folder" -f json "$@" hello -- acp-tap -o s.rec -- "${agent[@]}" >got
	cat got
	jq -e '.stop_reason == "end_turn" and (.text | length > 0)' got
	acp-check --from client s.rec
}

@test "claude-agent-acp in both versions: usage and cost; the last session goes on, and is listed" {
	mkdir -p "$DIR/folder"
	asked claude-agent-acp -- --protocol 2
	jq -e '.usage.output > 0 and .cost.amount > 0' got
	asked claude-agent-acp --
	jq -e '.usage.output > 0 and .cost.amount > 0' got
	session=$(jq -r .session_id got)
	asked claude-agent-acp -- --resume last --mode plan
	assert_equal "$(jq -r .session_id got)" "$session"
	peer "$DIR" acp-ask --cwd "$DIR/folder" --list -- claude-agent-acp >list
	grep -q "^$session	" list
}

@test "qwen-code: usage is found where it reports it" {
	mkdir -p "$DIR/folder" "$DIR/home/.qwen"
	echo '{"memory":{"enableManagedAutoMemory":false},"ui":{"enableFollowupSuggestions":false}}' >"$DIR/home/.qwen/settings.json"
	asked qwen --acp --auth-type anthropic --model stand-in --
	jq -e '.usage.output > 0' got
}
