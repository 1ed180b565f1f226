/* Writes the selected messages of a stream or of recordings in a format. */
#include "cmd/acp-tap/tap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A request whose response names a new session. */
struct opening {
	enum acp_side from;
	uint64_t t, number, line_number;
	bool timed;
	size_t n;
	char line[];
};

struct tap {
	const struct options *options;
	struct writer writer;
	struct watch *watch;
	struct redact redact;
	uint64_t left;      /* the number of records that may still be written (-c) */
	bool selective;
	bool begun;         /* a message of the stream has passed */
	bool muted;         /* before --start: records are read but not written */
	bool reached;       /* --start was reached, in a recording */
	bool found;         /* the pattern of --grep was found */
	uint64_t t;         /* of the last record, us */
	struct opening *opening; /* of the current response; or NULL */
};

/* Notes the current record, and whether --start was reached. False after --until, from where nothing is read. */
static bool
is_wanted(struct tap *t)
{
	const struct options *o = t->options;

	t->writer.timed = t->watch->timed;
	t->writer.number = o->number ? t->watch->number : 0;
	t->muted = o->frame.files && t->watch->number < o->start;
	t->reached |= !t->muted;
	t->watch->leave |= o->frame.files && t->watch->number > o->until;
	return !t->watch->leave;
}

static int
header(struct watch *w, struct buf *to, const struct watch_start *start)
{
	struct tap *t = w->state;
	const struct options *o = t->options;
	const struct format *f = t->writer.format;
	char *const program[] = {start->command ? start->command[0] : NULL, NULL};
	struct watch_start bare = *start;
	struct record lost;

	if (start->lost) {
		lost = *start->lost;
		lost.t = t->t;
		return f->event ? f->event(&t->writer, to, &lost) : 0;
	}
	if (!is_wanted(t) || !f->header || o->files)
		return 0;
	bare.continues |= t->begun;
	bare.selected |= t->selective || o->grep || o->count != UINT64_MAX || o->start || o->until != UINT64_MAX || o->frame.attach;
	/* Any word of a command may be a secret. */
	if (o->redact) {
		bare.header = slice(NULL, 0);
		bare.command = program[0] ? program : NULL;
	}
	return f->header(&t->writer, to, &bare);
}

/* --- messages --- */

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

/* Writes a message, redacted. Scans the new text only if the format needs the message. */
static void
write_message(struct tap *t, struct message s)
{
	const struct format *f = t->writer.format;
	struct buf *to = out_buf(&t->watch->out);
	struct slice from = f->lines ? s.line : s.msg.text, text = from;
	size_t before = to->n;
	int r = 0;

	if (t->options->redact == REDACT_SECRETS && f->joins && f->joins(&t->writer, &s))
		r = redact_pass(&t->redact, s.msg.text, &t->writer.before);
	else if (t->options->redact)
		r = redact_line(&t->redact, from, &text);
	if (r == 0 && text.p != from.p) {
		s.line = text;
		if (!f->lines)
			msg_scan(text, &s.msg, NULL);
	}
	if (r == 0)
		r = f->message(&t->writer, to, &s);
	out_commit(&t->watch->out, before, r);
	t->left -= t->writer.hit && t->left != UINT64_MAX;
}

/* Handles, for --redact, a message that is not written: a chunk that is may go on with its text. */
static void
pass(struct tap *t, const struct message *s)
{
	if (t->options->redact == REDACT_SECRETS && redact_pass(&t->redact, s->msg.text, &t->writer.before) < 0)
		t->watch->failed = true;
}

/* Writes a selected message that has the pattern of --grep; with --files only the name of its file, once. */
static void
show_message(struct tap *t, const struct message *s)
{
	const struct options *o = t->options;
	const struct format *f = t->writer.format;
	struct buf *to = out_buf(&t->watch->out);
	size_t before = to->n;

	t->writer.hit = !o->grep || grep_see(o->grep, s);
	t->found |= t->writer.hit;
	if (t->writer.hit && o->files) {
		out_commit(&t->watch->out, before, -(buf_add_string(to, t->watch->file) || buf_add(to, "\n", 1)));
		t->watch->leave = true;
	} else if (t->writer.hit || (f->joins && !o->files && f->joins(&t->writer, s))) {
		write_message(t, *s);
	} else {
		if (f->flush && !o->files)
			out_commit(&t->watch->out, before, f->flush(&t->writer, to));
		pass(t, s);
	}
}

/* A request that opens a session is kept, as its `data`, until the response tells whether the session is selected. */
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

/* Writes the request that opened the session of this response, if the request is selected. */
static void
write_opening(struct tap *t, const struct message *response)
{
	const struct opening *o = t->opening;
	const struct request session = {.session = msg_session(&response->msg)};
	struct message s = {.from = o->from, .t = o->t, .line = slice(o->line, o->n), .number = o->line_number,
		.request = &session};

	if (msg_scan(s.line, &s.msg, NULL) != MSG_REQUEST || !is_chosen(t, &s))
		return;
	s.request = NULL;
	t->writer.timed = o->timed;
	t->writer.number = o->number;
	show_message(t, &s);
	is_wanted(t);
}

static void
happened(struct watch *w, const struct session_event *e)
{
	struct tap *t = w->state;
	struct buf *to;
	size_t before;

	/* After this event the response itself is shown, or will never come. */
	if (e->kind == SESSION_RESPONDED) {
		free(t->opening);
		t->opening = e->request->data;
		e->request->data = NULL;
	}
	if (t->writer.pretty)
		pretty_see(t->writer.pretty, e);
	/* Closes the bracket of an open turn at the end of a recording that was read to its end. */
	if (t->writer.pretty && e->kind == SESSION_TURN_ENDED && e->turn->number && t->left && !t->options->grep && t->options->until == UINT64_MAX
		&& (w->ending == WATCH_OVER || w->ending == WATCH_HEADER) && select_match_other(t->options->select, ACP_AGENT)) {
		to = out_buf(&w->out);
		before = to->n;
		t->writer.number = 0;
		out_commit(&w->out, before, pretty_close(&t->writer, to, e->turn, t->t));
	}
}

