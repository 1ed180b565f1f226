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

static int
put_value(struct buf *to, struct json_iter *it, size_t depth, size_t most)
{
	struct json_iter inner;
	struct slice key;
	bool any = false;
	int r;

	if (!json_enter(it, &inner))
		return buf_add_slice(to, json_value(it));
	r = buf_add(to, it->at, 1);
	for (; r == 0 && json_step(&inner, &key); any = true) {
		r = any ? buf_add(to, ",", 1) : 0;
		r |= new_line(to, depth + 1, most);
		if (key.p)
			r |= -(buf_add_slice(to, key) || buf_add(to, ": ", 2));
		r |= put_value(to, &inner, depth + 1, most);
	}
	if (any)
		r |= new_line(to, depth, most);
	r |= buf_add(to, *it->at == '{' ? "}" : "]", 1);
	json_leave(it, &inner);
	return r;
}

int
json_indent(struct buf *to, struct slice json)
{
	struct json_iter it = {.in = json, .at = json.p};

	return put_value(to, &it, 0, to->n + GROWTH * json.n + LITTLE);
}
