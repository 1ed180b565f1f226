/* The kinds of session/update, and what each adds to a transcript. */
#include <stdlib.h>

#include "cmd/acp-export/transcript_parts.h"
#include "lib/base/base64.h"

/* --- content --- */

/* Does it repeat the prompt, as version 2 and some agents do? */
static bool
repeats_prompt(const struct session *s, struct slice text)
{
	const struct item *first = s->open && s->open->prompted ? s->open->items : NULL;

	return first && first->kind == ITEM_USER && slice_eq(buf_slice(&first->text), text);
}

/* What a text is to the one before it: it goes on with it, takes its place where they are one message, or is another one. */
enum join { JOIN, REPLACE, APART };

/* The item of a text. NULL when out of memory. */
static struct item *
text_item(struct transcript *t, struct session *s, uint64_t when, enum item_kind kind, struct slice message_id, enum join join)
{
	struct item *last = s->open ? s->open->last : NULL;
	bool same = last && join != APART && last->kind == kind && slice_eq(buf_slice(&last->id), message_id);

	if (same && (join == JOIN || message_id.n == 0)) {
		last->end = when;
		return last;
	}
	if (same)
		last->text.n = 0;
	else if ((last = transcript_item(t, s, when, kind)))
		t->failed |= buf_add_slice(&last->id, message_id) < 0;
	return last;
}

static void
take_block(struct transcript *t, struct session *s, uint64_t when, enum item_kind kind, struct slice block,
	struct slice message_id, enum join join)
{
	struct slice type = transcript_get(block, "type", JSON_STRING), text = transcript_get(block, "text", JSON_STRING);
	struct item *item;

	if (!type.p)
		return;
	if (!json_string_is(type, "text")) {
		item = transcript_item(t, s, when, ITEM_BLOCK);
		if (item)
			transcript_set(t, &item->field[FIELD_CONTENT], block);
		if (item)
			item->by_user = kind == ITEM_USER;
		return;
	}
	t->word.n = 0;
	transcript_add_plain(t, &t->word, text);
	if (t->word.n == 0 || (kind == ITEM_USER && repeats_prompt(s, buf_slice(&t->word))))
		return;
	item = text_item(t, s, when, kind, message_id, join);
	if (item)
		t->failed |= buf_add_slice(&item->text, buf_slice(&t->word)) < 0;
}

void
transcript_content(struct transcript *t, struct session *s, uint64_t when, enum item_kind kind, struct slice content,
	struct slice message_id)
{
	struct json_iter it = {.in = content};
	enum join join = REPLACE;
	struct slice key, block;

	if (!content.p || json_type(content) != JSON_ARRAY) {
		take_block(t, s, when, kind, content, message_id, JOIN);
		return;
	}
	for (; json_next(&it, &key, &block); join = APART)
		take_block(t, s, when, kind, block, message_id, join);
}

static void
take_content(struct transcript *t, struct session *s, uint64_t when, struct slice update, enum item_kind kind)
{
	struct slice chunk = transcript_get(update, acp_content, JSON_OBJECT), whole = transcript_get(update, acp_content, JSON_ARRAY);

	transcript_content(t, s, when, kind, chunk.p ? chunk : whole, transcript_get(update, "messageId", JSON_STRING));
}

/* --- tool calls --- */

static struct item *
tool_item(struct transcript *t, struct session *s, uint64_t when, struct slice id)
{
	struct item *item;

	t->word.n = 0;
	transcript_add_plain(t, &t->word, id);
	if (t->word.n == 0)
		return NULL;
	HASH_FIND(hh, s->tools, t->word.p, (unsigned)t->word.n, item);
	if (item)
		return item;
	item = transcript_item(t, s, when, ITEM_TOOL);
	if (!item || buf_add_slice(&item->id, buf_slice(&t->word)) < 0) {
		t->failed = true;
		return NULL;
	}
	HASH_ADD_KEYPTR(hh, s->tools, item->id.p, (unsigned)item->id.n, item);
	if (!item->hh.tbl) {
		t->failed = true;
		return NULL;
	}
	return item;
}

