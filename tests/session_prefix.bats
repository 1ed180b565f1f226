#!/usr/bin/env bats
# --session ID: the beginning of an id is enough, in every tool that has the option.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
	for id in 12ab-x 34cd-y 12ef-z; do
		printf '{"t":1,"from":"agent","msg":{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%s","update":%s}}}\n' \
		    "$id" '{"sessionUpdate":"usage_update","used":1,"size":10}'
	done >s.rec
	jq -c .msg s.rec >stream
}

teardown() {
	end_left_over
}

# sessions OUTPUT: the ids in it, in order.
sessions() {
	grep -oE '12ab-x|34cd-y|12ef-z' <<<"$1" | tr '\n' ' '
}

@test "a beginning that one session has" {
	assert_equal "$(sessions "$(acp-tap -f raw --session 34 s.rec)")" '34cd-y '
	assert_equal "$(sessions "$(acp-usage -f json --session 34 s.rec)")" '34cd-y '
	assert_equal "$(sessions "$(acp-usage -f json --summary --session 34 s.rec)")" '34cd-y '
	assert_equal "$(sessions "$(acp-fault --drop 1 --session 34 <stream)")" '12ab-x 12ef-z '
	run acp-inject --session 34 -e empty <stream
	assert_equal "$(sessions "$output")" '12ab-x 12ef-z '
	run acp-inject -e empty --session 34cd-y <stream
	assert_equal "$(sessions "$output")" '12ab-x 12ef-z '
}

@test "an end that one session has, as a timeline shows it where beginnings are alike" {
	assert_equal "$(sessions "$(acp-tap -f raw --session ef-z s.rec)")" '12ef-z '
	assert_equal "$(sessions "$(acp-usage -f json --summary --session ef-z s.rec)")" '12ef-z '
	printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"0194-0000-%s","update":{"sessionUpdate":"x"}}}\n' a1 b2 >alike
	label=$(acp-tap -f pretty alike | tail -n 1 | grep -o '[^ ]*b2')
	run acp-tap -f raw --session "$label" alike
	assert_output "$(tail -n 1 alike)"
}

@test "where it begins several ids the first session is taken, and one line says so" {
	local why='--session: 12 matches more than one session: using 12ab-x, not 12ef-z'
	run --separate-stderr acp-tap -f raw --session 12 s.rec s.rec
	assert_equal "$(sessions "$output")" '12ab-x 12ab-x '
	assert_equal "$stderr" "acp-tap: $why"
	run --separate-stderr acp-usage -f json --session 12 s.rec
	assert_equal "$(sessions "$output")" '12ab-x '
	assert_regex "$stderr" "acp-usage: $why"
	run --separate-stderr acp-fault --drop 1 --session 12 <stream
	assert_equal "$(sessions "$output")" '34cd-y 12ef-z '
	assert_equal "$stderr" "acp-fault: $why"
	run --separate-stderr acp-inject -e empty --session 12 <stream
	assert_equal "$(sessions "$output")" '34cd-y 12ef-z '
	assert_equal "$stderr" "acp-inject: $why"
}

@test "a whole id is that session, also where others begin so" {
	sed 's/12ef-z/12ab-x:child/' s.rec | tac >child.rec
	run --separate-stderr acp-tap -f raw --session 12ab-x child.rec
	assert_line --partial '"sessionId":"12ab-x",'
	sed 's/12ef-z/12ab-x:child/' s.rec >child.rec
	run --separate-stderr acp-tap -f raw --session 12ab-x child.rec
	assert_equal "${#lines[@]}" 1
	assert_equal "$stderr" ''
}
