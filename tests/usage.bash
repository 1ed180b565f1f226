# What the bats files of acp-usage share, behind `load lib`.

unset COLUMNS
# shellcheck disable=SC2034
USAGE=$BATS_TEST_DIRNAME/fixtures/usage

# columns FILE NAME...: these columns of the turns' rows.
turns() {
	acp-usage -f json "$1" 2>/dev/null | jq -r --arg names "${*:2}" \
	    'select(.event == "turn") | [.[$names | split(" ")[]] | if . == null then "-" else . end] | join(" ")'
}

# The same of all updates.
updates() {
	acp-usage -f json "$1" 2>/dev/null | jq -r --arg names "${*:2}" \
	    'select(.event == "update") | [.[$names | split(" ")[]] | if . == null then "-" else . end] | join(" ")'
}

# prompt ID SESSION, answer ID RESULT-MEMBERS, update SESSION MEMBERS: messages.
prompt() {
	printf '{"jsonrpc":"2.0","id":%s,"method":"session/prompt","params":{"sessionId":"%s","prompt":[]}}\n' "$1" "$2"
}

answer() {
	printf '{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn"%s}}\n' "$1" "${2:+,$2}"
}

update() {
	printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%s","update":{"sessionUpdate":"usage_update",%s}}}\n' "$1" "$2"
}
