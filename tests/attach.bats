#!/usr/bin/env bats
# acp-tap, acp-usage and acp-inject attached to an acp-share.

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

# beside TOOL [OPTION]...: it joins the chain; its pid is in tool, its stderr in seen.
beside() {
	"$@" </dev/null >out 2>seen 9>&- 3>&- &
	tool=$!
}

# over STATUS: the tool ends with it.
over() {
	local status=0
	wait "$tool" || status=$?
	[[ $status == "$1" ]] || fail "status $status; $(cat seen)"
}

@test "acp-tap records what passes from then on, after the chain's initialization, to the chain's end" {
	start
	begin
	say '{"jsonrpc":"2.0","id":1,"method":"early"}'
	hears '"early"'
	beside acp-tap --attach auto -o t.rec
	wait_for grep -qs protocolVersion t.rec
	say '{"jsonrpc":"2.0", "id":2, "method":"late","params":{"n":1.50}}'
	hears '"late"'
	ends
	over 0
	assert_equal "$(cat seen)" ''
	run messages t.rec
	assert_output "$init
{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":1}}
{\"jsonrpc\":\"2.0\", \"id\":2, \"method\":\"late\",\"params\":{\"n\":1.50}}
{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"method\":\"late\",\"params\":{\"n\":1.5}}}"
}

@test "acp-usage knows a session's context from before it came" {
	start
	begin
	say '{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"s"}}' \
		'{"jsonrpc":"2.0","method":"use","params":{"session":"s","used":42}}'
	hears '"used":42'
	beside acp-usage --attach "$socket" -o u.log
	wait_for grep -qs '42%' u.log
	say '{"jsonrpc":"2.0","method":"use","params":{"session":"s","used":77}}'
	wait_for grep -qs '77%' u.log
	ends
	over 0
	grep -q '77%.*Context filling up' seen
}

@test "acp-inject asks the agent and leaves; no one else gets the response" {
	start -- acp-tap -o t.rec -- $agent
	begin
	run acp-inject -v --attach auto --leave --send 'down:after:initialize={method:"m",params:{q:7}}'
	assert_success
	assert_output 'acp-inject: m: {"method":"m","params":{"q":7}}'
	say '{"jsonrpc":"2.0","id":1,"method":"last"}'
	hears '"last"'
	ends
	grep -q '"q":7' t.rec
	run ! grep -q '"q":7' got
}

# bats test_tags=slow
@test "acp-inject sends both ways, after what passes, and is not set off by itself" {
	start
	begin
	beside acp-inject --attach auto --send-every --send 'down:after:go={method:"go",notify:true,params:{mine:true}}' \
		--send 'up:after:go={method:"up",notify:true}'
	say_until_heard() {
		say '{"jsonrpc":"2.0","method":"go"}'
		heard '"mine":true'
	}
	wait_for say_until_heard
	hears '{"jsonrpc":"2.0","method":"up"}'
	kill -INT "$tool"
	over 0
	# As often up as the client said it: what went down itself did not count.
	once_each() {
		(($(grep -c '"method":"up"' got) == $(grep -c '"mine":true' got)))
	}
	wait_for once_each
	ends
}

# bats test_tags=slow
@test "another hop than the one that is there" {
	start
	begin
	run acp-tap --attach auto --hop nowhere
	assert_failure 2
	assert_line --partial "nowhere"
	assert_equal "${#lines[@]}" 1
	beside acp-tap --attach auto --hop 0 -f raw -o t.raw
	wait_for grep -qs protocolVersion t.raw
	ends
	over 0
}

@test "auto and a name: of several the one that is called so" {
	chain --control-hop 0 --control-hop agent -f 'acp-tap -o t.rec'
	begin
	for name in acp-tap agent; do
		wait_for bash -c "acp-share --list -f json | grep -q '\"name\":\"$name\"'"
		run acp-inject -v --attach auto --hop "$name" --leave --send 'down:after:initialize={method:"m",params:{to:"'$name'"}}'
		assert_success
	done
	run ! grep -q '"to":"agent"' t.rec
	grep -q '"to":"acp-tap"' t.rec
	ends
}

# bats test_tags=slow
@test "auto: none, and several" {
	run acp-tap --attach auto
	assert_failure 2
	assert_output "acp-tap: no stream is shared: put \"acp-share --\" before the agent's command"
	start
	begin
	acp-share -- sh -c 'cat' </dev/zero >/dev/null 2>&1 9>&- &
	other=$!
	wait_for test -e "$XDG_RUNTIME_DIR/acp/$other"
	run acp-usage --attach auto
	assert_failure 2
	assert_line 'acp-usage: several streams are shared; choose one of these:'
	assert_line --partial "acp-usage: $XDG_RUNTIME_DIR/acp/$stream: pid $stream: $PWD: at agent"
	assert_line --partial "acp-usage: $XDG_RUNTIME_DIR/acp/$other: pid $other: $PWD: at agent"
	kill -KILL "$other"
	wait "$other" || true
	beside acp-tap --attach auto -o t.rec
	wait_for grep -qs protocolVersion t.rec
	exec 9>&-
	wait "$stream"
	over 0
}

# bats test_tags=slow
@test "tools that come, are killed or leave while a response streams: the client's bytes are as without them" {
	start
	begin
	say '{"jsonrpc":"2.0","id":5,"method":"stream","params":{"n":20000}}'
	for i in 1 2 3 4 5; do
		beside acp-tap --attach auto -o "t$i.rec"
		wait_for grep -qs protocolVersion "t$i.rec"
		kill -"$([[ $i == [135] ]] && echo KILL || echo INT)" "$tool"
		wait "$tool" || true
	done
	hears '"id":5,"result"'
	ends
	tail -n +2 got | cmp - <(jq -nc 'range(20000) | {jsonrpc: "2.0", method: "session/update", params: {sessionId: "s",
		update: {sessionUpdate: "agent_message_chunk", content: {type: "text", text: "\(.) some words"}}}}
		' && echo '{"jsonrpc":"2.0","id":5,"result":{}}')
}

# bats test_tags=slow
@test "a tool that is stopped misses something, the chain does not wait; it says so" {
	start
	begin
	beside acp-tap --attach auto -o t.rec
	wait_for grep -qs protocolVersion t.rec
	kill -STOP "$tool"
	say '{"jsonrpc":"2.0","id":5,"method":"stream","params":{"n":20000}}'
	hears '"id":5,"result"'
	kill -CONT "$tool"
	wait_for grep -q '"event":"lost"' t.rec
	ends
	over 125
	lost=$(jq -s 'map(select(.event == "lost").count) | add' t.rec)
	grep -q "acp-tap: $lost messages were lost: " seen
	assert_equal $((lost + $(messages t.rec | grep -c '"jsonrpc"'))) $((20000 + 4))
}

# bats test_tags=slow
@test "an acp-share that is stopped: one line; it goes on as if nothing had been" {
	start
	begin
	kill -STOP "$stream"
	run acp-tap --attach auto
	assert_failure 2
	assert_output "acp-tap: $socket: acp-share does not respond"
	kill -CONT "$stream"
	say '{"jsonrpc":"2.0","id":1,"method":"m"}'
	hears '"method":"m"'
	ends
}

# bats test_tags=slow
@test "the acp-share is killed: the rest is lost, and the tool says so" {
	start
	begin
	beside acp-tap --attach auto -o t.rec
	wait_for grep -qs protocolVersion t.rec
	kill -KILL "$stream"
	over 125
	assert_equal "$(<seen)" 'acp-tap: the stream broke off before its end: messages may be lost'
}

# poses RESPONSE [SOCKET [TIMES]]: at the socket (fake), something that is not acp-share has it for who asks.
poses() {
	python3 -SE -c 'if True:
		import os, socket, sys
		s = socket.socket(socket.AF_UNIX)
		s.bind(sys.argv[1] + ".new")
		s.listen()
		os.rename(sys.argv[1] + ".new", sys.argv[1])
		for _ in range(int(sys.argv[3])):
			c, _ = s.accept()
			c.recv(4096)
			c.sendall(eval(sys.argv[2]).encode())
			c.close()' "${2-fake}" "$1" "${3-1}" 9>&- 3>&- &
	wait_for [ -S "${2-fake}" ]
}

# bats test_tags=slow
@test "what responds at a socket and is not acp-share is named so, and nothing is watched" {
	command -v python3 >/dev/null || skip 'python3 is needed'
	while read -r response expected; do
		rm -f fake
		poses "$response"
		run -2 acp-tap --attach fake -o seen.rec
		assert_output "acp-tap: $expected"
		[[ ! -s seen.rec ]]
	done <<-'END'
		'' fake: it closed the connection without a response: only the user who shares a stream can join it
		'{"hop":0}' fake: not acp-share: its response has no end
		'x'*100000 fake: not acp-share: its response has no end
		'junk\n' fake: not acp-share: its response is not a JSON object
		'[{"hop":0}]\n' fake: not acp-share: its response is not a JSON object
		'{"hop":0}\n' fake: the response of acp-share came without a descriptor
		'{"error":7,"hop":0}\n' fake: the response of acp-share came without a descriptor
		'{"error":"no\x20such\x20hop"}\n' no such hop
	END
}

# bats test_tags=slow
@test "acp-share --list: what responds with junk is a line of its own" {
	command -v python3 >/dev/null || skip 'python3 is needed'
	mkdir -m 700 "$XDG_RUNTIME_DIR/acp"
	for response in "'junk\\n'" "'[1]\\n'" "'{\"name\":\"x\"}\\n'" "'{\"pid\":7'" "''" "'{\"pid\":7}x\\n'"; do
		rm -f "$XDG_RUNTIME_DIR/acp/77"
		poses "$response" "$XDG_RUNTIME_DIR/acp/77" 2
		for format in text json; do
			run -0 acp-share --list -f $format
			if [[ $format == json ]]; then
				assert_output "{\"socket\":\"$XDG_RUNTIME_DIR/acp/77\",\"error\":\"does not answer\"}"
			else
				assert_line --index 1 --regexp '^77 .*does not answer .*/acp/77$'
			fi
		done
	done
}

@test "who listens, and who takes away what is stale, waits for the lock of the directory" {
	[[ -e /proc/locks ]] || skip '/proc/locks is needed'
	mkdir -m 700 "$XDG_RUNTIME_DIR/acp"
	# One that shares it lets others share it. In a container /proc/locks has only locks of processes that still run.
	flock -s -o "$XDG_RUNTIME_DIR/acp" sh -c 'echo >held; exec sleep 1000' 9>&- 3>&- &
	holder=$!
	wait_for test -e held
	acp-share -- cat </dev/null >got 2>said 9>&- 3>&- &
	stream=$!
	waits() { grep -q -- "-> FLOCK.* $stream " /proc/locks; }
	wait_for waits
	[[ ! -e $XDG_RUNTIME_DIR/acp/$stream ]]
	kill "$holder"
	wait "$stream"
}
