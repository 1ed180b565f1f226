#!/usr/bin/env bats
# acp-top -b: the table of all sessions that are shared; each state, and shares that misbehave.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
	load control
	control_setup
	load top
	top_setup
}

teardown() {
	end_left_over
}

@test "nothing is shared: status 1, and a line that says what to do" {
	run -1 acp-top -b
	assert_line 'acp-top: nothing is shared (start an agent with acp-share -- AGENT)'
	run -2 acp-top -b nowhere
	assert_line 'acp-top: nowhere: No such file or directory'
}

@test "--delay and --format require --batch, --watch-command with --batch requires --delay, and without --batch a terminal is needed" {
	run -2 acp-top -d 1s
	assert_output 'acp-top: --delay requires --batch'
	run -2 acp-top -b -d 50ms
	assert_output 'acp-top: --delay 50ms: expected a duration of at least 100ms'
	run -2 acp-top -f json
	assert_output 'acp-top: --format requires --batch'
	run -2 acp-top -b --watch-command true
	assert_output 'acp-top: --watch-command does not go with a table that is printed once: --delay is missing'
	run -2 acp-top </dev/null
	assert_output --partial 'else use --batch'
}

# bats test_tags=slow
@test "a session from its first prompt to its end: idle, model, tool, waiting, queued" {
	start
	initialized
	assert_equal "$(rows)" 'null no session -'
	open /a
	assert_equal "$(rows)" '/a idle -'
	acp-top -b -d 100ms -f json "$socket" >live 9>&- &
	live=$!
	await_line live jq -c 'select(.state == "idle")' >/dev/null
	prompt 2 /a
	await_line live jq -c 'select(.state == "model" and .turns == 1)' >/dev/null
	prompt 3 /a
	await_line live jq -c 'select(.state == "model" and .queued == 1)' >/dev/null
	update /a '{"sessionUpdate":"tool_call","toolCallId":"c1","title":"make","status":"in_progress"}'
	await_line live jq -c 'select(.state == "tool" and .detail == "make")' >/dev/null
	question 7 /a
	await_line live jq -c 'select(.state == "waiting" and .detail == "rm -r build" and .since)' >/dev/null
	say '{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"selected","optionId":"no"}}}'
	update /a '{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed"}'
	update /a '{"sessionUpdate":"tool_call_update","toolCallId":"c7","status":"failed"}'
	update /a '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"I left it"}}'
	await_line live jq -c 'select(.state == "model" and .text == "I left it" and .queued == 1)' >/dev/null
	finish 2
	await_line live jq -c 'select(.state == "model" and .turns == 2)' >/dev/null
	finish 3 '{"stopReason":"refusal"}'
	await_line live jq -c 'select(.state == "idle" and .detail == "refusal" and .turns == 2 and .turn_s >= 0)' >/dev/null
	ends
	wait "$live"
	# The last table has all that happened.
	assert_equal "$(tail -n 1 live | jq -c '[.agent, .session, .state, .detail, .turns]')" '["robot","/a","ended","exit status 0",2]'
}

@test "a turn that nothing ended ran until the stream ended, not until its last message" {
	start
	initialized
	open /a
	acp-top -b -d 100ms -f json "$socket" >live 9>&- &
	live=$!
	prompt 2 /a
	await_line live jq -c 'select(.state == "model" and .turn_s > 0.5)' >/dev/null
	ends
	wait "$live"
	assert_equal "$(tail -n 1 live | jq -c '[.state, .turn_s > 0.5]')" '["ended",true]'
}

@test "a turn that a message ended, in order or not, ran until that message" {
	{
		recording 1000
		message 1 client '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'
		message 2 client '{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}'
		message 5 client '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'
		message 6 client '{"jsonrpc":"2.0","id":1,"method":"session/load","params":{"sessionId":"s","cwd":"/","mcpServers":[]}}'
		message 7 agent '{"jsonrpc":"2.0","id":1,"result":{}}'
	} >again
	poses again again
	assert_equal "$(acp-top -b -f json | jq -c '[.state, .turn_s]')" '["idle",3]'
}

# bats test_tags=slow
@test "times are those of the stream's clock, which stands still while the machine sleeps" {
	mkfifo pipe
	exec 8<>pipe
	poses slept pipe end 8>&-
	recording 3600 >&8
	acp-top -b -d 100ms -f json "$XDG_RUNTIME_DIR/acp/slept" >live 8>&- 9>&- &
	live=$!
	await_line live jq -c 'select(.state == "no session")' >/dev/null
	# Later it is no message of those that a guest gets first.
	sleep 2
	{
		message 10 client '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'
		message 11 client '{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}'
	} >&8
	await_line live jq -c 'select(.session == "s")' >/dev/null
	exec 8>&-
	wait "$live"
	assert_equal "$(jq -r 'select(.session == "s") | .state' live | sort -u | tr '\n' ' ')" 'ended model '
	assert_equal "$(jq -s 'map(.turn_s // 0) | max < 60' live)" true
}

