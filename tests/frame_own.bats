#!/usr/bin/env bats
# The frame: what a filter can do to messages, and send of its own.

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

# passes DOWN UP RULE...: the agent gets DOWN into got and sends UP, which comes in out.
passes() {
	printf '%s\n' "$1" >down
	printf '%s' "${2:+$2
}" >up
	shift 2
	takes_then_sends "$way" "$@" <down >out 2>err
}

@test "a message is dropped" {
	drops() {
		passes '{"method":"a"}
{"id":1,"method":"x"}
{"method":"b"}' '{"method":"c"}
{"method":"x"}
{"id":1,"result":0}' x:drop
		[ "$(cat got)" = '{"method":"a"}
{"method":"b"}' ]
		[ "$(cat out)" = '{"method":"c"}
{"id":1,"result":0}' ]
	}
	each_way drops
}

@test "an edit is a splice: the rest stays byte for byte" {
	edits() {
		printf ' {"x" : 1.50,"method":"x", "params":{"big":12345678901234567890123,"text" : "old"  ,"u":"\\u0041"} } \r\n' >down
		printf ' {"x" : 1.50,"method":"x", "params":{"big":12345678901234567890123,"text" : "edited"  ,"u":"\\u0041"} } \r\n' >want
		cp down up
		takes_then_sends "$way" x:edit <down >out
		cmp want got
		cmp want out
		passes '{"id":"\u0031","method":"q"}' '{"result" : {"a":1}, "id":"1"}' q:edit
		[ "$(cat out)" = '{"result" : "edited", "id":"1"}' ]
	}
	each_way edits
}

@test "a response comes from the filter, to the side that asked" {
	answers() {
		passes '{"id":"\u0031","method":"x"}
{"id":2,"method":"y"}' '{"id":7,"method":"x"}' x:answer y:refuse
		[ "$(sort out)" = '{"jsonrpc":"2.0","id":"\u0031","result":{"by":"filter"}}
{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"refused"}}' ]
	}
	each_way answers
	# The agent's own is answered on its side: it has to be there still.
	printf '{"id":7,"method":"x"}\n' >up
	filter link x:answer -- sh -c 'cat up; head -n 1 >got' < <(wait_for test -s got) >out
	[ "$(cat got)" = '{"jsonrpc":"2.0","id":7,"result":{"by":"filter"}}' ]
	[ ! -s out ]
}

@test "a filter's request is answered to it and to no one else, whatever ids are open" {
	asks() {
		cat >agent <<-'END'
			while read -r line; do
				case $line in
				*test/ask*) printf '%s\n' "$line" | sed 's/.*"id":\("[^"]*"\).*/{"id":\1,"result":{"sessionId":"own"}}/' ;;
				*'"id":1'*) echo '{"id":1,"result":"theirs"}' ;;
				esac
				printf '%s\n' "$line" >>got
			done
		END
		: >got
		printf '{"id":1,"method":"x"}\n{"method":"a"}\n' >down
		(unset FILTER_QUIET; filter "$way" x:ask -- sh agent <down >out 2>err)
		# The rule is for the response, too: that asks the client, who has left.
		assert_equal "$(sed -E 's/rulefilter-[0-9a-f]{16}-2/ID/' out)" '{"jsonrpc":"2.0","id":"ID","method":"test/ask","params":{"q":1}}
{"id":1,"result":"theirs"}'
		assert_equal "$(sed -E 's/rulefilter-[0-9a-f]{16}-1/ID/' got)" '{"jsonrpc":"2.0","id":"ID","method":"test/ask","params":{"q":1}}
{"id":1,"method":"x"}
{"method":"a"}'
		grep -qx 'up agent own-response "test/ask" "own"' err
	}
	each_way asks
}

