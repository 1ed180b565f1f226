/* loop: timers in order, children told of once, and callbacks that pull the rug. */
#include "lib/run/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/check.h"

static struct loop *loop;
static char log_text[256];

static void
note(const char *what)
{
	strncat(log_text, what, sizeof(log_text) - 1 - strlen(log_text));
}

static void
caught(void *arg, int signal)
{
	(void)arg;
	note(signal == SIGTERM ? "TERM " : signal == SIGUSR1 ? "USR1 " : "other ");
	loop_stop(loop);
}

static void
begin(void)
{
	static const int signals[] = {SIGTERM, SIGUSR1, 0};

	log_text[0] = '\0';
	loop = loop_new(signals, caught, NULL);
	CHECK(loop != NULL);
}

static void
run(void)
{
	log_text[0] = '\0';
	CHECK(loop_run(loop) == 0);
}

/* --- timers --- */

static struct loop_timer timers[5];

static void
expired(void *arg)
{
	note(arg);
}

static void
expired_and_stop(void *arg)
{
	note(arg);
	loop_stop(loop);
}

/* All overdue at once: they still run in the order in which they were due. */
static void
test_timers_in_order(void)
{
	uint64_t until;

	begin();
	timers[0] = (struct loop_timer){.expired = expired, .arg = "c "};
	timers[1] = (struct loop_timer){.expired = expired, .arg = "a "};
	timers[2] = (struct loop_timer){.expired = expired, .arg = "b "};
	timers[3] = (struct loop_timer){.expired = expired, .arg = "never "};
	loop_add_timer(loop, &timers[0], 3000);
	loop_add_timer(loop, &timers[3], 1);
	loop_add_timer(loop, &timers[1], 1000);
	loop_add_timer(loop, &timers[2], 2000);
	loop_remove_timer(loop, &timers[3]);
	until = loop_clock() + 4000;
	while (loop_clock() < until)
		;
	run();
	CHECK_STR(log_text, "a b c ");
	CHECK(!timers[0].added && !timers[3].added);
	CHECK(loop_now(loop) >= timers[0].due && loop_now(loop) <= loop_clock());
	loop_free(loop);
}

static void
remove_next(void *arg)
{
	note(arg);
	loop_remove_timer(loop, &timers[1]);
	loop_add_timer(loop, &timers[2], 0);
	loop_add_timer(loop, &timers[3], 0);
}

/* A timer removed by another does not run; one that is moved runs later, one added runs in its turn. */
static void
test_timers_change_timers(void)
{
	begin();
	timers[0] = (struct loop_timer){.expired = remove_next, .arg = "first "};
	timers[1] = (struct loop_timer){.expired = expired, .arg = "removed "};
	timers[2] = (struct loop_timer){.expired = expired, .arg = "moved "};
	timers[3] = (struct loop_timer){.expired = expired_and_stop, .arg = "added "};
	loop_add_timer(loop, &timers[0], 0);
	loop_add_timer(loop, &timers[1], 0);
	loop_add_timer(loop, &timers[2], 60000000);
	run();
	CHECK_STR(log_text, "first moved added ");
	loop_free(loop);
}

static int left;

static void
again(void *arg)
{
	if (--left > 0)
		loop_add_timer(loop, arg, 0);
}

static struct loop_fd ready_fd;

static void
fd_ready(void *arg, short revents)
{
	(void)arg;
	CHECK(revents & (POLLIN | POLLHUP));
	note("fd ");
	loop_stop(loop);
}

/* A timer that sets itself again at once does not keep descriptors waiting. */
static void
test_timer_does_not_starve(void)
{
	int p[2];

	begin();
	CHECK(pipe(p) == 0);
	close(p[1]);
	left = 1000000;
	timers[0] = (struct loop_timer){.expired = again, .arg = &timers[0]};
	loop_add_timer(loop, &timers[0], 0);
	ready_fd = (struct loop_fd){.fd = p[0], .events = POLLIN, .ready = fd_ready};
	loop_add_fd(loop, &ready_fd);
	run();
	CHECK_STR(log_text, "fd ");
	CHECK(left > 999000);
	loop_remove_fd(loop, &ready_fd);
	loop_remove_timer(loop, &timers[0]);
	run();
	loop_free(loop);
	close(p[0]);
}

/* --- descriptors --- */

static struct loop_fd fds[40];

static void
remove_all(void *arg, short revents)
{
	size_t i;

	(void)arg;
	(void)revents;
	note("ready ");
	for (i = 0; i < 40; i++)
		loop_remove_fd(loop, &fds[i]);
}

