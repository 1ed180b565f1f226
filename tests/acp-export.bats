#!/usr/bin/env bats
# acp-export: the command line, and what stands on the page.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
}

teardown() {
	end_left_over
}

# recording LINE...: messages with a time each, as a recording s.rec; a leading < is the client's.
recording() {
	local line t=0
	printf '%s\n' '{"acp-recording":1,"started":"2026-11-20T15:56:02.000000Z","by":"test"}'
	for line; do
		case $line in
		'<'*) printf '{"t":%d.000000,"from":"client","msg":%s}\n' "$t" "${line#?}" ;;
		*) printf '{"t":%d.000000,"from":"agent","msg":%s}\n' "$t" "$line" ;;
		esac
		t=$((t + 1))
	done
}

# update SESSION MEMBERS: a session/update.
update() {
	printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%s","update":{%s}}}' "$1" "$2"
}

says() {
	update "$1" "\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":$(jq -n --arg t "$2" '$t')}"
}

prompt() {
	printf '<{"jsonrpc":"2.0","id":%s,"method":"session/prompt","params":{"sessionId":"%s","prompt":[{"type":"text","text":"%s"}]}}' "$@"
}

stop='{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}'

@test "without a recording it is bad usage" {
	run -2 --separate-stderr acp-export
	[[ $stderr == 'acp-export: no recording is given'* ]]
}

@test "an unknown format is refused, with those there are" {
	run -2 acp-export -f pdf "$FIXTURES/demo.rec"
	assert_output --partial 'expected html, markdown'
}

@test "--redact takes text only" {
	run -2 acp-export --redact=names "$FIXTURES/demo.rec"
	assert_output --partial 'expected text'
}

@test "--max-line leaves out longer lines, and says so" {
	{ cat "$FIXTURES/bash-tool.jsonl" && jq -nc '{t: 9, from: "agent", msg: {jsonrpc: "2.0", method: "_x", params: {x: ("x" * 100000)}}}'; } >long.rec
	run -2 --separate-stderr acp-export --max-line 1K -o page long.rec
	assert_equal "$stderr" "acp-export: long.rec:$(wc -l <long.rec): not a record at byte 1: longer than --max-line"
	assert [ -s page ]
	run -2 acp-export --max-line x "$FIXTURES/bash-tool.jsonl"
	assert_output --partial 'such as'
}

@test "a file without a message is status 2, and no page" {
	: >empty
	run -2 acp-export -o page empty
	assert_output 'acp-export: empty: no message in it'
	[ ! -s page ]
	echo 'Dear diary' >diary
	run -2 acp-export -o page diary
	assert_output 'acp-export: diary:1: not a record at byte 1: expected a value'
}

@test "a file that cannot be read is status 2; the others are on the page" {
	run -2 --separate-stderr acp-export missing "$FIXTURES/demo.rec"
	[ "$stderr" = 'acp-export: missing: No such file or directory' ]
	assert_line --partial '</html>'
}

@test "an output that cannot be written is status 125" {
	run -125 bash -c 'acp-export "$1" >/dev/full' - "$FIXTURES/demo.rec"
	assert_output --partial 'No space left on device'
	run -125 acp-export -o missing/page "$FIXTURES/demo.rec"
	assert_output --partial 'missing/page'
}

@test "the output is never an input" {
	cp "$FIXTURES/demo.rec" s.rec
	ln -s s.rec link
	for name in s.rec ./s.rec link; do
		run -2 acp-export -o $name s.rec
		assert_output "acp-export: $name: it is also an input"
		cmp s.rec "$FIXTURES/demo.rec"
	done
}

@test "-o makes a private file" {
	acp-export -o page "$FIXTURES/demo.rec"
	[ "$(stat -c %a page)" = 600 ]
	cmp page <(acp-export "$FIXTURES/demo.rec")
}

@test "- is standard input" {
	cmp <(acp-export - <"$FIXTURES/demo.rec") <(acp-export "$FIXTURES/demo.rec")
}

@test "the policy of the page allows its own style and nothing else" {
	acp-export "$FIXTURES/demo.rec" >page
	run -0 python3 - page <<-'END'
		import base64, hashlib, re, sys
		page = open(sys.argv[1]).read()
		style = re.search('<style>(.*?)</style>', page, re.S).group(1)
		print('sha256-' + base64.b64encode(hashlib.sha256(style.encode()).digest()).decode())
	END
	# Where this fails the style was changed: the hash goes into html_style.c.
	grep -F "content=\"default-src 'none'; style-src '$output'; img-src data:; base-uri 'none'; form-action 'none'\"" page
	run grep -icE '<script|<link|<iframe|@import|url\(| on[a-z]+=| style=' page
	assert_output 0
}

