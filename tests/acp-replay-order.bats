#!/usr/bin/env bats
# acp-replay as the agent: which request is which, and what may come in another order.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load replay
	lib_setup
}

teardown() {
	end_left_over
}

# Two sessions, side by side, a turn each.
two_sessions() {
	recording s.rec <<-'END'
		> {"id":0,"method":"initialize","params":{}}
		< {"id":0,"result":{}}
		> {"id":1,"method":"session/new","params":{"cwd":"/a"}}
		> {"id":2,"method":"session/new","params":{"cwd":"/b"}}
		< {"id":1,"result":{"sessionId":"A"}}
		< {"id":2,"result":{"sessionId":"B"}}
		< {"method":"session/update","params":{"sessionId":"A","update":"ready"}}
		< {"method":"session/update","params":{"sessionId":"B","update":"ready"}}
		> {"id":3,"method":"session/prompt","params":{"sessionId":"A","prompt":"a"}}
		> {"id":4,"method":"session/prompt","params":{"sessionId":"B","prompt":"b"}}
		< {"method":"session/update","params":{"sessionId":"A","update":"1"}}
		< {"method":"session/update","params":{"sessionId":"B","update":"1"}}
		< {"id":9,"method":"session/request_permission","params":{"sessionId":"B"}}
		< {"method":"session/update","params":{"sessionId":"A","update":"2"}}
		< {"id":3,"result":{"stopReason":"end_turn"}}
		> {"id":9,"result":{"outcome":{}}}
		< {"id":4,"result":{"stopReason":"end_turn"}}
		< {"method":"session/update","params":{"sessionId":"A","update":"used"}}
	END
}

# says LINE: the next line of the agent.
says() {
	hear
	assert_equal "$line" "$1"
}

update() {
	says "{\"method\":\"session/update\",\"params\":{\"sessionId\":\"$1\",\"update\":\"$2\"}}"
}

@test "a session goes its way, whatever becomes of the one that was recorded beside it" {
	two_sessions
	play_agent s.rec
	tell '{"id":0,"method":"initialize","params":{}}'
	says '{"id":0,"result":{}}'
	# The second session first, and all of it.
	tell '{"id":"b","method":"session/new","params":{"cwd":"/b"}}'
	says '{"id":"b","result":{"sessionId":"B"}}'
	update B ready
	tell '{"id":"c","method":"session/prompt","params":{"prompt":"b","sessionId":"B"}}'
	update B 1
	says '{"id":9,"method":"session/request_permission","params":{"sessionId":"B"}}'
	tell '{"id":9,"result":{"outcome":{}}}'
	says '{"id":"c","result":{"stopReason":"end_turn"}}'
	tell '{"id":"d","method":"session/new","params":{"cwd":"/a"}}'
	says '{"id":"d","result":{"sessionId":"A"}}'
	update A ready
	tell '{"id":"e","method":"session/prompt","params":{"sessionId":"A","prompt":"a"}}'
	update A 1
	update A 2
	says '{"id":"e","result":{"stopReason":"end_turn"}}'
	# What came last in the recording came behind its session's answer.
	update A used
	hang_up
	assert_equal "$status" 0
	assert_equal "$(cat err)" ''
}

@test "in the recorded order all comes in the recorded order" {
	two_sessions
	# Its last record needs nothing of the other session.
	head -n -1 s.rec >t.rec
	acp-replay t.rec < <(jq -c 'select(.from == "client").msg' t.rec) >up
	jq -c 'select(.from == "agent").msg' t.rec | cmp - up
}

@test "two requests that were open at once may come one after the other, in any order" {
	recording s.rec <<-'END'
		> {"id":1,"method":"session/set_mode","params":{"sessionId":"A","modeId":"x"}}
		> {"id":2,"method":"session/set_mode","params":{"sessionId":"A","modeId":"y"}}
		< {"id":1,"result":"x"}
		< {"id":2,"result":"y"}
	END
	play_agent s.rec
	tell '{"id":"q","method":"session/set_mode","params":{"sessionId":"A","modeId":"y"}}'
	says '{"id":"q","result":"y"}'
	tell '{"id":"p","method":"session/set_mode","params":{"sessionId":"A","modeId":"x"}}'
	says '{"id":"p","result":"x"}'
	hang_up
	assert_equal "$status" 0
}

