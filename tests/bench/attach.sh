#!/usr/bin/env bash
# What it costs that a running chain can be attached to: one filter; with acp-share before it (--control) and nobody there; with
# a watcher; with one who does not read. In turn in one run, as medians.
# BENCH_RUNS: how often (default 5); BENCH_ATTACH_UPDATES: of 200 bytes (default 500000); BENCH_CHAIN_TRIPS: requests (1000).
set -euo pipefail
cd "$(dirname "$0")/../.."
B=${B:-build}
runs=${BENCH_RUNS:-5} updates=${BENCH_ATTACH_UPDATES:-500000} trips=${BENCH_CHAIN_TRIPS:-1000}
out=$PWD/$B/bench/attach.d
mkdir -p "$out"
trap 'rm -rf "$out"' EXIT
make -s "$B/bench/chain" "$B/helper/visit"
PATH=$PWD/$B/bin:$PWD/$B/bench:$PWD/$B/helper:$PATH
export XDG_RUNTIME_DIR=$out

# A chain that somebody visits in this way.
cat >"$out/visited" <<-'END'
	#!/bin/sh
	# visited SOCKET HOW... -- COMMAND...
	socket=$1 how=
	shift
	while [ "$1" != -- ]; do
		how="$how $1"
		shift
	done
	shift
	(
		exec </dev/null >/dev/null 2>&1
		until [ -S "$socket" ]; do sleep 0.01; done
		exec timeout 100 visit "$socket" $how
	) &
	exec "$@"
END
chmod +x "$out/visited"

setup() {
	local chain=(-f 'acp-tap -o /dev/null' -- chain agent) socket=$out/$1.sock
	case $1 in
	direct) command=(acp-conduct "${chain[@]}") ;;
	nobody) command=(acp-conduct --control "$socket" "${chain[@]}") ;;
	watcher) command=("$out/visited" "$socket" watch -- acp-conduct --control "$socket" "${chain[@]}") ;;
	stuck) command=("$out/visited" "$socket" sleep watch -- acp-conduct --control "$socket" "${chain[@]}") ;;
	esac
}

bounded() { timeout 300 chain "$@" 2>"$out/err" || { echo "chain $*: failed" >&2; head -n 5 "$out/err" >&2; exit 1; }; }
median() { sort -n "$out/$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
share() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }

# measure NAME WORD...: runs each in turn, again and again; the first warms up.
names=(direct nobody watcher stuck)
measure() {
	local what=$1 i n
	shift
	for ((i = 0; i <= runs; i++)); do
		for n in "${names[@]}"; do
			setup "$n"
			rm -f "$out/$n.sock"
			bounded "$what" "$@" "${command[@]}" >>"$out/$n.$what"
			((i > 0)) || : >"$out/$n.$what"
		done
	done
}

measure trip "$trips"
measure stream "$updates" 200 0
printf '%-28s %10s %10s %10s %10s\n' 'attach' direct nobody watcher stuck
printf '%-28s' 'round trip, us'
for n in "${names[@]}"; do printf ' %10s' "$(median "$n.trip")"; done
printf '\n%-28s' 'updates of 200 bytes, /s'
for n in "${names[@]}"; do printf ' %10s' "$(median "$n.stream")"; done
printf '\nbeside nobody there: a watcher %s, one who does not read %s (wanted: >= 0.6, >= 0.8)\n' \
	"$(share "$(median watcher.stream)" "$(median nobody.stream)")" "$(share "$(median stuck.stream)" "$(median nobody.stream)")"

# The same as instructions of acp-share for each update: they do not depend on what else the machine does.
command -v valgrind >/dev/null || { echo 'valgrind is missing: no instructions'; exit; }
count() {
	rm -f "$out/callgrind"
	bounded stream "$1" 200 0 valgrind -q --tool=callgrind --callgrind-out-file="$out/callgrind" "${@:2}" -- chain agent >/dev/null
	awk '/^(summary|totals):/ { print $2; exit }' "$out/callgrind"
}
each() { echo $((($(count 9000 "$@") - $(count 3000 "$@")) / 6000)); }
printf '%-44s %s\n' 'instructions an update, acp-share, nobody there' "$(each acp-share --control auto)" \
	'... acp-tap -o /dev/null' "$(each acp-tap -o /dev/null)"