/* The first one called removes itself and all others: none of them is called, and the loop ends. */
static void
test_removal_from_inside(void)
{
	int p[2];
	size_t i;

	begin();
	CHECK(pipe(p) == 0);
	close(p[1]);
	for (i = 0; i < 40; i++) {
		fds[i] = (struct loop_fd){.fd = p[0], .events = POLLIN, .ready = remove_all};
		loop_add_fd(loop, &fds[i]);
		loop_add_fd(loop, &fds[i]);
	}
	run();
	CHECK_STR(log_text, "ready ");
	close(p[0]);
	loop_free(loop);
}

static void
replace(void *arg, short revents)
{
	(void)revents;
	note("first ");
	loop_remove_fd(loop, &fds[0]);
	fds[1].fd = -1;
	loop_set_events(loop, &fds[1], POLLIN);
	loop_add_fd(loop, arg);
}

static void
second(void *arg, short revents)
{
	(void)arg;
	(void)revents;
	note("second ");
	loop_stop(loop);
}

/* One that is pointed elsewhere is not told what its old descriptor had; one that is added gets its turn. */
static void
test_change_from_inside(void)
{
	int p[2];

	begin();
	CHECK(pipe(p) == 0);
	close(p[1]);
	fds[0] = (struct loop_fd){.fd = p[0], .events = POLLIN, .ready = replace, .arg = &fds[2]};
	fds[1] = (struct loop_fd){.fd = p[0], .events = POLLIN, .ready = remove_all};
	fds[2] = (struct loop_fd){.fd = p[0], .events = POLLIN, .ready = second};
	loop_add_fd(loop, &fds[0]);
	loop_add_fd(loop, &fds[1]);
	run();
	CHECK_STR(log_text, "first second ");
	close(p[0]);
	loop_free(loop);
}

/* Paused: not even a hang-up wakes it. With no events at all, a hang-up does. */
static void
test_paused(void)
{
	int p[2];

	begin();
	CHECK(pipe(p) == 0);
	close(p[1]);
	fds[0] = (struct loop_fd){.fd = p[0], .events = LOOP_PAUSED, .ready = fd_ready};
	loop_add_fd(loop, &fds[0]);
	timers[0] = (struct loop_timer){.expired = expired_and_stop, .arg = "timer "};
	loop_add_timer(loop, &timers[0], 1000);
	run();
	CHECK_STR(log_text, "timer ");
	loop_set_events(loop, &fds[0], 0);
	run();
	CHECK_STR(log_text, "fd ");
	close(p[0]);
	loop_free(loop);
}

static struct loop_fd many[150];
static int called[150], calls;

static void
count_call(void *arg, short revents)
{
	struct loop_fd *f = arg;
	size_t i = (size_t)(f - many);

	CHECK(revents & POLLIN);
	called[i]++;
	loop_set_events(loop, f, LOOP_PAUSED);
	if (++calls == 150)
		loop_stop(loop);
}

/* More are ready than one wait tells of: all get their turn, and those that are paused then get no other. */
static void
test_many(void)
{
	int pipes[150][2];
	size_t i;

	begin();
	calls = 0;
	for (i = 0; i < 150; i++) {
		called[i] = 0;
		CHECK(pipe(pipes[i]) == 0 && write(pipes[i][1], "x", 1) == 1);
		many[i] = (struct loop_fd){.fd = pipes[i][0], .events = POLLIN, .ready = count_call, .arg = &many[i]};
		loop_add_fd(loop, &many[i]);
	}
	run();
	CHECK(calls == 150);
	for (i = 0; i < 150; i++) {
		CHECK(called[i] == 1);
		loop_remove_fd(loop, &many[i]);
		close(pipes[i][0]);
		close(pipes[i][1]);
	}
	run();
	loop_free(loop);
}

/* Two watch one descriptor, each for its own; a file is always ready, and keeps nobody else waiting. */
static void
test_shared_and_file(void)
{
	int sides[2];
	FILE *file = tmpfile();

	begin();
	CHECK(file != NULL && socketpair(AF_UNIX, SOCK_STREAM, 0, sides) == 0);
	many[0] = (struct loop_fd){.fd = sides[0], .events = POLLIN, .ready = count_call, .arg = &many[0]};
	many[1] = (struct loop_fd){.fd = sides[0], .events = POLLOUT, .ready = second};
	many[2] = (struct loop_fd){.fd = fileno(file), .events = POLLIN, .ready = count_call, .arg = &many[2]};
	called[0] = called[2] = calls = 0;
	loop_add_fd(loop, &many[0]);
	loop_add_fd(loop, &many[1]);
	loop_add_fd(loop, &many[2]);
	run();
	/* The second stops the loop before the file has its turn. */
	CHECK_STR(log_text, "second ");
	CHECK(called[0] == 0 && called[2] == 0);
	CHECK(write(sides[1], "x", 1) == 1);
	loop_set_events(loop, &many[1], 0);
	calls = 148;
	run();
	CHECK(called[0] == 1 && called[2] == 1);
	loop_set_events(loop, &many[2], POLLIN);
	calls = 149;
	run();
	CHECK(called[0] == 1 && called[2] == 2);
	loop_remove_fd(loop, &many[0]);
	loop_remove_fd(loop, &many[1]);
	loop_remove_fd(loop, &many[2]);
	run();
	loop_free(loop);
	fclose(file);
	close(sides[0]);
	close(sides[1]);
}

