/* For people: it looks like a unified diff. */
#include "cmd/acp-replay/report_parts.h"

#include <inttypes.h>

/* How much of a value is shown, and how much of it before the place where it differs; bytes. */
enum { VALUE_MOST = 240, BEFORE = 80 };

static const char bold[] = "\033[1m", cyan[] = "\033[36m", red[] = "\033[31m", green[] = "\033[32m", normal[] = "\033[0m";

static int
put_color(struct buf *to, bool color, const char *code)
{
	return color ? buf_add_string(to, code) : 0;
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
put_value(struct buf *to, struct slice value, size_t differs, bool color, char sign)
{
	size_t from = differs > BEFORE && value.n > VALUE_MOST ? differs - BEFORE : 0, n;

	if (from > value.n)
		from = value.n;
	while (from > 0 && is_inside(value, from))
		from--;
	n = value.n - from < VALUE_MOST ? value.n - from : VALUE_MOST;
	while (is_inside(value, from + n))
		n--;
	if (put_color(to, color, sign == '-' ? red : green) < 0 || buf_printf(to, "%c    ", sign) < 0 ||
		(from > 0 && buf_add_string(to, "…") < 0) || report_put_json(to, slice(value.p + from, n)) < 0 ||
		(from + n < value.n && buf_add_string(to, "…") < 0) || put_color(to, color, normal) < 0)
		return -1;
	return buf_add(to, "\n", 1);
}

static int
put_lines(struct buf *to, const struct found *f)
{
	const uint64_t *line = f->line;

	if (!line[DIFF_RECORDED])
		return buf_printf(to, ", +%" PRIu64, line[DIFF_LIVE]);
	if (!line[DIFF_LIVE])
		return buf_printf(to, ", -%" PRIu64, line[DIFF_RECORDED]);
	return buf_printf(to, ", -%" PRIu64 " +%" PRIu64, line[DIFF_RECORDED], line[DIFF_LIVE]);
}

/* Is it about the same message as the one before it? */
static bool
goes_on(const struct found *f, const struct found *before)
{
	return before && !f->whole && !before->whole && f->from == before->from &&
		f->line[DIFF_RECORDED] == before->line[DIFF_RECORDED] && f->line[DIFF_LIVE] == before->line[DIFF_LIVE] &&
		slice_eq(f->what, before->what);
}

/* Which message, and what about it. */
static int
put_message(struct buf *to, const struct found *f)
{
	if (buf_printf(to, " %s: ", acp_side_name(f->from)) < 0 || report_put_plain(to, f->what) < 0 || put_lines(to, f) < 0)
		return -1;
	if (f->whole)
		return buf_add_string(to, f->kind == DIFFERENCE_MISSING ? ": missing\n" : ": unexpected\n");
	return buf_add(to, "\n", 1);
}

static int
put_path(struct buf *to, const struct found *f)
{
	static const char *const what[] = {"", ": missing", ": unexpected", ": another id than before", ": in another order"};

	if (buf_add_string(to, "   ") < 0 || report_put_json(to, f->path) < 0)
		return -1;
	return buf_printf(to, "%s\n", what[f->kind]);
}

static int
put_found(struct buf *to, const struct found *f, const struct found *before, bool color)
{
	struct slice a = f->value[DIFF_RECORDED], b = f->value[DIFF_LIVE];
	size_t differs = a.p && b.p ? parting(a, b) : 0;

	if (!goes_on(f, before) && put_message(to, f) < 0)
		return -1;
	if (!f->whole && put_path(to, f) < 0)
		return -1;
	if (a.p && put_value(to, a, differs, color, '-') < 0)
		return -1;
	return b.p ? put_value(to, b, differs, color, '+') : 0;
}

int
report_put_found(struct buf *to, const struct diff_turn *t, bool color)
{
	for (size_t i = 0; i < t->nfound; i++)
		if (put_found(to, t->found[i], i ? t->found[i - 1] : NULL, color) < 0)
			return -1;
	return 0;
}

static int
put_names(struct report *r)
{
	bool color = r->spec.color;

	for (int side = 0; side < DIFF_SIDES; side++)
		if (put_color(&r->out, color, bold) < 0 || buf_add_string(&r->out, side ? "+++ " : "--- ") < 0 ||
			report_put_plain(&r->out, slice_of(r->spec.name[side])) < 0 || put_color(&r->out, color, normal) < 0 ||
			buf_add(&r->out, "\n", 1) < 0)
			return -1;
	return 0;
}

int
report_text_turn(struct report *r, const struct diff_turn *t)
{
	if (t->nfound == 0)
		return 0;
	if (r->differing == 1 && put_names(r) < 0)
		return -1;
	if (put_color(&r->out, r->spec.color, cyan) < 0 || buf_add_string(&r->out, "@@ ") < 0 ||
		report_put_title(&r->out, t) < 0 || buf_add_string(&r->out, " @@") < 0 ||
		put_color(&r->out, r->spec.color, normal) < 0 || buf_add(&r->out, "\n", 1) < 0)
		return -1;
	return report_put_found(&r->out, t, r->spec.color);
}

/* Nothing is said of two that are the same, as diff(1) says nothing. */
int
report_text_end(struct report *r)
{
	(void)r;
	return 0;
}
