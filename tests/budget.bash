# What the bats files of acp-budget share, behind `load lib`: a client that waits for its answers, and
# an agent that plays a script (agent.jq).

# plays TURNS: what the agent does.
plays() {
	printf '%s\n' "$1" >script
	cat >agent <<-END
		#!/bin/bash
		exec jq -c --unbuffered -n --argjson script "\$(cat script)" -f "$TOP/tests/agent.jq" < <(exec tee got 2>/dev/null)
	END
	chmod +x agent
}

# start COMMAND...: a stream; what comes up is in seen, of which READ lines have been read by until_line. Its stderr is in err.
start() {
	# What a start before this one has left is not to be taken for what this one writes.
	rm -f down got err seen
	mkfifo down
	READ=0
	"$@" <down >seen 2>err 3>&- &
	PID=$!
	exec 8>down
}

# budget OPTION...: acp-budget around the agent.
budget() {
	start acp-budget "$@" -- ./agent
}

send() {
	printf '%s\n' "$1" >&8
}

# prompt ID SESSION TEXT
prompt() {
	local session=${2//\"/\\\"} text=$3
	text=${text//\\/\\\\} text=${text//\"/\\\"} text=${text//$'\n'/\\n}
	send "{\"jsonrpc\":\"2.0\",\"id\":$1,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"$session\",\"prompt\":[{\"type\":\"text\",\"text\":\"$text\"}]}}"
}

# until_line TEXT: reads on in what comes up, to the line that has it, which is LINE.
until_line() {
	LINE=$(await_line seen numbered_after "$READ" "$1") || {
		cat err >&2
		return 1
	}
	READ=${LINE%%:*} LINE=${LINE#*:}
}

# numbered_after COUNT TEXT: of the lines on standard input behind so many, those that have it, with their numbers.
numbered_after() {
	TEXT=$2 awk -v count="$1" 'NR > count && index($0, ENVIRON["TEXT"]) { print NR ":" $0 }'
}

# answer ID: waits for it.
answer() {
	until_line "\"id\":$1,"
}

# turn ID SESSION TEXT: a prompt and its answer.
turn() {
	prompt "$@" && answer "$1"
}

# finish: the client leaves; STATUS is that of the command.
finish() {
	exec 8>&-
	# shellcheck disable=SC2034
	STATUS=0
	# shellcheck disable=SC2034
	wait "$PID" || STATUS=$?
}

# asked: the text blocks of the prompts that the agent has got, one prompt a line.
asked() {
	jq -c 'select(.method == "session/prompt") | [.params.prompt[].text]' got
}

# told: what acp-budget itself said, without the times that it estimates.
told() {
	sed -n 's/ · ~.*//; s/^acp-budget: //p' err
}

# context USED: an update.
context() {
	printf '{"sessionUpdate":"usage_update","used":%s,"size":1000}' "$1"
}