/* A piece of a terminal's output, where an agent of version 1 sends it beside its tool call. */
static void
take_terminal_delta(struct transcript *t, struct session *s)
{
	struct slice delta = transcript_get(t->pieces, "update._meta.terminal_output_delta", JSON_OBJECT);
	struct buf *output = delta.p ? transcript_terminal(t, s, transcript_get(delta, "terminal_id", JSON_STRING)) : NULL;

	if (output)
		transcript_add_plain(t, output, transcript_get(delta, "data", JSON_STRING));
}

struct item *
transcript_tool(struct transcript *t, struct session *s, uint64_t when, struct slice call)
{
	static const struct {
		const char *name;
		enum json_type type; /* JSON_NONE: any */
	} fields[FIELDS] = {[FIELD_TITLE] = {"title", JSON_STRING}, [FIELD_NAME] = {"name", JSON_STRING},
		[FIELD_KIND] = {"kind", JSON_STRING}, [FIELD_STATUS] = {"status", JSON_STRING},
		[FIELD_CONTENT] = {"content", JSON_ARRAY}, [FIELD_INPUT] = {"rawInput", JSON_NONE},
		[FIELD_OUTPUT] = {"rawOutput", JSON_NONE}};
	struct item *item = tool_item(t, s, when, transcript_get(call, "toolCallId", JSON_STRING));
	struct slice v;

	if (!item)
		return NULL;
	for (size_t i = 0; i < FIELDS; i++) {
		v = json_get(call, fields[i].name);
		if (v.p && (fields[i].type == JSON_NONE || json_type(v) == fields[i].type))
			transcript_set(t, &item->field[i], v);
	}
	v = transcript_get(call, "status", JSON_STRING);
	if (!item->ended)
		item->end = when;
	item->ended |= v.p && (json_string_is(v, "completed") || json_string_is(v, "failed") || json_string_is(v, "cancelled"));
	take_terminal_delta(t, s);
	return item;
}

static void
take_tool(struct transcript *t, struct session *s, uint64_t when, struct slice update)
{
	transcript_tool(t, s, when, update);
}

/* One more element of its content. */
static void
take_tool_content(struct transcript *t, struct session *s, uint64_t when, struct slice update)
{
	struct item *item = tool_item(t, s, when, transcript_get(update, "toolCallId", JSON_STRING));
	struct slice content = transcript_get(update, acp_content, JSON_OBJECT);
	struct buf *to = item ? &item->field[FIELD_CONTENT] : NULL;

	if (!to || !content.p)
		return;
	while (to->n && to->p[to->n - 1] != ']')
		to->n--;
	if (to->n)
		to->n--;
	t->failed |= buf_add_string(to, to->n > 1 ? "," : to->n ? "" : "[") < 0 || buf_add_slice(to, content) < 0 ||
		buf_add(to, "]", 1) < 0;
}

/* --- terminals --- */

struct buf *
transcript_terminal(struct transcript *t, struct session *s, struct slice id)
{
	struct terminal *terminal;

	t->word.n = 0;
	transcript_add_plain(t, &t->word, id);
	if (t->word.n == 0)
		return NULL;
	HASH_FIND(hh, s->terminals, t->word.p, (unsigned)t->word.n, terminal);
	if (terminal)
		return &terminal->output;
	terminal = calloc(1, sizeof(*terminal) + t->word.n);
	if (terminal) {
		memcpy(terminal->id, t->word.p, t->word.n);
		HASH_ADD(hh, s->terminals, id, (unsigned)t->word.n, terminal);
	}
	if (terminal && terminal->hh.tbl)
		return &terminal->output;
	t->failed = true;
	free(terminal);
	return NULL;
}

static void
add_base64(struct transcript *t, struct buf *to, struct slice string)
{
	t->word.n = 0;
	transcript_add_plain(t, &t->word, string);
	/* What is no base64 has no bytes. */
	base64_decode(buf_slice(&t->word), to);
}

static void
take_terminal(struct transcript *t, struct session *s, uint64_t when, struct slice update)
{
	struct buf *output = transcript_terminal(t, s, transcript_get(update, "terminalId", JSON_STRING));
	struct slice all = transcript_get(update, "output.data", JSON_STRING), more = transcript_get(update, "data", JSON_STRING);

	(void)when;
	if (!output)
		return;
	if (all.p)
		output->n = 0;
	add_base64(t, output, all.p ? all : more);
}

