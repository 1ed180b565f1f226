#!/usr/bin/env bats
# acp-export: the Markdown that agents write, on a page and in the Markdown form. ACP_ROUNDS says how many random ones.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
}

teardown() {
	end_left_over
}

# agent TEXT: a session in which the agent says it, in s.nd.
agent() {
	local text=${1//\\/\\\\}
	text=${text//\"/\\\"}
	printf '{"jsonrpc":"2.0",%s}\n' '"id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"go"}]}' \
	    '"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"${text//$'\n'/\\n}"'"}}}' \
	    '"id":1,"result":{"stopReason":"end_turn"}' >s.nd
}

# shown TEXT: what the page has of it.
shown() {
	agent "$1"
	acp-export s.nd | sed -n '/^<div class="agent">$/,/^<footer/p' | sed '1d;$d' | sed '$s,</div>$,,' | sed '/^$/d'
}

@test "Markdown names the type and the size of an image" {
	agent x
	sed -i 's|{"type":"text","text":"x"}|{"type":"image","mimeType":"image/png","data":"aGVsbG8gd29ybGQh"}|' s.nd
	run -0 acp-export -f markdown s.nd
	assert_line '\[image/png, 12 bytes\]'
}

# becomes TEXT HTML
becomes() {
	assert_equal "$(shown "$1")" "$2"
}

# is_markdown TEXT MARKDOWN: the Markdown form has it so.
is_markdown() {
	agent "$1"
	assert_equal "$(acp-export -f markdown s.nd | sed -n '/^> go$/,/^\*end/p' | sed '1,2d;$d')" "$2"
}

@test "the names of MCP tools keep their underscores, in texts and in titles" {
	becomes 'I call mcp__everything__echo now.' '<p>I call mcp__everything__echo now.</p>'
	is_markdown 'I call mcp__everything__echo now.' 'I call mcp\_\_everything\_\_echo now.'
	becomes 'snake_case_name and __init__.py' '<p>snake_case_name and <strong>init</strong>.py</p>'
	echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"mcp__everything__echo"}}}' >s.nd
	acp-export s.nd | grep -qF '<span class="title">mcp__everything__echo</span>'
}

# bats test_tags=slow
@test "runs of delimiters are read as CommonMark says, rule by rule" {
	becomes '*foo bar*' '<p><em>foo bar</em></p>'
	becomes 'a * foo bar*' '<p>a * foo bar*</p>'
	becomes 'a*"foo"*' '<p>a*&quot;foo&quot;*</p>'
	becomes 'foo*bar*' '<p>foo<em>bar</em></p>'
	becomes '_foo bar_' '<p><em>foo bar</em></p>'
	becomes 'foo_bar_' '<p>foo_bar_</p>'
	becomes 'aa_"bb"_cc' '<p>aa_&quot;bb&quot;_cc</p>'
	becomes 'foo-_(bar)_' '<p>foo-<em>(bar)</em></p>'
	becomes '_foo*' '<p>_foo*</p>'
	becomes '*foo bar *' '<p>*foo bar *</p>'
	becomes '*(*foo*)*' '<p><em>(<em>foo</em>)</em></p>'
	becomes '_foo_bar' '<p>_foo_bar</p>'
	becomes '_(bar)_.' '<p><em>(bar)</em>.</p>'
	becomes '**foo bar**' '<p><strong>foo bar</strong></p>'
	becomes '** foo bar**' '<p>** foo bar**</p>'
	becomes 'foo__bar__' '<p>foo__bar__</p>'
	becomes '__foo, __bar__, baz__' '<p><strong>foo, <strong>bar</strong>, baz</strong></p>'
	becomes '**foo "*bar*" foo**' '<p><strong>foo &quot;<em>bar</em>&quot; foo</strong></p>'
	becomes '__foo__bar__baz__' '<p><strong>foo__bar__baz</strong></p>'
	becomes '*foo **bar** baz*' '<p><em>foo <strong>bar</strong> baz</em></p>'
	becomes '*foo**bar**baz*' '<p><em>foo<strong>bar</strong>baz</em></p>'
	becomes '*foo**bar*' '<p><em>foo**bar</em></p>'
	becomes '***foo** bar*' '<p><em><strong>foo</strong> bar</em></p>'
	becomes 'foo***bar***baz' '<p>foo<em><strong>bar</strong></em>baz</p>'
	becomes 'foo ***' '<p>foo ***</p>'
	becomes 'foo *\**' '<p>foo <em>*</em></p>'
	becomes '**foo*' '<p>*<em>foo</em></p>'
	becomes '*foo****' '<p><em>foo</em>***</p>'
	becomes '******foo******' '<p><strong><strong><strong>foo</strong></strong></strong></p>'
	becomes '*foo _bar* baz_' '<p><em>foo _bar</em> baz_</p>'
	becomes '*foo `*`' '<p>*foo <code>*</code></p>'
}

