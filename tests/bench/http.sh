#!/usr/bin/env bash
# The round trip to a remote agent: two acp-http beside two socat that relay the same over plain TCP, in turn in one run, as medians.
# With the interop tests' peers installed: prompts by the TypeScript SDK's HTTP client to acp-http and to the SDK's own server.
# BENCH_RUNS: how often (default 5); BENCH_TRIPS: requests (20000).
set -euo pipefail
cd "$(dirname "$0")/../.."
B=${B:-build}
runs=${BENCH_RUNS:-5} trips=${BENCH_TRIPS:-20000}
out=$PWD/$B/bench/ws.d
if [[ ! -x $B/bin/acp-http ]]; then
	echo 'acp-http was not built: no figures'
	exit 0
fi
mkdir -p "$out"
make -s "$B/bench/measure"
m=$PWD/$B/bench/measure
PATH=$PWD/$B/bin:$PATH

acp-http --listen 0 -- "$m" pong 2>"$out/ws" &
ws=$!
socat -d -d TCP-LISTEN:0,bind=127.0.0.1,reuseaddr,fork,nodelay EXEC:"$m pong" 2>"$out/tcp" &
tcp=$!
trap 'kill "$ws" "$tcp"; rm -rf "$out"' EXIT
until grep -q 'listening at' "$out/ws" && grep -q 'listening on' "$out/tcp"; do sleep 0.05; done
ws_port=$(sed -n 's/.*listening at .*:\([0-9]*\)\/.*/\1/p' "$out/ws")
tcp_port=$(sed -n 's/.*listening on .*:\([0-9]*\)$/\1/p' "$out/tcp")

median() { sort -n "$out/$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
for ((i = 0; i < runs; i++)); do
	"$m" trip "$trips" acp-http --connect "ws://127.0.0.1:$ws_port/acp" >>"$out/a"
	"$m" trip "$trips" socat - "TCP:127.0.0.1:$tcp_port,nodelay" >>"$out/b"
done
awk -v a="$(median a)" -v b="$(median b)" 'BEGIN {
	printf "%-44s %6.1f us    %6.1f us    %5.2f  (wanted: at most 1.50)\n", "acp-http both ends, beside socat over TCP", a, b, a / b }'

peers=$PWD/build/interop
[[ -d $peers/node_modules/@agentclientprotocol/sdk ]] || exit 0
cp tests/interop/http-bench.mjs "$peers"
PATH=$peers/node_modules/.bin:$PATH
acp-http --listen 0 -- sed -u -E -e 's/^\{"jsonrpc":"2.0","id":("?[a-z0-9]+"?),"method":"initialize".*/{"jsonrpc":"2.0","id":\1,"result":{"protocolVersion":1}}/' \
    -e 's/^\{"jsonrpc":"2.0","id":("?[a-z0-9]+"?),"method":"session\/new".*/{"jsonrpc":"2.0","id":\1,"result":{"sessionId":"s"}}/' \
    -e 's/^\{"jsonrpc":"2.0","id":("?[a-z0-9]+"?),"method":"session\/prompt".*/{"jsonrpc":"2.0","method":"session\/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hello"}}}}\n{"jsonrpc":"2.0","id":\1,"result":{"stopReason":"end_turn"}}/' \
    2>"$out/http" &
ours=$!
node "$peers/http-bench.mjs" serve >"$out/port" &
theirs=$!
trap 'kill "$ws" "$tcp" "$ours" "$theirs"; rm -rf "$out"' EXIT
until grep -q 'listening at' "$out/http" && grep -q . "$out/port"; do sleep 0.05; done
port=$(sed -n 's,.*listening at http://.*:\([0-9]*\)/.*,\1,p' "$out/http")
for ((i = 0; i < runs; i++)); do
	node "$peers/http-bench.mjs" "http://127.0.0.1:$port/acp" "$((trips / 20))" | { read -r t; echo "$t" >>"$out/c"; read -r t; echo "$t" >>"$out/e"; }
	node "$peers/http-bench.mjs" "http://127.0.0.1:$(<"$out/port")/acp" "$((trips / 20))" | { read -r t; echo "$t" >>"$out/d"; read -r t; echo "$t" >>"$out/f"; }
done
awk -v a="$(median c)" -v b="$(median d)" -v c="$(median e)" -v d="$(median f)" 'BEGIN {
	printf "%-44s %6.0f us    %6.0f us    %5.2f\n", "a prompt by HTTP, beside the SDK server", a, b, a / b
	printf "%-44s %6.0f /s    %6.0f /s    %5.2f\n", "prompts at once by HTTP, beside the SDK server", c, d, c / d }'
