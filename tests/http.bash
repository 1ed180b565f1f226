# For the tests of acp-http. After `load lib` and `lib_setup`.
# shellcheck disable=SC2034 # what functions set is for the tests

# Skips where the tool was not built.
http_setup() {
	! portable || skip 'acp-http needs Linux'
	[[ -x $B/bin/acp-http ]] || skip 'acp-http was not built: its libraries were missing (scripts/bootstrap)'
}

ws() {
	python3 -SE "$TOP/tests/ws.py" "$@" # without what the system adds to each start
}

streams() {
	python3 -SE "$TOP/tests/streams.py" "$@"
}

# serve [OPTION...] -- AGENT...: a server; PORT is where, SERVER its process, `server` its standard error.
serve() {
	serve_at 0 "$@"
}

# serve_at WHERE [OPTION...] -- AGENT...
serve_at() {
	rm -f server
	acp-http --listen "$@" 2>server &
	SERVER=$!
	wait_for grep -q 'listening at' server
	PORT=$(sed -n 's,.*listening at [a-z]*://.*:\([0-9]*\).*,\1,p' server)
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
