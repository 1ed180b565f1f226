#!/usr/bin/env bats
# acp-tap --grep: messages by their texts.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
	export COLUMNS=110 LC_ALL=C.UTF-8
	printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"needle-id","prompt":[{"type":"text","text":"Look for the NEEDLE"},{"type":"image","mimeType":"image/png","data":"bmVlZGxlneedle"}]}}' \
		'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"needle-id","update":{"sessionUpdate":"tool_call","toolCallId":"needle","title":"Read","kind":"read","status":"needle","rawInput":{"type":"a needle","path":"/x"},"_meta":{"x":"needle in meta"}}}}' \
		'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"needle-id","update":{"sessionUpdate":"tool_call_update","toolCallId":"needle","locations":[{"path":"/home/Needle.c"}]}}}' \
		"$(chunk 'a nee')" "$(chunk 'dl')" "$(chunk 'e, and more')" \
		'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"needle-id","update":{"sessionUpdate":"plan","entries":[]}}}' \
		"$(chunk nee)" \
		'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"needle-id","update":{"sessionUpdate":"plan","entries":[]}}}' \
		"$(chunk dle)" \
		'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no","data":{"type":"the needle broke"}}}' >s.nd
}

chunk() {
	printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"needle-id","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"%s"}}}}' "$1"
}

# found ARG...: the numbers of the lines that are printed.
found() {
	acp-tap -f raw "$@" s.nd | while IFS= read -r line; do grep -nxF -m 1 -- "$line" s.nd | cut -d : -f 1; done | xargs
}

@test "--grep finds prompts, titles, tool input, paths, errors and texts in chunks; no ids, words, images or _meta" {
	assert_equal "$(found --grep needle)" '1 2 3 6 11'
	assert_equal "$(found --grep Read)" 2
	assert_equal "$(found --grep 'a needle, and')" 6
	assert_equal "$(found --grep /home)" 3
	run -1 acp-tap -f raw --grep 'in meta' s.nd
	assert_output 'acp-tap: no message has the text that is looked for'
	run -1 acp-tap --grep image/png s.nd
}

@test "--grep is literal, and ignores case, also beyond ASCII; --grep-regex is a regular expression" {
	assert_equal "$(found --grep NEEDLE)" "$(found --grep needle)"
	run -1 acp-tap --grep 'n.edle' s.nd
	assert_equal "$(found --grep-regex 'N.edle$')" '1 2'
	assert_equal "$(found --grep-regex '^(no|read)$')" '2 11'
	chunk 'Ä[x]*y\n\u00DCber' >u.nd
	run -0 acp-tap -f raw --grep 'ä[X]*y' u.nd
	run -0 acp-tap -f raw --grep über u.nd
	run -0 acp-tap -f raw --grep-regex '^ü' u.nd
	run -1 acp-tap -f raw --grep-regex 'y.ü' u.nd
}

@test "--grep finds what is in the output of a terminal of version 2, also in successive chunks" {
	output() {
		printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"A","update":{"terminalId":"T",%s}}}\n' "$1"
	}
	piece() {
		output '"sessionUpdate":"terminal_output_chunk","data":"'"$(printf "$1" | base64)"'"'
	}
	{
		output '"sessionUpdate":"terminal_update","command":"make","output":{"data":"'"$(printf 'a\377\0 needle\n' | base64)"'"}'
		piece 'a nee' && piece 'dle\377 in'
		piece 'x' | sed 's/"T"/"U"/' && piece ' hay'
		output '"sessionUpdate":"terminal_update","output":{"data":"needle?"}'
		output '"sessionUpdate":"terminal_update","output":{"data":7}'
	} >s.nd
	assert_equal "$(found --grep needle)" '1 3'
	assert_equal "$(found --grep make)" 1
	run -1 acp-tap -f raw --grep 'in hay' s.nd
	run -0 acp-tap --grep-regex 'needle$' s.nd
	assert_output --regexp 'terminal_update .*a.* needle'
}

# bats test_tags=slow
@test "--grep: a timeline shows the text around the hit, in colour, and joins chunks" {
	run -0 acp-tap --grep needle --color always s.nd
	assert_equal "${#lines[@]}" 5
	assert_line --index 3 --partial $'a \e[0;1;31mneedle\e[m, and more'
	assert_line --index 3 --partial '×3'
	run -0 acp-tap --grep Needle.c s.nd
	assert_output --regexp 'tool_call_update .* /home/Needle\.c$'
	chunk "$(printf 'x%.0s' {1..20000}) the needle $(printf 'y%.0s' {1..20000})" >long.nd
	run -0 acp-tap --grep needle long.nd
	assert_output --regexp '…x+ the needle y+…$'
	# The same in pieces: what is kept of the run has the hit.
	for _ in {1..90}; do chunk "$(printf 'é%.0s' {1..100})"; echo; done >many.nd
	{ cat many.nd; chunk ' the nee'; echo; chunk 'dle '; echo; cat many.nd; } >long.nd
	run -0 acp-tap --grep needle long.nd
	assert_output --regexp ' ×182 .*…é+ the needle é+…$'
}

@test "--grep: what was not found ends a run of chunks, as it does where it is printed" {
	run -0 acp-tap --grep-regex 'nee|dle' s.nd
	assert_equal "$(grep -c agent_message_chunk <<<"$output")" 3
}

