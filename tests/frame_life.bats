#!/usr/bin/env bats
# The frame: the life and the end of a wrapped agent and its client, and what neither may block.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load frame
	lib_setup
	export FILTER_QUIET=1
}

# For what waits until the grace period is over; the others never do, however busy the machine is.
short_grace() {
	export FILTER_GRACE=100ms
}

teardown() {
	end_left_over
}

# connect RULE... -- AGENT...: the same in the background; 5 is what it reads, the file out what it writes.
connect() {
	mkfifo feed
	rulefilter "$@" <feed >out 2>err &
	pid=$!
	exec 5>feed
}

# ended STATUS: what connect started ends with it.
ended() {
	local status=0
	wait "$pid" || status=$?
	[ "$status" -eq "$1" ]
}

later_than() {
	((${EPOCHREALTIME/./} > $1))
}

# lines N: so many messages of a kilobyte, numbered.
lines() {
	seq "$1" | awk '{ printf "{\"method\":\"m\",\"params\":[%d,\"%01000d\"]}\n", $1, 0 }'
}

# --- the exit status ---

@test "the agent's status is the status; a signal is 128 and its number" {
	run rulefilter -- sh -c 'exit 3' </dev/null
	assert_failure 3
	run rulefilter -- sh -c 'kill -KILL $$' </dev/null
	assert_failure 137
	run rulefilter -- sh -c 'kill -TERM $$' </dev/null
	assert_failure 143
	FILTER_STATUS=1 run rulefilter -- true </dev/null
	assert_failure 1
	FILTER_STATUS=1 run rulefilter -- sh -c 'exit 3' </dev/null
	assert_failure 3
}

@test "127 where the command is not found, 126 where it can not be executed" {
	run -127 rulefilter -- ./nothing </dev/null
	assert_output 'rulefilter: ./nothing: command not found'
	echo text >file
	run rulefilter -- ./file </dev/null
	assert_failure 126
	assert_output --partial 'Permission denied'
}

# --- the client leaves ---

@test "the agent's stdin ends when all that the client sent is out" {
	lines 3000 >down
	rulefilter -- sh -c 'cat >got; echo "{\"method\":\"bye\"}"' <down >out
	cmp down got
	[ "$(cat out)" = '{"method":"bye"}' ]
}

@test "an agent that does not end has its grace period, then SIGTERM for its group, and the status is 0" {
	short_grace
	run rulefilter -- sh -c 'tail -f /dev/null & tail -f /dev/null & wait' </dev/null
	assert_success
	assert_output 'rulefilter: the agent did not end within the grace period: sending it SIGTERM'
	wait_for nobody_left
}

# bats test_tags=slow
@test "what an agent says while it is being ended still arrives, and its status does not count" {
	short_grace
	run rulefilter -- bash -c 'trap "echo {\\\"method\\\":\\\"bye\\\"}; exit 7" TERM; tail -f /dev/null & wait' </dev/null
	assert_success
	assert_line '{"method":"bye"}'
	wait_for nobody_left
}

# bats test_tags=slow
@test "an agent that ignores SIGTERM gets SIGKILL" {
	short_grace
	run rulefilter -- sh -c 'trap "" TERM; tail -f /dev/null' </dev/null
	assert_success
	wait_for nobody_left
}

# bats test_tags=slow
@test "an agent that never reads, with a full queue, does not keep us when the client has left" {
	short_grace
	# More than fits into its pipe and our queue; the rest into the client's pipe. (A pipe that is written a line at a time takes 48 KiB.)
	lines 340 | (rulefilter none:edit -- tail -f /dev/null >out 2>err)
	[ "$(said)" = 'rulefilter: the agent did not end within the grace period: sending it SIGTERM' ]
	wait_for nobody_left
}

# bats test_tags=slow
@test "an agent that takes what was left to it, however slowly, is given the time" {
	export FILTER_GRACE=1s
	# No more than the queue holds, so that the client has left before most of it is read.
	lines 240 >down
	# A little of the grace period for each piece: longer than it in all. What the pipe holds at the end is taken at once.
	cat >slow <<-'END'
		for i in {1..20}; do
			dd bs=8K count=1 2>/dev/null
			sleep 0.1
		done >got
		exec cat >>got
	END
	rulefilter -- bash slow <down >out 2>err
	cmp down got
	[ -z "$(said)" ]
}

# bats test_tags=slow
@test "the grace period begins when the agent has got the last of the queue" {
	export FILTER_GRACE=3s
	lines 240 >down
	run -0 rulefilter -- bash -c 'sleep 2; cat >/dev/null; sleep 2; echo over' <down
	assert_output over
}

@test "a client that no longer reads has left" {
	short_grace
	mkfifo feed
	exec 5<>feed
	{
		(rulefilter -- sh -c 'echo "{\"method\":\"one\"}"; yes "{\"method\":\"more\"}"' <feed 2>err)
		echo $? >status
	} | head -n 1 >out
	[ "$(cat out)" = '{"method":"one"}' ]
	[ "$(cat status)" -eq 0 ]
	wait_for nobody_left
}

# --- the agent ends ---

