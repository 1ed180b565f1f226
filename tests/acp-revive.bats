#!/usr/bin/env bats
# acp-revive: the agent dies, and its sessions go on.
# as long as 30 tests

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load conduct
	lib_setup
	command -v python3 >/dev/null || skip 'python3 is needed'
	python="$(python3 -c 'import sys; print(sys.executable)') -SE" # what `python3` starts, and no more than that
	agent="$python $TOP/tests/returning.py agent"
	init='{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}'
}

teardown() {
	end_left_over
}

# client SESSIONS OPTION...: the client that checks all; its last line is in met.
client() {
	local n=$1
	shift
	rm -f lives points count agent.log past-*
	$python "$TOP/tests/returning.py" client "$n" acp-revive --restarts 9/10m "$@" >met 2>err ||
		{ cat met err; return 1; }
}

# lives_on POINTS WORD...: the client is done, though the agent has died at these points.
lives_on() {
	DIE=$1 client "$sessions" "${options[@]}" -- $agent "${@:2}" || { echo "at $1"; return 1; }
	[[ $(<met) == 'done; status 0;'* ]] || { echo "at $1: $(<met)"; cat err; return 1; }
	[[ $(wc -l <lives) -eq $(wc -w <<<"${1//,/ }")+1 ]] || { echo "at $1: $(wc -l <lives) lives"; return 1; }
}

# restart ARGUMENT...: acp-revive -v with a client that stays, as `start` of conduct.bash has it.
restart() {
	rm -f lives points count agent.log past-* client got said
	mkfifo client
	exec 9<>client
	acp-revive -v "$@" <client >got 2>said 9>&- &
	conduct=$!
}
new() { say '{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":"/","mcpServers":[{"name":"m","command":"c","args":[],"env":[]}],"_meta":{"k":1.50}}}'; gets '"id":"n"'; }
prompt() { say '{"jsonrpc":"2.0","id":'"$1"',"method":"session/prompt","params":{"sessionId":"'"${3-s1}"'","prompt":[{"type":"text","text":"'"$2"'"}]}}'; }
# allow CALL: the client allows what the agent has asked for this tool call, under the id that the request came with.
allow() { say '{"jsonrpc":"2.0","id":'"$(jq -c --arg call "$1" 'select(.params.toolCall.toolCallId? == $call).id' got | tail -n 1)"',"result":{"outcome":{"outcome":"selected","optionId":"y"}}}'; }
asks() { wait_for grep -q "request_permission.*\"toolCallId\":\"$1\"" got; }
# What the agent has read in a life: method and params.
read_in() { sed -n "s/^$1 //p" agent.log | jq -c '[.method, .params]'; }

# --- at every point

# bats test_tags=slow
@test "an agent with session/resume may be killed at any message of a session: each request has one response, and the session goes on" {
	sessions=1 options=()
	for ((point = 2; point < 30; point += $(sample 5 1))); do
		lives_on "$point" resume
	done
}

# bats test_tags=slow
@test "an agent with session/load may be killed at any message of a session: no history reaches the client twice" {
	sessions=1 options=()
	for ((point = 2; point < 30; point += $(sample 5 1))); do
		lives_on "$point" load
	done
}

# bats test_tags=slow
@test "an agent may be killed again at any message of a restoration, of two sessions" {
	sessions=2 options=()
	for ((point = 15; point < 28; point += $(sample 6 1))); do
		lives_on "14,$point" load
	done
}

# bats test_tags=slow
@test "a chain around it sees one conversation and no history; acp-usage adds the costs of both processes" {
	local turns='[.[] | select(.msg.method == "session/prompt")] | length'
	DIE=20 client 1 -- $agent load
	rm -f lives points count agent.log past-*
	DIE=20 $python "$TOP/tests/returning.py" client 1 acp-conduct -p 'acp-tap -o tap.rec' -f 'acp-usage -f json -o usage' -- acp-revive -- $agent load >met 2>err ||
		{ cat met err; return 1; }
	[[ $(<met) == 'done; status 0;'* ]]
	assert_equal "$(jq -s "$turns" tap.rec)" 4
	run ! grep -q user_message_chunk tap.rec
	assert_equal "$(jq -s -c '[(map(select(.event == "turn" and .output)) | length, (map(.output) | add)), last.cost]' usage)" '[3,60,3.5]'
}

