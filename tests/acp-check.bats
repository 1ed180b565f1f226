#!/usr/bin/env bats
# acp-check: the rules of the protocol, each with what breaks it.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
}

teardown() {
	end_left_over
}

# Lines as a recording: "> MESSAGE" is the client's, "< MESSAGE" the agent's; anything else is a record.
records() {
	sed -E 's/^> (.*)/{"t":1,"from":"client","msg":\1}/; s/^< (.*)/{"t":1,"from":"agent","msg":\1}/'
}

# A connection whose session s is open, with most capabilities.
opened() {
	cat <<-'END'
		> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true},"terminal":true}}}
		< {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"close":{},"list":{}}}}}
		> {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}
		< {"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}
	END
}

# The same, and a turn is open (id 2); what comes in ends with its end unless $1 is no.
turn() {
	opened
	echo '> {"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"hi"}]}}'
	cat
	[[ ${1-} == no ]] || echo '< {"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}'
}

update() {
	printf '< {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%s","update":%s}}\n' "${2-s}" "$1"
}

# The same as opened, in v2; and the state of its session.
v2() {
	opened | sed 's/"protocolVersion":1,/"protocolVersion":2,"info":{"name":"x","version":"1"},/; s/"clientCapabilities":.*/"capabilities":{}}}/; s/"agentCapabilities":.*/"capabilities":{"session":{"mcp":{"stdio":{}}}}}}/'
}

state() {
	update '{"sessionUpdate":"state_update","state":"'"$1"'"'"${2-}"'}'
}

# The rule, level and path of each finding, without jq, which takes longer to start than all else.
rules() {
	sed -E 's/^\{"level":"([^"]*)","rule":"([^"]*)".*,"path":"([^"]*)".*/\2 \1 \3/; t; s/^\{"level":"([^"]*)","rule":"([^"]*)".*/\2 \1 /'
}

# breaks RULE LEVEL [PATH]: the lines of standard input break just this rule, once.
breaks() {
	records >in.rec
	run acp-check -f json --level note in.rec
	assert_equal "$(rules <<<"$output")" "$1 $2 ${3-}"
	assert_equal "$status" "$([[ $2 == violation ]] && echo 1 || echo 0)"
	run acp-check --level note --ignore "$1" in.rec
	assert_success
	refute_output
}

# What is on standard input breaks nothing.
holds() {
	records >in.rec
	run acp-check --level note in.rec
	assert_success
	refute_output
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

@test "each rule is broken by a test of this file" {
	missing=$(acp-check --explain all | sed -n 's/^\([a-z0-9-]*\): .*/\1/p' | while read -r rule; do
		grep -qE "breaks $rule (violation|tolerated|note)" "$BATS_TEST_FILENAME" || echo "$rule"
	done)
	assert_equal "$missing" ''
	assert_equal "$(acp-check --explain all | grep -cE '^[a-z0-9-]+: (violation|tolerated|note)$')" 36
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
	breaks schema-tolerated tolerated result.sessions <list || breaks schema violation result.sessions <list
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
	{ opened | sed 's|"cwd"|"additionalDirectories":["x"],"cwd"|'; } | records >in.rec
	run -1 acp-check --unstable in.rec
	assert_line --partial 'relative-path: params.additionalDirectories[0]: expected an absolute path, found "x"'
}

# --- lines

@test "noise, batch, utf8, torn-line" {
	echo '{"t":1,"from":"agent","noise":"npm notice"}' | turn | breaks noise violation
	run acp-check in.rec
	assert_output --partial 'noise: expected a message (expected a value), found npm notice'
	echo '{"t":1,"from":"agent","noise":"[{\"jsonrpc\":\"2.0\",\"method\":\"x\"}]"}' | turn | breaks batch violation
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

@test "unanswered: --where sees the request" {
	turn no </dev/null | records >in.rec
	run -1 acp-check -f json -w '.params.prompt' in.rec
	assert_equal "$(jq -r .rule <<<"$output")" unanswered
	run -0 acp-check -f json -w '.params.other' in.rec
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

@test "unanswered: unless its sender left first" {
	turn no </dev/null | breaks unanswered violation id
	{ turn no </dev/null; echo '{"t":2,"event":"eof","from":"agent"}'; echo '{"t":2,"event":"eof","from":"client"}'; } | breaks unanswered violation id
	{ turn no </dev/null; echo '{"t":2,"event":"eof","from":"client"}'; echo '{"t":2,"event":"eof","from":"agent"}'; } | holds
	turn no </dev/null | records >in.rec
	run -1 acp-check --session s in.rec
	run -0 acp-check --session other in.rec
	# Nothing is known of what a recording does not hold.
	turn no </dev/null | grep '^>' | holds
}

# --- the connection

@test "before-initialize: of either side" {
	{ echo '> {"jsonrpc":"2.0","method":"_x"}'; opened; } | breaks before-initialize violation method
	{ echo '< {"jsonrpc":"2.0","method":"_x"}'; opened; } | breaks before-initialize violation method
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

@test "cancelled-turn in v2: the state tells the end" {
	{ v2; state running; echo '> {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}'
		state idle ',"stopReason":"end_turn"'; } | breaks cancelled-turn violation params.update.stopReason
	{ v2; state running; update '{"sessionUpdate":"tool_call_update","toolCallId":"c","title":"t","status":"in_progress"}'
		state idle ',"stopReason":"end_turn"'; } | breaks tool-call-open tolerated params.update.state
	{ v2; state running; echo '> {"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}'
		state idle ',"stopReason":"cancelled"'; state idle ',"stopReason":"end_turn"'; } | holds
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
}

@test "usage-turn: a turn without output that has the figures of the one before; a repeated state with others" {
	usage='"usage":{"totalTokens":3,"inputTokens":1,"outputTokens":2}'
	output=$(update '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"}}')
	{ turn <<<"$output"; turn </dev/null | tail -n 2; } | sed "s/\"stopReason\"/$usage,&/" | records >in.rec
	run acp-check -f json --unstable --level note in.rec
	# breaks usage-turn tolerated
	assert_equal "$(jq -r '[.rule, .level, .path] | join(" ")' <<<"$output")" 'usage-turn tolerated result.usage'
	{ turn <<<"$output"; turn <<<"$output" | tail -n 3; } | sed "s/\"stopReason\"/$usage,&/" | records >in.rec
	acp-check --unstable in.rec
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
