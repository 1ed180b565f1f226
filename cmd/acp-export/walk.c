/* Writes the contents of a page, from top to bottom, in any format. */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "cmd/acp-export/page.h"
#include "lib/base/people.h"
#include "lib/run/input.h"

/* DEPTH_MOST: how deeply sub-agents nest; deeper ones are written after the session. TITLE: bytes of a title from a prompt. */
enum { DEPTH_MOST = 8, TITLE = 100 };

/* Returns the plain text of a JSON string, or the JSON text of another value; valid until the next call, in page.word. */
static struct slice
plain(struct page *p, struct slice json)
{
	if (json.n == 0 || json_type(json) != JSON_STRING)
		return json;
	p->word.n = 0;
	export_must(json_unescape(json, &p->word));
	return buf_slice(&p->word);
}

/* --- times --- */

/* Sets the beginning (t, us) and the length of a box. */
static void
put_times(const struct page *p, struct box *b, const struct export_turn *turn, uint64_t t, uint64_t end)
{
	double when = turn->started + (double)t / 1e6;
	time_t seconds = (time_t)floor(when);
	struct tm tm;

	if (!p->transcript->timed)
		return;
	if (turn->started > 0 && gmtime_r(&seconds, &tm)) {
		strftime(b->clock, sizeof(b->clock), "%H:%M:%S", &tm);
		strftime(b->date, sizeof(b->date), "%Y-%m-%dT%H:%M:%SZ", &tm);
	} else {
		b->clock[0] = '+';
		people_duration(b->clock + 1, t);
	}
	if (end > t)
		people_duration(b->length, end - t);
}

/* --- content --- */

