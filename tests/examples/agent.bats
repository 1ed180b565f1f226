#!/usr/bin/env bats
# A client's tests with acp-replay as the agent: no model, no key, no network. The client here is a pipe of two jq programs.

setup() {
	cd "$BATS_TEST_TMPDIR" || return
	session=$BATS_TEST_DIRNAME/../fixtures/write-with-permission.jsonl
	set -o pipefail
}

# The client under test: sends what it has to, and shows what the agent says.
client() {
	jq -r 'select(.from == "client" and .line).line' "$session" | "$@" |
		jq -j 'select(.method == "session/update").params.update.content.text? // empty'
}

@test "the client does all that it did when the session was recorded, and shows the agent's text" {
	run client acp-replay --timeout 10s "$session"
	[ "$status" -eq 0 ]
	[[ $output == 'I will write the file now. Done: '* ]]
}

@test "a client that asks for something else fails, and acp-replay says what is nearest" {
	jq -r 'select(.from == "client" and .line).line' "$session" | sed 's/please WRITE/please READ/' >asked
	run acp-replay --timeout 10s "$session" <asked
	[ "$status" -eq 1 ]
	[[ $output == *'the nearest request is "session/prompt"'*'please READ the note'* ]]
}
