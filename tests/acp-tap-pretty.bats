#!/usr/bin/env bats
# acp-tap -f pretty: the timeline.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
	unset COLUMNS NO_COLOR
}

# chunk TEXT [SESSION [KIND]]: an update, TEXT being the inside of a JSON string.
chunk() {
	printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%s","update":{"sessionUpdate":"%s","content":{"type":"text","text":"%s"}}}}\n' \
		"${2-s}" "${3-agent_message_chunk}" "$1"
}

# update JSON: of an update, without the kind's quotes and braces.
update() {
	printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":%s}}}\n' "$1"
}

# shows TEXT: the line in `in` ends with it, behind a space.
shows() {
	run -0 acp-tap in
	[[ $output == *" $1" ]] || {
		printf 'expected: %s\nshown: %s\n' "$1" "$output"
		return 1
	}
}

@test "the fixtures, in 80 columns and in 160" {
	for f in bash-tool four-turns-per-model-usage two-sessions-and-cancel write-with-permission; do
		for width in 80 160; do
			COLUMNS=$width acp-tap "$FIXTURES/$f.jsonl" | same_as "tap/$f.$width"
		done
	done
}

@test "no line is wider than the terminal, whatever is in it" {
	for f in "$FIXTURES"/*.jsonl; do
		for width in 60 80 81 109 110 133; do
			COLUMNS=$width acp-tap --no-fold "$f" >out
			(($(wc -L <out) <= width))
		done
	done
}

@test "the width of a terminal is asked for" {
	run script -qec 'stty cols 90; acp-tap --color never "'"$FIXTURES"'/bash-tool.jsonl"' /dev/null </dev/null
	assert_equal "$(printf '%s\n' "${lines[@]}" | tr -d '\r' | wc -L)" 90
}

@test "the width is 120 where nothing gives it" {
	acp-tap "$FIXTURES/four-turns-per-model-usage.jsonl" >out
	assert_equal "$(wc -L <out)" 120
}

@test "without a locale for it no byte is beyond ASCII" {
	LC_ALL=C COLUMNS=80 acp-tap "$FIXTURES/write-with-permission.jsonl" | same_as tap/write-with-permission.ascii
	run grep -cP '[^\x00-\x7f]' "$FIXTURES/tap/write-with-permission.ascii"
	assert_output 0
}

@test "runs of chunks are one line, where recordings are read; --no-fold gives each its own" {
	{
		chunk 'one '
		chunk two
		chunk three s agent_thought_chunk
		chunk four t
		chunk five
		update '"plan"'
		chunk six
	} >in
	run -0 acp-tap in
	assert_equal "${#lines[@]}" 6
	# What has no time shows none.
	assert_line --index 0 --regexp '^ +← .* ×2 .* one two$'
	assert_line --index 1 --regexp 'agent_thought_chunk .* three$'
	run -0 acp-tap --no-fold in
	assert_equal "${#lines[@]}" 7
	# Other updates are no chunks, whatever their content.
	{ chunk one s remark && chunk two s remark; } >in
	run -0 acp-tap in
	assert_equal "${#lines[@]}" 2
}

@test "in a stream a line for each message, and with --fold the run when something else comes" {
	{
		chunk 'one '
		chunk two
	} >in
	run -0 --separate-stderr acp-tap <in
	assert_equal "${#stderr_lines[@]}" 3
	run -0 --separate-stderr acp-tap --fold <in
	assert_equal "${#stderr_lines[@]}" 2
	assert_regex "${stderr_lines[0]}" ' ×2 .* one two$'
	assert_output "$(cat in)"
}

@test "a run's bytes are counted; its text is joined over escapes that are split" {
	{
		chunk '\ud83d\ude00 a\n'
		chunk 'b'
	} >in
	run -0 acp-tap in
	assert_regex "$output" " $(($(head -n 1 in | wc -c) + $(tail -n 1 in | wc -c) - 2)) s +😀 a↵b\$"
}

@test "nothing in a text reaches the terminal as a control" {
	export COLUMNS=200
	chunk '\u001b[31mred\u0007\u0000\u007f \u009b31m \u202egnal\u2066 \u200b\ufeff\u2028 \ud800 tab\there\r\nend' >in
	shows '^[[31mred^G^@^? <U+009B>31m <U+202E>gnal<U+2066> <U+200B><U+FEFF><U+2028> � tab here^M↵end'
	printf '{"jsonrpc":"2.0","method":"\\u001b]0;x\\u0007","id":"\\u001b","params":{"sessionId":"\\u001b["}}\n' >in
	acp-tap in >out
	run grep -cP '[\x00-\x08\x0b-\x1f\x7f]' out
	assert_output 0
}

@test "bytes of noise that are not UTF-8 are shown by their numbers" {
	printf '\033[2Jfoo \377\300\257 \342\202' >in
	run -0 --separate-stderr acp-tap <in
	assert_regex "${stderr_lines[0]}" 'noise .* \^\[\[2Jfoo <FF><C0><AF> <E2><82>$'
}

@test "wide characters and combining ones are cut as wholes" {
	chunk '日本語日本語日本語日本語日本語' >in
	for width in 60 61 62 63 64 65 66; do
		COLUMNS=$width acp-tap in >out
		assert_equal "$(iconv -f UTF-8 -t UTF-8 out | wc -l)" 1
		(($(wc -L <out) <= width))
		run cat out
		assert_output --partial …
	done
}

@test "colours on a terminal only, or as --color says; NO_COLOR is honoured" {
	chunk x >in
	run -0 acp-tap in
	refute_output --partial $'\033'
	run -0 acp-tap --color always in
	assert_output --partial $'\033['
	run script -qec 'acp-tap in' /dev/null </dev/null
	assert_output --partial $'\033[0;32m'
	run script -qec 'NO_COLOR=1 acp-tap in' /dev/null </dev/null
	refute_output --partial $'\033'
	run script -qec 'TERM=dumb acp-tap in' /dev/null </dev/null
	refute_output --partial $'\033'
}

@test "a response has its request's method, session and latency; an error its code" {
	cat >in <<-'END'
		{"t":1,"from":"client","msg":{"jsonrpc":"2.0","id":"x","method":"session/set_mode","params":{"sessionId":"abcdefghij","modeId":"plan"}}}
		{"t":1.25,"from":"agent","msg":{"jsonrpc":"2.0","id":"\u0078","error":{"code":-32602,"message":"no such mode","data":{"a":1}}}}
	END
	run -0 acp-tap in
	assert_line --index 0 '   1.000 → req  x      session/set_mode             106 abcdefgh   plan'
	assert_line --index 1 '   1.250 ← err  x      session/set_mode              95 abcdefgh   +250ms -32602 no such mode  {"a":1}'
}

@test "a turn has a bracket, one for each session" {
	cat >in <<-'END'
		{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"aaaa","prompt":[]}}
		{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"bbbb","prompt":[]}}
		{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}
		{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"aaaa"}}
		{"jsonrpc":"2.0","id":2,"result":{"messageId":"m"}}
		{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"bbbb","update":{"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn"}}}
		{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"bbbb"}}
	END
	run -0 acp-tap in
	for expected in 'aaaa ┌' 'bbbb ┌' 'aaaa └' 'aaaa' 'bbbb │' 'bbbb └' 'bbbb'; do
		assert_line --regexp " ${expected% *} *${expected#"${expected% *}"}"
	done
	assert_equal "$(printf '%s\n' "${lines[@]}" | grep -o '[┌│└]' | tr -d '\n')" '┌┌└│└'
}

@test "work without a prompt has a bracket, too, and what an envelope carries has its session" {
	update() {
		printf '{"method":"session/update","params":{"sessionId":"aaaa","update":{"sessionUpdate":"state_update","state":"%s"}}}\n' "$1"
	}
	{
		update running
		update requires_action
		update idle
		update idle
		printf '{"method":"proxy/successor","params":%s}\n' '{"method":"session/update","params":{"sessionId":"far","update":{"sessionUpdate":"plan"}}}'
	} >in
	run -0 acp-tap in
	assert_equal "$(printf '%s\n' "${lines[@]}" | grep -o '[┌│└]' | tr -d '\n')" '┌│└'
	assert_line --regexp 'proxy/successor +[0-9]+ far '
}

@test "sessions that begin alike have labels that tell them apart" {
	{
		chunk x 01234567-aaaa-11111111
		chunk x 01234567-aaaa-22222222
		chunk x 01234567-bbbb-22222222
	} >in
	run -0 acp-tap in
	assert_line --index 0 --partial ' 01234567 '
	assert_line --index 1 --partial ' 22222222 '
	assert_line --index 2 --partial ' ~3 '
}

@test "a long method is cut at its beginning, between two characters" {
	for name in _dépôt/ééééééééééééééééééééééé{,x}; do
		printf '{"jsonrpc":"2.0","method":"%s"}\n' "$name"
	done >in
	LC_ALL=C.UTF-8 run -0 acp-tap in
	refute_output --partial '<'
	assert_line --index 0 --partial ' …éé'
	assert_line --index 1 --partial ' …éé'
}

@test "more sessions than are kept are no trouble" {
	for ((i = 0; i < 200; i++)); do chunk x "session-$i"; done >in
	run -0 acp-tap in
	assert_equal "${#lines[@]}" 200
}

@test "previews of updates" {
	export COLUMNS=200
	update '"usage_update","used":53000,"size":200000,"cost":{"amount":0.045,"currency":"USD"}' >in
	shows '26%  53.0K/200K  0.045 USD'
	update '"usage_update","used":5.3e4,"size":null,"cost":{"amount":0.11358000000000001,"currency":"credits"}' >in
	shows '53.0K  0.1136 credits'
	update '"usage_update","used":1041000,"size":200000,"cost":{"amount":12,"currency":"EUR"}' >in
	shows '520%  1.0M/200K  12.00 EUR'
	update '"usage_update","used":5,"size":200,"cost":{"amount":"12","currency":"EUR"}' >in
	shows '2%  5/200'
	update '"tool_call","toolCallId":"t1","title":"Read a","status":"pending","content":[{"type":"diff","path":"/x/y"}]' >in
	shows 'pending  Read a  diff /x/y'
	update '"tool_call_update","toolCallId":"t1","status":"failed","content":[{"type":"content","content":{"type":"text","text":"oh"}},{"type":"terminal","terminalId":"7"}]' >in
	shows 'failed  t1  oh terminal 7'
	update '"plan","entries":[{"content":"a","status":"completed"},{"content":"b","status":"in_progress"},{"content":"c","status":"pending"}]' >in
	shows '1 of 3 done  b'
	update '"current_mode_update","currentModeId":"plan"' >in
	shows plan
	update '"config_option_update","configOptions":[{"id":"model","currentValue":"m1"},{"id":"fast","currentValue":true}]' >in
	shows 'model=m1, fast=true'
	update '"agent_message_chunk","content":{"type":"image","mimeType":"image/png","data":"AAAA"}' >in
	shows '[image image/png]'
	update '"brand_new","x":{"y":1}' >in
	shows '{"sessionUpdate":"brand_new","x":{"y":1}}'
}

# call METHOD PARAMS
call() {
	printf '{"jsonrpc":"2.0","id":1,"method":"%s","params":%s}\n' "$1" "$2" >in
}

# answer METHOD RESULT: only the answer is shown.
answer() {
	call "$1" '{}'
	printf '{"jsonrpc":"2.0","id":1,"result":%s}\n' "$2" >>in
}

@test "previews of requests" {
	export COLUMNS=200
	call session/prompt '{"prompt":[{"type":"text","text":"look at"},{"type":"resource_link","uri":"file:///a","name":"a"}]}'
	shows 'look at [resource_link file:///a]'
	call session/request_permission '{"toolCall":{"title":"Run it"},"options":[{"optionId":"a","name":"Allow"},{"optionId":"r"}]}'
	shows 'Run it?  Allow | r'
	call session/request_permission '{"title":"Drop it?","subject":{"type":"command","command":"dropdb x","cwd":"/"},"options":[{"optionId":"r"}]}'
	shows 'Drop it?  dropdb x  r'
	call session/request_permission '{"title":"May I?","subject":{"type":"tool_call","toolCall":{"toolCallId":"t","title":"Run it"}},"options":[{"optionId":"r"}]}'
	shows 'May I?  Run it?  r'
	call session/new '{"cwd":"/p","mcpServers":[{"name":"x"}]}'
	shows '/p  1 MCP server'
	call fs/write_text_file '{"path":"/p/f","content":"hello"}'
	shows '/p/f  5'
	call fs/read_text_file '{"path":"/p/f","line":7,"limit":2}'
	shows '/p/f  from line 7  lines 2'
	call terminal/create '{"command":"ls","args":["-l","a b"]}'
	shows 'ls  -l a b'
	call '$/cancel_request' '{"requestId":4}'
	shows 'id 4'
	call mcp/message '{"method":"tools/list","params":{"a":1}}'
	shows 'tools/list  {"a":1}'
	call x/unknown '[1,2]'
	shows '[1,2]'
}

@test "previews of answers" {
	export COLUMNS=200
	answer session/prompt '{"stopReason":"max_tokens","usage":{"inputTokens":8700,"outputTokens":129,"totalTokens":33429}}'
	shows 'max_tokens  8.7K in, 129 out, 33.4K tokens'
	answer session/prompt '{"stopReason":"end_turn","_meta":{"quota":{"token_count":{"input_tokens":10,"output_tokens":20}}}}'
	shows 'end_turn  10 in, 20 out'
	answer session/request_permission '{"outcome":{"outcome":"selected","optionId":"allow"}}'
	shows allow
	answer session/request_permission '{"outcome":{"outcome":"cancelled"}}'
	shows cancelled
	answer fs/read_text_file '{"content":"a\nb"}'
	shows '4:  a↵b'
	answer terminal/wait_for_exit '{"exitCode":3,"signal":null}'
	shows 'exit 3'
	answer x/unknown '{"a":1}'
	shows '{"a":1}'
}

@test "previews of an MCP server's requests and notifications" {
	export COLUMNS=200
	call tools/call '{"name":"read","arguments":{"path":"/a b","line":7,"in":{"x":[1]}},"_meta":{"progressToken":1}}'
	shows 'read  path=/a b, line=7, in={"x":[1]}'
	call tools/call '{"name":"now","arguments":{}}'
	shows now
	call tools/list '{"cursor":"p2","_meta":{}}'
	shows 'from p2'
	call prompts/get '{"name":"review","arguments":{"of":"x.c"}}'
	shows 'review  of=x.c'
	call resources/read '{"uri":"file:///a"}'
	shows file:///a
	call sampling/createMessage '{"messages":[{"role":"user","content":{"type":"text","text":"Hi"}},{"role":"assistant","content":[{"type":"image","mimeType":"image/png"}]}]}'
	shows 'user: Hi assistant: [image image/png]'
	call notifications/progress '{"progressToken":1,"progress":3,"total":10,"message":"reading"}'
	shows '3  of 10  reading'
	call notifications/message '{"level":"warning","logger":"db","data":{"free":0}}'
	shows 'warning:  db  {"free":0}'
	call notifications/cancelled '{"requestId":4,"reason":"timeout"}'
	shows 'id 4  timeout'
}

@test "previews of an MCP server's responses" {
	export COLUMNS=200
	answer initialize '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"files","version":"1.2"}}'
	shows 'files 1.2  protocol 2025-06-18'
	answer tools/list '{"tools":[{"name":"read","inputSchema":{"type":"object"}},{"name":"write"}],"nextCursor":"p2"}'
	shows '2 tools: read, write  more from p2'
	answer tools/list '{"tools":[{"name":"read"}]}'
	shows '1 tool: read'
	answer tools/list '{"tools":[]}'
	shows '0 tools'
	answer tools/call '{"content":[{"type":"text","text":"a\nb"},{"type":"resource","resource":{"uri":"file:///a","text":"x"}}],"structuredContent":{"a":1}}'
	shows 'a↵b [resource file:///a]'
	answer tools/call '{"content":[{"type":"text","text":"no such file"}],"isError":true}'
	shows 'error: no such file'
	answer tools/call '{"content":[{"type":"text","text":"fine"}],"isError":false}'
	shows ' fine'
	answer tools/call '{"content":[],"structuredContent":{"a":1}}'
	shows '{"a":1}'
	answer prompts/get '{"description":"d","messages":[{"role":"user","content":{"type":"text","text":"Look at x.c"}}]}'
	shows 'user: Look at x.c'
	answer resources/read '{"contents":[{"uri":"file:///a","mimeType":"text/plain","text":"hello"},{"uri":"file:///b","blob":"AAAA"}]}'
	shows 'hello [file:///b]'
	answer resources/list '{"resources":[{"uri":"file:///a","name":"a"}]}'
	shows '1 resource: a'
	answer session/list '{"sessions":[{"sessionId":"s1","title":"Fix it"},{"sessionId":"s2"}]}'
	shows '2 sessions: Fix it, s2'
}

@test "an MCP server's texts and names are made harmless, and may be of any type" {
	export COLUMNS=200
	call tools/call '{"name":"\u001b]0;x\u0007","arguments":{"\u001b[2J":"\u009b","n":null}}'
	shows '^[]0;x^G  ^[[2J=<U+009B>, n=null'
	answer tools/call '{"isError":true,"content":[{"type":"text","text":"\u001b[2J\nno"}]}'
	shows 'error: ^[[2J↵no'
	jq -nc '("initialize", "server/discover", "tools/call", "tools/list", "prompts/get", "resources/read", "sampling/createMessage",
		"notifications/progress", "notifications/message", "session/list") as $method
		| (7, null, true, "\u001b]0;\u0007", [], ["\u001b", [], {}], {}, {name: {}, type: 7, text: [], content: {}, role: [], "\u001b": [null]}) as $v
		| (["name", "arguments", "content", "isError", "structuredContent", "tools", "nextCursor", "messages", "contents", "role", "model",
			"serverInfo", "protocolVersion", "supportedVersions", "progress", "total", "level", "data", "sessions"]
			| map({key: ., value: $v}) | from_entries) as $all
		| $v, $all, ($all | map_values([., $all]))
		| {jsonrpc: "2.0", id: 1, $method, params: .}, {jsonrpc: "2.0", id: 1, result: .}' >in
	acp-tap --no-fold in >out
	assert_equal "$(wc -l <out)" "$(wc -l <in)"
	run grep -cP '[\x00-\x09\x0b-\x1f\x7f]' out
	assert_output 0
}

@test "what is not a message has its name, and noise its text" {
	acp-tap -f pretty -o log -- sh -c 'echo banner; echo words >&2; kill -TERM $$' </dev/null >out 2>err || true
	run cat log
	assert_line --regexp '← +noise +6 +banner$'
	assert_line --regexp '← +stderr +5 +words$'
	assert_line --regexp '← +exit +signal TERM$'
	assert_line --regexp '→ +eof'
	acp-tap -f record -o s.rec -- true </dev/null
	run -0 acp-tap --from agent s.rec
	assert_line --regexp '← +exit +exit status 0$'
	printf '{"t":1,"event":"lost","count":2,"why":"No space left on device"}\n{"t":1,"event":"eof","from":"agent","torn":true}\n' >in
	printf '{"t":1,"event":"%s","why":"%s"}\n' restart 'killed by SIGKILL' error 'a torn line' >>in
	run -0 acp-tap in
	assert_line --index 3 --regexp ' error .* a torn line$'
	assert_line --index 2 --regexp ' restart .* killed by SIGKILL$'
	assert_line --index 0 --regexp 'lost .* 2: No space left on device$'
	assert_line --index 1 --regexp '← .* eof .* the last line has no newline$'
}

@test "recordings have their names, dates and commands before them" {
	echo '{"acp-recording":1,"started":"2026-11-20T15:56:02.123456Z","by":"x","command":["agent","--acp"]}' >s.rec
	echo '{"t":1,"event":"eof","from":"agent"}' >>s.rec
	run -0 acp-tap s.rec
	assert_line --index 0 's.rec  2026-11-20 15:56:02  agent --acp'
}

@test "what comes of sub-agents, compaction and notices has a preview" {
	{
		update '"subagent_update","sessionId":"child","title":"Explore","state":{"state":"idle","stopReason":"end_turn"}'
		update '"session_message","messageId":"m","content":[{"type":"text","text":"look here"}]'
		update '"compaction_update","compactionId":"c","status":"completed","summary":[{"type":"text","text":"short"}]'
		update '"compaction_update","compactionId":"c","status":"failed","error":{"message":"too long"}'
		update '"notice","severity":"warning","title":"rate limited"'
	} >in
	run -0 acp-tap in
	assert_line --index 0 --regexp 'idle  Explore  end_turn$'
	assert_line --index 1 --regexp 'look here$'
	assert_line --index 2 --regexp 'completed  short$'
	assert_line --index 3 --regexp 'failed  too long$'
	assert_line --index 4 --regexp 'warning:  rate limited$'
}

@test "a bracket that is open at the end is closed, with how long the prompt has had no response" {
	cat >s.rec <<-'END'
		{"acp-recording":1,"started":"2026-11-20T12:00:00.000000Z"}
		{"t":1,"from":"client","msg":{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"one","prompt":[]}}}
		{"t":2,"from":"agent","msg":{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"one","update":{"sessionUpdate":"plan","entries":[]}}}}
		{"t":3,"event":"eof","from":"agent"}
	END
	run -0 acp-tap --color never s.rec
	assert_line --index 4 --regexp '^ +3\.000 · .* one +└ no response after 2\.0 s$'
	LC_ALL=C run -0 acp-tap --color never s.rec
	assert_line --index 4 --regexp '^ +3\.000 - .* one +` no response after 2\.0 s$'
	run -0 acp-tap -n -f full s.rec
	assert_output --partial '└ no response after 2.0 s'
	cat s.rec "$FIXTURES/demo.rec" >two.rec
	run -0 acp-tap --color never two.rec
	assert_line --index 4 --partial 'no response after 2.0 s'
	assert_equal "$(grep -c 'no response' <<<"$output")" 1
}

@test "a prompt that waits in the queue has had no response since it came, not since its turn began" {
	cat >s.rec <<-'END'
		{"acp-recording":1,"started":"2026-11-20T12:00:00.000000Z"}
		{"t":1,"from":"client","msg":{"id":1,"method":"session/prompt","params":{"sessionId":"one","prompt":[]}}}
		{"t":2,"from":"client","msg":{"id":2,"method":"session/prompt","params":{"sessionId":"one","prompt":[]}}}
		{"t":9,"from":"agent","msg":{"method":"session/update","params":{"sessionId":"one","update":{"sessionUpdate":"plan","entries":[]}}}}
	END
	run -0 acp-tap --color never s.rec
	assert_equal "$(grep -o 'no response after .*' <<<"$output")" $'no response after 8.0 s\nno response after 7.0 s'
}

@test "an exit by a signal that has no name here is no exit status, and a record keeps the name" {
	local signal
	for signal in INFO 40 KILL; do
		printf '%s\n' '{"acp-recording":1}' '{"t":1,"from":"client","msg":{"id":1,"method":"session/prompt","params":{"sessionId":"one","prompt":[]}}}' \
			'{"t":2.000000,"event":"exit","signal":"'$signal'"}' >s.rec
		run -0 acp-tap s.rec
		assert_output --regexp " exit +(unknown )?signal $signal"
		run -0 acp-tap -f record s.rec
		assert_line '{"t":2.000000,"event":"exit","signal":"'$signal'"}'
		run -0 acp-export -f markdown s.rec
		assert_output --regexp "The agent ended: (signal $signal|unknown signal)\."
	done
	# The number may be a number.
	sed -i 's/"KILL"/9/' s.rec
	run -0 acp-tap -f record s.rec
	assert_line '{"t":2.000000,"event":"exit","signal":"9"}'
	run -0 acp-export -f markdown s.rec
	assert_output --partial 'The agent ended: signal KILL.'
	# 0 is no signal.
	sed -i 's/"signal":9/"signal":0,"status":3/' s.rec
	run -0 acp-export -f markdown s.rec
	assert_output --partial 'The agent ended: exit status 3.'
}

@test "a bracket is not closed where the rest is not known, or only messages are wanted" {
	printf '%s\n' '{"id":3,"method":"session/prompt","params":{"sessionId":"one","prompt":[]}}' '{"method":"_none"}' >in
	run -0 --separate-stderr acp-tap --until 1 in
	refute_output --partial 'no response'
	run -0 --separate-stderr acp-tap -c 1 in
	refute_output --partial 'no response'
	run -0 --separate-stderr acp-tap -m 'session/*' in
	refute_output --partial 'no response'
	run -0 --separate-stderr acp-tap in
	assert_output --partial '└ no response'
	(cat in; echo '{"event":"rotated"}') >rotated
	run acp-tap rotated
	refute_output --partial 'no response'
}
