#!/usr/bin/env bats
# acp-tap --redact: secrets stay out of what is written, and in what passes.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
}

# becomes PARAMS EXPECTED N [MARK]: as the params of a message, with N values redacted, each a MARK (@) in EXPECTED.
becomes() {
	local head='{"jsonrpc":"2.0","method":"m","params":' n=$3 mark='"<redacted>"'
	printf '%s%s}\n' "$head" "$1" >in
	run -0 --separate-stderr acp-tap --redact -f raw in
	assert_output "$head${2//${4-@}/"$mark"}}"
	assert_regex "$stderr" "^acp-tap: redacted $n values? in $((n > 0)) messages?(: .*)?\$"
}

@test "headers and env as objects: every value below" {
	becomes '{"headers":{"A":"x","B":1,"C":{"D":[true,null,"y"]}}}' '{"headers":{"A":@,"B":@,"C":{"D":[@,@,@]}}}' 5
	becomes '{"a":[{"env":{"name":"x","value":"y"}}]}' '{"a":[{"env":{"name":@,"value":@}}]}' 2
}

@test "headers and env as arrays of pairs: the value, not the name" {
	becomes '{"mcpServers":[{"env":[{"name":"TOKEN","value":"x"},{"name":"B","value":"y"}]}]}' \
		'{"mcpServers":[{"env":[{"name":"TOKEN","value":@},{"name":"B","value":@}]}]}' 2
	becomes '{"headers":[{"name":"A","value":"x","more":{"name":"z"}}]}' '{"headers":[{"name":"A","value":@,"more":{"name":@}}]}' 2
	becomes '{"env":["A=x",["B=y"]]}' '{"env":[@,[@]]}' 2
	becomes '{"env":[{"name":7,"value":8}]}' '{"env":[{"name":@,"value":@}]}' 2
}

@test "below proxyConfig all" {
	becomes '{"proxyConfig":{"url":"u","list":[1,{"a":"b"}]},"url":"u"}' '{"proxyConfig":{"url":@,"list":[@,{"a":@}]},"url":"u"}' 3
}

# bats test_tags=slow
@test "members by the end of their name, in any case and spelling, and all below them" {
	for name in token secret password passwd apikey api-key api_key "api key" accessKey access_key privateKey private-key \
		credential credentials authorization Proxy-Authorization cookie set-cookie Cookies x-api-key X-Auth-Token \
		access_token refreshToken clientSecret awsSecretAccessKey DB_PASSWORD proxy_key; do
		becomes "{\"$name\":\"x\"}" "{\"$name\":@}" 1
	done
	becomes '{"token":{"a":"x","b":["y",{"c":"z"}]}}' '{"token":{"a":@,"b":[@,{"c":@}]}}' 3
	becomes '{"password":12345,"secret":[1,"x"]}' '{"password":@,"secret":[@,@]}' 3
	becomes '{"secret":null,"password":true,"cookie":[]}' '{"secret":null,"password":true,"cookie":[]}' 0
}

@test "members that are spelled as variables of the environment" {
	becomes '{"OPENAI_KEY":"x","GH_PAT":"x","MYSQL_PWD":"x","FOO_AUTH":"x","A_TOKEN":"x","HOME":"x","MAX_TOKENS":"x","KEY":"x"}' \
		'{"OPENAI_KEY":@,"GH_PAT":@,"MYSQL_PWD":@,"FOO_AUTH":@,"A_TOKEN":@,"HOME":"x","MAX_TOKENS":"x","KEY":"x"}' 5
	becomes '{"list":[{"name":"API_TOKEN","description":"d","value":"x"},{"name":"HOME","value":"y"}]}' \
		'{"list":[{"name":"API_TOKEN","description":"d","value":@},{"name":"HOME","value":"y"}]}' 1
}

@test "a value is a secret by the name beside it, whichever comes first" {
	becomes '{"a":[{"value":"x","name":"API_TOKEN"},{"value":"y","key":"password"},{"value":"z","name":"HOME"}]}' \
		'{"a":[{"value":@,"name":"API_TOKEN"},{"value":@,"key":"password"},{"value":"z","name":"HOME"}]}' 2
}

@test "arguments: after an option of such a name, and after its =" {
	becomes '{"args":["--api-key","x","--token=x y","-v","--port","80","TOKEN_FILE","DB_PASSWORD=a b"]}' \
		'{"args":["--api-key",@,"--token=<redacted>","-v","--port","80","TOKEN_FILE","DB_PASSWORD=<redacted>"]}' 3
	becomes '{"args":["-H","X-Api-Key: my own","-n","token: 5","--token=$TOKEN"]}' \
		'{"args":["-H","X-Api-Key: <redacted>","-n","token: 5","--token=$TOKEN"]}' 1
	becomes '{"command":"tool --password s3cret99 -x API_KEY=x y --token $TOKEN --help"}' \
		'{"command":"tool --password <redacted> -x API_KEY=<redacted> y --token $TOKEN --help"}' 2
}

