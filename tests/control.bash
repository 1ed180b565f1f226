# What the tests of acp-share share: a stream with a client that stays, and those who visit it. After lib_setup.

control_setup() {
	export XDG_RUNTIME_DIR=$PWD/run
	mkdir run
	cat >agent.jq <<-'EOS'
		def up($s; $u): {jsonrpc: "2.0", method: "session/update", params: {sessionId: $s, update: $u}};
		def usage($s; $n): up($s; {sessionUpdate: "usage_update", used: $n, size: 100});
		def one: if .method == "initialize" then {jsonrpc: "2.0", id: .id, result: ({protocolVersion: (.params.protocolVersion // 1)} + if .params.clientInfo then {agentInfo: {name: "a", version: "3"}} else {} end)}
		elif .method == "session/new" then {jsonrpc: "2.0", id: .id, result: {sessionId: .params.cwd}}, usage(.params.cwd; 1)
		elif .method == "use" then usage(.params.session; .params.used)
		elif .method == "tell" then up(.params.session; .params.update)
		elif .method == "hang" then empty
		elif .method == "stream" then
			(range(.params.n) | up("s"; {sessionUpdate: "agent_message_chunk", content: {type: "text", text: "\(.) some words"}})),
			{jsonrpc: "2.0", id: .id, result: {}}
		elif .method == "large" then {jsonrpc: "2.0", id: .id, result: {text: ("x" * .params.n)}}
		elif .method == "question" then .params + {jsonrpc: "2.0"}
		elif .method == "ask" then {jsonrpc: "2.0", id: "q", method: "fs/read", params: .params}
		elif .method == "$/cancel_request" then {jsonrpc: "2.0", method: "cancelled", params: .params}
		elif .method == null then {jsonrpc: "2.0", method: "heard", params: .}
		elif has("id") then {jsonrpc: "2.0", id: .id, result: {method: .method, params: .params}}
		else {jsonrpc: "2.0", method: "seen", params: .} end;
		if type == "array" then map(one) else one end
	EOS
	agent='jq -c --unbuffered -f agent.jq'
	init='{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'
}

# start [OPTION]... [-- AGENT]: an acp-share around the agent; its pid is in stream, its socket in socket. Descriptor 9 is the
# client's side of stdin, got is what comes, said is its stderr.
# shellcheck disable=SC2086 # a command
start() {
	local dashes=yes
	[[ " $* " != *' -- '* ]] || dashes=
	rm -f client got said
	mkfifo client
	exec 9<>client
	acp-share "$@" ${dashes:+-- $agent} <client >got 2>said 9>&- &
	stream=$!
	socket=$XDG_RUNTIME_DIR/acp/$stream
	wait_for listens "$stream"
}

# chain OPTION...: the same in a chain, whose acp-conduct is `stream`. Where the share starts with the first message only, the socket
# is there after `begin`, and `find_socket`.
# shellcheck disable=SC2086 # a command
chain() {
	rm -f client got said
	mkfifo client
	exec 9<>client
	acp-conduct -v --control auto "$@" -- $agent <client >got 2>said 9>&- &
	stream=$!
}

a_socket() { [[ -n $(ls "$XDG_RUNTIME_DIR/acp" 2>/dev/null) ]]; }
# find_socket [NAME]: of the share that has this name.
# shellcheck disable=SC2034 # for the tests
find_socket() {
	wait_for a_socket
	socket=$(acp-share --list -f json | jq -r --arg name "${1-}" 'select($name == "" or .name == $name) | .socket' | head -n 1)
}

say() { printf '%s\n' "$@" >&9; }
heard() { grep -qF -- "$1" "${2:-got}"; }
hears() { await_line "${2:-got}" grep -F -- "$1" >/dev/null; }

# The stream is initialized.
begin() {
	say "$init"
	hears '"protocolVersion":1}'
}

# The client leaves: the stream ends, with that status and without a trace.
ends() {
	local status=0
	exec 9>&-
	wait "$stream" || status=$?
	[[ $status -eq ${1:-0} ]] || fail "status $status; $(cat said)"
	wait_for nobody_left
	run ls "$XDG_RUNTIME_DIR/acp"
	assert_output ''
}

ask() { visit "$socket" ask "$1"$'\n'; }

# watch FILE [HOP]: somebody watches, whose process is in `watcher`.
# shellcheck disable=SC2034 # for the tests
watch() {
	rm -f "$1" "$1.answer"
	visit "$socket" watch ${2:+"$2"} >"$1" 2>"$1.answer" 9>&- &
	watcher=$!
	await_line "$1.answer" grep '"hop"' >/dev/null
	await_line "$1" grep acp-recording >/dev/null
}

# A guest that joins reads its stdin from descriptor 8.
# join FILE [HOP]: somebody joins; want=answer: who may respond to the agent.
join() {
	rm -f guest "$1" "$1.answer"
	mkfifo guest
	exec 8<>guest
	visit "$socket" "${want:-join}" ${2:+"$2"} <guest >"$1" 2>"$1.answer" 9>&- 8>&- &
	guest=$!
	await_line "$1.answer" grep '"hop"' >/dev/null
	await_line "$1" grep acp-recording >/dev/null
}

# What the guest says; down: as if the client had.
down() { printf '{"from":"client","msg":%s}\n' "$@" >&8; }
up() { printf '{"from":"agent","msg":%s}\n' "$@" >&8; }
leaves() {
	kill "$guest"
	exec 8>&-
}

# messages FILE: the messages of a recording, as they were.
messages() { sed -n 's/^.*"msg":\(.*\)}$/\1/p' "$1"; }
# answers FILE: those that were for the guest.
answers() { grep -F '"to":"guest"' "$1" | sed 's/^.*"msg":\(.*\)}$/\1/'; }
