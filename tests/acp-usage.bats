#!/usr/bin/env bats
# acp-usage: what is read, wherever agents say it and however they spell it.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load usage
	lib_setup
}

teardown() {
	end_left_over
}

# --- places and spellings

@test "every place and spelling is read: a session each" {
	acp-usage -f tsv "$USAGE/places.rec" | same_as usage/places.tsv
}

@test "escaped keys and any spelling of a number are read" {
	run turns "$USAGE/escapes.rec" used size total input output stop_reason
	assert_output '53000 200000 120 100 20 end_turn'
}

@test "the digits of an amount stay as they are on the wire" {
	run acp-usage -f csv "$USAGE/escapes.rec"
	assert_output --partial ',1.50,USD,'
	run acp-usage -f tsv "$USAGE/places.rec"
	assert_output --partial '0.11358000000000001'
}

@test "integers up to 2^64-1 are exact" {
	run acp-usage -f tsv "$USAGE/places.rec"
	assert_output --partial $'largest\tturn\t18446744073709551615\t18446744073709551615\t0\t100\tred'
}

@test "sums beyond 2^64 are exact" {
	{
		prompt 1 s
		answer 1 '"usage":{"totalTokens":18446744073709551615,"inputTokens":18446744073709551615,"outputTokens":0}'
		prompt 2 s
		answer 2 '"usage":{"totalTokens":18446744073709551615,"inputTokens":18446744073709551615,"outputTokens":0}'
	} >two
	run --separate-stderr acp-usage --summary -f json --basis turn two
	assert_line --index 1 --partial '"tokens":{"total":36893488147419103230,"input":36893488147419103230,"output":0}'
}

@test "an unknown size gives no percentage" {
	update s '"used":5,"size":null' >none
	update s '"used":6' >>none
	run updates none used size percent remaining level
	assert_output $'5 - - - -\n6 - - - -'
}

@test "a draft's percentage and remaining are checked against used and size" {
	update s '"used":50,"size":100,"percentage":50,"remaining":50' | sed s/usage_update/context_update/ >right
	update s '"used":50,"size":100,"percentage":50,"remaining":49' | sed s/usage_update/context_update/ >wrong
	run --separate-stderr acp-usage -f tsv right
	assert_equal "$stderr" ''
	run --separate-stderr acp-usage -f tsv wrong
	assert_equal "$stderr" 'acp-usage: s: remaining contradicts used and size'
}

@test "a turn that goes by at two hops, in an envelope too, counts once" {
	run turns "$USAGE/envelope.rec" session used total
	assert_output 'env 7 7'
}

@test "v2: the idle state ends a turn, and repeated it ends no other" {
	run turns "$USAGE/v2.rec" total stop_reason
	assert_output $'120 end_turn\n- -\n120 end_turn'
}

@test "v2: a cost of null clears it" {
	run updates "$USAGE/v2.rec" cost
	assert_output $'0.5\n-'
}

@test "v1: a cost of null, or none, leaves the last one" {
	{
		update s '"used":1,"size":10,"cost":{"amount":0.1,"currency":"USD"}'
		update s '"used":2,"size":10,"cost":null'
		update s '"used":3,"size":10'
	} >costs
	run updates costs cost
	assert_output $'0.1\n0.1\n0.1'
}

# --- what is read from

# bats test_tags=slow
@test "the five shapes of a file give the same" {
	jq -c '{jsonrpc: "2.0"} + .msg' <(tail -n +2 "$USAGE/late.rec") >late.ndjson
	jq -c '{t, from, line: (.msg | tojson)}' <(tail -n +2 "$USAGE/late.rec") >late.jsonl
	want=$(turns "$USAGE/late.rec" session used total cost turn_cost)
	run turns late.ndjson session used total cost turn_cost
	assert_output "$want"
	run turns late.jsonl session used total cost turn_cost
	assert_output "$want"
	run turns - session used total cost turn_cost <late.ndjson
	assert_output "$want"
	printf %s "$(<late.ndjson)" >torn
	run turns torn session used total cost turn_cost
	assert_output "$want"
}

