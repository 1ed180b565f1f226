#!/usr/bin/env bats
# The options that all filters have, and the command behind --.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
}

# refused MESSAGE ARG...: by each of TOOLS, with status 2 and this one line.
refused() {
	local message=$1
	shift
	for tool in "${TOOLS[@]}"; do
		run --separate-stderr "acp-$tool" "$@" </dev/null
		assert_failure 2
		assert_output ''
		assert_equal "$stderr" "acp-$tool: $message"
	done
}

@test "all filters refuse the same with the same words" {
	TOOLS=(tap usage inject fault budget mcp)
	refused '--max-line 1X: expected a number of bytes, such as 64M' --max-line 1X
	refused '--max-line 0: expected a number of bytes, such as 64M' --max-line 0
	refused '--grace soon: expected a duration, such as 500ms, 5s or 2m' --grace soon
	refused '--way wrap: expected pipe, link or proxy' --way wrap
	refused '--way does not go with a command' --way pipe -- cat
	refused 'no command after --' --
}

@test "what is no option is refused with one line" {
	for tool in tap usage inject fault budget mcp conduct replay; do
		run --separate-stderr "acp-$tool" --nothing </dev/null
		assert_failure 2
		assert_equal "$stderr" "acp-$tool: --nothing: no such option; try acp-$tool --help"
	done
}

@test "filters that read recordings: those or a stream" {
	touch x
	TOOLS=(tap usage)
	refused 'x: give either recordings or a command' x -- cat
	refused '--clean does not go with recordings' --clean x
	refused '--grace does not go with recordings' --grace 1s x
	refused '--way does not go with recordings' --way link x
}

@test "filters that read none: a word without -- is a command that somebody forgot them for" {
	TOOLS=(inject fault budget mcp)
	refused 'sleep: a command goes after --' sleep 1
	refused 'x: a command goes after --' x -- cat
}
