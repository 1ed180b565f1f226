/* Adds the content of each kind of session/update to a transcript. */
#include <stdlib.h>

#include "cmd/acp-export/transcript_parts.h"
#include "lib/base/base64.h"

/* --- content --- */

/* Returns whether a text of the user repeats the prompt of an open turn, as agents of version 2 and some others send it. */
static bool
repeats_prompt(const struct session *s, struct slice text)
{
	const struct export_turn *turn;

	for (const struct session_turn *open = s->turn; open; open = open->next) {
		turn = open->prompted ? open->data : NULL;
		if (turn && turn->items && turn->items->kind == ITEM_USER &&
			(slice_eq(buf_slice(&turn->items->text), text) || slice_eq(buf_slice(&turn->prompt), text)))
			return true;
	}
	return false;
}

/* Returns the plain id in a member of an update, in transcript.id; empty: there is none. */
static struct slice
id_of(struct transcript *t, struct slice update, const char *member)
{
	t->id.n = 0;
	transcript_add_plain(&t->id, json_get(update, member));
	return buf_slice(&t->id);
}

/* A message of which content is added. */
struct content {
	const struct session *session;
	struct export_turn *turn; /* for new items; NULL: that of transcript_turn */
	enum item_kind kind;
	struct slice id;          /* plain; may be empty */
	bool whole;               /* the content is no chunk */
	bool echo;                /* texts that repeat a prompt are left out */
	struct item *old;         /* the next item of the content that is replaced; or NULL */
};

/* Returns an item for a block: the next one of the old content, or else a new one. */
static struct item *
block_item(struct transcript *t, struct content *c, enum item_kind kind)
{
	struct export_session *x = c->session->data;
	struct item *item = c->old, *first = NULL;

	if (item) {
		c->old = item->more;
		item->kind = kind;
		return item;
	}
	item = transcript_item(t, c->turn ? c->turn : transcript_turn(t, c->session), kind);
	if (c->id.n == 0)
		return item;
	export_must(buf_add_slice(&item->id, c->id));
	HASH_FIND(hh, x->messages[c->kind], c->id.p, (unsigned)c->id.n, first);
	if (first) {
		first->final->more = item;
		first->final = item;
		return item;
	}
	item->final = item;
	HASH_ADD_KEYPTR(hh, x->messages[c->kind], item->id.p, (unsigned)item->id.n, item);
	return item;
}

/* Returns the item to which a text is appended. */
static struct item *
text_item(struct transcript *t, struct content *c)
{
	struct item *last = c->turn && !c->whole ? c->turn->last : NULL;

	if (last && last->kind == c->kind && slice_eq(buf_slice(&last->id), c->id) && !(last->whole && c->id.n == 0)) {
		last->end = t->now;
		return last;
	}
	last = block_item(t, c, c->kind);
	last->whole = c->whole;
	return last;
}

static void
add_block(struct transcript *t, struct content *c, struct slice block)
{
	struct slice type = json_get_string(block, "type");
	struct item *item;

	if (!type.p)
		return;
	if (!json_string_is(type, "text")) {
		item = block_item(t, c, ITEM_BLOCK);
		transcript_set(&item->field[FIELD_CONTENT], block);
		item->by_user = c->kind == ITEM_USER;
		return;
	}
	t->word.n = 0;
	transcript_add_plain(&t->word, json_get(block, "text"));
	if (t->word.n == 0 || (c->kind == ITEM_USER && c->echo && repeats_prompt(c->session, buf_slice(&t->word))))
		return;
	export_must(buf_add_slice(&text_item(t, c)->text, buf_slice(&t->word)));
}

void
transcript_content(struct transcript *t, const struct session *s, struct export_turn *turn, enum item_kind kind, struct slice content,
	struct slice message_id)
{
	struct content c = {.session = s, .turn = turn, .kind = kind, .id = message_id, .echo = !turn,
		.whole = json_type(content) == JSON_ARRAY || json_type(content) == JSON_NULL};
	struct export_session *x = s->data;
	struct json_iter it = {.in = content};
	struct slice block;

	if (!c.whole) {
		c.turn = turn ? turn : transcript_turn(t, s);
		add_block(t, &c, content);
		return;
	}
	if (message_id.n)
		HASH_FIND(hh, x->messages[kind], message_id.p, (unsigned)message_id.n, c.old);
	for (struct item *item = c.old; item; item = item->more)
		item->text.n = item->field[FIELD_CONTENT].n = 0;
	while (json_item(&it, &block))
		add_block(t, &c, block);
}

/* --- tool calls --- */

