#!/usr/bin/env bats
# acp-check: options, formats and the ways of meeting a stream; what real agents and clients send.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load attach
	attach_setup
	# A client's lines, in which the second is wrong, and the agent's responses.
	cat >down <<-'END'
		{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}
		{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":7,"mcpServers":[]}}
	END
	cat >up <<-'END'
		{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}
		{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}
	END
	cat >agent <<-'END'
		#!/bin/sh
		jq --unbuffered -c '{jsonrpc: "2.0", id: .id} + ({
			initialize: {result: {protocolVersion: 1}},
			"session/new": {result: {sessionId: "s"}}
		}[.method] // empty)'
	END
	chmod +x agent
	paste -d '\n' <(sed 's/.*/{"t":1.5,"from":"client","msg":&}/' down) <(sed 's/.*/{"t":2,"from":"agent","msg":&}/' up) >s.rec
	WRONG='client session/new: violation: schema: params.cwd: expected a string, found 7'
}

teardown() {
	attach_teardown
}

# --- what real peers send

# Recordings of claude-agent-acp, codex-acp, gemini-cli (without a model) and qwen-code (with a stand-in for the model). What
# is found in them is right: see the column on the right.
# bats test_tags=slow
@test "the fixtures: nothing is found that the specification does not say" {
	for file in "$FIXTURES"/*.jsonl "$FIXTURES"/demo.rec "$FIXTURES"/agents/*.jsonl "$FIXTURES"/check/*.rec; do
		run acp-check -f json --level note --unstable "$file"
		jq -r '[(.file | sub(".*/"; "")), .rule, .path] | join(" ")' <<<"$output"
	done >found
	# file, rule, path: why it is right
	cat >argued <<-'END'
		codex-subagent.jsonl unknown-field result.agentCapabilities.sessionCapabilities.subagents: SessionCapabilities has no such member in v1
		codex-subagent.jsonl unknown-field result.models: NewSessionResponse had it in earlier drafts; it has configOptions now
		codex-subagent.jsonl unknown-value result.configOptions[1].category: "collaboration_mode": custom categories begin with _
		gemini-cli-0.61.0.rec abandoned id: it had no model to ask; the client left after 20 s
		gemini-cli-0.61.0.rec unknown-field result.models: as in codex-subagent.jsonl
		qwen-code-0.15.10.rec permission-call params.toolCall.toolCallId: no tool_call before it (tool-calls: the agent SHOULD report it)
		qwen-code-0.15.10.rec relative-path params.update.content[0].path: "note.txt" (schema, Diff: the absolute file path being modified)
		qwen-code-0.15.10.rec unknown-field result.models: as in codex-subagent.jsonl
		v2-subagent.jsonl unknown-field params.capabilities.session: ClientCapabilities of v2 has auth and elicitation only
		v2-subagent.jsonl unknown-field params.capabilities.subagents: likewise
	END
	diff <(sed 's/: .*//' argued) <(grep . found | sort)
}

@test "the fixtures by the stable schemas: what only the unstable ones have is a note, or an update that clients ignore" {
	for file in "$FIXTURES"/*.jsonl "$FIXTURES"/agents/*.jsonl; do
		acp-check "$file"
	done
}

# --- recordings

@test "a finding is one line: file, record, time, side, method, level, rule, path, expected, found" {
	run -1 acp-check s.rec
	assert_output "s.rec:3: 1.500000 $WRONG"
	run -1 acp-check - <s.rec
	assert_output "standard input:3: 1.500000 $WRONG"
}

@test "bare messages, and the conductor's traces, are read; without times none are printed" {
	run -1 acp-check down
	assert_line --partial "down:2: $WRONG"
	acp-tap -f trace s.rec >s.jsons
	run -1 acp-check s.jsons
	assert_output "s.jsons:3: 1.500000 $WRONG"
}

@test "several files: each is checked by itself, and one violation is enough" {
	head -n 2 s.rec >good.rec
	run -1 acp-check good.rec s.rec good.rec
	assert_output "s.rec:3: 1.500000 $WRONG"
	acp-check good.rec good.rec
}

@test "a header in a recording begins a new connection: what was open ends, which is no violation" {
	head -n 3 s.rec | sed 's/"cwd":7/"cwd":"\/"/' >part
	{ cat part; echo '{"acp-recording":1}'; cat part; echo '{"t":3,"from":"agent","msg":{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}}'; } >two.rec
	run -0 acp-check two.rec
	assert_output --partial 'two.rec:3: 1.500000 client session/new: tolerated: abandoned: '
	((${#lines[@]} == 1))
}

@test "a recording with a gap, or torn: what cannot be known is not reported" {
	{ echo '{"t":0,"event":"lost","count":2,"why":"No space left on device"}'
		echo '{"t":1,"from":"agent","msg":{"jsonrpc":"2.0","id":9,"result":{}}}'
		echo '{"t":1,"from":"client","msg":{"jsonrpc":"2.0","id":10,"method":"session/prompt","params":{"sessionId":"x","prompt":[]}}}'
		printf '{"t":2,"from":"agent","m'; } >gap.rec
	run -0 --separate-stderr acp-check gap.rec
	assert_output ''
	assert_output ''
	assert_equal "$stderr" 'acp-check: gap.rec:4: the last line is torn at byte 25: the text ends in a string'
}

@test "a damaged recording: status 2" {
	sed -i '2s/.*/no/' s.rec
	run -2 --separate-stderr acp-check s.rec
	assert_equal "$stderr" "acp-check: s.rec:2: not a record at byte 1: expected a value"
}

