#!/usr/bin/env bats
# The frame as a proxy of a chain: the conductor's lines are fed by hand.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load frame
	lib_setup
	export FILTER_QUIET=1
}

# shellcheck disable=SC2120
# proxy RULE... <LINES: what a proxy sends, after its initialization, whose request is hop 1.
proxy() {
	{ echo '{"id":0,"method":"proxy/initialize"}'; cat; } | rulefilter "$@" 2>err | tail -n +2
}

@test "initialize is forwarded in an envelope, and its response comes back under the conductor's id" {
	for dialect in proxy _proxy; do
		cat >in <<-END
			{"jsonrpc":"2.0","id":"i\u0031","method":"$dialect/initialize","params":{"protocolVersion":1,"x":1.50,"_meta":{"a":1}}}
			{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"http":true}}}}
		END
		rulefilter <in >out
		cat >want <<-END
			{"jsonrpc":"2.0","id":1,"method":"$dialect/successor","params":{"method":"initialize","params":{"protocolVersion":1,"x":1.50,"_meta":{"a":1}}}}
			{"jsonrpc":"2.0","id":"i\u0031","result":{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"http":true}}}}
		END
		diff want out
	done
}

@test "messages of the client go on in envelopes, those from envelopes go on bare; bytes and order stay" {
	run proxy <<-'END'
		 { "params" : {"n":1.50,"_meta":{"traceparent":"00"}} , "method":"a\/b" , "id":"c1","extra":[1] }
		{"method":"note"}
		{"id":9,"method":"proxy/successor","params":{"_meta":{"hop":1},"params":["\u0041"],"method":"fs/read"}}
		{"method":"_proxy/successor","params":{"method":"session/update","params":{"_meta":{"inner":1}}}}
		{"method":"proxy/successor","params":{"method":"bare"},"x":1}
		{"method":"null","params":null}
	END
	assert_output ' { "params" : {"method":"a\/b","params":{"n":1.50,"_meta":{"traceparent":"00"}}} , "method":"proxy/successor" , "id":2,"extra":[1] }
{"method":"proxy/successor","params":{"method":"note"}}
{"id":3,"method":"fs/read","params":["\u0041"]}
{"method":"session/update","params":{"_meta":{"inner":1}}}
{"method":"bare","x":1}
{"method":"proxy/successor","params":{"method":"null","params":null}}'
}

@test "an envelope in an envelope is refused, in either spelling: as a request with -32600, as a notification with a line only" {
	run proxy <<-'END'
		{"id":5,"method":"proxy/successor","params":{"method":"proxy/successor","params":{"method":"a"}}}
		{"id":6,"method":"_proxy/successor","params":{"method":"proxy/successor","params":{"method":"a"}}}
		{"id":7,"method":"proxy/successor","params":{"method":"_proxy/successor"}}
		{"method":"proxy/successor","params":{"method":"proxy/successor","params":{"method":"a"}}}
		{"id":8,"method":"proxy/successor","params":{"method":"a"}}
	END
	run jq -c '[.id, .error.code, .method]' <<<"$output"
	assert_output $'[5,-32600,null]\n[6,-32600,null]\n[7,-32600,null]\n[2,null,"a"]'
	assert_equal "$(grep -c 'conductor: .*envelope.*refused' err)" 4
}

