#!/usr/bin/env bats
# acp-http: Streamable HTTP, as a server and as a client, and plain lines.
#
#   ACP_STEPS=N    so many random requests (2000; 10000 in make test-all)
#   ACP_SEED=S     their seed

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load http
	lib_setup
	http_setup
	agent=(sed -u -E -e 's/^\{"jsonrpc":"2.0","id":([0-9]+),"method":"initialize".*/{"jsonrpc":"2.0","id":\1,"result":{"protocolVersion":1}}/'
	    -e 's/^\{"jsonrpc":"2.0","id":([0-9]+),"method":"session\/new","params":\{"cwd":"([^"]*)".*/{"jsonrpc":"2.0","id":\1,"result":{"sessionId":"\2"}}/'
	    -e 's/^\{"jsonrpc":"2.0","id":([0-9]+),"method":"session\/(prompt|load)","params":\{"sessionId":"([^"]*)".*/{"jsonrpc":"2.0","method":"session\/update","params":{"sessionId":"\3","n":\1}}\n{"jsonrpc":"2.0","id":\1,"result":{}}/'
	    -e '/"method":"_/d' -e 's/"error":.*//')
}

teardown() {
	end_left_over
}

initialize='{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}'
new='{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"s","mcpServers":[]}}'
prompt='{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}'
update='{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","n":3}}'

# --- the server ---

# call [CURL-OPTION...]: a request; STATUS is its status, BODY what came.
call() {
	STATUS=$(curl -sS -o body -D head -w '%{http_code}' "${version[@]}" "$@" "http://127.0.0.1:$PORT/acp")
	BODY=$(<body)
}

post() {
	call -H 'Content-Type: application/json' "$@"
}

# bats test_tags=slow
@test "curl by hand, with HTTP/1.1 and HTTP/2: initialize, streams, messages, DELETE, and what is refused" {
	local id version
	serve -- "${agent[@]}"
	for version in --http1.1 --http2-prior-knowledge; do
		version=("$version")
		post -d "$initialize"
		assert_equal "$STATUS" 200
		id=$(jq -r .result.connectionId body)
		assert_equal "$BODY" '{"jsonrpc":"2.0","id":1,"result":{"connectionId":"'"$id"'","protocolVersion":1}}'
		assert grep -qix "acp-connection-id: $id"$'\r' head
		curl -sSN "${version[@]}" -H 'Accept: text/event-stream' -H "Acp-Connection-Id: $id" "http://127.0.0.1:$PORT/acp" >connection &
		post -H "Acp-Connection-Id: $id" -d "$new"
		assert_equal "$STATUS:$BODY" '202:'
		wait_for grep -q sessionId connection
		assert_equal "$(<connection)" 'data: {"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
		# What is posted before the stream is opened waits for it.
		post -H "Acp-Connection-Id: $id" -H 'Acp-Session-Id: s' -d "$prompt"
		assert_equal "$STATUS" 202
		curl -sSN "${version[@]}" -H 'Accept: text/event-stream' -H "Acp-Connection-Id: $id" -H 'Acp-Session-Id: s' \
		    "http://127.0.0.1:$PORT/acp" >session &
		wait_for grep -q '"id":3' session
		assert_equal "$(<session)" "data: $update"$'\n\ndata: {"jsonrpc":"2.0","id":3,"result":{}}'
		call -H 'Accept: text/event-stream' -H "Acp-Connection-Id: $id"
		assert_equal "$STATUS" 409
		call -H "Acp-Connection-Id: $id"
		assert_equal "$STATUS" 406
		call -d "$new" -H "Acp-Connection-Id: $id"
		assert_equal "$STATUS" 415
		post -d "$new"
		assert_equal "$STATUS" 400
		post -d "$new" -H 'Acp-Connection-Id: 1'
		assert_equal "$STATUS" 404
		post -d "$prompt" -H "Acp-Connection-Id: $id"
		assert_equal "$STATUS" 400
		post -d "[$new,$new]" -H "Acp-Connection-Id: $id"
		assert_equal "$STATUS" 501
		assert_equal "$(jq -c '[.id, .error.code]' body)" '[null,-32600]'
		call -X DELETE -H "Acp-Connection-Id: $id"
		assert_equal "$STATUS" 202
		wait %2 %3
		call -X DELETE -H "Acp-Connection-Id: $id"
		assert_equal "$STATUS" 404
		rm connection session
		wait_for agents_left 2
	done
}

# bats test_tags=slow
@test "random requests: statuses, and the messages of each session in their order, are what a model expects" {
	local seed=${ACP_SEED:-$RANDOM$RANDOM} steps=${ACP_STEPS:-$(sample 400 10000)} version
	serve --grace 1s -- "${agent[@]}"
	for version in 1 2; do
		echo "seed $seed, HTTP/$version"
		run streams model "$PORT" "$seed" "$steps" "$version"
		assert_output "$steps steps"
		wait_for agents_left 2
		assert kill -0 "$SERVER"
	done
}

