#!/usr/bin/env bats
# acp-fault: each fault, in each way, and what must hold whatever it does.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load fault
	lib_setup
}

teardown() {
	end_left_over
}

# --- selection and chance ---

@test "without a fault all passes, to the byte, noise and a torn last line too" {
	printf ' {"method" : "a\\u0041"}\r\nnoise\n\n[{"method":"b"},7]\n{"id":1.0,"result":1.50}' >down
	cp down up
	acp-fault <down | cmp - down
	both
	cmp down got
	cmp up out
	assert_equal "$(cat err)" ''
}

@test "the same seed does the same, the next another, to every fault" {
	numbered 500 >in
	all=(--drop 5% --duplicate 5% --reorder 5% --corrupt 5% --truncate 5% --noise 5%)
	acp-fault --seed 7 --report a "${all[@]}" <in >out.a
	acp-fault --seed 7 --report b "${all[@]}" <in >out.b
	acp-fault --seed 8 "${all[@]}" <in >out.c
	cmp out.a out.b
	# In the report all is the same but the times.
	diff <(jq -c 'del(.t)' a) <(jq -c 'del(.t)' b)
	assert_equal "$(jq -s 'map(.fault // empty) | unique | length' a)" 6
	run ! cmp -s out.a out.c
}

@test "a seed gives exact numbers, on every machine" {
	numbered 10000 >in
	acp-fault --seed 1 --report report --drop 10% --duplicate 10% --reorder 10% --corrupt 10% --truncate 10% --noise 10% <in |
		cksum >sum
	assert_equal "$(faults .fault | sort | uniq -c | tr -d '"' | tr -s ' \n' ' ')" \
		' 923 corrupt 979 drop 914 duplicate 1048 noise 805 reorder 938 truncate '
	assert_equal "$(cat sum)" '172857562 258498'
}

# bats test_tags=slow
@test "what is done to a message does not depend on the other faults that are asked for, nor on the other direction" {
	numbered 300 >down
	numbered 300 >up
	both --seed 3 --from client --drop 20% --report report
	faults .n >alone
	both --seed 3 --drop 20% --duplicate 50% --truncate 50% --noise 50% --report report
	faults 'select(.from == "client" and .fault == "drop") | .n' >among
	[ -s alone ]
	diff alone among
	# The lanes have dice of their own.
	faults 'select(.from == "agent" and .fault == "drop") | .n' >other
	run ! diff -q alone other
}

# bats test_tags=slow
@test "noise does not count: a banner before the messages changes nothing" {
	numbered 100 >in
	{ printf 'hello\n\n'; cat in; } >noisy
	acp-fault --seed 3 --drop 20% --report report <in >/dev/null
	faults .n >without
	acp-fault --seed 3 --drop 20% --report report <noisy >out
	faults .n | diff without -
	assert_equal "$(head -n 2 out)" $'hello'
}

@test "a seed is chosen and reported where chance plays a part, and only there" {
	numbered 50 >in
	run --separate-stderr acp-fault --drop 0.5 <in
	[[ $stderr =~ ^acp-fault:\ --seed\ ([0-9]+)\ repeats\ this\ run$ ]]
	first=$output
	run --separate-stderr acp-fault --seed "${BASH_REMATCH[1]}" --drop 0.5 <in
	assert_equal "$output" "$first"
	assert_equal "$stderr" ''
	run --separate-stderr acp-fault --delay 1ms --stall 1ms --exit-after 1000 <in
	assert_equal "$stderr" ''
	run --separate-stderr acp-fault --delay 2ms,1ms <in
	[[ $stderr == *--seed* ]]
}

