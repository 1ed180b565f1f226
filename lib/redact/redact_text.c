/* Secrets in texts: keys by their shape, and what stands after a name, an option, a scheme. */
#include <string.h>
#include <strings.h>

#include "lib/base/base64.h"
#include "lib/redact/redact_parts.h"

/* The characters that a key has after its prefix. */
enum { LOWER = 1, UPPER = 2, DIGIT = 4, DASH = 8, ALNUM = LOWER | UPPER | DIGIT, WORD = ALNUM | DASH };

/*
 * Well-known keys: the prefix; what follows, at least and (0: no limit) at most so many; what it may go on with then;
 * `digit`: words of people begin so, too, but have no digit.
 */
struct shape {
	const char *prefix;
	unsigned char chars, least, most;
	const char *more;
	bool digit;
};

static const struct shape shapes[] = {
	{"1//0", WORD, 30, 0, "", false},                 /* Google, refresh token */
	{"AGE-SECRET-KEY-1", UPPER | DIGIT, 58, 58, "", false},
	{"AIza", WORD, 30, 0, "", false},                 /* Google, API key */
	{"AKIA", UPPER | DIGIT, 16, 16, "", false},       /* AWS */
	{"ASIA", UPPER | DIGIT, 16, 16, "", false},
	{"ABIA", UPPER | DIGIT, 16, 16, "", false},
	{"ACCA", UPPER | DIGIT, 16, 16, "", false},
	{"ATATT3", WORD, 20, 0, "=", false},              /* Atlassian */
	{"ATCTT3", WORD, 20, 0, "=", false},
	{"GOCSPX-", WORD, 20, 0, "", false},              /* Google, client secret */
	{"NRAK-", UPPER | DIGIT, 20, 0, "", false},       /* New Relic */
	{"PMAK-", WORD, 20, 0, "", true},                 /* Postman */
	{"SG.", WORD, 16, 0, ".", false},                 /* SendGrid */
	{"csk-", ALNUM, 30, 0, "", true},                 /* Cerebras */
	{"dapi", LOWER | DIGIT, 32, 34, "", true},        /* Databricks */
	{"dckr_pat_", WORD, 20, 0, "", false},            /* Docker */
	{"discord.com/api/webhooks/", DIGIT, 10, 0, "/-_", false},
	{"dop_v1_", LOWER | DIGIT, 32, 0, "", false},     /* DigitalOcean */
	{"doo_v1_", LOWER | DIGIT, 32, 0, "", false},
	{"dor_v1_", LOWER | DIGIT, 32, 0, "", false},
	{"dp.pt.", ALNUM, 30, 0, "", false},              /* Doppler */
	{"eyJ", WORD, 10, 0, ".", false},                 /* a JWT; see is_jwt */
	{"figd_", WORD, 20, 0, "", false},                /* Figma */
	{"fw_", ALNUM, 20, 0, "", true},                  /* Fireworks */
	{"ghp_", ALNUM, 12, 0, "_", true},                /* GitHub */
	{"gho_", ALNUM, 12, 0, "_", true},
	{"ghu_", ALNUM, 12, 0, "_", true},
	{"ghs_", ALNUM, 12, 0, "_.-", true},
	{"ghr_", ALNUM, 12, 0, "_", true},
	{"github_pat_", WORD, 12, 0, "", true},
	{"glpat-", WORD, 12, 0, ".", true},               /* GitLab */
	{"gldt-", WORD, 12, 0, ".", true},
	{"glptt-", WORD, 12, 0, ".", true},
	{"glrt-", WORD, 12, 0, ".", true},
	{"glcbt-", WORD, 12, 0, ".", true},
	{"glc_", WORD, 30, 0, "=+/", false},              /* Grafana */
	{"glsa_", WORD, 30, 0, "", false},
	{"gsk_", ALNUM, 16, 0, "", true},                 /* Groq */
	{"hf_", ALNUM, 16, 0, "", true},                  /* Hugging Face */
	{"hooks.slack.com/services/", ALNUM, 6, 0, "/", false},
	{"hvb.", WORD, 20, 0, "", false},                 /* Vault */
	{"hvs.", WORD, 20, 0, "", false},
	{"key-", LOWER | DIGIT, 32, 32, "", true},        /* Mailgun */
	{"lin_api_", ALNUM, 30, 0, "", false},            /* Linear */
	{"lsv2_", WORD, 30, 0, "", false},                /* LangSmith */
	{"npm_", ALNUM, 16, 0, "", true},
	{"ntn_", ALNUM, 30, 0, "", false},                /* Notion */
	{"nvapi-", WORD, 30, 0, "", false},               /* NVIDIA */
	{"pplx-", ALNUM, 30, 0, "", false},               /* Perplexity */
	{"pypi-", WORD, 50, 0, "", true},
	{"r8_", ALNUM, 30, 0, "", false},                 /* Replicate */
	{"rk_live_", ALNUM, 10, 0, "", true},             /* Stripe */
	{"rk_test_", ALNUM, 10, 0, "", true},
	{"rubygems_", LOWER | DIGIT, 40, 0, "", false},
	{"secret_", ALNUM, 40, 0, "", true},              /* Notion */
	{"shpat_", ALNUM, 32, 0, "", false},              /* Shopify */
	{"shpca_", ALNUM, 32, 0, "", false},
	{"shppa_", ALNUM, 32, 0, "", false},
	{"shpss_", ALNUM, 32, 0, "", false},
	{"sk-", WORD, 12, 0, "", true},                   /* OpenAI, Anthropic, OpenRouter and others */
	{"sk_live_", ALNUM, 10, 0, "", true},             /* Stripe */
	{"sk_test_", ALNUM, 10, 0, "", true},
	{"sntrys_", WORD, 30, 0, "=+/", false},           /* Sentry */
	{"sntryu_", WORD, 30, 0, "=+/", false},
	{"sq0atp-", WORD, 20, 0, "", false},              /* Square */
	{"sq0csp-", WORD, 30, 0, "", false},
	{"tvly-", WORD, 20, 0, "", true},                 /* Tavily */
	{"whsec_", ALNUM, 20, 0, "=+/", false},           /* Stripe, Svix */
	{"xai-", ALNUM, 30, 0, "", true},
	{"xapp-", WORD, 20, 0, "", true},                 /* Slack */
	{"xoxa-", WORD, 10, 0, "", true},
	{"xoxb-", WORD, 10, 0, "", true},
	{"xoxe-", WORD, 10, 0, "", true},
	{"xoxe.", WORD, 10, 0, "", true},
	{"xoxp-", WORD, 10, 0, "", true},
	{"xoxr-", WORD, 10, 0, "", true},
	{"xoxs-", WORD, 10, 0, "", true},
	{"ya29.", WORD, 20, 0, ".", false},               /* Google, access token */
};

