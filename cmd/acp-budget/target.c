/* A token target in what a user writes: +500k at the beginning or the end, "use 2m tokens" anywhere. */
#include <ctype.h>
#include <strings.h>

#include "cmd/acp-budget/budget.h"

/* What has not been read of a text. */
struct scan {
	const char *p, *end;
};

/* The bytes of the blank at p, 0 where there is none: \s as JavaScript, the source of these patterns, has it. */
static size_t
blank(const char *p, const char *end)
{
	static const char *const wide[] = {"\u00a0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
		"\u2007", "\u2008", "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000", "\ufeff"};
	size_t n;

	if (p < end && (*p == ' ' || (*p >= '\t' && *p <= '\r')))
		return 1;
	for (size_t i = 0; p < end && (unsigned char)*p >= 0x80 && i < sizeof(wide) / sizeof(wide[0]); i++) {
		n = strlen(wide[i]);
		if ((size_t)(end - p) >= n && memcmp(p, wide[i], n) == 0)
			return n;
	}
	return 0;
}

static bool
blank_before(const char *from, const char *p)
{
	for (size_t n = 1; n <= 3 && (size_t)(p - from) >= n; n++)
		if (blank(p - n, p) == n)
			return true;
	return false;
}

static bool
in_word(char c)
{
	return c == '_' || ((unsigned char)c < 0x80 && isalnum((unsigned char)c));
}

static void
skip_space(struct scan *r)
{
	size_t n;

	while ((n = blank(r->p, r->end)) > 0)
		r->p += n;
}

static bool
skip(struct scan *r, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(r->end - r->p) < n || strncasecmp(r->p, word, n) != 0)
		return false;
	r->p += n;
	return true;
}

static bool
word_ends(const struct scan *r)
{
	return r->p == r->end || !in_word(*r->p);
}

/* The value of digits with a fraction, in units (k, m, b); what is beyond 2^64 is 2^64-1. */
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

/* A number and its unit: (\d+(?:\.\d+)?)\s*(k|m|b) */
static bool
amount(struct scan *r, uint64_t *n)
{
	const char *from = r->p, *to;

	while (r->p < r->end && byte_is_digit(*r->p))
		r->p++;
	if (r->p == from)
		return false;
	if (r->end - r->p > 1 && r->p[0] == '.' && byte_is_digit(r->p[1]))
		for (r->p++; r->p < r->end && byte_is_digit(*r->p); r->p++)
			;
	to = r->p;
	skip_space(r);
	if (!skip(r, "k") && !skip(r, "m") && !skip(r, "b"))
		return false;
	*n = value(slice_between(from, to), r->p[-1]);
	return true;
}

/* After the last plus there is nothing else. */
static bool
at_end(struct slice text, uint64_t *n)
{
	struct scan r = {text.n ? memrchr(text.p, '+', text.n) : NULL, text.p + text.n};

	if (!r.p || !blank_before(text.p, r.p))
		return false;
	r.p++;
	if (!amount(&r, n))
		return false;
	skip_space(&r);
	if (r.p < r.end && strchr(".!?", *r.p) && *r.p)
		r.p++;
	skip_space(&r);
	return r.p == r.end;
}

/* "use 2m tokens", from here on. */
static bool
spends(struct scan r, uint64_t *n)
{
	const char *from;

	if (!skip(&r, "use") && !skip(&r, "spend"))
		return false;
	from = r.p;
	skip_space(&r);
	if (r.p == from || !amount(&r, n))
		return false;
	skip_space(&r);
	if (!skip(&r, "token"))
		return false;
	if (word_ends(&r))
		return true;
	return skip(&r, "s") && word_ends(&r);
}

static uint64_t
target_in(struct slice text)
{
	struct scan r = {text.p, text.p + text.n};
	uint64_t n = 0;

	skip_space(&r);
	if ((skip(&r, "+") && amount(&r, &n) && word_ends(&r)) || at_end(text, &n))
		return n;
	for (r.p = text.p; r.p < r.end; r.p++)
		if ((r.p == text.p || !in_word(r.p[-1])) && spends(r, &n))
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
		if (json_unescape(text, &plain) == 0)
			n = target_in(buf_slice(&plain));
	}
	return n;
}
