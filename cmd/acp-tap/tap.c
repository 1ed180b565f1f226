#include "cmd/acp-tap/tap.h"

#include <stdlib.h>

#include "cmd/acp-tap/pretty.h"

static const struct format *const formats[] = {[FORMAT_RECORD] = &format_record, [FORMAT_PRETTY] = &format_pretty,
	[FORMAT_FULL] = &format_full, [FORMAT_RAW] = &format_raw, [FORMAT_TRACE] = &format_trace};

int
tap_open(struct tap *t, const struct options *o, int fold)
{
	*t = (struct tap){.options = o, .writer = {.format = formats[o->format], .timed = true}, .left = o->count,
		.redact.texts = o->redact == REDACT_TEXTS,
		.selective = select_is_set(o->select)};
	if (o->format != FORMAT_PRETTY && o->format != FORMAT_FULL)
		return 0;
	t->writer.pretty = pretty_new(&t->out, o->color, o->format == FORMAT_FULL ? 0 : fold);
	return t->writer.pretty ? 0 : -1;
}

void
tap_close(struct tap *t)
{
	if (t->options->redact)
		redact_report(&t->redact, tap_name);
	redact_free(&t->redact);
	pretty_free(t->writer.pretty);
}

bool
tap_full(const struct tap *t)
{
	return t->left == 0;
}

int
tap_header(struct tap *t, struct buf *to, const struct heading *h)
{
	const struct format *f = t->writer.format;
	struct heading bare = *h;
	char *const program[] = {h->command ? h->command[0] : NULL, NULL};

	if (!f->header)
		return 0;
	/* The words of a command may be secrets as well, and nothing tells which. */
	if (t->options->redact) {
		bare.raw = slice(NULL, 0);
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
	struct buf *to = out_buf(&t->out);
	size_t before = to->n;
	int r = t->options->redact ? redact_message(t, &s) : 0;

	if (r == 0)
		r = f->line ? f->line(&t->writer, to, &s, s.line) : f->message(&t->writer, to, &s);
	out_commit(&t->out, before, r);
}

void
tap_message(struct tap *t, const struct message *s)
{
	t->t = s->t;
	if (t->left == 0)
		return;
	if (t->writer.format->watch)
		t->writer.format->watch(&t->writer, s);
	if (t->muted || !is_chosen(t, s))
		return;
	write_message(t, *s);
	if (t->left != UINT64_MAX)
		t->left--;
}

/* Lines count, ends and losses do not: they say something of the rest. */
static bool
counts(const struct record *e)
{
	return e->kind == RECORD_NOISE || e->kind == RECORD_STDERR;
}

void
tap_event(struct tap *t, struct record e)
{
	struct buf *to = out_buf(&t->out);
	size_t before = to->n;

	t->t = e.t;
	if (t->left == 0 || t->muted || !t->writer.format->event || !select_match_other(t->options->select, e.from))
		return;
	if (t->options->redact && counts(&e)) {
		e.text.p = NULL;
		t->redact.lines++;
	}
	out_commit(&t->out, before, t->writer.format->event(&t->writer, to, &e));
	if (counts(&e) && t->left != UINT64_MAX)
		t->left--;
}

void
tap_rest(struct tap *t)
{
	struct buf *to = out_buf(&t->out);
	size_t before = to->n;

	if (t->writer.format->rest)
		out_commit(&t->out, before, t->writer.format->rest(&t->writer, to));
}
