# What the tests of acp-conduct's promises share. After lib_setup.

# An agent: it responds to each request with its method and params, except that it never responds to `hang`, and to `slow`
# only when that is cancelled. It reports what it reads in the file agent.log.
conduct_setup() {
	cat >agent.jq <<-'EOS'
		if .method == "initialize" then {jsonrpc: "2.0", id: .id, result: {protocolVersion: 1}}
		elif .method == "hang" or .method == "slow" then empty
		elif .method == "tell" then {jsonrpc: "2.0", method: "session/update", params: .params}
		elif .method == "$/cancel_request" then {jsonrpc: "2.0", id: .params.requestId, error: {code: -32800, message: "cancelled"}}
		elif has("method") and has("id") then {jsonrpc: "2.0", id: .id, result: {method: .method, params: .params}}
		else empty end
	EOS
	printf '#!/bin/sh\ntee -a agent.log | exec jq -c --unbuffered -f agent.jq\n' >agent
	chmod +x agent
	init='{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'
}

# start ARGUMENT...: acp-conduct -v with a client that stays: descriptor 9 is the client's output, the file got what it reads,
# said what acp-conduct reports, $conduct its process.
start() { start_quietly -v "$@"; }
# The same without -v.
start_quietly() {
	rm -f client got said
	mkfifo client
	exec 9<>client
	acp-conduct "$@" <client >got 2>said 9>&- &
	conduct=$!
}

say() { printf '%s\n' "$@" >&9; }
got() { grep -qF -- "$1" got; }
gets() { await_line got grep -F -- "$1" >/dev/null; }
said() { grep -qE -- "$1" said; }
says() { await_line said grep -E -- "$1" >/dev/null; }
reads() { await_line agent.log grep -F -- "$1" >/dev/null; }

# The chain is initialized.
begin() {
	say "$init"
	gets '"id":0'
}

# ends STATUS: the client leaves, and the chain ends with that status and without a trace.
ends() {
	exec 9>&-
	ends_itself "$1"
}

# The same while the client stays.
ends_itself() {
	local status=0
	wait "$conduct" || status=$?
	[[ $status -eq $1 ]] || fail "status $status; $(cat said)"
	wait_for nobody_left
}

# The process id of a component, as -v reported it last.
pid_of() {
	says "^acp-conduct: $1: pid " || return
	sed -n "s/^acp-conduct: $1: pid \([0-9]*\),.*/\1/p" said | tail -n 1
}

# response ID: its result, or the code of its error, from what the client has got.
response() { response_in "$1" <got; }

# The same from standard input. jq takes long to start: it is left what does not begin as ours do.
response_in() {
	local lines found
	lines=$(grep -F -- "$1") || return 0
	found=$(sed -nE 's/^\{("jsonrpc":"2\.0",)?"id":'"${1//\//\\/}"',("result":(.*)|"error":\{"code":(-?[0-9]+).*)\}$/\3\4/p' <<<"$lines")
	if [[ $found ]]; then
		printf '%s\n' "$found"
	else
		jq -c --argjson id "$1" 'select(.id == $id and (.method | not)) | .result // .error.code' <<<"$lines"
	fi
}

# responds ID EXPECTED: waits for that response.
responds() {
	local found
	found=$(await_line got response_in "$1") || { cat got said; return 1; }
	assert_equal "$found" "$2"
}

responded() { [[ $(response "$1") ]]; }

# stands_still FILE...: nothing was added to the files for five seconds: what has not come by now is stuck.
stands_still() {
	local now
	now=$(stat -c %s "$@" | xargs)
	if [[ $now != "${still-}" ]]; then
		still=$now still_since=$SECONDS
	fi
	((SECONDS - still_since >= 5))
}

# moves FILE COUNT: waits until the file has so many lines, as long as lines are added to it.
moves() {
	until (($(grep -c . "$1") >= $2)); do
		if stands_still "$1"; then
			echo "stuck at $(grep -c . "$1") of $2 lines of $1" >&2
			return 1
		fi
		sleep 0.05
	done
}

# A time much longer than any pause within acp-conduct: another chain waits for so long.
a_while_passes() {
	acp-conduct --grace "${1:-3s}" -- sleep 1000 </dev/null 2>/dev/null 9>&-
}
