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
