#!/usr/bin/env bats
# acp-revive with real agents, whose processes are killed between turns and in turns.

bats_require_minimum_version 1.5.0

setup_file() {
	load model
	model_start
}

teardown_file() {
	load model
	model_stop
}

setup() {
	load ../lib
	load ../conduct
	lib_setup
}

teardown() {
	end_left_over
}

prompt() {
	say '{"jsonrpc":"2.0","id":'"$1"',"method":"session/prompt","params":{"sessionId":"'"$session"'","prompt":[{"type":"text","text":"'"$2"'"}]}}'
}

stories() { (($(grep -c 'story' got) >= $1)); }
lives() { (($(grep -c 'acp-revive: agent: pid' said) >= $1)); }

agent_pid() { sed -n 's/.*acp-revive: agent: pid \([0-9]*\).*/\1/p' said | tail -n 1; }

# eventually COMMAND...: as wait_for, for what an agent does once it has started, which takes long on a busy machine.
eventually() {
	for _ in {1..5}; do
		! wait_for "$@" || return 0
	done
	return 1
}

# The texts of the user in the last request that a turn has sent to the model.
conversation() {
	jq -s -c '[.[] | select(.path == "/v1/messages" and (.body.tools | length) > 0)] | last
		| [.body.messages[] | select(.role == "user") | .content | if type == "string" then . else .[] | .text // empty end]' \
		"$BATS_FILE_TMPDIR/requests"
}

# killed_20_times AGENT...: between turns and in turns. Each next turn knows the conversation.
killed_20_times() {
	mkdir -p home folder
	export HOME=$PWD/home CLAUDE_CONFIG_DIR=$PWD/home/.claude
	start -f 'acp-tap -o tap.rec' -- acp-revive -v --restarts 30/60m --init-timeout 5m -- "$@" 3>&-
	say '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"session":{"notices":{}}}}}'
	eventually got '"id":0'
	say '{"jsonrpc":"2.0","id":"new","method":"session/new","params":{"cwd":"'"$PWD/folder"'","mcpServers":[]}}'
	eventually responded '"new"'
	session=$(response '"new"' | jq -r .sessionId)
	prompt 100 "remember word-0."
	eventually responded 100
	for n in {1..20}; do
		if ((n % 2)); then
			kill -KILL "$(agent_pid)"
		else
			prompt "$n" "HOLD on, word-in-$n."
			eventually stories "$((n / 2))"
			kill -KILL "$(agent_pid)"
			responds "$n" -32603
		fi
		wait_for lives "$((n + 1))"
		prompt "$((100 + n))" "remember word-$n."
		eventually responded "$((100 + n))"
		assert_equal "$(response "$((100 + n))" | jq -r '.stopReason? // .')" end_turn
		known=$(conversation)
		for earlier in $(seq 0 "$n"); do
			[[ $known == *"word-$earlier."* ]] || fail "word-$earlier is not known after $n deaths: $known"
		done
	done
	ends 0
	# Each response of the model's came to the client once, and no history.
	run ! grep -q user_message_chunk got
	assert_equal "$(jq -c 'select(.params.update.sessionUpdate == "notice")' got | wc -l)" 20
	assert_equal "$(jq -s '[.[] | select(.msg.method == "session/prompt")] | length' tap.rec)" 31
}

@test "claude-agent-acp is killed 20 times, between turns and in turns: each next turn knows the conversation" {
	killed_20_times claude-agent-acp
}

@test "qwen-code is killed 20 times, between turns and in turns: each next turn knows the conversation" {
	# Nothing is asked of the model but what the prompts ask, and the agent does not start itself a second time.
	mkdir -p home/.qwen
	echo '{"memory":{"enableManagedAutoMemory":false},"ui":{"enableFollowupSuggestions":false}}' >home/.qwen/settings.json
	export QWEN_CODE_NO_RELAUNCH=true QWEN_DISABLE_AUTO_TITLE=1
	killed_20_times qwen --acp --auth-type anthropic --model stand-in
}
