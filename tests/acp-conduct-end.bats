#!/usr/bin/env bats
# acp-conduct: how a chain ends, in order and otherwise, and that nothing is left of it.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load conduct
	lib_setup
}

teardown() {
	end_left_over
}

# A filter in shell for both lanes. What reads 6 must not hold 7 open, else the agent's input never ends.
through='cat <&6 7>&- & cat >&7; exec 7>&-; wait'

client_leaves() {
	exec 9>&-
}

# has_said LINE: all of it.
has_said() {
	grep -qxF -- "$1" said
}

# --- in order

@test "when the client leaves, the end of input runs down the chain and what is under way comes up" {
	run --separate-stderr acp-conduct -f "$through" -d cat -u cat -f "$through" -- sh -c 'cat >/dev/null; seq 200000; exit 3' <<<'x'
	assert_failure 3
	assert_equal "${#lines[@]}" 200000
	assert_line --index 199999 200000
}

@test "when the agent ends, the chain drains upwards and conduct ends, though the client is there" {
	start_quietly -d cat -u cat -- sh -c 'seq 200000; exit 3'
	ends_itself 3
	assert_equal "$(tail -n 1 got)" 200000
	assert_equal "$(cat said)" 'acp-conduct: agent: ended with exit status 3'
}

@test "an agent that no proxy has asked to initialize sees the end of its input, too" {
	run --separate-stderr timeout 60 acp-conduct --no-mcp --grace 1000s -p 'jq -c --unbuffered "{id, result: {}}"' -- cat \
		<<<'{"id":1,"method":"initialize","params":{}}'
	assert_success
	assert_output '{"id":1,"result":{}}'
}

@test "a frame filter ends in order when the agent has, though the client is there" {
	start -f 'rulefilter x:drop' -f 'rulefilter x:drop' -- sh -c 'echo "{\"method\":\"hello\"}"; exit 3'
	ends_itself 3
	assert_equal "$(cat got)" '{"method":"hello"}'
	has_said 'acp-conduct: rulefilter: exit status 0, down - messages - bytes, up - messages - bytes, 0 restarts'
	run ! grep -q -e died -e stopped said
}

@test "output that cannot be written for want of room is reported in a routed chain, and the status says so" {
	[[ -e /dev/full ]] || skip 'there is no /dev/full'
	run --separate-stderr -125 bash -c 'echo "$1" | acp-conduct --record /dev/null -- cat >/dev/full' - '{"id":1,"method":"initialize"}'
	assert_equal "$stderr" 'acp-conduct: writing to the client: No space left on device'
}

@test "the status of a component comes before that of output that cannot be written" {
	[[ -e /dev/full ]] || skip 'there is no /dev/full'
	run --separate-stderr -3 bash -c 'echo "$1" | acp-conduct --record /dev/null -u "sh -c \"cat; exit 3\"" -- cat >/dev/full' - \
		'{"id":1,"method":"initialize"}'
	[[ $stderr == *'acp-conduct: writing to the client: No space left on device'* ]]
}

@test "the agent's closing of its stdout is an end of file, too" {
	start_quietly -u 'cat; echo the end' -- sh -c 'echo x; exec >/dev/null; cat'
	wait_for grep -q 'the end' got
	client_leaves
	ends_itself 0
}

@test "end of input passes over socket pairs as well" {
	run --separate-stderr meet sockets acp-conduct -f "$through" -- sh -c 'cat; exit 3' <<<'x'
	assert_failure 3
	assert_output x
	run --separate-stderr meet socket acp-conduct -f "$through" -- sh -c 'cat; exit 3' <<<'x'
	assert_failure 3
	assert_output x
	run --separate-stderr meet terminal acp-conduct -f "$through" -- sh -c 'cat; exit 3' <<<'x'
	assert_failure 3
	assert_output x
}