# bats test_tags=slow
@test "200 connections with 5 sessions each" {
	ulimit -n 4096
	serve -- "${agent[@]}"
	run streams many "$PORT" 200 5
	assert_output '200 connections, 5 sessions each'
	wait_for agents_left 2
}

# bats test_tags=slow
@test "a client that does not read its stream: its POSTs get 503, memory stays flat, and nothing is lost" {
	local how
	# jq, for sed takes 20 times as long for long lines.
	serve --queue 256K -- jq -c --unbuffered 'if .method == "initialize" then empty else {jsonrpc, method: "session/update",
		params: {sessionId: .params.sessionId, n: .id, x: .params.x}} end, {jsonrpc, id, result: {}}'
	for how in open late window; do
		rm -f go out
		streams deaf "$PORT" 5000 20000 go "$how" >out &
		wait_for test -s out
		assert_equal "$(<out)" refused
		touch go
		wait $!
		assert_equal "$(tail -n 1 out)" 'nothing was lost'
	done
	echo "peak: $(peak "$SERVER") KiB"
	[[ $B == *san* ]] || (($(peak "$SERVER") < 24 * 1024))
}

# bats test_tags=slow
@test "TCP that is dropped in any state: the server lives on, and no agent is left" {
	serve --idle 300ms --grace 1s -- "${agent[@]}"
	run streams drop "$PORT"
	assert_output dropped
	wait_for agents_left 2
	assert kill -0 "$SERVER"
}

@test "a client that leaves as the response to its initialize comes ends its own connection at most: the server lives on" {
	local first
	cat >agent <<-'END'
		read -r line
		: >asked
		read -r line <go
		echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
		: >told
		cat >/dev/null
	END
	mkfifo go
	serve -- sh agent
	curl -sS -H 'Content-Type: application/json' -d "$initialize" "http://127.0.0.1:$PORT/acp" >/dev/null 2>&1 &
	first=$!
	wait_for test -e asked
	# Both have happened when the server looks.
	kill -STOP "$SERVER"
	echo >go
	wait_for test -e told
	kill -KILL "$first"
	wait "$first" || true
	kill -CONT "$SERVER"
	echo >go 3>&- & # for the next agent
	post -d "$initialize"
	assert_equal "$STATUS" 200
	kill -TERM "$SERVER"
	ends "$SERVER" 0
	wait_for agents_left 0
}

# bats test_tags=slow
@test "floods of HTTP/2 frames end the connection, not the server" {
	local kind
	serve -- "${agent[@]}"
	for kind in settings ping reset continuation window empty padding overflow length name; do
		run streams flood "$PORT" "$kind"
		assert_output closed
	done
	grep -qx 'acp-http: a client sends HTTP/2 frames that bring nothing: closing the connection' server
	version=(--http2-prior-knowledge)
	post -d "$initialize"
	assert_equal "$STATUS" 200
	echo "peak: $(peak "$SERVER") KiB"
	[[ $B == *san* ]] || (($(peak "$SERVER") < 24 * 1024))
}

# bats test_tags=slow
@test "--idle: a connection without a stream or a message ends with its agent; one with a stream lives on" {
	local id
	serve --idle 4s -- "${agent[@]}"
	version=(--http1.1)
	post -d "$initialize"
	id=$(jq -r .result.connectionId body)
	wait_for agents_left 2
	post -d "$new" -H "Acp-Connection-Id: $id"
	assert_equal "$STATUS" 404
	post -d "$initialize"
	id=$(jq -r .result.connectionId body)
	curl -sSN -H 'Accept: text/event-stream' -H "Acp-Connection-Id: $id" "http://127.0.0.1:$PORT/acp" >connection &
	rest 6
	post -d "$new" -H "Acp-Connection-Id: $id"
	assert_equal "$STATUS" 202
}

# bats test_tags=slow
@test "initialize that fails, an agent that ends, or none: the POST has its response, and no connection is left" {
	serve -- sed -u -E 's/"method".*/"error":{"code":-32022,"message":"no"}}/'
	version=(--http1.1)
	post -d "$initialize"
	assert_equal "$STATUS:$(jq .error.code body)" '200:-32022'
	refute grep -qi acp-connection-id head
	wait_for agents_left 2
	serve -- true
	post -d "$initialize"
	assert_equal "$STATUS:$(jq .error.code body)" '200:-32603'
	serve -- ./missing
	post -d "$initialize"
	assert_equal "$STATUS" 500
	serve --max-connections 1 -- "${agent[@]}"
	post -d "$initialize"
	post -d "$initialize"
	assert_equal "$STATUS" 503
}

# --- both ends ---