/* --- events --- */

/* Writes an event. --count counts lines of noise and stderr, but not ends and losses. */
static void
write_event(struct tap *t, struct record e)
{
	bool counts = e.kind == RECORD_NOISE || e.kind == RECORD_STDERR;
	struct buf *to = out_buf(&t->watch->out);
	size_t before = to->n;

	t->t = e.t;
	if (t->left == 0 || t->muted || !t->writer.format->event || t->options->grep || !select_match_other(t->options->select, e.from))
		return;
	if (t->options->redact && (counts || e.kind == RECORD_RESTART)) {
		e.text.p = NULL;
		t->redact.lines += counts;
	}
	out_commit(&t->watch->out, before, t->writer.format->event(&t->writer, to, &e));
	t->left -= counts && t->left != UINT64_MAX;
}

static int
event(struct watch *w, const struct record *r)
{
	struct tap *t = w->state;
	struct buf *to = out_buf(&w->out);
	size_t before = to->n;

	/* A relayed line was already written to standard error. */
	if (!is_wanted(t) || (w->relayed && !t->options->frame.output))
		return 0;
	if (!r->rotated)
		write_event(t, *r);
	else if ((t->begun || !w->stream) && t->left && !t->muted && t->writer.format == &format_record)
		out_commit(&w->out, before, recording_put(to, -1, r));
	w->done |= t->left == 0;
	return 0;
}

/* Writes an event for a restart of the agent that a message reports. */
static void
note_restart(struct tap *t, const struct message *s)
{
	struct slice why = json_get_string(s->msg.params, "why");
	SCOPED struct buf text = {0};

	if (t->options->format == FORMAT_RECORD && s->msg.kind == MSG_NOTIFICATION && s->msg.what == ACP_RESTARTED
		&& s->from == ACP_AGENT)
		write_event(t, (struct record){.kind = RECORD_RESTART, .t = s->t, .text = why.p ? json_text(why, &text) : why});
}

/* --- all --- */

static int
message(struct watch *w, const struct message *s, const struct session_message *seen)
{
	struct tap *t = w->state;

	if (!is_wanted(t))
		return 0;
	if (w->stream)
		note_restart(t, s);
	t->t = s->t;
	if (t->left > 0 && t->writer.format->watch)
		t->writer.format->watch(&t->writer, seen);
	if (t->left > 0 && !t->muted && is_chosen(t, s)) {
		if (t->opening)
			write_opening(t, s);
		if (t->left > 0)
			show_message(t, s);
	} else {
		pass(t, s);
		if (t->left > 0 && !t->muted && seen->request && s->msg.kind == MSG_REQUEST)
			seen->request->data = opening_of(t, s);
	}
	free(t->opening);
	t->opening = NULL;
	t->begun |= w->stream != NULL;
	w->done |= t->left == 0;
	return 0;
}

static int
end(struct watch *w, bool cut)
{
	struct tap *t = w->state;
	struct buf *to = out_buf(&w->out);
	size_t before = to->n;

	(void)cut;
	if (t->writer.format->flush)
		out_commit(&w->out, before, t->writer.format->flush(&t->writer, to));
	return 0;
}

/* Reports, after recordings, if nothing was selected. Returns the exit status. */
static int
finish(struct watch *w, int status)
{
	const struct tap *t = w->state;
	bool none = true;

	if (w->stream || w->frame->follow)
		return status;
	if (t->options->grep && w->any && !t->found)
		watch_say(w, "no message has the text that is looked for");
	else if (!t->reached && w->any)
		watch_say(w, "--start %" PRIu64 ": the last record has number %" PRIu64, t->options->start, w->number);
	else
		none = watch_missed(w);
	return none && !status ? EXIT_NEGATIVE : status;
}

int
tap_run(const struct options *o)
{
	static const struct format *const formats[] = {[FORMAT_RECORD] = &format_record, [FORMAT_PRETTY] = &format_pretty,
		[FORMAT_FULL] = &format_full, [FORMAT_RAW] = &format_raw, [FORMAT_TRACE] = &format_trace};
	static const struct session_limits limits = {.sessions = 64, .keep = true};
	struct tap t = {.options = o, .writer = {.format = formats[o->format], .timed = true, .hit = true}, .left = o->count,
		.redact.all_texts = o->redact == REDACT_TEXTS, .selective = select_is_set(o->select),
		.begun = !o->frame.files && cli_started_again() != 0};
	struct watch w = {.name = tap_name, .state = &t, .frame = &o->frame, .select = o->select, .limits = &limits, .counts_events = true,
		.happened = happened, .header = header, .message = message, .event = event, .end = end, .finish = finish};
	int status;

	t.watch = &w;
	if ((o->format == FORMAT_PRETTY || o->format == FORMAT_FULL) &&
		!(t.writer.pretty = pretty_new(&w, o, o->redact == REDACT_SECRETS ? &t.redact : NULL)))
		cli_die(EXIT_FAILED, tap_name, "out of memory");
	status = watch_run(&w);
	if (o->redact)
		redact_report(&t.redact, tap_name);
	redact_free(&t.redact);
	free(t.opening);
	pretty_free(t.writer.pretty);
	buf_free(&t.writer.before);
	return status;
}
