/* The parts of a turn: content, tool calls, plans, and questions to the user. */
#include "cmd/acp-export/walk_parts.h"

#include <math.h>
#include <time.h>

#include "lib/base/people.h"

/* The plain text of a JSON string, or the JSON text of any other value; valid until the next call. */
static struct slice
plain(struct walk *w, struct slice json)
{
	if (json.n == 0 || json_type(json) != JSON_STRING)
		return json;
	w->text.n = 0;
	w->page.failed |= json_unescape(json, &w->text) < 0;
	return buf_slice(&w->text);
}

/* --- times --- */

void
walk_clock(const struct walk *w, struct box *b, const struct export_turn *turn, uint64_t t)
{
	double when = turn->started + (double)t / 1e6;
	time_t seconds = (time_t)floor(when);
	struct tm tm;

	if (!w->transcript->timed)
		return;
	if (turn->started > 0 && gmtime_r(&seconds, &tm)) {
		strftime(b->clock, sizeof(b->clock), "%H:%M:%S", &tm);
		strftime(b->date, sizeof(b->date), "%Y-%m-%dT%H:%M:%SZ", &tm);
	} else {
		b->clock[0] = '+';
		people_duration(b->clock + 1, t);
	}
}

static void
put_length(const struct walk *w, struct box *b, uint64_t from, uint64_t to)
{
	if (w->transcript->timed && to > from)
		people_duration(b->length, to - from);
}

/* --- content --- */

