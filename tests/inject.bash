# What acp-inject's bats files share, beside lib.bash. In setup: `load lib; load inject; lib_setup; inject_setup`.

# Both directions at once.
# shellcheck disable=SC2034
WAYS=(wrap sockets link proxy) SHORT_WAYS=1

# An agent that answers everything, and writes what it gets to the file got.
inject_setup() {
	cat >agent.jq <<-'EOF'
		def result($r): {jsonrpc: "2.0", id, result: $r};
		if (has("method") and has("id")) | not then empty
		elif .method == "session/new" then result({sessionId: "S\(.params.n)"})
		elif .method == "session/prompt" then result({stopReason: "end_turn"})
		elif .method == "initialize" or .method == "proxy/initialize" then result({protocolVersion: 1})
		elif .method == "fail" or .params.modeId? == "no" then {jsonrpc: "2.0", id, error: {code: -32602, message: "no"}}
		else result({method, params}) end
	EOF
	printf '#!/bin/sh\ntee -a got | jq -c --unbuffered -f agent.jq\n' >agent
	# One that takes what is sent, and then sends the file up.
	printf '#!/bin/sh\ncat >got\ncat up\n' >taker
	chmod +x agent taker
	: >got
	: >up
}

# inject WAY AGENT OPTION...: acp-inject between our stdin and stdout and the agent.
inject() {
	local way=$1 agent=$2
	shift 2
	case $way in
	wrap) acp-inject "$@" -- "./$agent" ;;
	sockets) sockpair acp-inject "$@" -- "./$agent" ;;
	link) link acp-inject "$@" -- "./$agent" ;;
	proxy)
		{ echo '#!/bin/sh' && printf 'exec acp-inject' && printf ' %q' "$@" && echo; } | sed '1s/sh/bash/' >as-proxy
		chmod +x as-proxy
		# Without the acp-mcp that would make other servers of those that are of type acp.
		acp-conduct --no-mcp -p ./as-proxy -- "./$agent"
		;;
	esac
}

# has N: so many lines have come.
has() {
	[[ $(wc -l <out) -ge $1 ]]
}

# talk ANSWERS OPTION...: sends stdin to the agent in this $way, and leaves when so many lines have come into out.
# In a proxy chain initialize goes first, and its answer and what the agent saw of it are left out.
talk() {
	local answers=$1 first=0
	shift
	cat >down
	: >out
	[[ $way != proxy ]] || first=1
	{
		((!first)) || echo '{"jsonrpc":"2.0","id":"first","method":"initialize","params":{}}'
		cat down
		wait_for has $((answers + first))
	} | inject "$way" agent "$@" >>out 2>err
	((!first)) || sed -i '/"id":"first"/d; /"initialize"/d' out got
}

# The messages of the agent's side, or the client's, with their ids left out: they differ from hop to hop.
without_ids() {
	jq -c 'del(.id, .jsonrpc)' "$1"
}
