#!/usr/bin/env bats
# acp-stat: where the time of requests, turns and tools goes.
# ACP_ROUNDS: how many random sessions the model compares.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load attach
	attach_setup
	up='"from":"agent","msg":{"jsonrpc":"2.0",' down='"from":"client","msg":{"jsonrpc":"2.0",'
}

teardown() {
	attach_teardown
}

# A session with two tools that overlap, a question to the user within the second, and a turn that fails.
session_rec() {
	update() {
		printf '{"t":%s,%s"method":"session/update","params":{"sessionId":"S","update":{"sessionUpdate":%s}}}}\n' "$1" "$up" "$2"
	}
	echo '{"acp-recording":1,"started":"2026-11-22T10:00:00.000000Z"}'
	echo "{\"t\":0,$down\"id\":1,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"S\",\"prompt\":[]}}}"
	update 1 '"agent_thought_chunk","content":{"type":"text","text":"hm"}'
	update 2 '"agent_message_chunk","content":{"type":"text","text":"hello"}'
	update 3 '"tool_call","toolCallId":"a","title":"t","kind":"read"'
	update 4 '"tool_call","toolCallId":"b","title":"t","kind":"edit"'
	echo "{\"t\":5,$up\"id\":1,\"method\":\"session/request_permission\",\"params\":{\"sessionId\":\"S\",\"toolCall\":{\"toolCallId\":\"b\"},\"options\":[]}}}"
	echo "{\"t\":15,$down\"id\":1,\"result\":{}}}"
	update 16 '"tool_call_update","toolCallId":"a","status":"completed"'
	update 18 '"tool_call_update","toolCallId":"b","status":"failed"'
	echo "{\"t\":20,$up\"id\":1,\"result\":{\"stopReason\":\"end_turn\",\"usage\":{\"totalTokens\":90,\"inputTokens\":10,\"outputTokens\":80}}}}"
	echo "{\"t\":30,$down\"id\":2,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"S\",\"prompt\":[]}}}"
	echo "{\"t\":31,$up\"id\":2,\"error\":{\"code\":-32603,\"message\":\"no\"}}}"
	echo "{\"t\":40,$down\"id\":3,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"S\",\"prompt\":[]}}}"
}

# figure FILE ROW NAME PATH: of -f json.
figure() {
	acp-stat -f json "$1" | jq -c --arg row "$2" --arg name "$3" "select(.row == \$row and .name == \$name) | $4"
}

@test "a turn's time is the user's, the tools' or the model's, and overlaps are counted once" {
	session_rec >s.rec
	run -0 figure s.rec turn '' '[.total, .user, .tools, .model] | map(.sum_us)'
	assert_output '[21000000,10000000,5000000,6000000]'
	run -0 figure s.rec turn '' '[.first_update, .first_text, .silence] | map(.max_us)'
	assert_output '[1000000,2000000,2000000]'
	run -0 figure s.rec turn '' '[.count, .failed, .open, .chunks, .output_tokens, .token_us]'
	assert_output '[3,1,1,2,80,5000000]'
}

@test "a tool's time is without what it waited for the user" {
	session_rec >s.rec
	run -0 figure s.rec tool read '[.count, .failed, .time.sum_us, .busy_us]'
	assert_output '[1,0,13000000,13000000]'
	run -0 figure s.rec tool edit '[.count, .failed, .time.sum_us, .busy_us]'
	assert_output '[1,1,4000000,4000000]'
}

# prompt T ID SESSION, ended T ID, call T SESSION STATUS: records.
prompt() {
	echo "{\"t\":$1,$down\"id\":$2,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"$3\",\"prompt\":[]}}}"
}

ended() {
	echo "{\"t\":$1,$up\"id\":$2,\"result\":{\"stopReason\":\"end_turn\"}}}"
}

of_session() {
	echo "{\"t\":$1,$up\"method\":\"session/update\",\"params\":{\"sessionId\":\"$2\",\"update\":{\"sessionUpdate\":$3}}}}"
}

@test "a call that is open when its turn ends is one call, whatever is reported of it later" {
	{
		prompt 0 1 S
		of_session 1 S '"tool_call","toolCallId":"c","kind":"read","status":"in_progress"'
		of_session 1 S '"tool_call","toolCallId":"d","kind":"read","status":"completed"'
		ended 2 1
		prompt 3 2 S
		of_session 4 S '"tool_call_update","toolCallId":"c","status":"completed"'
		of_session 5 S '"tool_call_update","toolCallId":"d","status":"completed"'
		ended 6 2
	} >late.rec
	run -0 figure late.rec tool read '[.count, .open, .time.count]'
	assert_output '[2,1,1]'
	run -0 figure late.rec turn '' '.tools.sum_us'
	assert_output 1000000
	# A call of that id that begins anew is another.
	{ cat late.rec; prompt 7 3 S; of_session 8 S '"tool_call","toolCallId":"c","kind":"read"'; ended 9 3; } >anew.rec
	run -0 figure anew.rec tool read '[.count, .open]'
	assert_output '[3,2]'
}

