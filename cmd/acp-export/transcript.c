#include "cmd/acp-export/transcript_parts.h"

#include <stdlib.h>

#include "lib/run/proc.h"

/* --- what goes by --- */

/* The same message with its secrets out; but pieces of a text stay, for a secret may go across them: see redact_all. */
static const struct msg *
redact_message(struct transcript *t, const struct msg *m, struct msg *clean)
{
	struct slice text = m->text;
	struct acp_chunk chunk;

	if (!t->redact || (!t->redact->texts && m->what == ACP_SESSION_UPDATE &&
		transcript_get(m->params, acp_update, JSON_OBJECT).p && acp_chunk(m->params, &chunk)))
		return m;
	if (redact_line(t->redact, m->text, &text) < 0) {
		t->failed = true;
		return NULL;
	}
	if (text.p == m->text.p)
		return m;
	msg_scan(text, clean, NULL);
	return clean;
}

static void
take(void *arg, const struct message *original)
{
	struct transcript *t = arg;
	struct message message = *original;
	struct msg clean = {0};
	const struct msg *m = redact_message(t, &original->msg, &clean);
	struct session *s;

	if (!m)
		return;
	t->pieces = t->redact && t->redact->texts ? m->params : original->msg.params;
	message.msg = *m;
	if (m->kind == MSG_REQUEST)
		transcript_request(t, &message);
	else if (m->kind == MSG_RESPONSE)
		transcript_response(t, &message);
	else if (m->kind == MSG_NOTIFICATION && (s = transcript_session(t, msg_session(m)))) {
		if (m->what == ACP_SESSION_UPDATE)
			transcript_update(t, s, message.t, transcript_get(m->params, acp_update, JSON_OBJECT));
		else if (m->what == ACP_SESSION_CANCEL && s->open)
			transcript_note(t, s, message.t, "info", slice_of("The user cancelled the turn."));
	}
	if (usage_may_matter(&t->words, original->msg.text) ||
		(m->kind == MSG_RESPONSE && usage_expects(t->usage, original->msg.text)))
		t->failed |= usage_see(t->usage, original, NULL, NULL) < 0;
}

void
transcript_see(struct transcript *t, enum acp_side from, uint64_t when, bool timed, struct slice line, const struct msg *m)
{
	t->timed |= timed;
	t->failed |= requests_show(t->requests, from, when, line, m, take, t) < 0;
}

/* --- usage --- */

static void
count(void *arg, const struct usage_event *e)
{
	struct transcript *t = arg;
	struct session *s = transcript_find_session(t, slice(e->session->id, e->session->id_length));
	struct turn *turn = s ? s->uncounted : NULL;
	struct decimal added;

	if (e->kind != USAGE_EVENT_TURN)
		return;
	while (turn && !(turn->ended && turn->end == e->t && !turn->history))
		turn = turn->next;
	if (!turn)
		return;
	s->uncounted = turn->next;
	turn->spent.known = e->billed.has;
	turn->spent.lower = e->billed_lower;
	turn->spent.billed = e->billed;
	turn->spent.inside = usage_inside(t->usage, e->session->now);
	for (const struct usage_cost *c = e->session->now->costs; c; c = c->next)
		if (usage_cost_of_turn(e->session, c, &added) && added.units != 0)
			t->failed |= (turn->spent.cost.n && buf_add_string(&turn->spent.cost, " + ") < 0) ||
				decimal_put_money(added, usage_name(t->usage, c->currency), &turn->spent.cost) < 0;
}

/* --- recordings --- */

int
transcript_open(struct transcript *t, struct redact *redact)
{
	struct usage_spec spec = {.event = count, .arg = t};

	*t = (struct transcript){.redact = redact};
	usage_words(&t->words);
	t->usage = usage_new(&spec);
	t->requests = requests_new();
	return t->usage && t->requests ? 0 : -1;
}

/* What is open never ends: the recording is over. */
static void
end_recording(struct transcript *t)
{
	t->failed |= usage_end(t->usage) < 0;
	for (struct session *s = t->sessions; s; s = s->hh.next) {
		while (s->open)
			transcript_end_turn(s, s->open, s->open->end);
		s->loading = s->skipping = false;
	}
	transcript_forget(t);
	requests_free(t->requests);
	t->requests = requests_new();
	t->failed |= !t->requests;
	t->agent.n = t->version.n = 0;
}

void
transcript_begin(struct transcript *t, double started)
{
	end_recording(t);
	t->started = started;
	t->failed |= usage_begin(t->usage, started) < 0;
}

void
transcript_exit(struct transcript *t, uint64_t when, int status)
{
	char text[64];
	SCOPED struct buf why = {0};

	if (status == 0)
		return;
	t->failed |= buf_printf(&why, "The agent ended: %s.", proc_describe(status, text, sizeof(text))) < 0;
	for (struct session *s = t->sessions; s; s = s->hh.next)
		if (s->open)
			transcript_note(t, s, when, "error", buf_slice(&why));
}

/* What has come in pieces is whole now. */
static void
redact_text_of(struct transcript *t, struct buf *text)
{
	struct slice clean;

	if (redact_plain(t->redact, buf_slice(text), &clean) < 0) {
		t->failed = true;
	} else if (clean.p != text->p) {
		text->n = 0;
		t->failed |= buf_add_slice(text, clean) < 0;
	}
}

static void
redact_all(struct transcript *t)
{
	for (struct session *s = t->sessions; s; s = s->hh.next) {
		for (struct turn *turn = s->turns; turn; turn = turn->next)
			for (struct item *item = turn->items; item; item = item->next)
				redact_text_of(t, &item->text);
		for (struct terminal *terminal = s->terminals; terminal; terminal = terminal->hh.next)
			redact_text_of(t, &terminal->output);
	}
}

int
transcript_end(struct transcript *t)
{
	end_recording(t);
	if (t->redact)
		redact_all(t);
	usage_sort(t->usage);
	return t->failed ? -1 : 0;
}

/* --- the end --- */

static void
free_turn(struct turn *turn)
{
	struct item *next;

	for (struct item *item = turn->items; item; item = next) {
		next = item->next;
		buf_free(&item->id);
		buf_free(&item->text);
		for (size_t i = 0; i < FIELDS; i++)
			buf_free(&item->field[i]);
		free(item);
	}
	buf_free(&turn->stop);
	buf_free(&turn->error);
	buf_free(&turn->spent.cost);
	free(turn);
}

static void
free_session(struct session *s)
{
	struct turn *next_turn;
	struct terminal *terminal, *next;

	HASH_CLEAR(hh, s->tools);
	HASH_ITER(hh, s->terminals, terminal, next) {
		HASH_DEL(s->terminals, terminal);
		buf_free(&terminal->output);
		free(terminal);
	}
	for (struct turn *turn = s->turns; turn; turn = next_turn) {
		next_turn = turn->next;
		free_turn(turn);
	}
	buf_free(&s->samples);
	buf_free(&s->title);
	buf_free(&s->agent);
	buf_free(&s->version);
	buf_free(&s->cwd);
	free(s);
}

void
transcript_free(struct transcript *t)
{
	struct session *s, *next;

	HASH_ITER(hh, t->sessions, s, next) {
		HASH_DEL(t->sessions, s);
		free_session(s);
	}
	transcript_forget(t);
	usage_free(t->usage);
	requests_free(t->requests);
	buf_free(&t->agent);
	buf_free(&t->version);
	buf_free(&t->word);
}
