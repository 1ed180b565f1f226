#!/usr/bin/env bats
# Real clients of an agent that is acp-replay, with a session that was recorded with a real agent.
# tests/interop/run installs the peers and says where they are ($PEERS).

setup_file() {
	load model
	model_start

	# What each client is going to be played.
	DIRECT=$BATS_FILE_TMPDIR/direct SDK=$BATS_FILE_TMPDIR/sdk.rec ACPX=$BATS_FILE_TMPDIR/acpx.rec
	export DIRECT SDK ACPX
	client "$DIRECT" acp-tap -o "$SDK" -- claude-agent-acp
	acpx_says "$DIRECT.acpx" "acp-tap -o $ACPX -- claude-agent-acp"
}

teardown_file() {
	model_stop
}

setup() {
	bats_load_library bats-support
	bats_load_library bats-assert
	RUN=$BATS_TEST_TMPDIR/run
}

# peer DIR COMMAND...: runs a client so that it and all below it live in DIR.
peer() {
	local dir=$1
	shift
	mkdir -p "$dir/home" "$dir/folder"
	env HOME="$dir/home" CLAUDE_CONFIG_DIR="$dir/home/.claude" "$@" 3>&-
}

# client DIR AGENT...: plays the script of client.mjs with the agent.
client() {
	local dir=$1
	shift
	peer "$dir" node "$PEERS/client.mjs" "$dir/seen" "$dir/wire" "$dir/folder" "$@" \
		2>"$dir.stderr" || {
		tail -n 20 "$dir.stderr"
		return 1
	}
}

# acpx_says DIR AGENT: what it says of a turn in which a file is written, in DIR/out.
acpx_says() {
	mkdir -p "$1/folder"
	peer "$1" acpx --agent "$2" --approve-all --format text --cwd "$1/folder" \
		exec 'please WRITE the note' 2>"$1.stderr" | sed "s|$1|DIR|g" >"$1/out"
}

@test "the TypeScript SDK sees with the recording what it saw with the agent, in another folder" {
	# The client looks at a file that the recorded agent wrote by itself.
	mkdir -p "$RUN/folder/a"
	[[ ! -f $DIRECT/folder/a/note.txt ]] || cp "$DIRECT/folder/a/note.txt" "$RUN/folder/a/"
	client "$RUN" acp-replay "$SDK"
	diff <(cut -c -500 "$DIRECT/seen") <(cut -c -500 "$RUN/seen")
	cmp "$DIRECT/seen" "$RUN/seen"
}

@test "the same through a chain" {
	mkdir -p "$RUN/folder/a"
	[[ ! -f $DIRECT/folder/a/note.txt ]] || cp "$DIRECT/folder/a/note.txt" "$RUN/folder/a/"
	client "$RUN" acp-conduct -f "acp-tap -o $RUN.rec" -- acp-replay "$SDK"
	cmp "$DIRECT/seen" "$RUN/seen"
}

@test "acpx says with the recording what it said with the agent" {
	acpx_says "$RUN" "acp-replay $ACPX"
	diff "$DIRECT.acpx/out" "$RUN/out"
	run cat "$RUN/out"
	assert_output --partial 'The tool is done.'
}

@test "a second run of the same agent does not differ at shape from the recording of the first" {
	client "$RUN" acp-tap -o "$RUN.rec" -- claude-agent-acp
	run acp-diff --match shape "$SDK" "$RUN.rec"
	assert_success
	# And with acp-replay as the client, in a directory in which nothing was written yet.
	mkdir -p "$RUN.again/folder/a" "$RUN.again/folder/b"
	sed "s,$DIRECT,$RUN.again,g" "$SDK" >"$RUN.again.rec"
	run peer "$RUN.again" acp-replay --as client --check --timeout 60s "$RUN.again.rec" -- claude-agent-acp
	assert_success
}
