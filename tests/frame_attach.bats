#!/usr/bin/env bats
# The frame beside a chain that runs: what comes is a copy, and the chain never notices.

setup() {
	load lib
	load frame
	load attach
	attach_setup
}

teardown() {
	attach_teardown
}

# A filter that is attached; what it sees is in the file seen.
beside() {
	FILTER_ATTACH=$PWD/socket rulefilter "$@" </dev/null >out 2>seen 9>&- 3>&- &
	filter=$!
}

# refused OPTION... : how a filter fares with a conductor that behaves so.
refused() {
	rm -f socket seen
	conductor "$@" socket </dev/null >/dev/null 3>&- &
	conductor=$!
	wait_for listens "$conductor"
	FILTER_ATTACH=socket run rulefilter </dev/null
	kill $conductor 2>/dev/null || true
	wait $conductor || true
}

@test "messages, noise, events and losses are shown with the chain's times; what is not a record is reported" {
	conduct socket
	FILTER_CLOCK=1 beside
	cat >&9 <<-END
		$HEADER
		{"t":0.000360,"at":0,"from":"client","msg":{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}}
		{"t":0.5,"at":0,"from":"agent","msg":{"jsonrpc":"2.0","id":0,"result":{}}}
		{"t":1.000000,"at":0,"from":"agent","noise":"hello"}
		{"t":1.500000,"from":"agent","stderr":"warm"}
		{"t":1.600000,"at":7,"from":"agent","noise":"of another hop"}
		{"t":2.000000,"at":0,"event":"lost","count":3,"why":"its reader is too slow"}
		nonsense
		{"t":3.000000,"at":0,"from":"client","msg":{"jsonrpc":"2.0","id":1,"method":"a"}}
		{"t":3.5,"at":0,"event":"something new"}
		{"t":3.600000,"at":0,"event":"error","why":"no such lane"}
		{"t":4.000000,"event":"eof","from":"client"}
		{"t":4.500000,"event":"exit","signal":"KILL"}
	END
	printf '{"t":5,"fr' >&9
	exec 9>&-
	ends 125
	run cat seen
	assert_output - <<-'END'
		down client request "initialize" -
		at 360 of 1795190162.500
		up agent response "initialize" -
		at 500000 of 1795190162.500
		event noise agent hello
		event stderr agent warm
		event lost 3 its reader is too slow
		rulefilter: the chain: record 8: not a record at byte 1: expected a value
		down client request "a" -
		at 3000000 of 1795190162.500
		rulefilter: the chain: no such lane
		event eof client
		event exit agent
		rulefilter: 3 messages were lost: its reader is too slow
	END
	run cat log
	assert_output 'asked {"want":"watch"}'
}

@test "the end of the chain is the end, also before anything has come" {
	conduct socket
	beside
	exec 9>&-
	ends 0
	assert_equal "$(<seen)" "event exit agent"
}

@test "a stream that breaks off is reported: its source dies, the last record is torn, or only the client's end has come; status 125" {
	local end
	for end in '' '{"t":1.000000,"event":"eof","from":"client"}' '{"t":1.000000,"from":"agent","msg":{"jsonrpc":"2.0","meth'; do
		rm -f socket seen
		conduct socket
		beside
		printf '%s\n' "$HEADER" '{"t":1.000000,"from":"agent","noise":"hello"}' >&9
		wait_for grep -q hello seen
		if [[ $end == *meth ]]; then
			printf '%s\n%s' '{"t":1.000000,"event":"exit","status":0}' "$end" >&9
			exec 9>&-
		else
			[[ ! $end ]] || {
				echo "$end" >&9
				wait_for grep -q eof seen
			}
			kill -KILL "$conductor"
		fi
		ends 125
		assert_equal "$(tail -n 1 seen)" 'rulefilter: the stream broke off before its end: messages may be lost'
		assert_equal "$(grep -c rulefilter: seen)" 1
	done
}

@test "the end of the agent is an end of the stream" {
	conduct socket
	beside
	printf '%s\n' "$HEADER" '{"t":1.000000,"event":"eof","from":"agent"}' >&9
	wait_for grep -q eof seen
	kill -KILL "$conductor"
	ends 0
	assert_equal "$(<seen)" 'event eof agent'
}

