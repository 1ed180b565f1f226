#!/usr/bin/env bats
# acp-inject: edits, and the command line.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	load inject
	lib_setup
	inject_setup
}

teardown() {
	end_left_over
}

# --- what is not changed ---

# bats test_tags=slow
@test "the fixtures edited with . come out byte for byte, in every way" {
	unchanged() {
		fixture client >down
		fixture agent >up
		inject "$way" taker -e . <down >out 2>err
		cmp down got
		cmp up out
		[[ ! -s err ]]
	}
	WAYS=(wrap sockets link)
	every_way unchanged
	fixture client >down
	for how in . 'tojson | fromjson' 'with_entries(.)' '{error, result, params, method, id, jsonrpc} | del(.. | nulls)'; do
		acp-inject -e 'select(.id != null or .method) | .' <down >out
		cmp down out
		acp-inject -w '[.. | nulls] == []' -e "$how" <down >out
		cmp down out
	done
}

@test "white space, a CR, numbers beyond 2^53, escapes and unknown members stay around an edit" {
	edited() {
		printf ' {"x" : 1.50,"method":"m", "params":{"big":12345678901234567890123,"text" : "old"  ,"u":"\\u0041\\/\\ud800"} } \r\n' >down
		printf ' {"x" : 1.50,"method":"m", "params":{"big":12345678901234567890123,"text" : "new"  ,"u":"\\u0041\\/\\ud800","z":0.1} } \r\n' >want
		cp down up
		inject "$way" taker -e '.params.text = "new" | .params.z = 0.1' <down >out
		cmp want got
		cmp want out
	}
	WAYS=(wrap sockets link)
	each_way edited
}

# bats test_tags=slow
@test "an id keeps its spelling, and its response comes back to it" {
	edited() {
		talk 2 -w .method -e '.params.x = 1' <<-'EOF'
			{"jsonrpc":"2.0","id":"\u0031","method":"a","params":{}}
			{"jsonrpc":"2.0","id":9007199254740993,"method":"b","params":{"y":0}}
		EOF
		[[ $(without_ids got) == '{"method":"a","params":{"x":1}}'$'\n''{"method":"b","params":{"y":0,"x":1}}' ]]
		# jq, the agent, knows no such number.
		[[ $way != proxy ]] || grep -q '"id":9007199254740993,' out
		[[ $(jq -c 'select(.id == "1").result.params' out) == '{"x":1}' ]]
	}
	every_way edited
}

# --- what a program makes of a message ---

# bats test_tags=slow
@test "no output drops, several are sent in order, each in its place among the others" {
	made() {
		printf '{"method":"%s"}\n' a twice b gone c around d >down
		cp down up
		inject "$way" taker -m twice -m gone -m around -e 'if .method == "twice" then ., .params.n = 2 elif .method == "gone" then empty
			else {method: "before"}, .params.n = 1, {method: "behind"} end' <down >out
		printf '%s\n' '{"method":"a"}' '{"method":"twice"}' '{"jsonrpc":"2.0","method":"twice","params":{"n":2}}' \
			'{"method":"b"}' '{"method":"c"}' '{"jsonrpc":"2.0","method":"before"}' '{"method":"around","params":{"n":1}}' \
			'{"jsonrpc":"2.0","method":"behind"}' '{"method":"d"}' >want
		cmp want got
		cmp want out
	}
	WAYS=(wrap sockets link)
	each_way made
	acp-inject -m twice -m gone -m around -e 'if .method == "twice" then ., .params.n = 2 elif .method == "gone" then empty
		else {method: "before"}, .params.n = 1, {method: "behind"} end' <down >out
	cmp want out
}

@test "a program finds where a message comes from, its method, session and time, and the arguments" {
	told() {
		talk 2 --arg a 'x"y' --argjson j '{"k":[1]}' -m session/prompt \
			-e '(.params // .result).told = [$from, $method, $session, ($t | type), $a, $j.k[0]]' <<-'EOF' || return 1
			{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}
			{"jsonrpc":"2.0","id":2,"method":"other"}
		EOF
		[[ $(jq -c '.params.told' got) == '["client","session/prompt","s","number","x\"y",1]'$'\n'null ]]
		[[ $(jq -c '.result.told' out | sort) == '["agent","session/prompt","s","number","x\"y",1]'$'\n'null ]]
	}
	each_way told
}

