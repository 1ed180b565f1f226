#!/usr/bin/env bats
# acp-share --answers: guests respond to the agent's questions.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
	load control
	control_setup
	# shellcheck disable=SC2034 # of join
	want=answer
}

teardown() {
	end_left_over
}

# shellcheck disable=SC2034
WAYS=(wrap link proxy) SHORT_WAYS=3

# shared: the stream in this $way, initialized, with an acp-share --answers.
start_in_chain() {
	rm -f client
	mkfifo client
	exec 9<>client
	# shellcheck disable=SC2086 # a command
	acp-conduct --no-mcp "$1" 'acp-share --answers' -- $agent <client >got 2>said 9>&- &
	stream=$!
}
shared() {
	# shellcheck disable=SC2154 # of each_way
	case $way in
	wrap) start --answers ;;
	link) start_in_chain -f ;;
	proxy) start_in_chain -p ;;
	esac
	begin
	[[ $way == wrap ]] || find_socket
}

# question ID [METHOD]: the agent asks the client.
question() {
	say '{"jsonrpc":"2.0","method":"question","params":{"id":'"$1"',"method":"'"${2:-session/request_permission}"'","params":{"sessionId":"s","options":[]}}}'
	hears '"sessionId":"s","options":[]}'
}

# hears_question [N]: the guest has been shown so many.
hears_question() { wait_for bash -c '[[ $(grep -c "\"from\":\"agent\".*\"options\":" '"${2:-g}"') -eq '"${1:-1}"' ]]'; }
# selects ID OPTION: a response.
selects() { echo '{"jsonrpc":"2.0","id":'"$1"', "result":{"outcome":{"outcome":"selected","optionId":"'"$2"'"}}}'; }
# What the agent was told, as far as the agent's message `done` came after it.
told() {
	say '{"jsonrpc":"2.0","method":"done"}'
	hears '"method":"seen","params":{"jsonrpc":"2.0","method":"done"}'
	jq -r 'select(.method == "heard") | .params | "\(.id) \(.result.outcome.optionId // .error.message)"' got
}
# answer RESPONSE...: of a guest, to the last question with that id.
answer() {
	local response id
	for response in "$@"; do
		id=$(jq -c .id <<<"$response")
		printf '{"from":"client","asked":%s,"msg":%s}\n' \
			"$(jq -c --argjson id "$id" 'select(.from == "agent" and .msg.method and .msg.id == $id).t' g | tail -n 1 | grep . || echo 0)" "$response" >&8
	done
}
# The id under which the client, or a guest, got the last question: a proxy's neighbours have ids of their own.
id_at_client() { jq -c 'select(.params.options) | .id' got | tail -n 1; }
id_at_guest() { jq -c 'select(.msg.params.options) | .msg.id' g | tail -n 1; }

responds_first() {
	shared
	watch w
	join g
	question '"p\u0031"'
	hears_question
	answer "$(selects "$(id_at_guest)" yes)"
	hears '"method":"heard"'
	# The client is told that nobody waits for its response; what it says then goes nowhere.
	id=$(id_at_client)
	hears "\"method\":\"\$/cancel_request\",\"params\":{\"requestId\":$id}"
	say "$(selects "$id" no)"
	run -0 told
	assert_output 'p1 yes'
	# Every guest sees who was first, and nothing of the client's.
	for guests in w g; do
		hears '"method":"done"' "$guests"
		assert_equal "$(jq -c 'select(.msg.result.outcome) | [.from, .by, .msg.result.outcome.optionId]' "$guests")" '["client","guest.2","yes"]'
		run ! grep -F 'cancel_request' "$guests"
	done
	# A twin of that id is a question of its own.
	question '"p1"'
	hears_question 2
	answer "$(selects "$(id_at_guest)" again)"
	again() { heard '"optionId":"again"'; }
	wait_for again
	run -0 told
	assert_output $'p1 yes\np1 again'
	say "$(selects "$(id_at_client)" late)"
	question '"p1"'
	say "$(selects "$(id_at_client)" client)"
	run -0 told
	assert_output $'p1 yes\np1 again\np1 client'
	leaves
	ends
	run ! grep -v '^acp-conduct: ' said
}

# bats test_tags=slow
@test "a guest responds to a question: the agent gets it once, the client is told, and its own response is discarded" {
	each_way responds_first
}

client_first() {
	shared
	join g
	question 7 elicitation/create
	hears_question
	say "$(selects "$(id_at_client)" client)"
	hears '"optionId":"client"' g
	id=$(id_at_guest)
	answer "$(selects "$id" guest)" "$(selects 9999 guest)" '{"id":'"$id"',"error":{"code":1,"message":"guest"}}'
	down '{"jsonrpc":"2.0","id":"last","method":"m"}'
	hears '"id":"last","result"' g
	run -0 told
	assert_output '7 client'
	# Who was second cannot know it: nothing is said about it.
	run ! grep -F '"event":"error"' g
	leaves
	ends
	run ! grep -v '^acp-conduct: ' said
}

# bats test_tags=slow
@test "the client was first: what guests respond goes nowhere" {
	each_way client_first
}

