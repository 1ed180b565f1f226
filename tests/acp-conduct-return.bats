#!/usr/bin/env bats
# acp-conduct --on-agent-crash restart: the agent dies, and its sessions go on.
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
	$python "$TOP/tests/returning.py" client "$n" acp-conduct --on-agent-crash restart --restarts 9/10m "$@" >met 2>err ||
		{ cat met err; return 1; }
}

# lives_on POINTS WORD...: the client is done, though the agent has died at these points.
lives_on() {
	DIE=$1 client "$sessions" "${options[@]}" -- $agent "${@:2}" || { echo "at $1"; return 1; }
	[[ $(<met) == 'done; status 0;'* ]] || { echo "at $1: $(<met)"; cat err; return 1; }
	[[ $(wc -l <lives) -eq $(wc -w <<<"${1//,/ }")+1 ]] || { echo "at $1: $(wc -l <lives) lives"; return 1; }
}

restart() {
	rm -f lives points count agent.log past-*
	start --on-agent-crash restart "$@"
}
new() { say '{"jsonrpc":"2.0","id":"n","method":"session/new","params":{"cwd":"/","mcpServers":[{"name":"m","command":"c","args":[],"env":[]}],"_meta":{"k":1.50}}}'; gets '"id":"n"'; }
prompt() { say '{"jsonrpc":"2.0","id":'"$1"',"method":"session/prompt","params":{"sessionId":"'"${3-s1}"'","prompt":[{"type":"text","text":"'"$2"'"}]}}'; }
allow() { say '{"jsonrpc":"2.0","id":'"$1"',"result":{"outcome":{"outcome":"selected","optionId":"y"}}}'; }
asks() { wait_for grep -q "request_permission.*\"toolCallId\":\"$1\"" got; }
# What the agent has read in a life: method and params.
read_in() { sed -n "s/^$1 //p" agent.log | jq -c '[.method, .params]'; }

# --- at every point

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
@test "filters and proxies beside an agent that returns see one conversation, and no history" {
	local turns='[.[] | select(.msg.method == "session/prompt")] | length'
	local list
	sessions=1
	for list in "-f,acp-tap -o tap.rec,-f,acp-usage -f json -o usage" "-p,acp-tap -o tap.rec" "--record,all.rec,-f,acp-tap -o tap.rec" "--trace,t,-d,sed -u s/x/x/"; do
		rm -f tap.rec usage
		IFS=, read -ra options <<<"$list"
		lives_on 20 load
		[[ ! -e tap.rec ]] || assert_equal "$(jq -s "$turns" tap.rec)" 4
		[[ ! -e tap.rec ]] || run ! grep -q user_message_chunk tap.rec
		# Four prompts, of which one had no response of the agent's own; two units and a half, and one that began anew.
		[[ ! -e usage ]] || assert_equal "$(jq -s -c '[(map(select(.event == "turn" and .output)) | length, (map(.output) | add)), last.cost]' usage)" '[3,60,3.5]'
	done
}

@test "a chain in which no component but the agent is read starts it again, and the filters share their pipes" {
	restart -f 'acp-tap -o tap.rec' -f 'acp-tap -o /dev/null' -- $agent resume
	say "$init"
	gets '"id":0'
	new
	prompt 1 die
	responds 1 -32603
	says 'agent: died \(signal KILL\); restarted; requests failed: 1; sessions to restore: 1'
	prompt 2 two
	asks two
	allow 1
	responds 2 '{"stopReason":"end_turn","usage":{"totalTokens":30,"inputTokens":10,"outputTokens":20},"_meta":{"mode":"ask","model":"small","before":0}}'
	ends 0
	assert_equal "$(grep -c 'acp-tap.*down - messages' said)" 2
}

# --- what is restored

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
	allow 1
	prompt 2 second
	prompt 3 third
	say '{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s1"}}'
	wait_for grep -q '^2 .*session/resume' agent.log
	run ! grep -q '^2 .*session/prompt' agent.log
	touch gate
	asks second
	allow 2
	gets '"id":2,'
	asks third
	allow 3
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

@test "a client that knows notices is told, once for each session" {
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

# --- what is not restored

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
	says 'agent: session "s1" could not be restored: the agent can neither resume nor load sessions'
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
	assert_equal "$(grep -c '^acp-conduct: agent: died' err)" 3
	grep -q 'agent: died (signal KILL), more often than --restarts 2/1m allows; ending the chain' err
	[[ $(<met) == *'; status 137;'* ]]
	assert_equal "$(wc -l <lives)" 3
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
	for how in exit deaf mute; do
		prompt "\"$how\"" "$how"
		responds "\"$how\"" -32603
	done
	prompt 2 two
	asks two
	ends 0
	assert_equal "$(wc -l <lives)" 4
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

@test "without the option, or with end, the agent's death ends the chain; what makes no sense is refused" {
	start --on-agent-crash end -- $agent resume
	say "$init"
	gets '"id":0'
	new
	prompt 1 die
	wait "$conduct" || status=$?
	assert_equal "$status" 137
	run -2 acp-conduct --on-agent-crash never -- $agent
	assert_output --partial '--on-agent-crash never: expected end or restart'
	run -2 acp-conduct --on-agent-crash restart -p acp-tap
	assert_output --partial 'there is no agent'
}
