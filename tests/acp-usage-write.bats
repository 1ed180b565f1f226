#!/usr/bin/env bats
# acp-usage: what is written: rows, tables, metrics, estimates, and what is added up.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load usage
	lib_setup
}

teardown() {
	end_left_over
}

four='four-turns-per-model-usage.jsonl'

# --- rows

@test "log: a line for each change, for people" {
	acp-usage "$FIXTURES/$four" 2>/dev/null | same_as usage/four.log
}

@test "tsv, csv and json: the same rows" {
	acp-usage -f tsv "$FIXTURES/$four" 2>/dev/null | same_as usage/four.tsv
	acp-usage -f csv "$FIXTURES/$four" 2>/dev/null | same_as usage/four.csv
	acp-usage -f json "$FIXTURES/$four" 2>/dev/null | same_as usage/four.json
	diff <(tr '\t' ',' <"$USAGE/four.tsv") <(tr -d '\r' <"$USAGE/four.csv")
}

@test "csv quotes what RFC 4180 says, and tsv escapes what would end a column" {
	update 'a,\"b\"\tc' '"used":1,"size":10' >odd
	run acp-usage -f csv odd
	assert_line --index 1 --partial ',"a,""b""	c",update,1,10,'
	run acp-usage -f tsv odd
	assert_line --index 1 --partial $'\ta,"b"\\tc\tupdate\t1\t10\t'
}

@test "repeats of the same values are left out, but with --all" {
	for _ in 1 2 3; do update s '"used":1,"size":10'; done >same
	run updates same used
	assert_output 1
	run -0 acp-usage --all -f tsv same
	assert_equal "${#lines[@]}" 4
	# Sums have no updates.
	run -2 acp-usage --all --summary same
	assert_output 'acp-usage: --all does not go with --summary'
}

@test "the log shortens a session as far as no other begins alike" {
	{
		update 12345678-aaaa '"used":1,"size":10'
		update 12345678-abbb '"used":1,"size":10'
		update 87654321-aaaa '"used":1,"size":10'
	} >three
	run acp-usage three
	assert_line --index 1 --partial '12345678-ab '
	assert_line --index 2 --partial '87654321 '
}

@test "no control character of a peer gets to a terminal" {
	update 'a\u001b[2Kb' '"used":1,"size":10' >escape
	run acp-usage escape
	assert_output --partial 'a^[[2Kb'
}

@test "--session: only this one" {
	run -0 --separate-stderr acp-usage --session gemini -f json "$USAGE/places.rec"
	assert_equal "${#lines[@]}" 1
	run --separate-stderr acp-usage --session gemini --summary -f json "$USAGE/places.rec"
	assert_line --index 1 --partial '"sessions":1,"turns":1'
}

@test "--session with a sub-agent: its figures are not its parent's, in tables, metrics and limits" {
	{
		prompt 1 root
		echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"root","update":{"sessionUpdate":"subagent_update","sessionId":"kid","state":"running"}}}'
		prompt 2 kid
		update kid '"used":7,"size":100,"cost":{"amount":0.25,"currency":"USD"}'
		answer 2 '"usage":{"totalTokens":250,"inputTokens":200,"outputTokens":50}'
		update root '"used":50,"size":100,"cost":{"amount":0.5,"currency":"USD"}'
		answer 1 '"usage":{"totalTokens":1100,"inputTokens":1000,"outputTokens":100}'
	} >family
	# The second agent includes the costs of children in those of their parent.
	{
		echo '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'
		echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"@agentclientprotocol/claude-agent-acp","version":"0.61.0"}}}'
		cat family
	} >covered
	for file in family covered; do
		for by in session model agent project; do
			acp-usage --session kid --by $by -f json $file | jq -c '[.turns, .billed.total, .cost[].amount]' >rows
			assert_equal "$(<rows)" $'[1,250,0.25]\n[1,250,0.25]'
		done
		run -0 acp-usage --session kid -f prom $file
		assert_line 'acp_session_cost{session="kid",currency="USD"} 0.25'
		assert_line 'acp_turn_tokens_total{type="output",model=""} 50'
		assert_line 'acp_turns_total{stop_reason="end_turn"} 1'
		run -0 acp-usage --session kid --max-tokens 251 --max-cost 0.26USD $file
		run -1 --separate-stderr acp-usage --session kid --max-tokens 250 $file
		assert_equal "$stderr" 'acp-usage: kid: --max-tokens 250 is reached'
	done
	run -1 --separate-stderr acp-usage --max-tokens 1350 family
	assert_equal "$stderr" 'acp-usage: root: --max-tokens 1350 is reached'
}

@test "-o writes a file with mode 600, and -a appends" {
	acp-usage -o rows -f tsv "$USAGE/one-turn.rec"
	acp-usage -a -o rows -f tsv "$USAGE/one-turn.rec"
	run stat -c %a rows
	assert_output 600
	run grep -c one-turn rows
	assert_output 4
}

