#!/usr/bin/env bats
# acp-conduct --control and --list: a running chain is found, is asked what it is, and is watched.

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
	assert_equal "$(find run/acp -type s)" "run/acp/$conduct"
	ends
}

@test "without XDG_RUNTIME_DIR the directory is in /tmp, with the user's number" {
	unset XDG_RUNTIME_DIR
	[[ ! -e /tmp/acp-$(id -u) || $(stat -c %a%u "/tmp/acp-$(id -u)") == 700$(id -u) ]] || skip 'it is somebody else'"'"'s here'
	acp-conduct --control auto -- sh -c 'stat -c "%U %F" /tmp/acp-$(id -u)/$PPID >seen' <<<"$init" || true
	assert_equal "$(cat seen)" "$(id -un) socket"
}

@test "a directory that others can write to is not used" {
	mkdir -m 777 run/acp
	run -2 acp-conduct --control auto -- cat
	assert_output "acp-conduct: --control auto: $PWD/run/acp: open to others (its mode has to be 0700)"
	rmdir run/acp
	ln -s /tmp run/acp
	run -2 acp-conduct --control auto -- cat
	assert_output "acp-conduct: --control auto: $PWD/run/acp: not a directory"
	run -2 acp-conduct --list
	assert_output "acp-conduct: $PWD/run/acp: not a directory"
}

@test "a socket elsewhere leaves a link where chains are looked for, and both go" {
	start --control my.sock
	assert_equal "$(readlink run/acp/*)" "$PWD/my.sock"
	run --separate-stderr acp-conduct --list
	assert_line --index 1 --regexp "^$conduct .*  $PWD/run/acp/$conduct\$"
	ends
	[[ ! -e my.sock ]]
}

@test "where a chain listens no other one may; what nobody listens at any more is taken over" {
	start --control my.sock
	run -2 acp-conduct --control my.sock -- sh -c 'echo started >&2'
	assert_output 'acp-conduct: --control my.sock: another one listens there'
	kill -KILL "$conduct"
	wait "$conduct" || true
	[[ -S my.sock ]]
	start --control my.sock
	run acp-conduct --list
	assert_equal "${#lines[@]}" 2
	ends
	echo precious >my.sock
	run -2 acp-conduct --control my.sock -- cat
	assert_output 'acp-conduct: --control my.sock: it is there already, and is no socket'
	assert_equal "$(cat my.sock)" precious
}

@test "a path that no socket can have is refused before anything starts" {
	run -2 acp-conduct --control "$(printf '%0200d' 0)" -- sh -c 'echo started >&2'
	assert_output --partial 'the path is too long for a socket'
	run -2 acp-conduct --control no/such/folder -- sh -c 'echo started >&2'
	assert_output 'acp-conduct: --control no/such/folder: No such file or directory'
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
	wait_for grep -qF "acp-conduct: $PWD/my.sock: another user was refused" said
	ends
}

@test "nonsense is answered with one line, or with nothing, and the chain goes on" {
	start
	begin
	run visit "$socket" ask $'what?\n'
	assert_output '{"error":"not a request: {\"want\":\"list\"}, or \"watch\" or \"join\" with a \"hop\""}'
	run visit "$socket" ask $'{"want":"gold"}\n'
	assert_output '{"error":"what is wanted is not one of list, watch, join"}'
	run visit "$socket" ask $'{"want":"list","want":"watch"}\n'
	assert_output --partial '"error"'
	run visit "$socket" ask "$(printf '%0100000d' 0)"
	assert_output '{"error":"a request that is too long"}'
	before=$(awk '/VmHWM/ { print $2 }' "/proc/$conduct/status")
	run visit "$socket" pour < <(head -c 100M /dev/zero)
	assert_output '{"error":"a request that is too long"}'
	after=$(awk '/VmHWM/ { print $2 }' "/proc/$conduct/status")
	((after - before < 4096))
	# Half a line: who says no more has had his time.
	visit "$socket" ask '{"want":' >half 9>&- &
	say '{"jsonrpc":"2.0","id":1,"method":"m"}'
	hears '"id":1,"result"'
	wait %%
	[[ ! -s half ]]
	ends
}

@test "many who say nothing keep nobody out for longer than they are waited for" {
	start
	for i in {1..40}; do
		visit "$socket" ask '' 9>&- &
	done
	wait_for visit "$socket" ask $'{"want":"list"}\n'
	ends
}

# --- the list

