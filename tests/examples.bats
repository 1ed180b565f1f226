#!/usr/bin/env bats
# The files of acp-testing(7) run, and fail where the agent is another one.

bats_require_minimum_version 1.5.0

setup() {
	load lib
	lib_setup
	SUITE=$TOP/tests/examples/suite
	export AGENT="acp-replay $FIXTURES/demo.rec" SESSION=$FIXTURES/demo.rec
}

teardown() {
	end_left_over
}

# judges COMMAND...: it passes, and it fails with an agent that says something else or breaks a rule.
judges() {
	run -0 "$@"
	sed 's/"title":"Write[^"]*"/"title":5/' "$SESSION" >wrong.rec
	run ! cmp -s "$SESSION" wrong.rec
	AGENT="acp-replay $PWD/wrong.rec" run "$@"
	assert_equal "$status" 1
}

# bats test_tags=slow
@test "bats" {
	judges bats "$SUITE/agent.bats"
}

# bats test_tags=slow
@test "pytest" {
	python3 -m pytest --version >/dev/null 2>&1 || skip 'pytest is not installed'
	PYTHONDONTWRITEBYTECODE=1 judges python3 -m pytest -p no:cacheprovider "$SUITE/test_agent.py"
}

# bats test_tags=slow
@test "node:test" {
	node --test --version >/dev/null 2>&1 || skip 'node is not installed'
	judges node --test "$SUITE/agent.test.mjs"
}

@test "acp-testing(7) has these files as they are" {
	mandoc -Tutf8 -O width=200 "$TOP/man/acp-testing.7" | sed 's/.\x08//g' >page
	for file in "$SUITE"/*; do
		# A tab is as wide as the page has it; what indents all lines is the page's.
		expand -t 4 "$file" | sed 's/^ *//' | grep . >wanted
		sed 's/^ *//' page | grep . >shown
		diff wanted <(grep -m 1 -A $(($(wc -l <wanted) - 1)) -F -- "$(head -n 1 wanted)" shown)
	done
}

# bats test_tags=slow
@test "acp-testing(7): each agent that misbehaves is one that can be started, and misbehaves" {
	acp-tap -f raw --from client "$SESSION" >prompts
	cp "$SESSION" session.rec
	acp-replay session.rec <prompts >right
	sed -n 's/^\.It Li \(acp-fault .*\)/\1/p' "$TOP/man/acp-testing.7" >commands
	assert_equal "$(wc -l <commands)" 6
	while read -r command; do
		echo "$command"
		status=0
		$command <prompts >out 2>err || status=$?
		assert_equal "$status" "$([[ $command == *--hang* || $command == *--exit-after* ]] && echo 1 || echo 0)"
		# In pieces it is the same in the end; and what overtakes is a matter of time.
		[[ $command == *--split* || $command == *--overtake* ]] || run ! cmp -s right out
	done <commands
}

# bats test_tags=slow
@test "clients: each agent of the table can be started, and misbehaves" {
	local agent recording n=0
	cd "$TOP/tests/examples/clients"
	acp-check -l note right.rec
	while IFS='`' read -r _ agent _; do
		echo "$agent"
		recording=${agent##* }
		acp-tap -f raw --from client "$recording" >"$BATS_TEST_TMPDIR/prompts"
		acp-tap -f raw --from agent right.rec >"$BATS_TEST_TMPDIR/right"
		status=0
		eval "$agent" <"$BATS_TEST_TMPDIR/prompts" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" || status=$?
		assert_equal "$status" "$([[ $agent == *--hang* || $agent == *--exit-after* ]] && echo 1 || echo 0)"
		# Only the first does all right; in pieces it is the same in the end.
		[[ $agent == *--split* || $agent == "acp-replay "*" right.rec" ]] || run ! cmp -s "$BATS_TEST_TMPDIR/right" "$BATS_TEST_TMPDIR/out"
		[[ $agent != acp-replay*right.rec ]] || cmp "$BATS_TEST_TMPDIR/right" "$BATS_TEST_TMPDIR/out"
		[[ $agent != acp-inject* ]] || (($(wc -L <"$BATS_TEST_TMPDIR/out") > 20000000))
		((++n))
	done < <(grep -F '| `acp-' README.md)
	((n >= 14))
	# None of the recordings is left out.
	for recording in *.rec; do
		grep -qF " $recording\`" README.md
	done
}

@test "the workflow is YAML, and installs by checksum" {
	python3 -c 'import yaml' 2>/dev/null || skip 'PyYAML is not installed'
	run -0 python3 -c 'import sys, yaml; print([s.get("name") for s in yaml.safe_load(open(sys.argv[1]))["jobs"]["agent"]["steps"]])' "$SUITE/agent.yml"
	assert_output --partial acputils
	grep -q 'sha256sum -c' "$SUITE/agent.yml"
}
