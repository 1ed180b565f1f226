#!/usr/bin/env bats
# acp-diff: two recordings compared.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load replay
	lib_setup
	FIXTURE=$FIXTURES/write-with-permission.jsonl
}

# elsewhere FILE: the same session with other ids, in another folder.
elsewhere() {
	sed -e 's/32e75e86-\|60232f0d-\|2e3de134-\|d33d1350-/other-/g' -e 's/toolu_/call-/g' -e 's/msg_/message /g' \
		-e 's,/home/user/project,/tmp/a b,g' "$1"
}

# differences ARGUMENT...: what -f json says, without the values.
differences() {
	local - # pipefail is for here
	set -o pipefail
	acp-diff -f json "$@" | jq -r 'select(.path) | [.turn, .from, .message, .recordedLine, .liveLine,
		.difference, .path] | map(. // "-" | tostring) | join(" ")'
}

@test "a recording is the same as itself, at each level" {
	for file in "$FIXTURES"/*.jsonl "$FIXTURES/demo.rec"; do
		for match in exact params shape method; do
			run -0 acp-diff --match "$match" "$file" "$file"
			assert_output ''
		done
	done
}

# bats test_tags=slow
@test "other ids and another folder make no difference, at each level" {
	for file in "$FIXTURES"/*.jsonl; do
		elsewhere "$file" >other.rec
		run ! cmp -s "$file" other.rec
		for match in exact params shape method; do
			run -0 acp-diff --match "$match" "$file" other.rec
			assert_output ''
			run -0 acp-diff --match "$match" other.rec "$file"
		done
	done
}

@test "--keep-paths: another folder is another one" {
	elsewhere "$FIXTURE" >other.rec
	run -0 acp-diff --keep-paths --match shape "$FIXTURE" other.rec
	run -1 differences --keep-paths --match params "$FIXTURE" other.rec
	assert_line '0 client session/new 3 3 value .params.cwd'
	assert_line --partial '.params.update.locations[0].path'
}

@test "an id that is used for two is a difference" {
	elsewhere "$FIXTURE" | sed '18s/call-1/call-2/' >other.rec
	run -1 acp-diff --match params "$FIXTURE" other.rec
	assert_line '   .params.toolCall.toolCallId: paired with another id before'
	run -0 acp-diff "$FIXTURE" other.rec
}

# bats test_tags=slow
@test "a text is no id, even if it reads like one that has a partner" {
	elsewhere "$FIXTURE" >other.rec
	id=$(grep -o 'toolu_[^"\\]*' "$FIXTURE" | head -1)
	for file in "$FIXTURE" other.rec; do
		jq -c --arg id "$id" 'if .line then .line |= (fromjson | if .method == "session/update" and .params.update.toolCallId
			then .params.update.title = .params.update.toolCallId else . end | tojson) else . end' "$file" >"title-${file##*/}"
	done
	run -1 differences --match params "title-${FIXTURE##*/}" title-other.rec
	assert_line --partial '.params.update.title'
}

# bats test_tags=slow
@test "sessions that were in two directories may be in one" {
	recording a.rec <<-'END'
		> {"id":1,"method":"session/new","params":{"cwd":"/w/a"}}
		< {"id":1,"result":{"sessionId":"A"}}
		> {"id":2,"method":"session/new","params":{"cwd":"/w/b"}}
		< {"id":2,"result":{"sessionId":"B"}}
		< {"method":"_read","params":{"sessionId":"A","path":"/w/a/x"}}
		< {"method":"_read","params":{"sessionId":"B","path":"/w/b/x"}}
	END
	sed 's,/w/[ab],/v,' a.rec >b.rec
	for match in exact params shape method; do
		run -0 acp-diff --match "$match" a.rec b.rec
		run -0 acp-diff --match "$match" b.rec a.rec
	done
	# The directory of another session is none of its own.
	sed '5s,/w/a,/w/b,' a.rec >c.rec
	run -1 differences --match params c.rec b.rec
	assert_output '0 agent _read 5 5 value .params.path'
}

@test "the report is like a unified diff: turn, message, path and both values" {
	sed -e 's/Write note.txt/Write it/' "$FIXTURE" >other.rec
	run -1 acp-diff --match params "$FIXTURE" other.rec
	assert_output "--- $FIXTURE
+++ other.rec
@@ session 1, turn 1: please WRITE the note @@
 agent: session/update agent_message_chunk, -8 +8
 agent: session/update tool_call, -15 +15
   .params.update.title
-    \"Write note.txt\"
+    \"Write it\"
 agent: session/update usage_update, -17 +17
 agent: session/request_permission, -18 +18
   .params.toolCall.title
-    \"Write note.txt\"
+    \"Write it\"
 client: response to session/request_permission, -19 +19
2 differences in 1 of 3 turns, 17 messages"
}

# bats test_tags=slow
@test "colours on a terminal, when they are asked for, and not with NO_COLOR" {
	sed -e 's/Write note.txt/Write it/' "$FIXTURE" >other.rec
	run -1 acp-diff --match params --color always "$FIXTURE" other.rec
	assert_line $'\e[31m-    "Write note.txt"\e[0m'
	assert_line $'\e[32m+    "Write it"\e[0m'
	run -1 acp-diff --match params --color never "$FIXTURE" other.rec
	refute_output --partial $'\e'
	run script -qec "acp-diff --match params '$FIXTURE' other.rec" /dev/null
	assert_output --partial $'\e[32m+    "Write it"'
	NO_COLOR=1 run script -qec "acp-diff --match params '$FIXTURE' other.rec" /dev/null
	refute_output --partial $'\e'
}

@test "no value is taken for a command by a terminal" {
	recording a.rec <<-'END'
		< {"method":"_m","params":{"x":"1"}}
	END
	printf '< {"method":"_m","params":{"x":"\xc2\x9b31m\x7f"}}\n' | recording b.rec
	run -1 acp-diff --match params a.rec b.rec
	assert_line '+    "<U+009B>31m^?"'
}

@test "text that is streamed is compared as what its pieces say together" {
	recording a.rec <<-'END'
		> {"id":1,"method":"session/prompt","params":{"sessionId":"S","prompt":[{"type":"text","text":"hi"}]}}
		< {"method":"session/update","params":{"sessionId":"S","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"one two"}}}}
		< {"method":"session/update","params":{"sessionId":"S","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":" three"}}}}
		< {"id":1,"result":{"stopReason":"end_turn"}}
	END
	sed 's/"one two"/"one"/; s/" three"/" two three"/' a.rec >b.rec
	run -0 acp-diff --match exact a.rec b.rec
	sed '2d; s/" three"/"one\\u0020two three"/' a.rec >b.rec
	run -0 acp-diff --match exact a.rec b.rec
	sed 's/three/four/' a.rec >b.rec
	run -1 acp-diff --match params a.rec b.rec
	assert_line '   .params.update.content.text'
	assert_line '-    "one two three"'
	assert_line '+    "one two four"'
	# At `shape` they only have to be there.
	run -0 acp-diff a.rec b.rec
	sed '2,3d' a.rec >b.rec
	run -1 acp-diff a.rec b.rec
	assert_line ' agent: session/update agent_message_chunk, -2: missing'
}

