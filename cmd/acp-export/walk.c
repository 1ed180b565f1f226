/* The contents of a page from top to bottom, whatever its format. */
#include <stdio.h>
#include <time.h>

#include "cmd/acp-export/walk_parts.h"
#include "lib/base/people.h"

/* How deeply sub-agents are nested; deeper ones are written after the session. */
enum { DEPTH_MOST = 8, TITLE = 100 };

/* --- turns --- */

static void
put_text(struct walk *w, const struct item *item)
{
	struct box box = {.kind = BOX_AGENT, .label = "Agent"};
	struct page *p = &w->page;

	if (item->kind == ITEM_THOUGHT)
		box = (struct box){.kind = BOX_THOUGHT, .label = "Thought"};
	p->paint->open(p, &box);
	if (item->kind == ITEM_BLOCK)
		walk_content(w, buf_slice(&item->field[FIELD_CONTENT]));
	else
		markup_put(p, buf_slice(&item->text));
	p->paint->close(p, &box);
}

static bool
is_by_user(const struct item *item)
{
	return item->kind == ITEM_USER || (item->kind == ITEM_BLOCK && item->by_user);
}

/* All that the user sends at once. Returns its last item. */
static const struct item *
put_user(struct walk *w, const struct session *s, const struct item *item)
{
	struct box box = {.kind = BOX_USER, .label = s->parent ? "Task" : "User"};
	struct page *p = &w->page;

	p->paint->open(p, &box);
	for (;; item = item->next) {
		if (item->kind == ITEM_USER)
			p->paint->line(p, LINE_PLAIN, "text", buf_slice(&item->text));
		else
			walk_content(w, buf_slice(&item->field[FIELD_CONTENT]));
		if (!item->next || !is_by_user(item->next))
			break;
	}
	p->paint->close(p, &box);
	return item;
}

static void put_session(struct walk *w, struct session *s);

/* Agents need not report its beginning: without a summary only the end is worth a line. */
static void
put_compaction(struct walk *w, const struct item *item)
{
	struct slice status = buf_slice(&item->field[FIELD_STATUS]);
	bool runs = !status.n || json_string_is(status, "in_progress");
	SCOPED struct buf text = {0};

	if (runs && !item->text.n)
		return;
	w->page.failed |= buf_add_string(&text, "The context was compacted") < 0 || (status.n && (buf_add_string(&text, ": ") < 0 ||
		json_unescape(status, &text) < 0)) || (item->text.n && (buf_add(&text, "\n", 1) < 0 || buf_add_slice(&text, buf_slice(&item->text)) < 0));
	w->page.paint->line(&w->page, LINE_NOTE, json_string_is(status, "failed") ? "error" : "info", buf_slice(&text));
}

static void
put_item(struct walk *w, const struct session *s, const struct export_turn *turn, const struct item *item)
{
	struct slice severity = buf_slice(&item->field[FIELD_KIND]);

	switch (item->kind) {
	case ITEM_USER:
	case ITEM_AGENT:
	case ITEM_THOUGHT:
	case ITEM_BLOCK:
		put_text(w, item);
		break;
	case ITEM_TOOL:
		walk_tool(w, s, turn, item);
		break;
	case ITEM_PLAN:
		walk_plan(w, item);
		break;
	case ITEM_ASK:
		walk_ask(w, turn, item);
		break;
	case ITEM_NOTE:
		w->page.paint->line(&w->page, LINE_NOTE, slice_is(severity, "error") ? "error" : slice_is(severity, "warning") ? "warning" :
			"info", buf_slice(&item->text));
		break;
	case ITEM_COMPACTION:
		put_compaction(w, item);
		break;
	case ITEM_CHILD:
		if (w->page.depth < DEPTH_MOST) {
			put_session(w, item->child);
			break;
		}
		w->page.paint->line(&w->page, LINE_NOTE, "info", slice_of("A sub-agent: it is shown further down."));
		((struct export_session *)item->child->data)->next_separate = w->separate;
		w->separate = item->child;
		break;
	}
}

static void
add_part(struct walk *w, struct buf *to, const char *format, const char *value)
{
	w->page.failed |= (to->n && buf_add_string(to, " · ") < 0) || buf_printf(to, format, value) < 0;
}

/* The tokens in kinds that do not overlap. */
static void
add_tokens(struct walk *w, struct buf *to, const struct usage_sums *sums, uint8_t inside, bool lower)
{
	static const struct {
		enum usage_type type;
		const char *format;
	} kinds[] = {{USAGE_INPUT, "input %s"}, {USAGE_READ, "cache read %s"}, {USAGE_WRITE, "cache write %s"},
		{USAGE_OUTPUT, "output %s"}, {USAGE_THOUGHT, "thoughts %s"}, {USAGE_TOTAL, "total %s"}};
	decimal_units n[USAGE_TYPES];
	char count[PEOPLE_FIGURE];
	size_t i;

	usage_disjoint(sums, inside, n);
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (n[kinds[i].type] > 0) {
			people_count(count, n[kinds[i].type] > UINT64_MAX ? UINT64_MAX : (uint64_t)n[kinds[i].type]);
			add_part(w, to, kinds[i].format, count);
			if (lower && kinds[i].type == USAGE_TOTAL)
				w->page.failed |= buf_add_string(to, " or more") < 0;
		}
}