@test "neither standard input nor standard output is touched" {
	conduct socket
	printf 'not for it\n' >stdin
	exec 8<stdin
	FILTER_ATTACH=socket rulefilter <&8 >out 2>seen 9>&- &
	filter=$!
	printf '%s\n' "$HEADER" '{"t":1.000000,"from":"agent","msg":{"jsonrpc":"2.0","method":"x"}}' >&9
	exec 9>&-
	ends 0
	assert_equal "$(cat <&8)" "not for it"
	assert_equal "$(wc -c <out)" 0
	assert_equal "$(<seen)" $'up agent notification "x" -\nevent exit agent'
}

@test "hop: a number is asked for as a number, a name as a string" {
	local asked
	for hop in '' 2 agent.2 '"odd'; do
		rm -f socket seen
		conduct socket
		if [[ $hop ]]; then
			FILTER_HOP=$hop beside
		else
			beside
		fi
		wait_for grep -q asked log
		asked+="$(<log)
"
		exec 9>&-
		ends 0
		wait "$conductor"
	done
	run echo -n "$asked"
	assert_output - <<-'END'
		asked {"want":"watch"}
		asked {"want":"watch","hop":2}
		asked {"want":"watch","hop":"agent.2"}
		asked {"want":"watch","hop":"\"odd"}
	END
}

# bats test_tags=slow
@test "records of the hop that the response names are the ones that count" {
	conduct socket -a '{"hop":1,"name":"agent"}'
	beside
	cat >&9 <<-END
		{"acp-recording":1,"by":"acp-conduct 0.1.0","hops":["acp-tap","agent"]}
		{"t":1.000000,"at":0,"from":"agent","noise":"zero"}
		{"t":1.000000,"at":1,"from":"agent","noise":"one"}
		{"t":1.000000,"at":"agent","from":"agent","noise":"by name"}
	END
	exec 9>&-
	ends 0
	run cat seen
	assert_output - <<-END
		event noise agent one
		event noise agent by name
		event exit agent
	END
}

@test "SIGINT and SIGTERM: what has come is shown, and that is the end, status 0; the conductor sees who left" {
	for signal in INT TERM HUP; do
		rm -f socket seen
		conduct socket
		beside
		printf '%s\n' "$HEADER" '{"t":1.000000,"from":"agent","noise":"hello"}' >&9
		wait_for grep -q hello seen
		kill -"$signal" "$filter"
		ends 0
		wait_for grep -q left log
		exec 9>&-
		wait "$conductor"
	done
}

# bats test_tags=slow
@test "kill -9: the conductor sees that it has gone, nothing else" {
	conduct socket
	beside
	printf '%s\n' "$HEADER" '{"t":1.000000,"from":"agent","noise":"hello"}' >&9
	wait_for grep -q hello seen
	kill -KILL "$filter"
	ends 137
	wait_for grep -q left log
	exec 9>&-
	wait "$conductor"
}

@test "a message over the limit is unread, also where the record around it hides that" {
	conduct socket
	FILTER_LIMIT=1k beside
	printf '%s\n{"t":1,"from":"agent","msg":{"jsonrpc":"2.0","method":"big","params":["%02000d"]}}\n' "$HEADER" 0 >&9
	exec 9>&-
	ends 0
	run cat seen
	assert_output - <<-'END'
		rulefilter: the chain: record 2: longer than 1024 bytes: unread
		event long unknown
		event exit agent
	END
}

# bats test_tags=slow
@test "a message of 20 MB; a record beyond the limit is reported and left out" {
	conduct socket
	FILTER_LIMIT=21M beside
	{
		echo "$HEADER"
		printf '{"t":1.000000,"from":"agent","msg":{"jsonrpc":"2.0","method":"big","params":{"x":"'
		head -c 20971520 /dev/zero | tr '\0' x
		printf '"}}}\n{"t":2.000000,"from":"agent","msg":{"jsonrpc":"2.0","method":"bigger","params":{"x":"'
		head -c 23068672 /dev/zero | tr '\0' x
		printf '"}}}\n{"t":3.000000,"from":"agent","msg":{"jsonrpc":"2.0","method":"small"}}\n'
	} >&9
	exec 9>&-
	ends 0
	run cat seen
	assert_output - <<-'END'
		up agent notification "big" -
		rulefilter: the chain: record 3: longer than 22020096 bytes: unread
		event long unknown
		up agent notification "small" -
		event exit agent
	END
}

