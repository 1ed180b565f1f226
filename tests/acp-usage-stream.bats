#!/usr/bin/env bats
# acp-usage in a stream: it passes, it tells, it fills in.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load usage
	lib_setup
}

teardown() {
	end_left_over
}

# An agent that answers each prompt as the arguments say: result members, then lines to send before the answer.
agent() {
	cat >agent <<-'END'
		#!/bin/bash
		while IFS= read -r line; do
			id=${line#*'"id":'} id=${id%%[,\}]*}
			if [[ $line == *'"initialize"'* ]]; then
				printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1,"agentCapabilities":{}}}\n' "$id"
				continue
			fi
			session=${line#*'"sessionId":"'} session=${session%%'"'*}
			for before in "${@:2}"; do
				printf '%s\n' "${before//SESSION/$session}"
			done
			printf '{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"%s}}\n' "$id" "${1:+,$1}"
		done
	END
	chmod +x agent
}

# talk OPTION... -- AGENT-ARGUMENT...: prompts (PROMPTS, 2), one after the other's answer; what the client gets.
talk() {
	local options=()
	while [[ $1 != -- ]]; do options+=("$1"); shift; done
	shift
	converse acp-usage "${options[@]}" -o rows -- ./agent "$@"
}

# converse COMMAND...: the same with any chain that ends in an agent.
converse() {
	local line id
	coproc CHAIN { "$@" 2>said; }
	local pid=$CHAIN_PID
	exec 8<&"${CHAIN[0]}" 9>&"${CHAIN[1]}"
	eval "exec ${CHAIN[0]}<&- ${CHAIN[1]}>&-"
	if [[ ${HELLO-} ]]; then
		printf '%s\n' "$HELLO" >&9
		IFS= read -r line <&8
		printf '%s\n' "$line"
	fi
	for ((id = 1; id <= ${PROMPTS:-2}; id++)); do
		prompt $id s >&9
		while IFS= read -r line <&8; do
			printf '%s\n' "$line"
			[[ $line != *'"result"'* ]] || break
		done
	done
	exec 9>&-
	cat <&8
	exec 8<&-
	wait "$pid"
}

usage_answer='"usage":{"totalTokens":7,"inputTokens":6,"outputTokens":1}'

@test "around an agent all passes byte for byte, and rows are written" {
	agent
	odd='{ "jsonrpc" : "2.0","method":"session/update" ,"params":{"sessionId":"SESSION","update":{"sessionUpdate":"usage_update","used":5.3e4,"size":200000}}}'
	run talk -f tsv -- "$usage_answer" "$odd"
	assert_success
	assert_line --index 0 "${odd//SESSION/s}"
	assert_line --index 1 "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"stopReason\":\"end_turn\",$usage_answer}}"
	run cut -f 5,6,14 rows
	assert_output $'event\tused\ttotal\nupdate\t53000\t\nturn\t53000\t7\nturn\t53000\t7'
}

# bats test_tags=slow
@test "the rows are the same in every way, and all passes" {
	agent
	update='{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"usage_update","used":50,"size":100}}}'
	HELLO='{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'
	converse ./agent "$usage_answer" "$update" >direct
	[[ $(wc -l <direct) == 5 ]]
	printf 'event\tsession\tused\ttotal\nupdate\ts\t50\t\nturn\ts\t50\t7\nturn\ts\t50\t7\n' >expected
	for way in '' 'sockpair' 'link' 'link -s' 'sockpair link'; do
		# shellcheck disable=SC2086
		converse $way acp-usage -f tsv -o rows -- ./agent "$usage_answer" "$update" | cmp - direct
		diff <(awk -F '\t' -v OFS='\t' '{ print $5, $4, $6, $14 }' rows) expected
	done
	for as in -f -p; do
		# A tool that also reads recordings does not know a conductor's first message there.
		if [[ $as == -p ]] && portable; then way='--way proxy'; else way=''; fi
		converse acp-conduct --no-mcp $as "acp-usage $way -f tsv -o rows" -- ./agent "$usage_answer" "$update" >got
		# A proxy that is started by us answers initialize as the agent did, where nothing bridges.
		cmp got direct
		diff <(awk -F '\t' -v OFS='\t' '{ print $5, $4, $6, $14 }' rows) expected
	done
	acp-usage --pass -f tsv -o rows <direct | cmp - direct
	diff <(awk -F '\t' -v OFS='\t' '{ print $5, $4, $6, $14 }' rows) expected
}

