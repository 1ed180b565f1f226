/* The scanner that goes byte by byte, and finds the error and its place. */
#include "lib/base/text.h"
#include "lib/json/json_set.h"

/* The state of a scan. */
struct plain {
	const char *p, *begin, *end;
	const struct json_want *want;
	int member;        /* the wanted member whose value is being read, or -1 */
	const char *value; /* the beginning of that value */
	unsigned depth, most;
	struct json_error *error;
	unsigned char object[JSON_DEPTH_MOST / 8 + 1]; /* a bit for each open container: is it an object? */
};

static bool
wrong(struct plain *s, const char *at, const char *what)
{
	if (s->error)
		*s->error = (struct json_error){(size_t)(at - s->begin) + 1, what};
	return false;
}

static bool
in_object(const struct plain *s)
{
	return s->object[s->depth >> 3] >> (s->depth & 7) & 1;
}

static bool
open(struct plain *s)
{
	unsigned char bit;

	if (s->depth == s->most)
		return wrong(s, s->p, "nested too deep");
	s->depth++;
	bit = (unsigned char)(1U << (s->depth & 7));
	if (*s->p++ == '{')
		s->object[s->depth >> 3] |= bit;
	else
		s->object[s->depth >> 3] &= (unsigned char)~bit;
	return true;
}

/* Is the next byte after white space this one? Then steps over it. */
static bool
accept_char(struct plain *s, char c)
{
	s->p = json_skip_space(s->p, s->end);
	if (s->p == s->end || *s->p != c)
		return false;
	s->p++;
	return true;
}

const char *
json_escape_end(const char *p, const char *end, const char **stop)
{
	if (++p == end || *p == '\0' || !strchr("\"\\/bfnrtu", *p)) {
		*stop = p;
		return NULL;
	}
	if (*p++ != 'u')
		return p;
	for (const char *hex = p; p < hex + 4; p++) {
		if (p == end || *p == '\0' || !strchr("0123456789abcdefABCDEF", *p)) {
			*stop = p;
			return NULL;
		}
	}
	return p;
}

/* Sets the top bit of the first of eight bytes that is zero, and perhaps those of later bytes. */
static inline uint64_t
zeros(uint64_t v)
{
	return (v - 0x0101010101010101) & ~v & 0x8080808080808080;
}

/* Steps over ordinary bytes of a string, eight at a time if possible. */
static const char *
skip_ordinary(const char *p, const char *end)
{
	static const uint64_t each = 0x0101010101010101;
	uint64_t v;

	for (; end - p >= 8; p += 8) {
		memcpy(&v, p, 8);
		/* Not ASCII, or with the top three bits clear a control character. */
		if ((v & each * 0x80) | zeros(v & each * 0xe0))
			break;
		if (zeros(v ^ each * '"') | zeros(v ^ each * '\\'))
			break;
	}
	while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20 && (unsigned char)*p < 0x80)
		p++;
	return p;
}

/* The quote that ends the string whose inside begins at p, or end; NULL for a wrong byte, with *at and *what. */
static const char *
inside_end(const char *p, const char *end, const char **at, const char **what)
{
	unsigned n;

	for (;;) {
		p = skip_ordinary(p, end);
		if (p == end || *p == '"')
			return p;
		*at = p;
		if (*p == '\\') {
			p = json_escape_end(p, end, at);
			*what = *at == end ? "the text ends in a string" : "not an escape";
			if (!p)
				return NULL;
			continue;
		}
		*what = (unsigned char)*p < 0x20 ? "control character in a string" : "not UTF-8";
		n = (unsigned char)*p < 0x20 ? 0 : text_utf8_length(p, end);
		if (n == 0)
			return NULL;
		p += n;
	}
}

static bool
string(struct plain *s)
{
	const char *at, *what, *p = inside_end(s->p + 1, s->end, &at, &what);

	if (!p)
		return wrong(s, at, what);
	if (p == s->end)
		return wrong(s, s->end, "the text ends in a string");
	s->p = p + 1;
	return true;
}

bool
json_is_inside(struct slice text)
{
	const char *end = text.p + text.n, *at, *what;

	return inside_end(text.p, end, &at, &what) == end;
}

/* The end of the digits at p; NULL if there are none, with *stop at the wrong byte. */
static const char *
digits_end(const char *p, const char *end, const char **stop)
{
	const char *from = p;

	while (p < end && *p >= '0' && *p <= '9')
		p++;
	*stop = p;
	return p > from ? p : NULL;
}

