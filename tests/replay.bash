# What the tests of acp-replay share. They look at $line, $status and $rest.
# shellcheck disable=SC2034

# recording FILE: writes standard input as a recording. A line is who sent it, `>` for the client and
# `<` for the agent, and a message; other lines are records as they are.
recording() {
	sed -e 's/^> \(.*\)$/{"t":0.000000,"from":"client","msg":\1}/' \
		-e 's/^< \(.*\)$/{"t":0.000000,"from":"agent","msg":\1}/' >"$1"
}

# A session of two turns in the first of which the agent asks for something.
a_session() {
	recording s.rec <<-'END'
		> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}
		< {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}
		> {"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}
		< {"jsonrpc":"2.0","id":1,"result":{"sessionId":"A"}}
		> {"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"A"}}
		< {"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"A","n":1}}
		< {"jsonrpc":"2.0","id":0,"method":"fs/read_text_file","params":{"path":"/x"}}
		> {"jsonrpc":"2.0","id":0,"result":{"content":"x"}}
		< {"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}
		> {"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"A"}}
		< {"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}
	END
}

# play_agent FILE: the agent of FILE, to talk to: tell LINE, hear (into $line), and hang_up.
play_agent() {
	mkfifo to from
	acp-replay "$@" <to >from 2>err 3>&- &
	pid=$!
	exec 8>to 9<from
}

# play_client FILE: the client of FILE, likewise.
play_client() {
	mkfifo to from
	acp-replay --as client "$@" <to >from 2>err 3>&- &
	pid=$!
	exec 8>to 9<from
}

tell() {
	printf '%s\n' "$1" >&8
}

# Fails at the end of input, and after a minute: a failure is to be one, not a hang.
hear() {
	IFS= read -r -t 60 line <&9
}

# hang_up: the other side reads its end of input; $status is how it ended, the rest of what it sent is in $rest.
hang_up() {
	exec 8>&-
	rest=$(cat <&9)
	status=0
	wait "$pid" || status=$?
}
