#!/usr/bin/env bats
# acp-conduct: a component that dies in the middle of traffic. What it had in its hands keeps its place, its cancellation and
# its response.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load conduct
	lib_setup
	conduct_setup
}

teardown() {
	end_left_over
}

# component NAME LIVES: a program ./NAME whose first LIVES lives run the shell text on stdin; later ones are acp-tap.
component() {
	{
		printf '#!/bin/bash\necho $$ >>%s.lives\nif (($(wc -l <%s.lives) <= %d)); then\n' "$1" "$1" "$2"
		cat
		printf '\n:\nfi\nexec acp-tap -o /dev/null\n'
	} >"$1"
	chmod +x "$1"
}

# --- a turn

@test "a proxy dies during a turn: the prompt fails, what the proxy had sent on is cancelled, and the updates that it had not read come in order" {
	component proxy 0 </dev/null
	cat >turn <<-'EOS'
		#!/bin/bash
		update() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"n":%d}}}\n' "$1"; }
		IFS= read -r line
		echo '{"jsonrpc":"2.0","id":1,"result":{}}'
		IFS= read -r line
		for n in {2..50}; do update "$n"; done >rest
		pid=$(<proxy.lives)
		update 1
		kill -KILL "$pid"
		cat rest
		exec tee agent.log 3>&1 >/dev/null # its output stays open
	EOS
	chmod +x turn
	start --no-mcp -p ./proxy -- ./turn
	begin
	say '{"jsonrpc":"2.0","id":"p","method":"session/prompt","params":{"sessionId":"s"}}'
	gets '"n":50}'
	responds '"p"' -32603
	reads '"$/cancel_request"'
	reads '"session/cancel","params":{"sessionId":"s"}'
	ends 0
	assert_equal "$(grep -c '"id":"p"' got)" 1
	run jq -s -e 'map(.params.update.n // empty) | . == sort and (. | unique) == . and length >= 49' got
	assert_success
}

# bats test_tags=slow
@test "two requests of one kind, of which a proxy that dies had forwarded one: both fail, and the user's response to that goes to neither" {
	cat >asking.jq <<-'EOS'
		def ask(id; what): {jsonrpc: "2.0", id: id, method: "session/request_permission", params: {sessionId: "s", toolCall: {title: what}}};
		if .method == "go" then ask("P1"; "rm -rf /"), ask("P2"; "ls") else empty end
	EOS
	mv agent.jq plain.jq
	printf '(%s), (%s)\n' "$(<asking.jq)" "$(<plain.jq)" >agent.jq
	component guard 1 <<-'EOS'
		jq -c --unbuffered 'if .method == "_proxy/initialize" or .method == "proxy/initialize" then
				{jsonrpc: "2.0", id: "i\(.id)", method: "proxy/successor", params: {method: "initialize", params: {}}}
			elif .id | type == "string" then .id |= (.[1:] | tonumber)
			elif .params.params.toolCall.title == "rm -rf /" then empty
			elif .method == "proxy/successor" then {jsonrpc: "2.0", id: "a\(.id)", method: .params.method, params: .params.params}
			else {jsonrpc: "2.0", method: "proxy/successor", params: {method, params}} end'
		exit
	EOS
	start --no-mcp -p ./guard -- ./agent
	begin
	say '{"jsonrpc":"2.0","method":"go"}'
	gets '"title":"ls"'
	kill -KILL -"$(<guard.lives)"
	gets '"$/cancel_request"'
	id=$(jq -c 'select(.params.toolCall.title == "ls") | .id' got)
	assert_equal "$(jq -c 'select(.method == "$/cancel_request") | .params.requestId' got)" "$id"
	say '{"jsonrpc":"2.0","id":'"$id"',"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}'
	say '{"jsonrpc":"2.0","id":9,"method":"after"}'
	responds 9 '{"method":"after","params":null}'
	ends 0
	assert_equal "$(jq -c 'select(.id == "P1" or .id == "P2") | [.id, .error.code]' agent.log | sort)" $'["P1",-32603]\n["P2",-32603]'
	run ! grep -q allow agent.log
	assert_equal "$(grep -c '"title":"ls"' got)" 1
}

