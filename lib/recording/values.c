/* Values in records of all shapes. */
#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/text.h"
#include "lib/recording/recording_parts.h"

enum { NUMBER_MOST = 63 }; /* bytes at most of a time that strtod reads */

bool
recording_time(const char **p, const char *end, uint64_t *us)
{
	uint64_t whole, unit = RECORDING_SECOND;
	const char *point;

	if (!bytes_number(p, end, RECORDING_DIGITS, &whole))
		return false;
	point = *p;
	*us = whole * RECORDING_SECOND;
	if (point == end || *point != '.')
		return true;
	for (++*p; *p < end && byte_is_digit(**p); ++*p) {
		unit /= 10;
		*us += unit * (uint64_t)(**p - '0');
	}
	return *p > point + 1;
}

bool
recording_seconds(struct slice number, uint64_t *us)
{
	const char *p = number.p, *end = p + number.n;
	char copy[NUMBER_MOST + 1];
	double d;

	if (recording_time(&p, end, us) && p == end)
		return true;
	*us = 0;
	if (number.n > NUMBER_MOST || json_type(number) != JSON_NUMBER)
		return false;
	memcpy(copy, number.p, number.n);
	copy[number.n] = '\0';
	d = strtod(copy, NULL) * (double)RECORDING_SECOND;
	if (d > 0 && d < 1e18)
		*us = (uint64_t)d;
	return d < 1e18;
}

enum outcome
recording_unescape(struct recording *rec, struct slice string, struct slice *text)
{
	rec->text.n = 0;
	if (json_unescape(string, &rec->text) < 0)
		return NO_MEMORY;
	*text = rec->text.n ? buf_slice(&rec->text) : slice_of("");
	return READ;
}

enum outcome
recording_bad(struct record *r, struct slice at, const char *what)
{
	r->kind = RECORD_BAD;
	r->error.at = (size_t)(at.p - r->raw.p) + 1;
	r->error.what = what;
	return READ;
}

enum outcome
recording_text(struct recording *rec, struct record *r, enum record_kind kind, struct slice string)
{
	if (json_type(string) != JSON_STRING)
		return recording_bad(r, string, "expected a string");
	r->kind = kind;
	return recording_unescape(rec, string, &r->text);
}

static bool
is_name(char c, bool first)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || (!first && byte_is_digit(c));
}

/* The name in the ${NAME} at p; its p is NULL if there is none. */
static struct slice
name_at(const char *p, const char *end)
{
	const char *from = p + 2, *to = from;

	while (to < end && is_name(*to, to == from))
		to++;
	return end - p > 2 && p[1] == '{' && to > from && to < end && *to == '}' ? slice_between(from, to) : slice(NULL, 0);
}

/* Appends the value of a variable, escaped for a JSON string. 1; 0: the variable is not set; -1 out of memory. */
static int
put_value(struct recording *rec, struct slice name)
{
	size_t before = rec->expanded.n;
	const char *value;

	rec->why.n = 0;
	if (buf_add_slice(&rec->why, name) < 0 || !buf_string(&rec->why))
		return -1;
	value = getenv(rec->why.p);
	if (!value)
		return 0;
	if (json_quote(slice_of(value), &rec->expanded) < 0)
		return -1;
	/* Removes the quotes. */
	rec->expanded.n -= 2;
	memmove(rec->expanded.p + before, rec->expanded.p + before + 1, rec->expanded.n - before);
	return 1;
}

/* Replaces ${NAME} by the variable, and $${NAME} by ${NAME}. */
static enum outcome
expand(struct recording *rec, struct record *r, struct slice *text)
{
	const char *from = text->p, *end = text->p + text->n, *p = from;
	struct slice name;
	int set;

	rec->expanded.n = 0;
	for (; (p = memchr(p, '$', (size_t)(end - p))); p++) {
		if (end - p > 2 && p[1] == '$' && name_at(p + 1, end).p) {
			if (buf_add_slice(&rec->expanded, slice_between(from, ++p)) < 0)
				return NO_MEMORY;
			from = p + 1;
			continue;
		}
		name = name_at(p, end);
		if (!name.p)
			continue;
		if (buf_add_slice(&rec->expanded, slice_between(from, p)) < 0 || (set = put_value(rec, name)) < 0)
			return NO_MEMORY;
		if (!set && (buf_add_string(&rec->why, " is not set in the environment") < 0 || !buf_string(&rec->why)))
			return NO_MEMORY;
		if (!set) {
			r->kind = RECORD_BAD;
			r->error = (struct json_error){(size_t)(p - text->p) + 1, rec->why.p};
			return READ;
		}
		p = name.p + name.n;
		from = p + 1;
	}
	if (buf_add_slice(&rec->expanded, slice_between(from, end)) < 0)
		return NO_MEMORY;
	*text = buf_slice(&rec->expanded);
	return READ;
}

enum outcome
recording_message(struct recording *rec, struct record *r, struct slice text)
{
	if (rec->environment && memchr(text.p, '$', text.n)) {
		if (expand(rec, r, &text) == NO_MEMORY)
			return NO_MEMORY;
		if (r->kind == RECORD_BAD)
			return READ;
	}
	r->text = text;
	r->kind = shapes_scan(&rec->shapes, text, &r->msg, &r->error) == MSG_NOISE ? RECORD_NOISE : RECORD_MESSAGE;
	return READ;
}

enum outcome
recording_other_hop(struct recording *rec, const uint64_t *number, struct slice name)
{
	SCOPED struct buf text = {0}, plain = {0};
	struct slice known = name.p ? json_text(name, &plain) : name;

	rec->held = true;
	if ((number && buf_printf(&text, "%" PRIu64 "%s", *number, known.n ? " " : "") < 0) || buf_add_slice(&text, known) < 0)
		return NO_MEMORY;
	return text_list(&rec->others, buf_slice(&text)) < 0 ? NO_MEMORY : SKIPPED;
}
