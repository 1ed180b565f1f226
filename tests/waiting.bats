#!/usr/bin/env bats
# A tool that waits for standard input on a terminal says so, with one line.

setup() {
	load lib
	lib_setup
	REC=$FIXTURES/demo.rec
}

teardown() {
	end_left_over
}

# typed COMMAND: what it prints on a terminal on which an end of input is typed at once.
typed() {
	output=$(timeout 60 script -qec "$1" /dev/null </dev/null) || true
	output=${output//$'\r'/}
	mapfile -t lines <<<"$output"
}

@test "tools that read a stream say what they wait for on a terminal" {
	local command
	for command in acp-tap 'acp-tap -o x.rec' 'acp-inject -e .' 'acp-fault --drop 1%' 'acp-usage --pass'; do
		typed "$command"
		assert_line "${command%% *}: waiting for messages from this terminal (try --help)"
	done
}

@test "a tool that needs both directions does not wait for a chain that nobody types" {
	local command
	for command in 'acp-budget --target 1k' acp-mcp acp-share; do
		typed "$command; echo status \$?"
		assert_line --regexp "^${command%% *}: .*\\(use -- COMMAND, acp-conduct -f, or a proxy chain\\)"
		assert_line 'status 2'
		refute_output --partial waiting
	done
}

@test "a tool around an agent waits for the client" {
	local command
	for command in acp-tap 'acp-usage' 'acp-inject -e .' 'acp-fault --drop 1%' 'acp-budget --target 1k' acp-mcp acp-conduct; do
		typed "$command -- cat"
		assert_line "${command%% *}: waiting for the client's messages from this terminal (try --help)"
	done
}

@test "where the agent cannot be started nothing is waited for" {
	typed 'acp-tap -- ./missing'
	assert_output 'acp-tap: ./missing: command not found'
}

@test "tools that read a recording from standard input" {
	local command
	for command in 'acp-tap -' acp-usage 'acp-usage --merge' "acp-diff - '$REC'"; do
		typed "$command"
		assert_line "${command%% *}: waiting for a recording from this terminal (try --help)"
	done
}

@test "acp-replay waits for the other side" {
	typed "acp-replay '$REC'"
	assert_line "acp-replay: waiting for the client's messages from this terminal (try --help)"
	typed "acp-replay --as client '$REC' 2>&1"
	assert_line "acp-replay: waiting for the agent's messages from this terminal (try --help)"
}

@test "nothing is said where standard input is no terminal, or is not read" {
	run acp-tap </dev/null
	refute_output --partial waiting
	typed "acp-tap '$REC' >/dev/null"
	assert_output ''
}

@test "acp-tap -m FILE: the pattern may be missing" {
	cp "$REC" s.rec
	typed 'acp-tap -m s.rec'
	assert_line 'acp-tap: s.rec is a file: is the pattern of --match missing before it?'
	typed 'acp-tap -m session/prompt s.rec'
	refute_output --partial 'is a file'
}

@test "a program in the place of a recording: -- may be missing" {
	printf '#!/bin/sh\n' >agent
	chmod +x agent
	local tool program
	for tool in tap usage; do
		for program in ./agent cat; do
			run "acp-$tool" -o log $program --acp
			assert_failure 2
			assert_output "acp-$tool: $program is a program, not a recording: a command goes after --"
			[ ! -e log ]
		done
	done
	# A file that may be executed, and one that is named like a program, are recordings still.
	cp "$REC" cat
	chmod +x cat
	run acp-tap cat
	assert_success
}
