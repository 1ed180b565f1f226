#!/usr/bin/env bats
# A real client and a real agent with acp-inject between them, and a stand-in for the model, which keeps what it was asked.

# One test at a time: what the model was asked is in one file.
setup_file() {
	export BATS_NO_PARALLELIZE_WITHIN_FILE=true
	load model
	model_start
}

teardown_file() {
	load model
	model_stop
}

setup() {
	bats_load_library bats-support
	bats_load_library bats-assert
	RUN=$BATS_TEST_TMPDIR/run
	: >"$BATS_FILE_TMPDIR/requests"
}

# client AGENT...: plays the script of client.mjs with the agent; all of it lives in $RUN.
client() {
	mkdir -p "$RUN/home" "$RUN/folder"
	env HOME="$RUN/home" CLAUDE_CONFIG_DIR="$RUN/home/.claude" \
		node "$PEERS/client.mjs" "$RUN/seen" "$RUN/wire" "$RUN/folder" "$@" 3>&- 2>"$RUN.stderr" || {
		tail -n 20 "$RUN.stderr"
		return 1
	}
}

# What the model was asked in the turns: the conversation each time. (Requests of its own are others.)
asked() {
	jq -c 'select(.path == "/v1/messages" and (.body.tools | length) > 0) | .body.messages
		| select(tojson | test("hello|BIG"))' "$BATS_FILE_TMPDIR/requests"
}

@test "a context reaches the model, before and after the first prompt of each session, and only there" {
	echo 'the rules of the house: RULES-7411' >"$BATS_TEST_TMPDIR/rules.txt"
	client acp-inject --prepend "@$BATS_TEST_TMPDIR/rules.txt" --append 'the end: APPENDIX-7411' -- claude-agent-acp
	# Both sessions have it, each once, around what the client said first.
	run bash -c 'jq -c "[.. | strings | select(test(\"7411\"))]" | sort -u' < <(asked)
	assert_output '["the rules of the house: RULES-7411\n","the end: APPENDIX-7411"]'
	run bash -c 'jq -c "map(select(.role == \"user\")) | first.content[-3:] | map(.text)" | sort -u' < <(asked)
	assert_output '["the rules of the house: RULES-7411\n","hello","the end: APPENDIX-7411"]
["the rules of the house: RULES-7411\n","something BIG","the end: APPENDIX-7411"]'
	# What the client sent is its own.
	refute grep -q 7411 <(jq -r 'select(.from == "client") | .line' "$RUN/wire")
	run jq -r '.sessions.a.events[] | select(.answer) | .answer.stopReason' "$RUN/seen"
	assert_output $'end_turn\nend_turn\nend_turn\ncancelled\nend_turn\nend_turn'
}

@test "permissions are answered without the client, which never sees them" {
	client acp-conduct -f 'acp-inject --permit allow_always --permit allow_once' -- claude-agent-acp
	assert_equal "$(<"$RUN/folder/a/note.txt")" 'a note'
	[[ -e $RUN/folder/a/touched ]]
	refute grep -q request_permission "$RUN/wire"
	run jq -c '[.sessions[].events[] | select(.permission)]' "$RUN/seen"
	assert_output '[]'
}

@test "a refused permission: the tool does not run, and the turn goes on" {
	run client acp-inject --permit reject_once -- claude-agent-acp
	assert_failure # the script wants the note
	[[ ! -e $RUN/folder/a/note.txt ]]
	refute grep -q request_permission "$RUN/wire"
}

@test "each session has its mode before the client may use it" {
	client acp-inject --send 'down:answer:session/new={method: "session/set_mode",
		params: {sessionId: .result.sessionId, modeId: "acceptEdits"}}' -- claude-agent-acp
	# Edits need no permission then.
	run jq -r '.sessions.a.events[] | select(.permission) | .permission.toolCall.name' "$RUN/seen"
	refute_output --partial Write
	assert_equal "$(<"$RUN/folder/a/note.txt")" 'a note'
	refute grep -q set_mode "$RUN/wire"
	refute grep -q 'acp-inject: ' "$RUN.stderr"
}

@test "a folder and an update are edited by a program, and the rest of each message keeps its bytes" {
	client acp-conduct -f "acp-tap -o $RUN.client" -f "acp-inject -m agent_message_chunk -e '.params.update._meta.edited = true'" \
		-f "acp-tap -o $RUN.agent" -- claude-agent-acp
	[[ $(grep -c '"edited":true' "$RUN.client") -gt 0 ]]
	acp-tap -f raw --from agent "$RUN.agent" >"$RUN.before"
	acp-tap -f raw --from agent "$RUN.client" | sed 's/,"_meta":{"edited":true}//; s/,"edited":true//' >"$RUN.after"
	cmp "$RUN.before" "$RUN.after"
}
