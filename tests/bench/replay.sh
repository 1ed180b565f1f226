#!/usr/bin/env bash
# A long recording played by acp-replay beside `cat FILE | cat`, and its memory.
# BENCH_REPLAY_BYTES: how long it is (default 256 MiB); BENCH_RUNS: how often (default 5).
set -euo pipefail
cd "$(dirname "$0")/../.."
B=${B:-build}
bytes=${BENCH_REPLAY_BYTES:-268435456} runs=${BENCH_RUNS:-5}
out=$B/bench
mkdir -p "$out"
make -s "$B/bench/measure"
m=$PWD/$B/bench/measure
PATH=$PWD/$B/bin:$PATH
rec=$out/replay.rec client=$out/replay.client
trap 'rm -f "$rec" "$client"' EXIT

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# The turns of a session, again and again, each with as many updates as a long one has; and what its client says.
demo=tests/fixtures/demo.rec
sed -n '2,5p' "$demo" >"$rec"
sed -n '6,$p' "$demo" | grep '"msg"' | awk -v bytes="$bytes" '
	/session.update/ { updates = updates $0 "\n"; next }
	{ if (updates) { for (i = 0; i < 100; i++) text = text updates; updates = "" }
	  text = text $0 "\n" }
	END { while (n < bytes) { printf "%s", text; n += length(text) } }' >>"$rec"
acp-tap -f raw --from client "$rec" >"$client"
cat "$rec" "$client" >/dev/null

rm -f "$out"/replay.{ours,cat}
for ((i = 0; i <= runs; i++)); do
	# shellcheck disable=SC2016
	"$m" run sh -c 'acp-replay "$1" <"$2" | cat >/dev/null' sh "$rec" "$client" 9>>"$out/replay.ours"
	# shellcheck disable=SC2016
	"$m" run sh -c 'cat "$1" | cat >/dev/null' sh "$rec" 9>>"$out/replay.cat"
done
# The first of each warms up.
ours=$(tail -n +2 "$out/replay.ours" | median) cat=$(tail -n +2 "$out/replay.cat" | median)
kib=$(awk '$2 > k { k = $2 } END { print k }' "$out/replay.ours")
printf '%-44s %11s  %11s  %5s\n' 'REPLAY of a long recording' ours 'cat | cat' ratio
awk -v n="$(stat -c %s "$rec")" -v a="$ours" -v b="$cat" -v k="$kib" 'BEGIN {
	printf "%-44s %6.2f GB/s  %6.2f GB/s  %5.2f  (wanted: >= 0.15)  peak %.1f MiB of %.0f\n", "acp-replay FILE",
		n / a / 1e9, n / b / 1e9, b / a, k / 1024, n / 1048576 }'