# bats test_tags=slow
@test "only what is selected is hit: by method, kind, side, session and program" {
	cat >down <<-'END'
		{"id":1,"method":"session/prompt","params":{"sessionId":"A"}}
		{"id":2,"method":"session/prompt","params":{"sessionId":"B"}}
		{"id":3,"method":"session/new"}
	END
	cat >up <<-'END'
		{"method":"session/update","params":{"sessionId":"A","update":{"sessionUpdate":"plan"}}}
		{"id":1,"result":{"stopReason":"end_turn"}}
		{"id":2,"result":{"stopReason":"end_turn"}}
	END
	dropped() {
		both --drop 1 --report report "$@"
		faults '[.from, .n]' | tr '\n' ' '
	}
	assert_equal "$(dropped -m plan)" '["agent",1] '
	assert_equal "$(dropped -m session/prompt --from agent)" '["agent",2] ["agent",3] '
	assert_equal "$(dropped -m '!session/prompt')" '["client",3] ["agent",1] '
	assert_equal "$(dropped --session A --from client)" '["client",1] '
	assert_equal "$(dropped -w '.id == 2' --from client)" '["client",2] '
}

@test "a program that fails on messages selects none, and says so once" {
	numbered 3 >in
	run --separate-stderr acp-fault --drop 1 -w '.id | error("no")' <in
	assert_equal "$output" "$(cat in)"
	assert_equal "$stderr" $'acp-fault: --where: no\nacp-fault: no message is selected; there are: m'
}

# --- each fault ---

@test "--drop: a lost request is answered by nobody" {
	numbered 3 >down
	: >up
	both -w '.id == 2' --drop 1 --report report
	assert_equal "$(cat got)" $'{"id":1,"method":"m"}\n{"id":3,"method":"m"}'
	[ ! -s out ]
	run -0 jq -c 'del(.t)' report
	assert_line --index 1 '{"from":"client","n":2,"method":"m","id":2,"fault":"drop"}'
}

@test "--duplicate: twice, one after the other, also a torn last line" {
	printf '{"method":"a"}\r\n{"method":"b"}' | acp-fault --duplicate 1 >out
	printf '{"method":"a"}\r\n{"method":"a"}\r\n{"method":"b"}\n{"method":"b"}' | cmp - out
}

@test "--duplicate: a request comes twice with its id, and both its responses go back" {
	cat >agent <<-'END'
		while read -r line; do echo '{"id":1,"result":0}'; done
	END
	numbered 1 | acp-fault --from client --duplicate 1 -- sh agent >out
	assert_equal "$(cat out)" $'{"id":1,"result":0}\n{"id":1,"result":0}'
}

@test "--reorder: a message goes after the next; nothing is lost" {
	numbered 5 >in
	assert_equal "$(acp-fault --reorder 1 <in | jq .id | tr '\n' ' ')" '2 1 4 3 5 '
	acp-fault --reorder 1 --report report <in >/dev/null
	assert_equal "$(faults '[.n, .behind]' | tr '\n' ' ')" '[1,2] [3,4] [5,null] '
	numbered 1000 >in
	acp-fault --reorder 0.3 <in 2>/dev/null >out
	run ! cmp -s in out
	sort in | diff - <(sort out)
}

# bats test_tags=slow
@test "--reorder: each direction for itself; a torn last line is ended when another comes after it" {
	printf '{"method":"a"}\n{"method":"b"}' >down
	printf '{"method":"c"}\n{"method":"d"}\n' >up
	both --reorder 1
	printf '{"method":"b"}\n{"method":"a"}\n' | cmp - got
	printf '{"method":"d"}\n{"method":"c"}\n' | cmp - out
}

# bats test_tags=slow
@test "--reorder: noise does not overtake, and a line that nothing follows goes after a while" {
	printf '{"method":"a"}\nnoise\n{"method":"b"}\n' >in
	assert_equal "$(acp-fault --reorder 1 <in)" $'noise\n{"method":"b"}\n{"method":"a"}'
	mkfifo slow
	acp-fault --reorder 1,50ms --report report <slow >out &
	exec 8>slow
	head -n 1 in >&8
	wait_for test -s out
	exec 8>&-
	wait
	assert_equal "$(cat out)" '{"method":"a"}'
	assert_equal "$(faults .behind)" null
}