# bats test_tags=slow
@test "what a proxy works on when the client has left still arrives; what it has dropped is not waited for" {
	! portable || skip 'the processor time of another process is not known where the system is not Linux'
	conduct_setup
	# It works for 2.5 s of processor time on each notification, and drops those of x/drop.
	cat >slow.py <<-'END'
		import json, sys, time
		for line in sys.stdin:
		    m = json.loads(line)
		    if 'method' in m:
		        if m['method'] == 'x/drop':
		            continue
		        while m['method'] == 'x/keep' and time.process_time() < 2.5:
		            pass
		        m['params'] = {'method': m['method'].removeprefix('proxy/'), 'params': m.get('params', {})}
		        m['method'] = 'proxy/successor'
		    print(json.dumps(m, separators=(',', ':')), flush=True)
	END
	for method in x/keep x/drop; do
		start --grace 300s -p 'python3 slow.py' -- ./agent
		begin
		say '{"jsonrpc":"2.0","method":"'$method'"}'
		ends 0
	done
	run -0 grep -c x/ agent.log
	assert_output 1
	grep -q x/keep agent.log
}

@test "where stdin is a file, all of it reaches the agent, and its end too" {
	seq 100000 >sent
	run acp-conduct -f "$through" -d cat -- wc -l <sent
	assert_success
	assert_output 100000
	run acp-conduct -f "$through" -d cat -- wc -l </dev/null
	assert_success
	assert_output 0
}

@test "a filter whose process ends before those that it has started may still deliver" {
	# Its second cat goes on when the first has seen the end.
	run acp-conduct -f 'cat <&6 7>&- & exec cat >&7 6<&-' -- sh -c 'cat >/dev/null; seq 200000' <<<'x'
	assert_success
	assert_equal "${#lines[@]}" 200000
}

# --- deaths, where they are not mended (acp-conduct-filters.bats)

@test "a filter that is killed ends the chain: what it has passed on and what waits is delivered" {
	start --on-crash fail -u cat -f 'rulefilter x:drop' -- sh -c 'echo "{\"method\":\"hello\"}"; cat >down'
	echo '{"method":"down"}' >&9
	wait_for grep -q down down
	wait_for grep -q hello got
	kill -9 "$(pid_of rulefilter)"
	ends_itself 137
	has_said 'acp-conduct: rulefilter: died (signal KILL); ending the chain'
	has_said 'acp-conduct: agent: exit status 0, down - messages - bytes, up - messages - bytes'
	has_said 'acp-conduct: cat: exit status 0, down - messages - bytes, up - messages - bytes, 0 restarts'
}

@test "a filter that ends before its input has died, whatever its status: 125 for 0" {
	start_quietly --on-crash fail -d 'head -n 1' -- cat
	echo one >&9
	ends_itself 125
	assert_equal "$(cat got)" one
	has_said 'acp-conduct: head: died (exit status 0); ending the chain'
}

# bats test_tags=slow
@test "the first that dies counts, where the agent's status is 0" {
	start_quietly --on-crash fail --grace 100ms -u 'read x; exit 5' -f "rulefilter y:drop" -- sh -c 'echo "{\"method\":\"x\"}"; cat'
	ends_itself 5
	has_said 'acp-conduct: read: died (exit status 5); ending the chain'
}

# bats test_tags=slow
@test "each of a chain can be killed: its neighbours end, and nobody is left" {
	for name in cat cat.2 trap rulefilter agent; do
		start --on-crash fail --grace 200ms -d cat -u cat -f 'rulefilter x:drop' -d 'trap "" TERM; cat; exit' -- cat
		echo '{"method":"hello"}' >&9
		wait_for grep -q hello got
		kill -9 "$(pid_of "$name")"
		ends_itself 137
		has_said "acp-conduct: $name: died (signal KILL); ending the chain"
		client_leaves
	done
}

@test "conduct can be killed: nobody is left, not even who ignores TERM or has children" {
	start -f "$through" -u 'trap "" TERM; cat & cat; wait' -- sh -c 'sleep 1000 & sleep 1000'
	wait_for grep -q agent said
	kill -9 "$conduct"
	ends_itself 137
}

# bats test_tags=slow
@test "the guardian can be killed without harm" {
	start -- cat
	wait_for grep -q agent said
	for pid in $(left_over); do
		[[ $(ps -o ppid=,comm= -p "$pid") =~ ^\ *$conduct\ acp-conduct$ ]] && kill -9 "$pid"
	done
	echo hello >&9
	wait_for grep -q hello got
	client_leaves
	ends_itself 0
}

# guardian: the process ids of acp-conduct's children that are acp-conduct themselves.
guardian() {
	local pid
	for pid in $(left_over); do
		[[ ! $(ps -o ppid=,comm= -p "$pid") =~ ^\ *$conduct\ acp-conduct$ ]] || echo "$pid"
	done
}
another_guardian() { [[ -n $(guardian) && $(guardian) != "$1" ]]; }

