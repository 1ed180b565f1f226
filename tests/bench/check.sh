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
one=$out/check.rec mix=$out/check.mix part=$out/check.part typical=$out/check.typical
trap 'rm -f "$one" "$mix" "$part" "$typical" "$out/check.text"' EXIT

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# The recordings, whole, one after the other.
acp-tap -f record tests/fixtures/*.jsonl tests/fixtures/agents/*.jsonl >"$one"
for ((size = 0; size < bytes; size += $(stat -c %s "$one"))); do cat "$one"; done >"$mix"
for ((i = 0; i < 10; i++)); do cat "$one"; done >"$part"
# What an agent sends most: 150 chunks and 10 updates of tool calls a prompt.
awk -v bytes="$bytes" 'function put(side, m) { line = sprintf("{\"t\":%.6f,\"from\":\"%s\",\"msg\":{\"jsonrpc\":\"2.0\",%s}}", t += 0.013, side, m); n += length(line); print line }
function update(u) { put("agent", "\"method\":\"session/update\",\"params\":{\"sessionId\":\"68eb7d40-5122-4bb7-8318-000000000001\",\"update\":{" u "}}") }
BEGIN {
	words = "The quick brown fox jumps over the lazy dog"
	output = sprintf("%600s", "")
	put("client", "\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}")
	put("agent", "\"id\":0,\"result\":{\"protocolVersion\":1}")
	put("client", "\"id\":1,\"method\":\"session/new\",\"params\":{\"cwd\":\"/w\",\"mcpServers\":[]}")
	put("agent", "\"id\":1,\"result\":{\"sessionId\":\"68eb7d40-5122-4bb7-8318-000000000001\"}")
	for (id = 2; n < bytes; id++) {
		put("client", "\"id\":" id ",\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"68eb7d40-5122-4bb7-8318-000000000001\",\"prompt\":[{\"type\":\"text\",\"text\":\"go on\"}]}")
		for (i = 0; i < 150; i++) {
			update("\"sessionUpdate\":\"agent_" (i % 5 ? "message" : "thought") "_chunk\",\"content\":{\"type\":\"text\",\"text\":\"" substr(words, 1, 1 + i % 43) "\"}")
			if (i % 30 == 7)
				update("\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c" (call = id "-" i) "\",\"title\":\"Read\",\"kind\":\"read\",\"status\":\"pending\",\"rawInput\":{\"path\":\"/w/main.c\"}")
			if (i % 30 == 22)
				update("\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"c" call "\",\"status\":\"completed\",\"content\":[{\"type\":\"content\",\"content\":{\"type\":\"text\",\"text\":\"" output "\"}}]")
		}
		put("agent", "\"id\":" id ",\"result\":{\"stopReason\":\"end_turn\"}")
	}
}' >"$typical"
rm -f "$out"/check.{ours,raw,few,typical.*}
for ((i = 0; i < runs; i++)); do
	"$m" run acp-check --unstable "$mix" >"$out/check.text" 9>>"$out/check.ours"
	"$m" run acp-tap -f raw "$mix" >"$out/check.text" 9>>"$out/check.raw"
	"$m" run acp-check "$typical" >"$out/check.text" 9>>"$out/check.typical.ours"
	"$m" run acp-tap -f raw "$typical" >"$out/check.text" 9>>"$out/check.typical.raw"
done
"$m" run acp-check --unstable "$part" >"$out/check.text" 9>>"$out/check.few"
ours=$(median <"$out/check.ours") raw=$(median <"$out/check.raw")
printf '%-44s %11s  %11s  %5s\n' 'CHECK over recordings of agents' ours 'tap -f raw' times
awk -v n="$(stat -c %s "$mix")" -v a="$ours" -v b="$raw" 'BEGIN {
	printf "%-44s %6.1f MB/s  %6.1f MB/s  %5.2f  (wanted: >= 50 MB/s)\n", "acp-check --unstable", n / a / 1e6, n / b / 1e6, a / b }'
awk -v n="$(stat -c %s "$typical")" -v a="$(median <"$out/check.typical.ours")" -v b="$(median <"$out/check.typical.raw")" 'BEGIN {
	printf "%-44s %6.1f MB/s  %6.1f MB/s  %5.2f  (wanted: >= 500 MB/s)\n", "acp-check, 150 chunks a prompt", n / a / 1e6, n / b / 1e6, a / b }'
awk -v few="$(awk '{ print $2 }' "$out/check.few")" -v many="$(awk '{ print $2 }' "$out/check.ours" | sort -n | tail -n 1)" 'BEGIN {
	printf "%-44s %6.1f MiB   %6.1f MiB          (wanted: the same, < 8)\n", "memory, 6 MB and all of it", few / 1024, many / 1024 }'