static void
put_error(struct walk *w, struct slice error)
{
	struct slice message = transcript_get(error, "message", JSON_STRING), code = transcript_get(error, "code", JSON_NUMBER);
	struct buf text = {0};

	w->page.failed |= buf_add_string(&text, "Error") < 0 || (code.p && (buf_add(&text, " ", 1) < 0 ||
		buf_add_slice(&text, code) < 0)) || (message.p && (buf_add_string(&text, ": ") < 0 || json_unescape(message, &text) < 0));
	w->page.paint->line(&w->page, LINE_NOTE, "error", buf_slice(&text));
	walk_raw(w, "Details", json_get(error, "data"), false);
	buf_free(&text);
}

static void
put_foot(struct walk *w, const struct export_turn *turn)
{
	const struct spent *spent = &turn->spent;
	struct buf text = {0};
	char length[PEOPLE_FIGURE];
	const char *state = "plain";

	if (turn->stop.n) {
		state = slice_is(buf_slice(&turn->stop), "end_turn") ? "completed" : slice_is(buf_slice(&turn->stop), "cancelled") ?
			"cancelled" : "failed";
		w->page.failed |= (turn->kind == TURN_TASK && buf_add_string(&text, "idle: ") < 0) || buf_add_slice(&text, buf_slice(&turn->stop)) < 0;
	} else if (turn->error.n) {
		state = "failed";
		add_part(w, &text, "%s", "error");
	} else if (turn->kind <= TURN_WORK && (turn->ended || turn->kind == TURN_PROMPTED)) {
		state = turn->ended ? "completed" : "cancelled";
		add_part(w, &text, "%s", turn->ended ? "ended" : "no response");
	}
	if (w->transcript->timed && turn->end > turn->t)
		add_part(w, &text, "%s", people_duration(length, turn->end - turn->t));
	if (spent->known)
		add_tokens(w, &text, &spent->billed, spent->inside, spent->lower);
	if (spent->cost.n) {
		w->page.failed |= (text.n && buf_add_string(&text, " · ") < 0) || buf_add_slice(&text, buf_slice(&spent->cost)) < 0;
	}
	if (text.n)
		w->page.paint->line(&w->page, LINE_FOOT, state, buf_slice(&text));
	buf_free(&text);
}

static void
put_turn(struct walk *w, const struct session *s, const struct export_turn *turn, unsigned numbers[3])
{
	static const struct {
		const char *label, *anchor;
		unsigned number; /* they are counted together */
	} kinds[] = {[TURN_PROMPTED] = {"Turn %u", "", 0}, [TURN_WORK] = {"Turn %u, without a prompt", "", 0},
		[TURN_TASK] = {"Task %u", "t", 1}, [TURN_HISTORY] = {"Earlier", "o", 2}, [TURN_OUTSIDE] = {"Outside of a turn", "o", 2}};
	unsigned number = ++numbers[kinds[turn->kind].number];
	char label[48];
	struct box box = {.kind = BOX_TURN, .label = label};

	snprintf(label, sizeof(label), kinds[turn->kind].label, number);
	snprintf(box.anchor, sizeof(box.anchor), "s%llu-%s%u", (unsigned long long)s->number, kinds[turn->kind].anchor, number);
	walk_clock(w, &box, turn, turn->t);
	w->page.paint->open(&w->page, &box);
	for (const struct item *item = turn->items; item; item = item->next) {
		if (is_by_user(item))
			item = put_user(w, s, item);
		else
			put_item(w, s, turn, item);
	}
	if (turn->error.n)
		put_error(w, buf_slice(&turn->error));
	if (w->page.paint->timeline && w->transcript->timed && turn->kind <= TURN_TASK)
		w->page.paint->timeline(&w->page, turn);
	put_foot(w, turn);
	w->page.paint->close(&w->page, &box);
	/* What has been written is not needed any more. */
	out_mark(w->out, 0);
	if (out_failed(w->out))
		w->page.failed = true;
	else
		out_print_much(w->out);
}

/* --- sessions --- */

static void
put_fact(struct walk *w, const char *label, struct slice value)
{
	if (value.n)
		w->page.paint->fact(&w->page, label, value);
}

static void
put_spent(struct walk *w, const struct session *s)
{
	const struct usage *u = w->transcript->usage;
	struct usage_session *us = usage_find_session(u, slice(s->id, s->n));
	struct usage_figures figures = {0};
	struct buf text = {0};

	if (!us || usage_figures_family(u, us, &figures) < 0) {
		usage_figures_free(&figures);
		return;
	}
	add_tokens(w, &text, &figures.billed, us->tail ? usage_inside(u, us->tail) : 0, figures.billed_lower);
	put_fact(w, "Tokens", buf_slice(&text));
	text.n = 0;
	for (size_t i = 0; i < figures.ncosts; i++)
		w->page.failed |= (text.n && buf_add_string(&text, " + ") < 0) ||
			usage_money_put(u, &figures.costs[i], &text) < 0;
	put_fact(w, "Cost", buf_slice(&text));
	put_fact(w, "Model", usage_name(u, us->model));
	buf_free(&text);
	usage_figures_free(&figures);
}

