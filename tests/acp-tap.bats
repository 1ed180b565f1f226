#!/usr/bin/env bats
# acp-tap: what passes, in each way of meeting the stream, and the command line.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
	# Three messages, noise, a blank line, a CR, white space, and no newline at the end.
	printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}' \
		'plain words' '' ' { "jsonrpc" : "2.0" , "method":"session/update" } ' >odd
	printf '{"jsonrpc":"2.0","id":1,"result":{"n":1.50}}\r\n\xff\xfe\n' >>odd
	printf '{"jsonrpc":"2.0","method":"last"}' >>odd
}

teardown() {
	end_left_over
}

# --- what passes

@test "a pipe: every byte goes on, and the recording has them all" {
	acp-tap -o s.rec <odd >out
	cmp odd out
	acp-tap -f raw s.rec >again
	cmp <(cat odd && echo) again
}

@test "a pipe: the fixtures go on byte for byte and come back from the recording" {
	for f in "$FIXTURES"/*.jsonl; do
		jq -r 'select(.line).line' "$f" >sent
		acp-tap -o s.rec <sent >out
		cmp sent out
		acp-tap -f raw s.rec >again
		cmp sent again
	done
}

@test "a command is wrapped: both sides are recorded, and its standard error, and its status is ours" {
	run --separate-stderr acp-tap -o s.rec -- sh -c 'read -r line; echo "$line"; echo words >&2; exit 7' <odd
	assert_equal "$status" 7
	assert_output "$(head -n 1 odd)"
	assert_equal "$stderr" words
	run jq -r 'select(.t) | [.from // "", .msg.method // "", .stderr // "", .event // "", .status // ""] | join(" ")' s.rec
	assert_line --index 0 'client initialize   '
	assert_line 'agent initialize   '
	assert_line 'agent  words  '
	assert_line '   exit 7'
	run jq -c .command s.rec
	assert_line --index 0 "[\"sh\",\"-c\",\"read -r line; echo \\\"\$line\\\"; echo words >&2; exit 7\"]"
}

@test "a restart of the agent that is reported in the stream is an event of the recording, once" {
	restarted='{"jsonrpc":"2.0","method":"_acp-revive/restarted","params":{"restarts":1,"why":"killed by \"KILL\""}}'
	acp-tap -o s.rec -- echo "$restarted" >out </dev/null
	assert_equal "$(<out)" "$restarted"
	run jq -r 'select(.event == "restart" or .msg) | [.event, .why, .msg.method] | join(" ")' s.rec
	assert_output "restart killed by \"KILL\" "$'\n''  _acp-revive/restarted'
	# What is read has it already; --redact leaves the reason out.
	acp-tap -f record s.rec >again
	cmp s.rec again
	run jq -r 'select(.event == "restart") | keys | join(" ")' <(acp-tap -f record --redact s.rec)
	assert_output 'event t'
}

@test "a command is wrapped: odd bytes go through in both directions" {
	acp-tap -o s.rec -- cat <odd >out
	cmp odd out
	acp-tap -f raw --from client s.rec | cmp - <(cat odd && echo)
	acp-tap -f raw --from agent s.rec | cmp - <(cat odd && echo)
}

@test "wraps nest" {
	acp-tap -o outer.rec -- acp-tap -o inner.rec -- cat <odd >out
	cmp odd out
	cmp <(acp-tap -f raw --from agent outer.rec) <(acp-tap -f raw --from agent inner.rec)
}

@test "a command that ends by a signal: 128+N, and the recording says which" {
	run acp-tap -o s.rec -- sh -c 'kill -KILL $$' </dev/null
	assert_failure 137
	run tail -n 1 s.rec
	assert_output --regexp '"event":"exit","signal":"KILL"}$'
}

@test "a command that is not there: 127; one that cannot be executed: 126" {
	run -127 acp-tap -o s.rec -- ./nothing-here </dev/null
	assert_output 'acp-tap: ./nothing-here: command not found'
	touch plain
	run acp-tap -o s.rec -- ./plain </dev/null
	assert_failure 126
}

@test "a link: descriptors 6 and 7 face the agent, and PROTO is not passed on" {
	fixture client "$FIXTURES/write-with-permission.jsonl" >down
	fixture agent "$FIXTURES/write-with-permission.jsonl" >up
	PROTO=ACP acp-tap -o s.rec <down >up.out 6<up 7>down.out
	cmp down down.out
	cmp up up.out
	acp-tap -f raw --from client s.rec | cmp - down
	acp-tap -f raw --from agent s.rec | cmp - up
}

@test "sockets: every byte goes on, in a pipe, around a command and in a link" {
	sockpair acp-tap -o s.rec <odd >out
	cmp odd out
	sockpair -1 acp-tap -o s.rec -- cat <odd >out
	cmp odd out
	link -s acp-tap -o s.rec -- cat <odd >out
	cmp odd out
	acp-tap -f raw --from agent s.rec | cmp - <(cat odd && echo)
}

@test "without PROTO=ACP descriptors 6 and 7 are no link" {
	acp-tap -o s.rec <odd >out 6</dev/null 7>other
	cmp odd out
	[[ ! -s other ]]
}

@test "--way link needs its descriptors" {
	run acp-tap --way link 6<&- 7>&- </dev/null
	assert_failure 2
	assert_output 'acp-tap: descriptors 6 and 7 are not open: no link'
}

@test "a proxy: envelopes come off before they are recorded, and are on again when they leave" {
	cat >in <<-'END'
		{"jsonrpc":"2.0","id":5,"method":"proxy/initialize","params":{"protocolVersion":1}}
		{"jsonrpc":"2.0","method":"proxy/successor","params":{"method":"session/update","params":{"sessionId":"s"}}}
		{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}
	END
	acp-tap -o s.rec <in >out
	run jq -c '[.method, .params.method // null]' out
	assert_line '["proxy/successor","initialize"]'
	assert_line '["session/update",null]'
	assert_line '["proxy/successor","session/cancel"]'
	run jq -c 'select(.msg) | [.from, .msg.method]' s.rec
	assert_line '["agent","session/update"]'
	assert_line '["client","session/cancel"]'
	refute_output --partial successor
}

@test "noise before a proxy's first message does not count" {
	printf '%s\n' '' banner '{"jsonrpc":"2.0","id":5,"method":"_proxy/initialize","params":{}}' >in
	acp-tap -o s.rec <in >out 2>/dev/null
	run jq -r .method out
	assert_output _proxy/successor
}

@test "--way pipe: what begins like a proxy chain is a stream like others" {
	echo '{"jsonrpc":"2.0","id":5,"method":"proxy/initialize","params":{}}' >in
	acp-tap --way pipe -o s.rec <in >out
	cmp in out
}

@test "--clean: noise goes to standard error, messages go on" {
	acp-tap --clean -o s.rec <odd >out 2>err
	run grep -c . out
	assert_output 4
	run grep -c 'plain words' err
	assert_output 1
	run jq -r 'select(has("noise")).noise' s.rec
	assert_line 'plain words'
}

@test "--max-line: a longer line passes unread and is recorded as lost" {
	{
		echo '{"jsonrpc":"2.0","method":"short"}'
		printf '{"jsonrpc":"2.0","method":"long","params":"%0300000d"}\n' 0
		echo '{"jsonrpc":"2.0","method":"short"}'
	} >in
	acp-tap --max-line 100K -o s.rec <in >out 2>err
	cmp in out
	run cat err
	assert_output 'acp-tap: standard input: line 2: longer than 102400 bytes: passed unread'
	run jq -r 'select(.t) | .msg.method // "\(.event) \(.count // "") \(.why // "")"' s.rec
	assert_line --index 0 short
	assert_line --index 1 'lost 1 a line longer than 102400 bytes (--max-line)'
	assert_line --index 2 short
}

@test "--grace: an agent that does not end is ended" {
	run acp-tap --grace 50ms -o s.rec -- sh -c 'trap "" HUP; while :; do sleep 1; done' </dev/null
	assert_success
	assert_output --partial 'SIGTERM'
}

# --- the command line

@test "--help and --version go to standard output" {
	run --separate-stderr acp-tap --help
	assert_success
	assert_line --index 0 --partial 'usage: acp-tap'
	assert_equal "$stderr" ''
	run acp-tap -V
	assert_output --regexp '^acp-tap [0-9]+\.[0-9]+\.[0-9]+$'
}

# refused MESSAGE ARG...: status 2 and this one line.
refused() {
	local message=$1
	shift
	run acp-tap "$@" </dev/null
	assert_failure 2
	assert_output "acp-tap: $message"
}

@test "what cannot be meant is refused with one line and status 2" {
	touch x
	refused '--format nice: expected record, pretty, full, raw, trace, tsv or json' -f nice
	refused '--color red: expected auto, always or never' --color red
	refused '--count many: expected a whole number' -c many
	refused '--hop requires recordings or --attach' --hop 1
	refused '--append requires --output' -a
	refused '--output -: a file is required, because standard output carries the stream' -o -
	refused '--fold requires --format pretty' --fold -o y
	[[ ! -e y ]]
}

@test "a bad side, glob or jq program is refused" {
	run acp-tap --from me </dev/null
	assert_failure 2
	assert_output --partial 'acp-tap: --from me: '
	run acp-tap -w '.a |' </dev/null
	assert_failure 2
	assert_output --partial 'acp-tap: --where .a |: '
}

@test "an option that is not known is refused" {
	run acp-tap --nothing </dev/null
	assert_failure 2
	assert_output 'acp-tap: --nothing: no such option; try acp-tap --help'
}

@test "-- may be an option's argument" {
	acp-tap -o -- -f raw <odd >out
	cmp odd out
	[[ -s ./-- ]]
}

@test "every option has a long name" {
	acp-tap --output=s.rec --format=record --append --match='session/*' --where=true --from=client --count=9 <odd >out
	cmp odd out
}
