#include "lib/cli.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char cli_want_bytes[] = "expected a number of bytes, such as 64M";
const char cli_want_duration[] = "expected a duration, such as 500ms, 5s or 2m";
const char cli_want_color[] = "expected auto, always or never";

/* A decimal number of 0 or more at the beginning of text; *rest is what follows. */
static int
number(const char *text, double *value, const char **rest)
{
	char *end;

	if (!isdigit((unsigned char)text[0]) && !(text[0] == '.' && isdigit((unsigned char)text[1])))
		return -1;
	if (strspn(text, "0123456789.") != strcspn(text, "kKmMgGbBs%"))
		return -1;
	errno = 0;
	*value = strtod(text, &end);
	*rest = end;
	return errno ? -1 : 0;
}

struct unit {
	const char *name;
	double factor;
};

static int
with_unit(const char *text, const struct unit *units, double *value)
{
	const char *rest;

	if (number(text, value, &rest) < 0)
		return -1;
	for (; units->name; units++) {
		if (strcmp(rest, units->name) == 0) {
			*value *= units->factor;
			return 0;
		}
	}
	return -1;
}

static int
whole(double value, uint64_t *n)
{
	/* 2^53: beyond it a double would round what was typed. */
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
cli_probability(const char *text, double *p)
{
	static const struct unit units[] = {{"", 1}, {"%", 0.01}, {NULL, 0}};

	return with_unit(text, units, p) < 0 || *p > 1 ? -1 : 0;
}

int
cli_color(const char *text, enum cli_color *color)
{
	if (strcmp(text, "auto") == 0)
		*color = COLOR_AUTO;
	else if (strcmp(text, "always") == 0)
		*color = COLOR_ALWAYS;
	else if (strcmp(text, "never") == 0)
		*color = COLOR_NEVER;
	else
		return -1;
	return 0;
}

int
cli_open(const char *operand, const char **name)
{
	bool standard = strcmp(operand, "-") == 0;

	*name = standard ? "standard input" : operand;
	return standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(operand, O_RDONLY | O_CLOEXEC | O_NOCTTY);
}

bool
cli_wants_color(enum cli_color color, int fd)
{
	const char *no = getenv("NO_COLOR");

	if (color != COLOR_AUTO)
		return color == COLOR_ALWAYS;
	return isatty(fd) && !(no && *no);
}

void
cli_tame(char *text, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (iscntrl((unsigned char)text[i]))
			text[i] = '?';
}

bool
cli_started_again(void)
{
	const char *again = getenv("ACP_RESTARTED");

	return again && *again;
}

void
cli_vwarn(const char *name, const char *format, va_list args)
{
	char line[PIPE_BUF];
	struct pollfd p = {.fd = STDERR_FILENO, .events = POLLOUT};
	size_t n;
	int r;

	r = snprintf(line, sizeof(line) - 1, "%s: ", name);
	n = r < 0 ? 0 : (size_t)r;
	if (n < sizeof(line) - 1)
		vsnprintf(line + n, sizeof(line) - 1 - n, format, args);
	n = strlen(line);
	cli_tame(line, n);
	line[n++] = '\n';
	if (poll(&p, 1, 0) == 1 && write(STDERR_FILENO, line, n) < 0)
		return; /* nobody is left to be told */
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

int
cli_next(const struct cli *cli, int argc, char **argv, bool *dashes)
{
	int before = optind, option = getopt_long(argc, argv, cli->letters, cli->options, NULL);
	char version[64];

	/* Only a -- that ends the options is stepped over without being one. */
	*dashes = option == -1 && optind > before;
	switch (option) {
	case 'h':
		cli_print(cli->name, cli->help);
	case 'V':
		snprintf(version, sizeof(version), "%s " VERSION "\n", cli->name);
		cli_print(cli->name, version);
	case '?':
		cli_die(EXIT_USAGE, cli->name, "try %s --help", cli->name);
	}
	return option;
}

const char *
cli_option_name(const struct cli *cli, int option)
{
	const struct option *o = cli->options;

	while (o->name && o->val != option)
		o++;
	return o->name;
}

void
cli_refuse(const struct cli *cli, const char *why)
{
	cli_die(why ? EXIT_USAGE : EXIT_FAILED, cli->name, "%s", why ? why : "out of memory");
}

void
cli_bad(const struct cli *cli, int option, const char *argument, const char *why)
{
	if (!why)
		cli_refuse(cli, NULL);
	cli_die(EXIT_USAGE, cli->name, "--%s %s: %s", cli_option_name(cli, option), argument, why);
}

int
cli_word(const struct cli *cli, int option, const char *argument, const char *const *words)
{
	char expected[256];
	int i, n;

	for (i = 0; words[i]; i++)
		if (strcmp(argument, words[i]) == 0)
			return i;
	n = snprintf(expected, sizeof(expected), "expected %s", words[0]);
	for (i = 1; words[i] && n < (int)sizeof(expected); i++)
		n += snprintf(expected + n, sizeof(expected) - (size_t)n, "%s%s", words[i + 1] ? ", " : " or ", words[i]);
	cli_bad(cli, option, argument, expected);
}