@test "a private request of a proxy that dies is no response to the client's: nothing is guessed" {
	component private 1 <<-'EOS'
		ask() { printf '{"jsonrpc":"2.0","id":%s,"method":"proxy/successor","params":{"method":"%s","params":%s}}\n' "$@"; }
		while IFS= read -r line; do
			case $line in
			*'"proxy/initialize"'*) asked=$line; ask 1 initialize '{}' ;;
			*'"id":1,"result"'*) jq -c '{jsonrpc: "2.0", id, result: {}}' <<<"$asked" ;;
			*'"session/new"'*) ask 2 session/new '{"cwd":"/private"}'; sed -u '/private/Q'; kill -KILL $$ ;;
			esac
		done
	EOS
	start --no-mcp -p ./private -- ./agent
	begin
	say '{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/mine"}}'
	responds 1 -32603
	say '{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/mine"}}'
	responds 2 '{"method":"session/new","params":{"cwd":"/mine"}}'
	ends 0
	run ! grep -q /private got
}

# --- cancellations

@test "a cancelled request that its proxy had read fails; the next process never gets it" {
	component holding 1 <<-'EOS'
		while IFS= read -r line; do
			case $line in
			*'"$/cancel_request"'*) kill -KILL $$ ;;
			*'"slow"'*) ;;
			*) printf '%s\n' "$line" ;;
			esac
		done > >(acp-tap -o /dev/null)
		exit
	EOS
	start --no-mcp -p ./holding -- ./agent
	begin
	say '{"jsonrpc":"2.0","id":1,"method":"slow"}' '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}'
	says 'holding: died'
	say '{"jsonrpc":"2.0","id":2,"method":"after"}'
	responds 2 '{"method":"after","params":null}'
	responds 1 -32603
	ends 0
	run ! grep -q '"slow"' agent.log
}

# bats test_tags=slow
@test "bypass: a cancellation that its proxy had not read reaches the agent" {
	component proxy 0 </dev/null
	start --no-mcp --on-crash bypass --restarts 0/1m --record r.rec -p ./proxy -- ./agent
	begin
	kill -STOP "$(<proxy.lives)"
	say '{"jsonrpc":"2.0","id":1,"method":"slow"}' '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}'
	wait_for grep -qF '$/cancel_request' r.rec
	kill -KILL "$(<proxy.lives)"
	says 'proxy: died .*bypassed'
	say '{"jsonrpc":"2.0","id":2,"method":"after"}'
	responds 2 '{"method":"after","params":null}'
	responds 1 -32800
	ends 0
}

@test "bypass: the request of a dead filter, which its proxy had not read, is cancelled once in the recording" {
	component proxy 0 </dev/null
	component sender 0 </dev/null
	start --no-mcp --on-crash bypass --restarts 0/1m --record r.rec -f ./sender -p ./proxy -- ./agent
	begin
	kill -STOP "$(<proxy.lives)"
	say '{"jsonrpc":"2.0","id":1,"method":"slow"}'
	both_hops() { [[ $(grep -cF '"slow"' r.rec) -eq 2 ]]; }
	wait_for both_hops
	kill -KILL "$(<sender.lives)"
	says 'sender: died .*bypassed'
	responds 1 -32603
	kill -KILL "$(<proxy.lives)"
	says 'proxy: died .*bypassed'
	reads '"$/cancel_request"'
	ends 0
	assert_equal "$(grep -cF '"$/cancel_request"' r.rec)" 1
}

# bats test_tags=slow
@test "a cancellation that a dead filter had read reaches the component that has the request" {
	component filter 1 <<-'EOS'
		cat <&6 7>&- &
		sed -u '/cancel_request/Q' >&7
		kill -KILL 0
	EOS
	for how in restart bypass; do
		rm -f filter.lives
		start --no-mcp --on-crash $how --restarts "$([[ $how == bypass ]] && echo 0/1m || echo 1/1m)" --record r.rec -f ./filter -- ./agent
		begin
		say '{"jsonrpc":"2.0","id":1,"method":"slow"}'
		reads '"slow"'
		say '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}'
		says 'filter: died'
		responds 1 -32603
		reads '"$/cancel_request"'
		ends 0
		rm r.rec agent.log
	done
}