@test "the Rust conductor's traces are read" {
	cat >a.jsons <<-'END'
		{"type":"request","ts":1.0,"protocol":"acp","from":"Client","to":"Agent","id":1,"method":"session/prompt","session":"s","params":{"sessionId":"s","prompt":[]}}
		{"type":"notification","ts":1.5,"protocol":"acp","from":"Agent","to":"Client","method":"session/update","session":"s","params":{"sessionId":"s","update":{"sessionUpdate":"usage_update","used":7,"size":10}}}
		{"type":"response","ts":2.0,"from":"Agent","to":"Client","id":1,"is_error":false,"payload":{"stopReason":"end_turn","usage":{"totalTokens":7,"inputTokens":6,"outputTokens":1}}}
	END
	run turns a.jsons session used total
	assert_output 's 7 7'
}

@test "several files are read in turn, each with its own ids" {
	prompt 1 a >one
	answer 1 '"usage":{"totalTokens":7,"inputTokens":6,"outputTokens":1}' >two
	run --separate-stderr acp-usage --summary -f json one two
	assert_line --index 0 --partial '"session":"a","turns":0'
}

@test "a file that cannot be read is an error, and the others are read" {
	update s '"used":1,"size":10' >there
	run acp-usage -f tsv not-there there
	assert_failure 2
	assert_line --partial 'not-there: No such file'
	assert_line --partial 's	update	1'
}

@test "what is not a record is reported, and the rest is read" {
	{
		echo '"usage": no JSON'
		update s '"used":1,"size":10'
	} >mixed
	run acp-usage -f tsv mixed
	assert_failure 2
	assert_line 'acp-usage: mixed:1: not a record at byte 8: text after the value'
	assert_line --partial 's	update	1'
}

# bats test_tags=slow
@test "the number of a bad line counts the lines that were passed over, blocks of them, too" {
	local -i line
	local -a expected=()
	RANDOM=${ACP_SEED:=$RANDOM}
	echo "ACP_SEED=$ACP_SEED"
	update s '"used":1,"size":10' >long
	for ((line = 2; line < 3000; line++)); do
		if ((RANDOM % 200)); then
			printf '%*s\n' "$((RANDOM % 120))" '{"jsonrpc":"2.0","method":"_other"}'
		else
			expected+=("acp-usage: long:$line: not a record at byte 1: expected a value")
			echo 'x "usage": no JSON'
		fi
	done >>long
	run -2 --separate-stderr acp-usage -f tsv long
	assert_equal "$stderr" "$(printf '%s\n' "${expected[@]}")"
}

# lines_in N FILE: has it so many?
lines_in() {
	[[ -e $2 && $(wc -l <"$2") -eq $1 ]]
}

# bats test_tags=slow
@test "-F goes on as the file grows, is replaced and is truncated" {
	update s '"used":1,"size":10' >grows
	acp-usage -F -f tsv -o rows grows 3>&- &
	pid=$!
	wait_for lines_in 2 rows
	update s '"used":2,"size":10' >>grows
	wait_for lines_in 3 rows
	update s '"used":3,"size":10' >other
	mv other grows
	wait_for lines_in 4 rows
	update s '"used":44,"size":100' >>grows
	wait_for lines_in 5 rows
	: >grows
	update s '"used":5,"size":10' >grows
	wait_for lines_in 6 rows
	kill -TERM $pid
	wait $pid
	run cut -f 6 rows
	assert_output $'used\n1\n2\n3\n44\n5'
}

# --- turns

@test "the last update of a turn may come after the response" {
	run turns "$USAGE/late.rec" used cost turn_cost total
	# What the session had cost before is not known.
	assert_output $'100 0.1 - 100\n101 0.3 0.2 101'
}

@test "a turn's row has the times of its prompt and its response" {
	run turns "$USAGE/late.rec" time asked t
	assert_output $'2026-11-20T15:56:03.000000Z 0.5 1\n2026-11-20T15:56:03.750000Z 1.5 1.75'
}

@test "overlapping turns of two agents each have their own basis" {
	run turns "$USAGE/two-agents.rec" session total basis
	assert_output $'one 11 turn\ntwo 121 call\none 33 turn'
}

@test "an error ends a turn" {
	{
		prompt 1 s
		echo '{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}'
	} >failed
	run turns failed session stop_reason total
	assert_output 's error -'
}

@test "in the agent's direction alone, responses belong to the only session" {
	{
		update s '"used":7,"size":10'
		answer 1 '"usage":{"totalTokens":7,"inputTokens":6,"outputTokens":1}'
	} >up
	run turns - session total <up
	assert_output 's 7'
}

# --- the basis

