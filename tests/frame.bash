# What the frame's bats files share, beside lib.bash. In setup: `load lib; load frame; lib_setup`.

# A filter with both directions meets the stream in these ways.
# shellcheck disable=SC2034
WAYS=(wrap link wrap-sockets wrap-socket link-sockets) SHORT_WAYS=2

# filter WAY [RULE...] -- AGENT...: rulefilter between our stdin and stdout and an agent.
filter() {
	local way=$1
	shift
	case $way in
	wrap) rulefilter "$@" ;;
	wrap-sockets) sockpair rulefilter "$@" ;;
	wrap-socket) sockpair -1 rulefilter "$@" ;;
	link) link rulefilter "$@" ;;
	link-sockets) sockpair link -s rulefilter "$@" ;;
	esac
}

# An agent that takes all that is sent into the file got, and then sends the file up.
takes_then_sends() {
	filter "$@" -- sh -c 'cat >got; cat up'
}

# stderr without the sessions of sanitizers and the like: what the frame itself said.
said() {
	grep '^rulefilter: ' err || true
}
