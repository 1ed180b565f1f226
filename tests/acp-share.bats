#!/usr/bin/env bats
# acp-share: a running stream is found, says what it is, and is watched.

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

# --- the socket

@test "the socket is this user's alone, and goes with the chain" {
	start
	assert_equal "$(stat -c %a "$socket")" 600
	assert_equal "$(stat -c %a run/acp)" 700
	assert_equal "$(find run/acp -type s)" "run/acp/$stream"
	ends
}

@test "without XDG_RUNTIME_DIR the directory is in /tmp, with the user's number" {
	unset XDG_RUNTIME_DIR
	[[ ! -e /tmp/acp-$(id -u) || $(stat -c %a%u "/tmp/acp-$(id -u)") == 700$(id -u) ]] || skip 'it is somebody else'"'"'s here'
	acp-share --control auto -- sh -c 'stat -c "%U %F" /tmp/acp-$(id -u)/$PPID >seen; cat' <<<"$init" || true
	assert_equal "$(cat seen)" "$(id -un) socket"
}

@test "a directory that others can write to is not used" {
	mkdir -m 777 run/acp
	run -2 acp-share --control auto -- cat
	assert_output "acp-share: --control auto: $PWD/run/acp: open to others (its mode has to be 0700)"
	rmdir run/acp
	ln -s /tmp run/acp
	run -2 acp-share --control auto -- cat
	assert_output "acp-share: --control auto: $PWD/run/acp: not a directory"
	run -2 acp-share --list
	assert_output "acp-share: $PWD/run/acp: not a directory"
}

@test "a socket elsewhere leaves a link where chains are looked for, and both go" {
	start --control my.sock
	assert_equal "$(readlink run/acp/*)" "$PWD/my.sock"
	run --separate-stderr acp-share --list
	assert_line --index 1 --regexp "^$stream .*  $PWD/run/acp/$stream\$"
	ends
	[[ ! -e my.sock ]]
}

@test "a socket of any name where chains are looked for is shared once" {
	local path
	mkdir -m 700 run/acp
	ln -s run/acp near
	for path in "$PWD/run/acp/mine" run/acp/mine near/mine; do
		start --control "$path"
		assert_equal "$(ls run/acp)" mine
		ends
	done
}

@test "a socket where chains are looked for, in a directory that is open to others: says that it will not be found" {
	mkdir -m 755 run/acp
	start --control run/acp/mine
	assert_equal "$(<said)" "acp-share: --list and --attach auto will not find run/acp/mine: $PWD/run/acp: open to others (its mode has to be 0700)"
	ends
}

# bats test_tags=slow
@test "where a chain listens no other one may; what nobody listens at any more is taken over" {
	start --control my.sock
	run -2 acp-share --control my.sock -- sh -c 'echo started >&2'
	assert_output 'acp-share: --control my.sock: another process listens there'
	kill -KILL "$stream"
	wait "$stream" || true
	[[ -S my.sock ]]
	start --control my.sock
	run acp-share --list
	assert_equal "${#lines[@]}" 2
	ends
	echo precious >my.sock
	run -2 acp-share --control my.sock -- cat
	assert_output 'acp-share: --control my.sock: it exists and is not a socket'
	assert_equal "$(cat my.sock)" precious
}

@test "a path that no socket can have is refused before anything starts" {
	run -2 acp-share --control "$(printf '%0200d' 0)" -- sh -c 'echo started >&2'
	assert_output --partial 'the path is too long for a socket'
	run -2 acp-share --control no/such/folder -- sh -c 'echo started >&2'
	assert_output 'acp-share: --control no/such/folder: No such file or directory'
}

@test "another user is refused, with a line" {
	setpriv --reuid=65534 --regid=65534 --clear-groups true || skip 'no other user here'
	start --control "$PWD/my.sock"
	chmod 666 my.sock
	cp "$B/helper/visit" program
	d=$PWD
	while [[ $d != / ]]; do
		chmod o+x "$d" || skip 'the folder cannot be shared'
		d=$(dirname "$d")
	done
	run setpriv --reuid=65534 --regid=65534 --clear-groups ./program "$PWD/my.sock" ask $'{"want":"list"}\n'
	refute_output --partial pid
	wait_for grep -qF "acp-share: $PWD/my.sock: a process of another user was refused" said
	ends
}

