#!/usr/bin/env bats
# acp-check --mcp: what became of each MCP server that a session declares.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
}

# session SERVER...: s.rec, of a session that declares these (JSON).
session() {
	jq -nc --argjson servers "[$(IFS=,; echo "$*")]" '
		{"acp-recording": 1, command: ["agent"]},
		({t: 0, from: "client", id: 0, method: "initialize", params: {protocolVersion: 1}},
		 {t: 0, from: "agent", id: 0, result: {protocolVersion: 1}},
		 {t: 1, from: "client", id: 1, method: "session/new", params: {cwd: "/w", mcpServers: $servers}},
		 {t: 2, from: "agent", id: 1, result: {sessionId: "s"}}
		| {t, from, msg: ({jsonrpc: "2.0"} + del(.t, .from))})' >s.rec
}

# server NAME ARG...: the declaration of a command.
server() {
	jq -nc --arg name "$1" '{name: $name, command: $ARGS.positional[0], args: $ARGS.positional[1:], env: []}' --args -- "${@:2}"
}

# recording COMMAND...: a recording of this server, with messages "from t id method params" on standard input; a response has "=" for
# the method and its result. The other lines are records.
recording() {
	jq -nc '{"acp-recording": 1, command: $ARGS.positional}' --args -- "$@"
	local from t id method params
	while read -r from t id method params; do
		case $from in
		'{'*) echo "$from $t $id $method $params" ;;
		*) jq -nc --arg from "$from" --argjson t "$t" --argjson id "$id" --arg method "$method" --argjson params "${params:-null}" '
			{t: $t, from: $from, msg: ({jsonrpc: "2.0"} + if $method == "=" then {id: $id, result: $params}
				elif $method == "!" then {id: $id, error: $params}
				else {id: $id, method: $method, params: $params} | with_entries(select(.value != null)) end)}' ;;
		esac
	done
}

HELLO='client 0.1 0 initialize {"protocolVersion":"2025-06-18"}
agent 0.2 0 = {"capabilities":{"tools":{}}}'

