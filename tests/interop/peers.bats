#!/usr/bin/env bats
# acp-conduct --peer with real agents: the coordinator of the examples gives each prompt to two.

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
	load ../lib
	load ../conduct
	lib_setup
	command -v python3 >/dev/null || skip 'python3 is needed'
	coordinator=$TOP/tests/examples/coordinator.py
}

teardown() {
	end_left_over
}

prompt() {
	say '{"jsonrpc":"2.0","id":'"$1"',"method":"session/prompt","params":{"sessionId":"'"$session"'","prompt":[{"type":"text","text":"'"$2"'"}]}}'
	await_line got response_in "$1" >/dev/null
}

# What the turns have said so far: the last text.
said_last() { jq -j 'select(.params.update.sessionUpdate? == "agent_message_chunk").params.update.content.text' got | tail -n 2; }

@test "two claude-agent-acp get each prompt, their texts come back as one turn, and both ask for permission; one that is killed leaves the other" {
	mkdir -p home folder
	export HOME=$PWD/home CLAUDE_CONFIG_DIR=$PWD/home/.claude
	start --record all.rec -p "python3 $coordinator" --peer one=claude-agent-acp --peer two=claude-agent-acp -- claude-agent-acp 3>&-
	say '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'
	await_line got response_in 0 >/dev/null
	say '{"jsonrpc":"2.0","id":"new","method":"session/new","params":{"cwd":"'"$PWD/folder"'","mcpServers":[]}}'
	await_line got response_in '"new"' >/dev/null
	session=$(response '"new"' | jq -r .sessionId)
	prompt 1 'say hello.'
	assert_equal "$(response 1 | jq -r .stopReason)" end_turn
	assert_equal "$(said_last)" 'one: Hello from the stand-in, which has read this.
two: Hello from the stand-in, which has read this.'
	say '{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"'"$session"'","prompt":[{"type":"text","text":"BASH, please."}]}}'
	wait_for eval '(($(grep -c session/request_permission got) == 2))'
	jq -c 'select(.method == "session/request_permission") | {jsonrpc: "2.0", id, result: {outcome: {outcome: "selected",
		optionId: first(.params.options[] | select(.kind == "allow_once")).optionId}}}' got >answers
	say "$(cat answers)"
	await_line got response_in 2 >/dev/null
	assert_equal "$(jq -c 'select(.method == "session/request_permission") | .params.sessionId' got | sort -u)" "\"$session\""
	[[ -e folder/touched ]]
	[[ $(said_last) == 'one: '*'The tool is done.'*'two: '*'The tool is done.'* ]]
	kill -KILL "$(pid_of one)"
	says 'one: died \(signal KILL\)'
	prompt 3 'say hello again.'
	assert_equal "$(response 3 | jq -r .stopReason)" end_turn
	[[ $(said_last) == 'one: '*'two: Hello from the stand-in, which has read this.' ]]
	ends 0
	# Each peer has had each prompt once, and the client's turns are three.
	assert_equal "$(acp-tap --hop 0 -f raw all.rec | grep -c '"method": *"session/prompt"')" 3
	assert_equal "$(acp-tap --hop two -f raw all.rec | grep -c '"method": *"session/prompt"')" 3
}