@test "a full disk is an error, and said" {
	run acp-usage -f tsv "$USAGE/one-turn.rec" >/dev/full
	run bash -c 'acp-usage -f tsv "$0" >/dev/full' "$USAGE/one-turn.rec"
	assert_failure 125
	assert_output --partial 'No space left on device'
}

# --- the summary

@test "--summary: a row for each session, and totals" {
	acp-usage --summary "$FIXTURES"/*.jsonl 2>/dev/null | same_as usage/fixtures.summary
}

@test "--summary: titles in wide characters leave the columns in line" {
	export LC_ALL=C.UTF-8
	for title in '修复登录页面的错误' 'Fix the login page' '修复登录页面的错误, and what it brings with it' 'e\u0301tat'; do
		echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"'$((++i))'","update":{"sessionUpdate":"session_info_update","title":"'"$title"'"}}}'
		prompt 1 "$i"
		answer 1 '"usage":{"totalTokens":7,"inputTokens":6,"outputTokens":1}'
	done >wide
	acp-usage --summary wide >out
	# Where each line has its number of turns, in columns.
	run -0 python3 -c '
import sys, unicodedata
width = lambda c: 0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
for line in open("out", encoding="utf-8").read().splitlines()[1:5]:
    print(sum(map(width, line[:line.index(" 7 ")])))'
	assert_equal "$(sort -u <<<"$output" | wc -l)" 1
}

@test "--by model: sub-agents included" {
	acp-usage --by model "$FIXTURES/$four" 2>/dev/null | same_as usage/four.models
}

# The fixtures' totals, from the messages alone: $1 says what of them.
worked_out() {
	jq -sr 'map(.line | fromjson? // empty) | '"$1" "$2"
}

# bats test_tags=slow
@test "the fixtures' totals are those that jq works out" {
	for file in "$FIXTURES"/*.jsonl; do
		acp-usage --summary -f json "$file" 2>/dev/null | tail -n 1 >total
		for type in total:totalTokens input:inputTokens output:outputTokens cache_read:cachedReadTokens cache_write:cachedWriteTokens; do
			run jq ".tokens.${type%:*}" total
			assert_output "$(worked_out "map(.result.usage?.${type#*:} // 0) | add" "$file")"
		done
		run jq .turns total
		assert_output "$(worked_out 'map(select(.result.stopReason?)) | length' "$file")"
		run jq .billed.total total
		assert_output "$(worked_out 'map(.result | objects | if ._meta.quota then ._meta.quota.model_usage[].token_count.totalTokens
		    else .usage.totalTokens // 0 end) | add' "$file")"
		# The last cost of each session; none of them fell. In millionths: jq's numbers are binary.
		run jq '[.cost[].amount * 1000000 | round] | add' total
		assert_output "$(worked_out 'map(select(.params.update.cost?) | {(.params.sessionId): .params.update.cost.amount})
		    | add | map(. * 1000000 | round) | add' "$file")"
	done
}

# bats test_tags=slow
@test "the totals by model are those that jq works out" {
	acp-usage --by model -f json "$FIXTURES/$four" 2>/dev/null >models
	for model in claude-opus-5-5 claude-haiku-5-5; do
		run jq "select(.model == \"$model\") | .tokens.total" models
		assert_output "$(worked_out "map(.result | objects | ._meta.quota.model_usage[]? | select(.model == \"$model\").token_count.totalTokens) | add" "$FIXTURES/$four")"
	done
}

@test "costs of different currencies are never added" {
	run --separate-stderr acp-usage --summary "$USAGE/costs.rec"
	assert_line --index 2 --regexp '250 JPY \+ 0.4000 USD|0.4000 USD \+ 250 JPY'
}

# bats test_tags=slow
@test "sums of many costs are exact" {
	for i in $(seq 1 1000); do
		update "s$i" "\"used\":1,\"size\":10,\"cost\":{\"amount\":0.1,\"currency\":\"USD\"}"
	done >many
	run bash -c 'acp-usage --summary -f json many | tail -n 1 | jq -c .cost'
	assert_output '[{"amount":100,"currency":"USD"}]'
}

# --- prices

prices() {
	cat >prices.json <<-'END'
		{"sample_spec": {"input_cost_per_token": "text"},
		 "m": {"input_cost_per_token": 3e-06, "output_cost_per_token": 1.5e-05, "max_input_tokens": 200000,
		       "cache_read_input_token_cost": 3e-07, "cache_creation_input_token_cost": 3.75e-06},
		 "house/other": {"input_cost_per_token": 1, "output_cost_per_token": 10}}
	END
}

# model_answer ID COUNTS [MODEL]
model_answer() {
	answer "$1" "\"_meta\":{\"quota\":{\"model_usage\":[{\"model\":\"${3:-m}\",\"token_count\":{$2}}]}}"
}

estimate() {
	acp-usage --summary -f json --prices prices.json "$1" 2>/dev/null | tail -n 1 | jq -c .estimate
}

@test "--prices: an exact estimate, where cached tokens lie beside the input" {
	prices
	prompt 1 s >beside
	model_answer 1 '"totalTokens":1111,"inputTokens":100,"outputTokens":11,"cachedInputTokens":900,"cachedWriteTokens":100' >>beside
	# 100 * 3 + 11 * 15 + 900 * 0.3 + 100 * 3.75, in millionths
	run estimate beside
	assert_output 0.00111
}

@test "--prices: where they lie inside it" {
	prices
	prompt 1 s >inside
	model_answer 1 '"totalTokens":1011,"inputTokens":1000,"outputTokens":11,"cachedInputTokens":900' >>inside
	# 100 * 3 + 11 * 15 + 900 * 0.3
	run estimate inside
	assert_output 0.000735
}

@test "--prices: thoughts beside the output, and inside it" {
	prices
	prompt 1 s >thoughts
	model_answer 1 '"totalTokens":116,"inputTokens":100,"outputTokens":11,"reasoningOutputTokens":5' >>thoughts
	run estimate thoughts
	assert_output 0.00054
	prompt 1 s >thoughts
	model_answer 1 '"totalTokens":111,"inputTokens":100,"outputTokens":11,"reasoningOutputTokens":5' >>thoughts
	run estimate thoughts
	assert_output 0.000465
}

@test "--prices: the estimate is marked, and never added to reported costs" {
	prices
	{
		prompt 1 s
		update s '"used":1,"size":10,"cost":{"amount":0.5,"currency":"USD"}'
		model_answer 1 '"totalTokens":11,"inputTokens":10,"outputTokens":1' other
	} >both
	run --separate-stderr acp-usage --summary --prices prices.json both
	assert_line --index 1 --regexp ' 0.5000 USD +~20.00 USD$'
}

@test "--prices: a model that the list lacks is named once" {
	prices
	{
		prompt 1 s
		model_answer 1 '"totalTokens":11,"inputTokens":10,"outputTokens":1' unheard
		prompt 2 s
		model_answer 2 '"totalTokens":11,"inputTokens":10,"outputTokens":1' unheard
	} >lacks
	run --separate-stderr acp-usage --summary --prices prices.json lacks
	assert_equal "$stderr" 'acp-usage: the price list lacks the model unheard'
}

@test "--prices: a model whose estimate is too large is named once" {
	echo '{"m": {"input_cost_per_token": 1000, "output_cost_per_token": 1}}' >prices.json
	{
		prompt 1 s
		model_answer 1 '"totalTokens":9223372036854775807,"inputTokens":9223372036854775807,"outputTokens":0'
		prompt 2 s
		model_answer 2 '"totalTokens":9223372036854775807,"inputTokens":9223372036854775807,"outputTokens":0'
	} >large
	run --separate-stderr acp-usage -f json --prices prices.json large
	assert_equal "$stderr" 'acp-usage: m: the estimate is too large'
}

@test "--prices: what is not a price list is refused" {
	echo '[]' >list
	run acp-usage --prices list "$USAGE/one-turn.rec"
	assert_failure 2
	run acp-usage --prices nothing "$USAGE/one-turn.rec"
	assert_failure 2
}

# --- metrics

@test "prom: metrics with help and type, of base units" {
	acp-usage -f prom -o metrics.prom "$FIXTURES/$four" 2>/dev/null
	same_as usage/four.prom <metrics.prom
	run ls
	assert_output metrics.prom
}

# bats test_tags=slow
@test "prom: promtool finds nothing wrong" {
	for file in "$FIXTURES"/*.jsonl "$USAGE"/*.rec; do
		acp-usage -f prom -o metrics.prom "$file" 2>/dev/null
		[[ -s metrics.prom ]]
		run promtool check metrics <metrics.prom
		assert_success
		assert_output ''
	done
}

# --- pieces

# bats test_tags=slow
@test "--merge of one piece is the run itself" {
	for file in "$FIXTURES"/*.jsonl "$USAGE"/*.rec; do
		acp-usage --summary -f json "$file" 2>/dev/null >whole
		diff <(acp-usage --merge -f json whole) whole
	done
}

@test "--merge of recordings, in any order, is one run over all of them" {
	acp-usage --summary -f json "$FIXTURES"/*.jsonl "$USAGE"/*.rec 2>/dev/null | jq -S . | sort >whole
	for file in "$USAGE"/*.rec "$FIXTURES"/*.jsonl; do
		acp-usage --summary -f json "$file" 2>/dev/null
	done | acp-usage --merge -f json | jq -S . | sort >merged
	diff <(grep -v '"started"' merged) <(grep -v '"started"' whole)
}

@test "--merge refuses what is not a summary" {
	run acp-usage --merge "$FIXTURES/$four"
	assert_failure 2
	assert_output --partial 'a line that --summary --format json has not written'
}
