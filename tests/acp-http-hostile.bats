#!/usr/bin/env bats
# acp-http --listen: peers that break the rules, do not read, do not go on, or come at the same moment. The server lives on.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load http
	lib_setup
	http_setup
	agent=(sed -u -E -e 's/^\{"jsonrpc":"2.0","id":([0-9]+),"method":"initialize".*/{"jsonrpc":"2.0","id":\1,"result":{"protocolVersion":1}}/'
	    -e 's/^\{"jsonrpc":"2.0","id":([0-9]+),"method":"session\/new","params":\{"cwd":"([^"]*)".*/{"jsonrpc":"2.0","id":\1,"result":{"sessionId":"\2"}}/'
	    -e 's/^\{"jsonrpc":"2.0","id":([0-9]+),"method":"session\/prompt","params":\{"sessionId":"([^"]*)".*/{"jsonrpc":"2.0","id":\1,"result":{}}/')
}

teardown() {
	end_left_over
}

certificate() {
	openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost \
	    -addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>/dev/null
}

# bats test_tags=slow
@test "a request whose end is not certain is refused, and its connection ends: nothing of it is read as another request" {
	local head='POST /acp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n' body='GET /other HTTP/1.1\r\nHost: x\r\n\r\n' wanted headers
	serve -v --max-line 1K -- "${agent[@]}"
	while read -r wanted headers; do
		run ws raw "$PORT" "$head$headers\r\n\r\n$body"
		assert_line --index 0 --regexp "^HTTP/1.1 $wanted "
		assert_line 'connection: close'
		assert_equal "$(grep -c '^HTTP/1.1' <<<"$output")" 1
	done <<-'E'
		411 Content-Length: 4\r\nTransfer-Encoding: chunked
		411 Transfer-Encoding: chunked
		411 Transfer-Encoding: identity
		400 Content-Length: 4\r\nContent-Length: 4
		400 Content-Length: 4, 4
		400 Content-Length: -4
		400 Content-Length: +4
		400 Content-Length: 0x4
		400 Content-Length: 4 4
		400 Content-Length:
		400 Content-Length: 99999999999999999999
		400 Content-Length: 18446744073709551620
		400 Content-Length : 4
		400 X-Folded: a\r\n Content-Length: 4\r\nContent-Length: 40
		400 X-Bare: a\rContent-Length: 4
		400 X-Bare: a\nContent-Length: 4
		400 X-Nul: a\x00b\r\nContent-Length: 4
		413 Content-Length: 999999999999999999
		413 Content-Length: 1025
	E
	run grep -c 'refused with' server
	assert_output 19
	assert grep -q 'refused with 411: a body requires Content-Length' server
	assert agents_left 2 # the server and its guardian
}

# bats test_tags=slow
@test "headers of a megabyte, ten thousand headers, another version, or what is no HTTP are refused" {
	serve -v -- "${agent[@]}"
	raw() { python3 -SEc "$1" | timeout 60 socat -t 60 - "TCP:127.0.0.1:$PORT" | head -c 12; }
	run raw 'print("GET /acp HTTP/1.1\r\nHost: x\r\nX: " + "a" * 20000, end="\r\n\r\n")'
	assert_output 'HTTP/1.1 431'
	run raw 'print("GET /acp HTTP/1.1\r\nHost: x\r\n" + "".join(f"x{i}: y\r\n" for i in range(10000)), end="\r\n")'
	assert_output 'HTTP/1.1 431'
	run raw 'print("GET /acp HTTP/1.0", end="\r\n\r\n")'
	assert_output 'HTTP/1.1 505'
	run raw 'print("GET /acp", end="\r\n\r\n")'
	assert_output 'HTTP/1.1 400'
	run raw 'print("hello\n")'
	assert_output 'HTTP/1.1 400'
	run curl -s -o /dev/null -w '%{http_code}' --http2-prior-knowledge -H "X: $(printf '%017000d' 0)" "http://127.0.0.1:$PORT/acp"
	assert_output 431
	assert grep -q 'refused with 431: the headers are too long' server
	assert grep -q 'refused with 505: this is not HTTP/1.1 or HTTP/2' server
}

