#!/usr/bin/env bats
# acp-tap: what is written: formats, selection, files and what may happen to them.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
	cat >four <<-'END'
		{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"n":1}}
		{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a","update":{"sessionUpdate":"plan"}}}
		{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"b","update":{"sessionUpdate":"tool_call"}}}
		{"jsonrpc":"2.0","id":1,"result":{}}
	END
}

teardown() {
	end_left_over
}

# --- formats

@test "a recording says when it began, by whom it was made, and of what command" {
	before=$(date +%s)
	acp-tap -o s.rec -- cat </dev/null
	run jq -r 'select(.["acp-recording"]) | [.["acp-recording"], .by, .command[0], (.started | sub("\\.[0-9]{6}Z$"; "Z") | fromdate >= '"$before"')] | join("|")' s.rec
	assert_output "1|$(acp-tap -V)|cat|true"
}

@test "raw: the bare lines, of what is shown and of what passes" {
	acp-tap -f raw -o bare <four >out
	cmp four bare
	acp-tap -o s.rec <four >out
	acp-tap -f raw s.rec | cmp - four
}

@test "raw: noise is a line as well, ends and standard error are not" {
	acp-tap -o s.rec -- sh -c 'echo banner; echo words >&2' </dev/null >out 2>&1
	run acp-tap -f raw s.rec
	assert_output banner
}

@test "trace: the fixtures as the conductor's trace viewer reads them" {
	acp-tap -f trace "$FIXTURES/write-with-permission.jsonl" | same_as tap/write-with-permission.trace
}

@test "trace: an MCP message comes out of its envelope, absent params are null" {
	cat >in <<-'END'
		{"jsonrpc":"2.0","id":4,"method":"mcp/message","params":{"connectionId":"c","method":"tools/list","params":{"x":1}}}
		{"jsonrpc":"2.0","id":4,"result":{"tools":[]}}
		{"jsonrpc":"2.0","method":"session/cancel"}
		{"jsonrpc":"2.0","id":9,"error":{"code":-32603,"message":"no"}}
	END
	run acp-tap -f trace in
	assert_line --index 0 '{"type":"request","ts":0.000000,"protocol":"mcp","from":"Client","to":"Agent","id":4,"method":"tools/list","params":{"x":1}}'
	assert_line --index 1 --partial '"id":4,"is_error":false,"payload":{"tools":[]}}'
	assert_line --index 2 --partial '"protocol":"acp","from":"Client","to":"Agent","method":"session/cancel","params":null}'
	assert_line --index 3 --partial '"is_error":true,"payload":{"code":-32603,"message":"no"}}'
}

@test "a trace is read again" {
	acp-tap -f trace "$FIXTURES/bash-tool.jsonl" >s.jsons
	acp-tap -f raw s.jsons | jq -cS . >a
	acp-tap -f raw "$FIXTURES/bash-tool.jsonl" | jq -cS . >b
	cmp a b
}

@test "a recording of a recording is the same, and its parts are recordings" {
	acp-tap -o s.rec -- sh -c 'cat; echo words >&2; printf "\377\n"' <four >out 2>&1
	acp-tap -f record s.rec | cmp - s.rec
	acp-tap -f record -m 'session/*' s.rec >part.rec
	run jq -c 'keys' part.rec
	assert_line --index 0 '["acp-recording","by","command","selected","started"]'
	run -0 acp-tap -f raw --from client part.rec
	assert_equal "${#lines[@]}" 2
}

@test "without -o and with -f it goes to standard error" {
	acp-tap -f raw <four >out 2>err
	cmp four out
	cmp four err
}

# --- the home of recordings

# recorded AGENT [NAME=VALUE]: records a session of a program of this name in an empty home; $recording is the file.
recorded() {
	mkdir -p bin
	printf '#!/bin/sh\nexec cat\n' >"bin/$1"
	chmod +x "bin/$1"
	env "${@:2}" acp-tap -o auto -- "bin/$1" <four >out
}

