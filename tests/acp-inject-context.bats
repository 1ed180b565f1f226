#!/usr/bin/env bats
# acp-inject: what prompts and new sessions are given besides.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load inject
	lib_setup
	inject_setup
}

teardown() {
	end_left_over
}

# prompt SESSION [BLOCKS]: without them one, with the session as its text.
prompt() {
	local block='{"type":"text","text":"'$1'"}'
	printf '{"jsonrpc":"2.0","id":"%s","method":"session/prompt","params":{"sessionId":"%s", "prompt":[%s]}}\n' \
		"$1" "$1" "${2-$block}"
}

texts() {
	jq -c '[.params.prompt[].text]' "${1--}"
}

@test "a block is put before and after the first prompt of each session, and in no other" {
	put() {
		{ prompt a; prompt b; prompt a; prompt c; prompt b; } | talk 5 --prepend one --append last --prepend two
		[[ $(texts got) == '["one","two","a","last"]
["one","two","b","last"]
["a"]
["one","two","c","last"]
["b"]' ]]
		[[ $(jq -r .result.stopReason out | uniq) == end_turn ]]
	}
	each_way put
}

@test "a session of another connection is another one, whatever its id" {
	hello() {
		printf '{"id":"h","method":"initialize","params":{"protocolVersion":1}}\n'
	}
	run acp-inject --append x < <(hello; prompt 1; prompt 1; hello; prompt 1; prompt 1)
	assert_equal "$(grep session/prompt <<<"$output" | texts)" '["1","x"]
["1"]
["1","x"]
["1"]'
}

# bats test_tags=slow
@test "a session is the same however its id is spelled" {
	run acp-inject --append x < <(prompt 'a/é'; prompt 'a\/\u00e9' '')
	assert_equal "$(texts <<<"$output")" '["a/é","x"]
[]'
}

@test "with --every in every prompt" {
	run acp-inject --every --append x < <(prompt a; prompt a; prompt b)
	assert_equal "$(texts <<<"$output")" '["a","x"]
["a","x"]
["b","x"]'
}

@test "the rest of the prompt keeps its bytes, and an empty prompt is a prompt" {
	run acp-inject --prepend '"x"' --append 'ä\' < <(prompt a ' {"type" : "text","n":12345678901234567890} , {"t":1.50} '; prompt b; prompt c '')
	assert_line --index 0 --partial '"prompt":[{"type":"text","text":"\"x\""}, {"type" : "text","n":12345678901234567890} , {"t":1.50},{"type":"text","text":"ä\\"} ]}}'
	assert_line --index 2 --partial '"prompt":[{"type":"text","text":"\"x\""},{"type":"text","text":"ä\\"}]}}'
	run acp-inject --prepend x < <(prompt c ' ')
	assert_output --partial '"prompt":[{"type":"text","text":"x"} ]}}'
	run acp-inject --append x < <(prompt c ' ')
	assert_output --partial '"prompt":[{"type":"text","text":"x"} ]}}'
}

@test "a prompt that is a command of its session is left alone, and the next prompt is the first" {
	commands() {
		printf '{"method":"session/update","params":{"sessionId":"%s","update":{"sessionUpdate":"available_commands_update","availableCommands":[%s]}}}\n' "$1" "$2"
	}
	say() {
		prompt "$1" '{"type":"text","text":"'"$2"'"}'
	}
	run acp-inject --prepend x --append y < <(
		say a /compact
		commands b '7,{"name":"\u0063ompact","description":""},{"name":"mcp:x:y"}'
		say b '/compact now'
		prompt b '{"type":"image"},{"type":"text","text":"/mcp:x:y\nz"}'
		say b /compactor
		say c /compact
		commands b ''
		say b /compact
		say b 'no /compact'
	)
	assert_equal "$(grep session/prompt <<<"$output" | texts)" '["x","/compact","y"]
["/compact now"]
[null,"/mcp:x:y\nz"]
["x","/compactor","y"]
["x","/compact","y"]
["/compact"]
["no /compact"]'
}

@test "a file is read again each time; where it is gone the prompt is forwarded without it, which is said" {
	echo first >AGENTS.md
	: >out
	{
		prompt a
		wait_for has 1
		printf 'second \xff"\n' >AGENTS.md
		prompt b
		wait_for has 2
		: >AGENTS.md
		prompt c
		wait_for has 3
		rm AGENTS.md
		prompt d
		prompt e
	} | acp-inject --prepend @AGENTS.md --append z >>out 2>err
	assert_equal "$(texts out)" '["first\n","a","z"]
["second �\"\n","b","z"]
["c","z"]
["d","z"]
["e","z"]'
	assert_equal "$(cat err)" 'acp-inject: AGENTS.md: "session/prompt": No such file or directory: the prompt is forwarded without it'
}

# bats test_tags=slow
@test "with --strict a file that is gone is the end" {
	echo x >AGENTS.md
	: >out
	status=0
	{ prompt a; wait_for has 1; rm AGENTS.md; prompt b; } | acp-inject --strict --prepend @AGENTS.md >>out 2>err || status=$?
	assert_equal "$status" 125
	assert_equal "$(texts out)" '["x\n","a"]'
}

# bats test_tags=slow
@test "a prompt that is answered here, or is no array, is not the first" {
	run --separate-stderr acp-inject --prepend x -w '.params.drop' -e empty --silent <<-'EOF'
		{"id":1,"method":"session/prompt","params":{"sessionId":"s","drop":true,"prompt":[]}}
		{"id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":"words"}}
		{"id":3,"method":"session/prompt"}
		{"id":4,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}
		{"id":5,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}
	EOF
	assert_equal "$output" '{"id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":"words"}}
{"id":3,"method":"session/prompt"}
{"id":4,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"x"}]}}
{"id":5,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}'
	assert_equal "$stderr" 'acp-inject: --prepend, --append: "session/prompt": the prompt is not an array: forwarded unchanged'
}