@test "a request that comes before one whose answer it may have needed is too early" {
	recording s.rec <<-'END'
		> {"id":1,"method":"session/prompt","params":{"sessionId":"A","prompt":"one"}}
		< {"id":1,"result":1}
		> {"id":2,"method":"session/prompt","params":{"sessionId":"A","prompt":"two"}}
		< {"id":2,"result":2}
	END
	play_agent s.rec
	tell '{"id":"q","method":"session/prompt","params":{"sessionId":"A","prompt":"two"}}'
	says '{"jsonrpc":"2.0","id":"q","error":{"code":-32603,"message":"acp-replay: too early: the next expected request is \"session/prompt\" of s.rec:1","data":{"expected":{"record":1,"method":"session/prompt"},"differences":[]}}}'
	tell '{"id":"p","method":"session/prompt","params":{"sessionId":"A","prompt":"one"}}'
	says '{"id":"p","result":1}'
	tell '{"id":"q","method":"session/prompt","params":{"sessionId":"A","prompt":"two"}}'
	says '{"id":"q","result":2}'
	hang_up
	assert_equal "$status" 1
}

@test "nothing comes before initialize, and nothing in a session before session/new" {
	two_sessions
	play_agent s.rec
	tell '{"id":1,"method":"session/new","params":{"cwd":"/a"}}'
	hear
	assert_regex "$line" '"id":1,"error".*too early: the next expected request is \\"initialize\\" of s.rec:1'
	tell '{"id":0,"method":"initialize","params":{}}'
	hear
	tell '{"id":4,"method":"session/prompt","params":{"sessionId":"B","prompt":"b"}}'
	hear
	assert_regex "$line" '"id":4,"error".*too early: the next expected request is \\"session/new\\" of s.rec:3'
	hang_up
	assert_equal "$status" 1
}

@test "an error says how the request that was expected differs" {
	two_sessions
	{ jq -c 'select(.from == "client").msg' s.rec | head -n 3; echo '{"id":"x","method":"session/prompt","params":{"sessionId":"B","prompt":"else"}}'; } >client
	run --separate-stderr acp-replay s.rec <client
	assert_failure 1
	assert_line '{"jsonrpc":"2.0","id":"x","error":{"code":-32603,"message":"acp-replay: not recorded: the nearest request is \"session/prompt\" of s.rec:10; .params.prompt is \"else\", was \"b\"","data":{"expected":{"record":10,"method":"session/prompt"},"differences":[{"path":".params.prompt","recorded":"b","live":"else"}]}}}'
	assert_equal "${stderr_lines[0]}" 'acp-replay: client: line 4: "session/prompt" gets an error response: not recorded: the nearest request is "session/prompt" of s.rec:10; .params.prompt is "else", was "b"'
	assert_equal "${stderr_lines[1]}" "acp-replay: s.rec:9: the client left before \"session/prompt\"; not played: 3 of the client's messages and 7 of the agent's"
}

@test "--match: what a request has to have in common with the recorded one" {
	recording s.rec <<-'END'
		> {"id":1,"method":"a","params":{"n":1,"s":"x","_meta":{"a":1}}}
		< {"id":1,"result":{}}
	END
	# as LEVEL LINE: is it answered?
	as() {
		acp-replay --match "$1" s.rec <<<"$2" 2>err | grep -q '"result"'
	}
	as exact '{"id":7,"method":"a","params":{"n":1,"s":"x","_meta":{"a":1}}}'
	run ! as exact '{"id":1,"method":"a","params":{"n":1,"s":"x"}}'
	run ! as exact '{"id":1,"method":"a","params":{"s":"x","n":1,"_meta":{"a":1}}}'
	as params '{"method":"a","params":{"s":"x","n":1.0,"_meta":{"b":1}},"id":1}'
	run ! as params '{"id":1,"method":"a","params":{"n":2,"s":"x"}}'
	as shape '{"id":1,"method":"a","params":{"n":2,"s":"y"}}'
	run ! as shape '{"id":1,"method":"a","params":{"n":"2","s":"y"}}'
	as method '{"id":1,"method":"a"}'
	run ! as method '{"id":1,"method":"b"}'
	run ! as method '{"method":"a"}'
}

