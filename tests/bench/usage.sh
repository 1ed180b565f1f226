#!/usr/bin/env bash
# acp-usage --summary beside grep, which only counts, and jq, which selects the same; and its memory.
# BENCH_USAGE_BYTES: how much to read (default 256 MiB; the goal is set for 2147483648); BENCH_RUNS: how often (default 9).
set -euo pipefail
cd "$(dirname "$0")/../.."
B=${B:-build}
bytes=${BENCH_USAGE_BYTES:-268435456} runs=${BENCH_RUNS:-9}
out=$B/bench
mkdir -p "$out"
make -s "$B/bench/measure"
m=$PWD/$B/bench/measure
PATH=$PWD/$B/bin:$PATH
mix=$out/usage.ndjson part=$out/usage.part million=$out/usage.million
trap 'rm -f "$mix" "$part" "$million" "$out/usage.text"' EXIT

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# times NAME COMMAND...: wall times and peak memory (KiB), a line each.
times() {
	local name=$1 i
	shift
	for ((i = 0; i < runs; i++)); do
		# Not to /dev/null: grep notices, and looks for one match only.
		"$m" run "$@" >"$out/usage.text" 2>&1 9>>"$out/$name"
	done
}

"$m" mix "$bytes" tests/fixtures/*.jsonl >"$mix"
cat "$mix" >/dev/null
rm -f "$out"/usage.{stat,ours,grep,jq,few,many}
for ((r = runs; r > 0; r--)); do
	runs=1 times usage.grep grep -c usage_update "$mix"
	runs=1 times usage.ours acp-usage --summary "$mix"
	runs=1 times usage.stat acp-stat "$mix"
done
ours=$(median <"$out/usage.ours") grep=$(median <"$out/usage.grep")
printf '%-44s %11s  %11s  %5s\n' 'USAGE over the fixtures'\'' mix' ours grep times
awk -v n="$(stat -c %s "$mix")" -v a="$ours" -v b="$grep" 'BEGIN {
	printf "%-44s %6.2f GB/s  %6.2f GB/s  %5.2f  (wanted: <= 1.5)\n", "acp-usage --summary", n / a / 1e9, n / b / 1e9, a / b }'
awk -v n="$(stat -c %s "$mix")" -v a="$(median <"$out/usage.stat")" -v k="$(awk '{ print $2 }' "$out/usage.stat" | sort -n | tail -n 1)" 'BEGIN {
	printf "%-44s %6.2f GB/s  (wanted: >= 0.05), peak %.1f MiB\n", "acp-stat, which reads every message", n / a / 1e9, k / 1024 }'

# jq takes its time: a small part will do.
head -c 20000000 "$mix" | sed '$d' >"$part"
runs=1 times usage.jq jq -c 'select(.params.update.sessionUpdate? == "usage_update" or .result.usage?)' "$part"
awk -v n="$(stat -c %s "$mix")" -v a="$ours" -v p="$(stat -c %s "$part")" -v j="$(median <"$out/usage.jq")" 'BEGIN {
	printf "%-44s %6.2f GB/s  %6.3f GB/s  %5.0f  (wanted: >= 50)\n", "beside jq select(...)", n / a / 1e9, p / j / 1e9, (n / a) / (p / j) }'

sessions() {
	awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) {
		s = sprintf("68eb7d40-5122-4bb7-8318-%012d", i)
		printf "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"%s\",\"prompt\":[]}}\n", i, s
		printf "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"%s\",\"update\":{\"sessionUpdate\":\"usage_update\",\"used\":15201,\"size\":1000000,\"cost\":{\"amount\":0.11358000000000001,\"currency\":\"USD\"}}}}\n", s
		printf "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"stopReason\":\"end_turn\",\"usage\":{\"inputTokens\":8700,\"outputTokens\":129,\"cachedReadTokens\":24000,\"cachedWriteTokens\":600,\"totalTokens\":33429}}}\n", i
	} }'
}

sessions 1000000 >"$million"
runs=1 times usage.many acp-usage --summary "$million"
awk -v few="$(awk '{ print $2 }' "$out/usage.ours" | sort -n | tail -n 1)" -v many="$(awk '{ print $2 }' "$out/usage.many")" 'BEGIN {
	printf "%-44s %6.1f MiB  (wanted: < 8)\n", "memory, five sessions", few / 1024
	printf "%-44s %6.0f bytes a session  (wanted: <= 1024 beyond 8 MiB)\n", "memory, a million sessions", (many - few) * 1024 / 1000000 }'
