#include "cmd/acp-tap/tap.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/acp-tap/pretty.h"

static const struct format *const formats[] = {[FORMAT_RECORD] = &format_record, [FORMAT_PRETTY] = &format_pretty,
	[FORMAT_FULL] = &format_full, [FORMAT_RAW] = &format_raw, [FORMAT_TRACE] = &format_trace};

int
tap_open(struct tap *t, const struct options *o, struct watch *w)
{
	int fold = o->frame.files && o->fold < 0 ? 1 : o->fold;

	*t = (struct tap){.options = o, .watch = w, .writer = {.format = formats[o->format], .timed = true}, .left = o->count,
		.redact.texts = o->redact == REDACT_TEXTS,
		.selective = select_is_set(o->select)};
	if (o->format != FORMAT_PRETTY && o->format != FORMAT_FULL)
		return 0;
	t->writer.pretty = pretty_new(w, o->color, o->format == FORMAT_FULL ? 0 : fold,
		o->redact == REDACT_SECRETS ? &t->redact : NULL);
	return t->writer.pretty ? 0 : -1;
}

int
tap_header(struct tap *t, struct buf *to, const struct watch_start *h)
{
	const struct format *f = t->writer.format;
	struct watch_start bare = *h;
	char *const program[] = {h->command ? h->command[0] : NULL, NULL};

	if (!f->header)
		return 0;
	bare.continues |= t->begun;
	bare.selected |= t->selective || t->options->count != UINT64_MAX || t->options->start || t->options->until != UINT64_MAX ||
		t->options->frame.attach;
	/* The words of a command may be secrets as well, and nothing tells which. */
	if (t->options->redact) {
		bare.header = slice(NULL, 0);
		bare.command = program[0] ? program : NULL;
	}
	return f->header(&t->writer, to, &bare);
}

static bool
is_chosen(struct tap *t, const struct message *s)
{
	char *why = NULL;
	bool yes;

	if (!t->selective)
		return true;
	yes = select_match(t->options->select, s, &why);
	if (why)
		cli_warn(tap_name, "%s: %s", select_culprit(t->options->select), why);
	free(why);
	return yes;
}

/* --- requests that open a session: only their responses say whether they are selected --- */

static struct opening *
opening_of(const struct tap *t, const struct message *s)
{
	struct opening *o = NULL;

	if (t->selective && s->msg.kind == MSG_REQUEST && !msg_session(&s->msg).p && acp_opens_session(s->msg.what))
		o = malloc(sizeof(*o) + s->line.n);
	if (!o)
		return NULL;
	*o = (struct opening){s->from, s->t, t->writer.number, s->number, t->writer.timed, s->line.n};
	memcpy(o->line, s->line.p, o->n);
	return o;
}

/* --- messages --- */

/* The message with its secrets out: the text is scanned again only where the format needs the message. */
static int
redact_message(struct tap *t, struct message *s)
{
	struct slice from = t->writer.format->line ? s->line : s->msg.text, text;

	if (redact_line(&t->redact, from, &text) < 0)
		return -1;
	if (text.p == from.p)
		return 0;
	s->line = text;
	if (t->writer.format->message)
		msg_scan(text, &s->msg, NULL);
	return 0;
}

static void
write_message(struct tap *t, struct message s)
{
	const struct format *f = t->writer.format;
	struct buf *to = out_buf(&t->watch->out);
	size_t before = to->n;
	bool joins = t->options->redact == REDACT_SECRETS && f->joins && f->joins(&t->writer, &s);
	int r = t->options->redact && !joins ? redact_message(t, &s) : 0;

	if (r == 0)
		r = f->line ? f->line(&t->writer, to, &s, s.line) : f->message(&t->writer, to, &s);
	out_commit(&t->watch->out, before, r);
}

static void
write_counted(struct tap *t, const struct message *s)
{
	if (t->left == 0)
		return;
	write_message(t, *s);
	if (t->left != UINT64_MAX)
		t->left--;
}

/* Writes the request that has opened the session of this response, if it is selected, too. */
static void
write_opening(struct tap *t, const struct message *response)
{
	const struct opening *o = t->opening;
	struct writer now = t->writer;
	const struct request session = {.session = msg_session(&response->msg)};
	struct message s = {.from = o->from, .t = o->t, .line = slice(o->line, o->n), .number = o->line_number,
		.request = &session};

	if (msg_scan(s.line, &s.msg, NULL) == MSG_REQUEST && is_chosen(t, &s)) {
		s.request = NULL;
		t->writer.timed = o->timed;
		t->writer.number = o->number;
		write_counted(t, &s);
		t->writer.timed = now.timed;
		t->writer.number = now.number;
	}
}

void
tap_message(struct tap *t, const struct message *s, const struct session_message *seen)
{
	t->t = s->t;
	if (t->left > 0 && t->writer.format->watch)
		t->writer.format->watch(&t->writer, seen);
	if (t->left > 0 && !t->muted && is_chosen(t, s)) {
		if (t->opening)
			write_opening(t, s);
		write_counted(t, s);
	} else if (t->left > 0 && !t->muted && seen->request && s->msg.kind == MSG_REQUEST) {
		seen->request->data = opening_of(t, s);
	}
	free(t->opening);
	t->opening = NULL;
}

/* --count counts lines, but not ends and losses: these are about all lines. */
static bool
counts(const struct record *e)
{
	return e->kind == RECORD_NOISE || e->kind == RECORD_STDERR;
}

void
tap_event(struct tap *t, struct record e)
{
	struct buf *to = out_buf(&t->watch->out);
	size_t before = to->n;

	t->t = e.t;
	if (t->left == 0 || t->muted || !t->writer.format->event || !select_match_other(t->options->select, e.from))
		return;
	if (t->options->redact && (counts(&e) || e.kind == RECORD_RESTART)) {
		e.text.p = NULL;
		t->redact.lines += counts(&e);
	}
	out_commit(&t->watch->out, before, t->writer.format->event(&t->writer, to, &e));
	if (counts(&e) && t->left != UINT64_MAX)
		t->left--;
}
