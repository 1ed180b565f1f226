#!/usr/bin/env bats
# acp-fault: which of the selected messages a fault hits, and plans.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load fault
	lib_setup
	numbered 10 >in
}

teardown() {
	end_left_over
}

# lost OPTION...: which of ten messages get lost.
lost() {
	acp-fault --drop 1 --report report "$@" <in >out
	faults .n | tr '\n' ' '
}

# --- options ---

# bats test_tags=slow
@test "--from-match: from the Nth selected message on" {
	assert_equal "$(lost --from-match 8)" '8 9 10 '
	assert_equal "$(lost -w '.id % 2 == 0' --from-match 4)" '8 10 '
	assert_equal "$(lost --from-match 11)" ''
}

@test "--every: each Nth of them; --once: one and no more" {
	assert_equal "$(lost --every 3)" '3 6 9 '
	assert_equal "$(lost --from-match 5 --every 3)" '7 10 '
	assert_equal "$(lost --once)" '1 '
	assert_equal "$(lost --from-match 4 --once)" '4 '
	assert_equal "$(lost --every 4 --once)" '4 '
}

@test "--once: a hit that another fault takes away does not count" {
	acp-fault --drop 1 --duplicate 1 --once <in >out
	assert_equal "$(ids <out)" '2 2 3 4 5 6 7 8 9 10 '
	printf '%s\n' '--kind request --drop 1 --once' '--drop 1 --once' >plan
	acp-fault --plan plan <in >out
	assert_equal "$(ids <out)" '3 4 5 6 7 8 9 10 '
}

@test "--once, --at +TIME: a message that could not wait to be passed, because another one waits, does not count" {
	printf '%s\n' '{"id":1,"method":"q"}' '{"method":"a"}' '{"method":"b","params":[1]}' '{"id":1,"result":0}' \
		'{"method":"b","params":[2]}' '{"method":"c"}' '{"method":"d"}' >in
	printf '%s\n' '-m a --overtake 1,100s' '-m b --once --reorder 1,100s' '--at +0s --once --drop 1' >plan
	acp-fault --seed 1 --plan plan --report report <in >out
	assert_equal "$(faults '[.plan, .n, .fault]' | tr '\n' ' ')" '[1,2,"overtake"] [3,6,"drop"] [2,5,"reorder"] '
	assert_equal "$(jq -c '.params // .method // .id' out | tr '\n' ' ')" '"q" 1 "a" [1] "d" [2] '
	# Nor does the one of two that the message does not wait for.
	acp-fault --seed 1 -m b --once --reorder 1 --overtake 1 --report report <in >out
	assert_equal "$(faults | tr '\n' ' ')" '[3,"overtake"] [5,"reorder"] '
}

# bats test_tags=slow
@test "they choose among what a probability may hit, and --once stops after what it has hit" {
	numbered 1000 >in
	lost --seed 3 --drop 50% >/dev/null
	faults .n >half
	lost --seed 3 --drop 50% --every 2 >/dev/null
	faults .n >some
	diff some <(awk '$1 % 2 == 0' half)
	assert_equal "$(lost --seed 3 --drop 1% --once)" "$(acp-fault --seed 3 --drop 1% --report first <in >out; jq .n first | sed -n 2p) "
}

# bats test_tags=slow
@test "each fault of a command line counts for itself what it can hit" {
	printf '%s\n' '{"method":"a"}' '{"id":1,"result":0}' '{"method":"b"}' '{"id":2,"result":0}' >in
	acp-fault --seed 1 --from-match 2 --duplicate 1 --wrong-id 1 --report report <in >out
	assert_equal "$(faults | tr '\n' ' ')" '[2,"duplicate"] [3,"duplicate"] [4,"wrong-id"] [4,"duplicate"] '
}

@test "--exit-after and --close-after count what the others choose" {
	run -1 acp-fault --from-match 3 --every 2 --exit-after 2 <in
	assert_output "$(head -n 6 in)"
	run -0 acp-fault --from-match 3 --close-after 2 <in
	assert_output "$(head -n 4 in)"
}

