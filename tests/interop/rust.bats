#!/usr/bin/env bats
# The Rust conductor and Rust proxies, both ways round (tests/interop/run builds them where cargo is).

bats_require_minimum_version 1.5.0

setup() {
	bats_load_library bats-support
	bats_load_library bats-assert
	RUST=$PWD/build/interop/rust/release
	[[ -x $RUST/conductor && -x $RUST/rust-proxy ]] || skip 'the Rust peers are not built (cargo is needed)'
	PATH=$RUST:$PATH
	cd "$BATS_TEST_TMPDIR" || return
	cat >agent.jq <<-'EOF'
		if .method == "initialize" then {jsonrpc: "2.0", id: .id, result: {protocolVersion: 1, agentCapabilities: {}}}
		elif has("id") then {jsonrpc: "2.0", id: .id, result: {got: .method}} else empty end
	EOF
	agent='jq -c --unbuffered -f agent.jq'
	mkfifo down
}

# conversation COMMAND...: two requests, the second when the first is answered; then the answers.
conversation() {
	local up
	exec 9< <(exec "$@" <down 2>err)
	exec 8>down
	echo '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}' >&8
	read -r up <&9
	echo "$up" | jq -c '[.id, .result.protocolVersion]'
	echo '{"jsonrpc":"2.0","id":"two","method":"_a/b","params":{}}' >&8
	read -r up <&9
	echo "$up" | jq -c '[.id, .result.got]'
	exec 8>&- 9<&-
}

@test "Rust proxies under acp-conduct, between ours" {
	run conversation acp-conduct -p rust-proxy -p acp-tap -p rust-proxy -- $agent
	assert_output $'[1,1]\n["two","_a/b"]'
}

@test "our filters as proxies of the Rust conductor" {
	run conversation conductor agent 'acp-tap -o a.rec' rust-proxy "$agent"
	assert_output $'[1,1]\n["two","_a/b"]'
	grep -q '"_a/b"' a.rec
}

@test "our filters, usage and tap, around Rust proxies of the Rust conductor, and acp-conduct inside with both" {
	run conversation conductor agent 'acp-usage -o u.log' rust-proxy "acp-conduct -f 'acp-tap -o b.rec' -p 'acp-tap -o c.rec'" "$agent"
	assert_output $'[1,1]\n["two","_a/b"]'
	grep -q '"_a/b"' b.rec
	grep -q '"_a/b"' c.rec
}

@test "the Rust conductor as a proxy in ours" {
	run conversation acp-conduct -p 'conductor proxy rust-proxy acp-tap' -- $agent
	assert_output $'[1,1]\n["two","_a/b"]'
}

@test "ours as a proxy in the Rust conductor" {
	run conversation conductor agent "acp-conduct -p rust-proxy -p acp-tap" "$agent"
	assert_output $'[1,1]\n["two","_a/b"]'
}

@test "ours as the Rust conductor's agent, and the other way round: acp-mcp speaks for the agent" {
	run conversation conductor agent 'acp-tap -o a.rec' rust-proxy "acp-conduct -p rust-proxy -- $agent"
	assert_output $'[1,1]\n["two","_a/b"]'
	jq -se 'any(.msg.result?.agentCapabilities.mcpCapabilities.acp)' a.rec
	run conversation acp-conduct -p 'acp-tap -o b.rec' -- conductor agent rust-proxy "$agent"
	assert_output $'[1,1]\n["two","_a/b"]'
	jq -se 'any(.msg.result?.agentCapabilities.mcpCapabilities.acp)' b.rec
}
