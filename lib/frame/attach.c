/* The transport beside a running chain: reads one hop's messages as a recording, and writes the filter's own ones as records. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/attach/attach.h"
#include "lib/base/cli.h"
#include "lib/frame/frame_parts.h"
#include "lib/recording/recording.h"

struct attachment {
	struct recording *records;
	uint64_t lost;
	struct buf lost_why;
	bool over; /* the stream has ended in order: a record has said so */
};

/* --- the beginning --- */

static int
refuse(struct frame *f, char *why)
{
	char *line, *next = why;

	if (!why)
		frame_warn(f, "out of memory");
	while ((line = strsep(&next, "\n")))
		frame_warn(f, "%s", line);
	free(why);
	return why ? EXIT_USAGE : EXIT_FAILED;
}

static int
open_attached(struct frame *f)
{
	unsigned needs = f->filter->needs;
	enum attach_want want = needs & FILTER_RESPONDS ? ATTACH_ANSWER : needs & FILTER_SENDS ? ATTACH_JOIN : ATTACH_WATCH;
	struct attached a;
	char *why, hop[24];

	if (attach_open(&a, f->options->attach, want, f->options->hop, &why) < 0)
		return refuse(f, why);
	snprintf(hop, sizeof(hop), "%" PRIu64, a.hop);
	f->attached = calloc(1, sizeof(*f->attached));
	if (f->attached)
		f->attached->records = recording_of_lines(hop, f->options->limit);
	if (near_open(f, a.fd, needs ? a.fd : -1) == 0 && f->attached && f->attached->records) {
		f->near.end.in.limit += RECORDING_AROUND;
		return 0;
	}
	frame_warn(f, "the descriptor from acp-share cannot be read: %s", strerror(errno));
	return EXIT_FAILED;
}

/* --- sending --- */

/* Sends a message of the filter's own. The chain sends back no copy of that message. */
static int
put_record(struct frame *f, enum acp_direction dir, struct block *block, struct slice text, const struct msg *m, struct request *asked,
	bool torn)
{
	SCOPED struct buf record = {0};
	char t[RECORDING_TIME] = "";

	(void)block;
	(void)torn;
	/* A response has the time of its request: the id alone may belong to a later request by now. */
	if (m->kind == MSG_RESPONSE)
		asked = requests_find(f->requests, acp_other_side(direction_from(dir)), m->id);
	if (m->kind == MSG_RESPONSE && asked)
		*recording_put_time(t, asked->t) = '\0';
	return buf_printf(&record, "{\"from\":\"%s\",%s%s%s\"msg\":", acp_side_name(direction_from(dir)), *t ? "\"asked\":" : "", t, *t ? "," : "")
		|| buf_add_slice(&record, text) || buf_add_string(&record, "}\n") || endpoint_put(&f->near.end, NULL, buf_slice(&record)) ? -1 : 0;
}

/* --- receiving --- */

/* Reports a record that is not a message. */
static void
report(struct frame *f, const struct record *r)
{
	static const enum frame_event_kind kinds[] = {[RECORD_NOISE] = FRAME_NOISE, [RECORD_STDERR] = FRAME_STDERR,
		[RECORD_EXIT] = FRAME_EXIT, [RECORD_EOF] = FRAME_EOF, [RECORD_LOST] = FRAME_LOST};
	struct frame_event e = {.kind = kinds[r->kind], .from = r->kind == RECORD_EXIT ? ACP_AGENT : r->from, .number = r->number,
		.text = r->text, .torn = r->torn, .count = r->count, .why = r->error};

	if (r->kind == RECORD_EXIT)
		e.status = recording_status(r);
	frame_event(f, &e);
}

static int
show_record(struct frame *f, const struct record *r, const struct line *line)
{
	struct frame_event unread = {.kind = FRAME_LONG, .from = ACP_UNKNOWN, .number = line->number, .text = line->text};

	switch (r->kind) {
	case RECORD_MESSAGE:
		return message_show(f, direction_of(r->from), r->from, line->block, r->text, &r->msg, NULL, false);
	case RECORD_EXIT:
	case RECORD_EOF:
		/* After the client has left, the agent may still send. */
		f->attached->over |= r->kind == RECORD_EXIT || r->from != ACP_CLIENT;
		report(f, r);
		return 0;
	case RECORD_NOISE:
	case RECORD_STDERR:
		report(f, r);
		return 0;
	case RECORD_LOST:
		f->attached->lost += r->count;
		f->attached->lost_why.n = 0;
		report(f, r);
		return buf_add_slice(&f->attached->lost_why, r->text);
	case RECORD_ERROR:
		frame_warn(f, "the chain: %.*s", (int)(r->text.n < 512 ? r->text.n : 512), r->text.p);
		frame_fail(f, EXIT_FAILED);
		return 0;
	case RECORD_BAD:
		if (r->error.what == recording_too_long) {
			frame_warn(f, "the chain: record %" PRIu64 ": longer than %zu bytes: unread", line->number, f->options->limit);
			frame_event(f, &unread);
			return 0;
		}
		frame_warn(f, "the chain: record %" PRIu64 ": not a record at byte %zu: %s", r->number, r->error.at, r->error.what);
		return 0;
	default:
		return 0;
	}
}

static int
record_line(struct side *s, enum input_got got, const struct line *line)
{
	struct frame *f = s->frame;
	struct record r = {.kind = RECORD_BAD, .number = line->number, .error = {1, recording_too_long}};
	int e = got != INPUT_PIECE ? recording_line(f->attached->records, line->text, line->number, &r) : !line->first;

	if (e)
		return e < 0 ? -1 : 0;
	if (r.kind == RECORD_HEADER && r.started > 0)
		f->started = r.started;
	/* While a record is shown, frame_now is its time. */
	if (r.timed) {
		f->base = r.t;
		f->began = loop_now(f->loop);
	}
	/* The filter begins only now, because the first record, a header, tells when the chain started. */
	if (f->stage == STAGE_WAITING)
		frame_begin(f);
	if (f->failed)
		return 0;
	/* close_attached reports it. */
	if (got == INPUT_TORN && r.kind == RECORD_BAD && r.error.what != recording_too_long) {
		f->attached->over = false;
		return 0;
	}
	return show_record(f, &r, line);
}

/* --- the end --- */

static void
close_attached(struct frame *f)
{
	struct attachment *a = f->attached;

	if (!a)
		return;
	if (a->lost) {
		frame_warn(f, "%" PRIu64 " message%s lost: %.*s", a->lost, a->lost == 1 ? " was" : "s were",
			(int)(a->lost_why.n < 512 ? a->lost_why.n : 512), a->lost_why.n ? a->lost_why.p : "");
		frame_fail(f, EXIT_FAILED);
	} else if (!a->over && f->signals == 0 && !f->exiting && !f->failed) {
		frame_warn(f, "the stream broke off before its end: messages may be lost");
		frame_fail(f, EXIT_FAILED);
	}
	if (f->near.end.out.discarded) {
		frame_warn(f, "the stream ended before everything was sent");
		frame_fail(f, EXIT_FAILED);
	}
	recording_close(a->records);
	buf_free(&a->lost_why);
	free(a);
}

const struct transport transport_attach = {
	.input = "the chain",
	.output = "the chain",
	.gives = FILTER_SENDS | FILTER_RESPONDS,
	.lacks = "--attach can only watch, send, and permit: to change messages, or answer others, a tool must be part of the chain",
	.lossy = true,
	.copies = true,
	.open = open_attached,
	.begin = frame_begin,
	.line = record_line,
	.put = put_record,
	.close = close_attached,
};