@test "-o auto: a recording below XDG_STATE_HOME, or ~/.local/state, in directories that only their owner may read" {
	export HOME=$PWD/home
	unset XDG_STATE_HOME
	mkdir -m 755 home
	recorded one
	recorded one XDG_STATE_HOME="$PWD/state"
	recorded one XDG_STATE_HOME=relative
	cmp four out
	run find home state -mindepth 1 -type d -printf '%m %p\n'
	assert_output - <<-'END'
		700 home/.local
		700 home/.local/state
		700 home/.local/state/acp
		700 home/.local/state/acp/one
		700 state/acp
		700 state/acp/one
	END
	run find home state -type f -printf '%m %p\n'
	assert_equal "${#lines[@]}" 3
	assert_regex "${lines[2]}" '^600 state/acp/one/[0-9]{8}-[0-9]{6}-[0-9]+\.rec$'
	assert [ ! -e relative ]
}

@test "-o auto: the agent's name is that of its program, after our tools, and leads nowhere else" {
	export XDG_STATE_HOME=$PWD/100%p/state
	acp-tap -o auto -- acp-usage -o /dev/null -- cat <four >out
	acp-tap -o auto <four >out
	recorded '.%d: a$b'
	run find "$XDG_STATE_HOME/acp" -mindepth 1 -type d -printf '%f\n'
	assert_equal "$(sort <<<"$output")" "$(printf '%s\n' __d__a_b agent cat | sort)"
	for agent in cat agent '__d__a_b'; do
		run -0 acp-tap -f raw --from client "last:$agent"
		assert_line --index 0 "$(head -n 1 four)"
	done
	run -0 acp-tap -f raw 'last:.%d: a$b'
}

@test "last is the recording that began last, of all agents or of one, and a file of this name is itself" {
	export XDG_STATE_HOME=$PWD/state
	mkdir -p state/acp/{one,two}
	for name in one/20261123-120000-9 one/20261123-120000-10 one/20251231-235959-99 two/20261122-235959-7; do
		printf '{"jsonrpc":"2.0","method":"%s"}\n' "$name" >"state/acp/$name.rec"
	done
	touch state/acp/two/20261231-000000-1.txt state/acp/history
	run -0 acp-tap -f raw last last:two
	assert_output --regexp $'one/20261123-120000-10"}\n.*two/20261122-235959-7"}$'
	cp four last
	run -0 acp-tap -f raw last
	assert_output "$(<four)"
	run -0 acp-tap -f raw ./last
	assert_output "$(<four)"
}

@test "last: every tool that reads recordings knows it" {
	export XDG_STATE_HOME=$PWD/state
	mkdir -p state/acp/one
	cp "$FIXTURES/demo.rec" state/acp/one/20261123-120000-9.rec
	for tool in tap stat usage check export; do
		run -0 --separate-stderr "acp-$tool" last
		assert [ -n "$output" ] || assert_equal $tool check
	done
	run -0 acp-diff last last:one
	acp-replay --as client --check last -- acp-replay last
}

@test "last: without a recording there is an error that says how to make one" {
	export XDG_STATE_HOME=$PWD/state
	run -2 acp-stat last
	assert_output 'acp-stat: last: there is no recording; acp-tap -o auto makes one'
	run -2 acp-tap last:one
	assert_output 'acp-tap: last:one: there is no recording of one; acp-tap -o auto makes one'
}

@test "-o auto is for the recording of a stream" {
	export XDG_STATE_HOME=$PWD/state
	run -2 acp-tap -o auto four
	assert_output 'acp-tap: --output auto is for the recording of a stream'
	run -2 acp-tap -o auto -f raw
	assert [ ! -e state ]
}

@test "-o with a date makes the last directory of the name, and no other" {
	mkdir home
	acp-tap -o 'home/%%/s.rec' -- cat <four >out
	assert_equal "$(stat -c %a home/%)" 700
	acp-tap -f raw --from client home/%/s.rec | cmp - four
	run -125 acp-tap -o 'home/new/%%/s.rec' -- cat
	assert [ ! -e home/new ]
	run -125 acp-tap -o none/s.rec -- cat
	assert [ ! -e none ]
}

