#!/usr/bin/env bats
# acp-conduct: how a component's command is read and found, how it is named, and what is reported of it.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load conduct
	lib_setup
	conduct_setup
}

teardown() {
	end_left_over
}

# --- commands

# child_of_conduct COMMAND: a component that prints its parent's number; that is acp-conduct's, whose child the agent is, too.
child_of_conduct() {
	run acp-conduct --on-crash fail -d "$1" -- sh -c 'read -r parent; test "$parent" = "$PPID" && echo direct' </dev/null
	assert_output --partial direct
}

@test "quoted words need no shell: they are split here, and the command is executed directly" {
	child_of_conduct "awk '{ print \$4 }' \"/proc/self/stat\""
	printf '#!/bin/sh\nprintf "<%%s>\\n" "$@"\n' >arguments
	chmod +x arguments
	run acp-conduct --on-crash fail -d "./arguments 'a  b' \"c 'd' \" e\\ f '' g'h'\"i\" \"\\\"\\\\\" '\\'" -- cat </dev/null
	assert_output "$(printf '<%s>\n' 'a  b' "c 'd' " 'e f' '' ghi '"\' '\')"
}

@test "a simple command that needs a shell takes its place: none waits and holds 6 and 7 open" {
	export NUMBER=1
	# shellcheck disable=SC2016
	for command in 'awk "{ print \$4 }" /proc/self/sta[t]' 'A=$NUMBER awk "{ print \$4 }" /proc/self/stat' \
		'awk "{ print \$4 }" <"/proc/self/${X-stat}"' 'exec awk "{ print \$4 }" /proc/self/sta?'; do
		child_of_conduct "$command"
	done
	# What is more than one command stays one shell's.
	# shellcheck disable=SC2016
	run acp-conduct --on-crash fail -d 'A=1; echo $A | cat' -- cat </dev/null
	assert_line 1
}

@test "a filter with quoted arguments ends with its input, and nobody is stopped" {
	start --grace 3s -f "acp-inject -e '.'" -- sh -c 'cat; exit 3'
	say '{"method":"m"}'
	gets '"m"'
	ends 3
	run ! said stopped
}

@test "a component named acp-... is found beside acp-conduct, however short PATH is" {
	for option in -f -p; do
		PATH=/usr/bin:/bin "$B/bin/acp-conduct" --no-mcp $option 'acp-tap -o t.rec' -- sh -c "exec $(command -v jq) -c --unbuffered -f agent.jq" <<<"$init" >got
		got '"id":0'
	done
	# Before others of that name.
	mkdir bin
	printf '#!/bin/sh\necho another >&2\nexec cat\n' >bin/acp-tap
	chmod +x bin/acp-tap
	PATH=$PWD/bin:/usr/bin:/bin run "$B/bin/acp-conduct" -f 'acp-tap -o t.rec' -- cat </dev/null
	refute_output --partial another
}

# --- names

@test "a script is named by its own name, not by its interpreter's" {
	printf 'import sys, shutil\nsys.stderr.write("here\\n")\nsys.stderr.flush()\nshutil.copyfileobj(sys.stdin.buffer.raw, sys.stdout.buffer)\n' >one.py
	cp one.py two.py
	printf 'echo here >&2\nexec cat\n' >three.sh
	run acp-conduct --grace 1m -d 'python3 one.py' -d 'python3 -u ./two.py x' -d 'bash three.sh' -d 'A=1 sh ./three.sh' \
		-d '/usr/bin/env python3 one.py' -- cat </dev/null
	for name in one.py two.py three.sh three.sh.2 one.py.2; do
		assert_line "$name: here"
	done
}

@test "the agent's mistakes are the agent's, although acp-mcp was added before it" {
	cat >odd.jq <<-'EOS'
		if .method == "initialize" then {jsonrpc: "2.0", id: .id, result: {}}, {jsonrpc: "2.0", id: 4711, result: "unasked"}
		else {jsonrpc: "2.0", id: .id, result: {}} end
	EOS
	start -p acp-tap -- jq -c --unbuffered -f odd.jq
	begin
	say '{"jsonrpc":"2.0","id":1,"method":"m"}'
	responds 1 '{}'
	ends 0
	grep 4711 said
	run ! grep -E '^acp-conduct: acp-mcp: .*4711' said
}

@test "-v: a line for each component as it starts, in the order of the chain, with its command" {
	start --no-mcp -f 'acp-tap -o a.rec' -p "acp-tap -o 'b c.rec'" -u 'cat | cat' -- ./agent --acp
	begin
	ends 0
	run sed -n 's/: pid [0-9]*,/:/p' said
	assert_line --index 0 'acp-conduct: acp-tap: filter: acp-tap -o a.rec'
	assert_line --index 1 "acp-conduct: acp-tap.2: proxy: acp-tap -o 'b c.rec'"
	assert_line --index 2 'acp-conduct: cat: up filter: cat | cat'
	assert_line --index 3 'acp-conduct: agent: agent: ./agent --acp'
}

@test "-v: a proxy that was started again has a line with its new process" {
	start --no-mcp -p 'acp-tap -o a.rec' -- ./agent
	begin
	first=$(pid_of acp-tap)
	kill -KILL "$first"
	says '^acp-conduct: acp-tap: died'
	another() { [[ $(pid_of acp-tap) != "$first" ]]; }
	wait_for another
	kill -0 "$(pid_of acp-tap)"
	ends 0
}

# bats test_tags=slow
@test "when --restarts is used up, the last line says so, with what it allowed" {
	for kind in -d -p; do
		start --no-mcp --restarts 1/1m $kind 'acp-tap -o a.rec' -- ./agent
		begin
		kill -KILL "$(pid_of acp-tap)"
		second() { (($(grep -c '^acp-conduct: acp-tap: pid ' said) == 2)); }
		wait_for second
		kill -KILL "$(pid_of acp-tap)"
		says '^acp-conduct: acp-tap: died \(signal KILL\).*--restarts 1/1m.*ending the chain'
		ends 137
	done
}

@test "an agent that fails without a word is reported, with its status" {
	printf '#!/bin/sh\nexit 3\n' >dead
	chmod +x dead
	for chain in '' '--record r.rec' '-f acp-tap'; do
		# shellcheck disable=SC2086
		run -3 acp-conduct $chain -- ./dead <<<"$init"
		assert_line 'acp-conduct: agent: ended with exit status 3'
	done
	# One that says why has said it.
	run -3 acp-conduct -- sh -c 'echo because >&2; exit 3' </dev/null
	assert_output 'agent: because'
}

@test "--record and --trace do not write one file" {
	touch x
	ln -s x y
	for trace in x ./x y "$PWD/x"; do
		run -2 acp-conduct --record x --trace "$trace" -- cat
		assert_output --partial 'already being written'
	done
	run -2 acp-conduct --record new --trace new -- cat
	assert_output --partial 'already being written'
}

@test "-v says how long a proxy took for a message, each way" {
	local way
	for way in client agent; do
		start --no-mcp -p "acp-fault --from $way --kind notification --delay 50ms" -- ./agent
		begin
		say '{"jsonrpc":"2.0","method":"tell","params":{"sessionId":"s"}}'
		gets session/update
		ends 0
		# The steps of the count are a ninth of the time apart.
		awk '/added/ { split($0, a, "median. and "); found = a[2] + 0 >= 44000 } END { exit !found }' said || fail "$way: $(cat said)"
	done
}
