#!/usr/bin/env bats
# acp-http: messages between stdio and WebSocket, and who may connect.

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

request='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"a": 1.50}}'
response='{"jsonrpc":"2.0","id":1,"result":{"a": 1.50}}'

# --- both ends together ---

@test "a remote agent is a command: bytes unchanged both ways, and status 0" {
	serve -- bash -c 'tee down | sed -u "s/\"method\":\"initialize\",\"params\"/\"result\"/"'
	printf '%s\n' '{"method":"_m","params":{"a": 1.50,"b":12345678901234567890123}}' '' \
	    $' {"jsonrpc":"2.0", "method":"_n" ,"params":["ü\\u00fc"]}\t\r' "$request" >in
	run --separate-stderr acp-http --connect "ws://127.0.0.1:$PORT/acp" <in
	assert_success
	assert_equal "$stderr" ''
	sed 2d in >sent
	assert cmp sent down
	assert_equal "$output" "$(sed '3s/.*/{"jsonrpc":"2.0","id":1,"result":{"a": 1.50}}/' sent)"
}

@test "a client that leaves still gets the responses to its requests, at most the grace period long" {
	serve -- bash -c 'read -r _; read -r _ <go; printf "%s\n" "$1"; cat' _ "$response"
	mkfifo go
	acp-http --connect "ws://127.0.0.1:$PORT/acp" <<<"$request" >out &
	echo >go
	wait $!
	assert_equal "$(<out)" "$response"
	run --separate-stderr acp-http --connect "ws://127.0.0.1:$PORT/acp" --grace 100ms <<<"$request"
	assert_success
	assert_output --partial '"id":1,"error":{"code":-32603'
}

# bats test_tags=slow
@test "--grace: a client that leaves while nothing moves waits this long, not twice" {
	local at scheme where path
	asks_and_leaves() {
		acp-http --connect "$1" --grace 2s < <(echo "$request"; echo "${request/\"id\":1/\"id\":2}"; wait_for test -e asked; rest 0.2) >out
	}
	for at in 'ws 0 /acp' 'http 0 /acp' 'tcp tcp:0'; do
		read -r scheme where path <<<"$at"
		rm -f asked
		serve_at "$where" -- bash -c 'read -r _; printf "%s\n" "$1"; read -r _; touch asked; cat' _ "$response"
		took asks_and_leaves "$scheme://127.0.0.1:$PORT$path"
		assert_equal "$(jq -c '[.id, .error.code]' out | xargs)" '[1,null] [2,-32603]'
		((elapsed < 3500000))
	done
}

