#!/usr/bin/env bats
# What every tool promises of the files that it writes: none of them is an input, and each has one writer.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
	printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}' \
		'{"jsonrpc":"2.0","id":1,"result":{}}' >plain
	acp-tap -f record plain >s.rec
	cp s.rec before
	ln -s s.rec link
	ln s.rec hard
}

teardown() {
	end_left_over
}

# refused NAME COMMAND...: status 2, one line that names the file, and the recording is as it was.
refused() {
	local name=$1
	shift
	run -2 timeout 10 "$@"
	assert_output "$1: $name: it is also an input"
	cmp s.rec before
}

# bats test_tags=slow
@test "no output is an operand, by its name, through a symbolic link or a hard link" {
	for name in s.rec ./s.rec link hard; do
		refused $name acp-tap -o $name s.rec
		refused $name acp-tap -a -o $name s.rec
		refused $name acp-usage -o $name s.rec
		refused $name acp-usage --summary -f json -o $name s.rec
		refused $name acp-usage -f prom -o $name s.rec
		refused $name acp-usage --merge -o $name s.rec
		refused $name acp-check -o $name s.rec
		refused $name acp-replay --record $name s.rec
		refused $name acp-replay --as client --record $name s.rec -- cat
	done
}

@test "no output is standard input" {
	while read -r command; do
		run -2 timeout 10 sh -c "exec $command <hard"
		assert_output "${command%% *}: link: it is also an input"
		cmp s.rec before
	done <<-'END'
		acp-tap -o link -
		acp-tap -o link
		acp-tap -a -o link -- cat
		acp-usage -o link
		acp-check -o link
		acp-usage --pass -f prom -o link
		acp-fault --seed 1 --drop 1 --report link
		acp-replay --record link plain
		acp-conduct --record link -- cat
		acp-conduct --trace link -- cat
	END
}

@test "no output is the list of prices" {
	printf '{"m":{"input_cost_per_token":1}}\n' >prices
	cp prices prices.before
	for f in json prom; do
		run -2 acp-usage --prices prices -f $f -o prices s.rec
		assert_output "acp-usage: prices: it is also an input"
	done
	cmp prices prices.before
}

@test "standard output is no operand" {
	run -2 sh -c 'exec acp-tap -f record s.rec >>hard'
	assert_output 'acp-tap: standard output: it is also an input'
	cmp s.rec before
}

# bats test_tags=slow
@test "the second writer is refused, and what the first has written stays" {
	mkfifo in
	acp-tap -o out.rec <in >/dev/null &
	exec 5>in
	cat plain >&5
	wait_for grep -q '"id":1' out.rec
	cp out.rec before
	while read -r status command; do
		run "-$status" timeout 10 sh -c "exec $command </dev/null"
		assert_output "${command%% *}: out.rec: it is already being written"
		cmp out.rec before
	done <<-'END'
		125 acp-tap -o out.rec
		125 acp-tap -a -o out.rec
		125 acp-tap -o out.rec s.rec
		125 acp-usage -o out.rec
		125 acp-usage -o out.rec s.rec
		125 acp-usage -f prom -o out.rec s.rec
		125 acp-check -o out.rec
		125 acp-check -o out.rec s.rec
		125 acp-fault --seed 1 --drop 1 --report out.rec
		2 acp-replay --record out.rec s.rec
		2 acp-replay --check --update out.rec
		2 acp-conduct --record out.rec -- cat
		2 acp-conduct --trace out.rec -- cat
	END
	exec 5>&-
	wait $!
}

@test "one process does not write two outputs to one file" {
	run -2 timeout 10 acp-conduct --record one --trace ./one -- cat </dev/null
	assert_output --regexp '^acp-conduct: (\./)?one: it is already being written$'
}

@test "a file that a process was killed over is free again" {
	mkfifo in
	acp-tap -o out.rec <in >/dev/null &
	exec 5>in
	wait_for test -s out.rec
	kill -9 $!
	wait $! || true
	exec 5>&-
	acp-tap -o out.rec s.rec
	cmp <(acp-tap -f raw s.rec) plain
}

