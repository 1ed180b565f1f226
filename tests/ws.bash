# For the tests of acp-ws. After `load lib` and `lib_setup`.
# shellcheck disable=SC2034 # what functions set is for the tests

# Skips where the tool was not built.
ws_setup() {
	! portable || skip 'acp-ws needs Linux'
	[[ -x $B/bin/acp-ws ]] || skip 'acp-ws was not built: it needs libwebsockets (libwebsockets-dev)'
}

ws() {
	python3 -SE "$TOP/tests/ws.py" "$@" # without what the system adds to each start
}

# serve [OPTION...] -- AGENT...: a server; PORT is where, SERVER its process, `server` its standard error.
serve() {
	rm -f server
	acp-ws --listen 0 "$@" 2>server &
	SERVER=$!
	wait_for grep -q 'listening at' server
	PORT=$(sed -n 's/.*listening at .*:\([0-9]*\)\/.*/\1/p' server)
}

# remote [OPTION...] STEP...: a raw server that plays the steps for one connection; URL is where, `handshake` what it was sent.
remote() {
	rm -f port
	ws server port "$@" >remote 2>handshake &
	REMOTE=$!
	wait_for test -e port
	URL=ws://127.0.0.1:$(<port)/acp
}

# An agent that answers each request with its own params.
answers() {
	jq -c --unbuffered 'if .method and has("id") then {jsonrpc, id, result: (.params // {})} else empty end'
}
export -f answers

# ends PID STATUS: this is how it ends.
ends() {
	local status=0
	wait "$1" || status=$?
	assert_equal "$status" "$2"
}

agents_left() {
	local left
	mapfile -t left < <(left_over) # not to a program, which has the mark itself
	((${#left[@]} == $1))
}

# The largest resident set of a process so far, in KiB.
peak() {
	awk '/^VmHWM/ { print $2 }' "/proc/$1/status"
}