const char *
json_number_end(const char *p, const char *end, const char **stop)
{
	const char *from;

	if (p < end && *p == '-')
		p++;
	from = p;
	p = digits_end(p, end, stop);
	if (p && *from == '0' && p > from + 1) {
		*stop = from + 1;
		return NULL;
	}
	if (p && p < end && *p == '.')
		p = digits_end(p + 1, end, stop);
	if (p && p < end && (*p == 'e' || *p == 'E')) {
		p++;
		if (p < end && (*p == '+' || *p == '-'))
			p++;
		p = digits_end(p, end, stop);
	}
	return p;
}

static bool
number(struct plain *s)
{
	const char *stop, *p = json_number_end(s->p, s->end, &stop);

	if (!p) {
		if (stop < s->end && *stop >= '0' && *stop <= '9')
			return wrong(s, stop, "digit after a leading zero");
		return wrong(s, stop, "expected a digit");
	}
	s->p = p;
	return true;
}

static bool
literal(struct plain *s, const char *name)
{
	size_t n = strlen(name);

	if ((size_t)(s->end - s->p) < n || memcmp(s->p, name, n) != 0)
		return wrong(s, s->p, "expected a value");
	s->p += n;
	return true;
}

/* Reads a string, number or name. */
static bool
scalar(struct plain *s)
{
	switch (*s->p) {
	case '"':
		return string(s);
	case 't':
		return literal(s, "true");
	case 'f':
		return literal(s, "false");
	case 'n':
		return literal(s, "null");
	default:
		if (*s->p == '-' || (*s->p >= '0' && *s->p <= '9'))
			return number(s);
		return wrong(s, s->p, "expected a value");
	}
}

/* Reads a member's name and its colon. */
static bool
name(struct plain *s)
{
	const char *from;

	s->p = from = json_skip_space(s->p, s->end);
	if (from == s->end || *from != '"')
		return wrong(s, from, "expected a member's name");
	if (!string(s))
		return false;
	if (s->depth == 1) {
		s->member = json_want_key(s->want, slice_between(from, s->p));
		if (s->member >= 0 && s->want->values[s->member].p)
			return wrong(s, from, "duplicate member");
	}
	if (!accept_char(s, ':'))
		return wrong(s, s->p, "expected ':'");
	if (s->depth == 1)
		s->value = json_skip_space(s->p, s->end);
	return true;
}

/* After a value: closes the containers that end here, then goes to the next value, unless all are closed. */
static bool
after_value(struct plain *s)
{
	for (; s->depth > 0; s->depth--) {
		if (s->depth == 1 && s->member >= 0) {
			s->want->values[s->member] = slice_between(s->value, s->p);
			s->member = -1;
		}
		if (accept_char(s, ','))
			return in_object(s) ? name(s) : true;
		if (in_object(s) ? !accept_char(s, '}') : !accept_char(s, ']'))
			break;
	}
	if (s->depth == 0)
		return true;
	return wrong(s, s->p, in_object(s) ? "expected ',' or '}'" : "expected ',' or ']'");
}

/* Reads a value, or the beginning of a container that is not empty. */
static bool
value(struct plain *s)
{
	s->p = json_skip_space(s->p, s->end);
	if (s->p == s->end)
		return wrong(s, s->p, "expected a value");
	if (*s->p != '{' && *s->p != '[')
		return scalar(s) && after_value(s);
	if (!open(s))
		return false;
	if (!accept_char(s, in_object(s) ? '}' : ']'))
		return in_object(s) ? name(s) : true;
	s->depth--;
	return after_value(s);
}

enum json_type
json_plain(
	struct slice text, unsigned depth, const struct json_want *want, struct json_error *error)
{
	struct plain s;
	const char *first;

	s.begin = s.p = text.p;
	s.end = text.p + text.n;
	s.want = want;
	s.member = -1;
	s.depth = 0;
	s.most = depth;
	s.error = error;
	first = json_skip_space(s.p, s.end);
	do {
		if (!value(&s))
			return JSON_NONE;
	} while (s.depth > 0);
	s.p = json_skip_space(s.p, s.end);
	if (s.p < s.end) {
		wrong(&s, s.p, "text after the value");
		return JSON_NONE;
	}
	return json_type(slice_between(first, s.end));
}
