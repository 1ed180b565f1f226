#!/usr/bin/env bats
# The examples of the man pages can be copied from a terminal of 80 columns, and work.

setup() {
	load lib
	lib_setup
}

teardown() {
	end_left_over
}

# page FILE WIDTH: as a terminal shows it.
page() {
	mandoc -Tutf8 -O "width=$2" "$1" | sed 's/.\x08//g'
}

# examples FILE WIDTH: the lines of its examples that are code, with an empty line between two examples.
examples() {
	page "$1" "$2" | sed -nE '/^(EXAMPLES|   Examples)$/,/^ {0,3}[A-Z]/p' | sed -E '/^ {11}/!s/.*//; s/^ {11}//' | cat -s
}

# each_example FILE COMMAND...: for each example, with it in $example.
each_example() {
	local file=$1 line example=
	shift
	while IFS= read -r line; do
		if [[ -n $line ]]; then
			example+=$line$'\n'
		elif [[ -n $example ]]; then
			"$@"
			example=
		fi
	done < <(examples "$file" 500; echo)
}

# What is typed, without the prompts and without what is printed: with $ as prompt, a command goes on to where bash finds
# its end.
commands() {
	local line part=
	if [[ $example != '$ '* ]]; then
		printf '%s' "$example"
		return
	fi
	while IFS= read -r line; do
		[[ -n $part || $line == '$ '* ]] || continue
		part+=${line#'$ '}$'\n'
		if [[ $line != *'\' && $line != *'|' ]] && bash -n <<<"$part" 2>&1 | grep -q . ; then
			continue
		fi
		[[ $line == *'\' || $line == *'|' ]] && continue
		printf '%s' "$part"
		part=
	done <<<"$example"
	printf '%s' "$part"
}

# What an example with prompts shows as printed.
printed() {
	grep -vxFf <(commands | sed 'p; s/^/$ /') <<<"${example%$'\n'}"
}

parses() {
	if [[ $example == '"'* ]]; then
		jq . <<<"{$example}" >/dev/null || bad+=("$example")
	elif bash -n <<<"$(commands)" 2>&1 | grep .; then
		bad+=("$example")
	fi
	((seen += 1))
}

# bats test_tags=slow
@test "no example wraps on a terminal of 80 columns" {
	local file wrong=0
	for file in "$TOP"/man/*.[1-9]; do
		diff <(examples "$file" 78) <(examples "$file" 500) || wrong=1
		if examples "$file" 78 | awk 'length > 69' | grep .; then
			echo "^ too long in $file"
			wrong=1
		fi
	done
	[ $wrong -eq 0 ]
}

# bats test_tags=slow
@test "each example is a command that bash can read, or JSON" {
	local file seen=0
	bad=()
	for file in "$TOP"/man/*.[1-9]; do
		each_example "$file" parses
	done
	[ $seen -gt 50 ]
	[ ${#bad[@]} -eq 0 ]
}

# bats test_tags=slow
@test "quotes that a page opens it closes" {
	local file
	for file in "$TOP"/man/*.[1-9]; do
		run grep -oP '‘[^’]*‘.*’' <(page "$file" 500)
		assert_output ''
	done
}

# What the examples name: an agent, a client, a filter, a proxy, a far machine, files.
props() {
	local name
	cp "$FIXTURES/demo.rec" s.rec
	for name in a b big yesterday today session new; do
		cp s.rec $name.rec
	done
	mkdir -p home/acp bin
	# An example may record to s.rec while the agent plays.
	cp s.rec played.rec
	git init -q .
	cp s.rec home/acp/x.rec
	export HOME=$PWD/home
	unset XDG_STATE_HOME
	mkdir -p home/.local/state/acp/agent
	cp s.rec home/.local/state/acp/agent/20261124-120320-1.rec
	# A session that declares an MCP server.
	jq -nc '{from: "client", msg: {jsonrpc: "2.0", id: 1, method: "session/new",
		params: {cwd: "/", mcpServers: [{name: "docs", command: "true", args: [], env: []}]}}}' >mcp-1.rec
	cp mcp-1.rec home/.local/state/acp/agent/20261124-120321-1.rec
	printf '%s\n' '{"claude":{"input_cost_per_token":1,"output_cost_per_token":1}}' >prices.json
	acp-tap -f raw --from client s.rec >prompts.jsonl
	printf '%s\n' 'Be kind.' >AGENTS.md
	echo secret >token
	printf '%s\n' '{"name":"docs","command":"true","args":[],"env":[]}' >docs.json
	printf '#!/bin/sh\nexec acp-replay %s/played.rec\n' "$PWD" >bin/agent
	for name in my-agent claude-agent-acp; do
		cp bin/agent bin/$name
	done
	printf '#!/bin/sh\n"$@" <%s/prompts.jsonl >/dev/null\n' "$PWD" >bin/my-client
	printf '#!/bin/sh\nexec acp-tap -o /dev/null\n' >bin/my-filter
	printf '#!/bin/sh\nexec acp-tap -o /dev/null\n' >bin/my-proxy
	cp bin/my-proxy bin/my-coordinator
	printf '#!/bin/sh\nshift\nexec "$@"\n' >bin/ssh
	printf '#!/bin/sh\ncat\n' >bin/less
	printf '#!/bin/sh\nexec cat\n' >notes-server
	printf '#!/bin/sh\nexec cat %s/played.rec\n' "$PWD" >bin/zstdcat
	# It does not wait for more lines.
	printf '#!/bin/sh\ncat s.rec\n' >bin/tail
	chmod +x bin/* notes-server
	PATH=$PWD/bin:$PATH
}

# Runs it as it is typed, and looks at what is printed where the example shows that. A stream's end is no failure, nor is the
# difference that the tool looks for: bad usage is, or what cannot be found or started.
runs() {
	local typed status=0
	# These want a chain that runs, or a collector, or serve until they are ended.
	[[ $example != '"'* && $example != *--attach* && $example != *--list* && $example != *--post* && $example != *curl* ]] || return 0
	[[ $example != *acp-http* || -x $B/bin/acp-http ]] || return 0
	# acp-top wants a terminal, but with -b.
	[[ $example != *acp-top* || ( -x $B/bin/acp-top && $example == *' -b '* ) ]] || return 0
	typed=$(commands | sed "s|/home/me|$PWD/home|g")
	timeout 60 bash -c "$typed" <prompts.jsonl >out 2>err || status=$?
	if ((status > 1)); then
		printf 'status %d: %s\n' "$status" "$typed"
		head -n 5 err
		bad+=("$example")
	fi
	if [[ $example == '$ '* && -n $(printed) ]] && ! diff <(printed) out; then
		bad+=("$example")
	fi
	((seen += 1))
}

# bats test_tags=slow
@test "the examples run" {
	local file seen=0
	bad=()
	props
	for file in "$TOP"/man/*.[1-9]; do
		each_example "$file" runs
	done
	echo "seen $seen, bad ${#bad[@]}"
	[ $seen -gt 40 ]
	[ ${#bad[@]} -eq 0 ]
}

# bats test_tags=slow
@test "README: each example is a command that bash can read, or JSON" {
	local seen=0
	bad=()
	while IFS= read -r line; do
		if [[ -n $line ]]; then
			example+=$line$'\n'
		elif [[ ${example-} == [a-z]*' '* && $example != client* ]]; then
			parses
			example=
		else
			example=
		fi
	done < <(sed -E '/^ {4}/!s/.*//; s/^ {4}//' "$TOP/README.md"; echo)
	[ $seen -gt 8 ]
	[ ${#bad[@]} -eq 0 ]
	run jq -r '.agent_servers[].type' <(sed -n '/^```json/,/^```/p' "$TOP/README.md" | grep -v '^```')
	assert_output custom
}

@test "README: the example of each tool works as written" {
	local number=0
	export COLUMNS=100 demo=$FIXTURES/demo.rec
	while IFS= read -r line; do
		if [[ -n $line ]]; then
			example+=$line$'\n'
			continue
		fi
		[[ -n ${example-} ]] || continue
		# The first one builds; two need a second terminal.
		if [[ $example != make* && $example != *'acp-share'* && $example != *'acp-http'* ]]; then
			((number += 1))
			run bash -e -o pipefail -c "$example" </dev/null
			echo "$example$output"
			# The recording that the first one makes has another prompt.
			[ "$status" -eq "$([[ $example == acp-diff* ]] && echo 1 || echo 0)" ]
		fi
		example=
	done < <(sed -n '/^## One example/,/^## I want/p' "$TOP/README.md" | sed -E '/^ {4}/!s/.*//; s/^ {4}//'; echo)
	[ "$number" -ge 12 ]
	[[ -s s.rec && -s session.html && -s chain.rec ]]
}

@test "what the pages of acp-stat, acp-usage, acp-tap and acp-diff show as their output is that of demo.rec" {
	local line seen=0
	acp-stat "$FIXTURES/demo.rec" >report
	COLUMNS=69 acp-usage --summary "$FIXTURES/demo.rec" >>report
	COLUMNS=72 acp-tap "$FIXTURES/demo.rec" >>report
	cp "$FIXTURES/demo.rec" s.rec
	sed 's/"end_turn"/"max_tokens"/' s.rec >new.rec
	acp-diff --match params s.rec new.rec >>report || true
	while IFS= read -r line; do
		grep -qxF -- "$line" report || fail "$line"
		((seen += 1))
	done < <({ page "$TOP/man/acp-stat.1" 500 | sed -n '/^FIGURES$/,/^   Methods$/p' | sed -n '/^     from /,/^     *a second/p' | sed 's/^ \{5\}//'
		page "$TOP/man/acp-usage.1" 500 | sed -n '/^FORMATS$/,$p' | sed -n '/^ *session  *turns /,/^ *total /p' | sed 's/^ \{11\}//'
		page "$TOP/man/acp-tap.1" 500 | grep -E '^ {5}  0\.[0-9]{3} ' | sed 's/^ \{5\}//'
		page "$TOP/man/acp-diff.1" 500 | sed -n '/^ *--- s.rec/,/max_tokens/p' | sed 's/^ \{11\}//'; })
	assert_equal "$seen" 35
}
