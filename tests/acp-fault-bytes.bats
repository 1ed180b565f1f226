#!/usr/bin/env bats
# acp-fault: how a line leaves, and how a direction ends.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load fault
	lib_setup
}

teardown() {
	end_left_over
}

# pieces COMMAND...: how many bytes each of its writes has, on one line; all of them are in out. Its output is a socket that keeps
# writes apart.
pieces() {
	python3 -c 'if True:
		import socket, subprocess, sys
		ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
		subprocess.Popen(sys.argv[1:], stdin=open("in"), stdout=its)
		its.close()
		with open("out", "wb") as out:
			while piece := ours.recv(1 << 16):
				out.write(piece)
				print(len(piece), end=" ")
	' "$@"
}

# --- --split ---

@test "--split: each write has N bytes, inside of characters and escapes too; the bytes are the same" {
	printf '%s\n' '{"method":"é\u00e9\n€"}' '{"method":"x"}' >in
	assert_equal "$(pieces acp-fault --split 1 --report report)" "$(tr -c x x <in | sed 's/x/1 /g')"
	cmp in out
	assert_equal "$(faults '[.n, .fault, .bytes, .pause]' | tr '\n' ' ')" '[1,"split",1,0.001] [2,"split",1,0.001] '
	assert_equal "$(pieces acp-fault --split 10,2ms)" '10 10 7 10 5 '
	cmp in out
}

@test "--split: there is a pause between two pieces, and nothing of the direction comes between" {
	printf '%s\n' '{"method":"x"}' noise '{"method":"y"}' >in
	took acp-fault -m x --split 1,20ms --report report <in >out
	cmp in out
	((elapsed >= 280000))
	assert_equal "$(faults | tr '\n' ' ')" '[1,"split"] '
}

@test "--split: a line that comes in the pause after the last piece waits until its end" {
	: >out
	took acp-fault -m a --split 100,300ms < <(echo '{"method":"a"}'; wait_for grep -q '}' out; echo '{"method":"b"}') >out
	((elapsed >= 300000))
	assert_equal "$(jq -r .method out | tr '\n' ' ')" 'a b '
}

@test "--split: in a link, around an agent and in a proxy chain the lines are whole again" {
	numbered 5 >down
	numbered 5 >up
	both --split 3
	cmp down got
	cmp up out
	rm got
	link acp-fault --split 3 -- sh -c 'cat up; cat >got' <down >out
	cmp down got
	cmp up out
	{ echo '{"id":0,"method":"proxy/initialize"}'; cat down; } >in
	acp-fault <in >whole
	acp-fault --split 7 <in | cmp whole -
}

# bats test_tags=slow
@test "--split in a proxy chain: lines of the two directions, which share a pipe, never mix" {
	proxied=('{"id":0,"method":"proxy/initialize"}')
	for n in {1..20}; do
		proxied+=("{\"method\":\"down$n\"}" "{\"method\":\"proxy/successor\",\"params\":{\"method\":\"up$n\"}}")
	done
	printf '%s\n' "${proxied[@]}" noise >in
	acp-fault <in 2>err | sort >whole
	assert_equal "$(wc -l <whole)" 41
	acp-fault --split 7 <in 2>err | sort | diff whole -
	# A line that is not split does not come between either; nor do those that are late.
	acp-fault -m 'down*' --split 7 <in 2>err | sort | diff whole -
	acp-fault --split 7 --delay 3ms,3ms <in 2>err | sort | diff whole -
	run -1 --separate-stderr acp-fault -m 'down*' --split 7 --exit-after 15 <in
	assert_equal "$(sort <<<"$output" | comm -23 - whole)" ''
}

# bats test_tags=slow
@test "--split goes with damage: what is split is what is left" {
	numbered 50 >in
	acp-fault --seed 4 --corrupt 30% --truncate 30% --duplicate 30% --reorder 30% --noise 30% <in >out
	acp-fault --seed 4 --corrupt 30% --truncate 30% --duplicate 30% --reorder 30% --noise 30% --split 40 <in | cmp out -
}

