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

has_ended() { ! kill -0 "$1" 2>/dev/null; }

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
	a_while_passes 3s
	echo >go &
	ends 0
	grep -qF '"last"' agent.log
}

@test "the client's last notification arrives, however long a proxy thinks about it within the grace period" {
	thinking
	start --grace 60s --no-mcp -p ./thinking -- ./agent
	begin
	last '{"jsonrpc":"2.0","method":"session/cancel","params":{"last":1}}'
}

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