@test "when the agent exits, everything it wrote reaches the client, and then we exit, though the client stays" {
	lines 500 >up
	connect -- cat up
	ended 0
	cmp up out
}

# bats test_tags=slow
@test "10 MB of an agent that has gone reach a client that reads late: no grace period ends that" {
	short_grace
	lines 10000 >up
	size=$(stat -c %s up)
	# The client leaves when the agent has gone: before that, the agent would have to hurry.
	rulefilter -- sh -c 'cat up; : >gone' < <(wait_for test -e gone) 2>err | {
		# What is left fits into the pipes, however full our queue is.
		head -c $((size - 100000))
		wait_for test -e gone
		wait_for later_than $((${EPOCHREALTIME/./} + 500000))
		cat
	} >out
	cmp up out
	[ -z "$(said)" ]
}

@test "who holds a gone agent's pipe is waited for at most the grace period, and does not survive it" {
	short_grace
	run rulefilter -- sh -c 'tail -f /dev/null & echo "{\"method\":\"a\"}"' </dev/null
	assert_success
	assert_output '{"method":"a"}'
	wait_for nobody_left
	run rulefilter -- sh -c 'trap "" TERM; tail -f /dev/null & echo "{\"method\":\"a\"}"' </dev/null
	assert_success
	wait_for nobody_left
	# It may talk all the time.
	(rulefilter -- sh -c 'yes "{\"method\":\"a\"}" & exit 0' </dev/null >/dev/null)
	wait_for nobody_left
}

@test "an agent that closes its output has nothing more to say" {
	short_grace
	connect -- sh -c 'echo "{\"method\":\"last\"}"; exec >/dev/null; tail -f /dev/null'
	ended 0
	[ "$(cat out)" = '{"method":"last"}' ]
	[ "$(said)" = 'rulefilter: the agent did not end within the grace period: sending it SIGTERM' ]
	wait_for nobody_left
}

@test "an agent that closes its input goes on talking" {
	connect -- sh -c 'exec <&-; : >closed; until test -e go; do sleep 0.01; done; echo "{\"method\":\"a\"}"'
	wait_for test -e closed
	lines 1000 >&5
	: >go
	ended 0
	[ "$(cat out)" = '{"method":"a"}' ]
}