# bats test_tags=slow
@test "what is selected is edited, and nothing else" {
	printf '%s\n' '{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan"}}}' \
		'{"method":"session/update","params":{"sessionId":"t","update":{"sessionUpdate":"plan"}}}' \
		'{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call"}}}' \
		'{"id":1,"method":"session/prompt","params":{"sessionId":"s","n":5}}' >down
	# edited OPTION...: the numbers of the lines that are edited.
	edited() {
		acp-inject "$@" -e '.x = 1' <down | grep -n '"x":1' | cut -d: -f1 | xargs
	}
	[[ $(edited) == '1 2 3 4' ]]
	[[ $(edited -m plan) == '1 2' ]]
	[[ $(edited -m 'session/*' -m '!plan') == '3 4' ]]
	[[ $(edited --from agent) == '1 2 3' ]]
	[[ $(edited --from client) == '4' ]]
	[[ $(edited --kind request) == '4' ]]
	[[ $(edited --kind notification --session s) == '1 3' ]]
	[[ $(edited --session t) == '2' ]]
	[[ $(edited -w '.params.n == 5') == '4' ]]
	[[ $(edited -w '.params.update | has("sessionUpdate")' -m plan --session s) == '1' ]]
}

@test "--arg and --argjson reach --where, wherever they stand" {
	run acp-inject --arg a one -w '.method == $a or .method == $b' --argjson b '"two"' -e '.x = 1' \
		<<<$'{"method":"one"}\n{"method":"two"}\n{"method":"three"}'
	assert_output '{"method":"one","x":1}
{"method":"two","x":1}
{"method":"three"}'
}

# bats test_tags=slow
@test "messages that a program makes have a jsonrpc member; the message itself is left as it came" {
	run acp-inject -m m -e '{method: "first", params: {}}, .x = 1, {method: "last"}' <<<'{"method":"m"}'
	assert_output '{"jsonrpc":"2.0","method":"first","params":{}}
{"method":"m","x":1}
{"jsonrpc":"2.0","method":"last"}'
	run acp-inject -e '{method, id, params: {}}' <<<'{"jsonrpc":"2.0","id":1,"method":"m"}'
	assert_output '{"jsonrpc":"2.0","id":1,"method":"m","params":{}}'
}

# bats test_tags=slow
@test "what a program says with debug is on standard error, tame" {
	run --separate-stderr acp-inject -e '(.method | debug) as $x | .' <<<'{"method":"m\u001b[2J"}'
	assert_output '{"method":"m\u001b[2J"}'
	assert_equal "${stderr_lines[0]}" 'jq: debug: "m\u001b[2J"'
}

# bats test_tags=slow
@test "a signal stops an endless program for good: what comes then passes unchanged" {
	local loop='if .method == "loop" then ("looping" | debug) as $x | def f: f; f else . end'
	stopped() {
		rm -f err
		acp-inject "$@" <>in >out 2>err &
		pid=$!
		printf '{"method":"%s"}\n' one loop two >in
		wait_for grep -qs debug err
		kill -TERM "$pid"
		wait "$pid"
		assert_equal "$(cat out)" '{"method":"one","x":1}
{"method":"loop"}
{"method":"two"}'
		assert_regex "$(grep '^acp-inject' err)" ': stopped by a signal: '
	}
	mkfifo in
	stopped -e "$loop | .x = 1"
	stopped -w "$loop" -e '.x = 1'
}

@test "a program may come from a file" {
	printf '# a comment\n.params.x = $from\n' >p.jq
	run acp-inject -E p.jq <<<'{"method":"session/cancel","params":{}}'
	assert_output '{"method":"session/cancel","params":{"x":"client"}}'
}

# --- a request that is dropped ---

# bats test_tags=slow
@test "a request that nests too deep to be read is answered with an error" {
	{
		printf '{"id":7,"method":"x","params":%s%s}\n' "$(printf '[%.0s' {1..5000})" "$(printf ']%.0s' {1..5000})"
		wait_for test -s out
	} | acp-inject -e . -- ./agent >out 2>err
	assert_equal "$(jq -c '[.id, .error.code]' out)" '[7,-32600]'
	assert_equal "$(<got)" ''
}

# bats test_tags=slow
@test "a request that is dropped is answered with an error, and with --silent not" {
	dropped() {
		talk 2 -m gone -e 'empty' <<-'EOF'
			{"jsonrpc":"2.0","id":"\u0031","method":"gone"}
			{"jsonrpc":"2.0","id":2,"method":"stays"}
		EOF
		grep -qxF '{"jsonrpc":"2.0","id":"\u0031","error":{"code":-32603,"message":"acp-inject: dropped by --edit"}}' out
		[[ $(jq -c .method got) == '"stays"' ]]
		talk 1 --silent -m gone -e 'empty' <<-'EOF'
			{"jsonrpc":"2.0","id":"\u0031","method":"gone"}
			{"jsonrpc":"2.0","id":2,"method":"stays"}
		EOF
		run ! grep -F 'acp-inject: dropped' out
	}
	each_way dropped
}

