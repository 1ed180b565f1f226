#compdef @TOOL@
# Completion of @TOOL@ in zsh, made by scripts/completion/generate. After `--` a command is completed.

_acp_offer() {
	local expl
	_wanted "$1" expl "$1" compadd -a -- "$2"
}

_acp_methods() {
	local -a found=(@METHODS@)
	_acp_offer methods found
}

_acp_globs() {
	local -a found=(@METHODS@ @UPDATES@)
	_acp_offer messages found
}

_acp_sockets() {
	local -a found=(auto ${(f)"$(acp-share --list -f json 2>/dev/null | sed -n 's/^{"socket":"\([^"\\]*\)".*/\1/p')"})
	_acp_offer sockets found
}

# The ids in the recordings on the line. Only those are offered that are plain words to a shell, for they come from peers.
_acp_sessions() {
	local word
	local -a files found
	for word in "${(@Q)words[2,-1]}"; do
		[[ $word != '~/'* ]] || word=$HOME/${word:2}
		[[ ! -f $word ]] || files+=("$word")
	done
	(( $#files )) || return 1
	found=(${(f)"$(cat -- "$files[@]" 2>/dev/null | head -c 64000000 |
	    grep -aoE '"sessionId": *"[A-Za-z0-9][A-Za-z0-9._@%+-]*"' | cut -d '"' -f 4 | sort -u)"})
	_acp_offer sessions found
}

_acp_commands() {
	_command_names -e
}

local -i dashes=${words[(i)--]}
if (( dashes < CURRENT )); then
	shift dashes words
	(( CURRENT -= dashes ))
	_normal
	return
fi

# What the help says.
local -a options=(
@TABLE@
)
_arguments -s -S : "$options[@]" '*:file:_files'
