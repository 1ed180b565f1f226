#include "lib/base/cli_line.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h> /* optreset */

/* getopt_long returns LONG plus the option's index in cli_line.known for a long option. */
enum { LONG = 256 };

/* --- errors --- */

void
cli_wrong(const struct cli_argument *t, const char *why)
{
	if (!why)
		cli_no_memory(t->tool->name);
	cli_die(EXIT_USAGE, t->tool->name, "--%s %s: %s", t->option->name, t->argument, why);
}

void
cli_no_memory(const char *name)
{
	cli_die(EXIT_FAILED, name, "out of memory");
}

void *
cli_grow(const char *name, void *array, size_t n, size_t size)
{
	void *more = reallocarray(array, n + 1, size);

	if (!more)
		cli_no_memory(name);
	return more;
}

/* --- what every tool has --- */

static void
print_help(const struct cli_argument *t)
{
	cli_print(t->tool->name, t->tool->help);
}

static void
print_version(const struct cli_argument *t)
{
	char text[64];

	snprintf(text, sizeof(text), "%s " VERSION "\n", t->tool->name);
	cli_print(t->tool->name, text);
}

static const struct cli_option of_all[] = {{"help", 'h', CLI_CALL(print_help)}, {"version", 'V', CLI_CALL(print_version)}, {0}};

/* --- values --- */

static void
parse_word(const struct cli_argument *t, int *number)
{
	const char *const *words = t->option->words;
	struct cli_meant meant = {.typed = slice_of(t->argument), .letters = 3};
	char expected[256];
	int n;

	for (int i = 0; words[i]; i++) {
		if (strcmp(t->argument, words[i]) == 0) {
			*number = t->option->value + i;
			return;
		}
	}
	n = snprintf(expected, sizeof(expected), "expected %s", words[0]);
	for (int i = 1; words[i] && n < (int)sizeof(expected); i++)
		n += snprintf(expected + n, sizeof(expected) - (size_t)n, "%s%s", words[i + 1] ? ", " : " or ", words[i]);
	for (int i = 0; words[i]; i++)
		cli_compare(&meant, "", slice_of(words[i]));
	if (n < (int)sizeof(expected))
		snprintf(expected + n, sizeof(expected) - (size_t)n, "%s", meant.text);
	cli_wrong(t, expected);
}

static void
parse_count(const struct cli_argument *t, uint64_t *count)
{
	const struct cli_option *o = t->option;
	char expected[128] = "expected a whole number";

	if (cli_count(t->argument, count) == 0 && *count >= o->least && (!o->most || *count <= o->most))
		return;
	if (o->most)
		snprintf(expected, sizeof(expected), "expected a number from %" PRIu64 " to %" PRIu64, o->least, o->most);
	else if (o->least)
		snprintf(expected, sizeof(expected), "expected a number, at least %" PRIu64, o->least);
	cli_wrong(t, o->expected ? o->expected : expected);
}

void
cli_add(const struct cli_argument *t, const char ***list)
{
	size_t n = 0;

	while (*list && (*list)[n])
		n++;
	*list = cli_grow(t->tool->name, *list, n + 1, sizeof(**list));
	(*list)[n] = t->argument;
	(*list)[n + 1] = NULL;
}

static void
parse(const struct cli_argument *t)
{
	const struct cli_option *o = t->option;
	void *at = t->at;

	switch (o->kind) {
	case CLI_KIND_MARK:
		break;
	case CLI_KIND_FLAG:
		*(bool *)at = true;
		break;
	case CLI_KIND_SET:
		*(int *)at = o->value;
		break;
	case CLI_KIND_TEXT:
		if (o->expected && !*t->argument)
			cli_wrong(t, o->expected);
		*(const char **)at = t->argument;
		break;
	case CLI_KIND_TEXTS:
		cli_add(t, at);
		break;
	case CLI_KIND_BYTES:
		if (cli_bytes(t->argument, at) < 0)
			cli_wrong(t, "expected a number of bytes, such as 64M");
		if (o->most && *(size_t *)at > o->most)
			cli_wrong(t, o->expected);
		break;
	case CLI_KIND_COUNT:
		parse_count(t, at);
		break;
	case CLI_KIND_DURATION:
		if (cli_duration(t->argument, at) < 0 || *(uint64_t *)at < o->least)
			cli_wrong(t, o->expected ? o->expected : cli_want_duration);
		break;
	case CLI_KIND_RATE:
		if (cli_rate(t->argument, at) < 0)
			cli_wrong(t, cli_want_rate);
		break;
	case CLI_KIND_OPTIONAL:
		if (t->argument)
			parse_word(t, at);
		else
			*(int *)at = o->value - 1;
		break;
	case CLI_KIND_WORD:
		parse_word(t, at);
		break;
	default:
		o->parse(t);
	}
}

