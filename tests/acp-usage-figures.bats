#!/usr/bin/env bats
# acp-usage: every figure right: turns, costs, bases, models, and sub-agents.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load usage
	lib_setup
	AGENTS=$FIXTURES/agents
}

teardown() {
	end_left_over
}

# session FILE... MEMBERS: these members of the sessions in the summary, joined.
sessions() {
	acp-usage --summary -f json "${@:1:$#-1}" 2>/dev/null |
	    jq -r --arg m "${*: -1}" 'select(.session != null and (.total | not)) | [.[$m | split(" ")[]] | tojson] | join(" ")'
}

total() {
	acp-usage --summary -f json "${@:1:$#-1}" 2>/dev/null | jq -c --arg m "${*: -1}" 'select(.total) | [.[$m | split(" ")[]]]'
}

# as_all_ways FILE: the same figures as an operand, on standard input, with --pass and as a recording.
as_all_ways() {
	acp-usage --summary -f json "$1" 2>/dev/null | jq -c 'del(.recordings)' >want
	acp-usage --summary -f json - <"$1" 2>/dev/null | jq -c 'del(.recordings)' | diff want -
	acp-usage --summary -f json --pass -o passed <"$1" 2>/dev/null | cmp - "$1"
	jq -c 'del(.recordings)' passed | diff want -
	acp-tap -o taped <"$1" >/dev/null 2>&1
	jq -c 'select(.msg) | del(.t) | .from = "unknown"' taped >recording
	acp-usage --summary -f json recording 2>/dev/null | jq -c 'del(.recordings)' | diff want -
}

# --- turns

@test "a turn's cost is that of each currency by itself" {
	run turns "$USAGE/two-currencies.nd" turn_costs turn_cost currency
	assert_output $'- - JPY\n10 EUR 10 EUR\n1 JPY 1 JPY\n3 JPY;2 EUR 3 JPY'
}

@test "an id that is used again belongs to the new request, in all ways" {
	run sessions "$USAGE/id-reuse.nd" 'turns'
	assert_output 1
	as_all_ways "$USAGE/id-reuse.nd"
}

@test "open requests end at initialize: tokens never go to another session" {
	run sessions "$USAGE/open-at-initialize.nd" 'session turns'
	assert_output $'"A" 0\n"B" 1'
	as_all_ways "$USAGE/open-at-initialize.nd"
}

@test "nothing leaks from one file into the next: names, open prompts, the only session" {
	{
		prompt 1 a
		answer 1 '"usage":{"totalTokens":110,"inputTokens":100,"outputTokens":10}'
		prompt 7 a
	} >one
	answer 7 '"usage":{"totalTokens":5010,"inputTokens":5000,"outputTokens":10}' >two
	run sessions one two 'session turns'
	assert_output $'"a" 1\n"" 1'
}

@test "version 2: an idle snapshot after a resume is no turn" {
	run sessions "$USAGE/v2-resume.nd" 'turns'
	assert_output 0
	as_all_ways "$USAGE/v2-resume.nd"
}

# bats test_tags=slow
@test "version 2: a prompt that waits while the one before it fails has its turn" {
	{
		head -n 4 "$USAGE/v2-first.nd"
		prompt 2 s
		prompt 3 s
		echo '{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"no"}}'
		echo '{"jsonrpc":"2.0","id":3,"result":{"messageId":"m"}}'
		tail -n 1 "$USAGE/v2-first.nd"
	} >queued
	run sessions queued 'turns tokens'
	assert_output --regexp '^2 .*"total":11,'
	as_all_ways queued
}

@test "version 2: work without a prompt is a turn, in the table as in JSON" {
	run sessions "$USAGE/v2-first.nd" 'turns'
	assert_output 1
	run acp-usage --summary "$USAGE/v2-first.nd"
	assert_line --index 1 --regexp '^s +1 +11 '
}

@test "the first turn after session/load is not charged with the session's history" {
	run turns "$USAGE/restored.nd" turn_cost cost
	assert_output '- 2.75'
	# Nor is that of a recording that begins in the middle; a new session begins at 0.
	grep -v -e load -e '"id":1,"result":{}' "$USAGE/restored.nd" >middle
	run turns middle turn_cost
	assert_equal "$output" -
	{
		echo '{"jsonrpc":"2.0","id":9,"method":"session/new","params":{"cwd":"/"}}'
		echo '{"jsonrpc":"2.0","id":9,"result":{"sessionId":"s"}}'
		sed -n '5,$p' "$USAGE/restored.nd"
	} >new
	run turns new turn_cost
	assert_output 2.75
}

# bats test_tags=slow
@test "a cost that falls in its last digits has not started again" {
	run sessions "$USAGE/noise.nd" 'cost restarts'
	assert_output '[{"amount":0.6,"currency":"USD"}] null'
	# In every output.
	run updates "$USAGE/noise.nd" cost wire_cost
	assert_line --index 1 '0.6 0.6'
}

