# .zshrc of a zsh that completes $ACP_LINE with the functions in $ACP_DIR and ends: what it offers goes to $ACP_OUT.
# What zsh itself has is listed in $ACP_DUMP; the functions are added as compinit adds them, by their first lines.
fpath=("$ACP_DIR" $fpath)
autoload -Uz compinit
compinit -C -d "$ACP_DUMP"
for function in "$ACP_DIR"/_*; do
	read -r tag names <"$function"
	[[ $tag == '#compdef' ]] || exit
	autoload -Uz "${function:t}"
	compdef "${function:t}" $=names
done

compadd() {
	local -a offered
	# These ask compadd what matches, and offer nothing.
	if [[ ${@[1,(i)(-|--)]} != *-[OAD](|\ *) ]]; then
		builtin compadd -A offered "$@"
		(( ! $#offered )) || print -rl -- "$offered[@]" >>"$ACP_OUT"
	fi
	builtin compadd "$@"
}

capture() {
	_main_complete
	exit 0 # socat may report another status, into what is compared
}
zle -C capture complete-word capture

zle-line-init() {
	BUFFER=$ACP_LINE
	CURSOR=$#BUFFER
	zle capture
}
zle -N zle-line-init
