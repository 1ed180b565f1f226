#!/usr/bin/env bats
# acp-export as a filter, and --post: spans and metrics that reach a collector while a stream passes.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
	acp-export --post nowhere -f otlp x 2>&1 | grep -q libcurl && skip 'built without libcurl (Debian: libcurl4-openssl-dev)'
	cat >agent.py <<-'END'
		import json, sys
		for line in sys.stdin:
		    m = json.loads(line)
		    with open('agent.got', 'a') as f:
		        f.write(line)
		    if m.get('method') == 'session/prompt':
		        session = m['params']['sessionId']
		        def send(**members):
		            print(json.dumps({'jsonrpc': '2.0', **members}), flush=True)
		        send(method='session/update', params={'sessionId': session, 'update': {'sessionUpdate': 'tool_call',
		            'toolCallId': 'c%s' % m['id'], 'title': 't', 'kind': 'edit', 'status': 'completed'}})
		        send(id=m['id'], result={'stopReason': 'end_turn', 'usage': {'totalTokens': 30, 'inputTokens': 10, 'outputTokens': 20}})
	END
}

teardown() {
	end_left_over
}

# collect [REPLY]...: a collector; its address is in $url, what it takes in the file taken.
collect() {
	python3 -S "$BATS_TEST_DIRNAME/collector.py" taken port "$@" 3>&- &
	wait_for test -e port
	url=http://127.0.0.1:$(<port)
}

# exports [OPTION]...: acp-export around the agent, between the client's ends in and out.
exports() {
	mkfifo in
	acp-export -f otlp "$@" -- python3 -S agent.py <in >out 2>err 3>&- &
	exporter=$!
	exec {in}>in
}

# prompt ID [MEMBERS]: and waits for its response.
prompt() {
	printf '{"jsonrpc":"2.0","id":%s,"method":"session/prompt","params":{"sessionId":"S","prompt":[]%s}}\n' "$1" "${2-}" >&"$in"
	await_line out grep "\"id\": $1," >/dev/null
}

# ends [STATUS]: the client leaves, and acp-export ends with this status.
ends() {
	local status=0
	exec {in}>&-
	wait "$exporter" || status=$?
	assert_equal "$status" "${1-0}"
}

# taken_spans: the names of the spans that the collector has taken, with their ids.
taken_spans() {
	jq -r 'select(.path == "/v1/traces").body.resourceSpans[].scopeSpans[].spans[] | "\(.name) \(.traceId) \(.spanId)"' taken
}

# bats test_tags=slow
@test "a span reaches the collector when it has ended, while the stream goes on; metrics follow" {
	collect
	exports --post "$url"
	prompt 1
	await_line taken grep invoke_agent >spans
	await_line taken grep resourceMetrics | jq -e '.path == "/v1/metrics" and .headers["content-type"] == "application/json"'
	kill -0 "$exporter"
	prompt 2
	ends
	[ ! -s err ]
	[ "$(taken_spans | grep -c 'execute_tool edit')" -eq 2 ]
	[ "$(taken_spans | grep -c '^invoke_agent')" -eq 2 ]
	# The last report has both turns, at the end.
	run -0 jq -r 'select(.path == "/v1/metrics").body.resourceMetrics[].scopeMetrics[].metrics[] |
		select(.name == "gen_ai.client.token.usage").histogram.dataPoints[] | "\(.count) \(.sum)"' taken
	assert_equal "${lines[*]: -2}" '2 20 2 40'
}

@test "each way to be connected: the same spans, and every message passes unchanged" {
	filter() {
		case $way in
		wrap) acp-export -f otlp -o spans -- python3 -S agent.py ;;
		link) link acp-export -f otlp -o spans -- python3 -S agent.py ;;
		conduct) acp-conduct -f 'acp-export -f otlp -o spans' -- python3 -S agent.py ;;
		esac
	}
	ask() {
		rm -f spans agent.got
		for i in 1 2; do
			printf '{"jsonrpc":"2.0",  "id":%s,"method":"session/prompt","params":{"sessionId":"S","prompt":[]}}\n' $i
		done >sent
		filter <sent >answers
		cmp sent agent.got
		[ "$(grep -c end_turn answers)" -eq 2 ]
		assert_equal "$(jq -r '.resourceSpans[]?.scopeSpans[].spans[].name' spans)" \
			$'execute_tool edit\ninvoke_agent\nexecute_tool edit\ninvoke_agent'
	}
	# shellcheck disable=SC2034 # each_way reads them
	WAYS=(wrap conduct link) SHORT_WAYS=2
	each_way ask
}