# bats test_tags=slow
@test "a guardian that was killed is started again: still nobody is left when conduct is killed, too" {
	start -f "$through" -u 'trap "" TERM; cat & cat; wait' -- sh -c 'trap "" TERM; sleep 1000 & sleep 1000'
	wait_for grep -q agent said
	first=$(guardian)
	kill -9 "$first"
	wait_for another_guardian "$first"
	kill -9 "$conduct"
	ends_itself 137
}

# --- what does not end by itself

@test "an agent that ignores the end of its input is stopped after the grace period, which counts as 0" {
	run acp-conduct --grace 100ms -f "$through" -- sh -c 'cat; exec sleep 1000' <<<'x'
	assert_success
	assert_line 'acp-conduct: agent: did not end within the grace period; stopped (signal TERM)'
	leaves_nobody
}

# bats test_tags=slow
@test "one that ignores SIGTERM gets SIGKILL, and so do those that it has started" {
	run acp-conduct --grace 100ms -- sh -c 'trap "" TERM; sleep 1000 & while :; do sleep 1; done' </dev/null
	assert_success
	assert_output 'acp-conduct: agent: did not end within the grace period; stopped (signal KILL)'
	leaves_nobody
}

# bats test_tags=slow
@test "a filter that ignores the end of its input is stopped, and the agent then sees it" {
	run acp-conduct --grace 600ms -d 'cat; exec sleep 1000' -- sh -c 'cat; exit 3' <<<'x'
	assert_failure 3
	assert_line x
	assert_line 'acp-conduct: cat: did not end within the grace period; stopped (signal TERM)'
}

# bats test_tags=slow
@test "in a chain that is recorded, too, only the filter that holds up a direction is stopped" {
	local way
	cat >stuck <<-'EOS'
		#!/bin/sh
		# Passes both directions on, and in one of them ignores the end of its input.
		(cat <&6; if [ $1 = up ]; then exec sleep 1000; fi) 7>&- &
		cat >&7
		if [ $1 = down ]; then exec sleep 1000 >&-; fi
		exec 7>&-
		wait
	EOS
	cat >agent <<-'EOS'
		#!/bin/sh
		trap 'echo stopped >>log' TERM
		jq -c --unbuffered '{jsonrpc: "2.0", id, result: {protocolVersion: 1}}'
		echo end >>log
	EOS
	chmod +x stuck agent
	for way in down up; do
		rm -f log
		run --separate-stderr acp-conduct --no-mcp --record r.rec --grace 200ms -f "$through" -f "./stuck $way" -f "$through" -- ./agent \
			<<<'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'
		assert_success
		assert_output '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'
		assert_equal "$stderr" 'acp-conduct: stuck: did not end within the grace period; stopped (signal TERM)'
		assert_equal "$(cat log)" end
	done
}

@test "a request fails once nobody holds the ended agent's standard output, though its child runs on" {
	conduct_setup
	cat >agent <<-'EOS'
		#!/bin/sh
		read -r x
		echo "$x" | jq -c '{jsonrpc, id, result: {protocolVersion: 1}}'
		read -r x
		(read -r x <leave; exec sleep 1000 >&-) &
		exit 3
	EOS
	mkfifo leave
	start --no-mcp --grace 1000s -p acp-tap -- ./agent
	begin
	say '{"jsonrpc":"2.0","id":1,"method":"session/list"}'
	says 'agent: exit status 3'
	run ! responded 1
	echo >leave
	gets '"code":-32603'
	kill -9 "$conduct"
	ends_itself 137
}

# bats test_tags=slow
@test "the grace period begins when the agent has read its input, not when the client has left" {
	# Each line takes a fifth of the grace period, all of them two.
	run acp-conduct --grace 1500ms -- sh -c 'while read -r x; do sleep 0.3; echo "$x"; done' < <(seq 10)
	assert_success
	assert_equal "${lines[*]}" '1 2 3 4 5 6 7 8 9 10'
	seq 10 >file
	run acp-conduct --grace 1500ms -- sh -c 'while read -r x; do sleep 0.3; echo "$x"; done' <file
	assert_success
	assert_equal "${lines[*]}" '1 2 3 4 5 6 7 8 9 10'
}

