# What the tests of acp-top share: an agent whose turns end when the client says so, shares that are scripts, and a screen. After
# control_setup.

top_setup() {
	[[ -x $B/bin/acp-top ]] || skip 'acp-top was not built: its library was missing (scripts/bootstrap)'
	cat >agent.jq <<-'EOS'
		def up($s; $u): {jsonrpc: "2.0", method: "session/update", params: {sessionId: $s, update: $u}};
		if .method == "initialize" then {jsonrpc: "2.0", id: .id, result: {protocolVersion: 1, agentInfo: {name: "robot", version: "3"}}}
		elif .method == "session/new" then {jsonrpc: "2.0", id: .id, result: {sessionId: .params.cwd}}
		elif .method == "tell" then up(.params.session; .params.update)
		elif .method == "finish" then .params + {jsonrpc: "2.0"}
		elif .method == "question" then .params + {jsonrpc: "2.0"}
		elif .method == null then {jsonrpc: "2.0", method: "heard", params: .}
		else empty end
	EOS
	export LC_ALL=C.UTF-8
	posers=() terminals=0
	unset NO_COLOR COLUMNS
}

# initialized: the stream is.
initialized() {
	# shellcheck disable=SC2154 # of control_setup
	say "$init"
	hears '"protocolVersion":1,'
}

# open DIRECTORY: a session, whose id is the directory.
open() {
	say '{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"'"$1"'","mcpServers":[]}}'
	hears '"sessionId":"'"$1"'"}'
}

# prompt ID SESSION: a turn begins; finish ID [RESULT]: it ends.
prompt() { say '{"jsonrpc":"2.0","id":'"$1"',"method":"session/prompt","params":{"sessionId":"'"$2"'","prompt":[{"type":"text","text":"go"}]}}'; }
finish() {
	say '{"jsonrpc":"2.0","method":"finish","params":{"id":'"$1"',"result":'"${2:-"{\"stopReason\":\"end_turn\"}"}"'}}'
	hears '{"id":'"$1"',"result":'
}

# update SESSION UPDATE: the agent sends it.
update() {
	say '{"jsonrpc":"2.0","method":"tell","params":{"session":"'"$1"'","update":'"$2"'}}'
	hears "$2"
}

# question ID SESSION: the agent asks for permission.
question() {
	say '{"jsonrpc":"2.0","method":"question","params":{"id":'"$1"',"method":"session/request_permission","params":{"sessionId":"'"$2"'","toolCall":{"toolCallId":"c'"$1"'","title":"rm -r build"},"options":[{"optionId":"yes","name":"Do it","kind":"allow_once"},{"optionId":"no","name":"Leave it","kind":"reject_once"}]}}}'
	hears '"id":'"$1"',"method":"session/request_permission"'
}

# rows: what -f json has, shortened. has ROW: is it one of them?
rows() { acp-top -b -f json | jq -r '"\(.session) \(.state) \(.detail // "-")"'; }
has() { rows 2>/dev/null | grep -qxF -- "$1"; }

# poses NAME FILE [end]: somebody listens as acp-share does, and what attaches gets the bytes of the file; then the pipe is closed, or
# (without `end`) stays open. FILE may be a fifo. FILE -: no response at all; /dev/null: it hangs up.
poses() {
	command -v python3 >/dev/null || skip 'python3 is needed'
	[[ -d $XDG_RUNTIME_DIR/acp ]] || mkdir -m 700 "$XDG_RUNTIME_DIR/acp"
	python3 -SE "$TOP/tests/poses.py" "$XDG_RUNTIME_DIR/acp/$1" "$2" "${3-}" 9>&- 3>&- &
	posers+=($!)
	wait_for [ -S "$XDG_RUNTIME_DIR/acp/$1" ]
}

# The posers leave.
unpose() {
	kill "${posers[@]}"
	wait "${posers[@]}" 2>/dev/null || true
	rm "$XDG_RUNTIME_DIR"/acp/*
	posers=()
}

# recording [SECONDS]: the header of one that began so long ago; message TIME SIDE JSON: a record of it.
recording() { jq -nc --argjson ago "${1:-100}" '{"acp-recording": 1, started: (now - $ago | todate)}'; }
message() { printf '{"t":%s,"from":"%s","msg":%s}\n' "$@"; }

# screen COLUMNS ROWS [OPTION]...: acp-top on a terminal; what it writes is kept in the file `raw`, too, and its process in `pid`.
screen() {
	local size=$1x$2
	shift 2
	command -v tmux >/dev/null || skip 'tmux is needed'
	# A server that ends does not meet the next.
	terminal=$BATS_TEST_TMPDIR/tmux$((++terminals))
	tmux -S "$terminal" -f /dev/null new-session -d -x "${size%x*}" -y "${size#*x}" -s top \
	    "sh -c 'echo \$\$ >pid; exec env ${SCREEN_ENV-} acp-top $*' 2>err; echo status \$?; cat" 9>&- 8>&- 3>&-
	tmux -S "$terminal" pipe-pane -t top 'cat >raw'
}
picture() { tmux -S "$terminal" capture-pane -p "$@" -t top; }
drawn() { picture | grep -qF -- "$1"; }
shows() {
	wait_for drawn "$1" && return
	picture >&2
	return 1
}
gone() { ! drawn "$1"; }
keys() { tmux -S "$terminal" send-keys -t top "$@"; }
# The line of the screen that is chosen: it is reversed.
chosen() { picture -e | grep -P '\e\[(\d+;)*7m' | head -n 1 | sed 's/\x1b\[[0-9;]*m//g'; }
chosen_has() { chosen | grep -qF -- "$1"; }
quits() {
	keys q
	shows "status ${1:-0}"
	tmux -S "$terminal" kill-server
}

# sleeps: does acp-top wait without a time at which it goes on, and was it not woken meanwhile? The time is the fourth operand of
# epoll_wait; where that cannot be seen, no timer of acp-top is longer than 2 s.
wakes() { grep ctxt_switches "/proc/$(cat pid)/status" 2>/dev/null; }
sleeps() {
	local before call
	before=$(wakes)
	if portable || ! read -ra call 2>/dev/null <"/proc/$(cat pid)/syscall"; then
		sleep 2.5
	elif [[ ${call[4]-} != 0xffffffff* ]]; then
		return 1
	fi
	[[ $(wakes) == "$before" ]]
}