@test "a message longer than --max-line gets 413, whether it says its length first or not" {
	local version
	serve --max-line 1K -- "${agent[@]}"
	printf '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"a":"%02000d"}}' 0 >long
	for version in --http1.1 --http2-prior-knowledge; do
		run curl -s -o /dev/null -w '%{http_code}' "$version" -H 'Content-Type: application/json' -H 'Expect:' --data-binary @long "http://127.0.0.1:$PORT/acp"
		assert_output 413
	done
	run curl -s -o /dev/null -w '%{http_code}' --http2-prior-knowledge -T - -X POST -H 'Content-Type: application/json' "http://127.0.0.1:$PORT/acp" <long
	assert_output 413
	assert agents_left 2
}

# bats test_tags=slow
@test "who does not go on with a request, or does not read a response, is cut off; memory stays flat" {
	serve -- "${agent[@]}"
	run streams hold "$PORT" nothing head body unread window:20
	assert_output $'24 connections\nall are closed'
	echo "peak: $(peak "$SERVER") KiB"
	[[ $B == *san* ]] || (($(peak "$SERVER") < 24 * 1024))
	run curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$PORT/acp"
	assert_output 406
}

# bats test_tags=slow
@test "https: 300 handshakes that are not begun, or not ended: others are served, memory is bounded, and all are cut off" {
	ulimit -n 4096
	certificate
	serve --cert cert.pem --key key.pem -- "${agent[@]}"
	streams hold "$PORT" nothing:150 hello:150 >out &
	wait_for grep -q '300 connections' out
	for version in --http1.1 --http2; do
		run curl -sS "$version" --cacert cert.pem -o /dev/null -w '%{http_code}' "https://localhost:$PORT/acp"
		assert_output 406
	done
	refute grep -q closed out
	wait %2
	assert_equal "$(tail -n 1 out)" 'all are closed'
	echo "peak: $(peak "$SERVER") KiB"
	[[ $B == *san* ]] || (($(peak "$SERVER") < 48 * 1024))
}

# bats test_tags=slow
@test "requests at the same moment: two openings of a stream, one that is left at once, and DELETE beside a POST" {
	serve --grace 1s -- "${agent[@]}"
	run streams race "$PORT" "$(sample 20 200)"
	assert_success
	assert_output --partial times
	wait_for agents_left 2
	assert kill -0 "$SERVER"
}

# bats test_tags=slow
@test "a connection has at most 4096 event streams: more get 503" {
	serve --max-connections 10 -- "${agent[@]}"
	run streams crowd "$PORT" 4200
	assert_output '4096 streams 503'
	wait_for agents_left 2
	echo "peak: $(peak "$SERVER") KiB"
	[[ $B == *san* ]] || (($(peak "$SERVER") < 24 * 1024))
}

# bats test_tags=slow
@test "a client that leaves while too much waits for it: its agent ends, and so does its connection, by DELETE, --idle or a signal" {
	local id how initialize='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}'
	call() { curl -sS -H 'Content-Type: application/json' "$@" "http://127.0.0.1:$PORT/acp"; }
	full() { [[ $(call -H "Acp-Connection-Id: $id" -d "$initialize" -o /dev/null -w '%{http_code}') == 503 ]]; }
	for how in DELETE idle signal; do
		serve --queue 64K --grace 200ms --idle 1s -- bash -c 'read -r _; echo "$1"; exec yes "$2"' _ \
		    '{"jsonrpc":"2.0","id":1,"result":{}}' '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s"}}'
		id=$(call -d "$initialize" | jq -r .result.connectionId)
		wait_for full
		case $how in
		DELETE) call -X DELETE -H "Acp-Connection-Id: $id" ;;
		signal) kill "$SERVER" ;;
		esac
		[[ $how == signal ]] || wait_for agents_left 2
		[[ $how == signal ]] || kill "$SERVER"
		ends "$SERVER" 0
	done
}