# --- what is restored

# bats test_tags=slow
@test "session/resume is used where the agent has both, with the params that opened the session" {
	restart -- $agent resume load
	say "$init"
	gets '"id":0'
	new
	prompt 1 die
	responds 1 -32603
	prompt 2 two
	asks two
	ends 0
	assert_equal "$(read_in 2 | head -n 2)" '["initialize",{"protocolVersion":1}]
["session/resume",{"sessionId":"s1","cwd":"/","mcpServers":[{"name":"m","command":"c","args":[],"env":[]}],"_meta":{"k":1.5}}]'
	grep -q '"_meta":{"k":1.50}}' agent.log
}

# bats test_tags=slow
@test "the mode and the options come back as they last were, and only where they differ; a closed session does not" {
	restart -- $agent resume
	say "$init"
	gets '"id":0'
	new
	say '{"jsonrpc":"2.0","id":"new","method":"session/new","params":{"cwd":"/x","mcpServers":[]}}'
	gets '"id":"new"'
	say '{"jsonrpc":"2.0","id":"third","method":"session/new","params":{"cwd":"/y","mcpServers":[]}}'
	gets '"id":"third"'
	say '{"jsonrpc":"2.0","id":"close","method":"session/close","params":{"sessionId":"s1"}}' \
		'{"jsonrpc":"2.0","id":"mode","method":"session/set_mode","params":{"sessionId":"s2","modeId":"code"}}' \
		'{"jsonrpc":"2.0","id":"model","method":"session/set_config_option","params":{"sessionId":"s2","configId":"model","value":"large"}}'
	gets '"id":"model"'
	prompt 1 die s2
	responds 1 -32603
	prompt 2 two s2
	asks two
	ends 0
	assert_equal "$(read_in 2 | jq -c '[.[0], .[1].sessionId]' | sed -n '2,5p')" '["session/resume","s3"]
["session/resume","s2"]
["session/set_mode","s2"]
["session/set_config_option","s2"]'
}

# bats test_tags=slow
@test "the client's authentication is repeated, unless it has logged out" {
	restart -- $agent resume
	say "$init"
	gets '"id":0'
	say '{"jsonrpc":"2.0","id":"a","method":"authenticate","params":{"methodId":"key"}}'
	gets '"id":"a"'
	new
	prompt 1 die
	responds 1 -32603
	prompt 2 two
	asks two
	ends 0
	assert_equal "$(read_in 2 | sed -n 2p)" '["authenticate",{"methodId":"key"}]'
}

# bats test_tags=slow
@test "messages wait for the restoration and then come in order; what the dead agent had asked is cancelled" {
	restart -- $agent resume gate-session/resume
	say "$init"
	gets '"id":0'
	new
	prompt 1 first
	asks first
	kill -KILL "$(tail -n 1 lives)"
	responds 1 -32603
	gets '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}'
	# Its response is no longer wanted.
	allow first
	prompt 2 second
	prompt 3 third
	say '{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}'
	wait_for grep -q '^2 .*session/resume' agent.log
	run ! grep -q '^2 .*session/prompt' agent.log
	touch gate
	asks second
	allow second
	gets '"id":2,'
	asks third
	allow third
	gets '"id":3,'
	ends 0
	assert_equal "$(read_in 2 | jq -c '[.[0], .[1].prompt[0].text]')" '["initialize",null]
["session/resume",null]
["session/prompt","second"]
["session/prompt","third"]
["session/cancel",null]
[null,null]
[null,null]' || assert_equal "$(read_in 2 | grep -c session/prompt)" 2
	# No notice: this client does not know them.
	run ! grep -q notice got
}

# bats test_tags=slow
@test "a client that knows notices gets one for each session" {
	client 2 -- $agent resume
	grep -q 'notices 0' met
	DIE=14 client 2 -- $agent resume
	grep -q 'notices 2' met
	restart -- $agent
	say "${init%\}\}},\"clientCapabilities\":{\"session\":{\"notices\":{}}}}}"
	gets '"id":0'
	new
	prompt 1 die
	gets '"severity":"error","title":"The agent ended unexpectedly (signal KILL) and was restarted. This session was lost when'
	ends 0
}