/* --- the table --- */

/* find_name finds an option by its long name, find by what getopt_long returns (a letter, or LONG + index). NULL: there is none. */
static const struct cli_known *
find_name(const struct cli_line *line, struct slice name)
{
	for (const struct cli_known *k = line->known; k < line->known + line->n; k++)
		if (slice_is(name, k->option->name))
			return k;
	return NULL;
}

static struct cli_known *
find(struct cli_line *line, int option)
{
	if (option >= LONG)
		return &line->known[option - LONG];
	for (struct cli_known *k = line->known; k < line->known + line->n; k++)
		if (option && k->option->letter == option)
			return k;
	return NULL;
}

/* Adds the rows of a table, whose members are in the struct at `into`. */
static void
add_options(struct cli_line *line, const struct cli_option *o, void *into)
{
	void *at;

	for (; o->kind != CLI_KIND_END; o++) {
		at = (char *)into + o->at;
		if (o->kind == CLI_KIND_ROWS_BEHIND)
			memcpy(&at, at, sizeof(at));
		if (o->kind >= CLI_KIND_ROWS)
			add_options(line, o->rows, at);
		if (o->kind >= CLI_KIND_ROWS || find_name(line, slice_of(o->name)))
			continue;
		if (line->n == CLI_OPTIONS)
			cli_die(EXIT_FAILED, line->tool->name, "--%s: more than %d options", o->name, CLI_OPTIONS);
		line->known[line->n++] = (struct cli_known){o, into, false};
	}
}

/* Lists the options for getopt_long, with + for POSIX order: options end at the first word that is not an option. */
static void
list(const struct cli_line *line, struct option *longs, char *letters)
{
	const struct cli_option *o;
	int argument;

	*letters++ = '+';
	for (size_t i = 0; i < line->n; i++) {
		o = line->known[i].option;
		if (strcmp(o->name, "color") == 0)
			longs[line->n] = (struct option){"colour", required_argument, NULL, LONG + (int)i};
		argument = o->kind < CLI_KIND_OPTIONAL ? no_argument : o->kind == CLI_KIND_OPTIONAL ? optional_argument : required_argument;
		longs[i] = (struct option){o->name, argument, NULL, LONG + (int)i};
		if (o->letter)
			*letters++ = o->letter;
		if (o->letter && argument == required_argument)
			*letters++ = ':';
	}
	*letters = '\0';
}

/* Ends with an error for a wrong option. getopt's own message would not be plain text. */
_Noreturn static void
refuse(struct cli_line *line, const char *word)
{
	const char *name = line->tool->name;
	const struct cli_known *k = find(line, optopt);
	int n = (int)strcspn(word, "="), same = 0, tool = (int)strcspn(name, ":");
	struct cli_meant meant = {.letters = 3};

	if (k)
		cli_die(EXIT_USAGE, name, "--%s %s; try %.*s --help", k->option->name,
			k->option->kind < CLI_KIND_OPTIONAL ? "takes no argument" : "needs an argument", tool, name);
	if (optopt)
		cli_die(EXIT_USAGE, name, "-%c: no such option; try %.*s --help", (char)optopt, tool, name);
	meant.typed = slice(word + 2, (size_t)n - 2);
	for (k = line->known; k < line->known + line->n; k++) {
		same += n > 2 && strncmp(k->option->name, word + 2, (size_t)n - 2) == 0;
		cli_compare(&meant, "--", slice_of(k->option->name));
	}
	cli_die(EXIT_USAGE, name, "%.*s: %s%s; try %.*s --help", n, word, same ? "short for more than one option" : "no such option",
		same ? "" : meant.text, tool, name);
}