@test "a message that is missing is one difference, and those after it are none" {
	sed 19d "$FIXTURE" >other.rec
	run -1 differences --match exact "$FIXTURE" other.rec
	assert_output '1 client response to session/request_permission 19 - missing .'
	sed 16d "$FIXTURE" >other.rec
	run -1 differences --match exact "$FIXTURE" other.rec
	assert_output '1 agent session/update tool_call_update 16 - missing .'
	run -1 differences --match exact other.rec "$FIXTURE"
	assert_output '1 agent session/update tool_call_update - 16 unexpected .'
}

@test "a turn that is missing is its messages, and no later turn" {
	f=$FIXTURES/four-turns-per-model-usage.jsonl
	mapfile -t prompts < <(grep -n 'session/prompt' "$f" | cut -d: -f1)
	sed "${prompts[1]},$((prompts[2] - 1))d" "$f" >other.rec
	acp-diff -f json --match exact "$f" other.rec >found || status=$?
	assert_equal "$status" 1
	run -0 jq -r 'select(.path) | .difference' found
	assert_equal "$(sort -u <<<"$output")" missing
	run -0 jq -r 'select(.path) | .turn' found
	assert_equal "$(sort -u <<<"$output")" 2
}

@test "directions and sessions may interleave in another way" {
	recording a.rec <<-'END'
		> {"id":1,"method":"session/new","params":{"cwd":"/a"}}
		< {"id":1,"result":{"sessionId":"A"}}
		> {"id":2,"method":"session/new","params":{"cwd":"/b"}}
		< {"id":2,"result":{"sessionId":"B"}}
		> {"id":3,"method":"session/prompt","params":{"sessionId":"A"}}
		> {"id":4,"method":"session/prompt","params":{"sessionId":"B"}}
		< {"method":"session/update","params":{"sessionId":"A","n":1}}
		< {"method":"session/update","params":{"sessionId":"B","n":2}}
		< {"id":3,"result":{"stopReason":"end_turn"}}
		< {"id":4,"result":{"stopReason":"end_turn"}}
	END
	recording b.rec <<-'END'
		> {"id":1,"method":"session/new","params":{"cwd":"/a"}}
		> {"id":2,"method":"session/new","params":{"cwd":"/b"}}
		< {"method":"session/update","params":{"sessionId":"Y","n":2}}
		< {"id":2,"result":{"sessionId":"Y"}}
		< {"id":1,"result":{"sessionId":"X"}}
		> {"id":"q","method":"session/prompt","params":{"sessionId":"Y"}}
		< {"id":"q","result":{"stopReason":"end_turn"}}
		> {"id":"r","method":"session/prompt","params":{"sessionId":"X"}}
		< {"method":"session/update","params":{"sessionId":"X","n":1}}
		< {"id":"r","result":{"stopReason":"end_turn"}}
	END
	run -0 acp-diff --match exact a.rec b.rec
	sed 's/"n":1/"n":3/' b.rec >c.rec
	run -1 differences --match exact a.rec c.rec
	assert_output '1 agent session/update 7 9 value .params.n'
}

@test "half a surrogate pair equals neither another one nor the character that replaces it, in values and in names" {
	recording a.rec <<-'END'
		> {"id":1,"method":"_m","params":{"a":"x\ud800","\ud800":1,"\ud801":2,"\ufffd":3}}
	END
	run -0 acp-diff --match exact a.rec a.rec
	sed 's/{"a":"x.ud800"/{"a":"x\\uD800"/' a.rec >b.rec
	run -0 acp-diff --match exact a.rec b.rec
	sed 's/,"\\ufffd":3/,"\xef\xbf\xbd":3/' a.rec >b.rec
	run -0 acp-diff --match exact a.rec b.rec
	for other in '\ud801' '\udc00' '\ufffd' $'\uFFFD'; do
		text=$(<a.rec)
		echo "${text/'x\ud800'/"x$other"}" >b.rec
		run -1 acp-diff --match exact a.rec b.rec
		assert_line --partial ' .params.a'
		assert_line '1 difference in 1 of 1 turn, 1 message'
	done
	sed 's/"\\ud800":1,"\\ud801":2/"\\ud801":2,"\\ud800":1/' a.rec >b.rec
	run -0 acp-diff --match params a.rec b.rec
	run -1 acp-diff --match exact a.rec b.rec
}

# bats test_tags=slow
@test "a recording that begins in the middle: sessions are taken in their order" {
	tail -n +6 "$FIXTURE" >a.rec
	elsewhere "$FIXTURE" | tail -n +6 >b.rec
	run -1 differences --match exact a.rec b.rec
	# Nothing tells which folder stands for which, but the ids do.
	refute_output --partial 'sessionId'
	refute_output --partial 'missing'
	run -0 acp-diff --match shape a.rec b.rec
}

@test "sessions that nothing opens are taken in their order, each with its own" {
	recording a.rec <<-'END'
		> {"id":3,"method":"session/prompt","params":{"sessionId":"A","prompt":[1]}}
		< {"id":3,"result":{"stopReason":"end_turn"}}
		> {"id":4,"method":"session/prompt","params":{"sessionId":"B","prompt":[2]}}
		< {"id":4,"result":{"stopReason":"end_turn"}}
	END
	sed 's/"A"/"X"/; s/"B"/"Y"/' a.rec >b.rec
	run -0 acp-diff --match exact a.rec b.rec
}

@test "levels: params leaves out what is aside, shape the values, method the members" {
	recording a.rec <<-'END'
		< {"jsonrpc":"2.0","method":"_m","params":{"a":1,"b":[1],"_meta":{"x":1},"cost":{"amount":0.1}}}
	END
	recording meta.rec <<-'END'
		< {"method":"_m","params":{"b":[1e0],"a":1.0,"cost":{"amount":0.2}}}
	END
	recording value.rec <<-'END'
		< {"method":"_m","params":{"a":2,"b":[1,2]}}
	END
	recording type.rec <<-'END'
		< {"method":"_m","params":{"a":"1"}}
	END
	run -1 acp-diff --match exact a.rec meta.rec
	run -0 acp-diff --match params a.rec meta.rec
	run -1 acp-diff --match params a.rec value.rec
	run -0 acp-diff --match shape a.rec value.rec
	run -1 acp-diff a.rec type.rec
	run -0 acp-diff --match method a.rec type.rec
	sed 's/_m/_n/' a.rec >method.rec
	run -1 acp-diff --match method a.rec method.rec
}