@test "a kind of tool whose only call has no end has the time in which it ran" {
	{
		prompt 0 1 S
		of_session 1 S '"tool_call","toolCallId":"c","kind":"fetch","status":"in_progress"'
		of_session 1 S '"tool_call","toolCallId":"d","kind":"read","status":"in_progress"'
		of_session 2 S '"tool_call_update","toolCallId":"d","status":"completed"'
		ended 5 1
	} >s.rec
	# The percentage is the share of the longest time.
	run -0 acp-stat --by tool s.rec
	assert_line --regexp '^fetch +1 +0 +- +- +- +- +4\.0 s +100%'
	assert_line --regexp '^read +1 +0 +n=1 +1\.0 s +1\.0 s +25%'
	# Without times there is none.
	jq -c .msg s.rec >plain
	run -0 acp-stat --by tool plain
	assert_line --regexp '^fetch +1 +0 +- +- +- +- +-$'
}

@test "a sub-agent's work is of the turn that started it, also when that has ended" {
	{
		prompt 0 1 S
		of_session 1 S '"subagent_update","sessionId":"K","state":{"state":"running"}'
		ended 2 1
		prompt 3 2 S
		of_session 4 K '"tool_call","toolCallId":"c","kind":"read","status":"in_progress"'
		echo "{\"t\":5,$up\"id\":9,\"method\":\"session/request_permission\",\"params\":{\"sessionId\":\"K\"}}}"
		echo "{\"t\":6,$down\"id\":9,\"result\":{}}}"
		of_session 7 K '"tool_call_update","toolCallId":"c","status":"completed"'
		ended 9 2
	} >background.rec
	run -0 jq -c '[.turn, .first_update_us, .silence_us, .tools_us, .user_us, .model_us]' <(acp-stat --by turn -f json background.rec)
	assert_output $'[1,1000000,1000000,0,0,2000000]\n[2,null,6000000,0,0,6000000]'
	run -0 figure background.rec tool read '[.count, .time.sum_us]'
	assert_output '[1,3000000]'
	# One that was idle, and runs again, was started by the turn in which it does.
	{
		prompt 0 1 S
		of_session 1 S '"subagent_update","sessionId":"K","state":{"state":"running"}'
		of_session 1 S '"subagent_update","sessionId":"K","state":{"state":"idle"}'
		ended 2 1
		prompt 3 2 S
		of_session 4 S '"subagent_update","sessionId":"K","state":{"state":"running"}'
		of_session 5 K '"tool_call","toolCallId":"c","kind":"read","status":"completed"'
		of_session 6 K '"tool_call","toolCallId":"d","kind":"read"'
		# Its end ends its calls.
		of_session 8 S '"subagent_update","sessionId":"K","state":{"state":"idle"}'
		ended 9 2
	} >again.rec
	run -0 jq -c '[.turn, .tools_us]' <(acp-stat --by turn -f json again.rec)
	assert_output $'[1,0]\n[2,2000000]'
	run -0 figure again.rec tool read '[.count, .open]'
	assert_output '[2,1]'
}

@test "a response of the agent ends a silence" {
	{
		prompt 0 1 S
		echo "{\"t\":1,$down\"id\":2,\"method\":\"session/set_mode\",\"params\":{\"sessionId\":\"S\",\"modeId\":\"m\"}}}"
		echo "{\"t\":4,$up\"id\":2,\"result\":{}}}"
		ended 7 1
	} >s.rec
	run -0 figure s.rec turn '' '.silence.max_us'
	assert_output 4000000
}

# turns_of SESSION...: a turn of each, one after the other.
turns_of() {
	local s i=0
	for s; do
		prompt $((++i)) $i "$s"
		ended $i $i
	done
}

@test "--by turn: sessions that begin alike have different names" {
	turns_of 01a20763-b9aa-0001 01a20763-ba11-0002 01a20763-ca11-0002 01a20763-b9aa-0001 short >s.rec
	run -0 acp-stat --by turn s.rec
	assert_equal "$(awk 'NR > 1 { print $1, $2 }' <<<"$output")" $'01a20763 1\na11-0002 1\n~3 1\n01a20763 2\nshort 1'
	# Also where they are in different recordings.
	for id in 01a20763-b9aa-0001 01a20763-ba11-0002 01a20763-b9aa-0001; do
		echo '{"acp-recording":1}'
		turns_of $id
	done >s.rec
	run -0 acp-stat --by turn s.rec <(turns_of 01a20763-ca11-0003)
	assert_equal "$(awk 'NR > 1 { print $1, $2 }' <<<"$output")" $'01a20763 1\na11-0002 1\n01a20763 1\na11-0003 1'
}

@test "--by session: sessions that begin alike show their ends" {
	turns_of 01a20179-bd1f-7f80-8bf5-{aaaa1111,bbbb2222} 01a20179-bd1f-7f81-8bf5-cccc3333 >s.rec
	run -0 acp-stat --by session s.rec
	assert_equal "$(awk 'NR > 1 { print $1 }' <<<"$output")" $'-7f80-8bf5-aaaa1111\n-7f80-8bf5-bbbb2222\n01a20179-bd1f-7f81-'
	run -0 acp-stat --merge <(acp-stat --by session -f json s.rec)
	assert_line --partial '-7f80-8bf5-bbbb2222 '
}

