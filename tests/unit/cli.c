/* cli: numbers of people, and lines on stderr that never wait. */
#include "lib/base/cli.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pty.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/check.h"

static size_t
bytes(const char *text)
{
	size_t n = 0;

	return cli_bytes(text, &n) == 0 ? n : 0;
}

static void
test_bytes(void)
{
	static const char *const bad[] = {"", "0", "0K", "K", "-1", "+1", " 1", "1 ", "1KB", "1KK", "1T", "0x10",
		"1e3", "1.2.3", "inf", "nan", "0.3", "1,5", "1s", "10%", "99999999999999999999", "4000000000G"};
	size_t i, n = 77;

	CHECK(bytes("1") == 1 && bytes("1000") == 1000);
	CHECK(bytes("1K") == 1024 && bytes("64k") == 65536 && bytes("64M") == 64 * 1024 * 1024);
	CHECK(bytes("2G") == (size_t)2 * 1024 * 1024 * 1024);
	CHECK(bytes("1.5K") == 1536 && bytes(".5M") == 512 * 1024);
	CHECK(bytes("8589934592") == (size_t)8 * 1024 * 1024 * 1024);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (!CHECK(cli_bytes(bad[i], &n) == -1))
			fprintf(stderr, "\t\"%s\"\n", bad[i]);
	CHECK(n == 77);
}

static void
test_counts(void)
{
	uint64_t n = 0;

	CHECK(cli_count("0", &n) == 0 && n == 0);
	CHECK(cli_count("2k", &n) == 0 && n == 2000);
	CHECK(cli_count("1.5k", &n) == 0 && n == 1500);
	CHECK(cli_count("500m", &n) == 0 && n == 500000000);
	CHECK(cli_count("3B", &n) == 0 && n == 3000000000);
	CHECK(cli_count("9007199254740992", &n) == 0 && n == 9007199254740992);
	CHECK(cli_count("9007199254740993", &n) == 0 && n == 9007199254740993);
	CHECK(cli_count("18446744073709551615", &n) == 0 && n == UINT64_MAX && cli_count("18446744073709551616", &n) == -1);
	CHECK(cli_count("9007199254740993k", &n) == -1);
	CHECK(cli_count("1.0001k", &n) == -1 && cli_count("1g", &n) == -1 && cli_count("k", &n) == -1);
}

static void
test_durations(void)
{
	uint64_t us = 0;

	CHECK(cli_duration("5", &us) == 0 && us == 5000000);
	CHECK(cli_duration("500ms", &us) == 0 && us == 500000);
	CHECK(cli_duration("0.25s", &us) == 0 && us == 250000);
	CHECK(cli_duration("2m", &us) == 0 && us == 120000000);
	CHECK(cli_duration("0", &us) == 0 && us == 0);
	CHECK(cli_duration("1h", &us) == -1 && cli_duration("5us", &us) == -1 && cli_duration("-1s", &us) == -1);
	CHECK(cli_duration("", &us) == -1 && cli_duration("999999999999999999999m", &us) == -1);
}

static void
test_probabilities(void)
{
	double p = -1;

	CHECK(cli_probability("0.25", &p) == 0 && p > 0.2499 && p < 0.2501);
	CHECK(cli_probability("10%", &p) == 0 && p > 0.0999 && p < 0.1001);
	CHECK(cli_probability("0", &p) == 0 && p >= 0 && p <= 0);
	CHECK(cli_probability("100%", &p) == 0 && p >= 1 && p <= 1);
	CHECK(cli_probability("1.01", &p) == -1 && cli_probability("101%", &p) == -1);
	CHECK(cli_probability("%", &p) == -1 && cli_probability("x", &p) == -1);
}

