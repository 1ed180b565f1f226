/* Recordings. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/acp-check/check.h"
#include "lib/base/cli.h"
#include "lib/recording/recording.h"

struct files {
	struct check check;
	const char *name; /* of the file that is being read */
	bool found;       /* a message in it */
	bool timed;       /* it is a recording: its lines are records */
	bool bad;         /* a line of it is none */
	bool any;         /* some file had a message */
	int status;
	struct buf first; /* a line that is no record, before the first message: noise, if bare messages follow */
	uint64_t first_number;
	struct json_error first_error;
};

static void
read_message(struct files *f, const struct record *r)
{
	struct seen s = {.from = r->from, .t = r->t, .line = r->text, .msg = r->msg, .number = r->number};

	struct where here = f->check.where;

	f->timed |= r->timed;
	if (!f->found && f->first.n && !f->timed) {
		f->check.where.number = f->first_number;
		f->check.where.from = ACP_UNKNOWN;
		check_noise(&f->check, buf_slice(&f->first));
		f->check.where = here;
		f->bad = false;
	}
	f->found = true;
	check_message(&f->check, &s);
}

static void
say_bad(struct files *f, uint64_t number, const char *what, const struct json_error *error)
{
	cli_warn(check_name, "%s:%llu: %s at byte %zu: %s", f->name, (unsigned long long)number, what, error->at, error->what);
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
	else if (f->found && !f->timed && !r->torn)
		check_noise(&f->check, r->raw);
	else if (f->found)
		say_bad(f, r->number, r->torn ? "the last line is torn" : "not a record", &r->error);
	else if (!f->bad)
		keep_first(f, r);
	f->bad |= !longer && (!f->found || (f->timed && !r->torn));
	if (r->torn || longer || f->timed)
		check_lost(&f->check);
}

static void
read_record(struct files *f, const struct record *r)
{
	struct check *c = &f->check;

	c->where = (struct where){.file = f->name, .number = r->number, .t = r->t, .timed = r->timed, .from = r->from};
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
	default:
		break;
	}
}

/* 0, or -1 with errno: reading has failed. */
static int
read_all(struct files *f, struct recording *rec)
{
	struct record r;

	while (!out_failed(&f->check.out)) {
		if (recording_next(rec, &r) < 0)
			return -1;
		if (r.kind == RECORD_END)
			break;
		read_record(f, &r);
		if (f->check.failed) {
			errno = ENOMEM;
			return -1;
		}
		if (recording_waits(rec))
			out_print(&f->check.out);
		else
			out_print_much(&f->check.out);
	}
	check_end(&f->check, false);
	return 0;
}

static void
read_file(struct files *f, const char *name)
{
	const struct frame_options *frame = &f->check.options->frame;
	struct recording *rec = NULL;
	int fd = cli_open(check_name, name, &f->name);

	f->found = f->timed = f->bad = false;
	f->first.n = 0;
	if (fd >= 0)
		rec = recording_open(fd, frame->limit, frame->hop);
	if (!rec || read_all(f, rec) < 0) {
		cli_warn(check_name, "%s: %s", f->name, strerror(errno));
		f->status = errno == ENOMEM ? EXIT_FAILED : EXIT_USAGE;
	} else if (f->bad) {
		if (!f->found || f->first.n)
			say_bad(f, f->first_number, "not a record", &f->first_error);
		f->status = f->found ? EXIT_USAGE : f->status;
	} else if (!f->found) {
		cli_warn(check_name, "%s: no message in it", f->name);
	}
	f->any |= f->found;
	recording_close(rec);
}

int
files_run(const struct options *o)
{
	struct files f = {0};
	char **file, *why = NULL;
	int status;

	check_open(&f.check, o);
	status = out_open(&f.check.out, o->output, o->append, o->files, &why);
	if (status)
		cli_die(status, check_name, "%s", why ? why : "out of memory");
	for (file = o->files; *file && !out_failed(&f.check.out); file++)
		read_file(&f, *file);
	report_end(&f.check);
	if (!f.any && !f.status)
		f.status = EXIT_USAGE;
	if (!f.status && f.check.count[LEVEL_VIOLATION])
		f.status = EXIT_NEGATIVE;
	if (out_close(&f.check.out, &why) < 0) {
		cli_warn(check_name, "%s", why ? why : "out of memory");
		f.status = EXIT_FAILED;
	}
	free(why);
	buf_free(&f.first);
	check_close(&f.check);
	return f.status;
}