# bats test_tags=slow
@test "a request that has become another one is dropped, and the other one goes" {
	changed() {
		talk 1 -m x -e 'del(.id)' <<<'{"jsonrpc":"2.0","id":1,"method":"x"}'
		grep -q -- -32603 out
		[[ $(without_ids got) == '{"method":"x"}' ]]
	}
	each_way changed
}

@test "the agent's request that is dropped is answered to the agent" {
	printf '{"id":7,"method":"fs/read_text_file"}\n' >up
	link acp-inject -m 'fs/*' -e empty -- sh -c 'cat up; head -n 1 >got' < <(wait_for test -s got) >out
	[ "$(cat got)" = '{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"acp-inject: dropped by --edit"}}' ]
	[ ! -s out ]
}

@test "in a one-way pipe a dropped request has no response, which is said once" {
	run --separate-stderr acp-inject -e empty <<<'{"id":1,"method":"x"}
{"id":2,"method":"x"}'
	assert_success
	assert_output ''
	assert_equal "$stderr" 'acp-inject: --edit: dropped a request, which gets no response: a one-way pipe cannot carry one back'
	run --separate-stderr acp-inject --silent -e empty <<<'{"id":1,"method":"x"}'
	assert_equal "$output$stderr" ''
}

# --- failures ---