/* Returns the item of a call (id: a JSON string); content may come before the call begins. NULL: no id. */
static struct item *
tool_item(struct transcript *t, const struct session *s, struct slice id)
{
	struct session_call *call = session_call_find(t->sessions, s, id);
	struct item *item = call ? call->data : NULL;
	struct export_session *x = s->data;

	if (item)
		return item;
	id = json_text(id, &t->word);
	item = id.n ? x->unannounced : NULL;
	if (id.n && !(item && slice_eq(buf_slice(&item->id), id))) {
		item = transcript_work(t, s, ITEM_TOOL, call ? call->turn : NULL);
		export_must(buf_add_slice(&item->id, id));
	}
	x->unannounced = call ? NULL : item;
	if (call)
		call->data = item;
	return item;
}

static bool
is_diff(struct slice part)
{
	return json_string_is(json_get_string(part, "type"), "diff");
}

/* Appends an element to the content of a tool call. The texts of a diff may be whole files; only the lines for pages are kept. */
static void
add_part(struct item *item, struct slice part)
{
	struct slice patch = transcript_get(part, "patch", JSON_OBJECT);
	struct buf *to = &item->field[FIELD_CONTENT];
	SCOPED struct buf old = {0}, new = {0}, hunks = {0}, string = {0};

	to->n -= to->n > 0;
	export_must(buf_add_string(to, to->n > 1 ? "," : to->n ? "" : "["));
	if (is_diff(part)) {
		item->changes = true;
		if (!json_get_string(patch, "text").p) {
			transcript_add_plain(&old, json_get(part, "oldText"));
			transcript_add_plain(&new, json_get(part, "newText"));
			diff_make(&hunks, buf_slice(&old), buf_slice(&new));
			export_must(json_quote(buf_slice(&hunks), &string));
		}
		export_must(json_add_object(to, (const struct json_member[]){{"type", slice_of("\"diff\"")}, {"path", json_get(part, "path")},
			{"patch", patch}, {"hunks", buf_slice(&string)}, {NULL, {NULL, 0}}}));
	} else {
		export_must(buf_add_slice(to, part));
	}
	export_must(buf_add(to, "]", 1));
}

struct item *
transcript_tool(struct transcript *t, const struct session *s, struct slice update)
{
	static const struct {
		const char *name;
		enum json_type type; /* JSON_NONE: any */
	} fields[FIELDS] = {[FIELD_TITLE] = {"title", JSON_STRING}, [FIELD_NAME] = {"name", JSON_STRING},
		[FIELD_KIND] = {"kind", JSON_STRING}, [FIELD_STATUS] = {"status", JSON_STRING},
		[FIELD_CONTENT] = {"content", JSON_ARRAY}, [FIELD_INPUT] = {"rawInput", JSON_NONE},
		[FIELD_OUTPUT] = {"rawOutput", JSON_NONE}};
	struct item *item = tool_item(t, s, json_get(update, "toolCallId"));
	struct json_iter it = {0};
	enum json_type type;
	struct slice v, part;

	if (!item)
		return NULL;
	for (size_t i = 0; i < FIELDS; i++) {
		v = json_get(update, fields[i].name);
		type = json_type(v);
		/* In version 2, null removes a value. */
		if (!v.p || (type == JSON_NULL ? !sessions_v2(t->sessions) : fields[i].type != JSON_NONE && type != fields[i].type))
			continue;
		item->field[i].n = 0;
		if (i != FIELD_CONTENT) {
			transcript_set(&item->field[i], v);
			continue;
		}
		item->tail = 0;
		item->changes = false;
		for (it.in = v; json_item(&it, &part);)
			add_part(item, part);
	}
	item->end = item->ended ? item->end : t->now;
	item->ended |= session_status_is_final(json_get(update, "status"));
	/* Pages show neither input nor output of a call that has a diff. */
	if (item->ended && item->changes) {
		buf_free(&item->field[FIELD_INPUT]);
		buf_free(&item->field[FIELD_OUTPUT]);
	}
	return item;
}

/* Returns the update before redaction, if pieces of its texts are redacted later; else the update that is given. */
static struct slice
pieces_of(const struct transcript *t, struct slice update)
{
	return t->params.p ? json_get(t->params, acp_update) : update;
}

static void
show_tool(struct transcript *t, struct session *s, struct slice update)
{
	struct slice delta = json_path(pieces_of(t, update), "_meta.terminal_output_delta");
	struct buf *output;

	transcript_tool(t, s, update);
	/* Some agents of version 1 send a piece of a terminal's output with the tool call. */
	output = transcript_terminal(t, s, json_get(delta, "terminal_id"));
	if (output)
		transcript_add_plain(output, json_get(delta, "data"));
}

