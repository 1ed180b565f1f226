#!/usr/bin/env bats
# The frame: a line that is an array reaches a filter message by message and leaves as an array.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load frame
	lib_setup
}

# passes DOWN UP RULE...: the agent gets DOWN into got and sends UP, which comes in out.
passes() {
	printf '%s\n' "$1" >down
	printf '%s' "${2:+$2
}" >up
	shift 2
	takes_then_sends "$way" "$@" <down >out 2>err
}

each_way() {
	for way in "${WAYS[@]}"; do "$@" || return 1; done
}

@test "an array that nobody changes passes byte for byte" {
	untouched() {
		batch=' [ {"id":1, "method":"a"} ,{"method":"b"}, 5, [], {"id":1,"id":1} ] '
		passes "$batch" '[{"result":1 , "id":1}]'
		[ "$(cat got)" = "$batch" ]
		[ "$(cat out)" = '[{"result":1 , "id":1}]' ]
		passes '[{"id":1, "method":"a"} ,{"method":"b"}]' '' none:edit
		[ "$(cat got)" = '[{"id":1, "method":"a"} ,{"method":"b"}]' ]
	}
	each_way untouched
}

@test "each entry is shown in turn, with its request, and the last one is told" {
	way=wrap
	passes '[{"id":1,"method":"a"},7,{"method":"b"}]' '[{"id":1,"result":0}]'
	run grep -E '^(down|up)' err
	assert_output 'down client request "a" - entry
down client noise - - entry
down client notification "b" - last
up agent response "a" - last'
}

@test "a filter that edits is not shown what is no message; the last message is told all the same" {
	way=wrap
	passes '[{"id":1,"method":"a"},7,{"method":"b"},8]' '' none:edit
	run grep -E '^down' err
	assert_output 'down client request "a" - entry
down client notification "b" - last'
	[ "$(cat got)" = '[{"id":1,"method":"a"},{"method":"b"}]' ]
}

@test "an entry is dropped, edited, or is noise: the others stay as they were" {
	changes() {
		passes '[ {"method":"x"} , {"method":"a","n":1.50} , {"method":"x"},{"method":"b","params":{"text" : "old"}} ]' '' x:drop b:edit
		[ "$(cat got)" = '[ {"method":"a","n":1.50} ,{"method":"b","params":{"text" : "edited"}} ]' ]
		passes '[{"method":"a"},{"method":"x"}]' '' x:drop
		[ "$(cat got)" = '[{"method":"a"}]' ]
		passes '[{"method":"a"},7,{"id":true,"method":"y"},[],{"method":"b"}]' '' x:drop
		[ "$(cat got)" = '[{"method":"a"},{"method":"b"}]' ]
		[ "$(said)" = 'rulefilter: client: line 1: entries of a batch that are no messages, dropped: 3, the first: 7' ]
	}
	each_way changes
}

@test "an array of which nothing is left is not sent" {
	nothing() {
		passes '[{"method":"x"},{"method":"x"}]' '' x:drop
		[ ! -s got ]
		passes '[1]' '' x:drop
		[ ! -s got ]
	}
	each_way nothing
}

@test "answers made here join the array of answers" {
	joins() {
		passes '[{"id":1,"method":"x"},{"id":2,"method":"a"},{"id":3,"method":"x"}]' '[{"id":2,"result":"agent"}]' x:answer
		[ "$(cat got)" = '[{"id":2,"method":"a"}]' ]
		[ "$(cat out)" = '[{"id":2,"result":"agent"},{"jsonrpc":"2.0","id":1,"result":{"by":"filter"}},{"jsonrpc":"2.0","id":3,"result":{"by":"filter"}}]' ]
	}
	each_way joins
}

@test "where all of an array is answered here, the answers are one array" {
	all() {
		passes '[{"id":1,"method":"x"},{"method":"gone"},{"id":2,"method":"y"}]' '' x:answer y:refuse gone:drop
		[ ! -s got ]
		[ "$(cat out)" = '[{"jsonrpc":"2.0","id":1,"result":{"by":"filter"}},{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"refused"}}]' ]
	}
	each_way all
}

@test "answers made here are sent when the agent answers the rest one by one" {
	singly() {
		passes '[{"id":1,"method":"x"},{"id":2,"method":"a"},{"id":3,"method":"a"}]' '{"id":3,"result":3}
{"id":2,"result":2}' x:answer
		[ "$(cat out)" = '{"id":3,"result":3}
{"id":2,"result":2}
[{"jsonrpc":"2.0","id":1,"result":{"by":"filter"}}]' ]
	}
	each_way singly
}

@test "answers made here are sent when the agent refuses the array with one -32600" {
	refused() {
		passes '[{"id":1,"method":"x"},{"id":2,"method":"a"}]' '{"id":null,"error":{"code":-32600,"message":"no batches"}}' x:answer
		[ "$(cat out)" = '{"id":null,"error":{"code":-32600,"message":"no batches"}}
[{"jsonrpc":"2.0","id":1,"result":{"by":"filter"}}]' ]
	}
	each_way refused
}

@test "the answers to one array may come in the array that answers another" {
	way=wrap
	passes '[{"id":1,"method":"x"},{"id":2,"method":"a"}]
[{"id":3,"method":"x"},{"id":4,"method":"a"}]' '[{"id":4,"result":4},{"id":2,"result":2}]' x:answer
	[ "$(cat out)" = '[{"id":4,"result":4},{"id":2,"result":2},{"jsonrpc":"2.0","id":3,"result":{"by":"filter"}},{"jsonrpc":"2.0","id":1,"result":{"by":"filter"}}]' ]
}

@test "a held entry holds its array; what comes after passes it" {
	holds() {
		passes '[{"method":"x"},{"method":"a"}]
{"method":"later"}
{"method":"go"}' '' x:hold
		[ "$(cat got)" = '{"method":"later"}
[{"method":"x"},{"method":"a"}]
{"method":"go"}' ]
		passes '[{"method":"a"},{"method":"x"}]
{"method":"go"}' '' x:hold-drop
		[ "$(cat got)" = '[{"method":"a"}]
{"method":"go"}' ]
		passes '[{"id":1,"method":"x"},{"id":2,"method":"a"}]
{"method":"go"}' '[{"id":2,"result":2}]' x:hold-answer
		[ "$(cat got)" = '[{"id":2,"method":"a"}]
{"method":"go"}' ]
		[ "$(cat out)" = '[{"id":2,"result":2},{"jsonrpc":"2.0","id":1,"result":{"by":"filter"}}]' ]
	}
	each_way holds
}

@test "an entry that is let go of by a later one of the same array" {
	same() {
		passes '[{"method":"x"},{"method":"go"},{"method":"a"}]' '' x:hold
		[ "$(cat got)" = '[{"method":"x"},{"method":"go"},{"method":"a"}]' ]
		passes '[{"method":"x"},{"id":1,"method":"go"}]' '' x:hold-drop go:answer
		[ ! -s got ]
		[ "$(cat out)" = '[{"jsonrpc":"2.0","id":1,"result":{"by":"filter"}}]' ]
	}
	each_way same
}

@test "a million entries that are no messages cost a line on stderr, not a million" {
	{ printf '[1'; head -c 2000000 /dev/zero | sed 's/\x0/,1/g' | head -c 2000000; echo ']'; } >down
	rulefilter x:drop <down >out 2>err
	[ "$(grep -c . err)" -le 3 ]
	[ ! -s out ]
}
