/* Secrets in texts: after a name, an option or a scheme, and in URLs. */
#include <strings.h>

#include "lib/base/base64.h"
#include "lib/redact/redact_parts.h"

/* Parameters of URLs that grant access, beside the names of secrets. */
static const char *const parameters[] = {"key", "sig", "signature", "auth", "pass", "hmac", "ticket",
	"X-Amz-Signature", "X-Amz-Credential", "X-Goog-Signature", "X-Goog-Credential"};

/* The next white space. */
static size_t
skip_word(const struct search *t, size_t i)
{
	while ((unsigned char)search_at(t, i) > ' ')
		i++;
	return i;
}

/* A secret that was redacted in one piece of a text, and continues in the next. */
static int
see_redacted(struct search *t, size_t i)
{
	size_t from = i + sizeof("<redacted>") - 1, end;

	if (!begins_with(slice(t->s.p + i, t->s.n - i), "<redacted>"))
		return 0;
	end = skip_chars(t, from, WORD, "+/~");
	t->done = from;
	if (begins_with(slice(t->s.p + from, t->s.n - from), "-----END "))
		return 0; /* the end of a private key, which is kept */
	return end > from ? redact_text_hit(t, i, end, REDACT_KEY) : 0;
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
see_scheme(struct search *t, size_t i)
{
	bool bearer = t->s.n - i > 7 && strncasecmp(t->s.p + i, "bearer", 6) == 0;
	bool basic = t->s.n - i > 6 && strncasecmp(t->s.p + i, "basic", 5) == 0;
	size_t from = i + (bearer ? 6 : 5), end;
	struct slice s;

	if ((!bearer && !basic) || !is_blank(t->s.p[from]))
		return 0;
	from = skip_blanks(t, from);
	end = skip_chars(t, from, WORD, bearer ? ".~+/=" : "+/=");
	while (end > from && t->s.p[end - 1] == '.')
		end--;
	s = slice(t->s.p + from, end - from);
	if (s.n < 6 || !(redact_has_digit(s) || s.n >= 16 || memchr(s.p, '=', s.n) || (basic && is_pair(s))))
		return 0;
	return redact_text_hit(t, from, end, REDACT_HEADER);
}

/* --- values --- */

/* The value after the '=', ':', '=>' or ':=' that begins at i. */
static struct value
value_after(const struct search *t, size_t i, bool parameter)
{
	char next = search_at(t, i + 1);
	bool two = t->s.p[i] == '=' ? next == '>' : next == '=';
	struct value v;

	if (t->s.p[i] == '=' && next == '=')
		return (struct value){.from = i};
	v = redact_value_at(t, i + 1 + two, parameter);
	v.tight = t->s.p[i] == '=' && !two && !is_blank(next);
	return v;
}

/* --- names and values --- */

/* The word before i, without the blanks and the quote after it. */
static struct slice
word_before(const struct search *t, size_t i)
{
	size_t end = i, from;

	while (end > t->done && i - end < SPACES && is_blank(t->s.p[end - 1]))
		end--;
	if (end > t->done + 1 && t->s.p[end - 1] == ']' && is_quote(t->s.p[end - 2]))
		end--;
	if (end > t->done && is_quote(t->s.p[end - 1]))
		end--;
	if (end > t->done && t->s.p[end - 1] == '\\')
		end--;
	for (from = end; from > t->done && end - from < NEAR && class_of(t->s.p[from - 1]); from--)
		;
	while (from < end && t->s.p[from] == '-')
		from++;
	return slice(t->s.p + from, end - from);
}

static bool
is_parameter(struct slice name)
{
	for (size_t i = 0; i < sizeof(parameters) / sizeof(*parameters); i++)
		if (name.n == strlen(parameters[i]) && strncasecmp(parameters[i], name.p, name.n) == 0)
			return true;
	return false;
}

/* A call of a function, such as get_token(). */
static bool
is_call(struct slice s)
{
	size_t i = 0;

	while (i < s.n && (class_of(s.p[i]) & (LOWER | UPPER | DASH) || s.p[i] == '.'))
		i++;
	return i > 0 && i < s.n && s.p[i] == '(';
}

/* Is it alone in its line, but for an indentation or the dash of a list? */
static bool
is_line(const struct search *t, const char *name, size_t end)
{
	const char *p = name;

	while (p > t->s.p && p > name - NEAR && (is_blank(p[-1]) || p[-1] == '-'))
		p--;
	return (p == t->s.p || p[-1] == '\n') && (search_at(t, end) == '\n' || search_at(t, end) == '\r' || end == t->s.n);
}

/* Is the value after a name a secret? Prose and programs have such names, too. */
static bool
is_secret(const struct search *t, struct slice name, const struct value *v, bool environment)
{
	if (v->quoted)
		return v->s.n >= 4;
	if (v->s.n == 0 || (!environment && is_call(v->s)))
		return false;
	if (name.p > t->s.p && name.p[-1] == '-' && v->tight) /* an option's */
		return true;
	if (environment && (v->tight || is_line(t, name.p, v->from + v->s.n)))
		return true;
	if (v->s.n == name.n && strncasecmp(v->s.p, name.p, name.n) == 0)
		return false;
	/* A machine has made it, and it is no word. */
	return v->s.n >= 20 || (v->s.n >= 6 && (v->tight || redact_has_digit(v->s)));
}

/* A header that holds several values, up to the end of its line. */
static int
see_header(struct search *t, size_t from)
{
	size_t end = from;

	if (!redact_has_digit(slice(t->s.p + from, t->s.n - from)))
		return 0;
	while (end < t->s.n && !strchr("\r\n\"'", t->s.p[end]) && !is_escape(t, end))
		end++;
	return end - from >= 6 ? redact_text_hit(t, from, end, REDACT_HEADER) : 0;
}

/* NAME=VALUE, "NAME": "VALUE", 'NAME' => 'VALUE', Name: value, ?name=value. i: of the '=' or ':'. */
static int
see_pair(struct search *t, size_t i)
{
	struct slice name = word_before(t, i);
	struct value v;
	bool header, environment, parameter = t->s.p[i] == '=' && name.p > t->s.p && memchr("?&#", name.p[-1], 3);
	enum redact_name what;

	if (name.n == 0)
		return 0;
	what = redact_name(name);
	if ((what == REDACT_NAME_NONE || what > REDACT_NAME_PAIR) && !(parameter && is_parameter(name)))
		return 0;
	v = value_after(t, i, parameter);
	if (parameter)
		return v.s.n ? redact_text_hit(t, v.from, v.from + v.s.n, REDACT_URL) : 0;
	if (!redact_is_secret(name, v.s.p ? v.s : slice("", 0)))
		return 0;
	header = t->s.p[i] == ':' && name.n >= 6 && (strncasecmp(name.p + name.n - 6, "cookie", 6) == 0
		|| strncasecmp(name.p + name.n - 6, "zation", 6) == 0);
	if (!v.quoted && header && v.from < t->s.n)
		return see_header(t, v.from);
	environment = redact_is_variable(name);
	return is_secret(t, name, &v, environment)
		? redact_text_hit(t, v.from, v.from + v.s.n, environment ? REDACT_ENVIRONMENT : REDACT_NAME) : 0;
}

/* <password>VALUE</password>. i: of the first '>'. */
static int
see_element(struct search *t, size_t i)
{
	struct slice name = word_before(t, i);
	size_t from = i + 1, to;
	const char *end;

	if (name.n == 0 || name.p + name.n != t->s.p + i || name.p == t->s.p || !strchr("<:", name.p[-1]) ||
		!redact_is_secret(name, slice(NULL, 0)))
		return 0;
	end = memchr(t->s.p + from, '<', t->s.n - from);
	to = end ? (size_t)(end - t->s.p) : t->s.n;
	if (redact_is_reference(slice(t->s.p + from, t->s.n - from)))
		return 0;
	/* If the end tag may be in the next chunk, only one word. */
	if (search_at(t, to + 1) != '/' && (to + 1 < t->s.n || skip_word(t, from) < to))
		return 0;
	return to > from ? redact_text_hit(t, from, to, REDACT_NAME) : 0;
}

/* --- other words --- */

/* The word that ends before *i and the white space before that; *i is where it begins. */
static struct slice
previous_word(const struct search *t, size_t *i)
{
	size_t end = *i, from;

	while (end > 0 && *i - end < NEAR && (unsigned char)t->s.p[end - 1] <= ' ')
		end--;
	for (from = end; from > 0 && end - from < NEAR && (unsigned char)t->s.p[from - 1] > ' '; from--)
		;
	*i = from;
	return slice(t->s.p + from, end - from);
}

/* "machine HOST login USER password VALUE" of a netrc, and the PASSWORD 'VALUE' and IDENTIFIED BY 'VALUE' of SQL. */
static int
see_password(struct search *t, size_t i)
{
	bool identified = t->s.n - i > 13 && strncasecmp(t->s.p + i, "identified by", 13) == 0;
	size_t end = i + (identified ? 13 : 8), k = i;
	struct value v;

	if (t->s.n <= end || !is_blank(t->s.p[end]) || (!identified && strncasecmp(t->s.p + i, "password", 8) != 0))
		return 0;
	v = redact_value_at(t, end, false);
	if (v.quoted)
		return v.s.n >= 4 && !memchr(v.s.p, ' ', v.s.n) ? redact_text_hit(t, v.from, v.from + v.s.n, REDACT_NAME) : 0;
	previous_word(t, &k);
	if (v.s.n == 0 || !slice_is(previous_word(t, &k), "login"))
		return 0;
	if (!slice_is(previous_word(t, &k), "default") && !slice_is(previous_word(t, &k), "machine"))
		return 0;
	return redact_text_hit(t, v.from, skip_word(t, v.from), REDACT_NAME);
}

/* scheme://user:password@host, but git@host. i: of the ':'. */
static int
see_url(struct search *t, size_t i)
{
	size_t from = i + 3, end, k;

	for (end = from; end < t->s.n && !strchr("/?# \t\r\n\"'<>\\", t->s.p[end]); end++)
		;
	for (k = end; k > from && t->s.p[k - 1] != '@'; k--)
		;
	if (k == from) {
		t->done = from;
		/* A password whose '@' may be in the next chunk, for it is no port. */
		for (k = end; end == t->s.n && k > from && class_of(t->s.p[k - 1]); k--)
			;
		return end == t->s.n && k > from && t->s.p[k - 1] == ':' && skip_chars(t, k, DIGIT, "") < end
			? redact_text_hit(t, k, end, REDACT_URL) : 0;
	}
	return k > from + 1 && !slice_is(slice(t->s.p + from, k - from), "git@") ? redact_text_hit(t, from, k - 1, REDACT_URL) : 0;
}

/* --- the search --- */

/* An element of an array that is one option, variable or header: --token=VALUE, API_KEY=VALUE, X-Api-Key: VALUE. */
static int
see_argument(struct search *t)
{
	size_t i = 0, from;
	struct slice value;

	while (i < NEAR && class_of(search_at(t, i)))
		i++;
	if (search_at(t, i) != '=' && !(search_at(t, i) == ':' && is_blank(search_at(t, i + 1))))
		return 0;
	for (from = i + 1; is_blank(search_at(t, from)); from++)
		;
	value = slice(t->s.p + from, t->s.n - (from < t->s.n ? from : t->s.n));
	if (value.n == 0 || redact_is_reference(value) || skip_chars(t, from, DIGIT, "") == t->s.n ||
		!redact_is_secret(word_before(t, i), value))
		return 0;
	return redact_text_hit(t, from, t->s.n, REDACT_ARGUMENT);
}

static int
see(struct search *t, size_t i)
{
	char c = t->s.p[i];

	switch (c) {
	case '=':
	case ':':
		if (c == ':' && search_at(t, i + 1) == '/' && search_at(t, i + 2) == '/')
			return see_url(t, i);
		return see_pair(t, i);
	case '-':
		return i > 0 && t->s.p[i - 1] == '-' ? 0 : redact_see_dash(t, i);
	case '>':
		return see_element(t, i);
	case '<':
		return see_redacted(t, i);
	case '~':
		return redact_see_tilde(t, i);
	default:
		break;
	}
	if (!(class_of(c) & ALNUM) || (i > 0 && class_of(t->s.p[i - 1]) & ALNUM))
		return 0;
	if (((c | 32) == 'b' && see_scheme(t, i) < 0) || (((c | 32) == 'p' || (c | 32) == 'i') && see_password(t, i) < 0))
		return -1;
	return t->done > i ? 0 : redact_see_keys(t, i);
}

int
redact_text(struct redact *r, struct slice text, size_t before, bool argument)
{
	struct search t = {.redact = r, .s = text, .first = r->n, .before = before};

	if (!r->indexed)
		redact_index_shapes(r);
	r->indexed = true;
	if (argument && see_argument(&t) < 0)
		return -1;
	for (size_t i = t.done; i < text.n; i = t.done > i ? t.done : i + 1)
		if (see(&t, i) < 0)
			return -1;
	return t.open;
}
