/* The names under which secrets go: data. */
#include <string.h>

#include "lib/redact/redact_parts.h"

/* Names are compared in lower case without '-', '_', '.' and blanks; so many characters from the end are enough. */
enum { TAIL = 24 };

struct rule {
	const char *name;
	enum redact_name what;
};

/* Whole names. */
static const struct rule whole[] = {
	{"progresstoken", REDACT_NAME_NONE}, /* MCP's, which says what a notification belongs to */
	{"headers", REDACT_NAME_LIST},
	{"httpheaders", REDACT_NAME_LIST},
	{"env", REDACT_NAME_LIST},
	{"envvars", REDACT_NAME_LIST},
	{"environmentvariables", REDACT_NAME_LIST},
	{"proxyconfig", REDACT_NAME_ALL},
	{"pwd", REDACT_NAME_SECRET},
	{"jwt", REDACT_NAME_SECRET},
	{"bearer", REDACT_NAME_SECRET},
};

/* Ends of names; all but the first also with an s after (tokens are counted). */
static const struct rule ends[] = {
	{"token", REDACT_NAME_TOKEN},
	{"secret", REDACT_NAME_SECRET},
	{"password", REDACT_NAME_SECRET},
	{"passwd", REDACT_NAME_SECRET},
	{"passphrase", REDACT_NAME_SECRET},
	{"apikey", REDACT_NAME_SECRET},
	{"accesskey", REDACT_NAME_SECRET},
	{"accountkey", REDACT_NAME_SECRET},
	{"authkey", REDACT_NAME_SECRET},
	{"encryptionkey", REDACT_NAME_SECRET},
	{"privatekey", REDACT_NAME_SECRET},
	{"proxykey", REDACT_NAME_SECRET},
	{"secretkey", REDACT_NAME_SECRET},
	{"signingkey", REDACT_NAME_SECRET},
	{"credential", REDACT_NAME_SECRET},
	{"authorization", REDACT_NAME_SECRET},
	{"cookie", REDACT_NAME_SECRET},
};

/* Ends of names of variables, in capitals. */
static const char *const variables[] = {"_KEY", "_PASS", "_PWD", "_AUTH", "_DSN", "_PAT", "_JWT", "_CREDS",
	"_CONNECTION_STRING"};

static bool
ends_with(struct slice s, const char *end)
{
	size_t n = strlen(end);

	return s.n >= n && memcmp(s.p + s.n - n, end, n) == 0;
}

static bool
is_variable(struct slice name)
{
	bool joined = false;

	for (size_t i = 0; i < name.n; i++) {
		if (!(name.p[i] == '_' || (name.p[i] >= 'A' && name.p[i] <= 'Z') || (name.p[i] >= '0' && name.p[i] <= '9')))
			return false;
		joined |= name.p[i] == '_';
	}
	return joined;
}

/* The last characters as they are compared; true where that is all of the name. */
static bool
reduce(struct slice name, char *tail, struct slice *to)
{
	size_t i = name.n, n = TAIL;

	while (i > 0 && n > 0) {
		char c = name.p[--i];

		if (c == '-' || c == '_' || c == '.' || c == ' ')
			continue;
		tail[--n] = c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
	}
	*to = slice(tail + n, TAIL - n);
	return i == 0;
}

static enum redact_name
by_end(struct slice tail)
{
	struct slice one = tail.n && tail.p[tail.n - 1] == 's' ? slice(tail.p, tail.n - 1) : tail;

	if (ends_with(tail, ends[0].name))
		return ends[0].what;
	for (size_t i = 1; i < sizeof(ends) / sizeof(*ends); i++)
		if (ends_with(tail, ends[i].name) || ends_with(one, ends[i].name))
			return ends[i].what;
	return REDACT_NAME_NONE;
}

enum redact_name
redact_name(struct slice name, bool *environment)
{
	char text[TAIL];
	struct slice tail;
	enum redact_name what;
	bool all = reduce(name, text, &tail);

	*environment = name.n <= 128 && is_variable(name);
	for (size_t i = 0; all && i < sizeof(whole) / sizeof(*whole); i++)
		if (slice_is(tail, whole[i].name))
			return whole[i].what;
	what = by_end(tail);
	for (size_t i = 0; *environment && !what && i < sizeof(variables) / sizeof(*variables); i++)
		if (ends_with(name, variables[i]))
			what = REDACT_NAME_SECRET;
	return what;
}

bool
redact_is_secret(struct slice name, bool *environment)
{
	enum redact_name what = redact_name(name, environment);

	return what == REDACT_NAME_TOKEN || what == REDACT_NAME_SECRET;
}