/* Resets getopt, which may have read another argv. */
static void
begin(void)
{
	/* optind 0 resets the getopt of glibc and musl, optreset the getopt of the BSDs. */
#ifdef __linux__
	optind = 0;
#else
	optreset = 1;
	optind = 1;
#endif
	opterr = 0;
}

void
cli_read(const struct cli_tool *tool, int argc, char **argv, void *into, struct cli_line *line)
{
	struct option longs[CLI_OPTIONS + 2] = {0}; /* two more: --colour, and zeros as the end */
	char letters[2 * CLI_OPTIONS + 2];
	struct cli_known *k;
	int option, before = 1;

	*line = (struct cli_line){.tool = tool};
	add_options(line, tool->options, into);
	if (tool->help)
		add_options(line, of_all, into);
	list(line, longs, letters);
	begin();
	while ((option = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		if (option == '?')
			refuse(line, argv[optind - 1]);
		k = find(line, option);
		k->given = true;
		parse(&(struct cli_argument){tool, k->option, optarg, (char *)k->into + k->option->at});
		before = optind;
	}
	/* getopt moves optind past a last word that is not an option only if the word is "--". */
	line->dashes = optind > before;
	line->words = argv + optind;
}

void
cli_files(const struct cli_line *line)
{
	for (char **word = line->words; !line->dashes && *word && strcmp(*word, "--") != 0; word++)
		if ((*word)[0] == '-' && (*word)[1] && access(*word, F_OK) < 0)
			cli_die(EXIT_USAGE, line->tool->name, "%s: options go before files", *word);
}

/* --- combinations --- */

void
cli_note(struct cli_line *line, bool holds, const char *fact)
{
	if (holds && line->nfacts < CLI_FACTS)
		line->facts[line->nfacts++] = fact;
}

/* Is this word the present value of the option's member? */
static bool
is_word(const struct cli_known *k, struct slice word)
{
	const char *const *words = k->option->words;
	int number;

	memcpy(&number, (char *)k->into + k->option->at, sizeof(number));
	for (int i = 0; words && words[i]; i++)
		if (slice_is(word, words[i]))
			return number == k->option->value + i;
	return false;
}

static bool
has(const struct cli_line *line, struct slice what)
{
	struct slice name = slice(what.p, 0);
	const struct cli_known *k;

	while (name.n < what.n && name.p[name.n] != ' ')
		name.n++;
	k = name.n > 2 ? find_name(line, slice(name.p + 2, name.n - 2)) : NULL;
	if (k)
		return name.n == what.n ? k->given : is_word(k, slice(name.p + name.n + 1, what.n - name.n - 1));
	for (size_t i = 0; i < line->nfacts; i++)
		if (slice_is(what, line->facts[i]))
			return true;
	return false;
}

bool
cli_has(const struct cli_line *line, const char *what)
{
	return has(line, slice_of(what));
}

/* Returns the first of several names, with | between them, that cli_has affirms; p NULL: none. */
static struct slice
first_given(const struct cli_line *line, const char *names)
{
	struct slice name;

	for (; names && *names; names += name.n + (names[name.n] == '|')) {
		name = slice(names, strcspn(names, "|"));
		if (has(line, name))
			return name;
	}
	return slice(NULL, 0);
}

/* Writes names with | between them as "--edit or --edit-file" into text, and returns text. */
static const char *
alternatives(const char *names, char *text, size_t size)
{
	size_t n = 0;

	for (; *names && n < size; names++)
		n += (size_t)snprintf(text + n, size - n, *names == '|' ? " or " : "%c", *names);
	return text;
}

void
cli_check(const struct cli_line *line, const struct cli_rule *rule)
{
	const char *name = line->tool->name;
	struct slice what, barred;
	char text[256];

	for (; rule->what; rule++) {
		what = first_given(line, rule->what);
		if (!what.p)
			continue;
		if (rule->needs && !first_given(line, rule->needs).p)
			cli_die(EXIT_USAGE, name, "%.*s requires %s", (int)what.n, what.p, alternatives(rule->needs, text, sizeof(text)));
		barred = first_given(line, rule->bars);
		if (barred.p)
			cli_die(EXIT_USAGE, name, "%.*s does not go with %.*s", (int)what.n, what.p, (int)barred.n, barred.p);
	}
}