@test "an error in the place of a result is a difference at each level" {
	recording a.rec <<-'END'
		> {"id":1,"method":"a"}
		< {"id":1,"result":{}}
	END
	sed 's/"result":{}/"error":{"code":-32603,"message":"no"}/' a.rec >b.rec
	for match in exact params shape method; do
		run -1 acp-diff --match "$match" a.rec b.rec
		run -1 acp-diff --match "$match" b.rec a.rec
	done
}

@test "numbers are compared digit by digit" {
	recording a.rec <<-'END'
		< {"method":"_m","params":[9007199254740993,0.1]}
	END
	sed 's/9007199254740993/9007199254740992/' a.rec >b.rec
	run -1 differences --match params a.rec b.rec
	assert_output '0 agent _m 1 1 value .params[0]'
	sed 's/0.1\]/10e-2]/' a.rec >b.rec
	run -0 acp-diff --match exact a.rec b.rec
}

# bats test_tags=slow
@test "--normalize: a program takes out of both what always differs" {
	sed -e 's/"used\\":[0-9]*/"used\\":7/' "$FIXTURE" >other.rec
	run -1 acp-diff --match params "$FIXTURE" other.rec
	run -0 acp-diff --match params --normalize 'del(.params?.update?.used)' "$FIXTURE" other.rec
	run -0 acp-diff --match params --normalize \
		'select($method != "session/update" or .params.update.used == null)' "$FIXTURE" other.rec
}

@test "--normalize: what is wrong with a program is said, with the line it failed on" {
	run -2 acp-diff --normalize '.a[' "$FIXTURE" "$FIXTURE"
	assert_output --partial 'acp-diff: --normalize: '
	run -2 acp-diff --normalize '.method.x' "$FIXTURE" "$FIXTURE"
	assert_output --partial "acp-diff: $FIXTURE:1: --normalize: Cannot index string"
	run -2 acp-diff --normalize '., .' "$FIXTURE" "$FIXTURE"
	assert_output --partial "acp-diff: $FIXTURE:1: --normalize: it has more than one output"
}

@test "--normalize: where it leaves out every message, nothing is compared: status 2" {
	sed 's/"used\\":[0-9]*/"used\\":7/' "$FIXTURE" >other.rec
	run -2 acp-diff --normalize 'select(.method == "none")' "$FIXTURE" other.rec
	assert_output 'acp-diff: --normalize leaves out every message: there is nothing to compare'
}

