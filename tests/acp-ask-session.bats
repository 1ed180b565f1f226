#!/usr/bin/env bats
# acp-ask: sessions: what opens them, what is set in them, the list.

bats_require_minimum_version 1.5.0

setup() {
	load ask
	ask_setup
}

teardown() {
	ask_teardown -m '!session/set_model' # of an earlier draft; agents still have it
}

# opened: the requests after initialize and before the prompt.
opened() {
	sent 'select(.method | . and . != "initialize" and . != "session/prompt") | [.method, .params]'
}

CAPABLE='"initialize":{"agentCapabilities":{"loadSession":true,"mcpCapabilities":{"http":true},"sessionCapabilities":{"resume":{},"list":{},"title":{}}}}'

@test "--cwd, --mcp, --mcp-url and --meta go with the session; --meta also with the prompt" {
	mkdir dir
	agent "{$CAPABLE}"
	ask --cwd dir --mcp 'a=srv --x "y z"' --mcp b=c --mcp-url 'u=http://127.0.0.1/x' --meta '{"k":1}' hi
	assert_equal "$(opened)" '["session/new",{"cwd":"'"$PWD"'/dir","mcpServers":[{"name":"a","command":"srv","args":["--x","y z"],"env":[]},{"name":"b","command":"c","args":[],"env":[]},{"type":"http","name":"u","url":"http://127.0.0.1/x","headers":[]}],"_meta":{"k":1}}]'
	assert_equal "$(sent 'select(.method == "session/prompt").params._meta')" '{"k":1}'
	agent '{}'
	run -1 ask --mcp-url 'u=http://x' hi
	assert_output 'acp-ask: --mcp-url u=http://x: the agent does not take servers over HTTP'
	run -2 ask --mcp x hi
	assert_output 'acp-ask: --mcp x: expected NAME=CMD'
	run -2 ask --config x hi
	assert_output 'acp-ask: --config x: expected KEY=VALUE'
	run -2 ask --meta '[1]' hi
	assert_output --partial 'expected an object'
}

# bats test_tags=slow
@test "--mode and --model: as options of their category, or by methods of their own" {
	agent '{"new":{"modes":{"currentModeId":"a","availableModes":[{"id":"plan","name":"Plan"}]},"models":{"currentModelId":"m","availableModels":[]}},"methods":{"session/set_model":{"result":{}}},"result":{}}'
	ask --mode plan --model big hi
	assert_equal "$(opened | tail -n 2)" '["session/set_mode",{"sessionId":"s1","modeId":"plan"}]
["session/set_model",{"sessionId":"s1","modelId":"big"}]'
	agent '{"new":{"configOptions":[{"id":"md","category":"mode","type":"select","options":[{"value":"plan","name":"Plan"}]},
		{"id":"ml","category":"model","type":"select","options":[{"value":"big","name":"Big"}]},{"id":"fast","type":"boolean"}]},"result":{"configOptions":[]}}'
	rm in
	ask --mode plan --model big --config fast=true hi
	assert_equal "$(opened | tail -n 3)" '["session/set_config_option",{"sessionId":"s1","configId":"md","value":"plan"}]
["session/set_config_option",{"sessionId":"s1","configId":"ml","value":"big"}]
["session/set_config_option",{"sessionId":"s1","configId":"fast","value":true,"type":"boolean"}]'
	run -1 ask --config slow=1 hi
	assert_output 'acp-ask: --config slow=1: the agent has no such option'
	run -1 ask --config fast=1 hi
	assert_output 'acp-ask: --config fast: expected true or false'
	agent '{}'
	run -1 ask --model x hi
	assert_output 'acp-ask: --model x: the agent offers no choice'
}

# bats test_tags=slow
@test "--resume goes on with a session, --load with its history, which is not printed" {
	agent "{$CAPABLE}"
	ask --resume s1 hi
	assert_equal "$(opened)" '["session/resume",{"sessionId":"s1","cwd":"'"$PWD"'","mcpServers":[]}]'
	rm in
	ask --load s1 hi
	assert_equal "$(opened)" '["session/load",{"sessionId":"s1","cwd":"'"$PWD"'","mcpServers":[]}]'
	agent '{"initialize":{"agentCapabilities":{"loadSession":true}}}'
	rm in
	ask --resume s1 hi
	assert_equal "$(opened | jq -c '.[0]')" '"session/load"'
	agent '{}'
	run -1 ask --resume s1 hi
	assert_output 'acp-ask: --resume s1: the agent cannot do that'
}

@test "a history is printed as messages alone" {
	local version
	for version in 1 2; do
		agent '{"version":'$version',"history":['"$(call old 'Old call' | jq -c .update),$(called old | jq -c .update)"',
			{"sessionUpdate":"agent_message_chunk","messageId":"m0","content":{"type":"text","text":"old text"}}],
			"initialize":{'"$( ((version == 2)) && echo '"capabilities":{"session":{}}' || echo '"agentCapabilities":{"loadSession":true}')"'},"turns":[[{"text":"new text"}]]}'
		run -0 --separate-stderr ask --protocol $version --load s1 hi
		assert_output 'new text'
		assert_equal "$stderr" ''
		assert_equal "$(ask --protocol $version --load s1 -f json hi | jq -c '[.text, .tool_calls]')" '["new text",[]]'
		run -0 ask --protocol $version --load s1 -f ndjson hi
		assert_output --partial 'old text'
	done
}