@test "--session is for all rules" {
	run acp-inject --session b --prepend x < <(prompt a; prompt b)
	assert_equal "$(texts <<<"$output")" '["a"]
["x","b"]'
}

# bats test_tags=slow
@test "context is added to what the edit has made" {
	run acp-inject -e '.params.prompt = [{type: "text", text: "made"}] | .params.z = 1' --prepend x < <(prompt a)
	assert_output --partial '"prompt":[{"type":"text","text":"x"},{"type":"text","text":"made"}],"z":1}}'
}

# --- servers ---

@test "a server is added to what opens a session, unless one of that name is there" {
	printf '{"name":"x",\r\n "command":"y",\n"args":[] }\n' >server.json
	servers() {
		talk 7 --mcp-server @server.json --mcp-server '{"name":"\u0061","type":"acp","id":"1"}' <<-'EOF'
			{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[ ]}}
			{"jsonrpc":"2.0","id":2,"method":"session/load","params":{"mcpServers":[{"name" : "b"} ],"n":1}}
			{"jsonrpc":"2.0","id":3,"method":"session/resume","params":{ "cwd":"/" }}
			{"jsonrpc":"2.0","id":4,"method":"session/fork","params":{"mcpServers":null}}
			{"jsonrpc":"2.0","id":5,"method":"session/new","params":{"mcpServers":[{"name":"a"},{"name":"\u0078"}]}}
			{"jsonrpc":"2.0","id":6,"method":"session/list","params":{"mcpServers":[]}}
			{"jsonrpc":"2.0","id":7,"method":"session/new","params":{}}
		EOF
		[[ $(sed 's/.*"params":/ /; s/ *}}*$//' got) == ' {"cwd":"/","mcpServers":[{"name":"x",   "command":"y", "args":[] },{"name":"\u0061","type":"acp","id":"1"} ]
 {"mcpServers":[{"name" : "b"},{"name":"x",   "command":"y", "args":[] },{"name":"\u0061","type":"acp","id":"1"} ],"n":1
 { "cwd":"/","mcpServers":[{"name":"x",   "command":"y", "args":[] },{"name":"\u0061","type":"acp","id":"1"}]
 {"mcpServers":[{"name":"x",   "command":"y", "args":[] },{"name":"\u0061","type":"acp","id":"1"}]
 {"mcpServers":[{"name":"a"},{"name":"\u0078"}]
 {"mcpServers":[]
 {"mcpServers":[{"name":"x",   "command":"y", "args":[] },{"name":"\u0061","type":"acp","id":"1"}]' ]]
	}
	each_way servers
}

@test "a server for which there is no place is said, and the session starts without it" {
	run --separate-stderr acp-inject --mcp-server '{"name":"x"}' <<<'{"id":1,"method":"session/new"}
{"id":1,"method":"session/new","params":{"mcpServers":"none"}}'
	assert_output '{"id":1,"method":"session/new"}
{"id":1,"method":"session/new","params":{"mcpServers":"none"}}'
	assert_equal "$stderr" 'acp-inject: --mcp-server: "session/new": the request has no list of servers, and no place for one: the session starts without it'
}
