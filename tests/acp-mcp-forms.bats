#!/usr/bin/env bats
# acp-mcp: the forms of MCP over ACP at the agent's side: the bridge.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load mcp
	lib_setup
}

teardown() {
	mcp_teardown
}

HELLO='{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"me","version":"3"}}}'

# bats test_tags=slow
@test "a declaration with id is connected to by acpId, and messages go both ways with their ids mapped" {
	begin "$OLD"
	run answer '.method == "mcp/connect"' '{"connectionId":"c1"}'
	assert_equal "$(jq -c .params <<<"$output")" '{"acpId":"X"}'
	mcp a '{"jsonrpc":"2.0","id":"one","method":"tools/list","params":{"big":12345678901234567890123}}' '{"jsonrpc":"2.0","method":"notifications/initialized"}'
	run answer '.params.method == "tools/list"' '{"tools":[1.50]}'
	assert_output --partial '"params":{"connectionId":"c1","method":"tools/list","params":{"big":'
	grep -qF '12345678901234567890123' out
	assert_equal "$(await a.out '.id == "one"' >/dev/null; cat a.out)" '{"jsonrpc":"2.0","id":"one","result":{"tools":[1.50]}}'
	run await out '.params.method == "notifications/initialized"'
	assert_equal "$(jq -c '[.id, .params]' <<<"$output")" '[null,{"connectionId":"c1","method":"notifications/initialized"}]'
	mcp a '{"jsonrpc":"2.0","id":2,"method":"tools/call"}'
	refuse '.params.method == "tools/call"' '{"code":-7,"message":"m","data":[1]}'
	run await a.out '.id == 2'
	assert_output '{"jsonrpc":"2.0","id":2,"error":{"code":-7,"message":"m","data":[1]}}'
	# The provider asks the agent's MCP client, and tells it something.
	client '{"id":2,"method":"mcp/message","params":{"connectionId":"c1","method":"sampling/createMessage","params":{"q":1}}}' \
	    '{"method":"mcp/message","params":{"connectionId":"c1","method":"notifications/tools/list_changed"}}'
	run await a.out '.method == "sampling/createMessage"'
	mcp a "{\"jsonrpc\":\"2.0\",\"id\":$(jq .id <<<"$output"),\"result\":{\"said\":1}}"
	assert_equal "$(await out '.id == 2 and .result' | jq -c .result)" '{"said":1}'
	assert_equal "$(await a.out '.method == "notifications/tools/list_changed"')" '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
	client '{"id":3,"method":"mcp/message","params":{"connectionId":"c1","method":"roots/list"}}'
	run await a.out '.method == "roots/list"'
	mcp a "{\"id\":$(jq .id <<<"$output"),\"error\":{\"code\":-1,\"message\":\"no roots\"}}"
	assert_equal "$(await out '.id == 3 and .error' | jq -c .error)" '{"code":-1,"message":"no roots"}'
	unshim a
	assert_equal "$(await out '.method == "mcp/disconnect"' | jq -c .params)" '{"connectionId":"c1"}'
	wait "${SHIM[a]}"
	finish
	[ ! -s err ]
}

# bats test_tags=slow
@test "what the agent's MCP client sends before there is a connection waits for it, in order" {
	begin "$OLD"
	mcp a '{"id":1,"method":"a"}' '{"id":2,"method":"b"}' '{"method":"n"}' '{"id":3,"method":"c"}' '{"id":4,"method":"d"}'
	await out '.method == "mcp/connect"'
	run ! grep mcp/message out
	answer '.method == "mcp/connect"' '{"connectionId":"c"}'
	await out '.params.method == "d"'
	assert_equal "$(jq -rj 'select(.method == "mcp/message").params | .method, (.connectionId | ascii_upcase)' out)" aCbCnCcCdC
	finish
}

