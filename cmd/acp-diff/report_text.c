/* For people: it looks like a unified diff. */
#include <inttypes.h>

#include "cmd/acp-diff/report.h"
#include "lib/base/text.h"

/* How much of a value is shown, and how much of it before the place where it differs; bytes. */
enum { VALUE_MOST = 240, BEFORE = 80 };

static const char bold[] = "\033[1m", cyan[] = "\033[36m", red[] = "\033[31m", green[] = "\033[32m", normal[] = "\033[0m";

static int
put_color(struct report *r, struct buf *to, const char *code)
{
	return r->color ? buf_add_string(to, code) : 0;
}

/* Where two values part, or the end of the shorter one. */
static size_t
parting(struct slice a, struct slice b)
{
	size_t n = a.n < b.n ? a.n : b.n, i = 0;

	while (i < n && a.p[i] == b.p[i])
		i++;
	return i;
}

static bool
is_inside(struct slice s, size_t at)
{
	return at < s.n && ((unsigned char)s.p[at] & 0xc0) == 0x80;
}

/* A value, or what lies around the place where it differs. */
static int
put_value(struct report *r, struct buf *to, struct slice value, size_t differs, char sign)
{
	size_t from = differs > BEFORE && value.n > VALUE_MOST ? differs - BEFORE : 0, n;

	if (from > value.n)
		from = value.n;
	while (from > 0 && is_inside(value, from))
		from--;
	n = value.n - from < VALUE_MOST ? value.n - from : VALUE_MOST;
	while (is_inside(value, from + n))
		n--;
	if (put_color(r, to, sign == '-' ? red : green) < 0 || buf_printf(to, "%c    ", sign) < 0 ||
		(from > 0 && buf_add_string(to, "…") < 0) || text_plain(to, slice(value.p + from, n)) < 0 ||
		(from + n < value.n && buf_add_string(to, "…") < 0) || put_color(r, to, normal) < 0)
		return -1;
	return buf_add(to, "\n", 1);
}

/* Which message, by its records: " agent: session/update tool_call, -7 +8". */
static int
put_message(struct report *r, struct buf *to, const struct item *recorded, const struct item *live)
{
	const struct item *item = recorded ? recorded : live;

	r->label.n = 0;
	if (item_label(r->diff, item, &r->label) < 0 || buf_printf(to, " %s: ", acp_side_name(item->from)) < 0 ||
		text_plain(to, buf_slice(&r->label)) < 0 || buf_add(to, ",", 1) < 0 ||
		(recorded && buf_printf(to, " -%" PRIu64, recorded->line) < 0))
		return -1;
	return live ? buf_printf(to, " +%" PRIu64, live->line) : 0;
}

/* A message beside one that differs. */
static int
put_context(struct report *r, struct buf *to, const struct item *item, ptrdiff_t step)
{
	const struct list *items = &item->turn->items;
	struct item *beside;
	size_t at = item->at;

	do {
		at += (size_t)step;
		if (at >= items->n)
			return 0;
		beside = items->at[at];
	} while (beside->joined);
	if (beside->differs || beside->shown || !beside->partner)
		return 0;
	beside->shown = beside->partner->shown = true;
	if (item->side == LIVE)
		beside = beside->partner;
	return put_message(r, to, beside, beside->partner) < 0 ? -1 : buf_add(to, "\n", 1);
}

/* Are they about the same message? */
static bool
goes_on(const struct found *f, const struct found *other)
{
	return f->item[RECORDED] == other->item[RECORDED] && f->item[LIVE] == other->item[LIVE];
}

static const struct item *
item_of(const struct found *f)
{
	return f->item[f->item[RECORDED] ? RECORDED : LIVE];
}

static int
put_path(struct buf *to, const struct found *f)
{
	static const char *const what[] = {"", ": missing", ": unexpected", ": another id than before", ": in another order"};

	if (buf_add_string(to, "   ") < 0 || text_plain(to, f->path) < 0)
		return -1;
	return buf_printf(to, "%s\n", what[f->kind]);
}

static int
put_found(struct report *r, struct buf *to, const struct found *f, bool first)
{
	static const char *const whole[] = {"", ": missing", ": unexpected"};
	struct slice a, b;
	size_t differs;

	if ((first || f->whole) && put_message(r, to, f->item[RECORDED], f->item[LIVE]) < 0)
		return -1;
	if (f->whole && buf_add_string(to, f->moved ? ": moved" : whole[f->kind]) < 0)
		return -1;
	if ((first || f->whole) && buf_add(to, "\n", 1) < 0)
		return -1;
	if (!f->whole && put_path(to, f) < 0)
		return -1;
	if (report_value(r, f, RECORDED, &a) < 0 || report_value(r, f, LIVE, &b) < 0)
		return -1;
	differs = a.p && b.p ? parting(a, b) : 0;
	if (a.p && put_value(r, to, a, differs, '-') < 0)
		return -1;
	return b.p ? put_value(r, to, b, differs, '+') : 0;
}

int
report_put_found(struct report *r, struct buf *to, const struct section *s)
{
	const struct found *f, *next;
	bool first = true;

	for (size_t i = 0; i < s->found.n; i++) {
		f = s->found.at[i];
		next = i + 1 < s->found.n ? s->found.at[i + 1] : NULL;
		if (first && put_context(r, to, item_of(f), -1) < 0)
			return -1;
		if (put_found(r, to, f, first) < 0)
			return -1;
		first = !next || !goes_on(next, f);
		if (first && put_context(r, to, item_of(f), 1) < 0)
			return -1;
	}
	return 0;
}

static int
put_names(struct report *r)
{
	for (int side = 0; side < SIDES; side++)
		if (put_color(r, &r->out, bold) < 0 || buf_add_string(&r->out, side ? "+++ " : "--- ") < 0 ||
			text_plain(&r->out, slice_of(r->diff->file[side].path)) < 0 || put_color(r, &r->out, normal) < 0 ||
			buf_add(&r->out, "\n", 1) < 0)
			return -1;
	return 0;
}

int
report_text(struct report *r, const struct section *s)
{
	if (s->found.n == 0)
		return 0;
	if (!r->begun && put_names(r) < 0)
		return -1;
	r->begun = true;
	if (put_color(r, &r->out, cyan) < 0 || buf_add_string(&r->out, "@@ ") < 0 || report_put_title(r, &r->out, s) < 0 ||
		buf_add_string(&r->out, " @@") < 0 || put_color(r, &r->out, normal) < 0 || buf_add(&r->out, "\n", 1) < 0)
		return -1;
	return report_put_found(r, &r->out, s);
}