@test "clientInfo does not matter, and the recorded directory is mapped to the live one, down to the agent's paths" {
	recording s.rec <<-'END'
		> {"id":0,"method":"initialize","params":{"protocolVersion":1,"clientInfo":{"name":"then"}}}
		< {"id":0,"result":{}}
		> {"id":1,"method":"session/new","params":{"cwd":"/home/then","mcpServers":[]}}
		< {"id":1,"result":{"sessionId":"A"}}
		> {"id":2,"method":"session/prompt","params":{"sessionId":"A","prompt":[{"type":"resource_link","uri":"file:///home/then/x"}]}}
		< {"id":1,"method":"fs/read_text_file","params":{"sessionId":"A","path":"/home/then/x"}}
		> {"id":1,"result":{"content":"x"}}
		< {"id":2,"result":{}}
	END
	play_agent s.rec
	tell '{"id":0,"method":"initialize","params":{"protocolVersion":1,"clientInfo":{"name":"now"}}}'
	hear
	tell '{"id":1,"method":"session/new","params":{"mcpServers":[],"cwd":"/tmp/now"}}'
	hear
	tell '{"id":2,"method":"session/prompt","params":{"sessionId":"A","prompt":[{"type":"resource_link","uri":"file:///tmp/now/x"}]}}'
	says '{"id":1,"method":"fs/read_text_file","params":{"sessionId":"A","path":"/tmp/now/x"}}'
	tell '{"id":1,"result":{"content":"x"}}'
	says '{"id":2,"result":{}}'
	hang_up
	assert_equal "$status" 0
	run acp-replay --keep-paths s.rec <<-'END'
		{"id":0,"method":"initialize","params":{"protocolVersion":1}}
		{"id":1,"method":"session/new","params":{"mcpServers":[],"cwd":"/tmp/now"}}
	END
	assert_failure 1
	assert_line --partial '.params.cwd is \"/tmp/now\", was \"/home/then\"'
}

@test "a terminal that the client has made goes by the client's name for it" {
	recording s.rec <<-'END'
		> {"id":1,"method":"session/prompt","params":{"sessionId":"A"}}
		< {"id":5,"method":"terminal/create","params":{"sessionId":"A","command":"x"}}
		> {"id":5,"result":{"terminalId":"then"}}
		< {"id":6,"method":"terminal/output","params":{"sessionId":"A","terminalId":"then"}}
		> {"id":6,"result":{}}
		< {"id":1,"result":{}}
	END
	play_agent s.rec
	tell '{"id":1,"method":"session/prompt","params":{"sessionId":"A"}}'
	hear
	tell '{"id":5,"result":{"terminalId":"now"}}'
	says '{"id":6,"method":"terminal/output","params":{"sessionId":"A","terminalId":"now"}}'
	tell '{"id":6,"result":{}}'
	hear
	hang_up
	assert_equal "$status" 0
}

@test "equal requests get their answers in the recorded order" {
	recording s.rec <<-'END'
		> {"id":1,"method":"session/list"}
		< {"id":1,"result":1}
		> {"id":2,"method":"session/list"}
		< {"id":2,"result":2}
	END
	run acp-replay s.rec <<<$'{"id":1,"method":"session/list"}\n{"id":2,"method":"session/list"}'
	assert_success
	assert_output $'{"id":1,"result":1}\n{"id":2,"result":2}'
}