@test "an error is a response, too; the id comes to the agent as it spelled it" {
	cat >spells <<-'EOS'
		read -r request; echo '{"id":0,"result":{"protocolVersion":1}}'
		echo '{"id":1.0,"method":"elicitation/create","params":{}}'; read -r response; printf '%s\n' "$response" >response
	EOS
	start --answers -- sh spells
	begin
	hears elicitation/create
	join g
	answer '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}'
	wait "$stream"
	assert_equal "$(cat response)" '{"jsonrpc":"2.0","id":1.0,"error":{"code":-32000,"message":"no"}}'
	assert_equal "$(tail -n 1 got)" '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1.0}}'
	exec 8>&-
}

# bats test_tags=slow
@test "a guest responds to permission requests and elicitations of the agent, and to nothing else" {
	start --answers
	begin
	watch w
	join g
	question 2 elicitation/create
	question 1 fs/read_text_file
	up '{"jsonrpc":"2.0","id":3,"method":"session/request_permission","params":{"by":"guest"}}'
	hears '"by":"guest"'
	id=$(sed -n 's/.*"id":\([^,]*\),"method":"session\/request_permission","params":{"by.*/\1/p' got)
	answer "$(selects 1 yes)" "$(selects "$id" yes)"
	up "$(selects 1 yes)"
	down '{"jsonrpc":"2.0","id":"last","method":"m"}'
	hears '"id":"last","result"' g
	assert_equal "$(jq -r 'select(.event == "error").why' g | uniq -c | sed 's/^ *//')" \
		'2 a guest may respond to permission requests and elicitations of the agent only'
	say "$(selects "$id" client)"
	hears '"to":"guest","msg":{"jsonrpc":"2.0","id":3, "result"' g
	down "$(selects 2 yes)"
	hears '"why":"a response needs the member \"asked\": the t of its request"' g
	run -0 told
	assert_output ''
	leaves
	ends
}

# bats test_tags=slow
@test "without --answers a guest changes nothing, and who wants to is told so" {
	start
	begin
	assert_equal "$(ask '{"want":"list"}' | jq -c '[.answers, .guests]')" '[false,0]'
	run ask '{"want":"answer"}'
	assert_output '{"error":"guests may not respond to the agent here: acp-share was started without --answers"}'
	# shellcheck disable=SC2034
	want=join
	join g
	question 1
	answer "$(selects 1 yes)"
	hears '"why":"a guest may not send responses"' g
	say "$(selects 1 client)"
	run -0 told
	assert_output '1 client'
	run ! grep -F 'cancel_request' got
	leaves
	ends
}

# bats test_tags=slow
@test "with --answers, who has only joined changes nothing either" {
	start --answers
	begin
	assert_equal "$(ask '{"want":"list"}' | jq -c '.answers')" true
	# shellcheck disable=SC2034
	want=join
	join g
	question 1
	answer "$(selects 1 yes)"
	hears '"why":"a guest may not send responses"' g
	say "$(selects 1 client)"
	run -0 told
	assert_output '1 client'
	leaves
	ends
}

# bats test_tags=slow
@test "who attaches later finds the questions that are open, and no others" {
	start --answers
	begin
	for id in 1 2 3; do question "$id"; done
	say "$(selects 2 client)"
	join g
	answer "$(selects 3 guest)"
	run -0 told
	assert_output $'2 client\n3 guest'
	leaves
	join g
	assert_equal "$(jq -c 'select(.from == "agent" and .msg.params.options) | .msg.id' g)" 1
	answer "$(selects 1 late)"
	hears '"optionId":"late"'
	leaves
	ends
}

# bats test_tags=slow
@test "the guard between acp-share and the agent is never gone round" {
	# shellcheck disable=SC2086 # a command
	start --answers -- acp-inject --deny elicitation/create -- $agent
	begin
	join g
	say '{"jsonrpc":"2.0","method":"question","params":{"id":1,"method":"elicitation/create","params":{}}}'
	hears '"message":"acp-inject: denied"'
	answer "$(selects 1 yes)"
	run -0 told
	assert_output '1 acp-inject: denied'
	assert_equal "$(jq -c 'select(.from == "agent" and .msg.id == 1)' g)" ''
	leaves
	ends
}

@test "the client leaves while a question is open: guests' responses go nowhere, and the stream ends" {
	start --answers -- sh -c 'jq -c --unbuffered -f agent.jq; echo ended >left'
	begin
	join g
	question 1
	exec 9>&-
	wait_for test -e left
	answer "$(selects 1 yes)" || true
	exec 8>&-
	wait "$stream"
	run ! grep -v '^acp-share: guest.1: ' said
}

# bats test_tags=slow
@test "random guests and clients that answer at the same time: each request gets exactly one response; without --answers it is the client's" {
	local seed=${ACP_SEED:-$RANDOM} round
	for ((round = 0; round < ${ACP_ROUNDS:-$(sample 1 10)}; round++)); do
		timeout 300 python3 "$TOP/tests/model/answers.py" $((seed + round))
		timeout 300 python3 "$TOP/tests/model/answers.py" $((seed + round)) closed
	done
}
