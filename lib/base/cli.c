#include "lib/base/cli.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lib/base/text.h"

const char cli_want_duration[] = "expected a duration, such as 500ms, 5s or 2m";
const char cli_want_rate[] = "expected N/TIME with N at most 1000, such as 3/1m";

struct unit {
	const char *name;
	double factor;
};

/* Reads a decimal number, at least 0, with one of these units. */
static int
with_unit(const char *text, const struct unit *units, double *value)
{
	char *unit;

	if (!isdigit((unsigned char)text[0]) && !(text[0] == '.' && isdigit((unsigned char)text[1])))
		return -1;
	/* strtod also reads 0x10 and 1e3, which are refused. */
	if (strspn(text, "0123456789.") != strcspn(text, "kKmMgGbBs%"))
		return -1;
	errno = 0;
	*value = strtod(text, &unit);
	if (errno)
		return -1;
	for (; units->name; units++) {
		if (strcmp(unit, units->name) == 0) {
			*value *= units->factor;
			return 0;
		}
	}
	return -1;
}

static int
whole(double value, uint64_t *n)
{
	/* Beyond 2^53 a double would round the number. */
	if (value > 9007199254740992.0 || value != floor(value))
		return -1;
	*n = (uint64_t)value;
	return 0;
}

int
cli_bytes(const char *text, size_t *bytes)
{
	static const struct unit units[] = {{"", 1}, {"K", 0x1p10}, {"k", 0x1p10}, {"M", 0x1p20},
		{"m", 0x1p20}, {"G", 0x1p30}, {"g", 0x1p30}, {NULL, 0}};
	double value;
	uint64_t n;

	if (with_unit(text, units, &value) < 0 || whole(value, &n) < 0 || n == 0 || n > SIZE_MAX / 4)
		return -1;
	*bytes = (size_t)n;
	return 0;
}

int
cli_count(const char *text, uint64_t *count)
{
	static const struct unit units[] = {{"", 1}, {"k", 1e3}, {"K", 1e3}, {"m", 1e6}, {"M", 1e6},
		{"b", 1e9}, {"B", 1e9}, {NULL, 0}};
	double value;

	/* Digits alone are exact, up to 2^64-1. */
	if (*text && text[strspn(text, "0123456789")] == '\0') {
		errno = 0;
		*count = strtoull(text, NULL, 10);
		return errno ? -1 : 0;
	}
	if (with_unit(text, units, &value) < 0)
		return -1;
	return whole(value, count);
}

int
cli_duration(const char *text, uint64_t *us)
{
	static const struct unit units[] = {{"", 1e6}, {"ms", 1e3}, {"s", 1e6}, {"m", 60e6}, {NULL, 0}};
	double value;

	if (with_unit(text, units, &value) < 0 || value > 1e15)
		return -1;
	*us = (uint64_t)value;
	return 0;
}

int
cli_rate(const char *text, struct cli_rate *rate)
{
	char *end;
	unsigned long most = strtoul(text, &end, 10);

	if (!byte_is_digit(text[0]) || *end != '/' || most > 1000 || cli_duration(end + 1, &rate->window) < 0)
		return -1;
	rate->text = text;
	rate->n = most;
	return 0;
}

int
cli_probability(const char *text, double *p)
{
	static const struct unit units[] = {{"", 1}, {"%", 0.01}, {NULL, 0}};

	return with_unit(text, units, p) < 0 || *p > 1 ? -1 : 0;
}

