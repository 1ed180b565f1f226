#!/usr/bin/env bats
# acp-tap --redact: secrets stay out of what is written, and in what passes.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
}

# becomes PARAMS EXPECTED N: as the params of a message, with N values redacted, each an @ in EXPECTED.
becomes() {
	local head='{"jsonrpc":"2.0","method":"m","params":' n=$3 mark='"<redacted>"'
	printf '%s%s}\n' "$head" "$1" >in
	run -0 --separate-stderr acp-tap --redact -f raw in
	assert_output "$head${2//@/"$mark"}}"
	assert_regex "$stderr" "^acp-tap: redacted $n values? in $((n > 0)) messages?\$"
}

@test "headers and env as objects: every value below" {
	becomes '{"headers":{"A":"x","B":1,"C":{"D":[true,null,"y"]}}}' '{"headers":{"A":@,"B":@,"C":{"D":[@,@,@]}}}' 5
	becomes '{"a":[{"env":{"name":"x","value":"y"}}]}' '{"a":[{"env":{"name":@,"value":@}}]}' 2
}

@test "headers and env as arrays of pairs: the value, not the name" {
	becomes '{"mcpServers":[{"env":[{"name":"TOKEN","value":"x"},{"name":"B","value":"y"}]}]}' \
		'{"mcpServers":[{"env":[{"name":"TOKEN","value":@},{"name":"B","value":@}]}]}' 2
	becomes '{"headers":[{"name":"A","value":"x","more":{"name":"z"}}]}' '{"headers":[{"name":"A","value":@,"more":{"name":@}}]}' 2
	becomes '{"env":["A=x",["B=y"]]}' '{"env":[@,[@]]}' 2
	becomes '{"env":[{"name":7,"value":8}]}' '{"env":[{"name":@,"value":@}]}' 2
}

@test "below proxyConfig all" {
	becomes '{"proxyConfig":{"url":"u","list":[1,{"a":"b"}]},"url":"u"}' '{"proxyConfig":{"url":@,"list":[@,{"a":@}]},"url":"u"}' 3
}

@test "members by name, as a whole, in any case, strings only" {
	for name in authorization proxy-authorization cookie set-cookie x-api-key api-key api_key apikey proxy_key \
		x-auth-token token access_token refresh_token password secret AuthoriZation API_KEY; do
		becomes "{\"$name\":\"x\"}" "{\"$name\":@}" 1
	done
	becomes '{"token":5,"secret":null,"password":true,"cookie":[]}' '{"token":5,"secret":null,"password":true,"cookie":[]}' 0
	becomes '{"tokens":"x","my_token":"x","totalTokens":"5","headers2":{"a":"b"}}' '{"tokens":"x","my_token":"x","totalTokens":"5","headers2":{"a":"b"}}' 0
	becomes '{"token":{"a":"x","secret":"y"}}' '{"token":{"a":"x","secret":@}}' 1
	becomes '{"token":["x"]}' '{"token":["x"]}' 0
}

@test "names compare unescaped; words in strings are no names" {
	becomes '{"to\u006ben":"x","\u0048eaders":{"a":"b"}}' '{"to\u006ben":@,"\u0048eaders":{"a":@}}' 2
	becomes '{"text":"{\"token\":\"x\"}","a":"token"}' '{"text":"{\"token\":\"x\"}","a":"token"}' 0
}

@test "all else keeps its bytes: white space, numbers, escapes, strings with braces" {
	becomes '{ "n" : 1.50 , "s":"a\u0041}]\\" ,"token" : "x\"}" ,"z":[ ] }' '{ "n" : 1.50 , "s":"a\u0041}]\\" ,"token" : @ ,"z":[ ] }' 1
}

@test "as deep as a message may be" {
	deep=$(printf '{"a":%.0s' $(seq 1020)) shut=$(printf '}%.0s' $(seq 1020))
	becomes "$deep{\"token\":\"x\"}$shut" "$deep{\"token\":@}$shut" 1
}

@test "a long name and an empty one are no trouble" {
	long=$(printf 'token%.0s' $(seq 1000))
	becomes "{\"$long\":\"x\",\"\":\"y\"}" "{\"$long\":\"x\",\"\":\"y\"}" 0
}

@test "each entry of a batch, and they are counted as messages" {
	echo ' [{"jsonrpc":"2.0","method":"a","params":{"token":"x"}}, {"jsonrpc":"2.0","method":"b","params":{"token":"y","secret":"z"}}]' >in
	run -0 --separate-stderr acp-tap --redact -f raw in
	assert_output ' [{"jsonrpc":"2.0","method":"a","params":{"token":"<redacted>"}}, {"jsonrpc":"2.0","method":"b","params":{"token":"<redacted>","secret":"<redacted>"}}]'
	assert_equal "$stderr" 'acp-tap: redacted 3 values in 2 messages'
}

@test "what passes keeps its secrets, and no format writes them" {
	echo '{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"token":"hunter2","prompt":[{"type":"text","text":"hi","secret":"hunter2"}]}}' >in
	for f in record raw trace pretty; do
		acp-tap --redact -f $f -o log <in >out 2>err
		cmp in out
		run grep -c hunter2 log
		assert_output 0
	done
	echo '{"jsonrpc":"2.0","id":1,"method":"x/y","params":{"token":"hunter2"}}' >in
	run -0 acp-tap --redact in
	refute_output --partial hunter2
	assert_output --partial '<redacted>'
}

@test "the text of noise and standard error is left out, and so are the words of the command" {
	acp-tap --redact -o s.rec -- sh -c 'echo key hunter2; echo key hunter2 >&2' </dev/null >out 2>err
	assert_equal "$(cat out)" 'key hunter2'
	run grep -c hunter2 s.rec
	assert_output 0
	run cat err
	assert_line 'acp-tap: redacted 0 values in 0 messages; the text of 2 other lines left out'
	run jq -c '.command // .noise // .stderr // empty' s.rec
	assert_line '["sh"]'
	assert_line '"<redacted>"'
	run -0 --separate-stderr acp-tap --redact -f raw s.rec
	assert_output ''
}

@test "what a recording begins with is redacted as well" {
	echo '{"acp-recording":1,"started":"2026-11-20T15:56:02.000000Z","by":"x","command":["agent","--key","hunter2"]}' >s.rec
	run -0 --separate-stderr acp-tap --redact -f record s.rec
	assert_output --partial '"started":"2026-11-20T15:56:02.000000Z"'
	refute_output --partial hunter2
	run -0 --separate-stderr acp-tap --redact s.rec
	refute_output --partial hunter2
}
