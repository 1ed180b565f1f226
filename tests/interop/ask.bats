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

@test "claude-agent-acp: a rule permits, else it is rejected; Ctrl-C cancels; a probe finds no broken promise, twice the same" {
	mkdir -p "$DIR/folder"
	rm -f s.rec
	run -1 peer "$DIR" acp-ask --cwd "$DIR/folder" 'WRITE, please.' -- claude-agent-acp
	assert_line --partial ': reject_once (there is no terminal)'
	[[ ! -e $DIR/folder/note.txt ]]
	peer "$DIR" acp-ask --cwd "$DIR/folder" --permit edit=allow_once -f json 'WRITE, please.' -- acp-tap -o s.rec -- claude-agent-acp >got
	jq -e '.tool_calls[0].status == "completed"' got
	[[ -e $DIR/folder/note.txt ]]
	acp-check --from client s.rec
	peer "$DIR" acp-ask --cwd "$DIR/folder" 'HOLD, please.' -- claude-agent-acp >got &
	wait_for grep -q 'This story' got
	kill -INT "$(pgrep -P $!)" # who is the child of the shell for `peer`
	status=0
	wait $! || status=$?
	assert_equal "$status" 130
	peer "$DIR" acp-ask --cwd "$DIR/folder" --probe -f json -- claude-agent-acp >a
	peer "$DIR" acp-ask --cwd "$DIR/folder" --probe -f json -- claude-agent-acp >b
	diff a b
	jq -e '.methods["session/close"].response == "result" and (.commands | length > 0)' a
}

@test "qwen-code: usage is found where it reports it" {
	mkdir -p "$DIR/folder" "$DIR/home/.qwen"
	echo '{"memory":{"enableManagedAutoMemory":false},"ui":{"enableFollowupSuggestions":false}}' >"$DIR/home/.qwen/settings.json"
	asked qwen --acp --auth-type anthropic --model stand-in --
	jq -e '.usage.output > 0' got
}

# sdk_agent COMMAND...: an agent on an SDK that asks for permission, and then says what it was asked.
sdk_agent() {
	mkdir -p "$DIR/folder"
	asked "$@" -- --permit read=allow_once
	assert_equal "$(jq -c '[.text, .tool_calls[0].status]' got)" '["hello","completed"]'
	run -1 --separate-stderr acp-ask -q hello -- "$@"
	assert_output hello
	assert_equal "$stderr" 'acp-ask: rejected permission requests: 1'
	run -3 acp-ask EXIT -- "$@"
	run -0 acp-ask --probe -- "$@"
	assert_line $'methods.session/fork.response\terror -32601'
}

@test "an agent on the TypeScript SDK: a permission, a rejection, its own exit status, a probe" {
	sdk_agent node "$PEERS/ask-agent.mjs"
}

@test "an agent on the Python SDK: the same" {
	[[ -x $PEERS/python/bin/python ]] || skip 'without Python'
	sdk_agent "$PEERS/python/bin/python" "$PEERS/ask_agent.py"
}

@test "an agent on the Rust SDK: a prompt, a probe" {
	local agent
	agent=$(cd "$BATS_TEST_DIRNAME/../.." && realpath -m build/interop/rust/release/ask-agent)
	[[ -x $agent ]] || skip 'the Rust peers were not built (RUST=1)'
	asked "$agent" --
	assert_equal "$(jq -r .text got)" hello
	run -0 acp-ask --probe -- "$agent"
	assert_line $'methods.session/fork.response\terror -32601'
}