static void
test_color(void)
{
	int master, slave, p[2];

	CHECK(openpty(&master, &slave, NULL, NULL, NULL) == 0 && pipe(p) == 0);
	unsetenv("NO_COLOR");
	setenv("TERM", "xterm", 1);
	CHECK(cli_wants_color(COLOR_AUTO, slave) && !cli_wants_color(COLOR_AUTO, p[1]));
	CHECK(cli_wants_color(COLOR_ALWAYS, p[1]) && !cli_wants_color(COLOR_NEVER, slave));
	setenv("NO_COLOR", "", 1);
	CHECK(cli_wants_color(COLOR_AUTO, slave));
	setenv("NO_COLOR", "1", 1);
	CHECK(!cli_wants_color(COLOR_AUTO, slave) && cli_wants_color(COLOR_ALWAYS, slave));
	unsetenv("NO_COLOR");
	setenv("TERM", "dumb", 1);
	CHECK(!cli_wants_color(COLOR_AUTO, slave) && cli_wants_color(COLOR_ALWAYS, slave));
	close(master);
	close(slave);
	close(p[0]);
	close(p[1]);
}

/* --- stderr --- */

static int saved, told[2];

static void
redirect_stderr(void)
{
	CHECK(pipe(told) == 0);
	saved = dup(STDERR_FILENO);
	dup2(told[1], STDERR_FILENO);
	close(told[1]);
}

static const char *
restore_stderr(void)
{
	static char text[8192];
	ssize_t n;

	dup2(saved, STDERR_FILENO);
	close(saved);
	n = read(told[0], text, sizeof(text) - 1);
	text[n < 0 ? 0 : n] = '\0';
	close(told[0]);
	return text;
}

static void
test_warn(void)
{
	char longer[9000];
	const char *text;

	redirect_stderr();
	cli_warn("acp-x", "line %d: %s", 3, "what\nis\033[31m this\x7f");
	CHECK_STR(restore_stderr(), "acp-x: line 3: what is this^?\n");
	memset(longer, 'y', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	redirect_stderr();
	cli_warn("acp-x", "%s", longer);
	text = restore_stderr();
	CHECK(strlen(text) <= PIPE_BUF && strlen(text) > 4000);
	CHECK(text[strlen(text) - 1] == '\n' && strchr(text, '\n') == text + strlen(text) - 1);
}

/* Nobody reads, and the pipe is full: the line is left out, and nothing waits. */
static void
test_warn_never_waits(void)
{
	char fill[4096];
	struct pollfd p;

	redirect_stderr();
	memset(fill, 'x', sizeof(fill));
	p = (struct pollfd){.fd = STDERR_FILENO, .events = POLLOUT};
	while (poll(&p, 1, 0) == 1 && write(STDERR_FILENO, fill, sizeof(fill)) > 0)
		;
	cli_warn("acp-x", "left out");
	dup2(saved, STDERR_FILENO);
	close(saved);
	while (read(told[0], fill, sizeof(fill)) == sizeof(fill) && fill[0] == 'x')
		;
	CHECK(fill[0] == 'x');
	close(told[0]);
}

static int
in_child(void (*fn)(void))
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		fn();
		_exit(99);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void
die(void)
{
	cli_die(EXIT_USAGE, "acp-x", "no %s", "good");
}

static void
print_on_full_disk(void)
{
	if (freopen("/dev/full", "w", stdout))
		cli_print("acp-x", "usage: acp-x\n");
}

static void
print(void)
{
	if (freopen("/dev/null", "w", stdout))
		cli_print("acp-x", "usage: acp-x\n");
}

static void
test_ends(void)
{
	redirect_stderr();
	CHECK(in_child(die) == 2);
	CHECK(in_child(print) == 0);
	CHECK(in_child(print_on_full_disk) == 125);
	CHECK_STR(restore_stderr(), "acp-x: no good\nacp-x: standard output: No space left on device\n");
}

static void
test_open(void)
{
	const char *name;
	int fd = cli_open("acp-x", "-", &name);

	CHECK(fd > STDERR_FILENO && strcmp(name, "standard input") == 0);
	close(fd);
	fd = cli_open("acp-x", "/", &name);
	CHECK(fd >= 0 && strcmp(name, "/") == 0);
	close(fd);
	CHECK(cli_open("acp-x", "/none/such", &name) < 0);
}

int
main(void)
{
	test_open();
	test_bytes();
	test_counts();
	test_durations();
	test_probabilities();
	test_color();
	test_warn();
	test_warn_never_waits();
	test_ends();
	return check_done();
}
