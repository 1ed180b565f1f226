#!/usr/bin/env bats
# acp-check: what the agent offers and the client makes of it, and the states of version 2.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load check
	lib_setup
}

teardown() {
	end_left_over
}

# asks ID METHOD PARAMS, and gives ID RESULT: of the client and the agent.
asks() {
	printf '> {"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}\n' "$@"
}

gives() {
	printf '< {"jsonrpc":"2.0","id":%s,"result":%s}\n' "$@"
}

fails() {
	printf '< {"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":"no"}}\n' "$@"
}

# The session of opened has these members in its response, too.
with() {
	sed 's/"result":{"sessionId":"s"/&,'"$1"'/'
}

# The connection of opened has these members in the response to initialize.
initialized() {
	sed '0,/"agentCapabilities":/s//'"$1"',&/'
}

modes='"modes":{"currentModeId":"a","availableModes":[{"id":"a","name":"A"},{"id":"b","name":"B"}]}'
select='{"id":"model","name":"M","type":"select","currentValue":"a","options":[{"value":"a","name":"A"},{"value":"b","name":"B"}]}'

@test "unlisted-value: a mode, an option, a value of another option; whatever was listed once is known" {
	{ opened | with "$modes"; asks 3 session/set_mode '{"sessionId":"s","modeId":"c"}'; fails 3 -32602; } | breaks unlisted-value violation params.modeId
	{ opened | with "$modes"; asks 3 session/set_mode '{"sessionId":"s","modeId":"\u0062"}'; gives 3 {}; } | holds
	{ opened; asks 3 session/set_mode '{"sessionId":"s","modeId":"c"}'; gives 3 {}; } | holds
	{ opened | with "$modes"; update '{"sessionUpdate":"current_mode_update","currentModeId":"c"}'
		asks 3 session/set_mode '{"sessionId":"s","modeId":"c"}'; gives 3 {}; } | holds
	set='{"sessionId":"s","configId":"model","value":"c"}'
	{ opened | with "\"configOptions\":[$select]"; asks 3 session/set_config_option "$set"; fails 3 -32602; } |
		breaks unlisted-value violation params.value
	{ opened | with "\"configOptions\":[$select]"; asks 3 session/set_config_option "${set/model/effort}"; fails 3 -32602; } |
		breaks unlisted-value violation params.configId
	{ opened | with "\"configOptions\":[$select]"; update "{\"sessionUpdate\":\"config_option_update\",\"configOptions\":[${select//b/c}]}"
		asks 3 session/set_config_option "$set"; gives 3 "{\"configOptions\":[$select]}"
		asks 4 session/set_config_option "${set/\"c\"/\"b\"}"; gives 4 "{\"configOptions\":[$select]}"; } | holds
}

@test "method-refused: a mode where modes are listed, a login where a method is offered" {
	{ opened | with "$modes"; asks 3 session/set_mode '{"sessionId":"s","modeId":"a"}'; fails 3 -32601; } | breaks method-refused violation error.code
	{ opened | initialized '"authMethods":[{"id":"x","name":"X"}]'; asks 3 authenticate '{"methodId":"x"}'; fails 3 -32601; } |
		breaks method-refused violation error.code
}

@test "login-method: offered, and not of the type terminal" {
	methods='"authMethods":[{"id":"x","name":"X"},{"id":"t","type":"terminal","name":"T"}]'
	login() {
		opened | sed '1s/"terminal":true/&,"auth":{"terminal":true}/' | initialized "$methods"
		asks 3 authenticate '{"methodId":"'"$1"'"}'
		gives 3 {}
	}
	login t | breaks login-method violation params.methodId
	login y | breaks login-method violation params.methodId
	login x | holds
	{ opened; asks 3 authenticate '{"methodId":"x"}'; gives 3 {}; } | breaks login-method violation params.methodId
	{ v2; asks 3 auth/logout {}; gives 3 {}; } | breaks login-method violation method
}

@test "list-cursor: only one that this connection has given" {
	list() {
		asks "$1" session/list "{\"cursor\":$2}"
		gives "$1" "{\"sessions\":[],\"nextCursor\":$3}"
	}
	{ opened; list 3 null '"x"'; list 4 '"\u0078"' '""'; list 5 '""' null; } | holds
	{ opened; list 3 null '"x"'; list 4 '"y"' null; } | breaks list-cursor violation params.cursor
}

