#!/usr/bin/env bats
# acp-budget: limits of days, weeks and months, which all processes that share a ledger keep together.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load budget
	lib_setup
	export XDG_STATE_HOME=$PWD/state
	# It is noon here, whenever that is.
	TZ="<noon>$(($(date -u +%-H) - 12))"
	export TZ
}

teardown() {
	exec 8>&- 9<&-
	end_left_over
}

# spends COST [BEFORE]: an agent that says its name, and that each turn has cost so much, and 100 tokens; BEFORE: what a loaded session has cost.
spends() {
	cat >agent <<-END
		#!/usr/bin/env -S jq -cn --unbuffered -f
		def cost(\$m; \$n): {method: "session/update", params: {sessionId: \$m.params.sessionId, update: {sessionUpdate: "usage_update", used: 1, size: 9,
			cost: {amount: \$n, currency: "USD"}}}};
		foreach inputs as \$m ({};
			.out = [if \$m.method == "initialize" then {id: \$m.id, result: {protocolVersion: 1, agentInfo: {name: "\$A", version: "1"}}}
			elif \$m.method == "session/new" then {id: \$m.id, result: {sessionId: \$m.params._meta.name}}
			elif \$m.method == "session/load" then
				(\$m.params._meta.cost // empty | cost(\$m; .)), {id: \$m.id, result: {}}
			elif \$m.method == "session/prompt" then
				cost(\$m; (.[\$m.params.sessionId] // ${2:-0}) + $1),
				{id: \$m.id, result: {stopReason: "end_turn", usage: {totalTokens: 100, inputTokens: 90, outputTokens: 10}}}
			else empty end]
			| if \$m.method == "session/prompt" then .[\$m.params.sessionId] = (.[\$m.params.sessionId] // ${2:-0}) + $1 else . end;
			.out[])
	END
	sed -i "s/\$A/${AGENT-spender}/" agent
	chmod +x agent
}

# opens SESSION [DIRECTORY [METHOD [META]]]
opens() {
	send '{"id":"i","method":"initialize","params":{"protocolVersion":1}}'
	until_line '"id":"i"'
	send "{\"id\":\"o\",\"method\":\"session/${3-new}\",\"params\":{\"sessionId\":\"$1\",\"cwd\":\"${2-/src/x}\",\"_meta\":{\"name\":\"$1\"${4-}}}}"
	until_line '"id":"o"'
}

# entry TIME AMOUNT [MEMBERS]: of a ledger.
entry() {
	printf '{"acp-ledger":1,"time":"%s","session":"before","turns":1,"tokens":{"total":1000},"cost":[{"amount":%s,"currency":"USD"}]%s}\n' \
	    "$(date -u -d "@$(date -d "$1" +%s.%N)" +%FT%T.%6NZ)" "$2" "${3-}"
}

error() {
	jq -r '.error.message' <<<"$LINE"
}

# spent [FILE]: all costs in it.
spent() {
	jq -s '[.[].cost[]?.amount] | add' "${1-ledger}"
}

# bats test_tags=slow
@test "a limit of a day holds for all sessions of all processes, and a session has its own beside it" {
	spends 1
	budget --max-cost 3USD/day,2USD/session --ledger ledger
	opens a
	turn 1 a one
	turn 2 a two
	turn 3 a three
	assert_equal "$(error)" 'acp-budget: --max-cost 2 USD is reached: 2 USD'
	finish
	assert_equal "$STATUS" 1
	budget --max-cost 3USD/day,2USD/session --ledger ledger
	opens b
	turn 1 b one
	turn 2 b two
	assert_equal "$(error)" 'acp-budget: --max-cost 3 USD/day is reached: 3 USD today'
	# Another session of the same process, which nobody has opened.
	turn 3 c one
	assert_equal "$(error)" 'acp-budget: --max-cost 3 USD/day is reached: 3 USD today'
	finish
	assert_equal "$STATUS" 1
	assert_equal "$(told)" 'b: --max-cost 3 USD/day is reached: 3 USD today'
	assert_equal "$(spent)" 3
	assert_equal "$(stat -c %a ledger)" 600
}

# bats test_tags=slow
@test "what another process spends counts for the next prompt of one that runs" {
	spends 1
	budget --max-tokens 300/week --ledger ledger
	opens a
	turn 1 a one
	entry now 0 | sed 's/:1000/:199/' >>ledger
	turn 2 a two
	assert_equal "$(jq -r .result.stopReason <<<"$LINE")" end_turn
	turn 3 a three
	assert_equal "$(error)" 'acp-budget: --max-tokens 300/week is reached: 399 tokens this week'
	finish
}

@test "--hard cancels a turn when the limit of a day is reached" {
	plays '[{"hold":true,"updates":[{"sessionUpdate":"usage_update","used":1,"size":9,"cost":{"amount":1,"currency":"USD"}}]}]'
	entry now 4.5 >ledger
	budget --hard --max-cost 5USD/day --ledger ledger
	turn 1 s work
	assert_equal "$(jq -r .result.stopReason <<<"$LINE")" cancelled
	finish
	assert_equal "$(told)" 's: --max-cost 5 USD/day is reached: 5.5 USD today'
}

@test "--hard: when one session reaches the limit of a day, all that run are cancelled" {
	plays '[{"hold":true},{"hold":true,"updates":[{"sessionUpdate":"usage_update","used":1,"size":9,"cost":{"amount":5,"currency":"USD"}}]}]'
	budget --hard --max-cost 5USD/day --ledger ledger
	prompt 1 a one
	wait_for grep -qs '"session/prompt"' got
	prompt 2 b two
	two() { [[ $(grep -c session/cancel got) -eq 2 ]]; }
	wait_for two
	finish
	assert_equal "$(grep session/cancel got | jq -r .params.sessionId | sort | tr '\n' ' ')" 'a b '
	assert_equal "$(told | grep -c 'is reached: 5 USD today$')" 2
}

@test "--hard: when the response to a nudge reaches the limit of a day, all sessions that run are cancelled" {
	plays '[{"hold":true},{"out":100},{"out":900}]'
	budget --hard --target 2k --max-tokens 1k/day --ledger ledger
	prompt 1 a one
	wait_for grep -qs '"session/prompt"' got
	prompt 2 b two
	wait_for grep -q session/cancel got
	finish
	assert_equal "$(grep session/cancel got | jq -r .params.sessionId)" a
	assert_equal "$(told | grep -c '^[ab]: --max-tokens .* is reached: ')" 2
}

# bats test_tags=slow
@test "an entry counts in its own day, week and month, by the local time" {
	spends 1
	# shellcheck disable=SC2043 # the moments are computed once
	for case in "today 00:00:00|day|refused" "yesterday 23:59:59|day|passed" "tomorrow 00:00:00|day|passed" \
	    "$(date +%Y-%m-01) 00:00:00|month|refused" "$(date +%Y-%m-01) 1 second ago|month|passed" \
	    "$(date -d "$(($(date +%u) - 1)) days ago" +%F) 00:00:00|week|refused" \
	    "$(date -d "$(($(date +%u) - 1)) days ago" +%F) 1 second ago|week|passed"; do
		echo "$case"
		IFS='|' read -r when period what <<<"$case"
		entry "$when" 5 >ledger
		budget --max-cost "5USD/$period" --ledger ledger
		opens a
		turn 1 a one
		finish
		if [[ $what == refused ]]; then
			assert_regex "$(error)" "--max-cost 5 USD/$period is reached: 5 USD (today|this week|this month)\$"
		else
			assert_equal "$(jq -r .result.stopReason <<<"$LINE")" end_turn
		fi
	done
}

@test "days are 23 and 25 hours long where clocks change" {
	for when in 2026-03-28T22:59:59 2026-03-28T23:00:00 2026-03-29T21:59:59 2026-03-29T22:00:00 \
	    2026-10-24T21:59:59 2026-10-24T22:00:00 2026-10-25T22:59:59 2026-10-25T23:00:00; do
		entry "${when}Z" 1
	done >ledger
	run -0 env TZ=CET-1CEST,M3.5.0,M10.5.0/3 acp-budget --report --ledger ledger
	assert_equal "$(awk 'NR > 1 { print $1, $2 }' <<<"$output")" '2026-03-28 1
2026-03-29 2
2026-03-30 1
2026-10-24 1
2026-10-25 2
2026-10-26 1
total of'
}

# bats test_tags=slow
@test "--scope: the project, the agent, or a key" {
	spends 1
	{
		entry now 5 ',"project":"/src/x","agent":"other"'
		entry now 50 ',"project":"/src/y","agent":"spender","scope":"k"'
	} >before
	for case in '--scope project|/src/x|5 USD today (project /src/x)' '--scope agent|/src/x|50 USD today (agent spender)' \
	    '--scope k|/src/x|50 USD today (k)' '--scope user|/src/z|55 USD today' '--scope project|/src/z|' '--scope user2|/src/x|'; do
		echo "$case"
		IFS='|' read -r options directory want <<<"$case"
		cp before ledger
		# shellcheck disable=SC2086
		budget $options --max-cost 5USD/day --ledger ledger
		opens a "$directory"
		turn 1 a one
		finish
		assert_equal "$(error)" "${want:+acp-budget: --max-cost 5 USD/day is reached: $want}$([[ $want ]] || echo null)"
	done
	# The last one wrote its key.
	assert_equal "$(tail -n 1 ledger | jq -c '[.scope, .project, .agent, .session, .tokens.total]')" '["user2","/src/x","spender","a",100]'
}

@test "--scope agent: a name with NUL counts like any other" {
	AGENT='a\\u0000b' spends 3
	budget --scope agent --max-cost 5USD/day --ledger ledger
	opens s
	turn 1 s one
	turn 2 s two
	turn 3 s three
	assert_regex "$(error)" '^acp-budget: --max-cost 5 USD/day is reached: 6 USD today'
	finish
	assert_equal "$(spent)" 6
}

@test "a sub-agent that reports a cost before its parent names it is counted once" {
	cat >agent <<-'END'
		#!/usr/bin/env -S jq -cn --unbuffered -f
		def update($s; $u): {method: "session/update", params: {sessionId: $s, update: $u}};
		def cost($s; $n): update($s; {sessionUpdate: "usage_update", used: 1, size: 9, cost: {amount: $n, currency: "USD"}});
		inputs | if .method == "session/prompt" then
			cost("child"; 0.5), cost("child"; 5), update("s"; {sessionUpdate: "subagent_update", sessionId: "child"}), cost("s"; 1), cost("child"; 6),
			{id, result: {stopReason: "end_turn"}}
		elif .method == "initialize" then {id, result: {protocolVersion: 1}} else {id, result: {sessionId: "s"}} end
	END
	chmod +x agent
	budget --ledger ledger
	opens s
	turn 1 s one
	finish
	assert_equal "$(spent)" 7
}

# bats test_tags=slow
@test "auto is below XDG_STATE_HOME, and a limit with a period implies it; --ledger alone only writes" {
	spends 1
	budget --max-cost 1USD/day
	opens a
	turn 1 a one
	finish
	assert_equal "$(stat -c %a state/acp state/acp/ledger | tr '\n' ' ')" '700 600 '
	budget --ledger auto
	opens b
	turn 1 b one
	finish
	assert_equal "$STATUS" 0
	assert_equal "$(spent state/acp/ledger)" 2
	run -0 acp-budget --report --by agent
	assert_regex "${lines[1]}" '^spender +2 +200 .* 2.00 USD$'
	# It is none of the recordings that lie beside it.
	run acp-tap --list
	assert_output 'acp-tap: there is no recording; acp-tap -o auto makes one'
}

@test "an agent that was restarted: the higher sum counts" {
	cat >agent <<-'END'
		#!/bin/sh
		while read -r line; do
			n=$((n + 1))
			[ $n != 2 ] || echo '{"jsonrpc":"2.0","method":"_acp-revive/restarted","params":{"restarts":1,"why":"killed"}}'
			id=${line#*'"id":'} id=${id%%,*}
			echo '{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"usage_update","used":1,"size":9,"cost":{"amount":0.02,"currency":"USD"}}}}'
			echo '{"id":'$id',"result":{"stopReason":"end_turn"}}'
		done
	END
	chmod +x agent
	budget --max-cost 0.04USD/day --ledger ledger
	turn 1 s one
	turn 2 s two
	turn 3 s three
	assert_equal "$(error)" 'acp-budget: --max-cost 0.04 USD/day is reached: 0.04 USD today'
	finish
	assert_equal "$(spent)" 0.02
	run -0 acp-budget --report --ledger ledger
	assert_regex "$output" '>=0.0200 USD'
}

# bats test_tags=slow
@test "a session that is loaded: what it has cost before is not counted again" {
	# load COST-OF-A-TURN COST-BEFORE [META]: a process that loads the session and prompts it once.
	load_once() {
		spends "$1" "$2"
		budget --ledger ledger
		opens a /src/x load "${3-}"
		turn 1 a one
		finish
		assert_equal "$(told)" ''
	}
	# Nobody knows what this cost before.
	load_once 1 5
	assert_equal "$(spent)" null
	# The ledger does, now: this goes on from 6.
	load_once 1 6
	assert_equal "$(spent)" 1
	# This agent begins at 0.
	load_once 2 0
	assert_equal "$(spent)" 3
	load_once 3 2
	assert_equal "$(spent)" 6
	# And this says it at once.
	load_once 4 100 ',"cost":100'
	assert_equal "$(spent)" 10
}

# bats test_tags=slow
@test "a part of a line at the end is cut off, and a whole line that lacks its newline is kept" {
	spends 1
	for tail in "$(entry now 7)" "$(entry now 7 | head -c 150)" '{' "$(entry now 7)"$'\n{"acp-ledger":'; do
		printf '%s\n%s' "$(entry now 1)" "$tail" >ledger
		budget --strict --ledger ledger --max-cost 100USD/day
		opens a
		turn 1 a one
		finish
		assert_equal "$STATUS" 0
		assert_equal "$(jq -s length ledger)" "$([[ $tail == *\}* ]] && echo 4 || echo 3)"
	done
}

# bats test_tags=slow
@test "a damaged line is named; with --strict it refuses prompts" {
	spends 1
	for line in '{"acp-ledger":2}' 'x' '{"acp-ledger":1,"time":"now","session":"s"}' '{"acp-ledger":1,"time":"2026-11-24T00:00:00Z","session":"s","cost":[{"amount":"5"}]}'; do
		{
			entry now 1
			echo "$line"
			entry now 1
		} >ledger
		budget --ledger ledger --max-cost 2USD/day
		opens a
		turn 1 a one
		assert_equal "$(error)" 'acp-budget: --max-cost 2 USD/day is reached: 2 USD today'
		finish
		assert_regex "$(head -n 1 err)" '^acp-budget: the ledger ledger: line 2 is damaged \([a-z-]+\), and not counted$'
		assert_equal "$(grep -c damaged err)" 1
		budget --ledger ledger --max-cost 20USD/day --strict
		opens a
		turn 1 a one
		turn 2 a two
		assert_regex "$(error)" '^acp-budget: the ledger ledger: line 2 is damaged'
		finish
		assert_equal "$STATUS" 1
		run -2 acp-budget --report --ledger ledger
		assert_regex "$output" '^acp-usage: ledger: line 2: '
	done
}

# bats test_tags=slow
@test "what is no ledger stays as it is: one line, or with --strict no prompts" {
	spends 1
	printf 'precious' >precious
	mkdir directory
	mkfifo fifo
	for file in precious directory fifo missing/ledger; do
		budget --ledger "$file"
		opens a
		turn 1 a one
		turn 2 a two
		assert_equal "$(jq -r .result.stopReason <<<"$LINE")" end_turn
		finish
		assert_equal "$STATUS" 125
		assert_regex "$(<err)" "^acp-budget: the ledger $file: (it is another file, and no ledger|Is a directory|No such file or directory)"$'\n'"acp-budget: 2 turns are not in the ledger\$"
		budget --ledger "$file" --strict
		opens a
		turn 1 a one
		assert_regex "$(error)" "^acp-budget: the ledger $file: (it is another file, and no ledger|Is a directory|No such file or directory)\$"
		finish
		assert_equal "$STATUS" 1
	done
	assert_equal "$(<precious)" precious
}

# bats test_tags=slow
@test "a full disk: nothing is written by halves, what is not written counts, and is written later" {
	spends 1
	entry now 1 >ledger
	yes "$(entry now 0)" | head -c 1010 | head -n 6 >>ledger
	size=$(stat -c %s ledger)
	((size < 1024))
	# A file of at most one kilobyte.
	small() (
		ulimit -f 1
		exec acp-budget --max-cost 3USD/day --ledger ledger -- ./agent
	)
	start small
	opens a
	turn 1 a one
	turn 2 a two
	turn 3 a three
	assert_equal "$(error)" 'acp-budget: --max-cost 3 USD/day is reached: 3 USD today'
	finish
	assert_equal "$STATUS" 1
	assert_equal "$(<err)" 'acp-budget: the ledger ledger: No space left on device
acp-budget: a: --max-cost 3 USD/day is reached: 3 USD today
acp-budget: 2 turns are not in the ledger'
	assert_equal "$(stat -c %s ledger)" "$size"
}

# bats test_tags=slow
@test "a ledger that another process keeps locked: nothing waits for ever, and nothing is lost" {
	spends 1
	exec 9>>ledger
	flock 9
	budget --ledger ledger --max-cost 9USD/day
	opens a
	turn 1 a one
	turn 2 a two
	[ ! -s ledger ]
	flock -u 9
	turn 3 a three
	assert_equal "$(spent)" 3
	finish
	assert_equal "$STATUS" 0
	assert_equal "$(<err)" 'acp-budget: the ledger ledger: another process keeps it locked'
	flock 9
	budget --ledger ledger --max-cost 9USD/day --strict
	opens a
	turn 1 a one
	assert_equal "$(error)" 'acp-budget: the ledger ledger: another process keeps it locked'
	flock -u 9
	turn 2 a two
	assert_equal "$(jq -r .result.stopReason <<<"$LINE")" end_turn
	finish
}

# bats test_tags=slow
@test "a ledger that others lock in turn, so that it is never free: each has its turn" {
	spends 1
	: >ledger
	python3 - 3>&- <<-'END' &
		import fcntl, threading, time
		def hold():
		    with open("ledger", "r") as f:
		        while True:
		            fcntl.flock(f, fcntl.LOCK_EX)
		            open("held", "w").close()
		            time.sleep(.005)
		            fcntl.flock(f, fcntl.LOCK_UN)
		for i in range(3):
		    threading.Thread(target=hold, daemon=True).start()
		time.sleep(600)
	END
	echo $! >holder
	wait_for [ -e held ]
	budget --ledger ledger --max-cost 9USD/day --strict
	opens a
	turn 1 a one
	assert_equal "$(jq -r .result.stopReason <<<"$LINE")" end_turn
	turn 2 a two
	finish
	kill "$(<holder)"
	assert_equal "$(spent)" 2
	assert_equal "$(<err)" ''
}

# bats test_tags=slow
@test "a ledger that is renamed begins anew" {
	spends 1
	budget --ledger ledger --max-cost 1USD/day
	opens a
	turn 1 a one
	turn 2 a two
	assert_equal "$(error)" 'acp-budget: --max-cost 1 USD/day is reached: 1 USD today'
	mv ledger ledger.1
	turn 3 a three
	assert_equal "$(jq -r .result.stopReason <<<"$LINE")" end_turn
	turn 4 a four
	assert_equal "$(error)" 'acp-budget: --max-cost 1 USD/day is reached: 1 USD today'
	# And one that is emptied.
	: >ledger
	turn 5 a five
	assert_equal "$(jq -r .result.stopReason <<<"$LINE")" end_turn
	finish
	assert_equal "$(spent ledger.1) $(spent ledger)" '1 1'
}

@test "--strict: a damaged ledger that is renamed, or repaired in its place, refuses no more prompts until it is damaged again" {
	local cure
	spends 1
	for cure in 'mv ledger ledger.1' "sed '/^x\$/d' ledger >repaired; cat repaired >ledger"; do
		{
			entry now 1
			echo x
		} >ledger
		budget --ledger ledger --strict
		opens a
		turn 1 a one
		assert_regex "$(error)" 'line 2 is damaged'
		eval "$cure"
		turn 2 a two
		assert_equal "$(jq -r .result.stopReason <<<"$LINE")" end_turn
		echo x >>ledger
		turn 3 a three
		assert_regex "$(error)" 'is damaged'
		finish
	done
}

@test "acp-usage --merge adds up ledgers and summaries" {
	local -x TZ=UTC
	{
		entry 2026-11-20T10:00:00Z 1.25 ',"project":"/a","model":"m"'
		entry 2026-11-21T10:00:00Z 2 ',"project":"/a","model":"n"'
		entry 2026-11-22T10:00:00Z -0.05 ',"project":"/b"'
	} >ledger
	acp-usage --summary -f json "$FIXTURES/demo.rec" >summary
	run -0 acp-usage --merge -f json ledger summary
	assert_equal "$(tail -n 1 <<<"$output" | jq -c '[.sessions, .turns, .cost[0].amount]')" '[2,4,3.239775]'
	assert_equal "$(jq -c .recordings <<<"${lines[0]}")" null
	run -0 acp-usage --merge --since 2026-11-21T00:00 --before 2026-11-22T00:00 ledger
	assert_regex "${lines[1]}" ' 2.00 USD$'
	run -0 acp-usage --merge --by week ledger
	assert_equal "${#lines[@]}" 3
	run -2 acp-usage --merge --by day summary
	assert_line 'acp-usage: summary: line 1: a summary does not say when anything was used: --since, --before and --by day, week and month need recordings or a ledger'
	run -2 acp-usage --merge <(entry now '"x"')
	assert_output --partial 'line 1: a damaged entry of a ledger: cost'
}

@test "--report of what is not there, and of what is empty" {
	run -2 acp-budget --report --ledger nowhere
	assert_output 'acp-budget: nowhere: No such file or directory'
	: >ledger
	run -2 acp-budget --report --ledger ledger
}

# bats test_tags=slow
@test "50 processes at once, some of them killed: sums are exact, and the limit holds" {
	python3 "$TOP/tests/model/ledger.py" "${ACP_SEED:-$RANDOM}" "$(sample 8 50 12)" "${ACP_ROUNDS:-60}"
}

# bats test_tags=slow
@test "processes that share a ledger agree with the model, whoever is killed" {
	python3 "$TOP/tests/model/ledger.py" "${ACP_SEED:-$RANDOM}" 6 "$(sample 15 30)"
}