@test "--corrupt: one byte is another, the line stays one line" {
	local n
	n=$(sample 200 2000)
	numbered "$n" >in
	acp-fault --seed 5 --corrupt 1 --report report <in >out
	assert_equal "$(wc -lc <in)" "$(wc -lc <out)"
	assert_equal "$(cmp -l in out | wc -l)" "$n"
	# Where the report says, and what it says.
	while read -r byte was is; do
		printf '%d %o %o\n' "$byte" "$was" "$is"
	done < <(faults '"\(.byte) \(.was) \(.is)"' | tr -d '"') >told
	awk '{ print length($0) + 1 }' in >lengths
	paste -d ' ' told lengths | awk '{ print at + $1, $2, $3; at += $4 }' >want
	cmp -l in out | awk '{ print $1, $2, $3 }' | diff want -
}

@test "--truncate: the line is cut, its newline stays, the next is whole" {
	printf '%s\n' '{"id":1,"method":"x"}' '{"method":"y"}' >in
	acp-fault --seed 1 -m x --truncate 1 --report report <in >out
	kept=$(faults .kept)
	assert_equal "$(faults .of)" 21
	((kept > 0 && kept < 21))
	{ head -c "$kept" in; printf '\n{"method":"y"}\n'; } | cmp - out
	# Any place may be hit.
	seq 100 399 | sed 's/.*/{"id":&,"method":"m"}/' | acp-fault --truncate 1 --report report >/dev/null 2>&1
	assert_equal "$(faults .kept | sort -n | uniq -c | wc -l)" "$(faults '.of - 1' | head -n 1)"
}

@test "--noise: before it a line that is not a message, of every kind; messages stay whole" {
	numbered 500 >in
	acp-fault --seed 1 --noise 1 --report report <in >out
	assert_equal "$(faults .text | sort -u | wc -l)" 7
	acp-tap --clean -o /dev/null <out 2>/dev/null | cmp - in
	# What is reported is what stands there.
	faults .text | jq -r . | paste -d '\n' - in | cmp - out
}

@test "--delay: each is late, the order stays, and lines of one moment are late together" {
	numbered 50 >in
	took acp-fault --delay 200ms --report report <in >out
	cmp in out
	((elapsed >= 200000))
	# Not 50 times as late.
	((elapsed < 5000000))
	assert_equal "$(faults .for | sort -u)" 0.2
}

@test "--delay with jitter: no message overtakes, the reported times are within it" {
	numbered 200 >in
	acp-fault --seed 2 --delay 20ms,20ms --report report <in >out
	cmp in out
	run jq -n '[inputs | .for // empty] | [min >= 0, max <= 0.04, (unique | length > 150), length] ' -c report
	assert_output '[true,true,true,200]'
}

# bats test_tags=slow
@test "--delay: what comes later waits, noise too; the other direction does not" {
	printf '{"method":"slow"}\nnoise\n{"method":"fast"}\n' >down
	printf '{"method":"up"}\n' >up
	acp-fault -m slow --delay 300ms -- sh -c 'cat up; cat' <down >out
	assert_equal "$(cat out)" '{"method":"up"}
{"method":"slow"}
noise
{"method":"fast"}'
}

# bats test_tags=slow
@test "--delay: what waits at the end of input still goes out, whatever the grace" {
	numbered 3 >down
	# Were it the grace that counts, it would be killed 2 s after.
	acp-fault --delay 2500ms --grace 10ms -- sh -c 'trap "" TERM; cat >got' <down
	cmp down got
	# What the agent said last, too.
	acp-fault --delay 2500ms --grace 10ms -- sh -c 'trap "" TERM; cat down' </dev/null | cmp - down
}

