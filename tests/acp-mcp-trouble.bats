#!/usr/bin/env bats
# acp-mcp: what happens when something goes wrong, or there is much of it; and the ways to meet the stream.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load mcp
	lib_setup
}

teardown() {
	mcp_teardown
}

# bats test_tags=slow
@test "a provider that never answers: an error after --timeout, in each form; a late connection is given back" {
	begin "$OLD" --timeout 100ms
	mcp a '{"id":1,"method":"initialize"}'
	assert_equal "$(await a.out '.id == 1' | jq -c .error)" "{\"code\":-33001,\"message\":\"acp-mcp: the server's provider does not respond\"}"
	answer '.method == "mcp/connect"' '{"connectionId":"late"}'
	assert_equal "$(await out '.method == "mcp/disconnect"' | jq -c .params)" '{"connectionId":"late"}'
	finish
	begin "$NEW" --timeout 100ms
	mcp a '{"id":1,"method":"initialize"}'
	await a.out '.id == 1 and .error.code == -33001'
	await out '.method == "$/cancel_request"'
	finish
	# It does not know the newest form, and then says nothing.
	begin "$NEW" --timeout 4s
	mcp a '{"id":1,"method":"initialize"}'
	refuse '.method == "mcp/message"' '{"code":-32601,"message":"what?"}'
	await out '.method == "mcp/connect"'
	await a.out '.id == 1 and .error.code == -33001'
	finish
}

# bats test_tags=slow
@test "a response to mcp/connect without a connectionId" {
	begin "$OLD"
	mcp a '{"id":1,"method":"initialize"}'
	answer '.method == "mcp/connect"' '{"connectionId":7}'
	await a.out '.id == 1 and .error.code == -32603'
	finish
}

# bats test_tags=slow
@test "a shim whose acp-mcp has gone says so; one that runs sees the end" {
	run -125 acp-mcp --connect "$PWD/none"
	assert_output "acp-mcp: $PWD/none: No such file or directory: has acp-mcp ended?"
	begin "$OLD"
	answer '.method == "mcp/connect"' '{"connectionId":"c"}'
	kill -KILL "$BRIDGE"
	wait "${SHIM[a]}"
	assert_equal "$(cat a.err)" "acp-mcp: $(socket): the server has ended"
	[ ! -s a.out ]
}

@test "a shim whose standard output cannot be written says so, and exits with 125; an agent that reads no more has left" {
	[[ -e /dev/full ]] || skip 'there is no /dev/full'
	bridge acp-mcp --provide "x=$SERVER x"
	initialize
	session s '[]'
	path=$(socket)
	run -125 sh -c 'exec acp-mcp --connect "$1" >/dev/full' - "$path" <<<'{"id":1,"method":"ping"}'
	assert_output 'acp-mcp: writing to the agent: No space left on device'
	run -0 --separate-stderr bash -c 'exec acp-mcp --connect "$1" > >(exec true)' - "$path" <<<'{"id":1,"method":"ping"}'
	assert_equal "$stderr" ''
	finish
}

# bats test_tags=slow
@test "a shim that is killed: its provider gets a disconnect, and the others go on" {
	begin "$OLD"
	answer '.method == "mcp/connect"' '{"connectionId":"c1"}'
	shim b "$(socket)"
	wait_for eval '[ "$(grep -c mcp/connect out)" -eq 2 ]'
	client "{\"id\":$(grep mcp/connect out | tail -n 1 | jq -c .id),\"result\":{\"connectionId\":\"c2\"}}"
	mcp a '{"id":1,"method":"slow"}'
	client '{"id":"p","method":"mcp/message","params":{"connectionId":"c1","method":"roots/list"}}'
	await a.out '.method == "roots/list"'
	kill -KILL "${SHIM[a]}"
	assert_equal "$(await out '.method == "mcp/disconnect"' | jq -c .params)" '{"connectionId":"c1"}'
	await out '.method == "$/cancel_request"'
	await out '.id == "p" and .error.code == -33001'
	mcp b '{"id":1,"method":"quick"}'
	answer '.params.method == "quick"' '{}'
	await b.out '.id == 1'
	# Late answers are nobody's.
	answer '.params.method == "slow"' '{}'
	client '{"id":9,"method":"after"}'
	await got '.id == 9'
	unshim b
	finish
	run ! grep slow got
	[ ! -s err ]
}