/* --- plans, usage, notices --- */

/* The plan of a turn is shown once, as it was last. */
static void
take_plan(struct transcript *t, struct session *s, uint64_t when, struct slice update)
{
	struct slice plan = transcript_get(update, "plan", JSON_OBJECT), entries;
	struct turn *turn = transcript_turn(t, s, when);

	plan = plan.p ? plan : update;
	entries = transcript_get(plan, "entries", JSON_ARRAY);
	if (!turn || (!entries.p && !transcript_get(plan, acp_content, JSON_STRING).p))
		return;
	if (!turn->plan)
		turn->plan = transcript_item(t, s, when, ITEM_PLAN);
	if (!turn->plan)
		return;
	turn->plan->text.n = turn->plan->field[FIELD_CONTENT].n = 0;
	transcript_set(t, &turn->plan->field[FIELD_CONTENT], entries);
	transcript_add_plain(t, &turn->plan->text, transcript_get(plan, acp_content, JSON_STRING));
}

static void
take_usage(struct transcript *t, struct session *s, uint64_t when, struct slice update)
{
	struct slice used = transcript_get(update, "used", JSON_NUMBER), size = transcript_get(update, "size", JSON_NUMBER);
	struct sample sample = {.at = t->started + (double)when / 1e6};

	if (!used.p || !json_u64(used, &sample.used))
		return;
	if (!size.p || !json_u64(size, &sample.size))
		sample.size = 0;
	t->failed |= buf_add(&s->samples, &sample, sizeof(sample)) < 0;
}

static void
take_mode(struct transcript *t, struct session *s, uint64_t when, struct slice update)
{
	SCOPED struct buf text = {0};

	t->failed |= buf_add_string(&text, "Mode: ") < 0;
	transcript_add_plain(t, &text, transcript_get(update, "currentModeId", JSON_STRING));
	transcript_note(t, s, when, "info", buf_slice(&text));
}

static void
take_info(struct transcript *t, struct session *s, uint64_t when, struct slice update)
{
	(void)when;
	transcript_set_plain(t, &s->title, transcript_get(update, "title", JSON_STRING));
}

static void
take_notice(struct transcript *t, struct session *s, uint64_t when, struct slice update)
{
	struct slice more = transcript_get(update, "description", JSON_STRING);
	SCOPED struct buf text = {0}, severity = {0};

	transcript_add_plain(t, &text, transcript_get(update, "title", JSON_STRING));
	if (more.p)
		t->failed |= buf_add(&text, "\n", 1) < 0;
	transcript_add_plain(t, &text, more);
	transcript_set_plain(t, &severity, transcript_get(update, "severity", JSON_STRING));
	if (!buf_string(&severity))
		t->failed = true;
	else
		transcript_note(t, s, when, severity.p, buf_slice(&text));
}

static void
add_blocks(struct transcript *t, struct buf *to, struct slice blocks)
{
	struct json_iter it = {.in = blocks};
	struct slice key, block, text;

	while (blocks.p && json_next(&it, &key, &block)) {
		text = transcript_get(block, "text", JSON_STRING);
		if (text.p)
			t->failed |= buf_add(to, "\n", 1) < 0;
		transcript_add_plain(t, to, text);
	}
}

/* Only how it ended. Agents repeat that. */
static void
take_compaction(struct transcript *t, struct session *s, uint64_t when, struct slice update)
{
	struct slice status = transcript_get(update, "status", JSON_STRING);
	struct slice summary = transcript_get(update, "summary", JSON_ARRAY);
	bool failed = status.p && json_string_is(status, "failed");
	const struct item *last = s->last ? s->last->last : NULL;
	SCOPED struct buf text = {0};

	if (!status.p || json_string_is(status, "in_progress"))
		return;
	t->failed |= buf_add_string(&text, "The context was compacted: ") < 0;
	transcript_add_plain(t, &text, status);
	if (last && last->kind == ITEM_NOTE && last->text.n >= text.n && memcmp(last->text.p, text.p, text.n) == 0 && !summary.p)
		return;
	add_blocks(t, &text, summary);
	transcript_note(t, s, when, failed ? "error" : "info", buf_slice(&text));
}