@test "--list: date, agent, turns, time, tokens, cost, open requests, size and title of each recording" {
	hanging >hang.rec
	TZ=UTC COLUMNS=100 run -0 acp-tap --list "$FIXTURES/demo.rec" hang.rec
	assert_output - <<-'END'
		date             agent            turns    time tokens       cost open  size title
		2026-11-20 15:56 claude-agent-acp     1  941 ms  21.8K 0.0398 USD    0   12K please WRITE the note
		2026-11-20 12:00 -                    1   3.0 s      -          -    1   375 Go on
	END
	TZ=UTC COLUMNS=80 run -0 acp-tap --list "$FIXTURES/demo.rec"
	assert_line --index 1 '11-20 15:56 claude-agen…     1  941 ms  21.8K 0.0398 USD    0   12K please WRIT…'
}

# hanging: a recording whose prompt has no response; a header of its next part says nothing new.
hanging() {
	cat <<-'END'
		{"acp-recording":1,"started":"2026-11-20T12:00:00.000000Z"}
		{"t":1,"from":"client","msg":{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"one","prompt":[{"type":"text","text":"Go on"}]}}}
		{"acp-recording":1,"started":"2026-11-20T12:00:02.000000Z"}
		{"t":0.5,"from":"agent","msg":{"jsonrpc":"2.0","method":"_none"}}
		{"t":1,"event":"eof","from":"agent"}
	END
}

@test "--list: tsv and json, in which what is not known is empty or null" {
	hanging >hang.rec
	cp "$FIXTURES/demo.rec" demo.rec
	run -0 acp-tap --list -f tsv demo.rec hang.rec
	assert_output "$(printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' date agent title turns duration_s tokens cost open size file \
		2026-11-20T15:56:02.123456Z @agentclientprotocol/claude-agent-acp 'please WRITE the note' 1 0.941207 21801 '0.0398 USD' 0 "$(stat -c %s demo.rec)" demo.rec \
		2026-11-20T12:00:00.000000Z '' 'Go on' 1 3.000000 '' '' 1 375 hang.rec)"
	acp-tap --list -f json demo.rec hang.rec >list
	run -0 jq -r '[.title, .tokens, .cost, .open, .file] | @csv' list
	assert_output $'"please WRITE the note",21801,"0.0398 USD",0,"demo.rec"\n"Go on",,,1,"hang.rec"'
}

@test "--list: a title that the agent gives comes before the prompt; messages alone are read, too" {
	printf '%s\n' '{"id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"Hello\u001b[2J"}]}}' >in
	run -0 acp-tap --list -f json in
	assert_equal "$(jq -c '[.date, .title, .turns, .duration_s, .open]' <<<"$output")" '[null,"Hello\u001b[2J",1,null,1]'
	run -0 acp-tap --list in
	assert_line --index 1 --partial 'Hello^['
	printf '%s\n' '{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"session_info_update","title":"Greeting"}}}' >>in
	run -0 acp-tap --list -f json in
	assert_equal "$(jq -r .title <<<"$output")" Greeting
}

@test "--list: the agent of version 2" {
	printf '%s\n' '{"id":0,"method":"initialize","params":{"protocolVersion":2,"info":{"name":"client"}}}' \
		'{"id":0,"result":{"protocolVersion":2,"info":{"name":"my-agent","version":"1"},"capabilities":{}}}' >in
	run -0 acp-tap --list -f json in
	assert_equal "$(jq -r .agent <<<"$output")" my-agent
}

@test "--list: the last turn of a recording that was rotated keeps its tokens" {
	part() {
		printf '%s\n' '{"acp-recording":1,"started":"2026-11-20T12:00:00.000000Z"'"$2"'}' \
			'{"t":'$1',"from":"client","msg":{"id":'$1',"method":"session/prompt","params":{"sessionId":"A","prompt":[]}}}' \
			'{"t":'$1',"from":"agent","msg":{"id":'$1',"result":{"stopReason":"end_turn","usage":{"totalTokens":30,"inputTokens":10,"outputTokens":20}}}}'
	}
	{ part 1 && echo '{"t":1,"event":"rotated"}'; } >1.rec
	part 2 ',"continues":true' >2.rec
	run -0 acp-tap --list -f json 1.rec 2.rec
	assert_equal "$(jq -c '[.turns, .tokens]' <<<"$output")" $'[1,30]\n[1,30]'
	cat 1.rec 2.rec >both.rec
	run -0 acp-tap --list -f json both.rec
	assert_equal "$(jq -c '[.turns, .tokens]' <<<"$output")" '[2,60]'
}