@test "methods: by the side that sends them, errors, and requests without a response" {
	session_rec >s.rec
	run -0 figure s.rec method session/prompt '[.from, .count, .failed, .open, .latency.count, .latency.sum_us]'
	assert_output '["client",3,1,1,2,21000000]'
	run -0 figure s.rec method session/update '[.from, .notification, .count, .latency.count]'
	assert_output '["agent",true,6,0]'
}

# bats test_tags=slow
@test "--by: methods, sessions, turns, tools or agents are the rows" {
	local by
	for by in method session tool agent; do
		run -0 acp-stat --by "$by" -f json "$FIXTURES"/*.jsonl
		assert_output --partial "\"row\":\"$(sed 's/session\|agent/turn/' <<<"$by")\""
		run -0 jq -r 'select(.row) | .row' <<<"$output"
		assert_equal "$(sort -u <<<"$output" | wc -l)" 1
	done
	run -0 acp-stat --by agent -f json "$FIXTURES/bash-tool.jsonl"
	assert_output --partial '"name":"@agentclientprotocol/claude-agent-acp"'
	session_rec >s.rec
	run -0 acp-stat --by turn -f json s.rec
	assert_line --index 0 '{"session":"S","turn":1,"result":"ended","stop_reason":"end_turn","total_us":20000000,"first_update_us":1000000,"first_text_us":2000000,"silence_us":2000000,"tools_us":5000000,"user_us":10000000,"model_us":5000000,"chunks":2,"output_tokens":80}'
	assert_line --index 1 --partial '"turn":2,"result":"failed"'
	assert_line --index 2 --partial '"turn":3,"result":"open"'
}

# bats test_tags=slow
@test "text: one time has no percentiles" {
	session_rec >s.rec
	run -0 acp-stat --by tool s.rec
	assert_line --regexp '^edit +1 +1 +n=1 +4\.0 s'
	run -0 acp-stat s.rec
	assert_line --regexp '^  in tools +0\.0 ms +5\.0 s'
	assert_line --regexp '^tools +count failed +p50 +p90 +p99 +max +time$'
}

@test "text: colours on a terminal, or as --color says" {
	session_rec >s.rec
	run -0 acp-stat s.rec
	refute_output --partial $'\e'
	run -0 acp-stat --color always s.rec
	assert_line --index 0 --regexp $'^\e\\[1mfrom .*\e\\[0m$'
	assert_output --partial $'\e[31m1\e[0m failed'
	run script -qec 'acp-stat s.rec' /dev/null </dev/null
	assert_output --partial $'\e[1m'
	run script -qec 'TERM=dumb acp-stat s.rec' /dev/null </dev/null
	refute_output --partial $'\e'
}

# bats test_tags=slow
@test "text fits 80 columns, whatever names and times there are" {
	local by
	session_rec | sed 's/"kind":"edit"/"kind":"éééééééééééééééééééééééééééééé\\u001b[31m"/; s/"S"/"a-session-with-a-very-long-id-日本語日本語"/
		s/"t":30,/"t":98765432,/; s/"t":31,/"t":198765432,/; s/"t":40,/"t":298765432,/' >wide.rec
	for by in '' '--by method' '--by session' '--by turn' '--by tool' '--by agent'; do
		for file in wide.rec "$FIXTURES"/*.jsonl "$FIXTURES"/agents/*.jsonl; do
			LC_ALL=C.UTF-8 run -0 acp-stat $by "$file"
			assert [ -n "$output" ]
			refute_output --partial $'\e'
			assert [ "$(LC_ALL=C.UTF-8 wc -L <<<"$output")" -le 80 ]
		done
	done
}

@test "tsv: a line for each time, all with the same columns" {
	acp-stat -f tsv "$FIXTURES"/*.jsonl >out
	awk -F'\t' 'NF != 18 { exit 1 }' out
	run -0 awk -F'\t' '$1 == "turn" && $12 == "user" { print $13, $14 }' <(session_rec | acp-stat -f tsv)
	assert_output '2 10.000000'
	acp-stat --by turn -f tsv "$FIXTURES"/*.jsonl | awk -F'\t' 'NF != 13 { exit 1 }'
}

# bats test_tags=slow
@test "prom: promtool finds nothing wrong; a file is replaced as a whole" {
	local by
	for by in '' '--by session' '--by agent' '--by method' '--by tool'; do
		acp-stat -f prom -o metrics.prom $by "$FIXTURES"/*.jsonl "$FIXTURES"/agents/*.jsonl
		[[ -s metrics.prom ]]
		run promtool check metrics <metrics.prom
		assert_success
		assert_output ''
	done
	run -0 ls
	assert_output metrics.prom
}

# bats test_tags=slow
@test "prom: no series twice, also of merged reports by session" {
	cat "$FIXTURES"/*.jsonl "$FIXTURES"/agents/*.jsonl | acp-stat -f json --by session >s.json
	acp-stat --merge -f prom s.json | grep -v '^#' | sed 's/ [^ ]*$//' >series
	grep -q 'acp_turn_seconds_sum{name="' series
	sort series | uniq -d >twice
	[[ ! -s twice ]]
}

@test "the model: counts and sums are equal, percentiles within 1 %, merges equal to one run" {
	run timeout 600 python3 "$BATS_TEST_DIRNAME/model/stat.py" --count "${ACP_ROUNDS:-$(sample 3 25)}"
	assert_success
}

@test "--merge: any order, any grouping, one pipe" {
	local f
	for f in "$FIXTURES"/*.jsonl; do
		acp-stat -f json "$f" >"${f##*/}.json"
	done
	acp-stat -f json "$FIXTURES"/*.jsonl >all
	cat ./*.json | acp-stat --merge -f json | cmp - all
	acp-stat --merge -f json b*.json t*.json >half
	acp-stat --merge -f json w*.json half f*.json | cmp - all
	acp-stat --merge ./*.json | cmp - <(acp-stat "$FIXTURES"/*.jsonl)
}

@test "--merge refuses what is damaged, with one line that says where" {
	session_rec | acp-stat -f json >good
	damaged() {
		run -2 --separate-stderr acp-stat --merge good bad
		assert_equal "$output" ''
		assert_equal "${#stderr_lines[@]}" 1
		assert_regex "$stderr" "^acp-stat: bad: $1"
	}
	sed '2d' good >bad && damaged 'line [0-9]+: rows are missing'
	head -n 3 good >bad && damaged 'line 3: the report is cut off'
	sed 's/"final":true/"final":1/' good >bad && damaged 'line [0-9]+: an end that does not say whether it is final'
	head -c 200 good >bad && damaged 'line 1: a line that acp-stat'
	sed '1s/"acp-stat":1/"acp-stat":2/' good >bad && damaged 'line 1: a line of another version'
	sed '1s/"count":3/"count":-3/' good >bad && damaged 'line 1: '
	sed '1s/"buckets":\[\[\([0-9]*\),/"buckets":[[9999,/' good >bad && damaged 'line 1: '
	sed '/"row":"tool"/s/"count":1,"failed":[01]/"count":0,"failed":0/' good >bad && damaged 'line [0-9]+: a row whose times are missing, or whose'
	sed 's/"max_us":[0-9]*/"max_us":1/' good >bad && damaged 'line [0-9]+: '
	sed '1p' good >bad && damaged 'line 2: a row that this report has twice'
	sed '/"row":"turn"/s/"count":\([0-9]*\),"failed":[0-9]*,"open":[0-9]*/"count":\1,"failed":\1,"open":\1/' good >bad &&
		damaged 'line [0-9]+: a row whose counts do not agree'
	sed 's/"output_tokens":[0-9]*/"output_tokens":"x"/' good >bad && damaged 'line [0-9]+: '
	echo '{"acp-usage":1}' >bad && damaged 'line 1: a line that acp-stat'
	acp-stat --by turn -f json <(session_rec) >bad && damaged 'line 1: a line that acp-stat'
}

