#!/usr/bin/env bats
# acp-ask --editor: configurations of editors.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
	mkdir 'my bin'
	printf '#!/bin/sh\nexec "%s" "%s"\n' "$(command -v acp-replay)" "$FIXTURES/demo.rec" >'my bin/agent'
	chmod +x 'my bin/agent'
	words=("$PWD/my bin/agent" --acp 'a "b" \c $d é')
}

editor() {
	acp-ask --editor "$1" "${@:2}" -- 'my bin/agent' "${words[@]:1}" 2>err
}

# The command in a configuration that is JSON, as a list.
server='[.. | objects | select(.command?)][0] | [.command] + .args'

listed() {
	jq -cn '$ARGS.positional' --args -- "$@"
}

# bats test_tags=slow
@test "--editor zed, jetbrains and vscode print JSON with absolute paths" {
	local name
	for name in zed jetbrains vscode; do
		assert_equal "$(editor $name | jq -c "$server")" "$(listed "${words[@]}")"
	done
	assert_equal "$(editor zed | jq -c '.agent_servers | map_values([keys[]])')" '{"agent":["args","command","env","type"]}'
	assert_equal "$(editor jetbrains | jq -c '.agent_servers | keys')" '["agent"]'
	assert_equal "$(editor vscode | jq -c '."acp.agents" | keys')" '["agent"]'
	assert_equal "$(cat err)" 'acp-ask: for settings.json, with the extension ACP Client'
}

@test "--editor neovim and avante print Lua" {
	lua=$(command -v lua5.4 || command -v lua) || skip 'lua is not installed'
	editor neovim >neovim.lua
	editor avante >avante.lua
	cat >lua.lua <<-'END'
		local function show(words) for _, w in ipairs(words) do print(w) end end
		package.preload.codecompanion = function() return {setup = function(o) show(o.adapters.acp.claude_code().commands.default) end} end
		package.preload["codecompanion.adapters"] = function() return {extend = function(_, o) return o end} end
		package.preload.avante = function() return {setup = function(o) local p = o.acp_providers[o.provider]; print(p.command); show(p.args) end} end
		dofile(arg[1])
	END
	assert_equal "$("$lua" lua.lua neovim.lua)" "$(printf '%s\n' "${words[@]}")"
	assert_equal "$("$lua" lua.lua avante.lua)" "$(printf '%s\n' "${words[@]}")"
}

@test "--editor emacs prints Lisp" {
	editor emacs >x.el
	# A list of strings is read as Emacs reads it: \ stands before a character that is itself.
	cat >read.py <<-'END'
		import json, re, sys
		m = re.fullmatch(r"\(setq agent-shell-anthropic-claude-acp-command\s+'\(((?:\s*\"(?:[^\"\\]|\\[\"\\])*\")+)\)\)\n", sys.stdin.read())
		print(json.dumps([re.sub(r'\\(.)', r'\1', s) for s in re.findall(r'"((?:[^"\\]|\\.)*)"', m[1])], ensure_ascii=False, separators=(',', ':')))
	END
	assert_equal "$(python3 read.py <x.el)" "$(listed "${words[@]}")"
	if command -v emacs >/dev/null; then
		run -0 emacs --batch -l x.el --eval "(princ (mapconcat 'identity agent-shell-anthropic-claude-acp-command \"\n\"))"
		assert_output "$(printf '%s\n' "${words[@]}")"
	fi
}

@test "--editor toad prints a command of a shell, with the agent's in one word" {
	toad() { [[ $1 == acp && $3 == . ]] && eval "printf '%s\n' $2"; }
	assert_equal "$(eval "$(editor toad)")" "$(printf '%s\n' "${words[@]}")"
}

