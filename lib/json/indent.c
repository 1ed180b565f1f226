/* Indents JSON text for people. */
#include "lib/json/json.h"

/* Indentation ends when the text has grown to GROWTH times its size and LITTLE bytes more. */
enum { INDENT = 2, DEEPEST = 64, GROWTH = 8, LITTLE = 64 * 1024 };

struct indent {
	struct buf *to;
	int (*put)(struct buf *, struct slice);
	size_t margin, most;
};

static int
new_line(const struct indent *in, size_t depth)
{
	if (in->to->n > in->most)
		return 0;
	return buf_printf(in->to, "\n%*s", (int)(in->margin + INDENT * (depth < DEEPEST ? depth : DEEPEST)), "");
}

static int
put_value(const struct indent *in, struct json_iter *it, size_t depth)
{
	struct buf *to = in->to;
	struct json_iter inner;
	struct slice key;
	bool any = false;
	int r;

	if (!json_enter(it, &inner))
		return in->put(to, json_value(it));
	r = buf_add(to, it->at, 1);
	for (; r == 0 && json_step(&inner, &key); any = true) {
		r = any ? buf_add(to, ",", 1) : 0;
		r |= new_line(in, depth + 1);
		if (key.p)
			r |= -(in->put(to, key) || buf_add(to, ": ", 2));
		r |= put_value(in, &inner, depth + 1);
	}
	if (any)
		r |= new_line(in, depth);
	r |= buf_add(to, *it->at == '{' ? "}" : "]", 1);
	json_leave(it, &inner);
	return r;
}

int
json_indent(struct buf *to, struct slice json, size_t margin, int (*put)(struct buf *, struct slice))
{
	struct indent in = {.to = to, .put = put, .margin = margin, .most = to->n + GROWTH * json.n + LITTLE};
	struct json_iter it = {.in = json, .at = json.p};

	return put_value(&in, &it, 0);
}
