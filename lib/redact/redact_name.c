/* Names that label secrets. */

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

/* Ends of names that label no secret, though they end as one that does. */
static const struct slice harmless[] = {NAME("pagetoken"), NAME("nexttoken"), NAME("continuationtoken"), NAME("cancellationtoken"),
	NAME("publickey"), NAME("pubkey"), NAME("primarykey"), NAME("foreignkey"), NAME("partitionkey"), NAME("sortkey"), NAME("cachekey"),
	NAME("sshkey"), NAME("testspass")};

/* Ends of names of secrets, also with an s after them. */
static const struct slice secrets[] = {NAME("secret"), NAME("password"), NAME("passwd"), NAME("passphrase"), NAME("apikey"),
	NAME("accesskey"), NAME("accountkey"), NAME("authkey"), NAME("encryptionkey"), NAME("privatekey"), NAME("proxykey"),
	NAME("secretkey"), NAME("secretkeybase"), NAME("clientkeydata"), NAME("masterkey"), NAME("servicekey"), NAME("storepass"),
	NAME("keypass"), NAME("signingkey"), NAME("credential"), NAME("authorization"), NAME("cookie")};

/* Ends of names of variables, in capitals. */
static const struct slice variables[] = {NAME("_KEY"), NAME("_PASS"), NAME("_PWD"), NAME("_AUTH"), NAME("_DSN"), NAME("_PAT"),
	NAME("_JWT"), NAME("_CREDS"), NAME("_CONNECTION_STRING")};

/* Does it end with one of n words? */
static inline bool
ends_with(struct slice s, const struct slice *end, size_t n)
{
	for (; n > 0; n--, end++)
		if (s.n >= end->n && s.p[s.n - 1] == end->p[end->n - 1] && memcmp(s.p + s.n - end->n, end->p, end->n) == 0)
			return true;
	return false;
}

bool
redact_is_variable(struct slice name)
{
	bool joined = false;

	if (name.n > 128)
		return false;
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
redact_name(struct slice name)
{
	static const struct slice token = NAME("token");
	enum { SECRETS = sizeof(secrets) / sizeof(*secrets) };
	char text[TAIL];
	struct slice tail;
	bool all = reduce(name, text, &tail);

	for (size_t i = 0; all && i < sizeof(whole) / sizeof(*whole); i++)
		if (slice_eq(tail, whole[i].name))
			return whole[i].what;
	if (ends_with(tail, harmless, sizeof(harmless) / sizeof(*harmless)))
		return REDACT_NAME_NONE;
	if (ends_with(tail, &token, 1))
		return REDACT_NAME_TOKEN;
	if (ends_with(tail, secrets, SECRETS) ||
		(tail.n && tail.p[tail.n - 1] == 's' && ends_with(slice(tail.p, tail.n - 1), secrets, SECRETS)))
		return REDACT_NAME_SECRET;
	return ends_with(name, variables, sizeof(variables) / sizeof(*variables)) && redact_is_variable(name) ? REDACT_NAME_VARIABLE :
		REDACT_NAME_NONE;
}

static bool
is_path(struct slice v)
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
redact_is_secret(struct slice name, struct slice value)
{
	enum redact_name what = redact_name(name);

	if (what == REDACT_NAME_VARIABLE)
		return !value.p || !is_path(value);
	return what == REDACT_NAME_PAIR ? value.p && is_pair(value) : what == REDACT_NAME_TOKEN || what == REDACT_NAME_SECRET;
}
