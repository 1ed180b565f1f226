/* proc: children are started clean, told of, and never left behind. */
#include "lib/run/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/check.h"

static char output[8192];

/* Everything up to the end of fd, in output. */
static void
read_all(int fd)
{
	size_t n = 0;
	ssize_t r;

	while ((r = read(fd, output + n, sizeof(output) - 1 - n)) > 0)
		n += (size_t)r;
	output[n] = '\0';
	close(fd);
}

static int
wait_for(pid_t pid)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* Runs a shell script with its stdout in output; returns its status. */
static int
run(const char *script, bool ucspi)
{
	char *argv[] = {"/bin/sh", "-c", (char *)script, NULL};
	struct proc_fd fds[1];
	struct proc_spec spec = {.argv = argv, .fds = fds, .nfds = 1, .ucspi = ucspi};
	int p[2];
	pid_t pid;

	if (!CHECK(proc_pipe(p) == 0))
		return -1;
	fds[0] = (struct proc_fd){p[1], 1};
	pid = proc_start(&spec, NULL);
	CHECK(pid > 0);
	close(p[1]);
	read_all(p[0]);
	return wait_for(pid);
}

static void
test_clean_start(void)
{
	sigset_t mask;
	int stray = fcntl(0, F_DUPFD, 30);

	sigfillset(&mask);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	signal(SIGINT, SIG_IGN);
	/* Signals 32 and 33 are the C library's: make's posix_spawn ignores them. */
	CHECK(run("sed -n 's/^Sig\\(Blk\\|Ign\\):\\t/0x/p' /proc/self/status |"
		  " while read -r m; do printf '%d ' $((m & 0x7fffffff)); done", false) == 0);
	CHECK_STR(output, "0 0 ");
	CHECK(run("ls /proc/self/fd | tr '\\n' ' '", false) == 0);
	CHECK_STR(output, "0 1 2 3 "); /* 3 is ls's own */
	CHECK(run("test $(ps -o pgid= -p $$) -eq $$ && echo own", false) == 0);
	CHECK_STR(output, "own\n");
	sigemptyset(&mask);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	close(stray);
}

static void
test_proto(void)
{
	setenv("PROTO", "TCP", 1);
	CHECK(run("echo ${PROTO-none}", true) == 0);
	CHECK_STR(output, "ACP\n");
	CHECK(run("echo ${PROTO-none}", false) == 0);
	CHECK_STR(output, "none\n");
	CHECK_STR(getenv("PROTO"), "TCP");
	unsetenv("PROTO");
}

/* Sources and targets that overlap: 6 is to become 7 and 7 is to become 6. */
static void
test_overlapping_descriptors(void)
{
	char *argv[] = {"/bin/sh", "-c", "echo six >&6; echo seven >&7", NULL};
	struct proc_fd fds[] = {{6, 7}, {7, 6}};
	struct proc_spec spec = {.argv = argv, .fds = fds, .nfds = 2};
	int a[2], b[2];
	pid_t pid;

	if (!CHECK(proc_pipe(a) == 0 && proc_pipe(b) == 0))
		return;
	CHECK(dup2(a[1], 6) == 6 && dup2(b[1], 7) == 7);
	close(a[1]);
	close(b[1]);
	pid = proc_start(&spec, NULL);
	close(6);
	close(7);
	CHECK(pid > 0 && wait_for(pid) == 0);
	read_all(a[0]);
	CHECK_STR(output, "seven\n");
	read_all(b[0]);
	CHECK_STR(output, "six\n");
}

static void
test_pipes(void)
{
	char *argv[] = {"/bin/sh", "-c", "read -r line; echo \"out $line\"; echo err >&2", NULL};
	struct proc_spec spec = {.argv = argv};
	int ours[3];
	pid_t pid = proc_start_piped(&spec, 3, ours, NULL);

	CHECK(pid > 0 && write(ours[0], "in\n", 3) == 3 && close(ours[0]) == 0);
	read_all(ours[1]);
	CHECK_STR(output, "out in\n");
	read_all(ours[2]);
	CHECK_STR(output, "err\n");
	CHECK(wait_for(pid) == 0);
}

