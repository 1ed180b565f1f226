#!/usr/bin/env bats
# The acp-mcp that acp-conduct itself puts before the agent where proxies are in the chain.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load mcp
	lib_setup
	# What is killed leaves its sockets.
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR
	# An agent that answers each request with its params.
	cat >agent.jq <<-'EOF2'
		if .method == "initialize" then {jsonrpc: "2.0", id: .id, result: ({protocolVersion: 1} + $says)}
		elif has("method") and has("id") then {jsonrpc: "2.0", id: .id, result: (.params // {})}
		else empty end
	EOF2
	agent='jq -c --unbuffered --argjson says {} -f agent.jq'
	takes='{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"acp":true}}}'
	takes_agent="jq -c --unbuffered --argjson says ${takes/\"protocolVersion\":1,/} -f agent.jq"
	X='{"type":"acp","name":"x","id":"X"}'
	printf '%s\n' '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}' \
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session/new\",\"params\":{\"mcpServers\":[$X]}}" >input
}

teardown() {
	mcp_teardown
}

# chain WORD...: what the client is told by acp-conduct with these words: of the agent, and of what its server has become.
chain() {
	run --separate-stderr timeout 60 acp-conduct "$@" <input
	output=$(jq -c 'if .id == 0 then .result.agentCapabilities.mcpCapabilities.acp else .result.mcpServers[0].args[0] end' <<<"$output" | tr '\n' ' ')
}

@test "all proxies and the client learn that the agent supports servers of type acp; an agent that does not gets a stdio server" {
	chain -p 'acp-tap -o a.rec' -f acp-tap -p 'acp-tap -o b.rec' -- $agent
	assert_output 'true "--connect" '
	for record in a.rec b.rec; do
		jq -se 'any(.msg.result.agentCapabilities.mcpCapabilities.acp)' $record
	done
	chain agent acp-tap "$agent"
	assert_output 'true "--connect" '
}

# bats test_tags=slow
@test "without a proxy, or an agent, or with --no-mcp there is none" {
	chain -f acp-tap -- $agent
	assert_output 'null null '
	chain agent "$agent"
	assert_output 'null null '
	chain --no-mcp -p 'acp-tap -o a.rec' -- $agent
	assert_output 'null null '
	run ! grep mcpCapabilities a.rec
	chain --no-mcp -p 'acp-tap -o a.rec' -- $takes_agent
	assert_output 'true null '
	chain -p acp-tap -- acp-conduct -v -p acp-tap -- $agent
	assert_output 'true "--connect" '
	# The one outside is a proxy: what it has behind it is not its own.
	chain -p 'acp-conduct -v -p acp-tap' -- $agent
	assert_equal "$(grep -c 'acp-mcp: pid' <<<"$stderr")" 0
}

# bats test_tags=slow
@test "a filter acp-mcp of the user's right before the agent is enough; elsewhere it is not" {
	mkdir sockets
	chain -v -p acp-tap -f "acp-mcp --socket-dir $PWD/sockets" -- sh -c "ls sockets >here; $agent"
	assert_output 'true "--connect" '
	assert_equal "$(grep -c 'pid .*, filter' <<<"$stderr")" 1
	chain -v -f acp-mcp -p acp-tap -- $agent
	assert_equal "$(grep -o '[^ ]*: pid .*, filter' <<<"$stderr" | sed 's/:.*//' | sort | tr '\n' ' ')" 'acp-mcp acp-mcp.2 '
}

# bats test_tags=slow
@test "it keeps the order of the client's messages" {
	for servers in '[]' "[$X]"; do
		printf '%s\n' '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}' \
		    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"session/load\",\"params\":{\"sessionId\":\"s\",\"cwd\":\"/\",\"mcpServers\":$servers}}" \
		    '{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}' \
		    '{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}' >prompts.jsonl
		run --separate-stderr timeout 60 acp-conduct -p acp-tap -- sh -c "tee heard | $agent" <prompts.jsonl
		assert_success
		assert_equal "$(jq -r .method heard | tr '\n' ' ')" 'initialize session/load session/prompt session/cancel '
	done
}

@test "for an agent that supports them every byte passes in both directions" {
	cat >says <<-'EOF2'
		#!/bin/sh
		IFS= read -r line && printf '%s\n' "$line" >>heard
		echo '{"jsonrpc":"2.0" , "id":1,"result":{"protocolVersion":1, "agentCapabilities":{"mcpCapabilities":{"acp": true}}}}'
		IFS= read -r line && printf '%s\n' "$line" >>heard
		echo '{"jsonrpc":"2.0" , "method":"x","params":{"a" : 1.50}}'
	EOF2
	chmod +x says
	run --separate-stderr timeout 60 acp-conduct -p acp-tap -- ./says <input
	assert_line --partial '"result":{"protocolVersion":1, "agentCapabilities":{"mcpCapabilities":{"acp": true}}}'
	assert_line '{"jsonrpc":"2.0" , "method":"x","params":{"a" : 1.50}}'
	grep -qF "[$X]" heard
}

# bats test_tags=slow
@test "chains in chains: the inner one bridges, the outer one lets all pass" {
	chain -p acp-tap -- acp-conduct --record inner.rec -p acp-tap -- $agent
	assert_output 'true "--connect" '
	grep -qF "[$X]" inner.rec
	chain -p acp-tap -- acp-mcp -- $agent
	assert_output 'true "--connect" '
}

# bats test_tags=slow
@test "it has a name and a hop of its own: in --record, in --trace, in -v" {
	chain -v --trace t.jsons --record r.rec -p acp-tap -- $agent
	assert_success
	assert_equal "$(head -n 1 r.rec | jq -c .hops)" '["acp-tap","acp-mcp","agent"]'
	jq -se 'map(select(.at == 1 and .msg.id == "1")) | length == 0' r.rec
	# What it changes shows between its two hops.
	assert_equal "$(jq -c 'select(.msg.method == "session/new") | [.at, .msg.params.mcpServers[0].type]' r.rec | tr '\n' ' ')" \
		'[0,"acp"] [1,"acp"] [2,null] '
	assert_equal "$(jq -r 'select(.method == "session/new") | "\(.from) \(.to)"' t.jsons)" $'Client Proxy(0)\nProxy(0) Proxy(1)\nProxy(1) Agent'
	[[ $stderr == *'acp-conduct: acp-mcp: pid '*', filter'* && $stderr == *'acp-conduct: acp-mcp: exit status 0'* ]]
}

# --- where it is found ---

# bats test_tags=slow
@test "it is found beside acp-conduct, else in PATH; where there is none a line says so and the chain goes on" {
	mkdir -p "a b" path
	cp "$B/bin/acp-conduct" "a b/conduct"
	cp "$B/bin/acp-tap" "$B/bin/acp-mcp" path/
	jq=$(dirname "$(command -v jq)")
	where() { run --separate-stderr env PATH="$1:$jq:/usr/bin:/bin" "a b/conduct" -p "$B/bin/acp-tap" -- $agent <input; }
	where "$PWD/nowhere"
	assert_success
	assert_equal "$(grep acp-mcp <<<"$stderr")" 'acp-conduct: acp-mcp not found: continuing without it, as with --no-mcp; the agent itself must support MCP servers of type acp'
	refute_output --partial '"acp":true'
	where "::$PWD/path"
	assert_output --partial "\"command\":\"$PWD/path/acp-mcp\""
	cp "$B/bin/acp-mcp" "a b/"
	where "$PWD/path"
	assert_output --partial "\"command\":\"$PWD/a b/acp-mcp\""
	chmod -x "a b/acp-mcp"
	where "$PWD/path"
	assert_output --partial "\"command\":\"$PWD/path/acp-mcp\""
}

@test "one that dies at once is taken out, and the chain goes on as with --no-mcp" {
	mkdir bin
	cp "$B/bin/acp-conduct" bin/
	printf '#!/bin/sh\nexit 3\n' >bin/acp-mcp
	chmod +x bin/acp-mcp
	run --separate-stderr timeout 60 bin/acp-conduct --on-crash fail -p acp-tap -- $agent <input
	assert_success
	assert_equal "$(jq -c .id <<<"$output" | tr '\n' ' ')" '0 1 '
	refute_output --partial '"acp":true'
	[[ $stderr == *'acp-mcp: died (exit status 3); bypassed'* ]]
}

# --- it dies ---

# opened NAME: the client opens a session (id NAME); the agent answers it; the shim of its server x is started as NAME.
opened() {
	local id
	client "{\"jsonrpc\":\"2.0\",\"id\":\"$1\",\"method\":\"session/new\",\"params\":{\"cwd\":\"/$1\",\"mcpServers\":[]}}"
	id=$(await got ".params.cwd == \"/$1\"" | jq -c .id)
	agent "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"sessionId\":\"$1\"}}"
	await out ".id == \"$1\"" >/dev/null
	shim "$1" "$(await got ".params.cwd == \"/$1\"" | jq -r '.params.mcpServers[0].args[1]')"
}

