# What the bats files on attaching share, beside lib.bash. In setup: `load lib; load attach; attach_setup`.

# shellcheck disable=SC2034
HEADER='{"acp-recording":1,"started":"2026-11-20T15:56:02.500000Z","by":"acp-conduct 0.1.0","hops":["agent"]}'

attach_setup() {
	lib_setup
	export TZ=UTC XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR/run
	mkdir -m 0700 "$XDG_RUNTIME_DIR"
}

attach_teardown() {
	exec 9>&-
	end_left_over
}

# conduct SOCKET [OPTION]...: a conductor (its pid is in $conductor) that sends what is written to descriptor 9, until
# that is closed, and tells in the file log what it is asked and sent.
conduct() {
	local socket=$1
	shift
	rm -f in
	mkfifo in
	conductor "$@" "$socket" <in >log 3>&- &
	conductor=$!
	exec 9>in
	wait_for listens "$conductor"
}

# attach TOOL [OPTION]...: it runs beside the chain at the socket, its stderr in the file seen; $filter is its pid.
attach() {
	"$1" --attach socket "${@:2}" </dev/null >out 2>seen 9>&- 3>&- &
	filter=$!
}

# ends STATUS: the tool does, with this status.
ends() {
	local status=0
	wait "$filter" || status=$?
	[[ $status == "$1" ]] || {
		echo "status $status, expected $1"
		cat seen
		return 1
	}
}

# A real session as a conductor has it: HEADER and records.
session() {
	echo "$HEADER"
	jq -r 'select(.line) | "{\"t\":\(.t),\"at\":0,\"from\":\"\(.from)\",\"msg\":" + .line + "}"' "$FIXTURES/$1"
}