static void
test_commands_that_do_not_run(void)
{
	char *missing[] = {"/nonexistent/agent", NULL}, *folder[] = {"/", NULL};
	struct proc_spec spec = {.argv = missing};
	enum proc_stage stage;
	int ours[3];

	CHECK(proc_start(&spec, &stage) == -1 && errno == ENOENT && stage == PROC_EXEC);
	spec.argv = folder;
	CHECK(proc_start(&spec, &stage) == -1 && errno == EACCES && stage == PROC_EXEC);
	CHECK(proc_start_piped(&spec, 3, ours, &stage) == -1 && errno == EACCES && stage == PROC_EXEC);
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

static void
test_status(void)
{
	char buf[32];

	CHECK(proc_status(run("exit 3", false)) == 3);
	CHECK_STR(proc_describe(run("exit 3", false), buf, sizeof(buf)), "exit status 3");
	CHECK(proc_status(run("kill -9 $$", false)) == 137);
	CHECK_STR(proc_describe(run("kill -9 $$", false), buf, sizeof(buf)), "signal KILL");
	CHECK(proc_signal_name(0) == NULL);
}

/* The words, each in brackets. */
static const char *
words(const char *command)
{
	char **w = proc_words(command);
	size_t i, n = 0;

	output[0] = '\0';
	for (i = 0; w && w[i]; i++)
		n += (size_t)snprintf(output + n, sizeof(output) - n, "[%s]", w[i]);
	free(w);
	return output;
}

static void
test_words(void)
{
	static const char special[] = "|&;()`\"'\n", simple[] = "<>$*?[{";
	char command[] = "cat _x", want[64];
	size_t i;

	CHECK_STR(words("acp-tap"), "[acp-tap]");
	CHECK_STR(words("  acp-tap \t-o  a.rec "), "[acp-tap][-o][a.rec]");
	CHECK_STR(words("acp-tap --session=1 -o %p.rec a#b c~d !x"),
		"[acp-tap][--session=1][-o][%p.rec][a#b][c~d][!x]");
	CHECK_STR(words("A=1 cat"), "[/bin/sh][-c][A=1 exec cat]");
	CHECK_STR(words("A=1"), "[/bin/sh][-c][A=1]");
	CHECK_STR(words("acp-inject -e '.a | .b' \"x y\" 'a'\"b\"c ''"), "[acp-inject][-e][.a | .b][x y][abc][]");
	CHECK_STR(words("cat a\\ b \"\\\"\\\\\\a\" '\\'"), "[cat][a b][\"\\\\a][\\]");
	CHECK_STR(words("cat \"$x; y\" 2>&1"), "[/bin/sh][-c][exec cat \"$x; y\" 2>&1]");
	CHECK_STR(words("cat \"$(ls)\""), "[/bin/sh][-c][cat \"$(ls)\"]");
	CHECK_STR(words("exec cat $x"), "[/bin/sh][-c][exec cat $x]");
	CHECK_STR(words("exec cat 'x'"), "[cat][x]");
	CHECK_STR(words("read x <y"), "[/bin/sh][-c][read x <y]");
	CHECK_STR(words("cat 'x"), "[/bin/sh][-c][cat 'x]");
	CHECK_STR(words("! cat"), "[/bin/sh][-c][! cat]");
	CHECK_STR(words("cat ~/x"), "[/bin/sh][-c][exec cat ~/x]");
	CHECK_STR(words("cat #x"), "[/bin/sh][-c][cat #x]");
	for (i = 0; special[i]; i++) {
		command[4] = special[i];
		snprintf(want, sizeof(want), "[/bin/sh][-c][%s]", command);
		CHECK_STR(words(command), want);
	}
	for (i = 0; simple[i]; i++) {
		command[4] = simple[i];
		snprintf(want, sizeof(want), "[/bin/sh][-c][exec %s]", command);
		CHECK_STR(words(command), want);
	}
	CHECK(proc_words("") == NULL && errno == EINVAL);
	CHECK(proc_words(" \t") == NULL && errno == EINVAL);
}

/*
 * A parent that starts a child which ignores TERM, and is killed: the child must go too. The pipe
 * ends when nobody holds it any more.
 */
static void
test_guardian(bool ignores_term)
{
	char *argv[] = {"/bin/sh", "-c", ignores_term ? "trap '' TERM; echo up; while :; do sleep 1; done"
		: "echo up; sleep 1000", NULL};
	struct proc_guardian g;
	struct proc_fd fds[1];
	struct proc_spec spec = {.argv = argv, .fds = fds, .nfds = 1, .guardian = &g};
	int p[2];
	pid_t parent;
	char up[3];

	if (!CHECK(proc_pipe(p) == 0))
		return;
	parent = fork();
	if (parent == 0) {
		fds[0] = (struct proc_fd){p[1], 1};
		if (proc_guardian_start(&g) < 0 || proc_start(&spec, NULL) < 0)
			_exit(1);
		close(p[1]);
		for (;;)
			pause();
	}
	close(p[1]);
	CHECK(read(p[0], up, sizeof(up)) == (ssize_t)sizeof(up));
	kill(parent, SIGKILL);
	wait_for(parent);
	read_all(p[0]);
	CHECK_STR(output, "");
}

static void
test_awake(void)
{
	char *argv[] = {"sleep", "1000", NULL};
	struct proc_spec spec = {.argv = argv};
	pid_t pid = proc_start(&spec, NULL);
	int status;

	CHECK(pid > 0 && kill(pid, SIGSTOP) == 0 && waitpid(pid, &status, WUNTRACED) == pid);
	CHECK(proc_is_awake(pid));
	CHECK(kill(pid, SIGCONT) == 0);
	while (proc_is_awake(pid))
		usleep(1000);
	CHECK(proc_group_lives(pid));
	proc_signal(pid, SIGKILL);
	wait_for(pid);
	CHECK(!proc_is_awake(pid));
	CHECK(!proc_is_awake(0));
}

/* With a goodbye it leaves everybody alone; and it can be killed without harm. */
static void
test_guardian_goodbye(void)
{
	char *argv[] = {"sleep", "1000", NULL};
	struct proc_guardian g;
	struct proc_spec spec = {.argv = argv, .guardian = &g};
	pid_t pid;

	CHECK(proc_guardian_start(&g) == 0);
	pid = proc_start(&spec, NULL);
	CHECK(pid > 0);
	proc_guardian_stop(&g);
	CHECK(proc_group_lives(pid));
	proc_signal(pid, SIGTERM);
	CHECK(proc_status(wait_for(pid)) == 128 + SIGTERM);
	CHECK(!proc_group_lives(pid));

	CHECK(proc_guardian_start(&g) == 0);
	kill(g.pid, SIGKILL);
	wait_for(g.pid);
	g.pid = 0;
	proc_guardian_remove(&g, 2);
	CHECK(g.fd == -1);
	pid = proc_start(&spec, NULL);
	CHECK(pid > 0);
	proc_signal(pid, SIGKILL);
	wait_for(pid);
	proc_guardian_stop(&g);
}

/* A child whose parent is gone when it looks has no business any more. */
static void
test_death_signal(void)
{
	char *argv[] = {"/bin/sh", "-c", "echo up; exec sleep 1000", NULL};
	struct proc_fd fds[1];
	struct proc_spec spec = {.argv = argv, .fds = fds, .nfds = 1, .death_signal = SIGKILL};
	int p[2];
	pid_t parent;

	if (!CHECK(proc_pipe(p) == 0))
		return;
	fds[0] = (struct proc_fd){p[1], 1};
	parent = fork();
	if (parent == 0)
		_exit(proc_start(&spec, NULL) < 0);
	close(p[1]);
	CHECK(wait_for(parent) == 0);
	read_all(p[0]); /* ends */
	CHECK(true);
}

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	test_clean_start();
	test_proto();
	test_overlapping_descriptors();
	test_pipes();
	test_commands_that_do_not_run();
	test_status();
	test_words();
	test_guardian(false);
	test_guardian(true);
	test_guardian_goodbye();
	if (!CHECK_PORTABLE) { /* what Linux has */
		test_awake();
		test_death_signal();
	}
	return check_done();
}
