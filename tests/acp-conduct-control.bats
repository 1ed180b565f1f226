#!/usr/bin/env bats
# acp-conduct --control: an acp-share at a hop of a chain.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
	load control
	control_setup
}

teardown() {
	end_left_over
}

@test "--control puts one acp-share at the client's hop" {
	chain -d cat -f 'acp-tap -o t.rec'
	begin
	find_socket
	assert_equal "$(stat -c %a "$socket")" 600
	run acp-share --list -f json
	assert_equal "${#lines[@]}" 1
	assert_equal "$(jq -r .name <<<"$output")" cat
	grep -q '^acp-conduct: acp-share: pid [0-9]*, filter: acp-share --control auto --name cat$' said
	ends
}

@test "a socket of one's own goes with the chain, and leaves a link where it is looked for" {
	chain --control my.sock
	linked() { [[ $(readlink run/acp/*) == "$PWD/my.sock" ]]; }
	wait_for linked
	ends
	[[ ! -e my.sock ]]
}

@test "acp-share is found beside acp-conduct" {
	mkfifo client
	exec 9<>client
	PATH=/usr/bin:/bin "$(command -v acp-conduct)" --control my.sock -- cat <client >got 2>said 9>&- &
	stream=$!
	wait_for test -S my.sock
	ends
}

@test "--control-hop puts one at each hop that is named; the second socket has a number" {
	chain --control my.sock --control-hop acp-tap --control-hop 2 -d cat -f 'acp-tap -o t.rec' -u cat
	begin
	wait_for test -S my.sock
	wait_for test -S my.sock.2
	for share in $(sed -n 's/^acp-conduct: acp-share[^:]*: pid \([0-9]*\),.*/\1/p' said); do
		wait_for listens "$share"
	done
	watch() {
		visit "$1" watch >"$2" 2>"$2.answer" 9>&- &
		wait_for grep -q acp-recording "$2"
	}
	watch my.sock one
	watch my.sock.2 two
	assert_equal "$(cat one.answer two.answer)" $'{"hop":0,"name":"acp-tap","guest":1}\n{"hop":0,"name":"cat.2","guest":1}'
	say '{"jsonrpc":"2.0","id":1,"method":"m"}'
	hears '"id":1'
	hears '"from":"agent","msg":{"jsonrpc":"2.0","id":1,"result"' one
	hears '"from":"agent","msg":{"jsonrpc":"2.0","id":1,"result"' two
	ends
	[[ ! -e my.sock && ! -e my.sock.2 ]]
}

@test "no byte goes through acp-conduct" {
	chain --control-hop agent -d cat -d cat
	begin
	find_socket
	before=$(awk '/char/ { n += $2 } END { print n }' "/proc/$stream/io")
	say "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":\"$(printf '%01000d' 0)\"}"
	hears '"id":1,"result"'
	after=$(awk '/char/ { n += $2 } END { print n }' "/proc/$stream/io")
	((after - before < 1000))
	ends
}

@test "a hop that there is not is refused before anything starts; as is one without a socket" {
	for hop in x 2 -1 ''; do
		run -2 acp-conduct --control auto --control-hop "$hop" -d cat -- sh -c 'echo started >&2'
		assert_output "acp-conduct: --control-hop $hop: there is no such hop"
	done
	run -2 acp-conduct --control-hop 0 -- cat
	assert_output 'acp-conduct: --control-hop requires --control'
}

@test "a socket that cannot be had is refused before anything starts" {
	chain --control my.sock
	begin
	run -2 acp-conduct --control my.sock -- sh -c 'echo started >&2'
	assert_output 'acp-conduct: --control my.sock: another process listens there'
	ends
	run -2 acp-conduct --control no/such/directory -- sh -c 'echo started >&2'
	assert_output 'acp-conduct: --control no/such/directory: No such file or directory'
	chmod 755 run/acp
	run -2 acp-conduct --control auto -- sh -c 'echo started >&2'
	assert_output "acp-conduct: --control auto: $PWD/run/acp: open to others (its mode has to be 0700)"
}

@test "while acp-conduct tries a socket, nobody finds it: only acp-share makes the link" {
	mkdir -m 700 run/acp
	touch -d @1000 run/acp
	touch my.sock.2
	run -2 acp-conduct --control my.sock --control-hop 1 --control-hop 0 -d cat -- cat
	assert_output 'acp-conduct: --control my.sock.2: it exists and is not a socket'
	assert_equal "$(stat -c %Y run/acp)" 1000
	[[ ! -e my.sock ]]
}

# bats test_tags=slow
@test "beside a proxy: what passes is plain, and a guest is on the right side of both neighbours" {
	chain --control-hop acp-tap.2 -p 'acp-tap -o a.rec' -p 'acp-tap -o b.rec'
	begin
	find_socket
	join g
	down '{"jsonrpc":"2.0","id":5,"method":"m","params":{"x":"down"}}'
	hears '"to":"guest"' g
	assert_equal "$(answers g)" '{"jsonrpc":"2.0","id":5,"result":{"method":"m","params":{"x":"down"}}}'
	run ! grep -q '"x":"down"' a.rec
	grep -q '"x":"down"' b.rec
	up '{"jsonrpc":"2.0","method":"session/update","params":{"x":"up"}}'
	hears '"x":"up"'
	grep -q '"x":"up"' a.rec
	run ! grep -q '"x":"up"' b.rec
	ends
	run ! grep -q successor g
}

# bats test_tags=slow
@test "a chain that is a proxy itself is shared, too" {
	rm -f client
	mkfifo client
	exec 9<>client
	acp-conduct --control auto --control-hop 0 --control-hop successor -p 'acp-tap -o t.rec' <client >got 2>said 9>&- &
	stream=$!
	say '{"jsonrpc":"2.0","id":0,"method":"proxy/initialize","params":{"protocolVersion":1}}'
	hears proxy/successor
	id=$(sed -n 's/.*"id":\([^,]*\),.*/\1/p' got)
	say "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"protocolVersion\":1}}"
	hears '"id":0,"result"'
	find_socket successor
	watch two
	find_socket acp-tap
	watch one
	say '{"jsonrpc":"2.0","id":"a","method":"m","params":{}}'
	hears '"method":"m","params":{}}}' one
	hears '"method":"m","params":{}}}' two
	run messages two
	assert_line --index 0 --partial '"method":"initialize"'
	exec 9>&-
	wait "$stream"
}

# bats test_tags=slow
@test "a proxy that dies beside it: a guest's open request is answered all the same" {
	chain --control-hop acp-tap -p 'acp-tap -o a.rec' -p 'acp-tap -o b.rec'
	begin
	find_socket
	watch w
	join g
	pid=$(sed -n 's/^acp-conduct: acp-tap: pid \([0-9]*\),.*/\1/p' said)
	kill -STOP "$pid"
	down '{"jsonrpc":"2.0","id":"x","method":"m","params":{"k":1}}'
	hears '"k":1' w
	kill -KILL "$pid"
	hears '"to":"guest"' g
	assert_equal "$(answers g)" '{"jsonrpc":"2.0","id":"x","result":{"method":"m","params":{"k":1}}}'
	ends
}

# bats test_tags=slow
@test "a share that dies is started again under the same name, and takes no session with it when it dies often" {
	chain --control my.sock --restarts 1/1m
	begin
	wait_for test -S my.sock
	for i in 1 2; do
		kill -KILL "$(sed -n 's/^acp-conduct: acp-share: pid \([0-9]*\),.*/\1/p' said | tail -n 1)"
		wait_for grep -q "acp-share: died (signal KILL); $( ((i == 1)) && echo restarting || echo bypassed)" said
		say '{"jsonrpc":"2.0","id":'$i',"method":"m"}'
		hears "\"id\":$i,\"result\""
		((i == 2)) || {
			wait_for visit my.sock ask $'{"want":"list"}\n'
			socket=my.sock
			join g
			down '{"jsonrpc":"2.0","id":"x","method":"m"}'
			hears '"to":"guest"' g
		}
	done
	exec 8>&-
	exec 9>&-
	wait "$stream"
}
