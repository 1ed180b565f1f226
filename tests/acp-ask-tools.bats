#!/usr/bin/env bats
# acp-ask: what the agent may use: files below the session's directory, and terminals.

bats_require_minimum_version 1.5.0

setup() {
	load ask
	ask_setup
	mkdir dir
	echo secret >outside
}

teardown() {
	ask_teardown
}

# steps METHOD PARAMS...: the steps of a turn that sends these requests.
steps() {
	local method=$1 params all=
	shift
	for params; do
		all+=',{"ask":"'"$method"'","params":{"sessionId":"s1",'"$params"'}}'
	done
	agent '{"turns":[['"${all:1}"']]}'
}

replies() {
	sent 'select(.id > 1000) | .result // .error.code'
}

@test "--fs read: files below the directory are read, whole or some lines" {
	printf 'one\ntwo\nthree\n' >dir/f
	ln -s f dir/inside
	steps fs/read_text_file '"path":"'"$PWD/dir/f"'"' '"path":"'"$PWD/dir/f"'","line":2,"limit":1' '"path":"'"$PWD/dir/f"'","line":9' '"path":"'"$PWD/dir/missing"'"'
	run -0 ask --fs read --cwd dir hi
	assert_line "read: $PWD/dir/f"
	assert_equal "$(replies)" $'{"content":"one\\ntwo\\nthree\\n"}\n{"content":"two\\n"}\n{"content":""}\n-32002'
	assert_equal "$(sent 'select(.method == "initialize").params.clientCapabilities')" '{"fs":{"readTextFile":true,"writeTextFile":false}}'
	rm in
	portable || { steps fs/read_text_file '"path":"'"$PWD/dir/inside"'","limit":1'; ask -q --fs read --cwd dir hi; assert_equal "$(replies)" '{"content":"one\n"}'; }
}

# bats test_tags=slow
@test "no path leaves the directory, however it is spelled" {
	ln -s ../outside dir/link
	ln -s "$PWD/outside" dir/absolute
	ln -s .. dir/up
	mkdir dir2
	echo secret >dir2/f
	local p=$PWD
	steps fs/read_text_file '"path":"'"$p"'/outside"' '"path":"'"$p"'/dir/../outside"' '"path":"'"$p"'/dir/link"' '"path":"'"$p"'/dir/absolute"' \
	    '"path":"'"$p"'/dir/up/outside"' '"path":"'"$p"'/dir2/f"' '"path":"outside"' '"path":""' '"path":"/etc/passwd"' '"path":"'"$p"'/dir//../outside"' \
	    '"path":"'"$p"'/dir/up/dir/link"' '"line":1'
	run -0 --separate-stderr ask -q --fs read --cwd dir hi
	assert_equal "$(replies | sort | uniq -c | tr -s ' ')" ' 12 -32602'
	run ! grep -q secret in
	steps fs/write_text_file '"content":"x","path":"'"$p"'/outside"' '"content":"x","path":"'"$p"'/dir/link"' '"content":"x","path":"'"$p"'/dir/up/new"' \
	    '"content":"x","path":"'"$p"'/dir/absolute"' '"content":"x","path":"'"$p"'/dir/../new/a/b"'
	rm in
	ask -q --fs write --cwd dir hi
	assert_equal "$(replies | sort -u)" -32602
	assert_equal "$(<outside)" secret
	[ ! -e new ]
}

@test "--fs write: files are made and replaced, directories above them too" {
	echo old and long >dir/f
	steps fs/write_text_file '"content":"new\n","path":"'"$PWD"'/dir/f"' '"content":"x","path":"'"$PWD"'/dir/a/b/c.txt"' '"path":"'"$PWD"'/dir/g"' '"content":"x","path":"'"$PWD"'/dir"'
	run -0 ask --fs write --cwd dir hi
	assert_line "write: $PWD/dir/a/b/c.txt"
	assert_equal "$(replies)" $'{}\n{}\n-32603\n-32603'
	assert_equal "$(<dir/f)" new
	assert_equal "$(<dir/a/b/c.txt)" x
	[ ! -e dir/g ]
}

@test "a path with a NUL is refused; a NUL in a text is written" {
	steps fs/write_text_file '"content":"x","path":"'"$PWD"'/dir/z\u0000y"' '"content":"a\u0000b","path":"'"$PWD"'/dir/f"'
	run -0 ask --fs write --cwd dir hi
	assert_line "write: $PWD/dir/z�y: Invalid argument"
	assert_equal "$(replies)" $'-32603\n{}'
	assert_equal "$(ls dir)" f
	assert_equal "$(tr '\0' 0 <dir/f)" a0b
}

@test "what is not a text file is not read; a FIFO does not block" {
	mkfifo dir/fifo
	printf '\377' >dir/binary
	steps fs/read_text_file '"path":"'"$PWD"'/dir/fifo"' '"path":"'"$PWD"'/dir/binary"' '"path":"'"$PWD"'/dir"'
	ask -q --fs read --cwd dir hi
	assert_equal "$(replies)" $'-32603\n-32603\n-32603'
	rm in
	steps fs/write_text_file '"content":"x","path":"'"$PWD"'/dir/fifo"'
	ask -q --fs write --cwd dir hi
	assert_equal "$(replies)" -32603
}

@test "without --fs write nothing is written, and in version 2 neither option goes" {
	steps fs/write_text_file '"content":"x","path":"'"$PWD"'/dir/g"'
	ask -q --fs read --cwd dir hi
	assert_equal "$(replies)" -32601
	run -2 ask --fs read --protocol 2 hi
	assert_output 'acp-ask: --fs read does not go with --protocol 2'
	run -2 ask --terminal --protocol 2 hi
}

