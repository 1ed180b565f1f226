#!/usr/bin/env bats
# acp-export with sessions that would like to be more than text. ACP_ROUNDS says how many random ones (100).

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
}

teardown() {
	end_left_over
}

@test "no content becomes part of the page, and none is lost" {
	python3 "$BATS_TEST_DIRNAME/model/export.py" --count "${ACP_ROUNDS:-$(sample 10 100)}"
}

# bats test_tags=slow
@test "the check of the pages finds an element, an attribute, an unseen character and a lost word" {
	mkdir bin
	for edit in 's/<p>/<p><b>/' 's/<dl /<dl onclick="x" /' 's/<main>/&'$'\xe2\x80\xae''/' 's/word0z//'; do
		printf '#!/bin/sh\n%s "$@" | sed "%s"\n' "$(command -v acp-export)" "${edit//\"/\\\"}" >bin/acp-export
		chmod +x bin/acp-export
		run -1 env PATH="$PWD/bin:$PATH" python3 "$BATS_TEST_DIRNAME/model/export.py" --seed 1
		assert_output --regexp 'seed 1: (element|attribute|the character|lost)'
	done
}

# A session with a turn whose text is the JSON string on standard input.
session_of() {
	printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"go"}]}}'
	printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":'
	cat
	printf '}}}}\n%s\n' '{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}'
}

# bats test_tags=slow
@test "a text of a megabyte that is all markup makes a page" {
	local piece
	for piece in '*a ' '**a' '[a](' '`a``' '|\n' '> \n' 'http://' '\\' '_a_' '# a\n' '- a\n' 'a|\n-|-\n' '```\n~~~\n'; do
		perl -e 'print "\"", $ARGV[0] x (1000000 / length $ARGV[0]), "\""' -- "$piece" | session_of >s.nd
		for format in html markdown; do
			run -0 timeout 60 acp-export -f $format -o page s.nd
			tail -n 8 page | grep -qE "end.{1,2}turn"
		done
	done
}

# bats test_tags=slow
@test "a difference of many lines makes a page" {
	old=$(seq 1 20000 | sed 's/$/ old/' | jq -Rs .)
	new=$(seq 1 20000 | sed 's/$/ new/' | jq -Rs .)
	{
		printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}'
		printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","content":[{"type":"diff","path":"p","oldText":%s,"newText":%s}]}}}\n' "$old" "$new"
	} >s.nd
	run -0 timeout 60 acp-export s.nd
	[ "$(grep -c '<del>' <<<"$output")" -ge 19999 ]
}

@test "only the lines around a change are shown" {
	old=$(seq 1 100 | jq -Rs .)
	new=$(seq 1 100 | sed 's/^50$/fifty/' | jq -Rs .)
	printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","content":[{"type":"diff","path":"p","oldText":%s,"newText":%s}]}}}\n' "$old" "$new" >s.nd
	run -0 acp-export -f markdown s.nd
	assert_output --partial $'```diff\n@@ 46 equal lines @@\n 47\n 48\n 49\n-50\n+fifty\n 51\n 52\n 53\n@@ 47 equal lines @@\n```'
}

# changes COUNT: a session with so many changes of one line in 30 KB, and the whole files beside them, as agents send them.
changes() {
	python3 - "$1" <<-'END'
		import json, sys
		def update(kind, call, **members):
		    print(json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s",
		        "update": {"sessionUpdate": kind, "toolCallId": call, **members}}}))
		print('{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}')
		for i in range(int(sys.argv[1])):
		    old = "".join("file %d, line %d\n" % (i, n) for n in range(2000))
		    new = old.replace("line 1000\n", "changed\n")
		    change = [{"type": "diff", "path": "/w/%d" % i, "oldText": old, "newText": new}]
		    update("tool_call", "c%d" % i, title="Edit", rawInput={"old": old, "new": new}, content=change)
		    update("tool_call_update", "c%d" % i, status="completed", content=change, rawOutput=new)
	END
}

# peak COMMAND...: the most memory that it had, in KiB.
peak() {
	python3 -c 'if True:
		import resource, subprocess, sys
		subprocess.run(sys.argv[1:], check=True)
		print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$@"
}

