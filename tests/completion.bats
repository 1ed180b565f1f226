#!/usr/bin/env bats
# The completion of the tools in bash, zsh and fish, each run for real.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
	GENERATE=$TOP/scripts/completion/generate
	mkdir home run bash zsh fish
	export HOME=$PWD/home XDG_RUNTIME_DIR=$PWD/run
	unset XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME
	cat >s.rec <<-'REC'
		{"acp-recording":1,"started":"2026-11-20T15:56:02.123456Z","by":"acp-tap 0.1.0"}
		{"t":0.1,"from":"client","msg":{"id":1,"method":"session/prompt","params":{"sessionId":"one"}}}
		{"t":0.2,"from":"client","msg":{"id":2,"method":"session/prompt","params":{"sessionId": "two-2"}}}
		{"t":0.3,"from":"client","msg":{"id":2,"method":"session/prompt","params":{"sessionId":"$(touch bad)"}}}
		{"t":0.4,"from":"client","msg":{"id":2,"method":"session/prompt","params":{"sessionId":"`touch bad`;touch bad"}}}
	REC
}

# completes_with SHELL WHAT: the shell completes WHAT, a function below. A shell that is not here is not tried.
completes_with() {
	shell=$1
	type -P "$shell" >/dev/null || skip "$shell is not installed"
	"$2"
}

# generated SHELL TOOL FILE: what completes the tool; it is made once for all tests.
generated() {
	local once=$BATS_FILE_TMPDIR/$1-$2 new=$BATS_TEST_TMPDIR/new
	[[ -f $once ]] || { "$GENERATE" "$1" "$2" >"$new" && mv "$new" "$once"; }
	ln -sf "$once" "$3"
}

# offers WORD...: what the shell offers for the last word, sorted.
offers() {
	"in_$shell" "$@" | sort -u
}

