/* Finds secrets in texts: after names and schemes of HTTP, in URLs and in XML elements. */
#include <strings.h>

#include "lib/redact/redact_parts.h"

/* Parameters of URLs that grant access, beside the names of secrets. */
static const char *const parameters[] = {"key", "sig", "signature", "auth", "pass", "hmac", "ticket",
	"X-Amz-Signature", "X-Amz-Credential", "X-Goog-Signature", "X-Goog-Credential"};

/* The most words of a name, and the most values in a word that are no secrets. */
enum { WORDS = 4, REJECTED = 64 };

/* The next white space, or the end of the text. */
static size_t
skip_word(const struct search *t, size_t i)
{
	while ((unsigned char)search_at(t, i) > ' ')
		i++;
	return i;
}

/* After a <redacted> of an earlier chunk, finds the characters by which the secret continues. */
static int
find_redacted(struct search *t, size_t i)
{
	size_t from = i + sizeof("<redacted>") - 1, end;

	if (!begins_with(slice(t->text.p + i, t->text.n - i), "<redacted>"))
		return 0;
	end = skip_chars(t, from, WORD, "+/~");
	t->done = from;
	if (begins_with(slice(t->text.p + from, t->text.n - from), "-----END "))
		return 0; /* the last line of a private key stays readable */
	return end > from ? redact_text_hit(t, i, end, REDACT_KEY) : 0;
}

/* --- credentials of HTTP --- */

/* Finds the credentials after Bearer and Basic. */
static int
find_scheme(struct search *t, size_t i)
{
	bool bearer = t->text.n - i > 7 && strncasecmp(t->text.p + i, "bearer", 6) == 0;
	bool basic = t->text.n - i > 6 && strncasecmp(t->text.p + i, "basic", 5) == 0;
	bool header = i >= 15 && strncasecmp(t->text.p + i - 15, "authorization: ", 15) == 0;
	size_t from = i + (bearer ? 6 : 5), end;
	struct slice s;

	if ((!bearer && !basic) || !is_blank(t->text.p[from]))
		return 0;
	from = skip_blanks(t, from);
	end = skip_chars(t, from, WORD, bearer ? ".~+/=" : "+/=");
	while (end > from && t->text.p[end - 1] == '.')
		end--;
	s = slice(t->text.p + from, end - from);
	header = header && strchr("\r\n\"'\\", search_at(t, end)); /* of a whole header any word is secret; prose goes on after it */
	if (s.n < 6 || !(header || redact_has_digit(s) || s.n >= 16 || memchr(s.p, '=', s.n) || (basic && redact_is_pair(s))))
		return 0;
	return redact_text_hit(t, from, end, REDACT_HEADER);
}

/* Reads the value after the '=', ':', '=>' or ':=' that begins at i. parameter: it belongs to the query of a URL. */
static struct value
value_after(const struct search *t, size_t i, bool parameter)
{
	char next = search_at(t, i + 1);
	bool two = t->text.p[i] == '=' ? next == '>' : next == '=';
	struct value v;

	if (t->text.p[i] == '=' && next == '=')
		return (struct value){.from = i};
	v = redact_value_at(t, i + 1 + two, parameter);
	v.tight = t->text.p[i] == '=' && !two && !is_blank(next);
	return v;
}

/* The word that ends at `end`, without dashes before it. */
static struct slice
word_to(const struct search *t, size_t end)
{
	size_t from = end;

	while (from > t->done && end - from < NEAR && class_of(t->text.p[from - 1]))
		from--;
	while (from < end && t->text.p[from] == '-')
		from++;
	return slice(t->text.p + from, end - from);
}

/*
 * The name before i, between which and i may be blanks, a quote and a ']': a word, or words with a blank or '.' between them that
 * together are the name of a secret.
 */
static struct slice
name_before(const struct search *t, size_t i)
{
	struct slice word, name, more;
	size_t end = i;

	while (end > t->done && i - end < SPACES && is_blank(t->text.p[end - 1]))
		end--;
	if (end > t->done + 1 && t->text.p[end - 1] == ']' && is_quote(t->text.p[end - 2]))
		end--;
	if (end > t->done && is_quote(t->text.p[end - 1]))
		end--;
	if (end > t->done && t->text.p[end - 1] == '\\')
		end--;
	word = name = more = word_to(t, end);
	for (size_t n = 1; n < WORDS && more.n && more.p > t->text.p + t->done && !redact_name(name); n++) {
		end = (size_t)(more.p - t->text.p) - 1;
		if (!is_of(t, end, 0, " ."))
			break;
		more = word_to(t, end);
		name = slice_between(more.p, word.p + word.n);
	}
	return more.n && redact_name(name) ? name : word;
}

