#!/usr/bin/env bats
# acp-check: the rules of the protocol, each with what breaks it.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load check
	lib_setup
}

teardown() {
	end_left_over
}

@test "a conversation that is right has no findings" {
	turn <<-END | holds
		$(update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}')
		$(update '{"sessionUpdate":"tool_call","toolCallId":"c","title":"t"}')
		< {"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}}
		> {"jsonrpc":"2.0","id":"p","result":{"outcome":{"outcome":"selected","optionId":"\u0079"}}}
		$(update '{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}')
		< {"jsonrpc":"2.0","method":"_x/own","params":{"anything":1}}
	END
}

@test "each rule is broken by a test of this file, or of acp-check-offers.bats" {
	missing=$(acp-check --explain all | sed -n 's/^\([a-z0-9-]*\): .*/\1/p' | while read -r rule; do
		grep -qE "breaks(_unstable)? $rule (violation|tolerated|note)" "$BATS_TEST_FILENAME" "${BATS_TEST_FILENAME%.bats}-offers.bats" || echo "$rule"
	done)
	assert_equal "$missing" ''
	assert_equal "$(acp-check --explain all | grep -cE '^[a-z0-9-]+: (violation|tolerated|note)$')" 59
}

# bats test_tags=slow
@test "conversations that break one rule each, and others that keep all in unusual ways, also spelled otherwise" {
	run -0 python3 "$TOP/tests/model/check_cases.py"
	assert_output --regexp '^([6-9][0-9]|1[0-9]{2}) break a rule, ([6-9][0-9]|1[0-9]{2}) keep all$'
}

# bats test_tags=slow
@test "random sessions that keep all rules have no finding; of one thing that is wrong the rule is found" {
	python3 "$TOP/tests/model/check_walk.py" --count "${ACP_ROUNDS:-$(sample 100 1000)}"
}

@test "the manual page lists the rules, and their levels" {
	diff <(sed -n 's/^\.It Cm \([a-z0-9-]*\) Pq \([a-z]*\)$/\1: \2/p' "$TOP/man/acp-check.1") \
		<(acp-check --explain all | grep -E '^[a-z0-9-]+: (violation|tolerated|note)$')
}

# --- the schema

@test "schema: a value of another type" {
	update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":5}}' | turn | breaks schema violation params.update.content.text
}

@test "schema: a member that is missing, in a list" {
	{ opened; echo '> {"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":""},{"type":"text"}]}}'
		echo '< {"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}'; } | breaks schema violation 'params.prompt[1].text'
}

@test "schema: the params of a method that needs some are missing" {
	{ opened; echo '> {"jsonrpc":"2.0","id":2,"method":"authenticate"}'
		echo '< {"jsonrpc":"2.0","id":2,"result":{}}'; } | breaks schema violation params.methodId
}

@test "schema: a result, an error, an id" {
	{ opened; echo '> {"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}'
		echo '< {"jsonrpc":"2.0","id":2,"result":{"sessions":{}}}'; } >list
	breaks schema-tolerated tolerated result.sessions <list
	{ opened; echo '> {"jsonrpc":"2.0","id":2,"method":"session/list"}'
		echo '< {"jsonrpc":"2.0","id":2,"error":{"code":"x","message":""}}'; } | breaks schema violation error.code
	{ opened; echo '> {"jsonrpc":"2.0","id":null,"method":"session/list"}'
		echo '< {"jsonrpc":"2.0","id":null,"result":{"sessions":[]}}'; } | records >in.rec
	acp-check in.rec
	run -1 acp-check -f json --protocol 2 --level violation in.rec
	assert_equal "$(jq -r 'select(.path == "id") | .expected' <<<"$output" | sort -u)" 'an integer or a string'
}

@test "schema: of a union, the message names the field and not the branches" {
	update '{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","status":"completed","content":[{"type":"diff","path":"/f"}]}' | turn | records >in.rec
	run acp-check in.rec
	assert_line --partial ': tolerated: schema-tolerated: params.update.content[0].newText: expected a value, found nothing'
	update '{"sessionUpdate":"agent_message_chunk","content":{"type":"video"}}' | turn | records >in.rec
	run -1 acp-check in.rec
	assert_line --partial ': params.update.content.type: expected one of text, image, audio, resource_link, resource, found "video"'
}

@test "schema: integers have the range of their format" {
	update '{"sessionUpdate":"usage_update","used":-1,"size":18446744073709551616}' | turn | records >in.rec
	run -1 acp-check in.rec
	assert_line --partial 'params.update.used: expected 0 to 18446744073709551615, found -1'
	assert_line --partial 'params.update.size: expected 0 to 18446744073709551615, found 18446744073709551616'
	update '{"sessionUpdate":"usage_update","used":5.3e4,"size":18446744073709551615}' | turn | holds
}

@test "schema-tolerated: what SDKs replace by the default or leave out" {
	update '{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","status":"completed","kind":"juggle"}' | turn | breaks schema-tolerated tolerated params.update.kind
	update '{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","status":"completed","locations":[{"path":"/a"},5]}' | turn |
		breaks schema-tolerated tolerated 'params.update.locations[1]'
}

@test "unknown-method, unknown-field, unknown-update, unknown-value: notes, and none where the name begins with _" {
	echo '< {"jsonrpc":"2.0","method":"session/dance"}' | turn | breaks unknown-method note method
	update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"","colour":1}}' | turn | breaks unknown-field note params.update.content.colour
	update '{"sessionUpdate":"dance_update"}' | turn | breaks unknown-update note params.update.sessionUpdate
	update '{"sessionUpdate":"config_option_update","configOptions":[{"id":"a","name":"n","type":"select","currentValue":"x","options":[{"value":"x","name":"x"}],"category":"mood"}]}' | turn |
		breaks unknown-value note 'params.update.configOptions[0].category'
	{ echo '< {"jsonrpc":"2.0","method":"_session/dance"}'
		update '{"sessionUpdate":"config_option_update","configOptions":[{"id":"a","name":"n","type":"select","currentValue":"x","options":[{"value":"x","name":"x"}],"category":"_mood","_colour":1}]}'
	} | turn | holds
}

