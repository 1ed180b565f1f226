#!/usr/bin/env bats
# HACKING.md: what it says of the tree is true.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
}

teardown() {
	end_left_over
}

@test "the filter in HACKING.md is built and run as it is" {
	[[ $B != */static/* ]] || skip 'built by another compiler'
	sed -n '/^```c$/,/^```$/p' "$TOP/HACKING.md" | sed '/^```/d' >quiet.c
	(($(wc -l <quiet.c) > 30))
	sanitize=()
	# shellcheck disable=SC2054
	[[ $B != */san ]] || sanitize=(-fsanitize=address,undefined)
	${CC:-cc} -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -I"$TOP" "${sanitize[@]}" -o acp-quiet quiet.c "$B/libacp.a" -ljq -lm
	thought='{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"hm"}}}}'
	run -0 --separate-stderr ./acp-quiet <<<"$thought"$'\n'"${thought/thought/message}"
	assert_output "${thought/thought/message}"
	assert_equal "$stderr" 'acp-quiet: dropped 1 updates'
	run -0 --separate-stderr ./acp-quiet -k agent_message_chunk -- cat <<<"$thought"
	assert_output "$thought"
}

@test "the layers are those that lint checks; what it names is there" {
	sed -n '/layers_table()/,/^	END/p' "$TOP/scripts/lint" | sed -n 's/^\t\t\([a-z]*\):.*/\1/p' | sort >checked
	sed -n 's/^| \([a-z, ]*\) | .* |$/\1/p' "$TOP/HACKING.md" | tr -d ' ' | tr , '\n' | grep -v directory | sort >named
	assert_equal "$(<named)" "$(<checked)"
	for dir in "$TOP"/lib/*/; do
		grep -qx "$(basename "$dir")" checked
	done
	grep -oE '`(lib|cmd|tests|scripts)/[a-z_/.-]*[a-z]`' "$TOP/HACKING.md" | tr -d '`' | sort -u >paths
	(($(wc -l <paths) > 5))
	while read -r path; do
		[[ -e $TOP/$path ]] || fail "$path is not there"
	done <paths
}

@test "each tool has a row, whose files are there" {
	local tool row file
	for tool in "$TOP"/cmd/*/; do
		row=$(grep -F "| \`$(basename "$tool")\` |" "$TOP/HACKING.md") || fail "$tool has no row"
		while read -r file; do
			[[ -e $tool/$file ]] || fail "$tool has no $file"
		done < <(grep -oE '`[a-z_0-9]+\.(c|jq)`' <<<"$row" | tr -d '`')
	done
}

@test "comments refer to HACKING.md, and to nothing outside of the repository" {
	(($(wc -l <"$TOP/HACKING.md") <= 250))
	run -1 grep -rnE '\bDESIGN\b|\bPROTOCOL(,|\.md)' "$TOP"/{cmd,lib,scripts,man,tests/*.bats,tests/*.bash,tests/unit,tests/helper,README.md} --exclude=hacking.bats
	assert_output ''
}