# bats test_tags=slow
@test "a declaration with serverId is spoken to in the newest form, and MCP's handshake is answered here" {
	begin "$NEW"
	mcp a "$HELLO"
	run answer '.method == "mcp/message"' '{"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"instructions":"do","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"far","version":"9"}}}}'
	assert_equal "$(jq -c '.params | [.serverId, (.requestId | type), .method, .params]' <<<"$output")" \
	    '["X","string","server/discover",{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/clientInfo":{"name":"me","version":"3"}}}]'
	run await a.out '.id == 0'
	assert_output '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"far","version":"9"},"instructions":"do"}}'
	mcp a '{"jsonrpc":"2.0","method":"notifications/initialized"}' '{"id":1,"method":"ping"}' \
	    '{"id":2,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":5}}}' '{"id":3,"method":"tools/list"}'
	assert_equal "$(await a.out '.id == 1')" '{"jsonrpc":"2.0","id":1,"result":{}}'
	run await out '.params.method == "tools/call"'
	assert_equal "$(jq -c .params.params <<<"$output")" \
	    '{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/clientInfo":{"name":"me","version":"3"},"progressToken":5}}'
	# A notification is for an active request; one for no other.
	id=$(jq .params.requestId <<<"$output")
	client '{"method":"mcp/message","params":{"serverId":"X","requestId":"no","method":"n"}}' \
	    "{\"method\":\"mcp/message\",\"params\":{\"serverId\":\"X\",\"requestId\":$id,\"method\":\"notifications/progress\",\"params\":{\"progressToken\":5,\"progress\":1}}}"
	await a.out '.method == "notifications/progress" and .params.progressToken == 5'
	await got '.params.requestId == "no"'
	answer '.params.method == "tools/call"' '{"result":{"resultType":"complete","content":[]}}'
	answer '.params.method == "tools/list"' '{"error":{"code":-1,"message":"inner"}}'
	assert_equal "$(await a.out '.id == 2' | jq -c .result)" '{"content":[]}'
	assert_equal "$(await a.out '.id == 3' | jq -c .error)" '{"code":-1,"message":"inner"}'
	mcp a '{"id":4,"method":"tools/call"}' '{"id":5,"method":"p"}' '{"id":6,"method":"q"}'
	answer '.params.params.name == null and .params.method == "tools/call"' '{"result":{"resultType":"input_required"}}'
	assert_equal "$(await a.out '.id == 4' | jq -r .error.message)" 'acp-mcp: the server wants input, which an older MCP client cannot be asked for'
	refuse '.params.method == "p"' '{"code":-33000,"message":"outer"}'
	assert_equal "$(await a.out '.id == 5' | jq -c .error)" '{"code":-33000,"message":"outer"}'
	answer '.params.method == "q"' '7'
	assert_equal "$(await a.out '.id == 6' | jq -r .error.message)" 'acp-mcp: a response with neither result nor error'
	unshim a
	finish
	run ! grep -E 'mcp/(dis)?connect|notifications/initialized|"ping"' out
	[ ! -s err ]
}

# bats test_tags=slow
@test "an older MCP client gets the notifications unasked that the newest form sends to subscribers only" {
	begin "$NEW"
	mcp a "$HELLO"
	answer '.params.method == "server/discover"' '{"result":{"capabilities":{"tools":{"listChanged":true},"prompts":{"listChanged":false},"resources":{"listChanged":true,"subscribe":true}}}}'
	await a.out '.id == 0'
	run ! grep subscriptions/listen out
	mcp a '{"jsonrpc":"2.0","method":"notifications/initialized"}'
	request=$(await out '.params.method == "subscriptions/listen"')
	assert_equal "$(jq -c '.params.params | [.notifications, (._meta | keys | length)]' <<<"$request")" \
	    '[{"toolsListChanged":true,"resourcesListChanged":true},3]'
	id=$(jq -c .params.requestId <<<"$request")
	tell() { client "{\"method\":\"mcp/message\",\"params\":{\"serverId\":\"X\",\"requestId\":$1,\"method\":\"notifications/$2\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":$1}}}}"; }
	tell "$id" subscriptions/acknowledged
	tell "$id" tools/list_changed
	await a.out '.method == "notifications/tools/list_changed"'
	# Resources are named one by one: each time it asks anew, and takes back what it asked before.
	mcp a '{"id":1,"method":"resources/subscribe","params":{"uri":"f:1"}}' '{"id":2,"method":"resources/subscribe","params":{"uri":"f:2"}}' \
	    '{"id":3,"method":"resources/unsubscribe","params":{"uri":"f:\u0031"}}'
	await a.out '.id == 3 and .result == {}'
	wait_for eval '[ "$(grep -c subscriptions/listen out)" -eq 4 ]'
	assert_equal "$(jq -c 'select(.params.method == "subscriptions/listen").params.params.notifications.resourceSubscriptions' out | tr '\n' ' ')" \
	    'null ["f:1"] ["f:2","f:1"] ["f:2"] '
	await out ".method == \"\$/cancel_request\" and .params.requestId == $(jq .id <<<"$request")"
	client "{\"jsonrpc\":\"2.0\",\"id\":$(jq .id <<<"$request"),\"error\":{\"code\":-32800,\"message\":\"Request cancelled\"}}"
	last=$(tail -n 2 out | jq -c 'select(.params.method == "subscriptions/listen")')
	tell "$(jq .params.requestId <<<"$last")" resources/updated
	await a.out '.method == "notifications/resources/updated"'
	# With its end the subscription ends.
	unshim a
	await out ".method == \"\$/cancel_request\" and .params.requestId == $(jq .id <<<"$last")"
	finish
	run ! grep -E 'subscriptions' a.out
	[ ! -s err ]
}