# bats test_tags=slow
@test "--merge: a report that more followed does not count" {
	session_rec | acp-stat -f json >good
	sed 's/"final":true/"final":false/' good | cat - good | acp-stat --merge -f json | cmp - good
	sed 's/"final":true/"final":false/' good >early
	run -2 --separate-stderr acp-stat --merge early
	assert_equal "$stderr" 'acp-stat: early: no final report in it'
}

@test "no message: status 2; one such file among others is a warning" {
	: >empty
	session_rec >s.rec
	run -2 --separate-stderr acp-stat empty
	assert_equal "$stderr" 'acp-stat: empty: no message in it'
	assert_equal "$output" ''
	run -0 --separate-stderr acp-stat empty s.rec
	assert_equal "$stderr" 'acp-stat: empty: no message in it'
	run -2 --separate-stderr acp-stat missing
	assert_equal "$stderr" 'acp-stat: missing: No such file or directory'
}

# bats test_tags=slow
@test "where memory is out that is reported, and the status is 125" {
	[[ $B != *san* ]] && ! emulated || skip 'sanitizers and the emulator want an address space of their own'
	awk 'BEGIN {
		for (i = 0; i < 30000; i++)
			printf "{\"t\":%d,\"from\":\"client\",\"msg\":{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"s%d\"}}}\n", i, i, i
	}' >many.rec
	run -125 --separate-stderr bash -c 'ulimit -v 20000; acp-stat many.rec'
	assert_regex "$stderr" 'many\.rec: (Cannot allocate memory|Out of memory|out of memory)'
}

@test "a torn last line is the end, and is reported; a damaged one is status 2, and the rest counts" {
	session_rec | head -c -20 >torn.rec
	run -0 --separate-stderr acp-stat -f json torn.rec
	assert_regex "$stderr" '^acp-stat: torn.rec:14: the last line is torn'
	session_rec | sed '4s/.*/garbage{/' >bad.rec
	run -2 --separate-stderr acp-stat -f json bad.rec
	assert_regex "$stderr" '^acp-stat: bad.rec:4: not a record'
	assert_line --partial '"row":"turn"'
}

