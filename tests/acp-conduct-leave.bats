#!/usr/bin/env bats
# acp-conduct: the client leaves, or the agent does, and somebody is slow or stays. All that was said arrives, everybody ends.
# as long as 30 tests

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load conduct
	lib_setup
	conduct_setup
}

teardown() {
	end_left_over
}

# bats test_tags=slow
@test "a child of the agent in a session of its own that holds its output does not keep the chain alive" {
	for chain in '--record r.rec' '-p acp-tap' '-f acp-tap'; do
		printf '#!/bin/bash\nIFS= read -r line\necho "{\\"jsonrpc\\":\\"2.0\\",\\"id\\":$(jq .id <<<"$line"),\\"result\\":{}}"\nsetsid sleep 1000 <&- 2>&- &\nexit 3\n' >leaver
		chmod +x leaver
		# shellcheck disable=SC2086
		start --grace 200ms --no-mcp $chain -- ./leaver
		begin
		if [[ $chain != -f* ]]; then
			say '{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{}}'
			responds 7 -32603
		fi
		wait_for has_ended "$conduct"
		local status=0
		wait "$conduct" || status=$?
		((status == 3)) || fail "$chain: status $status; $(cat said)"
		exec 9>&-
		end_left_over
	done
}

# thinking: a proxy that waits for the fifo `go` before it forwards the client's last message.
thinking() {
	mkfifo go
	cat >thinking <<-'EOS'
		#!/bin/bash
		while IFS= read -r line; do
			[[ $line != *'"last"'* ]] || read -r _ <go
			printf '%s\n' "$line"
		done | acp-tap -o /dev/null
	EOS
	chmod +x thinking
}

# last MESSAGE: the client sends it and leaves, and the agent gets it, and then the end.
last() {
	say "$1"
	exec 9>&-
	a_while_passes 300ms
	echo >go &
	ends 0
	grep -qF '"last"' agent.log
}

@test "the client's last notification arrives, also where a proxy thinks about it for a moment" {
	thinking
	start --grace 60s --no-mcp -p ./thinking -- ./agent
	begin
	last '{"jsonrpc":"2.0","method":"session/cancel","params":{"last":1}}'
}

# bats test_tags=slow
@test "so does its last response" {
	thinking
	printf '(select(.method == "ask") | {jsonrpc: "2.0", id: "q", method: "question"}), (%s)\n' "$(<agent.jq)" >asking.jq
	mv asking.jq agent.jq
	start --grace 60s --no-mcp -p ./thinking -- ./agent
	begin
	say '{"jsonrpc":"2.0","id":1,"method":"ask"}'
	gets '"question"'
	responds 1 '{"method":"ask","params":null}'
	last "$(jq -c 'select(.method == "question") | {jsonrpc, id, result: {last: 1}}' got)"
}

# bats test_tags=slow
@test "a proxy that closes its output at the end and lives on: what it was asked fails before the client sees the end" {
	start --grace 1s --no-mcp -p 'sed -u /lost/d | acp-tap -o /dev/null; exec sleep 1000 >&-' -- ./agent
	begin
	say '{"jsonrpc":"2.0","id":1,"method":"lost"}'
	ends 0
	responds 1 -32603
}

@test "a chain that fails while a proxy is initialized again ends at once" {
	printf '#!/bin/bash\necho >>lives\n(($(wc -l <lives) == 1)) && exec acp-tap -o /dev/null\nexec cat >/dev/null\n' >proxy
	chmod +x proxy
	start --grace 1000s --init-timeout 1000s --no-mcp -p ./proxy --on-crash fail -u cat -- ./agent
	begin
	kill -KILL "$(pid_of proxy)"
	says 'proxy: died .*restarted'
	kill -SEGV "$(pid_of cat)"
	ends_itself 139
	exec 9>&-
}

# bats test_tags=slow
@test "SIGTERM: one grace period for the whole chain, not one for each component" {
	local filters=()
	for _ in {1..8}; do filters+=(-f 'acp-tap -o /dev/null'); done
	start --grace 2s --record r.rec "${filters[@]}" -- ./agent
	begin
	say '{"jsonrpc":"2.0","id":1,"method":"hang"}'
	reads '"hang"'
	kill -TERM "$conduct"
	# Four grace periods, and a little for a busy machine.
	a_while_passes 8s
	has_ended "$conduct" || fail "$(cat said)"
	ends 0
}

# bats test_tags=slow
@test "SIGTERM: a request that a one-way filter has passed on gets its response, though the filter has ended" {
	cat >late <<-'EOS'
		#!/bin/bash
		respond() { jq -c --arg text "$1" '{jsonrpc, id, result: {text: $text}}'; }
		IFS= read -r line && respond first <<<"$line"
		IFS= read -r line && touch asked
		cat >/dev/null
		respond 'at the end' <<<"$line"
	EOS
	chmod +x late
	for filter in '-d cat' '-u cat' '-d cat -p acp-tap -u cat'; do
		rm -f asked
		# shellcheck disable=SC2086
		start --no-mcp --record r.rec $filter -- ./late
		begin
		say '{"jsonrpc":"2.0","id":7,"method":"x"}'
		wait_for test -e asked
		kill -TERM "$conduct"
		gets '"id":7'
		grep -F '"id":7' got | grep -F 'at the end' || fail "$filter: $(cat got said)"
		ends_itself 0
		exec 9>&-
	done
}