# bats test_tags=slow
@test "a provider that has nobody listen is not asked again, and nothing else changes" {
	begin "$NEW"
	mcp a "$HELLO"
	answer '.params.method == "server/discover"' '{"result":{"capabilities":{"tools":{"listChanged":true}}}}'
	mcp a '{"jsonrpc":"2.0","method":"notifications/initialized"}'
	refuse '.params.method == "subscriptions/listen"' '{"code":-32601,"message":"what?"}'
	mcp a '{"id":1,"method":"tools/list"}'
	answer '.params.method == "tools/list"' '{"result":{"tools":[]}}'
	await a.out '.id == 1'
	unshim a
	finish
	assert_equal "$(grep -c subscriptions/listen out)" 1
	[ ! -s err ]
}

# bats test_tags=slow
@test "an MCP client that speaks the newest protocol and listens knows its subscription by its own id" {
	begin "$NEW"
	mcp a '{"id":12,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}'
	answer '.params.method == "server/discover"' '{"result":{"capabilities":{}}}'
	request=$(await out '.params.method == "subscriptions/listen"')
	id=$(jq -c .params.requestId <<<"$request")
	client "{\"method\":\"mcp/message\",\"params\":{\"serverId\":\"X\",\"requestId\":$id,\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":$id,\"a\":1},\"notifications\":{}}}}"
	assert_equal "$(await a.out '.method == "notifications/subscriptions/acknowledged"' | jq -c .params)" \
	    '{"_meta":{"io.modelcontextprotocol/subscriptionId":12,"a":1},"notifications":{}}'
	mcp a '{"method":"notifications/cancelled","params":{"requestId":12}}'
	await out ".method == \"\$/cancel_request\" and .params.requestId == $(jq .id <<<"$request")"
	finish
}

# bats test_tags=slow
@test "an MCP client that speaks the newest protocol gets what the provider says" {
	begin "$NEW"
	request='"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"x":1}}}'
	mcp a "{\"id\":0,\"method\":\"server/discover\",$request}"
	run answer '.params.method == "server/discover"' '{"result":{"resultType":"complete","supportedVersions":["2026-07-28"]}}'
	assert_equal "$(jq -c '.params.params' <<<"$output")" "$(jq -c .params <<<"{$request}")"
	assert_equal "$(await a.out '.id == 0' | jq -c .result)" '{"resultType":"complete","supportedVersions":["2026-07-28"]}'
	mcp a "{\"id\":1,\"method\":\"tools/call\",$request}"
	answer '.params.method == "tools/call"' '{"result":{"resultType":"input_required","inputRequests":{}}}'
	assert_equal "$(await a.out '.id == 1' | jq -c .result)" '{"resultType":"input_required","inputRequests":{}}'
	finish
}

@test "in the newest form server/discover is sent before another first request, which may take long and can be cancelled" {
	begin "$NEW"
	mcp a '{"id":1,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}' \
	    '{"id":2,"method":"quick"}' '{"method":"notifications/cancelled","params":{"requestId":1}}'
	request=$(await out '.method == "mcp/message"')
	assert_equal "$(jq -c '.params | [.method, .params]' <<<"$request")" \
	    '["server/discover",{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}]'
	# Any other response than those for an unknown form.
	client "{\"id\":$(id_of "$request"),\"error\":{\"code\":-32603,\"message\":\"no\"}}"
	id=$(await out '.params.method == "tools/call"' | jq -c .id)
	answer '.params.method == "quick"' '{"result":{}}'
	await a.out '.id == 2'
	assert_equal "$(await out '.method == "$/cancel_request"' | jq -c .params.requestId)" "$id"
	unshim a
	wait "${SHIM[a]}"
	finish
	assert_equal "$(cat a.out)" '{"jsonrpc":"2.0","id":2,"result":{}}'
	[ ! -s err ]
	# Only server/discover has --timeout.
	begin "$NEW" --timeout 100ms
	mcp a '{"id":1,"method":"tools/call"}'
	assert_equal "$(await a.out '.id == 1' | jq -c .error.code)" -33001
	finish
	# The form is another.
	begin "$NEW"
	mcp a '{"id":1,"method":"tools/call"}'
	refuse '.params.method == "server/discover"' '{"code":-32601,"message":"what?"}'
	answer '.method == "mcp/connect"' '{"connectionId":"c"}'
	answer '.params.connectionId == "c" and .params.method == "tools/call"' '{}'
	await a.out '.id == 1 and .result'
	finish
}

