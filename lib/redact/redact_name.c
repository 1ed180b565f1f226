/* Which names label secrets. */

#include "lib/base/base64.h"
#include "lib/redact/redact_parts.h"

/* Names are compared in lower case without '-', '_', '.' and blanks, by their last TAIL characters. */
enum { TAIL = 24 };

struct rule {
	struct slice name;
	enum redact_name meaning;
};

#define NAME(s) {s, sizeof(s) - 1}

/* Names that are compared as a whole. */
static const struct rule whole[] = {
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

/*
 * Names with these ends label no secret, though they also end as the name of a secret does. A progress token, of MCP, is the id
 * by which notifications refer to a request.
 */
static const struct slice harmless[] = {NAME("pagetoken"), NAME("nexttoken"), NAME("progresstoken"), NAME("continuationtoken"),
	NAME("cancellationtoken"), NAME("publickey"), NAME("pubkey"), NAME("primarykey"), NAME("foreignkey"), NAME("partitionkey"),
	NAME("sortkey"), NAME("cachekey"), NAME("sshkey"), NAME("testspass")};

/* Ends of names of secrets; a plural s may follow. */
static const struct slice secrets[] = {NAME("secret"), NAME("password"), NAME("passwd"), NAME("passphrase"), NAME("apikey"),
	NAME("accesskey"), NAME("accountkey"), NAME("authkey"), NAME("encryptionkey"), NAME("privatekey"), NAME("proxykey"),
	NAME("secretkey"), NAME("secretkeybase"), NAME("clientkeydata"), NAME("masterkey"), NAME("servicekey"), NAME("storepass"),
	NAME("keypass"), NAME("signingkey"), NAME("credential"), NAME("authorization"), NAME("cookie")};

/* Ends of environment variables that hold secrets. */
static const struct slice variables[] = {NAME("_KEY"), NAME("_PASS"), NAME("_PWD"), NAME("_AUTH"), NAME("_DSN"), NAME("_PAT"),
	NAME("_JWT"), NAME("_CREDS"), NAME("_CONNECTION_STRING")};

/* Does s end with one of the n words at `end`? */
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
	bool has_underscore = false;

	if (name.n > 128)
		return false;
	for (size_t i = 0; i < name.n; i++) {
		if (!(name.p[i] == '_' || (name.p[i] >= 'A' && name.p[i] <= 'Z') || (name.p[i] >= '0' && name.p[i] <= '9')))
			return false;
		has_underscore |= name.p[i] == '_';
	}
	return has_underscore;
}

/* Writes the end of the name to tail in the form that is compared; *reduced is what was written. Is the whole name in it? */
static bool
reduce(struct slice name, char *tail, struct slice *reduced)
{
	size_t i = name.n, n = TAIL;

	while (i > 0 && n > 0) {
		char c = name.p[--i];

		if (c == '-' || c == '_' || c == '.' || c == ' ')
			continue;
		tail[--n] = c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
	}
	*reduced = slice(tail + n, TAIL - n);
	return i == 0;
}

enum redact_name
redact_name(struct slice name)
{
	static const struct slice token = NAME("token");
	enum { SECRETS = sizeof(secrets) / sizeof(*secrets) };
	char text[TAIL];
	struct slice tail;
	bool complete = reduce(name, text, &tail);

	for (size_t i = 0; complete && i < sizeof(whole) / sizeof(*whole); i++)
		if (slice_eq(tail, whole[i].name))
			return whole[i].meaning;
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

bool
redact_is_pair(struct slice text)
{
	SCOPED struct buf plain = {0};

	return base64_decode(text, &plain) == 0 && (text.n >= 20 || memchr(plain.n ? plain.p : "", ':', plain.n));
}

bool
redact_is_secret(struct slice name, struct slice value)
{
	enum redact_name meaning = redact_name(name);

	if (meaning == REDACT_NAME_VARIABLE)
		return !value.p || !is_path(value);
	if (meaning == REDACT_NAME_PAIR)
		return value.n >= 8 && redact_is_pair(value);
	return meaning == REDACT_NAME_TOKEN || meaning == REDACT_NAME_SECRET;
}
