# What the tests of acp-ask share.

# What is remembered, and what somebody types, is a test's own.
ask_setup() {
	load lib
	lib_setup
	exec </dev/null
	export XDG_STATE_HOME=$PWD/state TERM=dumb INPUTRC=/dev/null
}

# agent JSON...: writes the script of an agent (ask.py) to a.json.
agent() {
	printf '%s\n' "$*" >a.json
}

# Without what python3 looks for at each start, which takes longer than the rest.
AGENT=(python3 -SE "$BATS_TEST_DIRNAME/ask.py" a.json)

# ask [OPTION|OPERAND...]: asks that agent.
ask() {
	acp-ask "$@" -- "${AGENT[@]}"
}

# sent JQ: what the client has sent, one value a line.
sent() {
	jq -c "$1" in
}

# The updates and requests of agents that several tests use.
call() {
	echo '{"update":{"sessionUpdate":"tool_call","toolCallId":"'"$1"'","title":"'"${2-Read x}"'","kind":"'"${3-read}"'","status":"pending"}}'
}

called() {
	echo '{"update":{"sessionUpdate":"tool_call_update","toolCallId":"'"$1"'","status":"'"${2-completed}"'"}}'
}

permission() {
	echo '{"ask":"session/request_permission","params":{"sessionId":"s1","toolCall":{"toolCallId":"'"$1"'"},"options":[
		{"optionId":"a","name":"Allow","kind":"allow_once"},{"optionId":"always","name":"Always","kind":"allow_always"},
		{"optionId":"r","name":"Reject","kind":"reject_once"}]}}'
}

# checked [OPTION...]: the messages on both sides, recorded by acp-tap in s.rec, are right as acp-check has it.
checked() {
	acp-check --from client "$@" s.rec
}

# In teardown: ends what is left over, and whatever was sent to that agent is right. (An agent that dies leaves requests unanswered.)
ask_teardown() {
	end_left_over
	[[ ! -e ask.rec ]] || acp-check -l note --from client -i unanswered "$@" ask.rec
}

# typed LINES COMMAND...: runs it at a terminal at which the lines are typed, each when the last line of the screen waits for it;
# $output is the screen, $status the exit status.
# shellcheck disable=SC2034 # the test looks at them
typed() {
	local typed=$1
	shift
	status=0
	python3 -SE "$BATS_TEST_DIRNAME/typist.py" "$typed" "$@" >screen || status=$?
	output=$(<screen)
	mapfile -t lines <<<"$output"
}
