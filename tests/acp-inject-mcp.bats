#!/usr/bin/env bats
# acp-inject --wrap-mcp: a command goes before each MCP server that the client declares.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load inject
	lib_setup
	inject_setup
	export XDG_STATE_HOME=$PWD/state
}

# wrapped CMD PARAMS...: the params of session/new, as they leave; those of its servers, if there are several.
wrapped() {
	local cmd=$1
	shift
	printf '{"id":1,"method":"session/new","params":%s}\n' "$@" | acp-inject --wrap-mcp "$cmd" | sed 's/^{"id":1,"method":"session\/new","params":\(.*\)}$/\1/'
}

new_and_others() {
	talk 7 --wrap-mcp 'rec -o %n --' <<-'EOF'
		{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[ {"name":"a", "command" : "s\u0072v","args":["x" , 1.50],"env":[]} ]}}
		{"jsonrpc":"2.0","id":2,"method":"session/load","params":{"mcpServers":[{"args":[ ],"name":"b","command":"srv"},{"type":"stdio","name":"c","command":"srv"}],"n":1}}
		{"jsonrpc":"2.0","id":3,"method":"session/resume","params":{"mcpServers":[{"type":"http","name":"d","url":"u","headers":[]},{"name":"e","args":null,"command":"srv"}]}}
		{"jsonrpc":"2.0","id":4,"method":"session/fork","params":{"mcpServers":[{"type":"acp","name":"f","id":"1"},{"type":"sse","name":"g","url":"u","headers":[]}]}}
		{"jsonrpc":"2.0","id":5,"method":"session/new","params":{"mcpServers":[]}}
		{"jsonrpc":"2.0","id":6,"method":"session/list","params":{"mcpServers":[{"name":"a","command":"srv","args":[]}]}}
		{"jsonrpc":"2.0","id":7,"method":"session/new","params":{"cwd":"/"}}
	EOF
	assert_equal "$(sed 's/.*"params":/ /; s/ *}}*$//' got)" ' {"cwd":"/","mcpServers":[ {"name":"a", "command" : "rec","args":["-o","a","--","s\u0072v","x" , 1.50],"env":[]} ]
 {"mcpServers":[{"args":["-o","b","--","srv" ],"name":"b","command":"rec"},{"type":"stdio","name":"c","command":"rec","args":["-o","c","--","srv"]}],"n":1
 {"mcpServers":[{"type":"http","name":"d","url":"u","headers":[]},{"name":"e","args":["-o","e","--","srv"],"command":"rec"}]
 {"mcpServers":[{"type":"acp","name":"f","id":"1"},{"type":"sse","name":"g","url":"u","headers":[]}]
 {"mcpServers":[]
 {"mcpServers":[{"name":"a","command":"srv","args":[]}]
 {"cwd":"/"'
}

@test "the command goes before that of each stdio server of what opens a session; every other byte stays" {
	each_way new_and_others
}

@test "a server of --mcp-server is wrapped, too" {
	run acp-inject --wrap-mcp 'rec --' --mcp-server '{"name":"x","command":"srv","args":["1"]}' <<<'{"id":1,"method":"session/new","params":{"mcpServers":[]}}'
	assert_output '{"id":1,"method":"session/new","params":{"mcpServers":[{"name":"x","command":"rec","args":["--","srv","1"]}]}}'
}

@test "%n is the server's name as a part of a file's, %% a %, and everything else stays; quotes keep a word together" {
	run wrapped "rec -o '%n at %Y.%%n-%p' 100%" '{"mcpServers":[{"name":"../\u0061 \"é\n%n","command":"c","args":[]}]}'
	assert_output '{"mcpServers":[{"name":"../\u0061 \"é\n%n","command":"rec","args":["-o","_._a______n at %Y.%n-%p","100%","c"]}]}'
	run wrapped '/opt/%n/rec' '{"mcpServers":[{"command":"c","args":[]}]}' \
		"{\"mcpServers\":[{\"name\":\"$(printf '%070d' 0)\",\"command\":\"c\",\"args\":[]}]}"
	assert_line --index 0 '{"mcpServers":[{"command":"/opt//rec","args":["c"]}]}'
	assert_line --index 1 --partial "\"/opt/$(printf '%064d' 0)/rec\""
}

@test "a command of acputils gets the path of the one beside acp-inject, because agents may have a short PATH" {
	run wrapped 'acp-tap -o x --' '{"mcpServers":[{"name":"a","command":"c","args":[]}]}'
	tap=$(jq -r '.mcpServers[0].command' <<<"$output")
	assert_equal "$(readlink -f "$tap")" "$(readlink -f "$(command -v acp-tap)")"
	[[ $tap == /* ]]
	run wrapped 'acp-none --' '{"mcpServers":[{"name":"a","command":"c","args":[]}]}'
	assert_output '{"mcpServers":[{"name":"a","command":"acp-none","args":["--","c"]}]}'
}

@test "a declaration that is wrong is forwarded as it came, reported once, and the others are wrapped; --strict ends" {
	cat >in <<-'EOF'
		{"id":1,"method":"session/new","params":{"mcpServers":[{"name":"a"},{"name":"b","command":"c","args":[]},7]}}
		{"id":2,"method":"session/new","params":{"mcpServers":[{"name":"a","command":["c"],"args":[]},{"name":"b","command":"c","args":"x"}]}}
		{"id":3,"method":"session/new","params":{"mcpServers":{"command":"c"}}}
		{"id":4,"method":"session/new","params":[]}
	EOF
	run --separate-stderr -0 acp-inject --wrap-mcp rec <in
	assert_equal "$output" "$(sed '1s/"c","args":\[\]/"rec","args":["c"]/' in)"
	assert_equal "$stderr" 'acp-inject: --wrap-mcp: "session/new": a server without a command, or whose args are not a list: it is forwarded unchanged'
	run --separate-stderr -125 acp-inject --strict --wrap-mcp rec <in
	assert_output ''
}

# bats test_tags=slow
@test "many servers, and a large one" {
	jq -nc '{id: 1, method: "session/new", params: {mcpServers: [(range(3000) | {name: "n\(.)", command: "c\(.)", args: ["\(.)"]}), {name: "big", command: "c", args: ["x" * 1000000]}]}}' >in
	acp-inject --wrap-mcp 'rec %n' <in >out
	jq -c '.params.mcpServers[] |= {name, command: "rec", args: ([.name, .command] + .args)}' in | cmp - out
}

# An agent that starts each stdio server twice, as some do, says what is in the file mcp.in, and then opens the session.
starting_agent() {
	cat >agent <<-'EOF'
		#!/bin/bash
		while read -r line; do
			id=$(jq -c .id <<<"$line")
			case $line in
			*'"session/new"'*)
				while read -r server; do
					mapfile -t argv < <(jq -r '.command, .args[]' <<<"$server")
					PATH=$PLAIN "${argv[@]}" <mcp.in >>mcp.out
					PATH=$PLAIN "${argv[@]}" <mcp.in >>mcp.out
				done < <(jq -c '.params.mcpServers[] | select((.type // "stdio") == "stdio")' <<<"$line")
				echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"sessionId\":\"s\"}}" ;;
			*) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"protocolVersion\":1}}" ;;
			esac
		done
	EOF
	chmod +x agent
	PLAIN=$(dirname "$(command -v jq)"):/usr/bin:/bin
	export PLAIN
	printf '%s\n' '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}' \
		'{"jsonrpc":"2.0","method":"notifications/initialized"}' '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' \
		'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}' >mcp.in
	jq -nc --arg program "$TOP/tests/mcp.jq" '
		{jsonrpc: "2.0", id: 0, method: "initialize", params: {protocolVersion: 1, clientCapabilities: {}}},
		{jsonrpc: "2.0", id: 1, method: "session/new", params: {cwd: "/", mcpServers: [
			{name: "one", command: "jq", args: ["-c", "--unbuffered", "-n", "--arg", "name", "same", "-f", $program], env: []},
			{name: "two", command: "jq", args: ["-c", "--unbuffered", "-n", "--arg", "name", "same", "-f", $program], env: []},
			{name: "broken", command: "sh", args: ["-c", "cat >/dev/null; exit 1"], env: []},
			{type: "http", name: "web", url: "http://localhost", headers: []}]}}' >down
}

# bats test_tags=slow
@test "--wrap-mcp auto: the servers are recorded beside the session, and acp-check --mcp says what became of them" {
	starting_agent
	: >out
	{ cat down && wait_for has 2; } | acp-tap -o auto -- acp-inject --wrap-mcp auto -- ./agent >out
	assert_equal "$(jq -c 'select(.id == 2).result' mcp.out | sort | uniq -c | tr -s ' ')" ' 4 {"content":[{"type":"text","text":"same: hi"}]}'
	run -1 acp-check --mcp state/acp/agent
	assert_equal "$(sed 's/, [0-9.]* m\?s in calls.*//; s/, ran.*;/;/' <<<"$output")" 'one: 2 processes, listed 1 tool, called 2 times
two: 2 processes, listed 1 tool, called 2 times
broken: 2 processes, no response to tools/list, called 2 times, 2 without a response; exit status 1
web: not recorded: http'
	# They are nobody else's business, and no sessions.
	assert_equal "$(stat -c %a state/acp/agent/mcp state/acp/agent/mcp/*.rec | sort | uniq -c | tr -s ' ' | tr '\n' ,)" ' 6 600, 1 700,'
	run -0 acp-tap last
	assert_output --partial session/new
}

# bats test_tags=slow
@test "--wrap-mcp with a command of one's own: the recordings are where it says" {
	starting_agent
	: >out
	{ cat down && wait_for has 2; } | acp-tap -o s.rec -- acp-inject --wrap-mcp "acp-tap -o $PWD/mcp-%n-%p.rec --" -- ./agent >out
	assert_equal "$(find . -name 'mcp-one-*.rec' | wc -l)" 2
	run -1 acp-check --mcp s.rec mcp-*.rec
	assert_line --regexp '^two: 2 processes, listed 1 tool, called 2 times'
}

@test "bad usage: --wrap-mcp" {
	bad() {
		run -2 acp-inject --wrap-mcp "$1" -- touch started
		assert_output "acp-inject: --wrap-mcp$2"
		[ ! -e started ]
	}
	bad '' ': expected a command'
	bad ' ' ': expected a command'
	for command in "rec \$HOME" 'a | b' 'rec >x'; do
		bad "$command" " $command: expected words: quote the characters that a shell would expand"
	done
	bad $'rec \xff' ': not UTF-8'
	bad 'acp-tap -o x' ' acp-tap -o x: expected -- at its end, after which the server'"'s command goes"
	run -2 acp-inject --attach auto --wrap-mcp auto --permit allow_once
	assert_output 'acp-inject: --wrap-mcp does not go with --attach'
	[ ! -e state ]
}
