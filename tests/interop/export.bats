#!/usr/bin/env bats
# Pages of acp-export in a browser, and its Markdown in a renderer.

bats_require_minimum_version 1.5.0

setup() {
	load ../lib
	lib_setup
	MODEL=$TOP/tests/model/export.py
}

teardown() {
	end_left_over
}

# browse PAGE: its document after it was loaded, in dom, and what the console says, in log.
browse() {
	timeout 120 chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
		--disable-component-update --disable-sync --user-data-dir="$BATS_TEST_TMPDIR/profile" --enable-logging=stderr \
		--virtual-time-budget=5000 --dump-dom "file://$PWD/$1" >dom 2>log 3>&-
}

# Nothing on the console, a violation of the policy least of all.
silent() {
	run ! grep CONSOLE log
}

@test "a page has no violation of its policy and nothing on the console" {
	for file in "$FIXTURES"/*.jsonl "$FIXTURES"/agents/*.jsonl; do
		acp-export -o page.html "$file"
		browse page.html
		silent
		grep -q '</article>' dom
		# Its style holds: the browser asks nobody for leave.
		grep -q '<section class="turn"' dom
	done
}

@test "a browser that runs scripts and loads images runs and loads none of a hostile session" {
	for seed in 1 2 3 4 5 6; do
		python3 "$MODEL" --seed $seed --write >s.rec
		acp-export s.rec >page.html
		browse page.html
		silent
	done
}

@test "the console does tell of a violation: a changed style, a script" {
	acp-export "$FIXTURES/demo.rec" >page.html
	sed 's/margin:0;/margin:1px;/' page.html >style.html
	browse style.html
	grep -q 'CONSOLE.*style' log
	sed 's|<main>|<main><script>document.title = 1</script>|' page.html >script.html
	browse script.html
	grep -q 'CONSOLE.*script' log
}

@test "a page of 1,000 turns opens, with all of them, on a phone and on a desk, light and dark" {
	for ((i = 1; i <= 1000; i++)); do
		printf '{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"prompt %d"}]}}\n' $i $i
		printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c%d","title":"Edit","status":"completed","content":[{"type":"diff","path":"/a","oldText":"a\\nb","newText":"a\\nc"}]}}}\n' $i
		printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"answer **%d**"}}}}\n' $i
		printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"usage_update","used":%d,"size":200000}}}\n' $((i * 150))
		printf '{"jsonrpc":"2.0","id":%d,"result":{"stopReason":"end_turn"}}\n' $i
	done >s.nd
	acp-export -o page.html s.nd
	browse page.html
	silent
	[ "$(grep -c '<section class="turn"' dom)" -eq 1000 ]
	grep -q 'prompt 1000' dom
	for look in '400,800 1' '1200,800 0'; do
		timeout 120 chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
			--disable-component-update --disable-sync --user-data-dir="$BATS_TEST_TMPDIR/profile" --window-size="${look% *}" \
			--blink-settings=preferredColorScheme="${look#* }" --screenshot="$PWD/shot-${look#* }.png" "file://$PWD/page.html" 3>&-
	done
	[ -s shot-0.png ]
	[ -s shot-1.png ]
	run ! cmp -s shot-0.png shot-1.png
}

@test "the Markdown form lets no content through as HTML, and loses none" {
	run -0 python3 "$MODEL" --markdown --count "${ACP_ROUNDS:-200}"
}