@test "arguments of commands: the password, also where command and arguments are apart" {
	becomes '{"command":"curl","args":["-s","-u","bob:p w","https://h"]}' \
		'{"command":"curl","args":["-s","-u","bob:<redacted>","https://h"]}' 1
	becomes '{"args":["-su","bob:pw"],"command":"/usr/bin/curl"}' '{"args":["-su","bob:<redacted>"],"command":"/usr/bin/curl"}' 1
	becomes '{"cmd":["sudo","mysql","-u","root","-ppw"],"b":["-ppw"]}' \
		'{"cmd":["sudo","mysql","-u","root","-p<redacted>"],"b":["-ppw"]}' 1
	becomes '{"command":"docker","args":["login","-u","bob","-p","pw"]}' '{"command":"docker","args":["login","-u","bob","-p",@]}' 1
	becomes '{"command":["curl","-u","bob","--user","$A:$B","-o","a:b"]}' \
		'{"command":["curl","-u","bob","--user","$A:$B","-o","a:b"]}' 0 ~~
	becomes '{"a":"curl -su bob:pw h; sort -su a:b"}' '{"a":"curl -su bob:<redacted> h; sort -su a:b"}' 1
	becomes '{"command":["curl","-u","bob:pw/AKIAABCDEFGHIJKLMNOP"]}' '{"command":["curl","-u","bob:<redacted>"]}' 1
	becomes '{"command":["curl","-u","bob\u003apw:x"]}' '{"command":["curl","-u","bob\u003a<redacted>"]}' 1
}

@test "URLs: user information, and parameters that grant access" {
	becomes '{"a":"get https://joe:x@host/a@b?q=1&sig=abc&api_key=d#e, https://host/@x"}' \
		'{"a":"get https://<redacted>@host/a@b?q=1&sig=<redacted>&api_key=<redacted>, https://host/@x"}' 3 ~~
}

@test "credentials of HTTP in texts" {
	becomes '{"a":"Bearer abc123.def and Basic am9lOnB3, bearer tokens, Basic usage"}' \
		'{"a":"Bearer <redacted> and Basic <redacted>, bearer tokens, Basic usage"}' 2
	# Of letters alone, as this user:pass, only what is base64 of a name, a colon and a password.
	becomes '{"a":"Basic dXNlcjpwYXNz, Basic eyebrows, Bearer dXNlcjpwYXNz"}' '{"a":"Basic <redacted>, Basic eyebrows, Bearer dXNlcjpwYXNz"}' 1
	becomes '{"a":"curl -H \"Cookie: a=1; b=2\" x\nSet-Cookie: sid=9f; Path=/\nb"}' \
		'{"a":"curl -H \"Cookie: <redacted>\" x\nSet-Cookie: <redacted>\nb"}' 2
	# Of letters alone, what is long or has a name. Only the header's own line decides.
	becomes '{"a":"Cookie: sid=abcdefgh\nAuthorization: Token abcdefghijklmnopqrstuvwxyz\nX: 1"}' \
		'{"a":"Cookie: <redacted>\nAuthorization: <redacted>\nX: 1"}' 2
	becomes '{"a":"cookie: a biscuit\nauthorization: ask Joe\nX: 1"}' '{"a":"cookie: a biscuit\nauthorization: ask Joe\nX: 1"}' 0
	# Of a whole header of one word any, which in prose is followed by others.
	becomes '{"a":"curl -H \"Authorization: Bearer hushhush\" x\nauthorization: basic hushhush\nb"}' \
		'{"a":"curl -H \"Authorization: Bearer <redacted>\" x\nauthorization: basic <redacted>\nb"}' 2
	becomes '{"a":"Authorization: Bearer tokens expire. Documentation: Basic usage"}' \
		'{"a":"Authorization: Bearer tokens expire. Documentation: Basic usage"}' 0
	for a in 'Bearer $GITHUB_PERSONAL_ACCESS_TOKEN' 'Bearer {{token_for_the_service}}' 'see src/authorization_middleware.ts'; do
		becomes '{"a":"Authorization: '"$a"'"}' '{"a":"Authorization: '"$a"'"}' 0
	done
}

@test "names of several words in texts" {
	becomes '{"a":"AWS Secret Access Key: abc123\nAPI Key: \"abcd\"\nazure.storage.account.key=abcdef\nmy jwt.signing.key: abc123"}' \
		'{"a":"AWS Secret Access Key: <redacted>\nAPI Key: \"<redacted>\"\nazure.storage.account.key=<redacted>\nmy jwt.signing.key: <redacted>"}' 4
	becomes '{"a":"--client.secret = hunter22x"}' '{"a":"--client.secret = <redacted>"}' 1
	becomes '{"a":"the secret key: how it works. Its public key: abc123. A secret. Key: abc123"}' \
		'{"a":"the secret key: how it works. Its public key: abc123. A secret. Key: abc123"}' 0
}