# bats test_tags=slow
@test "v2: what a cost of null clears is not the wire's cost, in a summary and merged; the session has cost it" {
	{
		head -3 "$USAGE/v2.rec"
		for cost in '{"amount":5,"currency":"USD"}' '{"amount":0,"currency":"USD"}' null; do
			update s '"used":1,"size":10,"cost":'"$cost" | jq -c '{t: 1, from: "agent", msg: .}'
		done
	} >cleared
	run sessions cleared 'cost wire_cost'
	assert_output '[{"amount":5,"currency":"USD"}] null'
	acp-usage --summary -f json cleared >summary
	run -0 acp-usage --merge -f json summary
	assert_output "$(<summary)"
	# Another recording, in which the agent has reported nothing else, has cleared it as well.
	for day in 1 2; do
		{
			echo '{"acp-recording":1,"started":"2026-11-0'$day'T00:00:00.000000Z","by":"hand"}'
			sed -n '2,3p' cleared
			sed -n "$((day * 2 + 2))p" cleared
		} >"$day.rec"
		acp-usage --summary -f json "$day.rec" >"$day.summary"
	done
	run sessions 1.rec 2.rec 'cost wire_cost'
	assert_output '[{"amount":5,"currency":"USD"}] null'
	acp-usage --summary -f json 1.rec 2.rec >summary
	run -0 acp-usage --merge -f json 2.summary 1.summary
	assert_output "$(<summary)"
	head -n -1 cleared >zero
	run sessions zero 'cost wire_cost'
	assert_output '[{"amount":5,"currency":"USD"}] {"amount":0,"currency":"USD"}'
}

@test "costs of a session after a restart: the adjusted one, and the wire's beside it" {
	for amount in 0.5 0.8 0.1; do update s "\"used\":1,\"size\":10,\"cost\":{\"amount\":$amount,\"currency\":\"USD\"}"; done >costs
	run updates costs cost wire_cost
	assert_line --index 2 '0.9 0.1'
	run sessions costs 'cost wire_cost'
	assert_output '[{"amount":0.9,"currency":"USD"}] {"amount":0.1,"currency":"USD"}'
	run acp-usage -f prom costs
	assert_line 'acp_session_cost{session="s",currency="USD"} 0.9'
	run acp-usage --max-cost 0.9USD costs
	assert_failure 1
}

@test "queued prompts have turns of their own; a cost that cannot be divided is shared" {
	{
		echo '{"jsonrpc":"2.0","id":9,"method":"session/new","params":{"cwd":"/"}}'
		echo '{"jsonrpc":"2.0","id":9,"result":{"sessionId":"s"}}'
		prompt 1 s
		prompt 2 s
		prompt 3 s
		update s '"used":1,"size":10,"cost":{"amount":0.1,"currency":"USD"}'
		answer 1
		update s '"used":2,"size":10,"cost":{"amount":0.3,"currency":"USD"}'
		answer 2
		answer 3
	} >queued
	run turns queued turn_costs
	assert_output $'0.1 USD\n0.2 USD\nshared'
	run acp-usage queued
	assert_line --partial 'its cost is in the turn before'
}

# --- bases

@test "counts that grow with the context are a turn's" {
	run turns "$USAGE/streaming.nd" total basis
	assert_output $'1100 turn\n1400 turn'
}

# bats test_tags=slow
@test "what is known to be a part is a lower bound, not a blank" {
	run sessions "$USAGE/restored.nd" 'tokens lower_bound'
	assert_output '{"total":2,"input":1,"output":1} "tokens"'
	run acp-usage --summary "$USAGE/restored.nd"
	assert_line --index 1 --regexp '^s +1 +>=2 +>=1 +>=1 '
	run acp-usage -f tsv "$USAGE/restored.nd"
	assert_line --partial $'\ttotal\t'
}

@test "the cache ratio is never above 100 %, whatever the convention" {
	{
		prompt 1 s
		# Inside by the total, although reads exceed the input of this one.
		answer 1 '"usage":{"totalTokens":110,"inputTokens":100,"outputTokens":10,"cachedReadTokens":90}'
		prompt 2 s
		answer 2 '"usage":{"totalTokens":110,"inputTokens":100,"outputTokens":10,"cachedReadTokens":900}'
	} >inside
	run sessions inside cache_hit
	(($(jq -n "$output <= 1 | if . then 1 else 0 end")))
	{
		prompt 1 t
		answer 1 '"usage":{"totalTokens":1010,"inputTokens":100,"outputTokens":10,"cachedReadTokens":900}'
	} >beside
	# 90 of 100, and 900 of 1000.
	head -n 2 inside >first
	run total first beside cache_hit
	assert_output '[0.9]'
}

# --- models

# bats test_tags=slow
@test "qwen: chunks with parentToolCallId are a sub-agent's" {
	run sessions "$USAGE/qwen-subagent.nd" 'tokens billed'
	assert_output --partial '"total":6161'
	assert_output --partial '"total":6711'
	as_all_ways "$USAGE/qwen-subagent.nd"
}

# opened RESULT-MEMBERS: a new session, and a turn in it.
opened() {
	echo '{"jsonrpc":"2.0","id":9,"method":"session/new","params":{"cwd":"/home/u/p"}}'
	echo "{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{\"sessionId\":\"s\",$1}}"
	prompt 1 s
	answer 1 '"usage":{"totalTokens":110,"inputTokens":100,"outputTokens":10}'
}

# bats test_tags=slow
@test "models are named by what opens a session, by its options and by updates" {
	opened '"models":{"currentModelId":"qwen3(x)"}' >one
	opened '"configOptions":[{"id":"mode","currentValue":"a"},{"id":"model","category":"model","currentValue":"big"}]' >two
	{
		opened '"modes":{}' | head -n 2
		echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"config_option_update","configOptions":[{"configId":"model","currentValue":"huge"}]}}}'
		opened '"modes":{}' | tail -n 2
	} >three
	for file in one:'qwen3(x)' two:big three:huge; do
		run --separate-stderr acp-usage --by model -f json "${file%%:*}"
		assert_line --index 0 --partial "{\"model\":\"${file#*:}\",\"turns\":1,\"tokens\":{\"total\":110,"
		as_all_ways "${file%%:*}"
	done
	run sessions one 'cwd model'
	assert_output '"/home/u/p" "qwen3(x)"'
}