# --- responses

@test "a filter that dies of a request: the request is refused with the reason" {
	component filter 1 <<-'EOS'
		cat <&6 7>&- &
		sed -u '/"deadly"/Q' >&7
		kill -KILL 0
	EOS
	start --no-mcp --record r.rec -f ./filter -- ./agent
	begin
	say '{"jsonrpc":"2.0","id":1,"method":"deadly"}'
	responds 1 -32603
	gets 'filter: no response: signal KILL'
	ends 0
}

# --- what is lost is reported

# bats test_tags=slow
@test "a cancellation that was passed on does not count as one of the notifications that a dead proxy has lost" {
	component proxy 1 <<-'EOS'
		acp-tap -o /dev/null | sed -u '/session.update/d'
	EOS
	start --no-mcp -p ./proxy -- ./agent
	begin
	say '{"jsonrpc":"2.0","id":1,"method":"slow"}' '{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}'
	responds 1 -32800
	say '{"jsonrpc":"2.0","id":3,"method":"tell"}' '{"jsonrpc":"2.0","id":2,"method":"after"}'
	responds 2 '{"method":"after","params":null}'
	kill -KILL "$(<proxy.lives)"
	says 'proxy: died .*; notifications lost: at most 1$'
	ends 0
}

# bats test_tags=slow
@test "a request that came in the same read as one that kills the proxy gets a response" {
	# cat takes both lines at once.
	printf '#!/bin/bash\ncat | while IFS= read -r line; do [[ $line != *poison* ]] || kill -KILL 0; printf "%%s\\n" "$line"; done | acp-tap -o /dev/null\n' >glutton
	chmod +x glutton
	start --no-mcp -p ./glutton -- ./agent
	begin
	say $'{"jsonrpc":"2.0","id":1,"method":"poison"}\n{"jsonrpc":"2.0","id":2,"method":"harmless"}'
	responds 1 -32603
	gets '"id":2,'
	ends 0
}

@test "what an agent had not read when it ended is reported, with its number" {
	! portable || skip 'what a dead component had not read cannot be looked at where the system is not Linux'
	mkfifo go
	printf '#!/bin/bash\nIFS= read -r line\necho "{\\"jsonrpc\\":\\"2.0\\",\\"id\\":1,\\"result\\":{}}"\nread -r x <go\n' >quitter
	chmod +x quitter
	start --record r.rec -- ./quitter
	begin
	for _ in {1..5}; do say '{"jsonrpc":"2.0","method":"note"}'; done
	five() { [[ $(grep -c '"note"' r.rec) -eq 5 ]]; }
	wait_for five
	echo >go
	says '^acp-conduct: agent: exit status 0'
	ends 0
	said 'agent: .*5 (messages|notifications)'
}

# --- alive, but closed

# bats test_tags=slow
@test "a proxy that closes its output but lives has died: it is stopped, named and started again" {
	component closing 1 <<-'EOS'
		sed -u '/"die"/Q' | acp-tap -o /dev/null
		exec sleep 1000 >&-
	EOS
	start --grace 200ms --no-mcp -p ./closing -- ./agent
	begin
	say '{"jsonrpc":"2.0","id":1,"method":"die"}'
	says '^acp-conduct: closing: closed its standard output'
	responds 1 -32603
	say '{"jsonrpc":"2.0","id":2,"method":"after"}'
	responds 2 '{"method":"after","params":null}'
	ends 0
}