/* --- signals --- */

static void
test_signals(void)
{
	sigset_t before, during, after;

	sigprocmask(SIG_SETMASK, NULL, &before);
	begin();
	kill(getpid(), SIGTERM);
	timers[0] = (struct loop_timer){.expired = expired, .arg = "never "};
	loop_add_timer(loop, &timers[0], 60000000);
	run();
	CHECK_STR(log_text, "TERM ");
	kill(getpid(), SIGUSR1);
	run();
	CHECK_STR(log_text, "USR1 ");
	sigprocmask(SIG_SETMASK, NULL, &during);
	CHECK(sigismember(&during, SIGTERM) && sigismember(&during, SIGCHLD));
	loop_free(loop);
	sigprocmask(SIG_SETMASK, NULL, &after);
	CHECK(sigismember(&after, SIGTERM) == sigismember(&before, SIGTERM));
	CHECK(signal(SIGPIPE, SIG_IGN) == SIG_IGN);
}

/* nohup: a hang-up that was ignored before stays so. */
static void
test_nohup(void)
{
	static const int signals[] = {SIGHUP, SIGUSR1, 0};

	signal(SIGHUP, SIG_IGN);
	log_text[0] = '\0';
	loop = loop_new(signals, caught, NULL);
	CHECK(loop != NULL);
	timers[0] = (struct loop_timer){.expired = expired, .arg = "never "};
	loop_add_timer(loop, &timers[0], 60000000);
	kill(getpid(), SIGHUP);
	kill(getpid(), SIGUSR1);
	run();
	CHECK_STR(log_text, "USR1 ");
	loop_free(loop);
	signal(SIGHUP, SIG_DFL);
}

/* --- children --- */

static struct loop_child children[50];
static int reports[50], statuses[50], reported;

static void
ended(void *arg, int status)
{
	size_t i = (size_t)((struct loop_child *)arg - children);

	reports[i]++;
	statuses[i] = status;
	reported++;
	/* Its zombie, and so its group's number, is still there. */
	CHECK(kill(children[i].pid, 0) == 0);
	if (i % 2 == 0)
		loop_reap(loop, arg);
	if (reported == 50)
		loop_stop(loop);
}

static void
test_children(void)
{
	size_t i;

	begin();
	memset(reports, 0, sizeof(reports));
	reported = 0;
	for (i = 0; i < 50; i++) {
		children[i] = (struct loop_child){.ended = ended, .arg = &children[i]};
		children[i].pid = fork();
		if (children[i].pid == 0) {
			signal(SIGKILL, SIG_DFL);
			if (i == 7)
				kill(getpid(), SIGKILL);
			_exit((int)i);
		}
		loop_add_child(loop, &children[i]);
	}
	run();
	for (i = 0; i < 50; i++) {
		CHECK(reports[i] == 1);
		if (i == 7)
			CHECK(WIFSIGNALED(statuses[i]) && WTERMSIG(statuses[i]) == SIGKILL);
		else
			CHECK(WIFEXITED(statuses[i]) && WEXITSTATUS(statuses[i]) == (int)i);
		if (i % 2)
			loop_reap(loop, &children[i]);
		CHECK(kill(children[i].pid, 0) < 0 && errno == ESRCH);
	}
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	run();
	loop_free(loop);
}

/* One that ended before the loop knew of it is told of all the same. */
static void
test_child_that_had_ended(void)
{
	siginfo_t info;

	begin();
	reported = 49;
	reports[0] = 0;
	children[0] = (struct loop_child){.ended = ended, .arg = &children[0], .pid = fork()};
	if (children[0].pid == 0)
		_exit(3);
	CHECK(waitid(P_PID, (id_t)children[0].pid, &info, WEXITED | WNOWAIT) == 0);
	loop_add_child(loop, &children[0]);
	run();
	CHECK(reports[0] == 1 && WEXITSTATUS(statuses[0]) == 3);
	loop_free(loop);
}

/* Nothing to wait for: it does not wait. */
static void
test_nothing_left(void)
{
	begin();
	run();
	CHECK_STR(log_text, "");
	loop_free(loop);
	loop_free(NULL);
}

int
main(void)
{
	test_timers_in_order();
	test_timers_change_timers();
	test_timer_does_not_starve();
	test_removal_from_inside();
	test_change_from_inside();
	test_paused();
	test_many();
	test_shared_and_file();
	test_signals();
	test_nohup();
	test_children();
	test_child_that_had_ended();
	test_nothing_left();
	return check_done();
}
