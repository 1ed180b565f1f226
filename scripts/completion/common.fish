# Completion of @TOOL@ in fish, made by scripts/completion/generate. After `--` a command is completed.

function __acp_methods
	printf '%s\n' @METHODS@
end

function __acp_updates
	printf '%s\n' @UPDATES@
end

function __acp_sockets
	acp-share --list -f json 2>/dev/null | sed -n 's/^{"socket":"\([^"\\\\]*\)".*/\1/p'
end

# The ids in the recordings on the line. Only those are offered that are plain words to a shell, for they come from peers.
function __acp_sessions
	set -l files
	for word in (commandline -op)
		set word (string replace -r '^~/' "$HOME/" -- $word)
		test -f "$word"; and set -a files $word
	end
	set -q files[1]; or return
	cat -- $files 2>/dev/null | head -c 64000000 |
		grep -aoE '"sessionId": *"[A-Za-z0-9][A-Za-z0-9._@%+-]*"' | cut -d '"' -f 4 | sort -u
end

function __acp_commands
	complete -C (commandline -ct)
end

function __acp_after_dashes
	contains -- -- (commandline -opc)
end

function __acp_command
	set -l line (commandline -opc)
	set -l start (math (contains -i -- -- $line) + 1)
	set -l words
	test $start -le (count $line); and set words (string escape -- $line[$start..-1])
	complete -C (string join -- ' ' $words (commandline -ct))
end

# What the help says.
@TABLE@
complete -c @TOOL@ -n __acp_after_dashes -x -a '(__acp_command)'