static void
put_facts(struct walk *w, const struct session *s)
{
	struct box box = {.kind = BOX_FACTS};
	const struct export_session *x = s->data;
	const struct export_turn *first = x->turns;
	struct buf text = {0};
	time_t seconds = first ? (time_t)(first->started + (double)first->t / 1e6) : 0;
	char date[64] = "";
	struct tm tm;

	w->page.paint->open(&w->page, &box);
	w->page.failed |= buf_add_slice(&text, buf_slice(&x->agent)) < 0 || (x->version.n && buf_add(&text, " ", 1) < 0) ||
		buf_add_slice(&text, buf_slice(&x->version)) < 0;
	if (!s->parent)
		put_fact(w, "Agent", buf_slice(&text));
	if (first && first->started > 0 && w->transcript->timed && gmtime_r(&seconds, &tm) &&
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S UTC", &tm))
		put_fact(w, "Began", slice_of(date));
	put_spent(w, s);
	put_fact(w, "Directory", buf_slice(&x->cwd));
	put_fact(w, "Session", slice(s->id, s->n));
	w->page.paint->close(&w->page, &box);
	if (x->samples.n > sizeof(struct sample))
		w->page.paint->chart(&w->page, s);
	buf_free(&text);
}

/* Its own, or the first line of its first prompt, or its id. */
static struct slice
title_of(const struct session *s)
{
	const struct export_session *x = s->data;
	const struct item *first = x->turns ? x->turns->items : NULL;
	struct slice text = first && first->kind == ITEM_USER ? buf_slice(&first->text) : slice(NULL, 0);
	size_t n = 0;

	if (x->title.n)
		return buf_slice(&x->title);
	while (n < text.n && n < TITLE && text.p[n] != '\n')
		n++;
	text = slice_cut(text, n);
	return text.n ? text : slice(s->id, s->n);
}

static void
put_session(struct walk *w, struct session *s)
{
	struct box box = {.kind = w->page.depth ? BOX_CHILD : BOX_SESSION, .label = s->parent ? "Sub-agent" : "Session",
		.title = title_of(s)};
	const struct export_session *x = s->data;
	unsigned numbers[3] = {0};

	snprintf(box.anchor, sizeof(box.anchor), "s%llu", (unsigned long long)s->number);
	w->page.paint->open(&w->page, &box);
	w->page.depth++;
	put_facts(w, s);
	for (const struct export_turn *turn = x->turns; turn && !w->page.failed; turn = turn->next) {
		/* What was resumed has not been replayed. */
		if (!turn->items && (turn->kind == TURN_JOINED || turn->kind == TURN_HISTORY))
			continue;
		put_turn(w, s, turn, numbers);
	}
	w->page.depth--;
	w->page.paint->close(&w->page, &box);
}

/* Is it written on its own, not in its parent? */
static bool
is_apart(const struct session *s, const struct session *chosen)
{
	const struct export_session *x = s->data;

	return chosen ? s == chosen : !x->nested && x->turns;
}

/* Links to the sessions, where there are several. */
static void
put_contents(struct walk *w, const struct session *chosen)
{
	struct box box = {.kind = BOX_CONTENTS};
	const struct paint *paint = w->page.paint;
	const struct session *s = NULL;
	size_t n = 0;
	char anchor[24];

	while ((s = sessions_next(w->transcript->sessions, s)))
		n += is_apart(s, chosen);
	if (n < 2 || !paint->link)
		return;
	paint->open(&w->page, &box);
	while ((s = sessions_next(w->transcript->sessions, s)))
		if (is_apart(s, chosen)) {
			snprintf(anchor, sizeof(anchor), "s%llu", (unsigned long long)s->number);
			paint->link(&w->page, anchor, title_of(s));
		}
	paint->close(&w->page, &box);
}

int
page_write(const struct transcript *t, const struct session *chosen, const struct paint *paint, struct out *out)
{
	struct walk w = {.page = {.paint = paint, .to = out_buf(out), .line_start = true}, .transcript = t, .out = out};
	struct session *s = sessions_next(t->sessions, NULL), *next;

	paint->begin(&w.page, chosen ? title_of(chosen) : s ? title_of(s) : slice_of("Transcript"));
	put_contents(&w, chosen);
	if (!s)
		paint->line(&w.page, LINE_NOTE, "info", slice_of("There is no session in what was read."));
	for (; s; s = sessions_next(t->sessions, s)) {
		if (!is_apart(s, chosen))
			continue;
		put_session(&w, s);
		while ((next = w.separate)) {
			w.separate = ((struct export_session *)next->data)->next_separate;
			put_session(&w, next);
		}
	}
	paint->end(&w.page);
	out_mark(out, 0);
	buf_free(&w.text);
	buf_free(&w.page.prefix);
	return w.page.failed ? -1 : 0;
}
