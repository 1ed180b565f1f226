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
#include <unistd.h>

#include "lib/base/text.h"

const char cli_want_bytes[] = "expected a number of bytes, such as 64M";
const char cli_want_duration[] = "expected a duration, such as 500ms, 5s or 2m";
const char *const cli_colors[] = {"auto", "always", "never", NULL};

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

bool
cli_wants_color(enum cli_color color, int fd)
{
	const char *no = getenv("NO_COLOR");

	if (color != COLOR_AUTO)
		return color == COLOR_ALWAYS;
	return isatty(fd) && !(no && *no);
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
	/* A description of our own may be non-blocking. */
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

/* In place of getopt's own messages, which would print the word as it is. */
_Noreturn static void
refuse_option(const struct cli *cli, const char *word)
{
	const struct option *o = cli->options;
	int n = (int)strcspn(word, "="), same = 0, tool = (int)strcspn(cli->name, ":");

	for (; o->name && o->val != optopt; o++)
		same += n > 2 && strncmp(o->name, word + 2, (size_t)n - 2) == 0;
	if (optopt && o->name)
		cli_die(EXIT_USAGE, cli->name, "--%s %s; try %.*s --help", o->name,
			o->has_arg == no_argument ? "takes no argument" : "needs an argument", tool, cli->name);
	if (optopt)
		cli_die(EXIT_USAGE, cli->name, "-%c: no such option; try %.*s --help", (char)optopt, tool, cli->name);
	cli_die(EXIT_USAGE, cli->name, "%.*s: %s; try %.*s --help", n, word,
		same ? "short for more than one option" : "no such option", tool, cli->name);
}

static void
note_option(const struct cli *cli, struct cli_given *given, int option)
{
	unsigned i;

	for (i = 0; cli->options[i].name; i++)
		if (cli->options[i].val == option)
			given->options |= UINT64_C(1) << i;
}

void
cli_again(void)
{
	/* glibc and musl begin anew at 0, the BSDs where optreset is set. */
#ifdef __linux__
	optind = 0;
#else
	optreset = 1;
	optind = 1;
#endif
}

int
cli_next(const struct cli *cli, int argc, char **argv, struct cli_given *given)
{
	int before = optind, option;
	char version[64];

	opterr = 0;
	option = getopt_long(argc, argv, cli->letters, cli->options, NULL);

	/* Only a -- that ends the options is stepped over without being one. */
	given->dashes = option == -1 && optind > before;
	note_option(cli, given, option);
	switch (option) {
	case 'h':
		cli_print(cli->name, cli->help);
	case 'V':
		snprintf(version, sizeof(version), "%s " VERSION "\n", cli->name);
		cli_print(cli->name, version);
	case '?':
		refuse_option(cli, argv[optind - 1]);
	}
	return option;
}

void
cli_fact(struct cli_given *given, bool holds, const char *fact)
{
	if (holds && given->nfacts < CLI_FACTS)
		given->facts[given->nfacts++] = fact;
}

static bool
is_given(const struct cli *cli, const struct cli_given *given, struct slice name)
{
	size_t i;

	for (i = 0; cli->options[i].name; i++)
		if ((given->options >> i & 1) && name.n > 2 && slice_is(slice(name.p + 2, name.n - 2), cli->options[i].name))
			return true;
	for (i = 0; i < given->nfacts; i++)
		if (slice_is(name, given->facts[i]))
			return true;
	return false;
}

/* The first of several that is given; p NULL: none. */
static struct slice
first_given(const struct cli *cli, const struct cli_given *given, const char *names)
{
	struct slice name;

	for (; names && *names; names += name.n + (names[name.n] == '|')) {
		name = slice(names, strcspn(names, "|"));
		if (is_given(cli, given, name))
			return name;
	}
	return slice(NULL, 0);
}

/* "--edit or --edit-file", in text. */
static const char *
alternatives(const char *names, char *text, size_t size)
{
	size_t n = 0;

	for (; *names && n < size; names++)
		n += (size_t)snprintf(text + n, size - n, *names == '|' ? " or " : "%c", *names);
	return text;
}

void
cli_check(const struct cli *cli, const struct cli_given *given, const struct cli_rule *rule)
{
	struct slice what, barred;
	char text[256];

	for (; rule->what; rule++) {
		what = first_given(cli, given, rule->what);
		if (!what.p)
			continue;
		if (rule->needs && !first_given(cli, given, rule->needs).p)
			cli_die(EXIT_USAGE, cli->name, "%.*s requires %s", (int)what.n, what.p,
				alternatives(rule->needs, text, sizeof(text)));
		barred = first_given(cli, given, rule->bars);
		if (barred.p)
			cli_die(EXIT_USAGE, cli->name, "%.*s does not go with %.*s", (int)what.n, what.p, (int)barred.n, barred.p);
	}
}

/* The option's long name, without its dashes. */
static const char *
option_name(const struct cli *cli, int option)
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
	cli_die(EXIT_USAGE, cli->name, "--%s %s: %s", option_name(cli, option), argument, why);
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
