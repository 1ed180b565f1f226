#!/usr/bin/env bats
# acp-ask: one prompt, what is printed of the turn, and the exit status.

bats_require_minimum_version 1.5.0

setup() {
	load ask
	ask_setup
}

teardown() {
	ask_teardown
}

@test "the text of the agent goes to standard output, and ends with a newline" {
	agent '{"turns":[[{"text":"Hello "},{"text":"world."}]]}'
	run -0 --separate-stderr ask hi
	assert_output 'Hello world.'
	assert_equal "$stderr" ''
	assert_equal "$(sent 'select(.method == "session/prompt").params')" '{"sessionId":"s1","prompt":[{"type":"text","text":"hi"}]}'
	ask hi | tail -c 1 | od -An -c | grep -q '\\n'
}

@test "of content that is no text the type is shown, on standard error" {
	agent '{"turns":[[{"text":"See:"},{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"image","mimeType":"image/png","data":"AAAA"}}}]]}'
	run -0 --separate-stderr ask hi
	assert_output See:
	assert_equal "$stderr" 'content: image'
	run -0 --separate-stderr ask -q hi
	assert_equal "$stderr" ''
}

@test "text after a tool call, or of another message, begins a line" {
	agent '{"turns":[[{"text":"One","message":"m1"},'"$(call c)"','"$(called c)"',{"text":"two","message":"m1"},{"text":"three","message":"m2"}]]}'
	run -0 ask -q hi
	assert_output $'One\ntwo\nthree'
}

# bats test_tags=slow
@test "in version 2 the turn ends with the idle state, and a whole message adds what was not shown" {
	agent '{"version":2,"turns":[[{"text":"Hel","message":"m"},
		{"update":{"sessionUpdate":"agent_message","messageId":"m","content":[{"type":"text","text":"Hello"}]}},
		{"stop":"end_turn","members":{"usage":{"totalTokens":3,"inputTokens":2,"outputTokens":1}}}]]}'
	run -0 ask --protocol 2 hi
	assert_output Hello
	run -0 ask --protocol 2 -f json hi
	assert_equal "$(jq -c '[.text, .stop_reason, .usage.total]' <<<"$output")" '["Hello","end_turn",3]'
	assert_equal "$(sent 'select(.method == "initialize").params | [.protocolVersion, .info.name, .capabilities]' | head -n 1)" '[2,"acp-ask",{}]'
}

# whole MESSAGE TEXT: a step, with the whole text of a message.
whole() {
	echo '{"update":{"sessionUpdate":"agent_message","messageId":"'"$1"'","content":[{"type":"text","text":"'"$2"'"}]}}'
}

@test "whole messages that were shown in chunks are not shown again, also after chunks of others" {
	agent '{"version":2,"turns":[[{"text":"One.","message":"m1"},{"text":"Two.\n","message":"m2"},'"$(whole m1 One.)","$(whole m2 Two.)"',
		{"text":"And","message":"m2"},'"$(whole m1 'One. More')"']]}'
	run -0 ask --protocol 2 hi
	assert_output $'One.\nTwo.\nAnd\n More'
	run -0 ask --protocol 2 -f json hi
	assert_equal "$(jq .text <<<"$output")" '"One.\nTwo.\nAnd\n More"'
}

@test "a whole message with another text than its chunks is shown on a line of its own, once" {
	agent '{"version":2,"turns":[[{"text":"Hel","message":"m"},'"$(whole m 'J€llo!'),$(whole m 'J€llo!')"',{"text":" More","message":"m"}]]}'
	run -0 ask --protocol 2 hi
	assert_output $'Hel\nJ€llo! More'
	agent '{"version":2,"turns":[[{"text":"He","message":"m"},'"$(whole m '€')"']]}'
	run -0 ask --protocol 2 hi
	assert_output $'He\n€'
}

@test "in version 2 an agent that offers no sessions is not asked for one" {
	agent '{"version":2,"initialize":{"capabilities":{}}}'
	run -1 ask --protocol 2 hi
	assert_output 'acp-ask: the agent offers no sessions'
	assert_equal "$(sent .method)" '"initialize"'
}

@test "an agent of another version of the protocol is an error" {
	agent '{"version":2}'
	run -1 ask hi
	assert_output 'acp-ask: the agent does not speak version 1 of the protocol; see --protocol'
}

