/* JSON text, indented. */
#include "cmd/acp-export/page.h"

/* GROWTH: text that would grow to so many times its size, and LITTLE more, goes on without being indented. */
enum { INDENT = 2, DEEPEST = 64, GROWTH = 8, LITTLE = 64 * 1024 };

static int
new_line(struct buf *to, size_t depth, size_t most)
{
	if (to->n > most)
		return 0;
	return buf_printf(to, "\n%*s", (int)(INDENT * (depth < DEEPEST ? depth : DEEPEST)), "");
}

static const char *
string_end(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		p += *p == '\\';
	return p < end ? p + 1 : end;
}

static bool
is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int
put_mark(struct buf *to, const char *p, const char *end, size_t most, size_t *depth, bool *empty)
{
	char c = *p;

	if (c == '{' || c == '[') {
		for (p++; p < end && is_space(*p); p++)
			;
		*empty = p < end && (*p == '}' || *p == ']');
		++*depth;
		return buf_add(to, &c, 1) < 0 || (!*empty && new_line(to, *depth, most) < 0) ? -1 : 0;
	}
	if (c == '}' || c == ']') {
		--*depth;
		if (!*empty && new_line(to, *depth, most) < 0)
			return -1;
		*empty = false;
		return buf_add(to, &c, 1);
	}
	if (buf_add(to, &c, 1) < 0)
		return -1;
	return c == ',' ? new_line(to, *depth, most) : c == ':' ? buf_add(to, " ", 1) : 0;
}

int
json_indent(struct buf *to, struct slice json)
{
	const char *p = json.p, *end = json.p + json.n, *after;
	size_t depth = 0, most = to->n + GROWTH * json.n + LITTLE;
	bool empty = false;

	while (p < end) {
		if (*p == '"') {
			after = string_end(p, end);
			if (buf_add(to, p, (size_t)(after - p)) < 0)
				return -1;
			p = after;
		} else {
			if (!is_space(*p) && put_mark(to, p, end, most, &depth, &empty) < 0)
				return -1;
			p++;
		}
	}
	return 0;
}
