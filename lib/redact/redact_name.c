/* Names that label secrets. */
#include <string.h>

#include "lib/base/base64.h"
#include "lib/redact/redact_parts.h"

/* Names are compared in lower case without '-', '_', '.' and blanks, by their last TAIL characters. */
enum { TAIL = 24 };

struct rule {
	struct slice name;
	enum redact_name what;
};

#define NAME(s) {s, sizeof(s) - 1}

/* Whole names. */
static const struct rule whole[] = {
	{NAME("progresstoken"), REDACT_NAME_NONE}, /* MCP's, which says what a notification belongs to */
	{NAME("headers"), REDACT_NAME_LIST},
	{NAME("httpheaders"), REDACT_NAME_LIST},
	{NAME("env"), REDACT_NAME_LIST},
	{NAME("envvars"), REDACT_NAME_LIST},
	{NAME("environmentvariables"), REDACT_NAME_LIST},
	{NAME("proxyconfig"), REDACT_NAME_ALL},
	{NAME("pwd"), REDACT_NAME_VARIABLE},
	{NAME("auth"), REDACT_NAME_PAIR},
	{NAME("jwt"), REDACT_NAME_SECRET},
	{NAME("bearer"), REDACT_NAME_SECRET},
};

/* Ends of names, the first that fits; those of secrets also with an s at the end. */
static const struct rule ends[] = {
	{NAME("pagetoken"), REDACT_NAME_NONE},
	{NAME("nexttoken"), REDACT_NAME_NONE},
	{NAME("continuationtoken"), REDACT_NAME_NONE},
	{NAME("cancellationtoken"), REDACT_NAME_NONE},
	{NAME("publickey"), REDACT_NAME_NONE},
	{NAME("pubkey"), REDACT_NAME_NONE},
	{NAME("primarykey"), REDACT_NAME_NONE},
	{NAME("foreignkey"), REDACT_NAME_NONE},
	{NAME("partitionkey"), REDACT_NAME_NONE},
	{NAME("sortkey"), REDACT_NAME_NONE},
	{NAME("cachekey"), REDACT_NAME_NONE},
	{NAME("sshkey"), REDACT_NAME_NONE},
	{NAME("testspass"), REDACT_NAME_NONE},
	{NAME("token"), REDACT_NAME_TOKEN},
	{NAME("secret"), REDACT_NAME_SECRET},
	{NAME("password"), REDACT_NAME_SECRET},
	{NAME("passwd"), REDACT_NAME_SECRET},
	{NAME("passphrase"), REDACT_NAME_SECRET},
	{NAME("apikey"), REDACT_NAME_SECRET},
	{NAME("accesskey"), REDACT_NAME_SECRET},
	{NAME("accountkey"), REDACT_NAME_SECRET},
	{NAME("authkey"), REDACT_NAME_SECRET},
	{NAME("encryptionkey"), REDACT_NAME_SECRET},
	{NAME("privatekey"), REDACT_NAME_SECRET},
	{NAME("proxykey"), REDACT_NAME_SECRET},
	{NAME("secretkey"), REDACT_NAME_SECRET},
	{NAME("secretkeybase"), REDACT_NAME_SECRET},
	{NAME("clientkeydata"), REDACT_NAME_SECRET},
	{NAME("masterkey"), REDACT_NAME_SECRET},
	{NAME("servicekey"), REDACT_NAME_SECRET},
	{NAME("storepass"), REDACT_NAME_SECRET},
	{NAME("keypass"), REDACT_NAME_SECRET},
	{NAME("signingkey"), REDACT_NAME_SECRET},
	{NAME("credential"), REDACT_NAME_SECRET},
	{NAME("authorization"), REDACT_NAME_SECRET},
	{NAME("cookie"), REDACT_NAME_SECRET},
};

/* Ends of names of variables, in capitals. */
static const struct slice variables[] = {NAME("_KEY"), NAME("_PASS"), NAME("_PWD"), NAME("_AUTH"), NAME("_DSN"), NAME("_PAT"),
	NAME("_JWT"), NAME("_CREDS"), NAME("_CONNECTION_STRING")};

static inline bool
ends_with(struct slice s, struct slice end)
{
	return s.n >= end.n && s.p[s.n - 1] == end.p[end.n - 1] && memcmp(s.p + s.n - end.n, end.p, end.n) == 0;
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

/* The last characters in the form that is compared; true if that is all of the name. */
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

enum redact_name
redact_name(struct slice name, bool *environment)
{
	char text[TAIL];
	struct slice tail, singular;
	bool all = reduce(name, text, &tail);

	*environment = name.n <= 128 && is_variable(name);
	for (size_t i = 0; all && i < sizeof(whole) / sizeof(*whole); i++)
		if (slice_eq(tail, whole[i].name))
			return whole[i].what;
	singular = tail.n && tail.p[tail.n - 1] == 's' ? slice(tail.p, tail.n - 1) : slice("", 0);
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (ends_with(tail, ends[i].name) || (ends[i].what == REDACT_NAME_SECRET && ends_with(singular, ends[i].name)))
			return ends[i].what;
	for (size_t i = 0; *environment && i < sizeof(variables) / sizeof(*variables); i++)
		if (ends_with(name, variables[i]))
			return REDACT_NAME_VARIABLE;
	return REDACT_NAME_NONE;
}

bool
redact_is_path(struct slice v)
{
	size_t i = 0;

	if (v.n && v.p[0] == '~')
		i++;
	while (i < 2 && i < v.n && v.p[i] == '.')
		i++;
	return i < v.n && v.p[i] == '/' && v.p[v.n - 1] != '=';
}

/* Base64 of user:password, or longer than any word. */
static bool
is_pair(struct slice v)
{
	SCOPED struct buf plain = {0};

	return v.n >= 8 && base64_decode(v, &plain) == 0 && (v.n >= 20 || memchr(plain.p, ':', plain.n));
}

bool
redact_is_secret(struct slice name, struct slice value, bool *environment)
{
	enum redact_name what = redact_name(name, environment);

	switch (what) {
	case REDACT_NAME_VARIABLE:
		return !value.p || !redact_is_path(value);
	case REDACT_NAME_PAIR:
		return value.p && is_pair(value);
	default:
		return what == REDACT_NAME_TOKEN || what == REDACT_NAME_SECRET;
	}
}
