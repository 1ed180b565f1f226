#!/usr/bin/env bash
# acp-check beside acp-tap -f raw, which reads the same and checks nothing; and its memory.
# BENCH_CHECK_BYTES: how much to read (default 256 MiB); BENCH_RUNS: how often (default 5).
set -euo pipefail
cd "$(dirname "$0")/../.."
B=${B:-build}
bytes=${BENCH_CHECK_BYTES:-268435456} runs=${BENCH_RUNS:-5}
out=$B/bench
mkdir -p "$out"
make -s "$B/bench/measure"
m=$PWD/$B/bench/measure
PATH=$PWD/$B/bin:$PATH
one=$out/check.rec mix=$out/check.mix part=$out/check.part
trap 'rm -f "$one" "$mix" "$part" "$out/check.text"' EXIT

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# The recordings, whole, one after the other.
acp-tap -f record tests/fixtures/*.jsonl tests/fixtures/agents/*.jsonl >"$one"
for ((size = 0; size < bytes; size += $(stat -c %s "$one"))); do cat "$one"; done >"$mix"
for ((i = 0; i < 10; i++)); do cat "$one"; done >"$part"
rm -f "$out"/check.{ours,raw,few}
for ((i = 0; i < runs; i++)); do
	"$m" run acp-check --unstable "$mix" >"$out/check.text" 9>>"$out/check.ours"
	"$m" run acp-tap -f raw "$mix" >"$out/check.text" 9>>"$out/check.raw"
done
"$m" run acp-check --unstable "$part" >"$out/check.text" 9>>"$out/check.few"
ours=$(median <"$out/check.ours") raw=$(median <"$out/check.raw")
printf '%-44s %11s  %11s  %5s\n' 'CHECK over recordings of agents' ours 'tap -f raw' times
awk -v n="$(stat -c %s "$mix")" -v a="$ours" -v b="$raw" 'BEGIN {
	printf "%-44s %6.1f MB/s  %6.1f MB/s  %5.2f  (wanted: >= 50 MB/s)\n", "acp-check --unstable", n / a / 1e6, n / b / 1e6, a / b }'
awk -v few="$(awk '{ print $2 }' "$out/check.few")" -v many="$(awk '{ print $2 }' "$out/check.ours" | sort -n | tail -n 1)" 'BEGIN {
	printf "%-44s %6.1f MiB   %6.1f MiB          (wanted: the same, < 8)\n", "memory, 6 MB and all of it", few / 1024, many / 1024 }'