@test "--session shows that session only, by the beginning of its id" {
	local file=$FIXTURES/two-sessions-and-cancel.jsonl
	mapfile -t ids < <(acp-tap -f raw "$file" | jq -r '.result.sessionId? // empty')
	run -0 acp-export -f markdown --session "${ids[1]:0:8}" "$file"
	[ "$(grep -c '^# ' <<<"$output")" -eq 1 ]
	assert_line "- Session: ${ids[1]}"
	run -2 acp-export --session none "$file"
	assert_output "acp-export: --session none: no session has this id; there are: ${ids[0]}, ${ids[1]}"
}

@test "--redact leaves out secrets, also one that came in pieces" {
	recording "$(prompt 1 s 'use sk-ant-api03-AAAABBBBCCCCDDDDEEEEFFFFGGGGHHHHIIIIJJJJ please')" \
		"$(says s 'The key is sk-ant-api03-AAAABBBB')" "$(says s 'CCCCDDDDEEEEFFFFGGGGHHHHIIIIJJJJ, I think.')" "$stop" >s.rec
	for format in html markdown; do
		run -0 --separate-stderr acp-export -f $format --redact s.rec
		refute_output --partial FFFFGGGG
		refute_output --partial AAAABBBB
		assert_output --partial 'I think.'
		[[ $stderr == 'acp-export: redacted 2 values'* ]]
		run -0 acp-export -f $format s.rec
		assert_output --partial AAAABBBBCCCCDDDD
		run -0 --separate-stderr acp-export -f $format --redact=text s.rec
		refute_output --partial 'I think'
		assert_output --partial redacted
	done
}

@test "--redact: a prompt that the agent repeats is shown once, in one piece or whole" {
	local text='{"type":"text","text":"use password=Tr0ub4dor3xyz99 please"}'
	for echo in '"sessionUpdate":"user_message_chunk","content":'"$text" '"sessionUpdate":"user_message","messageId":"u","content":['"$text"']'; do
		recording "$(prompt 1 s 'use password=Tr0ub4dor3xyz99 please')" "$(update s "$echo")" "$stop" >s.rec
		for option in --redact --redact=text ''; do
			run -0 --separate-stderr acp-export -f markdown $option s.rec
			assert_equal "$option $(grep -c '^> ' <<<"$output")" "$option 1"
		done
	done
}

@test "--redact leaves out a password in the name of the model" {
	recording "$(prompt 1 s hi)" \
		"$(update s '"sessionUpdate":"usage_update","used":1,"size":10,"_meta":{"_claude/model":"https://me:hunter22pw@gw.example/claude"}')" \
		'{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn","usage":{"totalTokens":3,"inputTokens":1,"outputTokens":2}}}' >s.rec
	for format in html markdown; do
		run -0 acp-export -f $format s.rec
		assert_output --partial hunter22
		run -0 --separate-stderr acp-export -f $format --redact s.rec
		refute_output --partial hunter22
		assert_output --partial 'gw.example/claude'
		[[ $stderr == 'acp-export: redacted 1 value in 1 message'* ]]
	done
}

@test "--redact=text leaves no text of the session" {
	recording '<{"jsonrpc":"2.0","id":0,"method":"session/new","params":{"cwd":"/home/somebody","mcpServers":[]}}' \
		'{"jsonrpc":"2.0","id":0,"result":{"sessionId":"s"}}' "$(prompt 1 s private)" "$(says s private)" \
		"$(update s '"sessionUpdate":"session_info_update","title":"private"')" \
		"$(update s '"sessionUpdate":"tool_call","toolCallId":"c","title":"private","rawInput":{"a":"private"},"rawOutput":"private"')" \
		"$(update s '"sessionUpdate":"tool_call_update","toolCallId":"c","_meta":{"terminal_output_delta":{"terminal_id":"c","data":"private"}}')" \
		"$(update s '"sessionUpdate":"terminal_update","terminalId":"t","output":{"data":"cHJpdmF0ZQ=="}')" \
		'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"private","data":"private"}}' >s.rec
	for format in html markdown; do
		run -0 --separate-stderr acp-export -f $format s.rec
		assert_output --partial private
		assert_output --partial somebody
		run -0 --separate-stderr acp-export -f $format --redact=text s.rec
		refute_output --partial private
		refute_output --partial somebody
	done
}