/* --- sub-agents --- */

/* Makes it a child, unless it has a parent or would be its own ancestor. */
static void
adopt(struct transcript *t, struct session *parent, struct session *child, uint64_t when)
{
	struct item *item;

	for (const struct session *s = parent; s; s = s->parent)
		if (s == child)
			return;
	if (child->parent)
		return;
	item = transcript_item(t, parent, when, ITEM_CHILD);
	if (!item)
		return;
	item->child = child;
	child->parent = parent;
}

static void
take_child(struct transcript *t, struct session *s, uint64_t when, struct slice update)
{
	struct session *child = transcript_session(t, transcript_get(update, acp_session_id, JSON_STRING));
	struct slice state = transcript_get(update, "state", JSON_OBJECT), word = transcript_get(state, acp_state, JSON_STRING);

	if (!child)
		return;
	adopt(t, s, child, when);
	transcript_set_plain(t, &child->title, transcript_get(update, "title", JSON_STRING));
	if (word.p && child->open && json_string_is(word, acp_idle)) {
		transcript_set_plain(t, &child->open->stop, transcript_get(state, acp_stop_reason, JSON_STRING));
		transcript_end_turn(child, child->open, when);
	}
}

/* What a parent says to its sub-agent is that one's prompt; the parent shows it there, and sub-agents' words among their own. */
static void
take_message(struct transcript *t, struct session *s, uint64_t when, struct slice update)
{
	struct slice to = transcript_get(update, "recipientSessionId", JSON_STRING);

	if (!to.p || !s->parent || transcript_session(t, to) != s)
		return;
	if (s->open)
		transcript_end_turn(s, s->open, s->open->end);
	take_content(t, s, when, update, ITEM_USER);
}

static void
take_state(struct transcript *t, struct session *s, uint64_t when, struct slice update)
{
	struct slice state = transcript_get(update, acp_state, JSON_STRING);
	struct turn *turn = s->open;

	if (!state.p || !turn || !json_string_is(state, acp_idle))
		return;
	transcript_set_plain(t, &turn->stop, transcript_get(update, acp_stop_reason, JSON_STRING));
	transcript_set(t, &turn->error, transcript_get(update, "error", JSON_OBJECT));
	transcript_end_turn(s, turn, when);
}

/* --- all of them --- */

void
transcript_update(struct transcript *t, struct session *s, uint64_t when, struct slice update)
{
	static const struct {
		const char *kind;
		void (*take)(struct transcript *, struct session *, uint64_t when, struct slice update); /* NULL: content, of an item: */
		enum item_kind item;
	} kinds[] = {{"agent_message_chunk", NULL, ITEM_AGENT}, {"agent_thought_chunk", NULL, ITEM_THOUGHT},
		{"tool_call_update", take_tool, 0}, {"tool_call", take_tool, 0}, {"usage_update", take_usage, 0},
		{"user_message_chunk", NULL, ITEM_USER}, {"plan", take_plan, 0}, {"agent_message", NULL, ITEM_AGENT},
		{"agent_thought", NULL, ITEM_THOUGHT}, {"user_message", NULL, ITEM_USER},
		{"tool_call_content_chunk", take_tool_content, 0}, {"plan_update", take_plan, 0}, {"state_update", take_state, 0},
		{"terminal_update", take_terminal, 0}, {"terminal_output_chunk", take_terminal, 0}, {"current_mode_update", take_mode, 0},
		{"session_info_update", take_info, 0}, {"notice", take_notice, 0}, {"compaction_update", take_compaction, 0},
		{"subagent_update", take_child, 0}, {"session_message", take_message, 0}};
	struct slice kind = transcript_get(update, acp_update_kind, JSON_STRING);

	if (!kind.p || s->skipping)
		return;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!json_string_is(kind, kinds[i].kind))
			continue;
		if (kinds[i].take)
			kinds[i].take(t, s, when, update);
		else
			take_content(t, s, when, update, kinds[i].item);
		return;
	}
}
