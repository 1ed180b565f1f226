#!/usr/bin/env bats
# What every tool that reads recordings says of files that are none: a check does not pass for want of input.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
	printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}' \
		'{"jsonrpc":"2.0","id":1,"result":{}}' \
		'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"S","update":{"sessionUpdate":"usage_update","used":10,"size":100,"cost":{"amount":1,"currency":"EUR"}}}}' >plain
	acp-tap -f record plain >s.rec
	gzip -k s.rec
	printf '\050\265\057\375 rest' >s.rec.zst
	printf '\3757zXZ rest' >s.rec.xz
	printf 'BZh91AY rest' >s.rec.bz2
	printf '{\n"a": 1,\n"b": [1,2]\n}\n' >doc.json
	echo '{"t":1,"other":2}' >other.jsonl
	echo '{"acp-recording":1}' >header.rec
	printf '{"t":0,"fro' >torn.rec
	: >empty
}

# each_reader COMMAND...: with each in $reader; in `make test` with one of four, but each in its turn.
turn=0
each_reader() {
	local each
	each=$(sample 4 1)
	for reader in "${readers[@]}"; do
		if ((turn++ % each == 0)); then "$@"; fi
	done
}

readers=("acp-tap" "acp-tap -f raw" "acp-stat" "acp-usage" "acp-usage --summary" "acp-usage --max-cost 1USD"
	"acp-check" "acp-replay" "acp-diff s.rec")

is_named() {
	run -2 --separate-stderr timeout 10 $reader $file
	assert_equal "${#stderr_lines[@]}" 1
	assert_regex "$stderr" "^acp-[a-z]*: $file: |^acp-[a-z]*: $file:1: "
}

says_program() {
	run -2 --separate-stderr timeout 10 $reader $file
	assert_regex "$stderr" "compressed: read it through $program\$"
}

@test "a file without a message: status 2 and one line that names it" {
	for file in s.rec.gz s.rec.zst s.rec.xz s.rec.bz2 doc.json other.jsonl header.rec torn.rec empty; do
		each_reader is_named
	done
}

@test "of compressed recordings it is said what reads them" {
	while read -r file program; do
		each_reader says_program
	done <<-'END'
		s.rec.gz zcat
		s.rec.zst zstdcat
		s.rec.xz xzcat
		s.rec.bz2 bzcat
	END
	zcat s.rec.gz | acp-tap -f raw - | cmp - plain
}

@test "one such file among others is a warning" {
	for reader in "acp-tap -f raw" "acp-usage" "acp-usage --max-cost 5EUR"; do
		for file in s.rec.gz doc.json empty header.rec; do
			run -0 --separate-stderr $reader $file s.rec
			assert_equal "${#stderr_lines[@]}" 1
			assert_regex "$stderr" "^acp-[a-z]*: $file: |^acp-[a-z]*: $file:1: "
			run -0 --separate-stderr $reader s.rec $file
			assert_equal "${#stderr_lines[@]}" 1
		done
		run -2 --separate-stderr $reader empty doc.json
		assert_equal "${#stderr_lines[@]}" 2
	done
}

@test "what is bad beside messages is reported line by line, as before" {
	{ cat s.rec; echo no; echo no; } >mixed.rec
	run -2 --separate-stderr acp-tap -f raw mixed.rec
	assert_equal "$output" "$(cat plain)"
	assert_equal "${#stderr_lines[@]}" 2
}

@test "a recording without a message is still printed" {
	printf '%s\n' '{"acp-recording":1}' '{"t":0,"from":"agent","stderr":"no such model"}' '{"t":1,"event":"exit","status":1}' >crash.rec
	run -0 acp-tap crash.rec
	assert_output --partial 'no such model'
}

@test "a selection that matches nothing, -c and --until are not the file's fault" {
	run -0 acp-tap -f raw -m nothing s.rec
	assert_output ''
	run -0 acp-tap -f raw -c 1 s.rec empty
	assert_output "$(head -n 1 plain)"
	run -0 acp-tap -f raw -c 0 s.rec
	assert_output ''
	run -0 acp-tap -f raw --until 1 s.rec
	assert_output ''
}

@test "acp-usage: a limit that nothing could be compared with: status 2" {
	run -2 --separate-stderr acp-usage --max-cost 1USD s.rec
	assert_equal "$stderr" 'acp-usage: --max-cost was not checked: no cost in its currency was reported'
	run -2 --separate-stderr acp-usage --summary --max-tokens 5 s.rec
	assert_equal "$stderr" 'acp-usage: --max-tokens was not checked: no tokens of a turn were reported'
	head -n 3 s.rec >none.rec
	run -2 --separate-stderr acp-usage --fail-at red none.rec
	assert_equal "$stderr" 'acp-usage: --fail-at was not checked: no context with its size was reported'
	run -2 --separate-stderr acp-usage --session T --fail-at red s.rec
	# Where one of several currencies occurs, and one of several files has a figure, there was something to check.
	run -0 acp-usage --max-cost 5USD,5EUR --fail-at red none.rec s.rec
	run -1 acp-usage --max-cost 1USD,1EUR none.rec s.rec
	run -1 acp-usage --max-cost 1EUR --max-tokens 5 s.rec
}

@test "acp-usage: in a stream that is a warning" {
	run -7 --separate-stderr acp-usage --max-cost 1USD -o log -- sh -c 'cat; exit 7' <plain
	assert_equal "$stderr" 'acp-usage: --max-cost was not checked: no cost in its currency was reported'
	run -0 --separate-stderr acp-usage --fail-at red -o log -- cat </dev/null
	assert_equal "$stderr" 'acp-usage: --fail-at was not checked: no context with its size was reported'
}

@test "acp-usage --merge only adds up: limits are refused, and what holds no summary is reported" {
	acp-usage --summary -f json s.rec >piece
	for limit in '--fail-at red' '--max-cost 1USD' '--max-tokens 1' '--warn-cost 1USD' '--warn 1,2,3' '--exec true'; do
		run -2 acp-usage --merge $limit piece
		assert_output --partial 'acp-usage: --merge does not go with '
	done
	run -2 --separate-stderr acp-usage --merge empty
	assert_equal "$stderr" 'acp-usage: empty: no summary in it'
	run -0 --separate-stderr acp-usage --merge empty piece
	assert_equal "$stderr" 'acp-usage: empty: no summary in it'
}

@test "filters of a stream name the file that they do not read" {
	for filter in 'acp-inject -e .' 'acp-fault --drop 1' acp-budget; do
		run -2 $filter s.rec.gz
		assert_output --partial "s.rec.gz"
	done
}

@test "acp-usage -F: a file to which nothing has come yet is none without messages" {
	: >grows.rec
	acp-usage -F -o log grows.rec 2>err &
	# It watches the file: SIGINT (bit 1) is caught, or blocked and read from a descriptor.
	watches() { (($(sed -n 's/^Sig\(Cgt\|Blk\):[[:space:]]*/|0x/p' "/proc/$1/status" | tr -d '\n' | cut -c2-) & 2)); }
	wait_for watches $!
	kill -INT $!
	wait $!
	assert_equal "$(cat err)" ''
}