@test "an older MCP client gets a result that is no object as it came" {
	begin "$NEW"
	mcp a "$HELLO"
	answer '.params.method == "server/discover"' '{"result":{}}'
	await a.out '.id == 0'
	mcp a '{"id":1,"method":"a"}' '{"id":2,"method":"b"}'
	answer '.params.method == "a"' '{"result":[1.50, {"ttlMs":1}]}'
	answer '.params.method == "b"' '{"result":"c"}'
	await a.out '.id == 2'
	assert_equal "$(sed 1d a.out)" '{"jsonrpc":"2.0","id":1,"result":[1.50, {"ttlMs":1}]}
{"jsonrpc":"2.0","id":2,"result":"c"}'
	unshim a
	finish
	[ ! -s err ]
}

# bats test_tags=slow
@test "a provider that does not know the newest form is connected to by serverId, and nothing is lost" {
	for code in -32601 -32602; do
		begin "$NEW"
		mcp a "$HELLO" '{"id":1,"method":"tools/list"}'
		refuse '.method == "mcp/message"' "{\"code\":$code,\"message\":\"what?\"}"
		run answer '.method == "mcp/connect"' '{"connectionId":"c"}'
		assert_equal "$(jq -c .params <<<"$output")" '{"serverId":"X"}'
		run answer '.params.connectionId == "c" and .params.method == "initialize"' '{"protocolVersion":"2025-06-18"}'
		assert_equal "$(jq -c .params.params.clientInfo.name <<<"$output")" '"me"'
		answer '.params.connectionId == "c" and .params.method == "tools/list"' '{"tools":[]}'
		await a.out '.id == 0 and .result.protocolVersion == "2025-06-18"'
		await a.out '.id == 1'
		unshim a
		await out '.method == "mcp/disconnect"'
		finish
	done
}

# bats test_tags=slow
@test "--dialect forces a form, whatever is declared" {
	begin "$NEW" --dialect acpId
	assert_equal "$(await out '.method == "mcp/connect"' | jq -c .params)" '{"acpId":"X"}'
	finish
	begin "$OLD" --dialect serverId
	assert_equal "$(await out '.method == "mcp/connect"' | jq -c .params)" '{"serverId":"X"}'
	finish
	begin "$OLD" --dialect newest
	mcp a "$HELLO"
	# It is not fallen back from.
	refuse '.method == "mcp/message"' '{"code":-32601,"message":"what?"}'
	assert_equal "$(await a.out '.id == 0' | jq -c .error)" '{"code":-32601,"message":"what?"}'
	finish
	run ! grep mcp/connect out
}

# bats test_tags=slow
@test "several servers, several connections to each, several sessions, and equal ids in all of them" {
	bridge
	initialize
	session s "[$OLD,{\"type\":\"acp\",\"name\":\"y\",\"id\":\"Y\"}]"
	session t "[$OLD]"
	shim a "$(socket x s)"
	shim b "$(socket x s)"
	shim c "$(socket y s)"
	shim d "$(socket x t)"
	wait_for eval '[ "$(grep -c mcp/connect out)" -eq 4 ]'
	assert_equal "$(jq -r 'select(.method == "mcp/connect").params.acpId' out | sort | tr -d '\n')" XXXY
	jq -c 'select(.method == "mcp/connect") | {jsonrpc: "2.0", id, result: {connectionId: ("c" + .id)}}' out >answers
	cat answers >&8
	for name in a b c d; do mcp "$name" "{\"id\":1,\"method\":\"$name\"}"; done
	for name in d b a c; do answer ".params.method == \"$name\"" "{\"for\":\"$name\"}"; done
	for name in a b c d; do
		assert_equal "$(await "$name.out" '.id == 1')" "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"for\":\"$name\"}}"
	done
	assert_equal "$(jq -r 'select(.method == "mcp/message").params.connectionId' out | sort -u | wc -l)" 4
	finish
}

# bats test_tags=slow
@test "in the newest form two connections never give the same requestId" {
	begin "$NEW"
	shim b "$(socket)"
	mcp a '{"id":1,"method":"m"}'
	mcp b '{"id":1,"method":"m"}'
	wait_for eval '[ "$(grep -c mcp/message out)" -eq 2 ]'
	assert_equal "$(jq -r 'select(.method == "mcp/message").params.requestId' out | sort -u | wc -l)" 2
	finish
}

