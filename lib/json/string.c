#include "lib/json/json.h"

#include "lib/json/json_set.h"

/* U+FFFD, which stands for what cannot be said in UTF-8. */
static const char replacement[] = "\xef\xbf\xbd";

unsigned
json_utf8_length(const char *p, const char *end)
{
	const unsigned char *u = (const unsigned char *)p;
	unsigned char least = 0x80, most = 0xbf;
	unsigned n;

	if (u[0] < 0x80)
		return 1;
	if (u[0] < 0xc2 || u[0] > 0xf4)
		return 0;
	n = u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : 4;
	if ((size_t)(end - p) < n)
		return 0;
	/* The second byte keeps out overlong forms, surrogates and what is above U+10FFFF. */
	if (u[0] == 0xe0)
		least = 0xa0;
	else if (u[0] == 0xed)
		most = 0x9f;
	else if (u[0] == 0xf0)
		least = 0x90;
	else if (u[0] == 0xf4)
		most = 0x8f;
	if (u[1] < least || u[1] > most)
		return 0;
	for (unsigned i = 2; i < n; i++)
		if (u[i] < 0x80 || u[i] > 0xbf)
			return 0;
	return n;
}

static bool
is_string(struct slice value)
{
	return value.n >= 2 && *value.p == '"';
}

static struct slice
inside(struct slice string)
{
	if (string.n < 2)
		return slice("", 0);
	return slice(string.p + 1, string.n - 2);
}

static unsigned
hex4(const char *p)
{
	unsigned v = 0;

	for (int i = 0; i < 4; i++) {
		unsigned c = (unsigned char)p[i];

		v = v << 4 | ((c & 15) + (c > '9' ? 9 : 0));
	}
	return v & 0xffff;
}

static size_t
encode(unsigned long c, char *to)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* A \u escape, or a pair of them; *p stands behind the 'u' and then behind the last digit. */
static size_t
unescape_unicode(const char **p, const char *end, char *to)
{
	unsigned long c, low;

	if (end - *p < 4) {
		*p = end;
		return encode(0xfffd, to);
	}
	c = hex4(*p);
	*p += 4;
	if (c < 0xd800 || c > 0xdfff)
		return encode(c, to);
	if (c < 0xdc00 && end - *p >= 6 && (*p)[0] == '\\' && (*p)[1] == 'u') {
		low = hex4(*p + 2);
		if (low >= 0xdc00 && low <= 0xdfff) {
			*p += 6;
			return encode(0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00), to);
		}
	}
	return encode(0xfffd, to);
}

/* The bytes that the escape at *p, a backslash, means: one to four; *p then stands behind it. */
static size_t
unescape(const char **p, const char *end, char *to)
{
	static const char names[] = "bfnrt", bytes[] = "\b\f\n\r\t";
	const char *name;
	char c;

	if (++*p == end)
		return 0;
	c = *(*p)++;
	if (c == 'u')
		return unescape_unicode(p, end, to);
	name = c ? strchr(names, c) : NULL;
	*to = name ? bytes[name - names] : c;
	return 1;
}

/* Reads what a string means, a byte at a time. */
struct reader {
	const char *p, *end;
	char out[4];
	size_t at, n;
};

static int
read_byte(struct reader *r)
{
	if (r->at < r->n)
		return (unsigned char)r->out[r->at++];
	if (r->p == r->end)
		return -1;
	if (*r->p != '\\')
		return (unsigned char)*r->p++;
	r->n = unescape(&r->p, r->end, r->out);
	r->at = 1;
	return r->n > 0 ? (unsigned char)r->out[0] : -1;
}

static bool
escaped(struct slice s)
{
	return s.n > 0 && memchr(s.p, '\\', s.n);
}

bool
json_string_eq(struct slice a, struct slice b)
{
	struct reader x = {0}, y = {0};
	int c;

	if (!is_string(a) || !is_string(b))
		return false;
	a = inside(a);
	b = inside(b);
	if (slice_eq(a, b))
		return true;
	if (!escaped(a) && !escaped(b))
		return false;
	x.p = a.p;
	x.end = a.p + a.n;
	y.p = b.p;
	y.end = b.p + b.n;
	do {
		c = read_byte(&x);
		if (c != read_byte(&y))
			return false;
	} while (c >= 0);
	return true;
}