# bats test_tags=slow
@test "garbage from the agent's MCP client does no harm" {
	begin "$OLD"
	answer '.method == "mcp/connect"' '{"connectionId":"c"}'
	mcp a 'hello' '5' '' '[]' '[1,[],{}]' '{"id":1,"id":2,"method":"m"}' '{"result":1,"id":77}' '{"result":1,"id":"x"}' '{"error":{},"id":null}' \
	    '{"id":3,"method":"ok","params":7}' '{"id":null,"method":"null"}'
	answer '.params.method == "ok"' '{}'
	answer '.params.method == "null"' '{}'
	assert_equal "$(await a.out '.id == 3')" '{"jsonrpc":"2.0","id":3,"result":{}}'
	await a.out 'has("id") and .id == null'
	head -c 300000 /dev/urandom | tr -d '\n' >&"${SHIM_FD[a]}"
	mcp a '' '{"id":4,"method":"last"}'
	await out '.params.method == "last"'
	unshim a
	finish
	[ "$(grep -c 'is not a message' err)" -ge 6 ]
}

# bats test_tags=slow
@test "a line that is too long is reported, and the next one is handled" {
	begin "$OLD" --max-line 100K
	answer '.method == "mcp/connect"' '{"connectionId":"c"}'
	{ printf '{"id":1,"method":"'; head -c 300000 /dev/zero | tr '\0' x; echo '"}'; } >&"${SHIM_FD[a]}"
	mcp a '{"id":2,"method":"ok"}'
	await out '.params.method == "ok"'
	finish
	assert_equal "$(cut -c 1-101 err)" 'acp-mcp: server "x": a line of the agent is not a message: it is too long: {"id":1,"method":"xxxxxxxx'
}

# bats test_tags=slow
@test "results of ten megabytes, both ways" {
	bridge acp-mcp --provide "x=$SERVER x" -- acp-mcp
	initialize
	session s '[]'
	shim a "$(socket)"
	mcp a '{"id":1,"method":"tools/call","params":{"name":"big","arguments":{"bytes":10485760}}}'
	wait_for grep -q ']}}$' a.out
	assert_equal "$(jq -r '.result.content[0].text | length' a.out)" 10485760
	{ printf '{"id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"'; head -c 5000000 /dev/zero | tr '\0' x; echo '"}}}'; } >&"${SHIM_FD[a]}"
	wait_for eval '[ "$(grep -c "]}}$" a.out)" -eq 2 ]'
	assert_equal "$(tail -n 1 a.out | jq -r '.result.content[0].text | length')" 5000003
	unshim a
	finish
	[ ! -s err ]
}

# bats test_tags=slow
@test "a peer that does not read stops what comes for it, not the other way, and is given up" {
	begin "$OLD" --max-line 1M --timeout 4s
	answer '.method == "mcp/connect"' '{"connectionId":"c"}'
	kill -STOP "${SHIM[a]}"
	{ printf '{"method":"mcp/message","params":{"connectionId":"c","method":"n","params":"'; head -c 900000 /dev/zero | tr '\0' x; echo '"}}'; } >line
	for _ in 1 2 3 4; do cat line; done >&8
	agent '{"method":"up"}'
	await out '.method == "up"'
	client '{"method":"after"}'
	wait_for grep -q '"after"' got
	kill -CONT "${SHIM[a]}"
	wait "${SHIM[a]}" || true
	await out '.method == "mcp/disconnect"'
	finish
	grep -qxF 'acp-mcp: server "x": the agent does not read: closing the connection' err
}