# bats test_tags=slow
@test "cancelling goes through, with the ids of each side" {
	begin "$OLD"
	answer '.method == "mcp/connect"' '{"connectionId":"c"}'
	mcp a '{"id":"mine","method":"slow"}' '{"id":"other","method":"quick"}' '{"method":"notifications/cancelled","params":{"requestId":"mine"}}' \
	    '{"method":"notifications/cancelled","params":{"requestId":"unknown"}}' '{"method":"notifications/cancelled"}'
	id=$(await out '.params.method == "slow"' | jq -c .id)
	assert_equal "$(await out '.method == "$/cancel_request"' | jq -c .params.requestId)" "$id"
	assert_equal "$(grep -c cancel_request out)" 1
	run ! grep notifications/cancelled out
	# The provider's own request.
	client '{"id":"p","method":"mcp/message","params":{"connectionId":"c","method":"elicitation/create"}}'
	id=$(await a.out '.method == "elicitation/create"' | jq -c .id)
	client '{"method":"$/cancel_request","params":{"requestId":"p"}}'
	assert_equal "$(await a.out '.method == "notifications/cancelled"' | jq -c .params)" "{\"requestId\":$id}"
	assert_equal "$(await out '.id == "p"' | jq -c .error.code)" -32800
	# Its answer comes too late.
	mcp a "{\"id\":$id,\"result\":{}}" '{"id":9,"method":"after"}'
	await out '.params.method == "after"'
	assert_equal "$(grep -c '"p"' out)" 1
	client '{"method":"$/cancel_request","params":{"requestId":"p"}}'
	await got '.method == "$/cancel_request"'
	# What is out when the agent closes is cancelled.
	unshim a
	await out '.method == "mcp/disconnect"'
	assert_equal "$(grep -c cancel_request out)" 4
	finish
}

# --- MCP 2026-07-28 in the first form ---

# bats test_tags=slow
@test "in the first form, too, an MCP client knows its subscriptions by its own ids, whatever the provider calls them" {
	begin "$OLD"
	answer '.method == "mcp/connect"' '{"connectionId":"c"}'
	mcp a '{"id":"l1","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}' \
	    '{"id":2,"method":"subscriptions/listen","params":{"notifications":{}}}'
	await out '.method == "mcp/message" and .params.params.notifications == {}'
	tell() { client "{\"method\":\"mcp/message\",\"params\":{\"connectionId\":\"c\",\"method\":\"notifications/$2\",\"params\":{\"_meta\":{\"a\":1,\"io.modelcontextprotocol/subscriptionId\":$1}}}}"; }
	tell 71 subscriptions/acknowledged
	tell '"72"' subscriptions/acknowledged
	tell '"72"' resources/updated
	tell 71 tools/list_changed
	await a.out '.method == "notifications/tools/list_changed"'
	assert_equal "$(jq -c '[.method, .params._meta]' a.out | sed 's/io.modelcontextprotocol.//')" \
	    '["notifications/subscriptions/acknowledged",{"a":1,"subscriptionId":"l1"}]
["notifications/subscriptions/acknowledged",{"a":1,"subscriptionId":2}]
["notifications/resources/updated",{"a":1,"subscriptionId":2}]
["notifications/tools/list_changed",{"a":1,"subscriptionId":"l1"}]'
	answer '.params.params.notifications == {}' '{"_meta":{"io.modelcontextprotocol/subscriptionId":"72"}}'
	assert_equal "$(await a.out '.id == 2' | jq -c '.result._meta[]')" 2
	finish
}

# bats test_tags=slow
@test "a cancelled request gets no response, in either form" {
	for declared in "$OLD" "$NEW"; do
		begin "$declared"
		if [[ $declared == "$OLD" ]]; then
			answer '.method == "mcp/connect"' '{"connectionId":"c"}'
		else
			mcp a "$HELLO"
			answer '.params.method == "server/discover"' '{"result":{"capabilities":{"tools":{}}}}'
		fi
		mcp a '{"id":1,"method":"slow"}' '{"id":2,"method":"slow2"}' '{"method":"notifications/cancelled","params":{"requestId":1}}' \
		    '{"method":"notifications/cancelled","params":{"requestId":2}}' '{"id":3,"method":"quick"}'
		await out '.params.method == "quick"'
		refuse '.params.method == "slow"' '{"code":-32800,"message":"Request cancelled"}'
		answer '.params.method == "slow2"' '{"result":{}}'
		answer '.params.method == "quick"' '{"result":{}}'
		await a.out '.id == 3'
		run ! grep -E '"id":(1|2),' a.out
		unshim a
		finish
		[ ! -s err ]
	done
}