@test "elements of XML with attributes, strings of SQL with blanks and two quotes, short strings of the environment" {
	becomes '{"a":"<password encrypted=\"false\">pw</password> <password/>a</b>"}' \
		'{"a":"<password encrypted=\"false\"><redacted></password> <password/>a</b>"}' 1
	becomes '{"a":"<db.password>pw</db.password> <m:api.key>k</m:api.key>"}' \
		'{"a":"<db.password><redacted></db.password> <m:api.key><redacted></m:api.key>"}' 2
	becomes '{"a":"echo \"machine h login joe password pw1\n\" >~/.netrc; the machine of my login joe password pw1"}' \
		'{"a":"echo \"machine h login joe password <redacted>\n\" >~/.netrc; the machine of my login joe password pw1"}' 1
	becomes '{"a":"ALTER USER x PASSWORD '"'correct horse'"'; identified by '"'it''s-Secret 9'"'; the password '"'of a user'"'"}' \
		'{"a":"ALTER USER x PASSWORD '"'<redacted>'"'; identified by '"'<redacted>'"'; the password '"'of a user'"'"}' 2
	becomes '{"a":"API_KEY=\"abc\" B_KEY=\"\" x\nDB_PASSWORD: '"'db'"'\nthe API_KEY: \"abc\""}' \
		'{"a":"API_KEY=\"<redacted>\" B_KEY=\"\" x\nDB_PASSWORD: '"'<redacted>'"'\nthe API_KEY: \"abc\""}' 2
}

# bats test_tags=slow
@test "JSON in a string, and in a string in that" {
	becomes '{"s":"{\"token\":\"x\",\"n\":[1,{\"password\":2}]}"}' '{"s":"{\"token\":\"<redacted>\",\"n\":[1,{\"password\":\"<redacted>\"}]}"}' 2
	becomes '{"s":"{\"s\":\"{\\\"secret\\\":3,\\\"é\\\":\\\"\\\\u00e9\\\"}\"}"}' \
		'{"s":"{\"s\":\"{\\\"secret\\\":\\\"<redacted>\\\",\\\"é\\\":\\\"\\\\u00e9\\\"}\"}"}' 1
	becomes '{"s":"not JSON: \"token\": \"a b c\", token = \"x\""}' '{"s":"not JSON: \"token\": \"<redacted>\", token = \"x\""}' 1
}

@test "JSON in a chunk, and in the output of a terminal" {
	printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"S","update":%s}}\n' \
		'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"{\"env\":{\"A\":\"pw1\"},\"secret\":42,\"b\":\"c\"}"}}' \
		'{"sessionUpdate":"terminal_output_chunk","terminalId":"T","data":"'"$(printf '[{"name":"A","headers":{"B":"pw2"}},{"pin":"{\\"secret\\":43}"}]\n' | base64 -w 0)"'"}' >in
	acp-tap --redact -f raw in >out 2>err
	assert_equal "$(jq -r '.params.update.content.text // empty' out)" '{"env":{"A":"<redacted>"},"secret":"<redacted>","b":"c"}'
	assert_equal "$(jq -r '.params.update.data // empty' out | base64 -d)" '[{"name":"A","headers":{"B":"<redacted>"}},{"pin":"{\"secret\":\"<redacted>\"}"}]'
	assert_equal "$(cat err)" 'acp-tap: redacted 4 values in 2 messages: 2 by name, 2 environment'
	for tool in 'acp-tap --fold' 'acp-tap --no-fold' 'acp-export -f markdown'; do
		COLUMNS=200 run -0 --separate-stderr $tool --redact in
		refute_output --partial pw
	done
}

@test "ordinary texts and counts are left alone" {
	while read -r params; do
		becomes "$params" "$params" 0 ~~
	done <<-'END'
		{"tokens":5,"totalTokens":9,"inputTokens":"6","max_tokens":4096,"token_count":{"output_tokens":7},"token":5}
		{"stopReason":"max_tokens","sessionId":"2e3de134-cff4-41b9-b7a3-7f022cbccc98","requestId":"tok_1","progressToken":"p-1"}
		{"text":"tokens: 5, max_tokens=500, token: 7. The token is: used. secret: none. password: must be long"}
		{"text":"total_tokens=12345, 19% of 200K tokens; sk-learn and task-runner-for-everybody-in-the-house"}
		{"text":"Bearer authentication; Basic auth; basic types; the cookie: a biscuit; authorization: ask Joe"}
		{"text":"token = lexer.next(); if (token == NULL) return token; password=\"\"; f(token=token)"}
		{"uri":"https://example.com/a?page=2&sort=key#token","at":"2026-11-20T15:56:02Z","mail":"joe@example.com"}
		{"text":"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----","hash":"sha256:9f86d081884c7d65"}
		{"configOptions":[{"id":"token","name":"Token limit","type":"select"}],"name":"token","keyboard":"x","monkey":"y"}
		{"args":["--max-tokens","500","--tokenizer","bpe","-p","80"],"command":"grep -n token src/*.c"}
		{"args":["password manager","api_key of whom","secret/x9Kq27ZtLw"]}
	END
}

