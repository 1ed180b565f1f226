# What the bats files that need a model share: the stand-in, and an environment in which peers find it and nothing else.

# In setup_file: starts it; what it receives is in $BATS_FILE_TMPDIR/requests.
model_start() {
	mkfifo "$BATS_FILE_TMPDIR/life" "$BATS_FILE_TMPDIR/port"
	# The model ends when its stdin does: at the latest when this shell ends.
	exec 9<>"$BATS_FILE_TMPDIR/life"
	node "$PEERS/model.mjs" "$BATS_FILE_TMPDIR/requests" \
		<"$BATS_FILE_TMPDIR/life" >"$BATS_FILE_TMPDIR/port" 3>&- 9>&- &
	MODEL=$!
	read -r port <"$BATS_FILE_TMPDIR/port"

	export ANTHROPIC_BASE_URL=http://127.0.0.1:$port ANTHROPIC_API_KEY=none
	export IS_SANDBOX=1 # as root the agent wants to hear this
	export DISABLE_TELEMETRY=1 DISABLE_AUTOUPDATER=1 DISABLE_ERROR_REPORTING=1
	export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1
	export CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION=0
	# Whatever else a peer may want from a network, it finds nobody.
	export HTTP_PROXY=http://127.0.0.1:9 HTTPS_PROXY=http://127.0.0.1:9
	export NO_PROXY=127.0.0.1
}

# In teardown_file.
model_stop() {
	kill "$MODEL"
}

# peer DIR COMMAND...: runs a client so that it and all below it live in DIR.
peer() {
	local dir=$1
	shift
	mkdir -p "$dir/home" "$dir/folder"
	env HOME="$dir/home" CLAUDE_CONFIG_DIR="$dir/home/.claude" \
		ACP_INTEROP_RUN="$dir" "$@" 3>&-
}
