#!/usr/bin/env bats
# acp-conduct: how it joins the client, the filters and the agent, and what it says.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
}

teardown() {
	end_left_over
}

# Filters in shell for both lanes. What reads 6 must not hold 7 open, else the agent's input never ends.
through='cat <&6 7>&- & cat >&7; exec 7>&-; wait'

# both A: one which puts A before each line: "A>" down, "A<" up.
both() {
	echo "sed -u 's/^/$1</' <&6 7>&- & sed -u 's/^/$1>/' >&7; exec 7>&-; wait"
}

# client [FIFO]: a client that stays: stdin of what is started in the tests comes from FIFO, which
# descriptor 9 holds open for writing.
client() {
	mkfifo client
	exec 9<>client
}

client_leaves() {
	exec 9>&-
}

# The bytes that a process has read and written in all.
io_of() {
	awk '/char/ { n += $2 } END { print n }' "/proc/$1/io"
}

session() {
	jq -r 'select(.line) | .line' "$FIXTURES"/*.jsonl
}

# --- the wiring

@test "an agent alone has the client's stdin and stdout" {
	run acp-conduct -- sh -c 'readlink /proc/self/fd/0 >&2; cat' <<<'hello'
	assert_success
	assert_line "hello"
	leaves_nobody
}

@test "the bytes of a session come through a chain unharmed" {
	session >sent
	printf 'a CR\r\n\n\377\001 no newline' >>sent
	acp-conduct -f "$through" -d cat -u cat -f "$through" -- cat <sent >got
	cmp sent got
}

@test "the same over socket pairs, one for each direction or one for both" {
	session >sent
	meet sockets acp-conduct -f "$through" -- cat <sent >got
	cmp sent got
	meet socket acp-conduct -f "$through" -- cat <sent >got
	cmp sent got
}

@test "where stdin is a terminal conduct reads it, and the first component gets a pipe" {
	run meet terminal acp-conduct -d 'readlink /proc/self/fd/0 >&2; cat' -- cat <<<'typed'
	assert_success
	assert_line --regexp '^(sh|readlink): pipe:'
	assert_line "typed"
}

@test "what is typed comes through in full, however slowly it is read" {
	seq -f 'line %.0f' 20000 >sent
	meet terminal acp-conduct -f "$through" -- cat <sent >got
	cmp sent got
}

@test "filters stand from left to right between client and agent" {
	run acp-conduct -f "$(both A)" -f "$(both B)" -- cat <<<'x'
	assert_output 'A<B<B>A>x'
	assert_success
}

@test "a one-way filter is in its direction only" {
	run acp-conduct -d 'sed -u s/^/1/' -u 'sed -u s/^/2/' -d 'sed -u s/^/3/' -u 'sed -u s/^/4/' -- sed -u 's/^/|/' <<<'x'
	assert_output '24|31x'
	assert_success
}

@test "only -f filters get PROTO=ACP" {
	# shellcheck disable=SC2016
	PROTO=TCP run acp-conduct -f 'echo "f $PROTO" >&2; '"$through" \
		-d 'echo "d ${PROTO-none}" >&2; cat' -u 'echo "u ${PROTO-none}" >&2; cat' \
		-- sh -c 'echo "a ${PROTO-none}" >&2; cat' </dev/null
	assert_line --regexp '^echo: f ACP$'
	assert_line --regexp ': d none$'
	assert_line --regexp ': u none$'
	assert_line 'agent: a none'
}

@test "components have no stray descriptors" {
	exec 8</dev/null
	list='ls /proc/self/fd | tr "\n" " " >&2; ' # 3 is that of ls itself
	run acp-conduct -f "$list$through" -d "$list cat" -- sh -c "$list cat" </dev/null
	exec 8<&-
	assert_line 'ls: 0 1 2 3 6 7 '
	assert_line 'ls.2: 0 1 2 3 '
	assert_line 'agent: 0 1 2 3 '
}

@test "components start with default signal dispositions, an empty mask, and in a group of their own" {
	trap '' INT QUIT USR1
	run acp-conduct -- sed -n '/^SigBlk\|^SigIgn/p' /proc/self/status </dev/null
	trap - INT QUIT USR1
	assert_line --index 0 --regexp '^SigBlk:[[:space:]]0+$'
	# Where make has started us, the C library's own signals 32 and 33 stay ignored.
	assert_line --index 1 --regexp '^SigIgn:[[:space:]]0{7}[01][08]0{7}$'
	# shellcheck disable=SC2016
	run acp-conduct -- sh -c 'test $(ps -o pgid= -p $$) -eq $$ && echo own' </dev/null
	assert_output own
}

@test "a CMD without shell metacharacters is executed directly, others by /bin/sh" {
	run acp-conduct -d 'sed -n /^Name/p /proc/self/status' -- cat </dev/null
	assert_output --regexp '^Name:[[:space:]]sed$'
	run acp-conduct -d 'read a </proc/$$/comm; echo $a' -- cat </dev/null
	assert_output 'sh'
}

@test "no byte of a message passes through conduct" {
	client
	acp-conduct -f "$through" -d cat -u cat -- cat <client >got 9>&- &
	conduct=$!
	echo first >&9
	wait_for grep -q first got
	before=$(io_of $conduct)
	session >sent
	for _ in 1 2 3 4 5 6 7 8; do
		cat sent
	done >&9
	echo last >&9
	wait_for grep -q last got
	after=$(io_of $conduct)
	client_leaves
	wait $conduct
	((after == before))
	(($(stat -c %s got) > 1000000))
}

# --- stderr

@test "stderr arrives line by line with the component's name in front" {
	run acp-conduct -d "sh -c 'echo one >&2; echo sh: four >&2; echo sh: >&2; cat'" -- sh -c 'echo two >&2; cat; printf three >&2' </dev/null
	assert_line 'sh: one'
	# Who names itself is not named twice.
	assert_line 'sh: four'
	assert_line 'sh: sh:'
	assert_line 'agent: two'
	assert_line 'agent: three'
	assert_success
}

@test "the second component of a name is NAME.2, and the agent is agent" {
	printf '#!/bin/sh\necho "$0" >&2\ncat\n' >agent
	chmod +x agent
	run acp-conduct -d "$PWD/agent" -d 'A=1 sh ./agent' -u './agent ' -u 'exec ./agent x*' -- ./agent </dev/null
	assert_line "agent.2: $PWD/agent"
	assert_line 'agent.3: ./agent'
	assert_line 'agent.4: ./agent'
	assert_line 'agent.5: ./agent'
	assert_line 'agent: ./agent'
}

@test "a long line of stderr comes in pieces, whole" {
	run acp-conduct -- sh -c 'head -c 200000 /dev/zero | tr "\\0" y >&2; echo >&2; echo next >&2' </dev/null
	assert_success
	assert_line 'agent: next'
	[[ $(grep -o y <<<"$output" | wc -l) -eq 200000 ]]
	[[ -z $(grep -v '^agent: [yn]' <<<"$output") ]]
}

# bats test_tags=slow
@test "what is said last, by the last breath, still arrives" {
	run acp-conduct -- sh -c 'seq 1000 >&2; kill -9 $$' </dev/null
	assert_failure 137
	assert_line 'agent: 1000'
	assert_line 'acp-conduct: agent: died (signal KILL); ending the chain'
}

@test "nobody waits for a reader of stderr that does not read: lines are dropped and counted" {
	mkfifo stderr
	exec 8<>stderr
	client
	# 1 MB of stderr, and only then an answer.
	acp-conduct -- sh -c 'while read -r x; do seq 150000 >&2; echo "$x"; done' <client >got 2>stderr 8>&- 9>&- &
	conduct=$!
	echo hello >&9
	wait_for grep -q hello got
	cat <&8 >said 9>&- &
	reader=$!
	wait_for grep -q 'acp-conduct: [0-9]* lines of standard error discarded: its reader is too slow' said
	client_leaves
	wait $conduct
	kill $reader
	exec 8>&-
	lost=$(sed -n 's/^acp-conduct: \([0-9]*\) lines of standard error discarded: its reader is too slow$/\1/p' said | awk '{ n += $1 } END { print n }')
	((lost + $(grep -c '^agent: ' said) == 150000))
}

# --- exit statuses and usage

@test "the exit status is the agent's, 128+N where a signal ended it" {
	run acp-conduct -- sh -c 'exit 7' </dev/null
	assert_failure 7
	assert_output 'acp-conduct: agent: ended with exit status 7'
	run acp-conduct -- sh -c 'kill -SEGV $$' </dev/null
	assert_failure 139
	assert_output 'acp-conduct: agent: died (signal SEGV); ending the chain'
}

@test "where the agent's is 0 the first component's that is not counts" {
	run acp-conduct -u 'cat; exit 9' -- cat </dev/null
	assert_failure 9
	assert_output --partial 'ended with exit status 9'
	run acp-conduct -u 'cat; exit 9' -- sh -c 'cat; exit 3' </dev/null
	assert_failure 3
}

@test "a command that is not found is 127, one that cannot be executed 126, each named" {
	run -127 acp-conduct -f nonexistent-filter -- cat </dev/null
	assert_failure 127
	assert_output 'acp-conduct: nonexistent-filter: command not found: nonexistent-filter'
	run -127 acp-conduct -- /nonexistent/agent </dev/null
	assert_failure 127
	assert_output 'acp-conduct: agent: command not found: /nonexistent/agent'
	run acp-conduct -d / -- cat </dev/null
	assert_failure 126
	assert_output --partial 'cannot execute /: Permission denied'
}

@test "where one component cannot be started the others are ended, and no message has been read" {
	seq 10 >sent
	{
		acp-conduct -f nonexistent-filter -u 'trap "" TERM; cat' -- sh -c 'sleep 1000; cat' 2>said || status=$?
		cat >rest
	} <sent
	[[ ${status-} -eq 127 ]] || fail "status ${status-}"
	cmp sent rest
	leaves_nobody
}

@test "bad usage is 2, with a line" {
	for args in '' '-x cat' '--grace 5x cat' '--grace'; do
		# shellcheck disable=SC2086
		run acp-conduct $args
		assert_failure 2
		assert_output --regexp '^acp-conduct: '
	done
	run acp-conduct -f ' ' -- cat
	assert_failure 2
	assert_output 'acp-conduct: the command of a filter is empty'
}

@test "options end at the agent's name" {
	run acp-conduct echo -f --grace -- -V
	assert_success
	assert_output -- '-f --grace -- -V'
}

@test "--help names every option; --version" {
	run acp-conduct --help
	assert_success
	for option in --filter --up --down --grace --verbose --help --version; do
		assert_output --partial -- "$option"
	done
	run acp-conduct -V
	assert_output --regexp '^acp-conduct [0-9.]+$'
}

@test "-v has a line for each component when it starts and when it ends" {
	run acp-conduct -v -f "$through" -d cat -u cat -- sh -c 'cat; exit 3' </dev/null
	assert_failure 3
	assert_line --regexp '^acp-conduct: cat: pid [0-9]+, filter: .*$'
	assert_line --regexp '^acp-conduct: cat\.2: pid [0-9]+, down filter: cat$'
	assert_line --regexp '^acp-conduct: cat\.3: pid [0-9]+, up filter: cat$'
	assert_line --regexp '^acp-conduct: agent: pid [0-9]+, agent: sh -c .*$'
	assert_line 'acp-conduct: cat: exit status 0, down - messages - bytes, up - messages - bytes, 0 restarts'
	assert_line 'acp-conduct: agent: exit status 3, down - messages - bytes, up - messages - bytes'
}