static bool
is_parameter(struct slice name)
{
	for (size_t i = 0; i < sizeof(parameters) / sizeof(*parameters); i++)
		if (name.n == strlen(parameters[i]) && strncasecmp(parameters[i], name.p, name.n) == 0)
			return true;
	return false;
}

/* Is the value the call of a function, such as get_token()? */
static bool
is_call(struct slice s)
{
	size_t i = 0;

	while (i < s.n && (class_of(s.p[i]) & (LOWER | UPPER | DASH) || s.p[i] == '.'))
		i++;
	return i > 0 && i < s.n && s.p[i] == '(';
}

/* Are a name and its value, which ends at `end`, alone in their line, except for an indentation or the dash of a list? */
static bool
is_whole_line(const struct search *t, const char *name, size_t end)
{
	const char *p = name;

	while (p > t->text.p && p > name - NEAR && (is_blank(p[-1]) || p[-1] == '-'))
		p--;
	return (p == t->text.p || p[-1] == '\n') && (search_at(t, end) == '\n' || search_at(t, end) == '\r' || end == t->text.n);
}

/* Is the value after the name of a secret really a secret? Prose and programs use these names, too. environment: a variable's. */
static bool
is_secret(const struct search *t, struct slice name, const struct value *v, bool environment)
{
	if (v->s.n == 0 || (!v->quoted && !environment && is_call(v->s)))
		return false;
	if (environment && (v->tight || is_whole_line(t, name.p, v->from + v->s.n + v->quoted)))
		return true;
	/* After words, a quote may end the string of a program: "bad private key: ", e */
	if (v->quoted)
		return v->s.n >= 4 && !(memchr(name.p, ' ', name.n) && strchr(" ,)", v->s.p[0]));
	if (name.p > t->text.p && name.p[-1] == '-' && v->tight) /* an option's */
		return true;
	if (v->s.n == name.n && strncasecmp(v->s.p, name.p, name.n) == 0)
		return false;
	/* A long value, or one with digits, is no word of a language. */
	return v->s.n >= 20 || (v->s.n >= 6 && (v->tight || redact_has_digit(v->s)));
}

/*
 * Finds the values of a Cookie or Authorization header, which fill the line from v on. Near its beginning the text of v has a digit or a
 * long word, or begins with NAME=; else the line is prose.
 */
static int
find_header(struct search *t, const struct value *v)
{
	size_t from = v->from, end, word = from, blanks = 0;
	bool code = v->s.n == 0 || is_call(v->s), secret = !code && search_at(t, skip_chars(t, from, WORD, ".")) == '=';

	for (end = from; end < t->text.n && !strchr("\r\n\"'", t->text.p[end]) && !is_escape(t, end); end++) {
		if (!is_of(t, end, WORD, "=+~"))
			word = end + 1;
		blanks += t->text.p[end] == ' ';
		/* A long word is the first, or the one after the scheme, and no variable. */
		secret |= class_of(t->text.p[end]) == DIGIT ||
			(!code && blanks <= 1 && end + 1 - word >= 20 && !strchr("${/", t->text.p[word - 1]));
		if (!secret && end - from >= NEAR)
			return 0;
	}
	return secret && end - from >= 6 ? redact_text_hit(t, from, end, REDACT_HEADER) : 0;
}

/*
 * Leaves a value that is no secret. The next one may be within it: as reading many such in one long word would take quadratic time, the
 * rest of a word with more than REJECTED of them counts as a secret.
 */
static int
reject(struct search *t, const struct value *v)
{
	size_t end = v->from + v->s.n;

	if (v->quoted || v->s.n == 0)
		return 0;
	t->rejected = v->from < t->rejected_end ? t->rejected + 1 : 1;
	if (t->rejected_end < end)
		t->rejected_end = end;
	return t->rejected > REJECTED ? redact_text_hit(t, v->from, end, REDACT_NAME) : 0;
}

