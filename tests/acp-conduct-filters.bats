#!/usr/bin/env bats
# acp-conduct: filters that die are started again.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load conduct
	lib_setup
	export LIVES=$PWD/lives
	# mortal COMMAND...: in its first life this, in the others cat.
	mkdir bin
	cat >bin/mortal <<-'EOS'
		#!/bin/bash
		echo x >>"$LIVES"
		(($(wc -l <"$LIVES") == 1)) || exec cat
		eval "$*"
	EOS
	chmod +x bin/mortal
	PATH=$PWD/bin:$PATH
	m='{"method":"m","params":'
}

teardown() {
	end_left_over
}

# said_times N TEXT: so many lines of that have been said.
said_times() {
	[[ $(grep -cxF -- "acp-conduct: $2" said) -eq $1 ]]
}

# kill_again NAME [N]: kills it, and waits until it runs for the N-th time again.
kill_again() {
	kill -KILL "$(pid_of "$1")"
	wait_for runs "$1" $((${2:-1} + 1))
}

# Perhaps it has not been waited for.
is_dead() {
	local pid
	pid=$(pid_of "$1") && [[ $pid && (! -e /proc/$pid || $(<"/proc/$pid/stat") == *') Z '*) ]]
}

is_stopped() { [[ $(<"/proc/$1/stat") == *') T '* ]]; }

runs() {
	[[ $(grep -c "^acp-conduct: $1: pid " said) -eq $2 ]]
}

again='restarting it; messages that it had read but not forwarded are lost'

# messages: what the client got, but for the message that ends a line where it cannot be seen whether that has an end.
messages() {
	sed 's/{"jsonrpc":"2.0","method":"$\/cancel_request","params":{"requestId":"acp-conduct"}}$//' got | grep .
}

# asks TEXT: a message goes down, and comes back up.
asks() {
	echo "$m\"$1\"}" >&9
	wait_for grep -qxF "$m\"$1\"}" got
}

# --- it goes on

@test "a filter that is killed is started again, and the conversation goes on" {
	start -d cat -f acp-tap -u cat -- cat
	asks one
	for name in acp-tap cat cat.2; do
		kill_again $name
		said_times 1 "$name: died (signal KILL); $again"
		asks "after $name"
	done
	ends 0
	assert_equal "$(messages | grep -c .)" 4
	said_times 1 'acp-tap: exit status 0, down - messages - bytes, up - messages - bytes, 1 restarts'
}

# bats test_tags=slow
@test "after a crash nobody is hurried: the grace period is for the end" {
	start --grace 50ms -f acp-tap -u cat -- cat
	asks one
	kill_again acp-tap
	kill_again cat
	# Another chain's patience, several times ours, is our clock.
	acp-conduct --grace 500ms -- sleep 1000 </dev/null 2>/dev/null 9>&-
	asks two
	run ! grep -q stopped said
	ends 0
}

@test "one that ends before its input has died, whatever its status: it is started again" {
	start -d 'mortal head -n 1' -- cat
	asks one
	wait_for said_times 1 "mortal: died (exit status 0); $again"
	asks two
	ends 0
}

# bats test_tags=slow
@test "no byte passes through conduct, before a crash and after it" {
	start -d cat -d cat -- cat
	asks one
	before=$(awk '/char/ { n += $2 } END { print n }' "/proc/$conduct/io")
	for i in {1..50}; do asks "$i"; done
	after=$(awk '/char/ { n += $2 } END { print n }' "/proc/$conduct/io")
	((after == before))
	kill_again cat
	before=$(awk '/wchar/ { n += $2 } END { print n }' "/proc/$conduct/io")
	for i in {51..100}; do asks "$i"; done
	after=$(awk '/wchar/ { n += $2 } END { print n }' "/proc/$conduct/io")
	((after == before))
	ends 0
}