int
cli_open(const char *tool, const char *operand, const char **name)
{
	bool standard = strcmp(operand, "-") == 0;

	*name = standard ? "standard input" : operand;
	if (standard)
		cli_waits(tool, STDIN_FILENO, "a recording");
	return standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 8) : open(operand, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

void
cli_waits(const char *tool, int fd, const char *what)
{
	if (isatty(fd))
		cli_warn(tool, "waiting for %s from this terminal (try --help)", what);
}

char *
cli_in_path(const char *name)
{
	const char *path = getenv("PATH"), *end;
	char *file;

	for (; path && *path; path = *end ? end + 1 : end) {
		end = path + strcspn(path, ":");
		file = bytes_printf("%.*s/%s", (int)(end - path), path, name);
		if (!file || access(file, X_OK) == 0)
			return file;
		free(file);
	}
	return NULL;
}

bool
cli_is_program(const char *word)
{
	char begin[4] = "", *file;
	int fd;

	if (access(word, F_OK) < 0) {
		file = strchr(word, '/') ? NULL : cli_in_path(word);
		free(file);
		return file;
	}
	fd = access(word, X_OK) == 0 ? open(word, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	if (fd < 0)
		return false;
	if (read(fd, begin, sizeof(begin)) != sizeof(begin))
		*begin = '\0';
	close(fd);
	return memcmp(begin, "#!", 2) == 0 || memcmp(begin, "\177ELF", 4) == 0;
}

/* Does a become b when at most `left` letters are added, removed, changed or swapped with the next? */
static bool
is_near(struct slice a, struct slice b, int left)
{
	struct slice a1, b1;

	while (a.n && b.n && *a.p == *b.p) {
		a = slice(a.p + 1, a.n - 1);
		b = slice(b.p + 1, b.n - 1);
	}
	if (a.n == 0 || b.n == 0)
		return a.n + b.n <= (size_t)left;
	a1 = slice(a.p + 1, a.n - 1);
	b1 = slice(b.p + 1, b.n - 1);
	return left && (is_near(a1, b, left - 1) || is_near(a, b1, left - 1) || is_near(a1, b1, left - 1) ||
		(a1.n && b1.n && *a.p == *b1.p && *a1.p == *b.p && is_near(slice(a.p + 2, a.n - 2), slice(b.p + 2, b.n - 2), left - 1)));
}

void
cli_compare(struct cli_meant *m, const char *dashes, struct slice word)
{
	for (int n = 1; n < m->letters && m->typed.n > 2 * (size_t)n; n++) {
		if (is_near(m->typed, word, n)) {
			snprintf(m->text, sizeof(m->text), " (did you mean %s%.*s?)", dashes, (int)word.n, word.p);
			m->letters = n;
		}
	}
}

size_t
cli_columns(int fd)
{
	const char *text = getenv("COLUMNS");
	unsigned long columns = text ? strtoul(text, NULL, 10) : 0;
	struct winsize size;

	if (columns == 0 && ioctl(fd, TIOCGWINSZ, &size) == 0)
		columns = size.ws_col > 0 ? size.ws_col : 80;
	return columns;
}

bool
cli_wants_color(enum cli_color color, int fd)
{
	const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");

	if (color != COLOR_AUTO)
		return color == COLOR_ALWAYS;
	return isatty(fd) && !(no && *no) && !(terminal && strcmp(terminal, "dumb") == 0);
}

pid_t
cli_started_again(void)
{
	const char *again = getenv("ACP_RESTARTED");
	long first = again ? strtol(again, NULL, 10) : 0;

	return first > 0 ? (pid_t)first : again && *again;
}

int
cli_terminal(void)
{
	/* O_NONBLOCK affects no other process: only this one has this file description. */
	return open("/dev/tty", O_WRONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
}

bool
cli_write_now(int fd, struct slice bytes)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	return poll(&p, 1, 0) == 1 && (p.revents & POLLOUT) && write(fd, bytes.p, bytes.n) >= 0;
}

void
cli_vwarn(const char *name, const char *format, va_list args)
{
	char text[PIPE_BUF], line[PIPE_BUF];
	size_t n;
	int r;

	r = snprintf(text, sizeof(text), "%s: ", name);
	n = r < 0 ? 0 : (size_t)r;
	if (n < sizeof(text))
		vsnprintf(text + n, sizeof(text) - n, format, args);
	n = text_plain_in(line, sizeof(line) - 1, slice_of(text));
	line[n++] = '\n';
	cli_write_now(STDERR_FILENO, slice(line, n));
}

void
cli_warn(const char *name, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	cli_vwarn(name, format, args);
	va_end(args);
}

int
cli_not_started(const char *name, const char *command, bool tried, int error)
{
	bool found = !tried || error != ENOENT;

	cli_warn(name, "%s: %s", command, found ? strerror(error) : "command not found");
	return !tried ? EXIT_FAILED : found ? EXIT_CANNOT_EXECUTE : EXIT_NOT_FOUND;
}

void
cli_die(int status, const char *name, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	cli_vwarn(name, format, args);
	va_end(args);
	exit(status);
}

void
cli_print(const char *name, const char *text)
{
	if (fputs(text, stdout) == EOF || fflush(stdout) == EOF)
		cli_die(EXIT_FAILED, name, "standard output: %s", strerror(errno));
	exit(0);
}