# bats test_tags=slow
@test "memory grows with the page, not with the files whose changes it shows" {
	changes 2 >few.nd
	changes 200 >many.nd
	for format in html markdown; do
		few=$(peak acp-export -f "$format" -o few few.nd)
		many=$(peak acp-export -f "$format" -o many many.nd)
		assert_equal "$(grep -c 'line 999$' many)" 200
		run ! grep -qE 'line (996|1004)$' many
		[[ ${B##*/} == san ]] || ((many < few + $(stat -c %s many) / 1024 + 1024))
	done
}

@test "what is beside a change is shown once its call has no change any more" {
	old=$(seq 1 9 | jq -Rs .)
	change='"content":[{"type":"diff","path":"p","oldText":'$old',"newText":"1\n"},{"type":"diff","path":"q","patch":{"text":"@@ -1 +1 @@\n-a\n+b\n@5\n"}}]'
	call_of '"rawInput":"beside","status":"pending",'"$change" >s.nd
	run -0 acp-export -f markdown s.nd
	refute_output --partial beside
	assert_output --partial $'\n 1\n-2\n-3\n'
	assert_output --partial $'\n @@ -1 +1 @@\n-a\n+b\n @5\n'
	printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"c","content":[]}}}\n' >>s.nd
	run -0 acp-export -f markdown s.nd
	assert_output --partial beside
}

@test "a change that comes as a chunk has no secrets, nor members of its own that the page takes for its own" {
	call_of '"status":"pending"' >s.nd
	printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_content_chunk","toolCallId":"c","content":%s}}}\n' \
		'{"type":"diff","path":"p","oldText":"","newText":"password=Tr0ub4dor3xyz\n","hunks":"+mine\n","content":{"type":"text","text":"password=Tr0ub4dor3xyz"}}' \
		'{"type":"content","content":{"type":"text","text":"next"}}' >>s.nd
	run -0 --separate-stderr acp-export --redact -f markdown s.nd
	assert_output --partial $'\n+password=<redacted>\n'
	refute_output --partial Tr0ub4
	refute_output --partial mine
	assert_output --partial next
}

@test "a fence is longer than any in the content" {
	printf '"~~~\\n```\\n`````\\n~~~"' | session_of >s.nd
	run -0 acp-export -f markdown s.nd
	assert_output --partial $'\n``````\n```\n`````\n``````\n'
}

@test "backticks that meet once a colour between them is left out do not end a fence or a span of code" {
	printf '"~~~\\n``\\u001b[m`\\n<b>x</b>\\n~~~\\na `` b`\\u001b[m`<i>y</i> `` z"' | session_of >s.nd
	run -0 acp-export -f markdown s.nd
	assert_output --partial $'\n````\n```\n<b>x</b>\n````\n'
	assert_output --partial 'a ``` b``<i>y</i> ``` z'
}

@test "images are shown where they are pictures, else named" {
	image() {
		printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"image","mimeType":"%s","data":"%s"}}}}\n' "$1" "$2"
	}
	{
		image image/png AAAA
		image image/svg+xml BBBB
		image image/x 'ZZ\/Z'
		image image/gif 'CC"CC'
	} >s.nd
	# The last is no JSON.
	sed -i 's/CC"CC/CC CC/' s.nd
	run -0 acp-export s.nd
	assert_line '<img alt="image/png" src="data:image/png;base64,AAAA">'
	assert_line '<div class="plain text">[image image/svg+xml, 3]</div>'
	# Bytes of the image, however its base64 is escaped.
	assert_line '<div class="plain text">[image image/x, 3]</div>'
	refute_output --partial BBBB
	refute_output --partial 'CC CC'
}

# A session with a tool call of this update.
call_of() {
	printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}'
	printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"t",%s}}}\n' "$1"
}

# bats test_tags=slow
@test "deeply nested input does not become many times as long" {
	call_of '"rawInput":'"$(perl -e 'print "[" x 70, join(",", (1) x 300000), "]" x 70')" >s.nd
	run -0 acp-export -o page s.nd
	(($(stat -c %s page) < 12 * $(stat -c %s s.nd)))
}

@test "a clock that was set back does not lead out of the chart" {
	usage() { printf '{"t":%s,"from":"agent","msg":{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"usage_update","used":%s,"size":100}}}}\n' "$1" "$2"; }
	{
		echo '{"acp-recording":1,"started":"2026-11-20T15:56:02.123456Z","by":"x"}'
		echo '{"t":1,"from":"client","msg":{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}}'
		usage 1000 10
		usage 2 20
		usage 900000000 30
		usage 1000.000001 40
	} >s.rec
	for format in html markdown; do
		run -0 --separate-stderr acp-export -f $format -o page s.rec
	done
	run ! grep -E '(points|,)-[0-9]' page
}
