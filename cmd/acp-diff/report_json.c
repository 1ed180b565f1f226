/* For programs: an object a line for each difference, and one at the end. */
#include <inttypes.h>

#include "cmd/acp-diff/report.h"

static void
put_value(struct report *r, const char *name, struct slice value)
{
	struct buf *out = out_buf(&r->out);
	size_t from;

	if (!value.p)
		return;
	put(r, ",\"%s\":", name);
	from = out->n;
	put_slice(r, value);
	/* A line is a line: white space in a message may be a newline only where somebody put it there by hand. */
	for (; from < out->n; from++)
		if (out->p[from] == '\n' || out->p[from] == '\r')
			out->p[from] = ' ';
}

static void
put_text(struct report *r, const char *name, struct slice text)
{
	put(r, ",\"%s\":", name);
	r->failed |= json_quote(text, out_buf(&r->out)) < 0;
}

static void
put_line(struct report *r, const char *name, const struct item *item)
{
	if (item)
		put(r, ",\"%s\":%" PRIu64, name, item->line);
}

static void
put_turn(struct report *r, const struct turn *t)
{
	struct msg m = {0};

	put(r, "{\"turn\":%" PRIu64, t->number);
	put_value(r, "session", t->session->id);
	if (t->prompt)
		r->failed |= item_message(r->diff, t->prompt, &m) < 0;
	if (m.params.p)
		put_value(r, "prompt", acp_prompt_text(m.params));
}

static void
put_found(struct report *r, const struct section *s, const struct found *f)
{
	static const char *const kinds[] = {"value", "missing", "unexpected", "id", "order"};
	const struct item *item = f->item[f->item[RECORDED] ? RECORDED : LIVE];

	put_turn(r, s->turn[s->turn[RECORDED] ? RECORDED : LIVE]);
	put(r, ",\"from\":\"%s\"", acp_side_name((enum acp_side)item->from));
	r->value[LIVE].n = 0;
	r->failed |= item_label(r->diff, item, &r->value[LIVE]) < 0;
	put_text(r, "message", buf_slice(&r->value[LIVE]));
	put_line(r, "recordedLine", f->item[RECORDED]);
	put_line(r, "liveLine", f->item[LIVE]);
	put(r, ",\"difference\":\"%s\"", f->moved ? "moved" : kinds[f->kind]);
	/* What makes no difference has no path. */
	if (!f->moved || f->kind == DIFFERENCE_ORDER)
		put_text(r, "path", f->path);
	if (!f->moved) {
		put_value(r, "recorded", report_value(r, f, RECORDED));
		put_value(r, "live", report_value(r, f, LIVE));
	}
	put(r, "}\n");
}

void
report_json(struct report *r, const struct section *s)
{
	for (size_t i = 0; !r->failed && i < s->found.n; i++)
		put_found(r, s, s->found.at[i]);
}

void
report_json_end(struct report *r)
{
	const struct diff *d = r->diff;

	put(r, "{\"turns\":%zu,\"differing\":%" PRIu64 ",\"messages\":%" PRIu64 ",\"differences\":%" PRIu64 ",\"moved\":%" PRIu64
		"}\n", d->sections.n, d->differing, d->messages, d->differences, d->moved);
}