# bats test_tags=slow
@test "what the agent has written waits for a client that is slow, as long as it takes" {
	mkfifo client up
	exec 9<>client 8<>up
	acp-conduct -v --grace 50ms -u cat -- seq 20000 <client >up 2>said 9>&- 8>&- &
	conduct=$!
	wait_for grep -q 'agent: exit status 0' said
	# Another chain's patience, several times ours, is our clock.
	acp-conduct --grace 500ms -- sleep 1000 </dev/null 2>/dev/null 8>&-
	exec 7<up 8>&-
	assert_equal "$(tail -n 1 <&7)" 20000
	ends_itself 0
}

# bats test_tags=slow
@test "who holds the agent's pipes after its end does so for the grace period" {
	mkfifo client
	exec 9<>client
	run --separate-stderr acp-conduct --grace 100ms -u cat -- sh -c 'sleep 1000 & echo x; exit 3' <client 9>&-
	assert_failure 3
	assert_output x
	leaves_nobody
}

@test "what the agent leaves behind without the pipes is ended at once" {
	run acp-conduct --grace 1000s -u cat -- sh -c 'sleep 1000 <&- >&- 2>&- & exit 3' </dev/null
	assert_failure 3
	leaves_nobody
}

# bats test_tags=slow
@test "a down filter that nobody needs any more does not hold up the end" {
	start_quietly --grace 1000s -d cat -d cat -- sh -c 'echo x; exit 3'
	ends_itself 3
	assert_equal "$(cat said)" 'acp-conduct: agent: ended with exit status 3'
}

# bats test_tags=slow
@test "when the client closes its end, the first component meets that, and the rest follows" {
	mkfifo client up
	exec 9<>client 8<>up
	acp-conduct --grace 1000s -u cat -- yes <client >up 2>said 8>&- 9>&- &
	conduct=$!
	exec 7<up 8>&-
	head -n 1 <&7 >first
	exec 7<&-
	ends_itself 141
	assert_equal "$(cat first)" y
}

# --- signals

@test "the first SIGINT, SIGTERM or SIGHUP is as if the client had left" {
	for signal in INT TERM HUP; do
		start_quietly -f 'rulefilter x:drop' -- sh -c 'cat; echo "{\"method\":\"bye\"}"; exit 3'
		echo '{"method":"hello"}' >&9
		wait_for grep -q hello got
		kill -$signal "$conduct"
		ends_itself 3
		grep -q bye got
		client_leaves
	done
}

@test "an agent alone gets the signal as SIGTERM; that counts as 0, with a line" {
	start_quietly -- cat
	echo hello >&9
	wait_for grep -q hello got
	kill -INT "$conduct"
	ends_itself 0
	assert_equal "$(cat said)" 'acp-conduct: agent: stopped (signal TERM)'
}

# bats test_tags=slow
@test "at a terminal the first signal ends what is typed" {
	mkfifo typed
	exec 9<>typed
	meet terminal acp-conduct -v -- sh -c 'cat; exit 3' <typed >got 2>said 9>&- &
	conduct=$!
	echo hello >&9
	wait_for grep -q hello got
	printf '\003' >&9 # ^C: to the terminal's foreground group, which is conduct's alone
	ends_itself 3
	exec 9>&-
}

# bats test_tags=slow
@test "the second signal is for all groups, and the exit status is 128+N" {
	for signal in INT:130 TERM:143 HUP:129; do
		start_quietly --grace 1000s -f "trap 'echo told' TERM; echo up; while :; do sleep 0.01; done" -- sh -c 'trap "exit 9" TERM; while :; do sleep 0.01; done'
		wait_for grep -q up got
		# Two that are sent at once may come as one, or the other way round.
		kill -TERM "$conduct"
		wait_for grep -q told got
		kill -"${signal%:*}" "$conduct"
		ends_itself "${signal#*:}"
		client_leaves
	done
}

@test "SIGHUP stays ignored under nohup" {
	trap '' HUP
	start_quietly -d 'trap "" TERM; cat' -- cat
	trap - HUP
	echo hello >&9
	wait_for grep -q hello got
	kill -HUP "$conduct"
	echo more >&9
	wait_for grep -q more got
	client_leaves
	ends_itself 0
	assert_equal "$(cat said)" ''
}