# bats test_tags=slow
@test "how far each server came, in the order of the declarations" {
	session "$(server never a)" "$(server silent b 1)" "$(server deaf c)" "$(server refused d)" "$(server toolless e)" "$(server unused f)" \
		"$(server slow g)" "$(server broken j)" "$(server good h)" '{"type":"http","name":"web","url":"x","headers":[]}'
	recording b 1 >b.rec <<<'{"t":0.5,"event":"exit","status":3}'
	recording c >c.rec <<<"${HELLO%%$'\n'*}"$'\n''{"t":2,"event":"exit","signal":"KILL"}'
	recording d >d.rec <<<"${HELLO%%$'\n'*}"$'\n''agent 0.2 0 ! {"code":-1,"message":"no"}'
	recording e >e.rec <<<"${HELLO/\"tools\":\{\}/}"
	recording f >f.rec <<<"$HELLO"
	recording g >g.rec <<<"$HELLO"$'\n''client 0.3 1 tools/list'
	recording j >j.rec <<<"$HELLO"$'\n''client 0.3 1 tools/list'$'\n''agent 0.4 1 ! {"code":-32603,"message":"no"}'
	recording h >h.rec <<-END
		$HELLO
		client 0.3 1 tools/list {}
		agent 0.4 1 = {"tools":[{"name":"x"},{"name":"y"}],"nextCursor":"2"}
		client 0.5 2 tools/list {"cursor":"2"}
		agent 0.6 2 = {"tools":[{"name":"z"}]}
		client 1 3 tools/call {"name":"x"}
		client 1 4 tools/call {"name":"y"}
		client 1 5 tools/call {"name":"z"}
		client 1 6 tools/call {"name":"z"}
		agent 1.25 4 = {"content":[],"isError":true}
		agent 1.5 3 = {"content":[]}
		agent 2 5 ! {"code":-1,"message":"no"}
		{"t":4,"event":"exit","status":0}
	END
	run -1 acp-check --mcp s.rec [b-j].rec
	assert_output - <<-'END'
		never: never started
		silent: started, no initialize, ran 500 ms; exit status 3
		deaf: no response to initialize, ran 2.0 s; signal KILL
		refused: an error to initialize, ran 200 ms
		toolless: it offers no tools, ran 200 ms
		unused: no tools/list, never called, ran 200 ms
		slow: no response to tools/list, never called, ran 300 ms
		broken: an error to tools/list, never called, ran 400 ms
		good: listed 3 tools, called 4 times, 2 errors, 1 without a response, 1.8 s in calls, ran 4.0 s
		web: not recorded: http
	END
	# The same from a directory, and for programs.
	mkdir all
	mv ./*.rec all
	run -1 acp-check --mcp -f json all
	assert_equal "$(tail -n 2 <<<"$output")" '{"server":"good","type":"stdio","declared":1,"state":"listed","started":1,"tools":3,"calls":4,"responses":3,"errors":2,"calls_us":1750000,"longest_us":1000000,"ran_us":4000000}
{"server":"web","type":"http","declared":1}'
}

# bats test_tags=slow
@test "the status is 0 where all servers have listed their tools, or have none" {
	session "$(server good h)" "$(server none e)" '{"type":"sse","name":"web","url":"x","headers":[]}'
	recording h >h.rec <<<"$HELLO"$'\nclient 0.3 1 tools/list\nagent 0.4 1 = {"tools":[]}'
	recording e >e.rec <<<"${HELLO/\"tools\":\{\}/}"
	run -0 acp-check --mcp s.rec h.rec e.rec
	run -1 acp-check --mcp s.rec e.rec
	assert_line 'good: never started'
}

# bats test_tags=slow
@test "a server in the stateless form of MCP begins with server/discover" {
	session "$(server new n)"
	recording n >n.rec <<-'END'
		client 0.1 0 server/discover {"protocolVersion":"2026-07-28"}
		agent 0.2 0 = {"capabilities":{"tools":{}}}
		client 0.3 1 tools/list {}
		agent 0.4 1 = {"tools":[{"name":"x"}]}
	END
	run -0 acp-check --mcp s.rec n.rec
	assert_output 'new: listed 1 tool, never called, ran 400 ms'
}

# bats test_tags=slow
@test "a server is known by its command, also behind a recorder; where that is not enough, by its name in the file's" {
	session "$(server echo acp-tap -o 'mcp-echo-%p.rec' -- srv x)" "$(server twin srv y)" "$(server other srv y)" "$(server wrapped env A=1 srv z)"
	recording srv x >1.rec <<<"$HELLO"
	recording srv y >mcp-twin-7.rec <<<"$HELLO"
	recording srv y >mcp-other-8.rec <<<"$HELLO"
	recording srv y >mcp-other-9.rec <<<"$HELLO"
	recording something else >mcp-wrapped-10.rec <<<"$HELLO"
	recording stranger >mcp-ech-11.rec <<<"$HELLO"
	run -1 acp-check --mcp .
	assert_output - <<-'END'
		echo: no tools/list, never called, ran 200 ms
		twin: no tools/list, never called, ran 200 ms
		other: 2 processes, no tools/list, never called, ran 400 ms
		wrapped: no tools/list, never called, ran 200 ms
		./mcp-ech-11.rec: no session declares it: no tools/list, never called, ran 200 ms
	END
}

# bats test_tags=slow
@test "a name that no file can have is looked for as --wrap-mcp writes it" {
	session "$(server first srv y)" "$(server 'we ird/é' srv y)"
	recording srv y >mcp-we_ird___-7.rec <<<"$HELLO"
	run -1 acp-check --mcp .
	assert_output - <<-'END'
		first: never started
		we ird/é: no tools/list, never called, ran 200 ms
	END
}

# bats test_tags=slow
@test "a server that several sessions declare is one, and of several processes the farthest counts" {
	session "$(server good h)"
	cp s.rec t.rec
	recording h >1.rec <<<"$HELLO"$'\nclient 0.3 1 tools/list\nagent 0.4 1 = {"tools":[{"name":"x"}]}'
	recording h >2.rec <<<'{"t":0.1,"event":"exit","status":1}'
	run -0 acp-check --mcp -f json s.rec t.rec 1.rec 2.rec
	assert_equal "$(jq -c '[.declared, .started, .state, .tools, .status]' <<<"$output")" '[2,2,"listed",1,1]'
}

@test "a real server behind acp-tap" {
	session "$(server echo acp-tap -o 'mcp-echo-%p.rec' -- jq -c --unbuffered -n --arg name echo -f "$TOP/tests/mcp.jq")"
	printf '%s\n' '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}' \
		'{"jsonrpc":"2.0","method":"notifications/initialized"}' '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' \
		'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}' |
		acp-tap -o 'mcp-echo-%p.rec' -- jq -c --unbuffered -n --arg name echo -f "$TOP/tests/mcp.jq" >/dev/null
	run -0 acp-check --mcp s.rec mcp-echo-*.rec
	assert_output --regexp '^echo: listed [0-9]+ tools?, called 1 time, [0-9.]+ m?s in calls, ran [0-9.]+ m?s$'
}

@test "no session that declares a server is no check: status 2" {
	session
	run -2 acp-check --mcp s.rec
	assert_output 'acp-check: no session in the recordings declares an MCP server'
	run -2 acp-check --mcp missing.rec
	assert_output 'acp-check: missing.rec: No such file or directory'
	mkdir empty
	run -2 acp-check --mcp empty
	run -2 acp-check --mcp --session s s.rec
	assert_output 'acp-check: --mcp does not go with --session'
	run -2 acp-check --mcp -- cat
	assert_output 'acp-check: --mcp requires recordings'
}

@test "declarations that are wrong, and names that a terminal might obey" {
	session 5 '{}' '{"name":7,"command":["x"],"args":"y"}' '{"name":"\u001b[2Ja\nb","command":"c","args":[1,null,"x"]}'
	run -1 acp-check --mcp s.rec
	assert_output $': never started\n^[[2Ja b: never started'
	jq -c 'if .msg.method == "session/new" then .msg.params.mcpServers = "x" else . end' s.rec >t.rec
	run -2 acp-check --mcp t.rec
	# A reader that leaves, a full disk.
	acp-check --mcp s.rec 2>/dev/null | true
	run -125 acp-check --mcp -o /dev/full s.rec
}
