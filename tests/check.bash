# check.bash: conversations, and what acp-check makes of them.
# shellcheck disable=SC2154 # what bats puts there

# Lines as a recording: "> MESSAGE" is the client's, "< MESSAGE" the agent's; anything else is a record.
records() {
	sed -E 's/^> (.*)/{"t":1,"from":"client","msg":\1}/; s/^< (.*)/{"t":1,"from":"agent","msg":\1}/'
}

# A connection whose session s is open, with most capabilities.
opened() {
	cat <<-'END'
		> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true},"terminal":true}}}
		< {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"sessionCapabilities":{"close":{},"list":{}}}}}
		> {"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/w","mcpServers":[]}}
		< {"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}
	END
}

# The same, and a turn is open (id 2); what comes in ends with its end unless $1 is no.
turn() {
	opened
	echo '> {"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"hi"}]}}'
	cat
	[[ ${1-} == no ]] || echo '< {"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}'
}

update() {
	printf '< {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%s","update":%s}}\n' "${2-s}" "$1"
}

# The same as opened, in v2; and the state of its session.
v2() {
	opened | sed 's/"protocolVersion":1,/"protocolVersion":2,"info":{"name":"x","version":"1"},/; s/"clientCapabilities":.*/"capabilities":{}}}/; s/"agentCapabilities":.*/"capabilities":{"session":{"mcp":{"stdio":{}}}}}}/'
}

state() {
	update '{"sessionUpdate":"state_update","state":"'"$1"'"'"${2-}"'}'
}

# The rule, level and path of each finding, without jq, which takes longer to start than all else.
rules() {
	sed -E 's/^\{"level":"([^"]*)","rule":"([^"]*)".*,"path":"([^"]*)".*/\2 \1 \3/; t; s/^\{"level":"([^"]*)","rule":"([^"]*)".*/\2 \1 /'
}

# breaks RULE LEVEL [PATH]: the lines of standard input break just this rule, once.
breaks() {
	records >in.rec
	run acp-check -f json --level note ${unstable:+--unstable} in.rec
	assert_equal "$(rules <<<"$output")" "$1 $2 ${3-}"
	assert_equal "$status" "$([[ $2 == violation ]] && echo 1 || echo 0)"
	run acp-check --level note ${unstable:+--unstable} --ignore "$1" in.rec
	assert_success
	refute_output
}

# What is on standard input breaks nothing.
holds() {
	records >in.rec
	run acp-check --level note in.rec
	assert_success
	refute_output
}

# The same as breaks, by the unstable schema.
breaks_unstable() {
	unstable=1 breaks "$@"
}