/* Finds VALUE in NAME=VALUE, "NAME": "VALUE", 'NAME' => 'VALUE', Name: VALUE and ?name=VALUE. The '=' or ':' is at i. */
static int
find_pair(struct search *t, size_t i)
{
	struct slice name = name_before(t, i);
	struct value v;
	bool header, environment, parameter = t->text.p[i] == '=' && name.p > t->text.p && memchr("?&#", name.p[-1], 3);
	enum redact_name meaning;

	if (name.n == 0)
		return 0;
	meaning = redact_name(name);
	if ((meaning == REDACT_NAME_NONE || meaning > REDACT_NAME_PAIR) && !(parameter && is_parameter(name)))
		return 0;
	v = value_after(t, i, parameter);
	if (parameter)
		return v.s.n ? redact_text_hit(t, v.from, v.from + v.s.n, REDACT_URL) : 0;
	if (!redact_is_secret(name, v.s.p ? v.s : slice("", 0)))
		return reject(t, &v);
	header = t->text.p[i] == ':' && name.n >= 6 && (strncasecmp(name.p + name.n - 6, "cookie", 6) == 0
		|| strncasecmp(name.p + name.n - 6, "zation", 6) == 0);
	if (!v.quoted && header && v.from < t->text.n)
		return find_header(t, &v) < 0 ? -1 : t->done > i ? 0 : reject(t, &v);
	environment = redact_is_variable(name);
	return is_secret(t, name, &v, environment)
		? redact_text_hit(t, v.from, v.from + v.s.n, environment ? REDACT_ENVIRONMENT : REDACT_NAME) : reject(t, &v);
}

/* The name of the element whose start tag ends with the '>' at i, without a namespace. Empty: there is none. */
static struct slice
element_name(const struct search *t, size_t i)
{
	size_t from = i, end;

	while (from > 0 && i - from < LONGEST && t->text.p[from - 1] != '<' && t->text.p[from - 1] != '>')
		from--;
	if (from == 0 || t->text.p[from - 1] != '<' || t->text.p[i - 1] == '/')
		return slice(NULL, 0);
	end = skip_chars(t, from, WORD, ".");
	if (search_at(t, end) == ':')
		end = skip_chars(t, from = end + 1, WORD, ".");
	/* Words without attributes are prose or code, and no tag. */
	if (end < i && !(byte_is_space(t->text.p[end]) && memchr(t->text.p + end, '=', i - end)))
		return slice(NULL, 0);
	return slice(t->text.p + from, end - from);
}

/* Finds VALUE in <password>VALUE</password>. The first '>' is at i. */
static int
find_element(struct search *t, size_t i)
{
	struct slice name = element_name(t, i);
	size_t from = i + 1, to;
	const char *end;

	if (name.n == 0 || !redact_is_secret(name, slice(NULL, 0)))
		return 0;
	end = memchr(t->text.p + from, '<', t->text.n - from);
	to = end ? (size_t)(end - t->text.p) : t->text.n;
	if (redact_is_reference(slice(t->text.p + from, t->text.n - from)))
		return 0;
	/* Where the end tag may be in the next chunk, only a single word counts as the value. */
	if (search_at(t, to + 1) != '/' && (to + 1 < t->text.n || skip_word(t, from) < to))
		return 0;
	return to > from ? redact_text_hit(t, from, to, REDACT_NAME) : 0;
}

/* The last word before *i, without a quote or bracket before it. Sets *i to what follows the white space before it. */
static struct slice
previous_word(const struct search *t, size_t *i)
{
	size_t end = *i, from;

	while (end > 0 && *i - end < NEAR && (unsigned char)t->text.p[end - 1] <= ' ')
		end--;
	for (from = end; from > 0 && end - from < NEAR && (unsigned char)t->text.p[from - 1] > ' '; from--)
		;
	*i = from;
	return word_to(t, end);
}

/* Finds VALUE in a netrc's "machine HOST login USER password VALUE", and in SQL's PASSWORD 'VALUE' and IDENTIFIED BY 'VALUE'. */
static int
find_password(struct search *t, size_t i)
{
	bool identified = t->text.n - i > 13 && strncasecmp(t->text.p + i, "identified by", 13) == 0;
	size_t end = i + (identified ? 13 : 8), k = i;
	struct value v;

	if (t->text.n <= end || !is_blank(t->text.p[end]) || (!identified && strncasecmp(t->text.p + i, "password", 8) != 0))
		return 0;
	v = redact_value_at(t, end, false);
	/* In prose, a quoted text may follow the word password, too. */
	if (v.quoted)
		return v.s.n >= 4 && (!memchr(v.s.p, ' ', v.s.n) || class_of(t->text.p[i + 1]) == UPPER || redact_has_digit(v.s))
			? redact_text_hit(t, v.from, v.from + v.s.n, REDACT_NAME) : 0;
	previous_word(t, &k);
	if (v.s.n == 0 || !slice_is(previous_word(t, &k), "login"))
		return 0;
	if (!slice_is(previous_word(t, &k), "default") && !slice_is(previous_word(t, &k), "machine"))
		return 0;
	return redact_text_hit(t, v.from, skip_word(t, v.from), REDACT_NAME);
}

