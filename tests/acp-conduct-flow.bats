#!/usr/bin/env bats
# acp-conduct: full pipes. No pattern of them may deadlock, and no queue may grow with the length of the stream.
# as long as 30 tests

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load conduct
	lib_setup
	conduct_setup
	tap='acp-tap -o /dev/null'
}

teardown() {
	end_left_over
}

# numbered METHOD COUNT: so many notifications of 1000 bytes.
numbered() {
	awk -v m="$1" -v n="$2" 'BEGIN { x = sprintf("%1000s", ""); gsub(/ /, "x", x)
		for (i = 0; i < n; i++) printf "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":{\"i\":%d,\"x\":\"%s\"}}\n", m, i, x }'
}

# An agent that sends COUNT notifications while it reads, into the file down.
flooding_agent() {
	export -f numbered
	cat >flood <<-'EOS'
		#!/bin/bash
		IFS= read -r line
		echo '{"jsonrpc":"2.0","id":1,"result":{}}'
		numbered up "$1" &
		cat >down
		wait
	EOS
	chmod +x flood
	: >down
}

# in_order FILE METHOD COUNT: the file has just these notifications, in order.
in_order() {
	cmp <(jq --arg m "$2" 'select(.method == $m).params.i' "$1") <(seq 0 $(($3 - 1)))
}

# both_busy COMPONENT...: the client and the agent both send much more than the pipes hold, at once.
both_busy() {
	local n=6000
	flooding_agent
	start --no-mcp "$@" -- ./flood $n
	begin
	numbered down $n >&9 &
	moves got $((n + 1))
	moves down $n
	in_order got up $n
	in_order down down $n
	ends 0
}

# bats test_tags=slow
@test "three proxies, both directions busy: everything arrives, in order" {
	both_busy -p "$tap" -p "$tap" -p "$tap"
}

# bats test_tags=slow
@test "five proxies and filters between them, both directions busy: everything arrives, in order" {
	both_busy -p "$tap" -f "$tap" -p "$tap" -p "$tap" -u cat -p "$tap" -p "$tap"
}

# bats test_tags=slow
@test "a proxy within a chain that is itself a proxy, both directions busy: everything arrives, in order" {
	both_busy -p "acp-conduct -p '$tap' -p '$tap'" -p "$tap"
}

# taken PID: the bytes that it could write so far.
taken() {
	awk '/wchar/ { print $2 }' "/proc/$1/io"
}

# is_blocked PID: it has been waiting for room in a pipe for a second.
is_blocked() {
	local looks last='' now
	for ((looks = 0; looks < 20; looks++)); do
		now=$(taken "$1") || return
		[[ -z $last || $now == "$last" ]] || return
		[[ $(<"/proc/$1/wchan") == *pipe_write ]] || return
		last=$now
		sleep 0.05
	done
}

blocked_or_ended() { is_blocked "$1" || has_ended "$1"; }

# What reads nothing after it has initialized, as an agent and as a proxy.
deaf() {
	printf '#!/bin/sh\nIFS= read -r line\necho '\''{"jsonrpc":"2.0","id":1,"result":{}}'\''\nexec sleep 1000\n' >deaf
	chmod +x deaf
}

# not_read COMPONENT...: the agent does not read, the client sends 32 MB: all but a little has to wait.
not_read() {
	deaf
	numbered down 32000 >much
	start --grace 100ms --no-mcp "$@" -- ./deaf
	begin
	dd if=much bs=64K 2>/dev/null >&9 &
	wait_for blocked_or_ended $!
	! has_ended $! || fail "all was taken"
	(($(taken $!) < 8000000)) || fail "$(taken $!) bytes were taken"
	kill $!
	ends 0
}

# bats test_tags=slow
@test "an agent that does not read: the client waits, although there is a proxy" {
	not_read -p "$tap"
}

# bats test_tags=slow
@test "an agent that does not read: the client waits, although there are proxies and filters" {
	not_read -f "$tap" -p "$tap" -f "$tap" -p "$tap"
}

# A proxy that sends the file `much` up, or down, when it reads the method of that name.
pouring_proxy() {
	cat >pour <<-'EOS'
		#!/bin/bash
		IFS= read -r question
		id=$(jq -c .id <<<"$question")
		echo '{"jsonrpc":"2.0","id":"i","method":"_proxy/successor","params":{"method":"initialize","params":{}}}'
		IFS= read -r line
		printf '{"jsonrpc":"2.0","id":%s,"result":{}}\n' "$id"
		while IFS= read -r line; do
			case $line in
			*'"method":"up"'*) exec dd if=much bs=64K 2>/dev/null ;;
			*'"method":"down"'*) sed 's/^/{"jsonrpc":"2.0","method":"_proxy\/successor","params":/; s/$/}/' much ;;
			esac
		done
	EOS
	chmod +x pour
}

# The resident memory of acp-conduct, at most so far, in KiB.
peak() {
	awk '/VmHWM/ { print $2 }' "/proc/$conduct/status"
}

# bats test_tags=slow
@test "a proxy that sends far more than it reads waits for a client that does not read" {
	pouring_proxy
	numbered session/update 200000 >much
	mkfifo client up
	exec 9<>client 8<>up
	acp-conduct -v --grace 100ms --no-mcp -p ./pour -- ./agent <client >up 2>said 8>&- 9>&- &
	conduct=$!
	say "$init"
	read -r _ <&8
	say '{"jsonrpc":"2.0","method":"up"}'
	pour=$(pid_of pour)
	wait_for grep -q dd "/proc/$pour/comm"
	wait_for blocked_or_ended "$pour"
	! has_ended "$pour" || fail "all was taken"
	[[ $B == */san ]] || (($(peak) < 180000)) || fail "$(peak) KiB"
	kill -KILL "$conduct"
	exec 8>&- 9>&-
	wait_for nobody_left
}

# bats test_tags=slow
@test "a proxy that does not read what another proxy sends has failed, before the memory is full" {
	pouring_proxy
	jq -nc '{method: "x", params: {x: ("x" * 1000000)}}' >one
	for _ in {1..400}; do cat one; done >much
	cat >deaf <<-'EOS'
		#!/bin/bash
		IFS= read -r question
		printf '{"jsonrpc":"2.0","id":%s,"result":{}}\n' "$(jq -c .id <<<"$question")"
		exec sleep 1000
	EOS
	chmod +x deaf
	start --grace 100ms --on-crash fail --no-mcp -p ./pour -p ./deaf -- ./agent
	begin
	say '{"jsonrpc":"2.0","method":"down"}'
	says '^acp-conduct: deaf: .*does not read'
	[[ $B == */san ]] || (($(peak) < 300000)) || fail "$(peak) KiB"
	exec 9>&-
	wait "$conduct" || true
	wait_for nobody_left
}
