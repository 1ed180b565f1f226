/*
 * The frame beside a chain that runs: what comes is a copy of what passes one hop, as a recording, and goes nowhere from here.
 * Messages of the filter's own go back on the same socket, as records.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/attach.h"
#include "lib/cli.h"
#include "lib/frame_parts.h"

enum {
	AROUND = 64 * 1024, /* what a record may hold beside a message of the limit */
	ECHOES_MOST = 1024, /* messages of our own whose copies are waited for */
};

/* A message of the filter's own: its copy comes by like any other's, under an id that may be another, and is not shown. */
struct echo {
	struct echo *next;
	enum lane lane;
	struct buf text;
	struct slice method, params; /* in it */
};

/* --- the beginning --- */

static void
say_lines(struct frame *f, char *text)
{
	char *line, *rest = text;

	while ((line = strsep(&rest, "\n")))
		frame_say(f, "%s", line);
}

int
attach_connect(struct frame *f)
{
	enum attach_want want = f->filter->needs & FRAME_SEND ? ATTACH_JOIN : ATTACH_WATCH;
	struct attached a;
	char *why;

	if (attach_open(&a, f->options->attach, want, f->options->hop, &why) == 0) {
		f->attached = a.fd;
		snprintf(f->hop_number, sizeof(f->hop_number), "%" PRIu64, a.hop);
		return 0;
	}
	if (why)
		say_lines(f, why);
	else
		frame_say(f, "out of memory");
	free(why);
	return why ? EXIT_USAGE : EXIT_FAILED;
}

int
attach_start(struct frame *f)
{
	int fd = f->attached, other = f->filter->needs & FRAME_SEND ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;

	f->attached = -1;
	f->records = recording_of_lines(f->hop_number);
	if (f->filter->needs & FRAME_SEND && (other < 0 || sink_open(f, LANE_DOWN, other) < 0)) {
		close(fd);
		return -1;
	}
	if (!f->records || source_open(f, LANE_DOWN, ACP_UNKNOWN, fd) < 0)
		return -1;
	f->sources[LANE_DOWN].in.limit += AROUND;
	return 0;
}

/* --- what is sent --- */

static void
echo_free(struct echo *e)
{
	buf_free(&e->text);
	free(e);
}

/* At *at the oldest. */
static void
drop_echo(struct frame *f, struct echo **at)
{
	struct echo *e = *at;

	*at = e->next;
	echo_free(e);
	f->nechoes--;
}

static int
await_echo(struct frame *f, enum lane lane, struct slice text)
{
	struct echo *e = calloc(1, sizeof(*e)), **at = &f->echoes;
	struct json_error error;
	struct msg m;

	if (!e || buf_add_slice(&e->text, text) < 0) {
		free(e);
		return -1;
	}
	msg_scan(buf_slice(&e->text), &m, &error);
	e->lane = lane;
	e->method = m.method;
	e->params = m.params;
	while (*at)
		at = &(*at)->next;
	*at = e;
	/* A copy that was lost on its way never comes. */
	if (++f->nechoes > ECHOES_MOST)
		drop_echo(f, &f->echoes);
	return 0;
}

static bool
is_echo(struct frame *f, enum lane lane, const struct msg *m)
{
	struct echo **at = &f->echoes;

	while (*at && !((*at)->lane == lane && slice_eq((*at)->method, m->method) && slice_eq((*at)->params, m->params)))
		at = &(*at)->next;
	if (!*at)
		return false;
	drop_echo(f, at);
	return true;
}

int
attach_put(struct frame *f, enum lane lane, struct slice text)
{
	struct buf record = {0};
	int r;

	r = -(buf_printf(&record, "{\"from\":\"%s\",\"msg\":", acp_side_name(lane_from(lane))) || buf_add_slice(&record, text)
		|| buf_add_string(&record, "}\n"));
	if (r == 0)
		r = output_copy(&f->sinks[LANE_DOWN].out, buf_slice(&record));
	if (r == 0)
		r = await_echo(f, lane, text);
	buf_free(&record);
	return r;
}

/* --- what comes --- */

/* Before it is shown: its time is the time now. */
static void
set_clock(struct frame *f, const struct record *r)
{
	if (r->kind == RECORD_HEADER && r->started > 0)
		f->started = r->started;
	if (!r->timed)
		return;
	f->base = r->t;
	f->began = loop_now(f->loop);
}

