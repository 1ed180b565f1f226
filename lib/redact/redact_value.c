/* The end of a value in a text, references to secrets, and the list of hits. */
#include "lib/redact/redact_parts.h"

/* Beginnings of expressions from which a program reads a secret. */
static const char *const references[] = {"process.env", "import.meta.env", "os.environ", "os.getenv", "os.Getenv", "getenv(",
	"System.getenv", "ENV[", "env.", "secrets.", "vars.", "var.", "self.", "this.", "config.", "settings.", "options.", "args.",
	"params.", "req.", "request.", "props.", "state.", "ctx.", "opts."};

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

bool
redact_has_digit(struct slice s)
{
	for (size_t i = 0; i < s.n && i < NEAR; i++)
		if (class_of(s.p[i]) == DIGIT)
			return true;
	return false;
}

int
redact_text_hit(struct search *t, size_t from, size_t to, enum redact_kind kind)
{
	t->done = to;
	if (to <= t->before || slice_is(slice(t->text.p + from, to - from), "<redacted>"))
		return 0;
	from = from > t->before ? from - t->before : 0;
	return redact_hit(t->redact, t->first_hit, (struct redact_hit){.from = from, .to = to - t->before}, kind);
}

size_t
redact_word_end(struct search *t, size_t i)
{
	if (t->word_end <= i)
		t->word_end = skip_chars(t, i, WORD, "");
	return t->word_end;
}

/* Does the ',', ';', '&' or '|' before i end a value? It does if a blank, punctuation or another NAME= follows at i. */
static bool
is_separated_at(const struct search *t, size_t i)
{
	size_t k = i;

	if ((unsigned char)search_at(t, i) <= ' ' || strchr("\"'`<>()[]{}|,;&\\", t->text.p[i]))
		return true;
	while (k - i < NEAR && class_of(search_at(t, k)))
		k++;
	return k > i && (search_at(t, k) == '=' || search_at(t, k) == ':');
}

/* The end of a value that has no quotes. parameter: it belongs to the query of a URL. */
static size_t
bare_end(const struct search *t, size_t from, bool parameter)
{
	size_t open = 0, end;

	for (end = from; end < t->text.n; end++) {
		char c = t->text.p[end];

		if ((unsigned char)c <= ' ' || strchr("\"'`<>", c) || is_escape(t, end) || (parameter && strchr("&,;", c)))
			break;
		if (strchr("([{", c))
			open++;
		else if (strchr(")]}", c) && open-- == 0)
			break;
		else if (strchr(",;&|", c) && is_separated_at(t, end + 1))
			break;
	}
	while (end > from && strchr(",;.", t->text.p[end - 1]))
		end--;
	return end;
}

/*
 * The end of a value whose quote is before `from`: its closing quote, or the end of the line. Two ' together are no end: SQL and
 * YAML write one so. escaped: both quotes have a backslash.
 */
static size_t
quoted_end(const struct search *t, size_t from, bool escaped)
{
	char quote = t->text.p[from - 1];
	size_t i = from;

	for (; from < t->text.n && t->text.p[from] != '\n'; from++) {
		if (t->text.p[from] == quote && (quote != '\'' || from == i || search_at(t, from + 1) != quote))
			break;
		if (t->text.p[from] != '\\' && t->text.p[from] != quote)
			continue;
		if (escaped && search_at(t, from + 1) == quote)
			return from;
		from += from + 1 < t->text.n;
	}
	return from;
}

bool
redact_is_reference(struct slice s)
{
	size_t n = 1;

	if (s.n > 1 && s.p[0] == '$') {
		while (n < s.n && n < NEAR && class_of(s.p[n]))
			n++;
		return class_of(s.p[1]) & (UPPER | DASH) || s.p[1] == '{' || s.p[1] == '(' ||
			redact_is_secret(slice(s.p + 1, n - 1), slice(NULL, 0));
	}
	for (size_t i = 0; i < sizeof(references) / sizeof(*references); i++)
		if (begins_with(s, references[i]))
			return true;
	return begins_with(s, "{{");
}

struct value
redact_value_at(const struct search *t, size_t i, bool parameter)
{
	struct value v = {.from = skip_blanks(t, i)};
	bool escaped;
	size_t end;

	/* Strings of programs and shells may have a prefix: b"...", $'...'. */
	if (search_at(t, v.from) && strchr("bfruBFRUL$", t->text.p[v.from]) && is_quote(search_at(t, v.from + 1)))
		v.from++;
	escaped = search_at(t, v.from) == '\\';
	v.quoted = is_quote(search_at(t, v.from + escaped));
	if (v.quoted)
		v.from += escaped + 1u;
	if (v.from >= t->text.n || redact_is_reference(slice(t->text.p + v.from, t->text.n - v.from)))
		return v;
	end = v.quoted ? quoted_end(t, v.from, escaped) : bare_end(t, v.from, parameter);
	v.s = slice(t->text.p + v.from, end - v.from);
	return v;
}