@test "--normalize: a turn begins with its prompt and ends with the response, also if the program leaves these out" {
	recording a.rec <<-'END'
		> {"id":1,"method":"session/prompt","params":{"sessionId":"A","prompt":[]}}
		< {"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"plan","entries":["one"]}}}
		< {"id":1,"result":{"stopReason":"end_turn"}}
		> {"id":2,"method":"session/prompt","params":{"sessionId":"A","prompt":[]}}
		< {"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"plan","entries":["two"]}}}
		< {"id":2,"result":{"stopReason":"end_turn"}}
	END
	sed 's/"two"/"three"/' a.rec >b.rec
	for program in . 'select($method != "session/prompt")' 'if .params.prompt then .method = "_prompt" else . end'; do
		run -1 differences --match params --normalize "$program" a.rec b.rec
		assert_output '2 agent session/update plan 5 5 value .params.update.entries[0]'
	done
}

@test "json: an object for each difference and one at the end, values as they were" {
	recording a.rec <<-'END'
		< {"method":"_m","params":{"n":1.50,"s":"\u0041"}}
	END
	sed 's/1.50/2/; s/"\\u0041"/null/' a.rec >b.rec
	run -1 acp-diff -f json --match params a.rec b.rec
	assert_line --index 0 '{"turn":0,"from":"agent","message":"_m","recordedLine":1,"liveLine":1,"difference":"value","path":".params.n","recorded":1.50,"live":2}'
	assert_line --index 1 '{"turn":0,"from":"agent","message":"_m","recordedLine":1,"liveLine":1,"difference":"value","path":".params.s","recorded":"\u0041","live":null}'
	assert_line --index 2 '{"turns":1,"differing":1,"messages":1,"differences":2,"moved":0}'
	run -0 acp-diff -f json a.rec a.rec
	assert_output '{"turns":1,"differing":0,"messages":1,"differences":0,"moved":0}'
}

@test "the path of a difference is one for jq" {
	recording a.rec <<-'END'
		< {"method":"_m","params":{"a-b":[{"":{"1":1}}],"\"":2}}
	END
	sed 's/:1}/:3}/; s/:2}/:3}/' a.rec >b.rec
	acp-diff -f json --match params a.rec b.rec >found || true
	run -0 jq -r 'select(.path).path' found
	assert_output $'.params."a-b"[0].""."1"\n.params."\\""'
	while IFS= read -r path; do
		run -0 jq "first(.msg | $path)" b.rec
		assert_output 3
	done < <(jq -r 'select(.path).path' found)
}

# xml FILE: is it well-formed?
xml() {
	python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$1"
}

@test "junit: a case for each turn, and what differs as its failure" {
	sed -e 's/Write note.txt/Write \& <it>/' "$FIXTURE" >other.rec
	acp-diff -f junit --match params "$FIXTURE" other.rec >out.xml || status=$?
	assert_equal "$status" 1
	xml out.xml
	run -0 cat out.xml
	assert_line --partial 'tests="3" failures="1"'
	assert_line --partial 'turn 1: please WRITE the note">'
	assert_line '<failure type="difference" message="2 differences"> agent: session/update agent_message_chunk, -8 +8'
	assert_line '+    &quot;Write &amp; &lt;it&gt;&quot;'
	acp-diff -f junit "$FIXTURE" "$FIXTURE" >out.xml
	xml out.xml
	run -0 grep -c '<testcase .*/>' out.xml
	assert_output 3
}

@test "--color is for people: no other format has colours" {
	elsewhere "$FIXTURE" | sed 's/Write note.txt/Write it/' >other.rec
	for format in json junit; do
		run -1 acp-diff --color always -f "$format" --match params "$FIXTURE" other.rec
		refute_output --partial $'\033'
	done
}

# bats test_tags=slow
@test "junit is XML whatever is in the messages and the names of files" {
	printf '< {"method":"_m\\u0001\xef\xbf\xbf","params":{"x":"a"}}\n' | recording $'a\x01<.rec'
	printf '< {"method":"_m\\u0001\xef\xbf\xbf","params":{"x":"\xef\xbf\xbe]]>\\u0000\xc2\x85&"}}\n' | recording $'b"&\xff.rec'
	acp-diff -f junit --match params $'a\x01<.rec' $'b"&\xff.rec' >out.xml || status=$?
	assert_equal "$status" 1
	xml out.xml
}

@test "lines that are no messages are compared too" {
	recording a.rec <<-'END'
		{"t":0,"from":"agent","noise":"Welcome to 1.0"}
		< {"method":"_m"}
	END
	sed 1d a.rec >b.rec
	run -1 acp-diff a.rec b.rec
	assert_line ' agent: noise, -1: missing'
	sed 's/1.0/1.1/' a.rec >b.rec
	run -0 acp-diff a.rec b.rec
	run -1 acp-diff --match params a.rec b.rec
	run -0 acp-diff --match method a.rec b.rec
}

@test "requests that are not answered, and responses to nothing" {
	recording a.rec <<-'END'
		> {"id":1,"method":"a"}
		> {"id":2,"method":"b"}
		< {"id":2,"result":{}}
		< {"id":1,"result":{}}
		< {"id":null,"error":{"code":-32700,"message":"no"}}
	END
	run -0 acp-diff --match exact a.rec a.rec
	sed 4d a.rec >b.rec
	run -1 differences a.rec b.rec
	assert_output '0 agent response to a 4 - missing .'
	sed 1d a.rec >b.rec
	run -1 differences a.rec b.rec
	assert_line '0 client a 1 - missing .'
	assert_line '0 agent response - 3 unexpected .'
	sed 5d a.rec >b.rec
	run -1 differences a.rec b.rec
	assert_output '0 agent response 5 - missing .'
}

@test "what cannot be read is said with file and line, and the status is 2" {
	recording a.rec <<-'END'
		> {"id":1,"method":"a"}
	END
	printf '# by hand\n\n{"from":"client","msg":{"id":1,"method":"a"}}\n{"from":"client","msg":{\n' >bad.rec
	run -2 acp-diff a.rec bad.rec
	assert_output --partial 'acp-diff: bad.rec:4: not a record at byte'
	run -2 acp-diff nowhere.rec a.rec
	assert_output 'acp-diff: nowhere.rec: No such file or directory'
	run -2 acp-diff a.rec .
	run -2 acp-diff a.rec
	run -2 acp-diff a.rec a.rec a.rec
	run -2 acp-diff a.rec -- cat
	run -2 acp-diff -f html a.rec a.rec
	run -2 acp-diff --until 1 a.rec a.rec
	run -2 acp-diff --match nearly a.rec a.rec
}

@test "a torn last line is the end, with a warning" {
	recording a.rec <<-'END'
		> {"id":1,"method":"a"}
	END
	{ cat a.rec; printf '{"t":0.000000,"from":"agent","ms'; } >torn.rec
	run --separate-stderr -0 acp-diff a.rec torn.rec
	assert_equal "$output" ''
	[[ $stderr == 'acp-diff: torn.rec:2: the last line is torn at byte'* ]]
}

@test "one of the two may be a stream, or standard input" {
	run -0 acp-diff "$FIXTURE" - <"$FIXTURE"
	run -0 acp-diff "$FIXTURE" <(cat "$FIXTURE")
	run -1 acp-diff <(sed 16d "$FIXTURE") "$FIXTURE"
}

@test "recordings of other tools: the trace of a conductor, bare messages" {
	jq -r 'select(.line).line' "$FIXTURE" >bare.jsonl
	run -0 acp-diff --match exact "$FIXTURE" bare.jsonl
	acp-tap -f trace "$FIXTURE" >trace.jsons
	run -0 acp-diff --match params "$FIXTURE" trace.jsons
}

@test "an export of acp-devtools, made into lines as acp-recording(5) says" {
	jq -s '{version: 1, session: {id: 1, startedAt: 1781267484411}, messages: [.[] | select(.line) |
		{seq: 1, timestamp: (1781267484411 + .t * 1000 | floor), direction: (if .from == "client" then "editor-to-agent"
		else "agent-to-editor" end), raw: .line, payload: (.line | fromjson)}]}' "$FIXTURE" >export.json
	mandoc -Tascii "$BATS_TEST_DIRNAME/../man/acp-recording.5" | col -bx |
	    sed -n '/startedAt/,/export\.json/p' | sed 's/^ *\$ //' >convert
	bash ./convert >lines.jsonl
	run -0 acp-diff --match exact "$FIXTURE" lines.jsonl
}

@test "--hop: one link of a recording that holds several" {
	recording a.rec <<-'END'
		{"acp-recording":1,"hops":["f","agent"]}
		{"t":0,"at":0,"from":"client","msg":{"id":1,"method":"a"}}
		{"t":0,"at":1,"from":"client","msg":{"id":1,"method":"b"}}
	END
	sed 's/"b"/"c"/' a.rec >b.rec
	run -0 acp-diff a.rec b.rec
	run -1 differences --hop agent a.rec b.rec
	assert_line '0 client b 3 - missing .'
	assert_line '0 client c - 3 unexpected .'
}

@test "--env: names in a recording written by hand come from the environment" {
	cat >hand.rec <<-'END'
		# what is asked
		{"from":"client","msg":{"id":1,"method":"session/new","params":{"cwd":"${WHERE}/x"}}}
	END
	recording real.rec <<-'END'
		> {"id":1,"method":"session/new","params":{"cwd":"/a \"b\"/x"}}
	END
	run -1 acp-diff --keep-paths --match exact hand.rec real.rec
	WHERE='/a "b"' run -0 acp-diff --env --keep-paths --match exact hand.rec real.rec
	unset WHERE
	run -2 acp-diff --env hand.rec real.rec
	assert_output --partial 'acp-diff: hand.rec:2: not a record at byte'
	assert_output --partial 'WHERE is not set in the environment'
}

