#!/usr/bin/env bats
# acp-top on a terminal: the table at 80x24 and at 60x10, its keys, and the menu that responds to a question.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
	load control
	control_setup
	load top
	top_setup
}

teardown() {
	end_left_over
}

# three: sessions that have nothing, a turn and a question.
three() {
	initialized
	open /one
	open /two
	open /three
	update /one '{"sessionUpdate":"session_info_update","title":"first"}'
	update /two '{"sessionUpdate":"session_info_update","title":"second"}'
	prompt 2 /two
	update /two '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"on it"}}'
	prompt 3 /three
	question 7 /three
}

# bats test_tags=slow
@test "80x24 and 60x10: totals, names, the rows in their order, what the chosen one does, keys" {
	start
	three
	for size in '80 24' '60 10'; do
		# shellcheck disable=SC2086 # two words
		screen $size
		shows '3 sessions, 1 running, 1 waiting for you'
		shows 'rm -r build'
		run picture
		assert_line --index 1 --regexp '^AGENT +TITLE +STATE +TURN +'
		assert_line --index 2 --regexp ' /three +waiting'
		assert_line --index 3 --regexp ' second +model'
		assert_line --index 4 --regexp ' first +idle'
		assert_equal "$(wc -l <<<"$output")" "${size#* }"
		assert_line --regexp '^Enter messages .* q quit$'
		while read -r line; do
			((${#line} <= ${size% *})) || fail "too wide: $line"
		done <<<"$output"
		quits
	done
	ends
}

# bats test_tags=slow
@test "50 shares with 200 sessions, at 80x24 and 60x10: totals, what waits stands first, no line is too wide" {
	local i size line
	for ((i = 1; i <= 50; i++)); do
		{
			recording 10
			jq -nc --argjson i $i 'def line($t; $from): {t: $t, from: $from, msg: (. + {jsonrpc: "2.0"})};
				range(4) as $n | "\($i)-\($n)-会話" as $s
				| ({id: $n, method: "session/new", params: {cwd: "/p", mcpServers: []}} | line(0; "client")),
				({id: $n, result: {sessionId: $s}} | line(0; "agent")),
				(select($n < 2) | {id: "p\($n)", method: "session/prompt", params: {sessionId: $s, prompt: []}} | line(1; "client")),
				(select($n == 0 and $i > 40) | {id: "q", method: "elicitation/create", params: {sessionId: $s, message: "赤か青か which?"}} | line($i / 10; "agent"))'
		} >recording
		cp recording "of$i"
		poses "$i" "of$i"
	done
	for size in '80 24' '60 10'; do
		# shellcheck disable=SC2086 # two words
		screen $size
		shows '200 sessions, 90 running, 10 waiting for you'
		keys End
		wait_for chosen_has idle
		keys Home
		wait_for chosen_has waiting
		run picture
		assert_equal "$(wc -l <<<"$output")" "${size#* }"
		for ((i = 2; i < ${size#* } - 2 && i < 12; i++)); do
			assert_line --index $i --regexp '^ +[0-9]+-0-会話 +waiting '
		done
		keys o
		shows ' 3  title'
		keys 3 Enter Home
		wait_for chosen_has 1-0-
		quits
	done
	unpose
}

@test "without anything that is shared it says what to do" {
	screen 60 10
	shows '0 sessions, 0 running, 0 waiting for you'
	shows 'nothing is shared (start an agent with acp-share -- AGENT)'
	quits
}

# bats test_tags=slow
@test "a socket that is named twice, and is not there, stays a row" {
	screen 80 24 nowhere nowhere
	shows 'ended: nowhere: No s'
	# It would be attached again after two seconds, were it found in the directory.
	wait_for sleeps
	shows 'ended: nowhere: No s'
	quits 2
}

# bats test_tags=slow
@test "it draws what changes, follows the terminal's size, and a new share is a new row" {
	start
	initialized
	open /one
	screen 80 24
	shows '1 session, 0 running'
	prompt 2 /one
	shows '1 session, 1 running'
	tmux -S "$terminal" resize-window -t top -x 60 -y 10
	narrow() { [[ $(picture | wc -l) -eq 10 && $(picture | tail -n 1) == 'Enter messages'* ]]; }
	wait_for narrow
	tmux -S "$terminal" resize-window -t top -x 130 -y 30
	shows DIRECTORY
	a_share >recording
	poses other recording
	shows other-session
	quits
	unpose
	ends
}
a_share() {
	recording 5
	message 0 client '{"jsonrpc":"2.0","id":0,"method":"session/new","params":{"cwd":"/p","mcpServers":[]}}'
	message 1 agent '{"jsonrpc":"2.0","id":0,"result":{"sessionId":"other-session"}}'
}

# bats test_tags=slow
@test "arrows choose, / and n search, o and F6 order" {
	start
	three
	screen 80 24
	shows '1 waiting for you'
	wait_for chosen_has /three
	keys Down
	wait_for chosen_has second
	keys End
	wait_for chosen_has first
	keys Home
	wait_for chosen_has /three
	keys / F I R S T
	wait_for chosen_has first
	keys BSpace BSpace BSpace BSpace BSpace i d l e Enter
	wait_for chosen_has first
	keys Home / / Enter
	wait_for chosen_has /three
	keys / t Escape
	wait_for chosen_has /three
	keys n
	wait_for chosen_has second
	# A key may be more than one byte.
	keys Home / 語 BSpace f i r Enter
	wait_for chosen_has first
	keys / z z Enter
	shows 'no row has it'
	keys o
	shows ' 7  cost'
	keys 3 Enter
	by_title() { [[ $(picture | sed -n 3p) == *' /three'* && $(picture | sed -n 4p) == *' first'* ]]; }
	wait_for by_title
	# Keys that come together with those of the menu are for the rows in their new order.
	keys o 1 Enter End
	wait_for chosen_has first
	keys o 3 Enter End
	wait_for chosen_has second
	keys F6
	shows ' 7  cost'
	keys Up Up Enter
	by_state() { [[ $(picture | sed -n 4p) == *' second'* ]]; }
	wait_for by_state
	keys o
	shows ' 7  cost'
	keys Escape
	wait_for gone ' 7  cost'
	quits
	ends
}

# bats test_tags=slow
@test "an emoji of several that are joined does not move what is beside it, whatever the terminal makes of it" {
	start
	initialized
	open /one
	update /one '{"sessionUpdate":"session_info_update","title":"👩‍💻 ❤️ a title that is cut"}'
	screen 80 24
	shows '👩💻 ❤ a titl…'
	run picture
	assert_line --index 2 --regexp '^robot    👩💻 ❤ a titl… idle$'
	quits
	ends
}

# bats test_tags=slow
@test "a menu that is longer than a small screen scrolls" {
	start
	three
	screen 60 8
	shows '1 waiting for you'
	keys o
	shows ' 4  turn'
	keys 7
	shows ' 7  cost'
	keys Escape
	wait_for gone ' 7  cost'
	quits
	ends
}

# bats test_tags=slow
@test "a shows the options of a question, and the agent gets the chosen one, once" {
	start --answers
	three
	screen 80 24
	shows '1 waiting for you'
	keys a
	shows ' 1  Do it  (allow_once)'
	shows ' 2  Leave it  (reject_once)'
	keys Down Enter
	hears '"method":"heard","params":{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"selected","optionId":"no"}}}'
	shows '0 waiting for you'
	# The client's response to that is discarded. The same id again is another question; the client is first this time.
	say '{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"selected","optionId":"late"}}}'
	question 7 /three
	shows '1 waiting for you'
	keys Home a
	shows ' 1  Do it  (allow_once)'
	say '{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"selected","optionId":"yes"}}}'
	shows 'it has a response already'
	wait_for gone ' 1  Do it'
	question 7 /three
	shows '1 waiting for you'
	keys Home a
	shows ' 1  Do it  (allow_once)'
	keys 1 Enter
	heard_three() { [[ $(grep -c '"method":"heard"' got) -eq 3 ]]; }
	wait_for heard_three
	assert_equal "$(jq -r 'select(.method == "heard") | .params.result.outcome.optionId' got)" $'no\nyes\nyes'
	quits
	ends
}

# bats test_tags=slow
@test "a form can be declined; a session that waits for nothing has no menu" {
	start --answers
	initialized
	open /a
	screen 80 24
	shows '1 session'
	keys a
	shows 'it does not wait for you'
	say '{"jsonrpc":"2.0","method":"question","params":{"id":"f","method":"elicitation/create","params":{"sessionId":"/a","message":"which colour?","mode":"form"}}}'
	shows 'which colour?'
	keys a
	shows ' 2  cancel'
	keys 1 Enter
	hears '"id":"f","result":{"action":"decline"}'
	quits
	ends
}

# bats test_tags=slow
@test "without --answers the response is refused, with the reason, and the agent gets none" {
	start
	three
	screen 80 24
	shows '1 waiting for you'
	keys a
	shows ' 1  Do it'
	keys Enter
	shows 'acp-share was started without --answer'
	shows '1 waiting for you'
	quits
	ends
	run ! grep -F '"method":"heard"' got
}

# bats test_tags=slow
@test "a share that hangs when it is asked does not stop acp-top" {
	start --answers
	three
	screen 80 24
	shows '1 waiting for you'
	keys a
	shows ' 1  Do it'
	kill -STOP "$stream"
	keys Enter
	wait_for gone ' 1  Do it'
	keys Down
	wait_for chosen_has second
	kill -CONT "$stream"
	hears '"method":"heard"'
	quits
	ends
}

# bats test_tags=slow
@test "Enter prints the messages of the session as they come, and a key returns to the table" {
	start
	three
	screen 80 24
	shows '1 waiting for you'
	keys Down
	wait_for chosen_has second
	keys Enter
	shows '--- second (a key returns)'
	update /two '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":" and there it is"}}'
	update /two '{"sessionUpdate":"tool_call","toolCallId":"c1","title":"make it","status":"in_progress"}'
	shows 'and there it is'
	shows 'make it'
	keys x
	shows '3 sessions'
	wait_for chosen_has second
	quits
	ends
}

# bats test_tags=slow
@test "a terminal that is too small or dumb harms nothing; signals end it, and the terminal is as before" {
	start
	three
	screen 80 24
	shows '1 waiting for you'
	tmux -S "$terminal" resize-window -t top -x 10 -y 2
	tmux -S "$terminal" resize-window -t top -x 80 -y 24
	shows '1 waiting for you'
	shows 'Enter messages'
	kill -TERM "$(cat pid)"
	shows 'status 0'
	tmux -S "$terminal" kill-server
	# ncurses does not free all of a terminal that it cannot use.
	SCREEN_ENV='TERM=nonsense ASAN_OPTIONS=detect_leaks=0' screen 80 24
	shows 'status 2'
	tmux -S "$terminal" kill-server
	SCREEN_ENV='TERM=dumb ASAN_OPTIONS=detect_leaks=0' screen 80 24
	shows 'status 2'
	tmux -S "$terminal" kill-server
	ends
}

# bats test_tags=slow
@test "while nothing happens it uses no processor time: it is not even woken" {
	! portable || skip 'it looks for new shares once a second where the system is not Linux'
	[[ -r /proc/self/status ]] || skip 'there is no /proc'
	start
	initialized
	open /one
	prompt 2 /one
	finish 2
	screen 80 24
	shows '1 session, 0 running'
	# The turn may get its tokens for two seconds after its end.
	wait_for sleeps
	quits
	ends
}

@test "while much happens it draws what is new, at most ten times a second" {
	local began took drawn i=0 titles='{"sessionUpdate":"session_info_update","title":"'
	start
	initialized
	open /one
	prompt 2 /one
	screen 80 24
	shows '1 session, 1 running'
	update /one "${titles}first\"}"
	wait_for grep -q first raw
	drawn=$(pictures) began=${EPOCHREALTIME/[.,]/}
	while took=$((${EPOCHREALTIME/[.,]/} - began)) && ((took < 1000000)); do
		say '{"jsonrpc":"2.0","method":"tell","params":{"session":"/one","update":'"$titles$((++i))"'"}}}'
	done
	update /one "${titles}last\"}"
	wait_for grep -q last raw
	took=$((${EPOCHREALTIME/[.,]/} - began)) drawn=$(($(pictures) - drawn))
	echo "drawn $drawn times in $took us, after $i updates"
	((drawn <= took / 100000 + 2))
	quits
	ends
}

# pictures: how often it has drawn, where nothing changes but the title of the chosen row: attributes are reset once, at the end.
pictures() { grep -oa $'\e\[m' raw | wc -l; }

# colours: does a row on the screen have one?
colours() { picture -e | grep -qP '\x1b\[(.*;)?3[1-7]m'; }

# bats test_tags=slow
@test "colours are as NO_COLOR, --color and TERM say" {
	start
	three
	screen 80 24
	shows '1 waiting for you'
	shows second
	wait_for colours
	quits
	for how in NO_COLOR=1 TERM=vt100; do
		SCREEN_ENV=$how screen 80 24
		shows '1 waiting for you'
		shows second
		run ! colours
		quits
	done
	screen 80 24 --color never
	shows '1 waiting for you'
	shows second
	run ! colours
	quits
	ends
}

# bats test_tags=slow
@test "no escape sequence of a stream reaches the terminal" {
	local evil='\u001b]0;evil\u0007\u001b[31mred\u009b2J\r\n\u202e'
	{
		recording
		message 1 client '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}'
		message 1 agent '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentInfo":{"name":"'"$evil"'"}}}'
		message 2 client '{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/'"$evil"'","mcpServers":[]}}'
		message 2 agent '{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s'"$evil"'"}}'
		message 5 agent '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s'"$evil"'","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$evil"'"}}}}'
		message 6 agent '{"jsonrpc":"2.0","id":9,"method":"session/request_permission","params":{"sessionId":"s'"$evil"'","toolCall":{"toolCallId":"c","title":"'"$evil"'"},"options":[{"optionId":"o","name":"'"$evil"'","kind":"'"$evil"'"}]}}'
	} >escapes
	poses escapes escapes
	screen 200 24
	shows '1 waiting for you'
	shows red
	keys a
	shows ' 1  '
	keys Enter
	wait_for gone ' 1  '
	keys Enter
	shows 'a key returns'
	keys x
	shows '1 session'
	quits
	unpose
	run ! grep -aF -e $'\e]0;evil' -e $'\e[31mred' -e $'\xc2\x9b' -e $'\xe2\x80\xae' raw
}
