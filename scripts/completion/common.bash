# Completion of @TOOL@ in bash, made by scripts/completion/generate. After `--` a command is completed.

_acp_sockets() {
	acp-share --list -f json 2>/dev/null | sed -n 's/^{"socket":"\([^"\\]*\)".*/\1/p'
}

# The ids in the recordings on the line. Only those are offered that are plain words to a shell, for they come from peers.
_acp_sessions() {
	local word files=()
	for word in "${COMP_WORDS[@]:1}"; do
		word=${word//[\\\'\"]/}
		[[ $word != \~/* ]] || word=$HOME/${word:2}
		[[ ! -f $word ]] || files+=("$word")
	done
	((${#files[@]} == 0)) || cat -- "${files[@]}" 2>/dev/null | head -c 64000000 |
	    grep -aoE '"sessionId": *"[A-Za-z0-9][A-Za-z0-9._@%+-]*"' | cut -d '"' -f 4 | sort -u
}

# The values of an argument of this kind, one a line.
_acp_values() {
	case $1 in
	words) compgen -W "$2" ;;
	socket) compgen -W "$2" && _acp_sockets ;;
	id) _acp_sessions ;;
	method) printf '%s\n' @METHODS@ ;;
	glob) printf '%s\n' @METHODS@ @UPDATES@ ;;
	dir) compgen -d -- "$current" ;;
	cmd) compgen -c -- "$current" ;;
	esac
}

_acp() {
	local tool=$1 current=$2 option=$3 options='' kind='' words='' i
	COMPREPLY=()

	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} == -- ]] || continue
		if declare -F _command_offset >/dev/null; then
			_command_offset $((i + 1))
		elif ((COMP_CWORD == i + 1)); then
			while IFS= read -r i; do COMPREPLY+=("$i"); done < <(compgen -c -- "$current")
		fi
		return
	done

	# readline takes `--color=a` for three words. An argument that may be left out comes after `=` only.
	if [[ ${COMP_WORDS[COMP_CWORD]} == = ]]; then
		current=
		option=${COMP_WORDS[COMP_CWORD - 1]}=
	elif [[ $option == = ]]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}=
	fi
	"_$tool-table" "$option"
	[[ $option != *= || -n $kind ]] || "_$tool-table" "${option%=}"
	# A number, a time, a program: no files are offered.
	[[ $kind != text ]] || compopt +o default 2>/dev/null || true
	if [[ $current == -* ]]; then
		kind=words words=$options
	fi
	while IFS= read -r i; do
		[[ $i != "$current"* ]] || COMPREPLY+=("$i")
	done < <(_acp_values "$kind" "$words")
}

# What the help says: all options, and what the argument of one may be.
_@TOOL@-table() {
@TABLE@
}

_@TOOL@() {
	_acp @TOOL@ "$2" "$3"
}

complete -o default -F _@TOOL@ @TOOL@