# called NAME: what the tool says.
called() {
	mcp "$1" '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}'
	await "$1.out" '.id == 1' | jq -r '.result.content[0].text'
}

# A request goes down, and its answer up.
echoed() {
	local id
	client '{"jsonrpc":"2.0","id":"e","method":"echo"}'
	id=$(await got '.method == "echo"' | jq -c .id)
	agent "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{}}"
	await out '.id == "e"' >/dev/null
}

# bats test_tags=slow
@test "killed, it is started again: connections end, the chain goes on, and new sessions have their tools" {
	# What the agent takes is forgotten: stdio servers suit every one.
	for says in '{"protocolVersion":1}' "$takes"; do
		bridge acp-conduct -v -p "acp-mcp --provide 'x=$SERVER x'"
		initialize "$says"
		if [[ $says != "$takes" ]]; then
			opened s
			assert_equal "$(called s)" 'x: hi'
		fi
		# The proxy has options.
		kill -KILL "$(pgrep -P "$BRIDGE" -f '/acp-mcp$')"
		[[ $says == "$takes" ]] || wait "${SHIM[s]}"
		wait_for grep -q 'acp-mcp.2: died (signal KILL); restarted' err
		echoed
		opened t
		assert_equal "$(called t)" 'x: hi'
		unshim t
		finish
		leaves_nobody
	done
}

