#!/usr/bin/env bash
# acp-inject: what no rule selects beside acp-tap; what is edited beside jq in the same place, and beside what libjq alone
# takes to parse the messages and run the program.
# BENCH_INJECT_MESSAGES: how many are edited (default 200000); BENCH_BYTES; BENCH_RUNS: how often (default 5).
set -euo pipefail
cd "$(dirname "$0")/../.."
B=${B:-build}
messages=${BENCH_INJECT_MESSAGES:-200000} bytes=${BENCH_BYTES:-1073741824} runs=${BENCH_RUNS:-5}
out=$B/bench
mkdir -p "$out"
make -s "$B/bench/measure" "$B/bench/libjq"
m=$PWD/$B/bench/measure
PATH=$PWD/$B/bin:$PWD/$B/bench:$PATH
mix=$out/inject.mix small=$out/inject.small
trap 'rm -f "$mix" "$small" "$out"/inject.time.*' EXIT

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# seconds NAME INPUT COMMAND...: in a pipe.
seconds() {
	local name=$1
	shift
	# shellcheck disable=SC2016
	"$m" run sh -c 'input=$1; shift; cat "$input" | "$@" | cat >/dev/null' sh "$@" 9>>"$out/inject.time.$name"
}

took() { median <"$out/inject.time.$1"; }

"$m" mix "$bytes" tests/fixtures/*.jsonl >"$mix"
cat "$mix" >/dev/null
for ((i = 0; i < runs; i++)); do
	seconds none "$mix" acp-inject -m none -e .
	seconds tap "$mix" acp-tap -m none -o /dev/null
done
printf '%-44s %11s  %11s  %5s\n' 'INJECT: nothing is selected (-m none)' ours acp-tap ratio
awk -v n="$(stat -c %s "$mix")" -v a="$(took none)" -v b="$(took tap)" 'BEGIN {
	printf "%-44s %6.2f GB/s  %6.2f GB/s  %5.2f  (wanted: >= 1)\n", "acp-inject -m none -e .", n / a / 1e9, n / b / 1e9, b / a }'

awk -v n="$messages" 'BEGIN { for (i = 0; i < n; i++)
	printf "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"68eb7d40-5122-4bb7-8318-91f63ac071f4\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"chunk %d\"}}}}\n", i }' >"$small"
printf '\n%-44s %11s  %11s  %11s\n' 'INJECT: small messages a second, edited' ours 'jq' 'libjq alone'
for program in . '.params.x = 1' '.params.update.content.text |= ascii_upcase'; do
	rm -f "$out"/inject.time.{ours,jq,alone}
	for ((i = 0; i < runs; i++)); do
		seconds ours "$small" acp-inject -e "$program"
		seconds jq "$small" jq -c --unbuffered "$program"
		seconds alone "$small" libjq "$program"
	done
	awk -v p="$program" -v n="$messages" -v a="$(took ours)" -v b="$(took jq)" -v c="$(took alone)" 'BEGIN {
		printf "%-44s %9.0f    %9.0f    %9.0f    %.2f times jq (20: not with libjq), %.0f%% of libjq alone\n",
			p, n / a, n / b, n / c, b / a, 100 * c / a }'
done