@test "escapes, entities, code, and a table with bars and code in its cells" {
	becomes '\*not\* \_that\_ \# 1\. \`x\`' '<p>*not* _that_ # 1. `x`</p>'
	is_markdown '\*not\*' '\*not\*'
	becomes '&lt;b&gt; &#35; &copy;' '<p>&lt;b&gt; # &amp;copy;</p>'
	becomes '`` a`b `` <b>' '<p><code>a`b</code> &lt;b&gt;</p>'
	becomes $'| a | b |\n|---|---|\n| *c* | d \\| e |\n| `f \\| g` |' '<div class="table"><table>
<tr><td>a</td><td>b</td></tr>
<tr><td><em>c</em></td><td>d | e</td></tr>
<tr><td><code>f | g</code></td><td></td></tr>
</table></div>'
	becomes $'| a |\n|---|\n| \\| |' '<div class="table"><table>
<tr><td>a</td></tr>
<tr><td>|</td></tr>
</table></div>'
	is_markdown $'| a | b |\n|---|---|\n| *c* | d \\| e |\n| `f \\| g` |' '| a | b |
| --- | --- |
| *c* | d \| e |
| `f \| g` |  |'
}

@test "nothing is lost that Markdown leaves out: cells without a column, definitions, titles, words after a fence, addresses" {
	becomes $'| a |\n|---|\n| b | c | d |' '<div class="table"><table>
<tr><td>a</td></tr>
<tr><td>b | c | d</td></tr>
</table></div>'
	becomes '[r]: http://example.org/ "title"' '<p>[r]: <a rel="noopener noreferrer nofollow" href="http://example.org/">http://example.org/</a> &quot;title&quot;</p>'
	becomes '[x](javascript:y "t")' '<p>x (javascript:y) &quot;t&quot;</p>'
	becomes '![pic](http://example.org/p.png)' '<p><a rel="noopener noreferrer nofollow" href="http://example.org/p.png">pic</a></p>'
	becomes $'``` sh and more\nls\n```' $'<p>sh and more</p>\n<pre><code>ls\n</code></pre>'
	becomes $'```\n| a |\n|---|\n| b | c |\n[r]: x\n```' $'<pre><code>| a |\n|---|\n| b | c |\n[r]: x\n</code></pre>'
}

@test "lists and quotes nest, in both forms; numbers are kept" {
	becomes $'3. a\n   - b\n\n     c\n4. d\n> e\n> > f' '<ol start="3">
<li>a<ul>
<li><p>b</p>
<p>c</p>
</li>
</ul>
</li>
<li>d</li>
</ol>
<blockquote><p>e</p>
<blockquote><p>f</p>
</blockquote>
</blockquote>'
	agent $'9. a\n10. b\n    > c\n    > - d\n11. e'
	acp-export -f markdown s.nd | sed -n '/^> go$/,/^\*end/p' >form
	grep -x '9\. a' form
	grep -x '10\. b' form
	grep -x '    > c' form
	grep -x '    > - d' form
	grep -x '11\. e' form
	# Sixteen levels are shown as such; what is deeper is text, and all of it is there.
	run shown "$(printf '> %.0s' {1..40})deep"
	assert_output --partial deep
	[ "$(grep -o '<blockquote>' <<<"$output" | wc -l)" -eq 16 ]
}

@test "a quote in what the user sends does not end the user's quote" {
	jq -nc '{jsonrpc: "2.0", id: 1, method: "session/prompt", params: {sessionId: "s", prompt: [
		{type: "text", text: "first"}, {type: "resource_link", uri: "file:///x", name: "x"}, {type: "text", text: "> quoted"}, {type: "other", text: "> cited\n\nafter"}]}},
		{jsonrpc: "2.0", id: 1, result: {stopReason: "end_turn"}}' >s.nd
	run -0 acp-export -f markdown s.nd
	assert_line '> > cited'
	assert_line '> after'
	sed -n '/^\*\*User/,/^\*end/p' <<<"$output" | sed '1,2d;$d' | grep -v '^$' >block
	run ! grep -v '^>' block
}