/* Appends an element to the content of a tool call; a text continues the text before it. */
static void
show_tool_chunk(struct transcript *t, struct session *s, struct slice update)
{
	struct item *item = tool_item(t, s, json_get(update, "toolCallId"));
	struct slice content = transcript_get(pieces_of(t, update), acp_content, JSON_OBJECT);
	struct slice text = transcript_get(content, "content.text", JSON_STRING);
	struct buf *to = item ? &item->field[FIELD_CONTENT] : NULL;

	if (!text.p || is_diff(content)) {
		content = transcript_get(update, acp_content, JSON_OBJECT);
		text.p = NULL;
	}
	if (!to || !content.p)
		return;
	if (text.p && item->tail) {
		SCOPED struct buf end = {0};

		export_must(buf_add(&end, to->p + to->n - item->tail, item->tail));
		to->n -= item->tail;
		export_must(json_format(to, "%b%b", slice(text.p + 1, text.n - 2), buf_slice(&end)));
		return;
	}
	add_part(item, content);
	item->tail = text.p ? (size_t)(content.p + content.n - (text.p + text.n)) + 2 : 0;
}

/* --- terminals --- */

struct buf *
transcript_terminal(struct transcript *t, const struct session *s, struct slice id)
{
	struct export_session *x = s->data;
	struct terminal *terminal;

	t->word.n = 0;
	transcript_add_plain(&t->word, id);
	if (t->word.n == 0)
		return NULL;
	HASH_FIND(hh, x->terminals, t->word.p, (unsigned)t->word.n, terminal);
	if (terminal)
		return &terminal->output;
	terminal = transcript_new(sizeof(*terminal) + t->word.n);
	memcpy(terminal->id, t->word.p, t->word.n);
	HASH_ADD(hh, x->terminals, id, (unsigned)t->word.n, terminal);
	return &terminal->output;
}

/* Replaces the output of a terminal, or appends a piece; both come in base64. */
static void
show_terminal(struct transcript *t, struct session *s, struct slice update)
{
	struct buf *output = transcript_terminal(t, s, json_get(update, "terminalId"));
	struct slice all = transcript_get(update, "output.data", JSON_STRING);

	if (!output)
		return;
	if (all.p || json_type(json_get(update, "output")) == JSON_NULL)
		output->n = 0;
	t->word.n = 0;
	transcript_add_plain(&t->word, all.p ? all : json_get(update, "data"));
	export_must(base64_decode(buf_slice(&t->word), output));
}

/* --- plans, usage, notices --- */

/* Finds a plan in a turn by its id, or the plan without an id if id is empty; or NULL. */
static struct item *
find_plan(const struct export_turn *turn, struct slice id)
{
	struct item *item = turn ? turn->items : NULL;

	while (item && !(item->kind == ITEM_PLAN && slice_eq(buf_slice(&item->id), id)))
		item = item->next;
	return item;
}

/* Sets a plan. Each turn shows a plan once, with its last entries. */
static void
show_plan(struct transcript *t, struct session *s, struct slice update)
{
	struct slice plan = transcript_get(update, "plan", JSON_OBJECT), entries, text, id;
	struct export_turn *turn = transcript_turn(t, s);
	struct item *item;

	plan = plan.p ? plan : update;
	id = id_of(t, plan, "planId");
	entries = transcript_get(plan, "entries", JSON_ARRAY);
	text = json_get_string(plan, acp_content);
	if (!entries.p && !text.p)
		return;
	item = find_plan(turn, id);
	if (!item) {
		item = transcript_item(t, turn, ITEM_PLAN);
		export_must(buf_add_slice(&item->id, id));
	}
	item->text.n = item->field[FIELD_CONTENT].n = 0;
	transcript_set(&item->field[FIELD_CONTENT], entries);
	transcript_add_plain(&item->text, text);
}

static void
remove_plan(struct transcript *t, struct session *s, struct slice update)
{
	struct item *item = find_plan(transcript_turn(t, s), id_of(t, update, "planId"));

	if (item)
		item->text.n = item->field[FIELD_CONTENT].n = 0;
}

static void
show_usage(struct transcript *t, struct session *s, struct slice update)
{
	struct slice amount = transcript_get(update, "cost.amount", JSON_NUMBER), currency = transcript_get(update, "cost.currency", JSON_STRING);
	struct sample sample = {.at = t->started + (double)t->now / 1e6, .cost = -1};
	struct export_session *x = s->data;
	char digits[64] = "";

	if (!json_u64(transcript_get(update, "used", JSON_NUMBER), &sample.used))
		return;
	if (!json_u64(transcript_get(update, "size", JSON_NUMBER), &sample.size))
		sample.size = 0;
	if (x->currency.n == 0)
		transcript_add_plain(&x->currency, currency);
	/* The cost is only for the chart, so that an amount of more digits than fit is ignored. */
	if (amount.n && amount.n < sizeof(digits) && slice_eq(json_text(currency, &t->word), buf_slice(&x->currency))) {
		memcpy(digits, amount.p, amount.n);
		sample.cost = strtod(digits, NULL);
		sample.cost = sample.cost >= 0 && sample.cost < 1e15 ? sample.cost : -1;
	}
	export_must(buf_add(&x->samples, &sample, sizeof(sample)));
}

