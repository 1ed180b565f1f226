#include "cmd/acp-diff/report.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "lib/base/text.h"

enum { WRITE_AT = 64 * 1024, PROMPT_MOST = 72 };

static void
write_out(struct report *r)
{
	size_t at = 0;
	ssize_t n;

	while (!r->failed && at < r->out.n) {
		n = write(r->fd, r->out.p + at, r->out.n - at);
		r->failed = n < 0 && errno != EINTR;
		at += n > 0 ? (size_t)n : 0;
	}
	r->out.n = 0;
}

/* --- what the formats share --- */

static const char *
entity(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	default:
		return NULL;
	}
}

void
put_slice(struct report *r, struct slice s)
{
	const char *name;

	if (!r->xml) {
		r->failed |= buf_add_slice(&r->out, s) < 0;
		return;
	}
	for (size_t i = 0; i < s.n; i++) {
		name = entity(s.p[i]);
		r->failed |= (name ? buf_add_string(&r->out, name) : buf_add(&r->out, s.p + i, 1)) < 0;
	}
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
	struct slice text;
	size_t n;

	r->failed |= item_message(r->diff, prompt, &m) < 0;
	text = acp_prompt_text(m.params);
	if (!text.p)
		return;
	text = slice(text.p + 1, text.n - 2);
	for (n = text.n; n > PROMPT_MOST;)
		for (n = PROMPT_MOST; n > 0 && ((unsigned char)text.p[n] & 0xc0) == 0x80;)
			n--;
	put(r, ": ");
	put_plain(r, slice(text.p, n));
	put(r, n < text.n ? "…" : "");
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

/* --- all of it --- */

static const struct {
	void (*begin)(struct report *);
	void (*section)(struct report *, const struct section *);
	void (*end)(struct report *);
} formats[] = {
	[FORMAT_TEXT] = {NULL, report_text, report_text_end},
	[FORMAT_JSON] = {NULL, report_json, report_json_end},
	[FORMAT_JUNIT] = {report_junit_begin, report_junit, report_junit_end},
};

int
report(struct diff *d, enum format format, int fd, bool color)
{
	struct report r = {.diff = d, .fd = fd, .color = color && format == FORMAT_TEXT};

	if (formats[format].begin)
		formats[format].begin(&r);
	for (size_t i = 0; !r.failed && i < d->sections.n; i++) {
		formats[format].section(&r, d->sections.at[i]);
		if (r.out.n >= WRITE_AT)
			write_out(&r);
	}
	formats[format].end(&r);
	write_out(&r);
	buf_free(&r.out);
	buf_free(&r.text);
	buf_free(&r.value[RECORDED]);
	buf_free(&r.value[LIVE]);
	return r.failed ? -1 : 0;
}