@test "archive: beside list, and each session says whether it is archived" {
	archives='s/"list":{}/&,"archive":{}/'
	sessions='{"sessions":[{"sessionId":"s","cwd":"/w"}]}'
	{ opened | sed 's/"list":{}/"archive":{}/'; } | breaks_unstable archive violation result.agentCapabilities.sessionCapabilities
	{ opened | sed "$archives"; asks 3 session/list {}; gives 3 "$sessions"; } | breaks_unstable archive violation 'result.sessions[].archived'
	{ opened; asks 3 session/list '{"archived":"only"}'; gives 3 '{"sessions":[]}'; } | breaks_unstable capability violation params.archived
	{ opened; asks 3 session/list {}; gives 3 "$sessions"; } | holds
}

@test "auth-status, system-prompt: of the unstable schema" {
	{ opened | sed 's/"loadSession"/"auth":{"status":{}},&/'; asks 3 auth/status {}; fails 3 -32000; } | breaks_unstable auth-status violation error.code
	prompt() {
		opened | sed 's/"list":{}/&,"systemPrompt":{}/; s|"mcpServers":\[\]|&,"systemPrompt":{"mode":"append","content":['"$1"']}|'
	}
	prompt '' | breaks_unstable system-prompt violation params.systemPrompt.content
	prompt '{"type":"text","text":"a"},{"type":"image","data":"","mimeType":"image/png"}' |
		breaks_unstable system-prompt violation 'params.systemPrompt.content[].type'
}

@test "not-unique: options of a permission, modes, options, login methods" {
	option='{"optionId":"y","name":"Y","kind":"allow_once"}'
	ask() {
		update '{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","status":"completed"}'
		echo '< {"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c"},"options":['"$1"']}}'
		echo '> {"jsonrpc":"2.0","id":"p","result":{"outcome":{"outcome":"selected","optionId":"y"}}}'
	}
	ask "$option,${option/y/\\u0079}" | turn | breaks not-unique violation 'params.options[].optionId'
	ask "$option,${option/y/n}" | turn | holds
	opened | with "${modes/\"b\"/\"a\"}" | breaks not-unique violation 'result.modes.availableModes[].id'
	opened | with "\"configOptions\":[$select,$select]" | breaks not-unique violation 'result.configOptions[]'
	opened | initialized '"authMethods":[{"id":"x","name":"X"},{"id":"x","name":"X"}]' | breaks not-unique violation 'result.authMethods[].id'
}

