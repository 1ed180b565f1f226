#!/usr/bin/env bats
# acp-http: what RFC 6455 asks of an endpoint, with a raw peer that breaks the rules.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load http
	lib_setup
	http_setup
}

teardown() {
	end_left_over
}

m='{"jsonrpc":"2.0","method":"_m"}'
n='{"jsonrpc":"2.0","method":"_n"}'

# to_server STEP...: what a raw client sees that plays these; after them the agent echoes what has come.
to_server() {
	serve "${options[@]}" -- cat
	run --separate-stderr ws client "$PORT" "$@"
}

# to_client STEP...: a raw server plays these to a client whose standard output is then $output.
to_client() {
	remote "$@"
	run --separate-stderr acp-http "${options[@]}" --connect "$URL" < <(exec sleep 600)
	wait "$REMOTE" || true
}

@test "a message in several frames is joined, an empty frame and a cut inside a character included; it goes back in one" {
	local options=()
	to_server 'frame 0 1 {"jsonrpc":"2.0",' 'frame 0 0 ' 'frame 0 0 "method":"_m","params":["\xc3' 'frame 1 0 \xbc"]}' recv
	assert_output $'101\ntext {"jsonrpc":"2.0","method":"_m","params":["ü"]}'
	to_client 'frame 0 1 {"jsonrpc":"2.0",' 'frame 0 0 ' 'frame 0 0 "method":"_m","params":["\xc3' 'frame 1 0 \xbc"]}' 'close 1000' drain
	assert_success
	assert_output '{"jsonrpc":"2.0","method":"_m","params":["ü"]}'
}

# bats test_tags=slow
@test "a ping between two fragments is answered at once, with its text; a pong that nobody asked for is ignored" {
	local options=()
	to_server 'frame 0 1 {"jsonrpc":"2.0",' 'ping abc' recv 'frame 1 a \xc3' 'frame 1 0 "method":"_m"}' recv 'ping ' recv
	assert_output $'101\npong abc\ntext '"$m"$'\npong'
	to_client 'frame 0 1 {"jsonrpc":"2.0",' 'ping abc' recv 'frame 1 a \xc3' 'frame 1 0 "method":"_m"}' 'close 1000' drain
	assert_output "$m"
	assert_equal "$(head -n 1 remote)" 'pong abc'
}

# bats test_tags=slow
@test "control frames that are fragmented, or longer than 125 bytes, end the connection" {
	local options=() long
	long=$(printf 'x%.0s' {1..126})
	to_server 'frame 0 9 x' drain
	assert_line --index 1 --regexp '^(close 1002|eof)'
	to_server "ping $long" drain
	assert_line --index 1 --regexp '^(close 1002|eof)'
	to_client 'frame 0 9 x' drain
	assert_failure 1
	to_client "ping $long" drain
	assert_failure 1
}

# bats test_tags=slow
@test "an unknown opcode, a reserved bit, a length of 2^63 or more, a continuation of nothing, a message inside a message: 1002" {
	local options=() bad
	for bad in 'frame 1 3 x' 'frame 1 b x' 'raw c18000000000' 'raw 82ff800000000000000000000000' 'frame 1 0 x' $'frame 0 1 {'; do
		to_server "$bad" 'text {}' drain
		assert_line --index 1 --regexp '^close 1002'
	done
	for bad in 'frame 1 3 x' 'frame 1 b x' 'raw c100' 'raw 827f8000000000000000' 'frame 1 0 x' $'frame 0 1 {'; do
		to_client "$bad" 'text {}' drain
		assert_failure 1
	done
}

# bats test_tags=slow
@test "a message that is not UTF-8: 1007, and what came before it is delivered" {
	local options=() bad
	for bad in '"\xff"' '"\xc0\xaf"' '"\xed\xa0\x80"' '"\xf4\x90\x80\x80"' '"\xc3"' '\xc3'; do
		to_server "text $m" recv "text $bad" drain
		assert_output --partial $'101\ntext '"$m"$'\nclose 1007 '
	done
	to_client "text $m" 'text \xff' drain
	assert_failure 1
	assert_output "$m"
	assert grep -q '^close 1007' remote
}

