#!/usr/bin/env bats
# An array of messages is noise: ACP has no batches. Watching tools forward it; editors and routers discard it and
# answer it with one error. The same holds for other lines that cannot be forwarded and whose sender waits.

setup() {
	load lib
	load frame
	lib_setup
	export FILTER_QUIET=1
	printf '%s\n' '[{"id":1,"method":"a"},{"method":"b"}]' '[]' '[{"id":1,"result":0}]' '{"method":"last"}' >arrays
	refusal='{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"an array: ACP has no batches"}}'
	refusals=$refusal$'\n'$refusal$'\n'$refusal
}

teardown() {
	end_left_over
}

# An agent that sends the file up, and then takes all that comes into the file got. Its client sends the arrays and stays
# until it has all of up.
sends_then_takes() {
	: >out
	{
		cat arrays
		wait_for grep -q last out
	} | "$@" -- sh -c 'cat up; cat >got' >out 2>err
}

@test "a watching tool forwards an array as it is, and records it as noise" {
	cp arrays up
	each() {
		sends_then_takes "$@"
		cmp arrays out
		cmp arrays got
	}
	each acp-tap -o s.rec
	assert_equal "$(jq -c 'select(.noise) | [.from, .noise]' s.rec | sort | head -n 1)" '["agent","[]"]'
	assert_equal "$(jq -c 'select(.noise)' s.rec | wc -l)" 6
	each acp-usage -o /dev/null
	acp-tap -o /dev/null <arrays | cmp - arrays
	acp-usage --pass -o /dev/null <arrays | cmp - arrays
}

# bats test_tags=slow
@test "a filter that edits discards an array, and answers its sender once, in each transport" {
	cp arrays up
	each() {
		sends_then_takes filter "$way" none:edit
		assert_equal "$(sort out)" "$(printf '%s\n{"method":"last"}\n' "$refusals" | sort)"
		assert_equal "$(sort got)" "$(printf '%s\n{"method":"last"}\n' "$refusals" | sort)"
		assert_equal "$(grep -c 'an array: ACP has no batches' err)" 6
	}
	for way in "${WAYS[@]}"; do each; done
}

@test "in a one-way pipe an editor discards an array; there is nobody to answer" {
	assert_equal "$(rulefilter none:edit <arrays 2>err)" '{"method":"last"}'
}

@test "as a proxy a filter answers the conductor's array" {
	{ echo '{"id":0,"method":"proxy/initialize"}'; cat arrays; } >in
	rulefilter none:edit <in >out 2>err
	assert_equal "$(grep -c -F "$refusal" out)" 3
	assert_equal "$(grep -c '^\[' out)" 0
}

# bats test_tags=slow
@test "acp-inject, acp-budget and acp-mcp answer an array from either side" {
	cp arrays up
	for tool in 'acp-inject -e .' 'acp-budget --max-cost 1USD' acp-mcp; do
		# shellcheck disable=SC2086
		sends_then_takes $tool
		assert_equal "$(grep -c -F "$refusal" out)" 3
		assert_equal "$(grep -c -F "$refusal" got)" 3
		assert_equal "$(grep -c '^\[' out got)" $'out:0\ngot:0'
	done
}

@test "acp-fault works on lines: an array passes" {
	cp arrays up
	sends_then_takes acp-fault --drop 0%
	cmp arrays out
	cmp arrays got
}

@test "acp-conduct answers an array from the client or the agent; direct hops carry it" {
	cat >agent <<-'END'
		read -r line
		echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
		printf '%s\n' '[{"id":1,"method":"a"}]' '[]' '{"jsonrpc":"2.0","method":"last"}'
		cat >got
	END
	agent_refused_twice() { (($(grep -c -F "$refusal" got) == 2)); }
	: >got
	# The client stays until the agent has its responses: its end closes the agent's input.
	{
		echo '{"jsonrpc":"2.0","id":"i","method":"initialize","params":{}}'
		cat arrays
		wait_for agent_refused_twice
	} | acp-conduct --no-mcp -p 'acp-tap -o /dev/null' -- sh agent >out 2>err
	assert_equal "$(grep -c -F "$refusal" out)" 3
	assert_equal "$(grep -c -F "$refusal" got)" 2
	assert_equal "$(grep -c '^\[' out got)" $'out:0\ngot:0'
	assert_equal "$(grep -c '"last"' out got)" $'out:1\ngot:1'
	acp-conduct -f 'acp-tap -o /dev/null' -- sh -c 'cat >got' <arrays
	cmp arrays got
}