@test "messages without times are counted, not measured" {
	fixture client "$FIXTURES/bash-tool.jsonl" >bare
	run -0 --separate-stderr acp-stat -f json bare
	assert_equal "$stderr" 'acp-stat: bare: messages without times: they are counted, not measured'
	assert_line --partial '"name":"session/prompt","count":1,"failed":0,"open":1,"latency":{"count":0}}'
}

@test "around a command: every byte passes, the report goes to stderr or -o, the status is the agent's" {
	fixture client "$FIXTURES/bash-tool.jsonl" >down
	fixture agent "$FIXTURES/bash-tool.jsonl" >up
	run -0 --separate-stderr acp-stat -- sh -c 'cat up; cat >got' <down
	cmp down got
	assert_equal "$output" "$(cat up)"
	[[ $stderr == 'from    method '*'turns 1 '*'tools '*execute* ]]
	run -7 acp-stat -o out.json -f json -- sh -c 'cat up; cat >/dev/null; exit 7' <down
	assert_equal "$(stat -c %a out.json)" 600
	acp-stat --merge -f json out.json >/dev/null
}

@test "in a stream without a message that is a warning" {
	run -3 --separate-stderr acp-stat -o out -- sh -c 'cat; exit 3' </dev/null
	assert_equal "$stderr" 'acp-stat: no message passed'
}

@test "in a chain, and with --pass" {
	fixture client "$FIXTURES/bash-tool.jsonl" >down
	fixture agent "$FIXTURES/bash-tool.jsonl" >up
	acp-conduct -f 'acp-stat -f json -o chain.json' -- sh -c 'cat up; cat >/dev/null' <down | cmp - up
	run -0 jq -r 'select(.row == "turn").count' chain.json
	assert_output 1
	cat down up | acp-stat --pass -f json -o pass.json | cmp - <(cat down up)
	run -0 jq -r 'select(.row == "turn").count' pass.json
	assert_output 1
}

@test "attached to a chain that runs: the report of its recording, also at SIGUSR1" {
	session four-turns-per-model-usage.jsonl >session
	conduct socket
	# A signal that comes before the program is ready ends nothing.
	trap '' USR1
	attach acp-stat -f json -o log
	cat session >&9
	asked_and_there() {
		kill -USR1 "$filter" && grep -q '"row":"turn","name":"","count":4' log
	}
	wait_for asked_and_there
	exec 9>&-
	ends 0
	acp-stat --merge -f json log | cmp - <(acp-stat -f json session)
}

@test "SIGUSR1 while a pipe is read: the report so far" {
	mkfifo in
	trap '' USR1
	acp-stat -f json - <in >out 3>&- &
	filter=$!
	exec 9>in
	session_rec >&9
	asked_and_there() {
		kill -USR1 "$filter" && grep -q '"row":"turn","name":"","count":2' out
	}
	wait_for asked_and_there
	exec 9>&-
	ends 0
	acp-stat --merge -f json out | cmp - <(session_rec | acp-stat -f json)
}

# turn_rec ID: a turn of one second
turn_rec() {
	printf '{"t":%s.0,"from":"client","msg":{"id":%s,"method":"session/prompt","params":{"sessionId":"S"}}}\n' "$1" "$1"
	printf '{"t":%s.0,"from":"agent","msg":{"id":%s,"result":{"stopReason":"end_turn"}}}\n' "$(($1 + 1))" "$1"
}

# bats test_tags=slow
@test "-F reads on as the recording grows, is replaced and is truncated, until a signal" {
	lines() {
		[[ $(wc -l <rows) -eq $1 ]]
	}
	turn_rec 1 >grows
	acp-stat -F --by turn -f tsv grows >rows 3>&- &
	filter=$!
	wait_for lines 2
	turn_rec 2 | tee whole | head -c 150 >>grows
	tail -c +151 whole >>grows
	wait_for lines 3
	# What is truncated is shorter when it is next looked at.
	{ turn_rec 3 && echo '# end'; } >other
	mv other grows
	wait_for lines 4
	: >grows
	turn_rec 4 >grows
	wait_for lines 5
	kill -TERM "$filter"
	ends 0
	run cut -f 2,3,5 rows
	assert_output $'turn\tresult\ttotal_s\n1\tended\t1.000000\n2\tended\t1.000000\n1\tended\t1.000000\n1\tended\t1.000000'
	run -2 acp-stat -F grows grows
	assert_output --partial '--follow requires one recording'
}

@test "the output is none of the inputs; a full disk is status 125" {
	session_rec >s.rec
	run -2 acp-stat -o s.rec s.rec
	assert_output 'acp-stat: s.rec: it is also an input'
	run -2 acp-stat -f prom -o s.rec s.rec
	assert_output 'acp-stat: s.rec: it is also an input'
	run -125 acp-stat -o /dev/full s.rec
}

