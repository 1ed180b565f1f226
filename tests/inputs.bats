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

# bats test_tags=slow
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

# bats test_tags=slow
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
	run -1 --separate-stderr acp-tap -f raw -m nothing s.rec
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

# says STATUS TEXT COMMAND...: this is all that standard error has.
says() {
	local status=$1 text=$2
	shift 2
	run "-$status" --separate-stderr "$@"
	assert_equal "$stderr" "$text"
}

# bats test_tags=slow
@test "a session, a message or a record that is not there is reported, with what there is" {
	local tool
	says 1 'acp-tap: --session zzz: no session has this id; there are: S' acp-tap --session zzz plain
	says 2 'acp-check: --session zzz: no session has this id; there are: S' acp-check --session zzz plain
	says 2 'acp-usage: --session zzz: no session has this id; there are: S' acp-usage --session zzz plain
	says 2 'acp-usage: --session zzz: no session has this id; there are: S' acp-usage --summary --session zzz plain
	says 2 'acp-export: --session zzz: no session has this id; there are: S' acp-export --session zzz plain
	says 1 'acp-tap: --session zzz: no session has this id; there is none' acp-tap --session zzz <(head -n 2 plain)
	for tool in '1 acp-tap' '2 acp-check'; do
		says "${tool% *}" "${tool#* }: no message is selected (did you mean initialize?); there are: initialize, session/update, usage_update" \
			"${tool#* }" -m initialise plain
	done
	says 1 'acp-tap: no message is selected; there are: initialize, session/update, usage_update' acp-tap -m '!*' plain
	says 1 'acp-tap: no message is selected; there are: messages without methods' acp-tap -m x <(echo '{"jsonrpc":"2.0","id":1,"result":{}}')
	says 1 'acp-tap: --start 100: the last record has number 3' acp-tap --start 100 plain
	# Nothing is missing where there is something; and a stream may have it later.
	says 0 '' acp-tap --start 3 plain
	says 0 '' acp-tap -m 'session/*' plain
	says 0 '' acp-tap -m nothing -o out <plain
	rm plain
}

@test "a hop that a recording does not have is reported, with those that it has" {
	local tool
	printf '%s\n' '{"acp-recording":1,"hops":["tap","agent"]}' \
		'{"t":0,"at":0,"from":"client","msg":{"jsonrpc":"2.0","method":"zero"}}' \
		'{"t":0, "at":1,"from":"client","msg":{"jsonrpc":"2.0","method":"one"}}' \
		'{"t":0,"at":"peer","from":"client","msg":{"jsonrpc":"2.0","method":"p"}}' >hops.rec
	for tool in acp-tap acp-check acp-stat acp-replay; do
		says 2 "$tool: hops.rec: no message at hop foo; there are: 0 tap, 1 agent, peer" "$tool" --hop foo hops.rec
		says 2 "$tool: hops.rec: no message at hop 7; there are: 0 tap, 1 agent, peer" "$tool" --hop 7 hops.rec
	done
	says 2 'acp-diff: hops.rec: no message at hop foo; there are: 0 tap, 1 agent, peer' acp-diff --hop foo hops.rec hops.rec
	says 0 '' acp-tap --hop peer hops.rec
	grep -v '"at":0' hops.rec >one.rec
	says 2 'acp-tap: one.rec: no message at hop 0; there are: 1 agent, peer' acp-tap one.rec
	says 0 'acp-tap: s.rec: --hop foo: this recording has no hops, and is read as a whole' acp-tap --hop foo s.rec
	says 0 '' acp-tap --hop 0 s.rec
}

@test "files of agents that are no recordings are named as what they seem to be" {
	echo '{"type":"user","parentUuid":null,"message":{"role":"user","content":"hi"},"uuid":"x","sessionId":"s"}' >claude.jsonl
	echo '{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"s"}}' >codex.jsonl
	for reader in acp-tap acp-check acp-stat acp-replay acp-diff\ s.rec acp-export; do
		run -2 $reader claude.jsonl
		assert_output --regexp ': claude.jsonl:1: .*: not an ACP message \(a Claude Code transcript\?\)$'
		run -2 $reader codex.jsonl
		assert_output --regexp ': codex.jsonl:1: .*: not an ACP message \(a Codex rollout\?\)$'
	done
}

@test "a line that is too long names the option" {
	{ printf '{"jsonrpc":"2.0","method":"m","params":"'; head -c 100000 /dev/zero | tr '\0' x; echo '"}'; } >long.nd
	run -2 acp-tap --max-line 10 long.nd
	assert_output 'acp-tap: long.nd:1: not a record at byte 1: longer than --max-line'
	run -2 acp-usage --merge --max-line 10 long.nd
	assert_output --partial 'longer than --max-line'
}

@test "--max-line counts the message alone, bare or in a record" {
	local reader file n other
	jq -nc '{jsonrpc: "2.0", id: 1, method: "initialize", params: {protocolVersion: 1, _meta: {x: ("x" * 2000)}}}' >bare
	{ echo '{"acp-recording":1}' && printf '{"t":0.5,"from":"client","msg":%s}\n' "$(cat bare)"; } >record
	n=$(($(wc -c <bare) - 1))
	for file in bare record; do
		for reader in acp-tap acp-stat acp-check acp-diff 'acp-export -o page.html' acp-usage; do
			other=
			[[ $reader != acp-diff ]] || other=$file
			run $reader --max-line $n $file $other
			refute_output --partial longer
			run -2 $reader --max-line $((n - 1)) $file $other
			assert_output --regexp 'longer than --max-line|expected a shorter line'
		done
	done
}

@test "a last line that is whole and too long is left out with status 2, with a newline and without" {
	local reader file text other
	text=$(printf '%02000d' 0)
	printf '{"jsonrpc":"2.0","id":%s,"method":"initialize","params":{"protocolVersion":1,"_meta":{"x":"%s"}}}\n' 1 short 2 "$text" >whole
	printf %s "$(<whole)" >last
	for file in whole last; do
		for reader in acp-tap acp-stat acp-diff 'acp-export -o page.html'; do
			other=
			[[ $reader != acp-diff ]] || other=$file
			run -2 $reader --max-line 1k $file $other
			assert_line "${reader%% *}: $file:2: not a record at byte 1: longer than --max-line"
		done
	done
}

@test "after a loss the next prompt begins a turn of its own, for every tool that counts turns" {
	cat >lost.rec <<-'EOS'
		{"acp-recording":1,"started":"2026-11-23T10:00:00.000000Z"}
		{"t":1,"from":"client","msg":{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"one"}]}}}
		{"t":2,"event":"lost","count":3,"why":"slow"}
		{"t":3,"from":"client","msg":{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"two"}]}}}
		{"t":4,"from":"agent","msg":{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn","usage":{"inputTokens":5,"outputTokens":6,"totalTokens":11}}}}
	EOS
	run -0 --separate-stderr acp-stat -f json --by turn lost.rec
	assert_equal "$(jq -c '[.turn, .total_us]' <<<"$output")" $'[1,null]\n[2,1000000]'
	run -0 acp-export -f markdown lost.rec
	assert_line '*no response*'
	assert_line '*end\_turn · 1.0 s · input 5 · output 6 · total 11*'
	run -0 acp-export -f otlp lost.rec
	assert_equal "$(grep -o '"name":"invoke_agent"' <<<"$output" | wc -l)" 2
	run -0 acp-tap --list -f tsv lost.rec
	assert_equal "$(tail -n 1 <<<"$output" | cut -f 4)" 2
}
