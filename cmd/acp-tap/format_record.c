/* Recordings, acp-recording(5). */
#include "cmd/acp-tap/format.h"

static int
put_header(struct writer *w, struct buf *to, const struct heading *h)
{
	(void)w;
	if (!h->raw.p)
		return recording_put_header(to, h->started, "acp-tap " VERSION, h->command, NULL);
	return buf_add_slice(to, h->raw) < 0 || buf_add(to, "\n", 1) < 0 ? -1 : 0;
}

static int
put_line(struct writer *w, struct buf *to, const struct message *s, struct slice line)
{
	(void)w;
	return recording_put_message(to, s->t, -1, s->from, line);
}

static int
put_event(struct writer *w, struct buf *to, const struct record *e)
{
	struct slice text = e->text.p ? e->text : slice_of("<redacted>");

	(void)w;
	switch (e->kind) {
	case RECORD_NOISE:
		return recording_put_noise(to, e->t, -1, e->from, text);
	case RECORD_STDERR:
		return recording_put_stderr(to, e->t, -1, e->from, text);
	case RECORD_EXIT:
		return recording_put_exit(to, e->t, -1, e->status);
	case RECORD_EOF:
		return recording_put_eof(to, e->t, -1, e->from, e->torn);
	default:
		return 0;
	}
}

/* The reason is text of ours or of a recording, of any length. */
static int
put_any(struct writer *w, struct buf *to, const struct record *e)
{
	SCOPED struct buf why = {0};
	int r = -1;

	if (e->kind != RECORD_LOST)
		return put_event(w, to, e);
	if (buf_add_slice(&why, e->text) == 0 && buf_string(&why))
		r = recording_put_lost(to, e->t, -1, e->from, e->count, why.p);
	return r;
}

const struct format format_record = {.name = "record", .header = put_header, .line = put_line, .event = put_any};