@test "a list of what runs: process, sessions, messages, hops, components" {
	start -d cat -f 'acp-tap -o t.rec'
	begin
	say '{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"a"}}'
	hears usage_update
	run --separate-stderr acp-conduct --list
	assert_success
	assert_line --index 0 "$(printf '%-*s  SESSIONS  DOWN  UP  HOPS   COMPONENTS             SOCKET' ${#conduct} PID)"
	assert_line --index 1 "$(printf '%*s  1         2     3   0:cat  cat → acp-tap → agent  %s' 3 "$conduct" "$socket")"
	run ask '{"want":"list"}'
	assert_equal "$(jq -c '[.version, (.components | map([.name, .kind])), .hops, .sessions, .messages]' <<<"$output")" \
		'["0.1.0",[["cat","down filter"],["acp-tap","filter"],["agent","agent"]],[{"hop":0,"name":"cat"}],1,{"down":2,"up":3}]'
	assert_equal "$(jq .components[0].pid <<<"$output")" "$(sed -n 's/^acp-conduct: cat: pid \([0-9]*\),.*/\1/p' said)"
	say '{"jsonrpc":"2.0","id":2,"method":"session/close","params":{"sessionId":"a"}}'
	hears '"id":2'
	assert_equal "$(ask '{"want":"list"}' | jq .sessions)" 0
	ends
}

@test "where nothing runs the list is empty, with status 1; what is left of a chain that was killed is cleared away" {
	run -1 acp-conduct --list
	assert_output 'acp-conduct: no chains run'
	start
	kill -KILL "$conduct"
	wait "$conduct" || true
	[[ -S $socket ]]
	run -1 acp-conduct --list
	assert_output 'acp-conduct: no chains run'
	[[ ! -e $socket ]]
	exec 9>&-
}

@test "a chain that is stopped does not hold up the list" {
	start
	kill -STOP "$conduct"
	run timeout 60 acp-conduct --list
	kill -CONT "$conduct"
	assert_success
	assert_line --index 1 --regexp "^$conduct +- +- +- +- +does not answer +$socket\$"
	ends
}

@test "what answers something else is listed as what does not answer" {
	command -v socat >/dev/null || skip 'socat is not installed'
	mkdir -m 700 run/acp
	socat UNIX-LISTEN:run/acp/7,fork EXEC:'printf "{}\\n"' &
	wait_for test -S run/acp/7
	run --separate-stderr acp-conduct --list
	assert_success
	assert_line --index 1 --regexp "^7 +- +- +- +- +does not answer +$PWD/run/acp/7\$"
	kill %%
}

# --- hops

@test "only the hops that are named are read: elsewhere no byte goes through conduct" {
	start --control-hop agent -d cat -d cat -d cat
	say "$init"
	hears '"protocolVersion":1}'
	run ask '{"want":"list"}'
	assert_equal "$(jq -c .hops <<<"$output")" '[{"hop":3,"name":"agent"}]'
	before=$(awk '/char/ { n += $2 } END { print n }' "/proc/$conduct/io")
	say "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":\"$(printf '%01000d' 0)\"}"
	hears '"id":1,"result"'
	after=$(awk '/char/ { n += $2 } END { print n }' "/proc/$conduct/io")
	# Once in and once out at this hop, in both lanes.
	((after - before > 4 * 1000 && after - before < 5 * 1000))
	ends
}

@test "a hop is named by its number or its name; one that is not relayed is an error that tells which are" {
	start --control-hop acp-tap --control-hop 2 -d cat -f 'acp-tap -o t.rec' -u cat
	begin
	watch one 2
	assert_equal "$(cat one.answer)" '{"hop":2,"name":"cat.2"}'
	watch two '"acp-tap"'
	assert_equal "$(cat two.answer)" '{"hop":1,"name":"acp-tap"}'
	watch three '"2"'
	watch four
	assert_equal "$(cat three.answer four.answer)" $'{"hop":2,"name":"cat.2"}\n{"hop":1,"name":"acp-tap"}'
	run ask '{"want":"watch","hop":"agent"}'
	assert_output "{\"error\":\"hop \`agent' is not relayed; these are: 1 (acp-tap), 2 (cat.2)\"}"
	run ask '{"want":"watch","hop":7}'
	assert_output "{\"error\":\"hop \`7' is not relayed; these are: 1 (acp-tap), 2 (cat.2)\"}"
	run ask '{"want":"join","hop":{"x":[]}}'
	assert_output --partial 'is not relayed'
	say '{"jsonrpc":"2.0","id":1,"method":"m"}'
	hears '"id":1'
	hears '"at":2,"from":"agent","msg":{"jsonrpc":"2.0","id":1,"result"' one
	hears '"at":1,"from":"agent","msg":{"jsonrpc":"2.0","id":1,"result"' two
	ends
}