# bats test_tags=slow
@test "a peer that makes up methods, tools and sessions without end costs bounded memory for names" {
	for ((i = 0; i < 3000; i++)); do
		printf '{"jsonrpc":"2.0","method":"_m/%d"}\n' "$i"
	done >many
	acp-stat -f json many 2>/dev/null >out
	run -0 jq -s 'map(select(.row == "method")) | length' out
	assert_output 1001
	run -0 jq -r 'select(.name == "(others)").count' out
	assert_output 2000
}

@test "output tokens of several recordings: the running total of a sub-agent that is prompted itself goes on from one to the next" {
	hello() {
		echo "{\"t\":0,$down\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}}"
		echo "{\"t\":0,$up\"id\":1,\"result\":{\"protocolVersion\":1,\"agentInfo\":{\"name\":\"hermes\",\"version\":\"1\"}}}}"
		echo "{\"t\":0,$down\"id\":2,\"method\":\"session/$1\",\"params\":{\"sessionId\":\"c\",\"cwd\":\"/x\",\"mcpServers\":[]}}}"
		echo "{\"t\":0,$up\"id\":2,\"result\":{\"sessionId\":\"p\"}}}"
		echo "{\"t\":0,$up\"method\":\"session/update\",\"params\":{\"sessionId\":\"p\",\"update\":{\"sessionUpdate\":\"subagent_update\",\"sessionId\":\"c\",\"state\":{\"state\":\"running\"}}}}}"
		echo "{\"t\":1,$down\"id\":3,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"c\",\"prompt\":[]}}}"
		echo "{\"t\":2,$up\"id\":3,\"result\":{\"stopReason\":\"end_turn\",\"usage\":{\"inputTokens\":$2,\"outputTokens\":20,\"totalTokens\":$(($2 + 20))}}}}"
	}
	hello new 80 >a.rec
	hello load 480 >b.rec
	run -0 acp-stat -f json a.rec b.rec
	assert_equal "$(jq -c 'select(.row == "turn") | .output_tokens' <<<"$output")" 20
}

@test "--max: a line for what is exceeded, and status 1" {
	session_rec >s.rec
	run -0 --separate-stderr acp-stat -f tsv s.rec
	local report=$output
	run -0 --separate-stderr acp-stat -f tsv --max turn.p95=20s --max tool.read.max=13s --max open=2 --max method.session/prompt.failed=1 \
		--max first_text.p50=2s s.rec
	assert_equal "$output" "$report"
	assert_equal "$stderr" ''
	run -1 --separate-stderr acp-stat -f tsv --max turn.p95=19s --max tool.edit.max=3999ms --max open=1 --max turn.failed=1 --max tool.p50=20s \
		--max method.session/prompt.failed=0 s.rec
	assert_equal "$output" "$report"
	assert_equal "$stderr" $'acp-stat: turn.p95: 20.0 s, more than 19.0 s\nacp-stat: tool.edit.max: 4 s, more than 3.999 s
acp-stat: open: 2, more than 1\nacp-stat: method.session/prompt.failed: 1, more than 0'
	acp-stat -f json s.rec >s.json
	run -1 --separate-stderr acp-stat --merge --max turn.max=19s s.json
	assert_equal "$stderr" 'acp-stat: turn.max: 20.0 s, more than 19.0 s'
}

@test "--max: what is exceeded by little differs from the limit in the line that says so" {
	session_rec >s.rec
	for i in {1..1001}; do
		echo '{"t":50,"from":"client","msg":{"jsonrpc":"2.0","id":"'"$i"'","method":"m"}}'
	done >>s.rec
	run -1 --separate-stderr acp-stat -f tsv --max tool.edit.max=3999ms --max turn.max=19990ms --max method.m.open=1000 s.rec
	assert_equal "$stderr" 'acp-stat: tool.edit.max: 4 s, more than 3.999 s
acp-stat: turn.max: 20 s, more than 19.99 s
acp-stat: method.m.open: 1001, more than 1000'
}

@test "--max over nothing is status 2, and what is exceeded is status 1 all the same" {
	session_rec >s.rec
	run -2 --separate-stderr acp-stat --max tool.fetch.p50=1s s.rec
	assert_equal "$stderr" 'acp-stat: tool.fetch.p50: not checked: there was none'
	run -1 --separate-stderr acp-stat --max open=0 --max tool.fetch.failed=0 --max method._none.max=1s s.rec
	jq -c .msg s.rec | grep -v null >plain
	run -2 --separate-stderr acp-stat --max turn.p50=1s plain
	[[ $stderr == *'turn.p50: not checked: there was none' ]]
	run -0 acp-stat --max open=9 plain
}