@test "sending: requests and notifications go as records in their directions; the response comes to the filter alone" {
	local id
	conduct socket
	FILTER_NEEDS=send beside initialize:ask-back initialize:emit
	printf '%s\n' "$HEADER" '{"t":0.1,"from":"client","msg":{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}}' >&9
	wait_for grep -q emitted log
	id=$(grep -o '"id":"[^"]*"' log)
	run sed 's/"id":"rulefilter-[0-9a-f-]*"/ID/' log
	assert_output - <<-'END'
		asked {"want":"join"}
		got {"from":"agent","msg":{"jsonrpc":"2.0",ID,"method":"test/ask","params":{"q":1}}}
		got {"from":"client","msg":{"jsonrpc":"2.0","method":"test/emitted"}}
	END
	cat >&9 <<-END
		{"t":1.000000,"from":"client","to":"guest","msg":{"jsonrpc":"2.0",$id,"result":{}}}
		{"t":2.000000,"from":"client","msg":{"jsonrpc":"2.0","method":"test/emitted"}}
		{"t":3.000000,"from":"client","to":"guest","msg":{"jsonrpc":"2.0",$id,"result":{}}}
	END
	exec 9>&-
	ends 0
	run cat seen
	assert_output - <<-'END'
		down client request "initialize" -
		up client own-response "test/ask" -
		down client notification "test/emitted" -
		rulefilter: client: line 5: a response to no open request of ours: dropped
		event exit agent
	END
}

# What a conductor that reads nothing is sent: so many records come by, each of which asks for a message.
flood() {
	echo "$HEADER"
	for ((i = 0; i < $1; i++)); do
		echo '{"t":1.000000,"from":"client","msg":{"jsonrpc":"2.0","method":"x"}}'
	done
}

# Then it reads no more than that either, for what is to be sent waits. After how many depends on what the kernel counts for
# each message that waits in a socket, so it has stopped when it goes no further.
queue_is_full() {
	local n
	n=$(wc -l <seen)
	sleep 0.5
	((n > 500 && $(wc -l <seen) == n))
}

# bats test_tags=slow
@test "sending to who does not read: all of it waits, and goes when he does, in order" {
	conduct socket -d
	FILTER_NEEDS=send FILTER_PEAK=peak beside x:ask
	flood 6000 >&9 &
	wait_for queue_is_full
	kill -USR1 "$conductor"
	wait_for eval '(($(grep -c ^got log) == 6000))'
	exec 9>&-
	ends 0
	assert_equal "$(grep -vc exit seen)" 6000
	grep -o '[0-9]*","method"' log | cut -d'"' -f1 | cmp - <(seq 6000)
	[[ $B == *san ]] || (($(<peak) < 16384))
}

# bats test_tags=slow
@test "a chain that ends before it took what was to be sent: that is said, and the status is 125" {
	conduct socket -d
	FILTER_NEEDS=send beside x:ask
	flood 6000 >&9 &
	wait_for queue_is_full
	kill -KILL "$conductor"
	exec 9>&-
	ends 125
	assert_equal "$(tail -n 1 seen)" "rulefilter: the stream ended before everything was sent"
}

@test "what edits or answers is refused before anything is asked" {
	local line='rulefilter: --attach can only watch, send, and permit: to change messages, or answer others, a tool must be part of the chain (use -- COMMAND, acp-conduct -f, or a proxy chain)'
	conduct socket
	FILTER_ATTACH=socket run rulefilter x:edit
	assert_failure 2
	assert_output "$line"
	FILTER_ATTACH=socket FILTER_NEEDS=answer run rulefilter
	assert_failure 2
	assert_output "$line"
	assert_equal "$(<log)" ""
}

@test "no chain, none any more, not a socket: one line, status 2" {
	FILTER_ATTACH=nowhere run rulefilter
	assert_failure 2
	assert_output "rulefilter: nowhere: No such file or directory"
	conduct socket
	kill -KILL "$conductor"
	wait "$conductor" || true
	FILTER_ATTACH=socket run rulefilter
	assert_failure 2
	assert_output "rulefilter: socket: nothing is shared there any more"
	# Outside the directory of chains, what is stale may be another program's.
	[[ -S socket ]]
	ln -s nowhere link
	FILTER_ATTACH=link run rulefilter
	assert_failure 2
	[[ -L link ]]
	FILTER_ATTACH=$(printf '%0200d' 0) run rulefilter
	assert_failure 2
	assert_line --regexp '(File name|Filename) too long' # glibc, musl
}