@test "the agent's stderr arrives, a torn line too, and a flood of it blocks nobody" {
	rulefilter -- sh -c 'echo one >&2; printf two >&2' </dev/null 2>err
	[ "$(cat err)" = "one
two" ]
	mkfifo slow
	rulefilter -- sh -c 'head -c 3000000 /dev/zero | tr "\0" "\n" >&2; echo "{\"method\":\"a\"}"; cat >/dev/null' 2>slow >out < <(wait_for grep -q method out) &
	exec 6<slow
	wait_for grep -q method out
	cat <&6 >err
	wait $!
	tr -d '\n' <err | grep -qE '^rulefilter: [0-9]+ lines of standard error discarded: its reader is too slow$' || [ "$(wc -c <err)" -eq 3000000 ]
}

@test "the notice of discarded standard error begins a line, also within a long line of the agent" {
	mkfifo slow
	rulefilter -- sh -c 'head -c 3000000 /dev/zero | tr "\0" a >&2; echo "{\"method\":\"a\"}"; cat >/dev/null' 2>slow >out < <(wait_for grep -q method out) &
	exec 6<slow
	wait_for grep -q method out
	cat <&6 >err
	wait $!
	grep -q '^rulefilter: [0-9]* lines of standard error discarded' err
}

# bats test_tags=slow
@test "all that a client sent before it left arrives, also where the agent was slow and the queue full" {
	lines 370 >down
	mkfifo out
	exec 6<>out
	rulefilter none:edit -- sh -c 'echo "{\"method\":\"a\"}"; until test -e gone; do sleep 0.01; done; cat >got' <down >out 2>err 6>&- &
	pid=$!
	exec 6>&-
	: >gone
	ended 0
	cmp down got
}

# --- signals ---

@test "the first SIGTERM, SIGINT or SIGHUP is as if the client had left" {
	for signal in TERM INT HUP; do
		rm -f feed
		connect -- sh -c ': >ready; cat; echo "{\"method\":\"bye\"}"'
		wait_for test -e ready
		echo '{"method":"sent"}' >&5
		kill -"$signal" "$pid"
		ended 0
		[ "$(cat out)" = '{"method":"sent"}
{"method":"bye"}' ]
		rm ready
	done
}

@test "the second one ends it: 128 and its number, and nobody is left" {
	export FILTER_GRACE=10m
	for signal in TERM:143 INT:130 HUP:129; do
		rm -f feed ended
		connect -- sh -c ': >ready; trap "" TERM; cat; : >ended; tail -f /dev/null'
		wait_for test -e ready
		kill -"${signal%:*}" "$pid"
		wait_for test -e ended
		kill -"${signal%:*}" "$pid"
		ended "${signal#*:}"
		wait_for nobody_left
		rm ready
	done
}

# bats test_tags=slow
@test "a client that never stops sending does not keep a signal from ending it" {
	yes '{"method":"a"}' | { echo "$BASHPID" >pid; exec rulefilter; } > >(head -n 1 >began; exec cat >/dev/null) &
	wait_for test -s began
	kill "$(cat pid)"
	wait $!
}

@test "under nohup a hang-up ends nothing" {
	mkfifo feed
	(trap '' HUP; exec rulefilter -- cat <feed >out) &
	pid=$!
	exec 5>feed
	echo '{"method":"a"}' >&5
	wait_for grep -q '"a"' out
	kill -HUP "$pid"
	echo '{"method":"b"}' >&5
	wait_for grep -q '"b"' out
	exec 5>&-
	ended 0
}

@test "kill -9 takes the agent with it" {
	connect -- sh -c ': >ready; exec tail -f /dev/null'
	wait_for test -e ready
	kill -KILL "$pid"
	ended 137
	wait_for nobody_left
}

# --- backpressure ---

@test "a client that does not read does not stop what it sends" {
	lines 2000 >up
	lines 1000 >down
	mkfifo out feed
	rulefilter -- sh -c 'cat up & cat >got; wait' <feed >out 2>err &
	pid=$!
	exec 6<>out 5>feed
	cat down >&5
	wait_for cmp -s down got
	exec 5>&-
	cat <out >late 6>&- &
	exec 6>&-
	ended 0
	wait $!
	cmp up late
}

@test "an agent that does not read does not stop what it says" {
	lines 2000 >down
	lines 1000 >up
	mkfifo feed
	rulefilter -- sh -c 'cat up; until test -e go; do sleep 0.01; done; cat >got' <feed >out 2>err &
	pid=$!
	cat down >feed &
	wait_for cmp -s up out
	: >go
	ended 0
	cmp down got
}

# bats test_tags=slow
@test "an agent that writes before it reads, and a client that does likewise: nobody waits for ever" {
	lines 3000 >down
	cp down up
	for way in "${WAYS[@]}"; do
		for needs in '' answer; do
			FILTER_NEEDS=$needs filter "$way" none:edit -- sh -c 'cat up; cat >got' <down >out 2>err
			cmp up out
			cmp down got
		done
	done
}

# bats test_tags=slow
@test "an agent that asks without end and never reads the responses made here costs little memory" {
	short_grace
	export FILTER_PEAK=peak
	run rulefilter x:answer -- sh -c 'yes "{\"id\":1,\"method\":\"x\"}" | head -n 1000000; cat >/dev/null' </dev/null
	assert_success
	[[ $B == *san* ]] || [ "$(cat peak)" -lt 8192 ]
	wait_for nobody_left
}

# bats test_tags=slow
@test "random bytes pass both ways" {
	head -c 3000000 /dev/urandom >down
	for way in wrap link-sockets; do
		FILTER_LIMIT=1k filter "$way" -- cat <down >out 2>/dev/null
		cmp down out
	done
}

# bats test_tags=slow
@test "a line of 100 MB passes a watching filter within its limit's memory" {
	head -c 100000000 /dev/zero | tr '\0' x | FILTER_LIMIT=8M FILTER_PEAK=peak rulefilter -- cat 2>err | wc -c >count
	[ "$(cat count)" -eq 100000000 ]
	[[ $B == *san* ]] || [ "$(cat peak)" -lt 40960 ]
}

@test "a request that a filter still holds at the end ends with it" {
	printf '{"id":1,"method":"m"}\n' >in
	run -0 env FILTER_NEEDS=answer FILTER_GRACE=100ms FILTER_QUIET=1 rulefilter m:hold -- sh -c 'cat >got' <in
	[ ! -s got ]
}

# bats test_tags=slow
@test "what a client had sent before SIGTERM passes whole, however slowly it is read and whatever its lines measure" {
	local line
	# Lines that leave little room at the end of a block make short reads.
	printf -v line '{"method":"a","params":"%032969d"}' 0
	for ((i = 0; i < 31; i++)); do echo "$line"; done >down
	mkfifo slow
	rulefilter <down >slow 2>err &
	pid=$!
	exec 6<slow
	head -c 1 <&6 >got
	kill "$pid"
	cat <&6 >>got
	ended 0
	cmp down got
}

@test "a line on standard error that is longer than what is read at once is one line, with its newline" {
	local long
	long=$(head -c 300000 /dev/zero | tr '\0' x)
	printf '%s\nnext\n' "$long" >said
	printf '%s' "$long" >torn
	acp-tap -o s.rec -- sh -c 'cat said >&2' </dev/null 2>err
	cmp err said
	acp-tap -o s.rec -- sh -c 'cat torn >&2' </dev/null 2>err
	cmp err torn
}

@test "what an agent says on standard error right before its end is in the recording" {
	for ((i = 0; i < $(sample 3 50); i++)); do
		acp-tap -o s.rec -- sh -c 'for i in 1 2 3; do echo "last $i" >&2; done' </dev/null 2>/dev/null
		run jq -r '.stderr // empty' s.rec
		assert_output $'last 1\nlast 2\nlast 3'
		assert_equal "$(jq -c 'select(.event == "exit") | .status' s.rec)" 0
	done
}