@test "a hop that there is not is refused before anything starts; as is one without a socket" {
	for hop in x 2 -1 ''; do
		run -2 acp-conduct --control auto --control-hop "$hop" -d cat -- sh -c 'echo started >&2'
		assert_output "acp-conduct: --control-hop $hop: there is no such hop"
	done
	run -2 acp-conduct --control-hop 0 -- cat
	assert_output 'acp-conduct: --control-hop is for --control SOCKET'
}

@test "the hops beside a proxy are read anyway, and can be watched" {
	start --no-mcp -d cat -p 'acp-tap -o t.rec'
	begin
	assert_equal "$(ask '{"want":"list"}' | jq -c .hops)" \
		'[{"hop":0,"name":"cat"},{"hop":1,"name":"acp-tap"},{"hop":2,"name":"agent"}]'
	watch one '"agent"'
	watch two
	say '{"jsonrpc":"2.0","id":"a","method":"m"}'
	hears '"id":"a"'
	hears '"at":2,"from":"client","msg":{"jsonrpc":"2.0","id":2,"method":"m"}}' one
	hears '"at":0,"from":"client","msg":{"jsonrpc":"2.0","id":"a","method":"m"}}' two
	ends
}

# --- watching

@test "who comes late is told the initialization and the last of each open session's usage, then what goes by" {
	start
	begin
	say '{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"a"}}' \
		'{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"b"}}' \
		'{"jsonrpc":"2.0","id":3,"method":"session/new","params":{"cwd":"\u0063"}}' \
		'{"jsonrpc":"2.0","method":"use","params":{"session":"a","used":7}}' \
		'{"jsonrpc":"2.0","id":4,"method":"session/close","params":{"sessionId":"b"}}' \
		'{"jsonrpc":"2.0","id":5,"method":"session/close","params":{"sessionId":"c"}}' \
		'{"jsonrpc":"2.0","id":6,"method":"m"}'
	hears '"id":6'
	watch w
	say '{"jsonrpc":"2.0", "id":8, "method":"m","params":{"n":1.50}}'
	hears '"id":8'
	hears '"id":8,"result"' w
	assert_equal "$(head -n 1 w | jq -c '[.["acp-recording"], .by, .hops]')" '[1,"acp-conduct 0.1.0",["agent"]]'
	run messages w
	assert_output "$(cat <<-'EOS'
		{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}
		{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}
		{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a","update":{"sessionUpdate":"usage_update","used":7,"size":100}}}
		{"jsonrpc":"2.0", "id":8, "method":"m","params":{"n":1.50}}
		{"jsonrpc":"2.0","id":8,"result":{"method":"m","params":{"n":1.5}}}
	EOS
	)"
	# Its times are those of the messages, and never go back.
	run jq -s 'map(select(.t) | .t) | . == sort' w
	assert_output true
	ends
}

@test "who is there before the chain is initialized sees it all; noise is copied as noise" {
	start
	watch w
	begin
	say 'no message' '[{"jsonrpc":"2.0","id":1,"method":"m"},{"jsonrpc":"2.0","id":2,"method":"n"}]'
	hears '"id":2'
	hears '"id":2,"result"' w
	assert_equal "$(jq -c 'select(.noise)| [.from, .noise]' w)" '["client","no message"]'
	assert_equal "$(jq -c 'select(.from == "client" and .msg) | .msg.method' w)" $'"initialize"\n"m"\n"n"'
	ends
}

@test "when the chain ends a watcher gets the rest, and an end of file" {
	start
	begin
	watch w
	say '{"jsonrpc":"2.0","id":1,"method":"stream","params":{"n":2000}}'
	exec 9>&-
	wait "$conduct"
	wait "$watcher"
	assert_equal "$(messages w | tail -n +3 | grep -c .)" 2002
	assert_equal "$(messages w | tail -n 2001 | md5sum)" "$(tail -n 2001 got | md5sum)"
}

@test "one who does not read holds up nobody, and nobody's end; one who is slow is told how much he has missed" {
	start
	begin
	visit "$socket" sleep watch 9>&- 2>/dev/null &
	stuck=$!
	watch slow
	wait_for bash -c "visit '$socket' ask '{\"want\":\"list\"}
' | grep -q hops"
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
	wait "$conduct"
	wait "$stuck"
}

