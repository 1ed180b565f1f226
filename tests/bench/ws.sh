#!/usr/bin/env bash
# The round trip to a remote agent: two acp-ws beside two socat that relay the same over plain TCP, in turn in one run, as medians.
# BENCH_RUNS: how often (default 5); BENCH_TRIPS: requests (20000).
set -euo pipefail
cd "$(dirname "$0")/../.."
B=${B:-build}
runs=${BENCH_RUNS:-5} trips=${BENCH_TRIPS:-20000}
out=$PWD/$B/bench/ws.d
if [[ ! -x $B/bin/acp-ws ]]; then
	echo 'acp-ws was not built: no figures'
	exit 0
fi
mkdir -p "$out"
make -s "$B/bench/measure"
m=$PWD/$B/bench/measure
PATH=$PWD/$B/bin:$PATH

acp-ws --listen 0 -- "$m" pong 2>"$out/ws" &
ws=$!
socat -d -d TCP-LISTEN:0,bind=127.0.0.1,reuseaddr,fork,nodelay EXEC:"$m pong" 2>"$out/tcp" &
tcp=$!
trap 'kill "$ws" "$tcp"; rm -rf "$out"' EXIT
until grep -q 'listening at' "$out/ws" && grep -q 'listening on' "$out/tcp"; do sleep 0.05; done
ws_port=$(sed -n 's/.*listening at .*:\([0-9]*\)\/.*/\1/p' "$out/ws")
tcp_port=$(sed -n 's/.*listening on .*:\([0-9]*\)$/\1/p' "$out/tcp")

median() { sort -n "$out/$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
for ((i = 0; i < runs; i++)); do
	"$m" trip "$trips" acp-ws --connect "ws://127.0.0.1:$ws_port/acp" >>"$out/a"
	"$m" trip "$trips" socat - "TCP:127.0.0.1:$tcp_port,nodelay" >>"$out/b"
done
awk -v a="$(median a)" -v b="$(median b)" 'BEGIN {
	printf "%-44s %6.1f us    %6.1f us    %5.2f  (wanted: at most 1.50)\n", "acp-ws both ends, beside socat over TCP", a, b, a / b }'