@test "--pass: a one-way stream passes, and its spans are on standard error or in -o" {
	acp-tap -f raw "$FIXTURES/demo.rec" >messages
	acp-export -f otlp --pass <messages >passed 2>err
	cmp messages passed
	grep -q '^{"resourceSpans"' err
	acp-export -f perfetto --pass -o trace.json <messages >passed
	cmp messages passed
	jq -e '.traceEvents | length > 0' trace.json
}

@test "a recording that comes through a pipe: what has ended is written before the pipe ends" {
	mkfifo pipe
	acp-export -f otlp -o spans - <pipe 3>&- &
	exec {in}>pipe
	cat "$FIXTURES/write-with-permission.jsonl" >&"$in"
	await_line spans grep invoke_agent
	exec {in}>&-
	wait $!
	assert_equal "$(jq -s 'map(keys[0]) | unique' -c spans)" '["resourceMetrics","resourceSpans"]'
}

# bats test_tags=slow
@test "a collector that is busy is asked again, and nothing is lost; that is said once" {
	collect 503 429 502
	exports --post "$url"
	prompt 1
	prompt 2
	ends
	[ "$(taken_spans | grep -c '^invoke_agent')" -eq 2 ]
	assert_equal "$(<err)" 'acp-export: --post: HTTP status 503: trying again'
}

# bats test_tags=slow
@test "--grace counts from the end of the stream: while it goes on, a collector may take longer" {
	collect 503
	exports --grace 1ms --post "$url"
	prompt 1
	await_line taken grep invoke_agent >span
	# After the end a millisecond may be too short for the metrics.
	exec {in}>&-
	wait "$exporter" || true
}

# bats test_tags=slow
@test "what a collector refuses is counted and said, with its words as plain text, and the status is 125" {
	collect '400={"code":3,"message":"no \u0007spans"}' 302
	exports --post "$url"
	prompt 1
	ends 125
	assert_equal "$(head -n 1 err)" 'acp-export: --post: HTTP status 400: no ^Gspans'
	grep -x 'acp-export: --post: [12] of 2 spans were not sent' err
	[ "$(taken_spans | grep -c .)" -le 1 ]
}

@test "spans that a collector has taken the request of and rejected are counted" {
	collect '200={"partialSuccess":{"rejectedSpans":"2","errorMessage":"too old"}}'
	run -125 acp-export -f otlp --post "$url" "$FIXTURES/write-with-permission.jsonl"
	assert_output 'acp-export: --post: 2 of 3 spans were not sent'
}

@test "where there is no collector the stream goes on, and the end waits no longer than --grace" {
	exports --post http://127.0.0.1:1 --grace 200ms
	prompt 1
	kill -0 "$exporter"
	ends 125
	assert_equal "$(grep -c 'trying again' err)" 1
	grep -x 'acp-export: --post: 2 of 2 spans were not sent' err
	grep -x 'acp-export: --post: 1 of 1 reports of metrics were not sent' err
}

# bats test_tags=slow
@test "a collector that hangs delays nothing, however much there is to send; what was not sent is counted" {
	collect hang hang hang
	exports --post "$url" --grace 200ms
	prompt 1
	wait_for test -e taken.hangs
	# More than the queue holds, which is a megabyte: each of these prompts has eight kilobytes of spans.
	local n=400 id
	printf -v id '%04000d' 0
	for ((i = 2; i <= n; i++)); do
		printf '{"jsonrpc":"2.0","id":%s,"method":"session/prompt","params":{"sessionId":"%s","prompt":[]}}\n' $i "$id"
	done >&"$in"
	await_line out grep "\"id\": $n," >/dev/null
	ends 125
	[ "$(grep -c end_turn out)" -eq $n ]
	grep -x 'acp-export: --post: 800 of 800 spans were not sent' err
}

@test "when the process that sends is killed, the stream goes on, and that is said" {
	collect
	exports --post "$url"
	prompt 1
	await_line taken grep invoke_agent >/dev/null
	local child
	child=$(pgrep -P "$exporter" acp-export)
	kill -KILL "$child"
	prompt 2
	prompt 3
	ends 125
	grep -x 'acp-export: --post: the process that sends was ended by signal KILL' err
	# The collector's reply to the first may not have been read yet.
	grep -xE 'acp-export: --post: [456] of 6 spans were not sent' err
	[ "$(grep -c end_turn out)" -eq 3 ]
}

# bats test_tags=slow
@test "when acp-export is killed, what it had written is still sent, and nobody is left" {
	collect 503
	exports --post "$url"
	prompt 1
	wait_for grep -q 503 err
	run ! sender_ended
	kill -KILL "$exporter"
	wait "$exporter" || true
	await_line taken grep invoke_agent >/dev/null
	exec {in}>&-
	wait_for sender_ended
}

