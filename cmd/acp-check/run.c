/* Runs the tool: reads recordings, or a stream, which it forwards unchanged. */
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/acp-check/check.h"

/* Reports the kept first line: as noise, or, in a file of another format, as malformed. */
static void
judge_first(struct check *c, bool is_noise)
{
	if (is_noise) {
		c->where = (struct where){.file = c->first.file, .number = c->first.number};
		check_noise(c, buf_slice(&c->first.line));
	} else if (c->first.file) {
		cli_warn(check_name, "%s:%" PRIu64 ": not a record at byte %zu: %s", c->first.file, c->first.number, c->first.error.at,
			c->first.error.what);
	}
	c->first.file = NULL;
}

static int
begin(struct watch *w, const struct watch_start *start)
{
	struct check *c = w->state;
	bool attached = w->stream && w->frame->attach;

	if (c->first.file != w->file)
		judge_first(c, false);
	/* An attached tool receives the initialization of the stream again, but not the messages from then until now. */
	c->selected = start->selected || attached;
	c->records = start->header.p != NULL;
	if (!start->same)
		check_begin(c, start->continues || c->selected);
	return -c->failed;
}

static void
happened(struct watch *w, const struct session_event *e)
{
	check_event(w->state, e);
}

static int
message(struct watch *w, const struct message *m, const struct session_message *seen)
{
	struct check *c = w->state;

	(void)m;
	c->records |= w->timed;
	if (c->first.file) {
		w->operands.bad &= c->records;
		judge_first(c, !c->records);
	}
	check_message(c, seen);
	return -c->failed;
}

/* Handles a line that is not a record: noise among bare messages, damage in a recording. Another format is reported once. */
static void
read_bad(struct check *c, struct watch *w, const struct record *bad)
{
	bool longer = bad->error.what == recording_too_long;

	if (longer) {
		check_report(c, RULE_LINE_LIMIT, "", "a shorter line (--max-line)", slice(NULL, 0));
	} else if (w->operands.found && !c->records && !bad->torn) {
		check_noise(c, bad->raw);
	} else if (w->operands.found) {
		operands_report(&w->operands, bad);
	} else if (!w->operands.bad) {
		judge_first(c, false);
		c->first.file = w->file;
		c->first.number = bad->number;
		c->first.error = bad->error;
		c->first.line.n = 0;
		c->failed |= buf_add_slice(&c->first.line, bad->raw) < 0;
	}
	w->operands.bad |= !longer && (!w->operands.found || (c->records && !bad->torn));
	c->conn.partial |= bad->torn || longer || c->records;
}

static int
event(struct watch *w, const struct record *record)
{
	struct check *c = w->state;

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
		read_bad(c, w, record);
		break;
	default:
		break;
	}
	return -c->failed;
}

static int
open_baseline(struct watch *w)
{
	struct check *c = w->state;

	return c->options->baseline ? baseline_read(&c->baseline, c->options->baseline) : 0;
}

static int
finish(struct watch *w, int status)
{
	struct check *c = w->state;
	const struct options *o = c->options;
	bool missed;

	judge_first(c, false);
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
	struct check c = {.options = o};
	struct watch w = {.name = check_name, .state = &c, .frame = &o->frame, .select = o->select, .takes_bad = true,
		.expects = true, .open = open_baseline, .begin = begin, .happened = happened, .message = message, .event = event, .finish = finish};
	int status;

	/* Findings in a stream, or in a file that grows, are written at once, so they cannot be grouped. */
	c.grouped = o->format == CHECK_TEXT && o->frame.files && !o->frame.follow && !o->frame.output &&
		(o->color == COLOR_ALWAYS || isatty(STDOUT_FILENO));
	c.color = cli_wants_color(o->color, STDOUT_FILENO);
	c.watch = &w;
	status = watch_run(&w);
	check_close(&c);
	return status;
}