# bats test_tags=slow
@test "version 2: capabilities.session is enough for session/resume; a turn that was running ends with the state idle and an error" {
	restart -- $agent v2
	say "${init/:1/:2}"
	gets '"id":0'
	new
	say '{"jsonrpc":"2.0","id":"second","method":"session/new","params":{"cwd":"/","mcpServers":[]}}'
	gets '"id":"second"'
	prompt 1 one
	gets '"state":"idle","stopReason":"end_turn"'
	prompt 2 late
	gets '"sessionId":"s1","update":{"sessionUpdate":"state_update","state":"idle","stopReason":"error","error":{"code":-32603,'
	assert_equal "$(grep -c '"stopReason":"error"' got)" 1
	prompt 3 three
	responds 3 '{"messageId":"mthree"}'
	ends 0
	assert_equal "$(read_in 2 | jq -c '.[0]' | xargs)" 'initialize session/resume session/resume session/prompt'
}

# bats test_tags=slow
@test "the restart is reported to the client after the errors of what failed, with the same ids as before the first death" {
	restart -- $agent resume
	say "$init"
	gets '"id":0'
	new
	prompt 1 die
	gets '_acp-revive/restarted'
	prompt 2 two
	asks two
	ends 0
	assert_equal "$(sed -n '3,4p' got | jq -c '[.id, .error.code, .method, .params]')" '[1,-32603,null,null]
[null,null,"_acp-revive/restarted",{"restarts":1,"why":"signal KILL"}]'
}

@test "while all is well every byte passes as it came, in both directions" {
	printf '{"n" : 1.0e0 ,"method":"a\\u0062","params":{"k":1.50}}\r\n\nnoise\n[1]\n{"jsonrpc":"2.0","id":"x","result":null}\nno newline' >in
	acp-revive -- cat <in >out
	cmp in out
	head -c 300000 /dev/zero | tr '\0' x >long
	acp-revive --max-line 64K -- cat <long >out
	cmp long out
}