# bats test_tags=slow
@test "the sums are the same whatever the basis, where calls or rows make it clear" {
	for file in turn-calls call-calls session-calls turn-rows session-rows; do
		run -0 --separate-stderr acp-usage --summary -f json "$USAGE/basis-$file.rec"
		run jq -r 'select(.session) | [.basis, .tokens.total, .tokens.input, .tokens.output] | join(" ")' <<<"$output"
		assert_output "${file%-*} 1166 1110 56"
	done
}

@test "counts that equal the context, or grow, are a turn's: coincidence is no evidence" {
	run turns "$USAGE/basis-used.rec" total basis
	assert_output $'110 turn\n330 turn\n660 turn'
}

@test "the basis is known by the agent's name and version" {
	run turns "$USAGE/basis-named.rec" session total basis
	assert_line --index 0 'a 170 call'
	assert_line --index 3 'b 170 call'
	assert_line 'c 681 turn'
	assert_line 'd - session'
	assert_line 'd 681 session'
	assert_line 'e 681 turn'
}

@test "the basis is said with -v, once" {
	run --separate-stderr acp-usage -f tsv "$USAGE/basis-unknown.rec"
	assert_equal "$stderr" ''
	run --separate-stderr acp-usage -v -f tsv "$USAGE/basis-unknown.rec"
	assert_equal "$stderr" 'acp-usage: s: basis turn'
}

@test "--basis says it" {
	run --separate-stderr acp-usage --summary --basis session "$USAGE/basis-unknown.rec"
	# The first of them has the history of a session whose beginning was not seen.
	assert_line --index 1 --regexp '^s +[0-9-]+ +3 +>=220 +>=200 +>=20 '
	run --separate-stderr acp-usage --summary --basis call "$USAGE/basis-unknown.rec"
	assert_line --index 1 --regexp '^s +[0-9-]+ +3 +>=660 +>=600 +>=60 '
	run --separate-stderr acp-usage --summary --basis turn "$USAGE/basis-unknown.rec"
	assert_line --index 1 --regexp '^s +[0-9-]+ +3 +660 +600 +60 '
}

@test "what was billed has the sub-agents, and the turn's own counts have not" {
	run turns "$FIXTURES/four-turns-per-model-usage.jsonl" total billed
	assert_output $'29796 29796\n74127 106830\n41424 41424\n47238 91569'
}

@test "rows after session/load that hold the history are left out" {
	{
		echo '{"jsonrpc":"2.0","id":1,"method":"session/load","params":{"sessionId":"s"}}'
		prompt 2 s
		answer 2 '"usage":{"totalTokens":7,"inputTokens":6,"outputTokens":1},"_meta":{"quota":{"model_usage":[{"model":"m","token_count":{"totalTokens":7000,"inputTokens":6000,"outputTokens":1000}}]}}'
	} >loaded
	run turns loaded total billed
	assert_output '7 7'
	run --separate-stderr acp-usage loaded
	assert_regex "$stderr" "cover the session's history"
}

# --- what looks wrong

@test "malformed usage is reported once a session, counted, and stops nothing" {
	run --separate-stderr acp-usage --summary "$USAGE/malformed.rec"
	assert_equal "$stderr" 'acp-usage: bad: malformed usage: a count that is not an integer from 0 to 2^64-1'
	assert_line --index 1 --regexp '50%|5/10'
	assert_line --index 1 --partial 'malformed: 8'
}

@test "used that is greater than size" {
	update s '"used":11,"size":10' >over
	run --separate-stderr acp-usage over
	assert_equal "$stderr" 'acp-usage: s: used (11) is greater than size (10)'
}

@test "billed tokens reported as context, and a turn without usage" {
	run --separate-stderr acp-usage "$USAGE/lifetime.rec"
	assert_regex "$stderr" 'billed tokens reported as context'
	assert_regex "$stderr" 'a turn without any usage'
}

@test "a cost that falls starts again; one that is restored does not count twice" {
	run --separate-stderr acp-usage --summary -f json "$USAGE/costs.rec"
	assert_line --index 0 --partial '"cost":[{"amount":250,"currency":"JPY"},{"amount":0.4,"currency":"USD"}]'
	assert_line --index 0 --partial '"restarts":1'
	assert_regex "$stderr" 'the currency changes from USD to JPY'
}

@test "0.1 and 0.2 are 0.3" {
	update a '"used":1,"size":10,"cost":{"amount":0.1,"currency":"USD"}' >two
	update b '"used":1,"size":10,"cost":{"amount":0.2,"currency":"USD"}' >>two
	run acp-usage --summary -f json two
	assert_line --index 2 --partial '"cost":[{"amount":0.3,"currency":"USD"}]'
}
