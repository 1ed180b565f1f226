#!/usr/bin/env bats
# acp-export: spans for OpenTelemetry and timelines for Perfetto.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
}

teardown() {
	end_left_over
}

# A turn with a tool call that waits for the user, one of a sub-agent, cached tokens, and one that fails.
session_rec() {
	local up='"from":"agent","msg":{"jsonrpc":"2.0",' down='"from":"client","msg":{"jsonrpc":"2.0",' meta=${1:+',"_meta":{"traceparent":"'$1'"}'}
	echo '{"acp-recording":1,"started":"2026-11-22T10:00:00.000000Z"}'
	echo "{\"t\":0,$down\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}}"
	echo "{\"t\":0,$up\"id\":0,\"result\":{\"protocolVersion\":1,\"agentInfo\":{\"name\":\"claude-agent-acp\",\"version\":\"0.100.0\"}}}}"
	echo "{\"t\":1,$down\"id\":1,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"S\",\"prompt\":[]$meta}}}"
	echo "{\"t\":2,$up\"method\":\"session/update\",\"params\":{\"sessionId\":\"S\",\"update\":{\"sessionUpdate\":\"subagent_update\",\"sessionId\":\"C\"}}}}"
	echo "{\"t\":3,$up\"method\":\"session/update\",\"params\":{\"sessionId\":\"S\",\"update\":{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"a\",\"title\":\"Edit \\\"x\\\"\",\"kind\":\"edit\"}}}}"
	echo "{\"t\":4,$up\"method\":\"session/update\",\"params\":{\"sessionId\":\"C\",\"update\":{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"a\",\"title\":\"api_key=sk-ant-REDACTME0123456789012345\",\"name\":\"Bash\",\"kind\":\"execute\"}}}}"
	echo "{\"t\":5,$up\"id\":1,\"method\":\"session/request_permission\",\"params\":{\"sessionId\":\"S\",\"toolCall\":{\"toolCallId\":\"a\"},\"options\":[]}}}"
	echo "{\"t\":6,$down\"id\":1,\"result\":{}}}"
	echo "{\"t\":7,$up\"method\":\"session/update\",\"params\":{\"sessionId\":\"C\",\"update\":{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"a\",\"status\":\"failed\"}}}}"
	echo "{\"t\":8,$up\"method\":\"session/update\",\"params\":{\"sessionId\":\"S\",\"update\":{\"sessionUpdate\":\"tool_call_update\",\"toolCallId\":\"a\",\"status\":\"completed\"}}}}"
	echo "{\"t\":9,$up\"id\":1,\"result\":{\"stopReason\":\"end_turn\",\"usage\":{\"totalTokens\":100,\"inputTokens\":10,\"outputTokens\":20,\"cachedReadTokens\":40,\"cachedWriteTokens\":30}}}}"
	echo "{\"t\":10,$down\"id\":2,\"method\":\"session/prompt\",\"params\":{\"sessionId\":\"S\",\"prompt\":[]}}}"
	echo "{\"t\":11,$up\"id\":2,\"error\":{\"code\":-32000,\"message\":\"no\"}}}"
}