# bats test_tags=slow
@test "a hundred connections at once" {
	bridge acp-mcp --max-connections 100 --provide "x=$SERVER x" -- acp-mcp
	initialize
	session s '[]'
	path=$(socket)
	for i in {1..100}; do
		mkfifo "in$i"
		acp-mcp --connect "$path" <"in$i" >"out$i" 7>&- 8>&- &
	done
	# Opened when all are started, for they must not hold each other's input; closed when all have their answers.
	for i in {1..100}; do
		exec {fd}>"in$i"
		echo "{\"id\":$i,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"$i\"}}}" >&"$fd"
		fds+=("$fd")
	done
	for i in {1..100}; do
		wait_for grep -qF "x: $i\"" "out$i"
	done
	for fd in "${fds[@]}"; do exec {fd}>&-; done
	wait_for eval '! pgrep -P "$BRIDGE" -x jq >/dev/null'
	finish
	[ ! -s err ]
	wait_for nobody_left
}

# bats test_tags=slow
@test "where descriptors run out, who has come waits until others have gone" {
	# Nobody answers mcp/connect: those whose agent has gone are let go after the timeout.
	bridge sh -c 'ulimit -n 24; exec acp-mcp --timeout 1s "$@"' -
	initialize
	session s "[$OLD]"
	for name in {a..n}; do shim "$name" "$(socket)"; done
	# The second is musl's word.
	wait_for grep -qE 'Too many open files|No file descriptors available' err
	for name in {a..g}; do unshim "$name"; done
	wait_for eval '[ "$(grep -c mcp/connect out)" -eq 14 ]'
	finish
}

# bats test_tags=slow
@test "the end with open connections: providers get a disconnect, no process is left" {
	begin "$OLD"
	answer '.method == "mcp/connect"' '{"connectionId":"c"}'
	exec 7>&-
	exec 8>&-
	wait "$BRIDGE"
	assert_equal "$(await out '.method == "mcp/disconnect"' | jq -c .params)" '{"connectionId":"c"}'
	wait "${SHIM[a]}"
	leaves_nobody
}

@test "an open request does not delay the end: it gets an error when the client leaves, and is cancelled at the agent" {
	begin "$OLD" --grace 60s
	answer '.method == "mcp/connect"' '{"connectionId":"c"}'
	client '{"id":"q","method":"mcp/message","params":{"connectionId":"c","method":"sampling/createMessage"}}'
	id=$(await a.out '.method == "sampling/createMessage"' | jq -c .id)
	exec 8>&-
	await out '.id == "q" and .error.code == -32800'
	await a.out ".method == \"notifications/cancelled\" and .params.requestId == $id"
	unshim a
	finish
	[ ! -s err ]
}

# bats test_tags=slow
@test "in a chain of acp-conduct, as filters and as proxies" {
	for how in -f -p; do
		bridge acp-conduct $how "exec acp-mcp --provide 'x=$SERVER x'" $how acp-mcp
		initialize >/dev/null
		client '{"id":"s","method":"session/new","params":{"cwd":"/","mcpServers":[]}}'
		await got '.method == "session/new"' >/dev/null
		shim a "$(jq -r 'select(.method == "session/new").params.mcpServers[0].args[1]' got)"
		mcp a '{"id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}' '{"id":2,"method":"tools/call","params":{"name":"ask"}}'
		assert_equal "$(await a.out '.id == 1' | jq -r '.result.content[0].text')" 'x: hi'
		id=$(await a.out '.method == "sampling/createMessage"' | jq -c .id)
		mcp a "{\"id\":$id,\"result\":5}"
		assert_equal "$(await a.out '.id == 2' | jq -r '.result.content[0].text')" 'answered: 5'
		unshim a
		finish
	done
	leaves_nobody
}

@test "a one-way pipe is refused, and what does not go together" {
	run -2 acp-mcp --way pipe </dev/null
	assert_output --partial 'a one-way pipe is not enough'
	run -2 acp-mcp --provide x
	run -2 acp-mcp --provide =x
	run -2 acp-mcp --provide x=
	run -2 acp-mcp --dialect first
	run -2 acp-mcp --connect x --provide x=y
	run -2 acp-mcp --connect x -- agent
	run -2 acp-mcp agent
	run -2 acp-mcp --
	run -2 acp-mcp --way link -- agent
	run -127 acp-mcp -- ./no-such-agent
}

