#!/usr/bin/env bats
# Whatever a peer or an option says: no byte of it that a terminal obeys reaches what people read. Streams, recordings and JSON
# keep theirs.

setup() {
	load lib
	lib_setup
	# ESC, CSI 2J, an OSC title, C1, bidi, DEL, CR, what nobody sees; and a byte that is not UTF-8.
	HOSTILE=$'X\e[2J\e]0;owned\a\u009b31m\u202egnp\u2066\u200b\b\x7f\rY'
	RAW=$HOSTILE$'\x9b2J\xff'
	hostile client >client
	hostile agent >agent
	recording client agent >s.rec
}

teardown() {
	end_left_over
}

# hostile SIDE: messages with the string in every place; as bytes where JSON allows them, and as escapes.
hostile() {
	jq -nc --arg side "$1" --arg hostile "$HOSTILE" -f "$BATS_TEST_DIRNAME/hostile.jq"
	jq -nca --arg side "$1" --arg hostile "$HOSTILE" -f "$BATS_TEST_DIRNAME/hostile.jq"
}

# Lines that are no messages, with the same.
noise() {
	printf '%s\n' "$RAW" "{\"id\":1,\"method\":\"$RAW\"}" "{\"method\":\"m\",\"m$HOSTILE\":" '{"id":1.5,"method":"x"}' \
	    '{"method":"a","method":"b"}' "[\"$RAW\"]"
}

# recording CLIENT AGENT: both sides, one message of each in turn, and noise and stderr.
recording() {
	jq -nc --arg h "$HOSTILE" '{"acp-recording": 1, started: "2026-11-20T15:56:02Z", by: $h, command: [$h, $h]}'
	paste -d '\n' <(sed 's/^/client /' "$1") <(sed 's/^/agent /' "$2") | grep . |
	    awk '{ side = $1; sub(/^[a-z]+ /, ""); print "{\"t\":" NR ".5,\"from\":\"" side "\",\"msg\":" $0 "}" }'
	jq -nc --arg h "$HOSTILE" '{t: 5000, from: "agent", noise: $h}, {t: 5000, from: "agent", stderr: $h},
		{t: 5001, event: "lost", count: 2, why: $h}'
}

# safe FILE...: they hold text, and nothing that a terminal obeys.
safe() {
	local file bad=0
	for file; do
		# CSV ends its lines with \r\n.
		if sed 's/\r$//' "$file" | LC_ALL=C grep -naP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xe2\x80[\x8b\x8e\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]' |
		    head -n 3 | cat -v; [[ ${PIPESTATUS[1]} != 1 ]]; then
			bad=1
			echo "^ in $file"
		fi
		iconv -f UTF-8 -t UTF-8 "$file" >/dev/null || bad=1
	done
	return $bad
}

# shown FILE...: they are safe, and what is hostile was there to be shown.
shown() {
	local file
	safe "$@"
	for file; do
		grep -qF '<U+202E>' "$file" || fail "$file holds nothing hostile: $(head -c 300 "$file")"
	done
}

# An agent that sends its messages and noise, says on stderr what is hostile, and takes what comes.
agent() {
	{
		echo '#!/bin/sh'
		echo 'cat "$0.err" >&2; cat "$0.up"; exec cat >/dev/null'
	} >"$1"
	chmod +x "$1"
	{ cat agent; noise; } >"$1.up"
	noise >"$1.err"
}

down() {
	cat client
	noise
}

@test "the generator holds every kind of message, and the check finds what is hostile" {
	(( $(wc -l <agent) > 900 && $(wc -l <client) > 300 ))
	printf 'a\e[2Jb\n' >esc
	printf 'a\xc2\x9bb\n' >c1
	printf 'a\xe2\x80\xaeb\n' >bidi
	printf 'a\xffb\n' >bytes
	printf 'a\rb\n' >cr
	for file in esc c1 bidi bytes cr; do
		run safe $file
		assert_failure
	done
	printf 'plain \xc3\xa4\xe2\x80\x8d\t\r\n' >plain
	safe plain
}

