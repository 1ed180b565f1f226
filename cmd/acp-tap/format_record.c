/* Recordings, acp-recording(5). */
#include "cmd/acp-tap/format.h"

static int
put_header(struct writer *w, struct buf *to, const struct watch_start *h)
{
	int r = h->header.p ? -(buf_add_slice(to, h->header) < 0 || buf_add(to, "\n", 1) < 0) :
		recording_put_header(to, h->started, "acp-tap " VERSION, h->command, NULL);

	(void)w;
	return r < 0 || (h->continues && recording_header_add(to, "continues") < 0) ||
		(h->selected && recording_header_add(to, "selected") < 0) ? -1 : 0;
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
	SCOPED struct buf why = {0};

	(void)w;
	switch (e->kind) {
	case RECORD_NOISE:
		return recording_put_noise(to, e->t, -1, e->from, text);
	case RECORD_STDERR:
		return recording_put_stderr(to, e->t, -1, e->from, text);
	case RECORD_EXIT:
		return recording_put_exit(to, e->t, -1, e->status);
	case RECORD_RESTART:
		return recording_put_restart(to, e->t, -1, e->text);
	case RECORD_EOF:
		return recording_put_eof(to, e->t, -1, e->from, e->torn);
	case RECORD_LOST:
		return buf_add_slice(&why, e->text) || !buf_string(&why) || recording_put_lost(to, e->t, -1, e->from, e->count, why.p) ? -1 : 0;
	default:
		return 0;
	}
}

const struct format format_record = {.name = "record", .header = put_header, .line = put_line, .event = put_event};