# bats test_tags=slow
@test "--by model: the rows add up to the total line" {
	for file in "$AGENTS"/*.jsonl "$FIXTURES"/*.jsonl; do
		acp-usage --by model -f json "$file" 2>/dev/null >rows
		jq -se '(map(select(.total | not)) | [(map(.billed.total) | add), (map(.tokens.output) | add)])
		    == (map(select(.total))[0] | [.billed.total, .tokens.output])' rows
	done
	run acp-usage --by model "$AGENTS/notices.jsonl"
	assert_line --regexp '^total of 2 models '
}

# turns_of FILE...: how many turns each kind of summary, and the metrics, have in all.
turns_of() {
	for by in session model day week month project agent; do
		acp-usage --summary --by "$by" -f json "$@" 2>/dev/null
	done | jq -r 'select(.total).turns'
	acp-usage -f prom "$@" 2>/dev/null | awk '/^acp_turns_total/ { n += $2 } END { print n + 0 }'
}

# bats test_tags=slow
@test "all summaries and the metrics count the same turns: those of sessions, not of sub-agents" {
	for file in "$AGENTS"/*.jsonl "$FIXTURES"/*.jsonl; do
		run -0 turns_of "$file"
		assert_equal "$(sort -u <<<"$output" | wc -l)" 1
	done
	{
		prompt 1 s
		update s '"used":1,"size":9,"_meta":{"_claude/model":"m"}'
		for k in running idle; do
			echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"subagent_update","sessionId":"k","state":{"state":"'$k'"'"$([[ $k == running ]] || echo ',"usage":{"totalTokens":5,"inputTokens":4,"outputTokens":1}')"'}}}}'
		done
		answer 1 '"usage":{"totalTokens":110,"inputTokens":100,"outputTokens":10}'
	} >child
	run -0 turns_of child
	assert_output "$(printf '1\n%.0s' {1..8})"
	run sessions child 'session turns'
	assert_output $'"s" 1\n"k" 1'
}

# bats test_tags=slow
@test "currencies and models never share a bound with titles; what is in different units is not added" {
	seq 0 65999 | awk '{ printf "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s%d\",\"update\":{\"sessionUpdate\":\"session_info_update\",\"title\":\"fix bug %d\"}}}\n", $1 % 9, $1 }' >titles
	{
		cat titles
		for currency in USD EUR; do
			update "late-$currency" '"used":5,"size":100,"cost":{"amount":1.5,"currency":"'$currency'"},"_meta":{"_claude/model":"model-'$currency'"}'
			prompt 1 "late-$currency"
			answer 1 '"usage":{"totalTokens":110,"inputTokens":100,"outputTokens":10}'
		done
	} >many
	run total many cost
	assert_output '[[{"amount":1.5,"currency":"EUR"},{"amount":1.5,"currency":"USD"}]]'
	run -1 acp-usage --summary --max-cost 1EUR many
	run -0 jq -r '.model // empty' <(acp-usage --by model -f json many)
	assert_output $'model-EUR\nmodel-USD'
	# Of too many currencies the last ones are left out, and counted as malformed.
	for ((k = 0; k < 1030; k++)); do
		update s '"used":5,"size":100,"cost":{"amount":1,"currency":"C'$k'"}'
	done >currencies
	run -0 jq -c 'select(.total) | [.malformed, (.cost | length), (.cost | map(.amount) | unique)]' <(acp-usage --summary -f json currencies 2>/dev/null)
	assert_output '[6,1024,[1]]'
}

@test "an amount with more decimals than fit is rounded, and counts for limits" {
	update s '"used":5,"size":100,"cost":{"amount":5.1234567890123456789012345678,"currency":"USD"}' >long
	run -0 acp-usage --summary -f json long
	assert_line --index 0 --partial '"cost":[{"amount":5.123456789012345678901235,"currency":"USD"}]'
	refute_line --index 1 --partial malformed
	run -1 acp-usage --max-cost 1USD long
	# One that is too large is malformed, and the limit of the text is that of the program.
	update s '"used":5,"size":100,"cost":{"amount":1.7e14,"currency":"USD"}' >large
	run -0 acp-usage --summary -f json large
	refute_line --index 1 --partial malformed
	sed 's/1.7e14/1.71e14/' large >larger
	run -0 acp-usage --summary -f json larger
	assert_output --partial '"malformed":1'
	assert_output --partial 'out of range: it must be below 1.7 * 10^14'
}

@test "calls of a turn without counts are not counted again in a running total" {
	chunk() {
		echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":""},"_meta":{"usage":{"totalTokens":'"$1"',"inputTokens":'$(($1 - 1))',"outputTokens":1}}}}}'
	}
	counts() {
		answer "$1" '"usage":{"totalTokens":'"$2"',"inputTokens":'$(($2 - 5))',"outputTokens":5}'
	}
	{
		echo '{"jsonrpc":"2.0","id":9,"method":"session/new","params":{"cwd":"/"}}'
		echo '{"jsonrpc":"2.0","id":9,"result":{"sessionId":"s"}}'
		prompt 1 s; chunk 100; chunk 50; counts 1 150
		prompt 2 s; chunk 70; counts 2 220
		prompt 3 s; chunk 30; chunk 20; counts 3 270
		prompt 4 s; chunk 500; answer 4
		prompt 5 s; chunk 10; counts 5 780
		prompt 6 s; chunk 20
		prompt 7 s; counts 7 800
	} >running
	run total running 'turns tokens'
	assert_output --regexp '^\[6,\{"total":800,'
	as_all_ways running
}

# bats test_tags=slow
@test "a turn that called the model and was not counted leaves a lower bound" {
	{
		prompt 1 s
		answer 1 '"usage":{"totalTokens":110,"inputTokens":100,"outputTokens":10}'
	} >counted
	# Cancelled, or with a context or a cost that changed.
	{ cat counted; prompt 2 s; answer 2 | sed s/end_turn/cancelled/; } >cancelled
	{ cat counted; prompt 2 s; answer 2 '"usage":{"totalTokens":0,"inputTokens":0,"outputTokens":0}' | sed s/end_turn/cancelled/; } >zeros
	{ cat counted; prompt 2 s; update s '"used":5,"size":9'; answer 2; } >context
	{ update s '"used":5,"size":9,"cost":{"amount":1,"currency":"USD"}'; cat counted; prompt 2 s
	  update s '"used":5,"size":9,"cost":{"amount":2,"currency":"USD"}'; answer 2; } >cost
	for file in cancelled zeros context cost; do
		run sessions $file 'turns lower_bound'
		assert_output '2 "tokens"'
		for by in session day model; do
			run acp-usage --summary --by $by $file
			assert_line --index -1 --regexp '^total of .* >=110 '
		done
		as_all_ways $file
	done
	# Nothing was called, or nothing is counted at all.
	{ cat counted; prompt 2 s; answer 2 '"usage":{"totalTokens":0,"inputTokens":0,"outputTokens":0}'; } >nothing
	{ cat counted; prompt 2 s; answer 2; } >idle
	{ prompt 2 s; update s '"used":5,"size":9'; answer 2 | sed s/end_turn/cancelled/; } >uncounted
	for file in idle nothing uncounted; do
		run sessions $file 'lower_bound'
		assert_output null
	done
}

@test "claude: the first turn after a load has no rows of a sub-agent that ran in it: a lower bound" {
	claude='{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"@x/claude-agent-acp","version":"0.100.0"}}}'
	rows() {
		answer "$1" '"usage":{"totalTokens":110,"inputTokens":100,"outputTokens":10},"_meta":{"quota":{"model_usage":[{"model":"m","token_count":{"totalTokens":110,"inputTokens":100,"outputTokens":10}}]}}'
	}
	child='{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"subagent_update","sessionId":"k","state":{"state":"running"}}}}'
	load='{"jsonrpc":"2.0","id":8,"method":"session/load","params":{"sessionId":"s","cwd":"/"}}'
	loaded='{"jsonrpc":"2.0","id":8,"result":{}}'
	hello='{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'
	{ echo "$hello"; echo "$claude"; echo "$load"; echo "$loaded"; prompt 1 s; echo "$child"; rows 1; } >first
	run sessions first 'session lower_bound'
	assert_line --index 0 '"s" "billed"'
	# Later rows have it, as those of a session that was not loaded do.
	{ echo "$hello"; echo "$claude"; echo "$load"; echo "$loaded"; prompt 1 s; rows 1; prompt 2 s; echo "$child"; rows 2; } >second
	{ echo "$hello"; echo "$claude"; prompt 1 s; echo "$child"; rows 1; } >new
	for file in second new; do
		run sessions $file 'session lower_bound'
		assert_line --index 0 '"s" null'
	done
}

# bats test_tags=slow
@test "the estimate of a turn includes its sub-agents, as the summary's does" {
	echo '{"claude-opus-5-5":{"input_cost_per_token":1e-06,"output_cost_per_token":1e-05},
	    "claude-haiku-5-5":{"input_cost_per_token":1e-06,"output_cost_per_token":1e-05}}' >prices
	acp-usage --prices prices -f json "$AGENTS/subagent-foreground.jsonl" 2>/dev/null |
	    jq -s 'map(.estimate // 0) | add * 1e6 | round' >turns
	acp-usage --prices prices --summary -f json "$AGENTS/subagent-foreground.jsonl" 2>/dev/null |
	    jq 'select(.total).estimate * 1e6 | round' | diff turns -
}

@test "prices: --cache-hour takes the price of cache writes that are kept for an hour, where the list has one" {
	echo '{"m":{"input_cost_per_token":1,"output_cost_per_token":1,"cache_creation_input_token_cost":2,
	    "cache_creation_input_token_cost_above_1hr":3},
	    "n":{"input_cost_per_token":1,"output_cost_per_token":1,"cache_creation_input_token_cost":2}}' >prices
	for case in m::201 m:--cache-hour:301 n:--cache-hour:201; do
		IFS=: read -r model option want <<<"$case"
		opened "\"models\":{\"currentModelId\":\"$model\"}" | head -n 3 >hour
		answer 1 '"usage":{"totalTokens":101,"inputTokens":0,"outputTokens":1,"cachedWriteTokens":100}' >>hour
		# shellcheck disable=SC2086 # an option, or none
		run total $option --prices prices hour estimate
		assert_output "[$want]"
	done
	run -2 acp-usage --cache-hour hour
	assert_output 'acp-usage: --cache-hour requires --prices'
}

# bats test_tags=slow
@test "prices: what only large contexts have a price for costs what other input does below" {
	echo '{"m":{"input_cost_per_token":1,"output_cost_per_token":1,"cache_creation_input_token_cost_above_100k_tokens":2}}' >prices
	for case in 1000:1101 100000:100201; do
		opened '"models":{"currentModelId":"m"}' | head -n 3 >tier
		answer 1 "\"usage\":{\"totalTokens\":$((${case%:*} + 101)),\"inputTokens\":${case%:*},\"outputTokens\":1,\"cachedWriteTokens\":100}" >>tier
		run total --prices prices tier estimate
		assert_output "[${case#*:}]"
	done
}

# bats test_tags=slow
@test "prices: tiers of large contexts, and names with what agents add to them" {
	echo '{"m":{"input_cost_per_token":1e-06,"output_cost_per_token":1e-05,"input_cost_per_token_above_200k_tokens":2e-06},
	    "n":{"tiered_pricing":[{"range":[0,256000],"input_cost_per_token":1e-06,"output_cost_per_token":1e-05},
	    {"range":[256000,1000000],"input_cost_per_token":3e-06,"output_cost_per_token":1e-05}],"input_cost_per_token":0,
	    "output_cost_per_token":0}}' >prices
	for case in 'm[1m]:100000:0.10001' 'm:300000:0.60001' 'n:100000:0.10001' 'n(openai):300000:0.90001'; do
		IFS=: read -r model input want <<<"$case"
		opened "\"models\":{\"currentModelId\":\"$model\"}" | head -n 3 >tier
		answer 1 "\"usage\":{\"totalTokens\":$((input + 1)),\"inputTokens\":$input,\"outputTokens\":1}" >>tier
		run total --prices prices tier estimate
		assert_output "[$want]"
	done
}

# --- sub-agents

# The model calls behind a recording, but for those that the agent reports nowhere: suggestions, and what came after the last result.
truth() {
	jq -s --argjson without "$2" 'map(select(.n as $n | $without | index($n) | not)
	    | .usage | .input_tokens + .cache_creation_input_tokens + .cache_read_input_tokens + .output_tokens) | add' "$AGENTS/truth/$1.jsonl"
}

# bats test_tags=slow
@test "claude: what was billed is what its model calls used, each once" {
	for case in subagent-foreground:[12,15,16] v2-subagent:[16,17] notices:[6,8,9] elicitation-compact:[7,14,25,26]; do
		run -0 total "$AGENTS/${case%%:*}.jsonl" billed
		run jq '.[0].total' <<<"$output"
		assert_output "$(truth "${case%%:*}" "${case#*:}")"
	done
}

@test "claude: the tokens of a sub-agent in the background are in no response: a lower bound; the cost is right" {
	run -0 total "$AGENTS/subagent-background.jsonl" 'lower_bound cost'
	assert_output '["billed",[{"amount":0.10273080000000002,"currency":"USD"}]]'
	# The calls 7 and 8 are those; 6, 11 and 12 are reported nowhere.
	run -0 total "$AGENTS/subagent-background.jsonl" billed
	run jq '.[0].total' <<<"$output"
	assert_output "$(truth subagent-background [6,7,8,11,12])"
	run acp-usage --summary "$AGENTS/subagent-background.jsonl"
	assert_line --partial '>=311238'
}

@test "the model of work in the background has the mark of a lower bound in every format, with --prices and with --merge" {
	acp-usage --by model "$AGENTS/subagent-background.jsonl" >table
	run cat table
	assert_line --regexp '^claude-opus-5-5 +3 +>=208532 '
	echo '{"claude-opus-5-5":{"input_cost_per_token":0.00001,"output_cost_per_token":0.00002}}' >prices
	run acp-usage --by model --prices prices "$AGENTS/subagent-background.jsonl"
	assert_line --regexp '^claude-haiku-5-5 +2 +102706 '
	assert_line --regexp '^claude-opus-5-5 +3 +>=208532 '
	acp-usage --summary -f json "$AGENTS/subagent-background.jsonl" >summary
	acp-usage --merge --by model summary | diff table -
	acp-usage --by model -f json "$AGENTS/subagent-background.jsonl" >whole
	acp-usage --merge --by model -f json summary | diff whole -
	run jq -c '[.model // "total", .lower_bound]' whole
	assert_output $'["claude-haiku-5-5",null]\n["claude-opus-5-5","tokens"]\n["total","tokens"]'
	# A model that has nothing but the mark has no row.
	sed 's/"context_above":0,"model":"claude-opus-5-5"/"context_above":0,"model":"none"/' summary >other
	run ! cmp -s summary other
	run acp-usage --merge --by model other
	refute_line --regexp '^none'
	assert_line --regexp '^total of 2 models +3 +>=311238'
}

@test "codex: no message has a sub-agent's tokens: a lower bound, with its own context in a row of its own" {
	run acp-usage --summary "$AGENTS/codex-subagent.jsonl"
	assert_line --index 1 --regexp '^01a20179 hello +3 +55044 .*>=55044 '
	assert_line --index 2 --regexp '^  - Look around2 .* 122/258K '
	assert_line --index 3 --regexp '^total of 2 +3 +55044 .*>=55044 '
}

# bats test_tags=slow
@test "a child's idle is no turn of its parent" {
	run sessions "$AGENTS/v2-subagent.jsonl" 'title turns'
	assert_output $'"hello" 5\n"foreground child" 1\n"look around" 1'
	run -0 total "$AGENTS/v2-subagent.jsonl" turns
	assert_output '[5]'
}

@test "version 2: the turn of a prompted sub-agent counts once, although its idle state is repeated" {
	{
		head -n 4 "$USAGE/v2-first.nd"
		echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"subagent_update","sessionId":"c"}}}'
		prompt 3 c
		echo '{"jsonrpc":"2.0","id":3,"result":{}}'
		for state in '"running"' {,}'"idle","stopReason":"end_turn","usage":{"totalTokens":10,"inputTokens":7,"outputTokens":3}'; do
			echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"c","update":{"sessionUpdate":"state_update","state":'"$state"'}}}'
		done
	} >prompted
	run sessions prompted 'session turns tokens'
	assert_line --partial '"c" 1 {"total":10,'
}

# family: a session whose child reports a cost of its own.
family() {
	echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"subagent_update","sessionId":"c","title":"look"}}}'
	update s '"used":1,"size":10,"cost":{"amount":0.5,"currency":"USD"}'
	update c '"used":9,"size":10,"cost":{"amount":4.50,"currency":"USD"}'
}

@test "limits hold for a session together with its children" {
	family >s.nd
	run total s.nd cost
	assert_output '[[{"amount":5,"currency":"USD"}]]'
	run acp-usage --max-cost 2USD s.nd
	assert_failure 1
	assert_output --partial 's: --max-cost 2 USD is reached'
	# An agent whose own costs include them.
	{
		echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}'
		echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"claude-agent-acp","version":"0.100"}}}'
		family
	} >claude
	run acp-usage --max-cost 2USD claude
	assert_success
}

# --- merging

# bats test_tags=slow
@test "a session that goes on in a later recording is one; only cost, context and model cross" {
	for n in 1 2; do
		echo "{\"acp-recording\":1,\"started\":\"2026-11-2${n}T10:00:00Z\"}"
		jq -c '{t: 1, from: "agent", msg: .}' <<<"$(update s "\"used\":$n,\"size\":10,\"cost\":{\"amount\":0.$((n * 2)),\"currency\":\"USD\"}")"
		prompt $n s | jq -c '{t: 2, from: "client", msg: .}'
		answer $n '"usage":{"totalTokens":7,"inputTokens":6,"outputTokens":1}' | jq -c '{t: 3, from: "agent", msg: .}'
	done | split -l 4 - day
	for order in 'dayaa dayab' 'dayab dayaa'; do
		# shellcheck disable=SC2086
		run sessions $order 'turns cost used tokens'
		assert_output '2 [{"amount":0.4,"currency":"USD"}] 2 {"total":14,"input":12,"output":2}'
		for day in $order; do acp-usage --summary -f json "$day"; done >pieces
		run --separate-stderr acp-usage --merge -f json pieces
		assert_line --index 0 --partial '"turns":2,"tokens":{"total":14,"input":12,"output":2}'
		# Rows and limits are by time, whatever is read first.
		# shellcheck disable=SC2086
		acp-usage -f tsv $order >rows
		diff <(cut -f 1,11,13 rows) <(acp-usage -f tsv dayaa dayab | cut -f 1,11,13)
		# shellcheck disable=SC2086
		run --separate-stderr acp-usage --summary --max-cost 0.5USD $order
		assert_success
	done
}

@test "--merge refuses what was damaged, made up or cut" {
	update s '"used":1,"size":10' >one
	acp-usage --summary -f json one >good
	for edit in 's/"size":10,"costs"/"size":0,"costs"/; s/"size":10}/"size":0}/; s/,"size":10/,"size":0/g' 's/"used":1,"peak"/"used":-1,"peak"/' \
	    's/"recordings":\[/"recordings":[7,/' 's/"models":\[\]/"models":{}/' '$d' '1d' 's/"acp-usage":1/"acp-usage":9/'; do
		sed "$edit" good >bad
		run acp-usage --merge bad
		assert_failure 2
		assert_output --regexp '^acp-usage: bad: line [0-9]+: '
	done
	run acp-usage --merge good
	assert_success
}

# --- for people

@test "in 80 columns the summary fits, with what has values" {
	script -qec "stty cols 80 2>/dev/null; acp-usage --summary $AGENTS/*.jsonl" /dev/null >table 2>&1 </dev/null
	run awk '{ sub(/\r$/, "") } length > 80' table
	assert_output ''
	# As with less -R: the output is a pipe, and standard error's terminal tells the width.
	script -qec "stty cols 80 2>/dev/null; acp-usage --summary $AGENTS/*.jsonl | cat" /dev/null >paged 2>&1 </dev/null
	cmp table paged
	grep -q 'cost' table
	refute grep -q 'thought' table
	run acp-usage --summary --wide "$AGENTS/notices.jsonl"
	assert_line --index 0 --partial 'thought'
}

# used SESSION TITLE TOKENS COST CURRENCY: messages; without what is empty.
used() {
	[[ -z $2 ]] || printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%s","update":{"sessionUpdate":"session_info_update","title":"%s"}}}\n' "$1" "$2"
	prompt 1 "$1"
	[[ -z $4 ]] || update "$1" '"used":1,"size":100,"cost":{"amount":'"$4"',"currency":"'"$5"'"}'
	if [[ -n $3 ]]; then
		answer 1 '"usage":{"totalTokens":'"$3"',"inputTokens":'"$3"',"outputTokens":0}'
	else
		answer 1
	fi
}

# order OPTION...: the first column of the table, without the names of the columns and the total.
order() {
	acp-usage "$@" sorted 2>/dev/null | awk '!/^total/ && NR > 1 { printf "%s ", $1 }'
}

@test "--sort: the highest cost or tokens first, titles by name, what is not known last" {
	{
		used a Beta 500 2 USD
		used b '' '' '' ''
		used c Alpha 900 10 EUR
		used d Gamma 700 9.5 USD
		used e Beta 700 11 EUR
	} >sorted
	assert_equal "$(order --summary)" 'a b c d e '
	assert_equal "$(order --summary --sort date)" 'a b c d e '
	assert_equal "$(order --summary --sort cost)" 'e c d a b '
	assert_equal "$(order --summary --sort tokens)" 'c d e a b '
	assert_equal "$(order --summary --sort title)" 'c a e d b '
	acp-usage --summary -f json --sort tokens sorted 2>/dev/null >objects
	assert_equal "$(jq -r 'select(.session) | .session' objects | tr '\n' ' ')" 'c d e a b '
	# Those with the same title are in the order of the summary that was read.
	assert_equal "$(acp-usage --merge --sort title objects | awk '!/^total/ && NR > 1 { printf "%s ", $1 }')" 'c e a d b '
	run -2 acp-usage --sort cost sorted
	assert_output 'acp-usage: --sort requires --summary or --by or --merge'
	run -2 acp-usage --summary --sort size sorted
}

# bats test_tags=slow
@test "--sort is a permutation of the rows, sub-agents below their sessions, in the order that a model has" {
	local by file
	for by in session model project agent; do
		for file in "$AGENTS"/*.jsonl "$USAGE"/*.rec; do
			acp-usage --by $by -f json "$file" 2>/dev/null >rows || true
			acp-usage --by $by -f json --sort tokens "$file" 2>/dev/null >sorted || true
			# A session with those that are below it is one item; jq sorts as stably as the tool.
			jq -cs '[foreach (.[] | select(.total != true)) as $r (0; if $r.parent then . else . + 1 end; [., $r])]
			    | group_by(.[0]) | map(map(.[1])) | sort_by(-(.[0].billed.total // -1)) | add // [] | .[]' rows >want
			jq -c 'select(.total != true)' sorted | diff want -
		done
	done
}

@test "the day on which a session began has a column, where recordings say it" {
	run -0 --separate-stderr env TZ=UTC acp-usage --summary "$FIXTURES/demo.rec"
	assert_line --index 0 --regexp '^session +date +turns'
	assert_line --index 1 --regexp " $(TZ=UTC date -d "$(head -n 1 "$FIXTURES/demo.rec" | jq -r .started)" +%F) +[0-9]"
	used a Beta 500 2 USD >untimed
	run -0 --separate-stderr acp-usage --summary untimed
	refute_line --partial date
	run -0 --separate-stderr acp-usage --by agent "$FIXTURES/demo.rec"
	refute_line --partial date
}

@test "COLUMNS is the width of the table, in a pipe, too, and not with --wide or of a file" {
	script -qec "stty cols 80 2>/dev/null; acp-usage --summary $AGENTS/*.jsonl" /dev/null </dev/null 2>&1 | tr -d '\r' >table
	COLUMNS=80 acp-usage --summary "$AGENTS"/*.jsonl 2>/dev/null | diff - <(grep -v ^acp-usage: table)
	acp-usage --summary "$AGENTS"/*.jsonl >wide 2>/dev/null
	COLUMNS=80 acp-usage --summary --wide "$AGENTS"/*.jsonl 2>/dev/null | cmp - wide
	COLUMNS=80 acp-usage --summary -o file "$AGENTS"/*.jsonl 2>/dev/null
	cmp file wide
	for nothing in 0 x ''; do
		COLUMNS=$nothing acp-usage --summary "$AGENTS"/*.jsonl 2>/dev/null | cmp - wide
	done
}

@test "the level is in colour where it is more than normal" {
	for used in 10 80 93 97; do
		update "s$used" '"used":'$used',"size":100'
	done >levels
	run -0 --separate-stderr acp-usage --summary --color always levels
	assert_line --regexp '^s10 .* normal '
	assert_line --regexp $'^s80 .* \e\\[0;33myellow *\e\\[m'
	assert_line --regexp $'^s93 .* \e\\[0;38;5;208morange *\e\\[m'
	assert_line --regexp $'^s97 .* \e\\[0;31mred *\e\\[m'
	acp-usage --summary --color always levels | sed 's/\x1b\[[0-9;]*m//g' >plain
	acp-usage --summary levels | cmp - plain
	refute grep -q $'\e' <(acp-usage --summary levels)
}

@test "where neither the context nor its size is known a row has a dash for both" {
	{
		prompt 1 s
		answer 1 '"usage":{"totalTokens":7,"inputTokens":6,"outputTokens":1}'
	} >unknown
	run -0 --separate-stderr acp-usage unknown
	assert_line --regexp '^- +s +- +- +turn end_turn 7 tokens$'
	refute_output --partial '?/?'
}

@test "a row is as wide as the columns of the terminal say, whatever characters the id has" {
	local id
	for id in abcd 日本; do
		{
			prompt 1 "$id"
			update "$id" '"used":10,"size":100'
			answer 1
		} >row.nd
		# Up to the context, and (acp-stat) to the number of the turn.
		acp-usage row.nd | sed -n '1s|10/100.*|!|p' | wc -L
		acp-stat --by turn row.nd 2>/dev/null | sed -n '2s/   1 .*/!/p' | wc -L
	done >widths
	assert_equal "$(tr '\n' ' ' <widths)" '21 9 21 9 '
}