# bats test_tags=slow
@test "a filter that closes its output but lives has died, where acp-conduct reads it" {
	printf '#!/bin/bash\necho >>lives\nif (($(wc -l <lives) == 1)); then sed -u /die/Q; exec sleep 1000 >&-; fi\nexec cat\n' >closing
	chmod +x closing
	start --grace 200ms --no-mcp --record r.rec -d ./closing -- ./agent
	say '{"jsonrpc":"2.0","id":"0","method":"initialize","params":{}}'
	gets '"id":"0"'
	say '{"jsonrpc":"2.0","method":"die"}'
	says '^acp-conduct: closing: closed its (standard )?output'
	say '{"jsonrpc":"2.0","id":2,"method":"after"}'
	responds 2 '{"method":"after","params":null}'
	ends 0
}

# bats test_tags=slow
@test "a filter that closes its output but lives, where its neighbours hold its pipes, is stopped when the client leaves" {
	printf '#!/bin/bash\necho >>lives\nsed -u /die/Q\nexec sleep 1000 >&-\n' >closing
	chmod +x closing
	for chain in '-d ./closing' '-u cat -d ./closing'; do
		# shellcheck disable=SC2086
		start --grace 200ms --no-mcp $chain -- ./agent
		say '{"jsonrpc":"2.0","id":"0","method":"initialize","params":{}}'
		gets '"id":"0"'
		say '{"jsonrpc":"2.0","method":"die"}'
		ends 0
		says 'closing: did not end within the grace period; stopped'
	done
}

# bats test_tags=slow
@test "an agent that closes its output but lives: requests are answered, it is stopped, and the blame is right" {
	printf '#!/bin/bash\nIFS= read -r line\necho "{\\"jsonrpc\\":\\"2.0\\",\\"id\\":1,\\"result\\":{}}"\nexec >&-\nexec sleep 1000\n' >mute
	chmod +x mute
	for chain in '--record r.rec' '-p acp-tap' '-p acp-tap -f acp-tap'; do
		# shellcheck disable=SC2086
		start --grace 200ms --no-mcp $chain -- ./mute
		# At once: a chain that has ended responds to nothing.
		say "$init" '{"jsonrpc":"2.0","id":1,"method":"m"}'
		responds 1 -32603
		says '^acp-conduct: agent: closed its standard output'
		local status=0
		wait "$conduct" || status=$?
		exec 9>&-
		wait_for nobody_left
	done
}

# bats test_tags=slow
@test "a component that closes its input but lives: what it can not read is answered at once" {
	! portable || skip 'acp-conduct holds the input of components open where the system is not Linux'
	printf '#!/bin/bash\nIFS= read -r line\necho "{\\"jsonrpc\\":\\"2.0\\",\\"id\\":1,\\"result\\":{}}"\nexec <&-\necho >closed\nexec sleep 1000\n' >numb
	chmod +x numb
	for chain in '--record r.rec' '-p acp-tap'; do
		rm -f closed
		# shellcheck disable=SC2086
		start --grace 200ms --no-mcp $chain -- ./numb
		begin
		wait_for test -e closed
		say '{"jsonrpc":"2.0","id":1,"method":"m"}'
		responds 1 -32603
		exec 9>&-
		wait "$conduct" || true
		wait_for nobody_left
	done
	component numb 1 <<-'EOS'
		sed -u '/"die"/Q' | acp-tap -o /dev/null
		exec sleep 1000 <&-
	EOS
	start --grace 200ms --no-mcp -p ./numb -- ./agent
	begin
	say '{"jsonrpc":"2.0","id":1,"method":"die"}'
	responds 1 -32603
	say '{"jsonrpc":"2.0","id":2,"method":"after"}'
	responds 2 '{"method":"after","params":null}'
	ends 0
}

# --- what is written in between

@test "where acp-conduct reads the hop, a restart adds no blank line after a whole one" {
	component proxy 0 </dev/null
	start --no-mcp --record r.rec -f 'acp-tap -o /dev/null' -p ./proxy -- ./agent
	begin
	kill -KILL "$(<proxy.lives)" "$(pid_of acp-tap)"
	both() { (($(wc -l <proxy.lives) == 2)) && (($(grep -c '^acp-conduct: acp-tap: pid ' said) == 2)); }
	wait_for both
	say '{"jsonrpc":"2.0","id":1,"method":"m"}'
	responds 1 '{"method":"m","params":null}'
	ends 0
	run grep -c '^$' got agent.log
	assert_output $'got:0\nagent.log:0'
}