sender_ended() {
	! pgrep -f "acp-export -f otlp --post $url" >/dev/null
}

@test "headers of OTEL_EXPORTER_OTLP_HEADERS go with each request; a line end in one is no other header" {
	collect
	OTEL_EXPORTER_OTLP_HEADERS='authorization=Bearer%20x%2Cy, x-team = a,bad=1%0Aevil: 2,none=,x-last=z' acp-export -f otlp --post "$url/" "$FIXTURES/demo.rec"
	run -0 jq -c '.headers | [.authorization, .["x-team"], .bad, .evil, .none, .["x-last"]]' taken
	assert_line --index 0 '["Bearer x,y","a",null,null,null,"z"]'
}

# bats test_tags=slow
@test "all that a recording has is sent, however much it is, and nothing is dropped" {
	local n
	n=$(sample 300 3000)
	python3 - "$n" >s.nd <<-'END'
		import json, sys
		for i in range(int(sys.argv[1])):
		    print(json.dumps({'jsonrpc': '2.0', 'id': i, 'method': 'session/prompt', 'params': {'sessionId': 'S', 'prompt': []}}))
		    print(json.dumps({'jsonrpc': '2.0', 'id': i, 'result': {'stopReason': 'x' * 1000}}))
	END
	collect 503
	acp-export -f otlp --post "$url" s.nd
	[ "$(taken_spans | wc -l)" -eq "$n" ]
}

@test "an address that is none, or has the path of the API, is refused" {
	for bad in nowhere ftp://x http:// "file:///x" http://localhost:4318/v1/traces; do
		run -2 acp-export -f otlp --post "$bad" "$FIXTURES/demo.rec"
		assert_output --partial 'expected the address of a collector'
	done
}

# propagated: the traceparents that the agent got, beside the ids of the turns' spans.
propagated() {
	paste -d' ' <(jq -r '.params._meta.traceparent' agent.got) \
		<(jq -r '.resourceSpans[]?.scopeSpans[].spans[] | select(.kind == 3) | "00-\(.traceId)-\(.spanId)-01"' spans)
}

# bats test_tags=slow
@test "--propagate: the agent can continue the trace of the turn, and all else of the prompt is as it was" {
	exports -o spans --propagate
	prompt 1
	prompt 2 ',"_meta":{}'
	prompt 3 ', "_meta" : { "a" : 1e0 }'
	prompt 4 ', "_meta" : null '
	ends
	assert_equal "$(propagated | awk '$1 != $2')" ''
	[ "$(propagated | sort -u | wc -l)" -eq 4 ]
	grep -F ',"_meta":{"traceparent":"00-' agent.got | grep -Fe '-01"}}}'
	grep -F ', "_meta" : {"traceparent":"00-' agent.got | grep -Fe '-01", "a" : 1e0 }}}'
	grep -F ', "_meta" : {"traceparent":"00-' agent.got | grep -Fe '-01"} }}'
}

# bats test_tags=slow
@test "--propagate: two prompts at once have a trace each; a traceparent of the client's stays, and what is no object" {
	exports -o spans --propagate
	{
		for i in 1 2; do
			printf '{"jsonrpc":"2.0","id":%s,"method":"session/prompt","params":{"sessionId":"S","prompt":[]}}\n' $i
		done
	} >&"$in"
	await_line out grep '"id": 2,'
	assert_equal "$(propagated | awk '$1 != $2')" ''
	local client=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01
	prompt 3 ",\"_meta\":{\"traceparent\":\"$client\"}"
	prompt 4 ',"_meta":"x"'
	ends
	sed -n 3p agent.got | jq -e --arg t $client '.params._meta == {traceparent: $t}'
	sed -n 4p agent.got | jq -e '.params._meta == "x"'
	jq -se --arg t "${client:3:32}" --arg s "${client:36:16}" '[.[].resourceSpans[]?.scopeSpans[].spans[] |
		select(.traceId == $t and .parentSpanId == $s and .kind == 3)] | length == 1' spans
}

# bats test_tags=slow
@test "--redact and --session hold for what is sent" {
	collect
	jq -c '.' <<<'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"S","prompt":[]}}' >s.nd
	printf '%s\n' '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"S","update":{"sessionUpdate":"tool_call","toolCallId":"c","name":"sk-ant-api03-AAAABBBBCCCCDDDDEEEEFFFF0","status":"completed"}}}' \
		'{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}' >>s.nd
	acp-export -f otlp --redact --post "$url" s.nd
	grep -q redacted taken
	run ! grep -q AAAABBBB taken
}