@test "config-value, command-name: version 2 says what a list may have" {
	option=${select/\"id\"/\"configId\"}
	v2 | with "\"configOptions\":[$option]" | holds
	v2 | with "\"configOptions\":[${option/currentValue\":\"a/currentValue\":\"c}]" | breaks config-value violation 'result.configOptions[]'
	opened | with "\"configOptions\":[${select/currentValue\":\"a/currentValue\":\"c}]" | holds
	commands() {
		v2
		update '{"sessionUpdate":"available_commands_update","availableCommands":[{"type":"command","name":"a","description":""},{"type":"command","name":"'"$1"'","description":""}]}'
	}
	commands b | holds
	commands 'a b' | breaks command-name violation 'params.update.availableCommands[].name'
	commands a | breaks command-name violation 'params.update.availableCommands[].name'
}

@test "resume-state: a state comes before the response" {
	resume() {
		v2
		state idle
		asks 3 session/close '{"sessionId":"s"}'
		gives 3 {}
		asks 4 session/resume '{"sessionId":"s","cwd":"/w"}'
	}
	{ resume; gives 4 {}; state idle; } | breaks resume-state violation result
	{ resume; state idle; gives 4 {}; } | holds
	{ resume; fails 4 -32002; } | holds
}

@test "state-running, user-message, stop-reason: what is reported of a prompt in version 2" {
	said() {
		update '{"sessionUpdate":"'"$1"'","messageId":"'"$2"'","content":[]}'
	}
	prompt() {
		v2
		asks 2 session/prompt '{"sessionId":"s","prompt":[{"type":"text","text":"a"}]}'
		gives 2 '{"messageId":"m"}'
	}
	ended=',"stopReason":"end_turn"'
	{ prompt; said user_message m; state running; said agent_message n; state idle "$ended"; } | holds
	for kind in agent_message '\u0061gent_message'; do
		{ prompt; said user_message m; said "$kind" n; state idle "$ended"; } | breaks state-running tolerated params.update.state
	done
	{ prompt; state running; said agent_message n; state idle "$ended"; } | breaks user-message tolerated params.update.state
	{ prompt; said user_message m; state running; state idle; } | breaks stop-reason note params.update.stopReason
	# A state that repeats is not the end of what was just accepted; nor is work without a prompt a prompt.
	{ prompt; state idle; said user_message '\u006d'; state running; state idle "$ended"; state running; state idle "$ended"; } | holds
	{ v2; asks 2 session/prompt '{"sessionId":"s","prompt":[{"type":"text","text":"a"}]}'; said user_message m; gives 2 '{"messageId":"m"}'; state running; state idle "$ended"; } | holds
}

@test "cancelled-turn: session/close ends what was open" {
	closed() {
		asks 3 session/close '{"sessionId":"s"}'
		gives 3 {}
	}
	closed | turn | breaks cancelled-turn violation result.stopReason
	# An agent cannot cancel its turn.
	echo '< {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}' | turn | breaks wrong-side violation method
	{ v2; state running; closed; } | breaks cancelled-turn violation result
	{ v2; state running; asks 3 session/close '{"sessionId":"s"}'; state idle ',"stopReason":"cancelled"'; gives 3 {}; } | holds
}

@test "background-work: in every state, and only what was announced" {
	list() {
		state idle ',"background":['"$1"']'
	}
	{ v2; list; state idle; } | breaks background-work violation params.update.background
	{ v2; list '{"type":"tool_call","toolCallId":"c"}'; } | breaks background-work violation 'params.update.background[].toolCallId'
	{ v2; list '{"type":"terminal","terminalId":"t"}'; } | breaks background-work violation 'params.update.background[].terminalId'
	{ v2; update '{"sessionUpdate":"terminal_update","terminalId":"t"}'; list '{"type":"terminal","terminalId":"t"},{"type":"_x"}'; list; } | holds
}

@test "compaction-ended: neither a chunk nor a second beginning comes after the end" {
	compaction() {
		update '{"sessionUpdate":"compaction_update","compactionId":"k","status":"'"$1"'"}'
	}
	chunk=$(update '{"sessionUpdate":"compaction_summary_chunk","compactionId":"k","content":{"type":"text","text":"a"}}')
	compacts() {
		opened | sed '1s/"terminal":true/&,"session":{"compaction":{}}/'
		compaction in_progress
		echo "$chunk"
		echo "$chunk"
		compaction completed
	}
	{ compacts; compaction completed; } | holds
	{ compacts; compaction in_progress; } | breaks compaction-ended violation params.update.compactionId
	{ compacts; echo "$chunk"; } | breaks compaction-ended violation params.update.compactionId
}

@test "capability: cancelling a call, changing a range of a text, counting in a line" {
	call=$(update '{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"t","status":"in_progress"}')
	cancel=$(asks 3 tool_call/cancel '{"sessionId":"s","toolCallId":"c"}'; gives 3 {})
	{ v2; echo "$call"; echo "$cancel"; } | breaks capability violation params.toolCallId
	{ v2; echo "${call/\"title\"/\"capabilities\":{\"cancel\":{\}\},\"title\"}"; echo "$cancel"; } | holds
	nes() {
		opened | sed '2s/"loadSession"/"nes":{"events":{"document":{"didChange":{"syncKind":"'"$1"'"}}}},&/'
		asks 3 nes/start {}
		gives 3 '{"sessionId":"n"}'
		echo '> {"jsonrpc":"2.0","method":"document/didChange","params":{"sessionId":"n","uri":"file:///a","version":2,"contentChanges":[{"text":"","range":{"start":{"line":0,"character":0},"end":{"line":0,"character":1}}}]}}'
	}
	nes full | breaks capability violation 'params.contentChanges[].range'
	nes incremental | holds
	opened | sed '2s/"loadSession"/"positionEncoding":"utf-8",&/' | breaks capability violation result.agentCapabilities.positionEncoding
	opened | sed '1s/"terminal"/"positionEncodings":["utf-8"],&/; 2s/"loadSession"/"positionEncoding":"utf-8",&/' | holds
}