@test "an envelope in a stream is opened for reading, and passes as it is" {
	inner='{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"usage_update","used":5,"size":10}}}'
	for name in proxy/successor _proxy/successor; do
		{
			echo "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"$name\",\"params\":{\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"s\",\"prompt\":[]}}}"
			echo "{\"jsonrpc\":\"2.0\",\"method\":\"$name\",\"params\":$inner}"
			answer 7 "$usage_answer"
		} >lines
		run --separate-stderr acp-usage --pass -f tsv -o rows <lines
		assert_output "$(<lines)"
		run cut -f 4,5,6,14 rows
		assert_output $'session\tevent\tused\ttotal\ns\tupdate\t5\t\ns\tturn\t5\t7'
	done
}

@test "--pass forwards standard input, and reports on stderr" {
	run --separate-stderr acp-usage --pass -f tsv <"$USAGE/levels.rec"
	assert_output "$(<"$USAGE/levels.rec")"
	update s '"used":1,"size":10' >one
	run --separate-stderr acp-usage --pass -f tsv <one
	assert_output "$(<one)"
	assert_regex "$stderr" $'s\tupdate\t1\t10'
}

# bats test_tags=slow
@test "in a live stream a turn is reported after a short quiet" {
	mkfifo in
	acp-usage --pass -f tsv -o rows <in >/dev/null &
	exec 9>in
	prompt 1 s >&9
	answer 1 "$usage_answer" >&9
	wait_for grep -q $'\tturn\t' rows
	exec 9>&-
	wait $!
	run grep -c $'\tturn\t' rows
	assert_output 1
}

# bats test_tags=slow
@test "the same of a recording on standard input" {
	mkfifo in
	acp-usage -f tsv <in >rows &
	exec 9>in
	prompt 1 s >&9
	answer 1 "$usage_answer" >&9
	wait_for grep -q $'\tturn\t' rows
	exec 9>&-
	wait $!
}

@test "as a proxy of a conductor" {
	hello='{"jsonrpc":"2.0","id":1,"method":"proxy/initialize","params":{"protocolVersion":1}}'
	! portable || way='--way proxy'
	run bash -c "echo '$hello' | acp-usage ${way-} -o rows"
	assert_output --partial '"method":"proxy/successor"'
	assert_output --partial '"initialize"'
}

@test "SIGUSR1 reopens the file, for logrotate" {
	mkfifo in
	acp-usage --pass -f tsv -o rows <in >/dev/null &
	pid=$!
	exec 9>in
	update s '"used":1,"size":10' >&9
	wait_for grep -q update rows
	mv rows old
	kill -USR1 $pid
	wait_for test -e rows
	update s '"used":2,"size":10' >&9
	wait_for grep -q update rows
	exec 9>&-
	wait $pid
}

@test "a limit that is reached shows in the exit status" {
	agent
	run talk --fail-at red -- "$usage_answer" '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"usage_update","used":99,"size":100}}}'
	assert_failure 1
	run cat said
	assert_line 'acp-usage: s: 99%, 1 tokens left: Next prompt may fail - handoff recommended'
	assert_line 'acp-usage: s: --fail-at red is reached: 99%'
}

# bats test_tags=slow
@test "metrics are written while the stream goes on" {
	mkfifo in
	acp-usage --pass -f prom -o metrics <in >/dev/null &
	exec 9>in
	update s '"used":1,"size":10' >&9
	wait_for grep -q 'acp_context_used_tokens{session="s"} 1' metrics
	update s '"used":2,"size":10' >&9
	wait_for grep -q 'acp_context_used_tokens{session="s"} 2' metrics
	exec 9>&-
	wait $!
}

# --- filling in

qwen='{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""},"_meta":{"usage":{"inputTokens":100,"outputTokens":20,"totalTokens":120,"thoughtTokens":5,"cachedReadTokens":60}}}}}'

@test "--fill: the vendor's counts go into the standard place, and a usage_update after the response" {
	agent
	run talk --fill --size 200k -- '' "$qwen" "$qwen"
	assert_success
	assert_line --index 0 "${qwen//SESSION/s}"
	assert_line --index 2 '{"jsonrpc":"2.0","id":1,"result":{"usage":{"totalTokens":240,"inputTokens":200,"outputTokens":40,"thoughtTokens":10,"cachedReadTokens":120,"_meta":{"acputils":{"filled":true}}},"stopReason":"end_turn"}}'
	assert_line --index 3 '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"usage_update","used":120,"size":200000,"_meta":{"acputils":{"filled":true}}}}}'
}