# bats test_tags=slow
@test "memory: 300 bytes a message, as the page says, whatever the length of its text" {
	# turns N: so many turns of a session.
	turns() {
		printf '{"from":"client","msg":{"id":0,"method":"session/new","params":{"cwd":"/p"}}}\n'
		printf '{"from":"agent","msg":{"id":0,"result":{"sessionId":"%s"}}}\n' "$2"
		seq "$1" | awk -v s="$2" '{
			printf "{\"from\":\"client\",\"msg\":{\"id\":%d,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"%s\"}}}\n", $1, s
			printf "{\"from\":\"agent\",\"msg\":{\"method\":\"session/update\",\"params\":{\"sessionId\":\"%s\",\"update\":{\"sessionUpdate\":\"plan\",\"x\":\"%0900d\"}}}}\n", s, $1
			printf "{\"from\":\"agent\",\"msg\":{\"id\":%d,\"result\":{\"stopReason\":\"end_turn\"}}}\n", $1 }'
	}
	turns 20000 A >a.rec
	# One turn of it lacks its message: that shall not hold up the others.
	turns 20000 B | sed 3001d >b.rec
	(
		# 120,000 messages, and the program. The sanitizers want an address space of their own.
		[[ $B == *san* ]] || ulimit -v 52000
		acp-diff -f json --match params a.rec b.rec >found
	) || status=$?
	assert_equal "$status" 1
	run -0 jq -c 'select(.turns)' found
	assert_output '{"turns":20001,"differing":1,"messages":60002,"differences":1,"moved":0}'
}

# bats test_tags=slow
@test "a session too many is its messages, and those of the others find each other" {
	recording a.rec <<-'END'
		> {"id":1,"method":"session/new","params":{"cwd":"/a"}}
		< {"id":1,"result":{"sessionId":"A"}}
		> {"id":2,"method":"session/prompt","params":{"sessionId":"A","prompt":[{"type":"text","text":"one"}]}}
		< {"method":"session/update","params":{"sessionId":"A","n":1}}
		< {"id":2,"result":{"stopReason":"end_turn"}}
	END
	{
		sed 's/"A"/"X"/g' a.rec
		recording more.rec <<-'END'
			> {"id":3,"method":"session/new","params":{"cwd":"/c"}}
			< {"id":3,"result":{"sessionId":"Y"}}
			> {"id":4,"method":"session/prompt","params":{"sessionId":"Y"}}
			< {"id":4,"result":{"stopReason":"end_turn"}}
		END
		cat more.rec
	} >b.rec
	run -1 differences a.rec b.rec
	assert_output $'0 client session/new - 6 unexpected .\n1 client session/prompt - 8 unexpected .'
	run -1 differences b.rec a.rec
	assert_output $'0 client session/new 6 - missing .\n1 client session/prompt 8 - missing .'
}

# bats test_tags=slow
@test "a session that is refused is a response that differs, and messages that are missing" {
	sed '4,$d' "$FIXTURE" >other.rec
	printf '%s\n' '{"from":"agent","line":"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32000,\"message\":\"no\"}}"}' >>other.rec
	acp-diff -f json "$FIXTURE" other.rec >found || status=$?
	assert_equal "$status" 1
	run -0 jq -rs '[.[] | select(.path) | .difference] | group_by(.) | map("\(.[0]) \(length)") | join(", ")' found
	assert_output 'missing 12, unexpected 1' # the updates of its tool calls count as one message each call
	run -0 jq -r 'select(.path == ".error") | .live.message' found
	assert_output no
}

# bats test_tags=slow
@test "a text that belongs to no session is the same as itself while prompts go on" {
	recording a.rec <<-'END'
		< {"method":"session/update","params":{"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"}}}}
		> {"id":1,"method":"session/prompt","params":{"sessionId":"A"}}
		> {"id":2,"method":"session/prompt","params":{"sessionId":"A"}}
		< {"id":1,"result":{}}
		> {"id":3,"method":"session/prompt","params":{"sessionId":"A"}}
	END
	run -0 acp-diff --match exact a.rec a.rec
}

# reads FIRST SECOND: a turn in which the agent reads two files, one after the other.
reads() {
	recording /dev/stdout <<-END
		> {"id":1,"method":"session/prompt","params":{"sessionId":"S","prompt":[]}}
		< {"id":5,"method":"fs/read_text_file","params":{"sessionId":"S","path":"$1"}}
		> {"id":5,"result":{"content":"$1"}}
		< {"id":6,"method":"fs/read_text_file","params":{"sessionId":"S","path":"$2"}}
		> {"id":6,"result":{"content":"$2"}}
		< {"id":1,"result":{"stopReason":"end_turn"}}
	END
}

@test "what the player accepts the diff accepts: an agent that reads /w/b and then /w/a" {
	reads /w/a /w/b >a.rec
	reads /w/b /w/a >b.rec
	run -0 acp-replay --as client a.rec -- acp-replay b.rec
	run -0 acp-diff --match params a.rec b.rec
	assert_line --regexp '^ agent: fs/read_text_file, -[0-9] \+[0-9]: moved$'
	assert_line 'no difference in 1 turn, 6 messages; 1 moved'
	run -0 acp-diff -f json --match params a.rec b.rec
	assert_equal "$(jq -r 'select(.difference).difference' <<<"$output")" moved
	run -1 differences --match exact a.rec b.rec
	assert_output --regexp '^1 agent fs/read_text_file [0-9] [0-9] moved \.$'
}

# bats test_tags=slow
@test "a notification that has moved is reported, and no difference below exact" {
	sed -n '1,16p; 18,20p' "$FIXTURE" >other.rec
	sed -n '17p' "$FIXTURE" >>other.rec
	sed -n '21,$p' "$FIXTURE" >>other.rec
	run -0 acp-diff --match params "$FIXTURE" other.rec
	assert_line --regexp '^ agent: session/update usage_update, -17 \+[0-9]+: moved$'
	run -1 acp-diff --match exact "$FIXTURE" other.rec
	assert_line --partial '1 difference in 1 of 3 turns'
}

# bats test_tags=slow
@test "a response has its place among what its side sends: at exact another place is a difference" {
	recording a.rec <<-'END'
		> {"id":1,"method":"session/prompt","params":{"sessionId":"S"}}
		< {"method":"session/update","params":{"sessionId":"S","update":{"sessionUpdate":"plan"}}}
		< {"id":1,"result":{"stopReason":"end_turn"}}
	END
	sed '2{h;d};3G' a.rec >b.rec
	run -1 differences --match exact a.rec b.rec
	assert_output '1 agent session/update plan 2 3 moved .'
	run -0 acp-diff --match params a.rec b.rec
	# Turns that overlap: the first response comes after the second prompt.
	sed 's/"id":1/"id":2/' a.rec | sed '2d' >second
	sed '2r second' a.rec | sed '$!b' >overlap.rec
	run -0 acp-diff --match exact overlap.rec overlap.rec
	assert_output ''
}

@test "a request that the client sent after the response to another comes after that one" {
	recording a.rec <<-'END'
		> {"id":1,"method":"session/set_mode","params":{"sessionId":"S","modeId":"plan"}}
		< {"id":1,"result":{}}
		> {"id":2,"method":"session/set_model","params":{"sessionId":"S","modelId":"m"}}
		< {"id":2,"result":{}}
	END
	{ sed -n '3,4p' a.rec; sed -n '1,2p' a.rec; } >b.rec
	run -1 acp-diff a.rec b.rec
	assert_line --partial ': moved'
	# Sent side by side they may come in any order.
	{ sed -n '1p;3p' a.rec; sed -n '2p;4p' a.rec; } >c.rec
	{ sed -n '3p' a.rec; sed -n '1p' a.rec; sed -n '2p;4p' a.rec; } >d.rec
	run -0 acp-diff c.rec d.rec
}