@test "a restarted proxy that asks the client something before it is ready gets the response, whatever comes before that" {
	component proxy 2 <<-'EOS'
		(($(wc -l <proxy.lives) == 2)) || exec acp-tap -o /dev/null
		IFS= read -r line
		echo '{"jsonrpc":"2.0","id":"ask","method":"q"}'
		while IFS= read -r response && [[ $response != *'"ask"'* ]]; do :; done
		id=${line#*'"id":'}
		echo "{\"jsonrpc\":\"2.0\",\"id\":${id%%,*},\"result\":{}}"
		exec cat >rest
	EOS
	touch rest
	start --no-mcp --init-timeout 5s -p ./proxy -- ./agent
	begin
	kill -KILL "$(<proxy.lives)"
	says 'proxy: died .*restarted'
	printf -v long '%100000s' ''
	for i in {1..20}; do
		printf '{"jsonrpc":"2.0","method":"note","params":["%s"]}\n' "$long"
	done >notes
	timeout 60 cat notes >&9
	gets '"q"'
	say '{"jsonrpc":"2.0","id":1,"result":{}}'
	came() { [[ $(wc -l <rest) == 20 ]]; }
	wait_for came
	ends 0
}

# --- memory

# forwarding NAME: a filter that passes lines on, survives that nobody reads them, and ends with status 5 at SIGUSR1.
forwarding() {
	cat >"$1" <<-EOS
		#!/bin/bash
		echo \$\$ >>$1.lives
		trap '' PIPE
		trap 'exit 5' USR1
		forward() { while IFS= read -r line; do printf '%s\n' "\$line"; done 2>/dev/null; }
		forward <&6 7>&- &
		forward <&0 >&7 &
		exec 7>&-
		wait
		wait
		exit 0
	EOS
	chmod +x "$1"
}

# An agent that sends an update now and then and does not read.
chattering() {
	printf '#!/bin/bash\ntrap "" PIPE\nfor ((i = 0; ; i++)); do echo "{\\"i\\":$i}" 2>/dev/null; sleep 0.02; done\n' >chatter
	chmod +x chatter
}

dies() {
	local lives
	lives=$(wc -l <"$1.lives")
	kill -KILL "$(tail -n 1 "$1.lives")"
	[[ ${2-} == last ]] || wait_for lives_again "$1" "$lives"
}
died_or_over() { said "^acp-conduct: $1: died" || ! kill -0 "$conduct" 2>/dev/null; }
lives_again() { (($(wc -l <"$1.lives") > $2)); }

# No sanitizer had anything to say, and conduct has ended by itself.
ended_well() {
	local status=0
	exec 9>&-
	wait "$conduct" || status=$?
	run ! grep -E 'Sanitizer|runtime error' said
	((status != 134 && status != 139)) || fail "status $status"
	wait_for nobody_left
}

# bats test_tags=slow
@test "a filter dies twice while the client does not read: its neighbour's end finds no memory that was freed" {
	forwarding f
	forwarding g
	chattering
	mkfifo client out
	exec 9<>client
	cat out >got 9>&- &
	reader=$!
	acp-conduct -v --restarts 10/1m -f ./f -f ./g -- ./chatter <client >out 2>said 9>&- &
	conduct=$!
	gets '"i"'
	dies f
	kill "$reader"
	# Until conduct has found out.
	a_while_passes 500ms
	dies f
	kill -USR1 "$(tail -n 1 g.lives)"
	wait_for died_or_over g
	kill -TERM "$conduct" || true
	a_while_passes 200ms
	kill -TERM "$conduct" || true
	ended_well
}

# bats test_tags=slow
@test "a filter dies again after the direction towards its neighbour has ended: no freed memory is used" {
	forwarding f
	chattering
	printf '#!/bin/bash\necho $$ >>g.lives\nexec cat\n' >g
	chmod +x g
	start --grace 20s --restarts 10/1m -f ./f --on-crash fail -d ./g -- ./chatter
	gets '"i"'
	dies f
	dies g last
	wait_for died_or_over g
	dies f last
	a_while_passes 500ms
	kill -TERM "$conduct" || true
	a_while_passes 200ms
	kill -TERM "$conduct" || true
	ended_well
}

# bats test_tags=slow
@test "a filter that reads only what goes up dies beside a hop that is read: what follows still comes" {
	for chain in '--record r.rec -u ./once' '-u ./once -p acp-tap' '-p acp-tap -u ./once'; do
		rm -f lives
		printf '#!/bin/bash\necho >>lives\n(($(wc -l <lives) > 1)) || { sed -u /first/q; kill -KILL $$; }\nexec cat\n' >once
		chmod +x once
		# shellcheck disable=SC2086
		start --no-mcp $chain -- ./agent
		begin
		say '{"jsonrpc":"2.0","id":1,"method":"first"}'
		says 'once: died'
		responds 1 '{"method":"first","params":null}'
		say '{"jsonrpc":"2.0","id":2,"method":"second"}'
		responds 2 '{"method":"second","params":null}'
		ends 0
		assert_equal "$(grep -c '"id":2' got)" 1
	done
}

# bats test_tags=slow
@test "a filter dies after it has read a response that it has not passed on: the request fails" {
	printf '#!/bin/bash\necho >>lives\n(($(wc -l <lives) > 1)) || PATH=$PATH exec ./half\nexec acp-tap -o /dev/null\n' >keeper
	printf '#!/bin/bash\nexec 8<&0\ncat <&8 >&7 &\nwhile IFS= read -r line <&6; do [[ $line != *first* ]] || kill -KILL 0; printf "%%s\\n" "$line"; done\n' >half
	chmod +x keeper half
	start --no-mcp --record r.rec -f ./keeper -- ./agent
	begin
	say '{"jsonrpc":"2.0","id":1,"method":"first"}'
	says 'keeper: died'
	responds 1 -32603
	say '{"jsonrpc":"2.0","id":2,"method":"second"}'
	responds 2 '{"method":"second","params":null}'
	ends 0
}

# once NAME: a one-way filter whose first process dies of the first response that it reads.
once() {
	printf '#!/bin/bash\necho >>%s.lives\n(($(wc -l <%s.lives) > 1)) || { sed -u "/%s/Q"; kill -KILL $$; }\nexec cat\n' "$1" "$1" "$2" >"$1"
	chmod +x "$1"
}

# bats test_tags=slow
@test "a one-way filter dies of a response: the request fails, in both directions" {
	printf '(select(.method == "ask") | {jsonrpc: "2.0", id: "q", method: "question"}), (%s)\n' "$(<agent.jq)" >asking.jq
	mv asking.jq agent.jq
	for how in 'restart --restarts 1/1m' 'bypass --restarts 0/1m'; do
		rm -f agent.log ./*.lives r.rec
		once up 'result.*first'
		once down 'result.*mine'
		# shellcheck disable=SC2086
		start --no-mcp --record r.rec --on-crash $how -u ./up -d ./down -- ./agent
		begin
		say '{"jsonrpc":"2.0","id":1,"method":"first"}'
		responds 1 -32603
		say '{"jsonrpc":"2.0","id":2,"method":"ask"}'
		gets '"question"'
		say "$(jq -c 'select(.method == "question") | {jsonrpc, id, result: "mine"}' got)"
		await_line agent.log grep -F '"code":-32603' >/dev/null
		say '{"jsonrpc":"2.0","id":3,"method":"after"}'
		responds 3 '{"method":"after","params":null}'
		ends 0
		assert_equal "$(jq -c 'select(.id == "q") | .error.code' agent.log)" -32603
		run jq -s 'map(select(has("method") | not) | .id) | . == unique' got
		assert_output true
	done
}

# bats test_tags=slow
@test "responses that a dead filter had not read go to the next process: none fails" {
	component filter 0 </dev/null
	start --no-mcp --record r.rec -u ./filter -- ./agent
	begin
	kill -STOP "$(<filter.lives)"
	for i in {1..50}; do say '{"jsonrpc":"2.0","id":'"$i"',"method":"ask"}'; done
	reads '"id":50,'
	kill -KILL "$(<filter.lives)"
	says 'filter: died .*restarted'
	say '{"jsonrpc":"2.0","id":51,"method":"after"}'
	responds 51 '{"method":"after","params":null}'
	ends 0
	assert_equal "$(jq -sc 'map(select(.result) | .id)' got)" "$(seq 0 51 | jq -sc .)"
}

@test "a prompt that a dead proxy had passed on in a session and with a method of its own names is not sent again" {
	component mapping 1 <<-'EOS'
		sed -u 's/"session\/prompt"/"_own\/prompt"/; s/"sessionId":"s"/"sessionId":"own"/' | acp-tap -o /dev/null
		exit
	EOS
	start --no-mcp -p ./mapping -- ./agent
	mv agent.jq plain.jq
	printf 'if .method == "_own/prompt" then empty else (%s) end\n' "$(<plain.jq)" >agent.jq
	begin
	say '{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s"}}'
	reads '"_own/prompt"'
	kill -KILL -"$(<mapping.lives)"
	responds 1 -32603
	say '{"jsonrpc":"2.0","id":2,"method":"after"}'
	responds 2 '{"method":"after","params":null}'
	ends 0
	assert_equal "$(grep -c 'prompt"' agent.log)" 1
}

@test "what the client has sent arrives, also where a filter is bypassed and another ends the chain with 1" {
	printf '#!/bin/bash\nsed -u /fatal/Q\nexit 1\n' >fatal
	chmod +x fatal
	start --no-mcp --grace 1000s --on-crash bypass --restarts 0/1m -d cat -p 'acp-tap -o /dev/null' --on-crash fail -u ./fatal -- ./agent
	begin
	kill -KILL "$(pid_of cat)"
	says 'cat: died .*bypassed'
	{
		echo '{"jsonrpc":"2.0","method":"tell","params":{"fatal":1}}'
		for i in {1..200}; do echo '{"jsonrpc":"2.0","method":"note","params":{"n":'"$i"'}}'; done
	} >sent
	cat sent >&9 # at once
	exec 9>&-
	ends 1
	assert_equal "$(grep -c '"note"' agent.log)" 200
}

@test "what a bypassed proxy had not read of the agent goes on to the client, and the client's response comes back" {
	cat >late <<-'EOS'
		#!/bin/sh
		read -r line
		id=${line#*\"id\":} id=${id%%[,\}]*}
		echo '{"jsonrpc":"2.0","id":'"$id"',"result":{"protocolVersion":1}}'
		while [ ! -e go ]; do sleep 0.01; done
		printf '%s\n' '{"jsonrpc":"2.0","method":"session/update","params":{"n":1}}' \
			'{"jsonrpc":"2.0","id":"a","method":"_x/ask","params":{"n":2}}'
		exec cat 3>&1 >agent.log
	EOS
	chmod +x late
	start --no-mcp --on-crash bypass --restarts 0/1m --record r.rec -p 'acp-tap -o /dev/null' -- ./late
	begin
	kill -STOP "$(pid_of acp-tap)"
	touch go
	wait_for grep -q '"n":2' r.rec
	kill -KILL "$(pid_of acp-tap)"
	says 'acp-tap: died .signal KILL.; bypassed; messages forwarded past it: 2'
	gets '"n":2'
	assert_equal "$(jq -c 'select(.method) | [.method, .params]' got)" '["session/update",{"n":1}]
["_x/ask",{"n":2}]'
	say "$(jq -c 'select(.method == "_x/ask") | {id, result: 3}' got)"
	reads '"a"'
	assert_equal "$(jq -c . agent.log)" '{"id":"a","result":3}'
	ends 0
}