@test "--format json: one object with text, stop reason, usage, cost, session and tool calls" {
	agent '{"turns":[[{"text":"Done"},'"$(call c1)"','"$(called c1 failed)"','"$(call c2 Edit edit)"',
		{"stop":"end_turn","members":{"usage":{"totalTokens":12,"inputTokens":10,"outputTokens":2}}}]],
		"late":[{"sessionUpdate":"usage_update","used":5,"size":10,"cost":{"amount":0.50,"currency":"USD"}}]}'
	run -0 --separate-stderr ask -q -f json hi
	assert_output '{"text":"Done","stop_reason":"end_turn","usage":{"total":12,"input":10,"output":2},"cost":{"amount":0.5,"currency":"USD"},"session_id":"s1","tool_calls":[{"id":"c1","title":"Read x","kind":"read","status":"failed"},{"id":"c2","title":"Edit","kind":"edit","status":null}]}'
}

@test "a response that nobody waits for reports no usage" {
	agent "$(jq -nc 'def response($id; $n):
		{id: $id, result: {stopReason: "end_turn", usage: {totalTokens: $n, inputTokens: $n, outputTokens: 0}}} | "\(tojson)\n";
		{turns: [[{raw: (response(3; 1) + response(3; 9) + response(777; 9))}]]}')"
	run -0 --separate-stderr ask -f json hi
	assert_equal "$(jq -c .usage <<<"$output")" '{"total":1,"input":1,"output":0}'
}

@test "--format ndjson: the messages of the agent, byte for byte" {
	acp-ask -f ndjson --permit '*=allow_once' hi -- acp-replay --keep-paths --match shape "$FIXTURES/demo.rec" >got
	# In responses the ids are those of our requests.
	acp-tap -f raw --from agent "$FIXTURES/demo.rec" | grep session/update | head -n "$(grep -c session/update got)" >want
	[ "$(wc -l <want)" -gt 3 ]
	grep session/update got | diff want -
}

