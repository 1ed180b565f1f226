#!/usr/bin/env bats
# acp-http under load: many connections, many messages, slow readers, random peers, and TLS.
#
#   ACP_ROUNDS=N   so many random connections (12)
#   ACP_SEED=S     the seed of the first

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

# bats test_tags=slow
@test "200 connections at once, each with its own agent; afterwards none is left" {
	serve -- cat
	run ws many "$PORT" 200
	assert_output '200 connections, 200 ids'
	wait_for agents_left 2 # the server and its guardian
}

# bats test_tags=slow
@test "100,000 messages each way arrive in order, on a raw WebSocket and between two acp-http" {
	serve -- cat
	run ws order "$PORT" 50000 20
	assert_output '50000 messages each way in order'
	seq -f '{"jsonrpc":"2.0","method":"_n","params":[%.0f]}' 100000 >in
	serve -- bash -c 'cat "$1" & cat >down; wait; touch over' _ "$PWD/in"
	acp-http --connect "ws://127.0.0.1:$PORT/acp" --grace 1m < <(cat in; exec cat <(until [[ -e all ]]; do sleep 0.1; done)) >out &
	wait_for eval '[[ $(wc -l <out) == 100000 && $(wc -l <down) == 100000 ]]'
	touch all
	wait $!
	assert cmp in out
	wait_for test -e over
	assert cmp in down
}

# bats test_tags=slow
@test "who does not read stops who writes to him: memory stays bounded, and nothing is lost" {
	serve -- cat
	ws slow "$PORT" 3000 20000 go >out &
	# All that fits is on its way when the server no longer moves.
	still() {
		local before after
		before=$(awk '/^(r|w)char/ { n += $2 } END { print n }' "/proc/$SERVER/io")
		sleep 0.3
		after=$(awk '/^(r|w)char/ { n += $2 } END { print n }' "/proc/$SERVER/io")
		[[ $before == "$after" && $after -gt 1000000 ]]
	}
	wait_for still
	touch go
	wait %2
	assert_equal "$(<out)" '3000 messages each way in order'
	echo "peak: $(peak "$SERVER") KiB"
	[[ $B == *san* ]] || (($(peak "$SERVER") < 24 * 1024))
}

# bats test_tags=slow
@test "a client that does not read its standard output stops the remote agent, and loses nothing" {
	seq -f '{"jsonrpc":"2.0","method":"_n","params":["%.0f 0123456789012345678901234567890123456789"]}' 200000 >in
	serve -- bash -c 'cat in; touch sent; exec cat'
	mkfifo pipe
	acp-http --connect "ws://127.0.0.1:$PORT/acp" < <(exec sleep 600) >pipe &
	local client=$!
	exec 5<pipe
	moved() { awk '/^wchar/ { print $2 }' "/proc/$client/io"; }
	still() {
		local before
		before=$(moved)
		sleep 0.3
		[[ $before == "$(moved)" && $before -gt 50000 ]]
	}
	wait_for still
	assert [ ! -e sent ]
	[[ $B == *san* ]] || (($(peak "$client") < 24 * 1024))
	head -n 200000 <&5 >out
	exec 5<&-
	assert cmp in out
}

# bats test_tags=slow
@test "a client whose standard output nobody reads for a while is not lost: its pings are a sign of life" {
	seq -f '{"jsonrpc":"2.0","method":"_n","params":["%.0f 0123456789012345678901234567890123456789"]}' 60000 >in
	serve --ping 3s -- bash -c 'cat in; exec cat'
	mkfifo pipe
	acp-http --ping 3s --connect "ws://127.0.0.1:$PORT/acp" < <(exec sleep 600) >pipe &
	exec 5<pipe
	# Longer than the two intervals after which a silent peer is lost.
	sleep 7
	head -n 60000 <&5 >out
	exec 5<&-
	assert cmp in out
}

# bats test_tags=slow
@test "who sends requests to an agent that is gone and reads no responses is not read any more" {
	serve -- bash -c 'exec >&-; exec sleep 600'
	run ws deaf "$PORT" 40000000
	assert_output 'not read any more'
}

# bats test_tags=slow
@test "a message of 30 MB passes both ways, and its memory is given back" {
	{ printf '{"jsonrpc":"2.0","id":1,"method":"'; head -c 30000000 /dev/zero | tr '\0' x; printf '"}\n'; } >in
	serve -- bash -c 'tee down | sed -u "s/\"method\"/\"result\"/"'
	acp-http --grace 10m --connect "ws://127.0.0.1:$PORT/acp" <in >out
	assert cmp in down
	assert cmp <(sed 's/"method"/"result"/' in) out
}

# bats test_tags=slow
@test "random peers that fragment, ping, stall, break rules and leave see what the model expects" {
	local seed=${ACP_SEED:-$RANDOM$RANDOM}
	echo "seed $seed"
	serve --max-line 1000000 -- cat
	local rounds=${ACP_ROUNDS:-$(sample 3 12)}
	run ws model "$PORT" "$seed" "$rounds"
	assert_output "$rounds connections"
	wait_for agents_left 2
	assert kill -0 "$SERVER"
}

# A certificate authority, and a TLS front at $TLS before the server.
tls_front() {
	openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=test-ca 2>/dev/null
	openssl req -newkey rsa:2048 -nodes -keyout key.pem -out req.pem -subj "/CN=$1" 2>/dev/null
	openssl x509 -req -in req.pem -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out cert.pem \
	    -extfile <(echo "subjectAltName=$2") 2>/dev/null
	cat key.pem cert.pem >both.pem
	socat -d -d "OPENSSL-LISTEN:0,reuseaddr,fork,verify=0,cert=both.pem" "TCP:127.0.0.1:$PORT" 2>front &
	wait_for grep -q 'listening on' front
	TLS=$(sed -n 's/.*listening on .*:\([0-9]*\)$/\1/p' front | head -n 1)
}

# bats test_tags=slow
@test "wss: the certificate is verified: --ca trusts one, an unknown one or one for another host is refused" {
	local m='{"jsonrpc":"2.0","id":1,"method":"x","params":{}}'
	serve -- bash -c answers
	tls_front localhost DNS:localhost
	run --separate-stderr acp-http --connect "wss://localhost:$TLS/acp" --ca ca.pem <<<"$m"
	assert_success
	assert_output '{"jsonrpc":"2.0","id":1,"result":{}}'
	run --separate-stderr acp-http --connect "wss://localhost:$TLS/acp" <<<"$m"
	assert_failure 1
	assert_regex "$stderr" 'cannot connect'
	run --separate-stderr acp-http --connect "wss://127.0.0.1:$TLS/acp" --ca ca.pem <<<"$m"
	assert_failure 1
	assert_regex "$stderr" 'cannot connect'
	run --separate-stderr acp-http --connect "ws://localhost:$TLS/acp" <<<"$m"
	assert_failure 1
}