# bats test_tags=slow
@test "acp-tap: a timeline, of recordings and of streams" {
	acp-tap s.rec >files 2>files.err
	acp-tap --no-fold s.rec >unfolded 2>>files.err
	LC_ALL=C acp-tap s.rec >ascii 2>>files.err
	down | acp-tap >/dev/null 2>pipe
	agent a
	down | acp-tap -- ./a >/dev/null 2>wrap
	down | acp-tap --clean -o rec -- ./a >/dev/null 2>clean
	printf '{"t":1,"from":"agent","msg":{"x":"%s"\n{"acp-recording":"%s"}\n' "$RAW" "$RAW" >"$RAW.rec"
	acp-tap "$RAW.rec" >bad 2>bad.err || true
	shown files unfolded ascii pipe wrap clean bad.err
	safe files.err bad
}

# bats test_tags=slow
@test "acp-tap: a stream and a recording keep every byte" {
	agent a
	down | acp-tap -o rec -- ./a >up 2>/dev/null
	cmp up a.up
	down | acp-tap 2>/dev/null | cmp - <(down)
}

# bats test_tags=slow
@test "acp-check: findings as text and XML, of recordings and of streams" {
	acp-check --level note s.rec >text 2>text.err || true
	acp-check --level note -f junit s.rec 2>junit.err | sed 's/&lt;/</g; s/&gt;/>/g' >junit || true
	agent a
	down | acp-check --level note -- ./a >/dev/null 2>wrap || true
	shown text junit wrap
	safe {text,junit}.err
}

# bats test_tags=slow
@test "acp-usage: log, tables, and warnings" {
	local limits=(--warn-cost "0.1USD,0.1$HOSTILE" --max-cost "0.2$HOSTILE" --max-tokens 1 --fail-at red)
	acp-usage "${limits[@]}" s.rec >log 2>log.err || true
	acp-usage --all -f tsv s.rec >tsv 2>tsv.err
	acp-usage --all -f csv s.rec >csv 2>csv.err
	acp-usage --summary s.rec >summary 2>summary.err
	acp-usage --by model s.rec >models 2>models.err
	agent a
	down | acp-usage "${limits[@]}" -- ./a >/dev/null 2>wrap || true
	cat agent | acp-usage --pass >/dev/null 2>pass
	shown log log.err tsv csv summary models wrap pass
	safe {tsv,csv,summary,models}.err
}

@test "acp-usage, acp-stat: the labels of metrics" {
	acp-usage -f prom s.rec >usage 2>usage.err
	acp-stat -f prom s.rec >stat 2>stat.err
	shown usage stat
	safe {usage,stat}.err
	# Quotes, backslashes and newlines are escaped; the name of FS is ^\ and colours are not left out.
	jq -nc '{jsonrpc: "2.0", method: "\u001c\"\\\n\u001b[31mred"}' | acp-stat -f prom - 2>/dev/null >labels
	grep -F 'method="^\\\"\\\n^[[31mred",' labels
}

# bats test_tags=slow
@test "acp-usage: the meter" {
	cat >run <<-'END'
		acp-usage --meter --color never s.rec >/dev/null
		acp-usage --meter=tty --color never s.rec >/dev/null 2>&1
	END
	script -qec 'stty cols 200; bash run' /dev/null </dev/null >terminal
	# What it draws with is its own: back to the margin, and clear to the end.
	sed 's/\x1b\[K//g; s/\r/\n/g' terminal >drawn
	shown drawn
}

# bats test_tags=slow
@test "acp-diff: differences; acp-replay: what it misses" {
	sed 's/"text":"/&a/; s/"title":"/&a/' s.rec >"$HOSTILE.rec"
	acp-diff --match exact s.rec "$HOSTILE.rec" >text 2>text.err || true
	acp-diff -f junit --match exact s.rec "$HOSTILE.rec" 2>junit.err | sed 's/&lt;/</g; s/&gt;/>/g' >junit
	acp-replay s.rec < <(down | tac) >/dev/null 2>agent.err || true
	agent a
	: >a.err # it is the agent's own descriptor here
	acp-replay --as client --check --match exact s.rec -- ./a >client.out 2>client.err || true
	shown text junit agent.err client.out
	safe text.err junit.err client.err
}

