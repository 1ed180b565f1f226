/* Recordings. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/acp-check/check.h"
#include "lib/base/cli.h"
#include "lib/recording/operands.h"

struct files {
	struct check check;
	struct operands in;
	bool timed;       /* it is a recording: its lines are records */
	struct buf first; /* a line that is no record, before the first message: noise, if bare messages follow */
	uint64_t first_number;
	struct json_error first_error;
};

static void
read_message(struct files *f, const struct record *r)
{
	struct message s = {.from = r->from, .t = r->t, .line = r->text, .msg = r->msg, .number = r->number};
	struct where here = f->check.where;

	f->timed |= r->timed;
	if (f->first.n && !f->timed) {
		f->check.where.number = f->first_number;
		f->check.where.from = ACP_UNKNOWN;
		check_noise(&f->check, buf_slice(&f->first));
		f->check.where = here;
		f->in.bad = false;
		f->first.n = 0;
	}
	check_message(&f->check, &s);
}

static void
report_bad(struct files *f, uint64_t number, const char *what, const struct json_error *error)
{
	cli_warn(check_name, "%s:%llu: %s at byte %zu: %s", f->in.name, (unsigned long long)number, what, error->at, error->what);
}

static void
keep_first(struct files *f, const struct record *r)
{
	f->first.n = 0;
	f->first_number = r->number;
	f->first_error = r->error;
	f->check.failed |= buf_add_slice(&f->first, r->raw) < 0;
}

/* A line that is not a record: noise among bare messages, damage in a recording. A file of another format gets one line in all. */
static void
read_bad(struct files *f, const struct record *r)
{
	bool longer = strstr(r->error.what, "longer than the limit") != NULL;

	if (longer)
		check_find(&f->check, RULE_LINE_LIMIT, "", "a shorter line (--max-line)", slice(NULL, 0));
	else if (f->in.found && !f->timed && !r->torn)
		check_noise(&f->check, r->raw);
	else if (f->in.found)
		report_bad(f, r->number, r->torn ? "the last line is torn" : "not a record", &r->error);
	else if (!f->in.bad)
		keep_first(f, r);
	f->in.bad |= !longer && (!f->in.found || (f->timed && !r->torn));
	if (r->torn || longer || f->timed)
		check_lost(&f->check);
}

/* What follows a part that could not be read is not known. */
static void
end_file(struct files *f)
{
	if (!f->in.failed && f->in.bad && (!f->in.found || f->first.n))
		report_bad(f, f->first_number, "not a record", &f->first_error);
	check_end(&f->check, f->in.failed);
}

static void
read_record(struct files *f, const struct record *r)
{
	struct check *c = &f->check;

	if (f->in.first) {
		f->timed = false;
		f->first.n = 0;
	}
	if (r->kind != RECORD_END)
		c->where = (struct where){.file = f->in.name, .number = r->number, .t = r->t, .timed = r->timed, .from = r->from};
	switch (r->kind) {
	case RECORD_HEADER:
		f->timed = true;
		check_end(c, true);
		break;
	case RECORD_MESSAGE:
		read_message(f, r);
		break;
	case RECORD_NOISE:
		check_noise(c, r->text);
		break;
	case RECORD_EOF:
		check_eof(c, r->torn);
		break;
	case RECORD_EXIT:
		c->where.from = ACP_AGENT;
		check_eof(c, false);
		break;
	case RECORD_LOST:
		if (memmem(r->text.p, r->text.n, "longer than", 11))
			check_find(c, RULE_LINE_LIMIT, "", "a shorter line (--max-line)", r->text);
		check_lost(c);
		break;
	case RECORD_BAD:
		read_bad(f, r);
		break;
	case RECORD_END:
		end_file(f);
		break;
	default:
		break;
	}
}

int
files_run(const struct options *o)
{
	struct files f = {.in = {.tool = check_name, .files = o->frame.files, .limit = o->frame.limit, .hop = o->frame.hop,
		.out = &f.check.out, .tool_reports = true}};
	struct record r;
	int status;

	check_open(&f.check, o);
	status = out_open(&f.check.out, check_name, o->frame.output, o->frame.append, o->frame.files);
	if (status)
		exit(status);
	while (!f.check.failed && operands_next(&f.in, &r))
		read_record(&f, &r);
	if (f.check.failed) {
		errno = ENOMEM;
		operands_fail(&f.in);
	}
	report_end(&f.check);
	status = operands_close(&f.in);
	if (status == 0 && f.check.count[LEVEL_VIOLATION])
		status = EXIT_NEGATIVE;
	if (out_close(&f.check.out) < 0)
		status = EXIT_FAILED;
	buf_free(&f.first);
	check_close(&f.check);
	return status;
}
