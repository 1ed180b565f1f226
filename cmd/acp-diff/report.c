/* Writes the report, in each format. */
#include <inttypes.h>
#include <unistd.h>

#include "cmd/acp-diff/diff.h"

#include "lib/base/ci.h"
#include "lib/base/text.h"
#include "lib/run/out.h"

/* Bytes that are shown: of a prompt in a title; of a value, and of its part before the first difference. */
enum { PROMPT_MOST = 72, VALUE_MOST = 240, BEFORE = 80 };

static const char bold[] = "\033[1m", cyan[] = "\033[36m", red[] = "\033[31m", green[] = "\033[32m", normal[] = "\033[0m";

struct report {
	struct diff *diff;
	struct out out;
	bool color;
	bool begun;
	struct buf *to;  /* what the functions append to: the output, or a text of their caller */
	struct buf value[SIDES]; /* scratch */
};

/* --- for all formats --- */

static void __attribute__((format(printf, 2, 3)))
put(struct report *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	diff_must(buf_vprintf(r->to, format, args));
	va_end(args);
}

/* The label of an item (item_label), valid until the next label_of or value_of. */
static struct slice
label_of(struct report *r, const struct diff_item *item)
{
	r->value[LIVE].n = 0;
	item_label(r->diff, item, &r->value[LIVE]);
	return buf_slice(&r->value[LIVE]);
}

/* The text of a turn's prompt: a JSON string, or p NULL. */
static struct slice
prompt_of(struct report *r, const struct turn *t)
{
	struct msg m = {0};

	if (t->prompt)
		item_message(r->diff, t->prompt, &m);
	return m.params.p ? acp_prompt_text(m.params) : slice(NULL, 0);
}

/* Puts the title of a section: "session 1, turn 2: the text of the prompt". */
static void
put_title(struct report *r, const struct section *s)
{
	const struct turn *t = s->turn[s->turn[RECORDED] ? RECORDED : LIVE];
	struct slice text, start;

	if (t->session->number == 0) {
		put(r, "no session");
		return;
	}
	diff_must(json_format(r->to, t->number ? "session %u, turn %u" : "session %u, setup", t->session->number, t->number));
	text = prompt_of(r, t);
	if (!text.p)
		return;
	text = slice(text.p + 1, text.n - 2);
	start = slice_cut(text, PROMPT_MOST);
	diff_must(json_format(r->to, start.n < text.n ? ": %t…" : ": %t", start));
}

/* The value that is shown of a difference on a side; p NULL: there is none. */
static struct slice
value_of(struct report *r, const struct found *f, enum side side)
{
	struct buf *to = &r->value[side];
	struct msg m;

	if (!f->whole || f->moved || !f->item[side])
		return f->value[side];
	if (f->item[side]->streamed) {
		item_text(r->diff, f->item[side], to);
	} else {
		item_message(r->diff, f->item[side], &m);
		to->n = 0;
		diff_must(buf_add_slice(to, m.text));
	}
	return buf_slice(to);
}

/* --- text: for people, like a unified diff --- */

static const char *
color(const struct report *r, const char *code)
{
	return r->color ? code : "";
}

/* Puts a value, of a long one the part around the byte at which it differs. */
static void
put_value(struct report *r, struct slice value, size_t differs, const char *sign, const char *code)
{
	size_t from = differs > BEFORE && value.n > VALUE_MOST ? differs - BEFORE : 0;
	struct slice shown;

	if (!value.p)
		return;
	from = slice_cut(value, from).n;
	shown = slice_cut(slice(value.p + from, value.n - from), VALUE_MOST);
	diff_must(json_format(r->to, "%s%s    %s%t%s%s\n", color(r, code), sign, from > 0 ? "…" : "", shown,
		from + shown.n < value.n ? "…" : "", color(r, normal)));
}

/* Puts the label of a message, and the lines of its records: " agent: session/update tool_call, -7 +8". */
static void
put_message(struct report *r, const struct diff_item *recorded, const struct diff_item *live)
{
	const struct diff_item *item = recorded ? recorded : live;

	diff_must(json_format(r->to, " %s: %t,", acp_side_name((enum acp_side)item->from), label_of(r, item)));
	if (recorded)
		put(r, " -%" PRIu64, recorded->line);
	if (live)
		put(r, " +%" PRIu64, live->line);
}