# bats test_tags=slow
@test "what lay unread in its pipes goes to the new process, in order" {
	start -f acp-tap -- cat
	asks one
	kill -STOP "$(pid_of acp-tap)"
	for i in {1..200}; do echo "$m$i}"; done >&9
	kill_again acp-tap
	wait_for grep -qF "${m}200}" got
	ends 0
	run -0 messages
	assert_equal "$output" "$(echo "$m\"one\"}"; for i in {1..200}; do echo "$m$i}"; done)"
	run ! grep dropped said
}

# bats test_tags=slow
@test "so it does at the second crash, when there is more than the pipes hold" {
	# Without a timeline: acp-tap ends with 125 where the reader of that is too slow.
	start -d 'acp-tap -o /dev/null' -d 'acp-tap -o /dev/null' -- cat
	asks one
	kill_again acp-tap
	kill_again acp-tap.2
	asks two
	kill -STOP "$(pid_of acp-tap)"
	# More than the pipes hold.
	seq -f "$m%.0f}" 20000 >&9 &
	wait_for has_written $! 60000
	kill_again acp-tap 2
	wait_for grep -qF "${m}20000}" got
	ends 0
	run -0 grep -cxE '\{"method":"m","params":[0-9]+\}' got
	assert_output 20000
	cmp <(grep -xE '\{"method":"m","params":[0-9]+\}' got) <(seq -f "$m%.0f}" 20000)
}

# has_written PID N: it has written at least so many bytes.
has_written() {
	(($(awk '/wchar/ { print $2 }' "/proc/$1/io") > $2))
}

# bats test_tags=slow
@test "two neighbours that die at once are both started again" {
	start -f acp-tap -f acp-tap -- cat
	asks one
	kill -KILL "$(pid_of acp-tap)" "$(pid_of acp-tap.2)"
	wait_for runs acp-tap 2
	wait_for runs acp-tap.2 2
	asks two
	ends 0
}

# blocked NAME N: the N-th process of a component waits for room in a pipe.
blocked() {
	runs "$1" "$2" && [[ $(<"/proc/$(pid_of "$1")/wchan") == *pipe_write ]]
}

# bats test_tags=slow
@test "two neighbours that die at once, each with more to pass on than the other can take, are both started again" {
	# In its second life it fills that descriptor and reads nothing, in the others it passes everything on (without a
	# timeline: acp-tap ends with 125 where the reader of that is too slow).
	cat >full <<-'EOS'
		#!/bin/bash
		echo >>"$LIVES.$1"
		(($(wc -l <"$LIVES.$1") != 2)) || exec yes "$2" >&"$1"
		exec acp-tap 2>/dev/null
	EOS
	chmod +x full
	start -f "./full 7 '${m}7}'" -f "./full 1 '${m}1}'" -- cat
	asks one
	kill -KILL "$(pid_of full)" "$(pid_of full.2)"
	wait_for blocked full 2
	wait_for blocked full.2 2
	kill -KILL "$(pid_of full)" "$(pid_of full.2)"
	wait_for runs full 3
	wait_for runs full.2 3
	asks two
	ends 0
}

@test "two neighbours that die at once, each within a line that the other has begun to read, are both started again" {
	! portable || skip 'what waits in a pipe cannot be looked at where the system is not Linux'
	cat >within <<-'EOS'
		#!/bin/bash
		echo >>"$LIVES.$1"
		(($(wc -l <"$LIVES.$1") == 1)) || exec acp-tap 2>/dev/null
		printf '{"method":"m","params":' >&"$1"
		head -c 10 <&"$2" >"begun.$1"
		exec sleep 1000
	EOS
	chmod +x within
	start -f './within 7 6' -f './within 1 0' -- cat
	wait_for grep -qs . begun.7
	wait_for grep -qs . begun.1
	kill -KILL "$(pid_of within)" "$(pid_of within.2)"
	wait_for runs within 2
	wait_for runs within.2 2
	asks two
	ends 0
	run -0 messages
	assert_output "$m\"two\"}"
}

# bats test_tags=slow
@test "over socket pairs, and at a terminal" {
	for how in socket sockets terminal; do
		: >lives
		rm -f typed got said
		mkfifo typed
		exec 9<>typed
		meet $how acp-conduct -v -d 'mortal cat' -u cat -- cat <typed >got 2>said 9>&- &
		conduct=$!
		asks one
		kill_again mortal
		kill_again cat
		asks two
		ends 0
	done
}

