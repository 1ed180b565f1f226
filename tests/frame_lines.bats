#!/usr/bin/env bats
# The frame: filters that work on whole lines as they leave, owe lines to a lane, and quit.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load frame
	lib_setup
	export FILTER_QUIET=1
}

teardown() {
	end_left_over
}

@test "a line as it leaves: its bytes, a CR and white space included, and the number it came in with" {
	printf ' {"method" : "x"}\r\n\n{"method":"y"}\n{"method":"x"}' >in
	rulefilter x:show <in >out 2>err
	cmp in out
	run grep -a leaving err
	assert_output $'leaving 1  {"method" : "x"}\r inside  {"method" : "x"}\r
leaving 4 {"method":"x"} inside {"method":"x"}'
}

@test "in a proxy chain a line leaves with its envelope, and what is inside is reported" {
	printf '%s\n' '{"id":0,"method":"proxy/initialize"}' '{"id":"c","method":"x","params":{"a":1}}' \
		'{"method":"proxy/successor","params":{"method":"x","params":[2]}}' >in
	rulefilter x:show <in >out 2>err
	run grep leaving err
	assert_output 'leaving 2 {"id":2,"method":"proxy/successor","params":{"method":"x","params":{"a":1}}} inside {"method":"x","params":{"a":1}}
leaving 3 {"method":"x","params":[2]} inside {"method":"x","params":[2]}'
	assert_equal "$(sed 1d out)" '{"id":2,"method":"proxy/successor","params":{"method":"x","params":{"a":1}}}
{"method":"x","params":[2]}'
}

@test "noise passes a filter that works on lines; with --clean it does not" {
	printf 'hello\n\n{"method":"x"}\n' >in
	rulefilter x:show <in 2>err | cmp - in
	FILTER_CLEAN=1 run --separate-stderr rulefilter x:show <in
	assert_output '{"method":"x"}'
	[[ $stderr == *'line 1: not a message'* ]]
}

@test "to a filter that works on lines a line beyond the limit is noise" {
	{ head -c 5000 /dev/zero | tr '\0' x; printf '\n{"method":"x"}\n'; } >in
	FILTER_LIMIT=1K run --separate-stderr rulefilter x:raw <in
	assert_output $'raw\n{"method":"x"}'
	[[ $stderr == *'longer than 1024 bytes: dropped'* ]]
}

@test "a raw line goes before a message, alone on its line" {
	each() {
		printf '{"method":"a"}\n{"method":"x"}' >down
		printf '{"method":"x"}\n{"method":"b"}' >up
		takes_then_sends "$way" x:raw <down >out
		printf '{"method":"a"}\nraw\n{"method":"x"}' | cmp - got
		printf 'raw\n{"method":"x"}\n{"method":"b"}' | cmp - out
	}
	for way in "${WAYS[@]}"; do each; done
}

@test "a lost line is gone, and so are its requests: another of the same id is a new one" {
	cat >agent <<-'END'
		while read -r line; do
			case $line in *'"id":1,'*) echo '{"id":1,"result":0}' ;; esac
		done
	END
	unset FILTER_QUIET
	each() {
		printf '%s\n' '{"id":1,"method":"x"}' '{"id":1,"method":"y"}' |
			filter "$way" x:lose -- sh agent >out 2>err
		assert_equal "$(cat out)" '{"id":1,"result":0}'
		assert_equal "$(grep response err)" 'up agent response "y" -'
	}
	for way in "${WAYS[@]}"; do each; done
}

# bats test_tags=slow
@test "in a proxy chain, too: of a lost request no response is known" {
	printf '%s\n' '{"id":0,"method":"proxy/initialize"}' '{"id":1,"method":"x"}' '{"id":1,"method":"x"}' '{"id":2,"result":0}' \
		'{"id":1,"method":"y"}' '{"id":4,"result":0}' |
		rulefilter x:lose 2>err | sed 1d >out
	assert_equal "$(cat out)" '{"id":4,"method":"proxy/successor","params":{"method":"y"}}
{"id":1,"result":0}'
	assert_equal "$(cat err)" 'rulefilter: conductor: a response to no open request: dropped'
}

# bats test_tags=slow
@test "what is owed in a direction goes out before it ends, however long the client has been gone" {
	each() {
		printf '%s\n' '{"method":"a"}' '{"method":"x"}' noise '{"method":"b"}' >down
		: >up
		takes_then_sends "$way" x:late <down
		cmp down got
	}
	for way in "${WAYS[@]}"; do each; done
	# Were it the grace that counts, the agent would be killed 2 s after.
	FILTER_GRACE=10ms FILTER_LATE=2500ms filter wrap x:late -- sh -c 'trap "" TERM; cat >got' <down
	cmp down got
	rulefilter x:late <down | cmp - down
}

# bats test_tags=slow
@test "a direction that is owed something and is full is not read: its sender waits, the other goes on" {
	mkfifo down
	sh -c 'exec 3>down; echo "{\"method\":\"x\"}" >&3; head -c 4000000 /dev/zero | tr "\0" "\n" >&3; echo done >sent' &
	# The agent's last word comes back while the client's pipe is full.
	FILTER_LATE=1s filter wrap x:late-full -- sh -c '[ -e sent ] || echo "{\"method\":\"not-sent\"}"; cat >got; wc -c <got >&2' \
		<down >out 2>err
	wait
	assert_equal "$(cat out)" '{"method":"not-sent"}'
	assert_equal "$(cat err)" 4000015
}

@test "a reader that has gone is owed nothing" {
	printf '{"method":"x"}\n' >down
	FILTER_LATE=1000s run filter wrap x:late -- sh -c 'exec <&-; sleep 0.1'
	assert_success
}

@test "a filter that quits: what went before is written, the rest is not shown, the agent is killed" {
	each() {
		printf '%s\n' '{"method":"a"}' '{"method":"x"}' '{"method":"b"}' >down
		run filter "$way" x:quit -- sh -c 'sleep 1000 & cat >got' <down
		assert_equal "$status" 9
		wait_for nobody_left
	}
	way=wrap each
	way=wrap-sockets each
	run -9 rulefilter x:quit <down
	assert_output $'{"method":"a"}\n{"method":"x"}'
}