# bats test_tags=slow
@test "a recording plays the agent" {
	for file in "$FIXTURES"/*.jsonl "$FIXTURES/demo.rec"; do
		status=0
		rm -f s.rec
		acp-ask -q --timeout 1m --grace 1s hi -- acp-tap -o s.rec -- acp-replay --match shape --on-miss next "$file" >got 2>err || status=$?
		echo "$file: $status"; cat err
		((status < 2))
		run -0 checked
	done
}

# bats test_tags=slow
@test "a chain is the agent, and so is a remote one" {
	agent '{"turns":[[{"text":"far"}]]}'
	run -0 acp-ask hi -- acp-conduct -f 'acp-tap -o s.rec' -- "${AGENT[@]}"
	assert_output far
	run -0 checked
	load http
	http_setup
	serve_at 0 -- "${AGENT[@]}"
	for url in "ws://127.0.0.1:$PORT/acp" "http://127.0.0.1:$PORT/acp"; do
		run -0 acp-ask hi -- acp-http --connect "$url"
		assert_output far
	done
	kill "$SERVER"
	wait "$SERVER" || true # a sanitizer is not killed while it looks for leaks
}

# bats test_tags=slow
@test "text that comes after the response is printed, and is in the object" {
	agent '{"turns":[[{"text":"a"}]],"late":[{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"b"}}]}'
	run -0 ask hi
	assert_equal "$(tr -d '\n' <<<"$output")" ab
	run -0 ask -f json hi
	assert_equal "$(jq -r .text <<<"$output")" ab
}

@test "what is nested too deep for jq ends nothing, and does not change the exit status" {
	agent '{"turns":[['"$(call c)"',{"update":{"sessionUpdate":"plan","entries":[{"content":'"$(printf '[%.0s' {1..400})$(printf ']%.0s' {1..400})"'}]}},{"text":"x"}]]}'
	run -0 --separate-stderr ask -v hi
	assert_output x
	assert_equal "$stderr" $'tool: Read x\nacp-ask: what the agent sent is nested too deep'
	run -0 ask -q hi
}

@test "tool calls, plans and failures are short lines on standard error; --quiet reports none" {
	agent '{"turns":[['"$(call c1)"','"$(called c1 failed)"',
		{"update":{"sessionUpdate":"plan","entries":[{"content":"First","status":"completed","priority":"low"},{"content":"Second","status":"in_progress","priority":"low"}]}}]]}'
	run -0 --separate-stderr ask hi
	assert_output ''
	assert_equal "$stderr" $'tool: Read x\ntool: Read x: failed\nplan: 1 of 2 done: Second'
	run -0 --separate-stderr ask -q hi
	assert_equal "$stderr" ''
}

@test "--verbose reports contents and thoughts" {
	agent '{"turns":[[{"update":{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"Hm."}}},'"$(call c1)"',
		{"update":{"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"completed","content":[{"type":"content","content":{"type":"text","text":"inside"}},{"type":"diff","path":"/x/y","newText":"z"}]}}]]}'
	run -0 --separate-stderr ask -v hi
	assert_equal "$stderr" $'thought: Hm.\ntool: Read x\n  inside\n  /x/y'
}

@test "operands make one prompt; standard input is attached; a file is a resource, an image or text" {
	agent '{"initialize":{"agentCapabilities":{"promptCapabilities":{"embeddedContext":true,"image":true}}}}'
	echo content >f.txt
	printf '\211PNG\r\n\032\n' >i.png
	printf '\377\376' >b.bin
	echo piped | ask Look at @f.txt and @i.png @b.bin
	assert_equal "$(sent 'select(.method == "session/prompt").params.prompt[] | [.type, .text // .resource.text // .data // .resource.blob, .mimeType // .resource.mimeType]')" \
		'["text","Look at",null]
["resource","content\n","text/plain"]
["text","and",null]
["image","iVBORw0KGgo=","image/png"]
["resource","//4=","application/octet-stream"]
["text","piped\n",null]'
	rm in
	agent '{}'
	ask @f.txt @i.png
	assert_equal "$(sent 'select(.method == "session/prompt").params.prompt[] | [.type, .text // .uri]')" \
		'["text","f.txt:\ncontent\n"]
["resource_link","file://'"$PWD"'/i.png"]'
}

@test "a file that has no path of its own, as of a process substitution, is attached" {
	agent '{}'
	run -0 bash -c 'exec acp-ask @<(echo content) -- "$@"' - "${AGENT[@]}"
	assert_equal "$(sent 'select(.method == "session/prompt").params.prompt[0].text')" '"/dev/fd/63:\ncontent\n"'
	agent '{"initialize":{"agentCapabilities":{"promptCapabilities":{"embeddedContext":true}}}}'
	rm in
	run -0 bash -c 'exec acp-ask @<(echo content) -- "$@"' - "${AGENT[@]}"
	assert_equal "$(sent 'select(.method == "session/prompt").params.prompt[0].resource.uri')" '"file:///dev/fd/63"'
}

@test "the type of a file is that of its name, in any case; its URI is escaped" {
	local name
	agent '{"initialize":{"agentCapabilities":{"promptCapabilities":{"embeddedContext":true,"image":true,"audio":true}}}}'
	for name in a.PNG b.jpg c.wav d.pdf e; do
		printf '\377' >"$name"
	done
	printf '{}' >'a b#é.json'
	ask @a.PNG @b.jpg @c.wav @d.pdf @e '@a b#é.json'
	assert_equal "$(sent 'select(.method == "session/prompt").params.prompt[] | [.type, .mimeType // .resource.mimeType]' | tr -d '[]"' | tr ',\n' '= ')" \
		'image=image/png image=image/jpeg audio=audio/wav resource=application/pdf resource=application/octet-stream resource=application/json '
	assert_equal "$(sent 'select(.method == "session/prompt").params.prompt[-1].resource.uri')" '"file://'"$PWD"'/a%20b%23%C3%A9.json"'
	agent '{"version":2,"initialize":{"capabilities":{"session":{"prompt":{"image":{},"embeddedContext":{}}}}}}'
	rm in
	ask --protocol 2 @a.PNG @d.pdf
	assert_equal "$(sent 'select(.method == "session/prompt").params.prompt[] | [.type, .mimeType // .resource.mimeType]' | tr -d '\n')" \
		'["image","image/png"]["resource","application/pdf"]'
}

@test "standard input and a prompt that are not UTF-8 are refused" {
	agent '{}'
	run -2 ask hi < <(printf 'a\377')
	assert_output 'acp-ask: standard input: not UTF-8; @FILE attaches any file'
	run -2 ask hi $'a\377'
	assert_output 'acp-ask: the prompt: not UTF-8; @FILE attaches any file'
	[ ! -e in ]
}

@test "standard input that is a terminal is not attached" {
	agent '{}'
	typed '' ask_at_terminal
	assert_equal "$status" 0
	assert_equal "$(sent 'select(.method == "session/prompt").params.prompt')" '[{"type":"text","text":"hi"}]'
}

@test "what is wrong on the command line" {
	agent '{}'
	run -2 acp-ask hi
	assert_output 'acp-ask: missing agent after --; try acp-ask --help'
	run -2 ask
	assert_output 'acp-ask: there is no prompt: no text, no file, and nothing on standard input'
	run -2 ask ''
	assert_output 'acp-ask: there is no prompt: no text, no file, and nothing on standard input'
	run -2 ask hi -q
	assert_output 'acp-ask: -q: options come before the prompt'
	run -2 ask @missing
	assert_output 'acp-ask: @missing: No such file or directory'
	run -2 ask @/
	assert_output 'acp-ask: @/: Is a directory'
	[ ! -e in ]
	run -2 ask --cwd missing hi
	assert_output 'acp-ask: --cwd missing: No such file or directory'
	run -2 ask --cwd a.json hi
	assert_output 'acp-ask: --cwd a.json: Not a directory'
	run -2 ask --cwd '' hi
	run -2 ask --permit read hi
	assert_output --partial 'expected PATTERN='
	run -2 ask -q -v hi
	assert_output 'acp-ask: --quiet does not go with --verbose'
	run -127 acp-ask hi -- ./missing
	assert_output 'acp-ask: ./missing: command not found'
}

@test "the exit status: 1 for another stop reason or an error, which is reported" {
	agent '{"turns":[[{"stop":"refusal"}]]}'
	run -1 ask hi
	assert_output 'acp-ask: the turn ended: refusal'
	agent '{"turns":[[{"error":{"code":-32603,"message":"no\u001b[2J model","data":{"a":1}}}]]}'
	run -1 ask hi
	assert_output 'acp-ask: session/prompt: no^[[2J model: {"a":1}'
	agent '{"methods":{"session/new":{"error":{"code":-32603,"message":"none","data":{"a":1}}}}}'
	run -1 ask hi
	assert_output 'acp-ask: session/new: none: {"a":1}'
}

# bats test_tags=slow
@test "an error is reported, whatever it is, of a prompt as of other requests" {
	local error want
	while read -r error want; do
		agent '{"turns":[[{"error":'"$error"'}]]}'
		run -1 ask hi
		assert_output "acp-ask: ${want/METHOD/session/prompt}"
		agent '{"methods":{"session/new":{"error":'"$error"'}}}'
		run -1 ask hi
		assert_output "acp-ask: ${want/METHOD/session/new}"
	done <<-'END'
		{"code":-32603} METHOD: an error
		{"code":-32603,"message":"","data":{"details":"d"}} METHOD: an error: {"details":"d"}
		"x" METHOD: x
		{"code":-32000,"message":"m"} the agent requires authentication: m; --auth: the agent names none
	END
}

# bats test_tags=slow
@test "the exit status is the agent's where it ends too early, or badly" {
	agent '{"turns":[[{"text":"x"},{"exit":3}]]}'
	run -3 --separate-stderr ask hi
	assert_output x
	assert_equal "$stderr" 'acp-ask: the agent ended (exit status 3)'
	agent '{"turns":[[{"exit":0}]]}'
	run -1 ask hi
	agent '{"turns":[[{"kill":9}]]}'
	run -137 ask hi
	assert_output 'acp-ask: the agent ended (signal KILL)'
	agent '{"status":4}'
	run -4 ask hi
	run -7 acp-ask hi -- sh -c 'exit 7'
	assert_output 'acp-ask: the agent ended before it responded to initialize (exit status 7)'
}

# bats test_tags=slow
@test "--timeout cancels the turn, and the exit status is 124" {
	agent '{"turns":[[{"wait":"session/cancel"},{"stop":"cancelled"}]]}'
	run -124 ask --timeout 3s hi
	assert_output 'acp-ask: there was no end within --timeout'
	assert_equal "$(sent 'select(.method == "session/cancel").params')" '{"sessionId":"s1"}'
	agent '{"turns":[[{"hang":true}]]}'
	run -124 ask --timeout 100ms --grace 100ms hi
	run -124 acp-ask --timeout 100ms --grace 100ms hi -- sleep 1000
}

# ended STATUS: the last background process ended with it.
ended() {
	local status=0
	wait $! || status=$?
	assert_equal "$status" "$1"
}

@test "Ctrl-C cancels the turn; a second one ends the agent; the exit status is 130" {
	agent '{"turns":[[{"text":"x"},{"wait":"session/cancel"},{"stop":"cancelled"}]]}'
	acp-ask hi -- "${AGENT[@]}" >out &
	wait_for grep -q x out
	kill -INT $!
	ended 130
	assert_equal "$(sent 'select(.method == "session/cancel").params')" '{"sessionId":"s1"}'
	rm in out
	agent '{"turns":[[{"text":"x"},{"wait":"x"}]]}'
	acp-ask hi -- "${AGENT[@]}" >out &
	wait_for grep -q x out
	kill -INT $!
	# Two signals that come at once are one.
	wait_for grep -q session/cancel in
	kill -INT $!
	ended 130
}

@test "SIGTERM and SIGHUP cancel the turn, too" {
	local signal
	for signal in TERM HUP; do
		agent '{"turns":[[{"text":"x"},{"wait":"session/cancel"},{"stop":"cancelled"}]]}'
		rm -f in out
		acp-ask hi -- "${AGENT[@]}" >out &
		wait_for grep -qs x out
		kill -$signal $!
		ended $((128 + $(kill -l $signal)))
		assert_equal "$(sent 'select(.method == "session/cancel").params')" '{"sessionId":"s1"}'
	done
}

@test "--format json: there is an object if the agent dies in the turn, or does not end a turn that is cancelled" {
	local version
	for version in 1 2; do
		agent '{"version":'$version',"turns":[[{"text":"Do"},'"$(call c1)"',{"exit":3}]]}'
		run -3 --separate-stderr ask --protocol $version -f json hi
		assert_equal "$(jq -c '[.text, .stop_reason, .tool_calls[].id]' <<<"$output")" '["Do",null,"c1"]'
		agent '{"version":'$version',"turns":[[{"text":"Do"},'"$(call c1)"',{"hang":true}]]}'
		rm -f err
		acp-ask --protocol $version --grace 10ms -f json hi -- "${AGENT[@]}" >out 2>err &
		wait_for grep -q tool err
		kill -TERM $!
		ended 143
		assert_equal "$(jq -c '[.text, .stop_reason, .tool_calls[].id]' out)" '["Do",null,"c1"]'
	done
}

@test "an open permission request is answered with cancelled when the turn is" {
	agent '{"turns":[[{"text":"x"},'"$(permission c1)"',{"wait":"session/cancel"},{"stop":"cancelled"}]]}'
	acp-ask --permit-by 'sh -c "cat >asked; exec sleep 1000"' hi -- "${AGENT[@]}" >out &
	wait_for grep -qs options asked
	kill -INT $!
	ended 130
	assert_equal "$(sent 'select(.id == 1001).result.outcome')" '{"outcome":"cancelled"}'
}

@test "noise is reported, answered where somebody waits, and ends nothing" {
	agent '{"turns":[[{"raw":"Welcome!\n\n[1]\n{\"id\":7,\"method\":\"x\",\"method\":\"y\"}\n"},{"text":"ok"}]]}'
	run -0 --separate-stderr ask hi
	assert_output ok
	assert_equal "${stderr_lines[0]}" 'acp-ask: agent: line 3: not a message: Welcome!'
	assert_equal "$(sent 'select(.error) | [.id, .error.code]')" $'[null,-32600]\n[7,-32600]'
	run -0 --separate-stderr ask -q hi
	assert_equal "$stderr" ''
}

@test "a response that is noise, or too long, does not keep its request waiting" {
	agent '{"turns":[[{"raw":"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{},\"error\":{}}\n"},{"wait":"x"}]]}'
	run -1 ask --grace 100ms hi
	assert_line --partial 'acp-ask: session/prompt: no response'
	agent '{"turns":[[{"raw":"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"x\":\""},{"raw":"y","times":3000},{"raw":"\"}}\n"}]]}'
	run -1 ask --grace 100ms --max-line 2K hi
	assert_line --partial 'a line beyond --max-line'
}

@test "a response to no open request is reported, and changes nothing" {
	agent '{"turns":[[{"raw":"{\"id\":\"3\",\"result\":{\"stopReason\":\"refusal\"}}\n{\"id\":null,\"error\":{\"code\":-32700,\"message\":\"m\"}}\n"}]]}'
	run -0 ask hi
	assert_line --index 0 'acp-ask: agent: line 3: a response to no open request: {"id":"3","result":{"stopReason":"refusal"}}'
	assert_line --index 1 --partial 'line 4: a response to no open request: {"id":null,"error":{"code":-32700'
	rm in
	run -0 ask --quiet hi
	assert_output ''
}

@test "an agent that closes its output is ended" {
	agent '{"turns":[[{"close":true},{"hang":true}]]}'
	run -143 ask --grace 100ms hi
}

@test "what the agent may not ask gets an error: nothing was offered" {
	agent '{"turns":[[{"ask":"fs/read_text_file","params":{"sessionId":"s1","path":"/etc/passwd"}},{"ask":"terminal/create","params":{"sessionId":"s1","command":"true"}},{"ask":"_x/y","params":{}}]]}'
	run -0 ask hi
	assert_equal "$(sent 'select(.error).error.code' | sort -u)" -32601
	assert_equal "$(sent 'select(.error).id' | wc -l)" 3
}

@test "standard output that cannot be written is an error" {
	agent '{"turns":[[{"text":"x"}]]}'
	run -125 bash -c 'exec acp-ask hi -- "$@" >/dev/full' - "${AGENT[@]}"
	assert_output 'acp-ask: standard output: No space left on device'
}

@test "standard output that nobody reads is not waited for after --timeout or a signal" {
	agent "$(jq -nc '{turns: [[{text: ("x" * 400000)}]]}')"
	mkfifo out
	exec 6<>out
	status=0
	timeout -k 1 60 acp-ask --timeout 1s --grace 100ms hi -- "${AGENT[@]}" >out 2>err || status=$?
	assert_equal "$status" 124
	mkfifo again
	exec 6<>again
	rm in
	acp-ask --grace 100ms hi -- "${AGENT[@]}" >again 2>err 3>&- &
	wait_for grep -qs session/prompt in
	kill $!
	status=0
	wait $! || status=$?
	assert_equal "$status" 143
}

@test "100 MB of text pass" {
	local n
	n=$(sample 10 100)
	agent '{"turns":[[{"text":"'"$(printf 'x%.0s' {1..9999})"'\n","times":'$((n * 100))'}]]}'
	ask hi | wc -c >count
	assert_equal "$(<count)" $((n * 1000000))
}

@test "the agent's standard error, and what a title says, obey no terminal" {
	agent '{"turns":[[{"err":"a\u001b]0;t\u0007b\n"},'"$(call c1 'X\u001b[2JY\nZ')"']]}'
	run -0 --separate-stderr ask hi
	assert_equal "$(sort <<<"$stderr")" $'a^[]0;t^Gb\ntool: X^[[2JY Z'
}

@test "on a terminal the agent's text obeys none, and there is a spinner" {
	agent '{"turns":[[{"text":"a\u001b[2Jb\n\u009bc\td\n"},{"exists":"go"}]]}'
	script -qefc "acp-ask hi -- ${AGENT[*]}" /dev/null </dev/null >screen &
	wait_for grep -q $'\r/ ' screen
	touch go
	wait $!
	output=$(<screen)
	mapfile -t lines <<<"$output"
	assert_line --partial 'a^[[2Jb'
	assert_line --partial $'<U+009B>c\td'
	# What is left are its own carriage returns and the end of the spinner's line.
	run ! grep -aP '\x1b(?!\[K)' <<<"$output"
	output=$(timeout 60 script -qec "acp-ask -f ndjson --permit '*=reject_once' hi -- acp-replay --match shape $FIXTURES/demo.rec" /dev/null </dev/null) ||
		[ $? -eq 1 ]
	assert grep -q agent_message_chunk <<<"$output"
	run ! grep -aP '\x1b(?!\[K)' <<<"$output"
}

# bats test_tags=slow
@test "without a session the methods of authentication are named; --auth uses one" {
	agent '{"initialize":{"authMethods":[{"id":"key","name":"Key","type":"env_var","vars":[{"name":"NO_KEY"}]},{"id":"web","name":"Web"}]},
		"methods":{"session/new":{"error":{"code":-32000,"message":"log in"}}}}'
	run -1 ask hi
	assert_output 'acp-ask: the agent requires authentication: log in; --auth: key, web'
	run -1 ask --auth nope hi
	assert_output 'acp-ask: the agent has no such method; --auth: key, web'
	run -1 ask --auth key hi
	assert_output 'acp-ask: --auth key: the environment variable NO_KEY is not set'
	run -1 env NO_KEY=1 acp-ask --auth key hi -- "${AGENT[@]}"
	assert_equal "$(sent 'select(.method == "authenticate").params')" '{"methodId":"key"}'
}

@test "a terminal method runs the agent's command at the terminal, and then starts the agent again" {
	agent '{"initialize":{"authMethods":[{"id":"t","name":"T","type":"terminal","args":["--login"],"env":{"SUB":"x"}}]},"turns":[[{"text":"in"}]]}'
	cat >agent <<-END
		#!/bin/sh
		[ "\$1" = --login ] || { ${AGENT[*]}; exit 3; }
		printf 'name: '
		read -r line
		echo "\$SUB \$line" >login
	END
	chmod +x agent
	run -1 acp-ask --auth t hi -- ./agent
	assert_output 'acp-ask: --auth t: it needs a terminal'
	rm in
	# Standard output is not the terminal's, nor is standard input.
	(for _ in {1..100}; do ! grep -qs 'name: ' out || break; sleep 0.1; done; echo me) |
		timeout 60 script -qefc "echo piped | acp-ask --auth t hi -- ./agent | cat" out >/dev/null
	assert_equal "$(<login)" 'x me'
	assert_equal "$(sent .method | sort | uniq -c | awk '{ print $1 $2 }' | tr '\n' ' ')" '2"initialize" 1"session/new" 1"session/prompt" '
	assert_equal "$(sent 'select(.method == "initialize").params.clientCapabilities.auth' | sort -u)" '{"terminal":true}'
}

@test "an agent that cannot be started again after a terminal method is not waited for" {
	agent '{"initialize":{"authMethods":[{"id":"t","name":"T","type":"terminal","args":["--login"]}]}}'
	cat >agent <<-END
		#!/bin/sh
		[ "\$1" = --login ] || exec ${AGENT[*]}
		rm me
	END
	chmod +x agent
	ln -s agent me
	run -127 timeout 60 script -qec "acp-ask --auth t hi -- ./me" out
	assert_output --partial 'acp-ask: ./me: command not found'
	refute_output --partial 'within the grace period'
}

@test "a response without a result, as JavaScript writes an undefined one, is not waited for" {
	agent '{"turns":[[{"text":"x"},{"raw":"{\"jsonrpc\":\"2.0\",\"id\":3}\n"},{"wait":"never"}]]}'
	run --separate-stderr -1 ask hi
	assert_equal "${stderr_lines[-1]}" 'acp-ask: session/prompt: no response'
}

@test "acp-check finds nothing in what acp-ask sends" {
	for version in 1 2; do
		agent '{"version":'$version',"turns":[['"$(call c1)"',{"text":"x"},{"stop":"end_turn"}]]}'
		acp-ask --protocol $version hi -- acp-tap -o s.rec -- "${AGENT[@]}"
		run -0 checked
		rm s.rec
	done
}

# bats test_tags=slow
@test "every recorded session serves as the agent" {
	for recording in "$FIXTURES"/*.jsonl "$FIXTURES"/demo.rec "$FIXTURES"/agents/*.jsonl "$FIXTURES"/live/*.rec; do
		version=1
		[[ $recording != */v2-* ]] || version=2
		rm -f s.rec
		acp-ask --protocol "$version" --permit '*=allow_once' -f json hi -- acp-tap -o s.rec -- acp-replay --match shape "$recording" 2>err >got ||
			grep -q 'the client left before "session/prompt"' err || [[ $recording == */codex.rec ]] # that was sent SIGTERM
		jq -e '.stop_reason == "end_turn" and (.text | length > 0)' got
		run -0 checked
	done
}