static const char *const images[] = {"image/png", "image/jpeg", "image/gif", "image/webp", "", NULL};
static const char *const tool_kinds[] = {"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "tool call", NULL};
static const char *const states[] = {"completed", "failed", "cancelled", "in_progress", "pending", NULL};

/* Returns the word that equals a JSON string; if there is none, the last word before NULL. */
static const char *
word_of(struct slice json, const char *const *words)
{
	while (words[1] && !json_string_is(json, *words))
		words++;
	return *words;
}

static void
put_link_block(struct page *p, struct slice uri, struct slice name)
{
	SCOPED struct buf url = {0};

	transcript_add_plain(&url, uri);
	p->paint->block(p, BLOCK_PARAGRAPH, 0, slice(NULL, 0), true);
	if (page_is_link(buf_slice(&url)))
		p->paint->span(p, SPAN_LINK, buf_slice(&url), true);
	p->paint->text(p, name.p ? plain(p, name) : buf_slice(&url));
	if (page_is_link(buf_slice(&url)))
		p->paint->span(p, SPAN_LINK, buf_slice(&url), false);
	else if (name.p && (p->paint->text(p, slice_of(" ")), true))
		p->paint->text(p, buf_slice(&url));
	p->paint->block(p, BLOCK_PARAGRAPH, 0, slice(NULL, 0), false);
}

static void
put_content(struct page *p, struct slice block)
{
	struct slice data = json_get_string(block, "data"), uri = json_get_string(block, "uri");
	struct slice text = json_get_string(block, "text"), resource = transcript_get(block, "resource", JSON_OBJECT);
	struct slice mime = json_get_string(block, "mimeType");
	const char *type = word_of(mime, images);
	SCOPED struct buf left_out = {0};
	char bytes[PEOPLE_FIGURE];
	size_t size = plain(p, data).n / 4 * 3; /* of base64 */

	if (text.p) {
		markup_put(p, plain(p, text));
	} else if (data.n > 2 && *type && page_has_only(plain(p, data), "+/=")) {
		p->paint->image(p, type, plain(p, data));
	} else if (resource.p) {
		uri = json_get_string(resource, "uri");
		text = json_get_string(resource, "text");
		if (uri.p)
			put_link_block(p, uri, slice(NULL, 0));
		if (text.p)
			p->paint->code(p, slice(NULL, 0), plain(p, text));
	} else if (uri.p) {
		put_link_block(p, uri, json_get_string(block, "name"));
	} else {
		/* Name a block that cannot be shown: [audio audio/wav, 12K]. */
		export_must(buf_add(&left_out, "[", 1));
		transcript_add_plain(&left_out, json_get(block, "type"));
		export_must(buf_add_string(&left_out, mime.p ? " " : ""));
		transcript_add_plain(&left_out, mime);
		export_must(buf_printf(&left_out, size ? ", %s]" : "]", people_bytes(bytes, size)));
		p->paint->line(p, LINE_PLAIN, "text", buf_slice(&left_out));
	}
}

/* --- tool calls --- */

/* Writes a diff. Only the lines of diff_make have gaps: in an agent's patch, a line with @ is text. */
static void
put_diff(struct page *p, struct slice part)
{
	struct slice path = json_get_string(part, "path"), patch = transcript_get(part, "patch.text", JSON_STRING);
	struct slice left = plain(p, patch.p ? patch : json_get_string(part, "hunks")), text;
	SCOPED struct buf name = {0}, lines = {0};
	struct diff_line line;
	uint64_t skipped = 0;

	while (line_next(&left, &text)) {
		line = (struct diff_line){.sign = DIFF_SAME, .text = text};
		if (text.n && memchr("+- @", *text.p, patch.p ? 3 : 4))
			line = (struct diff_line){.sign = (enum diff_sign)*text.p, .text = slice(text.p + 1, text.n - 1)};
		if (line.sign == DIFF_GAP && json_u64(line.text, &skipped))
			line = (struct diff_line){.sign = DIFF_GAP, .skipped = (size_t)skipped};
		export_must(buf_add(&lines, &line, sizeof(line)));
	}
	if (!patch.p)
		transcript_add_plain(&name, path);
	p->paint->diff(p, buf_slice(&name), (const void *)lines.p, lines.n / sizeof(line));
}

/* Writes an element of a tool call's content. */
static void
put_part(struct page *p, const struct export_session *x, struct slice part)
{
	struct slice type = json_get_string(part, "type"), content = transcript_get(part, "content", JSON_OBJECT), id;
	struct terminal *terminal = NULL;

	if (json_string_is(type, "diff")) {
		put_diff(p, part);
	} else if (json_string_is(type, "terminal")) {
		id = plain(p, json_get_string(part, "terminalId"));
		if (id.n)
			HASH_FIND(hh, x->terminals, id.p, (unsigned)id.n, terminal);
		if (terminal && terminal->output.n)
			p->paint->code(p, slice(NULL, 0), buf_slice(&terminal->output));
	} else {
		put_content(p, content.p ? content : part);
	}
}

/* Writes a JSON value in a box that is folded unless `open`; writes no box for an empty value: {}, [] or "". */
static void
put_raw(struct page *p, const char *label, struct slice json, bool open)
{
	struct box box = {.kind = BOX_FOLD, .label = label, .open = open};
	SCOPED struct buf text = {0};

	if (json.n <= 2)
		return;
	p->paint->open(p, &box);
	if (json_type(json) == JSON_STRING) {
		p->paint->code(p, slice(NULL, 0), plain(p, json));
	} else {
		export_must(json_indent(&text, json, 0, buf_add_slice));
		p->paint->code(p, slice_of("json"), buf_slice(&text));
	}
	p->paint->close(p, &box);
}

struct slice
page_tool_name(struct page *p, const struct item *item)
{
	struct slice title = buf_slice(&item->field[item->field[FIELD_TITLE].n > 2 ? FIELD_TITLE : FIELD_NAME]);

	return title.n > 2 ? plain(p, title) : buf_slice(&item->id);
}

static void
put_tool(struct page *p, const struct session *s, const struct export_turn *turn, const struct item *item)
{
	struct box box = {.kind = BOX_TOOL, .title = page_tool_name(p, item), .label = word_of(buf_slice(&item->field[FIELD_KIND]), tool_kinds),
		.state = word_of(buf_slice(&item->field[FIELD_STATUS]), states)};
	struct json_iter it = {.in = buf_slice(&item->field[FIELD_CONTENT])};
	struct slice part;

	/* A status that the protocol does not define is final; word_of makes it "pending". */
	if (item->ended && strcmp(box.state, "pending") == 0)
		box.state = "ended";
	box.open = item->changes || strcmp(box.state, "failed") == 0;
	put_times(p, &box, turn, item->t, item->end);
	p->paint->open(p, &box);
	if (!item->changes)
		put_raw(p, "Input", buf_slice(&item->field[FIELD_INPUT]), false);
	while (it.in.n && json_item(&it, &part))
		put_part(p, s->data, part);
	if (item->field[FIELD_CONTENT].n <= 2)
		put_raw(p, "Output", buf_slice(&item->field[FIELD_OUTPUT]), true);
	p->paint->close(p, &box);
}

/* --- plans and questions --- */

static void
put_plan(struct page *p, const struct item *item)
{
	struct box box = {.kind = BOX_PLAN, .label = "Plan"};
	struct json_iter it = {.in = buf_slice(&item->field[FIELD_CONTENT])};
	struct slice entry;

	if (it.in.n <= 2 && !item->text.n)
		return;
	p->paint->open(p, &box);
	while (it.in.n && json_item(&it, &entry))
		p->paint->line(p, LINE_ENTRY, word_of(json_get(entry, "status"), states), plain(p, json_get_string(entry, "content")));
	markup_put(p, buf_slice(&item->text));
	p->paint->close(p, &box);
}

static void
put_ask(struct page *p, const struct export_turn *turn, const struct item *item)
{
	bool permission = slice_is(buf_slice(&item->field[FIELD_KIND]), "permission");
	struct box box = {.kind = BOX_ASK, .label = permission ? "Permission" : "Question",
		.title = plain(p, buf_slice(&item->field[FIELD_TITLE]))};
	struct slice response = buf_slice(&item->field[FIELD_OUTPUT]), chosen = json_path(response, "outcome.optionId");
	struct slice outcome = transcript_get(response, "outcome.outcome", JSON_STRING), option, id, name;
	struct json_iter it = {.in = buf_slice(&item->field[FIELD_CONTENT])};

	put_times(p, &box, turn, item->t, item->end);
	p->paint->open(p, &box);
	if (item->text.n)
		p->paint->line(p, LINE_PLAIN, "text", buf_slice(&item->text));
	put_raw(p, "Subject", buf_slice(&item->field[FIELD_INPUT]), true);
	if (permission) {
		while (it.in.n && json_item(&it, &option)) {
			id = json_get_string(option, acp_option_id);
			name = json_get_string(option, "name");
			p->paint->line(p, LINE_ENTRY, json_string_eq(id, chosen) ? "chosen" : "offered", plain(p, name.p ? name : id));
		}
		if (outcome.p && !json_string_is(outcome, "selected"))
			p->paint->line(p, LINE_NOTE, "info", plain(p, outcome));
	} else if (item->ended) {
		put_raw(p, "Answer", response, true);
	}
	if (!item->ended)
		p->paint->line(p, LINE_NOTE, "warning", slice_of("There is no response."));
	else if (permission && json_get_string(response, "message").p)
		p->paint->line(p, LINE_NOTE, "error", plain(p, json_get_string(response, "message")));
	p->paint->close(p, &box);
}

/* --- turns --- */

static bool
is_by_user(const struct item *item)
{
	return item->kind == ITEM_USER || (item->kind == ITEM_BLOCK && item->by_user);
}

/* Returns whether a text or block was removed, and nothing has taken its place. */
static bool
is_empty(const struct item *item)
{
	return !item->text.n && !item->field[FIELD_CONTENT].n;
}

/* Writes a text or a block; of the user, all adjacent texts and blocks in one box. Returns the last item that it has written. */
static const struct item *
put_words(struct page *p, const struct session *s, const struct item *item)
{
	bool user = is_by_user(item), thought = item->kind == ITEM_THOUGHT;
	struct box box = {.kind = user ? BOX_USER : thought ? BOX_THOUGHT : BOX_AGENT,
		.label = user ? s->parent ? "Task" : "User" : thought ? "Thought" : "Agent"};

	p->paint->open(p, &box);
	for (;; item = item->next) {
		if (is_empty(item))
			;
		else if (item->kind == ITEM_USER)
			p->paint->line(p, LINE_PLAIN, "text", buf_slice(&item->text));
		else if (item->kind == ITEM_BLOCK)
			put_content(p, buf_slice(&item->field[FIELD_CONTENT]));
		else
			markup_put(p, buf_slice(&item->text));
		if (!user || !item->next || !is_by_user(item->next))
			break;
	}
	p->paint->close(p, &box);
	return item;
}

static void put_session(struct page *p, struct session *s);

/* Writes a compaction that has ended or has a summary. One that only runs is left out: agents need not report the beginning. */
static void
put_compaction(struct page *p, const struct item *item)
{
	struct slice status = buf_slice(&item->field[FIELD_STATUS]), how;
	bool runs = !status.n || json_string_is(status, "in_progress");
	SCOPED struct buf text = {0};

	if (runs && !item->text.n)
		return;
	how = plain(p, status);
	export_must(json_format(&text, "The context was compacted%s%b%s%b", status.n ? ": " : "", how, item->text.n ? "\n" : "",
		buf_slice(&item->text)));
	p->paint->line(p, LINE_NOTE, json_string_is(status, "failed") ? "error" : "info", buf_slice(&text));
}

/* Writes an item. Returns the last item that it has written. */
static const struct item *
put_item(struct page *p, const struct session *s, const struct export_turn *turn, const struct item *item)
{
	struct slice severity = buf_slice(&item->field[FIELD_KIND]);

	switch (item->kind) {
	case ITEM_USER:
	case ITEM_AGENT:
	case ITEM_THOUGHT:
	case ITEM_BLOCK:
		return is_empty(item) ? item : put_words(p, s, item);
	case ITEM_TOOL:
		put_tool(p, s, turn, item);
		break;
	case ITEM_PLAN:
		put_plan(p, item);
		break;
	case ITEM_ASK:
		put_ask(p, turn, item);
		break;
	case ITEM_NOTE:
		p->paint->line(p, LINE_NOTE, slice_is(severity, "error") ? "error" : slice_is(severity, "warning") ? "warning" :
			"info", buf_slice(&item->text));
		break;
	case ITEM_COMPACTION:
		put_compaction(p, item);
		break;
	case ITEM_CHILD:
		if (p->depth < DEPTH_MOST) {
			put_session(p, item->child);
			break;
		}
		p->paint->line(p, LINE_NOTE, "info", slice_of("A sub-agent: it is shown further down."));
		((struct export_session *)item->child->data)->next_separate = p->separate;
		p->separate = item->child;
		break;
	}
	return item;
}

static void
add_part(struct buf *to, const char *format, const char *value)
{
	export_must(buf_add_string(to, to->n ? " · " : ""));
	export_must(buf_printf(to, format, value));
}

/* Appends the tokens, by kinds that do not overlap. lower: the total is a lower bound. */
static void
add_tokens(struct buf *to, const struct usage_sums *sums, uint8_t inside, bool lower)
{
	static const struct {
		enum usage_type type;
		const char *format;
	} kinds[] = {{USAGE_INPUT, "input %s"}, {USAGE_READ, "cache read %s"}, {USAGE_WRITE, "cache write %s"},
		{USAGE_OUTPUT, "output %s"}, {USAGE_THOUGHT, "thoughts %s"}, {USAGE_TOTAL, "total %s"}};
	decimal_units n[USAGE_TYPES];
	char count[PEOPLE_FIGURE];

	usage_disjoint(sums, inside, n);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (n[kinds[i].type] > 0) {
			people_count(count, n[kinds[i].type] > UINT64_MAX ? UINT64_MAX : (uint64_t)n[kinds[i].type]);
			add_part(to, kinds[i].format, count);
			if (lower && kinds[i].type == USAGE_TOTAL)
				export_must(buf_add_string(to, " or more"));
		}
}

static void
put_error(struct page *p, struct slice error)
{
	struct slice message = json_get_string(error, "message"), code = transcript_get(error, "code", JSON_NUMBER), why = plain(p, message);
	SCOPED struct buf text = {0};

	export_must(json_format(&text, "Error%s%b%s%b", code.p ? " " : "", code, message.p ? ": " : "", why));
	p->paint->line(p, LINE_NOTE, "error", buf_slice(&text));
	put_raw(p, "Details", json_get(error, "data"), false);
}

static void
put_foot(struct page *p, const struct export_turn *turn)
{
	const struct spent *spent = &turn->spent;
	SCOPED struct buf text = {0};
	char length[PEOPLE_FIGURE];
	const char *state = "plain";

	if (turn->stop.n) {
		state = slice_is(buf_slice(&turn->stop), "end_turn") ? "completed" : slice_is(buf_slice(&turn->stop), "cancelled") ?
			"cancelled" : "failed";
		export_must(json_format(&text, turn->kind == TURN_TASK ? "idle: %b" : "%b", buf_slice(&turn->stop)));
	} else if (turn->error.n) {
		state = "failed";
		add_part(&text, "%s", "error");
	} else if (turn->kind <= TURN_WORK && (turn->ended || turn->kind == TURN_PROMPTED)) {
		state = turn->ended ? "completed" : "cancelled";
		add_part(&text, "%s", turn->ended ? "ended" : "no response");
	}
	if (p->transcript->timed && turn->end > turn->t)
		add_part(&text, "%s", people_duration(length, turn->end - turn->t));
	if (spent->billed.has)
		add_tokens(&text, &spent->billed, spent->inside, spent->lower);
	if (spent->cost.n)
		export_must(json_format(&text, text.n ? " · %b" : "%b", buf_slice(&spent->cost)));
	if (text.n)
		p->paint->line(p, LINE_FOOT, state, buf_slice(&text));
}

static void
put_turn(struct page *p, const struct session *s, const struct export_turn *turn, unsigned numbers[3])
{
	static const struct {
		const char *label, *anchor;
		unsigned number; /* kinds with the same number are counted together */
	} kinds[] = {[TURN_PROMPTED] = {"Turn %u", "", 0}, [TURN_WORK] = {"Turn %u, without a prompt", "", 0},
		[TURN_TASK] = {"Task %u", "t", 1}, [TURN_HISTORY] = {"Earlier", "o", 2}, [TURN_OUTSIDE] = {"Outside of a turn", "o", 2}};
	unsigned number = ++numbers[kinds[turn->kind].number];
	char label[48];
	struct box box = {.kind = BOX_TURN, .label = label};

	snprintf(label, sizeof(label), kinds[turn->kind].label, number);
	snprintf(box.anchor, sizeof(box.anchor), "s%llu-%s%u", (unsigned long long)s->number, kinds[turn->kind].anchor, number);
	put_times(p, &box, turn, turn->t, turn->t);
	p->paint->open(p, &box);
	for (const struct item *item = turn->items; item; item = item->next)
		item = put_item(p, s, turn, item);
	if (turn->error.n)
		put_error(p, buf_slice(&turn->error));
	if (p->paint->timeline && p->transcript->timed && turn->kind <= TURN_TASK)
		p->paint->timeline(p, turn);
	put_foot(p, turn);
	p->paint->close(p, &box);
	/* Write the output after each turn, so that memory does not hold the whole page. */
	out_end_record(p->out, 0);
	if (!out_has_lost(p->out))
		out_print_if_large(p->out);
}

/* --- sessions --- */

static void
put_fact(struct page *p, const char *label, struct slice value)
{
	if (value.n)
		p->paint->line(p, LINE_FACT, label, value);
}

static void
put_spent(struct page *p, const struct session *s)
{
	const struct usage *u = p->transcript->usage;
	struct usage_session *us = usage_find_session(u, slice(s->id, s->n));
	struct usage_figures figures = {0};
	struct redact redact = {0};
	struct slice model;
	SCOPED struct buf text = {0};

	if (us && usage_figures_family(u, us, &figures) == 0) {
		add_tokens(&text, &figures.billed, us->tail ? usage_inside(u, us->tail) : 0, figures.billed_lower);
		put_fact(p, "Tokens", buf_slice(&text));
		text.n = 0;
		for (size_t i = 0; i < figures.ncosts; i++)
			export_must(-(buf_add_string(&text, i ? " + " : "") || usage_money_put(u, &figures.costs[i], &text)));
		put_fact(p, "Cost", buf_slice(&text));
		/* The usage has the model's name from before redaction, which has counted its secrets. */
		model = usage_name(u, us->model);
		if (p->transcript->redact)
			export_must(redact_plain(&redact, model, 0, &model));
		put_fact(p, "Model", model);
	}
	redact_free(&redact);
	usage_figures_free(&figures);
}

static void
put_facts(struct page *p, const struct session *s)
{
	struct box box = {.kind = BOX_FACTS};
	const struct export_session *x = s->data;
	const struct export_turn *first = x->turns;
	SCOPED struct buf text = {0};
	time_t seconds = first ? (time_t)(first->started + (double)first->t / 1e6) : 0;
	char date[64] = "";
	struct tm tm;

	p->paint->open(p, &box);
	export_must(json_format(&text, x->version.n ? "%b %b" : "%b", buf_slice(&x->agent), buf_slice(&x->version)));
	if (!s->parent)
		put_fact(p, "Agent", buf_slice(&text));
	if (first && first->started > 0 && p->transcript->timed && gmtime_r(&seconds, &tm) &&
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S UTC", &tm))
		put_fact(p, "Began", slice_of(date));
	put_spent(p, s);
	put_fact(p, "Directory", buf_slice(&x->cwd));
	put_fact(p, "Session", slice(s->id, s->n));
	p->paint->close(p, &box);
	if (x->samples.n > sizeof(struct sample))
		p->paint->chart(p, s);
}

/* Returns the title of a session; without one, the first line of the first prompt, or the id. */
static struct slice
title_of(const struct session *s)
{
	const struct export_session *x = s->data;
	const struct item *first = x->turns ? x->turns->items : NULL;
	struct slice text = first && first->kind == ITEM_USER ? buf_slice(&first->text) : slice(NULL, 0), line;

	if (x->title.n)
		return buf_slice(&x->title);
	return line_next(&text, &line) && line.n ? slice_cut(line, TITLE) : slice(s->id, s->n);
}

static void
put_session(struct page *p, struct session *s)
{
	struct box box = {.kind = p->depth ? BOX_CHILD : BOX_SESSION, .label = s->parent ? "Sub-agent" : "Session",
		.title = title_of(s)};
	const struct export_session *x = s->data;
	unsigned numbers[3] = {0};

	snprintf(box.anchor, sizeof(box.anchor), "s%llu", (unsigned long long)s->number);
	p->paint->open(p, &box);
	p->depth++;
	put_facts(p, s);
	for (const struct export_turn *turn = x->turns; turn && !out_has_lost(p->out); turn = turn->next) {
		/* The items of a prompt that joined are in another turn. A session that was resumed has an empty history. */
		if (!turn->items && (turn->kind == TURN_JOINED || turn->kind == TURN_HISTORY))
			continue;
		put_turn(p, s, turn, numbers);
	}
	p->depth--;
	p->paint->close(p, &box);
}

/* Returns whether a session is written on its own, not within its parent. */
static bool
is_apart(const struct session *s, const struct session *chosen)
{
	const struct export_session *x = s->data;

	return chosen ? s == chosen : !x->nested && x->turns;
}

/* Writes links to the sessions, if there are several. */
static void
put_contents(struct page *p, const struct session *chosen)
{
	struct box box = {.kind = BOX_CONTENTS};
	const struct session *s = NULL;
	size_t n = 0;
	char anchor[24];

	while ((s = sessions_next(p->transcript->sessions, s)))
		n += is_apart(s, chosen);
	if (n < 2)
		return;
	p->paint->open(p, &box);
	while ((s = sessions_next(p->transcript->sessions, s)))
		if (is_apart(s, chosen)) {
			snprintf(anchor, sizeof(anchor), "s%llu", (unsigned long long)s->number);
			p->paint->line(p, LINE_LINK, anchor, title_of(s));
		}
	p->paint->close(p, &box);
}

void
page_write(const struct transcript *t, const struct session *chosen, const struct paint *paint, struct out *out)
{
	struct page p = {.paint = paint, .to = out_buf(out), .line_start = true, .transcript = t, .out = out};
	struct session *s = sessions_next(t->sessions, NULL), *next;

	if (paint->begin)
		paint->begin(&p, chosen ? title_of(chosen) : s ? title_of(s) : slice_of("Transcript"));
	put_contents(&p, chosen);
	if (!s)
		paint->line(&p, LINE_NOTE, "info", slice_of("There is no session in what was read."));
	for (; s; s = sessions_next(t->sessions, s)) {
		if (!is_apart(s, chosen))
			continue;
		put_session(&p, s);
		while ((next = p.separate)) {
			p.separate = ((struct export_session *)next->data)->next_separate;
			put_session(&p, next);
		}
	}
	page_put(&p, paint->end);
	out_end_record(out, 0);
	buf_free(&p.word);
	buf_free(&p.prefix);
}