@test "a filter's notification goes before the message that it came with" {
	emits() {
		passes '{"method":"a"}
{"method":"x"}' '{"method":"x"}' x:emit
		[ "$(cat got)" = '{"method":"a"}
{"jsonrpc":"2.0","method":"test/emitted"}
{"method":"x"}' ]
		[ "$(cat out)" = '{"jsonrpc":"2.0","method":"test/emitted"}
{"method":"x"}' ]
	}
	each_way emits
}

@test "a held message goes on after what passed it" {
	holds() {
		passes '{"method":"x","n":1}
{"method":"a"}
{"method":"x","n":2}
{"method":"b"}
{"method":"go"}
{"method":"c"}' '' x:hold
		[ "$(cat got)" = '{"method":"a"}
{"method":"b"}
{"method":"x","n":1}
{"method":"x","n":2}
{"method":"go"}
{"method":"c"}' ]
		passes '{"id":1,"method":"x"}
{"method":"go"}' '' x:hold-drop
		[ "$(cat got)" = '{"method":"go"}' ]
		passes '{"id":1,"method":"x"}
{"method":"go"}' '' x:hold-answer
		[ "$(cat got)" = '{"method":"go"}' ]
		[ "$(cat out)" = '{"jsonrpc":"2.0","id":1,"result":{"by":"filter"}}' ]
	}
	each_way holds
}

@test "a held response goes on after what passed it" {
	responses() {
		passes '{"id":1,"method":"x"}' '{"id":1,"result":0}
{"method":"a"}
{"method":"go"}' x:hold-response
		[ "$(cat out)" = '{"method":"a"}
{"id":1,"result":0}
{"method":"go"}' ]
	}
	each_way responses
}

# bats test_tags=slow
@test "a peer that answers a request while it is held" {
	for rule in hold hold-drop hold-answer; do
		: >out
		{ echo '{"id":1,"method":"x"}'; wait_for grep -q '"liar"' out; echo '{"method":"go"}'; } |
			filter wrap "x:$rule" -- sh -c 'echo "{\"id\":1,\"result\":\"liar\"}"; cat >got' >out
		grep -qxF '{"id":1,"result":"liar"}' out
		grep -qxF '{"method":"go"}' got
	done
	# Whichever comes first: the answer above may have come before the request was held.
	: >out
	mkfifo feed
	filter wrap x:hold-answer -- sh -c 'read -r line; echo "{\"id\":1,\"result\":\"liar\"}"; cat >got' <feed >out &
	exec 5>feed
	echo '{"id":1,"method":"x"}' >&5
	echo '{"method":"now"}' >&5
	wait_for grep -q liar out
	echo '{"method":"go"}' >&5
	exec 5>&-
	wait $!
	[ "$(cat out)" = '{"id":1,"result":"liar"}
{"jsonrpc":"2.0","id":1,"result":{"by":"filter"}}' ]
}

# bats test_tags=slow
@test "in a one-way pipe, more open requests than are kept do not touch those that are held" {
	{ echo '{"id":"held","method":"x"}'; seq 17000 | sed 's/.*/{"id":&,"method":"a"}/'; echo '{"method":"go"}'; } >down
	rulefilter x:hold <down >out
	[ "$(tail -n 2 out)" = '{"id":"held","method":"x"}
{"method":"go"}' ]
	rulefilter x:hold-drop <down >out
	[ "$(wc -l <out)" -eq 17001 ]
}

# bats test_tags=slow
@test "messages of a client that has left still arrive when they were held" {
	passes_go() {
		passes '{"method":"x"}
{"method":"go"}' '' x:hold
		grep -q '"x"' got
	}
	each_way passes_go
}

@test "a filter's last messages, sent at the end, arrive" {
	for way in "${WAYS[@]}"; do
		printf '{"method":"torn"}' >up
		FILTER_LAST=1 filter "$way" -- cat up </dev/null >out
		[ "$(cat out)" = '{"method":"torn"}
{"jsonrpc":"2.0","method":"test/last"}' ]
	done
}

@test "what a filter makes of a message is one, or it does not leave" {
	printf '{"method":"x"}\n{"method":"a"}\n' >down
	rulefilter x:array <down >out 2>err
	[ "$(cat out)" = '{"method":"a"}' ]
	[ "$(said)" = 'rulefilter: the result of an edit is not a message (an array: ACP has no batches at byte 1): dropped' ]
	rulefilter x:give-id <down >out
	[ "$(cat out)" = '{"method":"x","id":"given"}
{"method":"a"}' ]
}

# bats test_tags=slow
@test "a thousand requests in flight at once, both ways, with the same ids" {
	seq 1500 | sed 's/.*/{"id":&,"method":"a"}/' >down
	seq 1500 -1 1 | sed 's/.*/{"id":&,"method":"b"}\n{"id":&,"result":"a&"}/' >up
	unset FILTER_QUIET
	takes_then_sends wrap none:edit <down >out 2>err
	cmp down got
	cmp up out
	[ "$(grep -c 'up agent response "a"' err)" -eq 1500 ]
	[ "$(grep -c 'up agent request "b"' err)" -eq 1500 ]
}

# bats test_tags=slow
@test "one id a hundred thousand times, answered here or there, stays fast" {
	seq 100000 | sed 's/.*/{"id":1,"method":"a"}\n{"id":1,"method":"x"}/' >down
	filter wrap x:answer -- sh -c 'cat >/dev/null' <down >out
	[ "$(wc -l <out)" -eq 100000 ]
}

@test "what a filter sends before the first message reaches the agent first" {
	first() {
		FILTER_FIRST=test/first passes '{"method":"a"}' '' none:edit
		[ "$(cat got)" = '{"jsonrpc":"2.0","method":"test/first"}
{"method":"a"}' ]
	}
	each_way first
}