@test "--fill: the response of a turn behind which another prompt of the session waits" {
	cat >queue <<-'END'
		#!/usr/bin/env -S jq -cn --unbuffered -f
		[inputs] | .[] | {method: "session/update", params: {sessionId: "s", update: {sessionUpdate: "agent_message_chunk",
			content: {type: "text", text: ""}, _meta: {usage: {totalTokens: (.id * 100 + 20), inputTokens: (.id * 100), outputTokens: 20}}}}},
			{id, result: {stopReason: "end_turn"}}
	END
	chmod +x queue
	{
		prompt 1 s
		prompt 2 s
		prompt 3 s
	} >in
	run -0 jq -c '[.id, .result.usage.totalTokens, .params.update.used]' <(acp-usage --fill --size 200k -- ./queue <in 2>/dev/null | grep filled)
	assert_output $'[1,120,null]\n[null,null,120]\n[2,220,null]\n[null,null,220]\n[3,320,null]\n[null,null,320]'
}

# bats test_tags=slow
@test "--fill: quota's counts" {
	agent
	run talk --fill -- '"_meta":{"quota":{"token_count":{"input_tokens":100,"output_tokens":20},"model_usage":[]}}'
	assert_line --index 0 --partial '"usage":{"totalTokens":120,"inputTokens":100,"outputTokens":20,"_meta":{"acputils":{"filled":true}}}'
}

@test "--fill: the size by model, or by the price list" {
	agent
	named=${qwen/'"_meta":{'/'"_meta":{"model":"m","'}
	named=${named/'"usage"'/'usage"'}
	run talk --fill --size 5k --size m=7k -- '' "$named"
	assert_output --partial '"used":120,"size":7000,'
	echo '{"m":{"input_cost_per_token":1,"output_cost_per_token":1,"max_input_tokens":9000}}' >prices
	run talk --fill --prices prices -- '' "$named"
	assert_output --partial '"used":120,"size":9000,'
}

# bats test_tags=slow
@test "--fill: where the size is not known nothing is invented, and one line says so" {
	agent
	run talk --fill -- '' "$qwen"
	refute_output --partial usage_update
	run grep -c 'size is not known' said
	assert_output 1
}

# One call of 120 tokens a turn; counts and context are sums over the session's life.
lifetime_agent() {
	cat >agent <<-'END'
		#!/bin/bash
		while IFS= read -r line; do
			((n += 120))
			printf '%s\n' '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""},"_meta":{"usage":{"inputTokens":100,"outputTokens":20,"totalTokens":120}}}}}'
			printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"usage_update", "used" : %s ,"size":1000}}}\n' $n
			printf '{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn","usage":{"totalTokens":%s,"inputTokens":%s,"outputTokens":%s}}}\n' \
			    "$(jq .id <<<"$line")" $n $((n / 6 * 5)) $((n / 6))
		done
	END
	chmod +x agent
}

# bats test_tags=slow
@test "--fill: used that is the sum of a session's life is replaced by the context, once it is known for what it is" {
	lifetime_agent
	PROMPTS=5
	run talk --fill -- lifetime
	assert_success
	# Three turns pass as they are: fewer may be a coincidence.
	assert_line --index 1 '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"usage_update", "used" : 120 ,"size":1000}}}'
	assert_line --index 4 '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"usage_update", "used" : 240 ,"size":1000}}}'
	filled='{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"_meta":{"acputils":{"filled":true}},"sessionUpdate":"usage_update", "used" : 120 ,"size":1000}}}'
	assert_line --index 10 "$filled"
	assert_line --index 13 "$filled"
	# All else is as it was, the responses' running totals among it.
	assert_line --index 11 --partial '"usage":{"totalTokens":480,"inputTokens":400,"outputTokens":80}}'
	run cat said
	assert_line --partial "used is the sum of all turns' tokens so far: billed tokens reported as context"
}

# bats test_tags=slow
@test "--fill: an agent that sends its own is left alone" {
	agent
	own='{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"SESSION","update":{"sessionUpdate":"usage_update","used":5,"size":100}}}'
	run talk --fill --size 200k -- "$usage_answer" "$own" "$qwen"
	refute_output --partial acputils
}