@test "noise that was meant as a message has no findings that follow from it" {
	sed -i '1s/"id":0/"id":0,"id":0/' down
	paste -d '\n' down up >both
	run -1 acp-check both
	assert_line --partial 'violation: duplicate-key'
	refute_line --partial 'response-unknown'
}

# bats test_tags=slow
@test "more sessions and calls than are kept: none is reported as unknown" {
	jq -nrc '
		def update(s; u): {t: 1, from: "agent", msg: {jsonrpc: "2.0", method: "session/update", params: {sessionId: s, update: u}}};
		{t: 0, from: "client", msg: {jsonrpc: "2.0", id: 0, method: "initialize", params: {protocolVersion: 1}}},
		{t: 0, from: "agent", msg: {jsonrpc: "2.0", id: 0, result: {protocolVersion: 1}}},
		(range(5000) as $n | "s\($n)" as $s
			| {t: 1, from: "client", msg: {jsonrpc: "2.0", id: $n, method: "session/new", params: {cwd: "/", mcpServers: []}}},
			{t: 1, from: "agent", msg: {jsonrpc: "2.0", id: $n, result: {sessionId: $s}}},
			{t: 1, from: "client", msg: {jsonrpc: "2.0", id: $n, method: "session/prompt", params: {sessionId: $s, prompt: []}}},
			update($s; {sessionUpdate: "tool_call", toolCallId: "c", title: "", status: "failed"})),
		(range(5000) | update("s\(.)"; {sessionUpdate: "tool_call_update", toolCallId: "c", status: "completed"})),
		(range(5000) | {t: 2, from: "agent", msg: {jsonrpc: "2.0", id: ., result: {stopReason: "end_turn"}}})' >many.rec
	acp-check many.rec
}

# bats test_tags=slow
@test "a session that was forgotten: nothing is found in the rest of its turn" {
	jq -nrc '
		def client(m): {t: 1, from: "client", msg: ({jsonrpc: "2.0"} + m)};
		def agent(m): {t: 1, from: "agent", msg: ({jsonrpc: "2.0"} + m)};
		def update(u): agent({method: "session/update", params: {sessionId: "s0", update: u}});
		client({id: "i", method: "initialize", params: {protocolVersion: 1}}), agent({id: "i", result: {protocolVersion: 1}}),
		(range(4200)
			| client({id: ., method: "session/new", params: {cwd: "/", mcpServers: []}}), agent({id: ., result: {sessionId: "s\(.)"}}),
			if . == 0 then
				client({id: "p", method: "session/prompt", params: {sessionId: "s0", prompt: []}}),
				update({sessionUpdate: "tool_call", toolCallId: "c", title: ""})
			else empty end),
		update({sessionUpdate: "tool_call_update", toolCallId: "c", status: "completed"}),
		update({sessionUpdate: "agent_message_chunk", content: {type: "text", text: "x"}}),
		agent({id: "p", result: {stopReason: "end_turn"}})' >many.rec
	run -0 acp-check many.rec
	assert_output ''
}