# Messages of a recording by session and direction: of a response its request's; each group in its order.
by_session() {
	jq -s -r '
		[.[] | select(.msg)] as $all
		| (reduce $all[] as $r ({}; if $r.msg.method and ($r.msg | has("id")) then .[$r.from + ($r.msg.id | tojson)] = ($r.msg.params.sessionId? // null) else . end)) as $open
		| $all | map({from, session: (if .msg.method then .msg.params.sessionId? else
			$open[(if .from == "agent" then "client" else "agent" end) + (.msg.id | tojson)] end | tostring), msg: (.msg | tojson)})
		| group_by([.from, .session])[] | .[] | [.from, .session, .msg] | @tsv' "$1"
}

# bats test_tags=slow
@test "the sessions of all fixtures pass through both ends, in each profile, byte for byte and in order per session" {
	local profile fixture
	for fixture in "$FIXTURES"/*.jsonl "$FIXTURES"/demo.rec; do
		for profile in http ws; do
			rm -f agent.rec client.rec
			serve -- acp-tap -o agent.rec -- acp-replay "$fixture"
			run --separate-stderr acp-replay --as client "$fixture" -- acp-tap -o client.rec -- \
			    acp-http --connect "http://127.0.0.1:$PORT/acp" --profile "$profile"
			assert_success
			kill "$SERVER"
			ends "$SERVER" 0
			by_session agent.rec >a
			by_session client.rec >b
			assert [ -s a ]
			diff a b
			diff <(sed -n 's/.*"msg"://p' agent.rec | sort) <(sed -n 's/.*"msg"://p' client.rec | sort)
		done
	done
}

# bats test_tags=slow
@test "https: both profiles with a certificate, HTTP/2 by ALPN; another host's or an unknown one is refused with its reason" {
	local profile
	openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost 2>/dev/null
	serve --cert cert.pem --key key.pem -v -- "${agent[@]}"
	assert grep -q 'listening at https://' server
	for profile in http ws; do
		run --separate-stderr acp-http --connect "https://localhost:$PORT/acp" --ca cert.pem --profile "$profile" <<<"$initialize"
		assert_success
		assert_output '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
		run --separate-stderr acp-http --connect "https://localhost:$PORT/acp" --profile "$profile" <<<"$initialize"
		assert_failure 1
		assert_regex "$stderr" 'self.signed'
		run --separate-stderr acp-http --connect "https://127.0.0.1:$PORT/acp" --ca cert.pem --profile "$profile" <<<"$initialize"
		assert_failure 1
		assert_regex "$stderr" 'match'
	done
	run curl -sS -o /dev/null -w '%{http_version}' --cacert cert.pem "https://localhost:$PORT/acp"
	assert_output 2
}

# bats test_tags=slow
@test "https: a handshake that does not come to its end is cut off after ten seconds, and there are only so many at a time" {
	openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost 2>/dev/null
	serve -v --cert cert.pem --key key.pem --max-connections 1 -- "${agent[@]}"
	run python3 -SE - "$PORT" <<-'E'
		import socket, sys, time
		def begin():
		    s = socket.create_connection(('127.0.0.1', int(sys.argv[1])), 30)
		    s.sendall(bytes.fromhex('16030102000100')) # of a ClientHello
		    return s
		def ended(s):
		    try:
		        s.send(b'\0')
		        return s.recv(1, socket.MSG_DONTWAIT) == b''
		    except BlockingIOError:
		        return False
		    except OSError:
		        return True
		start, halves = time.monotonic(), [begin() for _ in range(9)] # the last is one too many
		while not all([ended(s) for s in halves]): # what trickles in gains no time
		    time.sleep(0.2)
		print(time.monotonic() - start > 8)
	E
	assert_output True
	assert_equal "$(grep -c 'refused: too many connections' server)" 1
	run curl -sS -k -o /dev/null -w '%{http_version}' "https://localhost:$PORT/acp"
	assert_output 2
}

# bats test_tags=slow
@test "plain lines over TCP, both ends: bytes unchanged, a line that is none is reported" {
	serve_at tcp:0 -- bash -c 'tee down | sed -u "s/\"method\":\"initialize\",\"params\"/\"result\"/"'
	printf '%s\n' '{"method":"_m","params":{"a": 1.50}}' hello "$initialize" >in
	run --separate-stderr acp-http --connect "tcp://127.0.0.1:$PORT" <in
	assert_success
	# tee writes to its standard output first.
	came() { [[ $(<down) == "$(sed 2d in)" ]]; }
	wait_for came
	assert_equal "$output" "$(sed '2d; 3s/"method":"initialize","params"/"result"/' in)"
	assert_regex "$stderr" 'client: line 2: .*: not forwarded: hello'
	run --separate-stderr acp-http --connect tcp://127.0.0.1:1 <<<"$initialize"
	assert_failure 1
	assert_equal "$(jq -c '[.id, .error.code]' <<<"$output")" '[1,-32603]'
}

@test "plain lines: one more than --max-connections is closed at once; a client that leaves ends its agent" {
	local line
	serve_at tcp:0 --max-connections 1 -- cat
	exec 5<>"/dev/tcp/127.0.0.1/$PORT"
	echo "$initialize" >&5
	read -r line <&5
	assert_equal "$line" "$initialize"
	run cat <"/dev/tcp/127.0.0.1/$PORT"
	assert_output ''
	exec 5>&-
	wait_for agents_left 2
}

# bats test_tags=slow
@test "TCP that is dropped between both ends: the streams are opened again, and the conversation goes on" {
	local i
	serve -- "${agent[@]}"
	streams relay "$PORT" port cut &
	wait_for test -e port
	: >out
	{
		for i in "$initialize" "$new" "$prompt" "${prompt/3/4}" "${prompt/3/5}"; do
			echo "$i"
			wait_for grep -q "\"id\":$(jq .id <<<"$i")" out
			[[ $i == *prompt* ]] || continue
			touch cut
			# The client has connected again then: a prompt on the old connection could be lost with it.
			wait_for test ! -e cut
		done
	} | acp-http --connect "http://127.0.0.1:$(<port)/acp" >out 2>err
	assert_equal "$(jq -c 'select(.id) | [.id, .error.code]' out | xargs)" '[1,null] [2,null] [3,null] [4,null] [5,null]'
	assert grep -q 'the event stream of session s was lost' err
}

# bats test_tags=slow
@test "TCP that is dropped anywhere between both ends: each request has one response, and the agent gets no message twice" {
	local seed=${ACP_SEED:-$RANDOM$RANDOM} scheme tls=()
	openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost 2>/dev/null
	for scheme in http ws https wss; do
		[[ $scheme != https ]] || tls=(--cert cert.pem --key key.pem)
		echo "seed $seed, $scheme"
		: >down
		serve --idle 500ms --grace 1s "${tls[@]}" -- bash -c 'tee -a down | "$@"' _ "${agent[@]}"
		run --separate-stderr streams cuts "$PORT" "$seed" "$(sample 8 60)" "$scheme" --timeout 1s --grace 500ms --ca cert.pem
		echo "$stderr"
		assert_output 'every request had its response'
		run bash -c 'jq -c "select(.method != \"initialize\") | .id" down | sort | uniq -d'
		assert_output ''
		kill "$SERVER"
		ends "$SERVER" 0
	done
	wait_for agents_left 0
}

# bats test_tags=slow
@test "a client that does not read its standard output stops the remote agent, and loses nothing" {
	seq -f '{"jsonrpc":"2.0","method":"_n","params":["%.0f 0123456789012345678901234567890123456789"]}' 600000 >in
	serve -- bash -c 'read -r _; echo "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"; cat in; touch sent; exec cat'
	mkfifo pipe
	acp-http --connect "http://127.0.0.1:$PORT/acp" < <(echo "$initialize"; exec sleep 600) >pipe &
	local client=$!
	exec 5<pipe
	moved() { awk '/^rchar/ { print $2 }' "/proc/$SERVER/io"; }
	still() {
		local before
		before=$(moved)
		rest 0.3
		[[ $before == "$(moved)" && $before -gt 1000000 ]]
	}
	wait_for still
	assert [ ! -e sent ]
	echo "peak: $(peak "$client") and $(peak "$SERVER") KiB"
	[[ $B == *san* ]] || (($(peak "$client") < 24 * 1024 && $(peak "$SERVER") < 24 * 1024))
	head -n 600001 <&5 | tail -n +2 >out
	exec 5<&-
	assert cmp in out
}

# --- the client ---

# behind STEP...: a server that plays these; URL is where, `seen` what it was sent.
behind() {
	rm -f port
	streams server port "$@" >seen &
	wait_for test -e port
	URL=http://127.0.0.1:$(<port)/acp
}

# converse OPTION...: asks one request after the other.
converse() {
	local line
	: >out
	{
		for line in "$initialize" "$new" "$prompt" "${prompt/3/4}"; do
			echo "$line"
			wait_for grep -q "\"id\": *$(jq .id <<<"$line")" out
		done
	} | acp-http --connect "$URL" "$@" >out 2>err
}

# bats test_tags=slow
@test "the client opens a stream before it posts for it, sends cookies back, and ends with DELETE" {
	behind
	converse
	run cat seen
	assert_output 'POST initialize - -
GET - lb=7
POST session/new - lb=7
GET s lb=7
POST session/prompt s lb=7
POST session/prompt s lb=7
DELETE'
	assert_equal "$(<err)" ''
}

# bats test_tags=slow
@test "the client posts for a session in order, one at a time, while another session goes on; a stream is open before session/load" {
	local load='{"jsonrpc":"2.0","id":4,"method":"session/load","params":{"sessionId":"t","cwd":"/","mcpServers":[]}}'
	behind 202 hold
	acp-http --connect "$URL" < <(
		echo "$initialize"
		echo "$new"
		wait_for grep -q '"id": *2' out
		echo "$prompt"
		echo '{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}'
		wait_for grep -q 'session/prompt s' seen
		echo "$load"
		wait_for grep -q 'session/cancel' seen
	) >out
	run sed 's/ lb=7$//' seen
	assert_output 'POST initialize - -
GET -
POST session/new -
GET s
POST session/prompt s
GET t
POST session/load t
POST session/cancel s
DELETE'
}

# bats test_tags=slow
@test "an HTTP status of 400 or more becomes the error response of the request, with the status and the text" {
	behind 202 503
	converse
	assert_equal "$(jq -c 'select(.error) | [.id, .error.code, .error.data]' out)" '[3,-32603,{"status":503,"body":"no such luck"}]'
	assert_equal "$(jq -c 'select(.id == 4) | .result' out)" '{}'
}

# bats test_tags=slow
@test "a message is posted once: where its connection ends without a response, its request gets an error" {
	behind 202 202 cut
	acp-http --connect "$URL" < <(
		for line in "$initialize" "$new" "$prompt" "${prompt/3/4}" "${prompt/3/5}"; do
			echo "$line"
			wait_for grep -q "\"id\": *$(jq .id <<<"$line")" out
		done
	) >out
	# The second prompt is sent on a connection that was used before: libcurl would try again.
	assert_equal "$(jq -c '[.id, .error.code]' out | xargs)" '[1,null] [2,null] [3,null] [4,-32603] [5,null]'
	assert_equal "$(jq -r 'select(.error).error.message' out)" 'the connection was lost, and the message may have been lost with it'
	assert_equal "$(grep -c 'POST session/prompt' seen)" 3
}

# bats test_tags=slow
@test "a response that comes after its request has got an error is not forwarded, and a line says so" {
	behind 202 late 202
	converse
	assert_equal "$(jq -c '[.id, .error.code]' out | xargs)" '[1,null] [2,null] [3,-32603] [4,null]'
	assert_equal "$(<err)" 'acp-http: agent: a response to no open request: not forwarded'
}

# bats test_tags=slow
@test "a stream that is lost is opened again, a line says so, and the requests that were open get an error after --timeout" {
	behind 202 drop
	converse --timeout 500ms
	assert_equal "$(jq -c 'select(.error) | [.id, .error.code]' out)" '[3,-32603]'
	assert_equal "$(jq -c 'select(.id == 4) | .result' out)" '{}'
	assert grep -q '^acp-http: the event stream of session s was lost.*messages may be missing$' err
	assert_equal "$(grep -c '^GET s' seen)" 2
}

@test "a stream that never opens fails its requests after --timeout, and the connection without its own" {
	for how in busy mute; do
		behind $how s
		converse --timeout 300ms
		assert_equal "$(jq -c '[.id, .error.code]' out | xargs)" '[1,null] [2,null] [3,-32603] [4,-32603]'
		assert grep -q 'did not open the session.s event stream within --timeout' out
		assert_equal "$(grep -c POST seen)" 2
		behind $how -
		run --separate-stderr acp-http --connect "$URL" --timeout 300ms < <(echo "$initialize"; echo "$new"; exec sleep 600)
		assert_failure 1
		assert_equal "$(jq -c '[.id, .error.code]' <<<"$output" | xargs)" '[1,null] [2,-32603]'
	done
}

@test "a stream that the server refuses is not asked for again until a message needs it" {
	behind deny s
	acp-http --connect "$URL" --timeout 200ms < <(
		echo "$initialize"
		wait_for grep -q '"id": *1' out
		echo "$new"
		wait_for grep -q refused err
		sleep 1
	) >out 2>err
	assert_equal "$(grep -c refused err)" 1
}

@test "a stream that was refused, and is asked for again, has the whole of --timeout to open" {
	behind stall s
	acp-http --connect "$URL" --timeout 1s < <(
		echo "$initialize"
		wait_for grep -q '"id": *1' out
		echo "$new"
		wait_for grep -q refused err
		sleep 0.6
		date +%s%3N >asked
		echo "$prompt"
		wait_for grep -q '"id": *3' out
		date +%s%3N >failed
	) >out 2>err
	assert_equal "$(tail -n 1 out | jq -c '[.id, .error.code]')" '[3,-32603]'
	assert [ $(($(<failed) - $(<asked))) -ge 990 ]
}

@test "a session's stream that ends in order and is refused afterwards: messages may be missing" {
	behind 202 refuse
	acp-http --connect "$URL" --grace 100ms < <(
		echo "$initialize"
		echo "$new"
		wait_for grep -q 'GET s' seen
		echo "$prompt"
		wait_for grep -q refused err
	) >out 2>err
	assert_equal "$(<err)" 'acp-http: the event stream of session s was lost: messages may be missing
acp-http: session s: the event stream was refused with HTTP status 403'
}

@test "a session's stream that ends before the response to session/close: no message is missing when the session is opened again" {
	behind 202 end
	acp-http --connect "$URL" < <(
		for line in "$initialize" "$new" "${prompt/prompt/close}" "${prompt/3/4}"; do
			echo "$line"
			wait_for grep -q "\"id\": *$(jq .id <<<"$line")" out
		done
	) >out 2>err
	assert_equal "$(jq -c '[.id, .error.code]' out | xargs)" '[1,null] [2,null] [3,null] [4,null]'
	assert_equal "$(grep -c '^GET s' seen)" 2
	assert_equal "$(<err)" ''
}

@test "a client that reads slowly: a response that comes when its request has got an error, for the connection is over, is not forwarded" {
	behind 202 gone
	mkfifo pipe
	acp-http --connect "$URL" < <(
		echo "$initialize"
		echo "$new"
		wait_for grep -q 'GET s' seen
		echo "$prompt"
		exec sleep 600
	) >pipe &
	exec 5<pipe
	wait_for grep -q gone seen
	jq -c 'select(.id == 3) | .error.code' <&5 >out
	exec 5<&-
	assert_equal "$(<out)" -32603
}

# bats test_tags=slow
@test "--grace: a client that has left waits while its message is sent slowly, and while the response comes slowly" {
	behind
	jq -nc --argjson m "$initialize" '$m | .params.x = "x" * 200000' >long
	acp-http --connect "$URL" --grace 1s <long >out
	assert_equal "$(jq -c '[.id, .error.code]' out)" '[1,null]'
}

# bats test_tags=slow
@test "--grace: what is sent slowly counts, also where another message was sent on a newer connection meanwhile" {
	behind
	: >out
	{
		echo "$initialize" && wait_for grep -q '"id": *1' out
		echo "$new" && wait_for grep -q '"id": *2' out
		jq -c '.params.x = "x" * 200000' <<<"$prompt"
		echo '{"jsonrpc":"2.0","method":"_n"}'
	} | acp-http --connect "$URL" --grace 1s >out
	assert_equal "$(jq -c 'select(.id == 3) | .error.code' out)" null
}

# bats test_tags=slow
@test "a stream that ends again and again as soon as it is open is opened again ever later" {
	behind 202 brief
	acp-http --connect "$URL" < <(echo "$initialize"; echo "$new"; wait_for grep -q 'GET s' seen; echo "$prompt"; rest 3) >out 2>err
	echo "$(grep -c '^GET s' seen) times"
	(($(grep -c '^GET s' seen) < 10))
	assert grep -q '^acp-http: the event stream of session s was lost' err
}

# bats test_tags=slow
@test "a server that does not know the connection any more: an error for each open request, and status 1" {
	local step
	# It says so to a GET, or to a POST.
	for step in forget 404 410; do
		behind 202 "$step"
		run --separate-stderr acp-http --connect "$URL" < <(echo "$initialize"; echo "$new"; wait_for grep -q 'GET s' seen; echo "$prompt"; exec sleep 600)
		assert_failure 1
		assert_equal "$(tail -n 1 <<<"$output" | jq -c '[.id, .error.code]')" '[3,-32603]'
		assert_equal "$(tail -n 1 <<<"$stderr")" "acp-http: $URL: the server does not know the connection any more"
	done
}

@test "no server, another service, or no initialize: an error for each request, and a line says why" {
	run --separate-stderr acp-http --connect http://127.0.0.1:1/ <<<"$initialize"
	assert_failure 1
	assert_equal "$(jq -c '[.id, .error.code]' <<<"$output")" '[1,-32603]'
	assert_regex "$stderr" "^acp-http: http://127.0.0.1:1/: .*refused|connect"
	serve --path /x -- cat
	run --separate-stderr acp-http --connect "http://127.0.0.1:$PORT/acp" <<<"$initialize"
	assert_failure 1
	assert_equal "$stderr" "acp-http: http://127.0.0.1:$PORT/acp: the server refused with HTTP status 404"
	serve -- "${agent[@]}"
	run --separate-stderr acp-http --connect "http://127.0.0.1:$PORT/acp" <<<"$new"
	assert_success
	assert_equal "$(jq -c '[.id, .error.message]' <<<"$output")" '[2,"initialize has to come first"]'
}

@test "a response to initialize that is none: DELETE, an error for each request, a line says why, and status 1" {
	local reply why
	while read -r why reply; do
		behind reply "$reply"
		run --separate-stderr acp-http --connect "$URL" --max-line 1K < <(printf '%s\n' "$initialize" "$new"; exec sleep 600)
		assert_failure 1
		assert_equal "$(jq -c '[.id, .error.code]' <<<"$output" | xargs)" '[1,-32603] [2,-32603]'
		assert_equal "$stderr" "acp-http: $URL: cannot connect: the response to initialize is not valid: ${why//_/ }"
		assert grep -q ^DELETE seen
	done <<-E
		expected_a_value
		expected_a_value hello
		it_is_no_response_to_this_request {"jsonrpc":"2.0","id":77,"result":{}}
		it_is_no_response_to_this_request {"jsonrpc":"2.0","id":1,"method":"_m"}
		longer_than_--max-line {"jsonrpc":"2.0","id":1,"result":{"x":"$(printf '%01000d' 0)"}}
	E
}

@test "the member connectionId of the result of initialize is removed wherever it is, and nothing else" {
	local result expected
	while read -r result expected; do
		behind reply "{\"jsonrpc\":\"2.0\", \"id\":1,\"result\":${result//_/ }}"
		run --separate-stderr acp-http --connect "$URL" <<<"$initialize"
		assert_success
		assert_equal "$output" "{\"jsonrpc\":\"2.0\", \"id\":1,\"result\":${expected//_/ }}"
	done <<-'E'
		{_"connectionId"_:_"c1"_,_"a":1} {__"a":1}
		{"a":1,_"connectionId":_"c1"_} {"a":1_}
		{"a":1,"connectionId":"c1","b":{"connectionId":"c1"}} {"a":1,"b":{"connectionId":"c1"}}
		{_"connectionId":"c1"_} {__}
		{"connectionId":"c2","a":1} {"connectionId":"c2","a":1}
	E
}

@test "a message whose session id does not fit in a header is not sent: a request gets an error, a notification a line on stderr" {
	local id n=1
	serve -- "${agent[@]}"
	{
		echo "$initialize"
		for id in ' s' 's t' 's\t' '\u007fs' 's\u0000'; do
			printf '{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":"%s","prompt":[]}}\n' $((++n)) "$id"
		done
		echo '{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":" s"}}'
	} >in
	run --separate-stderr acp-http --connect "http://127.0.0.1:$PORT/acp" <in
	assert_success
	assert_equal "$(jq -c 'select(.error) | [.id, .error.code]' <<<"$output")" "$(printf '[%d,-32603]\n' {2..6})"
	[[ $(grep -c "the session's id does not fit in a header" <<<"$output") == 5 ]]
	assert_equal "$stderr" "acp-http: a message was lost: the session's id does not fit in a header"
}

@test "a session that was closed and is loaded again has a stream again: its replay comes" {
	serve -- jq -c --unbuffered 'if .method == "session/load" then {jsonrpc, method: "session/update", params: {sessionId: "s"}} else empty end,
		{jsonrpc, id, result: {sessionId: "s"}}'
	: >out
	acp-http --connect "http://127.0.0.1:$PORT/acp" < <(
		for line in "$initialize" "$new" "${prompt/prompt/close}" "${prompt/3,\"method\":\"session\/prompt/4,\"method\":\"session\/load}"; do
			echo "$line"
			wait_for grep -q "\"id\":$(jq .id <<<"$line")" out
		done
		wait_for grep -q session/update out
	) >out
	assert_equal "$(jq -c 'select(.id) | [.id, .error.code]' out | xargs)" '[1,null] [2,null] [3,null] [4,null]'
	assert_equal "$(grep -c session/update out)" 1
}

@test "HTTP/2: the response to session/load comes after the updates that the server has sent before it" {
	rm -f port
	streams replay port >seen &
	wait_for test -e port
	: >out
	acp-http --connect "http://127.0.0.1:$(<port)/acp" < <(
		echo "$initialize"
		wait_for grep -q GET seen
		for i in {2..60}; do
			echo '{"jsonrpc":"2.0","id":'"$i"',"method":"session/load","params":{"sessionId":"s","cwd":"/","mcpServers":[]}}'
			wait_for grep -q "\"id\": *$i\\b" out
		done
	) >out
	assert_equal "$(sed 1d out | jq -r '.id // .params.n' | paste -sd ' ')" "$(for i in {2..60}; do printf '0 1 %d\n' "$i"; done | paste -sd ' ')"
}

@test "the stream of a sub-agent's session is opened when the session is announced; one that was closed can be opened again" {
	serve -- jq -c --unbuffered 'def result($value): {jsonrpc, id, result: $value}; def update($session; $update):
		{jsonrpc, method: "session/update", params: {sessionId: $session, update: $update}};
		if .method == "session/new" then result({sessionId: "s"}), update("s"; {sessionUpdate: "subagent_update", sessionId: "child"}),
			update("child"; {sessionUpdate: "agent_message_chunk"})
		elif has("id") then result({}) else empty end'
	: >out
	{
		echo "$initialize"
		wait_for grep -q '"id":1' out
		echo "$new"
		wait_for grep -q '"child","update"' out
		for i in 3 4 5; do
			[[ $i != 4 ]] || prompt=${prompt/prompt/close}
			[[ $i != 5 ]] || prompt=${prompt/close/load}
			echo "${prompt/3/$i}"
			wait_for grep -q "\"id\":$i" out
		done
	} | acp-http --connect "http://127.0.0.1:$PORT/acp" >out
	assert_equal "$(jq -c 'select(.id).id' out | xargs)" '1 2 3 4 5'
}

# bats test_tags=slow
@test "a proxy that the environment names is used, in both profiles" {
	serve -- "${agent[@]}"
	streams proxy port >seen &
	wait_for test -e port
	URL=http://127.0.0.1:$PORT/acp
	http_proxy=http://127.0.0.1:$(<port) no_proxy='' converse
	assert_equal "$(jq -c 'select(.id) | [.id, .error.code]' out | xargs)" '[1,null] [2,null] [3,null] [4,null]'
	assert_equal "$(sort seen | uniq -c | xargs)" "1 DELETE $URL 2 GET $URL 4 POST $URL"
	http_proxy=http://127.0.0.1:$(<port) no_proxy='' converse --profile ws
	assert_equal "$(jq -c 'select(.id) | [.id, .error.code]' out | xargs)" '[1,null] [2,null] [3,null] [4,null]'
	assert_equal "$(tail -n 1 seen)" "CONNECT 127.0.0.1:$PORT"
}

# bats test_tags=slow
@test "--token-file and --header go with each request, in both profiles; who has no token gets 401" {
	echo secret >token
	serve --token-file token --origin https://a.example -- "${agent[@]}"
	for URL in "http://127.0.0.1:$PORT/acp" "ws://127.0.0.1:$PORT/acp"; do
		converse --token-file token
		assert_equal "$(jq -c 'select(.id) | [.id, .error.code]' out | xargs)" '[1,null] [2,null] [3,null] [4,null]'
		converse --header 'Authorization: Bearer secret' --header 'Origin: https://a.example'
		assert_equal "$(jq -c 'select(.id) | [.id, .error.code]' out | xargs)" '[1,null] [2,null] [3,null] [4,null]'
		run --separate-stderr acp-http --connect "$URL" <<<"$initialize"
		assert_failure 1
		assert_equal "$stderr" "acp-http: $URL: the server refused with HTTP status 401"
		assert_equal "$(jq -c '[.id, .error.code]' <<<"$output")" '[1,-32603]'
	done
	wait_for agents_left 2
}

@test "--header: one without a value is sent, too, in both profiles" {
	serve --origin https://a.example -- "${agent[@]}"
	for URL in "http://127.0.0.1:$PORT/acp" "ws://127.0.0.1:$PORT/acp"; do
		for header in Origin: 'Origin: '; do
			run --separate-stderr acp-http --connect "$URL" --header "$header" <<<"$initialize"
			assert_equal "$stderr" "acp-http: $URL: the server refused with HTTP status 403"
		done
	done
}

# bats test_tags=slow
@test "a message longer than the client's --max-line: a line says so, the stream is opened again, and the request gets an error" {
	serve -- jq -c --unbuffered '{jsonrpc, id, result: (if .method == "session/new" then {sessionId: "s"} elif .id == 3 then {x: ("x" * 5000)} else {} end)}'
	URL=http://127.0.0.1:$PORT/acp
	converse --max-line 1K --timeout 500ms
	assert_equal "$(jq -c '[.id, .error.code]' out | xargs)" '[1,null] [2,null] [3,-32603] [4,null]'
	assert grep -q 'agent: a message longer than --max-line: the event stream is opened again' err
	assert_equal "$(wc -l <err)" 2
}

# bats test_tags=slow
@test "https and wss pass through the proxy that https_proxy names, by CONNECT; a proxy that refuses is said" {
	local profile
	openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost 2>/dev/null
	serve --cert cert.pem --key key.pem -- "${agent[@]}"
	streams proxy port >seen &
	wait_for test -e port
	https_proxy=http://127.0.0.1:$(<port)
	export https_proxy http_proxy=http://127.0.0.1:1 no_proxy=''
	for URL in "https://localhost:$PORT/acp" "wss://localhost:$PORT/acp"; do
		converse --ca cert.pem
		assert_equal "$(jq -c 'select(.id) | [.id, .error.code]' out | xargs)" '[1,null] [2,null] [3,null] [4,null]'
		assert_equal "$(<err)" ''
	done
	# One of HTTP/2 for all streams, and the WebSocket.
	assert_equal "$(uniq -c seen | xargs)" "2 CONNECT localhost:$PORT"
	# Nobody listens there, as far as the proxy knows.
	for URL in https://localhost:1/acp wss://localhost:1/acp; do
		run --separate-stderr acp-http --connect "$URL" --ca cert.pem <<<"$initialize"
		assert_failure 1
		assert_equal "$(jq -c '[.id, .error.code]' <<<"$output")" '[1,-32603]'
		assert_regex "$stderr" "^acp-http: $URL: .*(CONNECT|[Pp]roxy)"
	done
}

@test "an agent that fails: its open requests get an error, a line says how it ended, and the status is 1, as with WebSocket" {
	serve -- bash -c 'read -r _; echo "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"; read -r _; exit 3'
	URL=http://127.0.0.1:$PORT/acp
	run --separate-stderr acp-http --connect "$URL" < <(echo "$initialize"; echo "$new"; exec sleep 600)
	assert_equal "$(jq -c '[.id, .error.code]' <<<"$output")" $'[1,null]\n[2,-32603]'
	assert_equal "$status" 1
	assert_equal "$stderr" "acp-http: $URL: the agent ended with exit status 3"
}

@test "an agent that ends in order: the status is 0; also one that fails after the client has left" {
	serve -- bash -c 'read -r _; echo "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"; read -r line || exit 3'
	URL=http://127.0.0.1:$PORT/acp
	run --separate-stderr acp-http --connect "$URL" < <(echo "$initialize"; echo '{"method":"_end"}'; exec sleep 600)
	assert_equal "$status$stderr" 0
	run --separate-stderr acp-http --connect "$URL" <<<"$initialize"
	assert_equal "$status$stderr" 0
}
