#!/usr/bin/env bats
# make install, as a user who has no other place than the home directory.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
	export HOME=$PWD/home
	mkdir "$HOME"
	[[ $B == "$TOP/build" ]] || skip 'other builds are not installed'
	unset MAKEFLAGS MFLAGS
	make -s -C "$TOP" install PREFIX="$HOME/.local"
}

@test "a user installs below the home directory, and programs find each other there" {
	cd /
	run -0 env PATH="$HOME/.local/bin:/usr/bin:/bin" acp-conduct -f 'acp-tap -o /dev/null' -- cat <<<'{"method":"m"}'
	assert_output '{"method":"m"}'
	assert [ -s "$HOME/.local/share/man/man7/acputils.7" ]
	assert [ -s "$HOME/.local/share/bash-completion/completions/acp-tap" ]
	assert [ -s "$HOME/.local/share/zsh/site-functions/_acp-tap" ]
	assert [ -s "$HOME/.local/share/fish/vendor_completions.d/acp-tap.fish" ]
	make -s -C "$TOP" uninstall PREFIX="$HOME/.local"
	run find "$HOME" -type f
	assert_output ''
}

# bats test_tags=slow
@test "apropos leads to acputils(7), whichever word one has" {
	makewhatis "$HOME/.local/share/man"
	for word in proxy timeline cost recording replay; do
		MANPATH=$HOME/.local/share/man run -0 mandoc_apropos "$word"
		assert_output --partial 'acputils(7)'
	done
}

# Debian calls it mapropos, beside man-db's.
mandoc_apropos() {
	"$(type -P mapropos || type -P apropos)" "$1"
}