bool
json_string_is_slice(struct slice string, struct slice text)
{
	struct reader x = {0};

	if (!is_string(string))
		return false;
	string = inside(string);
	if (slice_eq(string, text))
		return true;
	if (!escaped(string))
		return false;
	x.p = string.p;
	x.end = string.p + string.n;
	for (size_t i = 0; i < text.n; i++)
		if (read_byte(&x) != (unsigned char)text.p[i])
			return false;
	return read_byte(&x) < 0;
}

bool
json_string_is(struct slice string, const char *text)
{
	return json_string_is_slice(string, slice_of(text));
}

int
json_want_key(const struct json_want *want, struct slice string)
{
	for (size_t i = 0; i < want->keys->n; i++)
		if (json_string_is(string, want->keys->name[i]))
			return (int)i;
	return -1;
}

int
json_unescape(struct slice string, struct buf *to)
{
	struct slice s = inside(string);
	const char *p = s.p, *end = p + s.n, *stop;
	size_t n;

	/* An escape is never shorter than what it means: a lone surrogate is 6 bytes to 3. */
	if (s.n == 0)
		return 0;
	if (buf_reserve(to, s.n + 4) < 0)
		return -1;
	while (p < end) {
		stop = memchr(p, '\\', (size_t)(end - p));
		n = (size_t)((stop ? stop : end) - p);
		memcpy(to->p + to->n, p, n);
		to->n += n;
		p += n;
		if (stop)
			to->n += unescape(&p, end, to->p + to->n);
	}
	return 0;
}

/* Can this byte stand in a string as it is? */
static bool
plain(char c)
{
	unsigned char u = (unsigned char)c;

	return u >= 0x20 && u < 0x80 && u != '"' && u != '\\';
}

/* A quote, a backslash, a control character, or a byte that is not UTF-8. */
static int
quote_special(char c, struct buf *to)
{
	static const char bytes[] = "\b\f\n\r\t\"\\", names[] = "bfnrt\"\\";
	const char *known = c ? strchr(bytes, c) : NULL;
	char short_form[2] = {'\\', 0};

	if ((unsigned char)c >= 0x80)
		return buf_add(to, replacement, 3);
	if (!known)
		return buf_printf(to, "\\u%04x", (unsigned)(unsigned char)c);
	short_form[1] = names[known - bytes];
	return buf_add(to, short_form, 2);
}

static int
quote_inside(const char *p, const char *end, struct buf *to)
{
	const char *from;
	unsigned n;

	while (p < end) {
		for (from = p; p < end && plain(*p); p++)
			;
		while (p < end && (unsigned char)*p >= 0x80 && (n = json_utf8_length(p, end)) > 0)
			p += n;
		if (buf_add(to, from, (size_t)(p - from)) < 0)
			return -1;
		if (p == end || plain(*p))
			continue;
		if (quote_special(*p, to) < 0)
			return -1;
		p++;
	}
	return 0;
}

int
json_quote(struct slice text, struct buf *to)
{
	size_t was = to->n;

	if (buf_reserve(to, text.n + 2) == 0 && buf_add(to, "\"", 1) == 0 &&
		(text.n == 0 || quote_inside(text.p, text.p + text.n, to) == 0) &&
		buf_add(to, "\"", 1) == 0)
		return 0;
	to->n = was;
	return -1;
}

int
json_add_member(struct buf *to, const char *name, struct slice value)
{
	const char *before = to->n > 0 && to->p[to->n - 1] != '{' ? "," : "";
	size_t was = to->n;

	if (!value.p || (buf_printf(to, "%s\"%s\":", before, name) == 0 && buf_add_slice(to, value) == 0))
		return 0;
	to->n = was;
	return -1;
}

bool
json_utf8(struct slice text)
{
	const char *p = text.p, *end;
	uint64_t eight;
	unsigned n;

	if (text.n == 0)
		return true;
	end = p + text.n;
	while (p < end) {
		if (end - p >= 8) {
			memcpy(&eight, p, 8);
			if (!(eight & 0x8080808080808080)) {
				p += 8;
				continue;
			}
		}
		n = json_utf8_length(p, end);
		if (n == 0)
			return false;
		p += n;
	}
	return true;
}