/* Parameters of URLs that grant access, beside the names of secrets. */
static const char *const parameters[] = {"key", "sig", "signature", "auth", "pass", "hmac", "ticket",
	"X-Amz-Signature", "X-Amz-Credential", "X-Goog-Signature", "X-Goog-Credential"};

/* How far from a place its meaning is looked for: keeps the search linear. */
enum { NEAR = 64, SPACES = 4 };

struct text {
	struct redact *redact;
	struct slice s;
	size_t first; /* hits of this text */
	size_t done;  /* all before it is judged */
	size_t word;  /* where the word at hand ends, once it was asked for */
};

int
redact_hit(struct redact *r, size_t first, struct redact_hit h, enum redact_kind kind)
{
	if (r->n > first && h.from < redact_hits(r)[r->n - 1].to)
		h.from = redact_hits(r)[r->n - 1].to;
	if (h.from >= h.to)
		return 0;
	if (buf_add(&r->hits, &h, sizeof(h)) < 0)
		return -1;
	r->n++;
	r->kinds[kind]++;
	return 0;
}

static unsigned char
class_of(char c)
{
	if (c >= 'a' && c <= 'z')
		return LOWER;
	if (c >= 'A' && c <= 'Z')
		return UPPER;
	if (c >= '0' && c <= '9')
		return DIGIT;
	return c == '-' || c == '_' ? DASH : 0;
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static char
at(const struct text *t, size_t i)
{
	return i < t->s.n ? t->s.p[i] : '\0';
}

/* An escaped quote or line end, where text lies in a text. */
static bool
is_escape(const struct text *t, size_t i)
{
	return t->s.p[i] == '\\' && i + 1 < t->s.n && strchr("\"'nrt", t->s.p[i + 1]);
}

/* What a value that has no quotes does not go beyond. */
static bool
ends_value(const struct text *t, size_t i)
{
	return (unsigned char)t->s.p[i] <= ' ' || strchr("\"'`<>()[]{}|,;&", t->s.p[i]) || is_escape(t, i);
}

static bool
has_digit(struct slice s)
{
	for (size_t i = 0; i < s.n && i < NEAR; i++)
		if (class_of(s.p[i]) == DIGIT)
			return true;
	return false;
}

/* Made by a machine, or a word of people? */
static bool
is_random(struct slice s)
{
	return s.n >= 20 || (s.n >= 6 && has_digit(s));
}

static int
hit(struct text *t, size_t from, size_t to, enum redact_kind kind)
{
	t->done = to;
	if (slice_is(slice(t->s.p + from, to - from), "<redacted>"))
		return 0;
	return redact_hit(t->redact, t->first, (struct redact_hit){.from = from, .to = to}, kind);
}

static size_t
skip_chars(const struct text *t, size_t i, unsigned chars, const char *more)
{
	while (i < t->s.n && (class_of(t->s.p[i]) & chars || (t->s.p[i] && strchr(more, t->s.p[i]))))
		i++;
	return i;
}

/* The end of the word that goes on at i: many keys may seem to begin in a word, but it is read once. */
static size_t
word_end(struct text *t, size_t i)
{
	if (t->word <= i)
		t->word = skip_chars(t, i, WORD, "");
	return t->word;
}

/* --- keys by their shape --- */

/* Two parts at least; a word of base64 that begins so is none. */
static bool
is_jwt(struct text *t, size_t i)
{
	size_t end = word_end(t, i);

	return at(t, end) == '.' && class_of(at(t, end + 1)) && class_of(at(t, end + 2)) && class_of(at(t, end + 3));
}

static int
see_shape(struct text *t, size_t i, const struct shape *s)
{
	size_t n = strlen(s->prefix), from = i + n, end;

	if (t->s.n - i <= n || memcmp(t->s.p + i, s->prefix, n) != 0)
		return 0;
	/* No further than it matters, for the same characters may be the beginning of many. */
	for (end = from; end < t->s.n && class_of(t->s.p[end]) & s->chars && end - from < NEAR; end++)
		;
	if (end - from < s->least || (s->digit && !has_digit(slice(t->s.p + from, end - from))))
		return 0;
	if ((s->most && (end - from > s->most || class_of(at(t, end)) & ALNUM)) || (s->prefix[0] == 'e' && !is_jwt(t, from)))
		return 0;
	return hit(t, i, skip_chars(t, end, s->chars, s->more), REDACT_KEY);
}

/* Keys in a word that begins here. */
static int
see_shapes(struct text *t, size_t i)
{
	for (size_t k = 0; k < sizeof(shapes) / sizeof(*shapes) && t->done <= i; k++)
		if (shapes[k].prefix[0] == t->s.p[i] && see_shape(t, i, &shapes[k]) < 0)
			return -1;
	return 0;
}

/* -----BEGIN ... PRIVATE KEY----- to its end, or to the end of the text. */
static int
see_pem(struct text *t, size_t i)
{
	static const char begin[] = "-----BEGIN ", key[] = "PRIVATE KEY", end[] = "-----END ";
	size_t from = i + sizeof(begin) - 1, label;
	const char *p;

	if (t->s.n < from || memcmp(t->s.p + i, begin, sizeof(begin) - 1) != 0)
		return 0;
	for (label = from; label < t->s.n && label - from < NEAR && (class_of(t->s.p[label]) & (UPPER | DIGIT) || t->s.p[label] == ' ');
		label++)
		;
	if (!memmem(t->s.p + from, label - from, key, sizeof(key) - 1))
		return 0;
	p = memmem(t->s.p + label, t->s.n - label, end, sizeof(end) - 1);
	return hit(t, from, p ? (size_t)(p - t->s.p) : t->s.n, REDACT_KEY);
}

/* --- credentials of HTTP --- */

/* user:password in base64. */
static bool
is_pair(struct slice s)
{
	SCOPED struct buf plain = {0};

	return base64_decode(s, &plain) == 0 && memchr(plain.n ? plain.p : "", ':', plain.n);
}

static int
see_scheme(struct text *t, size_t i)
{
	bool bearer = t->s.n - i > 7 && strncasecmp(t->s.p + i, "bearer", 6) == 0;
	bool basic = t->s.n - i > 6 && strncasecmp(t->s.p + i, "basic", 5) == 0;
	size_t from = i + (bearer ? 6 : 5), end;
	struct slice s;

	if ((!bearer && !basic) || !is_blank(t->s.p[from]))
		return 0;
	while (is_blank(at(t, from)) && from < i + 6 + SPACES)
		from++;
	end = skip_chars(t, from, WORD, bearer ? ".~+/=" : "+/=");
	while (end > from && t->s.p[end - 1] == '.')
		end--;
	s = slice(t->s.p + from, end - from);
	if (s.n < 6 || !(has_digit(s) || s.n >= 16 || memchr(s.p, '=', s.n) || (basic && is_pair(s))))
		return 0;
	return hit(t, from, end, REDACT_HEADER);
}

/* --- names and values --- */

/* The word before i, without the blanks and the quote after it. */
static struct slice
word_before(const struct text *t, size_t i)
{
	size_t end = i, from;

	while (end > t->done && i - end < SPACES && is_blank(t->s.p[end - 1]))
		end--;
	if (end > t->done && strchr("\"'", t->s.p[end - 1]))
		end--;
	if (end > t->done && t->s.p[end - 1] == '\\')
		end--;
	for (from = end; from > t->done && end - from < NEAR && class_of(t->s.p[from - 1]); from--)
		;
	while (from < end && t->s.p[from] == '-')
		from++;
	return slice(t->s.p + from, end - from);
}

/* A reference to a secret is none: $NAME, ${NAME}, $(cat file). */
static bool
is_reference(struct slice s)
{
	return s.n > 1 && s.p[0] == '$' && (class_of(s.p[1]) & (UPPER | DASH) || s.p[1] == '{' || s.p[1] == '(');
}

static size_t
value_end(const struct text *t, size_t from)
{
	while (from < t->s.n && !ends_value(t, from))
		from++;
	return from;
}

/* The value after a quote, to the quote that closes it or the end of the line. Where JSON lies in a text both are escaped. */
static size_t
quoted_end(const struct text *t, size_t from, bool escaped)
{
	char quote = t->s.p[from - 1];

	for (; from < t->s.n && t->s.p[from] != '\n' && t->s.p[from] != quote; from++) {
		if (t->s.p[from] != '\\')
			continue;
		if (escaped && at(t, from + 1) == quote)
			return from;
		from += from + 1 < t->s.n;
	}
	return from;
}

static bool
is_parameter(struct slice name)
{
	for (size_t i = 0; i < sizeof(parameters) / sizeof(*parameters); i++)
		if (name.n == strlen(parameters[i]) && strncasecmp(parameters[i], name.p, name.n) == 0)
			return true;
	return false;
}

/* A value after '=' or ':'. */
struct value {
	size_t from;
	struct slice s;
	bool quoted;
};

static struct value
value_after(const struct text *t, size_t i)
{
	struct value v = {.from = i + 1};
	bool escaped;
	size_t end;

	while (is_blank(at(t, v.from)) && v.from <= i + SPACES)
		v.from++;
	escaped = at(t, v.from) == '\\';
	v.quoted = at(t, v.from + escaped) == '"' || at(t, v.from + escaped) == '\'';
	if (v.quoted)
		v.from += escaped + 1u;
	v.s = slice(t->s.p + v.from, v.from < t->s.n ? t->s.n - v.from : 0);
	end = is_reference(v.s) ? v.from : v.quoted ? quoted_end(t, v.from, escaped) : value_end(t, v.from);
	v.s.n = end > v.from ? end - v.from : 0;
	return v;
}

/* Is what stands after a name a secret? Prose has such names, too. */
static bool
is_secret(const struct text *t, size_t i, const struct value *v, bool environment)
{
	bool tight = t->s.p[i] == '=' && !is_blank(at(t, i + 1));

	if (v->quoted)
		return v->s.n >= 4;
	return (environment && tight && v->s.n > 0) || is_random(v->s) || (tight && v->s.n >= 6);
}

/* The rest of the line of a header that holds several values. */
static int
see_header(struct text *t, size_t from)
{
	size_t end = from;

	if (!has_digit(slice(t->s.p + from, t->s.n - from)))
		return 0;
	while (end < t->s.n && !strchr("\r\n\"'", t->s.p[end]) && !is_escape(t, end))
		end++;
	return end - from >= 6 ? hit(t, from, end, REDACT_HEADER) : 0;
}

static bool
is_header(struct slice name)
{
	return name.n >= 6 && (strncasecmp(name.p + name.n - 6, "cookie", 6) == 0
		|| strncasecmp(name.p + name.n - 6, "zation", 6) == 0);
}

/* NAME=VALUE, "NAME": "VALUE", Name: value, ?name=value. i: of the '=' or ':'. */
static int
see_pair(struct text *t, size_t i)
{
	struct slice name = word_before(t, i);
	struct value v;
	bool environment, parameter = t->s.p[i] == '=' && name.p > t->s.p && memchr("?&#", name.p[-1], 3);

	if (name.n == 0)
		return 0;
	if (!redact_is_secret(name, &environment) && !(parameter && is_parameter(name)))
		return 0;
	v = value_after(t, i);
	if (parameter)
		return v.s.n ? hit(t, v.from, v.from + v.s.n, REDACT_URL) : 0;
	if (!v.quoted && t->s.p[i] == ':' && is_header(name) && v.from < t->s.n)
		return see_header(t, v.from);
	return is_secret(t, i, &v, environment)
		? hit(t, v.from, v.from + v.s.n, environment ? REDACT_ENVIRONMENT : REDACT_NAME) : 0;
}

/* --token VALUE in a line of a shell. */
static int
see_option(struct text *t, size_t i)
{
	size_t end = i, from;
	struct slice value;
	bool environment;

	while (end < t->s.n && end - i < NEAR && class_of(t->s.p[end]))
		end++;
	if (end == i || !is_blank(at(t, end)) || !redact_name(slice(t->s.p + i, end - i), &environment))
		return 0;
	for (from = end + 1; is_blank(at(t, from)) && from < end + SPACES; from++)
		;
	if (at(t, from) == '"' || at(t, from) == '\'')
		from++;
	value = slice(t->s.p + from, value_end(t, from) - from);
	return is_random(value) && !is_reference(value) ? hit(t, from, from + value.n, REDACT_ARGUMENT) : 0;
}

/* scheme://user:password@host. i: of the ':'. */
static int
see_url(struct text *t, size_t i)
{
	size_t from = i + 3, end, k;

	for (end = from; end < t->s.n && !strchr("/?# \t\r\n\"'<>\\", t->s.p[end]); end++)
		;
	for (k = end; k > from && t->s.p[k - 1] != '@'; k--)
		;
	t->done = k > from ? t->done : from;
	return k > from + 1 ? hit(t, from, k - 1, REDACT_URL) : 0;
}

/* --- the search --- */

/* An element of an array that is all of one option, variable or header: --token=VALUE, API_KEY=VALUE, X-Api-Key: VALUE. */
static int
see_argument(struct text *t)
{
	size_t i = 0, from;
	bool environment;

	while (i < t->s.n && i < NEAR && class_of(t->s.p[i]))
		i++;
	if (at(t, i) != '=' && !(at(t, i) == ':' && is_blank(at(t, i + 1))))
		return 0;
	if (!redact_is_secret(word_before(t, i), &environment))
		return 0;
	for (from = i + 1; is_blank(at(t, from)); from++)
		;
	if (from == t->s.n || is_reference(slice(t->s.p + from, t->s.n - from)) || skip_chars(t, from, DIGIT, "") == t->s.n)
		return 0;
	return hit(t, from, t->s.n, REDACT_ARGUMENT);
}

static int
see(struct text *t, size_t i)
{
	char c = t->s.p[i];
	bool begins = i == 0 || !(class_of(t->s.p[i - 1]) & ALNUM);

	if (c == '=' || c == ':') {
		if (c == ':' && at(t, i + 1) == '/' && at(t, i + 2) == '/')
			return see_url(t, i);
		return see_pair(t, i);
	}
	if (c == '-' && at(t, i + 1) == '-' && (i == 0 || t->s.p[i - 1] != '-'))
		return at(t, i + 2) == '-' ? see_pem(t, i) : begins ? see_option(t, i + 2) : 0;
	if (!begins || !(class_of(c) & ALNUM))
		return 0;
	if ((c | 32) == 'b' && see_scheme(t, i) < 0)
		return -1;
	return see_shapes(t, i);
}

int
redact_text(struct redact *r, struct slice text, bool argument)
{
	struct text t = {.redact = r, .s = text, .first = r->n};

	if (argument && see_argument(&t) < 0)
		return -1;
	for (size_t i = t.done; i < text.n; i = t.done > i ? t.done : i + 1)
		if (see(&t, i) < 0)
			return -1;
	return 0;
}