/* Puts the message before or after one that differs, unless the report has it anyway. */
static void
put_context(struct report *r, const struct found *f, bool after)
{
	const struct diff_item *item = f->item[f->item[RECORDED] ? RECORDED : LIVE];
	struct diff_item *first = item->turn->items, *beside = (struct diff_item *)item;

	do
		beside = after ? beside->next : beside == first ? NULL : beside->prev;
	while (beside && beside->continues);
	if (!beside || beside->differs || beside->shown || !beside->partner)
		return;
	beside->shown = beside->partner->shown = true;
	if (item_side(item) == LIVE)
		beside = beside->partner;
	put_message(r, beside, beside->partner);
	put(r, "\n");
}

/* Puts a difference. first: it is the first one of its message. */
static void
put_found(struct report *r, const struct found *f, bool first)
{
	static const char *const whole[] = {"", ": missing", ": unexpected"};
	static const char *const what[] = {"", ": missing", ": unexpected", ": paired with another id before", ": in another order"};
	struct slice a, b;
	size_t differs = 0;

	if (first || f->whole) {
		put_message(r, f->item[RECORDED], f->item[LIVE]);
		put(r, "%s\n", !f->whole ? "" : f->moved ? ": moved" : whole[f->kind]);
	}
	if (!f->whole)
		diff_must(json_format(r->to, "   %t%s\n", f->path, what[f->kind]));
	a = value_of(r, f, RECORDED);
	b = value_of(r, f, LIVE);
	while (a.p && b.p && differs < a.n && differs < b.n && a.p[differs] == b.p[differs])
		differs++;
	put_value(r, a, differs, "-", red);
	put_value(r, b, differs, "+", green);
}

static void
put_all_found(struct report *r, const struct section *s)
{
	bool first = true;

	for (const struct found *f = s->found; f; f = f->next) {
		if (first)
			put_context(r, f, false);
		put_found(r, f, first);
		first = !f->next || f->next->item[RECORDED] != f->item[RECORDED] || f->next->item[LIVE] != f->item[LIVE];
		if (first)
			put_context(r, f, true);
	}
}

static void
text_section(struct report *r, const struct section *s)
{
	if (!s->found)
		return;
	for (int side = 0; side < SIDES && !r->begun; side++)
		diff_must(json_format(r->to, "%s%s %t%s\n", color(r, bold), side ? "+++" : "---", slice_of(r->diff->file[side].path),
			color(r, normal)));
	r->begun = true;
	put(r, "%s@@ ", color(r, cyan));
	put_title(r, s);
	put(r, " @@%s\n", color(r, normal));
	put_all_found(r, s);
}

