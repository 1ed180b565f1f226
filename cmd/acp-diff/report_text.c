/* For people: it looks like a unified diff. */
#include <inttypes.h>

#include "cmd/acp-diff/report.h"

/* How much of a value is shown, and how much of it before the place where it differs; bytes. */
enum { VALUE_MOST = 240, BEFORE = 80 };

static const char bold[] = "\033[1m", cyan[] = "\033[36m", red[] = "\033[31m", green[] = "\033[32m", normal[] = "\033[0m";

static void
put_color(struct report *r, const char *code)
{
	if (r->color)
		put(r, "%s", code);
}

/* Where two values part, or the end of the shorter one. */
static size_t
first_difference(struct slice a, struct slice b)
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
static void
put_value(struct report *r, struct slice value, size_t differs, char sign)
{
	size_t from = differs > BEFORE && value.n > VALUE_MOST ? differs - BEFORE : 0, n;

	if (!value.p)
		return;
	if (from > value.n)
		from = value.n;
	while (from > 0 && is_inside(value, from))
		from--;
	n = value.n - from < VALUE_MOST ? value.n - from : VALUE_MOST;
	while (is_inside(value, from + n))
		n--;
	put_color(r, sign == '-' ? red : green);
	put(r, "%c    %s", sign, from > 0 ? "…" : "");
	put_plain(r, slice(value.p + from, n));
	put(r, from + n < value.n ? "…" : "");
	put_color(r, normal);
	put(r, "\n");
}

/* Which message, by its records: " agent: session/update tool_call, -7 +8". */
static void
put_message(struct report *r, const struct item *recorded, const struct item *live)
{
	const struct item *item = recorded ? recorded : live;

	put(r, " %s: ", acp_side_name((enum acp_side)item->from));
	put_label(r, item);
	put(r, ",");
	if (recorded)
		put(r, " -%" PRIu64, recorded->line);
	if (live)
		put(r, " +%" PRIu64, live->line);
}

/* A message beside one that differs. */
static void
put_context(struct report *r, const struct item *item, ptrdiff_t step)
{
	const struct list *items = &item->turn->items;
	struct item *beside;
	size_t at = item->at;

	do {
		at += (size_t)step;
		if (at >= items->n)
			return;
		beside = items->at[at];
	} while (beside->continues);
	if (beside->differs || beside->shown || !beside->partner)
		return;
	beside->shown = beside->partner->shown = true;
	if (item_side(item) == LIVE)
		beside = beside->partner;
	put_message(r, beside, beside->partner);
	put(r, "\n");
}

/* Are they about the same message? */
static bool
is_same_pair(const struct found *f, const struct found *other)
{
	return f->item[RECORDED] == other->item[RECORDED] && f->item[LIVE] == other->item[LIVE];
}

static void
put_found(struct report *r, const struct found *f, bool first)
{
	static const char *const whole[] = {"", ": missing", ": unexpected"};
	static const char *const what[] = {"", ": missing", ": unexpected", ": paired with another id before", ": in another order"};
	struct slice a, b;
	size_t differs;

	if (first || f->whole) {
		put_message(r, f->item[RECORDED], f->item[LIVE]);
		put(r, "%s\n", !f->whole ? "" : f->moved ? ": moved" : whole[f->kind]);
	}
	if (!f->whole) {
		put(r, "   ");
		put_plain(r, f->path);
		put(r, "%s\n", what[f->kind]);
	}
	a = report_value(r, f, RECORDED);
	b = report_value(r, f, LIVE);
	differs = a.p && b.p ? first_difference(a, b) : 0;
	put_value(r, a, differs, '-');
	put_value(r, b, differs, '+');
}

void
report_found(struct report *r, const struct section *s)
{
	const struct found *f, *next;
	bool first = true;

	for (size_t i = 0; !r->failed && i < s->found.n; i++) {
		f = s->found.at[i];
		next = i + 1 < s->found.n ? s->found.at[i + 1] : NULL;
		if (first)
			put_context(r, f->item[f->item[RECORDED] ? RECORDED : LIVE], -1);
		put_found(r, f, first);
		first = !next || !is_same_pair(next, f);
		if (first)
			put_context(r, f->item[f->item[RECORDED] ? RECORDED : LIVE], 1);
	}
}

static void
put_names(struct report *r)
{
	for (int side = 0; side < SIDES; side++) {
		put_color(r, bold);
		put(r, side ? "+++ " : "--- ");
		put_plain(r, slice_of(r->diff->file[side].path));
		put_color(r, normal);
		put(r, "\n");
	}
	r->begun = true;
}

void
report_text(struct report *r, const struct section *s)
{
	if (s->found.n == 0)
		return;
	if (!r->begun)
		put_names(r);
	put_color(r, cyan);
	put(r, "@@ ");
	put_title(r, s);
	put(r, " @@");
	put_color(r, normal);
	put(r, "\n");
	report_found(r, s);
}

static const char *
plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* "2 differences in 1 of 3 turns, 38 messages; 1 moved"; nothing of two that are the same, as diff(1) has it. */
void
report_text_end(struct report *r)
{
	const struct diff *d = r->diff;

	if (d->differences == 0 && d->moved == 0)
		return;
	if (d->differences)
		put(r, "%" PRIu64 " difference%s in %" PRIu64 " of ", d->differences, plural(d->differences), d->differing);
	else
		put(r, "no difference in ");
	put(r, "%zu turn%s, %" PRIu64 " message%s", d->sections.n, plural(d->sections.n), d->messages, plural(d->messages));
	if (d->moved)
		put(r, "; %" PRIu64 " moved", d->moved);
	put(r, "\n");
}