@test "--split: a torn last line stays torn" {
	printf '{"method":"x"}\n{"method":"y"}' >in
	acp-fault --split 4 <in | cmp in -
}

# --- --bandwidth ---

# bats test_tags=slow
@test "--bandwidth: so many bytes a second, one line after the other; the other direction is not slowed" {
	numbered 100 >down
	cp down up
	took acp-fault --from client --bandwidth 4K --report report -- sh -c 'cat up; cat >got' <down >out
	cmp down got
	cmp up out
	# 2292 bytes.
	((elapsed > 500000))
	assert_equal "$(faults '[.from, .rate]' | sort | uniq -c | tr -s ' ')" ' 100 ["client",4096]'
}

# bats test_tags=slow
@test "--bandwidth: a slow line goes out in pieces, and goes with --split" {
	printf '{"method":"x","params":"%0300d"}\n' 0 >in
	(($(pieces acp-fault --bandwidth 1000 | wc -w) > 5))
	cmp in out
	took acp-fault --bandwidth 1000 --split 200 <in >out
	cmp in out
	# The last piece leaves when the first has had its time.
	((elapsed > 190000))
}

# --- death ---

# bats test_tags=slow
@test "--torn: dies in the middle of a line, without a newline" {
	numbered 3 >in
	run -1 acp-fault --seed 1 --exit-after 2 --torn --report report <in
	kept=$(faults .kept)
	assert_equal "$(faults .of)" 21
	((kept > 0 && kept < 21))
	acp-fault --seed 1 --exit-after 2 --torn <in >out || true
	head -c $((22 + kept)) in | cmp - out
	# Any place may be hit.
	for seed in {1..40}; do
		acp-fault --seed "$seed" --exit-after 1 --torn <in | wc -c
	done | sort -un >places
	(($(wc -l <places) > 10))
	assert_equal "$(sort -n places | sed -n '1p;$p' | awk '$1 < 1 || $1 > 20')" ''
}

@test "--torn: where the line is sent twice, the cut is not right behind the first newline" {
	numbered 1 >in
	# With this seed the cut falls there.
	acp-fault --seed 10 --duplicate 1 --exit-after 1 --torn <in >out || true
	assert_equal "$(cat out)" "$(cat in)"$'\n{'
}

# bats test_tags=slow
@test "--torn: with damage and pieces, and nothing where the line is lost" {
	numbered 3 >in
	run -1 acp-fault --seed 2 --exit-after 2 --torn --duplicate 1 --split 3 --report report <in
	assert_equal "$(jq 'select(.fault == "exit").of' report)" 43
	run -1 acp-fault --seed 1 --exit-after 2 --torn --drop 1 --report report <in
	assert_output ''
	assert_equal "$(faults 'select(.fault == "exit") | has("kept")')" false
}

@test "--exit-status and --exit-signal: how it dies; the agent is gone, too" {
	numbered 3 >in
	run -7 acp-fault --from agent --exit-after 2 --exit-status 7 -- cat <in
	assert_output "$(head -n 2 in)"
	run -0 acp-fault --exit-after 2 --exit-status 0 -- sleep 1000 <in
	for signal in KILL SEGV SIGTERM PIPE; do
		# The shell says what ended it.
		run bash -c 'acp-fault --from agent --exit-after 2 --exit-signal "$1" -- sh -c "cat; sleep 1000" <in >out' _ "$signal"
		assert_equal "$status" $((128 + $(kill -l "${signal#SIG}")))
		assert_equal "$(wc -l <out)" 2
	done
	[ ! -e core ]
	wait_for nobody_left
}

# --- the end of a direction ---