@test "what only the unstable schema has is a note, and none with --unstable" {
	echo '< {"jsonrpc":"2.0","method":"auth/status_update","params":{"state":"authenticated"}}' | turn | records >in.rec
	run acp-check --level note in.rec
	assert_line --partial 'note: unknown-method: method: expected a method of the stable schema (--unstable knows it)'
	acp-check --unstable in.rec
}

@test "relative-path" {
	echo '< {"jsonrpc":"2.0","id":5,"method":"fs/read_text_file","params":{"sessionId":"s","path":"f"}}
		> {"jsonrpc":"2.0","id":5,"result":{"content":""}}' | sed 's/^\t*//' | turn | breaks relative-path violation params.path
	{ opened | sed 's|"/w"|"C:\\\\w"|'; } | holds
	{ opened | sed 's|"/w"|"\\u002fw"|'; } | holds
	{ opened | sed 's|"/w"|"\\u00e9tudes"|'; } | breaks relative-path violation params.cwd
	{ opened | sed 's|"cwd"|"additionalDirectories":["x"],"cwd"|'; } | records >in.rec
	run -1 acp-check --unstable in.rec
	assert_line --partial 'relative-path: params.additionalDirectories[0]: expected an absolute path, found "x"'
	plan() { update '{"sessionUpdate":"plan_update","plan":{"type":"file","planId":"p","uri":"'"$1"'"}}' | turn | sed 's/"clientCapabilities":{/&"plan":{},/'; }
	plan file:///w/plan.md | records >in.rec
	acp-check --unstable in.rec
	for uri in plan.md /w/plan.md :x; do
		plan $uri | breaks_unstable relative-path violation params.update.plan.uri
	done
}

# --- lines

@test "noise, batch, utf8, torn-line" {
	echo '{"t":1,"from":"agent","noise":"npm notice"}' | turn | breaks noise violation
	run acp-check in.rec
	assert_output --partial 'noise: expected a message (expected a value), found npm notice'
	echo '{"t":1,"from":"agent","noise":"[{\"jsonrpc\":\"2.0\",\"method\":\"x\"}]"}' | turn | breaks batch violation
	echo '{"t":1,"from":"agent","noise":" [{\"jsonrpc\":\"2.0\",\"method\":\"x\"}]"}' | turn | breaks batch violation
	echo '{"t":1,"from":"agent","noise":"[INFO] starting"}' | turn | breaks noise violation
	echo '{"t":1,"from":"agent","noise64":"/w=="}' | turn | breaks utf8 violation
	{ turn </dev/null; echo '{"t":1,"event":"eof","from":"agent","torn":true}'; } | breaks torn-line tolerated
}

@test "duplicate-key: anywhere, however the key is spelled" {
	update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"","\u0074ext":""}}' | turn | breaks duplicate-key violation params.update.content
	update '{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","status":"failed","rawInput":{"a":[{"b":1,"b":2}]}}' | turn |
		breaks duplicate-key violation 'params.update.rawInput.a[0]'
	many=$(seq -f '"k%g":0' -s, 40)
	update '{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","status":"failed","rawInput":{'"$many"',"k7":0}}' | turn |
		breaks duplicate-key violation params.update.rawInput
	update '{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","status":"failed","rawInput":{"\ud800":1,"\uD800":2}}' | turn |
		breaks duplicate-key violation params.update.rawInput
	update '{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","status":"failed","rawInput":{"\ud800":1,"\ud801":2,"\ufffd":3}}' | turn | records >in.rec
	run -0 acp-check in.rec
	turn </dev/null | records >in.rec
	acp-tap -f raw in.rec | sed '5s/"id":2/&,"id":2/' >bare
	run -1 acp-check bare
	assert_line --partial 'bare:5: unknown: violation: duplicate-key: expected'
}

@test "line-limit" {
	update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$(printf '%0200000d' 0)"'"}}' | turn >long
	records <long >in.rec
	acp-check in.rec
	run -1 acp-check -f json --max-line 10k in.rec
	assert_equal "$(jq -r .rule <<<"$output")" line-limit
	: breaks line-limit violation
}

@test "jsonrpc" {
	echo '< {"method":"_x"}' | turn | breaks jsonrpc tolerated jsonrpc
}

# --- requests and responses

@test "wrong-side, wrong-kind" {
	echo '> {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[]}}}' | turn |
		breaks wrong-side violation method
	echo '> {"jsonrpc":"2.0","id":9,"method":"session/cancel","params":{"sessionId":"s"}}' | turn no | records >in.rec
	run -1 acp-check -f json in.rec
	assert_equal "$(jq -r .rule <<<"$output" | head -n 1)" wrong-kind
	echo '> {"jsonrpc":"2.0","method":"session/list","params":{}}' | turn | breaks wrong-kind violation id
}

@test "id-in-use: on one side; both sides may use an id at once" {
	{ opened
		echo '> {"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}'
		echo '> {"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}'
		echo '< {"jsonrpc":"2.0","id":2,"result":{"sessions":[]}}'
		echo '< {"jsonrpc":"2.0","id":2,"result":{"sessions":[]}}'
	} | breaks id-in-use violation id
	echo '< {"jsonrpc":"2.0","id":2,"method":"_x"}
		> {"jsonrpc":"2.0","id":2,"result":5}' | sed 's/^\t*//' | turn | holds
}

@test "response-unknown: never asked, or answered before; an error with a null id answers nothing" {
	echo '< {"jsonrpc":"2.0","id":77,"result":{}}' | turn | breaks response-unknown violation id
	echo '< {"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}' | turn | breaks response-unknown violation id
	echo '< {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}' | turn | holds
}

