#!/usr/bin/env bats
# Combinations of options that make no sense are refused, never ignored.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
	cp "$FIXTURES/demo.rec" s.rec
}

# refused MESSAGE TOOL [OPTION...]
refused() {
	local message=$1 tool=$2
	shift 2
	run -2 "acp-$tool" "$@" </dev/null
	assert_output "acp-$tool: $message"
}

@test "--help of every tool has a line for each option, of at most 80 columns" {
	for tool in "$TOP"/cmd/*/; do
		tool=$(basename "$tool")
		command -v "$tool" || continue # acp-http may have been left out
		run -0 "$tool" --help
		# The column of options ends at two spaces.
		run awk 'length > 80 { print; next } /^ +-[-a-zA-Z]/ { sub(/^ +/, ""); sub(/  .*/, "")
			if (/--.*[ ,]--/) print "two options: " $0 }' <<<"$output"
		assert_output ''
	done
}

@test "acp-tap" {
	refused '--hop requires recordings or --attach' tap --hop 1
	refused '--number requires recordings' tap -n
	refused '--start requires recordings' tap --start 2
	refused '--until requires recordings' tap --until 2
	refused '--number requires --format pretty or --format full' tap -n -f raw s.rec
	refused '--fold requires --format pretty' tap --fold -o y
	refused '--no-fold requires --format pretty' tap --no-fold -f raw s.rec
	refused '--append requires --output' tap -a
	refused '--until comes before --start' tap --start 3 --until 2 s.rec
	[ ! -e y ]
}

@test "acp-check" {
	refused '--hop requires recordings or --attach' check --hop 1
	refused '--append requires --output' check -a
	refused '--coverage does not go with --format junit' check --coverage -f junit s.rec
	refused '--coverage does not go with --level' check --coverage -l note s.rec
	refused '--append does not go with --format junit' check -a -o y -f junit
	refused '--output -: a file is required' check -o - s.rec
	[ ! -e y ]
}

@test "acp-usage" {
	refused '--append requires --output' usage -a s.rec
	refused '--format prom requires --output or recordings' usage -f prom
	refused '--format prom does not go with --summary' usage -f prom --summary s.rec
	refused '--format prom does not go with --append' usage -f prom -o x -a s.rec
	refused '--summary does not go with --format csv' usage -f csv --summary s.rec
	refused '--by does not go with --format tsv' usage -f tsv --by model s.rec
	refused '--fill does not go with recordings' usage --fill s.rec
	refused '--pass does not go with recordings' usage --pass s.rec
	refused '--pass does not go with a command' usage --pass -- cat
	refused '--pass does not go with --attach' usage --pass --attach auto
	refused '--follow requires one recording' usage -F s.rec s.rec
	refused '--follow requires one recording' usage -F
	refused '--merge does not go with a command' usage --merge -- cat
	refused '--merge does not go with --max-cost' usage --merge --max-cost 1USD s.rec
	refused '--format prom does not go with --by' usage -f prom --by day s.rec
	refused '--format prom does not go with --merge' usage -f prom --merge s.rec
	refused '--merge does not go with --format csv' usage -f csv --merge s.rec
	refused '--merge does not go with --basis' usage --merge --basis call s.rec
	refused '--merge does not go with --hop' usage --merge --hop 3 s.rec
	refused '--merge does not go with --meter' usage --merge --meter s.rec
	refused '--merge does not go with --pass' usage --merge --pass
	refused '--merge does not go with --fill' usage --merge --fill
	refused '--size requires --fill' usage --size 5 s.rec
}

@test "acp-stat" {
	refused '--append requires --output' stat -a s.rec
	refused '--hop requires recordings or --attach' stat --hop 1
	refused '--format prom does not go with --append' stat -f prom -o x -a s.rec
	refused '--format prom does not go with --by turn' stat -f prom --by turn s.rec
	refused '--pass does not go with recordings' stat --pass s.rec
	refused '--format junit does not go with --append' stat -f junit -a -o x --max open=0 s.rec
	refused '--format junit requires --max' stat -f junit s.rec
	refused '--format github requires --max' stat -f github s.rec
	refused '--max does not go with --by' stat --max open=0 --by tool s.rec
	refused '--merge does not go with --by' stat --merge --by tool s.rec
	refused '--merge does not go with a command' stat --merge -- cat
}

