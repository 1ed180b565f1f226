#include "cmd/acp-tap/whole.h"

#include "lib/base/text.h"

enum { INDENT = 2, MARGIN = 4 };

static int
new_line(struct buf *to, size_t depth)
{
	return buf_printf(to, "\n%*s", (int)(MARGIN + INDENT * depth), "");
}

/* The string that begins at p. Returns its end, or NULL out of memory. */
static const char *
put_string(struct buf *to, const char *p)
{
	const char *from = p++;

	for (; *p != '"'; p++)
		p += *p == '\\';
	p++;
	return text_plain(to, slice_between(from, p)) < 0 ? NULL : p;
}

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* A bracket, a comma or a colon; p is behind it, and set behind an empty object's other bracket. */
static int
put_mark(struct buf *to, char mark, const char **p, const char *end, size_t *depth)
{
	const char *next = *p;

	switch (mark) {
	case '{':
	case '[':
		while (next < end && is_space(*next))
			next++;
		if (next < end && (*next == '}' || *next == ']')) {
			*p = next + 1;
			return buf_add_string(to, mark == '{' ? "{}" : "[]");
		}
		return buf_add(to, &mark, 1) < 0 || new_line(to, ++*depth) < 0 ? -1 : 0;
	case '}':
	case ']':
		return new_line(to, --*depth) < 0 || buf_add(to, &mark, 1) < 0 ? -1 : 0;
	case ',':
		return buf_add(to, &mark, 1) < 0 || new_line(to, *depth) < 0 ? -1 : 0;
	case ':':
		return buf_add_string(to, ": ");
	default:
		return buf_add(to, &mark, 1);
	}
}

int
whole_put_json(struct buf *to, struct slice json)
{
	const char *p = json.p, *end = json.p + json.n;
	size_t depth = 0;

	if (buf_printf(to, "%*s", MARGIN, "") < 0)
		return -1;
	while (p < end) {
		if (*p == '"') {
			if (!(p = put_string(to, p)))
				return -1;
		} else if (is_space(*p)) {
			p++;
		} else {
			char mark = *p++;

			if (put_mark(to, mark, &p, end, &depth) < 0)
				return -1;
		}
	}
	return buf_add(to, "\n", 1);
}

int
whole_put_text(struct buf *to, struct slice text)
{
	return buf_printf(to, "%*s", MARGIN, "") < 0 || text_plain(to, text) < 0 ? -1 : buf_add(to, "\n", 1);
}