@test "--fill needs both directions" {
	run acp-usage --fill --way pipe </dev/null
	assert_failure 2
}

# --- the meter

meter_shows() {
	tmux -S "$BATS_TEST_TMPDIR/tmux" capture-pane -p -t meter | grep -qF "$1"
}

# bats test_tags=slow
@test "--meter draws one line in place, and follows the terminal's size" {
	mkfifo in
	tmux -S "$BATS_TEST_TMPDIR/tmux" -f /dev/null new-session -d -x 120 -y 10 -s meter \
	    "LC_ALL=C.UTF-8 acp-usage --pass --meter -o rows <in >/dev/null; echo ended; cat"
	exec 9>in
	update s '"used":31400,"size":200000,"cost":{"amount":0.11358000000000001,"currency":"USD"}' >&9
	wait_for meter_shows '15%  31.4K/200K tokens  169K left  0.1136 USD  turn 0'
	prompt 1 s >&9
	update s '"used":62800,"size":200000' >&9
	wait_for meter_shows '31%  62.8K/200K tokens  137K left  0.1136 USD  turn 1'
	answer 1 >&9
	wait_for grep -q 'turn end_turn' rows
	wait_for meter_shows '31%  62.8K/200K tokens  137K left  0.1136 USD  turn 1'
	run tmux -S "$BATS_TEST_TMPDIR/tmux" capture-pane -p -t meter
	assert_equal "$(grep -c tokens <<<"$output")" 1
	tmux -S "$BATS_TEST_TMPDIR/tmux" resize-window -t meter -x 50
	wait_for meter_narrow
	exec 9>&-
	wait_for meter_shows ended
	tmux -S "$BATS_TEST_TMPDIR/tmux" kill-server
}

meter_narrow() {
	meter_shows '31%  62.8K/200K tokens' && ! meter_shows '137K left'
}

# terminal: what is on it, without empty lines.
terminal() {
	tmux -S "$BATS_TEST_TMPDIR/tmux" capture-pane -p -t meter | sed 's/ *$//; /^$/d'
}

@test "--meter has its last line for itself, where the log goes to the same terminal; before the first usage it says so" {
	mkfifo in
	tmux -S "$BATS_TEST_TMPDIR/tmux" -f /dev/null new-session -d -x 120 -y 20 -s meter \
	    "LC_ALL=C acp-usage --meter -- cat in >/dev/null; echo ended; cat"
	exec 9>in
	wait_for meter_shows '[....................]  no usage yet'
	update s '"used":30000,"size":200000' >&9
	wait_for meter_shows '15%  30.0K/200K tokens  170K left  turn 0'
	update s '"used":60000,"size":200000' >&9
	update s '"used":80000,"size":200000' >&9
	wait_for meter_shows '40%  80.0K/200K tokens  120K left'
	exec 9>&-
	wait_for meter_shows ended
	run terminal
	assert_line --index 0 --partial "waiting for the client's messages"
	for i in 1 2 3; do
		assert_line --index $i --regexp '^[0-9-]{10} [0-9:]{8} +s +[368]0.0K/200K +[0-9]+%  1[0-9]+K left +normal  update$'
	done
	assert_line --index 4 '[########............]  40%  80.0K/200K tokens  120K left  turn 0'
	assert_line --index 5 ended
	tmux -S "$BATS_TEST_TMPDIR/tmux" kill-server
}

@test "--meter --summary on one terminal: the table takes the line of the meter" {
	mkfifo in
	tmux -S "$BATS_TEST_TMPDIR/tmux" -f /dev/null new-session -d -x 120 -y 20 -s meter \
	    "LC_ALL=C acp-usage --pass --meter --summary <in >/dev/null; echo ended; cat"
	exec 9>in
	update s '"used":30000,"size":200000' >&9
	wait_for meter_shows '15%  30.0K/200K tokens'
	exec 9>&-
	wait_for meter_shows ended
	run terminal
	assert_line --index 0 --regexp '^session +date +turns'
	assert_line --index 3 ended
	tmux -S "$BATS_TEST_TMPDIR/tmux" kill-server
}

@test "--meter is silent where stderr is no terminal" {
	update s '"used":1,"size":10' >one
	run --separate-stderr acp-usage --pass --meter -o rows <one
	assert_equal "$stderr" ''
}
