/* Finds secrets in the arguments of commands' options. */
#include "lib/redact/redact_parts.h"

/* Words that follow an option's name in a sentence or a help text: they are no argument. */
static const char *const prose[] = {"a", "an", "and", "argument", "arguments", "are", "as", "at", "be", "but", "by", "can", "does",
	"file", "flag", "flags", "for", "from", "has", "if", "in", "instead", "into", "is", "it", "may", "must", "not", "of", "on",
	"only", "option", "options", "or", "parameter", "should", "so", "str", "string", "text", "that", "the", "then", "to", "value",
	"was", "when", "where", "which", "will", "with", "you", "your"};

/* Commands with a short option whose argument is a secret. */
static const struct command {
	const char *name;
	char option;
	bool pair;   /* the argument is user:password */
	bool joined; /* the argument is in the option's own word (-pVALUE), never in the next one */
} commands[] = {
	{"curl", 'u', true, false}, {"curl", 'U', true, false}, {"http", 'a', true, false}, {"https", 'a', true, false},
	{"mysql", 'p', false, true}, {"mysqldump", 'p', false, true}, {"mysqladmin", 'p', false, true},
	{"mysqlimport", 'p', false, true}, {"mariadb", 'p', false, true}, {"mariadb-dump", 'p', false, true},
	{"sshpass", 'p', false, false}, {"redis-cli", 'a', false, false}, {"ldapsearch", 'w', false, false},
	{"mongosh", 'p', false, false}, {"mongo", 'p', false, false}, {"mongodump", 'p', false, false},
	{"login", 'p', false, false}, {"sqlcmd", 'P', false, false}, {"openssl", 'k', false, false}, {"zip", 'P', false, false},
	{"unzip", 'P', false, false}, {"7z", 'p', false, true},
};

/* The name of a command is searched in so many bytes before its option. */
enum { COMMAND = 256 };

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

/* Is the option at i in the same command line as the command's name? */
static bool
is_command(const struct search *t, size_t i, const char *name)
{
	size_t from = i, n = strlen(name);
	const char *p;

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

/* Finds the argument of an option that begins_word at `from` or after blanks. pair: only the password of user:password is secret. */
static int
find_value(struct search *t, size_t from, bool pair)
{
	struct value v = redact_value_at(t, from, false);
	const char *colon, *end;

	if (v.s.n == 0 || (!v.quoted && is_prose(v.s)))
		return 0;
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

	while (end - i < NEAR && class_of(search_at(t, end)))
		end++;
	name = slice(t->text.p + i, end - i);
	next = search_at(t, end);
	if ((slice_is(name, "user") || slice_is(name, "proxy-user")) && is_command(t, i - 1, "curl"))
		return find_value(t, end + (next == '='), true);
	if (name.n < 3 || !is_blank(next) || !(redact_is_secret(name, slice(NULL, 0)) || slice_is(name, "pass")))
		return 0;
	if (search_at(t, end + 1) == '\\' && search_at(t, end + 2) == '\n')
		end += 3;
	v = redact_value_at(t, end, false);
	if (v.s.n == 0 || (!v.quoted && (strchr("-[", v.s.p[0]) || is_prose(v.s))))
		return 0;
	return redact_text_hit(t, v.from, v.from + v.s.n, REDACT_ARGUMENT);
}

/* Finds VALUE in curl -u user:VALUE and mysql -pVALUE. The option's letter is at i. */
static int
find_short_option(struct search *t, size_t i)
{
	const struct command *c = commands, *end = commands + sizeof(commands) / sizeof(*commands);

	while (c < end && !(c->option == t->text.p[i] && !(c->joined && is_blank(search_at(t, i + 1))) && is_command(t, i - 1, c->name)))
		c++;
	return c == end ? 0 : find_value(t, i + 1, c->pair);
}

int
redact_find_dash(struct search *t, size_t i)
{
	char next = search_at(t, i + 1);
	bool begins_word = i == 0 || !(class_of(t->text.p[i - 1]));

	if (next == '-')
		return search_at(t, i + 2) == '-' ? redact_find_pem(t, i) : begins_word ? find_option(t, i + 2) : 0;
	if (!begins_word || i == 0 || !(class_of(next) & (LOWER | UPPER)) || (unsigned char)t->text.p[i - 1] > ' ')
		return 0;
	if (strchr("upaUwPk", next) && find_short_option(t, i + 1) < 0)
		return -1;
	return t->done > i ? 0 : find_option(t, i + 1);
}