@test "--list: the title is the first text of a prompt, also where a file comes before it" {
	printf '%s\n' '{"id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"resource_link","uri":"file:///p.c","name":"p.c"},{"type":"text","text":"fix this"}]}}' \
		'{"id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"thanks"}]}}' >in
	run -0 acp-tap --list -f json in
	assert_equal "$(jq -r .title <<<"$output")" 'fix this'
}

@test "--list: without operands all recordings of -o auto, the oldest first" {
	export XDG_STATE_HOME=$PWD/state
	run -2 acp-tap --list
	assert_output 'acp-tap: there is no recording; acp-tap -o auto makes one'
	mkdir -p state/acp/{one,two}
	cp four state/acp/one/20261123-120000-9.rec
	cp four state/acp/two/20251123-120000-9.rec
	cp four state/acp/one/20241123-120000-9.rec
	run -0 acp-tap --list -f json
	run -0 jq -r '.file | sub(".*acp/"; "")' <<<"$output"
	assert_output $'one/20241123-120000-9.rec\ntwo/20251123-120000-9.rec\none/20261123-120000-9.rec'
}

@test "--list: a file that cannot be read has no line, and status 2" {
	cp "$FIXTURES/demo.rec" demo.rec
	run -2 --separate-stderr acp-tap --list -f tsv none.rec demo.rec
	assert_equal "${#lines[@]}" 2
	assert_equal "$stderr" 'acp-tap: none.rec: No such file or directory'
}

@test "README: the first recipe works as written in an empty home" {
	export HOME=$PWD/home
	unset XDG_STATE_HOME
	mkdir home
	recorded my-agent XDG_STATE_HOME="$PWD/unused"
	PATH=$PWD/bin:$PATH
	sed -n '/^\*\*See the wire log/,/^\*\*Find/s/^    //p' "$TOP/README.md" >recipe
	assert grep -q 'acp-tap .* my-agent' recipe
	printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"Hello"}]}}' >in
	run -0 --separate-stderr bash -e recipe <in
	assert_output --partial 'session/prompt'
	assert_line Hello
}

# --- selection

@test "-m: by method, by kind of update, a response by its request, and what is not wanted" {
	run -0 --separate-stderr acp-tap -f raw -m 'init*' four
	assert_output "$(sed -n '1p;4p' four)"
	run -0 acp-tap -f raw -m plan four
	assert_output "$(sed -n 2p four)"
	run -0 acp-tap -f raw -m 'session/*' -m '!plan' four
	assert_output "$(sed -n 3p four)"
}

@test "-w, --from, --session: all must hold" {
	run -0 acp-tap -f raw -w '.params.n == 1' four
	assert_output "$(sed -n 1p four)"
	run -0 acp-tap -f raw --session b four
	assert_output "$(sed -n 3p four)"
	run -0 acp-tap -f raw --from agent four
	assert_output "$(sed -n 2,4p four)"
	run -0 acp-tap -f raw --from agent --session a -w 'true' four
	assert_output "$(sed -n 2p four)"
}

@test "a jq program that fails selects nothing, and says so once" {
	run -1 --separate-stderr acp-tap -f raw -w '.method.x == 1' four
	assert_output ''
	assert_equal "${#stderr_lines[@]}" 2
	assert_regex "${stderr_lines[0]}" '^acp-tap: --where: '
	assert_regex "${stderr_lines[1]}" '^acp-tap: no message is selected; there are: '
}