@test "--grace: a client that leaves while nothing but pings moves waits no longer" {
	for scheme in ws http; do
		serve --ping 50ms -- bash -c 'read -r _; printf "%s\n" "$1"; cat >down' _ "$response"
		run timeout 20 acp-http --connect "$scheme://127.0.0.1:$PORT/acp" --ping 70ms --grace 300ms <<<"$request
${request/\"id\":1/\"id\":2}"
		assert_success
		assert_equal "$(jq -c '[.id, .error.code]' <<<"$output" | xargs)" '[1,null] [2,-32603]'
	done
}

# --- the server ---

@test "the 101 has an Acp-Connection-Id of its own for each connection, and no subprotocol" {
	serve -- cat
	run ws many "$PORT" 3
	assert_output '3 connections, 3 ids'
}

# bats test_tags=slow
@test "each connection has an agent of its own, its standard error labelled with the connection" {
	serve -- bash -c 'echo $$ starts >&2; cat'
	run ws many "$PORT" 3
	assert_success
	wait_for eval '[[ $(grep -cE "^acp-http: [0-9a-f]{16}: [0-9]+ starts$" server) == 3 ]]'
	assert_equal "$(grep starts server | cut -d: -f2 | sort -u | wc -l)" 3
	assert_equal "$(grep starts server | cut -d: -f3 | sort -u | wc -l)" 3
}

# bats test_tags=slow
@test "a closed connection ends its agent: end of input first, SIGTERM after the grace period, then SIGKILL" {
	serve --grace 100ms -- bash -c 'trap "echo TERM >&2" TERM; while read -r _; do :; done; echo end >&2; while :; do sleep 60 & wait $!; done'
	ws client "$PORT" 'close 1000' drain
	wait_for grep -q 'end$' server
	wait_for grep -q 'did not end within the grace period' server
	wait_for grep -q 'TERM$' server
	wait_for agents_left 2 # the server and its guardian
}

@test "an agent that ends closes its connection: 1000 after exit status 0, otherwise 1011 with the status" {
	serve -- bash -c 'read -r _; exit 0'
	run ws client "$PORT" 'text {"jsonrpc":"2.0","method":"_n"}' drain
	assert_output $'101\nclose 1000 the agent ended with exit status 0\neof'
	serve -- bash -c 'read -r _; exit 3'
	run ws client "$PORT" "text $request" drain
	assert_line --index 1 --regexp '^text \{"jsonrpc":"2.0","id":1,"error":\{"code":-32603,'
	assert_line --index 2 'close 1011 the agent ended with exit status 3'
}

# bats test_tags=slow
@test "what an agent says last is sent before the connection closes: a message without its newline, too, but no half line" {
	serve -- printf '{"jsonrpc":"2.0","method":"_a"}\n{"jsonrpc":"2.0","method":"_b"}'
	run ws client "$PORT" drain
	assert_output $'101\ntext {"jsonrpc":"2.0","method":"_a"}\ntext {"jsonrpc":"2.0","method":"_b"}\nclose 1000 the agent ended with exit status 0\neof'
	serve -- printf '{"jsonrpc":"2.0","method":"_a"}\n{"jsonrpc":"2.0","met'
	run ws client "$PORT" drain
	assert_output $'101\ntext {"jsonrpc":"2.0","method":"_a"}\nclose 1000 the agent ended with exit status 0\neof'
	assert grep -q 'agent: line 2: the line was cut off: not forwarded: {"jsonrpc":"2.0","met$' server
}

@test "a lost client: the agent gets an error for each of its open requests, then the end of its input" {
	serve -- bash -c 'echo "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"fs/read_text_file\"}"; cat >down; touch over'
	ws client "$PORT" recv reset
	wait_for test -e over
	assert_equal "$(jq -c '[.id, .error.code]' down)" '["x",-32603]'
}

@test "--path: only this path is served" {
	serve --path /other/ws -- cat
	run ws client "$PORT"
	assert_line --index 0 404
	run ws client "$PORT" --path /other/ws
	assert_output 101
}

# bats test_tags=slow
@test "a request that is not an upgrade to WebSocket 13 gets 426, with what would be one" {
	serve -- cat
	run curl -si -H 'Connection: upgrade' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 8' \
	    -H 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==' "http://127.0.0.1:$PORT/acp"
	assert_line --partial 'HTTP/1.1 426'
	assert_line --partial 'sec-websocket-version: 13'
	run curl -s -o /dev/null -w '%{http_code}' -H 'Upgrade: websocket' -H 'Sec-WebSocket-Version: 13' \
	    -H 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==' "http://127.0.0.1:$PORT/acp"
	assert_output 400
}

# bats test_tags=slow
@test "--token-file: another token, a part of it, none, or another scheme gets 401; the token is in no log" {
	echo s3cret-T0ken >token
	serve -v --token-file token -- cat
	for header in 'Accept: */*' 'Authorization: Bearer s3cret' 'Authorization: Bearer s3cret-T0kenX' 'Authorization: Bearer S3CRET-T0KEN' \
	    'Authorization: Basic s3cret-T0ken' 'Authorization: Bearer '; do
		run ws client "$PORT" --header "$header"
		assert_line --index 0 401
		assert_line 'www-authenticate: Bearer'
	done
	run ws client "$PORT" --header 'Authorization: bearer s3cret-T0ken'
	assert_output 101
	run acp-http -v --connect "ws://127.0.0.1:$PORT/acp" --token-file token <<<"$request"
	assert_success
	refute_output --partial s3cret
	run grep s3cret server
	assert_failure
}

# bats test_tags=slow
@test "--token-file: a token of 8192 bytes, the longest, is accepted" {
	printf '%08192d\n' 0 >token
	serve --token-file token -- cat
	run acp-http --connect "ws://127.0.0.1:$PORT/acp" --token-file token </dev/null
	assert_success
}

# bats test_tags=slow
@test "--origin: a browser's page connects where its origin is listed, otherwise gets 403" {
	serve --origin https://a.example --origin http://localhost:8000 -- cat
	for origin in https://a.example http://localhost:8000; do
		run ws client "$PORT" --header "Origin: $origin"
		assert_output 101
	done
	for origin in http://a.example https://a.example.evil null 'https://a.example https://b.example'; do
		run ws client "$PORT" --header "Origin: $origin"
		assert_line --index 0 403
	done
	run ws client "$PORT"
	assert_output 101
	serve -- cat
	run ws client "$PORT" --header 'Origin: http://localhost'
	assert_line --index 0 403
}

# A page that the server's own host serves, behind a proxy, can send both (fetch); a WebSocket of a page sends no token.
@test "--origin with --token-file: who sends an origin needs both, who sends none the token" {
	local origin token expected
	echo secret >token
	serve --token-file token --origin https://a.example -- cat
	while read -r expected token origin; do
		run curl -sS -o refusal -w '%{http_code}' -H "Authorization: Bearer $token" ${origin:+-H "Origin: $origin"} "http://127.0.0.1:$PORT/acp"
		assert_output "$expected"
	done <<-'E'
		406 secret https://a.example
		406 secret
		401 other https://a.example
		401 other
		403 secret https://b.example
	E
	assert_equal "$(<refusal)" 'this origin is not allowed'
}

@test "--max-connections: one more gets 503, until another has ended" {
	serve --max-connections 1 -- cat
	ws client "$PORT" 'touch there' 'wait go' 'close 1000' drain &
	wait_for test -e there
	run ws client "$PORT"
	assert_line --index 0 503
	touch go
	wait $!
	accepted() { [[ $(ws client "$PORT" 'close 1000' | head -n 1) == 101 ]]; }
	wait_for accepted
}

# bats test_tags=slow
@test "an agent that cannot be started: 500, and the server says why and lives on" {
	serve -- ./missing
	run ws client "$PORT"
	assert_line --index 0 500
	assert grep -q '^acp-http: ./missing: command not found$' server
	run ws client "$PORT" --path /x
	assert_line --index 0 404
}

@test "the first signal ends all connections with 1001 and their agents in order, and then the server with 0" {
	serve -- bash -c 'cat; echo over >&2'
	ws client "$PORT" 'touch there' drain >out &
	wait_for test -e there
	kill "$SERVER"
	ends "$SERVER" 0
	assert grep -q ': over$' server
	wait %2 || true
	assert_equal "$(<out)" $'101\nclose 1001 the server is going away\neof'
	assert leaves_nobody
}

# bats test_tags=slow
@test "the second signal ends it at once, with 128 and the signal" {
	serve --grace 1m -- bash -c 'trap "" TERM; touch up; while :; do sleep 60 & wait $!; done'
	ws client "$PORT" 'wait up' 'touch there' drain &
	wait_for test -e there
	kill "$SERVER"
	wait_for eval 'kill "$SERVER"; ! kill -0 "$SERVER" 2>/dev/null'
	ends "$SERVER" 143
	wait_for nobody_left
}

@test "kill -9 of the server leaves no agent; kill -9 of a client ends its agent" {
	serve -- bash -c 'sleep 600 & wait'
	ws client "$PORT" 'touch there' drain &
	wait_for test -e there
	kill -9 "$SERVER"
	wait_for nobody_left
	serve -- bash -c 'cat; echo over >&2'
	acp-http --connect "ws://127.0.0.1:$PORT/acp" < <(echo "$request"; exec sleep 600) >out &
	wait_for test -s out
	kill -9 $!
	wait_for grep -q ': over$' server
}

# --- the client ---

# bats test_tags=slow
@test "a remote end that closes in order: status 0; with requests open: an error for each, and status 1" {
	remote 'close 1000' drain
	run --separate-stderr acp-http --connect "$URL" < <(sleep 600)
	assert_success
	remote recv 'close 1000' drain
	run --separate-stderr acp-http --connect "$URL" < <(echo "$request"; exec sleep 600)
	assert_failure 1
	assert_equal "$(jq -c '[.id, .error.code]' <<<"$output")" '[1,-32603]'
	assert_equal "$stderr" "acp-http: $URL: the agent closed the connection with code 1000"
}

# bats test_tags=slow
@test "a connection that is lost: an error for each open request, a line, and status 1" {
	for last in reset eof 'close 1011'; do
		remote recv recv "$last" drain
		run --separate-stderr acp-http --connect "$URL" < <(echo "$request"; echo "${request/1/\"b\"}"; exec sleep 600)
		assert_failure 1
		assert_equal "$(jq -c '[.id, .error.code]' <<<"$output")" $'[1,-32603]\n["b",-32603]'
		assert_regex "$stderr" "^acp-http: $URL: the "
	done
}

# bats test_tags=slow
@test "no connection: the requests that came get an error, a line says why, and status 1" {
	run --separate-stderr acp-http --connect ws://127.0.0.1:1/ <<<"$request"
	assert_failure 1
	assert_regex "$stderr" '^acp-http: ws://127.0.0.1:1/: cannot connect'
	serve --path /x -- cat
	run --separate-stderr acp-http --connect "ws://127.0.0.1:$PORT/acp" <<<"$request"
	assert_failure 1
	assert_equal "$stderr" "acp-http: ws://127.0.0.1:$PORT/acp: the server refused with HTTP status 404"
}

@test "a standard output that cannot be written is said, and the status is 125; a client that reads no more has left" {
	serve -- bash -c answers
	[[ -e /dev/full ]] || skip 'there is no /dev/full'
	for url in "http://127.0.0.1:$PORT/acp" "ws://127.0.0.1:$PORT/acp"; do
		run --separate-stderr -125 bash -c 'exec acp-http --connect "$1" >/dev/full' - "$url" < <(echo "$request"; exec sleep 600)
		assert_equal "$stderr" 'acp-http: writing to the client: No space left on device'
		run --separate-stderr bash -c 'exec acp-http --connect "$1" > >(exec true)' - "$url" < <(echo "$request"; exec sleep 600)
		assert_success
		assert_equal "$stderr" ''
	done
}

# bats test_tags=slow
@test "a redirect is not followed" {
	remote 'touch reached'
	ws refuser port2 "HTTP/1.1 302 Found\r\nLocation: $URL\r\nContent-Length: 0\r\n\r\n" &
	wait_for test -e port2
	run --separate-stderr acp-http --connect "ws://127.0.0.1:$(<port2)/acp" </dev/null
	assert_failure 1
	assert_equal "${stderr##*: }" 'the server refused with HTTP status 302'
	assert [ ! -e reached ]
}

@test "--header and the path and query of the URL are in the handshake; there is no Origin and no Authorization" {
	remote 'close 1000' drain
	run acp-http --connect "${URL/acp/a/b?c=d}" --header 'X-One: 1' --header 'Cookie: a=b; c=d' --header 'Hostile: no' </dev/null
	assert_success
	assert grep -q '^GET /a/b?c=d HTTP/1.1$' handshake
	assert grep -q "^Host: 127.0.0.1:$(<port)$" handshake
	assert grep -qi '^x-one: 1$' handshake
	assert grep -qi '^hostile: no$' handshake
	assert grep -qi '^cookie: a=b; c=d$' handshake
	refute grep -qiE '^(origin|authorization|sec-websocket-protocol|sec-websocket-extensions)' handshake
}

# bats test_tags=slow
@test "--cookies: what the handshake sets is kept for the next, changed and deleted" {
	visit() {
		remote "$@" 'close 1000' drain
		run acp-http --connect "$URL" --cookies jar </dev/null
		assert_success
		wait "$REMOTE" || true
	}
	visit --header 'Set-Cookie: a=1; Path=/; HttpOnly' --header 'Set-Cookie: b=x=y; Max-Age=60' --header 'Set-Cookie: c=3'
	refute grep -qi '^cookie:' handshake
	assert_equal "$(stat -c %a jar)" 600
	visit --header 'Set-Cookie: b=; Max-Age=0' --header 'Set-Cookie: a=2'
	assert grep -qix $'cookie: a=1; b=x=y; c=3\r*' handshake
	visit
	assert grep -qix $'cookie: c=3; a=2\r*' handshake
	# More than many servers take: the oldest are forgotten.
	for i in 1 2 3; do
		visit --header "Set-Cookie: long$i=$(printf '%03500d' 0)"
	done
	assert_equal "$(cut -c 1-6 jar | xargs)" 'long2= long3='
	run acp-http --connect "$URL" --cookies . </dev/null
	assert_failure 2
	assert_output 'acp-http: --cookies .: Is a directory'
}

@test "the first signal: as if the client had left; the second: 128 and the signal" {
	remote recv 'touch there' drain
	acp-http --connect "$URL" < <(echo "${request/initialize/_n}" | sed 's/"id":1,//'; exec sleep 600) &
	wait_for test -e there
	kill -INT $!
	ends $! 0
	wait "$REMOTE" || true
	assert_equal "$(tail -n 2 remote)" $'close 1000\neof'
}

@test "a server that does not respond, to the handshake or to initialize: an error for each request, and status 1" {
	local asked=1
	silent() { # SCHEME OPTION...
		rm -f port
		ws silent port >asked &
		wait_for test -e port
		URL=$1://127.0.0.1:$(<port)/acp
		run --separate-stderr acp-http --connect "$URL" "${@:2}"
		assert_failure 1
		assert_equal "$(jq -c '[.id, .error.code]' <<<"$output")" "${asked:+[1,-32603]}"
		assert_equal "$stderr" "acp-http: $URL: cannot connect: the server has not responded"
	}
	silent ws --timeout 100ms < <(echo "$request"; exec sleep 600)
	# A client that leaves waits for the grace period.
	silent ws --grace 100ms <<<"$request"
	silent http --grace 100ms <<<"$request"
	# One that has asked nothing had no connection, either.
	asked=
	silent ws --grace 100ms </dev/null
}

# bats test_tags=slow
@test "the second signal ends it while the server has not replied to the handshake" {
	ws silent port2 >asked &
	wait_for test -e port2
	acp-http --connect "ws://127.0.0.1:$(<port2)/acp" 2>err < <(echo "$request"; exec sleep 600) >out &
	local client=$!
	wait_for test -s asked
	kill -TERM "$client"
	wait_for eval '! kill -TERM "$client"'
	ends "$client" 143
	assert_equal "$(<err)" ''
}

# --- robustness ---

# bats test_tags=slow
@test "--token-file is read to its end, also from a pipe that is written in parts" {
	mkfifo token
	acp-http --listen 0 --token-file token -- cat 2>server &
	exec 7>token
	printf s3cret- >&7
	taken() { python3 -SEc 'import fcntl, struct, sys, termios; sys.exit(struct.unpack("i", fcntl.ioctl(7, termios.FIONREAD, b"    "))[0])'; }
	wait_for taken
	echo T0ken >&7
	exec 7>&-
	wait_for grep -q 'listening at' server
	PORT=$(sed -n 's,.*listening at [a-z]*://.*:\([0-9]*\).*,\1,p' server)
	run ws client "$PORT" --header 'Authorization: Bearer s3cret-'
	assert_line --index 0 401
	run ws client "$PORT" --header 'Authorization: Bearer s3cret-T0ken'
	assert_output 101
}

# bats test_tags=slow
@test "--grace: an agent that reads nothing gets SIGTERM after the grace period, not after two, whatever is queued for it" {
	serve --grace 3s -- bash -c 'trap "echo TERM >&2; exit" TERM; echo up >&2; while :; do sleep 60 & wait $!; done'
	local text begin
	printf -v text 'text {"jsonrpc":"2.0","method":"_m","params":["%30000s"]}' x
	ws client "$PORT" "$text" "$text" "$text" "$text" 'close 1000' drain
	begin=${EPOCHREALTIME/./}
	wait_for grep -q 'TERM$' server
	((${EPOCHREALTIME/./} - begin < 5000000))
}

# bats test_tags=slow
@test "a client that goes away while it is not read, because the agent does not read: the next ping shows it" {
	local text steps=()
	serve --ping 300ms --grace 300ms -- sleep 600
	printf -v text 'text {"jsonrpc":"2.0","method":"_m","params":["%30000s"]}' x
	for ((i = 0; i < 20; i++)); do steps+=("$text"); done
	ws client "$PORT" "${steps[@]}" eof
	wait_for grep -q 'sending it SIGTERM' server
	wait_for agents_left 2 # the server and its guardian
}

@test "--ping 0: the system still notices a client that has vanished: the connection is kept alive by TCP" {
	serve --ping 0 -- cat
	ws client "$PORT" 'touch there' 'wait go' 'close 1000' drain &
	wait_for test -e there
	# The timer of the server's end (PORT is its local port): 02 is keepalive's.
	run awk -v port="$(printf ':%04X' "$PORT")" '$2 ~ port "$" && $4 == "01" { print substr($6, 1, 2) }' /proc/net/tcp
	assert_output 02
	touch go
}

# bats test_tags=slow
@test "at a terminal a server without a token says that every local user can connect; elsewhere not" {
	script -qec 'acp-http --listen 0 -- cat' /dev/null </dev/null >terminal &
	wait_for grep -q 'listening at' terminal
	assert grep -q 'every user of this machine can connect' terminal
	echo secret >token
	script -qec 'acp-http --listen 0 --token-file token -- cat' /dev/null </dev/null >terminal2 &
	wait_for grep -q 'listening at' terminal2
	refute grep -q 'every user' terminal2
	serve -- cat
	refute grep -q 'every user' server
}

@test "a password in the URL is not printed" {
	run acp-http --connect ws://user:hunter2@x/ </dev/null
	assert_failure 2
	refute_output --partial hunter2
}

@test "the scheme of a URL may have capitals" {
	remote 'close 1000' drain
	run acp-http --connect "WS${URL#ws}" </dev/null
	assert_success
}

# bats test_tags=slow
@test "a URL that is too long is refused with a status, on both sides" {
	serve -- cat
	run curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$PORT/acp?$(printf '%017000d' 0)"
	assert_output 431
	run --separate-stderr acp-http --connect "ws://127.0.0.1:$PORT/acp?$(printf '%017000d' 0)" < <(echo "$request"; exec sleep 600)
	assert_failure 1
	assert_equal "$(jq -c '[.id, .error.code]' <<<"$output")" '[1,-32603]'
}

# bats test_tags=slow
@test "a method that the endpoint does not have gets 405, with those that it has" {
	serve -- cat
	for method in TRACE PUT OPTIONS; do
		run curl -si -X "$method" "http://127.0.0.1:$PORT/acp"
		assert_line --index 0 --partial ' 405 '
		assert_line --partial 'allow: GET, POST, DELETE'
	done
}

@test "the response to HEAD has no body, so that the connection can be used again" {
	serve -- cat
	run curl -sI -o /dev/null -o /dev/null -w '%{http_code} %{num_connects}\n' "http://127.0.0.1:$PORT/acp" "http://127.0.0.1:$PORT/acp"
	assert_output $'405 1\n405 0'
}

# bats test_tags=slow
@test "requests that break the rules of HTTP or of the upgrade are refused" {
	serve --origin https://a.example -- cat
	head='GET /acp HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n'
	key='Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n'
	for bad in "${head}Sec-WebSocket-Key: x\r\n\r\n" "${head//\\r/}${key//\\r/}\n" "${head}${key}Origin: https://a.example\x00.evil\r\n\r\n" \
	    "${head}${key}${key}\r\n" "${head/Host: x/Host : x}${key}\r\n"; do
		run ws raw "$PORT" "$bad"
		assert_line --index 0 --partial 'HTTP/1.1 400'
	done
	run ws raw "$PORT" "${head}${key}\r\n"
	assert_line --index 0 'HTTP/1.1 101 Switching Protocols'
}

@test "a request may name its target by a whole URL, and say in any of several headers that the connection is to be closed" {
	serve -- cat
	run curl -si -H 'Connection: keep-alive' -H 'Connection: close' --request-target "http://127.0.0.1:$PORT/acp" "http://127.0.0.1:$PORT/"
	assert_line --index 0 --partial ' 406 '
	assert_line --partial 'connection: close'
	run curl -s -o /dev/null -w '%{http_code}' --request-target "http://127.0.0.1:$PORT/x" "http://127.0.0.1:$PORT/acp"
	assert_output 404
}

# bats test_tags=slow
@test "--cookies: a cookie that is over, by Expires or by Max-Age, is not kept" {
	remote --header 'Set-Cookie: a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT' --header 'Set-Cookie: b=2; Max-Age=0' --header 'Set-Cookie: c=3' 'close 1000' drain
	run acp-http --connect "$URL" --cookies jar </dev/null
	wait "$REMOTE" || true
	remote 'close 1000' drain
	run acp-http --connect "$URL" --cookies jar </dev/null
	assert grep -qix $'cookie: c=3\r*' handshake
}

# bats test_tags=slow
@test "why TLS failed is said: an unknown issuer is not another host" {
	openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=other 2>/dev/null
	cat key.pem cert.pem >both.pem
	socat -d -d "OPENSSL-LISTEN:0,reuseaddr,fork,verify=0,cert=both.pem" PIPE 2>front &
	wait_for grep -q 'listening on' front
	PORT=$(sed -n 's/.*listening on .*:\([0-9]*\)$/\1/p' front | head -n 1)
	run --separate-stderr acp-http --connect "wss://127.0.0.1:$PORT/" </dev/null
	unknown=$stderr
	run --separate-stderr acp-http --connect "wss://127.0.0.1:$PORT/" --ca cert.pem </dev/null
	assert [ "$stderr" != "$unknown" ]
}

# --- options ---

# bats test_tags=slow
@test "combinations that make no sense are refused" {
	refuses() {
		run acp-http "${@:2}"
		assert_failure 2
		assert_output "acp-http: $1"
	}
	echo secret >token
	refuses 'either --listen or --connect is required; try acp-http --help'
	refuses '--listen requires a command' --listen 0
	refuses '--listen does not go with --connect' --listen 0 --connect ws://x -- cat
	refuses '--connect does not go with a command' --connect ws://x -- cat
	refuses 'cat: a command goes after --' --listen 0 cat
	refuses '--origin requires --listen' --connect ws://x --origin http://x
	refuses '--ca requires --connect' --listen 0 --ca /dev/null -- cat
	refuses 'an address other than loopback requires --token-file or --no-auth' --listen 0.0.0.0:0 -- cat
	refuses '--path x: a path must begin with /' --listen 0 --path x -- cat
	refuses "--header x: expected 'NAME: VALUE'" --connect ws://x --header x
	for name in Host UPGRADE sec-websocket-key; do
		refuses "--header $name: y: acp-http sets this header itself" --connect ws://x --header "$name: y"
	done
	refuses '--token-file /dev/null: it holds no token' --listen 0 --token-file /dev/null -- cat
	refuses '--max-line 2G: at most 1G' --connect ws://x --max-line 2G
	for url in ftp://x ws:// x ws://x:0/ ws://x:70000/ 'ws://a b/'; do
		refuses "--connect $url: expected http://HOST[:PORT][/PATH], https://..., ws://..., wss://... or tcp://HOST:PORT" --connect "$url"
	done
	for option in '--token-file token' '--header A:b' '--ca token' '--cookies jar' '--profile ws'; do
		# shellcheck disable=SC2086 # an option and its value
		refuses "tcp does not go with ${option% *}" --connect TCP://x:1 $option
	done
	for url in tcp://x:1/acp tcp://x:1?a=b; do
		refuses "--connect $url: tcp has no path" --connect "$url"
	done
	refuses '--connect: a user name and a password do not belong there: see --token-file and --header' --connect ws://u:p@x/
	for listen in x :80 80x 70000 ''; do
		refuses "--listen $listen: expected [ADDR:]PORT, such as 8080 or 127.0.0.1:8080" --listen "$listen" -- cat
	done
}

@test "--cookies: a file that is also an input is refused, and stays as it is" {
	echo secret >token
	ln token hard
	ln -s token soft
	remote --header 'Set-Cookie: a=1' 'close 1000' drain
	for option in '--token-file token' '--ca token'; do
		for jar in token hard soft; do
			# shellcheck disable=SC2086 # an option and its value
			run acp-http --connect "$URL" $option --cookies "$jar" </dev/null
			assert_failure 2
			assert_output "acp-http: --cookies $jar: it is also an input"
		done
	done
	run acp-http --connect "$URL" --cookies token <token
	assert_failure 2
	assert_equal "$(<token)" secret
}

@test "--origin: one that no browser sends is refused" {
	local origin
	for origin in http://localhost:3000/ localhost:3000 a.example https://a.example/x 'https://a.example?x' https://u@a.example \
	    https://a.example:443 http://a.example:080 https://a.example: 'https://*' '*' https:// ''; do
		run timeout 5 acp-http --listen 0 --origin "$origin" -- cat
		assert_failure 2
		assert_output "acp-http: --origin $origin: expected https://HOST[:PORT] as browsers send it: without a slash at the end or a default port"
	done
	serve --origin http://localhost:3000 --origin HTTPS://A.example:8443 --origin http://a.example:443 --origin 'http://[::1]:8000' \
	    --origin null --origin file:// --origin vscode-webview://1a2b3c -- cat
	for origin in http://localhost:3000 https://a.example:8443 'http://[::1]:8000' null file:// vscode-webview://1a2b3c; do
		run ws client "$PORT" --header "Origin: $origin"
		assert_output 101
	done
}

# bats test_tags=slow
@test "loopback is the default; another address needs --token-file or --no-auth" {
	serve -- cat
	assert grep -q '^acp-http: listening at http://127.0.0.1:' server
	acp-http --listen 0.0.0.0:0 --no-auth -- cat 2>any &
	wait_for grep -q 'listening at http://0.0.0.0:' any
	acp-http --listen '[::1]:0' -- cat 2>six &
	wait_for grep -q 'listening at http://\[::1\]:' six
	run acp-http --connect "$(sed 's/.* http\(.*\),.*/ws\1/' six)" < <(echo "$request"; exec sleep 0.2)
	assert_line --index 0 "$request"
}

@test "of several --listen the last one counts, with all that it says" {
	serve_at tcp:0 --listen 0.0.0.0:0 --listen 0 -- cat
	assert grep -q '^acp-http: listening at http://127.0.0.1:' server
	serve_at 0.0.0.0:0 --listen tcp:0 -- cat
	assert grep -q '^acp-http: listening at tcp://127.0.0.1:' server
}

# bats test_tags=slow
@test "--max-connections beyond what the descriptors allow is refused at the start" {
	run bash -c 'ulimit -n 256; acp-http --listen 0 --max-connections 100 -- cat'
	assert_failure 2
	assert_output 'acp-http: --max-connections 100 needs 432 descriptors, and the limit is 256 (ulimit -n)'
}