/* Finds user:password in scheme://user:password@host, but not the user "git" alone. The first ':' is at i. */
static int
find_url(struct search *t, size_t i)
{
	struct slice scheme = word_to(t, i);
	size_t from = i + 3, end, k;

	for (end = from; end < t->text.n && !strchr("/?# \t\r\n\"'<>\\", t->text.p[end]); end++)
		;
	for (k = end; k > from && t->text.p[k - 1] != '@'; k--)
		;
	if (k == from) {
		t->done = from;
		if (end < t->text.n)
			return 0;
		/* At the end of a chunk the '@' may be in the next one, after a password (no port) or a long user with digits (no host). */
		for (k = end; k > from && class_of(t->text.p[k - 1]); k--)
			;
		return (k > from ? t->text.p[k - 1] == ':' && skip_chars(t, k, DIGIT, "") < end :
			end - k >= 20 && redact_has_digit(slice(t->text.p + k, end - k)) && begins_with(scheme, "http"))
			? redact_text_hit(t, k, end, REDACT_URL) : 0;
	}
	return k > from + 1 && !slice_is(slice(t->text.p + from, k - from), "git@") ? redact_text_hit(t, from, k - 1, REDACT_URL) : 0;
}

/* --- the search --- */

/* Finds VALUE where the whole text is one option, variable or header: --token=VALUE, API_KEY=VALUE, X-Api-Key: VALUE. */
static int
find_argument(struct search *t)
{
	size_t i = 0, from;
	struct slice value;

	while (i < NEAR && is_of(t, i, WORD, "."))
		i++;
	if (search_at(t, i) != '=' && !(search_at(t, i) == ':' && is_blank(search_at(t, i + 1))))
		return 0;
	for (from = i + 1; is_blank(search_at(t, from)); from++)
		;
	value = slice(t->text.p + from, t->text.n - (from < t->text.n ? from : t->text.n));
	if (value.n == 0 || redact_is_reference(value) || skip_chars(t, from, DIGIT, "") == t->text.n ||
		!redact_is_secret(name_before(t, i), value))
		return 0;
	return redact_text_hit(t, from, t->text.n, REDACT_ARGUMENT);
}

/* Chooses the functions that examine i by the character there. */
static int
find_at(struct search *t, size_t i)
{
	char c = t->text.p[i];

	switch (c) {
	case '=':
	case ':':
		if (c == ':' && search_at(t, i + 1) == '/' && search_at(t, i + 2) == '/')
			return find_url(t, i);
		return find_pair(t, i);
	case '-':
		return i > 0 && t->text.p[i - 1] == '-' ? 0 : redact_find_dash(t, i);
	case '>':
		return find_element(t, i);
	case '<':
		return find_redacted(t, i);
	case '~':
		return redact_find_tilde(t, i);
	default:
		break;
	}
	if (!(class_of(c) & ALNUM) || (i > 0 && class_of(t->text.p[i - 1]) & ALNUM))
		return 0;
	if (((c | 32) == 'b' && find_scheme(t, i) < 0) || (((c | 32) == 'p' || (c | 32) == 'i') && find_password(t, i) < 0))
		return -1;
	return t->done > i ? 0 : redact_find_keys(t, i);
}

int
redact_text(struct redact *r, struct slice text, size_t before, const uint32_t *commands)
{
	struct search t = {.redact = r, .text = text, .first_hit = r->n, .before = before,
		.commands = commands ? *commands : 0};

	if (!r->indexed)
		redact_index_shapes(r);
	r->indexed = true;
	if (commands && find_argument(&t) < 0)
		return -1;
	for (size_t i = t.done; i < text.n; i = t.done > i ? t.done : i + 1)
		if (find_at(&t, i) < 0)
			return -1;
	return t.open;
}