# bats test_tags=slow
@test "nonsense is answered with one line, or with nothing, and the chain goes on" {
	start
	begin
	run visit "$socket" ask $'what?\n'
	assert_output '{"error":"not a request: {\"want\":\"list\"}, or \"watch\", \"join\" or \"answer\""}'
	run visit "$socket" ask $'{"want":"gold"}\n'
	assert_output '{"error":"the value of want is not list, watch, join or answer"}'
	run visit "$socket" ask $'{"want":"list","want":"watch"}\n'
	assert_output --partial '"error"'
	run visit "$socket" ask "$(printf '%0100000d' 0)"
	assert_output '{"error":"a request that is too long"}'
	before=$(awk '/VmHWM/ { print $2 }' "/proc/$stream/status")
	run visit "$socket" pour < <(head -c 100M /dev/zero)
	assert_output '{"error":"a request that is too long"}'
	after=$(awk '/VmHWM/ { print $2 }' "/proc/$stream/status")
	((after - before < 4096))
	# Half a line: who says no more has had his time.
	visit "$socket" ask '{"want":' >half 9>&- &
	say '{"jsonrpc":"2.0","id":1,"method":"m"}'
	hears '"id":1,"result"'
	wait %%
	[[ ! -s half ]]
	ends
}

# bats test_tags=slow
@test "many who say nothing keep nobody out for longer than they are waited for" {
	start
	for i in {1..40}; do
		visit "$socket" ask '' 9>&- &
	done
	wait_for visit "$socket" ask $'{"want":"list"}\n'
	ends
}

