#!/usr/bin/env bats
# acp-ask: a conversation at a terminal.

bats_require_minimum_version 1.5.0

setup() {
	load ask
	ask_setup
}

teardown() {
	[[ ! -e tmux ]] || tmux -S tmux kill-server || true
	ask_teardown
}

needs_readline() {
	ldd "$(command -v acp-ask)" | grep -q libreadline || skip 'built without readline'
}

# at_shell COMMAND: types it in an interactive shell, at a terminal of its own.
at_shell() {
	command -v tmux >/dev/null || skip 'tmux is needed'
	TERM=xterm tmux -S tmux -f /dev/null new-session -d -x 120 -y 20 -s t "env PS1='$ ' TERM=dumb bash --norc --noprofile -i" 3>&-
	wait_for shows '$'
	keys "clear; $1" Enter
}

# keys KEY...: types them there.
keys() {
	tmux -S tmux send-keys -t t "$@"
}

# shows TEXT: the last line of that terminal is this.
shows() {
	[[ $(tmux -S tmux capture-pane -p -t t | sed '/^$/d' | tail -n 1) == "$1" ]]
}

# talk LINES: types them in a conversation.
talk() {
	local typed=$1
	shift
	typed "$typed" acp-ask "$@" -- "${AGENT[@]}"
}

prompts() {
	sent 'select(.method == "session/prompt").params.prompt[0].text'
}

@test "each line is a prompt, until the end of input" {
	agent '{"turns":[[{"text":"One."}],[{"text":"Two."}]]}'
	talk $'first\nsecond\n\x04'
	assert_line One.
	assert_line Two.
	assert_equal "$(prompts)" $'"first"\n"second"'
	assert_equal "$status" 0
}

@test "a backslash at the end goes on with the next line; a blank line is no prompt" {
	agent '{}'
	talk $'\n  \none\\\ntwo\n\x04'
	assert_equal "$(prompts)" '"one\ntwo"'
}

@test "a stop reason and a rejection do not make the exit status: the person has seen them" {
	agent '{"turns":[[{"stop":"refusal"}]]}'
	talk $'hi\n\x04'
	assert_line 'acp-ask: the turn ended: refusal'
	assert_equal "$status" 0
}

# bats test_tags=slow
@test "--timeout does not count the time in which a person types nothing" {
	agent '{}'
	THINKS=2.1 talk $'hi\n\x04' --timeout 2s
	assert_equal "$status" 0
	assert_equal "$(prompts)" '"hi"'
}

@test "permission requests are asked between the lines" {
	agent '{"turns":[['"$(call c1),$(permission c1)"',{"text":"ok"}],[{"text":"again"}]]}'
	talk $'go\n1\nmore\n\x04'
	assert_line ok
	assert_line again
	assert_equal "$(sent 'select(.id == 1001).result.outcome.optionId')" '"a"'
}

# bats test_tags=slow
@test "text that comes while a line is typed is shown above it, in lines of its own" {
	agent '{"turns":[['"$(call c1)"','"$(permission c1 | sed 's/^{/{"later":true,/')"',{"text":"meanwhile"},{"answers":1}]],
		"late":[{"sessionUpdate":"agent_message_chunk","messageId":"m2","content":{"type":"text","text":"late"}}]}'
	for _ in 1 2 3; do
		talk $'go\n1\n\x04' --timeout 5m
		assert_equal "$status" 0
		assert_line 'number: 1'
		assert_line meanwhile
		assert_line late
	done
}

@test "text that comes after the end of input has a line of its own" {
	agent '{"last":[{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"late"}}]}'
	talk $'\x04'
	assert_line late
	assert_equal "$status" 0
}

# bats test_tags=slow
@test "text that waited for a line to be typed does not break what is streamed after it" {
	agent '{"turns":[['"$(call c1)"','"$(permission c1 | sed 's/^{/{"later":true,/')"',{"text":"One"},{"answers":1},{"text":" two"},{"exists":"go"},{"text":" three"}]]}'
	(until [[ -e in ]] && grep -q session/prompt in; do sleep 0.1; done; sleep 1.5; touch go) 3>&- &
	talk $'go\n1\n\x04' --timeout 5m
	wait
	assert_line --partial ' two three'
}