@test "the new process learns that it is a restart, and goes on with its recording; what it starts does not" {
	ACP_RESTARTED=1 start -f 'acp-tap -o s.rec' -u 'mortal "echo first \${ACP_RESTARTED-no} >&2; exec cat"' \
		-- sh -c 'echo "has ${ACP_RESTARTED-no}" >&2; exec cat'
	asks one
	kill_again acp-tap
	asks two
	ends 0
	grep -qxF 'agent: has no' said
	grep -qxF 'mortal: first no' said
	run -0 acp-tap -f raw --from client s.rec
	assert_output "$(printf '%s\n' "$m\"one\"}" '' "$m\"two\"}" | grep .)"
}

@test "-v counts what has passed through a filter, not what has gone past one for one direction" {
	start --record /dev/null -d 'tee down' -u 'tee up' -- sh -c 'read -r line; echo "{\"id\":1,\"result\":{}}"; cat >/dev/null'
	say '{"id":1,"method":"initialize"}'
	gets result
	ends 0
	said ": tee: exit status 0, down 1 messages $(wc -c <down) bytes, up 0 messages 0 bytes,"
	said ": tee.2: exit status 0, down 0 messages 0 bytes, up 1 messages $(wc -c <up) bytes,"
}

@test "after the death of a filter that had forwarded initialize, the client may send it again" {
	cat >late <<-'EOS'
		#!/bin/sh
		IFS= read -r first
		touch begun
		while [ ! -e gate ]; do sleep 0.01; done
		{ printf '%s\n' "$first"; cat; } | jq -c --unbuffered 'select(.id and .method) | {jsonrpc: "2.0", id, result: {}}'
	EOS
	chmod +x late
	start --record /dev/null -f 'acp-tap -o /dev/null' -- ./late
	say '{"jsonrpc":"2.0","id":1,"method":"initialize"}'
	wait_for test -e begun
	kill -KILL "$(pid_of acp-tap)"
	responds 1 -32603
	say '{"jsonrpc":"2.0","id":2,"method":"initialize"}'
	touch gate
	responds 2 '{}'
	ends 0
}

# --- lines that are torn

@test "the rest of a line that it had half read is dropped, with a line" {
	! portable || skip 'what waits in a pipe cannot be looked at where the system is not Linux'
	start -d 'mortal "dd bs=10 count=1 of=/dev/null 2>/dev/null; kill -9 \$\$"' -- cat
	echo "${m}1}" >&9
	asks two
	ends 0
	assert_equal "$(messages)" "$m\"two\"}"
	said_times 1 'mortal: down: dropped the rest of a line that it had partly read before it died (16 bytes)'
}

# bats test_tags=slow
@test "even where the rest comes later, and is long" {
	! portable || skip 'what waits in a pipe cannot be looked at where the system is not Linux'
	start -d 'mortal "dd bs=10 count=1 of=/dev/null 2>/dev/null; kill -9 \$\$"' -- cat
	printf '%s' "$m\"" >&9
	wait_for is_dead mortal
	head -c 300000 /dev/zero | tr '\0' x >&9
	echo '"}' >&9
	asks two
	ends 0
	assert_equal "$(messages)" "$m\"two\"}"
	said_times 1 'mortal: down: dropped the rest of a line that it had partly read before it died (300017 bytes)'
}

@test "even where the agent is stopped within the line, or waits for a processor" {
	! portable || skip 'what waits in a pipe cannot be looked at where the system is not Linux'
	start -u 'mortal "dd bs=10 count=1 of=/dev/null 2>/dev/null; kill -9 \$\$"' \
		-- sh -c 'echo $$ >agent; printf "{\"jsonrpc\""; kill -STOP $$; printf ":\"2.0\"}\n"; exec cat'
	wait_for is_dead mortal
	wait_for is_stopped "$(<agent)"
	# Three times as long as it waits for an agent that sleeps.
	sleep .3
	kill -CONT "$(<agent)"
	asks two
	ends 0
	assert_equal "$(messages)" "$m\"two\"}"
	said_times 1 'mortal: up: dropped the rest of a line that it had partly read before it died (8 bytes)'
}

