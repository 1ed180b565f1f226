/* For programs: an object a line for each difference, and one at the end. */
#include <inttypes.h>

#include "cmd/acp-diff/report.h"

static int
put_value(struct buf *to, const char *name, struct slice value)
{
	if (!value.p)
		return 0;
	if (buf_printf(to, ",\"%s\":", name) < 0)
		return -1;
	/* A line is a line: white space in a message may be a newline only where somebody put it there by hand. */
	for (const char *p = value.p, *end = p + value.n; p < end; p++)
		if (buf_add(to, *p == '\n' || *p == '\r' ? " " : p, 1) < 0)
			return -1;
	return 0;
}

static int
put_text(struct buf *to, const char *name, struct slice text)
{
	return buf_printf(to, ",\"%s\":", name) < 0 ? -1 : json_quote(text, to);
}

static int
put_line(struct buf *to, const char *name, const struct item *item)
{
	return item ? buf_printf(to, ",\"%s\":%" PRIu64, name, item->line) : 0;
}

static int
put_turn(struct report *r, const struct turn *t)
{
	struct buf *to = &r->out;
	struct msg m = {0};

	if (buf_printf(to, "{\"turn\":%" PRIu64, t->number) < 0 || put_value(to, "session", t->session->id) < 0)
		return -1;
	if (!t->prompt)
		return 0;
	return item_message(r->diff, t->prompt, &m) < 0 ? -1 : put_value(to, "prompt", acp_prompt_text(m.params));
}

static int
put_found(struct report *r, const struct section *s, const struct found *f)
{
	static const char *const kinds[] = {"value", "missing", "unexpected", "id", "order"};
	const struct item *item = f->item[f->item[RECORDED] ? RECORDED : LIVE];
	struct buf *to = &r->out;
	struct slice a, b;

	r->label.n = 0;
	if (put_turn(r, s->turn[s->turn[RECORDED] ? RECORDED : LIVE]) < 0 || item_label(r->diff, item, &r->label) < 0 ||
		buf_printf(to, ",\"from\":\"%s\"", acp_side_name(item->from)) < 0 ||
		put_text(to, "message", buf_slice(&r->label)) < 0 || put_line(to, "recordedLine", f->item[RECORDED]) < 0 ||
		put_line(to, "liveLine", f->item[LIVE]) < 0 ||
		buf_printf(to, ",\"difference\":\"%s\"", f->moved ? "moved" : kinds[f->kind]) < 0)
		return -1;
	/* Where it makes no difference it has no path. */
	if (f->moved)
		return f->kind == DIFFERENCE_ORDER ? put_text(to, "path", f->path) : 0;
	if (put_text(to, "path", f->path) < 0 || report_value(r, f, RECORDED, &a) < 0 || report_value(r, f, LIVE, &b) < 0)
		return -1;
	return put_value(to, "recorded", a) < 0 ? -1 : put_value(to, "live", b);
}

int
report_json(struct report *r, const struct section *s)
{
	for (size_t i = 0; i < s->found.n; i++)
		if (put_found(r, s, s->found.at[i]) < 0 || buf_add_string(&r->out, "}\n") < 0)
			return -1;
	return 0;
}