@test "names compare unescaped, and so do values that decide whether they are secrets" {
	becomes '{"to\u006ben":"x","\u0048eaders":{"a":"b"}}' '{"to\u006ben":@,"\u0048eaders":{"a":@}}' 2
	becomes '{"auth":"am9lOn\/\/MTIz","b":{"auth":"am\u0039lOnNlY3JldA=="}}' '{"auth":@,"b":{"auth":@}}' 2
}

# secret PREFIX N [CHARACTERS]: makes one that is like no other, notes it and prints it.
secret() {
	local s=$1 chars=${3:-a-zA-Z0-9}
	s+=$(LC_ALL=C tr -dc "$chars" </dev/urandom | head -c "$(($2 - 2))")
	case $chars in A-Z0-9) s+=7Q ;; *) s+=7a ;; esac
	echo "$s" | tee -a secrets
}

# A session with secrets at every place and of every shape that the page names.
plant() {
	local p i=0 shape
	: >secrets
	{
		for p in token secret password passwd apikey api_key accessKey private-key credential authorization cookie clientSecret \
			aws_secret_access_key; do
			jq -nc --arg n "$p" --arg v "$(secret '' 16)" '{($n): $v}'
			jq -nc --arg n "x_$p" --arg v "$(secret '' 16)" '{a: [{($n): {b: [$v]}}]}'
		done
		for p in OPENAI_API_KEY GH_TOKEN APP_SECRET DB_PASS; do
			jq -nc --arg n "$p" --arg v "$(secret '' 12)" '{($n): $v}'
			jq -nc --arg n "$p" --arg v "$(secret '' 12)" '{mcpServers: [{name: "s", command: "c", args: [], env: [{name: $n, value: $v}]}]}'
			jq -nc --arg v "export $p=$(secret '' 12) && run" '{terminal: $v}'
		done
		for p in --api-key --token --password; do
			jq -nc --arg o "$p" --arg v "$(secret '' 10)" '{args: [$o, $v]}'
			jq -nc --arg v "$p=$(secret '' 10)" '{args: [$v]}'
			jq -nc --arg v "run $p $(secret '' 10) --verbose" '{command: $v}'
		done
		jq -nc --arg v "see https://joe:$(secret '' 10)@host/x?token=$(secret '' 10)&sig=$(secret '' 10)." '{text: $v}'
		jq -nc --arg v "Authorization: Bearer $(secret '' 24)" '{headers: [{name: "A", value: $v}], t: "a \($v) b"}'
		jq -nc --arg v "Basic $(secret '' 24)" '{text: "use \($v)"}'
		while read -r shape; do
			jq -nc --arg v "here: $(secret $shape), and" '{text: "a \"quoted\" line\n\($v)"}'
		done <<-'END'
			sk- 48
			sk-ant-api03- 90
			sk-proj- 60
			ghp_ 36
			gho_ 36
			ghs_ 36
			github_pat_ 82 a-zA-Z0-9_
			xoxb- 40
			xoxp- 40
			AKIA 16 A-Z0-9
			ASIA 16 A-Z0-9
			AIza 35
			ya29. 60
			glpat- 20
			npm_ 36
			hf_ 34
			gsk_ 52
			sk_live_ 24
			eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0. 43
		END
		jq -nc --arg v "-----BEGIN OPENSSH PRIVATE KEY-----
$(secret '' 64)
$(secret '' 64)
-----END OPENSSH PRIVATE KEY-----" '{content: $v}'
		jq -nc --arg v "$(secret '' 20)" '{inner: ({password: $v, list: [{token: ({secret: $v} | tojson)}]} | tojson)}'
	} | while read -r p; do
		jq -nc --argjson p "$p" --argjson id "$((i += 1))" '{jsonrpc: "2.0", id: $id, method: "session/new", params: $p},
			{jsonrpc: "2.0", method: "session/update", params: {sessionId: "S", update: {sessionUpdate: "tool_call", toolCallId: "t",
			title: "a tool", rawInput: $p}}}, {jsonrpc: "2.0", id: $id, result: {sessionId: "S", _meta: $p}}'
	done
}

# bats test_tags=slow
@test "none of many planted secrets is left in any format" {
	plant >in
	((($(sort -u secrets | wc -l)) >= 63))
	acp-tap -f record in >s.rec
	for file in in s.rec; do
		for f in record raw trace pretty full; do
			for fold in $([[ $f != pretty ]] || echo --fold --no-fold) ''; do
				COLUMNS=100000 acp-tap --redact -f $f $fold $file >log 2>err
				run grep -F -f secrets log
				assert_output ''
				assert_equal "$(wc -l <err)" 1
			done
		done
	done
	acp-tap --redact -o live.rec <in 2>/dev/null | cmp - in
	run grep -F -f secrets live.rec
	assert_output ''
}