@test "--at: what needs no message happens at that time, what needs one hits the next" {
	mkfifo slow
	acp-fault --seed 1 --at 100ms --noise 1 --drop 1 --report report <slow >out &
	exec 8>slow
	numbered 1 >&8
	wait_for grep -q noise report
	numbered 3 >&8
	exec 8>&-
	wait
	# A busy machine may take 100 ms for the first message: then that is the next.
	run -0 faults '[.n // 0, .fault]'
	assert_line '[0,"noise"]'
	assert_line --regexp '^\[[12],"drop"\]$'
	assert_equal "${#lines[@]}" 2
	assert_equal "$(jq 'select(.fault == "noise") | .t >= 0.1 and (has("n") or has("method") | not)' report)" true
}

@test "--at with a selection waits for a message of it" {
	assert_equal "$(lost --at 0s -w '.id > 6')" '7 '
	acp-fault --seed 1 --at 0s -w '.id > 6' --noise 1 --report report <in >out
	assert_equal "$(faults)" '[7,"noise"]'
}

@test "--at: a probability holds for what happens at a time, and --from-match and --every choose messages" {
	for options in '--noise 0' '--noise 1 --every 5' '--noise 1 --from-match 9'; do
		mkfifo slow
		# shellcheck disable=SC2086
		acp-fault --seed 1 --at 20ms $options --plan <(echo '--at 20ms --noise 1') --report report <slow >out &
		exec 8>slow
		numbered 1 >&8
		wait_for grep -q noise report
		exec 8>&-
		wait
		assert_equal "$(faults .plan)" 1
		rm slow report
	done
	assert_equal "$(acp-fault --seed 1 --at 0s --noise 1 --every 5 --report report <in >out; faults)" '[5,"noise"]'
}

@test "--at with --way pipe needs no message" {
	run -1 acp-fault --way pipe --at 100ms --exit-after 1 < <(sleep 5)
}

# bats test_tags=slow
@test "--at: an agent that says nothing is stopped by the clock" {
	run -1 acp-fault --at 100ms --exit-after 1 -- sleep 1000 < <(sleep 5)
	wait_for nobody_left
}

# --- plans ---

@test "a plan: each line has options and hits for itself, beside those of the command line" {
	cat >plan <<-'END'
		# Comments and blank lines are none.

		-w '.id > 4' --every 3 --drop 1
		--from-match 3 --once --duplicate 100%
	END
	acp-fault --from-match 9 --drop 1 --plan plan --report report <in >out
	assert_equal "$(ids <out)" '1 2 3 3 4 5 6 8 '
	assert_equal "$(faults '[.n, .plan, .fault]' | tr '\n' ' ')" '[3,4,"duplicate"] [7,3,"drop"] [9,null,"drop"] [10,null,"drop"] '
}

@test "a second --plan is refused" {
	echo --drop 1 >plan
	bad '--plan plan: given twice: all faults go into one plan' --plan plan --plan plan
}