@test "the request of a response in an array gets an error, and the next one a response" {
	begin "$OLD"
	answer '.method == "mcp/connect"' '{"connectionId":"c"}'
	client '{"id":"q","method":"mcp/message","params":{"connectionId":"c","method":"roots/list"}}'
	id=$(await a.out '.method == "roots/list"' | jq -c .id)
	mcp a "[{\"id\":99,\"result\":{}},{\"id\":$id,\"result\":{}},{\"id\":\"r\",\"method\":\"m\"}]"
	assert_equal "$(await out '.id == "q"' | jq -c .error)" '{"code":-32603,"message":"acp-mcp: the response is in an array"}'
	await a.out '.id == "r" and .error.code == -32600'
	client '{"id":"q2","method":"mcp/message","params":{"connectionId":"c","method":"ping"}}'
	mcp a "{\"id\":$(await a.out '.method == "ping"' | jq -c .id),\"result\":{}}"
	await out '.id == "q2" and .result'
	finish
	[ "$(grep -c null a.out)" -eq 0 ]
}

# bats test_tags=slow
@test "what is longer than --max-line, or not a message, gets an error: a server's result and the agent's request" {
	# The id comes first, or last, as some servers write it.
	cat >long.jq <<-'END'
		inputs | if has("id") | not then empty
		elif .method == "first" then "{\"jsonrpc\":\"2.0\",\"id\":\(.id),\"result\":{\"a\":[\"\("x" * 300000)\"]}}"
		elif .method == "last" then "{\"result\":{\"id\":99,\"a\":{\"id\":[],\"}{\\\"\":\"\("x" * 300000)\"}},\"jsonrpc\":\"2.0\",\"id\":\(.id)}"
		else "{\"jsonrpc\":\"2.0\",\"id\":\(.id),\"result\":{}}" end
	END
	bridge acp-mcp --max-line 100K --provide "x=jq -r --unbuffered -n -f long.jq"
	initialize '{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"acp":true}}}'
	id=$(session s '[]' | jq -c '.[0].id')
	agent "{\"id\":1,\"method\":\"mcp/connect\",\"params\":{\"acpId\":$id}}"
	c=$(await got '.id == 1 and .result' | jq -c .result.connectionId)
	agent "{\"id\":2,\"method\":\"mcp/message\",\"params\":{\"connectionId\":$c,\"method\":\"first\"}}" \
	    "{\"id\":3,\"method\":\"mcp/message\",\"params\":{\"connectionId\":$c,\"method\":\"last\"}}" \
	    "{\"id\":4,\"method\":\"mcp/message\",\"params\":{\"connectionId\":$c,\"method\":\"ok\"}}"
	await got '.id == 4 and .result'
	for id in 2 3; do
		assert_equal "$(await got ".id == $id" | jq -c .error)" '{"code":-32603,"message":"acp-mcp: the response is not a message, or longer than --max-line"}'
	done
	finish
	begin "$OLD" --max-line 100K
	answer '.method == "mcp/connect"' '{"connectionId":"c"}'
	mcp a '[{"id":"b1","method":"m"},{"method":"m"},{"id":"b2","method":"m"}]'
	await a.out '.id == "b1" and .error.code == -32600'
	await a.out '.id == "b2" and .error.code == -32600'
	mcp a '{"id":"twice","method":"m","method":"m"}'
	await a.out '.id == "twice" and .error.code == -32600'
	{ printf '{"method":"m","id":"me","params":{"id":5,"a":"'; head -c 300000 /dev/zero | tr '\0' x; echo '"}}'; } >&"${SHIM_FD[a]}"
	assert_equal "$(await a.out '.id == "me"' | jq -c .error)" '{"code":-32600,"message":"acp-mcp: the request is not a message, or longer than --max-line"}'
	finish
}