# bats test_tags=slow
@test "--delay: a first signal is as if the client had left, a second ends all at once" {
	numbered 2 >in
	mkfifo slow
	acp-fault --from client --delay 300ms -- sh -c 'echo started; cat' <slow >out &
	pid=$!
	exec 8>slow
	cat in >&8
	wait_for test -s out
	kill -TERM "$pid"
	wait "$pid"
	# All that had been sent went its way.
	assert_equal "$(cat out)" "$(echo started; cat in)"
	exec 8>&-
	acp-fault --delay 1000s -- sh -c 'trap "" TERM; echo started >&2; cat; sleep 1000' <in 2>err &
	pid=$!
	wait_for grep -q started err
	# The first has no effect that could be seen; of two kinds that are sent at once the lower may come first.
	until ! kill -INT "$pid" 2>/dev/null; do sleep 0.01; done
	status=0
	wait "$pid" || status=$?
	assert_equal "$status" 130
	wait_for nobody_left
}

# bats test_tags=slow
@test "delayed lines that come due together do not stop an agent that writes as it reads" {
	numbered 30000 | sed 's/}$/,"pad":"'"$(printf '%0200d' 0)"'"}/' >down
	acp-fault --delay 50ms -- cat <down | cmp - down
}

# bats test_tags=slow
@test "--exit-after does not wait for ever for an agent that writes before it reads on" {
	numbered 30000 >down
	run -1 --separate-stderr bash -c 'acp-fault --exit-after 20000 -- cat <down >out'
}

# bats test_tags=slow
@test "--delay and --stall in a link, either way" {
	numbered 3 >down
	numbered 3 >up
	for fault in --delay --stall; do
		rm -f got
		link acp-fault "$fault" 100ms -- sh -c 'cat up; cat >got' <down >out
		cmp up out
		cmp down got
	done
}

# bats test_tags=slow
@test "--delay: what waits is bounded: the sender is held up instead" {
	# 40 MB that are all late.
	yes '{"method":"x","params":"0123456789012345678901234567890123456789"}' | head -n 600000 >in
	/usr/bin/env -i PATH="$PATH" ASAN_OPTIONS=detect_leaks=0 bash -c 'ulimit -v "$1"; exec acp-fault --delay 1ms' _ \
		"$([[ $B == */san ]] && echo unlimited || echo 60000)" <in | cmp - in
}

# bats test_tags=slow
@test "--stall: the direction stops before each, and is not read" {
	numbered 4 >in
	took acp-fault --stall 100ms --report report <in >out
	cmp in out
	((elapsed >= 400000))
	assert_equal "$(faults .for | sort -u)" 0.1
	# A writer is held up: more than pipes and buffers hold.
	mkfifo slow
	acp-fault -m m --stall 1s <slow | tail -c 5 >out &
	sh -c 'exec 3>slow; printf "{\"method\":\"m\"}\n" >&3; head -c 3000000 /dev/zero | tr "\0" "\n" >&3; date +%s%N >sent'
	wait
	[ -s out ]
}

# bats test_tags=slow
@test "--stall: what the client left behind still goes out, whatever the grace" {
	numbered 4 >in
	cat in | acp-fault --from client --stall 650ms --grace 10ms -- sh -c 'trap "" TERM; cat' >out
	cmp in out
}

# bats test_tags=slow
@test "--stall: a peer that dies meanwhile ends it" {
	numbered 1 >in
	run -0 acp-fault --stall 1000s -- sh -c 'exec <&-; true' <in
	# The client is gone, from both ends.
	acp-fault --from agent --stall 1000s --grace 100ms -- sh -c 'echo "{\"method\":\"x\"}"; cat' </dev/null | true
	wait_for nobody_left
}

@test "--exit-after: dies after the Nth message with status 1" {
	numbered 5 >in
	run -1 acp-fault --exit-after 3 --report report <in
	assert_output "$(head -n 3 in)"
	assert_equal "$(faults)" '[3,"exit"]'
	run -0 acp-fault --exit-after 6 <in
	assert_output "$(cat in)"
	run -1 acp-fault -w '.id == 4' --exit-after 1 <in
	assert_output "$(head -n 4 in)"
}