# bats test_tags=slow
@test "a provider that is killed: its connections get errors, and the sessions' servers are there again, old and new ones" {
	for dialect in acpId newest; do
		bridge acp-conduct -p "exec acp-mcp --provide 'x=$SERVER x'" -f "acp-mcp --dialect $dialect"
		initialize
		opened s
		assert_equal "$(called s)" 'x: hi'
		kill -KILL "$(pgrep -P "$BRIDGE" -f '^acp-mcp --provide')"
		wait_for grep -q '^acp-conduct: acp-mcp: died' err
		mcp s '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"again"}}}'
		case $dialect in
		acpId) await s.out '.id == 2 and .error.code == -33001' ;;
		# There are no connections.
		newest) await s.out '.id == 2 and .result.content[0].text == "x: again"' ;;
		esac
		# The agent starts the same server once more; and there is another session.
		shim again "$(await got '.params.cwd == "/s"' | jq -r '.params.mcpServers[0].args[1]')"
		assert_equal "$(called again)" 'x: hi'
		opened t
		assert_equal "$(called t)" 'x: hi'
		for name in s again t; do unshim "$name"; done
		finish
		leaves_nobody
		rm -f down up ./*.in ./*.out
	done
}

# bats test_tags=slow
@test "killed again and again it is taken out, whatever --on-crash says; the session goes on" {
	bridge acp-conduct --restarts 0/1m --on-crash fail -p acp-tap
	initialize
	kill -KILL "$(pgrep -P "$BRIDGE" -x acp-mcp)"
	wait_for grep -q 'acp-mcp: died (signal KILL); bypassed' err
	echoed
	finish
	leaves_nobody
}