@test "acp-export" {
	refused '--append requires --output' export -f otlp -a s.rec
	refused '--append requires --format otlp' export -f perfetto -a -o x s.rec
	refused '--append requires --format otlp' export -a -o x s.rec
	refused '--hop requires recordings or --attach' export -f otlp --hop 1
	refused '--follow requires one recording' export -f otlp -F s.rec s.rec
	refused '--pass does not go with recordings' export -f otlp --pass s.rec
	refused '--post requires --format otlp' export -f perfetto --post http://localhost:4318 s.rec
	refused '--post does not go with --output' export -f otlp --post http://localhost:4318 -o x s.rec
	refused '--propagate does not go with recordings' export -f otlp --propagate s.rec
	refused 'a command requires --format otlp or --format perfetto' export -- cat
	refused '--follow requires --format otlp or --format perfetto' export -F s.rec
}

@test "acp-inject" {
	refused '--match requires --edit or --edit-file' inject -m x --prepend y
	refused '--where requires --edit or --edit-file' inject -w . --prepend y
	refused '--silent requires --edit or --edit-file' inject --silent --prepend y
	refused '--every requires --prepend or --append' inject --every -e .
	refused '--leave requires --attach' inject --leave -e .
	refused '--send-every requires --send' inject --send-every -e .
}

@test "acp-budget" {
	refused '--target does not go with --from-prompt' budget --target 1 --from-prompt
	refused '--nudge requires --target or --from-prompt' budget --nudge x --max-turns 1
	refused '--hard requires --max-cost or --max-tokens or --max-turns or --max-context' budget --hard --target 1
	refused '--scope requires a ledger' budget --scope project --max-cost 1USD
	refused '--strict requires a ledger' budget --strict --max-cost 1USD/session
	refused '--by requires --report' budget --by day --max-cost 1USD/day
	refused '--report does not go with --max-cost' budget --report --max-cost 1USD/day
	refused '--max-cost 1USD/year: expected amounts with their currencies, such as 5USD,20USD/day' budget --max-cost 1USD/year
	refused '--max-tokens 1k/year: expected a number of tokens, such as 500k or 2m/day' budget --max-tokens 1k/year
	refused '--max-tokens 1k,0/day: expected a number of tokens, such as 500k or 2m/day' budget --max-tokens 1k,0/day
	refused '--scope : expected user, project, agent or a key' budget --ledger x --scope ''
	[ ! -e x ]
}

@test "acp-mcp, acp-conduct" {
	refused '--connect does not go with a command' mcp --connect x -- cat
	refused '--connect does not go with --provide' mcp --connect x --provide a=b
	refused '--connect does not go with --timeout' mcp --timeout 1s --connect x
	refused '--connect does not go with --max-line' mcp --connect x --max-line 5
	refused '--connect does not go with --way' mcp --connect x --way pipe
	refused '--connect does not go with --grace' mcp --connect x --grace 1s
	refused '--control-hop requires --control' conduct --control-hop 1 -- cat
}

@test "acp-replay" {
	refused '--update requires --check' replay --update s.rec
	refused '--format requires --check' replay -f json s.rec
	refused '--update does not go with --record' replay --check --update --record x s.rec
	refused '--update does not go with --env' replay --check --update --env s.rec
	refused '--update does not go with --on-miss next' replay --check --update --on-miss next s.rec
	refused '--check does not go with --start' replay --check --start 2 s.rec
	refused '--check does not go with --loop' replay --check --loop s.rec
}

@test "a short option is its long one, and what is fine goes" {
	refused '--match requires --edit or --edit-file' inject --match x --prepend y
	run -0 acp-tap -n -f full --start 2 --until 2 s.rec
	run -0 acp-usage -f prom s.rec
}