@test "a session that is resumed has no history on the page" {
	recording '<{"jsonrpc":"2.0","id":0,"method":"session/resume","params":{"sessionId":"s","cwd":"/","mcpServers":[]}}' \
		'{"jsonrpc":"2.0","id":0,"result":{}}' "$(prompt 1 s hello)" "$stop" >s.rec
	run -0 acp-export -f markdown s.rec
	refute_line --partial Earlier
	assert_line --partial '## Turn 1'
	assert_line -- '- Directory: /'
}

@test "prompts that wait for the turn before have turns of their own" {
	recording "$(prompt 1 s one)" "$(prompt 2 s two)" "$(says s first)" '{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}' \
		"$(says s second)" '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}' >s.rec
	run -0 acp-export -f markdown s.rec
	assert_output --regexp '> one.*first.*> two.*second'
}

# bats test_tags=slow
@test "the cost of a session is the one that acp-usage reports" {
	local file
	for file in "$FIXTURES"/*.jsonl "$FIXTURES"/agents/*.jsonl; do
		acp-export -f markdown "$file" >page
		acp-usage --summary -f json "$file" >usage.json
		diff <(sed -n 's/^- Cost: //p' page | tr -d '\\' | cut -d' ' -f1) \
			<(jq -r 'select(.session and .parent == null) | .cost[]?.amount' usage.json | xargs -rn1 printf '%.4f\n')
	done
}

@test "a turn shows its prompt, its text, how it ended and what it used" {
	run -0 acp-export -f markdown "$FIXTURES/write-with-permission.jsonl"
	assert_line '> please WRITE the note'
	assert_line 'I will write the file now.'
	assert_line '+second line'
	assert_line --partial 'Permission**: Write note.txt'
	assert_line -- '- [x] Allow'
	assert_line -- '- [ ] Reject'
	assert_line --partial 'end\_turn · 153 ms · input 5.1K · cache read 16.0K · cache write 600 · output 101 · total 21.8K · 0.0398 USD'
}

@test "chunks are one text, and thoughts are folded" {
	thinks='"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}'
	recording "$(prompt 1 s hello)" "$(update s "$thinks")" "$(update s "$thinks")" "$(says s 'a **b')" "$(says s '** c')" "$stop" >s.rec
	run -0 acp-export s.rec
	assert_line '<p>hmhm</p>'
	assert_line '<details class="thought">'
	assert_line '<p>a <strong>b</strong> c</p>'
}

@test "the plan appears once a turn, in its last state" {
	plan() {
		update s "\"sessionUpdate\":\"plan\",\"entries\":[{\"content\":\"first\",\"status\":\"$1\",\"priority\":\"high\"}]"
	}
	recording "$(prompt 1 s hello)" "$(plan pending)" "$(plan in_progress)" "$(plan completed)" "$stop" >s.rec
	run -0 acp-export s.rec
	[ "$(grep -c '>first<' <<<"$output")" -eq 1 ]
	assert_line '<div class="entry completed">first</div>'
}

@test "a plan that was removed is not shown, nor an empty one; plans with ids are shown beside each other" {
	plan() {
		update s "\"sessionUpdate\":\"plan_update\",\"plan\":{\"type\":\"items\",\"planId\":\"$1\",\"entries\":[{\"content\":\"$2\",\"status\":\"pending\",\"priority\":\"high\"}]}"
	}
	recording "$(prompt 1 s hello)" "$(plan a draft)" "$(plan b other)" "$(plan a final)" \
		"$(update s '"sessionUpdate":"plan_removed","planId":"b"')" "$(update s '"sessionUpdate":"plan","entries":[]')" "$stop" >s.rec
	run -0 acp-export -f markdown s.rec
	[ "$(grep -c '^\*\*Plan' <<<"$output")" -eq 1 ]
	assert_line -- '- [ ] final'
	refute_output --partial draft
	refute_output --partial other
}

@test "a compaction is shown once, with the summary that came whole or in pieces" {
	compaction() {
		update s "\"sessionUpdate\":\"compaction_$1\",\"compactionId\":\"$2\",$3"
	}
	local text='"content":{"type":"text","text":' format
	recording "$(prompt 1 s hello)" "$(compaction update a '"status":"in_progress"')" "$(compaction summary_chunk a "$text\"first \"}")" \
		"$(compaction summary_chunk a "$text\"half and second, sk-ant-api03-AAAABBBBCCCCDDDD\"}")" "$(compaction summary_chunk a "$text\"EEEEFFFFGGGGHHHHIIIIJJJJ.\"}")" \
		"$(compaction update a '"status":"completed"')" "$(compaction update a '"status":"completed"')" \
		"$(compaction update b '"status":"failed","summary":[{"type":"text","text":"one"},{"type":"text","text":"two"}]')" \
		"$(compaction update c '"status":"in_progress"')" "$stop" >s.rec
	run -0 --separate-stderr acp-export -f markdown --redact s.rec
	assert_output --partial $'\n**Note**: The context was compacted: completed\\\nfirst half and second, '
	refute_output --partial EEEEFFFF
	assert_output --partial $'\n**Error**: The context was compacted: failed\\\none\\\ntwo\n'
	[ "$(grep -c 'context was compacted' <<<"$output")" -eq 2 ]
}

@test "a second initialize ends the turn that is open; its response is the second connection's" {
	local file=$FIXTURES/usage/open-at-initialize.nd
	run -0 acp-export -f markdown "$file"
	assert_output --regexp $'## Turn 1\n.*\\*no response\\*.*end..turn · input 777 '
	[ "$(grep -c '^\*end' <<<"$output")" -eq "$(acp-usage -f json "$file" | jq -s 'map(select(.event == "turn")) | length')" ]
}

# enveloped FILE: the same conversation as the far side of a proxy has it: what the client sends comes from the proxy.
enveloped() {
	python3 - "$1" <<-'END'
		import json, sys
		for line in open(sys.argv[1]):
		    r = json.loads(line)
		    if 'from' in r and ('msg' in r or 'line' in r):
		        m = r.pop('msg') if 'msg' in r else json.loads(r.pop('line'))
		        if 'method' in m:
		            inner = {k: m[k] for k in ('method', 'params') if k in m}
		            m = {'jsonrpc': '2.0', 'method': 'proxy/successor', 'params': inner, **({'id': m['id']} if 'id' in m else {})}
		        r.update({'from': {'client': 'agent', 'agent': 'client'}[r['from']], 'msg': m})
		    print(json.dumps(r))
	END
}

# bats test_tags=slow
@test "a hop in envelopes exports what the plain one exports" {
	local file format
	for file in "$FIXTURES"/*.jsonl "$FIXTURES"/agents/*.jsonl "$FIXTURES/demo.rec"; do
		enveloped "$file" >enveloped.rec
		for format in html otlp; do
			cmp <(acp-export -f $format "$file") <(acp-export -f $format enveloped.rec)
		done
	done
	recording "$(prompt 1 s 'use sk-ant-api03-AAAABBBBCCCCDDDDEEEEFFFFGGGGHHHHIIIIJJJJ please')" \
		"$(says s 'The key is sk-ant-api03-AAAABBBB')" "$(says s 'CCCCDDDDEEEEFFFFGGGGHHHHIIIIJJJJ, I think.')" "$stop" >s.rec
	enveloped s.rec >enveloped.rec
	run -0 --separate-stderr acp-export --redact enveloped.rec
	assert_output "$(acp-export --redact s.rec 2>/dev/null)"
	refute_output --partial CCCC
}

@test "a prompt that version 2 accepts while a turn runs is shown in that turn" {
	accepted() {
		printf '{"jsonrpc":"2.0","id":%s,"result":{"messageId":"m%s"}}' "$1" "$1"
	}
	recording "$(prompt 1 s one)" "$(accepted 1)" "$(says s first)" "$(prompt 2 s two)" "$(accepted 2)" "$(says s second)" \
		"$(update s '"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn"')" "$(prompt 3 s three)" >s.rec
	run -0 acp-export -f markdown s.rec
	assert_output --regexp '> one.*first.*> two.*second.*end..turn.*## Turn 2.*> three'
	[ "$(grep -c '^## ' <<<"$output")" -eq 2 ]
}

# message KIND ID CONTENT: a session/update about a message of version 2.
message() {
	update s "\"sessionUpdate\":\"$1\",\"messageId\":\"$2\",\"content\":$3"
}

# version2 LINE...: a recording in which both sides speak version 2.
version2() {
	recording '<{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":2,"capabilities":{}}}' \
		'{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":2,"capabilities":{}}}' "$@"
}

@test "version 2: a whole message replaces what its message had, also before a tool call or in an earlier turn" {
	local idle tool image='{"type":"image","mimeType":"image/png","data":"aGVsbG8gd29ybGQh"}' withdrawn='{"type":"text","text":"withdrawn"}'
	tool=$(update s '"sessionUpdate":"tool_call_update","toolCallId":"c","title":"Look","status":"completed"')
	idle=$(update s '"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn"')
	version2 "$(prompt 1 s one)" '{"jsonrpc":"2.0","id":1,"result":{"messageId":"u"}}' \
		"$(message agent_message_chunk a "$withdrawn")" "$(message agent_thought_chunk a '{"type":"text","text":"thought"}')" "$tool" \
		"$(message agent_message_chunk a "$withdrawn")" "$(message agent_message a '[{"type":"text","text":"first"}]')" \
		"$(message agent_message b '[{"type":"text","text":"second"},{"type":"text","text":"third"}]')" \
		"$(message agent_message b '[{"type":"text","text":"second"},{"type":"text","text":"third"}]')" \
		"$(message agent_message c "[$withdrawn]")" "$(message agent_message c null)" "$(message agent_message d "[$withdrawn,$image]")" \
		"$(message user_message e "[$withdrawn,$image]")" "$(message user_message e '[]')" \
		"$idle" "$(message agent_message d '[]')" "$(message agent_message_chunk d '{"type":"text","text":"last"}')" >s.rec
	run -0 acp-export -f markdown s.rec
	refute_output --partial withdrawn
	refute_output --partial 'image/png'
	assert_output --regexp '> one.*first.*thought.*Look.*second.*third.*end..turn.*Outside.*last'
	for text in first thought second third last; do
		assert_equal "$text $(grep -cx $text <<<"$output")" "$text 1"
	done
}

@test "ids of messages, plans and compactions compare by value, however they are escaped" {
	local id
	for id in a '\u0061'; do
		message agent_message_chunk "$id" '{"type":"text","text":"draft"}'
		update s "\"sessionUpdate\":\"plan_update\",\"plan\":{\"planId\":\"$id\",\"content\":\"the plan\"}"
		update s "\"sessionUpdate\":\"compaction_update\",\"compactionId\":\"$id\",\"status\":\"completed\""
	done | sed 's/}{"jsonrpc"/}\n{"jsonrpc"/g' >updates
	mapfile -t updates <updates
	version2 "$(prompt 1 s one)" "${updates[@]}" "$(message agent_message '\u0061' '[{"type":"text","text":"final"}]')" >s.rec
	run -0 acp-export -f markdown s.rec
	refute_output --partial draft
	assert_equal "$(grep -cx -e final -e 'the plan' -e '.*: The context was compacted: completed' <<<"$output")" 3
}

@test "version 2: a whole message of an earlier turn begins no turn, and null removes values of a tool call" {
	version2 "$(prompt 1 s one)" '{"jsonrpc":"2.0","id":1,"result":{"messageId":"u"}}' "$(message agent_message a '[{"type":"text","text":"old"}]')" \
		"$(update s '"sessionUpdate":"tool_call_update","toolCallId":"c","title":"Wrong","name":"right","rawInput":"old","content":[{"type":"content","content":{"type":"text","text":"old"}}]')" \
		"$(update s '"sessionUpdate":"tool_call_update","toolCallId":"c","title":null,"rawInput":null,"content":null,"rawOutput":"new"')" \
		"$(update s '"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn"')" "$(message agent_message a '[{"type":"text","text":"other"}]')" >s.rec
	run -0 acp-export -f markdown s.rec
	assert_output --regexp '> one.*other.*tool call: right.*new'
	refute_output --partial old
	refute_output --partial Wrong
	refute_output --partial Outside
	# In version 1, null says nothing.
	recording "$(prompt 1 s one)" "$(update s '"sessionUpdate":"tool_call","toolCallId":"c","title":"Right","rawInput":"kept","content":[]')" \
		"$(update s '"sessionUpdate":"tool_call_update","toolCallId":"c","title":null,"rawInput":null,"content":null,"rawOutput":"new"')" "$stop" >s.rec
	run -0 acp-export -f markdown s.rec
	assert_output --regexp 'tool call: Right.*kept.*new'
}

@test "version 2: a permission shows its title, its description, and what it is about" {
	permission() {
		printf '{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s","options":[{"optionId":"a","name":"Allow","kind":"allow_once"}],"title":%s}}' "$1"
	}
	version2 "$(prompt 1 s one)" '{"jsonrpc":"2.0","id":1,"result":{"messageId":"u"}}' \
		"$(permission '"Drop the database?","description":"It is for ever.","subject":{"type":"command","command":"dropdb prod","cwd":"/srv"}')" \
		'<{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"selected","optionId":"a"}}}' \
		"$(permission '"May I write?","subject":{"type":"tool_call","toolCall":{"toolCallId":"c","title":"Write a.c"}}')" >s.rec
	for format in html markdown; do
		run -0 acp-export -f $format s.rec
		assert_output --regexp 'Drop the database[?].*It is for ever.*dropdb prod.*/srv.*Allow.*May I write[?].*Write a.c.*Allow'
	done
	assert_line --partial '**Permission**: May I write?, '
	assert_line 'Write a.c'
}