@test "acp-replay answers an array" {
	printf '%s\n' '{"t":0,"from":"client","msg":{"method":"last"}}' >s.rec
	acp-replay s.rec <arrays >out 2>err
	assert_equal "$(cat out)" "$refusals"
}

@test "a request that cannot be forwarded is answered under its id, where it has one valid id" {
	printf '%s\n' '{"id":5,"method":"x","params":{"t":"'$'\xff''"}}' '{"id":1,"id":2,"method":"x"}' '{"id":{},"method":"x"}' \
		'{"method":"x","method":"y"}' '{"id":6,"method":"x","result":0}' 'no JSON' '{"id":7,"method":"x","params":{"a":"b' >in
	filter wrap none:edit -- sh -c 'cat >got' <in >out 2>err
	assert_equal "$(jq -c '[.id, .error.code]' out)" $'[5,-32600]\n[null,-32600]\n[null,-32600]\n[6,-32600]\n[7,-32600]'
	assert_equal "$(cat got)" ''
}

@test "for a response that cannot be forwarded its requester gets an error, once" {
	printf '%s\n' '{"id":1,"method":"x"}' '{"id":2,"method":"y"}' >down
	cat >agent <<-'END'
		read -r line && read -r line
		printf '{"id":1,"result":"\377"}\n{"id":3,"result":"\377"}\n{"id":2,"result":0}\n{"id":1,"result":"late"}\n'
		cat >/dev/null
	END
	each() {
		"$@" -- sh agent <down >out 2>err
		assert_equal "$(head -n 2 out | jq -c '[.id, .result, .error.code]')" $'[1,null,-32603]\n[2,0,null]'
	}
	each filter wrap none:edit
	each filter link none:edit
	each acp-inject -e .
}

@test "acp-conduct: the same for what a proxy or the agent answers, and for what the client asks" {
	cat >agent <<-'END'
		read -r line
		printf '%s\n' "$line" | jq -c '{jsonrpc: "2.0", id, result: {protocolVersion: 1}}'
		read -r line
		printf '{"jsonrpc":"2.0","id":%s,"result":"\377"}\n' "$(printf '%s\n' "$line" | jq -c .id)"
		cat >got
	END
	printf '%s\n' '{"jsonrpc":"2.0","id":"i","method":"initialize","params":{}}' '{"jsonrpc":"2.0","id":"a","method":"x"}' \
		'{"jsonrpc":"2.0","id":"b","method":"x","params":"'$'\xff''"}' >in
	acp-conduct --no-mcp -p 'acp-tap -o /dev/null' -- sh agent <in >out 2>err
	assert_equal "$(jq -c '[.id, .error.code]' out | sort)" $'["a",-32603]\n["b",-32600]\n["i",null]'
}

@test "a long request is refused under its id, and a long response is an error for its requester" {
	long=$(head -c 3000 /dev/zero | tr '\0' x)
	printf '%s\n' '{"id":1,"method":"x"}' '{"id":"l","method":"y","params":"'"$long"'"}' >down
	printf 'read -r line\nprintf %%s\\\\n '\''{"id":1,"result":"%s"}'\''\ncat >/dev/null\n' "$long" >agent
	FILTER_LIMIT=1K filter wrap none:edit -- sh agent <down >out 2>err
	assert_equal "$(jq -c '[.id, .error.code]' out | sort)" $'["l",-32600]\n[1,-32603]'
}