# bats test_tags=slow
@test "a path that fits a socket is taken, to the last byte, however short its last name is" {
	local n=$((104 - ${#PWD} - 3)) directory
	((n > 0)) || skip 'this directory is too deep'
	! portable || skip 'the name beside it needs room where the system is not Linux'
	directory=$(printf "%0${n}d" 0)
	mkdir "$directory"
	for name in s abcd; do
		start --control "$PWD/$directory/$name"
		begin
		visit "$PWD/$directory/$name" ask $'{"want":"list"}\n'
		ends
		assert_equal "$(ls -A "$directory")" ''
	done
}

# bats test_tags=slow
@test "a stream that ends leaves the socket of another that listens in its place by now" {
	start --control my.sock
	first=$stream
	exec 7>&9
	rm my.sock
	start --control my.sock
	say "$init"
	exec 7>&-
	kill -TERM "$first"
	wait "$first" || true
	[[ -S my.sock ]]
	visit my.sock ask $'{"want":"list"}\n'
	ends
	[[ ! -e my.sock ]]
}

@test "a guest does not attach to a socket of another user" {
	setpriv --reuid=65534 --regid=65534 --clear-groups true || skip 'no other user here'
	mkdir -m 777 shared
	d=$PWD/shared
	while [[ $d != / ]]; do
		chmod o+x "$d" || skip 'the directory cannot be shared'
		d=$(dirname "$d")
	done
	cp "$B/helper/conductor" program
	setpriv --reuid=65534 --regid=65534 --clear-groups ./program -s shared/sock >asked 2>&1 &
	wait_for listens "$!"
	run -2 timeout 60 acp-tap --attach shared/sock
	assert_output --partial "shared/sock: a process of another user listens there"
	# Nor by a link that a stream of this user has left behind.
	mkdir -m 700 run/acp
	ln -s "$PWD/shared/sock" run/acp/7
	run -2 timeout 60 acp-tap --attach auto
	assert_output 'acp-tap: no stream is shared: put "acp-share --" before the agent'\''s command'
	run ! grep -q asked asked
	kill %%
}

# bats test_tags=slow
@test "a hundred may be attached; the next is refused, and the message and the manual say the number" {
	start
	begin
	for i in {1..100}; do
		visit "$socket" sleep watch 9>&- &
	done
	full() { [[ $(ask '{"want":"list"}' | jq .guests) == 100 ]]; }
	wait_for full
	assert_equal "$(timeout 60 visit "$socket" ask $'{"want":"watch"}\n')" '{"error":"100 guests are attached, and that is the limit"}'
	MANPAGER=cat mandoc -T ascii "$TOP/man/acp-share.1" | col -b | tr -s ' \n' ' ' | grep -q 'At most 100'
	ends
}

# --- the list

# bats test_tags=slow
@test "a list of what runs: process, client, agent, sessions, directory, socket, since when" {
	local hello='{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientInfo":{"name":"zed\u001b[2J","version":"1.2"}}}'
	start --name here
	run --separate-stderr acp-share --list
	assert_line --index 1 --regexp "^$stream +[-0-9]+ [0-9:]+ +- +- +here +- +$PWD +$socket\$"
	say "$hello"
	hears '"protocolVersion":1'
	say '{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/a"}}' '{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/b"}}'
	hears '"id":2'
	run --separate-stderr acp-share --list
	assert_success
	assert_line --index 0 --regexp '^PID +SINCE +CLIENT +AGENT +HOP +SESSIONS +DIRECTORY +SOCKET$'
	assert_line --index 1 --regexp "^$stream +[-0-9]+ [0-9:]+ +zed.* 1.2 +a 3 +here +/a,/b +$PWD +$socket\$"
	run ! grep -q $'\e' <<<"$output"
	run --separate-stderr acp-share --list -f json
	assert_success
	assert_equal "$(jq -c '[.pid, .socket, .name, .cwd, .agent, .sessions, .guests, .version]' <<<"$output")" \
		"[$stream,\"$socket\",\"here\",\"$PWD\",\"a 3\",[{\"id\":\"/a\",\"cwd\":\"/a\"},{\"id\":\"/b\",\"cwd\":\"/b\"}],0,\"0.1.0\"]"
	started=$(jq .started <<<"$output")
	((${started%.*} <= $(date +%s) && ${started%.*} > $(date +%s) - 600))
	say '{"jsonrpc":"2.0","id":3,"method":"session/close","params":{"sessionId":"/a"}}'
	hears '"id":3'
	assert_equal "$(ask '{"want":"list"}' | jq -c '[.sessions[].id]')" '["/b"]'
	ends
}

@test "no update opens a session that was closed, and no history one that cannot be loaded" {
	cat >agent.jq <<-'EOS'
		def update($s): {jsonrpc: "2.0", method: "session/update", params: {sessionId: $s, update: {sessionUpdate: "session_info_update", title: "t"}}};
		if .method == "session/load" then
			update(.params.sessionId), {jsonrpc: "2.0", id} + if .params.cwd == "/none" then {error: {code: -32002, message: "no"}} else {result: {}} end
		elif .method == "session/prompt" then {jsonrpc: "2.0", id, error: {code: -32002, message: "no"}}
		elif .method == "session/close" then {jsonrpc: "2.0", id, result: {}}, update(.params.sessionId), update("other")
		else {jsonrpc: "2.0", id, result: {protocolVersion: 1, sessionId: "s"}} end
	EOS
	ids() { ask '{"want":"list"}' | jq -c '[.sessions[].id]'; }
	start -- jq -c --unbuffered -f agent.jq
	say "$init" '{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/a"}}' '{"jsonrpc":"2.0","id":2,"method":"session/close","params":{"sessionId":"s"}}'
	hears '"sessionId":"other"'
	assert_equal "$(ids)" '["other"]'
	say '{"jsonrpc":"2.0","id":3,"method":"session/load","params":{"sessionId":"s","cwd":"/none"}}'
	hears '"id":3'
	assert_equal "$(ids)" '["other"]'
	say '{"jsonrpc":"2.0","id":4,"method":"session/load","params":{"sessionId":"s","cwd":"/a"}}'
	hears '"id":4'
	assert_equal "$(ids)" '["other","s"]'
	# It is open; that it cannot be loaded again changes nothing.
	say '{"jsonrpc":"2.0","id":5,"method":"session/load","params":{"sessionId":"s","cwd":"/none"}}'
	hears '"id":5'
	assert_equal "$(ids)" '["other","s"]'
	# Nor does a prompt that fails open what is closed, however long it is.
	say '{"jsonrpc":"2.0","id":6,"method":"session/close","params":{"sessionId":"s"}}'
	printf -v long '%300000s' ''
	say '{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"'"$long"'"}]}}'
	hears '"id":7'
	assert_equal "$(ids)" '["other"]'
	ends
}

@test "in the list a wide character takes two columns" {
	export LC_ALL=C.UTF-8
	start -- jq -c --unbuffered '{jsonrpc: "2.0", id: .id, result: {protocolVersion: 1, agentInfo: {name: "日本語"}}}'
	say "$init"
	hears '"protocolVersion":1,'
	run acp-share --list
	name=${lines[0]%%HOP*} value=${lines[1]%%agent*}
	assert_equal "$((${#value} + 3))" "${#name}"
	ends
}

@test "where nothing runs the list is empty, with status 1; what is left of a stream that was killed is cleared away" {
	run -1 acp-share --list
	assert_output 'acp-share: nothing is shared (start an agent with acp-share -- AGENT)'
	start
	kill -KILL "$stream"
	wait "$stream" || true
	[[ -S $socket ]]
	# The agent's process may hold the socket for a moment, until it is an agent.
	empty() { run acp-share --list; ((status == 1)); }
	wait_for empty
	assert_output 'acp-share: nothing is shared (start an agent with acp-share -- AGENT)'
	[[ ! -e $socket ]]
	exec 9>&-
}

# bats test_tags=slow
@test "the list of thousands of sessions is read whole" {
	start
	begin
	jq -nc '("x" * 150) as $x | range(10; 3610) | {jsonrpc: "2.0", id: ., method: "session/new", params: {cwd: "\(.)\($x)"}}' >&9
	hears '"id":3609,'
	run --separate-stderr acp-share --list -f json
	assert_equal "$(jq '.sessions | length' <<<"$output")" 3600
	ends
}

# bats test_tags=slow
@test "a stream that is stopped does not hold up the list" {
	start
	kill -STOP "$stream"
	run timeout 60 acp-share --list
	kill -CONT "$stream"
	assert_success
	assert_line --index 1 --regexp "^$stream +- +- +does not answer +- +- +- +$socket\$"
	ends
}

# bats test_tags=slow
@test "what responds with something else is listed as what does not respond" {
	command -v socat >/dev/null || skip 'socat is not installed'
	mkdir -m 700 run/acp
	socat UNIX-LISTEN:run/acp/7,fork EXEC:'printf "{}\\n"' &
	wait_for listens "$!"
	run --separate-stderr acp-share --list
	assert_success
	assert_line --index 1 --regexp "^7 +- +- +does not answer +- +- +- +$PWD/run/acp/7\$"
	kill %%
}

# bats test_tags=slow
@test "there is one hop: 0, or its name" {
	start --name here
	begin
	for hop in 0 '"0"' '"here"'; do
		watch one "$hop"
		assert_equal "$(sed 's/"guest":[1-3]}$/N/' one.answer)" '{"hop":0,"name":"here",N'
	done
	for hop in 1 '"agent"' '{"x":[]}'; do
		run ask "{\"want\":\"watch\",\"hop\":$hop}"
		assert_output '{"error":"there is one hop here: 0 (here)"}'
	done
	ends
}

@test "options that do not go together are refused" {
	run -2 acp-share --list --control auto
	assert_output 'acp-share: --list does not go with --control'
	run -2 acp-share --format json -- cat
	assert_output 'acp-share: --format requires --list'
	run -2 acp-share --list -- cat
	run -2 acp-share -f xml --list
	assert_line --index 0 --partial 'xml'
}

@test "a one-way pipe cannot be shared" {
	run -2 acp-share <<<"$init"
	assert_output --partial 'needs both directions'
	[[ ! -e run/acp || -z $(ls run/acp) ]]
}

# --- watching

# bats test_tags=slow
@test "who comes late gets the initialization, and how each open session was opened, its last usage, mode and title" {
	start
	begin
	say '{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"a"}}' \
		'{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"b"}}' \
		'{"jsonrpc":"2.0","id":3,"method":"session/new","params":{"cwd":"\u0063"}}' \
		'{"jsonrpc":"2.0","method":"use","params":{"session":"a","used":7}}' \
		'{"jsonrpc":"2.0","id":4,"method":"session/close","params":{"sessionId":"b"}}' \
		'{"jsonrpc":"2.0","id":5,"method":"session/close","params":{"sessionId":"c"}}' \
		'{"jsonrpc":"2.0","method":"tell","params":{"session":"a","update":{"sessionUpdate":"session_info_update","title":"T"}}}' \
		'{"jsonrpc":"2.0","method":"tell","params":{"session":"a","update":{"sessionUpdate":"current_mode_update","currentModeId":"ask"}}}'
	hears '"currentModeId":"ask"'
	say '{"jsonrpc":"2.0","id":6,"method":"session/set_mode","params":{"sessionId":"a","modeId":"code"}}'
	hears '"id":6'
	watch w
	say '{"jsonrpc":"2.0", "id":8, "method":"m","params":{"n":1.50}}'
	hears '"id":8'
	hears '"id":8,"result"' w
	assert_equal "$(head -n 1 w | jq -c '[.["acp-recording"], .by, .hops]')" '[1,"acp-share 0.1.0",["agent"]]'
	run messages w
	assert_output "$(cat <<-'EOS'
		{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}
		{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}
		{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"a"}}
		{"jsonrpc":"2.0","id":1,"result":{"sessionId":"a"}}
		{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a","update":{"sessionUpdate":"usage_update","used":7,"size":100}}}
		{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a","update":{"sessionUpdate":"session_info_update","title":"T"}}}
		{"jsonrpc":"2.0","id":6,"method":"session/set_mode","params":{"sessionId":"a","modeId":"code"}}
		{"jsonrpc":"2.0","id":6,"result":{"method":"session/set_mode","params":{"sessionId":"a","modeId":"code"}}}
		{"jsonrpc":"2.0", "id":8, "method":"m","params":{"n":1.50}}
		{"jsonrpc":"2.0","id":8,"result":{"method":"m","params":{"n":1.5}}}
	EOS
	)"
	# Its times are those of the messages, and never go back.
	run jq -s 'map(select(.t) | .t) | . == sort' w
	assert_output true
	ends
}

@test "who comes late gets the last cost of a session, too, if later usage is without one" {
	usage() { say "{\"jsonrpc\":\"2.0\",\"method\":\"tell\",\"params\":{\"session\":\"a\",\"update\":{\"sessionUpdate\":\"usage_update\",\"used\":$1}}}"; }
	# seen N: a guest that comes after the usage of N tokens gets the usage of these.
	seen() {
		hears "\"used\":$1"
		watch w
		wait_for grep -q "\"used\":$1" w
		messages w | jq -c '.params.update.used // empty' | tr '\n' ' '
	}
	start
	begin
	say '{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"a"}}'
	usage '2,"cost":{"amount":1,"currency":"USD"}'
	usage '3,"cost":{"amount":2,"currency":"USD"}'
	assert_equal "$(seen 3)" '3 '
	usage 4
	usage 5
	assert_equal "$(seen 5)" '3 5 '
	usage '6,"cost":null'
	assert_equal "$(seen 6)" '3 6 '
	usage '7,"cost":{"amount":3,"currency":"USD"}'
	assert_equal "$(seen 7)" '7 '
	# In version 2, null clears the cost, which does not come back for who comes late.
	say "${init/:1\}/:2\}}"
	usage '8,"cost":null'
	usage 9
	assert_equal "$(seen 9)" '8 9 '
	ends
}

@test "a tool call stays open for who comes late while its turn runs, whatever the responses to later prompts are" {
	local version prompt='"method":"session/prompt","params":{"sessionId":"s","prompt":[]}'
	reply() { say "{\"method\":\"say\",\"params\":{\"jsonrpc\":\"2.0\",$1}}"; }
	calls() {
		reply "\"method\":\"mark$1\""
		hears "mark$1"
		watch w
		reply "\"method\":\"end$1\""
		hears "end$1" w
		messages w | jq -s 'map(select(.params.update.toolCallId)) | length'
	}
	for version in 1 2; do
		start -- jq -c --unbuffered 'if .method == "session/prompt" then empty elif .method == "say" then .params
			else {jsonrpc: "2.0", id, result: {protocolVersion: '$version', sessionId: "s"}} end'
		say "${init/:1\}/:$version\}}" '{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/"}}' "{\"jsonrpc\":\"2.0\",\"id\":2,$prompt}"
		((version == 1)) || reply '"id":2,"result":{}'
		reply '"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"c"}}'
		say "{\"jsonrpc\":\"2.0\",\"id\":3,$prompt}"
		reply '"id":3,"error":{"code":-32600,"message":"no"}'
		assert_equal "$(calls 1)" 1
		say "{\"jsonrpc\":\"2.0\",\"id\":4,$prompt}"
		reply '"id":4,"result":{}'
		assert_equal "$(calls 2)" 1
		if ((version == 1)); then
			reply '"id":2,"result":{"stopReason":"end_turn"}'
		else
			reply '"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"state_update","state":"idle"}}'
		fi
		assert_equal "$(calls 3)" 0
		ends
	done
}

# bats test_tags=slow
@test "who is there before the chain is initialized sees it all; noise is copied as noise" {
	start
	watch w
	begin
	say 'no message' '[]' '{"jsonrpc":"2.0","id":1,"method":"m"}' '{"jsonrpc":"2.0","id":2,"method":"n"}'
	hears '"id":2'
	hears '"id":2,"result"' w
	assert_equal "$(jq -c 'select(.noise)| [.from, .noise]' w)" $'["client","no message"]\n["client","[]"]'
	assert_equal "$(jq -c 'select(.from == "client" and .msg) | .msg.method' w)" $'"initialize"\n"m"\n"n"'
	ends
}

# bats test_tags=slow
@test "what a guest gets is marked as not whole if any message has passed, or acp-share was started again" {
	selected() { watch w && head -n 1 w | jq -c .selected; }
	start
	assert_equal "$(selected)" null
	say '{"jsonrpc":"2.0","method":"any"}'
	hears '"seen"'
	assert_equal "$(selected)" true
	ends
	ACP_RESTARTED=1 start
	socket=$XDG_RUNTIME_DIR/acp/1
	assert_equal "$(selected)" true
	ends
}

@test "when the chain ends a watcher gets the rest, and an end of file" {
	start
	begin
	watch w
	say '{"jsonrpc":"2.0","id":1,"method":"stream","params":{"n":2000}}'
	exec 9>&-
	wait "$stream"
	wait "$watcher"
	assert_equal "$(messages w | tail -n +3 | grep -c .)" 2002
	assert_equal "$(messages w | tail -n 2001 | md5sum)" "$(tail -n 2001 got | md5sum)"
}

# bats test_tags=slow
@test "a guest that does not read delays neither the others nor the end; a slow one learns how much it has missed" {
	start
	begin
	visit "$socket" sleep watch 9>&- 2>/dev/null &
	stuck=$!
	watch slow
	wait_for bash -c "visit '$socket' ask '{\"want\":\"list\"}
' | grep -q guests"
	kill -STOP "$watcher"
	say '{"jsonrpc":"2.0","id":1,"method":"stream","params":{"n":40000}}'
	hears '"id":1,"result":{}'
	assert_equal "$(grep -c agent_message_chunk got)" 40000
	kill -CONT "$watcher"
	hears '"event":"lost"' slow
	say '{"jsonrpc":"2.0","id":2,"method":"m"}'
	hears '"id":2,"result"' slow
	# Every line is whole, and what is missing is what was told.
	seen=$(jq -c 'select(.msg.params.update.sessionUpdate == "agent_message_chunk")' slow | grep -c .)
	lost=$(jq -s 'map(select(.event == "lost") | .count) | add' slow)
	((lost > 0))
	answered=$(grep -c '"id":1,"result"' slow || true)
	assert_equal $((seen + lost + answered)) 40001
	exec 9>&-
	wait "$stream"
	wait "$stuck"
}

# bats test_tags=slow
@test "memory for one who does not read is bounded" {
	start
	begin
	visit "$socket" sleep watch 9>&- 2>answer &
	stuck=$!
	wait_for grep -q hop answer
	say '{"jsonrpc":"2.0","id":1,"method":"stream","params":{"n":20000}}'
	hears '"id":1,"result":{}'
	before=$(awk '/VmHWM/ { print $2 }' "/proc/$stream/status")
	say '{"jsonrpc":"2.0","id":2,"method":"stream","params":{"n":60000}}'
	hears '"id":2,"result":{}'
	after=$(awk '/VmHWM/ { print $2 }' "/proc/$stream/status")
	[[ ${B##*/} == san ]] || ((after - before < 4096))
	kill "$stuck"
	ends
}

# bats test_tags=slow
@test "a message that many have not read is in memory once" {
	start
	begin
	for i in {1..20}; do
		visit "$socket" sleep watch 9>&- 2>/dev/null &
	done
	full() { [[ $(ask '{"want":"list"}' | jq .guests) == 20 ]]; }
	wait_for full
	say '{"jsonrpc":"2.0","id":1,"method":"large","params":{"n":8000000}}'
	hears '"id":1,"result":{'
	# Each has its own copy: 160 MB.
	[[ ${B##*/} == san ]] || (($(awk '/VmHWM/ { print $2 }' "/proc/$stream/status") < 80000))
	ends
}

# bats test_tags=slow
@test "eight who do not read keep the end waiting no longer than one" {
	# 16 s, were each waited for. One run of some may be slow for other reasons.
	for _ in {1..3}; do
		start
		begin
		for i in {1..8}; do
			visit "$socket" sleep watch 9>&- 2>/dev/null &
		done
		full() { [[ $(ask '{"want":"list"}' | jq .guests) == 8 ]]; }
		wait_for full
		say '{"jsonrpc":"2.0","id":1,"method":"large","params":{"n":3000000}}'
		hears '"id":1,"result":{'
		begun=${EPOCHREALTIME/./}
		ends
		((${EPOCHREALTIME/./} - begun > 3500000)) || return 0
	done
	fail 'it took 3.5 s each time'
}

# bats test_tags=slow
@test "a guest that pauses while the stream ends gets the rest, if it reads again soon enough" {
	start
	begin
	watch w
	kill -STOP "$watcher"
	say '{"jsonrpc":"2.0","id":1,"method":"large","params":{"n":500000}}'
	hears '"id":1,"result":{'
	exec 9>&-
	sleep 0.6
	kill -CONT "$watcher"
	wait "$watcher"
	wait "$stream"
	assert_equal "$(tail -n 1 w | jq -r .event)" exit
}

# bats test_tags=slow
@test "without descriptors nobody is let in, and the chain goes on" {
	ulimit -S -n 40
	start
	begin
	for i in {1..40}; do
		visit "$socket" sleep watch 9>&- 2>"answer.$i" &
	done
	all() { [[ $(cat answer.* | grep -c '^{') -eq 40 ]]; }
	wait_for all
	# The second is musl's word.
	grep -qxE '\{"error":"(Too many open files|No file descriptors available)"\}' answer.*
	say '{"jsonrpc":"2.0","id":1,"method":"m"}'
	hears '"id":1,"result"'
	ends
}

# bats test_tags=slow
@test "one who is killed is forgotten, also when nothing goes by" {
	start
	begin
	before=$(ls "/proc/$stream/fd" | wc -l)
	watch w
	first=$watcher
	watch v
	[[ $(ls "/proc/$stream/fd" | wc -l) -gt $before ]]
	kill -KILL "$first" "$watcher"
	gone() { [[ $(ls "/proc/$stream/fd" | wc -l) -eq $before ]]; }
	wait_for gone
	say '{"jsonrpc":"2.0","id":1,"method":"m"}'
	hears '"id":1'
	ends
}

# bats test_tags=slow
@test "many come and go while a turn streams: the client's bytes are as without them" {
	start
	begin
	say '{"jsonrpc":"2.0","id":1,"method":"stream","params":{"n":100000}}'
	visit "$socket" often 1000 2>/dev/null 9>&-
	hears '"id":1,"result":{}'
	jq -c -f agent.jq <<<'{"jsonrpc":"2.0","id":1,"method":"stream","params":{"n":100000}}' >want
	cmp want <(sed 1d got)
	before=$(ls "/proc/$stream/fd" | wc -l)
	few() { (($(ls "/proc/$stream/fd" | wc -l) <= before)); }
	wait_for few
	ends
}
