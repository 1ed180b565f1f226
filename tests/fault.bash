# What the bats files of acp-fault share.
# shellcheck disable=SC2034,SC2154 # what they look at, and what bats puts there

# numbered N: so many requests.
numbered() {
	seq "$1" | sed 's/.*/{"id":&,"method":"m"}/'
}

# faults [JQ]: what the report says was done, a line each.
faults() {
	jq -c "select(.fault) | ${1:-[.n, .fault]}" report
}

# both OPTION...: around an agent that sends the file up, with the client's file down; what each gets is in got and out.
both() {
	acp-fault "$@" -- sh -c 'cat >got; cat up' <down >out 2>err
}

# ids: of the messages on standard input, on one line.
ids() {
	jq -c .id | tr '\n' ' '
}

# bad MESSAGE OPTION...: refused with this message, before the agent is started.
bad() {
	local want=$1
	shift
	run --separate-stderr -2 acp-fault "$@" -- touch started
	assert_equal "$stderr" "acp-fault: $want"
	[ ! -e started ]
}
