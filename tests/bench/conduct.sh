#!/usr/bin/env bash
# Chains of proxies under acp-conduct, beside bare pipes and beside the Rust conductor (where tests/interop/run has built
# it), in turn in one run, as medians. Prints the tables of the README; progress goes to stderr.
# BENCH_CHAIN: how many proxies (default "1 4 16"); BENCH_GROWTH: how many in the table about growth (default "1 2 4 8 16 32");
# BENCH_RUNS: how often (default 5); BENCH_CHAIN_TRIPS: requests (default 500); BENCH_MANY_TRIPS: requests of one long run
# (default 300000); BENCH_CHAIN_UPDATES: of 200 bytes (default 20000); BENCH_SLOW_UPDATES: for a slow client (default 300000).
# shellcheck disable=SC2086,SC2016 # numbers, and names that are to be split; what Markdown has in backquotes
set -euo pipefail
cd "$(dirname "$0")/../.."
B=${B:-build}
read -ra lengths <<<"${BENCH_CHAIN:-1 4 16}"
read -ra growth <<<"${BENCH_GROWTH:-1 2 4 8 16 32}"
runs=${BENCH_RUNS:-5} trips=${BENCH_CHAIN_TRIPS:-500} many=${BENCH_MANY_TRIPS:-300000}
updates=${BENCH_CHAIN_UPDATES:-20000} slow=${BENCH_SLOW_UPDATES:-300000}
out=$B/bench/chain.d
mkdir -p "$out"
trap 'rm -rf "$out"' EXIT
make -s "$B/bench/chain"
PATH=$PWD/$B/bin:$PWD/$B/bench:$PWD/build/interop/rust/release:$PATH
rust=
command -v conductor >/dev/null && command -v rust-proxy >/dev/null && rust=1

# Where the scheduler puts the processes decides how long a round trip takes, up to tenfold: all are on one processor.
one=()
command -v taskset >/dev/null && one=(taskset -c "$(taskset -cp $$ | sed 's/.*[ ,-]//')")

# Once one of these has hung it would do so for ever.
bounded() {
	local on=()
	[[ $1 != trip ]] || on=("${one[@]}")
	timeout 300 "${on[@]}" chain "$@" 2>"$out/err" || { echo "chain $*: failed" >&2; head -n 5 "$out/err" >&2; exit 1; }
}

# median FILE [COLUMN]
median() { awk -v c="${2:-1}" '{ print $c }' "$out/$1" | sort -n | awk '{ v[NR] = $1 } END { print NR ? v[int((NR + 1) / 2)] : "-" }'; }

# share A B FORMAT: A as a multiple of B; - where there is no B.
share() { awk -v a="$1" -v b="$2" -v f="${3:-%.2f}" 'BEGIN { if (b == "-" || b == 0 || a == "-") print "-"; else printf f "\n", a / b }'; }

# repeat K WORD...: the words K times.
repeat() {
	local k=$1 i
	shift
	words=()
	for ((i = 0; i < k; i++)); do words+=("$@"); done
}

# Routing is measured without the acp-mcp that acp-conduct adds, the bridge: what that costs is told at the end.
# setup NAME K: the command of a chain of K proxies, in `command`.
setup() {
	local k=$2 cats i
	command=()
	case $1 in
	cats)
		repeat $((2 * k + 1)) cat '|'
		cats="${words[*]} chain agent"
		repeat $((2 * k + 1)) '|' cat
		command=(sh -c "$cats ${words[*]}")
		;;
	tees)
		repeat $((2 * k + 1)) cat '|'
		cats="${words[*]} chain agent | tee $out/tee.0"
		for ((i = 1; i <= k; i++)); do cats+=" | cat | tee $out/tee.$i"; done
		command=(sh -c "$cats")
		;;
	star) command=(chain star "$k") ;;
	bare) repeat "$k" -p 'chain proxy' && command=(acp-conduct --no-mcp "${words[@]}" -- chain agent) ;;
	bridge) repeat "$k" -p 'chain proxy' && command=(acp-conduct "${words[@]}" -- chain agent) ;;
	trace) repeat "$k" -p 'chain proxy' && command=(acp-conduct --no-mcp --trace "$out/trace.jsons" "${words[@]}" -- chain agent) ;;
	null) repeat "$k" -p 'chain proxy' && command=(acp-conduct --no-mcp --trace /dev/null "${words[@]}" -- chain agent) ;;
	tap) repeat "$k" -p 'acp-tap -o /dev/null' && command=(acp-conduct --no-mcp "${words[@]}" -- chain agent) ;;
	filter) repeat "$k" -f 'acp-tap -o /dev/null' && command=(acp-conduct "${words[@]}" -- chain agent) ;;
	theirs) repeat "$k" -p rust-proxy && command=(acp-conduct --no-mcp "${words[@]}" -- chain agent) ;;
	rust-bare) repeat "$k" 'chain proxy' && command=(conductor agent "${words[@]}" 'chain agent') ;;
	rust-tap) repeat "$k" 'acp-tap -o /dev/null' && command=(conductor agent "${words[@]}" 'chain agent') ;;
	rust-theirs) repeat "$k" rust-proxy && command=(conductor agent "${words[@]}" 'chain agent') ;;
	esac
}