# bats test_tags=slow
@test "50,000 requests in the opposite order: each that has moved is reported once" {
	requests() {
		awk -v from="$1" -v step="$2" -v answers="$3" 'BEGIN { for (i = from; i >= 1 && i <= 50000; i += step) {
			printf "> {\"id\":%d,\"method\":\"_x\",\"params\":{\"sessionId\":\"S\",\"n\":%d}}\n", i, i
			if (answers) printf "< {\"id\":%d,\"result\":{}}\n", i } }'
	}
	requests 1 1 1 | recording a.rec
	requests 50000 -1 1 | recording b.rec
	requests 1 1 0 | recording c.rec
	requests 50000 -1 0 | recording d.rec
	run -1 acp-diff -f json --match params a.rec b.rec
	assert_equal "$(tail -n 1 <<<"$output" | jq -c '[.differences, .moved]')" '[49999,49999]'
	run -0 acp-diff -f json --match params c.rec d.rec
	assert_equal "$(tail -n 1 <<<"$output" | jq -c '[.differences, .moved]')" '[0,49999]'
}

@test "pieces of one text are one text, whatever updates come between them" {
	chunk() { printf '< {"method":"session/update","params":{"sessionId":"S","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}\n' "$1"; }
	usage() { printf '< {"method":"session/update","params":{"sessionId":"S","update":{"sessionUpdate":"usage_update","used":%s}}}\n' "$1"; }
	{ chunk one; usage 1; chunk ' two'; } | recording a.rec
	{ chunk 'one '; chunk two; usage 1; } | recording b.rec
	run -0 acp-diff --match params a.rec b.rec
	{ chunk 'one'; usage 1; chunk ' three'; } | recording c.rec
	run -1 differences --match params a.rec c.rec
	assert_output '0 agent session/update agent_message_chunk 1 1 value .params.update.content.text'
}

# bats test_tags=slow
@test "thousands of missing updates are so many differences, and no others" {
	updates() {
		seq "$1" | awk -v skip="$2" '
			BEGIN { print "> {\"id\":1,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"S\"}}" }
			$1 % 10 != skip { printf "< {\"method\":\"session/update\",\"params\":{\"sessionId\":\"S\",\"update\":{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"t%d\",\"n\":%d}}}\n", $1, $1 }
			END { print "< {\"id\":1,\"result\":{}}" }'
	}
	updates 30000 x | recording a.rec
	updates 30000 7 | recording b.rec
	for match in params shape; do
		run -1 acp-diff -f json --match "$match" a.rec b.rec
		assert_equal "$(jq -c 'select(.turns) | [.differences, .messages]' <<<"$output")" '[3000,30002]'
		assert_equal "$(jq -r 'select(.path).difference' <<<"$output" | sort -u)" missing
	done
}

# bats test_tags=slow
@test "thousands of missing updates and thousands that have changed: each is one difference" {
	updates() {
		seq 9000 | awk -v skip="$1" -v change="$2" '
			BEGIN { print "> {\"id\":1,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"S\"}}" }
			$1 % 9 != skip { printf "< {\"method\":\"session/update\",\"params\":{\"sessionId\":\"S\",\"update\":{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"t%d\",\"title\":\"%s%d\"}}}\n", $1, $1 % 9 == change ? "changed" : "title", $1 }
			END { print "< {\"id\":1,\"result\":{}}" }'
	}
	updates x x | recording a.rec
	updates 3 7 | recording b.rec
	run -1 acp-diff -f json --match params a.rec b.rec
	assert_equal "$(jq -c 'select(.turns) | [.differences, .messages, .moved]' <<<"$output")" '[2000,9002,0]'
}

@test "--ignore: what lies at a path does not count" {
	sed -e 's/"used\\":[0-9]*/"used\\":7/' "$FIXTURE" >other.rec
	run -1 acp-diff --match params "$FIXTURE" other.rec
	run -0 acp-diff --match params --ignore .params.update.used "$FIXTURE" other.rec
	sed -i 's/Write note.txt/Write it/' other.rec
	run -0 acp-diff --match params --ignore .params.update.used --ignore .params.update.title \
		--ignore .params.toolCall.title "$FIXTURE" other.rec
	run -2 acp-diff --ignore used "$FIXTURE" other.rec
	assert_output 'acp-diff: --ignore used: expected a path, such as .params.update.used'
	run -2 acp-diff --ignore '.a[' "$FIXTURE" other.rec
	assert_output --partial 'acp-diff: --ignore: '
}

# bats test_tags=slow
@test "--ignore: a path that a message cannot have does not stop the others" {
	recording a.rec <<-'END'
		< {"method":"_m","params":{"a":1,"c":2,"l":[1,2,3]}}
	END
	sed 's/"a":1/"a":5/; s/1,2,3/5,6,3/' a.rec >b.rec
	run -0 acp-diff --match params --ignore '.params.none[].text' --ignore .params.a --ignore '.params.l[0]' \
		--ignore '.params.l[1]' a.rec b.rec
	sed -i 's/"c":2/"c":3/' b.rec
	run -1 differences --match params --ignore '.params.none[].text' --ignore '.params.a,.params.l' a.rec b.rec
	assert_output '0 agent _m 1 1 value .params.c'
}