# bats test_tags=slow
@test "the messages keep their structure" {
	plant >in
	acp-tap --redact -f raw in >log 2>/dev/null
	diff <(jq -c '[paths]' in) <(jq -c '[paths]' log)
	acp-tap --redact=text -f raw in >log 2>/dev/null
	diff <(jq -c '[paths]' in) <(jq -c '[paths]' log)
	for file in "$FIXTURES"/*.jsonl; do
		acp-tap -f raw "$file" >in 2>/dev/null
		acp-tap --redact -f raw in >log 2>/dev/null
		diff <(jq -c '[paths]' in) <(jq -c '[paths]' log) >/dev/null
	done
}

@test "a count by kind at the end" {
	echo '{"jsonrpc":"2.0","method":"m","params":{"token":"x","env":{"A":"y"},"args":["--token=z"],"t":"https://a:b@c Bearer abcdef1234 ghp_abcdefghijklmnopqrstuvwxyz0123456789"}}' >in
	run -0 --separate-stderr acp-tap --redact -f raw in
	assert_equal "$stderr" 'acp-tap: redacted 6 values in 1 message: 1 by name, 1 environment, 1 argument, 1 URL, 1 header, 1 key'
}

@test "--redact=text leaves out all texts, but the words of the protocol and numbers stay" {
	printf '%s\n' '{"jsonrpc":"2.0","id":"a","method":"session/prompt","params":{"sessionId":"S","prompt":[{"type":"text","text":"my words"},{"type":"image","mimeType":"image/png","data":"abcd"}]}}' \
		'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"S","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":"my words","kind":"edit","status":"pending","rawInput":{"type":"my","id":"words"},"content":[{"type":"diff","path":"/my","newText":"words"}],"locations":[{"path":"/my","line":3}]}}}' \
		'{"jsonrpc":"2.0","id":"a","result":{"stopReason":"end_turn","usage":{"totalTokens":5}}}' >in
	run -0 --separate-stderr acp-tap --redact=text -f raw in
	r='"<redacted>"'
	assert_line --index 0 '{"jsonrpc":"2.0","id":"a","method":"session/prompt","params":{"sessionId":"S","prompt":[{"type":"text","text":'"$r"'},{"type":"image","mimeType":"image/png","data":'"$r"'}]}}'
	assert_line --index 1 '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"S","update":{"sessionUpdate":"tool_call","toolCallId":"t","title":'"$r"',"kind":"edit","status":"pending","rawInput":{"type":'"$r"',"id":'"$r"'},"content":[{"type":"diff","path":'"$r"',"newText":'"$r"'}],"locations":[{"path":'"$r"',"line":3}]}}}'
	assert_line --index 2 '{"jsonrpc":"2.0","id":"a","result":{"stopReason":"end_turn","usage":{"totalTokens":5}}}'
	assert_equal "$stderr" 'acp-tap: redacted 8 values in 2 messages: 8 texts'
	for f in record raw trace pretty full; do
		acp-tap --redact=text -f $f -o log <in >/dev/null 2>&1
		run grep -E 'my|words' log
		assert_output ''
	done
	run -2 acp-tap --redact=all in
	assert_output 'acp-tap: --redact all: expected text'
}

# bats test_tags=slow
@test "what was redacted is not redacted again" {
	plant >in
	acp-tap --redact -f raw in >once 2>/dev/null
	run -0 --separate-stderr acp-tap --redact -f raw once
	assert_equal "$output" "$(cat once)"
	assert_equal "$stderr" 'acp-tap: redacted 0 values in 0 messages'
}

# bats test_tags=slow
@test "long lines of what may begin a key take no time" {
	for piece in sk- eyJ- AIza- 'token=$a' 'cookie: ' 'a=' '--token ' 'a://' ghp_ 'bearer ' '\\\"' 'token:\"'; do
		{
			printf '{"jsonrpc":"2.0","method":"m","params":{"t":"'
			yes "$piece" | head -n 1000000 | tr -d '\n'
			printf '"}}\n'
		} >in
		timeout 60 acp-tap --redact -f raw in >log 2>/dev/null
		jq -e .params.t log >/dev/null
	done
}

@test "all else keeps its bytes: white space, numbers, escapes, strings with braces" {
	becomes '{ "n" : 1.50 , "s":"a\u0041}]\\" ,"token" : "x\"}" ,"z":[ ] }' '{ "n" : 1.50 , "s":"a\u0041}]\\" ,"token" : @ ,"z":[ ] }' 1
}

# bats test_tags=slow
@test "as deep as a message may be" {
	deep=$(printf '{"a":%.0s' $(seq 1020)) shut=$(printf '}%.0s' $(seq 1020))
	becomes "$deep{\"token\":\"x\"}$shut" "$deep{\"token\":@}$shut" 1
}

# bats test_tags=slow
@test "a long name and an empty one are no trouble" {
	long=$(printf 'token%.0s' $(seq 1000))
	becomes "{\"$long\":\"x\",\"\":\"y\"}" "{\"$long\":@,\"\":\"y\"}" 1
}

@test "what passes keeps its secrets, and no format writes them" {
	echo '{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"token":"hunter2","prompt":[{"type":"text","text":"hi","secret":"hunter2"}]}}' >in
	for f in record raw trace pretty full; do
		acp-tap --redact -f $f -o log <in >out 2>err
		cmp in out
		run grep -c hunter2 log
		assert_output 0
	done
	echo '{"jsonrpc":"2.0","id":1,"method":"x/y","params":{"token":"hunter2"}}' >in
	run -0 acp-tap --redact in
	refute_output --partial hunter2
	assert_output --partial '<redacted>'
}

@test "the text of noise and standard error is left out, and so are the words of the command" {
	acp-tap --redact -o s.rec -- sh -c 'echo key hunter2; echo key hunter2 >&2' </dev/null >out 2>err
	assert_equal "$(cat out)" 'key hunter2'
	run grep -c hunter2 s.rec
	assert_output 0
	run cat err
	assert_line 'acp-tap: redacted 0 values in 0 messages; the text of 2 other lines left out'
	run jq -c '.command // .noise // .stderr // empty' s.rec
	assert_line '["sh"]'
	assert_line '"<redacted>"'
	run -0 --separate-stderr acp-tap --redact -f raw s.rec
	assert_output ''
}

@test "what a recording begins with is redacted as well" {
	printf '%s\n' '{"acp-recording":1,"started":"2026-11-20T15:56:02.000000Z","by":"x","command":["agent","--key","hunter2"]}' '{"t":1,"event":"exit","status":0}' >s.rec
	run -0 --separate-stderr acp-tap --redact -f record s.rec
	assert_output --partial '"started":"2026-11-20T15:56:02.000000Z"'
	refute_output --partial hunter2
	run -0 --separate-stderr acp-tap --redact s.rec
	refute_output --partial hunter2
}

# said KIND TEXT...: a session in which these are chunks of that kind.
said() {
	local kind=$1
	shift
	for text; do
		jq -nc --arg k "$kind" --arg t "$text" '{jsonrpc: "2.0", method: "session/update", params: {sessionId: "S",
			update: {sessionUpdate: $k, toolCallId: "t", content: (if $k[:4] == "tool" then {type: "content", content:
			{type: "text", text: $t}} else {type: "text", text: $t} end)}}}'
	done
}

# bats test_tags=slow
@test "a name in one chunk belongs to the value in the next, also where chunks of others come between" {
	for kind in agent_message_chunk tool_call_content_chunk; do
		paste -d '\n' <(said $kind 'my DB_PASS' 'WORD=' 'hunter' ' is it') <(said agent_thought_chunk a b c d) >in
		run -0 --separate-stderr acp-tap --redact -f raw in
		refute_output --partial hunter
		assert_output --partial '" is it"'
		assert_regex "$stderr" 'redacted 1 value in 1 message'
	done
	said agent_message_chunk 'see memory://2e3de134-cff4-41b9-b7a3-7f022cbccc98' >in
	run -0 --separate-stderr acp-tap --redact -f raw in
	refute_output --partial '<redacted>'
	said agent_message_chunk 'clone https://hunter2TOKENabcdefgh' '@host/a from https://some.host.example.org' >in
	run -0 --separate-stderr acp-tap --redact -f raw in
	refute_output --partial hunter
	assert_output --partial '@host/a from https://some.host.example.org"'
	said agent_message_chunk $'-----BEGIN RSA PRIVATE KEY-----\nabcd' $'efgh\nijkl' $'mnop\n-----END RSA PRIVATE KEY-----\nqrst' >in
	run -0 --separate-stderr acp-tap --redact -f raw in
	for part in abcd efgh ijkl mnop; do refute_output --partial $part; done
	assert_output --partial qrst
}

@test "a secret that is split over chunks is not whole where they are joined" {
	said agent_message_chunk 'use sk-' 'proj-abc' 'def7ghijklmnopqrstuvwxyz, ' 'yes' >in
	run -0 --separate-stderr acp-tap --redact --fold in
	assert_output --partial 'use <redacted>, yes'
	assert_regex "$stderr" 'redacted 1 value in 1 message'
	said tool_call_content_chunk 'token=ab' 'c1' 'defgh and' ' more' >in
	acp-export --redact in >page 2>/dev/null
	assert_equal "$(grep -o 'token=[^ ]* and more' page)" 'token=&lt;redacted&gt; and more'
}

@test "a name belongs to the value in a later run of chunks, whatever comes between them, and whether it is shown or not" {
	local begin
	{
		said agent_message_chunk 'my API_KEY=' 'x DB_PASS' 'WORD='
		said agent_thought_chunk 'no secret'
		said agent_message_chunk 'hunter' ' is it'
	} >in
	sed -i 's/^/ /' in
	for begin in '--fold' '--fold --start 4' '--fold --grep is' '--fold -w .params.update.content.text!="WORD="' '-f raw --start 4' '-f raw --grep-regex hunter|is'; do
		run -0 --separate-stderr acp-tap --redact $begin in
		refute_output --partial hunter
		assert_output --partial '<redacted>'
		assert_output --partial 'is it'
		refute_regex "$stderr" 'redacted ([0-9]+) values? in .*: .*[1-9][0-9]'
	done
	assert_regex "$stderr" 'redacted 1 value in 1 message: 1 environment'
	for begin in markdown html; do
		run -0 --separate-stderr acp-export --redact -f $begin in
		refute_output --partial hunter
		assert_output --partial 'is it'
		assert_output --partial 'no secret'
	done
}

@test "requests that open a session, and have a chunk in their params, are passed over" {
	for i in 1 2 3 4; do
		jq -nc --argjson i $i '{jsonrpc: "2.0", id: $i, method: "session/new", params: {update: {sessionUpdate: "agent_message_chunk",
			content: {type: "text", text: ("z" * (40 * $i))}}}}, {jsonrpc: "2.0", id: $i, result: {sessionId: "S"}}'
	done >in
	run -1 --separate-stderr acp-tap --redact --session S --grep foo in
	assert_equal "$stderr" $'acp-tap: no message has the text that is looked for\nacp-tap: redacted 0 values in 0 messages'
}

# output WORD...: a session of version 2 in which a terminal has this output: a word begins with the kind of update, + (a chunk) or = (all).
output() {
	local data
	for data; do
		printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"S","update":{"sessionUpdate":"%s","terminalId":"T",%s}}}\n' \
			"$(if [ "${data::1}" = + ]; then echo terminal_output_chunk; else echo terminal_update; fi)" \
			"$(data=$(printf -- "${data:1}" | base64 -w 0) && if [ "${1::1}" = + ]; then echo '"data":"'"$data"'"'; else
				echo '"command":"ls --token=abc9xyz","output":{"data":"'"${data//\//\\/}"'"}'; fi)"
		shift
	done
}

# shown FILE: the output of terminals in a file, decoded, with | at the end of each.
shown() {
	jq -r '.params.update | .data // .output.data' "$1" | while read -r data; do base64 -d <<<"$data"; printf '|'; done
}

@test "the output of a terminal of version 2 is decoded, redacted and encoded" {
	output '=GITHUB_TOKEN=ghp_0123456789abcdefghijABCDEFGHIJ012345\n\377\376??>\0 and DB_PASSWORD=hunter22\r\n' >in
	acp-tap --redact -f raw in >out 2>err
	assert_equal "$(shown out | od -c)" "$(printf 'GITHUB_TOKEN=<redacted>\n\377\376??>\0 and DB_PASSWORD=<redacted>\r\n|' | od -c)"
	assert_regex "$(cat err)" 'redacted 3 values in 1 message'
	# What has no secret keeps its bytes. What is not base64 is a text.
	output '=\377\376??>\0' '+???\377' | sed 's/ls --token=abc9xyz/ls/; s/:/ : /g' >in
	acp-tap --redact -f raw in >out 2>err
	cmp in out
	output '+x' | sed 's/eA==/DB_PASSWORD=hunter22, no base64/' >in
	run -0 --separate-stderr acp-tap --redact -f raw in
	assert_output --partial '"data":"DB_PASSWORD=<redacted>, no base64"'
	# A kind with an escape; no output at all.
	output '+DB_PASSWORD=hunter22' '+' | sed 's/l_output/l\\u005foutput/' >in
	acp-tap --redact -f raw in >out 2>err
	assert_equal "$(shown out)" 'DB_PASSWORD=<redacted>||'
	output '+DB_PASSWORD=hunter22' >in
	run -0 --separate-stderr acp-tap --redact=text -f raw in
	assert_output --partial '"data":"<redacted>"'
	assert_regex "$stderr" 'redacted 1 value in 1 message: 1 text$'
}

@test "the output of a terminal in chunks: a secret may begin in one and end in the next" {
	paste -d '\n' <(output '=x DB_PASS' '+WORD=' '+hunter' '+ is it') <(output +a +b +c +d | sed 's/"T"/"U"/') >in
	for begin in '' '--start 2' '--start 4'; do
		acp-tap --redact $begin -f raw in >out 2>err
		assert_regex "$(shown out)" '\|<redacted>\|c\| is it\|d\|$'
	done
	# All of the output replaces what was before.
	output '+DB_PASSWORD=' '=hunter' >in
	acp-tap --redact -f raw in >out 2>err
	assert_equal "$(shown out)" 'DB_PASSWORD=|hunter|'
	output '+-----BEGIN RSA PRIVATE KEY-----\nabcd' '+efgh\nijkl' '+mnop\n-----END RSA PRIVATE KEY-----\nqrst' >in
	acp-tap --redact -f raw in >out 2>err
	run -0 shown out
	for part in abcd efgh ijkl mnop; do refute_output --partial $part; done
	assert_output --partial qrst
	# As messages within the envelopes of a proxy.
	output '+DB_PASS' '+WORD=hunter22' | jq -c '{jsonrpc, method: "proxy/successor", params: {method, params}}' >in
	acp-tap --redact -f raw in >out 2>err
	assert_equal "$(jq -r '.params | .params // . | .update.data' out | base64 -d)" 'DB_PASSWORD=<redacted>'
}

@test "a page shows the redacted output of a terminal" {
	{
		echo '{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"S","prompt":[{"type":"text","text":"hello"}]}}'
		echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"S","update":{"sessionUpdate":"tool_call_update","toolCallId":"t","title":"x","content":[{"type":"terminal","terminalId":"T"}]}}}'
		output '+DB_PASS' '+WORD=hunt' '+er22 is it, sk-' '+proj-abcdef7ghijklmno' '+pqrstuvwxyz, yes'
	} >in
	run -0 --separate-stderr acp-export --redact -f markdown in
	assert_output --partial 'DB_PASSWORD=<redacted> is it, <redacted>, yes'
	assert_regex "$stderr" 'redacted 2 values in 1 message'
}

@test "a prompt and the chunk after it are not one text" {
	{
		echo '{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"S","prompt":[{"type":"text","text":"hello"}]}}'
		said user_message_chunk 'DB_PASS=abc'
	} >in
	acp-export --redact -f markdown in >page 2>/dev/null
	run cat page
	refute_output --partial abc
	refute_output --partial helloDB
}

@test "--redact=text: ids of plans, sub-agents, questions and settings stay, so that plans and tasks stay apart" {
	local update='{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"%s","update":%s}}\n' p
	printf '{"jsonrpc":"2.0","id":1,"method":"m","params":%s}\n' '{"planId":"p 1","elicitationId":"e","configId":"c","methodId":"m","providerId":"p","groupId":"g","mode":"form"}' \
		'{"senderSessionId":"A","recipientSessionId":"B","senderMessageId":"1","recipientMessageId":"2","userMessageId":"3","action":"accept"}' \
		'{"parentSessionId":"A","parentMessageId":"1","parentToolCallId":"t","parentToolUseId":"t","toolUseId":"t"}' >in
	run -0 --separate-stderr acp-tap --redact=text -f raw in
	assert_output "$(cat in)"
	{
		echo '{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"A","prompt":[]}}'
		printf "$update" A '{"sessionUpdate":"subagent_update","sessionId":"C","title":"kid","state":{"state":"running"}}'
		for p in one two; do
			printf "$update" A '{"sessionUpdate":"plan_update","plan":{"type":"items","planId":"'$p'","entries":[{"content":"x","status":"pending","priority":"low"}]}}' \
				C '{"sessionUpdate":"session_message","messageId":"'$p'","senderSessionId":"A","recipientSessionId":"C","content":[{"type":"text","text":"x"}]}' \
				C '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"y"}}'
		done
	} >in
	run -0 --separate-stderr acp-export -f markdown --redact=text in
	assert_equal "$(grep -cE 'Plan|Task [12]' <<<"$output")" 4
	refute_output --partial 'Task 3'
}

@test "--redact=text: what a user has entered in a form is text, whatever the names of the fields" {
	echo '{"jsonrpc":"2.0","id":1,"result":{"content":{"model":"hunter2","mode":"x","id":"y","more":["z"],"n":5},"action":"accept"}}' >in
	run -0 --separate-stderr acp-tap --redact=text -f raw in
	r='"<redacted>"'
	assert_output '{"jsonrpc":"2.0","id":1,"result":{"content":{"model":'$r',"mode":'$r',"id":'$r',"more":['$r'],"n":5},"action":"accept"}}'
}

@test "--redact=text: ids with blanks stay ids" {
	echo '{"jsonrpc":"2.0","id":"a b","method":"x/y","params":{"sessionId":"my id","toolCallId":"call 1","status":"my words","mode":"my\nwords"}}' >in
	run -0 --separate-stderr acp-tap --redact=text -f raw in
	assert_output '{"jsonrpc":"2.0","id":"a b","method":"x/y","params":{"sessionId":"my id","toolCallId":"call 1","status":"<redacted>","mode":"<redacted>"}}'
}

@test "the last quote of a secret is the one that is not escaped" {
	becomes '{"a":"password=\"abc\\\"defghijklmnop\" x"}' '{"a":"password=\"<redacted>\" x"}' 1
}