@test "in a one-way pipe a response comes from the side that all else comes from" {
	printf '%s\n' '{"id":0,"method":"initialize"}' '{"id":0,"result":{}}' >in
	acp-tap -o s.rec <in >out
	run jq -r 'select(.msg).from' s.rec
	assert_output $'client\nclient'
	printf '%s\n' '{"id":0,"result":{}}' '{"id":0,"method":"fs/read_text_file"}' '{"id":0,"result":{}}' >in
	acp-tap -o s.rec <in >out
	run jq -r 'select(.msg).from' s.rec
	assert_output $'unknown\nagent\nagent'
	# The response to initialize is the agent's. Beside what the client sends there are both directions.
	printf '%s\n' '{"id":0,"result":{"protocolVersion":1}}' '{"id":1,"result":{}}' >in
	acp-tap -o s.rec <in >out
	run jq -r 'select(.msg).from' s.rec
	assert_output $'agent\nagent'
	printf '%s\n' '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}' \
		'{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{},"authMethods":[]}}' \
		'{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}' \
		'{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}' >in
	acp-tap -o s.rec <in >out
	run jq -r 'select(.msg).from' s.rec
	assert_output $'client\nagent\nclient\nagent'
	run -0 acp-check s.rec
	# A recording has both directions.
	printf '%s\n' '{"id":0,"method":"initialize"}' '{"id":0,"result":{}}' >in
	run acp-tap -f record in
	assert_line --index 1 --partial '"from":"client"'
	assert_line --index 2 --partial '"from":"agent"'
}

@test "a recording says in its header that messages may be missing, whatever selects them" {
	local option expected=true
	for option in '-m a' '-w true' '--from client' '--kind request' '--session s' '--grep a' '--grep-regex a' '-c 5' '' '--redact'; do
		# shellcheck disable=SC2086 # options and their values
		acp-tap -f record -o s.rec $option -- true
		[[ $option ]] || expected=null
		assert_equal "$option $(head -n 1 s.rec | jq .selected)" "$option $expected"
	done
}

@test "what is selected limits what is written, never what passes" {
	acp-tap -o s.rec -m plan <four >out
	cmp four out
	run jq -r 'keys | join(" ")' s.rec
	assert_output $'acp-recording by selected started\nfrom msg t'
}

@test "ends are written unless messages are picked" {
	acp-tap -o s.rec -m '!plan' <four >out
	run tail -n 1 s.rec
	assert_output --partial '"event":"eof"'
	acp-tap -o s.rec -w true <four >out
	run grep -c event s.rec
	assert_output 0
}

@test "-c N: N records are written, all pass" {
	acp-tap -o s.rec -c 2 <four >out
	cmp four out
	run acp-tap -f raw s.rec
	assert_output "$(head -n 2 four)"
	run acp-tap -f raw -c 3 four four
	assert_output "$(head -n 3 four)"
}

# --- files that are read

@test "several files are read in turn, - is standard input" {
	head -n 1 four >one
	run acp-tap -f raw one - one <four
	assert_output "$(cat one four one)"
}

@test "what is not a record is reported with file and line: status 2, and reading goes on" {
	printf '%s\n' '{"t":1,"from":"client","msg":{"jsonrpc":"2.0","method":"a"}}' '{"t":2,' "$(head -n 1 four)" >bad.rec
	run -2 --separate-stderr acp-tap -f raw bad.rec four
	assert_output "$(echo '{"jsonrpc":"2.0","method":"a"}' && head -n 1 four && cat four)"
	assert_regex "$stderr" '^acp-tap: bad.rec:2: not a record at byte [0-9]+: '
	assert_equal "${#stderr_lines[@]}" 1
}

@test "a torn last line is the end of a recording, with a warning" {
	{
		head -n 1 four
		printf '{"t":3,"from":"age'
	} >torn.rec
	run -0 --separate-stderr acp-tap -f raw torn.rec
	assert_output "$(head -n 1 four)"
	assert_regex "$stderr" '^acp-tap: torn.rec:2: the last line is torn'
}

@test "a file that cannot be read: status 2, and the others are" {
	run -2 --separate-stderr acp-tap -f raw nothing four
	assert_output "$(cat four)"
	assert_equal "$stderr" 'acp-tap: nothing: No such file or directory'
	run -2 acp-tap -f raw .
	assert_output --partial 'acp-tap: .: '
}