@test "in version 2 servers and options are set in its words" {
	agent '{"version":2,"initialize":{"capabilities":{"session":{"mcp":{"stdio":{},"http":{}}}}},
		"new":{"configOptions":[{"configId":"md","category":"mode","type":"select","options":[{"value":"plan","name":"Plan"}]},{"configId":"fast","type":"boolean"}]},"result":{"configOptions":[]}}'
	ask --protocol 2 --mcp 'a=srv x' --mcp-url 'u=http://127.0.0.1/x' --mode plan --config fast=false hi
	assert_equal "$(opened | jq -c '.[1].mcpServers // .[1]')" '[{"type":"stdio","name":"a","command":"srv","args":["x"],"env":[]},{"type":"http","name":"u","url":"http://127.0.0.1/x","headers":[]}]
{"sessionId":"s1","configId":"md","value":"plan","type":"id"}
{"sessionId":"s1","configId":"fast","value":false,"type":"boolean"}'
}

@test "in version 2 a history is a resume that replays from the start" {
	agent '{"version":2}'
	ask --protocol 2 --load s1 hi
	assert_equal "$(opened)" '["session/resume",{"sessionId":"s1","cwd":"'"$PWD"'","mcpServers":[],"replayFrom":{"type":"start"}}]'
}

# bats test_tags=slow
@test "last is the session that this agent had last in this directory" {
	agent "{$CAPABLE}"
	run -1 ask --resume last hi
	assert_output 'acp-ask: --resume last: no session of this agent is remembered for this directory'
	ask hi
	assert_equal "$(stat -c %a state/acp/ask-*)" 600
	rm in
	ask --resume last hi
	assert_equal "$(opened | jq -c '.[1].sessionId')" '"s1"'
	mkdir other
	run -1 ask --cwd other --resume last hi
	run -1 acp-ask --resume last hi -- env "${AGENT[@]}"
	assert_output 'acp-ask: --resume last: no session of this agent is remembered for this directory'
}

@test "--title, where the agent has it" {
	agent "{$CAPABLE}"
	ask --title 'A "b"' hi
	assert_equal "$(opened | tail -n 1)" '["session/set_title",{"sessionId":"s1","title":"A \"b\""}]'
	agent '{}'
	run -1 ask --title x hi
	assert_output 'acp-ask: --title x: the agent does not offer titles'
}

# bats test_tags=slow
@test "--list prints the sessions of the directory, page by page" {
	agent "{$CAPABLE"',"methods":{"session/list":{"result":{"sessions":[{"sessionId":"a","cwd":"/x","updatedAt":"2026-01-01T00:00:00Z","title":"T\u001b[2J"},{"sessionId":"b","cwd":"/x"}]}}}}'
	run -0 ask --list
	assert_output $'a\t2026-01-01T00:00:00Z\tT\e[2J\nb\t\t'
	assert_equal "$(opened)" '["session/list",{"cwd":"'"$PWD"'"}]'
	run -0 ask --list -f json
	assert_equal "$(jq -c 'map(.sessionId)' <<<"$output")" '["a","b"]'
	run -2 ask --list hi
	assert_output 'acp-ask: --list does not go with a prompt'
	agent '{}'
	run -1 ask --list
	assert_output "acp-ask: --list $PWD: the agent has no list of sessions"
}

@test "an empty cursor ends the list of sessions" {
	agent "{$CAPABLE"',"methods":{"session/list":{"result":{"sessions":[{"sessionId":"a","cwd":"/x"}],"nextCursor":""}}}}'
	run -0 ask --list
	assert_output $'a\t\t'
}

@test "a list of sessions that does not end is printed as far as it came" {
	agent "{$CAPABLE"',"methods":{"session/list":{"result":{"sessions":[{"sessionId":"a","cwd":"/x"}],"nextCursor":"again"}}}}'
	run -1 --separate-stderr ask --list
	assert_output $'a\t\t\na\t\t'
	assert_equal "$stderr" "acp-ask: the agent's list of sessions does not end"
	# Not even where each page has another cursor.
	cat >endless <<-'END'
		#!/usr/bin/env -S jq -cn --unbuffered -f
		inputs | {id, result: (if .method == "initialize" then {protocolVersion: 1, agentCapabilities: {sessionCapabilities: {list: {}}}}
			else {sessions: [], nextCursor: "\(.id)"} end)}
	END
	chmod +x endless
	run -1 acp-ask --list --max-line 4k -- ./endless
	assert_output "acp-ask: the agent's list of sessions does not end"
}

@test "acp-check finds nothing in what opens and sets up a session" {
	agent "{$CAPABLE"',"new":{"modes":{"currentModeId":"a","availableModes":[{"id":"plan","name":"Plan"}]}}}'
	for options in '--mcp a=b --mode plan' '--resume s1' '--load s1' --list; do
		rm -f s.rec
		prompt=(hi)
		[[ $options != --list ]] || prompt=()
		acp-ask $options "${prompt[@]}" -- acp-tap -o s.rec -- "${AGENT[@]}" || [[ $options == --list ]]
		run -0 checked
	done
}

@test "the cost that comes together with the response to session/new counts" {
	agent '{"updates":[{"sessionUpdate":"usage_update","used":5,"size":10,"cost":{"amount":0.50,"currency":"USD"}}]}'
	run -0 ask -f json hi
	assert_equal "$(jq .cost.amount <<<"$output")" 0.5
}

@test "text that comes together with the response to session/new is printed" {
	agent '{"updates":[{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Welcome.\n"}}],"turns":[[{"text":"Hello."}]]}'
	run -0 ask hi
	assert_output $'Welcome.\nHello.'
}

@test "an agent that does not say which session it has opened: status 1, and a line" {
	agent '{"new":{"sessionId":5}}'
	run --separate-stderr ask hi
	assert_equal "$status $stderr" '1 acp-ask: the agent did not say which session it has opened'
	refute_output
}