@test "what a client is and can do does not count below exact, nor null beside a member that is absent" {
	recording a.rec <<-'END'
		> {"id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true}},"clientInfo":{"name":"a"},"x":null}}
	END
	recording b.rec <<-'END'
		> {"id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"terminal":true}}}
	END
	run -0 acp-diff --match params a.rec b.rec
	run -1 differences --match exact a.rec b.rec
	assert_line '0 client initialize 1 1 missing .params.x'
}

# bats test_tags=slow
@test "version 2: what a client is and can do does not count below exact, what the agent can do does" {
	recording a.rec <<-'END'
		> {"id":1,"method":"initialize","params":{"protocolVersion":2,"capabilities":{"fs":{}},"info":{"name":"a"}}}
		< {"id":1,"result":{"protocolVersion":2,"capabilities":{"session":{}},"info":{"name":"x"}}}
	END
	recording b.rec <<-'END'
		> {"id":1,"method":"initialize","params":{"protocolVersion":2,"capabilities":{"terminal":{}},"info":{"name":"b"}}}
		< {"id":1,"result":{"protocolVersion":2,"capabilities":{"session":{}},"info":{"name":"x"}}}
	END
	run -0 acp-diff --match params a.rec b.rec
	run -0 acp-diff --match params --normalize . a.rec b.rec
	run -1 differences --match exact a.rec b.rec
	assert_line '0 client initialize 1 1 missing .params.capabilities.fs'
	assert_line '0 client initialize 1 1 value .params.info.name'
	sed '2s/session/other/' a.rec >b.rec
	for normalize in '' '--normalize .'; do
		run -1 differences --match params $normalize a.rec b.rec
		assert_line '0 agent response to initialize 2 2 missing .result.capabilities.session'
	done
}

@test "junit: the names of cases are the same when the session has another id" {
	elsewhere "$FIXTURE" >other.rec
	names() { acp-diff -f junit "$1" "$1" | grep -o ' name="[^"]*"' | tail -n +2; }
	diff <(names "$FIXTURE") <(names other.rec)
	run -0 names "$FIXTURE"
	assert_line ' name="session 1, turn 1: please WRITE the note"'
}

@test "as git's diff driver" {
	git init -q .
	echo '*.rec diff=acp' >.gitattributes
	# shellcheck disable=SC2016
	git config diff.acp.command 'f() { acp-diff --match params "$2" "$5" || :; }; f'
	cp "$FIXTURE" s.rec
	git add .
	run -0 git diff
	assert_output ''
	elsewhere "$FIXTURE" | sed 's/Write note.txt/Write it/' >s.rec
	run -0 git diff
	assert_line '+++ s.rec'
	assert_line '2 differences in 1 of 3 turns, 17 messages'
}

# update SESSION-UPDATE-MEMBERS: a session/update of session S.
update() {
	printf '< {"method":"session/update","params":{"sessionId":"S","update":{%s}}}\n' "$1"
}

# asks CALL ID OPTION: a permission request about a call, and its response.
asks() {
	printf '< {"id":%s,"method":"session/request_permission","params":{"sessionId":"S","toolCall":{"toolCallId":"%s"},"options":[]}}\n' "$2" "$1"
	printf '> {"id":%s,"result":{"outcome":{"outcome":"selected","optionId":"%s"}}}\n' "$2" "$3"
}

@test "requests that are alike but for the call that they name are paired by that call" {
	calls() {
		echo '> {"id":1,"method":"session/prompt","params":{"sessionId":"S","prompt":[]}}'
		update '"sessionUpdate":"tool_call","toolCallId":"a","title":"write"'
		update '"sessionUpdate":"tool_call","toolCallId":"b","title":"write"'
	}
	{ calls; asks a 7 yes; asks b 8 no; } | recording a.rec
	{ calls; asks b 7 no; asks a 8 yes; } | recording b.rec
	run -0 acp-diff --match params a.rec b.rec
	# The other call has another response.
	{ calls; asks b 7 no; asks a 8 later; } | recording b.rec
	run -1 differences --match params a.rec b.rec
	assert_output '1 client response to session/request_permission 5 7 value .result.outcome.optionId'
	# The calls differ, too, each by its own title.
	{ calls; asks a 7 yes; asks b 8 no; } | sed '2s/write/read/; 3s/write/list/' | recording a.rec
	{ calls; asks b 7 no; asks a 8 yes; } | sed '2s/write/read it/; 3s/write/list it/' | recording b.rec
	run -1 differences --match params a.rec b.rec
	assert_output '1 agent session/update tool_call 2 2 value .params.update.title
1 agent session/update tool_call 3 3 value .params.update.title'
}

@test "turns are paired by their prompts before by the kinds of their messages" {
	recording a.rec <<-'END'
		> {"id":1,"method":"session/prompt","params":{"sessionId":"S","prompt":[{"type":"text","text":"one"}]}}
		< {"method":"session/update","params":{"sessionId":"S","update":{"sessionUpdate":"plan"}}}
		< {"id":1,"result":{"stopReason":"end_turn"}}
		> {"id":2,"method":"session/prompt","params":{"sessionId":"S","prompt":[{"type":"text","text":"two"}]}}
		< {"method":"session/update","params":{"sessionId":"S","update":{"sessionUpdate":"usage_update"}}}
		< {"method":"session/update","params":{"sessionId":"S","update":{"sessionUpdate":"plan"}}}
		< {"id":2,"result":{"stopReason":"end_turn"}}
	END
	# The usage comes a turn earlier: by kinds, the second turn of the one is the first of the other.
	{ sed -n 1p a.rec; sed -n 5p a.rec; sed -n 2,4p a.rec; sed -n 6,7p a.rec; } >b.rec
	run -0 acp-diff --match shape a.rec b.rec
	assert_line --regexp '^no difference in 2 turns, .*; 1 moved$'
}

@test "a message has not moved past another that is identical" {
	usage=$(update '"sessionUpdate":"usage_update","used":1,"size":2')
	{
		echo '> {"id":1,"method":"session/prompt","params":{"sessionId":"S","prompt":[]}}'
		echo "$usage"
		echo '< {"id":1,"result":{"stopReason":"end_turn"}}'
		echo '> {"id":2,"method":"session/prompt","params":{"sessionId":"S","prompt":[]}}'
		echo "$usage"
		echo '< {"id":2,"result":{"stopReason":"end_turn"}}'
	} | recording a.rec
	# The first turn's comes in the second.
	sed '2d; 5p' a.rec >b.rec
	run -0 acp-diff --match params a.rec b.rec
	assert_output ''
}

@test "exact: an empty chunk that says more than its text is a message of its own" {
	{
		echo '> {"id":1,"method":"session/prompt","params":{"sessionId":"S","prompt":[]}}'
		update '"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"one"}'
		update '"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""},"_meta":{"usage":{"inputTokens":5}}'
		echo '< {"id":1,"result":{"stopReason":"end_turn"}}'
	} | recording a.rec
	sed '3p' a.rec >b.rec
	run -1 differences --match exact a.rec b.rec
	assert_output '1 agent session/update agent_message_chunk - 4 unexpected .'
	run -0 acp-diff --match params a.rec b.rec
	# An empty piece of a text is none.
	sed '2{p;s/one//}' a.rec >b.rec
	run -0 acp-diff --match exact a.rec b.rec
}

@test "a tool call is compared by its last state, in however many messages it was reported" {
	{
		echo '> {"id":1,"method":"session/prompt","params":{"sessionId":"S","prompt":[]}}'
		update '"sessionUpdate":"tool_call","toolCallId":"a","title":"make","status":"pending","rawInput":{"command":"make"}'
		update '"sessionUpdate":"tool_call_update","toolCallId":"a","title":null,"status":"in_progress"'
		update '"sessionUpdate":"tool_call_update","toolCallId":"a","_meta":{"terminal_output_delta":"one "}'
		update '"sessionUpdate":"tool_call_update","toolCallId":"a","_meta":{"terminal_output_delta":"two"}'
		update '"sessionUpdate":"tool_call_update","toolCallId":"a","status":"completed","content":[]'
		echo '< {"id":1,"result":{"stopReason":"end_turn"}}'
	} | recording a.rec
	sed '3d; 4s/one /one two/; 5d' a.rec >b.rec
	for match in method shape params; do
		run -0 acp-diff --match "$match" a.rec b.rec
		run -0 acp-diff --match "$match" b.rec a.rec
	done
	run -1 acp-diff --match exact a.rec b.rec
	sed 's/completed/failed/' b.rec >c.rec
	run -1 differences --match params a.rec c.rec
	assert_output '1 agent session/update tool_call 2 2 value .params.update.status'
	# A state that is never reported is a difference at shape, too.
	sed '4d; s/,"content":\[\]//' b.rec >c.rec
	run -1 differences a.rec c.rec
	assert_output '1 agent session/update tool_call 2 2 missing .params.update.content'
	# An id that is given again is another call.
	{ sed -n '1,6p' a.rec; sed -n '2,7p' a.rec; } >twice.rec
	run -1 differences a.rec twice.rec
	assert_output '1 agent session/update tool_call - 7 unexpected .'
}

@test "version 2: a turn goes on until the idle state, also when the next prompt has been accepted" {
	update() { printf '{"from":"agent","msg":{"method":"session/update","params":{"sessionId":"s","update":{%s}}}}\n' "$1"; }
	text() { update "\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"$1\"}"; }
	prompt() {
		printf '{"from":"client","msg":{"id":%s,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}}\n' "$1"
		printf '{"from":"agent","msg":{"id":%s,"result":{}}}\n' "$1"
	}
	begin() {
		echo '{"from":"client","msg":{"id":0,"method":"initialize","params":{"protocolVersion":2}}}'
		echo '{"from":"agent","msg":{"id":0,"result":{"protocolVersion":2}}}'
		prompt 1
	}
	{ begin; text one; prompt 2; text two; update '"sessionUpdate":"state_update","state":"idle"'; } >a.rec
	{ begin; prompt 2; text o; text netwo; update '"sessionUpdate":"state_update","state":"idle"'; } >b.rec
	run acp-diff --match params a.rec b.rec
	assert_success
	{ begin; prompt 2; text o; text neTwo; update '"sessionUpdate":"state_update","state":"idle"'; } >b.rec
	run -1 acp-diff --match params a.rec b.rec
	assert_line --regexp '^1 difference in 1 of '
}

# timed FACTOR FILE: six requests _m whose responses take 1 to 6 s, one of them 60 s, and two _few; times are multiplied.
timed() {
	local i
	{
		echo '{"acp-recording":1}'
		for i in 1 2 3 4 5 60; do
			printf '{"t":%d,"from":"client","msg":{"id":%d,"method":"_m","params":{}}}\n' $((i * 1000)) "$i"
			printf '{"t":%d,"from":"agent","msg":{"id":%d,"result":{}}}\n' $((i * 1000 + i * $1)) "$i"
		done
		for i in 71 72; do
			printf '{"t":%d,"from":"client","msg":{"id":%d,"method":"_few","params":{}}}\n' $((i * 1000)) "$i"
			printf '{"t":%d,"from":"agent","msg":{"id":%d,"result":{}}}\n' $((i * 1000 + $1 * $1)) "$i"
		done
	} >"$2"
}

# bats test_tags=slow
@test "--max-slower: the median of each method with enough responses" {
	timed 10 a.rec
	timed 12 b.rec
	run -0 acp-diff --max-slower 20% a.rec b.rec
	assert_output ''
	timed 11 c.rec
	run -0 acp-diff --max-slower 10% a.rec c.rec
	assert_output ''
	run -1 acp-diff --max-slower 19.5% a.rec b.rec
	assert_output 'slower: _m: 42.0 s, 20 % more than 35.0 s'
	run -0 acp-diff --max-slower 0% b.rec a.rec
	assert_output ''
	run -1 acp-diff -f github --max-slower 10% a.rec b.rec
	assert_output '::error title=slower::_m: 42.0 s, 20 %25 more than 35.0 s'
	run -1 acp-diff -f json --max-slower 10% a.rec b.rec
	assert_line '{"slower":true,"method":"_m","recordedUs":35000000,"liveUs":42000000}'
	acp-diff -f junit --max-slower 10% a.rec b.rec >out.xml || status=$?
	assert_equal "$status" 1
	xml out.xml
	run -0 cat out.xml
	assert_line --partial 'tests="2" failures="1"'
	assert_line --partial '<failure type="slower" message="_m: 42.0 s, 20 % more than 35.0 s">'
	acp-diff -f junit --max-slower 50% a.rec b.rec >out.xml
	xml out.xml
	run -0 grep -c '<testcase .*/>' out.xml
	assert_output 2
}

@test "--max-slower with nothing to compare is status 2" {
	timed 10 a.rec
	grep -v _m a.rec | grep -vE '"id":[1-6]0?,' >few.rec
	run -2 acp-diff --max-slower 20% few.rec few.rec
	assert_output 'acp-diff: --max-slower: no method has 5 responses with times in both recordings: nothing was compared'
	sed 's/"t":[0-9]*,//' a.rec >untimed.rec
	run -2 acp-diff --max-slower 20% a.rec untimed.rec
	run -2 acp-diff --max-slower 20% --normalize 'select(.method != "_m")' a.rec a.rec
	for wrong in 20 -1% % x% 1x% nan% 9999999%; do
		run -2 acp-diff --max-slower "$wrong" a.rec a.rec
		assert_output "acp-diff: --max-slower $wrong: expected a percentage, such as 20%"
	done
}

@test "-f github: a command for each difference, with its line" {
	recording a.rec <<-'END'
		< {"method":"_a","params":{"x":1}}
		< {"method":"_b"}
	END
	recording 'b,1.rec' <<-'END'
		< {"method":"_a","params":{"x":2}}
	END
	run -1 acp-diff -f github --match params a.rec 'b,1.rec'
	assert_line '::error file=b%2C1.rec,line=1,title=no session:: agent: _a, -1 +1%0A   .params.x%0A-    1%0A+    2%0A'
	assert_line --partial '::error file=a.rec,line=2,title=no session:: agent: _b, -2: missing'
	assert_equal "${#lines[@]}" 2
	run -0 acp-diff -f github a.rec a.rec
	assert_output ''
}
