#!/usr/bin/env bats
# acp-budget: limits of cost, tokens, turns and context.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load budget
	lib_setup
}

teardown() {
	exec 8>&- 9<&-
	end_left_over
}

# cost AMOUNT [CURRENCY]: an update with it.
cost() {
	printf '{"sessionUpdate":"usage_update","used":10,"size":100,"cost":{"amount":%s,"currency":"%s"}}' "$1" "${2:-USD}"
}

# spends AMOUNT: an agent that reports this cost in each turn, and that it was restarted before the second.
spends() {
	cat >agent <<-END
		#!/bin/sh
		while read -r line; do
			n=\$((n + 1))
			[ \$n != 2 ] || echo '{"jsonrpc":"2.0","method":"_acp-revive/restarted","params":{"restarts":1,"why":"killed"}}'
			id=\${line#*'"id":'} id=\${id%%,*}
			echo '{"method":"session/update","params":{"sessionId":"s","update":$(cost "$1")}}'
			echo '{"id":'\$id',"result":{"stopReason":"end_turn"}}'
		done
	END
	chmod +x agent
}

error() {
	jq -c '[.id, .error.code, .error.message]' <<<"$LINE"
}

@test "--max-cost, its currency in any case: the third prompt is refused, with the limit and how far" {
	plays '[{"out":1,"updates":['"$(cost 2.1)"']},{"out":1,"updates":['"$(cost 5.0300)"']}]'
	budget --max-cost 5.00usd
	turn 1 s one
	turn 2 s two
	turn 3 s three
	assert_equal "$(error)" '[3,-32603,"acp-budget: --max-cost 5 USD is reached: 5.03 USD"]'
	turn 4 t other
	finish
	assert_equal "$(jq -r .error seen | grep -c code)" 1
	assert_equal "$(asked | tr -d '\n')" '["one"]["two"]["other"]'
	# The other session was told the same costs.
	assert_equal "$(told)" 's: --max-cost 5 USD is reached: 5.03 USD
t: --max-cost 5 USD is reached: 5.03 USD'
	assert_equal "$STATUS" 1
}

# bats test_tags=slow
@test "costs compare exactly" {
	plays '[{"updates":['"$(cost 0.29999999999999998)"']},{"updates":['"$(cost 0.30)"']}]'
	budget --max-cost 0.3USD
	turn 1 s one
	turn 2 s two
	turn 3 s three
	assert_equal "$(error)" '[3,-32603,"acp-budget: --max-cost 0.3 USD is reached: 0.3 USD"]'
	finish
}

# bats test_tags=slow
@test "a cost that comes after the response counts, and one that starts again is added" {
	plays '[{"late":['"$(cost 3)"']},{"late":['"$(cost 2)"']}]'
	budget --max-cost 5USD
	turn 1 s one
	turn 2 s two
	until_line '"amount":2'
	turn 3 s three
	assert_equal "$(error)" '[3,-32603,"acp-budget: --max-cost 5 USD is reached: 5 USD"]'
	finish
}

# bats test_tags=slow
@test "a limit in a currency that the agent does not report is an error line" {
	plays '[{"updates":['"$(cost 100 EUR)"']}]'
	budget --max-cost 5USD
	turn 1 s one
	turn 2 s two
	finish
	assert_equal "$(asked | wc -l)" 2
	assert_equal "$(told)" 's: error: --max-cost 5 USD cannot be enforced: the agent reports its costs in EUR'
	budget --max-cost 5USD,50EUR
	turn 1 s one
	turn 2 s two
	assert_equal "$(error)" '[2,-32603,"acp-budget: --max-cost 50 EUR is reached: 100 EUR"]'
	finish
}

# bats test_tags=slow
@test "an agent that reports nothing of what is limited: an error line for each limit" {
	plays '[{"say":"text"}]'
	budget --max-cost 5USD --max-tokens 5 --max-context 5 --at 50=/compact
	turn 1 s one
	assert_equal "$(told)" ''
	turn 2 s two
	finish
	assert_equal "$(told)" 's: error: --max-cost 5 USD cannot be enforced: the agent reports no cost
s: error: --max-tokens cannot be enforced: the agent reports no token counts that can be added up
s: error: --max-context cannot be enforced: the agent reports no context
s: error: --at cannot be enforced: the agent reports no context'
	assert_equal "$STATUS" 0
	budget --max-cost 5USD
	turn 1 s one
	finish
	assert_equal "$(told)" 's: error: --max-cost 5 USD cannot be enforced: the agent reports no cost'
}

@test "--max-tokens is the session's billed total" {
	plays '[{"out":900}]'
	budget --max-tokens 2k
	turn 1 s one
	turn 2 s two
	turn 3 s three
	assert_equal "$(error)" '[3,-32603,"acp-budget: --max-tokens 2,000 is reached: 2,000 tokens"]'
	finish
	assert_equal "$STATUS" 1
}

@test "--max-turns counts the client's prompts, not ours" {
	plays '[{"out":300},{"out":1700}]'
	budget --max-turns 2 --target 2k
	turn 1 s one
	turn 2 s two
	turn 3 s three
	assert_equal "$(error)" '[3,-32603,"acp-budget: --max-turns 2 is reached: 2 turns"]'
	finish
	assert_equal "$(asked | wc -l)" 4
}

@test "--max-turns holds for prompts that are sent at once, and a refusal is reported, once" {
	plays '[{"hold":true}]'
	budget --max-turns 1 --hard
	prompt 1 s one
	turn 2 s two
	assert_equal "$(error)" '[2,-32603,"acp-budget: --max-turns 1 is reached: 1 turn"]'
	# The turn that runs is the last that is allowed.
	refute grep -q session/cancel got
	assert_equal "$(told)" 's: --max-turns 1 is reached: 1 turn'
	send '{"method":"session/cancel","params":{"sessionId":"s"}}'
	answer 1
	finish
	assert_equal "$(told)" 's: --max-turns 1 is reached: 1 turn'
	assert_equal "$STATUS" 1
}

@test "the counts of a child's idle state are counted at once" {
	child='{"sessionUpdate":"subagent_update","sessionId":"k","state":{"state":"idle","usage":{"totalTokens":5000,"inputTokens":1,"outputTokens":4999}}}'
	own='{"sessionUpdate":"state_update","state":"idle","usage":{"totalTokens":5000,"inputTokens":1,"outputTokens":4999}}'
	plays '[{"out":1,"updates":[{"sessionUpdate":"subagent_update","sessionId":"k","state":{"state":"running"}},'"$child"']}]'
	budget --max-tokens 1000
	turn 1 s one
	turn 2 s two
	assert_equal "$(error)" '[2,-32603,"acp-budget: --max-tokens 1,000 is reached: 5,101 tokens"]'
	finish
	assert_equal "$STATUS" 1
	# As an update of its own session.
	cat >agent <<-END
		#!/bin/sh
		while read -r line; do
			id=\${line#*'"id":'} id=\${id%%,*}
			echo '{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"subagent_update","sessionId":"k","state":{"state":"running"}}}}'
			echo '{"method":"session/update","params":{"sessionId":"k","update":{"sessionUpdate":"state_update","state":"running"}}}'
			echo '{"method":"session/update","params":{"sessionId":"k","update":$own}}'
			echo '{"id":'\$id',"result":{"stopReason":"end_turn"}}'
		done
	END
	chmod +x agent
	budget --max-tokens 1000
	turn 1 s one
	turn 2 s two
	assert_equal "$(error)" '[2,-32603,"acp-budget: --max-tokens 1,000 is reached: 5,000 tokens"]'
	finish
}

@test "a cost with many decimals counts for --max-cost" {
	spends 2.1234567890123456789012345678
	budget --max-cost 1USD
	turn 1 s one
	turn 2 s two
	assert_equal "$(error)" '[2,-32603,"acp-budget: --max-cost 1 USD is reached: 2.123456789012345678901235 USD"]'
	finish
}

@test "after a restart of the agent the higher sum counts: its costs may have begun at 0" {
	spends 0.02
	budget --max-cost 0.04USD
	turn 1 s one
	turn 2 s two
	turn 3 s three
	assert_equal "$(error)" '[3,-32603,"acp-budget: --max-cost 0.04 USD is reached: 0.02 to 0.04 USD"]'
	finish
	assert_equal "$STATUS" 1
	assert_equal "$(grep -c _acp-revive/restarted seen)" 1
}

@test "--max-context refuses while the context is at the limit" {
	plays '[{"updates":['"$(context 949)"']},{"updates":['"$(context 950)"'],"late":['"$(context 960)"']},{"updates":['"$(context 100)"']}]'
	budget --max-context 95%
	turn 1 s one
	turn 2 s two
	until_line 960
	turn 3 s three
	assert_equal "$(error)" '[3,-32603,"acp-budget: --max-context 95% is reached: 96%, 960 of 1,000 tokens"]'
	# Another session's prompt brings it no nearer; the agent's own news does.
	send '{"id":9,"method":"x/y"}'
	answer 9
	finish
	assert_equal "$(told)" 's: --max-context 95% is reached: 95%, 950 of 1,000 tokens'
}

@test "a limit that is reached in a nudge: it ends in order, and no other is sent" {
	plays '[{"out":100,"updates":['"$(cost 1)"']},{"out":100,"updates":['"$(cost 5)"']},{"out":5000}]'
	budget --target 2k --max-cost 5USD
	turn 1 s work
	assert_equal "$(jq -c '[.result.stopReason, .result.usage.outputTokens]' <<<"$LINE")" '["end_turn",200]'
	finish
	assert_equal "$(asked | wc -l)" 2
	assert_equal "$(told)" 's: Target: 100 / 2,000 (5%)
s: --max-cost 5 USD is reached: 5 USD
s: Target: 200 / 2,000 (10%): --max-cost 5 USD is reached: 5 USD'
	run ! grep -q session/cancel got
}

@test "at a terminal the end says how much of each limit was used" {
	plays '[{"out":400,"updates":['"$(cost 0.04)"']}]'
	export XDG_STATE_HOME=$PWD/state
	prompts() {
		start script -qec "acp-budget $* -- ./agent 2>&1 >/dev/null" /dev/null
		prompt 1 s one
		wait_for test -s got
		finish
		tr -d '\r' <seen | grep -v -e '"method"' -e waiting | sed 's/^.*\(acp-budget: \)/\1/'
	}
	assert_equal "$(prompts --max-cost 5USD,20USD/day --max-tokens 2k --max-turns 3 --max-context 95)" \
	    'acp-budget: s: 0.04 of 5 USD, 0.04 of 20 USD today, 500 of 2,000 tokens, 1 of 3 turns, context 10% of 95%'
	assert_equal "$(prompts --target 1)" 'acp-budget: s: Target: 400 used (1 min ✓)'
}

@test "--hard cancels what runs" {
	plays '[{"hold":true,"updates":['"$(cost 5)"']}]'
	budget --hard --max-cost 5USD
	turn 1 s work
	assert_equal "$(jq -c .result.stopReason <<<"$LINE")" '"cancelled"'
	finish
	assert_equal "$(grep session/cancel got)" '{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}'
}

# bats test_tags=slow
@test "--hard cancels a nudge as well, and the last turn of --max-turns is not cut" {
	plays '[{"out":100},{"hold":true,"updates":['"$(context 99)"','"$(context 990)"']}]'
	budget --hard --max-context 95 --target 2k
	turn 1 s work
	assert_equal "$(jq -c '[.result.stopReason, .result.usage.outputTokens]' <<<"$LINE")" '["cancelled",100]'
	finish
	assert_equal "$(told | tail -n 1)" 's: Target: 100 / 2,000 (5%): --max-context 95% is reached: 99%, 990 of 1,000 tokens'
	plays '[{"out":1000}]'
	budget --hard --max-turns 1 --target 2k
	turn 1 s work
	assert_equal "$(jq -c '[.result.stopReason, .result.usage.outputTokens]' <<<"$LINE")" '["end_turn",2000]'
	finish
	run ! grep -q session/cancel got
}

# bats test_tags=slow
@test "limits that are not reached pass everything as it is" {
	plays '[{"out":5,"updates":['"$(cost 1)"']}]'
	budget --max-cost 5USD --max-tokens 5m --max-turns 100 --max-context 99%
	send ' {"id":1, "method":"session/prompt","params":{"sessionId":"s","prompt":[]},"x":1.50}'
	answer 1
	finish
	assert_equal "$(<got)" ' {"id":1, "method":"session/prompt","params":{"sessionId":"s","prompt":[]},"x":1.50}'
	assert_equal "$(<err)" ''
	assert_equal "$STATUS" 0
}

# family_agent NAME: one whose sub-agent reports a cost, and a context, of its own.
family_agent() {
	cat >agent <<-END
		#!/bin/bash
		while IFS= read -r line; do
			id=\$(jq .id <<<"\$line")
			if [[ \$line == *initialize* ]]; then
				echo '{"jsonrpc":"2.0","id":'\$id',"result":{"protocolVersion":1,"agentInfo":{"name":"$1","version":"9"}}}'
				continue
			fi
			echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"subagent_update","sessionId":"c"}}}'
			echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"c","update":{"sessionUpdate":"usage_update","used":99,"size":100,"cost":{"amount":4.50,"currency":"USD"}}}}'
			echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"usage_update","used":10,"size":100,"cost":{"amount":0.5,"currency":"USD"}}}}'
			echo '{"jsonrpc":"2.0","id":'\$id',"result":{"stopReason":"end_turn"}}'
		done
	END
	chmod +x agent
}

# bats test_tags=slow
@test "limits hold for a session together with its sub-agents" {
	family_agent any
	for limit in '--max-cost 2USD' '--max-context 90%'; do
		# shellcheck disable=SC2086
		budget $limit
		turn 1 s one
		turn 2 s two
		assert_regex "$(error)" "${limit% *}"
		finish
	done
}

# bats test_tags=slow
@test "costs of sub-agents that the agent's own include are not added" {
	family_agent claude-agent-acp
	budget --max-cost 2USD
	send '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'
	answer 0
	turn 1 s one
	turn 2 s two
	assert_equal "$(jq -r .result.stopReason <<<"$LINE")" end_turn
	finish
}
