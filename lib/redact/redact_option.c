/* Finds secrets in the arguments of commands' options. */
#include "lib/redact/redact_parts.h"

/* Words that follow an option's name in a sentence or a help text: they are no argument. */
static const char *const prose[] = {"a", "an", "and", "argument", "arguments", "are", "as", "at", "be", "but", "by", "can", "does",
	"file", "flag", "flags", "for", "from", "has", "if", "in", "instead", "into", "is", "it", "may", "must", "not", "of", "on",
	"only", "option", "options", "or", "parameter", "should", "so", "str", "string", "text", "that", "the", "then", "to", "value",
	"was", "when", "where", "which", "will", "with", "you", "your"};

/*
 * Commands with a short option whose argument is a secret. PAIR: the argument is user:password. JOINED: it is in the option's own
 * word (-pVALUE), never in the next one. ALONE: never in it (-key is another option). Where it is PAIR or LAST, other options may
 * precede the letter in its word (-su).
 */
static const struct command {
	const char *name;
	char option;
	enum { PLAIN, PAIR, LAST, JOINED, ALONE } form;
} commands[] = {
	{"curl", 'u', PAIR}, {"curl", 'U', PAIR}, {"http", 'a', PAIR}, {"https", 'a', PAIR}, {"mysql", 'p', JOINED},
	{"mysqldump", 'p', JOINED}, {"mysqladmin", 'p', JOINED}, {"mysqlimport", 'p', JOINED}, {"mariadb", 'p', JOINED},
	{"mariadb-dump", 'p', JOINED}, {"sshpass", 'p', PLAIN}, {"redis-cli", 'a', PLAIN}, {"ldapsearch", 'w', LAST},
	{"mongosh", 'p', PLAIN}, {"mongo", 'p', PLAIN}, {"mongodump", 'p', PLAIN}, {"login", 'p', PLAIN}, {"sqlcmd", 'P', PLAIN},
	{"openssl", 'k', ALONE}, {"zip", 'P', LAST}, {"unzip", 'P', LAST}, {"7z", 'p', JOINED},
};

enum { COMMANDS = sizeof(commands) / sizeof(*commands) };
_Static_assert(COMMANDS <= 32, "an array has a bit for each command");

/* Bytes before an option in which the name of its command is searched. */
enum { COMMAND = 256 };
/* The most letters of options in one word. */
enum { LETTERS = 8 };

/* Is s a word of a sentence, or the placeholder of a help text (TOKEN, API_KEY), and not an argument? */
static bool
is_prose(struct slice s)
{
	bool capitals = true;

	for (size_t i = 0; i < sizeof(prose) / sizeof(*prose); i++)
		if (slice_is(s, prose[i]))
			return true;
	for (size_t i = 0; i < s.n; i++)
		capitals &= class_of(s.p[i]) == UPPER || s.p[i] == '_';
	return capitals && (redact_name(s) || slice_is(s, "KEY") || slice_is(s, "VALUE") || slice_is(s, "STRING"));
}

/* Is the option at i in the same command line, or array, as the command's name? */
static bool
is_command(const struct search *t, size_t i, const struct command *c)
{
	const char *name = c->name, *p;
	size_t from = i, n = strlen(name);

	if (t->commands >> (c - commands) & 1)
		return true;
	while (from > 0 && i - from < COMMAND && !strchr(";|&", t->text.p[from - 1]) &&
		!(t->text.p[from - 1] == '\n' && !(from > 1 && t->text.p[from - 2] == '\\')))
		from--;
	while ((p = memmem(t->text.p + from, i - from, name, n))) {
		size_t k = (size_t)(p - t->text.p);

		if ((k == 0 || !class_of(t->text.p[k - 1])) && is_blank(search_at(t, k + n)))
			return true;
		from = k + n;
	}
	return false;
}

/*
 * Finds the argument of an option, which begins at `from` or after blanks. pair: only the password of user:password is secret. If the text
 * is an element of a command's array, the value is the rest of it.
 */
static int
find_value(struct search *t, size_t from, bool pair)
{
	struct value v = redact_value_at(t, from, false);
	const char *colon, *end;

	if (v.s.n == 0 || (!v.quoted && is_prose(v.s)))
		return 0;
	if (t->commands && t->text.p[0] == '-')
		v.s.n = t->text.n - v.from;
	if (!pair)
		return redact_text_hit(t, v.from, v.from + v.s.n, REDACT_ARGUMENT);
	end = v.s.p + v.s.n;
	colon = memchr(v.s.p, ':', v.s.n);
	if (!colon || colon + 1 == end || redact_is_reference(slice_between(colon + 1, end)))
		return 0;
	return redact_text_hit(t, (size_t)(colon + 1 - t->text.p), v.from + v.s.n, REDACT_ARGUMENT);
}

