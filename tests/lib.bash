# What the bats files share. In setup: `load lib` and `lib_setup`.

# The libraries, our programs first in PATH, and an empty folder to be in.
lib_setup() {
	bats_load_library bats-support
	bats_load_library bats-assert
	TOP=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
	B=$(cd "$TOP" && realpath "${B:-build}")
	FIXTURES=$TOP/tests/fixtures
	PATH=$B/bin:$B/helper:$PATH:$TOP/build/tools
	export B FIXTURES PATH ACP_TEST_MARK=$BATS_TEST_TMPDIR
	mkdir -p "$BATS_TEST_TMPDIR/work"
	cd "$BATS_TEST_TMPDIR/work" || return
	[[ -z ${ACP_TEST_GUARD-} ]] || guarded
	[[ -z ${ACP_TEST_REPORTS-} ]] || name_reports
}

# A sanitizer's report has the test in its file's name.
name_reports() {
	local path=log_path=$ACP_TEST_REPORTS-${BATS_TEST_FILENAME##*/}-$BATS_TEST_NUMBER
	export ASAN_OPTIONS=$ASAN_OPTIONS:$path UBSAN_OPTIONS=$UBSAN_OPTIONS:$path
}

# Has tests/guard look after this test: when it hangs it fails, and what it has left running is ended.
guarded() {
	local stat
	read -r stat <"/proc/$$/stat"
	read -ra stat <<<"${stat##*) }"
	trap 'echo "this test hung" >&2; exit 1' ABRT
	printf '%s\n' "${stat[19]}" "$EPOCHSECONDS" "$ACP_TEST_MARK" \
	    "${BATS_TEST_FILENAME##*/}: $BATS_TEST_DESCRIPTION" >"$ACP_TEST_GUARD/$$"
}

# wait_for COMMAND...: until it is true. The bound is there so that a failure is one, not a hang.
wait_for() {
	local end=$((SECONDS + 60))
	until "$@"; do
		if ((SECONDS > end)); then
			echo "waited in vain for: $*" >&2
			return 1
		fi
		sleep 0.01
	done
}

# The process ids of all that the test has started and that still run, wherever they have ended up:
# what it starts has its mark in the environment.
left_over() {
	(
		unset ACP_TEST_MARK
		grep -lzsxF "ACP_TEST_MARK=$BATS_TEST_TMPDIR" /proc/[0-9]*/environ | cut -d/ -f3
	)
}

nobody_left() {
	[[ -z $(left_over) ]]
}

# In teardown: ends what a failed test has left. Again, for what was being started has started more.
end_left_over() {
	local round
	for round in {1..100}; do
		left_over | (unset ACP_TEST_MARK; xargs -r kill -KILL 2>/dev/null) || true
		nobody_left && return
	done
	echo "still there after $round rounds: $(left_over | xargs)"
}
