#!/usr/bin/env bats
# acp-mcp in a chain whose servers, shims, provider, bridge and agent are killed at random moments, with requests open both ways.
# ACP_SEED and ACP_ROUNDS repeat or prolong a run; the seeds are printed.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load mcp
	lib_setup
	export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR
	# The agent's responses have the params of the requests.
	cat >agent.jq <<-'END'
		if .method == "initialize" then {jsonrpc: "2.0", id, result: {protocolVersion: 1}}
		elif .method == "session/new" then {jsonrpc: "2.0", id, result: {sessionId: .params.cwd, servers: .params.mcpServers}}
		elif has("method") and has("id") then {jsonrpc: "2.0", id, result: .params} else empty end
	END
}

teardown() {
	[[ -n ${BATS_TEST_COMPLETED-} ]] || tail -n 20 err
	mcp_teardown
}

# chance N: true once in N times.
chance() {
	((RANDOM % $1 == 0))
}

# The client's request METHOD with PARAMS; its id is in REQUESTED.
request() {
	REQUESTED=$((++requests))
	client "{\"jsonrpc\":\"2.0\",\"id\":$REQUESTED,\"method\":\"$1\",\"params\":$2}"
}

# A new session: where its server's socket is, in SOCKET.
new_session() {
	request session/new "{\"cwd\":\"/$requests\",\"mcpServers\":[]}"
	SOCKET=$(await out ".id == $REQUESTED" | jq -r '.result.servers[0].args[1] // empty')
}

new_shim() {
	local name=shim$((++shims))
	# shellcheck disable=SC2153
	shim "$name" "$SOCKET"
	asked[$name]=
}

lives() {
	kill -0 "${SHIM[$1]}" 2>/dev/null
}

a_shim() {
	local names=("${!asked[@]}")
	SHIM_NAME=${names[RANDOM % ${#names[@]}]}
}

# A request on any connection. Those that are to be answered are noted.
call() {
	local id=$((++calls)) tools=(echo echo ask never) tool
	a_shim
	tool=${tools[RANDOM % ${#tools[@]}]}
	mcp "$SHIM_NAME" "{\"jsonrpc\":\"2.0\",\"id\":$id,\"method\":\"tools/call\",\"params\":{\"name\":\"$tool\",\"arguments\":{\"text\":\"$id\"}}}" 2>/dev/null ||
	    return 0
	[[ $tool == never ]] || asked[$SHIM_NAME]+=" $id"
}

# The agent's MCP clients respond to what servers have asked, once.
respond() {
	local name line lines
	for name in "${!asked[@]}"; do
		mapfile -t lines < <(jq -c 'select(.method == "sampling/createMessage") | {jsonrpc: "2.0", id, result: {for: .params.for}}' \
		    "$name.out" 2>/dev/null)
		for line in "${lines[@]:${responded[$name]-0}}"; do mcp "$name" "$line" 2>/dev/null || true; done
		responded[$name]=${#lines[@]}
	done
}

# kill_any PATTERN: one of the chain's processes.
kill_any() {
	local pids
	mapfile -t pids < <(left_over | while read -r pid; do
		tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qE "$1" && echo "$pid"
	done)
	((${#pids[@]} == 0)) || kill -KILL "${pids[RANDOM % ${#pids[@]}]}" 2>/dev/null
}

# Any process but the agent and acp-conduct. After the bridge's death the agent needs new sockets.
kill_one() {
	case $((RANDOM % 8)) in
	0) kill_any '^[^ ]*acp-mcp --provide ' ;;
	1) kill_any '^[^ ]*acp-mcp $' && new_session ;;
	2 | 3 | 4) kill_any '^jq .* -f .*/mcp\.jq ' ;;
	*)
		a_shim
		kill -KILL "${SHIM[$SHIM_NAME]}" 2>/dev/null
		;;
	esac || true
}

step() {
	if ((${#asked[@]} == 0)) || chance 6; then
		new_shim
	elif chance 5; then
		kill_one
	elif chance 3; then
		request work "{\"n\":$((requests + 1))}"
	else
		call
	fi
	! chance 3 || respond
}

# Has this connection what it waits for, or has it ended?
is_settled() {
	respond
	lives "$1" || return 0
	jq -n -e --arg asked "${asked[$1]}" '[inputs | select(has("result") or has("error")).id] as $ids
		| $asked | split(" ") | map(select(. != "") | tonumber) | all(. as $id | any($ids[]; . == $id))' "$1.out" >/dev/null
}

# No response came twice, or to another's request.
check_shim() {
	jq -n -e '[inputs | select(has("result") or has("error"))]
		| (map(.id) | length == (unique | length))
		and all(.[]; .id as $id | .result.content[0].text? // "" | if startswith("x: ") then . == "x: \($id)" else true end)' "$1.out" ||
	    { cat "$1.out"; return 1; }
}

chaos_round() {
	local name requests=0 shims=0 calls=0 i
	local -A asked=() responded=()
	RANDOM=$1
	rm -f down out err ./*.in ./*.out ./*.err
	mkfifo down
	acp-conduct --restarts 1000/1s --grace 2s -p "exec acp-mcp --provide 'x=$SERVER x'" -- jq -c --unbuffered -f agent.jq <down >out 2>err &
	BRIDGE=$!
	exec 8>down
	request initialize '{"protocolVersion":1}'
	new_session
	for ((i = 0; i < 60; i++)); do step; done
	for name in "${!asked[@]}"; do wait_for is_settled "$name"; done
	# With requests open both ways, the agent dies or the client leaves.
	for i in 1 2 3 4; do
		call
		request work "{\"n\":$((requests + 1))}"
	done
	! chance 2 || kill_any '^jq .* -f agent\.jq '
	exec 8>&-
	wait "$BRIDGE" || true
	for name in "${!SHIM_FD[@]}"; do unshim "$name"; done
	wait_for nobody_left
	for name in "${!asked[@]}"; do check_shim "$name"; done
	# Each request of the client has one response, and a work's is its own.
	assert_equal "$(jq -n -r --argjson n "$requests" '[inputs | select(has("result") or has("error"))]
		| ([range(1; $n + 1)] - map(.id)), (group_by(.id) | map(select(length > 1)[0].id)),
			map(select(.result.n? and .result.n != .id).id) | tojson' out | tr '\n' ' ')" '[] [] [] '
	rm -rf "$BATS_TEST_TMPDIR"/acp-mcp.*
}

# bats test_tags=slow
@test "servers, shims, provider, bridge and agent die at random: every request has one response, nothing is left over" {
	trap '' PIPE
	seed=${ACP_SEED:-$RANDOM}
	for ((round = 0; round < ${ACP_ROUNDS:-$(sample 1 3)}; round++)); do
		echo "ACP_SEED=$((seed + round))"
		chaos_round $((seed + round))
	done
}
