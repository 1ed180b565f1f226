#!/usr/bin/env bats
# The frame: what nobody asked to change leaves as it came, whichever way the filter meets the stream.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load frame
	lib_setup
	export FILTER_QUIET=1
}

# What is noise to a strict reader, between messages, with every line ending.
write_noise() {
	printf 'Welcome to the agent!\n\n\r\n{"method":"a"}\r\n  {"method" : "b"}  \n42\n[]\n{"id":1}\n'
	printf '{"method":"c","method":"d"}\n\033[31mred\033[0m\n\xff\xfe\n{"id":1.5,"method":"e"}\n{"method":"torn"}'
}

@test "the lines of real sessions pass byte for byte, both ways" {
	fixture client >down
	fixture agent >up
	[ "$(wc -l <down)" -gt 20 ]
	for way in "${WAYS[@]}"; do
		takes_then_sends "$way" <down >out
		cmp down got
		cmp up out
	done
}

@test "with a filter that edits, the messages it leaves alone pass byte for byte" {
	fixture client >down
	fixture agent >up
	for way in "${WAYS[@]}"; do
		takes_then_sends "$way" none:edit <down >out
		cmp down got
		cmp up out
	done
}

@test "both directions at once: an echo of real sessions" {
	fixture client >all
	fixture agent >>all
	for way in "${WAYS[@]}"; do
		filter "$way" -- cat <all >out
		cmp all out
	done
}

@test "a one-way pipe passes byte for byte" {
	fixture client >all
	fixture agent >>all
	rulefilter <all >out
	cmp all out
	rulefilter <all | cat >out
	cmp all out
	sockpair rulefilter <all >out
	cmp all out
	sockpair -1 rulefilter <all >out
	cmp all out
}

@test "a watching filter passes noise, blank lines, carriage returns and a torn last line" {
	write_noise >down
	write_noise >up
	for way in "${WAYS[@]}"; do
		takes_then_sends "$way" <down >out 2>err
		cmp down got
		cmp up out
		[ -z "$(said)" ]
	done
	rulefilter <down >out
	cmp down out
}

