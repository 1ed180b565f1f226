# .zshrc of a zsh that completes $ACP_LINE with the functions in $ACP_DIR and ends: what it offers goes to $ACP_OUT.
fpath=("$ACP_DIR" $fpath)
autoload -Uz compinit
compinit -D -u

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
	exit
}
zle -C capture complete-word capture

zle-line-init() {
	BUFFER=$ACP_LINE
	CURSOR=$#BUFFER
	zle capture
}
zle -N zle-line-init
