# What acp-mcp's bats files share, beside lib.bash. The test is the client and the agent: what comes to them is in the
# files out and got; what they say goes through the descriptors 8 and 7. It is a shim's MCP client, too.

# bridge [COMMAND [OPTION]...]: starts acp-mcp (or what is named, which takes `-- AGENT...`) around the agent.
bridge() {
	(($#)) || set -- acp-mcp
	# What a bridge before this one has left is not to be taken for what this one writes.
	rm -f down up err
	mkfifo down up
	: >out
	: >got
	"$@" -- sh -c 'cat <up & cat >>got' <down >out 2>err 7>&- 8>&- &
	BRIDGE=$!
	# A proxy chain starts its agent late: nobody may read `up` yet.
	exec 8>down 7<>up
}

client() {
	printf '%s\n' "$@" >&8
}

agent() {
	printf '%s\n' "$@" >&7
}

# Both leave; the exit status is that of acp-mcp.
finish() {
	exec 8>&- 7>&-
	wait "$BRIDGE"
}

# is JQ: those of the messages on standard input for which this is true. jq takes long to start: it does not where a string or number
# that JQ compares with is in none of them.
is() {
	local lines
	lines=$(cat)
	[[ ! $1 =~ ==\ (\"[^\"]*\"|[0-9]+) || $lines == *"${BASH_REMATCH[1]}"* ]] || return 0
	jq -Rr "select(fromjson? | $1)" <<<"$lines"
}

# id_of MESSAGE
id_of() {
	if [[ $1 =~ ^\{(\"jsonrpc\":\"2\.0\",)?\"id\":([^,{}]+), ]]; then
		printf '%s\n' "${BASH_REMATCH[2]}"
	else
		jq -c .id <<<"$1"
	fi
}

# await FILE JQ: waits for the first message in a file for which this is true, and prints it.
await() {
	await_line "$1" is "$2" || {
		cat "$1" err >&2
		return 1
	}
}

# initialize [CAPABILITIES [VERSION]]: with what the agent says of itself.
initialize() {
	local id
	client '{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":1}}'
	# Where a conductor stands between, it is another.
	id=$(id_of "$(await got '.method == "initialize"')")
	agent "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":${1-{\"protocolVersion\":1\}}}"
	await out '.id == "init"'
}

# session ID SERVERS [METHOD]: the client opens a session; the agent has answered it. Its servers, as the agent has them.
session() {
	client "{\"jsonrpc\":\"2.0\",\"id\":\"$1\",\"method\":\"${3-session/new}\",\"params\":{\"cwd\":\"/\",\"mcpServers\":$2}}"
	await got ".id == \"$1\"" | jq -c .params.mcpServers
	agent "{\"jsonrpc\":\"2.0\",\"id\":\"$1\",\"result\":{\"sessionId\":\"$1\"}}"
	await out ".id == \"$1\"" >/dev/null
}

# socket [NAME [ID]]: where the agent is told that the server NAME is, in the session (or request) ID.
# shellcheck disable=SC2120
socket() {
	await got ".id == \"${2-s}\"" | jq -r --arg name "${1-x}" '.params.mcpServers[] | select(.name == $name) | .args[1]'
}

# shim NAME SOCKET: the agent starts one. What it says is in NAME.out; it hears what `mcp NAME TEXT` says.
# shellcheck disable=SC2034 # SHIM: their process ids, for the tests
declare -gA SHIM_FD SHIM
shim() {
	local fd
	rm -f "$1".{in,out,err}
	mkfifo "$1.in"
	: >"$1.out" # also where it is killed before it has opened that
	(
		# It must not keep another's input open.
		for fd in 7 8 "${SHIM_FD[@]}"; do exec {fd}>&-; done
		exec acp-mcp --connect "$2" <"$1.in" >"$1.out" 2>"$1.err"
	) &
	# shellcheck disable=SC2034
	SHIM[$1]=$!
	exec {fd}>"$1.in"
	SHIM_FD[$1]=$fd
}

mcp() {
	printf '%s\n' "${@:2}" >&"${SHIM_FD[$1]}"
}

# The agent closes its end of a shim.
unshim() {
	local fd=${SHIM_FD[$1]}
	exec {fd}>&-
	unset "SHIM_FD[$1]"
}

# The client answers a request that it was sent: answer JQ RESULT, refuse JQ ERROR; prints the request.
answer() {
	local request
	request=$(await out "$1") || return
	client "{\"jsonrpc\":\"2.0\",\"id\":$(id_of "$request"),\"result\":$2}"
	printf '%s\n' "$request"
}

refuse() {
	local request
	request=$(await out "$1") || return
	client "{\"jsonrpc\":\"2.0\",\"id\":$(id_of "$request"),\"error\":$2}"
	printf '%s\n' "$request"
}

# A server command of ours: SERVER NAME.
# shellcheck disable=SC2034
SERVER="jq -c --unbuffered -n -f $BATS_TEST_DIRNAME/mcp.jq --arg name"

mcp_teardown() {
	exec 8>&- 7>&-
	for name in "${!SHIM_FD[@]}"; do unshim "$name"; done
	end_left_over
}

# Declarations of a server, of two drafts.
# shellcheck disable=SC2034
OLD='{"type":"acp","name":"x","id":"X"}'
# shellcheck disable=SC2034
NEW='{"type":"acp","name":"x","serverId":"X"}'

# begin SERVER [OPTION...]: a session with this server, and the shim a.
begin() {
	bridge acp-mcp "${@:2}"
	initialize
	session s "[$1]"
	# shellcheck disable=SC2119
	shim a "$(socket)"
}

# offer [CMD]: a chain whose agent takes servers of type acp itself: the test speaks MCP over ACP as the agent.
offer() {
	bridge acp-mcp --provide "x=${1-$SERVER x}"
	initialize '{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"acp":true}}}'
	# shellcheck disable=SC2034
	ID=$(session s '[]' | jq -c '.[0].id')
}
