#!/usr/bin/env bash
# Chains of proxies under acp-conduct, beside bare pipes and beside the Rust conductor (where tests/interop/run has built
# it), in turn in one run, as medians.
# BENCH_CHAIN: how many proxies (default "1 4 16"); BENCH_RUNS: how often (default 5); BENCH_CHAIN_TRIPS: requests
# (default 1000); BENCH_CHAIN_UPDATES: of 200 bytes (default 50000); BENCH_SLOW_UPDATES: for a slow client (default 300000).
# shellcheck disable=SC2086 # numbers, and names that are to be split
set -euo pipefail
cd "$(dirname "$0")/../.."
B=${B:-build}
read -ra lengths <<<"${BENCH_CHAIN:-1 4 16}"
runs=${BENCH_RUNS:-5} trips=${BENCH_CHAIN_TRIPS:-1000} updates=${BENCH_CHAIN_UPDATES:-50000} slow=${BENCH_SLOW_UPDATES:-300000}
out=$B/bench/chain.d
mkdir -p "$out"
trap 'rm -rf "$out"' EXIT
make -s "$B/bench/chain"
PATH=$PWD/$B/bin:$PWD/$B/bench:$PWD/build/interop/rust/release:$PATH
rust=
command -v conductor >/dev/null && command -v rust-proxy >/dev/null && rust=1

# Once one of these has hung it would do so for ever.
bounded() { timeout 300 chain "$@" 2>"$out/err" || { echo "chain $*: failed" >&2; head -n 5 "$out/err" >&2; exit 1; }; }

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

# Routing is measured without the acp-mcp that acp-conduct adds, the bridge: what that costs has a row of its own.
# setup NAME K: the command of a chain of K proxies, in `command`.
setup() {
	local k=$2 cats
	command=()
	case $1 in
	cats)
		repeat $((2 * k + 1)) cat '|'
		cats="${words[*]} chain agent"
		repeat $((2 * k + 1)) '|' cat
		command=(sh -c "$cats ${words[*]}")
		;;
	star) command=(chain star "$k") ;;
	bare) repeat "$k" -p 'chain proxy' && command=(acp-conduct --no-mcp "${words[@]}" -- chain agent) ;;
	bridge) repeat "$k" -p 'chain proxy' && command=(acp-conduct "${words[@]}" -- chain agent) ;;
	trace) repeat "$k" -p 'chain proxy' && command=(acp-conduct --no-mcp --trace "$out/trace.jsons" "${words[@]}" -- chain agent) ;;
	tap) repeat "$k" -p 'acp-tap -o /dev/null' && command=(acp-conduct --no-mcp "${words[@]}" -- chain agent) ;;
	filter) repeat "$k" -f 'acp-tap -o /dev/null' && command=(acp-conduct "${words[@]}" -- chain agent) ;;
	theirs) repeat "$k" -p rust-proxy && command=(acp-conduct --no-mcp "${words[@]}" -- chain agent) ;;
	rust-bare) repeat "$k" 'chain proxy' && command=(conductor agent "${words[@]}" 'chain agent') ;;
	rust-tap) repeat "$k" 'acp-tap -o /dev/null' && command=(conductor agent "${words[@]}" 'chain agent') ;;
	rust-theirs) repeat "$k" rust-proxy && command=(conductor agent "${words[@]}" 'chain agent') ;;
	esac
}

# measure WHAT K NAME...: runs each in turn, again and again; what they print is in NAME.WHAT.K. The first warms up.
measure() {
	local what=$1 k=$2 name i n
	shift 2
	for ((i = 0; i <= runs; i++)); do
		for name; do
			[[ $name != *rust* && $name != theirs || $rust ]] || continue
			setup "$name" "$k"
			n=1
			[[ $name != *rust* && $name != theirs ]] || n=10
			case $what in
			trip) set -- trip "$trips" ;;
			small) set -- stream $((updates / n)) 200 0 ;;
			large) set -- stream $((updates / 25 / n)) 65536 0 ;;
			first) set -- first 5 ;;
			esac
			bounded "$@" "${command[@]}" >>"$out/$name.$what.$k"
			((i > 0)) || : >"$out/$name.$what.$k"
		done
		set -- $names
	done
}