static const char *const images[] = {"image/png", "image/jpeg", "image/gif", "image/webp", "", NULL};
static const char *const kinds[] = {"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "tool call", NULL};
static const char *const states[] = {"completed", "failed", "cancelled", "in_progress", "pending", NULL};

/* Which of the words a JSON string is; the last of them, before NULL, where it is none. */
static const char *
word_of(struct slice json, const char *const *words)
{
	while (words[1] && !json_string_is(json, *words))
		words++;
	return *words;
}

static bool
is_base64(struct slice text)
{
	for (size_t i = 0; i < text.n; i++)
		if (!((text.p[i] >= '0' && text.p[i] <= '9') || (text.p[i] >= 'A' && text.p[i] <= 'Z') ||
			(text.p[i] >= 'a' && text.p[i] <= 'z') || (text.p[i] && strchr("+/=", text.p[i]))))
			return false;
	return text.n > 0;
}

/* What cannot be shown is named: [audio audio/wav, 12K]. */
static void
put_placeholder(struct walk *w, struct slice block, size_t size)
{
	struct slice type = transcript_get(block, "type", JSON_STRING), mime = transcript_get(block, "mimeType", JSON_STRING);
	SCOPED struct buf text = {0};
	char bytes[PEOPLE_FIGURE];

	w->page.failed |= buf_add(&text, "[", 1) < 0 || (type.p && json_unescape(type, &text) < 0) ||
		(mime.p && (buf_add(&text, " ", 1) < 0 || json_unescape(mime, &text) < 0)) ||
		(size && buf_printf(&text, ", %s", people_bytes(bytes, size)) < 0) || buf_add(&text, "]", 1) < 0;
	w->page.paint->line(&w->page, LINE_PLAIN, "text", buf_slice(&text));
}

static void
put_link_block(struct walk *w, struct slice uri, struct slice name)
{
	struct page *p = &w->page;
	SCOPED struct buf url = {0};

	p->failed |= json_unescape(uri, &url) < 0;
	p->paint->block(p, BLOCK_PARAGRAPH, 0, slice(NULL, 0), true);
	if (page_is_link(buf_slice(&url)))
		p->paint->span(p, SPAN_LINK, buf_slice(&url), true);
	p->paint->text(p, name.p ? plain(w, name) : buf_slice(&url));
	if (page_is_link(buf_slice(&url)))
		p->paint->span(p, SPAN_LINK, buf_slice(&url), false);
	else if (name.p && (p->paint->text(p, slice_of(" ")), true))
		p->paint->text(p, buf_slice(&url));
	p->paint->block(p, BLOCK_PARAGRAPH, 0, slice(NULL, 0), false);
}

void
walk_content(struct walk *w, struct slice block)
{
	struct page *p = &w->page;
	struct slice data = transcript_get(block, "data", JSON_STRING), uri = transcript_get(block, "uri", JSON_STRING);
	struct slice text = transcript_get(block, "text", JSON_STRING), resource = transcript_get(block, "resource", JSON_OBJECT);
	const char *type = word_of(json_get(block, "mimeType"), images);

	if (text.p) {
		markup_put(p, plain(w, text));
	} else if (data.p && *type && is_base64(plain(w, data))) {
		p->paint->image(p, type, plain(w, data));
	} else if (resource.p) {
		uri = transcript_get(resource, "uri", JSON_STRING);
		text = transcript_get(resource, "text", JSON_STRING);
		if (uri.p)
			put_link_block(w, uri, slice(NULL, 0));
		if (text.p)
			p->paint->code(p, slice(NULL, 0), plain(w, text));
	} else if (uri.p) {
		put_link_block(w, uri, transcript_get(block, "name", JSON_STRING));
	} else {
		put_placeholder(w, block, data.n);
	}
}

/* --- tool calls --- */

/* A patch is the agent's, and may have any lines. */
static void
put_diff(struct walk *w, struct slice part)
{
	struct slice path = transcript_get(part, "path", JSON_STRING), patch = transcript_get(part, "patch.text", JSON_STRING), text;
	SCOPED struct buf name = {0}, lines = {0};
	const char *at, *newline;
	struct diff_line line;
	uint64_t skipped = 0;

	text = plain(w, patch.p ? patch : transcript_get(part, "hunks", JSON_STRING));
	for (at = text.p; at < text.p + text.n; at = newline + 1) {
		newline = memchr(at, '\n', (size_t)(text.p + text.n - at));
		newline = newline ? newline : text.p + text.n;
		line = (struct diff_line){.sign = DIFF_SAME, .text = slice_between(at, newline)};
		if (line.text.n && memchr("+- @", *at, patch.p ? 3 : 4))
			line = (struct diff_line){.sign = (enum diff_sign)*at, .text = slice_between(at + 1, newline)};
		if (line.sign == DIFF_GAP && json_u64(line.text, &skipped))
			line = (struct diff_line){.sign = DIFF_GAP, .skipped = (size_t)skipped};
		w->page.failed |= buf_add(&lines, &line, sizeof(line)) < 0;
	}
	if (path.p && !patch.p)
		w->page.failed |= json_unescape(path, &name) < 0;
	w->page.paint->diff(&w->page, buf_slice(&name), (const void *)lines.p, lines.n / sizeof(line));
}

/* An element of a call's content. */
static void
put_part(struct walk *w, const struct export_session *x, struct slice part)
{
	struct slice type = transcript_get(part, "type", JSON_STRING), content = transcript_get(part, "content", JSON_OBJECT), id;
	struct terminal *terminal = NULL;

	if (json_string_is(type, "diff")) {
		put_diff(w, part);
	} else if (json_string_is(type, "terminal")) {
		id = plain(w, transcript_get(part, "terminalId", JSON_STRING));
		if (id.n)
			HASH_FIND(hh, x->terminals, id.p, (unsigned)id.n, terminal);
		if (terminal && terminal->output.n)
			w->page.paint->code(&w->page, slice(NULL, 0), buf_slice(&terminal->output));
	} else {
		walk_content(w, content.p ? content : part);
	}
}

/* {}, [] and "" have no content. */
static bool
has_content(struct slice json)
{
	return json.n > 2;
}

void
walk_raw(struct walk *w, const char *label, struct slice json, bool open)
{
	struct box box = {.kind = BOX_FOLD, .label = label, .open = open};
	struct page *p = &w->page;
	SCOPED struct buf text = {0};

	if (!has_content(json))
		return;
	p->paint->open(p, &box);
	if (json_type(json) == JSON_STRING) {
		p->paint->code(p, slice(NULL, 0), plain(w, json));
	} else {
		p->failed |= json_indent(&text, json, 0, buf_add_slice) < 0;
		p->paint->code(p, slice_of("json"), buf_slice(&text));
	}
	p->paint->close(p, &box);
}

void
walk_tool(struct walk *w, const struct session *s, const struct export_turn *turn, const struct item *item)
{
	struct slice title = buf_slice(&item->field[has_content(buf_slice(&item->field[FIELD_TITLE])) ? FIELD_TITLE : FIELD_NAME]);
	struct box box = {.kind = BOX_TOOL, .label = word_of(buf_slice(&item->field[FIELD_KIND]), kinds),
		.state = word_of(buf_slice(&item->field[FIELD_STATUS]), states)};
	struct json_iter it = {.in = buf_slice(&item->field[FIELD_CONTENT])};
	struct page *p = &w->page;
	struct slice key, part;
	SCOPED struct buf name = {0};

	box.open = item->changes || strcmp(box.state, "failed") == 0;
	p->failed |= buf_add_slice(&name, has_content(title) ? plain(w, title) : buf_slice(&item->id)) < 0;
	box.title = buf_slice(&name);
	walk_clock(w, &box, turn, item->t);
	put_length(w, &box, item->t, item->end);
	p->paint->open(p, &box);
	if (!item->changes)
		walk_raw(w, "Input", buf_slice(&item->field[FIELD_INPUT]), false);
	while (it.in.n && json_next(&it, &key, &part))
		put_part(w, s->data, part);
	if (!has_content(buf_slice(&item->field[FIELD_CONTENT])))
		walk_raw(w, "Output", buf_slice(&item->field[FIELD_OUTPUT]), true);
	p->paint->close(p, &box);
}

/* --- plans and questions --- */

void
walk_plan(struct walk *w, const struct item *item)
{
	struct box box = {.kind = BOX_PLAN, .label = "Plan"};
	struct json_iter it = {.in = buf_slice(&item->field[FIELD_CONTENT])};
	struct slice key, entry, status, content;
	struct page *p = &w->page;

	if (!has_content(it.in) && !item->text.n)
		return;
	p->paint->open(p, &box);
	while (it.in.n && json_next(&it, &key, &entry)) {
		status = transcript_get(entry, "status", JSON_STRING);
		content = transcript_get(entry, "content", JSON_STRING);
		p->paint->line(p, LINE_ENTRY, word_of(status, states), content.p ? plain(w, content) : slice(NULL, 0));
	}
	markup_put(p, buf_slice(&item->text));
	p->paint->close(p, &box);
}

/* The options, and which of them was chosen. */
static void
put_options(struct walk *w, const struct item *item)
{
	struct json_iter it = {.in = buf_slice(&item->field[FIELD_CONTENT])};
	struct slice chosen = transcript_get(buf_slice(&item->field[FIELD_OUTPUT]), "outcome.optionId", JSON_STRING);
	struct slice key, option, id, name;
	bool yes;

	while (it.in.n && json_next(&it, &key, &option)) {
		id = transcript_get(option, acp_option_id, JSON_STRING);
		name = transcript_get(option, "name", JSON_STRING);
		yes = id.p && chosen.p && json_string_eq(id, chosen);
		w->page.paint->line(&w->page, LINE_ENTRY, yes ? "chosen" : "offered", name.p || id.p ? plain(w, name.p ? name : id) : slice(NULL, 0));
	}
}

void
walk_ask(struct walk *w, const struct export_turn *turn, const struct item *item)
{
	bool permission = slice_is(buf_slice(&item->field[FIELD_KIND]), "permission");
	struct box box = {.kind = BOX_ASK, .label = permission ? "Permission" : "Question"};
	struct slice response = buf_slice(&item->field[FIELD_OUTPUT]), outcome;
	struct page *p = &w->page;
	SCOPED struct buf title = {0};

	p->failed |= buf_add_slice(&title, plain(w, buf_slice(&item->field[FIELD_TITLE]))) < 0;
	box.title = buf_slice(&title);
	walk_clock(w, &box, turn, item->t);
	put_length(w, &box, item->t, item->end);
	p->paint->open(p, &box);
	if (permission) {
		put_options(w, item);
		outcome = transcript_get(response, "outcome.outcome", JSON_STRING);
		if (outcome.p && !json_string_is(outcome, "selected"))
			p->paint->line(p, LINE_NOTE, "info", plain(w, outcome));
	} else if (item->ended) {
		walk_raw(w, "Answer", response, true);
	}
	if (!item->ended)
		p->paint->line(p, LINE_NOTE, "warning", slice_of("There is no response."));
	else if (permission && transcript_get(response, "message", JSON_STRING).p)
		p->paint->line(p, LINE_NOTE, "error", plain(w, transcript_get(response, "message", JSON_STRING)));
	p->paint->close(p, &box);
}