/* Finds VALUE in --token VALUE, -token VALUE and curl --user NAME:VALUE. The option's name, after its dashes, begins_word at i. */
static int
find_option(struct search *t, size_t i)
{
	size_t end = i;
	struct value v;
	struct slice name;
	char next;

	while (end - i < NEAR && (class_of(search_at(t, end)) || (search_at(t, end) == '.' && class_of(search_at(t, end + 1)))))
		end++;
	name = slice(t->text.p + i, end - i);
	next = search_at(t, end);
	if ((slice_is(name, "user") || slice_is(name, "proxy-user")) && is_command(t, i - 1, commands))
		return find_value(t, end + (next == '='), true);
	if (name.n < 3 || !is_blank(next) || !(redact_is_secret(name, slice(NULL, 0)) || slice_is(name, "pass")))
		return 0;
	if (search_at(t, end + 1) == '\\' && search_at(t, end + 2) == '\n')
		end += 3;
	v = redact_value_at(t, end, false);
	if (v.s.n == 0 || (!v.quoted && (strchr("-[=:", v.s.p[0]) || is_prose(v.s))))
		return 0;
	return redact_text_hit(t, v.from, v.from + v.s.n, REDACT_ARGUMENT);
}

/* The command to which the option at i belongs, if its argument is a secret; else NULL. Sets *end to the end of its letters. */
static const struct command *
command_of(const struct search *t, size_t i, size_t *end)
{
	size_t last = i + 1;

	while (last - i < LETTERS && class_of(search_at(t, last + 1)) & (LOWER | UPPER))
		last++;
	for (const struct command *c = commands; c < commands + COMMANDS; c++) {
		bool first = c->option == search_at(t, i + 1);
		bool other = (c->form == PAIR || c->form == LAST) && c->option == search_at(t, last) && !class_of(search_at(t, last + 1));

		*end = first ? i + 2 : last + 1;
		if (!(first || other) || (c->form == JOINED && (unsigned char)search_at(t, *end) <= ' ') ||
			(c->form == ALONE && class_of(search_at(t, *end))))
			continue;
		if (is_command(t, i, c))
			return c;
	}
	return NULL;
}

/* Finds VALUE in curl -u user:VALUE and mysql -pVALUE. The '-' is at i. */
static int
find_short_option(struct search *t, size_t i)
{
	size_t end;
	const struct command *c = command_of(t, i, &end);

	return c ? find_value(t, end, c->form == PAIR) : 0;
}

uint32_t
redact_commands(struct slice text)
{
	uint32_t found = 0;
	size_t from, i;

	for (i = 0; i < text.n; i++) {
		for (from = i; i < text.n && (unsigned char)text.p[i] > ' '; i++)
			if (text.p[i] == '/')
				from = i + 1;
		for (size_t k = 0; k < COMMANDS && i > from; k++)
			if (text.p[from] == *commands[k].name && slice_is(slice(text.p + from, i - from), commands[k].name))
				found |= UINT32_C(1) << k;
	}
	return found;
}

enum redact_name
redact_option_next(struct slice option, uint32_t named)
{
	const struct search t = {.text = option, .commands = named};
	const struct command *c;
	struct slice name = option;
	size_t end;

	if (option.n < 2 || option.p[0] != '-' || memchr(option.p, '=', option.n))
		return REDACT_NAME_NONE;
	while (name.n && name.p[0] == '-')
		name = slice(name.p + 1, name.n - 1);
	if (redact_is_secret(name, slice(NULL, 0)))
		return REDACT_NAME_SECRET;
	if ((slice_is(option, "--user") || slice_is(option, "--proxy-user")) && is_command(&t, 0, commands))
		return REDACT_NAME_PAIR;
	c = command_of(&t, 0, &end);
	return !c || end < option.n ? REDACT_NAME_NONE : c->form == PAIR ? REDACT_NAME_PAIR : REDACT_NAME_SECRET;
}

int
redact_find_dash(struct search *t, size_t i)
{
	char next = search_at(t, i + 1);
	bool begins_word = i == 0 || !(class_of(t->text.p[i - 1]));

	if (next == '-')
		return search_at(t, i + 2) == '-' ? redact_find_pem(t, i) : begins_word ? find_option(t, i + 2) : 0;
	if (!begins_word || !(class_of(next) & (LOWER | UPPER)) || (i > 0 && (unsigned char)t->text.p[i - 1] > ' '))
		return 0;
	if (find_short_option(t, i) < 0)
		return -1;
	return i == 0 || t->done > i ? 0 : find_option(t, i + 1);
}