@test "response-unknown: a broken request excuses a response of the other side, not of its sender" {
	turn <<-'END' | records >in.rec
		< {"jsonrpc":"2.0","id":5,"method":5}
		< {"jsonrpc":"2.0","id":99,"result":{}}
		> {"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"not a request"}}
	END
	run acp-check -f json --level note --ignore noise in.rec
	assert_equal "$(jq -r '"\(.rule) \(.from)"' <<<"$output")" 'response-unknown agent'
}

@test "unanswered: --where sees the request" {
	turn no </dev/null | records >in.rec
	run -1 acp-check -f json -w '.params.prompt' in.rec
	assert_equal "$(jq -r .rule <<<"$output")" unanswered
	run -2 acp-check -f json -w '.params.other' in.rec
	assert_output 'acp-check: no message is selected; there are: initialize, session/new, session/prompt'
}

@test "capability: what the client advertised counts by the version that is agreed on" {
	{
		echo '> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":2,"info":{"name":"x","version":"1"},"capabilities":{},"clientCapabilities":{"terminal":true}}}'
		opened | sed '1d'
		echo '< {"jsonrpc":"2.0","id":"t","method":"terminal/create","params":{"sessionId":"s","command":"x"}}'
		echo '> {"jsonrpc":"2.0","id":"t","result":{"terminalId":"1"}}'
	} | records >in.rec
	run acp-check -f json in.rec
	refute_output --partial '"rule":"capability"'
}

# bats test_tags=slow
@test "ids of any length are forgotten beyond 4 MiB" {
	opened | records >in.rec
	perl -e 'for $i (2 .. $ARGV[0]) { print qq({"t":1,"from":"client","msg":{"jsonrpc":"2.0","id":$i,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}}\n),
		qq({"t":1,"from":"agent","msg":{"jsonrpc":"2.0","id":$i,"result":{"sessionId":") . "x" x 1000000 . qq($i"}}}\n) }' "$(sample 80 200)" >>in.rec
	python3 -c 'if True:
		import resource, subprocess
		subprocess.run(["acp-check", "in.rec"], check=True)
		print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' >peak
	[[ ${B##*/} == san ]] || (($(<peak) < 40000))
}

@test "unanswered: its sender still waited; abandoned: it has left, or begins a new connection" {
	turn no </dev/null | breaks unanswered violation id
	{ turn no </dev/null; echo '{"t":2,"event":"eof","from":"agent"}'; echo '{"t":2,"event":"eof","from":"client"}'; } | breaks unanswered violation id
	{ turn no </dev/null; echo '{"t":2,"event":"eof","from":"client"}'; echo '{"t":2,"event":"eof","from":"agent"}'; } | breaks abandoned tolerated id
	{ turn no </dev/null; opened; } | breaks abandoned tolerated id
	{ turn no </dev/null; echo '{"acp-recording":1}'; opened; } | breaks abandoned tolerated id
	turn no </dev/null | records >in.rec
	run -1 acp-check --session s in.rec
	run -2 acp-check --session other in.rec
	assert_output 'acp-check: --session other: no session has this id; there are: s'
	# Nothing is known of what a recording does not hold, and of what goes on in another.
	turn no </dev/null | grep '^>' | holds
	{ turn no </dev/null; echo '{"t":2,"event":"rotated"}'; } | holds
}

@test "unanswered says how long the request was open, and what its receiver sent meanwhile" {
	turn no </dev/null >open
	{ cat open; echo '{"t":3.5,"event":"eof","from":"agent"}'; } | records >in.rec
	run -1 acp-check in.rec
	assert_output 'in.rec:5: 1.000000 client session/prompt: violation: unanswered: id: expected a response within 2.5 s, in which the agent sent nothing, found 2'
	chunk=$(update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}')
	{ cat open; echo "$chunk"; echo "$chunk"; echo '{"t":61,"event":"eof","from":"client"}'; } | records | sed '6,7s/"t":1/"t":2/' >in.rec
	run -0 acp-check in.rec
	assert_output --partial 'tolerated: abandoned: id: expected a response within 60.0 s, in which the agent sent 2 messages, the last after 1.0 s, found 2'
	{ cat open; echo "$chunk"; } | sed 's/^[<>] //' >bare
	run -1 acp-check bare
	assert_output --partial 'unanswered: id: expected a response, while the agent sent 1 message, found 2'
}

# --- the connection

@test "before-initialize: of either side" {
	{ echo '> {"jsonrpc":"2.0","method":"_x"}'; opened; } | breaks before-initialize violation method
	{ echo '< {"jsonrpc":"2.0","method":"_x"}'; opened; } | breaks before-initialize violation method
	# Nobody has said yet what it can do: that is no second finding.
	{
		echo '> {"jsonrpc":"2.0","id":9,"method":"session/resume","params":{"sessionId":"s","cwd":"/w"}}'
		echo '< {"jsonrpc":"2.0","id":9,"error":{"code":-32603,"message":"no"}}'
		opened
	} | breaks before-initialize violation method
}

@test "capability: of the agent, of the client, of content, of servers" {
	echo '> {"jsonrpc":"2.0","method":"_x"}
		> {"jsonrpc":"2.0","id":5,"method":"session/resume","params":{"sessionId":"s","cwd":"/w"}}
		< {"jsonrpc":"2.0","id":5,"result":{}}' | sed 's/^\t*//' | turn | breaks capability violation method
	echo '< {"jsonrpc":"2.0","id":5,"method":"fs/write_text_file","params":{"sessionId":"s","path":"/f","content":""}}
		> {"jsonrpc":"2.0","id":5,"result":{}}' | sed 's/^\t*//' | turn | breaks capability violation method
	turn </dev/null | sed 's|{"type":"text","text":"hi"}|{"type":"image","data":"","mimeType":"image/png"}|' | breaks capability violation 'params.prompt[].type'
	opened | sed 's|"mcpServers":\[\]|"mcpServers":[{"type":"http","name":"n","url":"http://x","headers":[]}]|' | breaks capability violation 'params.mcpServers[].type'
}

@test "capability: of kinds of update" {
	update '{"sessionUpdate":"notice","severity":"info","title":"t"}' | turn | records >in.rec
	run -1 acp-check --unstable in.rec
	assert_line --partial 'agent session/update: violation: capability: params.update.sessionUpdate: expected session.notices, found "notice"'
}

# --- sessions and turns

@test "unknown-session: never opened, or closed" {
	update '{"sessionUpdate":"current_mode_update","currentModeId":"m"}' other | turn | breaks unknown-session violation params.sessionId
	{ opened
		echo '> {"jsonrpc":"2.0","id":2,"method":"session/close","params":{"sessionId":"s"}}'
		update '{"sessionUpdate":"current_mode_update","currentModeId":"m"}'
		echo '< {"jsonrpc":"2.0","id":2,"result":{}}'
		update '{"sessionUpdate":"current_mode_update","currentModeId":"m"}'
	} | breaks unknown-session violation params.sessionId
	# An update may overtake the response that names its session.
	{ opened | sed '$d'; update '{"sessionUpdate":"current_mode_update","currentModeId":"m"}'; opened | tail -n 1; } | holds
}

# bats test_tags=slow
@test "session-twice, terminal-released" {
	new='> {"jsonrpc":"2.0","id":3,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}
< {"jsonrpc":"2.0","id":3,"result":{"sessionId":"\u0073"}}'
	{ opened; echo "$new"; } | breaks session-twice violation result.sessionId
	release='< {"jsonrpc":"2.0","id":"ID","method":"terminal/METHOD","params":{"sessionId":"s","terminalId":"t"}}
> {"jsonrpc":"2.0","id":"ID","result":{}}'
	for method in kill release wait_for_exit; do
		{ opened; sed 's/METHOD/release/; s/ID/a/' <<<"$release"; sed "s/METHOD/$method/; s/ID/b/" <<<"$release"; } |
			breaks terminal-released violation params.terminalId
	done
	# More than are kept.
	release=${release/METHOD/release} release=${release/'"t"'/'"ID"'}
	{ opened; for n in {1..3000}; do printf '%s\n' "${release//ID/$n}"; done; } | holds
}

@test "subagent-unannounced" {
	supports='s/"terminal":true/&,"subagents":{}/'
	update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}' child >child
	update '{"sessionUpdate":"subagent_update","sessionId":"child"}' | cat - child | turn | sed "$supports" | records >in.rec
	acp-check --unstable in.rec
	turn <child | sed "$supports" | records >in.rec
	run -1 acp-check --unstable --level violation in.rec
	assert_output --partial 'violation: subagent-unannounced: params.sessionId'
	: breaks subagent-unannounced violation
}

@test "prompt-overlap: unless the agent queues prompts" {
	echo '> {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}
		< {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}' | sed 's/^\t*//' | turn >twice
	breaks prompt-overlap violation method <twice
	sed 's/"loadSession"/"_meta":{"any":{"promptQueueing":true}},&/' twice | holds
}

@test "outside-turn: not while a session is loaded" {
	{ opened; update '{"sessionUpdate":"plan","entries":[]}'; } | breaks outside-turn tolerated params.update.sessionUpdate
	{ opened; echo '> {"jsonrpc":"2.0","id":2,"method":"session/load","params":{"sessionId":"t","cwd":"/w","mcpServers":[]}}'
		update '{"sessionUpdate":"plan","entries":[]}' t
		echo '< {"jsonrpc":"2.0","id":2,"result":{}}'; } | holds
}

@test "cancelled-turn, cancelled-permission" {
	echo '> {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}' | turn >cancelled
	breaks cancelled-turn violation result.stopReason <cancelled
	sed 's/"end_turn"/"cancelled"/' cancelled | holds
	sed 's/"result":{"stopReason":"end_turn"}/"error":{"code":-32603,"message":"aborted"}/' cancelled | breaks cancelled-turn violation error
	{ update '{"sessionUpdate":"tool_call","toolCallId":"c","title":"t"}'
		echo '< {"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}}'
		echo '> {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}'
		echo '> {"jsonrpc":"2.0","id":"p","result":{"outcome":{"outcome":"selected","optionId":"y"}}}'
	} | turn | sed 's/"end_turn"/"cancelled"/' | breaks cancelled-permission violation result.outcome.outcome
}

@test "cancelled-turn in v2: the state shows the end" {
	{ v2; state running; echo '> {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}'
		state idle ',"stopReason":"end_turn"'; } | breaks cancelled-turn violation params.update.stopReason
	{ v2; state running; update '{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"t","status":"in_progress"}'
		state idle ',"stopReason":"end_turn"'; } | holds
	{ v2; state running; echo '> {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}'
		state idle ',"stopReason":"cancelled"'; state idle ',"stopReason":"end_turn"'; } | holds
}

@test "cancelled-permission: an error is no outcome; in version 2 the agent cancels its requests itself" {
	cancel='> {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}'
	ask='< {"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}}'
	yes='> {"jsonrpc":"2.0","id":"p","result":{"outcome":{"outcome":"selected","optionId":"y"}}}'
	call=$(update '{"sessionUpdate":"tool_call","toolCallId":"c","title":"t"}')
	printf '%s\n' "$call" "$ask" "$cancel" '> {"jsonrpc":"2.0","id":"p","error":{"code":-32603,"message":"no"}}' | turn | sed 's/"end_turn"/"cancelled"/' |
		breaks cancelled-permission violation error
	printf '%s\n' "$call" "$ask" "$yes" "$cancel" | turn | sed 's/"end_turn"/"cancelled"/' | holds
	printf '%s\n' "$call" "$ask" "$cancel" '> {"jsonrpc":"2.0","id":"p","result":{"outcome":{"outcome":"cancelled"}}}' | turn | sed 's/"end_turn"/"cancelled"/' | holds
	{ v2; state running; update '{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"t"}'
		echo '< {"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"s","title":"t","subject":{"type":"tool_call","toolCall":{"toolCallId":"c"}},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}}'
		echo "$cancel"; echo "$yes"; state idle ',"stopReason":"cancelled"'
	} | holds
}

@test "version: one that does not exist is no agreement" {
	opened | sed 's/"protocolVersion":1,/"protocolVersion":65535,/' | breaks version violation result.protocolVersion
	opened | sed '2s/"protocolVersion":1,/"protocolVersion":0,/' | breaks version violation result.protocolVersion
	# The agent does not have what the client asks for, and says what it has.
	opened | sed '1s/"protocolVersion":1,/"protocolVersion":9,/' | holds
}

@test "method-refused: what is advertised, or all agents have; anything else may be unknown" {
	refused='< {"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"no such method"}}'
	printf '%s\n' '> {"jsonrpc":"2.0","id":3,"method":"session/list","params":{}}' "$refused" | turn | breaks method-refused violation error.code
	{ opened | sed '4d'; echo '< {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}'; } | breaks method-refused violation error.code
	printf '%s\n' '< {"jsonrpc":"2.0","id":3,"method":"terminal/create","params":{"sessionId":"s","command":"x"}}' "${refused/</>}" | turn |
		breaks method-refused violation error.code
	printf '%s\n' '> {"jsonrpc":"2.0","id":3,"method":"session/set_mode","params":{"sessionId":"s","modeId":"m"}}' "$refused" | turn | holds
	printf '%s\n' '> {"jsonrpc":"2.0","id":3,"method":"_x","params":{}}' "$refused" | turn | holds
	printf '%s\n' '> {"jsonrpc":"2.0","id":3,"method":"session/list","params":{}}' "${refused/-32601/-32603}" | turn | holds
}

@test "resume-replay: unless version 2 asks for it; the state of the session is no history" {
	with_resume='s/"close":{}/&,"resume":{}/'
	said=$(update '{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"a"}}')
	resume='> {"jsonrpc":"2.0","id":3,"method":"session/resume","params":{"sessionId":"s","cwd":"/w","mcpServers":[]}}'
	done='< {"jsonrpc":"2.0","id":3,"result":{}}'
	{ opened; echo "$resume"; echo "$said"; echo "$said"; echo "$done"; } | sed "$with_resume" | breaks resume-replay violation params.update.sessionUpdate
	{ opened; echo "$resume"; update '{"sessionUpdate":"current_mode_update","currentModeId":"m"}'; update '{"sessionUpdate":"plan","entries":[]}'
		echo "$done"; } | sed "$with_resume" | holds
	{ echo "$resume"; update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}'; echo "$done"; } | turn | sed "$with_resume" | holds
	said=$(update '{"sessionUpdate":"user_message_chunk","messageId":"m","content":{"type":"text","text":"a"}}')
	{ v2; echo "$resume"; echo "$said"; state idle; echo "$done"; } | breaks resume-replay violation params.update.sessionUpdate
	{ v2; echo "${resume/\"cwd\"/\"replayFrom\":{\"type\":\"start\"\},\"cwd\"}"; echo "$said"; state idle; echo "$done"; } | holds
}

@test "late-replay: the history comes before the response to session/load" {
	said=$(update '{"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"a"}}')
	load='> {"jsonrpc":"2.0","id":3,"method":"session/load","params":{"sessionId":"s","cwd":"/w","mcpServers":[]}}'
	done='< {"jsonrpc":"2.0","id":3,"result":{}}'
	{ opened; echo "$load"; echo "$done"; echo "$said"; echo "$said"; } | breaks late-replay violation params.update.sessionUpdate
	{ opened; echo "$load"; echo "$said"; echo "$done"; update '{"sessionUpdate":"current_mode_update","currentModeId":"m"}'; } | holds
	# What the user says is repeated in its turn.
	{ opened; echo "$load"; echo "$done"; turn <<<"$said" | tail -n 3; } | holds
}

@test "usage-missing: of a turn between others, not of one that was cancelled" {
	one() {
		echo '> {"jsonrpc":"2.0","id":'"$1"',"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}'
		cat
		echo '< {"jsonrpc":"2.0","id":'"$1"',"result":{"stopReason":"'"${2-end_turn}"'"}}'
	}
	usage=$(update '{"sessionUpdate":"usage_update","used":1,"size":10}')
	{ opened; one 2 <<<"$usage"; one 3 </dev/null; one 4 <<<"$usage"; } | breaks usage-missing note
	{ opened; one 2 </dev/null; one 3 <<<"$usage"; one 4 <<<"$usage"; } | holds
	# It may come after the response.
	{ opened; one 2 <<<"$usage"; one 3 </dev/null; echo "$usage"; one 4 <<<"$usage"; } | holds
	{ opened; one 2 <<<"$usage"; one 3 cancelled </dev/null; one 4 <<<"$usage"; } | holds
	# And in version 2 while the agent works without a prompt: only the next prompt ends the wait for it.
	work() {
		echo '> {"jsonrpc":"2.0","id":'"$1"',"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"hi"}]}}'
		echo '< {"jsonrpc":"2.0","id":'"$1"',"result":{"messageId":"m'"$1"'"}}'
		state running
		update '{"sessionUpdate":"user_message","messageId":"m'"$1"'","content":[]}'
		cat
		state idle ',"stopReason":"end_turn"'
	}
	own() { state running; cat; state idle ',"stopReason":"end_turn"'; }
	{ v2; work 2 <<<"$usage"; work 3 </dev/null; own <<<"$usage"; work 4 <<<"$usage"; } | holds
	{ v2; work 2 <<<"$usage"; work 3 </dev/null; own </dev/null; work 4 <<<"$usage"; } | breaks usage-missing note
}

@test "capability: next edit suggestions, the system prompt, logging in at a terminal" {
	nes='> {"jsonrpc":"2.0","id":3,"method":"nes/start","params":{}}
< {"jsonrpc":"2.0","id":3,"result":{"sessionId":"n"}}
> {"jsonrpc":"2.0","method":"document/didOpen","params":{"sessionId":"n","uri":"file:///a","languageId":"c","version":1,"text":""}}
> {"jsonrpc":"2.0","id":4,"method":"nes/close","params":{"sessionId":"n"}}
< {"jsonrpc":"2.0","id":4,"result":{}}'
	{ opened; echo "$nes"; } | sed 's/"loadSession":true/&,"nes":{"events":{"document":{"didOpen":{}}}}/' >nes
	records <nes >in.rec
	run -0 acp-check in.rec
	refute_output
	sed 's/"didOpen":{}//' nes | records >in.rec
	run -1 acp-check -f json in.rec
	assert_equal "$(rules <<<"$output")" 'capability violation method'
	opened | sed 's|"cwd"|"systemPrompt":{"type":"append","text":"x"},"cwd"|' | records >in.rec
	run -1 acp-check -f json --unstable in.rec
	assert_output --partial '"rule":"capability"'
	# To replace the agent's own prompt is a capability of its own.
	for mode in append override; do
		opened | sed 's|"cwd"|"systemPrompt":{"mode":"'$mode'","content":[{"type":"text","text":"x"}]},"cwd"|; s/"close":{}/&,"systemPrompt":{}/' | records >$mode.rec
	done
	acp-check --unstable append.rec
	run -1 acp-check -f json --unstable override.rec
	assert_equal "$(rules <<<"$output")" 'capability violation params.systemPrompt.mode'
	assert_output --partial '"expected":"sessionCapabilities.systemPrompt.mode.override"'
	sed -i 's/"systemPrompt":{}/"systemPrompt":{"mode":{"override":{}}}/' override.rec
	acp-check --unstable override.rec
	opened | sed '2s|"agentCapabilities"|"authMethods":[{"type":"terminal","id":"t","name":"T"}],&|' | records >in.rec
	run -1 acp-check -f json --unstable in.rec
	assert_output --partial '"path":"result.authMethods[].type","expected":"auth.terminal"'
	sed -i 's/"terminal":true/&,"auth":{"terminal":true}/' in.rec
	run -0 acp-check -f json --unstable in.rec
}

# --- tool calls and permissions

@test "tool-call-twice, tool-call-unknown, tool-call-finished, tool-call-open" {
	call='{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","status":"completed"}'
	{ update "$call"; update "$call"; } | turn | breaks tool-call-twice tolerated params.update.toolCallId
	update '{"sessionUpdate":"tool_call_update","toolCallId":"d","status":"failed"}' | turn | breaks tool-call-unknown violation params.update.toolCallId
	{ update "$call"; update '{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"in_progress"}'; } | turn |
		breaks tool-call-finished tolerated params.update.status
	{ update "$call"; update '{"sessionUpdate":"tool_call_update","toolCallId":"c","rawOutput":1}'; } | turn | holds
	update "${call/completed/pending}" | turn | breaks tool-call-open tolerated result
}

@test "permission-call, permission-option" {
	ask() {
		echo '< {"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}}'
		echo '> {"jsonrpc":"2.0","id":"p","result":{"outcome":{"outcome":"selected","optionId":"'"$1"'"}}}'
		update '{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}'
	}
	ask y | turn | breaks permission-call tolerated params.toolCall.toolCallId
	{ update '{"sessionUpdate":"tool_call","toolCallId":"c","title":"t"}'; ask n; } | turn | breaks permission-option violation result.outcome.optionId
}

# --- figures

@test "used-above-size, cost-falls" {
	update '{"sessionUpdate":"usage_update","used":11,"size":10}' | turn | breaks used-above-size tolerated params.update.used
	{ update '{"sessionUpdate":"usage_update","used":1,"size":10,"cost":{"amount":2,"currency":"USD"}}'
		update '{"sessionUpdate":"usage_update","used":1,"size":10,"cost":{"amount":1,"currency":"USD"}}'
	} | turn >falls
	breaks cost-falls tolerated params.update.cost.amount <falls
	sed '0,/USD/s//EUR/' falls | holds
	sed '0,/USD/s//\\u0055SD/' falls | breaks cost-falls tolerated params.update.cost.amount
}

@test "usage-turn: a turn without output that has the figures of the one before; a repeated state with others" {
	usage='"usage":{"totalTokens":3,"inputTokens":1,"outputTokens":2}'
	said=$(update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}')
	{ turn <<<"$said"; turn </dev/null | tail -n 2; } | sed "s/\"stopReason\"/$usage,&/" | records >in.rec
	run acp-check -f json --unstable --level note in.rec
	# breaks usage-turn tolerated
	assert_equal "$(jq -r '[.rule, .level, .path] | join(" ")' <<<"$output")" 'usage-turn tolerated result.usage'
	{ turn <<<"$said"; turn <<<"${said/agent/\\u0061gent}" | tail -n 3; } | sed "s/\"stopReason\"/$usage,&/" | records >in.rec
	run -0 acp-check --unstable in.rec
	refute_output
	{ v2; state running; state idle ",\"stopReason\":\"end_turn\",$usage"; state idle ",${usage/3/4}"; } | records >in.rec
	run acp-check -f json --unstable in.rec
	assert_equal "$(jq -r '[.rule, .level, .path] | join(" ")' <<<"$output")" 'usage-turn tolerated params.update.usage'
	{ v2; state running; state idle ",\"stopReason\":\"end_turn\",$usage"; state idle ",$usage"; } | records >in.rec
	run -0 acp-check --level note --unstable in.rec
	refute_output
}

@test "a file that cannot be read to its end leaves no open request to the next" {
	[[ $B != *san* ]] && ! emulated || skip 'sanitizers and the emulator want an address space of their own'
	{ opened; echo '> {"jsonrpc":"2.0","id":2,"method":"session/list"}'; } | records >a.rec
	truncate -s 512M a.rec
	records >b.rec <<-'END'
		> {"jsonrpc":"2.0","id":2,"method":"session/list"}
		< {"jsonrpc":"2.0","id":2,"result":{"sessions":[]}}
	END
	run -125 --separate-stderr bash -c 'ulimit -v 150000; acp-check --max-line 1G a.rec b.rec'
	# The second is musl's word.
	assert_regex "$stderr" '^acp-check: a\.rec: (Cannot allocate|Out of) memory$'
	refute_output --partial id-in-use
	refute_output --partial unanswered
	refute_output --partial a.rec
}

# --- what is no finding, and what is one

@test "an elicitation's form is checked in the scope of a session and of a request, alike" {
	form() {
		echo '< {"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{'"$1"',"mode":"form","message":"","requestedSchema":'"$2"'}}'
		echo '> {"jsonrpc":"2.0","id":7,"result":{"action":"cancel"}}'
	}
	local forms=('{"properties":5}' '{"required":[5]}' '{"title":[5]}' '{"properties":{"e":{"type":"integer","maximum":["a"]}}}')
	for schema in "${forms[@]}"; do
		for scope in '"sessionId":"s"' '"requestId":2'; do
			form "$scope" "$schema" | turn | sed 's/"terminal":true/&,"elicitation":{"form":{}}/' | records >in.rec
			run acp-check -f json -l tolerated in.rec
			assert_output --partial '"path":"params.requestedSchema.'
		done
	done
	for scope in '"sessionId":"s"' '"requestId":2'; do
		form "$scope" '{"type":"object","properties":{"e":{"type":"integer","maximum":5}},"required":["e"]}' | turn |
			sed 's/"terminal":true/&,"elicitation":{"form":{}}/' | holds
	done
}

@test "capability: the mode of an elicitation, more directories, boolean options" {
	ask='< {"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"sessionId":"s","mode":"url","message":"","url":"https://e.org","elicitationId":"e"}}
> {"jsonrpc":"2.0","id":7,"result":{"action":"cancel"}}'
	turn <<<"$ask" | breaks capability violation params.mode
	turn <<<"$ask" | sed 's/"terminal":true/&,"elicitation":{"form":{}}/' | breaks capability violation params.mode
	turn <<<"$ask" | sed 's/"terminal":true/&,"elicitation":{"form":{},"url":{}}/' | holds
	opened | sed 's|"cwd"|"additionalDirectories":["/x"],"cwd"|' | breaks capability violation params.additionalDirectories
	opened | sed 's|"cwd"|"additionalDirectories":["/x"],"cwd"|; s/"close":{}/&,"additionalDirectories":{}/' | holds
	opened | sed 's|"cwd"|"additionalDirectories":[],"cwd"|' | holds
	opened | sed 's|"sessionId":"s"|&,"configOptions":[{"id":"b","name":"B","type":"boolean","currentValue":true}]|' |
		breaks capability violation 'result.configOptions[].type'
	update '{"sessionUpdate":"config_option_update","configOptions":[{"id":"b","name":"B","type":"boolean","currentValue":true}]}' | turn |
		breaks capability violation 'params.update.configOptions[].type'
	opened | sed 's|"sessionId":"s"|&,"configOptions":[{"id":"b","name":"B","type":"boolean","currentValue":true}]|
		s/"terminal":true/&,"session":{"configOptions":{"boolean":{}}}/' | holds
}

@test "unknown-session: not after session/delete of a session that is open; a session/load that failed opens none" {
	with_delete='s/"close":{}/&,"delete":{}/'
	echo '> {"jsonrpc":"2.0","id":3,"method":"session/delete","params":{"sessionId":"s"}}
< {"jsonrpc":"2.0","id":3,"result":{}}' | turn | sed "$with_delete" | holds
	load='> {"jsonrpc":"2.0","id":3,"method":"session/load","params":{"sessionId":"NAME","cwd":"/w","mcpServers":[]}}
< {"jsonrpc":"2.0","id":3,"error":{"code":-32002,"message":"no such session"}}'
	after=$(update '{"sessionUpdate":"current_mode_update","currentModeId":"m"}' other)
	{ opened; echo "${load/NAME/other}"; echo "$after"; } | breaks unknown-session violation params.sessionId
	{ opened; echo "${load/NAME/other}" | sed 's/"error":.*/"result":{}}/'; echo "$after"; } | holds
	# One that was open before is so still.
	{ echo "${load/NAME/s}"; update '{"sessionUpdate":"current_mode_update","currentModeId":"m"}'; } | turn | holds
}

@test "calls that are replayed in a session that is open are no second calls" {
	call=$(update '{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","status":"completed"}')
	pending=$(update '{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"in_progress"}')
	{ turn <<<"$call"
		echo '> {"jsonrpc":"2.0","id":3,"method":"session/load","params":{"sessionId":"s","cwd":"/w","mcpServers":[]}}'
		echo "$call"; echo "$pending"
		echo '< {"jsonrpc":"2.0","id":3,"result":{}}'
	} | holds
}

@test "a permission request announces its call: the tool_call after it is no second one, an update of it is known" {
	ask='< {"jsonrpc":"2.0","id":"p","method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c"},"options":[{"optionId":"y","name":"Yes","kind":"allow_once"}]}}
> {"jsonrpc":"2.0","id":"p","result":{"outcome":{"outcome":"selected","optionId":"y"}}}'
	call=$(update '{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","status":"completed"}')
	printf '%s\n' "$ask" "$call" | turn | breaks permission-call tolerated params.toolCall.toolCallId
	printf '%s\n' "$ask" "$(update '{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}')" | turn |
		breaks permission-call tolerated params.toolCall.toolCallId
	printf '%s\n' "$ask" "$call" "$call" | turn | records >in.rec
	run -0 acp-check -f json in.rec
	assert_equal "$(rules <<<"$output" | cut -d' ' -f1 | sort | paste -sd ' ')" 'permission-call tool-call-twice'
}

@test "cost-falls: not to 0, not after the session was loaded again, not after the agent was restarted" {
	cost() {
		update '{"sessionUpdate":"usage_update","used":1,"size":10,"cost":{"amount":'"$1"',"currency":"USD"}}'
	}
	{ cost 2; cost 0; cost 1; } | turn | holds
	{ cost 2; cost 0; cost 1; cost 0.5; } | turn | breaks cost-falls tolerated params.update.cost.amount
	{ cost 2
		echo '> {"jsonrpc":"2.0","id":3,"method":"session/load","params":{"sessionId":"s","cwd":"/w","mcpServers":[]}}'
		echo '< {"jsonrpc":"2.0","id":3,"result":{}}'; cost 1; } | turn | holds
	{ cost 2 | turn; echo '< {"jsonrpc":"2.0","method":"_acp-revive/restarted","params":{"restarts":1}}'; cost 1; } | holds
}

@test "unanswered: not a request to a client that had left" {
	ask='< {"jsonrpc":"2.0","id":9,"method":"_x/ask"}'
	{ turn <<<''; echo "$ask"; echo '{"t":2,"event":"eof","from":"client"}'; } | grep . | breaks unanswered violation id
	{ turn <<<''; echo '{"t":2,"event":"eof","from":"client"}'; echo "$ask"; echo '{"t":3,"event":"eof","from":"agent"}'; } | grep . | holds
}

@test "MCP over ACP in each of its forms has no violation" {
	server() {
		opened | sed 's|"mcpServers":\[\]|"mcpServers":[{"type":"acp","name":"n",'"$1"'}]|; s/"loadSession":true/&,"mcpCapabilities":{"acp":true}/'
	}
	first() {
		echo '< {"jsonrpc":"2.0","id":"m1","method":"mcp/connect","params":{'"$1"'}}
> {"jsonrpc":"2.0","id":"m1","result":{"connectionId":"k"}}
< {"jsonrpc":"2.0","id":"m2","method":"mcp/message","params":{"connectionId":"k","method":"tools/list","params":{}}}
> {"jsonrpc":"2.0","id":"m2","result":{"tools":[]}}
> {"jsonrpc":"2.0","method":"mcp/message","params":{"connectionId":"k","method":"notifications/progress"}}
< {"jsonrpc":"2.0","id":"m3","method":"mcp/disconnect","params":{"connectionId":"k"}}
> {"jsonrpc":"2.0","id":"m3","result":{}}'
	}
	newest='< {"jsonrpc":"2.0","id":"m4","method":"mcp/message","params":{"serverId":"x","requestId":"r","method":"tools/list","params":{}}}
> {"jsonrpc":"2.0","id":"m4","result":{"result":{"tools":[]}}}'
	for id in '"id":"x"' '"serverId":"x"'; do
		for connect in '"acpId":"x"' '"serverId":"x"'; do
			{ server "$id"; first "$connect"; } | records >in.rec
			acp-check -l violation in.rec
			acp-check -l violation --unstable in.rec
		done
		{ server "$id"; echo "$newest"; } | records >in.rec
		acp-check -l violation in.rec
		acp-check -l violation --unstable in.rec
	done
	# What is no such server or message is looked at as ever.
	{ server '"id":"x"},{"type":"http","name":5,"url":"http://x","headers":[]'; } | sed 's/"acp":true/&,"http":true/' | records >in.rec
	run -1 acp-check -f json -l violation in.rec
	assert_equal "$(rules <<<"$output")" 'schema violation params.mcpServers[1].name'
	echo "${newest/\"requestId\":\"r\",/}" | turn | records >in.rec
	run -1 acp-check -f json -l violation --unstable in.rec
	assert_equal "$(rules <<<"$output")" 'schema violation params.requestId'
}

# --- bounds

@test "4096 sessions are known, and none is reported as unknown once the oldest was forgotten" {
	many() {
		opened | records
		perl -e 'for $i (2 .. $ARGV[0]) { print qq({"t":1,"from":"client","msg":{"jsonrpc":"2.0","id":$i,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}}\n),
			qq({"t":1,"from":"agent","msg":{"jsonrpc":"2.0","id":$i,"result":{"sessionId":"s$i"}}}\n) }' "$1"
		update '{"sessionUpdate":"current_mode_update","currentModeId":"m"}' s | records
		update '{"sessionUpdate":"current_mode_update","currentModeId":"m"}' never | records
	}
	many 4096 >in.rec
	run -1 acp-check -f json in.rec
	assert_equal "$(jq -r '[.rule, .session] | join(" ")' <<<"$output")" 'unknown-session never'
	many 4097 >in.rec
	run -0 acp-check in.rec
	refute_output
}

# bats test_tags=slow
@test "4096 tool calls are known, and none is reported as unknown once the oldest was forgotten" {
	many() {
		perl -e 'for $i (1 .. $ARGV[0]) { print qq(< {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c$i","title":"t","status":"completed"}}}\n) }' "$1"
		update '{"sessionUpdate":"tool_call_update","toolCallId":"never","status":"completed"}'
	}
	many 4096 | turn | breaks tool-call-unknown violation params.update.toolCallId
	many 4097 | turn | holds
	# The first is known as long as there is room for it; the oldest of another session goes before the newest.
	{ many 4096 | head -n 4096; update '{"sessionUpdate":"tool_call","toolCallId":"c1","title":"t","status":"completed"}'; } | turn |
		breaks tool-call-twice tolerated params.update.toolCallId
	{ many 4097 | head -n 4097; update '{"sessionUpdate":"tool_call","toolCallId":"c1","title":"t","status":"completed"}'; } | turn | holds
}

# bats test_tags=slow
@test "the ids of tool calls are remembered up to 4 MiB, and the one that is new always is" {
	big() {
		perl -e 'for $i (1 .. $ARGV[0]) { print qq(< {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"$i), "x" x 1000000,
			qq(","title":"t","status":"completed"}}}\n) }' "$1"
		update '{"sessionUpdate":"tool_call_update","toolCallId":"never","status":"completed"}'
	}
	big 4 | turn | records >in.rec
	run -1 acp-check -f json in.rec
	assert_equal "$(rules <<<"$output")" 'tool-call-unknown violation params.update.toolCallId'
	big 5 | turn | records >in.rec
	run -0 acp-check in.rec
	refute_output
}

@test "a first line that is not a record: noise before bare messages, damage without any" {
	turn <<<'' | grep . | records >in.rec
	acp-tap -f raw in.rec >bare
	{ echo 'Welcome!'; cat bare; } >noisy
	run -1 acp-check -f json noisy
	assert_equal "$(jq -c '[.rule, .record, .from, .found]' <<<"$output")" '["noise",1,"unknown","Welcome!"]'
	printf 'one\ntwo\n' >junk
	run -2 --separate-stderr acp-check junk
	refute_output
	assert_equal "$stderr" 'acp-check: junk:1: not a record at byte 1: expected a value'
	# In a recording it is damage, whatever follows.
	{ echo one; cat in.rec; } >damaged
	run -2 --separate-stderr acp-check damaged
	assert_equal "$stderr" 'acp-check: damaged:1: not a record at byte 1: expected a value'
	# What one file lacks is not the next one's.
	run -0 --separate-stderr acp-check junk bare
	assert_equal "$stderr" 'acp-check: junk:1: not a record at byte 1: expected a value'
	run -1 --separate-stderr acp-check noisy bare
	refute_output --partial bare
}