@test "--exit-after: the agent ends too, and all that it has started" {
	numbered 2 >in
	mkfifo slow
	exec 8<>slow
	# It ignores what can be ignored, and the client's end stays open.
	run -1 acp-fault --exit-after 2 -- sh -c 'trap "" TERM HUP PIPE; sleep 1000 & cat in; cat' <slow
	assert_output "$(cat in)"
	wait_for nobody_left
}

# bats test_tags=slow
@test "--exit-after: a message that is lost or late counts, and death waits for the late one" {
	numbered 3 >in
	run -1 acp-fault --exit-after 2 --drop 1 <in
	assert_output ''
	run -1 acp-fault --exit-after 2 --delay 50ms <in
	assert_output "$(head -n 2 in)"
}

# --- envelopes, limits ---

# The first messages of a proxy, and what is to come.
proxied() {
	printf '%s\n' '{"id":0,"method":"proxy/initialize"}' "$@"
}

# bats test_tags=slow
@test "in a proxy chain what is corrupt is inside the envelope" {
	proxied '{"method":"x","params":{"text":"some text to be hurt"}}' >in
	acp-fault <in >whole
	for seed in $(seq "$(sample 5 20)"); do
		acp-fault --seed "$seed" -m x --corrupt 1 --report report <in >out
		byte=$(faults .byte)
		assert_equal "$(cmp -l whole out | wc -l)" 1
		grep -qa '^{"method":"proxy/successor","params":' out
		# Behind the envelope's own beginning.
		((byte > $(printf '{"method":"proxy/successor","params":' | wc -c)))
	done
}

# bats test_tags=slow
@test "in a proxy chain: lost, doubled, reordered, delayed" {
	proxied '{"method":"x"}' '{"method":"proxy/successor","params":{"method":"x"}}' '{"method":"y"}' >in
	acp-fault -m x --drop 1 <in >out
	assert_equal "$(sed 1d out)" '{"method":"proxy/successor","params":{"method":"y"}}'
	acp-fault -m x --duplicate 1 --delay 10ms <in >out
	assert_equal "$(sed 1d out)" '{"method":"proxy/successor","params":{"method":"x"}}
{"method":"proxy/successor","params":{"method":"x"}}
{"method":"proxy/successor","params":{"method":"y"}}
{"method":"x"}
{"method":"x"}'
	acp-fault -m x --from client --reorder 1 <in >out
	assert_equal "$(sed 1d out)" '{"method":"x"}
{"method":"proxy/successor","params":{"method":"y"}}
{"method":"proxy/successor","params":{"method":"x"}}'
}

@test "in a link it does what it does around an agent" {
	numbered 200 >down
	numbered 200 >up
	both --seed 4 --drop 10% --duplicate 10% --reorder 10% --corrupt 10% --truncate 10% --noise 10%
	mv got wrapped.got
	mv out wrapped.out
	link acp-fault --seed 4 --drop 10% --duplicate 10% --reorder 10% --corrupt 10% --truncate 10% --noise 10% \
		-- sh -c 'cat >got; cat up' <down >out
	cmp got wrapped.got
	cmp out wrapped.out
}

# bats test_tags=slow
@test "faults nest: what the inner one has damaged passes the outer one" {
	printf '{"method":"a"}\n{"method":"b"}\n' >in
	acp-fault --from client -m b --duplicate 1 -- acp-fault --from client --seed 1 -m a --truncate 1 -- cat <in >out 2>err
	assert_equal "$(wc -l <out)" 3
	[[ '{"method":"a"}' == "$(head -n 1 out)"* ]]
	assert_equal "$(cat err)" ''
}