@test "Ctrl-C on an empty line ends; an agent that dies ends the conversation with its status" {
	agent '{}'
	talk $'\x03'
	assert_equal "$status" 0
	agent '{"turns":[[{"exit":5}]]}'
	talk $'hi\n'
	assert_equal "$status" 5
}

@test "Ctrl-C during a turn cancels it, and the conversation goes on" {
	agent '{"turns":[[{"text":"now> "},{"wait":"session/cancel"},{"stop":"cancelled"}],[{"text":"next"}]]}'
	talk $'go\n\x03\nmore\n\x04'
	assert_line 'acp-ask: the turn ended: cancelled'
	assert_line next
	assert_equal "$status" 0
	assert_equal "$(prompts)" $'"go"\n"more"'
}

@test "a second Ctrl-C in the same turn ends the conversation, which asks for nothing more" {
	agent '{"turns":[[{"text":"now> "},{"wait":"session/cancel"},{"text":"still> "},{"wait":"x"}]]}'
	talk $'go\n\x03\n\x03'
	assert_equal "$status" 130
	assert_equal "${lines[*]: -1}" 'now> ^Cstill> ^C'
}

@test "Ctrl-C while a line is typed discards it" {
	needs_readline
	agent '{}'
	talk $'wrong\x03\nright\n\x04'
	assert_equal "$(prompts)" '"right"'
	assert_equal "$status" 0
}

@test "Ctrl-C at a permission request cancels the turn, and the conversation goes on" {
	agent '{"turns":[['"$(call c1),$(permission c1)"',{"wait":"session/cancel"},{"stop":"cancelled"}],[{"text":"next"}]]}'
	talk $'go\n\x03\nmore\n\x04'
	assert_line next
	assert_equal "$(sent 'select(.id == 1001).result.outcome')" '{"outcome":"cancelled"}'
	assert_equal "$status" 0
}

@test "a permission request that comes after Ctrl-C gets cancelled, whatever the rules; the next turn has the rules again" {
	agent '{"turns":[[{"text":"now> "},{"wait":"session/cancel"},'"$(permission c1)"',{"stop":"cancelled"}],['"$(permission c1)"']]}'
	talk $'go\n\x03\nmore\n\x04' --permit '*=allow_once'
	assert_equal "$(sent 'select(.id > 1000) | .result.outcome | .optionId // .outcome')" $'"cancelled"\n"a"'
	assert_equal "$status" 0
}

# bats test_tags=slow
@test "after Ctrl-Z and fg the line goes on, with what was typed" {
	needs_readline
	agent '{"turns":[[{"text":"ok"}]]}'
	at_shell "acp-ask -- ${AGENT[*]}"
	wait_for shows '>'
	keys 'on'
	wait_for shows '> on'
	keys C-z
	wait_for shows '$'
	keys fg Enter
	wait_for shows '> on'
	keys 'ce'
	wait_for shows '> once'
	keys Enter
	wait_for shows '>'
	keys C-d
	wait_for shows '$'
	assert_equal "$(prompts)" '"once"'
}

# bats test_tags=slow
@test "a question that comes while a line is typed does not discard the line; Ctrl-C discards what is typed at the question" {
	needs_readline
	agent '{"turns":[[{"end":true},{"exists":"go"},'"$(call c1),$(permission c1)"'],[{"text":"ok"}]]}'
	at_shell "acp-ask -- ${AGENT[*]}"
	wait_for shows '>'
	keys first Enter
	wait_for shows '>'
	keys 'half a prom'
	wait_for shows '> half a prom'
	touch go
	wait_for shows 'number:'
	keys 9
	wait_for shows 'number: 9'
	keys C-c
	wait_for shows 'number:'
	keys 1 Enter
	wait_for shows '> half a prom'
	keys pt Enter
	wait_for shows '>'
	keys C-d
	wait_for shows '$'
	assert_equal "$(prompts)" $'"first"\n"half a prompt"'
}

