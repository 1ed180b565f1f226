# Completion for the tools of acputils in bash.
#
# Options, and the words that an option's argument may be, come from the help
# of the tool itself. After `--` a command is completed, elsewhere files.

# The help's lines of options: `  -o, --output FILE   text`, `      --clean   text`
_acp_help() {
	"$1" --help 2>/dev/null </dev/null | grep -E '^ +(-.*, *)?--[a-z]|^ +-[a-zA-Z] '
}

_acp_options() {
	_acp_help "$1" | sed 's/^ *//; s/  .*//' | grep -oE -- '--[a-z][a-z-]*'
}

# The words of an argument that is written `a|b|c`.
_acp_argument() {
	_acp_help "$1" | sed -nE "s/^ +(.*, *)?$2(, *--[a-z-]+)?[ =]([a-z][a-zA-Z_]*(\|[a-z][a-zA-Z_]*)+)([ ,].*|\$)/\3/p" | tr '|' ' '
}

_acp() {
	local tool=$1 current=$2 option=$3 i
	COMPREPLY=()

	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} == -- ]] || continue
		if declare -F _command_offset >/dev/null; then
			_command_offset $((i + 1))
		elif ((COMP_CWORD == i + 1)); then
			mapfile -t COMPREPLY < <(compgen -c -- "$current")
		fi
		return
	done

	# readline takes `--color=a` for three words.
	if [[ ${COMP_WORDS[COMP_CWORD]} == = ]]; then
		current=
	elif [[ $option == = ]]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	if [[ $current == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_acp_options "$tool")" -- "$current")
	elif [[ $option == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_acp_argument "$tool" "$option")" -- "$current")
	fi
}

complete -o default -F _acp acp-{budget,check,conduct,diff,export,fault,inject,mcp,replay,share,stat,tap,usage,ws}