# bats test_tags=slow
@test "--by day, project and agent; --since and --before" {
	for n in 1 2 3; do
		echo "{\"acp-recording\":1,\"started\":\"2026-11-2${n}T10:00:00Z\"}" >"$n.rec"
		opened '"modes":{}' | sed "s|/home/u/p|/p$((n % 2))|; s/\"s\"/\"s$n\"/" | jq -c '{t: 1, from: (if .method then "client" else "agent" end), msg: .}' >>"$n.rec"
	done
	export TZ=UTC
	run acp-usage --by day [123].rec
	assert_line --index 1 --regexp '^2026-11-21 +1 +110 '
	assert_line --index 4 --regexp '^total of 3 days +3 +330 '
	run acp-usage --by project [123].rec
	assert_line --index 1 --regexp '^/p0 +1 +110 '
	assert_line --index 2 --regexp '^/p1 +2 +220 '
	run acp-usage --by month -f json [123].rec
	assert_line --index 0 --partial '{"month":"2026-11-01","turns":3,'
	run total --since 2026-11-22 --before 2026-11-23 [123].rec 'turns'
	assert_output '[1]'
	run -0 acp-usage --since 2026-11-23T09:00 -f tsv [123].rec
	assert_equal "${#lines[@]}" 2
	run -0 acp-usage -f prom --since 2026-11-22 --before 2026-11-23 [123].rec
	assert_equal "$(awk '/^acp_turn_tokens_total/ { n += $2 } END { print n }' <<<"$output")" 110
	# The zone of the reader decides on the day.
	export TZ=Pacific/Kiritimati
	run acp-usage --by day 1.rec
	assert_line --index 1 --regexp '^2026-11-22 '
	run acp-usage 1.rec
	assert_line --index 0 --regexp '^2026-11-22 00:00:01 '
}