@test "a line beyond the limit is refused, in one line" {
	{ head -c 3000 /dev/zero | tr '\0' x; printf '\n{"method":"x"}\n'; } >in
	run --separate-stderr acp-fault --max-line 1K --duplicate 1 <in
	assert_output $'{"method":"x"}\n{"method":"x"}'
	[[ $stderr == *'line 1: longer than 1024 bytes: dropped'* ]]
}

# bats test_tags=slow
@test "10 MB in one line: cut, doubled, late" {
	{ printf '{"method":"x","params":"'; head -c 10000000 /dev/zero | tr '\0' x; printf '"}\n'; } >in
	acp-fault --duplicate 1 --delay 1ms <in | cmp - <(cat in in)
	acp-fault --seed 1 --truncate 1 --report report <in >out
	assert_equal "$(wc -c <out)" "$(($(faults .kept) + 1))"
}

# --- report and usage ---

@test "the report: private, its first line has the seed, a record for each fault in the order in which they are done" {
	numbered 1 | acp-fault --seed 9 --corrupt 1 --truncate 1 --duplicate 1 --noise 1 --delay 1ms --stall 2ms --exit-after 1 \
		--report report >out || true
	assert_equal "$(stat -c %a report)" 600
	assert_equal "$(head -n 1 report)" '{"acp-fault":1,"seed":9}'
	assert_equal "$(faults .fault | tr '\n' ' ')" '"noise" "corrupt" "truncate" "duplicate" "delay" "stall" "exit" '
	jq -e 'select(.fault) | (.t | type == "number") and .from == "unknown" and .n == 1 and .method == "m" and .id == 1' report >yes
	assert_equal "$(sort -u yes)" true
}

@test "a report that cannot be written stops no session, and is reported" {
	run -125 acp-fault --report /nowhere/report </dev/null
	assert_output 'acp-fault: /nowhere/report: No such file or directory'
	numbered 3 >in
	run --separate-stderr -125 acp-fault --drop 1 --report /dev/full <in
	[[ $stderr == *'acp-fault: /dev/full: No space left on device: records are lost, the session goes on'* ]]
}

@test "bad usage: exit 2 and a line that says what, before the agent is started" {
	bad '--drop 1.5: expected a probability, such as 0.1 or 10%' --drop 1.5
	bad '--corrupt x: expected a probability, such as 0.1 or 10%' --corrupt x
	bad '--reorder 1,x: expected a probability, and a duration after a comma, such as 10%,500ms' --reorder 1,x
	bad '--delay x: expected a duration, or two with a comma between, such as 100ms,20ms' --delay x
	bad '--delay 1s,: expected a duration, or two with a comma between, such as 100ms,20ms' --delay 1s,
	bad '--delay 1s,2s: more jitter than delay' --delay 1s,2s
	bad '--stall x: expected a duration, such as 500ms, 5s or 2m' --stall x
	bad '--exit-after 0: expected a number, at least 1' --exit-after 0
	bad '--seed -1: expected a whole number' --seed -1
	bad '--from me: expected client or agent' --from me
	bad '--report -: a file is required, because standard output carries the stream' --report -
	run -2 acp-fault -w '.a |' -- touch started
	[ ! -e started ]
	run -2 acp-fault sleep 1
	assert_output 'acp-fault: sleep: a command goes after --'
	run -127 acp-fault -- no-such-command
}

@test "--help names every option" {
	run -0 acp-fault --help
	for option in match where from session delay drop duplicate reorder corrupt truncate stall noise exit-after seed report \
		split bandwidth linger close-after torn exit-status exit-signal error hang wrong-id id-type stale-session overtake pad \
		from-match every once at plan; do
		assert_output --partial "--$option"
	done
}

@test "a seed of 64 bits is taken and reported exactly" {
	echo '{"jsonrpc":"2.0","id":1,"method":"a"}' >in
	acp-fault --seed 18446744073709551615 --drop 50% --report report <in >out
	grep -F '"seed":18446744073709551615}' report
}