# spans FILE FILTER: jq over each span, its attributes as an object.
spans() {
	acp-export -f otlp "$1" | jq -c ".resourceSpans[]?.scopeSpans[].spans[] | .attributes |=
	    (map({(.key): (.value | .stringValue // .intValue // .arrayValue)}) | add) | $2"
}

# The rules of OTLP's JSON form.
otlp_rules() {
	jq -se '[.[].resourceSpans[]?.scopeSpans[].spans[]] | length > 0 and all(.[];
	    (.traceId | test("^[0-9a-f]{32}$")) and (.spanId | test("^[0-9a-f]{16}$")) and (.traceId | test("[^0]")) and
	    (.name | length > 0) and (.kind == 1 or .kind == 3) and (.startTimeUnixNano | test("^[0-9]+$")) and
	    (.endTimeUnixNano | tonumber) >= (.startTimeUnixNano | tonumber)) and
	    (map(.spanId) | length == (unique | length))' >/dev/null
}

@test "otlp: a prompt is a client span, its tool calls and waits are in it" {
	session_rec >s.rec
	run -0 spans s.rec '[.name, .kind, .parentSpanId == null, .startTimeUnixNano, .endTimeUnixNano]'
	assert_line --index 0 '["session/request_permission",1,false,"1795341605000000000","1795341606000000000"]'
	assert_line --index 1 '["execute_tool Bash",1,false,"1795341604000000000","1795341607000000000"]'
	assert_line --index 2 '["execute_tool edit",1,false,"1795341603000000000","1795341608000000000"]'
	assert_line --index 3 '["invoke_agent claude-agent-acp",3,true,"1795341601000000000","1795341609000000000"]'
	run -0 spans s.rec 'select(.kind == 3).spanId'
	local turn=${lines[0]}
	run -0 spans s.rec "select(.kind == 1).parentSpanId"
	assert_output "$turn"$'\n'"$turn"$'\n'"$turn"
	run -0 spans s.rec .traceId
	assert_equal "$(sort -u <<<"$output" | wc -l)" 1
}

@test "otlp: tokens as the conventions want them, input with what was cached; stop reasons; errors" {
	session_rec >s.rec
	run -0 spans s.rec 'select(.kind == 3).attributes'
	assert_line --index 0 '{"gen_ai.operation.name":"invoke_agent","gen_ai.provider.name":"anthropic","gen_ai.agent.name":"claude-agent-acp","gen_ai.agent.version":"0.100.0","gen_ai.conversation.id":"S","gen_ai.response.finish_reasons":{"values":[{"stringValue":"end_turn"}]},"gen_ai.usage.input_tokens":"80","gen_ai.usage.output_tokens":"20","gen_ai.usage.cache_read.input_tokens":"40","gen_ai.usage.cache_creation.input_tokens":"30"}'
	assert_line --index 1 --partial '"error.type":"-32000"'
	run -0 spans s.rec 'select(.attributes["gen_ai.tool.name"] == "Bash") | [.status.code, .attributes["error.type"], .attributes["gen_ai.tool.call.id"], .attributes["gen_ai.conversation.id"]]'
	assert_output '[2,"_OTHER","a","C"]'
}

@test "otlp: a traceparent of the prompt is the parent" {
	session_rec 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 >s.rec
	run -0 spans s.rec 'select(.kind == 3) | [.traceId, .parentSpanId]'
	assert_line --index 0 '["0af7651916cd43dd8448eb211c80319c","b7ad6b7169203331"]'
	run -0 spans s.rec 'select(.kind == 1).traceId'
	assert_equal "$(sort -u <<<"$output")" '"0af7651916cd43dd8448eb211c80319c"'
	session_rec 00-ZZf7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 >bad.rec
	run -0 spans bad.rec 'select(.kind == 3).parentSpanId'
	assert_line --index 0 null
}

# bats test_tags=slow
@test "otlp: each line is a request; exported twice it is the same; ids are valid for every fixture" {
	local file
	for file in "$FIXTURES"/*.jsonl "$FIXTURES"/agents/*.jsonl; do
		acp-export -f otlp "$file" >one
		acp-export -f otlp -o two "$file"
		cmp one two
		assert_equal "$(jq -c keys one)" $'["resourceSpans"]\n["resourceMetrics"]'
		otlp_rules <one
	done
}

# bats test_tags=slow
@test "otlp: the metrics are what the spans of the turns add up to, each in its bucket" {
	local file
	session_rec >s.rec
	for file in s.rec "$FIXTURES"/*.jsonl "$FIXTURES"/agents/*.jsonl; do
		acp-export -f otlp "$file" | python3 -c 'if True:
			import collections, json, sys
			lines = list(map(json.loads, sys.stdin))
			def values(attributes):
			    return {a["key"]: next(iter(a["value"].values())) for a in attributes}
			want = collections.defaultdict(list)
			for span in (s for l in lines for r in l.get("resourceSpans", []) for c in r["scopeSpans"] for s in c["spans"] if s["kind"] == 3):
			    a = values(span["attributes"])
			    key = tuple(sorted((k, a[k]) for k in a if k in ("gen_ai.operation.name", "gen_ai.provider.name", "gen_ai.agent.name",
			        "gen_ai.agent.version", "gen_ai.request.model")))
			    error = (("error.type", a["error.type"]),) if "error.type" in a else ()
			    want["gen_ai.client.operation.duration", key + error].append(
			        (int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"])) / 1e9)
			    for kind in "input", "output":
			        if "gen_ai.usage.%s_tokens" % kind in a:
			            want["gen_ai.client.token.usage", key + (("gen_ai.token.type", kind),)].append(int(a["gen_ai.usage.%s_tokens" % kind]))
			points = [(m["name"], p) for m in lines[-1]["resourceMetrics"][0]["scopeMetrics"][0]["metrics"] for p in m["histogram"]["dataPoints"]]
			assert len(points) == len(want), (points, want)
			for name, p in points:
			    a = values(p["attributes"])
			    last = tuple((k, a.pop(k)) for k in ("error.type", "gen_ai.token.type") if k in a)
			    all = want[name, tuple(sorted(a.items())) + last]
			    assert int(p["count"]) == len(all) and abs(p["sum"] - sum(all)) < 1e-6, (name, p, all)
			    assert abs(p["min"] - min(all)) < 1e-6 and abs(p["max"] - max(all)) < 1e-6, (name, p, all)
			    bounds, counts = p["explicitBounds"], [0] * 15
			    for v in all:
			        counts[sum(v > b for b in bounds)] += 1
			    assert list(map(int, p["bucketCounts"])) == counts, (p, all)'
	done
}

# bats test_tags=slow
@test "otlp: of more than a thousand combinations of attributes the others are one" {
	for ((i = 1; i <= 1100; i++)); do
		printf '{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":"S","prompt":[]}}\n{"jsonrpc":"2.0","id":%d,"error":{"code":%d,"message":""}}\n' $i $i $i
	done >s.nd
	acp-export -f otlp s.nd | jq -sc '.[-1].resourceMetrics[0].scopeMetrics[0].metrics[0].histogram.dataPoints |
		[length, map(.count | tonumber | select(. > 1)), .[-1].attributes[0].key]' >points
	assert_equal "$(<points)" '[1001,[100],"otel.metric.overflow"]'
}

# bats test_tags=slow
@test "perfetto: the format's rules hold for every fixture" {
	local file
	session_rec >s.rec
	for file in s.rec "$FIXTURES"/*.jsonl "$FIXTURES"/agents/*.jsonl; do
		acp-export -f perfetto "$file" >out
		run -0 python3 - <<-'END'
			import json
			events = json.load(open('out'))['traceEvents']
			named, open_, turns = set(), {}, {}
			for e in events:
			    assert e['ph'] in 'MXibe', e
			    assert isinstance(e['pid'], int) and e['name'], e
			    if e['ph'] == 'M':
			        named.add((e['pid'], e.get('tid')))
			        continue
			    assert isinstance(e['ts'], int) and (e['pid'], e['tid']) in named and (e['pid'], None) in named, e
			    key = e['pid'], e.get('cat'), e.get('id')
			    if e['ph'] == 'b':
			        assert key not in open_, e
			        open_[key] = e
			    elif e['ph'] == 'e':
			        b = open_.pop(key)
			        assert b['ts'] <= e['ts'] and b['name'] == e['name'], e
			    elif e['ph'] == 'X':
			        assert e['dur'] >= 0 and e['ts'] >= turns.get(e['pid'], 0), e
			        turns[e['pid']] = e['ts'] + e['dur']
			assert not open_, open_
			print(len(events))
		END
	done
}

@test "perfetto: turns, updates, tools and waits are tracks of their session" {
	session_rec >s.rec
	run -0 jq -c '.traceEvents[] | select(.ph == "X") | [.name, .ts, .dur, .args.turn, .args.stop, .args.user_us, .args.output_tokens]' \
	    <(acp-export -f perfetto s.rec)
	assert_line --index 0 '["turn",1795341601000000,8000000,1,"end_turn",1000000,20]'
	assert_line --index 1 '["turn (failed)",1795341610000000,1000000,2,null,0,null]'
	run -0 jq -r '.traceEvents[] | select(.ph == "b") | "\(.pid) \(.name) \(.args.result)"' <(acp-export -f perfetto s.rec)
	assert_line --index 0 '1 session/request_permission null'
	assert_line --index 2 '1 Edit "x" completed'
	run -0 jq -r '.traceEvents[] | select(.name == "process_name") | .args.name' <(acp-export -f perfetto s.rec)
	assert_output $'S\nC'
	run -0 jq -r '[.traceEvents[] | select(.ph == "i")] | length' <(acp-export -f perfetto s.rec)
	assert_output 5
}

@test "perfetto: a wait has the name of its method, however that is escaped" {
	session_rec | sed 's,session/request_permission,session\\/request\\u005fpermission,' >s.rec
	grep -qF 'session\/request\u005f' s.rec
	assert_equal "$(acp-export -f perfetto s.rec)" "$(acp-export -f perfetto <(session_rec))"
}

# bats test_tags=slow
@test "--redact and --session work with both" {
	local format
	session_rec >s.rec
	for format in otlp perfetto; do
		acp-export -f $format --redact s.rec 2>err >out
		jq -e . out >/dev/null
		run grep -c REDACTME out
		assert_output 0
		run -2 --separate-stderr acp-export -f $format --session nobody s.rec
		assert_equal "$stderr" 'acp-export: --session nobody: no session has this id; there are: S, C'
		run -0 acp-export -f $format --session S s.rec
		assert_output "$(acp-export -f $format s.rec)"
		run -0 acp-export -f $format --session C s.rec
		assert_output --regexp 'Bash|api_key'
		refute_output --partial request_permission
		run -2 acp-export -f $format /dev/null
	done
	run -0 jq -c '.traceEvents | length > 0' <(acp-export -f perfetto s.rec)
	assert_output true
}

# bats test_tags=slow
@test "half a surrogate pair in a word does not get into a trace" {
	local format
	session_rec | sed 's/end_turn/end\\ud800/; s/"tool_call_update"/"x\\ud800"/' >s.rec
	grep -q 'end.ud800' s.rec
	grep -q '"x.ud800"' s.rec
	for format in otlp perfetto; do
		run -0 acp-export -f $format s.rec
		assert_output --partial $'end\uFFFD'
		refute_output --partial ud800
	done
}

# bats test_tags=slow
@test "a trace that fails for want of memory says so, also where only its end is too large" {
	[[ $B != *san* ]] && ! emulated || skip 'sanitizers and the emulator want an address space of their own'
	local limit
	{
		echo '{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}'
		perl -e 'printf "{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s\",\"update\":{\"sessionUpdate\":\"tool_call\",\"toolCallId\":\"c\",\"title\":\"%s\"}}}\n", "\\u0001" x 3000000'
	} >s.nd
	for limit in {90..130..10}; do
		(ulimit -v "${limit}000" && exec acp-export -f perfetto s.nd) >/dev/null 2>err && [ ! -s err ] || grep -q memory err
	done
}