# bats test_tags=slow
@test "what is dropped while an earlier line waits takes no memory" {
	{
		echo '{"id":0,"method":"slow"}'
		yes '{"method":"lost"}' | head -n 400000
		echo '{"id":1,"method":"last"}'
	} >many
	printf '%s\n' '-m slow --delay 1000s' '-m lost --drop 1' >plan
	mkfifo in2
	acp-fault --seed 1 --plan plan -- sh -c 'cat >got' <in2 &
	filter=$!
	exec 9>in2
	cat many >&9
	peak=$(awk '/VmHWM/ { print $2 }' "/proc/$filter/status")
	exec 9>&-
	kill -KILL "$filter"
	wait "$filter" || true
	[[ ${B##*/} == san ]] || ((peak < 20000))
}

# bats test_tags=slow
@test "noise in place of lines that are dropped while an earlier line waits is bounded" {
	printf '%s\n' '-m slow --delay 500ms' '-m lost --drop 1 --noise 1' >plan
	{
		echo '{"id":0,"method":"slow"}'
		yes '{"method":"lost"}' | head -n 100000
		echo '{"id":1,"method":"last"}'
	} | acp-fault --seed 1 --plan plan >out
	assert_equal "$(head -n 1 out)" '{"id":0,"method":"slow"}'
	assert_equal "$(tail -n 1 out)" '{"id":1,"method":"last"}'
	(($(wc -l <out) > 100001))
}

@test "a plan: at the third prompt lose the response, 200 ms later noise" {
	cat >plan <<-'END'
		-m session/prompt --kind response --from-match 3 --once --drop 1
		--at +200ms --from agent --noise 1
	END
	cat >agent <<-'END'
		while read -r line; do echo "${line%%,*},\"result\":{\"stopReason\":\"end_turn\"}}"; done
	END
	mkfifo slow
	acp-fault --seed 1 --plan plan --report report -- sh agent <slow >out &
	exec 8>slow
	numbered 4 | sed 's/"m"/"session\/prompt"/' >&8
	wait_for grep -q noise report
	exec 8>&-
	wait
	assert_equal "$(faults '[.from, .plan, .fault]' | tr '\n' ' ')" '["agent",1,"drop"] ["agent",2,"noise"] '
	assert_equal "$(grep -o '^{"id":[0-9]' out | tr '\n' ' ')" '{"id":1 {"id":2 {"id":4 '
	assert_equal "$(faults .t | jq -s '.[1] - .[0] >= 0.2')" true
	# It goes on.
	assert_equal "$(wc -l <out)" 4
}

# bats test_tags=slow
@test "a plan: + counts from the first hit, not from the time from which a line can hit" {
	mkfifo slow
	printf '%s\n' '--at 50ms --noise 1 --kind request' '--at 100ms --drop 1' '--at +10ms --from agent --noise 1' >plan
	acp-fault --seed 1 --plan plan --report report -- cat <slow >out &
	exec 8>slow
	# The time of the second line has come, and its fault has hit nothing.
	sleep 0.3
	numbered 1 >&8
	wait_for grep -q '"plan":3' report
	exec 8>&-
	wait
	assert_equal "$(faults 'select(.plan > 1) | [.plan, .from, .fault]' | head -n 3 | tr '\n' ' ')" '[2,"client","drop"] [3,"agent","noise"] '
}

@test "a report never goes to the plan" {
	echo '--drop 1' >plan
	run acp-fault --plan plan --report plan </dev/null
	assert_failure 2
	assert_equal "$(<plan)" '--drop 1'
}

# bats test_tags=slow
@test "a plan: the same seed does the same, and each line has dice of its own" {
	numbered 1000 >in
	printf -- '--drop 20%%\n--corrupt 20%%\n--drop 20%%\n' >plan
	acp-fault --seed 5 --plan plan --report report <in >a
	jq -c 'del(.t)' report >first
	acp-fault --seed 5 --plan plan --report report <in >b
	cmp a b
	jq -c 'del(.t)' report | cmp first -
	# 36% where the dice of the two lines are not the same.
	n=$(faults 'select(.fault == "drop")' | wc -l)
	((n > 300 && n < 420))
}

@test "a plan that makes no sense: exit 2, and a line that says where" {
	plan() {
		printf '%s\n' "$2" >plan
		bad "$1" --plan plan
	}
	plan 'plan: line 1: --dorp: no such option (did you mean --drop?); try acp-fault --help' '--dorp 1'
	plan 'plan: line 1: --drop x: expected a probability, such as 0.1 or 10%' '--drop x'
	plan 'plan: line 2: --at x: expected a duration, such as 500ms, 5s or 2m' $'\n--at x --drop 1'
	plan 'plan: line 1: --at +1s: + counts from the line before, in a plan' '--at +1s --drop 1'
	plan 'plan: line 2: --at +1s: + counts from the line before, in a plan' $'# the first\n--at +1s --drop 1'
	plan 'plan: line 1: no fault' '-m x'
	plan 'plan: line 1: drop: expected options' 'drop 1'
	plan 'plan: line 1: --exit-after does not go with --once' '--exit-after 1 --once'
	plan 'plan: line 1: quote the characters that a shell would expand' '-m * --drop 1'
	plan 'plan: line 1: --seed: no such option; try acp-fault --help' '--seed 1 --drop 1'
	plan '--plan plan: no fault in it' '# nothing'
	bad '--plan nowhere: No such file or directory' --plan nowhere
	bad '--plan .: Is a directory' --plan .
	bad '--plan -: a file is required, because standard input carries the stream' --plan -
}

@test "bad usage: when" {
	bad '--from-match 0: expected a number, at least 1' --from-match 0
	bad '--every x: expected a number, at least 1' --every x
	bad '--at +1s: + counts from the line before, in a plan' --at +1s --noise 1
	bad '--once requires a fault' --once
	bad '--match requires a fault' -m x
	bad '--close-after does not go with --once' --close-after 1 --once
}