# measure WHAT K NAME...: runs each in turn, again and again; what they print is in NAME.WHAT.K. The first warms up. What is
# slow has less to do.
measure() {
	local what=$1 k=$2 names name i n
	shift 2
	names=("$@")
	echo "$what, $k: ${names[*]}" >&2
	for ((i = 0; i <= runs; i++)); do
		for name in "${names[@]}"; do
			[[ $name != *rust* && $name != theirs || $rust ]] || continue
			setup "$name" "$k"
			n=1
			[[ $name != *rust* && $name != theirs ]] || n=10
			case $what in
			trip) set -- trip $((trips / n)) ;;
			small) set -- stream $((updates / n)) 200 0 ;;
			large) set -- stream $((updates / 5 / n)) 65536 0 ;;
			first) set -- first 5 ;;
			esac
			bounded "$@" "${command[@]}" >>"$out/$name.$what.$k"
			((i > 0)) || : >"$out/$name.$what.$k"
		done
	done
}

# m NAME.WHAT.K [COLUMN]: the median; - where it was not measured.
m() { if [[ -s $out/$1 ]]; then median "$@"; else echo -; fi; }

# row CELL...: of a table.
row() {
	printf '| %s ' "$@"
	echo '|'
}
title() {
	row "$@"
	printf '|---%.0s' "$@"
	echo '|'
}
proxies() { if (($1 == 1)); then echo '1 proxy'; else echo "$1 proxies"; fi; }

# instructions K N COMMAND...: what acp-conduct executes for one more of N messages, told by valgrind.
instructions() {
	local k=$1 n=$2 m=()
	command -v valgrind >/dev/null || { echo -; return; }
	shift 2
	printf '#!/bin/sh\nexec valgrind -q --tool=callgrind --callgrind-out-file=%s acp-conduct "$@"\n' "$PWD/$out/callgrind" >"$out/counted"
	chmod +x "$out/counted"
	setup bare "$k"
	command[0]=$out/counted
	for i in $n $((2 * n)); do
		bounded "$1" "$i" "${@:2}" "${command[@]}" >/dev/null
		m+=("$(awk '/^(summary|totals):/ { print $2; exit }' "$out/callgrind")")
	done
	echo $(((m[1] - m[0]) / n))
}

trip_names=(cats star bare tap filter theirs rust-bare rust-tap rust-theirs)
for k in "${lengths[@]}"; do
	measure trip "$k" "${trip_names[@]}"
	measure small "$k" bare tap rust-bare
	measure large "$k" cats star bare tap rust-bare
done

title 'round trip, us' pipes 'a router without JSON' 'acp-conduct, C' 'with acp-tap' 'acp-tap as `-f`' 'Rust proxies' \
	'Rust conductor, C' 'with acp-tap' 'Rust proxies'
for k in "${lengths[@]}"; do
	cells=()
	for n in "${trip_names[@]}"; do cells+=("$(m "$n.trip.$k")"); done
	row "$(proxies "$k")" "${cells[@]}"
done
echo
title updates 'acp-conduct, C, 200 bytes' 'with acp-tap' 'Rust conductor, C' 'pipes, 64 KiB' 'acp-conduct, C' 'with acp-tap' \
	'Rust conductor, C'
for k in "${lengths[@]}"; do
	row "$(proxies "$k")" "$(m "bare.small.$k")/s" "$(m "tap.small.$k")/s" "$(m "rust-bare.small.$k")/s" \
		"$(m "cats.large.$k" 2) MB/s" "$(m "bare.large.$k" 2) MB/s" "$(m "tap.large.$k" 2) MB/s" "$(m "rust-bare.large.$k" 2) MB/s"
done
echo