# bats test_tags=slow
@test "a response without a side is for the request that was sent last, where both sides have used its id" {
	cat >s.nd <<-'END'
		{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}
		{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}
		{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}
		{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}
		{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}
		{"jsonrpc":"2.0","id":2,"method":"_who","params":{}}
		{"jsonrpc":"2.0","id":2,"result":{}}
		{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","status":"completed"}}}
		{"jsonrpc":"2.0","id":2,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c"},"options":[{"optionId":"a","name":"A","kind":"allow_once"}]}}
		{"jsonrpc":"2.0","id":2,"result":{"outcome":{"outcome":"selected","optionId":"a"}}}
		{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}
	END
	run -0 acp-check s.nd
	assert_output ''
	acp-check <s.nd >/dev/null
}

# bats test_tags=slow
@test "a violation is found after any number of notes in its message" {
	jq -nc '[range(99) | {key: "x\(.)", value: 1}] | from_entries + {cwd: 7, mcpServers: []}' >params
	sed -i "s/{\"cwd\":7.*\]}/$(<params)/" s.rec
	grep -q '"x98":1,"cwd":7' s.rec
	run -1 acp-check s.rec
	assert_output "s.rec:3: 1.500000 $WRONG"
	run -1 acp-check --level note s.rec
	((${#lines[@]} <= 32))
}

@test "a recording of an agent that hangs says so, as README has it" {
	{ cat down; echo '{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}'; } | sed 's/"cwd":7/"cwd":"\/"/' >client
	acp-tap -o hang.rec -- acp-fault --hang session/prompt -- ./agent <client >out
	run -0 acp-check hang.rec
	assert_output --regexp '^hang.rec:[0-9]+: [0-9.]+ client session/prompt: tolerated: abandoned: id: expected a response within [0-9.]+ s, in which the agent sent .*, found 2$'
}

@test "-F: a recording is checked as it grows, until a signal" {
	head -n 2 s.rec >grows.rec
	acp-check -F grows.rec >found 3>&- &
	sed -n 3p s.rec >>grows.rec
	wait_for grep -q "$WRONG" found
	kill "$!"
	wait "$!" || status=$?
	assert_equal "$status" 1
	run -2 acp-check -F s.rec s.rec
	assert_output --partial '--follow requires one recording'
}

# --- options

@test "--level, --ignore, --from, --match: what is not reported does not count" {
	sed -i 's/"mcpServers":\[\]/&,"colour":1/' s.rec
	run -1 acp-check --level note s.rec
	assert_equal "${#lines[@]}" 2
	run -1 acp-check --level violation s.rec
	assert_equal "${#lines[@]}" 1
	acp-check --from agent s.rec
	acp-check -m initialize s.rec
	acp-check --ignore schema s.rec
	run -0 acp-check --level note --ignore schema s.rec
	assert_output --partial 'note: unknown-field: params.colour'
	run -1 acp-check -m session/new --kind request s.rec
}

@test "--explain: a rule and its source; a rule that there is not is refused" {
	run -0 acp-check --explain cancelled-turn
	assert_line --index 0 'cancelled-turn: violation'
	assert_output --partial '(prompt-turn, cancellation: the agent MUST respond with the cancelled'
	run -0 acp-check --explain all
	assert_output --partial 'The schemas are those of @agentclientprotocol/sdk 2.4.0.'
	(($(awk 'length > 80' <<<"$output" | wc -l) == 0))
	for option in --explain --ignore; do
		run -2 acp-check $option nonsense s.rec
		assert_output "acp-check: $option nonsense: expected the name of a rule (--explain all lists them)"
	done
	run -2 acp-check --level worst s.rec
	run -2 acp-check --protocol 3 s.rec
	run -2 acp-check -f xml s.rec
}

@test "--protocol: the version is that of initialize, unless it is given" {
	sed 's/"protocolVersion":1/"protocolVersion":2/' s.rec >v2.rec
	run -1 acp-check v2.rec
	assert_output --partial 'v2.rec:1: 1.500000 client initialize: violation: schema: params.info: expected a value, found nothing'
	run -1 acp-check --protocol 1 v2.rec
	assert_output "v2.rec:3: 1.500000 $WRONG"
	run -1 acp-check --protocol 2 s.rec
	assert_output --partial 'params.info'
	# Prompts may overlap in version 2.
	for id in 2 3; do
		echo '{"t":3,"from":"client","msg":{"jsonrpc":"2.0","id":'$id',"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}}'
	done >>s.rec
	run -1 acp-check s.rec
	assert_output --partial ' prompt-overlap: '
	run -1 acp-check --protocol 2 s.rec
	refute_output --partial ' prompt-overlap: '
}

@test "-f json: an object a line" {
	run -1 acp-check -f json s.rec
	assert_equal "$(jq -cS . <<<"$output")" '{"expected":"a string","file":"s.rec","found":"7","from":"client","kind":"request","level":"violation","method":"session/new","path":"params.cwd","record":3,"rule":"schema","t":1.5}'
}

@test "-f junit: a case for each rule, failed where it is broken" {
	for _ in {1..30}; do cat s.rec; done >many.rec
	run -1 acp-check -f junit -o out.xml --ignore noise many.rec
	assert_output ''
	python3 - out.xml <<-'END'
		import sys, xml.etree.ElementTree as tree
		suite = tree.parse(sys.argv[1]).getroot().find('testsuite')
		cases = {c.get('name'): c for c in suite}
		assert suite.get('failures') == '1' and suite.get('skipped') == '1' and int(suite.get('tests')) == len(cases), suite.attrib
		failure = cases['schema'].find('failure')
		assert failure.get('message').startswith('30x: '), failure.attrib
		assert failure.text.count('\n') == 21 and failure.text.endswith('... and 10 more\n'), failure.text
		assert cases['noise'].find('skipped') is not None and cases['batch'].find('failure') is None
		assert 'unknown-field' not in cases
	END
}

@test "-f github: a command for each finding, of which nothing ends it early" {
	sed 's/"cwd":7/"cwd":["%,:\\n"]/' s.rec >'a,b:c%.rec'
	run -1 acp-check -f github 'a,b:c%.rec'
	assert_output '::error file=a%2Cb%3Ac%25.rec,line=3,title=schema::client session/new: params.cwd: expected a string, found ["%25,:\n"]'
	run -1 --separate-stderr acp-check -f github <down
	assert_output "$(<down)"
	assert_equal "$stderr" '::error title=schema::client session/new: params.cwd: expected a string, found 7'
	sed -i 's/"mcpServers":\[\]/&,"colour":1/' s.rec
	run -1 acp-check -f github -l note s.rec
	assert_line '::notice file=s.rec,line=3,title=unknown-field::client session/new: params.colour: expected a member that the schema has, or one that begins with _, found 1'
}

@test "-f sarif: one document, with the rules, whatever is found" {
	head -n 2 s.rec >good.rec
	acp-check -f sarif good.rec >none
	assert_equal "$(jq -c '[.version, (.runs | length), .runs[0].results, (.runs[0].tool.driver.rules | length)]' none)" \
		'["2.1.0",1,[],'"$(acp-check --explain all | grep -cE '^[a-z0-9-]+: [a-z]+$')]"
	cp s.rec 'a b%.rec'
	run -1 acp-check -f sarif -l note -o some "$PWD/s.rec" 'a b%.rec'
	jq -e '.runs[0] as $run | $run.results | length == 2 and all(.ruleId == $run.tool.driver.rules[.ruleIndex].id)' some
	assert_equal "$(jq -c '.runs[0].results[1]' some)" '{"ruleId":"schema","ruleIndex":0,"level":"error","message":{"text":"client session/new: params.cwd: expected a string, found 7"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a%20b%25.rec"},"region":{"startLine":3}}}]}'
	assert_equal "$(jq -r '.runs[0].results[0].locations[0].physicalLocation.artifactLocation.uri' some)" "file://$PWD/s.rec"
	run -2 acp-check -f sarif -a -o some s.rec
	assert_output 'acp-check: --append does not go with --format sarif'
}

@test "--baseline: what is expected does not count; what is not found any more is said" {
	sed 's/"mcpServers":\[\]/"mcpServers":[{"type":"http","name":5,"url":"x","headers":[]},{"type":"http","name":6,"url":"x","headers":[]}]/' s.rec >two.rec
	run -1 acp-check --write-baseline known --ignore capability two.rec
	assert_equal "$(grep -v '^#' known)" "$(printf 'schema\tsession/new\tparams.%s\n' cwd 'mcpServers[].name')"
	run -0 acp-check --baseline known --ignore capability two.rec
	refute_output
	# Not that one.
	sed 's/"url":"x"/"url":7/' two.rec >three.rec
	run -1 acp-check -f json --baseline known --ignore capability three.rec
	assert_equal "$(jq -r .path <<<"$output")" 'params.mcpServers[0].url'
	run -0 acp-check --baseline known s.rec
	assert_output 'acp-check: known: not found any more: schema session/new params.mcpServers[].name'
	run -1 acp-check --baseline known --strict-baseline s.rec
	run -2 acp-check --strict-baseline s.rec
	run -2 acp-check --baseline missing s.rec
	assert_output 'acp-check: missing: No such file or directory'
	cp s.rec before
	run -125 acp-check --write-baseline s.rec s.rec
	cmp s.rec before
}

@test "--rules: a line for each rule, with its level, sentence, source and address; and what is not checked" {
	acp-check --rules >rules
	awk -F '\t' 'NF != 5 { exit 1 }' rules
	diff <(awk -F '\t' '$1 != "-" { print $1 ": " $2 }' rules) <(acp-check --explain all | grep -E '^[a-z0-9-]+: (violation|tolerated|note)$')
	grep -q $'^-\tnot checked: ' rules
}

# bats test_tags=slow
@test "at a terminal findings are grouped by rule, the worst first, with a verdict at the end" {
	on_terminal() {
		python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' "$@" </dev/null | tr -d '\r'
	}
	assert_equal "$(NO_COLOR=1 on_terminal acp-check s.rec)" "schema: violation, 1 time
  A value does not match the schema of its method, and a peer that follows
  the schema refuses the message.
    s.rec:3: 1.500000 client session/new: params.cwd: expected a string,
    found 7

4 messages, 1 session: 1 violation"
	assert_equal "$(on_terminal acp-check --ignore schema s.rec)" '4 messages, 1 session: no findings'
	# What was asked for is not there: no verdict.
	assert_equal "$(on_terminal acp-check --session zzz s.rec)" "$(acp-check --session zzz s.rec 2>&1)"
	run -0 acp-check --ignore schema s.rec
	refute_output
	# In colour, and the same in a pipe that wants it.
	on_terminal acp-check s.rec >shown
	assert_equal "$(head -n 1 shown)" $'\e[1;31mschema\e[0m: violation, 1 time'
	run -1 acp-check --color always s.rec
	diff shown - <<<"$output"
	assert_equal "$(on_terminal acp-check --color never s.rec | head -n 1)" 'schema: violation, 1 time'
	run -2 acp-check --color always -f json s.rec
	# What goes to a file has a line each.
	on_terminal acp-check -o found s.rec >shown
	assert [ ! -s shown ]
	assert_equal "$(<found)" "s.rec:3: 1.500000 $WRONG"
}

@test "at a terminal no line is longer than 76 columns, however long words and names are; of many findings the first 20 are shown" {
	name=$(printf 'ä%.0s' {1..90})
	jq -c --arg name "$name" 'if .msg.method == "session/new" then .msg.params[$name] = "\u001b[2J" + $name | .msg.params.mcpServers = [range(30)] else . end' s.rec >"$name.rec"
	run -1 acp-check --color always -l note "$name.rec"
	assert_equal "$(awk '{ gsub(/\033\[[0-9;]*m/, "") } length > 76' <<<"$output")" ''
	python3 -c 'import sys; sys.stdin.buffer.read().decode()' <<<"$output"
	refute_output --partial $'\e[2J'
	assert_line '    ... and 11 more (a pipe gets all)'
	assert_equal "$(grep -c 'params.mcpServers' <<<"$output")" 19
	[[ $(grep -n -e '^.*schema.*: violation' -e 'unknown-field' <<<"$output" | cut -d : -f 2 | head -n 1) == *schema* ]]
}

@test "options that select no message are no check: status 2, and what there is" {
	run -2 acp-check -m session/nwe s.rec
	assert_output 'acp-check: no message is selected (did you mean session/new?); there are: initialize, session/new'
	run -2 acp-check --session zzz s.rec
	run -0 acp-check --from agent s.rec
	# A stream is not judged by that.
	run -0 --separate-stderr acp-check -m session/nwe <down
	assert_equal "$stderr" 'acp-check: no message is selected (did you mean session/new?); there are: initialize, session/new'
}

@test "-o: findings go to the file, which has mode 0600; -a appends" {
	run -1 acp-check -o log s.rec
	run -1 acp-check -a -o log s.rec
	assert_equal "$(wc -l <log) $(stat -c %a log)" '2 600'
}

@test "a reader that leaves early, a full disk: no hang, and the status says so" {
	perl -e 'local $/; print <> x 3000' s.rec >many.rec
	timeout 20 acp-check many.rec | head -n 1
	run -125 timeout 20 acp-check -o /dev/full many.rec
}

# --- streams

@test "a pipe: every byte passes, findings go to standard error, the status is 1" {
	run -1 --separate-stderr acp-check <down
	assert_output "$(<down)"
	assert_regex "$stderr" "^acp-check:2: [0-9.]+ client session/new: violation: schema: params.cwd: expected a string, found 7\$"
	printf 'noise\r\n\xff{\n\n[]' | acp-check >out 2>err || true
	cmp out <(printf 'noise\r\n\xff{\n\n[]')
	assert_equal "$(grep -cE 'violation: (noise|utf8|batch)' err)" 4
}

@test "around an agent: both sides, and the agent's status comes first" {
	run -1 --separate-stderr acp-check -- ./agent <down
	assert_output "$(<up)"
	assert_regex "$stderr" "acp-check:2: [0-9.]+ $WRONG"
	echo 'exit 7' >>agent
	run -7 --separate-stderr acp-check -- ./agent <down
	run -0 --separate-stderr acp-check --ignore schema -- sh -c './agent; true' <down
	assert_equal "$stderr" ''
}

@test "around an agent that dies: the requests that it leaves are reported, with where they were" {
	printf '#!/bin/sh\nread -r line\nkill -9 $$\n' >agent
	mkfifo pipe
	acp-check -- ./agent <pipe >out 2>err &
	exec 9>pipe
	head -n 1 down >&9
	wait "$!" || status=$?
	assert_equal "$status" 137
	assert_regex "$(<err)" 'acp-check:1: [0-9.]+ client initialize: violation: unanswered: id: expected a response within [0-9.]+ s, in which the agent sent nothing, found 0$'
}

@test "a stream without a message is a warning" {
	run -0 --separate-stderr acp-check </dev/null
	assert_equal "$stderr" 'acp-check: no message passed'
}

@test "--clean: noise is a finding, and goes to standard error" {
	run -1 --separate-stderr acp-check --clean <<<'words'
	assert_output ''
	assert_regex "$stderr" 'violation: noise: expected a message \(expected a value\), found words'
}

@test "--max-line: a longer line passes and is a finding" {
	{ head -n 1 down; printf '{"method":"_x","params":["%s"]}\n' "$(printf '%09999d' 0)"; } >long
	run -1 --separate-stderr acp-check --max-line 1k <long
	assert_output "$(<long)"
	assert_regex "$stderr" 'violation: line-limit: expected a shorter line'
}

@test "as a filter and as a proxy of a chain" {
	run -1 --separate-stderr acp-conduct -f 'acp-check -o f.log' -- ./agent <down
	assert_output "$(<up)"
	assert_regex "$(<f.log)" "acp-check:2: [0-9.]+ $WRONG"
	mkfifo pipe
	acp-conduct -p 'acp-check -o p.log' -- ./agent <pipe >out &
	chain=$!
	exec 9>pipe
	head -n 1 down >&9
	wait_for grep -q protocolVersion out
	tail -n 1 down >&9
	wait_for grep -q sessionId out
	exec 9>&-
	wait "$chain" || true
	assert_regex "$(<p.log)" "acp-check:[0-9]+: [0-9.]+ $WRONG"
}

@test "attached: what came before is not known, what comes is checked, and the chain goes on" {
	conduct socket
	attach acp-check -o log
	{
		echo "$HEADER"
		head -n 2 s.rec
		echo '{"t":2,"from":"agent","msg":{"jsonrpc":"2.0","id":77,"result":{}}}'
		echo '{"t":2,"from":"client","msg":{"jsonrpc":"2.0","id":5,"method":"session/prompt","params":{"sessionId":"old","prompt":{}}}}'
	} | sed 's/"from"/"at":0,&/' >&9
	wait_for grep -q prompt log
	exec 9>&-
	ends 1
	assert_equal "$(sed 's/.*violation: //' log)" 'schema: params.prompt: expected an array, found {}'
}

# --- --coverage

# bats test_tags=slow
@test "--coverage: how often what the sides offer was used, and what was used without being offered" {
	run -0 acp-check --coverage "$FIXTURES/write-with-permission.jsonl"
	assert_line '      1  method   client  session/prompt'
	assert_line '      0  method   client  session/load (loadSession)'
	assert_line '     23  update   agent   agent_message_chunk'
	assert_line '      0  content  client  image (promptCapabilities.image)'
	assert_line '      1  option   agent   allow_always'
	assert_line '      1  outcome  client  selected'
	assert_line '      0  outcome  client  cancelled'
	assert_line '      0  stop     agent   refusal'
	refute_line --partial session/fork
	refute_line --partial audio
	refute_line --partial nes/
	# What is used is what a count by other means gives.
	assert_equal "$(sed -nE 's/^ *([1-9][0-9]*)  method .* ([a-z/_]+)( .*)?$/\1 \2/p' <<<"$output" | sort)" \
		"$(jq -r '.line | strings | fromjson? | .method // empty' "$FIXTURES/write-with-permission.jsonl" | sort | uniq -c | sed 's/^ *//' | sort)"
	assert_line "$(grep -cE '^ +[1-9]' <<<"$output") of $(grep -cE '^ +[0-9]' <<<"$output") used"
	# It does not check.
	run -0 acp-check --coverage s.rec
	assert_line '      1  method   client  session/new'
}

# bats test_tags=slow
@test "--coverage: several recordings, versions and formats are one report" {
	fixture=$FIXTURES/write-with-permission.jsonl
	acp-check --coverage "$fixture" "$fixture" >twice
	acp-check --coverage "$fixture" | awk '{ sub(/^ *[0-9]+/, sprintf("%7d", 2 * $1)) } 1' | sed '$d' | diff - <(sed '$d' twice)
	{
		echo '{"t":0,"from":"client","msg":{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":2,"info":{"name":"x","version":"1"},"capabilities":{}}}}'
		echo '{"t":0,"from":"agent","msg":{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":2,"info":{"name":"x","version":"1"},"capabilities":{"session":{"mcp":{"http":{}}}}}}}'
		echo '{"t":0,"from":"client","msg":{"jsonrpc":"2.0","id":1,"method":"session/fork","params":{"sessionId":"s"}}}'
		echo '{"t":0,"from":"agent","msg":{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"state_update","state":"idle","stopReason":"refusal"}}}}'
	} >v2.rec
	run -0 acp-check --coverage --unstable v2.rec
	assert_line '      1  method   client  session/fork (session.fork, not advertised)'
	assert_line '      0  server   client  http (session.mcp.http)'
	assert_line '      1  stop     agent   refusal'
	refute_line --partial sse
	acp-check --coverage -f json --unstable v2.rec >json
	run -0 jq -c 'select(.name == "session/fork" or .used)' json
	assert_line '{"what":"method","from":"client","name":"session/fork","count":1,"offered":false,"capability":"session.fork"}'
	assert_equal "$(jq -s '.[-1] == {used: map(select(.count > 0)) | length, offered: (length - 1)}' json)" true
	run -0 acp-check --coverage --from agent "$fixture"
	assert_line '      0  method   client  session/prompt'
	assert_line '      1  method   agent   session/request_permission'
}

# Each was asked "hello" by acp-ask, with a stand-in for its model (November 2026): claude-agent-acp, codex-acp 0.16, gemini-cli 0.61,
# opencode 1.18, qwen-code.
@test "real agents and acp-ask: no finding but notes, each of a member of an earlier draft" {
	cd "$FIXTURES/live"
	run -0 acp-check --unstable -l note ./*.rec
	# A kind of login and a list of models that drafts once had.
	assert_equal "$(sed -E 's,^\./,,; s/:[0-9]+: [0-9.]+ agent/:/; s/: expected.*//' <<<"$output")" 'codex.rec: initialize response: note: unknown-field: result.authMethods[1].type
codex.rec: initialize response: note: unknown-field: result.authMethods[1].vars
codex.rec: initialize response: note: unknown-field: result.authMethods[2].type
codex.rec: initialize response: note: unknown-field: result.authMethods[2].vars
gemini.rec: session/new response: note: unknown-field: result.models
qwen.rec: session/new response: note: unknown-field: result.models'
	assert_equal "$(cat ./*.rec | grep -c '"method":"session/prompt"')" 5
}