@test "what comes while no turn is open is no turn" {
	recording "$(says s 'before')" "$(prompt 1 s one)" "$stop" "$(says s 'after')" "$(prompt 2 s two)" >s.rec
	run -0 acp-export -f markdown s.rec
	assert_output --regexp '## Outside of a turn.*before.*## Turn 1,.*## Outside of a turn.*after.*## Turn 2,'
	run -0 acp-export s.rec
	[ "$(grep -o ' id="[^"]*"' <<<"$output" | sort | uniq -d | wc -l)" -eq 0 ]
}

@test "an error, a missing response, and a cancelled turn are shown" {
	recording "$(prompt 1 s one)" '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"log in <first>"}}' \
		"$(prompt 2 s two)" '<{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}' \
		'{"jsonrpc":"2.0","id":2,"result":{"stopReason":"cancelled"}}' "$(prompt 3 s three)" >s.rec
	run -0 acp-export s.rec
	assert_line '<p class="note error">Error -32000: log in &lt;first&gt;</p>'
	assert_line '<p class="note info">The user cancelled the turn.</p>'
	assert_line '<footer class="foot cancelled">cancelled · 2.0 s</footer>'
	assert_line '<footer class="foot cancelled">no response</footer>'
}

@test "an agent that ends in a turn is shown there, and so is a mode that it sets" {
	{
		recording "$(prompt 1 s one)" "$stop" "$(prompt 2 s two)" "$(update s '"sessionUpdate":"current_mode_update","currentModeId":"plan <1>"')"
		echo '{"t":9.000000,"event":"exit","signal":"KILL"}'
	} >s.rec
	run -0 acp-export s.rec
	assert_line '<p class="note info">Mode: plan &lt;1&gt;</p>'
	assert_line '<p class="note error">The agent ended: signal KILL.</p>'
	assert_equal "$(grep -c 'The agent ended' <<<"$output")" 1
}

@test "several sessions have a list of contents, whose links lead to them; one has none" {
	run -0 acp-export "$FIXTURES/two-sessions-and-cancel.jsonl"
	assert_output --regexp '<ol class="contents">.*<li><a href="#s1">hello</a></li>.*<a href="#s[0-9]+">other session<'
	for id in $(grep -o 'href="#[^"]*' <<<"$output" | cut -d'#' -f2); do
		grep -q " id=\"$id\"" <<<"$output"
	done
	run -0 acp-export "$FIXTURES/demo.rec"
	refute_output --partial '<ol class="contents">'
	run -0 acp-export -f markdown "$FIXTURES/two-sessions-and-cancel.jsonl"
	refute_output --partial '](#'
}

@test "the chart has axes, a mark for each turn, and the cost" {
	usage() {
		update s "\"sessionUpdate\":\"usage_update\",\"used\":$1,\"size\":40000,\"cost\":{\"amount\":$2,\"currency\":\"EUR\"}"
	}
	recording "$(prompt 1 s one)" "$(usage 10000 0.25)" "$stop" "$(prompt 2 s two)" "$(usage 40000 0.5)" '{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}' >s.rec
	run -0 acp-export s.rec
	for label in 0 20.0K 40.0K; do
		assert_output --regexp "<text x=\"42.0\" [^>]*class=\"r\">$label</text>"
	done
	assert_output --partial '>5.0 s</text>'
	assert_output --partial '<a href="#s1-1"><text x="48.0" y="13.0" class="m">turn 1</text></a>'
	# The second turn begins at 3 s of 5 s, and the cost is known from 1 s on, half of what it is in the end.
	assert_output --partial '<a href="#s1-2"><text x="355.2" y="13.0" class="m">2</text></a>'
	assert_output --regexp '<polyline class="cost" points="148.3,82.0 [^"]* 560.0,22.0"/>'
	assert_output --partial 'class="cost">0.5 EUR</text>'
	refute_output --partial 'Height'
	run -0 acp-export "$FIXTURES/two-sessions-and-cancel.jsonl"
	assert_output --partial '<dd>0.2158 USD</dd>'
	assert_output --partial 'class="cost">0.2158 USD</text>'
}

# times FILE: of each turn with tool calls or questions, the time of the model, the tools and the user, as acp-stat has it.
times() {
	acp-stat --by turn -f json "$1" | python3 -c 'if True:
		import json, sys
		def people(us):
		    return "%.1f ms" % (us / 1000) if us < 10000 else "%d ms" % ((us + 500) // 1000)
		for r in map(json.loads, sys.stdin):
		    if r.get("tools_us") or r.get("user_us"):
		        print(" ".join("%s %s" % (k, people(r[k + "_us"])) for k in ("model", "tools", "user") if r[k + "_us"]))'
}

# bats test_tags=slow
@test "a turn shows where its time went, in the figures of acp-stat, and each tool call as a bar" {
	local file
	for file in "$FIXTURES"/*.jsonl "$FIXTURES"/agents/*.jsonl; do
		# Those of turns, not of what sub-agents did.
		assert_equal "$(acp-export "$file" | awk '/<section /{ id[++n] = $0 } /<\/section>/{ n-- } />Time</ && id[n] ~ /id="s[0-9]+-[0-9]/ {
			gsub(/<[^>]*>/, " "); sub(/^ *Time /, ""); $1 = $1; print }')" "$(times "$file")"
	done
	run -0 acp-export "$FIXTURES/write-with-permission.jsonl"
	[ "$(grep -o '<rect class="by-tool"' <<<"$output" | wc -l)" -eq 1 ]
	[ "$(grep -o '<rect class="by-user"' <<<"$output" | wc -l)" -eq 1 ]
	[ "$(grep -o '<rect class="by-model"' <<<"$output" | wc -l)" -eq 2 ]
	# Each bar is beside its name.
	top() { grep -o "$1" <<<"$output" | sed 's/.* y="\([0-9]*\).*/\1/' | uniq; }
	for row in 'model model' 'user waiting for the user' 'tool Write note.txt'; do
		assert_equal "$(top "<rect class=\"by-${row%% *}\"[^>]*")" $(($(top "<text [^>]*>${row#* }<") - 9))
	done
}

# bats test_tags=slow
@test "a turn of many tool calls shows forty rows, and says how many more there are" {
	local calls=() i
	for ((i = 0; i < 60; i++)); do
		calls+=("$(update s "\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c$i\",\"status\":\"completed\",\"title\":\"<b>$i\"")")
	done
	recording "$(prompt 1 s one)" "${calls[@]}" "$stop" >s.rec
	run -0 acp-export s.rec
	[ "$(grep -o '<rect class="by-tool"' <<<"$output" | wc -l)" -eq 39 ]
	assert_line --partial '>21 more tool calls are not shown.<'
}

@test "a page without a session says so" {
	recording '<{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}' >s.rec
	run -0 acp-export -f markdown s.rec
	assert_line '**Note**: There is no session in what was read.'
}

@test "the chart holds the largest number there is" {
	recording "$(prompt 1 s hello)" "$(update s '"sessionUpdate":"usage_update","used":1,"size":1')" \
		"$(update s '"sessionUpdate":"usage_update","used":18446744073709551615,"size":1')" "$stop" >s.rec
	run -0 acp-export -f markdown s.rec
	assert_line --regexp '^▁+█+.$'
	run -0 acp-export s.rec
	refute_output --regexp '[0-9],-[0-9]'
}

@test "a permission that nobody answered says so, and a question shows its response" {
	recording "$(prompt 1 s hello)" '{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s","options":[{"optionId":"a","name":"Allow","kind":"allow_once"}],"toolCall":{"toolCallId":"c","title":"rm"}}}' \
		'{"jsonrpc":"2.0","id":8,"method":"elicitation/create","params":{"mode":"form","sessionId":"s","message":"Which?","requestedSchema":{}}}' \
		'<{"jsonrpc":"2.0","id":8,"result":{"action":"accept","content":{"colour":"red"}}}' "$stop" >s.rec
	run -0 acp-export -f markdown s.rec
	assert_line --partial '**Permission**: rm, 15:56:03'
	assert_line -- '- [ ] Allow'
	assert_line '**Warning**: There is no response.'
	assert_line --partial '**Question**: Which?, 15:56:04, 1.0 s'
	assert_line --partial '"colour": "red"'
}

@test "the output of a terminal is in its tool call, however it comes" {
	terminal() {
		update s "\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"$1\",\"title\":\"$1\",\"content\":[{\"type\":\"terminal\",\"terminalId\":\"$1\"}]"
	}
	recording "$(prompt 1 s hello)" "$(terminal a)" "$(terminal b)" "$(terminal c)" \
		'{"jsonrpc":"2.0","id":7,"method":"terminal/output","params":{"sessionId":"s","terminalId":"a"}}' \
		'<{"jsonrpc":"2.0","id":7,"result":{"output":"first of a","truncated":false}}' \
		'{"jsonrpc":"2.0","id":8,"method":"terminal/output","params":{"sessionId":"s","terminalId":"a"}}' \
		'<{"jsonrpc":"2.0","id":8,"result":{"output":"all of a","truncated":false}}' \
		"$(update s '"sessionUpdate":"terminal_output_chunk","terminalId":"b","data":"b25lIA=="')" \
		"$(update s '"sessionUpdate":"terminal_output_chunk","terminalId":"b","data":"dHdv"')" \
		"$(update s '"sessionUpdate":"tool_call_update","toolCallId":"c","_meta":{"terminal_output_delta":{"terminal_id":"c","data":"piece "}}')" \
		"$(update s '"sessionUpdate":"tool_call_update","toolCallId":"c","_meta":{"terminal_output_delta":{"terminal_id":"c","data":"by piece"}}')" "$stop" >s.rec
	run -0 acp-export s.rec
	assert_output --partial '<code>all of a</code>'
	assert_output --partial '<code>one two</code>'
	assert_output --partial '<code>piece by piece</code>'
	refute_output --partial 'first of a'
}

@test "times are those of the day, in UTC, where the recording says when it began" {
	recording "$(prompt 1 s hello)" "$(says s hi)" "$stop" >s.rec
	run -0 acp-export s.rec
	assert_line --partial '<time datetime="2026-11-20T15:56:02Z" title="2026-11-20T15:56:02Z">15:56:02</time>'
	sed -i 's/,"started":"[^"]*"//' s.rec
	sed -i 's/"t":0.0/"t":7.0/' s.rec
	run -0 acp-export s.rec
	assert_line --partial '<time>+7.0 s</time>'
}

@test "a sub-agent is in the turn that started it" {
	acp-export -f markdown "$FIXTURES/agents/v2-subagent.jsonl" >page
	sed -n '/^## Turn 2/,/^## Turn 3/p' page >turn
	grep -x '<summary>Sub-agent: foreground child</summary>' turn
	grep -x '### Task 1.*' turn
	grep -x '\*idle: end\\_turn.*' turn
	grep -x '> CHILD BASH then say one line' turn
	grep -x 'three' turn
	[ "$(grep -c '^# ' page)" -eq 1 ]
}

# bats test_tags=slow
@test "sessions that are each other's children, or a long line of children, make a page" {
	child() {
		update "$1" "\"sessionUpdate\":\"subagent_update\",\"sessionId\":\"$2\",\"title\":\"child $2\",\"state\":{\"state\":\"running\"}"
	}
	recording "$(prompt 1 a hello)" "$(child a b)" "$(child b a)" "$(child a a)" "$stop" >s.rec
	run -0 acp-export -f markdown s.rec
	assert_line '<summary>Sub-agent: child b</summary>'
	args=("$(prompt 1 n0 hello)")
	for ((i = 0; i < 40; i++)); do
		args+=("$(child n$i n$((i + 1)))" "$(says n$((i + 1)) "I am $i.")")
	done
	recording "${args[@]}" >s.rec
	run -0 acp-export -f markdown s.rec
	for ((i = 0; i < 40; i++)); do
		assert_line "I am $i."
	done
}

@test "a history that is replayed is shown once" {
	load='<{"jsonrpc":"2.0","id":9,"method":"session/load","params":{"sessionId":"s","cwd":"/","mcpServers":[]}}'
	replay=$(update s '"sessionUpdate":"user_message_chunk","content":{"type":"text","text":"hello"}')
	loaded='{"jsonrpc":"2.0","id":9,"result":{}}'
	recording "$load" "$replay" "$(says s hi)" "$loaded" "$(prompt 1 s again)" "$stop" >b.rec
	run -0 acp-export -f markdown b.rec
	assert_line --partial '## Earlier'
	assert_line '> hello'
	recording "$(prompt 1 s hello)" "$(says s hi)" "$stop" >a.rec
	run -0 acp-export -f markdown a.rec b.rec
	refute_line --partial '## Earlier'
	[ "$(grep -cx '> hello' <<<"$output")" -eq 1 ]
	assert_line '> again'
	[ "$(grep -c '^# ' <<<"$output")" -eq 1 ]
}

@test "a tool call whose status is none of the protocol's has ended, as acp-stat and acp-check say" {
	printf '{"jsonrpc":"2.0",%s}\n' '"id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}' \
	    '"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"T","status":"pending"}}' \
	    '"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"rejected"}}' >s.nd
	acp-export -f markdown s.nd | grep -F 'T (ended'
	acp-export s.nd | grep -F 'class="state">ended<'
	head -n 2 s.nd >open.nd
	acp-export -f markdown open.nd | grep -F 'T (pending'
}
