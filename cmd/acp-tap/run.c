/* What drives the tool: a stream, or recordings. */
#include <stdlib.h>

#include "cmd/acp-tap/tap.h"

/* Is a record among those that are wanted? What comes after the last of them is not read. */
static bool
is_wanted(struct tap *t)
{
	const struct options *o = t->options;

	t->writer.timed = t->watch->timed;
	t->writer.number = o->number ? t->watch->number : 0;
	t->muted = o->frame.files && t->watch->number < o->start;
	t->watch->leave |= o->frame.files && t->watch->number > o->until;
	return !t->watch->leave;
}

static int
header(struct watch *w, struct buf *to, const struct watch_start *start)
{
	struct tap *t = w->state;
	const struct format *f = t->writer.format;
	struct record lost;

	if (start->lost) {
		lost = *start->lost;
		lost.t = t->t;
		return f->event ? f->event(&t->writer, to, &lost) : 0;
	}
	return is_wanted(t) ? tap_header(t, to, start) : 0;
}

/* A recording has the restart of the agent as an event of its own, too, whoever reports it. */
static void
note_restart(struct tap *t, const struct message *s)
{
	struct slice why = json_get_string(s->msg.params, "why");
	SCOPED struct buf text = {0};

	if (t->options->format == FORMAT_RECORD && s->msg.kind == MSG_NOTIFICATION && s->msg.what == ACP_RESTARTED
		&& s->from == ACP_AGENT)
		tap_event(t, (struct record){.kind = RECORD_RESTART, .t = s->t, .text = why.p ? json_text(why, &text) : why});
}

static void
happened(struct watch *w, const struct session_event *e)
{
	struct tap *t = w->state;

	/* The response comes next, or never. */
	if (e->kind == SESSION_RESPONDED) {
		free(t->opening);
		t->opening = e->request->data;
		e->request->data = NULL;
	}
	if (t->writer.pretty)
		pretty_see(t->writer.pretty, e);
}

static int
message(struct watch *w, const struct message *s, const struct session_message *seen)
{
	struct tap *t = w->state;

	if (!is_wanted(t))
		return 0;
	if (w->stream)
		note_restart(t, s);
	tap_message(t, s, seen);
	t->begun |= w->stream != NULL;
	w->done |= t->left == 0;
	return 0;
}

static int
event(struct watch *w, const struct record *r)
{
	struct tap *t = w->state;
	struct buf *to = out_buf(&w->out);
	size_t before = to->n;

	/* Standard error has it already. */
	if (!is_wanted(t) || (w->relayed && !t->options->frame.output))
		return 0;
	if (!r->rotated)
		tap_event(t, *r);
	else if ((t->begun || !w->stream) && t->left && !t->muted && t->writer.format == &format_record)
		out_commit(&w->out, before, recording_put_rotated(to, r->t, -1));
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

int
tap_run(const struct options *o)
{
	static const struct session_limits limits = {.sessions = 64, .keep = true};
	struct tap t;
	struct watch w = {.name = tap_name, .state = &t, .frame = &o->frame, .limits = &limits, .events = true, .happened = happened,
		.header = header, .message = message, .event = event, .end = end};
	int status;

	if (tap_open(&t, o, &w) < 0)
		cli_die(EXIT_FAILED, tap_name, "out of memory");
	t.begun = !o->frame.files && cli_started_again() != 0;
	status = watch_run(&w);
	if (o->redact)
		redact_report(&t.redact, tap_name);
	redact_free(&t.redact);
	free(t.opening);
	pretty_free(t.writer.pretty);
	return status;
}