@test "memory for one who does not read is bounded" {
	start
	begin
	visit "$socket" sleep watch 9>&- 2>answer &
	stuck=$!
	wait_for grep -q hop answer
	say '{"jsonrpc":"2.0","id":1,"method":"stream","params":{"n":20000}}'
	hears '"id":1,"result":{}'
	before=$(awk '/VmHWM/ { print $2 }' "/proc/$conduct/status")
	say '{"jsonrpc":"2.0","id":2,"method":"stream","params":{"n":60000}}'
	hears '"id":2,"result":{}'
	after=$(awk '/VmHWM/ { print $2 }' "/proc/$conduct/status")
	[[ ${B##*/} == san ]] || ((after - before < 4096))
	kill "$stuck"
	ends
}

@test "without descriptors nobody is let in, and the chain goes on" {
	ulimit -S -n 40
	start
	begin
	for i in {1..40}; do
		visit "$socket" sleep watch 9>&- 2>"answer.$i" &
	done
	all() { [[ $(cat answer.* | grep -c '^{') -eq 40 ]]; }
	wait_for all
	grep -qxF '{"error":"Too many open files"}' answer.*
	say '{"jsonrpc":"2.0","id":1,"method":"m"}'
	hears '"id":1,"result"'
	ends
}

@test "one who is killed is forgotten, also when nothing goes by" {
	start
	begin
	before=$(ls "/proc/$conduct/fd" | wc -l)
	watch w
	first=$watcher
	watch v
	[[ $(ls "/proc/$conduct/fd" | wc -l) -gt $before ]]
	kill -KILL "$first" "$watcher"
	gone() { [[ $(ls "/proc/$conduct/fd" | wc -l) -eq $before ]]; }
	wait_for gone
	say '{"jsonrpc":"2.0","id":1,"method":"m"}'
	hears '"id":1'
	ends
}

@test "many come and go while a turn streams: the client's bytes are as without them" {
	start
	begin
	say '{"jsonrpc":"2.0","id":1,"method":"stream","params":{"n":100000}}'
	visit "$socket" often 1000 2>/dev/null 9>&-
	hears '"id":1,"result":{}'
	jq -c -f agent.jq <<<'{"jsonrpc":"2.0","id":1,"method":"stream","params":{"n":100000}}' >want
	cmp want <(sed 1d got)
	before=$(ls "/proc/$conduct/fd" | wc -l)
	few() { (($(ls "/proc/$conduct/fd" | wc -l) <= before)); }
	wait_for few
	ends
}

@test "in proxy mode, too: the chain's own two hops can be watched" {
	mkfifo client
	exec 9<>client
	acp-conduct --control my.sock -p 'acp-tap -o t.rec' <client >got 2>said 9>&- &
	conduct=$! socket=my.sock
	wait_for test -e my.sock
	say '{"jsonrpc":"2.0","id":0,"method":"_proxy/initialize","params":{"protocolVersion":1}}'
	hears _proxy/successor
	say '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
	hears '"id":0,"result"'
	assert_equal "$(ask '{"want":"list"}' | jq -c .hops)" '[{"hop":0,"name":"acp-tap"},{"hop":1,"name":"successor"}]'
	watch one
	watch two 1
	say '{"jsonrpc":"2.0","id":"a","method":"m","params":{}}'
	hears '"at":0,"from":"client","msg":{"jsonrpc":"2.0","id":"a","method":"m","params":{}}}' one
	hears '"at":1,"from":"client","msg":{"jsonrpc":"2.0","id":' two
	run messages two
	assert_line --index 0 --partial '"method":"initialize"'
	exec 9>&-
	wait "$conduct"
}

@test "a proxy that dies and is started again, or is taken out, leaves its hops' watchers where they are" {
	start --no-mcp --restarts 1/1m --on-crash bypass -p 'acp-tap -o t.rec' -p 'acp-tap -o u.rec'
	begin
	watch w
	watch v '"acp-tap.2"'
	for i in 1 2; do
		kill -KILL "$(ask '{"want":"list"}' | jq .components[0].pid)"
		wait_for grep -q "acp-tap: died (signal KILL); $( ((i == 1)) && echo started || echo taken)" said
		say '{"jsonrpc":"2.0","id":'$i',"method":"m"}'
		hears "\"id\":$i,\"result\""
		hears "\"id\":$i,\"result\"" w
		((i == 2)) || hears '"method":"m"' v
	done
	assert_equal "$(ask '{"want":"list"}' | jq -c .hops)" '[{"hop":0,"name":"acp-tap"},{"hop":2,"name":"agent"}]'
	run ask '{"want":"watch","hop":"acp-tap.2"}'
	assert_output --partial 'is not relayed; these are: 0 (acp-tap), 2 (agent)'
	ends
}