@test "what it had not begun to read is not taken for a rest, not even a line with a CR" {
	start -d 'mortal "read -r x; kill -9 \$\$"' -- cat
	printf '%s\n%s\r\n%s\n' "${m}1}" "${m}2}" "${m}3}" >&9
	asks last
	ends 0
	assert_equal "$(messages)" "$(printf '%s\r\n%s\n%s' "${m}2}" "${m}3}" "$m\"last\"}")"
	run ! grep dropped said
}

@test "a torn line that it left is closed by a newline; what comes next is a line of its own" {
	mkfifo go
	start -d 'mortal "printf %s torn; kill -9 \$\$"' -- sh -c 'read x <go; exec cat'
	wait_for runs mortal 2
	# What waits in a pipe cannot be looked at elsewhere: there an empty line may come.
	portable || said_times 1 'mortal: down: wrote an incomplete line before it died; ended the line with a newline'
	echo go >go
	asks two
	ends 0
	assert_equal "$(messages)" "$(printf 'torn\n%s' "$m\"two\"}")"
}

# bats test_tags=slow
@test "where whole lines wait in the pipe none is added; where it cannot be seen, a message that means nothing, and never an empty line" {
	local added='{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"acp-conduct"}}'
	mkfifo go
	start -d 'mortal "echo {}; kill -9 \$\$"' -- sh -c 'read x <go; exec cat'
	wait_for runs mortal 2
	echo go >go
	asks two
	ends 0
	assert_equal "$(cat got)" "$(printf '%s\n' '{}'; ! portable || echo "$added"; echo "$m\"two\"}")"
	: >lives
	start -d 'mortal cat' -- cat
	asks one
	kill_again mortal
	asks two
	ends 0
	assert_equal "$(cat got)" "$(printf '%s\n' "$m\"one\"}" "$added" "$m\"two\"}")"
	: >lives
	mkfifo die
	start -d 'mortal "printf torn; read x <die; kill -9 \$\$"' -- cat
	wait_for grep -q torn got
	echo >die
	wait_for runs mortal 2
	asks two
	ends 0
	assert_equal "$(cat got)" "$(printf '%s\n' "torn$added" "$m\"two\"}")"
}

# --- how often, and what else may be wanted

@test "one that dies too often ends the chain in order, with its status" {
	start -d 'sh -c "read x; exit 7"' -- sh -c 'cat; echo "{}"'
	for i in 1 2 3 4; do
		echo "$m$i}" >&9
		wait_for died $i
	done
	ends 7
	said_times 3 "sh: died (exit status 7); $again"
	said_times 1 'sh: died (exit status 7), more often than --restarts 3/1m allows; ending the chain'
	grep -qxF '{}' got
}

died() {
	(($(grep -c 'sh: died' said) == $1))
}

@test "--restarts says how often; --on-crash is for those that follow" {
	start --restarts 0/1m -d cat -- cat
	asks one
	kill -KILL "$(pid_of cat)"
	ends 137
	said_times 1 'cat: died (signal KILL), more often than --restarts 0/1m allows; ending the chain'
	start -d cat --on-crash fail -u cat -- cat
	asks one
	kill_again cat
	asks two
	kill -KILL "$(pid_of cat.2)"
	ends 137
	said_times 1 'cat.2: died (signal KILL); ending the chain'
}

# bats test_tags=slow
@test "bypass takes out one that keeps dying, and joins its neighbours" {
	start --on-crash bypass --restarts 1/1m -f acp-tap -f acp-tap -f acp-tap -- cat
	asks one
	for name in acp-tap.2 acp-tap acp-tap.3; do
		kill_again $name
		asks "after $name"
		kill -KILL "$(pid_of $name)"
		wait_for said_times 1 "$name: died (signal KILL); bypassed; messages that it had read but not forwarded are lost"
		asks "without $name"
	done
	seq -f "$m%.0f}" 20000 >&9
	wait_for grep -qF "${m}20000}" got
	ends 0
}