# bats test_tags=slow
@test "--max-line: a message of this size passes, one that is longer gets 1009, in one frame or in several" {
	local options=(--max-line 100) text
	printf -v text '{"jsonrpc":"2.0","method":"%69s"}' x
	assert_equal "${#text}" 98
	to_server "text $text  " recv "text $text   " drain
	assert_output $'101\ntext '"$text"$'  \nclose 1009 a message longer than --max-line\neof'
	to_server "frame 0 1 $text" 'frame 0 0  ' 'frame 0 0   ' drain
	assert_output $'101\nclose 1009 a message longer than --max-line\neof'
	# An announced length alone is no reason to make room.
	to_server "text $m" recv 'raw 81ff0fffffffffffffff00000000' "raw $(printf '20%.0s' {1..101})" drain
	assert_output $'101\ntext '"$m"$'\nclose 1009 a message longer than --max-line\neof'
	to_client "text $text   " drain
	assert_failure 1
	assert grep -q '^close 1009' remote
}

@test "a line beyond --max-line is not sent, and whoever sent a request in it gets an error" {
	local text
	printf -v text '{"jsonrpc":"2.0","id":7,"method":"%300s"}' x
	remote recv 'close 1000' drain
	run --separate-stderr acp-http --max-line 100 --connect "$URL" < <(printf '%s\n' "$text" "$m"; exec sleep 600)
	assert_equal "$(jq -c '[.id, .error.code]' <<<"$output")" '[7,-32600]'
	assert_equal "$(head -n 1 remote)" "text $m"
	assert_regex "$stderr" 'client: line 1: longer than --max-line: not forwarded: '
}

# bats test_tags=slow
@test "a line beyond --max-line whose id comes last: its request gets an error" {
	local text
	printf -v text '{"jsonrpc":"2.0","method":"x","params":{"x":"%200000s"},"id":7}' x
	remote recv 'close 1000' drain
	run --separate-stderr acp-http --max-line 100 --connect "$URL" < <(printf '%s\n' "$text" "$m"; exec sleep 600)
	assert_equal "$(jq -c '[.id, .error.code]' <<<"$output")" '[7,-32600]'
	assert_equal "$(grep -c 'line 1: longer' <<<"$stderr")" 1
}

# bats test_tags=slow
@test "a binary message is reported and ignored, also in several frames" {
	local options=()
	to_server 'binary \x00\xff' 'frame 0 2 {}' 'frame 1 0 {}' "text $m" recv
	assert_output $'101\ntext '"$m"
	assert_equal "$(grep -c 'client: a binary message: ignored' server)" 2
	to_client 'binary \x00\xff' "text $m" 'close 1000' drain
	assert_output "$m"
	assert_equal "$stderr" 'acp-http: agent: a binary message: ignored'
}

# bats test_tags=slow
@test "a close is answered with its code; with 1002 where its code is none" {
	local options=() code
	for code in 1000 1001 1003 1011 3000 4999; do
		to_server "close $code" drain
		assert_output $'101\nclose '"$code"$'\neof'
	done
	to_server close drain
	assert_output $'101\nclose \neof' || assert_output $'101\nclose\neof'
	for code in 0 999 1004 1005 1006 1015 2999; do
		to_server "close $code" drain
		assert_output $'101\nclose 1002 an invalid close frame\neof'
	done
}

# bats test_tags=slow
@test "nothing is sent after a close" {
	serve -- bash -c 'read -r _; printf "%s\n" "$1" "$1"; exec cat' _ "$n"
	run ws client "$PORT" 'close 1000' "text $m" recv recv
	assert_output $'101\nclose 1000\neof'
}

# bats test_tags=slow
@test "noise in a frame is discarded: an array and a broken request get an error, other noise is only reported" {
	local options=()
	to_server 'text [1,2]' recv 'text {"jsonrpc":"2.0","id":5,"method":7}' recv 'text hello' 'text ' 'text \x0d' "text $m" recv
	assert_line --index 1 --regexp '^text \{"jsonrpc":"2.0","id":null,"error":\{"code":-32600,'
	assert_line --index 2 --regexp '^text \{"jsonrpc":"2.0","id":5,"error":\{"code":-32600,'
	assert_line --index 3 "text $m"
	assert grep -q 'client: .*: not forwarded: hello$' server
	assert_equal "$(grep -c 'not forwarded' server)" 3
}