# bats test_tags=slow
@test "a conductor that refuses, hangs up, or talks nonsense: one line, status 2" {
	refused -a '{"error":"hop `x'\'' is not relayed; these are: 0 (acp-tap), 2 (agent)"}'
	assert_failure 2
	assert_output 'rulefilter: hop `x'\'' is not relayed; these are: 0 (acp-tap), 2 (agent)'
	refused -q
	assert_failure 2
	assert_output "rulefilter: socket: it closed the connection without a response: only the user who shares a stream can join it"
	refused -b '{"hop":0'
	assert_failure 2
	assert_output "rulefilter: socket: not acp-share: its response has no end"
	refused -a 'HTTP/1.1 400'
	assert_failure 2
	assert_output "rulefilter: socket: not acp-share: its response is not a JSON object"
	refused -a '{"hop":0}' -n 0
	assert_failure 2
	assert_output "rulefilter: socket: the response of acp-share came without a descriptor"
}

# bats test_tags=slow
@test "superfluous descriptors are closed" {
	! portable || skip "the loop has both ends of a pipe of its own there"
	conduct socket -n 5
	beside
	printf '%s\n' "$HEADER" '{"t":1.000000,"from":"agent","noise":"hello"}' >&9
	wait_for grep -q hello seen
	run bash -c "readlink /proc/$filter/fd/* | grep pipe: | sort | uniq -d"
	assert_output ""
	exec 9>&-
	ends 0
}

# bats test_tags=slow
@test "a conductor that never responds is waited for, but not for long" {
	refused -s
	assert_failure 2
	assert_output "rulefilter: socket: acp-share does not respond"
}

# bats test_tags=slow
@test "while it waits for a response, ^C ends it at once" {
	conduct socket -s
	beside
	wait_for grep -q asked log
	# bash starts what is in the background with SIGINT ignored.
	kill -TERM "$filter"
	ends 143
	kill -KILL "$conductor"
}

# bats test_tags=slow
@test "auto: no chain, one, several" {
	FILTER_ATTACH=auto run rulefilter
	assert_failure 2
	assert_output 'rulefilter: no stream is shared: put "acp-share --" before the agent'\''s command'
	mkdir -m 0700 "$XDG_RUNTIME_DIR/acp"
	FILTER_ATTACH=auto run rulefilter
	assert_failure 2
	assert_output 'rulefilter: no stream is shared: put "acp-share --" before the agent'\''s command'

	conduct "$XDG_RUNTIME_DIR/acp/1"
	FILTER_ATTACH=auto rulefilter 2>seen 9>&- 3>&- &
	filter=$!
	wait_for grep -q '{"want":"watch"}' log
	FILTER_ATTACH=auto FILTER_HOP=other run rulefilter
	assert_failure 2
	assert_output 'rulefilter: other: no stream of that name is shared'

	conductor "$XDG_RUNTIME_DIR/acp/2" </dev/null >/dev/null 3>&- 9>&- &
	local second=$!
	wait_for listens "$second"
	FILTER_ATTACH=auto run rulefilter
	assert_failure 2
	assert_output - <<-END
		rulefilter: several streams are shared; choose one of these:
		rulefilter: $XDG_RUNTIME_DIR/acp/1: pid $conductor: zed 1: agent 2: /home/x: at agent
		rulefilter: $XDG_RUNTIME_DIR/acp/2: pid $second: zed 1: agent 2: /home/x: at agent
	END
	kill -KILL $second
	wait $second || true
	exec 9>&-
	ends 0
}

# bats test_tags=slow
@test "auto: a directory that others can write to is not trusted" {
	mkdir -m 0777 "$XDG_RUNTIME_DIR/acp"
	chmod 0777 "$XDG_RUNTIME_DIR/acp"
	FILTER_ATTACH=auto run rulefilter
	assert_failure 2
	assert_output "rulefilter: $XDG_RUNTIME_DIR/acp: open to others (its mode has to be 0700)"
}
