#!/usr/bin/env bats
# Real clients, the tools, a real agent, and a stand-in for the model.
# tests/interop/run installs the peers and says where they are ($PEERS).

setup_file() {
	load model
	model_start
	DIRECT=$BATS_FILE_TMPDIR/direct
	export DIRECT
	client "$DIRECT" claude-agent-acp
}

teardown_file() {
	load model
	model_stop
}

setup() {
	load model
	bats_load_library bats-support
	bats_load_library bats-assert
	RUN=$BATS_TEST_TMPDIR/run
	REC=$BATS_TEST_TMPDIR/s.rec
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

# The processes that were started in DIR and live.
living() {
	grep -lzxF "ACP_INTEROP_RUN=$1" /proc/[0-9]*/environ 2>/dev/null |
		while IFS=/ read -r _ _ pid _; do
			# One that has ended and waits for its parent is none.
			grep -q '^State:	[^ZX]' "/proc/$pid/status" 2>/dev/null &&
				echo "$pid $(tr '\0' ' ' <"/proc/$pid/cmdline")"
		done
	return 0
}

# What ends by itself ends soon; what is left after ten seconds is left over.
assert_nothing_left() {
	local _
	for _ in {1..200}; do
		[[ -n $(living "$1") ]] || return 0
		sleep 0.05
	done
	fail "left over: $(living "$1")"
}

# The bytes of the messages from one side, as the recording has them.
recorded() {
	sed -n 's/^{"t":[0-9.]*,"from":"'"$1"'","msg":\(.*\)}$/\1/p' "$REC"
}

crossed() {
	jq -j --arg from "$1" 'select(.from == $from) | .line + "\n"' "$RUN/wire"
}

assert_recorded_in_order() {
	head -n 1 "$REC" | grep -q '^{"acp-recording":1,' || fail 'no header'
	for from in client agent; do
		crossed "$from" >"$BATS_TEST_TMPDIR/crossed"
		recorded "$from" >"$BATS_TEST_TMPDIR/recorded"
		[[ -s $BATS_TEST_TMPDIR/crossed ]] || fail "the $from said nothing"
		cmp "$BATS_TEST_TMPDIR/crossed" "$BATS_TEST_TMPDIR/recorded" ||
			fail "what the $from sent is not what was recorded"
	done
}

assert_seen_as_without() {
	diff <(cut -c -500 "$DIRECT/seen") <(cut -c -500 "$RUN/seen") && cmp "$DIRECT/seen" "$RUN/seen"
}

@test "the stand-in is the model: turns, tools, a cancelled turn, two sessions" {
	run jq -r '.sessions | keys[]' "$DIRECT/seen"
	assert_output $'a\nb'
	run jq -r '.sessions.a.events[] | select(.answer) | .answer.stopReason' "$DIRECT/seen"
	assert_output $'end_turn\nend_turn\nend_turn\ncancelled\nend_turn\nend_turn'
	run jq -r '.sessions.a.events[] | select(.permission) | .permission.toolCall.name' "$DIRECT/seen"
	assert_output $'Write\nBash'
	run jq -s '[.[] | select(.path == "/v1/messages")] | length > 8' "$BATS_FILE_TMPDIR/requests"
	assert_output true
}

@test "two runs without a chain show the client the same" {
	client "$RUN" claude-agent-acp
	assert_seen_as_without
	assert_nothing_left "$RUN"
}

@test "a chain shows the client what it sees without, and records every message in order" {
	client "$RUN" acp-conduct -f "acp-tap -o $REC" -- claude-agent-acp
	assert_seen_as_without
	assert_recorded_in_order
	assert_nothing_left "$RUN"
}

@test "a wrapped agent shows the client what it shows without, and is recorded" {
	client "$RUN" acp-tap -o "$REC" -- claude-agent-acp
	assert_seen_as_without
	assert_recorded_in_order
	assert_nothing_left "$RUN"
}

@test "two filters in one chain record the same" {
	client "$RUN" acp-conduct -f "acp-tap -o $REC" -f "acp-tap -o $REC.2" -- claude-agent-acp
	assert_seen_as_without
	assert_recorded_in_order
	REC=$REC.2 assert_recorded_in_order
}

@test "claude-agent-acp through three proxies shows what it shows without" {
	client "$RUN" acp-conduct --no-mcp -p 'acp-tap -o /dev/null' -p "acp-conduct -p 'acp-usage -o /dev/null' -f 'acp-tap -o $REC'" \
		-p 'acp-tap -o /dev/null' -- claude-agent-acp
	assert_seen_as_without
	assert_nothing_left "$RUN"
	run jq -s 'map(select(.msg.result.stopReason?)) | length' "$REC"
	assert_output 8
}

@test "in the recording every response follows its request" {
	client "$RUN" acp-conduct -f "acp-tap -o $REC" -- claude-agent-acp
	run jq -n '
		def other: if . == "client" then "agent" else "client" end;
		reduce (inputs | select(.msg)) as {$from, $msg} ({open: {}, stray: []};
			if $msg.method and ($msg | has("id")) then .open["\($from) \($msg.id)"] = true
			elif $msg.method then .
			elif .open["\($from | other) \($msg.id)"] then del(.open["\($from | other) \($msg.id)"])
			else .stray += [$msg.id] end)' "$REC"
	assert_success
	assert_equal "$(jq -c . <<<"$output")" '{"open":{},"stray":[]}'
}

@test "the recording gives the client's lines back" {
	client "$RUN" acp-conduct -f "acp-tap -o $REC" -- claude-agent-acp
	acp-tap -f raw --from client "$REC" >"$BATS_TEST_TMPDIR/raw"
	crossed client | cmp - "$BATS_TEST_TMPDIR/raw"
}

@test "a client that is killed in a turn leaves no process" {
	mkdir -p "$RUN"
	mkfifo "$RUN/wire"
	# The other end of the pipe shows the turn, or that the client has ended.
	{ client "$RUN" acp-conduct -f "acp-tap -o $REC" -- claude-agent-acp 7>&-; } 7>"$RUN/wire" &
	job=$!
	exec 8<"$RUN/wire"
	grep -qm 1 'run BASH now' <&8
	pid=$(living "$RUN" | grep -m 1 'client\.mjs' | cut -d ' ' -f 1)
	kill -KILL "$pid"
	wait "$job" || true
	assert_nothing_left "$RUN"
}

@test "acpx says through a chain what it says without" {
	local prompt='please WRITE the note' direct=$BATS_TEST_TMPDIR/direct
	for dir in "$direct" "$RUN"; do
		agent=claude-agent-acp
		[[ $dir == "$direct" ]] || agent="acp-conduct -f 'acp-tap -o $REC' -- $agent"
		mkdir -p "$dir/folder"
		peer "$dir" acpx --agent "$agent" --approve-all --format text \
			--cwd "$dir/folder" exec "$prompt" 2>"$dir/stderr" |
			sed "s|$dir|DIR|g" >"$dir/out"
		assert_equal "$(<"$dir/folder/note.txt")" 'a note'
		assert_nothing_left "$dir"
	done
	diff "$direct/out" "$RUN/out"
	run cat "$RUN/out"
	assert_output --partial 'The tool is done.'
	run jq -r 'select(.msg.method == "session/prompt") | .msg.params.prompt[0].text' "$REC"
	assert_output "$prompt"
}

# The sum of what the client received in answers to its prompts.
received() {
	jq -s --arg type "$1" 'map(select(.from == "agent") | .line | fromjson? | .result.usage? // empty | .[$type]) | add' "$RUN/wire"
}

@test "acp-usage's totals are what the client received" {
	client "$RUN" acp-usage --summary -f json -o "$RUN/usage" -- claude-agent-acp
	assert_seen_as_without
	assert_nothing_left "$RUN"
	tail -n 1 "$RUN/usage" >"$RUN/total"
	assert_equal "$(jq .tokens.total "$RUN/total")" "$(received totalTokens)"
	assert_equal "$(jq .tokens.output "$RUN/total")" "$(received outputTokens)"
	assert_equal "$(jq .tokens.cache_read "$RUN/total")" "$(received cachedReadTokens)"
	assert_equal "$(jq .turns "$RUN/total")" \
		"$(jq -s 'map(select(.from == "agent") | .line | fromjson? | select(.result.stopReason?)) | length' "$RUN/wire")"
	# The last context of each session that the client saw.
	assert_equal "$(jq -s 'map(select(.session) | .used) | sort' -c "$RUN/usage")" \
		"$(jq -s 'map(select(.from == "agent") | .line | fromjson? | select(.params.update.sessionUpdate? == "usage_update"))
			| group_by(.params.sessionId) | map(last.params.update.used) | sort' -c "$RUN/wire")"
}

@test "--fill: a client that reads only the standard places sees what the vendor's say" {
	# An agent that says the same in the vendor's place only.
	local vendor='if .result.usage? then .result._meta.quota = {token_count: .result.usage, model_usage: []} | del(.result.usage)
		elif .params.update.sessionUpdate? == "usage_update" then empty else . end'
	printf '%s\n' "$vendor" >"$BATS_TEST_TMPDIR/vendor.jq"
	client "$RUN" acp-conduct -f 'acp-usage --fill -o /dev/null' \
		-u "jq -c --unbuffered -f $BATS_TEST_TMPDIR/vendor.jq" -- claude-agent-acp
	assert_equal "$(jq -c '[.sessions[].events[] | .answer? // empty | .usage // empty | del(._meta)]' "$RUN/seen")" \
		"$(jq -c '[.sessions[].events[] | .answer? // empty | .usage // empty | {totalTokens, inputTokens, outputTokens,
			thoughtTokens, cachedReadTokens, cachedWriteTokens} | del(..|nulls)]' "$DIRECT/seen")"
}
