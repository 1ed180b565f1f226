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

# bats test_tags=slow
@test "all filters refuse the same with the same words" {
	TOOLS=(tap usage inject fault budget mcp)
	refused '--max-line 1X: expected a number of bytes, such as 64M' --max-line 1X
	refused '--max-line 0: expected a number of bytes, such as 64M' --max-line 0
	refused '--grace soon: expected a duration, such as 500ms, 5s or 2m' --grace soon
	refused '--way wrap: expected pipe, link or proxy' --way wrap
	refused '--way does not go with a command' --way pipe -- cat
	refused 'no command after --' --
}

@test "what is not an option is refused with one line" {
	for tool in tap usage inject fault budget mcp conduct replay; do
		run --separate-stderr "acp-$tool" --nothing </dev/null
		assert_failure 2
		assert_equal "$stderr" "acp-$tool: --nothing: no such option; try acp-$tool --help"
	done
}

@test "an option or a word that is nearly one is refused with the one that was meant" {
	TOOLS=(usage)
	refused '--sumary: no such option (did you mean --summary?); try acp-usage --help' --sumary
	refused '--formta: no such option (did you mean --format?); try acp-usage --help' --formta=json
	refused '--qqq: no such option; try acp-usage --help' --qqq
	refused '--format jsn: expected log, tsv, csv, json or prom (did you mean json?)' -f jsn
	refused '--format x: expected log, tsv, csv, json or prom' -f x
}

@test "an option after recordings is refused, a file of such a name is not" {
	cp "$FIXTURES/usage/late.rec" s.rec
	cp s.rec ./--summary
	for tool in tap usage stat check export replay; do
		run --separate-stderr -2 "acp-$tool" s.rec -f
		assert_equal "$stderr" "acp-$tool: -f: options go before files"
	done
	run --separate-stderr -2 acp-diff s.rec s.rec --match=shape
	assert_equal "$stderr" 'acp-diff: --match=shape: options go before files'
	run -0 acp-usage -f tsv s.rec --summary
}

@test "--colour is --color" {
	cp "$FIXTURES/usage/late.rec" s.rec
	run -0 acp-tap --colour always s.rec
	assert_output --partial $'\e['
	run -2 acp-tap --colour sometimes s.rec
	assert_output 'acp-tap: --color sometimes: expected auto, always or never'
}

# bats test_tags=slow
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
