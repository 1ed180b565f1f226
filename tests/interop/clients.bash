# How clients on the two SDKs react to an agent: what fault.bats and clients.bats share.

# client SDK N AGENT...: a client that sends N prompts to the agent.
client() {
	case $1 in
	node) node "$PEERS/turns.mjs" "${@:2}" ;;
	python) "$PEERS/python/bin/python" "$PEERS/turns.py" "${@:2}" ;;
	esac
}

# usual N AGENT...: both do the same where the agent is as it should be, and this is what they write then.
usual() {
	local sdk
	for sdk in node python; do
		client "$sdk" "$@" >"$BATS_TEST_TMPDIR/$sdk" 2>"$BATS_TEST_TMPDIR/$sdk.usual"
	done
	cmp "$BATS_TEST_TMPDIR/node" "$BATS_TEST_TMPDIR/python"
}

# reaction SDK N AGENT...: survives, reports, fails or hangs, as acp-fault(1) has these words.
reaction() {
	local err=$BATS_TEST_TMPDIR/$1.err met word
	met=$(PATIENCE=${PATIENCE:-5} client "$@" 2>"$err" </dev/null)
	word=$(jq -r 'if .error == "no response" then "hangs" elif .error then "fails" else "survives" end' <<<"$met")
	# Does it say anything on standard error or to its agent that it does not say without a fault?
	if [[ $word != fails ]] && grep -vxFf "$BATS_TEST_TMPDIR/$1.usual" "$err" | awk '!/^acp-/ || /an error response without a request/' | grep -q .; then
		word=${word/survives/}
		word=reports${word:+, $word}
	fi
	echo "$word"
}

# reactions N AGENT...: those of the TypeScript SDK's client and of the Python SDK's, with a bar between.
reactions() {
	reaction node "$@" >"$BATS_TEST_TMPDIR/node" 3>&- &
	reaction python "$@" >"$BATS_TEST_TMPDIR/python"
	wait
	echo "$(<"$BATS_TEST_TMPDIR/node")|$(<"$BATS_TEST_TMPDIR/python")"
}
