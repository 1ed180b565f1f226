#!/usr/bin/env bats
# acp-ask --probe: what an agent can do.

bats_require_minimum_version 1.5.0

setup() {
	load ask
	ask_setup
}

teardown() {
	ask_teardown -i capability # it tries what is not advertised, too
}

# methods ["METHOD":RESPONSE,]: an agent with these; the others of a session it does not have.
capable() {
	local none='{"error":{"code":-32601,"message":"no"}}'
	agent '{"initialize":{"agentCapabilities":{"loadSession":false,"sessionCapabilities":{"list":{},"close":{}}},"authMethods":[{"id":"z","name":"Z"},{"id":"b","name":"B"}]},
		"new":{"modes":{"currentModeId":"x","availableModes":[{"id":"y","name":"Y"},{"id":"x","name":"X"}]},"configOptions":[{"id":"model","currentValue":"big"}]},
		"updates":[{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"review","description":"R"}]}],
		"methods":{"session/resume":'"$none"',"session/fork":'"$none"',"session/load":'"$none"',"session/list":{"result":{"sessions":[]}}'"${1-}"'}}'
}

@test "the table has versions, capabilities, methods of authentication, the session, and what methods respond" {
	capable
	run -0 --separate-stderr ask --probe
	assert_output "$(printf '%s\t%s\n' agent.name scripted agent.version 1 auth_methods.0 b auth_methods.1 z \
	    capabilities.loadSession false capabilities.sessionCapabilities.close '{}' capabilities.sessionCapabilities.list '{}' \
	    commands.0 review config_options.model big \
	    methods.session/close.advertised true methods.session/close.response result \
	    methods.session/fork.advertised false methods.session/fork.response 'error -32601' \
	    methods.session/list.advertised true methods.session/list.response result \
	    methods.session/load.advertised false methods.session/load.response 'error -32601' \
	    methods.session/resume.advertised false methods.session/resume.response 'error -32601' \
	    modes.0 x modes.1 y protocol 1)"
	assert_equal "$stderr" ''
}

@test "as JSON the keys are sorted, in lines for diff, whatever the agent's order" {
	capable
	ask --probe -f json >a
	jq -e '.agent.name == "scripted" and .methods["session/list"].response == "result"' a
	jq -S . a | jq -c . | diff - <(jq -c . a)
	jq '.initialize |= (to_entries | reverse | from_entries)' a.json >b.json
	acp-ask --probe -f json -- "${AGENT[@]::3}" b.json | diff a -
	[ "$(wc -l <a)" -gt 20 ]
}

# bats test_tags=slow
@test "a promise that is broken is reported, and the exit status is 1" {
	capable ',"session/close":{"error":{"code":-32601,"message":"no"}}'
	run -1 --separate-stderr ask --probe
	assert_equal "$stderr" 'acp-ask: session/close: it is advertised, and the agent does not have it'
	capable ',"session/fork":{"result":{"sessionId":"s2"}}'
	run -1 --separate-stderr ask --probe
	assert_equal "$stderr" 'acp-ask: session/fork: it is not advertised, and the response is not the error -32601'
	capable ',"session/close":{"error":{"code":-32603,"message":"busy"}}'
	run -0 --separate-stderr ask --probe
	assert_line $'methods.session/close.response\terror -32603'
}

@test "of an agent that opens no session, what it reported before is printed, and the exit status is 1" {
	capable ',"session/new":{"error":{"code":-32000,"message":"log in"}}'
	run -1 --separate-stderr ask --probe
	assert_equal "$stderr" 'acp-ask: the agent requires authentication: log in; --auth: z, b'
	assert_line $'agent.name\tscripted'
	assert_line $'auth_methods.0\tb'
	assert_line $'methods.session/list.response\tresult'
	refute_line --partial session/close
}

@test "--no-session opens none" {
	capable
	run -0 ask --probe --no-session
	refute_line --partial modes
	assert_equal "$(sent .method | tr -d '\n')" '"initialize""session/list"'
	run -2 ask --no-session hi
	assert_output 'acp-ask: --no-session requires --probe'
	for option in --mode --model --title; do
		run -2 ask --probe --no-session $option x
		assert_output "acp-ask: --no-session does not go with $option"
	done
	run -2 ask --probe --no-session --mcp a=b
	run -2 ask --probe --no-session --config a=b
	run -2 ask --probe --no-session --meta '{}'
	run -2 ask --probe hi
	assert_output 'acp-ask: --probe does not go with a prompt'
	run -2 ask --probe -f ndjson
	assert_output 'acp-ask: --probe does not go with --format ndjson'
}

@test "the session of a probe is not remembered: it was tried out, and is closed" {
	agent '{"initialize":{"agentCapabilities":{"sessionCapabilities":{"resume":{}}}}}'
	ask hi
	agent '{"initialize":{"agentCapabilities":{"sessionCapabilities":{"resume":{}}}},"new":{"sessionId":"s2"}}'
	run -1 ask --probe
	rm in
	ask --resume last hi
	assert_equal "$(sent 'select(.method == "session/resume").params.sessionId')" '"s1"'
}

@test "an agent of version 2, and one that dies" {
	agent '{"version":2,"methods":{"session/fork":{"error":{"code":-32601,"message":"no"}},"session/load":{"error":{"code":-32601,"message":"no"}},"session/list":{"result":{"sessions":[]}}}}'
	run -0 ask --probe --protocol 2
	assert_line $'protocol\t2'
	assert_line $'capabilities.session\t{}'
	assert_line $'methods.session/resume.response\tresult'
	run -3 acp-ask --probe -- sh -c 'exit 3'
}

@test "of an agent that dies or is mute at a method, what is known is printed" {
	cat >agent <<-'END'
		#!/usr/bin/env -S jq -cn --unbuffered -f
		inputs | if .method == env.AT then (if env.DIES then halt_error(3) else debug | empty end)
			else {id, result: {protocolVersion: 1, agentInfo: {name: "mute"}, sessionId: "s1"}} end
	END
	chmod +x agent
	AT=session/fork DIES=1 run -3 --separate-stderr acp-ask -q --probe -- ./agent
	assert_line $'agent.name\tmute'
	assert_line $'methods.session/list.response\tresult'
	refute_line --partial session/fork
	assert_equal "${stderr_lines[1]}" 'acp-ask: session/fork: no response'
	AT=session/fork acp-ask --probe -f json -- ./agent >out 2>err &
	wait_for grep -q DEBUG err
	kill -TERM $!
	wait $! || [ $? -eq 143 ]
	assert_equal "$(jq -c '[.agent.name, (.methods | keys)]' out)" '["mute",["session/list"]]'
	AT=session/new DIES=1 run -3 acp-ask -q --probe -- ./agent
	assert_line $'agent.name\tmute'
	assert_line $'methods\t{}'
}
