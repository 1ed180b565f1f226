/* Compares, unescapes and quotes strings. */
#include "lib/json/json.h"

#include "lib/base/text.h"
#include "lib/json/json_set.h"

/* U+FFFD, which replaces characters that UTF-8 cannot spell. */
static const char replacement[] = "\xef\xbf\xbd";

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

static bool
escaped(struct slice s)
{
	return s.n > 0 && memchr(s.p, '\\', s.n);
}

/* Is the string a, without its quotes, the same text as b? json: b is a string without its quotes, too. */
static bool
equal(struct slice a, struct slice b, bool json)
{
	struct text s, t;
	int32_t code;

	if (slice_eq(a, b) && (json || !escaped(a)))
		return true;
	if (!escaped(a) && !(json && escaped(b)))
		return false;
	s = (struct text){a.p, a.p + a.n, true, json};
	t = (struct text){b.p, b.p + b.n, json, json};
	do {
		code = text_next(&s);
		if (code != text_next(&t))
			return false;
	} while (code >= 0);
	return true;
}

bool
json_string_eq(struct slice a, struct slice b)
{
	return is_string(a) && is_string(b) && equal(inside(a), inside(b), true);
}

bool
json_string_is_slice(struct slice string, struct slice text)
{
	return is_string(string) && equal(inside(string), text, false);
}

bool
json_string_is(struct slice string, const char *text)
{
	return json_string_is_slice(string, slice_of(text));
}

bool
json_string_in(struct slice string, const char *const *words)
{
	while (*words && !json_string_is(string, *words))
		words++;
	return *words;
}

int
json_want_key(const struct json_want *want, struct slice string)
{
	for (size_t i = 0; i < want->keys->n; i++)
		if (json_string_is(string, want->keys->name[i]))
			return (int)i;
	return -1;
}

static int
unescape(struct slice string, bool exact, struct buf *to)
{
	struct slice s = inside(string);
	struct text t = {s.p, s.p + s.n, true, exact};
	const char *stop;

	/* An escape is never shorter than its text; a lone surrogate has 6 bytes, its text 3. */
	if (s.n == 0)
		return 0;
	if (buf_reserve(to, s.n + 4) < 0)
		return -1;
	while (t.p < t.end) {
		stop = memchr(t.p, '\\', (size_t)(t.end - t.p));
		(void)buf_add_slice(to, slice_between(t.p, stop ? stop : t.end)); /* there is room */
		t.p = stop ? stop : t.end;
		if (stop)
			(void)text_put(to, text_next(&t));
	}
	return 0;
}

int
json_unescape(struct slice string, struct buf *to)
{
	return unescape(string, false, to);
}

static struct slice
text_of_json(struct slice string, bool exact, struct buf *room)
{
	if (!is_string(string))
		return slice(NULL, 0);
	if (!escaped(string))
		return inside(string);
	room->n = 0;
	return unescape(string, exact, room) < 0 ? slice(NULL, 0) : buf_slice(room);
}

struct slice
json_text(struct slice string, struct buf *room)
{
	return text_of_json(string, false, room);
}

struct slice
json_exact(struct slice string, struct buf *room)
{
	return text_of_json(string, true, room);
}

/* Does this byte stand for itself in a string? */
static bool
plain(char c)
{
	unsigned char u = (unsigned char)c;

	return u >= 0x20 && u < 0x80 && u != '"' && u != '\\';
}

/* Appends a quote, a backslash, a control character, or U+FFFD for a byte that is not UTF-8. */
static int
quote_special(char c, struct buf *to)
{
	static const char bytes[] = "\b\f\n\r\t\"\\", names[] = "bfnrt\"\\";
	const char *found = c ? strchr(bytes, c) : NULL;
	char short_form[2] = {'\\', 0};

	if ((unsigned char)c >= 0x80)
		return buf_add(to, replacement, 3);
	if (!found)
		return buf_printf(to, "\\u%04x", (unsigned)(unsigned char)c);
	short_form[1] = names[found - bytes];
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
		while (p < end && (unsigned char)*p >= 0x80 && (n = text_utf8_length(p, end)) > 0)
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
json_format(struct buf *to, const char *format, ...)
{
	char digits[SLICE_DIGITS];
	va_list args;
	int r = 0;

	va_start(args, format);
	for (size_t n; *format && r == 0; format += n) {
		n = *format == '%' ? 2 : strcspn(format, "%");
		if (*format != '%')
			r = buf_add(to, format, n);
		else if (format[1] == 's')
			r = buf_add_string(to, va_arg(args, const char *));
		else if (format[1] == 'u')
			r = buf_add_slice(to, slice_digits(va_arg(args, uint64_t), digits));
		else if (format[1] == 'b')
			r = buf_add_slice(to, va_arg(args, struct slice));
		else
			r = format[1] == 'j' ? json_quote(va_arg(args, struct slice), to) : text_plain(to, va_arg(args, struct slice));
	}
	va_end(args);
	return r;
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

int
json_add_object(struct buf *to, const struct json_member *m)
{
	size_t was = to->n;
	int r = buf_add(to, "{", 1);

	for (; r == 0 && m->name; m++)
		r = json_add_member(to, m->name, m->value);
	if (r == 0)
		r = buf_add(to, "}", 1);
	if (r < 0)
		to->n = was;
	return r;
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
		n = text_utf8_length(p, end);
		if (n == 0)
			return false;
		p += n;
	}
	return true;
}