static void
tell(struct frame *f, enum frame_event_kind kind, const struct record *r)
{
	struct frame_event e = {.kind = kind, .from = kind == FRAME_EXIT ? ACP_AGENT : r->from, .number = r->number, .text = r->text,
		.torn = r->torn, .count = r->count, .why = r->error};

	if (kind == FRAME_EXIT)
		e.status = recording_status(r);
	frame_tell(f, &e);
}

static int
note_lost(struct frame *f, const struct record *r)
{
	f->lost += r->count;
	f->lost_why.n = 0;
	tell(f, FRAME_LOST, r);
	return buf_add_slice(&f->lost_why, r->text);
}

static int
show_message(struct frame *f, const struct record *r, const struct line *line)
{
	enum lane lane = lane_of(r->from);

	/* Of what the filter sent itself it is shown the answers, once. */
	if (!r->guest && (r->msg.method.p ? is_echo(f, lane, &r->msg) : r->msg.id.p && frame_made_id(f, r->msg.id)))
		return 0;
	return lane_message(f, lane, r->from, line->block, r->text, &r->msg, NULL, false);
}

static int
show_record(struct frame *f, const struct record *r, const struct line *line)
{
	switch (r->kind) {
	case RECORD_MESSAGE:
		return show_message(f, r, line);
	case RECORD_NOISE:
		tell(f, FRAME_NOISE, r);
		return 0;
	case RECORD_STDERR:
		tell(f, FRAME_STDERR, r);
		return 0;
	case RECORD_EXIT:
		tell(f, FRAME_EXIT, r);
		return 0;
	case RECORD_EOF:
		tell(f, FRAME_EOF, r);
		return 0;
	case RECORD_LOST:
		return note_lost(f, r);
	case RECORD_ERROR:
		frame_say(f, "the chain: %.*s", (int)(r->text.n < 512 ? r->text.n : 512), r->text.p);
		frame_fail(f, EXIT_FAILED);
		return 0;
	case RECORD_BAD:
		frame_say(f, "the chain: record %" PRIu64 ": not a record at byte %zu: %s", r->number, r->error.at, r->error.what);
		return 0;
	default:
		return 0;
	}
}

/* A record beyond the limit: only that it was there. */
static void
tell_long(struct frame *f, const struct line *piece)
{
	struct frame_event e = {.kind = FRAME_LONG, .from = ACP_UNKNOWN, .number = piece->number, .text = piece->text};

	if (!piece->first)
		return;
	frame_say(f, "the chain: record %" PRIu64 ": longer than %zu bytes: unread", piece->number, f->options->limit);
	frame_tell(f, &e);
}

int
attach_line(struct frame *f, enum input_got got, const struct line *line)
{
	struct record r = {.kind = RECORD_OTHER};
	int e = 0;

	if (got != INPUT_PIECE)
		e = recording_line(f->records, line->text, line->number, &r);
	if (e)
		return e < 0 ? -1 : 0;
	set_clock(f, &r);
	/* What the filter begins with is the chain's beginning, which the first record tells. */
	if (!f->begun && frame_begin(f) < 0)
		return 0;
	if (got == INPUT_PIECE)
		tell_long(f, line);
	else if (got == INPUT_TORN && r.kind == RECORD_BAD)
		frame_say(f, "the chain: record %" PRIu64 " is torn", line->number);
	else
		return show_record(f, &r, line);
	return 0;
}

/* --- the end --- */

void
attach_ended(struct frame *f)
{
	if (!f->begun && !f->failed)
		frame_begin(f);
}

void
attach_end(struct frame *f)
{
	const struct output *out = &f->sinks[LANE_DOWN].out;

	if (f->lost) {
		frame_say(f, "%" PRIu64 " message%s lost: %.*s", f->lost, f->lost == 1 ? " was" : "s were",
			(int)(f->lost_why.n < 512 ? f->lost_why.n : 512), f->lost_why.n ? f->lost_why.p : "");
		frame_fail(f, EXIT_FAILED);
	}
	if (f->way == FRAME_ATTACH && out->discarded) {
		frame_say(f, "the chain has ended before it took all that was to be sent");
		frame_fail(f, EXIT_FAILED);
	}
	while (f->echoes)
		drop_echo(f, &f->echoes);
	recording_close(f->records);
	buf_free(&f->lost_why);
	if (f->attached >= 0)
		close(f->attached);
}