@test "--max: -f junit and -f github are its report" {
	session_rec >s.rec
	run -1 --separate-stderr acp-stat -f github --max turn.p95=19s --max open=9 --max 'tool.a:b.max=1s' s.rec
	assert_output $'::error title=turn.p95::20.0 s, more than 19.0 s\n::error title=tool.a%3Ab.max::not checked: there was none'
	assert_equal "$stderr" ''
	run -1 acp-stat -f junit -o out.xml --max turn.p95=19s --max open=9 --max 'tool.<&.max=1s' s.rec
	assert_output ''
	python3 - out.xml <<-'PYTHON'
		import sys, xml.etree.ElementTree as tree
		suite = tree.parse(sys.argv[1]).getroot().find('testsuite')
		assert (suite.get('tests'), suite.get('failures')) == ('3', '2'), suite.attrib
		cases = {c.get('name'): c.find('failure') for c in suite}
		assert cases['turn.p95'].get('type') == 'exceeded' and cases['turn.p95'].get('message') == '20.0 s, more than 19.0 s'
		assert cases['open'] is None and cases['tool.<&.max'].get('type') == 'unchecked'
	PYTHON
}

@test "--max in a stream: the status where the agent's is 0" {
	printf '#!/bin/sh\nread -r line; exit "$1"\n' >agent
	chmod +x agent
	echo '{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"S","prompt":[]}}' >prompt
	run -1 acp-stat --max method.open=0 -- ./agent 0 <prompt
	assert_line 'acp-stat: method.open: 1, more than 0'
	run -3 acp-stat --max method.open=0 -- ./agent 3 <prompt
	run -0 acp-stat --max method.open=1 -- ./agent 0 <prompt
}

@test "--max: what is wrong with it is said" {
	for what in turn.p95 =1s turn=1s p95=1s turn.p0=1s turn.p100=1s turn.x.p95=1s tool..max=1s x.max=1s silence.open=1 turn.p9x=1s; do
		run -2 acp-stat --max "$what" s.rec
		assert_output --partial "acp-stat: --max $what: expected "
	done
	run -2 acp-stat --max turn.p95=1h s.rec
	assert_output --partial 'expected a duration'
	run -2 acp-stat --max open=many s.rec
	assert_output --partial 'expected a number'
}

# --- what is open

# hanging: a recording that ends 60.5 s after a prompt, with a call that runs, and one that waits for a permission.
hanging() {
	cat <<-'END'
		{"acp-recording":1,"started":"2026-11-20T12:00:00.000000Z"}
		{"t":1,"from":"client","msg":{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}}
		{"t":1.1,"from":"agent","msg":{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}}
		{"t":2,"from":"client","msg":{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}}
		{"t":2.1,"from":"agent","msg":{"jsonrpc":"2.0","id":2,"result":{"sessionId":"one"}}}
		{"t":200,"from":"client","msg":{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"one","prompt":[]}}}
		{"t":201,"from":"agent","msg":{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"one","update":{"sessionUpdate":"tool_call","toolCallId":"c1","title":"Read it","kind":"read"}}}}
		{"t":202,"from":"agent","msg":{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"one","update":{"sessionUpdate":"tool_call","toolCallId":"c2","title":"Run the tests","kind":"execute"}}}}
		{"t":203,"from":"agent","msg":{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"one","toolCall":{"toolCallId":"c2"},"options":[]}}}
		{"t":260.5,"event":"eof","from":"client"}
	END
}

@test "--open: who waits for whom, since when, and how long until the recording ended" {
	hanging >s.rec
	TZ=UTC run -0 acp-stat --open s.rec
	assert_output - <<-'END'
		since 12:03:20     1m00s  client waits for agent: session/prompt, id 3, session one
		since 12:03:23    57.5 s  agent waits for client: session/request_permission, id 0, session one: Run the tests
		since 12:03:21    59.5 s  agent waits for tool: read, id "c1", session one: Read it
	END
	run -0 acp-stat --open -f tsv s.rec
	assert_line --index 0 $'file\twaits\tfor\twhat\tid\tsession\ttitle\tsince_s\topen_s'
	assert_line --index 2 $'s.rec\tagent\tclient\tsession/request_permission\t0\tone\tRun the tests\t203.000000\t57.500000'
	run -0 acp-stat --open -f json s.rec
	run -0 jq -r '[.waits, .for, .what, .id, .session, .t_us, .open_us, .file] | join(" ")' <<<"$output"
	assert_line --index 0 'client agent session/prompt 3 one 200000000 60500000 s.rec'
}

@test "--open: what has its response, or has ended, is not open" {
	run -0 acp-stat --open "$FIXTURES/demo.rec"
	assert_output 'nothing is open'
	run -0 acp-stat --open -f json "$FIXTURES/demo.rec"
	assert_output ''
	hanging >s.rec
	run -0 acp-stat --open "$FIXTURES/demo.rec" s.rec
	assert_line --index 0 'nothing is open'
	assert_line --index 1 --regexp '^s\.rec: since .* session/prompt, id 3'
}

@test "--open: messages without times have no duration" {
	printf '%s\n' '{"id":1,"method":"session/prompt","params":{"sessionId":"one"}}' >in
	run -0 --separate-stderr acp-stat --open in
	assert_output 'since -                -  client waits for agent: session/prompt, id 1, session one'
	run -0 --separate-stderr acp-stat --open -f tsv in
	assert_line --index 1 $'in\tclient\tagent\tsession/prompt\t1\tone\t\t\t'
}

