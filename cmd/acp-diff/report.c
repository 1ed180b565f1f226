#include "cmd/acp-diff/report.h"

#include <inttypes.h>

#include "lib/base/text.h"

enum { PROMPT_MOST = 72 };

void
put_slice(struct report *r, struct slice s)
{
	struct buf *out = out_buf(&r->out);

	r->failed |= (r->xml ? text_xml(out, s) : buf_add_slice(out, s)) < 0;
}

void
put(struct report *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	r->text.n = 0;
	r->failed |= buf_vprintf(&r->text, format, args) < 0;
	va_end(args);
	put_slice(r, buf_slice(&r->text));
}

void
put_plain(struct report *r, struct slice s)
{
	r->text.n = 0;
	r->failed |= text_plain(&r->text, s) < 0;
	put_slice(r, buf_slice(&r->text));
}

void
put_label(struct report *r, const struct item *item)
{
	r->value[LIVE].n = 0;
	r->failed |= item_label(r->diff, item, &r->value[LIVE]) < 0;
	put_plain(r, buf_slice(&r->value[LIVE]));
}

static void
put_prompt(struct report *r, const struct item *prompt)
{
	struct msg m = {0};
	struct slice text, start;

	r->failed |= item_message(r->diff, prompt, &m) < 0;
	text = acp_prompt_text(m.params);
	if (!text.p)
		return;
	text = slice(text.p + 1, text.n - 2);
	start = slice_cut(text, PROMPT_MOST);
	put(r, ": ");
	put_plain(r, start);
	put(r, start.n < text.n ? "…" : "");
}

void
put_title(struct report *r, const struct section *s)
{
	const struct turn *t = s->turn[s->turn[RECORDED] ? RECORDED : LIVE];

	if (t->session->number == 0) {
		put(r, "no session");
		return;
	}
	put(r, "session %" PRIu64, t->session->number);
	if (t->number)
		put(r, ", turn %" PRIu64, t->number);
	else
		put(r, ", before its first turn");
	if (t->prompt)
		put_prompt(r, t->prompt);
}

struct slice
report_value(struct report *r, const struct found *f, enum side side)
{
	if (!f->whole || f->moved || !f->item[side])
		return f->value[side];
	r->failed |= item_value(r->diff, f->item[side], &r->value[side]) < 0;
	return buf_slice(&r->value[side]);
}