@test "names, numbers and addresses that a forge would link to are not linked, in texts and in titles" {
	is_markdown '@name a@b #12 GH-1 gh-2 ftp://x www.example.org @ # GH-x' \
		'@<!-- -->name a@<!-- -->b \#<!-- -->12 GH-<!-- -->1 gh-<!-- -->2 ftp:<!-- -->//x www<!-- -->.example.org @ \# GH-x'
	echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"npm install @types/node #1"}}}' >s.nd
	run -0 acp-export -f markdown s.nd
	assert_line --partial 'npm install @<!-- -->types/node #<!-- -->1'
	# Code is not looked at.
	# shellcheck disable=SC2016 # text
	is_markdown '`@name`' '`@name`'
	becomes '@name #12 ftp://x' '<p>@name #12 ftp://x</p>'
}

@test "a web address in a prompt, a title or a plan is a link to that address in Markdown" {
	local url='https://www.example.com/a_b/c_(d).c?x=1&y=2#L10' text
	text="See $url, ok"
	jq -nc --arg text "$text" '{jsonrpc: "2.0", id: 1, method: "session/prompt", params: {sessionId: "s", prompt: [{type: "text", text: $text}]}},
		{jsonrpc: "2.0", method: "session/update", params: {sessionId: "s", update: {sessionUpdate: "plan",
			entries: [{content: $text, priority: "high", status: "pending"}]}}},
		{jsonrpc: "2.0", id: 1, result: {stopReason: "end_turn"}}' >s.nd
	text='See [https://www<!-- -->.example.com/a\_b/c\_(d).c?x=1&amp;y=2\#L10](<'"$url"'>), ok'
	run -0 acp-export -f markdown s.nd
	assert_line "# $text"
	assert_line "> $text"
	assert_line "- [ ] $text"
	# Agents' texts have the same links; the scheme is read in any case, and no word begins within another.
	is_markdown "$url HTTP://a.b xhttp://a.b" "[https://www<!-- -->.example.com/a\_b/c\_(d).c?x=1&amp;y=2\#L10](<$url>) [HTTP://a.b](<HTTP://a.b>) xhttp://a.b"
}

@test "a text of more than 256 KiB is on the page as it is" {
	perl -e 'print "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"" . "*a* " x 70000 . "\"}}}}\n"' >s.nd
	run ! grep -q '<em>' <(acp-export s.nd)
	[ "$(acp-export s.nd | grep -o '\*a\*' | wc -l)" -eq 70000 ]
}

@test "the chart begins at its first report" {
	agent hello
	for used in 10000 40000 40000 20000; do
		printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"usage_update","used":%d,"size":40000}}}\n' $used
	done >>s.nd
	run -0 acp-export s.nd
	# From the left edge at a quarter of the height, over the top, to the right edge at half of it.
	assert_output --regexp '<polyline points="48.0,112.0 [^"]* 560.0,82.0"/>'
	assert_output --regexp '<polygon points="48.0,142 48.0,112.0 [^"]* 560.0,82.0 560,142"/>'
	assert_output --regexp '<polyline points="[^"]*,22.0 [^"]*"/>'
}

@test "the content of a tool call that comes piece by piece is shown whole, in order" {
	call() {
		printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"%s","toolCallId":"c",%s}}}\n' "$1" "$2"
	}
	{
		call tool_call_content_chunk '"content":{"type":"content","content":{"type":"text","text":"one"}}'
		call tool_call_content_chunk '"content":{"type":"diff","path":"/f","oldText":"a","newText":"b"}'
		call tool_call_content_chunk '"content":"no object"'
		call tool_call_content_chunk '"content":{"type":"content","content":{"type":"text","text":"th"}}'
		call tool_call_content_chunk '"content":{"type":"content","content":{"type":"text","text":"r\u0065"},"_meta":{"x":1}}'
		call tool_call_content_chunk '"content":{"type":"content","content":{"type":"text","text":"e"}}'
		call tool_call_update '"status":"completed"'
	} >s.nd
	run -0 acp-export s.nd
	assert_output --regexp '<p>one</p>.*<del>- a.*<ins>\+ b.*<p>three</p>'
	{
		call tool_call_update '"content":[],"status":"in_progress"'
		call tool_call_content_chunk '"content":{"type":"content","content":{"type":"text","text":"earlier"}}'
		call tool_call_update '"content":[{"type":"content","content":{"type":"text","text":"whole"}}]'
		call tool_call_content_chunk '"content":{"type":"content","content":{"type":"text","text":"more"}}'
	} >s.nd
	run -0 acp-export s.nd
	refute_output --partial earlier
	assert_output --regexp '<p>whole</p>.*<p>more</p>'
}

@test "random Markdown is read as cmark-gfm reads it" {
	command -v cmark-gfm >/dev/null || skip 'cmark-gfm is not installed'
	python3 "$BATS_TEST_DIRNAME/model/markdown.py" --count "${ACP_ROUNDS:-$(sample 30 1000 200)}"
}
