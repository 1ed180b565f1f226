# What the bats files share. In setup: `load lib` and `lib_setup`.

# The libraries, our programs first in PATH, and an empty folder to be in.
lib_setup() {
	local -
	set +T # every test pays for this, and bats' debug trap for each command would be most of the price
	set_up
}

set_up() {
	[[ ! -e ${ACP_TEST_STOP-} ]] || skip 'after a failure'
	load_assertions
	TOP=${BATS_TEST_DIRNAME%/tests*}
	[[ ${B:=build} == /* ]] || B=$TOP/$B
	FIXTURES=$TOP/tests/fixtures
	PATH=$B/bin:$B/helper:$PATH:$TOP/build/tools
	export B FIXTURES PATH TERM=xterm ACP_TEST_MARK=$BATS_TEST_TMPDIR
	mkdir "$BATS_TEST_TMPDIR/work"
	cd "$BATS_TEST_TMPDIR/work" || return
	[[ -z ${ACP_TEST_GUARD-} ]] || guarded
	[[ -z ${ACP_TEST_REPORTS-} ]] || name_reports
}

# bats-support and bats-assert, without a process for each of their files.
load_assertions() {
	local dir file
	IFS=: read -ra dir <<<"${BATS_LIB_PATH:-/usr/lib/bats}"
	for dir in "${dir[@]}"; do
		[[ -f $dir/bats-assert/load.bash ]] || continue
		for file in "$dir"/bats-support/src/*.bash "$dir"/bats-assert/src/*.bash; do
			# shellcheck disable=SC1090 # what the distribution has
			source "$file"
		done
		return
	done
	bats_load_library bats-support
	bats_load_library bats-assert
}

# sample QUICK FULL [SAN]: how many rounds, cases or messages: the first in `make test`, the second in `make test-all`,
# the third there with sanitizers, which make each start slow.
sample() {
	case ${ACP_TEST_FULL-}:$B in
	:*) echo "$1" ;;
	*/san) echo "${3-$2}" ;;
	*) echo "$2" ;;
	esac
}

# every_way COMMAND...: in each of WAYS, which is in $way; each_way: in `make test` only in the first SHORT_WAYS of them. The command
# is called plainly: bash ignores an assertion that fails left of || or in a condition.
every_way() {
	for way in "${WAYS[@]}"; do
		echo "in the way: $way"
		rm -f got out err
		: >got
		"$@"
	done
}

each_way() {
	local WAYS=("${WAYS[@]:0:$(sample "$SHORT_WAYS" 9)}")
	every_way "$@"
}

# fixture SIDE [FILE...]: the messages of a side, as real sessions had them.
fixture() {
	local from=$1
	shift
	(($#)) || set -- "$FIXTURES"/*.jsonl
	jq -rj --arg from "$from" 'select(.from == $from and .line) | .line + "\n"' "$@"
}

# same_as FILE: standard input is what the file has, below the fixtures. ACP_EXPECT=write makes it anew: read the difference.
same_as() {
	if [[ ${ACP_EXPECT-} == write ]]; then
		cat >"$FIXTURES/$1"
	else
		diff "$FIXTURES/$1" -
	fi
}

# took COMMAND...: puts the microseconds that it takes into $elapsed.
# shellcheck disable=SC2034
took() {
	local start=${EPOCHREALTIME/./}
	"$@"
	elapsed=$((${EPOCHREALTIME/./} - start))
}

# Is this the form for systems that are not Linux? What it lacks is in acputils(7).
portable() {
	[[ ${B##*/} == portable ]]
}

# Is this for another processor (scripts/packaging/check aarch64)?
emulated() {
	[[ ${B##*/} == emulated ]]
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

# wait_for COMMAND...: until it is true. The bound is there so that a failure is one, not a hang. Looks seldom where
# it takes long, so that waiting does not slow down what is waited for.
wait_for() {
	local - end=$((SECONDS + 60)) pause=1
	set +T # what stands in bats' trace is the line that waits
	until "$@"; do
		if ((SECONDS > end)); then
			echo "waited in vain for: $*" >&2
			return 1
		fi
		rest "0.0$pause"
		((pause == 5)) || ((pause++))
	done
}

# await_line FILE COMMAND...: waits until COMMAND, which reads the file's lines, prints something, and prints the first line
# of that. It gets whole lines only, and runs again only when there are more of them.
await_line() {
	local file=$1 seen=0 found=''
	shift
	wait_for found_in "$file" "$@" || return
	printf '%s\n' "$found"
}

found_in() {
	local count lines
	count=$(wc -l 2>/dev/null <"$1") || return
	((count != seen)) || return
	# Whoever writes the file anew may have emptied it since.
	mapfile -n "$count" lines <"$1"
	seen=${#lines[@]}
	found=$(printf %s "${lines[@]}" | "${@:2}" | head -n 1)
	[[ $found ]]
}

has_ended() {
	! kill -0 "$1" 2>/dev/null
}

# listens PID: it has a socket at which it listens. (That is a moment after the socket has its name.)
listens() {
	readlink "/proc/$1/fd/"* 2>/dev/null | sed -n 's/^socket:\[\(.*\)\]$/ 00010000 0001 01 *\1 /p' | grep -qf - /proc/net/unix
}

# rest SECONDS: sleep, without a process.
rest() {
	local nobody=$BATS_TEST_TMPDIR/nobody
	[[ -p $nobody ]] || mkfifo "$nobody" 2>/dev/null || true # another of the test's shells may be faster
	read -rt "$1" <>"$nobody" || true
}

# marked OPTION: looks for what the test has started and that still runs, wherever it has ended up:
# what it starts has its mark in the environment. -q: is there any; -l: which.
marked() {
	ACP_TEST_MARK='' grep "$1" -zsxF "ACP_TEST_MARK=$BATS_TEST_TMPDIR" /proc/[0-9]*/environ
}

# Their process ids.
left_over() {
	(
		unset ACP_TEST_MARK
		marked -l | cut -d/ -f3
	)
}

nobody_left() {
	! marked -q
}

# What the test has started has ended. In the portable form no tool learns when what it killed is gone: that is a moment later.
leaves_nobody() {
	if portable; then
		wait_for nobody_left
	else
		nobody_left
	fi
}

# In teardown: ends what a failed test has left. Again, for what was being started has started more.
end_left_over() {
	local -
	set +T # as in lib_setup
	end_all
}

end_all() {
	local round
	for round in {1..100}; do
		if nobody_left; then
			[[ -z ${ACP_TEST_GUARD-} ]] || : >"$ACP_TEST_GUARD/$$"
			return
		fi
		left_over | (unset ACP_TEST_MARK; xargs -r kill -KILL 2>/dev/null) || true
	done
	echo "still there after $round rounds: $(left_over | xargs)"
}