@test "a recording of several hops: the first, or the one that is named" {
	cat >hops.rec <<-'END'
		{"acp-recording":1,"hops":["tap","agent"]}
		{"t":0,"at":0,"from":"client","msg":{"jsonrpc":"2.0","method":"zero"}}
		{"t":0,"at":1,"from":"client","msg":{"jsonrpc":"2.0","method":"one"}}
	END
	run -0 acp-tap -f raw hops.rec
	assert_output '{"jsonrpc":"2.0","method":"zero"}'
	run -0 acp-tap -f raw --hop agent hops.rec
	assert_output '{"jsonrpc":"2.0","method":"one"}'
	run -0 acp-tap -f raw --hop 1 hops.rec
	assert_output '{"jsonrpc":"2.0","method":"one"}'
}

@test "a file is not written over while it is read" {
	cp four again
	run -2 acp-tap -f raw -o again again
	assert_output 'acp-tap: again: it is also an input'
	cmp four again
}

@test "recordings may be printed to a file" {
	acp-tap -f raw -o bare four
	cmp four bare
	acp-tap -f raw -a -o bare four
	cmp <(cat four four) bare
}

@test "a stream that is read from is shown as it comes" {
	mkfifo in
	acp-tap -f raw - <in >out &
	exec 5>in
	head -n 1 four >first
	cat first >&5
	wait_for cmp -s out first
	exec 5>&-
	wait $!
}

# --- files that are written

@test "a file is made with mode 0600" {
	umask 0
	acp-tap -o s.rec <four >out
	run stat -c %a s.rec
	assert_output 600
}

@test "the name is expanded: dates, and %p is the pid" {
	acp-tap -o 'tap-%Y-%p-%%.rec' -- sh -c 'echo $PPID' </dev/null >out
	run cat out
	[[ -e tap-$(date +%Y)-$output-%.rec ]]
}

@test "-a appends, and begins with a header of its own; without it the file is started again" {
	acp-tap -o s.rec <four >out
	acp-tap -a -o s.rec <four >out
	run grep -c acp-recording s.rec
	assert_output 2
	acp-tap -f raw s.rec | cmp - <(cat four four)
	acp-tap -o s.rec <four >out
	run grep -c acp-recording s.rec
	assert_output 1
}

@test "-a after a torn record begins with a new line" {
	printf '{"t":0,"fro' >s.rec
	acp-tap -a -o s.rec <four >out
	run -2 --separate-stderr acp-tap -f raw s.rec
	assert_output "$(cat four)"
}

@test "two at once do not append to one file" {
	mkfifo in
	acp-tap -a -o s.rec <in >out &
	exec 5>in
	wait_for grep -q acp-recording s.rec
	run -125 acp-tap -a -o s.rec </dev/null
	assert_output 'acp-tap: s.rec: it is already being written'
	exec 5>&-
	wait $!
}

@test "SIGUSR1 reopens the file, with a header" {
	mkfifo in
	acp-tap -o s.rec <in >out &
	exec 5>in
	head -n 1 four >&5
	wait_for grep -q initialize s.rec
	mv s.rec old.rec
	kill -USR1 $!
	wait_for test -e s.rec
	tail -n 1 four >&5
	exec 5>&-
	wait $!
	run acp-tap -f raw old.rec
	assert_output "$(head -n 1 four)"
	run acp-tap -f raw s.rec
	assert_output "$(tail -n 1 four)"
	run jq -r '.["acp-recording"]' s.rec
	assert_line --index 0 1
}

@test "an output that cannot be opened: 125, and nothing is started" {
	run -125 acp-tap -o no/where.rec -- touch started </dev/null
	assert_output 'acp-tap: no/where.rec: No such file or directory'
	[[ ! -e started ]]
}

@test "a full disk: one line, the session goes on, status 125" {
	run -125 --separate-stderr acp-tap -o /dev/full <four
	assert_output "$(cat four)"
	assert_equal "$stderr" 'acp-tap: /dev/full: No space left on device: records are lost, the session goes on'
}

@test "a full disk: the agent's own status counts" {
	run -3 acp-tap -o /dev/full -- sh -c 'exit 3' </dev/null
}

