/* A token target in what a user writes: +500k at the beginning or the end, "use 2m tokens" anywhere. */
#include <ctype.h>
#include <strings.h>

#include "cmd/acp-budget/budget.h"

static const char figures[] = "0123456789";

/* Makes each blank a space: \s of JavaScript, from where these patterns come. Puts a NUL after the text; NULL: out of memory. */
static char *
flatten(struct buf *text)
{
	static const char *const wide[] = {"\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
		"\u2007", "\u2008", "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000", "\ufeff"};
	char *from = buf_string(text), *to = from, *end = from + text->n;
	size_t n, i;

	for (const char *p = from; p && p < end; p += n) {
		n = *p == ' ' || (*p >= '\t' && *p <= '\r');
		for (i = 0; (unsigned char)*p >= 0x80 && !n && i < sizeof(wide) / sizeof(*wide); i++)
			n = *p == *wide[i] && strncmp(p, wide[i], strlen(wide[i])) == 0 ? strlen(wide[i]) : 0;
		*to++ = n ? ' ' : *p;
		n = n ? n : 1;
	}
	text->n = (size_t)(to - from);
	return buf_string(text);
}

static bool
in_word(char c)
{
	return c == '_' || ((unsigned char)c < 0x80 && isalnum((unsigned char)c));
}

static bool
skip(const char **p, const char *word)
{
	size_t n = strlen(word);

	if (strncasecmp(*p, word, n) != 0)
		return false;
	*p += n;
	return true;
}

/* Returns the value of digits with a fraction and a unit (k, m, b), at most 2^64-1. */
static uint64_t
value(struct slice digits, char letter)
{
	uint64_t n = 0, unit = strchr("kK", letter) ? 1000 : strchr("mM", letter) ? 1000000 : 1000000000, part;
	bool beyond = false;
	size_t i;

	for (i = 0; i < digits.n && digits.p[i] != '.'; i++) {
		beyond |= __builtin_mul_overflow(n, 10, &n);
		beyond |= __builtin_add_overflow(n, (uint64_t)(digits.p[i] - '0'), &n);
	}
	beyond |= __builtin_mul_overflow(n, unit, &n);
	for (i++; i < digits.n && unit > 1; i++) {
		unit /= 10;
		part = (uint64_t)(digits.p[i] - '0') * unit;
		beyond |= __builtin_add_overflow(n, part, &n);
	}
	return beyond ? UINT64_MAX : n;
}

/* Reads a number and its unit: (\d+(?:\.\d+)?)\s*(k|m|b) */
static bool
amount(const char **at, uint64_t *n)
{
	const char *p = *at + strspn(*at, figures), *end;

	if (p == *at)
		return false;
	if (*p == '.' && byte_is_digit(p[1]))
		p += 1 + strspn(p + 1, figures);
	end = p;
	p += strspn(p, " ");
	if (!*p || !strchr("kKmMbB", *p))
		return false;
	*n = value(slice_between(*at, end), *p);
	*at = p + 1;
	return true;
}

/* Reads +500k at the end of a text, which may have a full stop after it. */
static bool
at_end(const char *text, const char *end, uint64_t *n)
{
	const char *p = memrchr(text, '+', (size_t)(end - text));

	if (!p || p == text || p[-1] != ' ')
		return false;
	p++;
	if (!amount(&p, n))
		return false;
	p += strspn(p, " ");
	p += *p && strchr(".!?", *p);
	p += strspn(p, " ");
	return p == end;
}

/* Reads "use 2m tokens" or "spend 2m tokens" at the beginning of a text. */
static bool
spends(const char *p, uint64_t *n)
{
	if ((!skip(&p, "use") && !skip(&p, "spend")) || *p != ' ')
		return false;
	p += strspn(p, " ");
	if (!amount(&p, n))
		return false;
	p += strspn(p, " ");
	if (!skip(&p, "token"))
		return false;
	return !in_word(*p) || (skip(&p, "s") && !in_word(*p));
}

static uint64_t
target_in(const char *text, const char *end)
{
	const char *p = text + strspn(text, " ");
	uint64_t n = 0;

	if ((skip(&p, "+") && amount(&p, &n) && !in_word(*p)) || at_end(text, end, &n))
		return n;
	for (p = text; p < end; p++)
		if ((p == text || !in_word(p[-1])) && spends(p, &n))
			return n;
	return 0;
}

uint64_t
target_in_prompt(struct slice blocks)
{
	struct json_iter it = {.in = blocks};
	struct slice key, block, text;
	SCOPED struct buf plain = {0};
	uint64_t n = 0;

	while (n == 0 && json_next(&it, &key, &block)) {
		text = json_get(block, "text");
		if (!json_string_is(json_get(block, "type"), "text") || json_type(text) != JSON_STRING)
			continue;
		plain.n = 0;
		if (json_unescape(text, &plain) == 0 && flatten(&plain))
			n = target_in(plain.p, plain.p + plain.n);
	}
	return n;
}