# bats test_tags=slow
@test "who comes late sees a session without a turn, its context and its cost" {
	start
	initialized
	open /a
	update /a '{"sessionUpdate":"usage_update","used":50,"size":200,"cost":{"amount":0.5,"currency":"USD"}}'
	run acp-top -b -f json
	assert_equal "$(jq -c '[.session, .cwd, .state, .used, .size, .cost, .currency]' <<<"$output")" '["/a","/a","idle",50,200,0.5,"USD"]'
	run acp-top -b -f tsv
	assert_equal "${#lines[@]}" 2
	assert_equal "$(head -n 1 <<<"$output" | cut -f 3,6,7,13,14)" $'session\tcwd\tstate\tused\tsize'
	assert_equal "$(tail -n 1 <<<"$output" | cut -f 3,6,7,13,14)" $'/a\t/a\tidle\t50\t200'
	COLUMNS=80 run acp-top -b
	assert_line --index 0 '1 session, 0 running, 0 waiting for you, today 0.5000 USD'
	assert_line --index 2 --regexp '^ *.*/a .*idle .* 25% .* 0\.50'
	ends
}

# bats test_tags=slow
@test "in 60 columns and in 80 a row has its cost to the last digit" {
	start
	initialized
	open /a
	update /a '{"sessionUpdate":"usage_update","used":50,"size":200,"cost":{"amount":1234.5,"currency":"USD"}}'
	for columns in 60 80; do
		COLUMNS=$columns run acp-top -b
		assert_line --index 1 --regexp ' COST$'
		assert_line --index 2 --regexp ' 25% .*1234\.50$'
		((${#lines[1]} <= columns && ${#lines[2]} <= columns)) || fail "too wide: ${lines[2]}"
	done
	# A context without a size.
	update /a '{"sessionUpdate":"usage_update","used":53000,"size":null}'
	for columns in 60 80; do
		COLUMNS=$columns run acp-top -b
		assert_line --index 2 --regexp ' 53\.0K .*1234\.50$'
		((${#lines[2]} <= columns)) || fail "too wide: ${lines[2]}"
	done
	ends
}

@test "the totals of 200 sessions are in fewer words where 60 columns or less are too narrow for more" {
	{
		recording
		jq -nc 'def line($t; $from): {t: $t, from: $from, msg: (. + {jsonrpc: "2.0"})};
			range(200) as $i | "s\($i)" as $s
			| ({id: $i, method: "session/new", params: {cwd: "/p", mcpServers: []}} | line(0; "client")),
			({id: $i, result: {sessionId: $s}} | line(0; "agent")),
			(select($i < 150) | {id: "p\($i)", method: "session/prompt", params: {sessionId: $s, prompt: []}} | line(1; "client")),
			(select($i < 40) | {id: "q\($i)", method: "elicitation/create", params: {sessionId: $s, message: "which?"}} | line(2; "agent"))'
		message 3 agent '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s0","update":{"sessionUpdate":"usage_update","used":50,"size":200,"cost":{"amount":1234.5,"currency":"USD"}}}}'
	} >many
	poses many many
	# All come when the share has sent all; just after midnight the sum is a bound.
	totals() { [[ $(COLUMNS=$1 acp-top -b 2>&1 | head -n 1 | sed 's/<=//') == "$2" ]]; }
	wait_for totals 120 '200 sessions, 110 running, 40 waiting for you, today 1234.50 USD'
	wait_for totals 60 '200 sessions, 110 running, 40 waiting, today 1234.50 USD'
	wait_for totals 52 '200 sessions, 110 running, 40 waiting, 1234.50 USD'
	wait_for totals 40 '110 running, 40 waiting, 1234.50 USD'
	# What no form is short enough for is whole all the same.
	wait_for totals 20 '110 running, 40 waiting, 1234.50 USD'
}

# bats test_tags=slow
@test "a share that is stopped has no response, and the others are shown" {
	start
	initialized
	open /a
	kill -STOP "$stream"
	run acp-top -b -f json
	assert_equal "$(jq -r .state <<<"$output")" 'no response'
	kill -CONT "$stream"
	assert_equal "$(rows)" '/a idle -'
	ends
}

# a_past_session: a recording of a turn that has been silent for 30 seconds.
a_past_session() {
	recording 60
	message 0 client '{"jsonrpc":"2.0","id":0,"method":"session/new","params":{"cwd":"/p","mcpServers":[]}}'
	message 1 agent '{"jsonrpc":"2.0","id":0,"result":{"sessionId":"past"}}'
	message 2 client '{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"past","prompt":[]}}'
	message 3 agent '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"past","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hm"}}}}'
}

# bats test_tags=slow
@test "a model that says nothing for 20 seconds is silent, but not while a sub-agent speaks, which is a row below it" {
	a_past_session >past
	poses 1 past
	assert_equal "$(rows)" 'past silent -'
	{
		recording 60
		sed 1d past
		message 30 agent '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"past","update":{"sessionUpdate":"subagent_update","sessionId":"kid","state":{"state":"running"}}}}'
		message 58 agent '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"kid","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"digging"}}}}'
	} >family
	poses 2 family
	run acp-top -b -f json
	assert_equal "$(jq -c 'select(.socket | endswith("/2")) | [.session, .parent, .state]' <<<"$output")" \
		$'["past",null,"model"]\n["kid","past","model"]'
	COLUMNS=80 run acp-top -b "$XDG_RUNTIME_DIR/acp/2"
	assert_line --index 2 --regexp '^ *past '
	assert_line --index 3 --regexp '^ *└ kid .*model'
	# Each column is where its name is.
	before=${lines[1]%%STATE*} above=${lines[2]%%model*} below=${lines[3]%%model*}
	assert_equal "${#above} ${#below}" "${#before} ${#before}"
}

# bats test_tags=slow
@test "rows that wait for the user are first, and a family is where its most urgent member is" {
	for state in idle model waiting; do
		{
			recording 10
			message 0 client '{"jsonrpc":"2.0","id":0,"method":"session/new","params":{"cwd":"/p","mcpServers":[]}}'
			message 1 agent '{"jsonrpc":"2.0","id":0,"result":{"sessionId":"'$state'"}}'
			[[ $state == idle ]] || message 9 client '{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"'$state'","prompt":[]}}'
			[[ $state != waiting ]] || message 9 agent '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"waiting","update":{"sessionUpdate":"subagent_update","sessionId":"kid","state":{"state":"running"}}}}'
			[[ $state != waiting ]] || message 9 agent '{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"sessionId":"kid","message":"which?"}}'
		} >"$state"
		poses "$state" "$state"
	done
	assert_equal "$(rows)" $'waiting model -\nkid waiting which?\nmodel model -\nidle idle -'
	run acp-top -b
	assert_line --index 0 '4 sessions, 2 running, 1 waiting for you'
}

@test "of what the agent said last a row has as much as fits, also where characters are wide" {
	{
		a_past_session
		message 4 agent '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"past","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"一二三四五六七八九十一二三四五六七八九十"}}}}'
	} >wide
	poses 1 wide
	# 78 columns are those before it.
	COLUMNS=103 run acp-top -b
	assert_line --index 2 --regexp ' 九十一二三四五六七八九十$'
}

# bats test_tags=slow
@test "a state of version 2 that requires an action waits for the user, since then, and no more when it runs again" {
	{
		recording 60
		message 0 client '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":2}}'
		message 0 agent '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":2,"info":{"name":"two"}}}'
		message 1 client '{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/p"}}'
		message 1 agent '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"v2"}}'
		message 2 client '{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"v2","prompt":[]}}'
		message 2 agent '{"jsonrpc":"2.0","id":2,"result":{}}'
		message 3 agent '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"v2","update":{"sessionUpdate":"state_update","state":"running"}}}'
		message 20 agent '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"v2","update":{"sessionUpdate":"state_update","state":"requires_action"}}}'
		message 50 agent '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"v2","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"sign in"}}}}'
	} >waits
	poses 1 waits
	run acp-top -b -f json
	assert_equal "$(jq -c '[.agent, .session, .state]' <<<"$output")" '["two","v2","waiting"]'
	since=$(date -d "$(jq -r .since <<<"$output")" +%s)
	((since - $(date -d "$(jq -r .started <waits | head -n 1)" +%s) == 20)) || fail "since $output"
	{
		cat waits
		# Ahead of now: a machine that is slow does not make it silent.
		message 75 agent '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"v2","update":{"sessionUpdate":"state_update","state":"running"}}}'
	} >runs
	poses 2 runs
	run acp-top -b -f json "$XDG_RUNTIME_DIR/acp/2"
	assert_equal "$(jq -c '[.session, .state, .turns]' <<<"$output")" '["v2","model",1]'
}

@test "after a loss a turn whose response was lost ends at the next prompt, and a question as its call goes on" {
	{
		recording
		message 0 client '{"jsonrpc":"2.0","id":0,"method":"session/new","params":{"cwd":"/p","mcpServers":[]}}'
		message 0 agent '{"jsonrpc":"2.0","id":0,"result":{"sessionId":"s"}}'
		message 1 client '{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}'
		message 2 agent '{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"c","title":"make"},"options":[]}}'
		echo '{"t":3,"event":"lost","count":2,"why":"slow"}'
	} >waits
	{
		cat waits
		message 4 agent '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"in_progress"}}}'
	} >works
	{
		cat waits
		message 4 client '{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}'
		message 5 agent '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"refusal"}}'
	} >idle
	for state in 'waiting make' 'tool make' 'idle refusal'; do
		case $state in waiting*) poses s waits ;; tool*) poses s works ;; *) poses s idle ;; esac
		wait_for has "s $state"
		unpose
	done
}

@test "a question that names no session is a row of its own" {
	{
		recording 10
		message 0 agent '{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"sign in"}}'
	} >open
	poses 1 open
	assert_equal "$(rows)" 'null waiting sign in'
}

# bats test_tags=slow
@test "--watch-command runs once a question, with the row" {
	start
	initialized
	open /a
	prompt 2 /a
	acp-top -b -d 100ms -f json --watch-command 'cat >>rows' "$socket" >live 9>&- &
	live=$!
	await_line live jq -c 'select(.session == "/a")' >/dev/null
	question 7 /a
	await_line rows jq -c 'select(.session == "/a" and .detail == "rm -r build" and .state == "waiting")' >/dev/null
	question 8 /a
	say '{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"cancelled"}}}'
	await_line rows jq -c 'select(.since)' >/dev/null
	both() { [[ $(wc -l <rows) -eq 2 ]]; }
	wait_for both
	ends
	wait "$live"
	assert_equal "$(wc -l <rows)" 2
}

# bats test_tags=slow
@test "a --watch-command that still runs when the question has its response is ended" {
	start
	initialized
	open /a
	acp-top -b -d 100ms -f json --watch-command 'echo $$ >>started; exec sleep 1000' "$socket" >live 2>err 9>&- &
	live=$!
	touch started
	# More than run at the same time.
	for ((id = 1; id <= 10; id++)); do
		question $id /a
		n=$id
		as_many() { [[ $(wc -l <started) -eq $n ]]; }
		wait_for as_many
		say '{"jsonrpc":"2.0","id":'$id',"result":{"outcome":{"outcome":"cancelled"}}}'
		wait_for has_ended "$(tail -n 1 started)"
	done
	ends
	wait "$live"
	assert_equal "$(cat err)" ''
}

@test "a --watch-command that fails is reported, and nothing else changes" {
	start
	initialized
	open /a
	question 7 /a
	acp-top -b -d 100ms -f json --watch-command 'exit 3' "$socket" >live 2>err 9>&- &
	live=$!
	await_line err grep -F 'acp-top: --watch-command: exit 3: ' >/dev/null
	ends
	wait "$live"
	assert_equal "$(wc -l <err)" 1
}

# bats test_tags=slow
@test "a share that appears while acp-top runs is shown, and one that ends stays with how it ended" {
	mkdir -m 700 "$XDG_RUNTIME_DIR/acp"
	acp-top -b -d 100ms -f json >live 2>err 9>&- &
	live=$!
	start
	initialized
	open /a
	await_line live jq -c 'select(.session == "/a" and .state == "idle")' >/dev/null
	kill -KILL "$stream"
	await_line live jq -c 'select(.session == "/a" and .state == "ended")' >/dev/null
	exec 9>&-
	start
	initialized
	open /b
	await_line live jq -c 'select(.session == "/b" and .state == "idle")' >/dev/null
	kill "$live"
	wait "$live"
	ends
	assert_equal "$(cat err)" ''
}

# bats test_tags=slow
@test "shares that die, hang, send garbage and escape sequences, or a line of 40 MiB harm nobody" {
	poses hangs -
	poses leaves /dev/null
	head -c 100000 /dev/urandom >noise
	poses noise noise end
	{
		recording
		message 1 client '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}'
		message 1 agent '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"\u001b[2Jevil\u009b31m"}}}'
		message 2 client '{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/\u001b]0;x\u0007","mcpServers":[]}}'
		message 2 agent '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s\u001b[1m\n\t"}}'
		message 3 client '{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s\u001b[1m\n\t","prompt":[]}}'
		message 4 agent '{"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"s\u001b[1m\n\t","toolCall":{"toolCallId":"c","title":"\u001b[31mrm\n\r\u202e"},"options":[]}}'
		message 5 agent '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s\u001b[1m\n\t","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"\u001b[5mblink\u0000"}}}}'
	} >escapes
	poses escapes escapes
	{
		recording
		printf '{"t":1,"from":"agent","msg":{"jsonrpc":"2.0","method":"x","params":"'
		head -c 41943040 /dev/zero | tr '\0' x
		printf '"}}\n'
		message 2 client '{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/l","mcpServers":[]}}'
		message 2 agent '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"after"}}'
	} >large
	start
	initialized
	open /well
	for format in text json tsv; do
		COLUMNS=200 acp-top -b --color never -f $format >"$format" 2>err.$format
		run ! grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80\xae' "$format" err.$format
	done
	wait_for has '/well idle -'
	assert_equal "$(jq -r 'select(.socket | endswith("/hangs")) | .state' json)" 'no response'
	assert_equal "$(jq -r 'select(.socket | endswith("/leaves")) | .state' json)" ended
	assert_equal "$(jq -r 'select(.socket | endswith("/noise")) | .state' json)" ended
	assert_equal "$(jq -r 'select(.socket | endswith("/escapes")) | .state' json)" waiting
	# Every row is one line, and so is every complaint.
	assert_equal "$(wc -l <text)" $(($(wc -l <json) + 2))
	run ! grep -v '^acp-top: ' err.json
	# With named sockets the last table comes when all have ended.
	poses large large end
	run -0 acp-top -b -d 60s -f json "$XDG_RUNTIME_DIR/acp/large"
	assert_equal "$(tail -n 1 <<<"$output" | jq -r '"\(.session) \(.state)"')" 'after ended'
	run -0 acp-top -b -d 60s -f json --max-line 1M "$XDG_RUNTIME_DIR/acp/large"
	assert_output --partial 'longer than --max-line'
	assert_output --partial '"session":"after"'
	unpose
	ends
}

# bats test_tags=slow
@test "its memory does not grow with the number of messages, turns, calls and questions" {
	[[ -r /proc/self/status ]] || skip 'there is no /proc'
	# many TURNS: what a share of so many turns sends.
	many() {
		recording
		message 0 client '{"jsonrpc":"2.0","id":0,"method":"session/new","params":{"cwd":"/p","mcpServers":[]}}'
		message 0 agent '{"jsonrpc":"2.0","id":0,"result":{"sessionId":"s"}}'
		awk -v turns="$1" '
			function put(side, text) { printf "{\"t\":%.3f,\"from\":\"%s\",\"msg\":{\"jsonrpc\":\"2.0\",%s}}\n", t += 0.001, side, text }
			function update(text) { put("agent", "\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{" text "}}") }
			BEGIN { for (i = 1; i <= turns; i++) {
				put("client", "\"id\":" i ",\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"s\",\"prompt\":[]}")
				update("\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"some words \"}")
				update("\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c" i "\",\"title\":\"make " i "\",\"status\":\"in_progress\"")
				put("agent", "\"id\":" i ",\"method\":\"session/request_permission\",\"params\":{\"sessionId\":\"s\",\"toolCall\":{\"toolCallId\":\"c" i "\"},\"options\":[]}")
				put("client", "\"id\":" i ",\"result\":{\"outcome\":{\"outcome\":\"cancelled\"}}")
				update("\"sessionUpdate\":\"usage_update\",\"used\":" i % 1000 ",\"size\":1000,\"cost\":{\"amount\":" i ",\"currency\":\"USD\"}")
				put("agent", "\"id\":" i ",\"result\":{\"stopReason\":\"end_turn\"}")
			} }'
	}
	for turns in 5000 50000; do
		many $turns >sent
		poses $turns sent end
		python3 -SE -c 'import resource, subprocess, sys
subprocess.run(["acp-top", "-b", "-d", "60s", "-f", "json", sys.argv[1]], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)' "$XDG_RUNTIME_DIR/acp/$turns" >rows 2>peak.$turns
		assert_equal "$(tail -n 1 rows | jq .turns)" "$turns"
	done
	[[ $B == */san ]] || (($(<peak.50000) < $(<peak.5000) + 1000)) || fail "$(<peak.5000) KiB, and $(<peak.50000) KiB"
}
