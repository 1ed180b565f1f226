#!/usr/bin/env bats
# acp-mcp with a real MCP server, a real MCP client, and a real agent.

setup_file() {
	load model
	model_start
	# Tools of MCP servers are told to the model at once.
	export ENABLE_TOOL_SEARCH=false
}

teardown_file() {
	load model
	model_stop
}

setup() {
	load ../lib
	lib_setup
	SERVER="node $PEERS/mcp-server.mjs notes"
	PYTHON=$PEERS/python/bin/python
}

teardown() {
	end_left_over
}

# meet COMMAND...: what the agent on the MCP SDK met in a session with this before it.
meet() {
	rm -f down out
	mkfifo down
	"$@" <down >out 2>err 3>&- &
	exec 8>down
	printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}' \
		'{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}' >&8
	until grep -qs '"id":2' out || ! kill -0 $! 2>/dev/null; do sleep 0.05; done
	exec 8>&-
	wait $!
	jq -c 'select(.id == 2).result._meta[]' out
}

@test "a server and a client on the SDK, by way of the chain, in each form" {
	for dialect in acpId serverId newest; do
		rm -f notes
		run meet acp-mcp --provide "notes=$SERVER" -- acp-mcp --dialect "$dialect" -- node "$PEERS/mcp-agent.mjs" 20
		# A client of older MCP refuses a result of logging/setLevel that has more than it knows.
		assert_equal "$(jq -c '[.name, .server, .tools, .level, (.notes | length), .notes[19]]' <<<"$output")" \
			'["notes","notes",["note","ask"],"debug",20,"noted: 19"]'
		assert_equal "$(sort -n notes | tail -n 1)" 19
		if [[ $dialect == newest ]]; then
			# In this form a server cannot ask.
			[[ $(jq -r .asked <<<"$output") != sampled* ]]
		else
			assert_equal "$(jq -r .asked <<<"$output")" 'sampled: why'
		fi
	done
}

@test "and directly, and in a chain of filters and of proxies" {
	for before in "acp-mcp --provide notes=" "acp-conduct -f" "acp-conduct -p"; do
		case $before in
		acp-mcp*) run meet acp-mcp --provide "notes=$SERVER" -- node "$PEERS/mcp-agent.mjs" ;;
		*) run meet $before "acp-mcp --provide 'notes=$SERVER'" ${before#acp-conduct} acp-mcp -- node "$PEERS/mcp-agent.mjs" ;;
		esac
		assert_equal "$(jq -c '[.server, .notes, .asked]' <<<"$output")" '["notes",["noted: 0"],"sampled: why"]'
	done
	run meet acp-conduct -p "acp-mcp --provide 'notes=$SERVER'" -p acp-tap -- node "$PEERS/mcp-agent.mjs"
	assert_equal "$(jq -c '[.server, .notes, .asked]' <<<"$output" | tail -n 1)" '["notes",["noted: 0"],"sampled: why"]'
}

@test "a server on Python's SDK and the TypeScript client of MCP 2026-07-28: in both eras, in each form" {
	[[ -x $PYTHON ]] || skip "Python's MCP SDK is not installed"
	for era in auto legacy; do
		for dialect in acpId serverId newest; do
			run meet acp-mcp --provide "py=$PYTHON $PEERS/mcp-server.py" -- acp-mcp --dialect "$dialect" -- node "$PEERS/mcp-listen.mjs" $era
			assert_equal "$dialect $(jq -c '[.era, .listening, .said, .changed, .tools]' <<<"$output")" "$dialect $(
				case $era in
				auto) echo '["modern",["toolsListChanged"],"py: hi",true,["echo","grow","grown"]]' ;;
				legacy) echo '["legacy",null,"py: hi",true,["echo","grow","grown"]]' ;;
				esac
			)"
		done
	done
}

# tells COMMAND...: claude-agent-acp is asked to take a note, with this before it; what the tool has noted.
tells() {
	local dir
	rm -f notes
	dir=$(mktemp -d "$PWD/run.XXXXXX")
	mkdir "$dir/home" "$dir/folder"
	HOME=$dir/home CLAUDE_CONFIG_DIR=$dir/home/.claude \
		node "$PEERS/mcp-client.mjs" "$dir/folder" "$@" claude-agent-acp 2>err 3>&- || {
		tail -n 20 err
		return 1
	}
	cat notes
}

@test "claude-agent-acp calls a tool that lives on the client's side" {
	run tells acp-mcp --provide "notes=$SERVER" -- acp-mcp --
	assert_output $'{"stopReason":"end_turn","permissions":["mcp__notes__note"]}\nfrom the model'
	run tells acp-conduct -f "acp-mcp --provide 'notes=$SERVER'" -f acp-mcp --
	assert_output $'{"stopReason":"end_turn","permissions":["mcp__notes__note"]}\nfrom the model'
	# Behind proxies acp-conduct puts the bridge there by itself.
	run tells acp-conduct -p "acp-mcp --provide 'notes=$SERVER'" -p 'acp-tap -o notes.rec' --
	assert_output $'{"stopReason":"end_turn","permissions":["mcp__notes__note"]}\nfrom the model'
	jq -se 'any(.msg.params.mcpServers[0].type? == "acp") and any(.msg.method? == "mcp/connect")' notes.rec
}

@test "claude-agent-acp uses a server that exits at server/discover: it starts the server again" {
	run tells acp-mcp --provide "notes=$SERVER strict" -- acp-mcp --
	assert_output $'{"stopReason":"end_turn","permissions":["mcp__notes__note"]}\nfrom the model'
	run tells acp-conduct -p "acp-mcp --provide 'notes=$SERVER strict'" -p 'acp-tap -o strict.rec' --
	assert_output $'{"stopReason":"end_turn","permissions":["mcp__notes__note"]}\nfrom the model'
	jq -se 'any(.msg.params.method? == "server/discover") and (map(select(.msg.method? == "mcp/connect")) | length > 1)' strict.rec
}