@test "responses go back under the ids that the askers gave, to the byte" {
	run proxy <<-'END'
		{"id":"\u0031","method":"a"}
		{"id":1.0,"method":"a"}
		{"id":1.0,"method":"proxy/successor","params":{"method":"b"}}
		{"id":null,"method":"a"}
		{"id":9223372036854775807,"method":"a"}
		{"id":6,"result":6}
		{"id":5, "error":{"code":-1,"message":"5"} }
		{"result":[4],"id":4.0}
		{"id":3,"result":{"id":3}}
		{"id":2e0,"result":null}
	END
	[ "$(printf '%s\n' "${lines[@]:5}")" = '{"id":9223372036854775807,"result":6}
{"id":null, "error":{"code":-1,"message":"5"} }
{"result":[4],"id":1.0}
{"id":1.0,"result":{"id":3}}
{"id":"\u0031","result":null}' ]
}

@test "a response that answers nothing is dropped with one line" {
	run proxy <<-'END'
		{"id":77,"result":0}
		{"id":"1","result":0}
		{"id":null,"result":0}
		{"id":-1,"result":0}
		{"id":1,"result":"right"}
		{"id":1,"result":"again"}
		{"id":null,"error":{"code":-32700,"message":"what"}}
	END
	assert_output '{"id":0,"result":"right"}'
	[ "$(grep -c 'conductor: a response to no open request: dropped' err)" -eq 5 ]
	[ "$(grep -c 'conductor: an error response without a request' err)" -eq 1 ]
	[ "$(wc -l <err)" -eq 6 ]
}

@test "a cancellation names the id of its own hop, whether it comes bare or in an envelope" {
	run proxy <<-'END'
		{"id":"c","method":"a"}
		{"id":50,"method":"proxy/successor","params":{"method":"b"}}
		{"method":"$/cancel_request","params":{"requestId":"\u0063","_meta":{}}}
		{"method":"$/cancel_request","params":{"requestId":50}}
		{"method":"proxy/successor","params":{"method":"$/cancel_request","params":{"requestId":50.0}}}
		{"method":"proxy/successor","params":{"method":"$/cancel_request","params":{"requestId":"c"}}}
	END
	assert_output '{"id":2,"method":"proxy/successor","params":{"method":"a"}}
{"id":3,"method":"b"}
{"method":"$/cancel_request","params":{"requestId":2,"_meta":{}}}
{"method":"$/cancel_request","params":{"requestId":3}}
{"method":"$/cancel_request","params":{"requestId":3}}
{"method":"$/cancel_request","params":{"requestId":2}}'
}

@test "an elicitation for a request names that by the id of its own hop" {
	run proxy <<-'END'
		{"id":"c\u0031","method":"a"}
		{"id":50,"method":"proxy/successor","params":{"method":"elicitation/create","params":{"requestId":2,"mode":"form"}}}
		{"id":51,"method":"proxy/successor","params":{"method":"elicitation/create","params":{"requestId":7}}}
	END
	assert_output '{"id":2,"method":"proxy/successor","params":{"method":"a"}}
{"id":3,"method":"elicitation/create","params":{"requestId":"c\u0031","mode":"form"}}
{"id":4,"method":"elicitation/create","params":{"requestId":7}}'
}

@test "a cancellation of what is unknown, finished or nothing is ignored" {
	run proxy x:emit-cancel <<-'END'
		{"id":"c","method":"a"}
		{"id":2,"result":0}
		{"method":"$/cancel_request","params":{"requestId":"c"}}
		{"method":"$/cancel_request","params":{"requestId":2}}
		{"method":"$/cancel_request","params":{}}
		{"method":"$/cancel_request","params":[1]}
		{"method":"$/cancel_request"}
		{"method":"proxy/successor","params":{"method":"$/cancel_request"}}
		{"method":"x"}
	END
	assert_output '{"id":2,"method":"proxy/successor","params":{"method":"a"}}
{"id":"c","result":0}
{"method":"proxy/successor","params":{"method":"x"}}'
}

@test "a cancellation that is a request is like any other request: its id is of this hop" {
	run proxy <<-'END'
		{"id":"c","method":"$/cancel_request","params":{"requestId":"x"}}
		{"id":2,"result":0}
	END
	assert_output '{"id":2,"method":"proxy/successor","params":{"method":"$/cancel_request","params":{"requestId":"x"}}}
{"id":"c","result":0}'
}

@test "malformed envelopes are refused with -32602, not sent to the wrong place" {
	run proxy <<-'END'
		{"id":1,"method":"proxy/successor","params":{"method":"a","peer":"p"}}
		{"id":"two","method":"_proxy/successor"}
		{"id":3,"method":"proxy/successor","params":{"method":"a","method":"b"}}
		{"method":"proxy/successor","params":[]}
	END
	assert_output '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"an envelope for a peer: there is only one successor"}}
{"jsonrpc":"2.0","id":"two","error":{"code":-32602,"message":"an envelope without params"}}
{"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"an envelope with a member twice"}}'
	[ "$(grep -c 'refused' err)" -eq 4 ]
}

@test "noise, blank lines and carriage returns" {
	printf 'banner\n\n{"method":"a"}\r\n42\n{"method":"proxy/successor","params":{"method":"b"}}\r\n{"method":"torn"}' >in
	proxy <in >out
	printf '{"method":"proxy/successor","params":{"method":"a"}}\r\n{"method":"b"}\r\n{"method":"proxy/successor","params":{"method":"torn"}}\n' >want
	cmp want out
	[ "$(grep -c 'not a message' err)" -eq 2 ]
}

@test "a long line is refused with -32600 and a null id" {
	{ printf '{"method":"'; head -c 5000 /dev/zero | tr '\0' x; printf '"}\n{"method":"a"}\n'; } >in
	FILTER_LIMIT=1000 proxy <in >out
	[ "$(cat out)" = '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"line too long"}}
{"method":"proxy/successor","params":{"method":"a"}}' ]
}

@test "what a filter drops, edits, responds to, sends and asks goes to the right side" {
	run proxy x:drop e:edit q:answer r:refuse k:ask-back <<-'END'
		{"method":"x"}
		{"method":"proxy/successor","params":{"method":"x"}}
		{"method":"e","params":{"text":"old"}}
		{"method":"proxy/successor","params":{"method":"e","params":{"text":"old"}}}
		{"id":"d","method":"q"}
		{"id":"u","method":"proxy/successor","params":{"method":"r"}}
		{"id":4,"method":"proxy/successor","params":{"method":"k"}}
		{"id":3,"result":"own"}
		{"id":4,"result":"other"}
	END
	assert_output '{"method":"proxy/successor","params":{"method":"e","params":{"text":"edited"}}}
{"method":"e","params":{"text":"edited"}}
{"jsonrpc":"2.0","id":"d","result":{"by":"filter"}}
{"jsonrpc":"2.0","id":"u","error":{"code":-32603,"message":"refused"}}
{"jsonrpc":"2.0","id":3,"method":"proxy/successor","params":{"method":"test/ask","params":{"q":1}}}
{"id":4,"method":"k"}
{"jsonrpc":"2.0","id":6,"method":"test/ask","params":{"q":1}}
{"id":4,"result":"other"}'
}

@test "a request that a filter made of a notification has its response" {
	run proxy x:give-id <<-'END'
		{"method":"x"}
		{"id":2,"result":0}
	END
	assert_output '{"method":"proxy/successor","params":{"method":"x"},"id":2}
{"id":"given","result":0}'
}

@test "held messages go on through the envelope; one that is held has no id there yet" {
	run proxy x:hold <<-'END'
		{"id":"h","method":"x"}
		{"method":"$/cancel_request","params":{"requestId":"h"}}
		{"id":"a","method":"a"}
		{"method":"go"}
		{"id":3,"result":"h"}
		{"id":2,"result":"a"}
	END
	assert_output '{"id":2,"method":"proxy/successor","params":{"method":"a"}}
{"id":3,"method":"proxy/successor","params":{"method":"x"}}
{"method":"proxy/successor","params":{"method":"go"}}
{"id":"h","result":"h"}
{"id":"a","result":"a"}'
}

@test "a thousand requests at once from each side, with the same ids, answered in another order" {
	{
		seq 1000 | sed 's/.*/{"id":&,"method":"a"}\n{"id":&,"method":"proxy\/successor","params":{"method":"b"}}/'
		seq 2001 -1 2 | sed 's/.*/{"id":&,"result":"hop &"}/'
	} >in
	proxy <in >out
	[ "$(wc -l <out)" -eq 4000 ]
	# Hops 2, 4, ... are the client's requests 1, 2, ...; 3, 5, ... the successor's.
	seq 2001 -1 2 | awk '{ printf "{\"id\":%d,\"result\":\"hop %d\"}\n", int($1 / 2), $1 }' >want
	tail -n 2000 out | diff - want
}

@test "real sessions pass into envelopes with their methods and params" {
	fixture client >down
		proxy <down >out
	jq -c 'if .method == "proxy/successor" then .params.method else empty end' out >methods
	jq -c '.method // empty' down >want
	diff want methods
	jq -c '.params.params' out | grep -v '^null$' >params
	jq -c '.params // empty' down >want
	diff want params
}

@test "the conductor's end is the end" {
	run rulefilter <<<'{"id":0,"method":"proxy/initialize"}'
	assert_success
	run sockpair -1 rulefilter <<<'{"id":0,"method":"proxy/initialize"}'
	assert_success
	assert_output '{"id":1,"method":"proxy/successor","params":{"method":"initialize"}}'
}

@test "a filter's last messages are sent at the end" {
	run env FILTER_LAST=1 rulefilter <<<'{"id":0,"method":"proxy/initialize"}'
	assert_output '{"id":1,"method":"proxy/successor","params":{"method":"initialize"}}
{"jsonrpc":"2.0","method":"proxy/successor","params":{"method":"test/last"}}
{"jsonrpc":"2.0","method":"test/last"}'
}

@test "a cancel of a request whose answer is held is shown, and is discarded" {
	unset FILTER_QUIET
	run proxy x:hold-response <<-'END'
		{"id":"c\u0031","method":"x"}
		{"id":2,"result":0}
		{"method":"$/cancel_request","params":{"requestId":"other"}}
		{"method":"$/cancel_request","params":{"requestId":"c1"}}
		{"method":"go"}
	END
	assert_output '{"id":2,"method":"proxy/successor","params":{"method":"x"}}
{"id":"c\u0031","result":0}
{"method":"proxy/successor","params":{"method":"go"}}'
	[ "$(grep -c 'down client notification "$/cancel_request"' err)" -eq 1 ]
}