# bats test_tags=slow
@test "bypass at the first death, with what it had not read and a torn line of it" {
	mkfifo go
	start --on-crash bypass --restarts 0/1m -d 'sh -c "read x; printf torn; read y <go; kill -9 \$\$"' -- cat
	echo "${m}1}" >&9
	echo "${m}2}" >&9
	wait_for grep -q torn got
	echo go >go
	asks last
	ends 0
	assert_equal "$(messages)" "$(printf 'torn\n%s\n%s' "${m}2}" "$m\"last\"}")"
}

# bats test_tags=slow
@test "where its input is a file it is not started again" {
	seq 100 >file
	printf '#!/bin/sh\nread -r x\necho "$x"\nkill -9 $$\n' >bin/once
	chmod +x bin/once
	run acp-conduct -d once -d cat -- cat <file
	assert_failure 137
	assert_line 1
	assert_line 'acp-conduct: once: reads its input from a file, so it cannot be restarted'
	assert_line 'acp-conduct: once: died (signal KILL); ending the chain'
	leaves_nobody
}

# bats test_tags=slow
@test "one that cannot be started again ends the chain" {
	cp "$(command -v cat)" bin/mycat
	start -d mycat -- cat
	asks one
	rm bin/mycat
	kill -KILL "$(pid_of mycat)"
	ends 137
	said_times 1 'mycat: command not found: mycat'
	said_times 1 'mycat: cannot be restarted'
	said_times 1 'mycat: died (signal KILL); ending the chain'
}

# --- who else is there

# bats test_tags=slow
@test "what it has started is ended before the next one starts" {
	start -d 'sh -c "trap \"\" TERM HUP; cat <&3 & wait" 3<&0' -- cat
	asks one
	kill_again sh
	asks two
	asks three
	ends 0
	assert_equal "$(messages | grep -c .)" 3
}

@test "the guardian knows the new process: when conduct is killed nobody is left" {
	start -f acp-tap -- cat
	asks one
	kill_again acp-tap
	kill -KILL "$conduct"
	ends 137
}

@test "the first signal after a crash is as if the client had left" {
	start -f acp-tap -- sh -c 'cat; echo "{\"method\":\"bye\"}"; exit 3'
	asks one
	kill_again acp-tap
	asks two
	kill -INT "$conduct"
	local status=0
	wait "$conduct" || status=$?
	((status == 3))
	grep -q bye got
	ends 3 || true
}

# bats test_tags=slow
@test "when the client has left, a filter that dies still brings what comes up" {
	mkfifo go
	start -f acp-tap -f acp-tap -- sh -c 'cat; read x <go; echo "{\"method\":\"bye\"}"; exit 3'
	asks one
	exec 9>&-
	wait_for grep -q one got
	kill_again acp-tap
	kill_again acp-tap.2
	echo go >go
	ends 3
	grep -qxF '{"method":"bye"}' got
}

# bats test_tags=slow
@test "a client that reads slowly holds up the agent, not the memory of conduct" {
	mkfifo up client
	exec 8<>up 9<>client
	acp-conduct -v -u cat -- sh -c 'echo "{}"; read x; exec yes "{}"' <client >up 2>said 8>&- 9>&- &
	conduct=$!
	read -r _ <&8
	kill_again cat
	echo go >&9
	# In time with another chain's patience.
	head -c 3000000 <&8 >/dev/null
	acp-conduct --grace 300ms -- sleep 1000 </dev/null 2>/dev/null 8>&- 9>&-
	rss=$(awk '/VmHWM/ { print $2 }' "/proc/$conduct/status")
	((rss < 20000)) || [[ $B == */san ]]
	exec 8>&-
	ends 141
}