@test "--tools: one stands before --; several are a chain; what is printed starts in an empty environment" {
	bin=$(cd "$B/bin" && pwd)
	assert_equal "$(editor zed --tools 'acp-tap -o auto' | jq -c "$server")" "$(listed "$bin/acp-tap" -o auto -- "${words[@]}")"
	printf '#!/bin/sh\n' >'my bin/tool'
	chmod +x 'my bin/tool'
	assert_equal "$(editor zed --tools "acp-tap -o \"x y\" -m \"it's\" ''" --tools cat --tools "'./my bin/tool' -a=b" | jq -c "$server")" \
		"$(listed "$bin/acp-conduct" -f "$bin/acp-tap -o 'x y' -m 'it'\\''s' ''" -f "$(command -v cat)" -f "'$PWD/my bin/tool' -a=b" -- "${words[@]}")"
	mapfile -t command < <(editor zed --tools "acp-tap -o $PWD/s.rec" --tools acp-tap | jq -r "$server | .[]")
	run -0 env -i "${command[@]}" < <(acp-tap -f raw --from client "$FIXTURES/demo.rec")
	assert_equal "$(jq -r 'select(.from == "client").msg.method | values' s.rec | sort | uniq -c | xargs)" '1 initialize 1 session/new 1 session/prompt'
}

@test "--editor: an agent that env starts gets a PATH with its interpreter" {
	mkdir far
	printf '#!/bin/sh\necho started\n' >far/node
	printf '#!/usr/bin/env node\n' >script
	chmod +x far/node script
	PATH=$PWD/far:$PATH acp-ask --editor zed -- ./script 2>err >x.json
	assert_equal "$(jq -c "$server" x.json)" "$(listed /usr/bin/env "PATH=$PWD/far:/usr/local/bin:/usr/bin:/bin" "$PWD/script")"
	mapfile -t command < <(jq -r "$server | .[]" x.json)
	run -0 env -i "${command[@]}"
	assert_output started
	for line in '#! /usr/bin/env node' '#!/usr/bin/env -S node --x' '#!/usr/bin/env -S A=b node'; do
		echo "$line" >script
		PATH=$PWD/far:$PATH run -0 --separate-stderr acp-ask --editor zed -- ./script
		assert_equal "$(jq -r "$server | .[1]" <<<"$output")" "PATH=$PWD/far:/usr/local/bin:/usr/bin:/bin"
	done
	for line in $'#!/usr/bin/env\nnode' $'#!\n/usr/bin/env node' '#!/usr/bin/environment node'; do
		echo "$line" >script
		PATH=$PWD/far:$PATH run -0 --separate-stderr acp-ask --editor zed -- ./script
		assert_equal "$(jq -c "$server" <<<"$output")" "$(listed "$PWD/script")"
	done
	printf '#!/usr/bin/env sh\n' >script
	PATH=/usr/bin:/bin run -0 --separate-stderr "$B/bin/acp-ask" --editor zed -- ./script
	assert_equal "$(jq -c "$server" <<<"$output")" "$(listed "$PWD/script")"
}

@test "--editor: what cannot be configured is refused" {
	run -127 acp-ask --editor zed -- no-such-agent
	assert_output 'acp-ask: no-such-agent: command not found'
	run -127 acp-ask --editor zed --tools no-such-tool -- cat
	run -2 acp-ask --editor zed --tools 'a | b' -- cat
	assert_output 'acp-ask: --tools a | b: expected a command without signs of the shell'
	run -2 acp-ask --editor zed hello -- cat
	assert_output 'acp-ask: --editor does not go with a prompt'
	while read -r option; do
		run -2 acp-ask --editor zed $option -- cat
		assert_output "acp-ask: --editor does not go with ${option% *}"
	done <<-'END'
		--format json
		--quiet
		--permit read=allow_once
		--form missing
		--fs read
		--terminal
		--cwd .
		--mcp a=b
		--mode x
		--resume last
		--protocol 2
		--timeout 1s
		--max-line 1M
	END
	run -2 acp-ask --tools cat -- cat
	assert_output 'acp-ask: --tools requires --editor'
	run -2 acp-ask --editor zed -- cat $'a\nb'
	assert_output --partial 'a configuration cannot have this'
	run -2 acp-ask --editor zed -- cat $'\377'
	run -2 acp-ask --editor zed
}