@test "--since, --before: a day that its month does not have is refused" {
	update s '"used":1,"size":2' >s.nd
	for option in since before; do
		for day in 2026-02-29 2026-02-31 2026-11-31 2026-11-31T10:00; do
			run -2 acp-usage --$option $day s.nd
			assert_output "acp-usage: --$option $day: expected a date, such as 2026-11-22 or 2026-11-22T15:56, or how long ago: 7d"
		done
	done
	# In Cairo this day has no midnight.
	for day in 2028-02-29 2026-12-31 2026-04-24; do
		run -0 env TZ=Africa/Cairo acp-usage --since $day s.nd
	done
}

@test "--since, --before: the context is the last one of that time, and the peak the greatest" {
	local t=0
	echo '{"acp-recording":1,"started":"2026-11-20T20:00:00Z"}' >days.rec
	for used in 30 10 90 20; do
		((t += 8000))
		{
			prompt 1 s
			update s "\"used\":$used,\"size\":100"
			answer 1 '"usage":{"totalTokens":3,"inputTokens":2,"outputTokens":1}'
		} | jq -c --argjson t $t '{t: $t, from: (if .method == "session/prompt" then "client" else "agent" end), msg: .}' >>days.rec
	done
	export TZ=UTC
	run total --before 2026-11-21T01:00 days.rec 'turns'
	assert_output '[2]'
	for when in --before --since; do
		acp-usage --summary -f json $when 2026-11-21T01:00 days.rec
		acp-usage -f prom $when 2026-11-21T01:00 days.rec
	done >out
	assert_equal "$(jq -cR 'fromjson? | select(.session) | [.turns, .used, .peak, .percent, .level]' out)" \
	    $'[2,10,30,10,"normal"]\n[2,20,90,20,"normal"]'
	assert_equal "$(grep ^acp_context_used out)" $'acp_context_used_tokens{session="s"} 10\nacp_context_used_tokens{session="s"} 20'
	# A stream does not sort its recordings.
	run -0 --separate-stderr bash -c 'acp-usage --pass --before 2020-01-01 -f prom -o metrics <<<"$1" >same' - "$(update s '"used":1,"size":2')"
	run ! grep '^acp_context_used' metrics
}

@test "compaction is an event" {
	run -0 acp-usage -f json "$AGENTS/elicitation-compact.jsonl"
	run jq -r 'select(.event == "compaction") | "\(.stop_reason) \(.used)"' <<<"$output"
	assert_line --index 0 'in_progress 51366'
	assert_line --index 1 'completed 51366'
	run -0 acp-usage "$AGENTS/elicitation-compact.jsonl"
	assert_line --regexp ' compaction in_progress$'
}

# bats test_tags=slow
@test "metrics of types can be summed: they do not overlap" {
	{
		prompt 1 s
		answer 1 '"usage":{"totalTokens":120,"inputTokens":100,"outputTokens":20,"cachedReadTokens":90,"thoughtTokens":5}'
	} >s.nd
	run acp-usage -f prom s.nd
	assert_equal "$(awk '/^acp_turn_tokens_total/ { n += $2 } END { print n }' <<<"$output")" 120
}