@test "a full disk is said of what is printed, too" {
	run -125 acp-tap -f raw -o /dev/full four
	assert_output --partial 'No space left on device'
	run -125 sh -c 'acp-tap -f raw four 2>&1 >/dev/full'
	assert_output 'acp-tap: standard output: No space left on device'
}

@test "a log whose reader has gone: the session goes on, status 125" {
	mkfifo log in
	head -n 1 <log >got &
	reader=$!
	acp-tap -o log <in >out 2>err &
	tap=$!
	exec 5>in
	sent=0
	one_more() {
		head -n 1 four >&5
		((++sent))
		[[ -s got ]] || return
		! kill -0 "$reader" 2>/dev/null
	}
	wait_for one_more
	one_more
	exec 5>&-
	wait "$tap" || status=$?
	assert_equal "$status" 125
	assert_equal "$(wc -l <out)" "$sent"
	assert_equal "$(cat err)" 'acp-tap: log: Broken pipe: records are lost, the session goes on'
}

@test "-F prints what a recording gets, also a line that comes in two pieces, until a signal" {
	lines() {
		[[ $(wc -l <out) -eq $1 ]]
	}
	head -n 1 four >grows
	acp-tap -F -f raw grows >out 3>&- &
	tap=$!
	wait_for lines 1
	sed -n 2p four | tee line | head -c 20 >>grows
	tail -c +21 line >>grows
	wait_for lines 2
	kill -INT "$tap" && wait "$tap"
	cmp out <(head -n 2 four)
}

@test "what is printed waits for a FIFO's reader" {
	mkfifo log
	acp-tap -f raw -o log four &
	tap=$!
	wait_for grep -qz acp-tap "/proc/$tap/cmdline"
	cat log >got
	wait "$tap"
	cmp four got
}

# bats test_tags=slow
@test "a log whose reader is slow gets all there is room for" {
	mkfifo log
	perl -e 'local $/; print <> x 2000' four >many
	cat log >got &
	acp-tap -f raw -o log <many >out
	wait $!
	cmp many out
	cmp many got
}

@test "--session: the request that opened it comes with its response, which alone names it" {
	printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/a","mcpServers":[]}}' \
		'{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/b","mcpServers":[]}}' \
		'{"jsonrpc":"2.0","id":2,"result":{"sessionId":"B"}}' '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"A"}}' \
		'{"jsonrpc":"2.0","id":3,"method":"session/new","params":{"cwd":"/c","mcpServers":[]}}' >two
	run -0 acp-tap -f raw --session B two
	assert_equal "$output" "$(sed -n 2,3p two)"
	run -0 acp-tap -f raw --session A -m 'session/*' two
	assert_equal "$output" "$(sed -n '1p;4p' two)"
	run -0 acp-tap -f raw --session A --from agent two
	assert_equal "$output" "$(sed -n 4p two)"
	run -0 acp-tap -n --session A two
	assert_line --index 0 --regexp '^ *1 .*session/new'
	run -0 acp-tap -f raw --session A -c 1 two
	assert_equal "$output" "$(sed -n 1p two)"
	sed -n 3,4p two >responses
	# shellcheck disable=SC2094 # nothing is written to it
	acp-tap --session B -f raw -o log -- sh -c 'read -r a; read -r b; cat responses; cat >seen' < <(sed -n 1,2p two) >/dev/null
	cmp log <(sed -n 2,3p two)
}

@test "-c counts each chunk of a folded run, and what has been read of it is written" {
	for i in 1 2 3; do
		jq -nc --arg t "word$i " '{jsonrpc: "2.0", method: "session/update", params: {sessionId: "S", update:
			{sessionUpdate: "agent_message_chunk", content: {type: "text", text: $t}}}}'
	done >chunks
	run -0 acp-tap --fold -c 2 chunks
	assert_equal "${#lines[@]}" 1
	assert_line --index 0 --regexp '[×x]2 .*word1 word2 *$'
	run -0 acp-tap --fold chunks
	assert_line --index 0 --regexp '[×x]3 .*word1 word2 word3 *$'
}
