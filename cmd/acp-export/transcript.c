/* Reads messages: redacts each message, and gives it to the modules for sessions and usage. */
#include "cmd/acp-export/transcript_parts.h"

#include "lib/run/proc.h"

/* --- messages --- */

/*
 * Redacts a message, but not a piece of a text: a secret may extend over several pieces, so that redact_all redacts the whole text
 * later. *inner: the message before redaction, without an envelope.
 */
static void
clean(struct transcript *t, struct message *m, struct msg *inner)
{
	struct acp_chunk chunk;
	const char *why;

	*inner = m->msg;
	if (inner->what == ACP_PROXY_SUCCESSOR && msg_open_envelope(&m->msg, inner, NULL, &why) < 0)
		*inner = m->msg;
	t->params = t->redact->all_texts ? slice(NULL, 0) : inner->params;
	if (t->params.p && inner->what == ACP_SESSION_UPDATE && acp_chunk(inner->params, &chunk))
		return;
	export_must(redact_line(t->redact, m->msg.text, &m->line));
	if (m->line.p != m->msg.text.p)
		msg_scan(m->line, &m->msg, NULL);
}

void
transcript_see(struct transcript *t, const struct message *original, bool timed)
{
	const struct session_message *seen;
	struct session_message whole;
	struct message m = *original;
	struct msg inner;

	t->timed |= timed;
	t->params = slice(NULL, 0);
	if (t->redact)
		clean(t, &m, &inner);
	export_must(sessions_see(t->sessions, &m, &seen));
	t->now = seen->message.t;
	if (!seen->copy)
		transcript_show(t, seen);
	if (!usage_may_matter(&t->words, original->msg.text))
		return;
	/* The usage reads the message before redaction: names of agents and models decide how figures are read. */
	whole = *seen;
	if (t->redact)
		whole.message.msg = inner;
	export_must(usage_message(t->usage, &whole));
}

void
transcript_exit(struct transcript *t, uint64_t when, int status)
{
	struct session *s = NULL;
	char text[64];
	SCOPED struct buf why = {0};

	if (status == 0)
		return;
	t->now = when > t->now ? when : t->now;
	export_must(buf_printf(&why, "The agent ended: %s.", proc_describe(status, text, sizeof(text))));
	while ((s = sessions_next(t->sessions, s)))
		if (s->turn)
			transcript_note(t, s, slice_of("error"), buf_slice(&why));
}

/* --- usage --- */

static void
count(void *arg, const struct usage_event *e)
{
	struct transcript *t = arg;
	struct session *s = sessions_find(t->sessions, slice(e->session->id, e->session->id_length));
	struct export_session *x = s ? s->data : NULL;
	struct export_turn *turn = x ? x->uncounted : NULL;
	struct decimal added;

	if (e->kind != USAGE_EVENT_TURN && e->kind != USAGE_EVENT_WORK)
		return;
	while (turn && !(turn->ended && turn->end == e->t && turn->kind <= TURN_WORK))
		turn = turn->next;
	if (!turn)
		return;
	x->uncounted = turn->next;
	turn->spent.lower = e->billed_lower;
	turn->spent.billed = e->billed;
	turn->spent.inside = usage_inside(t->usage, e->session->now);
	for (const struct usage_cost *c = e->session->now->costs; c; c = c->next)
		if (usage_cost_of_turn(e->session, c, &added) && added.units != 0) {
			export_must(buf_add_string(&turn->spent.cost, turn->spent.cost.n ? " + " : ""));
			export_must(decimal_put_money(added, usage_name(t->usage, c->currency), &turn->spent.cost));
		}
}

/* --- secrets that came in pieces --- */

/* Replaces a text by the result of redacting it. */
static void
replace(struct buf *text, struct slice result)
{
	if (result.p == text->p)
		return;
	text->n = 0;
	export_must(buf_add_slice(text, result));
}

/* Redacts the text and the content of an item. The chunks of a text may be in several items, with others between them. */
static void
redact_item(struct transcript *t, const struct session *s, struct item *item)
{
	struct buf *text = &item->text, *content = &item->field[FIELD_CONTENT];
	SCOPED struct buf id = {0};
	struct slice result = buf_slice(text);

	if (text->n && !item->whole && item->kind <= ITEM_THOUGHT) {
		export_must(json_format(&id, "%s %u %b", s->id, (uint64_t)item->kind, buf_slice(&item->id)));
		export_must(redact_next(t->redact, buf_slice(&id), buf_slice(text), &result));
	} else if (text->n) {
		export_must(redact_plain(t->redact, buf_slice(text), 0, &result));
	}
	replace(text, result);
	if (item->kind == ITEM_TOOL && content->n) {
		export_must(redact_line(t->redact, buf_slice(content), &result));
		replace(content, result);
	}
}

static void
redact_all(struct transcript *t)
{
	struct export_session *x;
	struct session *s = NULL;
	struct slice result;

	while ((s = sessions_next(t->sessions, s))) {
		x = s->data;
		for (struct export_turn *turn = x->turns; turn; turn = turn->next)
			for (struct item *item = turn->items; item; item = item->next)
				redact_item(t, s, item);
		for (struct terminal *terminal = x->terminals; terminal; terminal = terminal->hh.next)
			if (terminal->output.n) {
				export_must(redact_plain(t->redact, buf_slice(&terminal->output), 0, &result));
				replace(&terminal->output, result);
			}
	}
}

/* --- recordings --- */

void
transcript_open(struct transcript *t, struct redact *redact)
{
	static const struct session_limits limits = {.sessions = SIZE_MAX, .calls = SIZE_MAX, .bytes = SIZE_MAX, .keep = true};
	struct usage_spec spec = {.event = count, .arg = t};

	*t = (struct transcript){.redact = redact};
	if (redact)
		redact->skip_output = true;
	usage_words(&t->words);
	t->usage = usage_new(&spec);
	t->sessions = sessions_new(transcript_event, t, &limits);
	export_must(t->usage && t->sessions ? 0 : -1);
}

void
transcript_begin(struct transcript *t, double started)
{
	sessions_begin(t->sessions);
	t->started = started;
	t->now = 0;
	export_must(usage_begin(t->usage, started));
}

void
transcript_end(struct transcript *t)
{
	sessions_end(t->sessions);
	export_must(usage_end(t->usage));
	if (t->redact && !t->redact->all_texts)
		redact_all(t);
	usage_sort(t->usage);
}