# bats test_tags=slow
@test "--grep selects in every format, with -m, -c and --redact, and in a stream" {
	run -0 acp-tap -f record --grep /home s.nd
	assert_equal "$(head -n 1 <<<"$output" | jq .selected)" true
	assert_equal "$(sed 1d <<<"$output" | jq -c .msg)" "$(sed -n 3p s.nd)"
	assert_equal "$(found --grep needle -c 2)" '1 2'
	assert_equal "$(found --grep needle -m 'tool_call*')" '2 3'
	acp-tap -f raw --grep needle -o out <s.nd >passed
	cmp s.nd passed
	assert_equal "$(cat out)" "$(sed -n '1,3p;6p;11p' s.nd)"
	acp-tap -f pretty --fold --grep 'needle, and' -o out <s.nd >passed
	assert_equal "$(wc -l <out)" 1
	chunk 'the key is sk-ant-REDACTED0123456789abcdefghijklm here' >key.nd
	run -0 --separate-stderr acp-tap --redact --grep sk-ant key.nd
	refute_output --partial 0123456789
	assert_output --partial 'the key is <redacted> here'
}

@test "-l prints the names of the recordings that have what is selected" {
	cp s.nd 'other one.nd'
	chunk hay >hay.nd
	run -0 acp-tap -l --grep needle s.nd hay.nd 'other one.nd'
	assert_output "s.nd
other one.nd"
	run -0 acp-tap --files -m 'plan' s.nd hay.nd
	assert_output s.nd
	run -1 acp-tap -l --grep needle hay.nd
	assert_output 'acp-tap: no message has the text that is looked for'
	run -2 acp-tap -l s.nd
	run -2 acp-tap -l --grep x
	assert_output 'acp-tap: --files requires recordings'
	run -2 acp-tap -l -f raw --grep x s.nd
}

@test "--grep: what is wrong with a pattern is said" {
	run -2 acp-tap --grep '' s.nd
	assert_output 'acp-tap: --grep : it matches the empty text'
	run -2 acp-tap --grep-regex 'x*' s.nd
	assert_output 'acp-tap: --grep-regex x*: it matches the empty text'
	for pattern in '\<' '\>' '\b' 'needle|\<'; do
		run -2 acp-tap --grep-regex "$pattern" s.nd
		assert_output "acp-tap: --grep-regex $pattern: it matches the empty text"
	done
	assert_equal "$(found --grep-regex '\<needle\>')" '1 2 3 6 11'
	run -2 acp-tap --grep-regex '(' s.nd
	assert_output --partial 'acp-tap: --grep-regex (: '
	run -2 acp-tap --grep a --grep-regex b s.nd
	assert_output 'acp-tap: --grep does not go with --grep-regex'
}

# bats test_tags=slow
@test "--grep: random texts in random chunks, as a model finds them" {
	cat >model.py <<-'END'
		import json, random, sys
		random.seed(sys.argv[1])
		letters = 'abAB\u00e9\u00c9\0\n\\"\U0001f600'
		text = lambda n: ''.join(random.choice(letters) for _ in range(random.randint(0, n)))
		def fold(s): return s.replace('\0', ' ').lower()
		lines, hits, tail, source = [], [], '', None
		needle = ''.join(random.choice('abAB\u00e9\u00c9') for _ in range(random.randint(1, 4)))
		for i in range(200):
		    kind, session, t = random.choice(['agent_message_chunk', 'agent_thought_chunk']), random.choice('s' * 9 + 'r'), text(6)
		    if random.random() < .1:
		        m = {'sessionUpdate': 'tool_call', 'toolCallId': 'abababab', 'kind': 'ab', 'title': t, 'rawInput': {'kind': text(4), 'l': [1, {'x': text(3)}]}}
		        source, strings = None, [t, m['rawInput']['kind'], m['rawInput']['l'][1]['x']]
		        hit = any(fold(needle) in fold(s) for s in strings)
		    else:
		        m = {'sessionUpdate': kind, 'content': {'type': 'text', 'text': t}}
		        if source != (kind, session): tail = ''
		        source, joined = (kind, session), fold(tail + t)
		        n = len(tail)
		        hit = any(joined.startswith(fold(needle), j) and j + len(needle) > n for j in range(len(joined)))
		        tail = tail + t
		    line = json.dumps({'jsonrpc': '2.0', 'method': 'session/update', 'params': {'sessionId': session, 'n': i, 'update': m}}, ensure_ascii=random.random() < .5)
		    lines.append(line)
		    if hit: hits.append(line)
		open('in.nd', 'w').write(''.join(l + '\n' for l in lines))
		open('want', 'w').write(''.join(l + '\n' for l in hits))
		print(needle)
	END
	local round seed=${ACP_SEED:-$RANDOM}
	for ((round = 0; round < ${ACP_ROUNDS:-$(sample 10 100)}; round++)); do
		needle=$(python3 model.py "$((seed + round))")
		acp-tap -f raw --grep "$needle" in.nd >got 2>err || (($? == 1))
		cmp want got || { echo "ACP_SEED=$((seed + round)) needle $needle"; false; }
		acp-tap -f raw --grep-regex "$needle" in.nd 2>err | cmp want
	done
}
