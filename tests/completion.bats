#!/usr/bin/env bats
# scripts/completion.bash, with a tool that has a known help.

setup() {
	bats_load_library bats-support
	bats_load_library bats-assert
	PATH=$BATS_TEST_TMPDIR:$PATH
	cat >"$BATS_TEST_TMPDIR/acp-tap" <<-'END'
		#!/bin/sh
		[ "$1" = --help ] || exit 2
		cat <<'HELP'
		usage: acp-tap [options] [FILE...|-- COMMAND...]
		  -o, --output FILE         write to FILE, as --color says
		  -f, --format record|raw|oneLine   what to write
		      --clean               noise goes to stderr
		      --clock               tell the time
		      --color=auto|always|never
		HELP
	END
	chmod +x "$BATS_TEST_TMPDIR/acp-tap"
	# shellcheck source=scripts/completion.bash
	source "$BATS_TEST_DIRNAME/../scripts/completion.bash"
}

# complete_words WORD...: what the last word may become, sorted.
complete_words() {
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	_acp "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
	printf '%s\n' "${COMPREPLY[@]}" | sort -u
}

@test "long options complete, as the tool's help has them" {
	run complete_words acp-tap --
	assert_output $'--clean\n--clock\n--color\n--format\n--output'
	run complete_words acp-tap --cl
	assert_output $'--clean\n--clock'
}

@test "an option that the help does not have is not offered" {
	run complete_words acp-tap --x
	assert_output ''
}

@test "the words of an argument complete, by the long and the short name" {
	run complete_words acp-tap --format ''
	assert_output $'oneLine\nraw\nrecord'
	run complete_words acp-tap -f re
	assert_output 'record'
}

@test "an argument completes after an equals sign" {
	run complete_words acp-tap --color =
	assert_output $'always\nauto\nnever'
	run complete_words acp-tap --color = al
	assert_output 'always'
}

@test "files are left to readline" {
	run complete_words acp-tap --output ''
	assert_output ''
	run complete_words acp-tap ''
	assert_output ''
	run complete -p acp-tap
	assert_output --partial '-o default'
}

@test "a command completes after two dashes" {
	unset -f _command_offset
	run complete_words acp-tap -o x -- acp-ta
	assert_output 'acp-tap'
}

@test "bash-completion completes the command where it is loaded" {
	_command_offset() { COMPREPLY=("from word $1"); }
	run complete_words acp-tap -o x -- agent --
	assert_output 'from word 4'
}

@test "every tool is completed" {
	for tool in "$BATS_TEST_DIRNAME"/../cmd/*/; do
		[[ -d $tool ]] || continue
		run complete -p "$(basename "$tool")"
		assert_success
	done
}