@test "a recording of an MCP server: its tools are rows, a result with isError is a failure, and a call without an end takes time" {
	cat >s.rec <<-'END'
		{"acp-recording":1,"command":["server"]}
		{"t":0,"from":"client","msg":{"id":1,"method":"tools/call","params":{"name":"read","arguments":{}}}}
		{"t":1,"from":"client","msg":{"id":2,"method":"tools/call","params":{"name":"read","arguments":{}}}}
		{"t":3,"from":"agent","msg":{"id":1,"result":{"content":[]}}}
		{"t":4,"from":"agent","msg":{"id":2,"result":{"content":[],"isError":true}}}
		{"t":5,"from":"client","msg":{"id":3,"method":"tools/call","params":{"name":"write"}}}
		{"t":6,"from":"agent","msg":{"id":3,"error":{"code":-1,"message":""}}}
		{"t":7,"from":"client","msg":{"id":4,"method":"tools/call","params":{"name":"write"}}}
		{"t":8,"from":"client","msg":{"id":5,"method":"tools/call","params":{}}}
		{"t":8,"from":"agent","msg":{"id":5,"result":{}}}
	END
	acp-stat -f json s.rec >report
	assert_equal "$(jq -c 'select(.row == "tool") | [.name, .count, .failed, .open, .busy_us]' report)" '["read",2,1,0,4000000]
["write",2,1,1,2000000]'
	assert_equal "$(jq -c 'select(.row == "method") | [.name, .count, .failed, .open]' report)" '["tools/call",5,1,1]'
	assert_equal "$(acp-stat --by tool -f tsv s.rec | awk -F '\t' '$1 == "tool" { print $3, $4 }' | sort -u)" "$(printf '%s\n' 'read 2' 'write 2')"
	run -1 acp-stat --max tool.read.max=2s s.rec
	# A tool's call in ACP is none of these.
	run acp-stat --by tool -f json "$FIXTURES/demo.rec"
	assert_equal "$(jq -r 'select(.row).name' <<<"$output")" edit
}

@test "README: the recipe for an editor that hangs says who waits, for an agent that never responds" {
	export XDG_STATE_HOME=$PWD/state
	printf '%s\n' '{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}' |
		acp-tap -o auto -- sh -c 'cat >&2' 2>err
	sed -n '/^\*\*Find out why an editor hangs/,/^\*\*Watch/s/^    //p' "$TOP/README.md" >recipe
	run bash recipe
	assert_line --regexp 'client waits for agent: session/prompt, id 7, session s$'
	assert_line --partial 'abandoned: '
}

@test "a turn without an end has no total: - for people, empty for programs" {
	hanging >s.rec
	run -0 acp-stat --by turn s.rec
	assert_line --index 1 --regexp '^one +1 +- +1\.0 s +- +- +- +- +- +- !$'
	run -0 acp-stat --by turn -f tsv s.rec
	assert_line --index 1 $'one\t1\topen\t\t\t1.000000\t\t\t\t\t\t0\t'
	run -0 acp-stat --by turn -f json s.rec
	assert_output '{"session":"one","turn":1,"result":"open","first_update_us":1000000,"chunks":0}'
}

@test "--session: only what names this session, or one of its sub-agents; where none is that one the status is 2" {
	local s
	for s in one two; do
		printf '{"t":%s,"from":"%s","msg":{"jsonrpc":"2.0",%s}}\n' 1 client '"id":"'$s'","method":"session/prompt","params":{"sessionId":"'$s'-id","prompt":[]}' \
		    2 agent '"method":"session/update","params":{"sessionId":"'$s'-id","update":{"sessionUpdate":"subagent_update","sessionId":"'$s'-child","state":{"state":"running"}}}' \
		    3 agent '"method":"session/update","params":{"sessionId":"'$s'-child","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","kind":"'$s'","status":"pending"}}' \
		    4 agent '"method":"session/update","params":{"sessionId":"'$s'-child","update":{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"completed"}}'
	done >s.rec
	printf '{"t":5,"from":"agent","msg":{"jsonrpc":"2.0",%s}}\n' '"id":"one","result":{"stopReason":"end_turn"}' >>s.rec
	run -0 jq -r '"\(.row) \(.name) \(.count)"' <(acp-stat --session one-id -f json s.rec | grep name)
	assert_output "$(printf '%s\n' 'method session/prompt 1' 'method session/update 3' 'turn  1' 'tool one 1')"
	run -0 acp-stat --session two-id --by turn -f tsv s.rec
	assert_equal "${#lines[@]}" 2
	assert_line --partial $'two-id\t1\topen'
	run -0 acp-stat --session two-id --open s.rec
	assert_output --partial 'id "two"'
	refute_output --partial '"one"'
	run -2 acp-stat --session three s.rec
	assert_output --partial 'acp-stat: --session three: no session has this id'
	run -2 acp-stat --session one --merge s.rec
	assert_output 'acp-stat: --session does not go with --merge'
}