static const char *
plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* Puts "2 differences in 1 of 3 turns, 38 messages; 1 moved"; nothing without either, like diff(1). */
static void
text_end(struct report *r)
{
	const struct diff *d = r->diff;

	for (const struct method_time *m = d->times; m; m = m->next)
		if (m->slower)
			diff_must(json_format(r->to, "slower: %b\n", m->line));
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

/* --- json: for programs, a line with an object for each difference, and one at the end --- */

static void
json_section(struct report *r, const struct section *s)
{
	static const char *const kinds[] = {"value", "missing", "unexpected", "id", "order"};
	const struct turn *t = s->turn[s->turn[RECORDED] ? RECORDED : LIVE];
	const struct diff_item *item;
	size_t from;

	for (const struct found *f = s->found; f; f = f->next) {
		item = f->item[f->item[RECORDED] ? RECORDED : LIVE];
		from = r->to->n;
		diff_must(json_format(r->to, "{\"turn\":%u", t->number));
		diff_must(json_add_member(r->to, "session", t->session->id));
		diff_must(json_add_member(r->to, "prompt", prompt_of(r, t)));
		diff_must(json_format(r->to, ",\"from\":\"%s\",\"message\":%j", acp_side_name((enum acp_side)item->from),
			label_of(r, item)));
		if (f->item[RECORDED])
			put(r, ",\"recordedLine\":%" PRIu64, f->item[RECORDED]->line);
		if (f->item[LIVE])
			put(r, ",\"liveLine\":%" PRIu64, f->item[LIVE]->line);
		put(r, ",\"difference\":\"%s\"", f->moved ? "moved" : kinds[f->kind]);
		/* A message that has only moved has no path. */
		if (!f->moved || f->kind == DIFFERENCE_ORDER)
			diff_must(json_format(r->to, ",\"path\":%j", f->path));
		for (int side = 0; side < SIDES && !f->moved; side++)
			diff_must(json_add_member(r->to, side ? "live" : "recorded", value_of(r, f, (enum side)side)));
		/* The object has to stay on one line: in a message a newline is only white space, which somebody has inserted by hand. */
		for (; from < r->to->n; from++)
			if (r->to->p[from] == '\n' || r->to->p[from] == '\r')
				r->to->p[from] = ' ';
		put(r, "}\n");
	}
}

static void
json_end(struct report *r)
{
	const struct diff *d = r->diff;

	for (const struct method_time *m = d->times; m; m = m->next)
		diff_must(json_format(r->to, "{\"slower\":%s,\"method\":%j,\"recordedUs\":%u,\"liveUs\":%u}\n",
			m->slower ? "true" : "false", m->name, m->us[RECORDED], m->us[LIVE]));
	put(r, "{\"turns\":%zu,\"differing\":%" PRIu64 ",\"messages\":%" PRIu64 ",\"differences\":%" PRIu64 ",\"moved\":%" PRIu64
		"}\n", d->sections.n, d->differing, d->messages, d->differences, d->moved);
}

/* --- junit: for CI systems, a test case for each turn. Plain text has no characters that XML forbids --- */

static void
junit_begin(struct report *r)
{
	const struct diff *d = r->diff;
	SCOPED struct buf suite = {0};

	diff_must(json_format(&suite, "acp-diff %t %t", slice_of(d->file[RECORDED].path), slice_of(d->file[LIVE].path)));
	diff_must(ci_junit_begin(r->to, buf_slice(&suite), d->sections.n + d->ntimes, d->differing + d->slower, 0));
}

static void
junit_section(struct report *r, const struct section *s)
{
	SCOPED struct buf class = {0}, title = {0}, text = {0}, message = {0};

	diff_must(text_plain(&class, slice_of(r->diff->file[RECORDED].path)));
	r->to = &title;
	put_title(r, s);
	r->to = &text;
	if (s->differences)
		put_all_found(r, s);
	r->to = &message;
	put(r, "%" PRIu64 " difference%s", s->differences, plural(s->differences));
	r->to = out_buf(&r->out);
	diff_must(ci_junit_case(r->to, &(struct ci_case){buf_slice(&class), buf_slice(&title),
		s->differences ? "difference" : NULL, buf_slice(&message), buf_slice(&text), false}));
}

static void
junit_end(struct report *r)
{
	struct slice class = slice_of("acp-diff --max-slower");

	for (const struct method_time *m = r->diff->times; m; m = m->next)
		diff_must(ci_junit_case(r->to, &(struct ci_case){class, m->name, m->slower ? "slower" : NULL, m->line,
			m->slower ? m->line : slice(NULL, 0), false}));
	diff_must(ci_junit_end(r->to));
}

/* --- github: a command for each difference, which GitHub shows beside its line in B --- */

static void
github_section(struct report *r, const struct section *s)
{
	SCOPED struct buf title = {0}, text = {0};

	r->to = &title;
	put_title(r, s);
	diff_must(buf_string(&title) ? 0 : -1);
	r->to = &text;
	for (const struct found *f = s->found; f; f = f->next) {
		enum side side = f->item[LIVE] ? LIVE : RECORDED;

		text.n = 0;
		put_found(r, f, true);
		if (!f->moved)
			diff_must(ci_github(out_buf(&r->out), CI_ERROR, r->diff->file[side].path, f->item[side]->line, title.p,
				buf_slice(&text)));
	}
	r->to = out_buf(&r->out);
}

static void
github_end(struct report *r)
{
	for (const struct method_time *m = r->diff->times; m; m = m->next)
		if (m->slower)
			diff_must(ci_github(r->to, CI_ERROR, NULL, 0, "slower", m->line));
}

/* --- all of it --- */

int
report_write(struct diff *d)
{
	static const struct {
		void (*begin)(struct report *);
		void (*section)(struct report *, const struct section *);
		void (*end)(struct report *);
	} formats[] = {
		[FORMAT_TEXT] = {NULL, text_section, text_end},
		[FORMAT_JSON] = {NULL, json_section, json_end},
		[FORMAT_JUNIT] = {junit_begin, junit_section, junit_end},
		[FORMAT_GITHUB] = {NULL, github_section, github_end},
	};
	const enum format format = d->options->format;
	struct report r = {.diff = d, .color = format == FORMAT_TEXT && cli_wants_color(d->options->color, STDOUT_FILENO)};

	if (out_open(&r.out, "acp-diff", NULL, false, NULL) != 0)
		return EXIT_FAILED;
	r.to = out_buf(&r.out);
	if (formats[format].begin)
		formats[format].begin(&r);
	for (size_t i = 0; !out_has_lost(&r.out) && i < d->sections.n; i++) {
		formats[format].section(&r, d->sections.at[i]);
		out_end_record(&r.out, 0);
		out_print_if_large(&r.out);
	}
	formats[format].end(&r);
	out_end_record(&r.out, 0);
	buf_free(&r.value[RECORDED]);
	buf_free(&r.value[LIVE]);
	return out_close(&r.out, EXIT_SUCCESS);
}