@test "a sub-agent's messages have their place among its parent's" {
	local line=
	recording s.rec <<-'END'
		> {"id":0,"method":"initialize","params":{}}
		< {"id":0,"result":{}}
		> {"id":1,"method":"session/new","params":{}}
		< {"id":1,"result":{"sessionId":"A"}}
		> {"id":2,"method":"session/prompt","params":{"sessionId":"A"}}
		< {"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"subagent_update","sessionId":"child"}}}
		< {"method":"session/update","params":{"sessionId":"child","update":"1"}}
		< {"id":9,"method":"session/request_permission","params":{"sessionId":"child"}}
		> {"id":9,"result":{"outcome":{}}}
		< {"method":"session/update","params":{"sessionId":"child","update":{"sessionUpdate":"subagent_update","sessionId":"grandchild"}}}
		< {"method":"session/update","params":{"sessionId":"grandchild","update":"1"}}
		< {"method":"session/update","params":{"sessionId":"A","update":"1"}}
		< {"id":2,"result":{"stopReason":"end_turn"}}
		> {"id":3,"method":"session/prompt","params":{"sessionId":"A"}}
		< {"method":"session/update","params":{"sessionId":"grandchild","update":"2"}}
		< {"id":3,"result":{"stopReason":"end_turn"}}
	END
	# A turn that the client cancels ends with what its sub-agents would have done in it; the client need not respond to them.
	play_agent s.rec
	tell '{"id":0,"method":"initialize","params":{}}'
	tell '{"id":1,"method":"session/new","params":{}}'
	tell '{"id":2,"method":"session/prompt","params":{"sessionId":"A"}}'
	until grep -q request_permission <<<"$line"; do hear; done
	tell '{"method":"session/cancel","params":{"sessionId":"A"}}'
	hear
	assert_equal "$(jq -c '[.id, .result.stopReason]' <<<"$line")" '[2,"cancelled"]'
	tell '{"id":3,"method":"session/prompt","params":{"sessionId":"A"}}'
	# The client never heard of the grandchild.
	says '{"id":3,"result":{"stopReason":"end_turn"}}'
	hang_up
	rm to from
	# A client that waits for everything that was recorded before its next message reads all in the recorded order.
	local from recorded f
	for f in s.rec "$FIXTURES"/agents/*subagent*.jsonl; do
		rm -f to from
		play_agent "$f"
		while read -r from recorded; do
			if [[ $from == client ]]; then
				tell "$recorded"
			else
				says "$recorded"
			fi
		done < <(jq -r 'select(.from) | "\(.from) \(.line // (.msg | tojson) | sub("\\n$"; ""))"' "$f")
		hang_up
		assert_equal "$status$rest" 0
	done
}

@test "a session with sub-agents needs no session that was recorded beside it" {
	recording s.rec <<-'END'
		> {"id":1,"method":"session/new","params":{"cwd":"/a"}}
		< {"id":1,"result":{"sessionId":"A"}}
		> {"id":2,"method":"session/new","params":{"cwd":"/b"}}
		< {"id":2,"result":{"sessionId":"B"}}
		> {"id":3,"method":"session/prompt","params":{"sessionId":"A"}}
		< {"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"subagent_update","sessionId":"child"}}}
		< {"method":"session/update","params":{"sessionId":"child","update":"1"}}
		< {"id":3,"result":{"stopReason":"end_turn"}}
	END
	play_agent s.rec
	tell '{"id":1,"method":"session/new","params":{"cwd":"/a"}}'
	says '{"id":1,"result":{"sessionId":"A"}}'
	tell '{"id":3,"method":"session/prompt","params":{"sessionId":"A"}}'
	hear
	update child 1
	says '{"id":3,"result":{"stopReason":"end_turn"}}'
	hang_up
	assert_equal "$status" 1
}

@test "a sub-agent's messages do not hold up the response to a request that comes early" {
	recording s.rec <<-'END'
		> {"id":1,"method":"session/prompt","params":{"sessionId":"A"}}
		< {"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"subagent_update","sessionId":"child"}}}
		< {"method":"session/update","params":{"sessionId":"child","update":"1"}}
		> {"id":2,"method":"session/set_mode","params":{"sessionId":"A"}}
		< {"id":2,"result":{}}
		> {"id":3,"method":"session/set_mode","params":{"sessionId":"child"}}
		< {"id":3,"result":{}}
		< {"id":1,"result":{"stopReason":"end_turn"}}
	END
	play_agent s.rec
	tell '{"id":2,"method":"session/set_mode","params":{"sessionId":"A"}}'
	says '{"id":2,"result":{}}'
	tell '{"id":1,"method":"session/prompt","params":{"sessionId":"A"}}'
	hear
	update child 1
	# Nor does a request to the sub-agent, which the client may send later.
	says '{"id":1,"result":{"stopReason":"end_turn"}}'
	tell '{"id":3,"method":"session/set_mode","params":{"sessionId":"child"}}'
	says '{"id":3,"result":{}}'
	hang_up
	assert_equal "$status" 0
}

@test "a cancelled sub-agent's turn of v2 ends with its idle state, and its parent's turn goes on" {
	recording s.rec <<-'END'
		> {"id":0,"method":"initialize","params":{}}
		< {"id":0,"result":{}}
		> {"id":1,"method":"session/prompt","params":{"sessionId":"A"}}
		< {"id":1,"result":{"messageId":"m"}}
		< {"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"subagent_update","sessionId":"child"}}}
		< {"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"subagent_update","sessionId":"other"}}}
		< {"id":7,"method":"session/request_permission","params":{"sessionId":"child"}}
		> {"id":7,"result":{"outcome":{}}}
		< {"method":"session/update","params":{"sessionId":"child","update":"1"}}
		< {"method":"session/update","params":{"sessionId":"other","update":"1"}}
		< {"method":"session/update","params":{"sessionId":"A","update":"1"}}
		< {"method":"session/update","params":{"sessionId":"child","update":{"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn"}}}
		< {"method":"session/update","params":{"sessionId":"child","update":"2"}}
		< {"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn"}}}
	END
	play_agent s.rec
	tell '{"id":0,"method":"initialize","params":{}}'
	hear
	# Before its parent's turn there is nothing to cancel.
	tell '{"method":"session/cancel","params":{"sessionId":"child"}}'
	tell '{"id":1,"method":"session/prompt","params":{"sessionId":"A"}}'
	says '{"id":1,"result":{"messageId":"m"}}'
	hear
	hear
	says '{"id":7,"method":"session/request_permission","params":{"sessionId":"child"}}'
	tell '{"method":"session/cancel","params":{"sessionId":"child"}}'
	says '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"child","update":{"sessionUpdate":"state_update","state":"idle","stopReason":"cancelled"}}}'
	update other 1
	update A 1
	update child 2
	hear
	assert_equal "$(jq -c '[.params.sessionId, .params.update.stopReason]' <<<"$line")" '["A","end_turn"]'
	hang_up
	assert_equal "$status" 1
	assert_equal "$(cat err)" 'acp-replay: client: line 2: ignored: no turn is open that it could cancel
acp-replay: client: line 4: the recording has no session/cancel here: ended the turn as cancelled'
}

@test "a sub-agent of v2 that works in the background can be cancelled between its parent's turns, but not while it is idle" {
	local idle='"update":{"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn"}' first works
	# The sub-agent's own report counts, and that of its parent.
	for first in '"child","update":"0"' "\"child\",$idle" \
		'"A","update":{"sessionUpdate":"subagent_update","sessionId":"child","state":{"state":"idle"}}'; do
		works=$(grep -v idle <<<"$first" || true)
		recording s.rec <<-END
			> {"id":1,"method":"session/prompt","params":{"sessionId":"A"}}
			< {"id":1,"result":{"messageId":"m"}}
			< {"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"subagent_update","sessionId":"child"}}}
			< {"method":"session/update","params":{"sessionId":$first}}
			< {"method":"session/update","params":{"sessionId":"A",$idle}}
			> {"id":2,"method":"session/prompt","params":{"sessionId":"A"}}
			< {"id":2,"result":{"messageId":"n"}}
			< {"method":"session/update","params":{"sessionId":"child","update":"1"}}
			< {"method":"session/update","params":{"sessionId":"child",$idle}}
		END
		rm -f to from
		play_agent s.rec
		tell '{"id":1,"method":"session/prompt","params":{"sessionId":"A"}}'
		hear
		hear
		hear
		says '{"method":"session/update","params":{"sessionId":"A",'"$idle"'}}'
		tell '{"method":"session/cancel","params":{"sessionId":"child"}}'
		if [[ $works ]]; then
			hear
			assert_equal "$(jq -c '[.params.sessionId, .params.update.stopReason]' <<<"$line")" '["child","cancelled"]'
		fi
		tell '{"id":2,"method":"session/prompt","params":{"sessionId":"A"}}'
		says '{"id":2,"result":{"messageId":"n"}}'
		if [[ ! $works ]]; then
			update child 1
			says '{"method":"session/update","params":{"sessionId":"child",'"$idle"'}}'
		fi
		hang_up
		assert_equal "$status$rest" 1
	done
}

@test "a cancelled turn of v2 leaves out nothing that a sub-agent did before its prompt" {
	local idle='"update":{"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn"}'
	recording s.rec <<-END
		> {"id":1,"method":"session/prompt","params":{"sessionId":"A"}}
		< {"id":1,"result":{"messageId":"m"}}
		< {"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"subagent_update","sessionId":"child"}}}
		< {"method":"session/update","params":{"sessionId":"A",$idle}}
		< {"id":7,"method":"session/request_permission","params":{"sessionId":"child"}}
		> {"id":7,"result":{}}
		< {"method":"session/update","params":{"sessionId":"child","update":"1"}}
		> {"id":2,"method":"session/prompt","params":{"sessionId":"A"}}
		< {"id":2,"result":{"messageId":"n"}}
		< {"method":"session/update","params":{"sessionId":"child","update":"2"}}
		< {"method":"session/update","params":{"sessionId":"A","update":"1"}}
		< {"method":"session/update","params":{"sessionId":"A",$idle}}
		< {"method":"session/update","params":{"sessionId":"child","update":"3"}}
	END
	play_agent s.rec
	tell '{"id":1,"method":"session/prompt","params":{"sessionId":"A"}}'
	says '{"id":1,"result":{"messageId":"m"}}'
	hear
	says '{"method":"session/update","params":{"sessionId":"A",'"$idle"'}}'
	says '{"id":7,"method":"session/request_permission","params":{"sessionId":"child"}}'
	tell '{"id":2,"method":"session/prompt","params":{"sessionId":"A"}}'
	says '{"id":2,"result":{"messageId":"n"}}'
	tell '{"method":"session/cancel","params":{"sessionId":"A"}}'
	hear
	assert_equal "$(jq -c '[.params.sessionId, .params.update.stopReason]' <<<"$line")" '["A","cancelled"]'
	tell '{"id":7,"result":{}}'
	update child 1
	update child 3
	hang_up
	assert_equal "$status$rest" 1
}

@test "a sub-agent of v2 is idle until it says that it works, whatever else it reports" {
	local idle='"update":{"sessionUpdate":"state_update","state":"idle","stopReason":"end_turn"}'
	recording s.rec <<-END
		> {"id":1,"method":"session/prompt","params":{"sessionId":"A"}}
		< {"id":1,"result":{"messageId":"m"}}
		< {"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"subagent_update","sessionId":"child"}}}
		< {"method":"session/update","params":{"sessionId":"child",$idle}}
		< {"method":"session/update","params":{"sessionId":"child","update":{"sessionUpdate":"usage_update"}}}
		< {"method":"session/update","params":{"sessionId":"child","update":{"sessionUpdate":"subagent_update","sessionId":"grandchild","state":"running"}}}
		< {"method":"session/update","params":{"sessionId":"A",$idle}}
		> {"id":2,"method":"session/prompt","params":{"sessionId":"A"}}
		< {"id":2,"result":{"messageId":"n"}}
		< {"method":"session/update","params":{"sessionId":"child","update":"1"}}
		< {"method":"session/update","params":{"sessionId":"child",$idle}}
	END
	play_agent s.rec
	tell '{"id":1,"method":"session/prompt","params":{"sessionId":"A"}}'
	hear
	hear
	hear
	hear
	hear
	says '{"method":"session/update","params":{"sessionId":"A",'"$idle"'}}'
	tell '{"method":"session/cancel","params":{"sessionId":"child"}}'
	tell '{"id":2,"method":"session/prompt","params":{"sessionId":"A"}}'
	says '{"id":2,"result":{"messageId":"n"}}'
	update child 1
	says '{"method":"session/update","params":{"sessionId":"child",'"$idle"'}}'
	hang_up
	assert_equal "$status$(cat err)" '1acp-replay: client: line 2: ignored: no turn is open that it could cancel'
}

@test "a recorded cancel needs no prompt of a sub-agent" {
	recording s.rec <<-'END'
		> {"id":1,"method":"session/prompt","params":{"sessionId":"A"}}
		< {"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"subagent_update","sessionId":"child"}}}
		> {"id":2,"method":"session/prompt","params":{"sessionId":"child"}}
		> {"method":"session/cancel","params":{"sessionId":"A"}}
		< {"id":1,"result":{"stopReason":"cancelled"}}
		< {"id":2,"result":{"stopReason":"end_turn"}}
	END
	play_agent s.rec
	tell '{"id":1,"method":"session/prompt","params":{"sessionId":"A"}}'
	hear
	tell '{"method":"session/cancel","params":{"sessionId":"A"}}'
	says '{"id":1,"result":{"stopReason":"cancelled"}}'
	tell '{"id":2,"method":"session/prompt","params":{"sessionId":"child"}}'
	says '{"id":2,"result":{"stopReason":"end_turn"}}'
	hang_up
	assert_equal "$status$(cat err)" 0
}

@test "a session that the client has begun is nobody's sub-agent" {
	recording s.rec <<-'END'
		> {"id":1,"method":"session/new","params":{"cwd":"/a"}}
		< {"id":1,"result":{"sessionId":"A"}}
		> {"id":2,"method":"session/new","params":{"cwd":"/b"}}
		< {"id":2,"result":{"sessionId":"B"}}
		> {"id":3,"method":"session/prompt","params":{"sessionId":"A"}}
		< {"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"subagent_update","sessionId":"B"}}}
		< {"id":3,"result":{"stopReason":"end_turn"}}
		> {"id":4,"method":"session/prompt","params":{"sessionId":"B"}}
		< {"method":"session/update","params":{"sessionId":"B","update":"1"}}
		< {"id":4,"result":{"stopReason":"end_turn"}}
	END
	play_agent s.rec
	tell '{"id":2,"method":"session/new","params":{"cwd":"/b"}}'
	says '{"id":2,"result":{"sessionId":"B"}}'
	tell '{"id":4,"method":"session/prompt","params":{"sessionId":"B"}}'
	update B 1
	says '{"id":4,"result":{"stopReason":"end_turn"}}'
	tell '{"id":1,"method":"session/new","params":{"cwd":"/a"}}'
	says '{"id":1,"result":{"sessionId":"A"}}'
	tell '{"id":3,"method":"session/prompt","params":{"sessionId":"A"}}'
	hear
	says '{"id":3,"result":{"stopReason":"end_turn"}}'
	hang_up
	assert_equal "$status" 0
}

@test "a session that the client has loaded or resumed is nobody's sub-agent" {
	local how
	for how in load resume; do
		recording s.rec <<-END
			> {"id":1,"method":"session/new","params":{"cwd":"/a"}}
			< {"id":1,"result":{"sessionId":"A"}}
			> {"id":2,"method":"session/$how","params":{"cwd":"/b","sessionId":"B"}}
			< {"id":2,"result":{}}
			> {"id":3,"method":"session/prompt","params":{"sessionId":"A"}}
			< {"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"subagent_update","sessionId":"B"}}}
			< {"id":3,"result":{"stopReason":"end_turn"}}
			> {"id":4,"method":"session/prompt","params":{"sessionId":"B"}}
			< {"method":"session/update","params":{"sessionId":"B","update":"1"}}
			< {"id":4,"result":{"stopReason":"end_turn"}}
		END
		rm -f to from
		play_agent s.rec
		tell '{"id":1,"method":"session/new","params":{"cwd":"/a"}}'
		says '{"id":1,"result":{"sessionId":"A"}}'
		tell '{"id":2,"method":"session/'$how'","params":{"cwd":"/b","sessionId":"B"}}'
		says '{"id":2,"result":{}}'
		tell '{"id":4,"method":"session/prompt","params":{"sessionId":"B"}}'
		update B 1
		says '{"id":4,"result":{"stopReason":"end_turn"}}'
		tell '{"id":3,"method":"session/prompt","params":{"sessionId":"A"}}'
		hear
		says '{"id":3,"result":{"stopReason":"end_turn"}}'
		hang_up
		assert_equal "$status" 0
	done
}

@test "a sub-agent's session that the client loads later still has its place among its parent's messages" {
	recording s.rec <<-'END'
		> {"id":1,"method":"session/prompt","params":{"sessionId":"A"}}
		< {"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"subagent_update","sessionId":"child"}}}
		< {"method":"session/update","params":{"sessionId":"child","update":"1"}}
		< {"method":"session/update","params":{"sessionId":"A","update":"1"}}
		< {"id":1,"result":{"stopReason":"end_turn"}}
		> {"id":2,"method":"session/load","params":{"sessionId":"child"}}
		< {"method":"session/update","params":{"sessionId":"child","update":"1"}}
		< {"id":2,"result":{}}
	END
	play_agent s.rec
	tell '{"id":1,"method":"session/prompt","params":{"sessionId":"A"}}'
	hear
	update child 1
	update A 1
	says '{"id":1,"result":{"stopReason":"end_turn"}}'
	tell '{"id":2,"method":"session/load","params":{"sessionId":"child"}}'
	update child 1
	says '{"id":2,"result":{}}'
	hang_up
	assert_equal "$status" 0
}

@test "a sub-agent that is announced again after a cancelled turn plays from there on" {
	recording s.rec <<-'END'
		> {"id":1,"method":"session/prompt","params":{"sessionId":"A"}}
		< {"method":"session/update","params":{"sessionId":"A","update":"1"}}
		< {"id":7,"method":"session/request_permission","params":{"sessionId":"A"}}
		> {"id":7,"result":{}}
		< {"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"subagent_update","sessionId":"child"}}}
		< {"method":"session/update","params":{"sessionId":"child","update":"1"}}
		< {"id":1,"result":{"stopReason":"end_turn"}}
		< {"method":"session/update","params":{"sessionId":"child","update":"2"}}
		> {"id":2,"method":"session/set_mode","params":{"sessionId":"child"}}
		< {"id":2,"result":{}}
		> {"id":3,"method":"session/prompt","params":{"sessionId":"A"}}
		< {"id":8,"method":"session/request_permission","params":{"sessionId":"A"}}
		> {"id":8,"result":{}}
		< {"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"subagent_update","sessionId":"child"}}}
		< {"method":"session/update","params":{"sessionId":"child","update":"3"}}
		< {"id":3,"result":{"stopReason":"end_turn"}}
		> {"id":4,"method":"session/prompt","params":{"sessionId":"A"}}
		< {"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"subagent_update","sessionId":"child"}}}
		< {"method":"session/update","params":{"sessionId":"child","update":"4"}}
		< {"id":4,"result":{"stopReason":"end_turn"}}
	END
	local twice
	for twice in '' yes; do
		rm -f to from
		play_agent s.rec
		tell '{"id":1,"method":"session/prompt","params":{"sessionId":"A"}}'
		update A 1
		hear
		tell '{"method":"session/cancel","params":{"sessionId":"A"}}'
		says '{"jsonrpc":"2.0","id":1,"result":{"stopReason":"cancelled"}}'
		tell '{"id":3,"method":"session/prompt","params":{"sessionId":"A"}}'
		says '{"id":8,"method":"session/request_permission","params":{"sessionId":"A"}}'
		if [[ $twice ]]; then
			tell '{"method":"session/cancel","params":{"sessionId":"A"}}'
			says '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}'
		else
			tell '{"id":8,"result":{}}'
			hear
			assert_equal "$(jq -r .params.update.sessionUpdate <<<"$line")" subagent_update
			update child 3
			says '{"id":3,"result":{"stopReason":"end_turn"}}'
		fi
		tell '{"id":4,"method":"session/prompt","params":{"sessionId":"A"}}'
		hear
		assert_equal "$(jq -r .params.update.sessionUpdate <<<"$line")" subagent_update
		update child 4
		says '{"id":4,"result":{"stopReason":"end_turn"}}'
		hang_up
		assert_equal "$status$rest" 1
	done
}

@test "--on-miss next takes the next recorded answer of the same method" {
	two_sessions
	{
		jq -c 'select(.from == "client").msg' s.rec | head -n 3
		echo '{"id":"x","method":"session/prompt","params":{"sessionId":"A","prompt":"else"}}'
		echo '{"id":"y","method":"session/prompt","params":{"sessionId":"B","prompt":"else"}}'
		echo '{"id":9,"result":{}}'
	} >client
	run --separate-stderr acp-replay --on-miss next s.rec <client
	assert_success
	assert_line '{"id":"x","result":{"stopReason":"end_turn"}}'
	assert_line '{"id":"y","result":{"stopReason":"end_turn"}}'
	assert_equal "${stderr_lines[0]}" 'acp-replay: client: line 4: treated as the next recorded "session/prompt", record 9'
	run acp-replay --on-miss next s.rec <<<'{"id":1,"method":"nobody/knows"}'
	assert_failure 1
	assert_line --partial '"id":1,"error"'
}

@test "--on-miss wait reports at the end only: exit 1" {
	two_sessions
	run --separate-stderr acp-replay --on-miss wait s.rec <<<'{"id":1,"method":"nobody/knows"}'
	assert_failure 1
	assert_output ''
	assert_equal "${stderr_lines[1]}" 'acp-replay: client: line 1: no response was sent: the recording ended before this request was due'
}

@test "what was read early has the live ids and folders, too" {
	recording s.rec <<-'END'
		> {"id":1,"method":"session/new","params":{"cwd":"/old","mcpServers":[]}}
		< {"id":1,"result":{"sessionId":"A"}}
		> {"id":2,"method":"session/prompt","params":{"sessionId":"A","prompt":[]}}
		< {"method":"session/update","params":{"sessionId":"A","update":{"text":"in /old/a"}}}
		< {"id":2,"result":{"stopReason":"end_turn"}}
		> {"id":3,"method":"session/prompt","params":{"sessionId":"A","prompt":[]}}
		< {"method":"session/update","params":{"sessionId":"A","update":{"text":"in /old/b"}}}
		< {"id":3,"result":{"stopReason":"end_turn"}}
	END
	sed 's/old/new/' s.rec | jq -c 'select(.from == "client").msg' >all
	run --separate-stderr acp-replay s.rec <all
	assert_success
	assert_output --partial '"in /new/a"'
	assert_output --partial '"in /new/b"'
	refute_output --partial /old
	jq -c 'select(.from == "client").msg' s.rec >all
	run --separate-stderr acp-replay s.rec <all
	assert_success
	assert_output "$(jq -c 'select(.from == "agent").msg' s.rec)"
}
