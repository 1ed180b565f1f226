#!/usr/bin/env bats
# acp-http with other people's clients and servers: the TypeScript SDK, the Rust SDK, curl, a browser.
# tests/interop/run installs the peers and says where they are ($PEERS).

setup() {
	bats_load_library bats-support
	bats_load_library bats-assert
	[[ -x $B/bin/acp-http ]] || skip 'acp-http was not built: its libraries were missing (scripts/bootstrap)'
	cd "$BATS_TEST_TMPDIR" || return
	cat >agent <<-'END'
		#!/bin/sh
		# Answers a prompt with what it was asked.
		exec jq -c --unbuffered '
			def result($value): {jsonrpc: "2.0", id, result: $value};
			if .method == "initialize" then result({protocolVersion: 1, agentCapabilities: {}})
			elif .method == "session/new" then result({sessionId: "s"})
			elif .method == "session/prompt" then
				{jsonrpc: "2.0", method: "session/update", params: {sessionId: "s",
					update: {sessionUpdate: "agent_message_chunk", content: .params.prompt[0]}}},
				result({stopReason: "end_turn"})
			else empty end'
	END
	chmod +x agent
	cat >requests <<-'END'
		{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}
		{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}
		{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"hello"}]}}
	END
	told='[[1,null,null],[2,"s",null],[null,null,"hello"],[3,null,"end_turn"]]'
}

teardown() {
	local job
	for job in $(jobs -p); do
		kill "$job" 2>/dev/null || true
		wait "$job" || true
	done
	# The browser's other processes write a little longer than itself, and bats fails where it cannot remove all.
	for _ in {1..100}; do
		rm -rf "$BATS_TEST_TMPDIR"/profile-* 2>/dev/null && break
		sleep 0.1
	done
}

# until_in FILE PATTERN
until_in() {
	local end=$((SECONDS + 60))
	until grep -q "$2" "$1" 2>/dev/null; do
		((SECONDS < end)) || fail "waited in vain for $2 in $1"
		sleep 0.05
	done
}

serve() {
	acp-http --listen 0 "$@" -- ./agent 2>server 3>&- &
	until_in server 'listening at'
	PORT=$(sed -n 's,.*listening at http://.*:\([0-9]*\)/.*,\1,p' server)
}

# The conversation in short, of messages in lines.
short() {
	jq -cs '[.[] | [.id, .result.sessionId, (.result.stopReason // .params.update.content.text)]]'
}

rust_peer() {
	PEER=$(cd "$BATS_TEST_DIRNAME/../.." && realpath -m "build/interop/rust/release/$1")
	[[ -x $PEER ]] || skip 'the Rust peers were not built (RUST=1)'
}

# A client that asks one thing after the other.
converse() {
	local line
	{
		while IFS= read -r line; do
			printf '%s\n' "$line"
			until_in out "\"id\":$(jq .id <<<"$line")"
		done <requests
	} | "$@" >out
}

@test "the TypeScript SDK's client talks to an agent after acp-http --listen, by WebSocket and by HTTP" {
	local scheme
	serve
	for scheme in ws http; do
		timeout 60 node "$PEERS/http-client.mjs" "$scheme://127.0.0.1:$PORT/acp" >seen
		assert_equal "$(jq -c '.[]' seen | short)" "$told"
	done
}

@test "acp-http --connect talks to the TypeScript SDK's server, by WebSocket and by HTTP" {
	local scheme
	node "$PEERS/http-server.mjs" >port 3>&- &
	until_in port .
	for scheme in ws http; do
		: >out
		converse timeout 60 acp-http --connect "$scheme://127.0.0.1:$(<port)/acp"
		assert_equal "$(short <out)" "$told"
	done
}

@test "the Rust SDK's client transport talks to an agent after acp-http --listen, by WebSocket and by HTTP" {
	local scheme
	rust_peer http-client
	serve
	for scheme in ws http; do
		: >out
		converse timeout 60 "$PEER" "$scheme://127.0.0.1:$PORT/acp"
		assert_equal "$(short <out)" "$told"
	done
}

@test "acp-http --connect talks to the Rust SDK's server transport, by WebSocket and by HTTP" {
	local scheme
	rust_peer http-server
	"$PEER" ./agent >port 3>&- &
	until_in port .
	for scheme in ws http; do
		: >out
		converse timeout 60 acp-http --connect "$scheme://127.0.0.1:$(<port)/acp"
		assert_equal "$(short <out)" "$told"
	done
}

@test "a page in a browser connects where its origin is listed, and is refused with another" {
	command -v chromium >/dev/null || skip 'chromium is missing (scripts/bootstrap interop)'
	mkdir site
	python3 -u -m http.server -b 127.0.0.1 -d site 0 >site.log 2>&1 3>&- &
	until_in site.log 'Serving HTTP'
	SITE=$(sed -n 's/.* port \([0-9]*\) .*/\1/p' site.log)
	serve --origin "http://127.0.0.1:$SITE"
	cat >site/index.html <<-END
		<!DOCTYPE html><title>page</title><script>
		const socket = new WebSocket("ws://127.0.0.1:$PORT/acp");
		const say = (text) => fetch("/said-" + text);
		socket.onopen = () => socket.send('$(head -n 1 requests)');
		socket.onmessage = (event) => say("version-" + JSON.parse(event.data).result.protocolVersion);
		socket.onerror = () => say("refused");
		</script>
	END
	page() {
		timeout 60 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$PWD/profile-$2" "$1" >/dev/null 2>&1 3>&- &
	}
	page "http://127.0.0.1:$SITE/" allowed
	until_in site.log '/said-version-1'
	page "http://localhost:$SITE/" other
	until_in site.log '/said-refused'
}