# terminal STEP...: a turn with these; the terminal that is created first is t4.
terminal() {
	local IFS=,
	agent '{"turns":[['"$*"']]}'
}

request() {
	local which='"terminalId":"t4"'
	echo '{"ask":"terminal/'"$1"'","params":{"sessionId":"s1",'"${2-$which}"'}}'
}

@test "--terminal: a command runs in the directory; its output and status are reported" {
	terminal "$(request create '"command":"sh","args":["-c","pwd; echo $X >&2; exit 3"],"env":[{"name":"X","value":"y"}]')" "$(request wait_for_exit)" "$(request output)" "$(request release)" "$(request output)"
	run -0 ask --terminal --cwd dir hi
	assert_line 'terminal: sh'
	assert_equal "$(replies)" '{"terminalId":"t4"}
{"exitCode":3,"signal":null}
{"output":"'"$PWD"'/dir\ny\n","truncated":false,"exitStatus":{"exitCode":3,"signal":null}}
{}
-32002'
	assert_equal "$(sent 'select(.method == "initialize").params.clientCapabilities')" '{"terminal":true}'
}

@test "a method of terminals that the protocol does not have is refused" {
	terminal "$(request create '"command":"sleep","args":["1000"]')" "$(request resize)" "$(request killx)" "$(request resize '"terminalId":"t9"')"
	ask -q --terminal hi
	assert_equal "$(replies | tail -n 3 | sort -u)" -32601
}

@test "a command without arguments may be a line for the shell; one that is not found is an error" {
	terminal "$(request create '"command":"echo a | tr a b"')" "$(request wait_for_exit)" "$(request output)"
	ask -q --terminal hi
	assert_equal "$(replies | jq -r '.output // empty')" b
	rm in
	terminal "$(request create '"command":"./missing","args":["x"]')" "$(request create '"command":"pwd","cwd":"/etc"')"
	ask -q --terminal hi
	assert_equal "$(replies)" $'-32002\n-32602'
}

@test "the last bytes of the output are kept, from a whole character on" {
	terminal "$(request create '"command":"printf","args":["%s","abcd\u00e9\u00e9"],"outputByteLimit":3')" "$(request wait_for_exit)" "$(request output)"
	ask -q --terminal hi
	assert_equal "$(replies | tail -n 1 | jq -c '[.output, .truncated]')" '["é",true]'
}

@test "a command is killed on demand, and with the session" {
	terminal "$(request create '"command":"sleep","args":["1000"]')" "$(request kill)" "$(request wait_for_exit)"
	ask -q --terminal hi
	assert_equal "$(replies | tail -n 1)" '{"exitCode":null,"signal":"SIGTERM"}'
	terminal "$(request create '"command":"echo $$ >pid; exec sleep 1000"')" \
	    "$(request create '"command":"until [ -s pid ]; do sleep 0.01; done"')" "$(request wait_for_exit '"terminalId":"t5"')"
	ask -q --terminal hi
	run ! kill -0 "$(<pid)"
}

# bats test_tags=slow
@test "a command, and what it has started, ends with the session, however that ends" {
	local how
	while IFS='|' read -r status how options; do
		rm -f pid in
		terminal "$(request create '"command":"sleep 1000 & echo $! >pid; wait"')" \
		    "$(request create '"command":"until [ -s pid ]; do sleep 0.01; done"')" "$(request wait_for_exit '"terminalId":"t5"')" "$how"
		run -"$status" ask -q $options --terminal hi
		# Who takes it over may not have waited for it yet.
		[[ ! -e /proc/$(<pid) || $(</proc/"$(<pid)"/stat) == *') Z '* ]]
	done <<-'END'
		0|{"text":"x"}|
		5|{"exit":5}|
		124|{"wait":"session/cancel"}|--timeout 1s
		1|{"stop":"refusal"}|
	END
}

@test "a terminal that is released ends its command, and who waits for that has a response" {
	terminal "$(request create '"command":"sleep","args":["1000"]')" "$(request wait_for_exit | jq -c '.later = true')" "$(request release)" '{"answers":3}'
	ask -q --terminal hi
	assert_equal "$(replies | tail -n 2)" $'{"exitCode":null,"signal":"SIGKILL"}\n{}'
}

@test "a wait for the end of a command that the agent cancels gets an error at once, and no other does" {
	terminal "$(request create '"command":"sleep","args":["1000"]')" \
	    "$(for id in 20 21 22; do request wait_for_exit | jq -c --argjson id "$id" '. + {later: true, id: $id}'; done | paste -sd,)" \
	    '{"tell":"$/cancel_request","params":{"requestId":21.0}},{"answers":2}' "$(request kill)" '{"answers":5}'
	run -0 ask -q --terminal hi
	assert_equal "$(sent 'select(.id == (20, 21, 22)) | [.id, .error.code]')" $'[21,-32800]\n[20,null]\n[22,null]'
}

@test "acp-check finds nothing in what acp-ask responds" {
	echo x >dir/f
	agent '{"turns":[[{"ask":"fs/read_text_file","params":{"sessionId":"s1","path":"'"$PWD"'/dir/f"}},
		'"$(request create '"command":"true"'),$(request wait_for_exit),$(request output),$(request release)"']]}'
	acp-ask -q --cwd dir --fs write --terminal hi -- acp-tap -o s.rec -- "${AGENT[@]}"
	run -0 checked
}