@test "--close-after: its direction ends, the other one goes on" {
	numbered 3 >down
	acp-fault --from client --close-after 2 --report report -- sh -c 'cat >got; echo "{\"method\":\"late\"}"' \
		< <(cat down; wait_for grep -q late out) >out
	assert_equal "$(cat got)" "$(head -n 2 down)"
	assert_equal "$(cat out)" '{"method":"late"}'
	assert_equal "$(faults '[.from, .n, .fault]')" '["client",2,"close"]'
	# The client reads the end, and the agent still gets what it sends, however long that takes.
	mkfifo slow
	acp-fault --grace 10ms --from agent --close-after 1 -- sh -c 'cat down; trap "" TERM; cat >got' <slow >out &
	exec 8>slow
	wait_for grep -q 1 out
	cat down >&8
	wait_for cmp -s down got
	exec 8>&-
	wait
	assert_equal "$(cat out)" "$(head -n 1 down)"
}

# bats test_tags=slow
@test "--close-after: what is late goes before it, what comes after it is gone" {
	numbered 4 >in
	assert_equal "$(acp-fault --delay 50ms --close-after 2 <in | ids)" '1 2 '
	acp-fault --close-after 2 --exit-after 2 <in >out && fail 'it lives'
	assert_equal "$(ids <out)" '1 2 '
}

@test "--close-after: nothing is done to what comes after it, while it is late, too" {
	printf '%s\n' '{"method":"a"}' '{"method":"b"}' >in
	acp-fault -m a --delay 50ms --close-after 1 --plan <(echo '-m b --drop 1') --report report <in >out
	assert_equal "$(cat out)" '{"method":"a"}'
	assert_equal "$(faults | tr '\n' ' ')" '[1,"delay"] [1,"close"] '
}

@test "--close-after: not in a proxy chain, where both directions have one pipe" {
	echo '{"id":0,"method":"proxy/initialize"}' >in
	run -2 acp-fault --close-after 1 <in
	assert_output 'acp-fault: --close-after ends one direction: in a proxy chain both have one pipe (use -- COMMAND, or acp-conduct -f)'
}

# bats test_tags=slow
@test "--linger: a direction ends later than its sender" {
	numbered 1 >down
	# What the agent reads last, and when it reads the end.
	cat >agent <<-'END'
		cat; date +%s%N >ended
	END
	start=$(date +%s%N)
	acp-fault --from client --linger 300ms --report report -- sh agent <down >out
	(($(<ended) - start >= 300000000))
	cmp down out
	assert_equal "$(faults '[.from, .after, .fault, .for]')" '["client",1,"linger",0.3]'
	# The client's end, and a pipe.
	took acp-fault --from agent --linger 300ms -- true </dev/null
	((elapsed >= 300000))
	took acp-fault --linger 300ms <down >out
	cmp down out
	((elapsed >= 300000))
}

# bats test_tags=slow
@test "--linger is longer than the grace" {
	run --separate-stderr -0 acp-fault --from client --linger 800ms --grace 400ms -- cat </dev/null
	assert_equal "$stderr" ''
}

@test "bad usage: how lines leave and directions end" {
	bad '--split 0: expected a number of bytes, and a pause after a comma, such as 1,5ms' --split 0
	bad '--split 1,0: expected a number of bytes, and a pause after a comma, such as 1,5ms' --split 1,0
	bad '--split 1,: expected a number of bytes, and a pause after a comma, such as 1,5ms' --split 1,
	bad '--bandwidth 0: expected bytes a second, such as 500 or 10K' --bandwidth 0
	bad '--linger x: expected a duration, such as 500ms, 5s or 2m' --linger x
	bad '--close-after 0: expected a number, at least 1' --close-after 0
	bad '--exit-status 256: expected a number from 0 to 255' --exit-after 1 --exit-status 256
	bad '--exit-signal STOP: expected a signal that ends a process, such as KILL or SEGV' --exit-after 1 --exit-signal STOP
	bad '--exit-signal 9: expected a signal that ends a process, such as KILL or SEGV' --exit-after 1 --exit-signal 9
	bad '--torn requires --exit-after' --torn
	bad '--exit-status does not go with --exit-signal' --exit-after 1 --exit-status 1 --exit-signal KILL
	bad '--linger does not go with --match' --linger 1s -m x
}