in_bash() {
	generated bash "$1" bash/complete
	# shellcheck disable=SC2016 # for the other bash
	bash --norc -c '
		source bash/complete
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		"_$1" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
		((${#COMPREPLY[@]} == 0)) || printf "%s\n" "${COMPREPLY[@]}"
	' bash "$@"
}

# What zsh itself completes is looked up once for all tests: that is a thousand files.
zsh_dump() {
	[[ ! -f $BATS_FILE_TMPDIR/dump ]] || return 0
	zsh -d -f -c 'autoload -Uz compinit && compinit -u -d dump' && mv dump "$BATS_FILE_TMPDIR/dump"
}

in_zsh() {
	generated zsh "$1" "zsh/_$1"
	cp "$TOP/tests/completion.zshrc" home/.zshrc
	: >offered
	zsh_dump
	ACP_DIR=$PWD/zsh ACP_DUMP=$BATS_FILE_TMPDIR/dump ACP_OUT=$PWD/offered ACP_LINE=$* ZDOTDIR=$HOME \
	    socat -u EXEC:'zsh -d -i',pty,setsid,ctty,stderr - </dev/null >screen
	cat offered
}

in_fish() {
	generated fish "$1" "fish/$1.fish"
	# shellcheck disable=SC2016 # for fish
	fish --no-config -c 'set -p fish_complete_path $argv[1]; complete -C $argv[2]' "$PWD/fish" "$*" | cut -f 1
}

# same WORD... -- OFFERED...: every shell offers just this.
same() {
	local words=()
	while [[ " ${*:2} " == *" -- "* ]]; do words+=("$1") && shift; done
	shift
	run -0 offers "${words[@]}"
	assert_output "$(printf '%s\n' "$@" | sort -u)"
}

# What holds in each shell.
options_and_words() {
	same acp-check --ignore jsonr -- jsonrpc
	touch 12
	[[ $shell == bash ]] || same acp-fault --every 1 --
	same acp-tap --cl -- --clean
	same acp-conduct --on-c -- --on-crash
	same acp-tap --format '' -- record pretty full raw trace tsv json
	same acp-tap -f r -- record raw
	same acp-conduct --on-crash '' -- restart fail bypass
	same acp-replay --speed '' -- recorded max
}

messages() {
	same acp-tap -m session/p -- session/prompt
	same acp-check --match tool_ -- tool_call tool_call/cancel tool_call_update
	same acp-fault --hang fs/ -- fs/read_text_file fs/write_text_file
}

commands() {
	mkdir bin
	printf '#!/bin/sh\n' >bin/zz-filter
	chmod +x bin/zz-filter
	PATH=$PWD/bin:$PATH
	same acp-conduct -f zz-f -- zz-filter
	same acp-tap -o x -- zz-f -- zz-filter
}

sessions() {
	same acp-tap s.rec --session '' -- one two-2
	same acp-tap s.rec --session t -- two-2
	mv s.rec "$HOME"
	# shellcheck disable=SC2088 # it is the completion that expands it
	same acp-usage '~/s.rec' --session o -- one
	assert [ ! -e bad ]
}

sockets() {
	same acp-tap --attach '' -- auto
	mkfifo lines
	acp-share -- cat <lines >/dev/null &
	exec 7>lines
	wait_for listens "$!"
	same acp-tap --attach '' -- auto "$PWD/run/acp/$!"
	same acp-share --control '' -- auto
	exec 7>&-
	wait
}

@test "bash completes options, and the words of their arguments" {
	completes_with bash options_and_words
}

@test "zsh completes options, and the words of their arguments" {
	completes_with zsh options_and_words
}

@test "fish completes options, and the words of their arguments" {
	completes_with fish options_and_words
}

@test "bash completes methods and kinds of updates" {
	completes_with bash messages
}

@test "zsh completes methods and kinds of updates" {
	completes_with zsh messages
}

@test "fish completes methods and kinds of updates" {
	completes_with fish messages
}

@test "bash completes commands of components, and the command after two dashes" {
	completes_with bash commands
}

@test "zsh completes commands of components, and the command after two dashes" {
	completes_with zsh commands
}

@test "fish completes commands of components, and the command after two dashes" {
	completes_with fish commands
}

@test "bash completes ids of sessions in the recording on the line, and no others than plain words" {
	completes_with bash sessions
}

@test "zsh completes ids of sessions in the recording on the line, and no others than plain words" {
	completes_with zsh sessions
}

@test "fish completes ids of sessions in the recording on the line, and no others than plain words" {
	completes_with fish sessions
}

@test "bash completes sockets of the streams that are shared" {
	completes_with bash sockets
}

@test "zsh completes sockets of the streams that are shared" {
	completes_with zsh sockets
}

@test "fish completes sockets of the streams that are shared" {
	completes_with fish sockets
}

# The long options of its help.
long_options() {
	"$1" --help | sed -nE 's/^ +(-., )?(--[a-z-]+).*/\2/p' | sort -u
}

every_tool() {
	local tool tools=("$TOP"/cmd/*/)
	for tool in "${tools[@]:0:$(sample 3 99)}"; do
		tool=$(basename "$tool")
		[[ -x $B/bin/$tool ]] || continue
		# What may be left out is offered with an equals sign as well.
		run -0 eval 'offers "$tool" -- | grep -v "=$"'
		assert_output "$(long_options "$tool")"
	done
}

@test "bash completes every option of every tool's help" {
	completes_with bash every_tool
}

@test "zsh completes every option of every tool's help" {
	completes_with zsh every_tool
}

@test "fish completes every option of every tool's help" {
	completes_with fish every_tool
}

@test "bash takes the words around an equals sign as they come" {
	shell=bash
	same acp-tap --color = -- always auto never
	same acp-tap --color = al -- always
	same acp-export --redact = -- text
	run -0 offers acp-export --redact ''
	assert_output ''
}

@test "bash completes files where nothing else is known" {
	shell=bash
	run -0 offers acp-tap --output ''
	assert_output ''
	run -0 offers acp-tap ''
	assert_output ''
	# shellcheck source=/dev/null
	source bash/complete
	run -0 complete -p acp-tap
	assert_output --partial '-o default'
}

@test "bash-completion completes the command where it is loaded" {
	_command_offset() { COMPREPLY=("from word $1"); }
	export -f _command_offset
	shell=bash
	same acp-tap -o x -- agent -- -- 'from word 4'
}