names='cats star bare tap filter theirs rust-bare rust-tap rust-theirs'
printf '%-24s' "ROUND TRIP, us"
printf ' %9s' 'bare hops' 'no JSON' C acp-tap '-f' Rust
printf '   %s\n' 'the Rust conductor: C, acp-tap, Rust'
for k in "${lengths[@]}"; do
	measure trip "$k" $names
	printf '%-24s' "$k proxies"
	for n in $names; do printf ' %9s' "$([[ -s $out/$n.trip.$k ]] && median "$n.trip.$k" || echo -)"; done
	echo
done
m() { if [[ -s $out/$1 ]]; then median "$@"; else echo -; fi; }
for k in "${lengths[@]}"; do
	printf '%-24s beside bare hops %s (wanted: <= 1.3), without JSON %s; beside Rust: C %s, acp-tap %s (<= 0.65), -f %s (<= 0.35)\n' \
		"$k proxies" "$(share "$(m bare.trip.$k)" "$(m cats.trip.$k)")" "$(share "$(m bare.trip.$k)" "$(m star.trip.$k)")" \
		"$(share "$(m bare.trip.$k)" "$(m rust-bare.trip.$k)")" "$(share "$(m tap.trip.$k)" "$(m rust-tap.trip.$k)")" \
		"$(share "$(m filter.trip.$k)" "$(m rust-tap.trip.$k)")"
	printf '%-24s last tenth of the requests beside the first: %s\n' '' "$(share "$(m bare.trip.$k 3)" "$(m bare.trip.$k 2)")"
done

for what in small large; do
	names='bare tap rust-bare'
	[[ $what == small ]] && printf '\n%-24s' 'UPDATES of 200 bytes, /s' || printf '\n%-24s' 'UPDATES of 64 KiB, MB/s'
	printf ' %9s' C acp-tap Rust ratio
	echo
	[[ $what == small ]] && column=1 || column=2
	for k in "${lengths[@]}"; do
			measure $what "$k" $names
		printf '%-24s %9s %9s %9s %9s  (wanted: >= %s)\n' "$k proxies" "$(m bare.$what.$k $column)" "$(m tap.$what.$k $column)" \
			"$(m rust-bare.$what.$k $column)" "$(share "$(m bare.$what.$k $column)" "$(m rust-bare.$what.$k $column)" %.1f)" \
			"$([[ $what == small ]] && echo 25 || echo 10)"
	done
done

k=${lengths[0]}
names='bare trace bridge'
measure trip "$k" $names
measure small "$k" $names
echo
printf '%-44s round trip %s, a stream %s\n' "the acp-mcp that is added: the time beside that without" \
	"$(share "$(m bridge.trip.$k)" "$(m bare.trip.$k)")" "$(share "$(m bare.small.$k)" "$(m bridge.small.$k)")"
printf '%-44s round trip %s (wanted: <= 1.2), a stream %s\n' "--trace, the time beside that without" \
	"$(share "$(m trace.trip.$k)" "$(m bare.trip.$k)")" "$(share "$(m bare.small.$k)" "$(m trace.small.$k)")"
names='bare tap bridge rust-bare rust-theirs'
measure first "$k" $names
printf '%-44s C %s, acp-tap %s, with acp-mcp %s, Rust conductor: C %s, its own %s (wanted: <= 3.5)\n' "start to the first answer, $k proxy, ms" \
	"$(m bare.first.$k)" "$(m tap.first.$k)" "$(m bridge.first.$k)" "$(m rust-bare.first.$k)" "$(m rust-theirs.first.$k)"

# memory NAME PAUSE: the conductor's peak, MiB.
memory() {
	setup "$1" "$k"
	bounded stream "$slow" 200 "$2" "${command[@]}" | awk '{ printf "%.1f", $3 / 1024 }'
}
printf '%-44s C %s, acp-tap %s%s\n' "memory, $slow updates to a slow client, MiB" "$(memory bare 1000)" "$(memory tap 1000)" \
	"${rust:+, Rust conductor $(memory rust-bare 1000)}"
[[ $rust ]] || echo 'The Rust conductor is not built (tests/interop/run builds it): its figures are missing.'