# bats test_tags=slow
@test "Ctrl-Z in a login stops acp-ask, too; after fg the login goes on" {
	agent '{"initialize":{"authMethods":[{"id":"t","name":"T","type":"terminal","args":["--login"]}]},"turns":[[{"text":"in"}]]}'
	cat >agent <<-END
		#!/bin/sh
		[ "\$1" = --login ] || exec ${AGENT[*]}
		echo \$\$ >me
		printf 'name: '
		read -r line
		echo "\$line" >login
	END
	chmod +x agent
	at_shell "acp-ask --auth t hi -- ./agent"
	wait_for shows 'name:'
	keys C-z
	wait_for shows '$'
	keys fg Enter
	sleeps() { [[ $(<"/proc/$(<me)/stat") == *') S '* ]]; }
	wait_for sleeps
	keys me Enter
	wait_for test -s login
	wait_for shows '$'
	assert_equal "$(<login)" me
	assert_equal "$(prompts)" '"hi"'
}

# bats test_tags=slow
@test "a background job that has to ask stops, and leaves the terminal to the program in the foreground" {
	needs_readline
	agent '{"turns":[['"$(call c1),$(permission c1)"',{"text":"ok"}]]}'
	at_shell "acp-ask hi -- ${AGENT[*]} & echo \$! >job; cat"
	is_stopped() { [[ -s job && $(<"/proc/$(<job)/stat") == *') T '* ]]; }
	wait_for is_stopped
	[[ $(stty -a <"$(tmux -S tmux display-message -p -t t '#{pane_tty}')") =~ (^|[ \;])icanon.*[\ \;]echo\  ]]
	keys C-c
	wait_for shows '$'
	keys fg Enter
	asks() { tmux -S tmux capture-pane -p -t t | grep -q 'number: *$'; }
	wait_for asks
	keys 1 Enter
	wait_for shows '$'
	assert_equal "$(sent 'select(.id == 1001).result.outcome.optionId')" '"a"'
}

@test "a conversation has text only, and a terminal" {
	agent '{}'
	talk '' -f json
	assert_line 'acp-ask: --format requires a prompt'
	assert_equal "$status" 2
}

# bats test_tags=slow
@test "with readline Tab completes the agent's commands, and there is a history" {
	needs_readline
	agent '{"updates":[{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"review","description":"R"},{"name":"init","description":"I"}]}],"turns":[[{"text":"ok"}]]}'
	talk $'hi\n/re\tnow\n\x04'
	assert_equal "$(prompts)" $'"hi"\n"/review now"'
	assert_equal "$(<state/acp/history)" $'hi\n/review now'
	rm in
	talk $'\x10\n\x04'
	assert_equal "$(prompts)" '"/review now"'
}

@test "two conversations at once both keep their lines in the history" {
	needs_readline
	agent '{"turns":[[{"text":"ok"}],[{"text":"ok"}]]}'
	# While this one runs, another ends.
	cat >meanwhile <<-EOS
		#!/bin/bash
		while IFS= read -r line; do
			[[ \$line != *session/prompt* ]] || echo another >>"$PWD/state/acp/history"
			printf '%s\n' "\$line"
		done | "\$@"
	EOS
	chmod +x meanwhile
	AGENT=("$PWD/meanwhile" "${AGENT[@]}")
	talk $'hi\nagain\n\x04'
	assert_equal "$(<state/acp/history)" $'another\nanother\nhi\nagain'
}

@test "Tab completes no command whose name would control the terminal" {
	needs_readline
	agent '{"updates":[{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"a\u009b2Jb","description":"A"},
		{"name":"c\nd","description":"C"},{"name":"e\u001b[2J","description":"E"},{"name":"é","description":"F"}]}]}'
	LC_ALL=C.UTF-8 talk $'hi\n/a\t\n/c\t\n/e\t\n/\t\n\x04'
	assert_equal "$(prompts)" $'"hi"\n"/a"\n"/c"\n"/e"\n"/é "'
	run ! grep -a $'\u9b' <<<"$output"
}
