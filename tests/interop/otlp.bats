#!/usr/bin/env bats
# acp-export -f otlp, read by the OpenTelemetry protos and by a collector.

bats_require_minimum_version 1.5.0

setup() {
	load ../lib
	lib_setup
}

teardown() {
	end_left_over
}

@test "each fixture's spans and metrics are requests that the protos parse strictly" {
	local file python=$PEERS/python/bin/python
	[[ -x $python ]] || skip 'without python3'
	for file in "$FIXTURES"/*.jsonl "$FIXTURES"/agents/*.jsonl; do
		run -0 "$python" "$PEERS/otlp.py" < <(acp-export -f otlp "$file")
		assert_equal "${output%% *}" "$(acp-export -f otlp "$file" | grep -o '"spanId"' | wc -l)"
		assert [ "${output##* }" -gt 0 ]
	done
}

# said NAME: what the collector printed as this, all of them in a line.
said() {
	sed -n "s/^ *$1 *: //p" log | sort | xargs
}

@test "a collector takes each fixture's spans and metrics as they are" {
	[[ -x $PEERS/collector/collector ]] || skip 'without go'
	local port file files=("$FIXTURES"/*.jsonl "$FIXTURES"/agents/*.jsonl)
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	cat >config.yaml <<-END
		receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:$port"}}}}
		exporters: {debug: {verbosity: detailed}}
		service:
		  telemetry: {metrics: {level: none}}
		  pipelines:
		    traces: {receivers: [otlp], exporters: [debug]}
		    metrics: {receivers: [otlp], exporters: [debug]}
	END
	"$PEERS/collector/collector" --config file:config.yaml >log 2>&1 3>&- &
	wait_for grep -q 'Everything is ready' log
	for file in "${files[@]}"; do
		acp-export -f otlp --post "http://127.0.0.1:$port" "$file"
		acp-export -f otlp "$file"
	done >lines
	kill $!
	wait $! || true
	assert_equal "$(said ID)" "$(jq -r '.resourceSpans[]?.scopeSpans[].spans[].spanId' lines | sort | xargs)"
	assert_equal "$(said 'Trace ID')" "$(jq -r '.resourceSpans[]?.scopeSpans[].spans[].traceId' lines | sort | xargs)"
	assert_equal "$(said Name)" "$(jq -r '.resourceSpans[]?.scopeSpans[].spans[].name' lines | sort | xargs)"
	assert_equal "$(grep -c '^HistogramDataPoints #' log)" \
		"$(jq '.resourceMetrics[]?.scopeMetrics[].metrics[].histogram.dataPoints | length' lines | awk '{ n += $1 } END { print n }')"
}
