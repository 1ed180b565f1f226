#!/bin/sh
# The scanner beside simdjson (libsimdjson-dev), in one run on one core.
set -eu

cd "$(dirname "$0")/../.."
B=${B:-build}
out=$B/bench
mkdir -p "$out"
make -s B="$B" "$B/libacp.a"
${CXX:-c++} -std=c++17 -O2 -c -o "$out/simdjson.o" tests/bench/simdjson.cpp
${CC:-cc} -std=c11 -O2 -Wall -Wextra -D_GNU_SOURCE -I. -c -o "$out/scan.o" tests/bench/scan.c
${CXX:-c++} -o "$out/scan" "$out/scan.o" "$out/simdjson.o" "$B/libacp.a" -lsimdjson
exec "$out/scan" tests/fixtures/*.jsonl lib/*/*.c lib/*/*.h
