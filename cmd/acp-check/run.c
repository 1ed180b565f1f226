/* Runs the tool: reads recordings, or a stream, which it forwards unchanged. */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/acp-check/check.h"

/* The state of the watch. */
struct run {
	struct check check;
	bool timed;       /* the file is a recording, so its lines are records, not bare messages */
	/* A line before the first message of a file that is not a record: it is noise if bare messages follow. */
	struct buf first;
	const char *first_file; /* NULL: there is none */
	uint64_t first_number;
	struct json_error first_error;
};

/* Reports the kept first line: as noise, or, in a file of another format, as malformed. */
static void
judge_first(struct run *r, bool is_noise)
{
	if (is_noise) {
		r->check.where = (struct where){.file = r->first_file, .number = r->first_number};
		check_noise(&r->check, buf_slice(&r->first));
	} else if (r->first_file) {
		cli_warn(check_name, "%s:%" PRIu64 ": not a record at byte %zu: %s", r->first_file, r->first_number, r->first_error.at,
			r->first_error.what);
	}
	r->first_file = NULL;
}

static int
begin(struct watch *w, const struct watch_start *start)
{
	struct run *r = w->state;
	bool attached = w->stream && w->frame->attach;

	if (r->first_file != w->file)
		judge_first(r, false);
	/* An attached tool receives the initialization of the stream again, but not the messages from then until now. */
	r->check.selected = start->selected || attached;
	r->timed = start->header.p != NULL;
	if (!start->same)
		check_begin(&r->check, start->continues || r->check.selected);
	return -r->check.failed;
}

static void
happened(struct watch *w, const struct session_event *e)
{
	struct run *r = w->state;

	check_event(&r->check, e);
}

static int
message(struct watch *w, const struct message *m, const struct session_message *seen)
{
	struct run *r = w->state;

	(void)m;
	r->timed |= w->timed;
	if (r->first_file) {
		w->operands.bad &= r->timed;
		judge_first(r, !r->timed);
	}
	check_message(&r->check, seen);
	return -r->check.failed;
}

/* Handles a line that is not a record: noise among bare messages, damage in a recording. Another format is reported once. */
static void
read_bad(struct run *r, struct watch *w, const struct record *bad)
{
	bool longer = bad->error.what == recording_too_long;

	if (longer) {
		check_report(&r->check, RULE_LINE_LIMIT, "", "a shorter line (--max-line)", slice(NULL, 0));
	} else if (w->operands.found && !r->timed && !bad->torn) {
		check_noise(&r->check, bad->raw);
	} else if (w->operands.found) {
		operands_report(&w->operands, bad);
	} else if (!w->operands.bad) {
		judge_first(r, false);
		r->first_file = w->file;
		r->first_number = bad->number;
		r->first_error = bad->error;
		r->first.n = 0;
		r->check.failed |= buf_add_slice(&r->first, bad->raw) < 0;
	}
	w->operands.bad |= !longer && (!w->operands.found || (r->timed && !bad->torn));
	r->check.conn.partial |= bad->torn || longer || r->timed;
}

static int
event(struct watch *w, const struct record *record)
{
	struct run *r = w->state;
	struct check *c = &r->check;

	c->where = (struct where){.file = w->file, .number = record->number, .t = record->t, .timed = record->timed, .from = record->from};
	if (w->stream && frame_is_one_way(w->stream))
		c->where.from = ACP_UNKNOWN;
	c->now = record->t > c->now ? record->t : c->now;
	switch (record->kind) {
	case RECORD_NOISE:
		check_noise(c, record->text);
		break;
	case RECORD_EOF:
		check_eof(c, record->torn);
		break;
	case RECORD_EXIT:
		c->where.from = ACP_AGENT;
		check_eof(c, false);
		break;
	case RECORD_LOST:
		if (memmem(record->text.p, record->text.n, "longer than", 11))
			check_report(c, RULE_LINE_LIMIT, "", "a shorter line (--max-line)", w->stream ? record->raw : record->text);
		c->conn.partial = true;
		break;
	case RECORD_BAD:
		read_bad(r, w, record);
		break;
	default:
		break;
	}
	return -c->failed;
}

static int
open_baseline(struct watch *w)
{
	struct check *c = &((struct run *)w->state)->check;

	return c->options->baseline ? baseline_read(&c->baseline, c->options->baseline) : 0;
}

static int
finish(struct watch *w, int status)
{
	struct run *r = w->state;
	struct check *c = &r->check;
	const struct options *o = c->options;
	bool missed;

	judge_first(r, false);
	/* A check that found no message to check has not passed. */
	missed = !c->reported && watch_missed(w);
	if (o->coverage)
		coverage_report(c);
	else
		report_end(c, missed);
	if (c->failed)
		return EXIT_FAILED;
	if (missed && !w->stream && !status)
		status = EXIT_USAGE;
	if (o->baseline && baseline_report(&c->baseline, o->baseline) && o->strict && !status)
		status = EXIT_NEGATIVE;
	if (o->write_baseline && baseline_write(&c->baseline, o->write_baseline, o->frame.files))
		return EXIT_FAILED;
	return !status && c->count[LEVEL_VIOLATION] ? EXIT_NEGATIVE : status;
}

int
check_run(const struct options *o)
{
	struct run r = {.check = {.options = o}};
	struct watch w = {.name = check_name, .state = &r, .frame = &o->frame, .select = o->select, .takes_bad = true,
		.expects = true, .open = open_baseline, .begin = begin, .happened = happened, .message = message, .event = event, .finish = finish};
	int status;

	/* Findings in a stream, or in a file that grows, are written at once, so they cannot be grouped. */
	r.check.grouped = o->format == CHECK_TEXT && o->frame.files && !o->frame.follow && !o->frame.output &&
		(o->color == COLOR_ALWAYS || isatty(STDOUT_FILENO));
	r.check.color = cli_wants_color(o->color, STDOUT_FILENO);
	r.check.watch = &w;
	status = watch_run(&w);
	check_close(&r.check);
	buf_free(&r.first);
	return status;
}
