#include "cmd/acp-diff/report.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "lib/base/text.h"

enum { WRITE_AT = 64 * 1024, PROMPT_MOST = 72 };

static int
write_out(struct report *r)
{
	size_t at = 0;
	ssize_t n;

	while (at < r->out.n) {
		n = write(r->fd, r->out.p + at, r->out.n - at);
		if (n < 0 && errno != EINTR)
			return -1;
		at += n > 0 ? (size_t)n : 0;
	}
	r->out.n = 0;
	return 0;
}

/* --- what the formats share --- */

int
report_value(struct report *r, const struct found *f, enum side side, struct slice *value)
{
	*value = f->value[side];
	if (!f->whole || f->moved || !f->item[side])
		return 0;
	if (item_value(r->diff, f->item[side], &r->value[side]) < 0)
		return -1;
	*value = buf_slice(&r->value[side]);
	return 0;
}

static int
put_prompt(struct report *r, struct buf *to, const struct item *prompt)
{
	struct slice text;
	struct msg m;
	size_t n;

	if (item_message(r->diff, prompt, &m) < 0)
		return -1;
	text = acp_prompt_text(m.params);
	if (!text.p)
		return 0;
	text = slice(text.p + 1, text.n - 2);
	for (n = text.n; n > PROMPT_MOST;)
		for (n = PROMPT_MOST; n > 0 && ((unsigned char)text.p[n] & 0xc0) == 0x80;)
			n--;
	if (buf_add_string(to, ": ") < 0 || text_plain(to, slice(text.p, n)) < 0)
		return -1;
	return n < text.n ? buf_add_string(to, "…") : 0;
}

int
report_put_title(struct report *r, struct buf *to, const struct section *s)
{
	const struct turn *t = s->turn[s->turn[RECORDED] ? RECORDED : LIVE];

	if (t->session->number == 0)
		return buf_add_string(to, "no session");
	if (buf_printf(to, "session %" PRIu64, t->session->number) < 0)
		return -1;
	if (t->number ? buf_printf(to, ", turn %" PRIu64, t->number) < 0 : buf_add_string(to, ", before its first turn") < 0)
		return -1;
	return t->prompt ? put_prompt(r, to, t->prompt) : 0;
}

static int
put_count(struct buf *to, uint64_t n, const char *what)
{
	return buf_printf(to, "%" PRIu64 " %s%s", n, what, n == 1 ? "" : "s");
}

int
report_put_sum(const struct diff *d, struct buf *to)
{
	if (d->differences == 0 ? buf_add_string(to, "no difference") < 0 : put_count(to, d->differences, "difference") < 0)
		return -1;
	if (d->differences && buf_printf(to, " in %" PRIu64 " of ", d->differing) < 0)
		return -1;
	if ((d->differences == 0 && buf_add_string(to, " in ") < 0) || put_count(to, d->sections.n, "turn") < 0 ||
		buf_add_string(to, ", ") < 0 || put_count(to, d->messages, "message") < 0)
		return -1;
	return d->moved ? buf_printf(to, "; %" PRIu64 " moved", d->moved) : 0;
}

/* --- the end of the report --- */

static int
put_end(struct report *r, enum format format)
{
	const struct diff *d = r->diff;

	switch (format) {
	case FORMAT_JSON:
		return buf_printf(&r->out, "{\"turns\":%zu,\"differing\":%" PRIu64 ",\"messages\":%" PRIu64
			",\"differences\":%" PRIu64 ",\"moved\":%" PRIu64 "}\n", d->sections.n, d->differing, d->messages,
			d->differences, d->moved);
	case FORMAT_JUNIT:
		return buf_add_string(&r->out, "</testsuite>\n</testsuites>\n");
	default:
		/* Nothing is said of two that are the same, as diff(1) says nothing. */
		if (d->differences == 0 && d->moved == 0)
			return 0;
		return report_put_sum(d, &r->out) < 0 ? -1 : buf_add(&r->out, "\n", 1);
	}
}

int
report(struct diff *d, enum format format, int fd, bool color)
{
	static int (*const put[])(struct report *, const struct section *) = {report_text, report_json, report_junit};
	struct report r = {.diff = d, .fd = fd, .color = color};
	int result = format == FORMAT_JUNIT ? report_junit_begin(&r) : 0;

	for (size_t i = 0; result == 0 && i < d->sections.n; i++) {
		result = put[format](&r, d->sections.at[i]);
		if (result == 0 && r.out.n >= WRITE_AT)
			result = write_out(&r);
	}
	if (result == 0)
		result = put_end(&r, format) < 0 ? -1 : write_out(&r);
	buf_free(&r.out);
	buf_free(&r.label);
	buf_free(&r.value[RECORDED]);
	buf_free(&r.value[LIVE]);
	return result;
}