# ratios TITLE WANTED A B [COLUMN [FORMAT]]: a row of A as multiples of B.
ratios() {
	local cells=() k
	for k in "${lengths[@]}"; do cells+=("$(share "$(m "$3.$k" "${5:-1}")" "$(m "$4.$k" "${5:-1}")" "${6:-%.2f}")"); done
	row "$1" "$2" "${cells[@]}"
}
titles=()
for k in "${lengths[@]}"; do titles+=("$(proxies "$k")"); done
title ratio wanted "${titles[@]}"
ratios 'round trip, C, beside pipes' '<= 1.3' bare.trip cats.trip
ratios 'the same, beside a router without JSON' '' bare.trip star.trip
ratios 'round trip, C, beside the Rust conductor' '<= 0.65' bare.trip rust-bare.trip
ratios 'the same with acp-tap' '<= 0.65' tap.trip rust-tap.trip
ratios 'acp-tap as `-f`, beside the Rust conductor' '<= 0.35' filter.trip rust-tap.trip
ratios 'updates of 64 KiB, beside pipes' '>= 0.75' bare.large cats.large 2
ratios 'the same, beside a router without JSON' '' bare.large star.large 2
ratios 'updates of 200 bytes, beside the Rust conductor' '>= 25' bare.small rust-bare.small 1 %.1f
ratios 'updates of 64 KiB, beside the Rust conductor' '>= 10' bare.large rust-bare.large 2 %.1f
ratios 'the same of pipes' '' cats.large rust-bare.large 2 %.1f
echo

title growth 'round trip, us a hop' 'instructions a hop' '200-byte updates times hops' 'instructions a hop'
for k in "${growth[@]}"; do
	hops=$((2 * k + 2))
	[[ -s $out/bare.trip.$k ]] || measure trip "$k" bare
	[[ -s $out/bare.small.$k ]] || measure small "$k" bare
	row "$(proxies "$k")" "$(share "$(m "bare.trip.$k")" $hops)" "$(share "$(instructions "$k" 100 trip)" $hops %.0f)" \
		"$(share "$(m "bare.small.$k")" "$(share 2 $hops %.6f)" %.0f)/s" \
		"$(share "$(instructions "$k" 500 stream 200 0)" $((k + 1)) %.0f)"
done
echo

k=${lengths[0]}
setup bare "$k"
echo "$many requests, one after the other" >&2
read -ra few < <(bounded trip 1000 "${command[@]}")
read -ra long < <(bounded trip "$many" "${command[@]}")
echo "Of $many requests one after the other the first tenth took ${long[1]} us each, the last ${long[2]} us;" \
	"memory ${long[3]} KiB (after 1000: ${few[3]} KiB)."
measure trip "$k" bare trace bridge
updates=$((updates * 10)) measure small "$k" bare trace null cats tees bridge
echo "With \`--trace\` a round trip takes $(share "$(m "trace.trip.$k")" "$(m "bare.trip.$k")") times what it takes without" \
	"(wanted: <= 1.2), a stream of updates $(share "$(m "bare.small.$k")" "$(m "trace.small.$k")") times (wanted: <= 1.3)," \
	"$(share "$(m "bare.small.$k")" "$(m "null.small.$k")") times to \`/dev/null\`; pipes of \`cat\` take" \
	"$(share "$(m "cats.small.$k")" "$(m "tees.small.$k")") times as long where \`tee\` writes the same lines to files."
echo "With the acp-mcp that is added a round trip takes $(share "$(m "bridge.trip.$k")" "$(m "bare.trip.$k")") times what it" \
	"takes without, a stream $(share "$(m "bare.small.$k")" "$(m "bridge.small.$k")") times."
measure first "$k" bare tap bridge rust-bare rust-theirs
echo "Start to the first answer, $(proxies "$k"): C $(m "bare.first.$k") ms, acp-tap $(m "tap.first.$k") ms, with acp-mcp" \
	"$(m "bridge.first.$k") ms; the Rust conductor $(m "rust-bare.first.$k") ms, with a Rust proxy $(m "rust-theirs.first.$k") ms" \
	"(wanted: no slower, and <= 3.5)."

# memory NAME PAUSE: the conductor's peak, MiB.
memory() {
	setup "$1" "$k"
	bounded stream "$slow" 200 "$2" "${command[@]}" | awk '{ printf "%.1f", $3 / 1024 }'
}
echo "a slow client" >&2
theirs=
[[ ! $rust ]] || theirs="; the Rust conductor $(memory rust-bare 1000) MiB"
echo "Memory while $slow updates meet a slow client: C $(memory bare 1000) MiB, acp-tap $(memory tap 1000) MiB$theirs."
[[ $rust ]] || echo 'The Rust conductor is not built (tests/interop/run builds it): its figures are missing.'