# converse ARGUMENT...: a conversation over a routed chain, in which each filter dies twice.
converse() {
	local i=1 name
	cat >agent.jq <<-'EOS'
		if .method == "initialize" then {jsonrpc: "2.0", id: .id, result: {protocolVersion: 1}}
		elif has("id") then {jsonrpc: "2.0", id: .id, result: .params} else empty end
	EOS
	start "$@" -- jq -c --unbuffered -f agent.jq
	echo '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}' >&9
	wait_for grep -q '"id":0' got
	for name in rulefilter acp-tap.2 cat cat.2 cat acp-tap.2 cat.2 rulefilter; do
		kill -KILL "$(pid_of "$name")"
		wait_for has_died "$name" $((i < 5 ? 1 : 2))
		echo "{\"jsonrpc\":\"2.0\",\"id\":$i,\"method\":\"echo\",\"params\":$i}" >&9
		wait_for grep -qxF "{\"jsonrpc\":\"2.0\",\"id\":$i,\"result\":$i}" got
		((i += 1))
	done
	ends 0
}

has_died() {
	[[ $(grep -c "^acp-conduct: $1: died" said) -eq $2 ]]
}

# bats test_tags=slow
@test "filters in a chain with proxies are started again, too, and taken out" {
	chain=(-f 'rulefilter x:drop' -p acp-tap -f acp-tap -u cat -p acp-tap -d cat)
	converse "${chain[@]}"
	converse --on-crash bypass --restarts 1/1m "${chain[@]}"
	(($(grep -c 'bypassed' said) == 4))
}

# bats test_tags=slow
@test "and where conduct reads between all of them" {
	converse --record hops.rec -f 'rulefilter x:drop' -u cat -d acp-tap -d acp-tap -d cat
}

# bats test_tags=slow
@test "kill -9 of random filters: nothing is doubled, no line is glued, survivors deliver, each death is reported" {
	! portable || skip 'what waits in a pipe cannot be looked at where the system is not Linux'
	run squall run "${ACP_SEED:-$RANDOM}" "${ACP_KILLS:-$(sample 20 200 60)}" "$BATS_TEST_TMPDIR"
	assert_success
	assert_line --regexp '^[0-9]+ killed in [0-9]+ rounds, 0 bad$'
}

has_begun() { (($(grep -c "^acp-conduct: $1: pid " said) == $2)); }
bigger() { (($(stat -c %s "$1") > $2)); }

# bats test_tags=slow
@test "much that passes a filter which is killed again and again: in order, no line twice, and each death loses only what the dead had in its hands" {
	! portable || skip 'what waits in a pipe cannot be looked at where the system is not Linux'
	local size at deaths=0
	size=$(sample 3 100)
	: >through
	# An agent that is slow, so that there is something to kill.
	start --restarts 1000/1m -d cat -- sh -c "exec sed -u '' >through"
	seq -f "{\"n\":%.0f,\"pad\":\"$(printf '%0980d' 0)\"}" $((size * 1000)) >&9 &
	exec 9>&-
	for ((at = 1; at < size * 8 / 10; at += 1 + size / 50)); do
		wait_for bigger through $((at * 1000000))
		wait_for has_begun cat $((++deaths))
		kill -KILL "$(pid_of cat)"
	done
	ends 0
	# cat reads 128 KiB at once; a line is cut at either end of that. Where nobody can see whether there is half a line, a message
	# that means nothing ends it.
	run awk -v deaths="$deaths" '
		/^{"jsonrpc":"2.0","method":"\$\/cancel_request"/ { next }
		!/^{"n":[0-9]+,"pad":"0+"}$/ { half++; next }
		{
			n = substr($0, 6) + 0
			doubled += n <= last
			lost += n > last + 1 ? n - last - 1 : 0
			gaps += n > last + 1
			last = n
		}
		END {
			print NR " lines, " deaths " deaths, " doubled + 0 " doubled, " half + 0 " halves, " gaps + 0 " gaps, " lost + 0 " lost"
			exit doubled || half > deaths || gaps > deaths || lost > 135 * deaths || NR < deaths
		}' through
	assert_success
}