# bats test_tags=slow
@test "a broken response: its requester gets an error" {
	serve -- bash -c 'read -r _; echo "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1,\"error\":2}"; cat'
	ws client "$PORT" 'text {"jsonrpc":"2.0","id":1,"method":"_x"}' recv >out
	assert_equal "$(sed -n '2s/^text //p' out | jq -c '[.id, .error.code]')" '[1,-32603]'
}

# bats test_tags=slow
@test "line breaks around a message are dropped; inside they are white space, and become blanks" {
	serve -- tee down
	ws client "$PORT" 'text {\x0a"jsonrpc":"2.0",\x0a "method":"_m"}\x0a' recv
	assert_equal "$(<down)" '{ "jsonrpc":"2.0",  "method":"_m"}'
}

# bats test_tags=slow
@test "the handshake's accept is that of the key, and a response without it is no connection" {
	ws refuser port2 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n' &
	wait_for test -e port2
	run acp-http --connect "ws://127.0.0.1:$(<port2)/acp" </dev/null
	assert_failure 1
	assert_output --partial 'cannot connect'
	serve -- cat
	run curl -si -m 1 -H 'Connection: upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' \
	    -H 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==' "http://127.0.0.1:$PORT/acp"
	assert_line --partial 'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo='
}

# bats test_tags=slow
@test "--ping: two sides that ping each other at the same time stay connected" {
	local i a='{"jsonrpc":"2.0","id":1,"result":{}}'
	serve --ping 1s -- bash -c answers
	for i in 1 2 3 4 5 6 7 8; do
		acp-http --ping 1s --connect "ws://127.0.0.1:$PORT/acp" < <(sleep 8; echo '{"jsonrpc":"2.0","id":1,"method":"x"}') >"out$i" 2>"err$i" &
	done
	for i in 1 2 3 4 5 6 7 8; do ends "%$((i + 1))" 0; done
	assert_equal "$(cat out? err?)" "$(for i in 1 2 3 4 5 6 7 8; do echo "$a"; done)"
}

# bats test_tags=slow
@test "--ping: a peer that answers or says anything lives on, one that is silent is lost after two intervals" {
	serve --ping 100ms -- cat
	run ws client "$PORT" recv 'frame 1 a acp' recv 'frame 1 a acp' recv "text $m" recv
	assert_output $'101\nping acp\nping acp\nping acp\ntext '"$m"
	run ws client "$PORT" drain
	assert_line --index 1 'ping acp'
	assert_line eof
	assert grep -q 'client: no sign of life for 200 ms: closing the connection' server
	remote drain
	run --separate-stderr acp-http --ping 100ms --connect "$URL" < <(printf '{"jsonrpc":"2.0","id":1,"method":"x"}\n'; exec sleep 600)
	assert_failure 1
	assert_equal "$(jq -c '[.id, .error.code]' <<<"$output")" '[1,-32603]'
}

# bats test_tags=slow
@test "a frame that a server masks, and one that a client does not, end the connection with 1002" {
	local options=()
	to_client 'masked {"jsonrpc":"2.0","method":"_m"}' drain
	assert_failure 1
	assert_output ''
	assert grep -q '^close 1002' remote
	to_server "unmasked $m" drain
	assert_line --index 1 --regexp '^close 1002'
}

# bats test_tags=slow
@test "a close with a code beyond 4999, or with one byte, is answered with 1002" {
	local options=() code
	for code in 'close 5000' 'close 65535' 'frame 1 8 x'; do
		to_server "$code" drain
		assert_line --index 1 --regexp '^close 1002'
	done
}

# bats test_tags=slow
@test "nothing is sent after the close of a broken rule: what waits is discarded" {
	serve -- bash -c 'read -r _; while :; do printf "%s\n" "$1" || exit; done' _ "$n"
	run ws client "$PORT" "text $m" recv 'frame 1 3 x' drain
	assert_line --regexp '^close 1002'
	run sed -n '/^close 1002/,$p' <<<"$output"
	refute_output --partial text
}