# bats test_tags=slow
@test "every byte, and every truncation of a message, passes a watching filter" {
	line='{"jsonrpc":"2.0","id":"\u0031","method":"m","params":[1.50,"\ud83d\ude00"]}'
	for ((i = 0; i <= ${#line}; i++)); do printf '%s\n' "${line:0:i}"; done >all
	for ((i = 0; i < 256; i++)); do printf "{\"method\":\"\\x$(printf %02x $i)\"}\n"; done >>all
	rulefilter <all >out
	cmp all out
}

@test "noise does not pass an editing filter: it goes to stderr with a line that says where it came from" {
	write_noise >down
	write_noise >up
	printf '{"method":"a"}\r\n  {"method" : "b"}  \n{"method":"torn"}' >want
	for way in "${WAYS[@]}"; do
		takes_then_sends "$way" none:edit <down >out 2>err
		cmp want got
		cmp want <(sed '/"error":{"code":-32600/d' out)
		[ "$(grep -c '^rulefilter: client: line ' err)" -eq 8 ]
		[ "$(grep -c '^rulefilter: agent: line ' err)" -eq 8 ]
		grep -qxF 'rulefilter: client: line 1: not a message at byte 1: expected a value: Welcome to the agent!' err
		grep -qF 'rulefilter: agent: line 10: not a message at byte 1: expected a value: red' err
	done
}

@test "--clean makes a watching filter divert noise, and nothing else" {
	write_noise >down
	printf '{"method":"a"}\r\n  {"method" : "b"}  \n{"method":"torn"}' >want
	FILTER_CLEAN=1 rulefilter <down >out 2>err
	cmp want out
	[ "$(grep -c '^rulefilter: standard input: line ' err)" -eq 8 ]
}

@test "a filter learns of noise and of each side's end" {
	unset FILTER_QUIET
	printf '{"method":"a"}\nhello' >down
	printf 'hi\n{"method":"b"}\n' >up
	takes_then_sends wrap <down >out 2>err
	grep -qx 'down client notification "a" -' err
	grep -qx 'event noise client torn hello' err
	grep -qx 'event eof client torn' err
	grep -qx 'event noise agent hi' err
	grep -qx 'event eof agent' err
	[ "$(tail -n 1 err)" = 'event exit agent' ]
}

# --- lines beyond the limit ---

long_line() {
	printf '{"method":"'
	head -c "$1" /dev/zero | tr '\0' x
	printf '"}'
}

@test "a line beyond the limit passes a watching filter, unread, with one line that says so" {
	{ echo '{"method":"a"}'; long_line 3000000; printf '\n{"method":"b"}\n'; } >down
	cp down up
	for way in "${WAYS[@]}"; do
		FILTER_LIMIT=100k takes_then_sends "$way" <down >out 2>err
		cmp down got
		cmp up out
		[ "$(said)" = "rulefilter: client: line 2: longer than 102400 bytes: passed unread
rulefilter: agent: line 2: longer than 102400 bytes: passed unread" ]
	done
}

@test "the limit is exact" {
	long_line 87 >line
	[ "$(wc -c <line)" -eq 100 ]
	echo >>line
	FILTER_LIMIT=100 rulefilter none:edit <line >out
	cmp line out
	FILTER_LIMIT=99 rulefilter none:edit <line >out 2>err
	[ ! -s out ]
	[ "$(said)" = 'rulefilter: standard input: line 1: longer than 99 bytes: dropped' ]
}

@test "an editing filter refuses a line beyond the limit: its sender gets -32600 with a null id" {
	{ echo '{"method":"a"}'; long_line 300000; printf '\n{"method":"b"}\n'; } >down
	{ long_line 300000; printf '\n{"method":"c"}\n'; } >up
	refusal='{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"line too long"}}'
	for way in "${WAYS[@]}"; do
		: >out
		# The client stays until all has come that it waits for.
		{ cat down; wait_for grep -q '"c"' out; } |
			FILTER_LIMIT=100k filter "$way" none:edit -- sh -c 'cat up; cat >got' >out 2>err
		[ "$(grep -cxF "$refusal" out)" -eq 1 ]
		[ "$(grep -cxF "$refusal" got)" -eq 1 ]
		[ "$(grep -vxF "$refusal" out)" = '{"method":"c"}' ]
		[ "$(grep -vxF "$refusal" got)" = '{"method":"a"}
{"method":"b"}' ]
	done
}

@test "a request beyond the limit gets its error under its id, also where the id comes last" {
	{ printf '{"method":"m","params":'; long_line 300000; printf ',"id":"x7"}\n'; } >down
	for way in "${WAYS[@]}"; do
		{ cat down; wait_for grep -q x7 out; } |
			FILTER_LIMIT=100k filter "$way" none:edit -- sh -c 'cat >got' >out 2>err
		[ "$(cat out)" = '{"jsonrpc":"2.0","id":"x7","error":{"code":-32600,"message":"line too long"}}' ]
	done
}

@test "a broken response may spell the members that it does not use: its request gets the error, and not the agent" {
	{ echo '{"id":7,"method":"m"}'; wait_for grep -q '"id":7' out; } |
		filter wrap none:edit -- sh -c 'read -r line; echo "{\"id\":7,\"method\":null,\"params\":null,\"result\":{},\"error\":null}"; cat >got' >out 2>err
	[ "$(cat out)" = '{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"the response was not valid and could not be forwarded"}}' ]
	[ ! -s got ]
}

@test "--clean discards a line beyond the limit as it does noise: no reply can land inside one that passes" {
	{ echo '{"method":"a"}'; long_line 300000 | sed 's/}$/,"id":"x7"}/'; printf '\n{"method":"b"}\n'; } >down
	FILTER_CLEAN=1 FILTER_LIMIT=100k rulefilter <down >out 2>err
	[ "$(cat out)" = $'{"method":"a"}\n{"method":"b"}' ]
	[ "$(said)" = 'rulefilter: standard input: line 2: longer than 102400 bytes: dropped' ]
}

@test "a filter that sends messages of its own never splits a long line with one" {
	{ long_line 3000000; printf '\n{"method":"x"}\n'; } >down
	FILTER_LIMIT=100k FILTER_NEEDS=answer filter wrap -- sh -c 'cat >got' <down >out 2>err
	[ "$(cat got)" = '{"method":"x"}' ]
}

@test "a long line that ends without a newline passes, and its end is reported as torn" {
	unset FILTER_QUIET
	long_line 300000 >down
	FILTER_LIMIT=100k rulefilter <down >out 2>err
	cmp down out
	grep -qx 'event eof unknown torn' err
}

# --- which way ---

@test "stdin with messages is a one-way pipe; a filter that needs both directions refuses it with status 2" {
	run --separate-stderr env FILTER_NEEDS=answer rulefilter <<<'{"method":"a"}'
	assert_failure 2
	assert_output ''
	[[ $stderr == *'rulefilter: a one-way pipe is not enough'* ]]
	[[ $stderr == *'acp-conduct -f'* ]]
	run env FILTER_NEEDS=answer rulefilter </dev/null
	assert_failure 2
	run env FILTER_NEEDS=answer FILTER_WAY=pipe rulefilter </dev/null
	assert_failure 2
}

@test "proxy/initialize as the first message makes it a proxy, after noise and blank lines" {
	for name in proxy/initialize _proxy/initialize; do
		printf 'banner\n\n\r\n42\n{"id":0,"method":"%s","params":{}}\n' "$name" >down
		rulefilter <down >out 2>err
		[ "$(cat out)" = '{"id":1,"method":"'"${name%initialize}"'successor","params":{"method":"initialize","params":{}}}' ]
		grep -q 'line 1: not a message at byte 1: expected a value: banner' err
	done
	for first in '{"method":"proxy/initialize"}' '{"id":1,"result":{}}'; do
		printf '%s\n{"id":0,"method":"proxy/initialize"}\n' "$first" >down
		rulefilter <down >out
		cmp down out
	done
}

@test "noise alone is a one-way pipe" {
	printf 'a\n\nb' >down
	rulefilter <down >out
	cmp down out
	rulefilter </dev/null >out
	[ ! -s out ]
	for ((i = 0; i < 200; i++)); do echo "line $i"; done >down
	rulefilter <down >out
	cmp down out
}

@test "descriptors 6 and 7 make a link only with PROTO=ACP" {
	echo '{"method":"a"}' >down
	: >up
	rulefilter <down >out 6<up 7>far
	cmp down out
	PROTO=TCP rulefilter <down >out 6<up 7>far
	cmp down out
	[ ! -s far ]
	PROTO=ACP rulefilter <down >out 7>far
	cmp down out
	PROTO=ACP FILTER_WAY=pipe rulefilter <down >out 6<up 7>far
	cmp down out
	[ ! -s far ]
	run env FILTER_WAY=link rulefilter </dev/null 6<&- 7>&-
	assert_failure 2
}

@test "what a wrapped agent gets is clean: no stray descriptors, no PROTO, default signals, its own group" {
	cat >look <<-'END'
		#!/bin/sh
		ls /proc/self/fd | tr '\n' ' '
		# Where make has started us, the C library's own signals 32 and 33 stay ignored.
		grep -E '^Sig(Blk|Ign)' /proc/self/status | sed 's/0000000180000000$//' | tr -d '\t0\n'
		echo " PROTO=${PROTO-none}"
		[ "$(cut -d' ' -f5 /proc/$$/stat)" = "$$" ] && echo own group
	END
	chmod +x look
	PROTO=ACP rulefilter -- ./look <&- >out 5</dev/null 9>&1
	[ "$(sed -n 1p out)" = '0 1 2 3 SigBlk:SigIgn: PROTO=none' ]
	[ "$(sed -n 2p out)" = 'own group' ]
}

@test "where stdin, stdout or stderr is closed no other file lands, and what cannot be written is reported" {
	echo '{"method":"a"}' >down
	run bash -c 'rulefilter <&-'
	assert_success
	run bash -c 'rulefilter <down >&-'
	assert_failure 125
	assert_output 'rulefilter: writing to standard output: Bad file descriptor'
	run bash -c 'rulefilter -- cat <down >&-'
	assert_failure 125
	assert_output 'rulefilter: writing to the client: Bad file descriptor'
	run bash -c 'rulefilter </dev/null >&-'
	assert_success
	run bash -c 'rulefilter -- cat <down 2>&-'
	assert_output '{"method":"a"}'
	run bash -c 'rulefilter -- sh -c "echo up >&2; cat" <&- >&- 2>&-'
	assert_success
}

@test "unreadable input is reported, and the status says so" {
	run rulefilter </
	assert_failure 125
	assert_output --partial 'Is a directory'
}

@test "a full disk is reported, and the status says so" {
	run --separate-stderr bash -c 'echo "{\"method\":\"a\"}" | rulefilter >/dev/full'
	assert_failure 125
	[[ $stderr == *'No space left on device'* ]]
}

@test "descriptors keep their flags: O_NONBLOCK is never set on what is inherited" {
	exec 5< <(fixture client)
	rulefilter <&5 >out
	[ $(($(sed -n 's/^flags:\t//p' /proc/$$/fdinfo/5) & 04000)) -eq 0 ]
	cmp out <(fixture client)
}

# --- much ---

# bats test_tags=slow
@test "memory stays flat at 200 MB of stream" {
	fixture agent >some
	for ((i = 0; i < 12; i++)); do cat some some >twice; mv twice some; [ "$(stat -c %s some)" -lt 50000000 ] || break; done
	size=$(stat -c %s some)
	FILTER_GRACE=10m FILTER_PEAK=peak filter wrap -- sh -c 'cat >/dev/null; cat some some some some' </dev/null | wc -c >count
	[ "$(cat count)" -eq $((4 * size)) ]
	[ -n "${SAN_BUILD-}" ] || [[ $B == *san* ]] || [ "$(cat peak)" -lt 8192 ]
}