@test "pipes and devices have as many writers as they like" {
	mkfifo pipe
	cat pipe >got &
	exec 5>pipe
	acp-tap -f raw -o pipe -- acp-tap -f raw -o pipe -- cat <plain >/dev/null
	exec 5>&-
	wait $!
	run grep -c initialize got
	assert_output 4
	acp-tap -o /dev/null -- acp-tap -o /dev/null -- cat <plain >/dev/null
}

@test "SIGUSR1 onto a FIFO that nobody reads yet: the old file is closed, and the FIFO gets what follows" {
	mkfifo in
	acp-tap -o a.rec <in >/dev/null 2>err &
	pid=$!
	exec 5>in
	head -n 1 plain >&5
	wait_for grep -q initialize a.rec
	mv a.rec a.old
	mkfifo a.rec
	closed() { [ -z "$(find "/proc/$pid/fd" -lname '*/a.old')" ]; }
	kill -USR1 $pid
	wait_for closed
	cat a.rec >got 5>&- &
	reader=$!
	tail -n 1 plain >&5
	exec 5>&-
	wait $pid
	wait $reader
	[ ! -s err ]
	run jq -r '.["acp-recording"] | values' got
	assert_output 1
	run acp-tap -f raw got
	assert_output "$(tail -n 1 plain)"
}

@test "SIGUSR1 onto a file that another process writes: the old one goes on" {
	mkfifo in in2
	acp-tap -o a.rec <in >/dev/null 2>err &
	pid=$!
	exec 5>in
	wait_for test -s a.rec
	acp-tap -o b.rec <in2 >/dev/null 5>&- &
	exec 6>in2
	wait_for test -s b.rec
	mv a.rec a.old
	ln b.rec a.rec
	kill -USR1 $pid
	cat plain >&5
	wait_for test -s err
	exec 5>&- 6>&-
	wait $pid
	wait $!
	assert_equal "$(cat err)" 'acp-tap: cannot be reopened: a.rec: it is already being written'
	run grep -c initialize a.old b.rec
	assert_output $'a.old:1\nb.rec:0'
}

@test "metrics replace a file, and nothing else" {
	run -2 timeout 10 acp-usage -f prom -o /dev/null s.rec
	assert_output 'acp-usage: /dev/null: it is not a regular file'
	acp-usage -f prom -o m.prom s.rec
	run ls
	refute_output --partial 'm.prom.'
	assert_equal "$(stat -c %a m.prom)" "$(printf %o $((0666 & ~$(umask) & 0644)))"
	chmod 600 m.prom
	acp-usage -f prom -o m.prom s.rec
	assert_equal "$(stat -c %a m.prom)" 600
}

# keeps STATUS COMMAND...: fails with it and without output: a file stays as it was, and none is made.
keeps() {
	local status=$1
	shift
	echo old >out
	run "-$status" "$1" -o out "${@:2}"
	assert_equal "$(cat out)" old
	run "-$status" "$1" -o new "${@:2}"
	[[ ! -e new ]]
}

# bats test_tags=slow
@test "what has no output to write because it failed leaves the file as it was" {
	: >empty
	while read -r command; do
		for file in nosuch empty; do
			# shellcheck disable=SC2086 # words
			keeps 2 $command $file
		done
	done <<-'END'
		acp-tap
		acp-tap -f record
		acp-tap -f raw
		acp-export
		acp-export -f markdown
		acp-export -f otlp
		acp-export -f perfetto
		acp-usage
		acp-usage --summary
		acp-usage --summary -f json
		acp-usage --merge
		acp-stat
		acp-stat -f json
		acp-stat --merge
		acp-check
	END
	while read -r command; do
		# shellcheck disable=SC2086 # words
		keeps 2 $command --session nope "$FIXTURES/demo.rec"
	done <<-'END'
		acp-export -f html
		acp-export -f markdown
		acp-usage
		acp-usage --summary
		acp-usage --summary -f json
		acp-usage -f prom
		acp-stat
		acp-stat -f json
		acp-stat -f prom
		acp-check
	END
}

@test "an output without anything in it empties the file, and makes it" {
	echo old >out
	run -0 acp-check -o out "$FIXTURES/demo.rec"
	run -1 acp-tap -f raw -m nothing -o new s.rec
	assert_equal "$(stat -c %s out new)" $'0\n0'
}