# bats test_tags=slow
@test "acp-inject, acp-fault, acp-budget, acp-mcp: what they report of messages and noise" {
	agent a
	down | acp-inject -v --deny '*' -e 'error(tostring)' -w 'error(tostring)' -- ./a >/dev/null 2>inject || true
	down | acp-inject -v --answer '*=error(tostring)' --permit allow_once --send "up:after:*=error(tostring)" -- ./a >/dev/null 2>inject2 || true
	down | acp-fault --clean --drop 10% --seed 1 -- ./a >/dev/null 2>fault || true
	down | acp-budget --max-cost 1USD --max-tokens 1 --max-context 50 --target 1k -- ./a >/dev/null 2>budget || true
	down | acp-mcp -- ./a >/dev/null 2>mcp || true
	shown inject inject2 fault budget mcp
}

# bats test_tags=slow
@test "acp-budget: the line on the terminal" {
	{ jq -c 'select(.method == "session/prompt" or .method == "session/new")' client; } >in
	agent a
	script -qec 'acp-budget --target 2k --status tty -- ./a <in >out 2>err' /dev/null </dev/null >terminal || true
	sed 's/\x1b\[K//g; s/\r/\n/g' terminal >drawn
	safe drawn err
}

# bats test_tags=slow
@test "acp-conduct: components' stderr, names and noise; acp-share: the list" {
	local bin="$PWD/$HOSTILE"
	mkdir -p "$PWD/run"
	agent "$bin"
	export XDG_RUNTIME_DIR=$PWD/run
	down | acp-conduct -v -- "$bin" >/dev/null 2>plain || true
	down | acp-conduct -v -p 'acp-tap -o /dev/null' -- "$bin" >/dev/null 2>proxies || true
	down | acp-conduct -v --record r -f "'$bin'" -- cat >/dev/null 2>filter || true
	shown plain proxies filter
	# What is shared may say anything of itself.
	mkdir -m 700 run/acp
	jq -nc --arg h "$HOSTILE" '{pid: $h, started: $h, name: $h, client: $h, agent: $h, cwd: $h, sessions: [{id: $h}]}' >answer
	socat UNIX-LISTEN:run/acp/1 SYSTEM:'read -r question; cat answer' 3>&- &
	wait_for listens "$!"
	acp-share --list >list 2>list.err
	shown list
	safe list.err
}

# bats test_tags=slow
@test "options that are echoed" {
	local tool option options
	for tool in "$TOP"/cmd/*/; do
		tool=$(basename "$tool")
		: >"$tool.out"
		options=$("$tool" --help | grep -oE -- '--[a-z][a-z-]+' | sort -u | grep -vxE -- '--help|--version|--list')
		for option in $options; do
			timeout 20 "$tool" "$option" "$RAW" </dev/null >>"$tool.out" 2>&1 || true
			timeout 20 "$tool" "$option=$RAW" </dev/null >>"$tool.out" 2>&1 || true
			timeout 20 "$tool" "$option" "$RAW" s.rec "$RAW" -- "./$RAW" </dev/null >>"$tool.out" 2>&1 || true
		done
		timeout 20 "$tool" "--$RAW" </dev/null >>"$tool.out" 2>&1 || true
		timeout 20 "$tool" "-$RAW" </dev/null >>"$tool.out" 2>&1 || true
		timeout 20 "$tool" "$RAW" </dev/null >>"$tool.out" 2>&1 || true
		timeout 20 "$tool" -- "$RAW" </dev/null >>"$tool.out" 2>&1 || true
		shown "$tool.out"
	done
}