@test "a program that fails passes the message unchanged, and says so once for each kind" {
	failed() {
		printf '{"method":"%s","params":{"n" : 1.0}}\n' a a b a b >down
		inject "$way" taker -e 'if .method == "b" then error("no b") else ., error("no \(.params)") end' <down >out 2>err
		cmp down got
		# jq 1.8 keeps the spelling of a number.
		[[ $(sed 's/1\.0/1/' err) == 'acp-inject: --edit: "a": no {"n":1}: forwarded unchanged
acp-inject: --edit: "b": no b: forwarded unchanged' ]]
	}
	WAYS=(wrap sockets link)
	each_way failed
}

@test "with --strict a program that fails is the end: what came before has gone on, it has not" {
	strict() {
		run --separate-stderr inject "$way" taker --strict -e 'if .method == "b" then error("no") else . end' <<<'{"method":"a"}
{"method":"b"}
{"method":"c"}'
		assert_equal "$status" 125
		assert_equal "$stderr" 'acp-inject: --edit: "b": no: ending (--strict)'
		run ! grep -q '"b"\|"c"' got
	}
	# shellcheck disable=SC2034 # each_way goes by them
	WAYS=(wrap sockets link)
	each_way strict
	run --separate-stderr acp-inject --strict -e 'if .method == "b" then error("no") else . end' <<<'{"method":"a"}
{"method":"b"}
{"method":"c"}'
	assert_equal "$status" 125
	assert_output '{"method":"a"}'
}

# bats test_tags=slow
@test "what is not a message does not go on: the message passes as it was" {
	for made in 1 '"x"' '{}' '[.]' '., 1' '{method: "x", id: 1.5}' '{method: "a", result: 1}' 'null' '[range(300) | .] | reduce .[] as $i ({}; {a: .})'; do
		run --separate-stderr acp-inject -e "$made" <<<'{"method":"m","params":{"x":12345678901234567890}}'
		assert_success
		assert_output '{"method":"m","params":{"x":12345678901234567890}}'
		[[ $stderr == 'acp-inject: --edit: "m": its output is not a message '*': forwarded unchanged' ]]
	done
	run --separate-stderr acp-inject --strict -e 1 <<<'{"method":"m"}'
	assert_equal "$status" 125
	assert_output ''
}

# bats test_tags=slow
@test "a message too deep for jq passes unedited, with one line" {
	deep=$(printf '%300s' '' | tr ' ' '[')1$(printf '%300s' '' | tr ' ' ']')
	run --separate-stderr acp-inject -e '.x = 1' <<<'{"method":"m","params":'"$deep"'}
{"method":"m","params":'"$deep"'}
{"method":"m"}'
	assert_success
	assert_line --index 0 '{"method":"m","params":'"$deep"'}'
	assert_line --index 2 '{"method":"m","x":1}'
	assert_equal "$stderr" 'acp-inject: --edit: "m": too deep for jq: forwarded unedited'
}

@test "the program sees messages only: noise goes to standard error" {
	run --separate-stderr acp-inject -e '.x = 1' <<<'a banner
{"method":"m"}
7
{"method":"m","method":"n"}'
	assert_success
	assert_output '{"method":"m","x":1}'
	assert_equal "$(grep -c 'not a message' <<<"$stderr")" 3
}

# bats test_tags=slow
@test "a message of 50 MB is edited, and all but the edit is as it was" {
	{ printf '{"method":"m","params":{"big":"'; head -c 50000000 /dev/zero | tr '\0' x; printf '\\u0041","n":1.0}}\n'; } >down
	sed 's/"n":1.0/"n":2/' down >want
	acp-inject -e '.params.n = 2' <down >out
	cmp want out
}

# bats test_tags=slow
@test "what a peer names its methods does not fill the memory" {
	seq 3000 | sed 's/.*/{"method":"m&"}/' >down
	run --separate-stderr acp-inject -e 'error("no")' <down
	assert_equal "$(wc -l <<<"$output")" 3000
	assert_equal "$(wc -l <<<"$stderr")" 1000
}

# --- the command line ---

# bats test_tags=slow
@test "bad programs and JSON are reported before the agent is started, with jq's message and position" {
	printf '.a |\n\n foo' >p.jq
	# refused WHAT OPTION...
	refused() {
		local what=$1
		shift
		run --separate-stderr acp-inject "$@" -- sh -c 'echo started >started'
		assert_equal "$status" 2
		assert_output ''
		[[ $stderr == "acp-inject: $what"* && ! -e started ]] || {
			echo "$stderr"
			return 1
		}
	}
	refused '--edit: syntax error, unexpected ' -e '.a |'
	# What follows the line differs between versions of jq.
	refused '--edit: foo/0 is not defined at <top-level>, line 2' -e $'.a |\nfoo'
	refused '--edit-file p.jq: foo/0 is not defined at <top-level>, line 3' -E p.jq
	refused '--edit-file none.jq: No such file' -E none.jq
	refused '--edit: $x is not defined' -e '$x'
	refused '--where .a |: ' -w '.a |' -e .
	refused '--answer x: syntax error' --answer 'x=.a |'
	refused '--answer x: expected METHOD=JQ' --answer x
	refused '--send up:after:x: syntax error' --send 'up:after:x=.a |'
	refused '--send x: expected LANE:WHEN:METHOD=JQ' --send x
	refused '--send left:after:x=.: expected LANE' --send left:after:x=.
	refused '--send up:during:x=.: expected LANE' --send up:during:x=.
	refused '--send up:answer:session/cancel=.: a notification has no response' --send up:answer:session/cancel=.
	refused '--argjson a: not JSON at byte 4' --argjson a '{"a' -e .
	refused '--argjson t: this variable has a value already' --argjson t 1 -e .
	refused '--arg 1: expected the name' --arg 1 2 -e .
	refused '--match : an empty pattern' -m '' -e .
	refused '--match session/[np: a [ without a ]' -m 'session/[np' -e .
	refused '--kind answer: expected request, response or notification' --kind answer -e .
	refused '--deny =x: expected METHOD' --deny =x
	refused '--permit maybe: expected allow_once' --permit maybe
	refused '--mcp-server {: expected a JSON object' --mcp-server '{'
	refused '--mcp-server {}: a server without a name' --mcp-server '{}'
	refused '--mcp-server @none: No such file' --mcp-server @none
	refused '--prepend @none: No such file' --prepend @none
	refused '--prepend @.: not a regular file' --prepend @.
	refused 'only one program is allowed' -e . -e .
	refused '--match requires --edit or --edit-file' -m x --prepend y
	refused '--every requires' --every -e .
	refused '--send-every requires' --send-every -e .
	refused '--silent requires --edit' --silent --prepend x
	refused 'nothing to do'
	refused '--way does not go with a command' --way link -e .
}

@test "a one-way pipe cannot answer: refused with the ways that can, but an edit goes" {
	for option in --answer=x=1 --permit=allow_once --deny=x --send=down:after:x=.; do
		run --separate-stderr acp-inject "$option" <<<'{"method":"x"}'
		assert_equal "$status" 2
		assert_output ''
		[[ $stderr == *'needs both directions'* ]]
	done
	run acp-inject --prepend x --mcp-server '{"name":"x"}' -e . <<<'{"method":"x"}'
	assert_output '{"method":"x"}'
}

@test "the agent's status is ours, and a command that is not there is 127" {
	run acp-inject -e . -- sh -c 'exit 7' </dev/null
	assert_equal "$status" 7
	run -127 acp-inject -e . -- there-is-none </dev/null
}

@test "the help completes" {
	run acp-inject --help
	assert_success
	# shellcheck source=/dev/null
	source <("$TOP/scripts/completion/generate" bash acp-inject)
	COMP_WORDS=(acp-inject --permit '') COMP_CWORD=2
	_acp acp-inject '' --permit
	[[ ${COMPREPLY[*]} == 'allow_once allow_always reject_once reject_always' ]]
	COMP_WORDS=(acp-inject --pre) COMP_CWORD=1
	_acp acp-inject --pre acp-inject
	[[ ${COMPREPLY[*]} == --prepend ]]
}