static void
show_mode(struct transcript *t, struct session *s, struct slice update)
{
	SCOPED struct buf text = {0};

	export_must(buf_add_string(&text, "Mode: "));
	transcript_add_plain(&text, json_get(update, "currentModeId"));
	transcript_note(t, s, slice_of("info"), buf_slice(&text));
}

/* Sets the title of the session, or of the session that a subagent_update names. */
static void
show_title(struct transcript *t, struct session *s, struct slice update)
{
	struct slice id = json_text(json_get(update, acp_session_id), &t->word);
	const struct session *named = id.p ? sessions_find(t->sessions, id) : s;

	if (named)
		transcript_set_plain(&((struct export_session *)named->data)->title, json_get(update, "title"));
}

static void
show_notice(struct transcript *t, struct session *s, struct slice update)
{
	struct slice more = json_get_string(update, "description");
	SCOPED struct buf text = {0}, severity = {0};

	transcript_add_plain(&text, json_get(update, "title"));
	export_must(buf_add_string(&text, more.p ? "\n" : ""));
	transcript_add_plain(&text, more);
	transcript_set_plain(&severity, json_get(update, "severity"));
	transcript_note(t, s, buf_slice(&severity), buf_slice(&text));
}

/* Sets the status of a compaction, and the summary, which may come whole or in pieces. */
static void
show_compaction(struct transcript *t, struct session *s, struct slice update)
{
	struct slice id = id_of(t, update, "compactionId"), summary = json_get(update, "summary"), block;
	struct export_session *x = s->data;
	struct item *item = x->compaction;
	struct json_iter it = {.in = summary};

	if (!item || !slice_eq(buf_slice(&item->id), id)) {
		x->compaction = item = transcript_item(t, transcript_turn(t, s), ITEM_COMPACTION);
		export_must(buf_add_slice(&item->id, id));
	}
	transcript_set(&item->field[FIELD_STATUS], json_get_string(update, "status"));
	if (summary.p)
		item->text.n = 0;
	while (json_item(&it, &block)) {
		export_must(buf_add_string(&item->text, item->text.n ? "\n" : ""));
		transcript_add_plain(&item->text, json_get_string(block, "text"));
	}
	transcript_add_plain(&item->text, transcript_get(pieces_of(t, update), "content.text", JSON_STRING));
}

/* A message to a sub-agent begins a task, as its prompt. A message to a parent is left out: the sub-agent's texts have it. */
static void
show_message(struct transcript *t, struct session *s, struct slice update)
{
	struct slice to = json_text(json_get(update, "recipientSessionId"), &t->word);
	struct export_session *x = s->data;

	if (!s->parent || !slice_eq(to, slice(s->id, s->n)))
		return;
	x->loose = NULL;
	transcript_content(t, s, NULL, ITEM_USER, json_get(update, acp_content), id_of(t, update, "messageId"));
}

/* --- all of them --- */

void
transcript_update(struct transcript *t, struct session *s, struct slice kind, struct slice update)
{
	static const struct {
		const char *kind;
		void (*show)(struct transcript *, struct session *, struct slice update); /* NULL: content, for an item of the kind: */
		enum item_kind item;
	} kinds[] = {{"agent_message_chunk", NULL, ITEM_AGENT}, {"agent_thought_chunk", NULL, ITEM_THOUGHT},
		{"tool_call_update", show_tool, 0}, {"tool_call", show_tool, 0}, {"usage_update", show_usage, 0},
		{"user_message_chunk", NULL, ITEM_USER}, {"plan", show_plan, 0}, {"agent_message", NULL, ITEM_AGENT},
		{"agent_thought", NULL, ITEM_THOUGHT}, {"user_message", NULL, ITEM_USER},
		{"tool_call_content_chunk", show_tool_chunk, 0}, {"plan_update", show_plan, 0}, {"plan_removed", remove_plan, 0},
		{"terminal_update", show_terminal, 0}, {"terminal_output_chunk", show_terminal, 0}, {"current_mode_update", show_mode, 0},
		{"session_info_update", show_title, 0}, {"notice", show_notice, 0}, {"compaction_update", show_compaction, 0},
		{"compaction_summary_chunk", show_compaction, 0}, {"subagent_update", show_title, 0}, {"session_message", show_message, 0}};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!json_string_is(kind, kinds[i].kind))
			continue;
		if (kinds[i].show)
			kinds[i].show(t, s, update);
		else
			transcript_content(t, s, NULL, kinds[i].item, json_get(update, acp_content), id_of(t, update, "messageId"));
		return;
	}
}