@test "lines that the agent had not read go to the next process, and the rest of one that it had half read is discarded" {
	cat >slow <<-'EOS'
		#!/bin/sh
		echo >>lives
		read -r line
		id=${line#*\"id\":} id=${id%%,*}
		echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":1,"agentCapabilities":{}}}'
		if [ "$(wc -l <lives)" -eq 1 ]; then
			head -c 30 >/dev/null
			while [ ! -e go ]; do sleep 0.01; done
			kill -KILL $$
		fi
		sed -un 's/.*"id":"\([a-z]*\)".*/{"jsonrpc":"2.0","id":"\1","result":{}}/p'
	EOS
	chmod +x slow
	restart -- ./slow
	say "$init"
	gets '"id":0'
	say '{"jsonrpc":"2.0","id":"half","method":"_x/half"}' '{"jsonrpc":"2.0","id":"whole","method":"_x/whole"}' \
		'{"jsonrpc":"2.0","method":"_x/note"}' '{"jsonrpc":"2.0","id":"last","method":"_x/last"}'
	wait_for test -s got
	touch go
	gets '"id":"last"'
	ends 0
	assert_equal "$(jq -c '[.id, .error.code, .result]' got | tail -n +2 | grep -v '^\[null')" '["half",-32603,null]
["whole",null,{}]
["last",null,{}]'
}

@test "a line of which the dead agent had read all but its newline leaves no empty line to the next process" {
	local last='{"jsonrpc":"2.0","id":1,"method":"_x/last"}'
	cat >close <<-EOS
		#!/bin/sh
		echo >>lives
		read -r line
		id=\${line#*\"id\":} id=\${id%%,*}
		echo '{"jsonrpc":"2.0","id":'"\$id"',"result":{"protocolVersion":1,"agentCapabilities":{}}}'
		[ "\$(wc -l <lives)" -eq 1 ] || exec tee agent.log
		head -c ${#last} >/dev/null
		kill -KILL \$\$
	EOS
	chmod +x close
	restart -- ./close
	say "$init"
	gets '"id":0'
	say "$last"
	responds 1 -32603
	say '{"jsonrpc":"2.0","method":"_x/next"}'
	gets _x/next
	ends 0
	assert_equal "$(<agent.log)" '{"jsonrpc":"2.0","method":"_x/next"}'
}

# bats test_tags=slow
@test "much input for an agent that reads nothing is held in pipes, not in memory" {
	restart -- sh -c 'while [ ! -e go ]; do sleep 0.01; done; exec cat 3>&1 >&2'
	yes '{"jsonrpc":"2.0","method":"session/update","params":{}}' | head -c 50000000 >&9 &
	full() { (($(awk '/VmHWM/ { print $2 }' "/proc/$conduct/status") > $1)); }
	stuck() {
		local before=${read-}
		read=$(awk '/rchar/ { print $2 }' "/proc/$conduct/io")
		[[ $read -gt 100000 && $read == "$before" ]]
	}
	wait_for stuck
	[[ $B == */san ]] || run ! full 20000
	touch go
	wait "$!"
	[[ $B == */san ]] || run ! full 20000
	ends 0
}

# --- what is not restored

# bats test_tags=slow
@test "an agent that can neither resume nor load serves new sessions only" {
	restart -- $agent
	say "$init"
	gets '"id":0'
	new
	prompt 1 die
	responds 1 -32603
	prompt 2 two
	responds 2 -32002
	gets 'This session was lost when the agent ended: the agent can neither resume nor load sessions. Please start a new session.'
	say '{"jsonrpc":"2.0","id":"again","method":"session/new","params":{"cwd":"/","mcpServers":[]}}'
	gets '"id":"again"'
	prompt 3 three s2
	asks three
	ends 0
	says 'session "s1" could not be restored: the agent can neither resume nor load sessions'
}

# bats test_tags=slow
@test "a session that the agent refuses, or whose mode it refuses, is not found; the others go on" {
	restart -- $agent resume refuse-session/set_mode
	say "$init"
	gets '"id":0'
	new
	say '{"jsonrpc":"2.0","id":"new","method":"session/new","params":{"cwd":"/x","mcpServers":[]}}' \
		'{"jsonrpc":"2.0","id":"mode","method":"session/set_mode","params":{"sessionId":"s1","modeId":"code"}}'
	gets '"id":"mode"'
	prompt 1 die
	responds 1 -32603
	prompt 2 two s1
	responds 2 -32002
	gets '"data":{"code":-32602,"message":"no session/set_mode today"}'
	prompt 3 three s2
	asks three
	prompt 4 four s1
	responds 4 -32002
	run ! grep -q '^2 .*"four"' agent.log
	ends 0
}

# bats test_tags=slow
@test "a session whose restoration does not end is given up after two tries; what waits for it is answered" {
	restart --init-timeout 5s -- $agent load hang-session/load
	say "$init"
	gets '"id":0'
	new
	prompt 1 die
	responds 1 -32603
	prompt 2 two
	responds 2 -32002
	gets 'the agent died again while it was restoring the session'
	assert_equal "$(grep -c 'did not restore a session within --init-timeout; killed' said)" 2
	ends 0
}

# --- the end

# bats test_tags=slow
@test "an agent that dies again at once ends the chain, with its status" {
	DIE=$(seq -s, 3 40) client 1 --restarts 2/1m -- $agent load
	assert_equal "$(grep -c '^acp-revive: the agent died' err)" 3
	grep -q 'the agent died (signal KILL), more often than --restarts 2/1m allows' err
	[[ $(<met) == *'; status 137;'* ]]
	assert_equal "$(wc -l <lives)" 3
}

@test "an agent that cannot be started again ends the chain, and is not said to have died too often" {
	cat >once <<-'EOS'
		#!/bin/sh
		rm once
		read -r line
		echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'
		read -r line
	EOS
	chmod +x once
	restart -- ./once
	say "$init"
	gets '"id":0'
	say '{"jsonrpc":"2.0","id":1,"method":"_x/end"}'
	responds 1 -32603
	ends_itself 127
	says './once: command not found'
	run ! grep 'more often' said
}

@test "a request that the client has written when the agent ends for good has its response" {
	local pad i
	printf -v pad %020000d 0
	restart --restarts 0/1m -- sh -c 'read -r line; echo "{\"id\":0,\"result\":{\"protocolVersion\":1}}"; while [ ! -e go ]; do sleep 0.01; done; exit 3'
	say "$init"
	gets '"id":0'
	for ((i = 1; i < 20; i++)); do
		say '{"jsonrpc":"2.0","id":'$i',"method":"_x/long","params":"'"$pad"'"}'
	done
	touch go
	ends_itself 3
	assert_equal "$(jq -c 'select(.error.code == -32603).id' got | sort -n | xargs)" "$(seq -s ' ' 19)"
}

# bats test_tags=slow
@test "an agent that dies before it is initialized ends the chain" {
	DIE=1 client 1 -- $agent load
	[[ $(<met) == 'initialize fails; status 137;'* ]]
}

# bats test_tags=slow
@test "an agent that exits with 0, closes its input or its output is started again" {
	restart --grace 1s -- $agent resume
	say "$init"
	gets '"id":0'
	new
	# Only Linux shows that the agent has closed its input.
	for how in exit $(portable || echo deaf) mute; do
		prompt "\"$how\"" "$how"
		responds "\"$how\"" -32603
	done
	prompt 2 two
	asks two
	ends 0
	assert_equal "$(wc -l <lives)" "$(portable && echo 3 || echo 4)"
}

# bats test_tags=slow
@test "the client leaves during a restoration: the chain ends" {
	restart --grace 1s -- $agent resume hang-session/resume
	say "$init"
	gets '"id":0'
	new
	prompt 1 die
	responds 1 -32603
	wait_for grep -q '^2 .*session/resume' agent.log
	ends 0
	restart --grace 1s --init-timeout 5s -- $agent resume hang-session/resume
	say "$init"
	gets '"id":0'
	new
	prompt 1 die
	responds 1 -32603
	wait_for grep -q '^2 .*session/resume' agent.log
	# One with a request that waits: it has a response, or the client's end passes it by after the grace period.
	prompt 2 two
	exec 9>&-
	wait "$conduct" || true
	assert_equal "$(jq -c 'select(.id == 2)' got | wc -l)" 1
	wait_for nobody_left
}

# ask ID METHOD: and its response is there.
ask() {
	say '{"jsonrpc":"2.0","id":"'"$1"'","method":"'"$2"'","params":{"sessionId":"s1","modelId":"large","methodId":"key"}}'
	gets '"id":"'"$1"'"'
}
# small OPTION... WORD: starts the small agent, with this word or '', and a session.
small() {
	restart "${@:1:$#-1}" -- $python "$TOP/tests/acp-revive-small.py" "${@: -1}"
	say "$init"
	gets '"id":0'
	new
}

@test "what the agent itself has changed comes back: the mode, the model, an option that is true or false" {
	small ''
	ask a change
	ask b session/set_model
	ask c die
	ask d _x/more
	ends 0
	assert_equal "$(read_in 2)" '["initialize",{"protocolVersion":1}]
["session/resume",{"sessionId":"s1","cwd":"/","mcpServers":[{"name":"m","command":"c","args":[],"env":[]}],"_meta":{"k":1.5}}]
["session/set_mode",{"sessionId":"s1","modeId":"code"}]
["session/set_model",{"sessionId":"s1","modelId":"large"}]
["session/set_config_option",{"sessionId":"s1","configId":"fast","type":"boolean","value":true}]
["_x/more",{"sessionId":"s1","modelId":"large","methodId":"key"}]'
}

@test "a request of a later process, and its cancellation, have the same new id; a cancellation of nothing goes nowhere" {
	small ''
	ask a die
	ask b ask
	ends 0
	assert_equal "$(jq -c 'select(.method == "_x/ask" or .method == "$/cancel_request") | [.method, .id // .params.requestId]' got)" \
		'["_x/ask","acp-revive-2-3"]
["$/cancel_request","acp-revive-2-3"]'
}

@test "what a later process asks during the restoration has its response, though much waits for the process" {
	small ask-session/resume
	ask a die
	head -c 2000000 /dev/zero | tr '\0' x | sed 's/^/{"jsonrpc":"2.0","id":"b","method":"_x\/much","params":{"x":"/; s/$/"}}\n/' >&9
	gets _x/first
	say '{"jsonrpc":"2.0","id":"acp-revive-2-3","result":{}}'
	gets '"id":"b"'
	ends 0
	run ! grep killed said
}

@test "what waits for an agent that closes its input before it is restored goes to the next process" {
	small leave-session/resume
	ask a die
	say '{"jsonrpc":"2.0","method":"_x/note","params":{"sessionId":"s1"}}'
	ask b _x/more
	ends 0
	assert_equal "$(read_in 3 | jq -r '.[0]' | tail -n 2)" $'_x/note\n_x/more'
	assert_equal "$(jq -c 'select(.id == "b") | .error' got)" null
	# If it was the last one, what waited gets its error.
	small --restarts 1/1m leave-session/resume
	ask a die
	ask b _x/more
	ends 3
	assert_equal "$(jq -c 'select(.id == "b") | .error.code' got)" -32603
}

@test "a line beyond --max-line has its id as others have: one response to a request, and ids of a later process" {
	small --max-line 1000 ''
	ask a long
	ask b die
	ask c ask-long
	say '{"jsonrpc":"2.0","id":7,"result":{"late":"'"$(printf %03000d 0)"'"}}' \
		'{"jsonrpc":"2.0","id":"acp-revive-2-3","result":{"x":"'"$(printf %03000d 0)"'"}}'
	ask d _x/more
	ends 0
	assert_equal "$(jq -c 'select(.id == "a" or .method == "_x/long") | [.id, .method, .error]' got)" '["a",null,null]
["acp-revive-2-3","_x/long",null]'
	assert_equal "$(sed -n 's/^2 //p' agent.log | jq -c 'select(.result) | [.id, (.result | keys)]')" '[7,["x"]]'
}

@test "a request whose response is beyond --max-line fails where the agent dies within the response" {
	small --max-line 1000 ''
	say '{"jsonrpc":"2.0","id":"a","method":"half"}'
	responds '"a"' -32603
	ask b _x/more
	ends 0
}

@test "a line beyond --max-line goes on as it began, though a restoration or the agent ends within it" {
	local init='{"id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"session":{"notices":{}}}}}' pad
	printf -v pad %01500d 0
	small --max-line 1000 ask-session/resume
	say '{"jsonrpc":"2.0","id":"a","method":"die"}'
	gets acp-revive-2-3
	# The process that asked under this id is gone. One write ends the restoration and begins the line, so that it waits.
	printf '%s\n%s' '{"id":"acp-revive-2-3","result":{}}' '{"id":7,"result":{"x":"'"$pad" >begun
	cat begun >&9
	gets '"notice"'
	kill -KILL "$(sed -n 's/.*agent: pid //p' said | tail -n 1)"
	gets acp-revive-3-6
	printf '%s"}}\n%s\n%s' "$pad" '{"id":"acp-revive-3-6","result":{}}' '{"method":"_x/long","params":{"x":"'"$pad" >begun
	cat begun >&9
	await_line got awk '/"notice"/ && n++' >/dev/null
	say "$pad"'"}}'
	ask c _x/more
	ends 0
	assert_equal "$(sed -n 's/^3 //p' agent.log | jq -c '[.method, .params.x]' | tail -n +3)" '["_x/long","'"$pad$pad"'"]
["_x/more",null]'
}

# within BYTES: the first process reads so many bytes after initialize, and dies as soon as there is a file `go`; the next notes all.
within() {
	cat >within <<-EOS
		#!/bin/sh
		echo >>lives
		read -r line
		id=\${line#*\"id\":} id=\${id%%,*}
		echo '{"jsonrpc":"2.0","id":'"\$id"',"result":{"protocolVersion":1,"agentCapabilities":{}}}'
		[ "\$(wc -l <lives)" -eq 1 ] || { cat >agent.log; exit; }
		head -c $1 >begun
		while [ ! -e go ]; do sleep 0.01; done
		kill -KILL \$\$
	EOS
	chmod +x within
	rm -f go begun
	restart --max-line 1000 -- ./within
	say "$init"
	gets '"id":0'
}

@test "the agent dies within a request beyond --max-line: the request fails, and its rest does not reach the next process" {
	local n half
	printf -v half '{"id":1,"method":"_x/long","params":"%02000d' 0
	for n in 100 ${#half}; do # with a rest in the pipe, and without one
		within "$n"
		printf %s "$half" >&9
		wait_for test -s begun
		touch go
		responds 1 -32603
		say "${half:100}\"}" '{"method":"_x/next"}'
		reads _x/next
		ends 0
		assert_equal "$(<agent.log)" '{"method":"_x/next"}'
		assert_equal "$(grep -c '"id":1,' got)" 1
	done
}

@test "the agent dies before a request beyond --max-line that is under way: the next process gets it" {
	local first='{"method":"_x/first"}' half
	printf -v half '{"id":1,"method":"_x/long","params":"%02000d' 0
	within $((${#first} + 1))
	printf '%s\n%s' "$first" "$half" >&9
	wait_for test -s begun
	touch go
	gets _acp-revive/restarted
	say '"}' '{"method":"_x/next"}'
	reads _x/next
	run ! grep '"id":1,' got
	ends 0
	assert_equal "$(<agent.log)" "$half"$'"}\n{"method":"_x/next"}'
}

@test "a last response without its newline reaches the client with one" {
	cat >torn <<-'EOS'
		#!/bin/sh
		read -r line
		printf '{"id":0,"result":{"protocolVersion":1}}'
	EOS
	chmod +x torn
	restart --restarts 0/1m -- ./torn
	say "$init"
	ends_itself 0
	printf '{"id":0,"result":{"protocolVersion":1}}\n' | cmp - got
}

@test "a response beyond --max-line to acp-revive itself is a refusal, and does not reach the client" {
	small --max-line 1000 long-session/resume
	ask a die
	say '{"jsonrpc":"2.0","id":"b","method":"_x/more","params":{"sessionId":"s1"}}'
	responds '"b"' -32002
	ends 0
	says 'could not be restored: the agent refused to restore the session: "the response is longer than --max-line"'
	run ! grep '"id":"acp-revive' got
}

@test "after a logout nothing is authenticated again; where that fails the session goes on" {
	small ''
	ask a authenticate
	ask b logout
	ask c die
	ask d _x/more
	ends 0
	run ! grep '^2 .*authenticate' agent.log
	small refuse-authenticate
	ask a authenticate
	ask c die
	ask d _x/more
	ends 0
	says 'authentication failed after the restart: {"code":-32000,"message":"not today"}'
	assert_equal "$(read_in 2 | jq -r '.[0]' | xargs)" 'initialize authenticate session/resume _x/more'
}

@test "an agent that refuses to be initialized again is killed, as often as --restarts allows" {
	small --restarts 2/1m refuse-initialize
	ask a die
	ends_itself 137
	assert_equal "$(grep -c 'the agent refused to initialize again: {"code":-32000,"message":"not today"}' said)" 2
	says 'the agent died .refused to initialize., more often than --restarts 2/1m allows'
}

@test "a signal is as if the client had left, a second one ends the agent at once" {
	small ''
	kill -TERM "$conduct"
	ends_itself 0
	exec 9>&-
	restart --grace 60m -- sh -c 'trap "" TERM; echo >lives; cat >agent.log; echo >lives; while :; do sleep 0.05; done'
	wait_for test -s lives
	rm lives
	kill -TERM "$conduct"
	wait_for test -s lives
	kill -INT "$conduct"
	ends_itself 130
	exec 9>&-
}

@test "an agent that does not end gets SIGTERM after the grace period, and then SIGKILL" {
	restart --grace 100ms -- sh -c 'trap "" TERM; while :; do sleep 0.05; done'
	ends 0
	says 'the agent did not end within the grace period: sending it SIGTERM'
}

@test "output that cannot be written for want of room is reported, and the status says so where the agent's is 0" {
	[[ -e /dev/full ]] || skip 'there is no /dev/full'
	run --separate-stderr -125 bash -c 'echo "$1" | acp-revive -- cat >/dev/full' - "$init"
	assert_equal "$stderr" 'acp-revive: writing to the client: No space left on device'
	run --separate-stderr -3 bash -c 'echo "$1" | acp-revive -- sh -c "cat; exit 3" >/dev/full' - "$init"
	assert_equal "$stderr" 'acp-revive: writing to the client: No space left on device'
}

@test "what makes no sense on the command line is refused" {
	run -2 acp-revive
	assert_output --partial 'missing agent'
	run -2 acp-revive --restarts often -- $agent
	assert_output --partial 'expected N/TIME'
	run -127 acp-revive -- no-such-agent </dev/null
	run -2 acp-revive --init-timeout 0 -- $agent
}