@test "a client that closes only its reading end has left: the agent sees the end of its input" {
	for chain in '-f acp-tap' '-f acp-tap -f acp-tap' '-p acp-tap' '-f acp-tap -p acp-tap'; do
		rm -f client up
		mkfifo client up
		exec 9<>client 8<>up
		# shellcheck disable=SC2086
		acp-conduct -v --grace 1000s --no-mcp $chain -- sh -c './agent; echo over >over; exit 3' <client >up 2>said 8>&- 9>&- &
		conduct=$!
		exec 7<up 8>&-
		say "$init"
		read -r _ <&7
		exec 7<&-
		# Something is on its way up, too.
		say '{"jsonrpc":"2.0","method":"tell","params":{}}'
		wait_for test -e over
		rm over
		ends 3
	done
}

# quitting: an agent that exits with the status that a message `quit` names.
quitting() {
	cat >quitting <<-'EOS'
		#!/bin/bash
		while IFS= read -r line; do
			[[ $line != *'"quit"'* ]] || exit "${line//[^0-9]/}"
			[[ ! $line =~ \"id\":([0-9]+),\"method\":\"initialize\" ]] ||
				echo '{"jsonrpc":"2.0","id":'"${BASH_REMATCH[1]}"',"result":{"protocolVersion":1}}'
		done
	EOS
	chmod +x quitting
}

chains=('-f acp-tap' '-f acp-tap -p acp-tap' '-p acp-tap -f acp-tap' '-d cat -p acp-tap -u cat' '--record r.rec -f acp-tap'
	"-p 'acp-conduct --grace 1000s -p acp-tap' -p acp-tap")

# in_chain CHAIN ARGUMENT...: that chain with acp-share at its head, begun, where no grace period ends.
in_chain() {
	export XDG_RUNTIME_DIR=$PWD/run
	mkdir -p run
	rm -f r.rec
	eval "start --grace 1000s --no-mcp --control auto $1 \"\${@:2}\""
	begin
	says '^acp-conduct: acp-share: pid '
}

nothing_stays() {
	exec 9>&-
	wait_for nobody_left
	run find run ! -type d
	assert_output ''
}

# bats test_tags=slow
@test "the agent ends while the client stays: nobody waits for a grace period, nobody is started again, and no socket stays" {
	quitting
	for chain in "${chains[@]}"; do
		in_chain "$chain" -- ./quitting
		say '{"method":"quit","params":{"status":3}}'
		ends_itself 3
		run ! grep -E 'restarted|stopped' said
		nothing_stays
	done
}

# bats test_tags=slow
@test "SIGTERM, while the client stays: the same" {
	for chain in "${chains[@]}"; do
		in_chain "$chain" -- ./agent
		kill -TERM "$conduct"
		ends_itself 0
		run ! grep -E 'restarted|within the grace period' said
		nothing_stays
	done
}

# bats test_tags=slow
@test "a filter or proxy dies and ends the chain: no socket stays" {
	for chain in '-f acp-tap' '-f acp-tap -p acp-tap' '--record r.rec -f acp-tap'; do
		in_chain "--on-crash fail $chain" -- ./agent
		kill -KILL "$(pid_of acp-tap)"
		# Where acp-conduct does not read, the dead filter's neighbours see the end when the client leaves.
		[[ $chain != '-f acp-tap' ]] || exec 9>&-
		ends_itself 137
		nothing_stays
	done
}

# bats test_tags=slow
@test "a filter that was started again does not hold up the end" {
	quitting
	for chain in '' '--record r.rec' '-p acp-tap'; do
		# shellcheck disable=SC2086
		start --grace 1000s --no-mcp $chain -f 'acp-tap -o first.rec' -f 'acp-tap -o second.rec' -- ./quitting
		begin
		kill -KILL "$(sed -n 's/.*: pid \([0-9]*\), filter: .*second.rec$/\1/p' said)"
		says 'acp-tap.*: died .*restart'
		say '{"method":"quit","params":{"status":0}}'
		ends_itself 0
		exec 9>&-
		rm -f ./*.rec
	done
}

@test "the agent ends while the client goes on sending: the chain ends" {
	quitting
	start --grace 1000s --no-mcp -d cat -p acp-tap -- ./quitting
	begin
	say '{"method":"quit","params":{"status":4}}'
	while ! has_ended "$conduct"; do
		# A notification, as long as somebody reads.
		printf '%s\n' '{"jsonrpc":"2.0","method":"on"}' >&9
	done
	ends_itself 4
	exec 9>&-
}

# bats test_tags=slow
@test "a second signal ends a chain that is full of messages which nobody reads, and its memory is small" {
	start --no-mcp --grace 1000s -f acp-tap -f acp-tap -p acp-tap -f acp-tap -f acp-tap -- sh -c 'read -r _; echo "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"; exec sleep 1000'
	begin
	yes '{"jsonrpc":"2.0","method":"note","params":{"text":"0123456789012345678901234567890123456789"}}' >&9 2>/dev/null &
	writer=$!
	bytes() { sed -n 's/^wchar: //p' "/proc/$writer/io" 2>/dev/null; }
	full() { local before; before=$(bytes); a_while_passes 300ms; [[ $(bytes) == "$before" ]]; }
	[[ ! -r /proc/self/io ]] || wait_for full
	kill -TERM "$conduct"
	peak=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$conduct/status" 2>/dev/null || echo 0)
	# Signals that are sent while the first is not taken yet are one with it.
	until has_ended "$conduct"; do
		kill -TERM "$conduct" 2>/dev/null || break
		a_while_passes 100ms
	done
	kill "$writer"
	ends_itself 143
	exec 9>&-
	[[ $B == */san ]] || ((peak < 64 * 1024)) || fail "$peak KiB"
}
