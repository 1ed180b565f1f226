/* Recordings: they are read, and printed in another format or in parts. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/acp-tap/tap.h"

struct files {
	struct tap tap;
	struct requests *requests;
	const char *name; /* of the file that is being read */
	bool headed;      /* what it begins with is written */
	bool found;       /* a record in it */
	bool bad;         /* a line in it is none */
	bool any;         /* some file had a record */
	int status;
};

static void
show(void *arg, const struct seen *s)
{
	tap_message(arg, s);
}

static void
put_header(struct files *f, const struct record *r)
{
	struct heading h = {.name = f->name, .started = r ? r->started : 0, .raw = r ? r->raw : slice(NULL, 0)};
	struct buf *to = out_buf(&f->tap.out);
	size_t before = to->n;

	f->headed = true;
	if (!tap_full(&f->tap))
		tap_taken(&f->tap, before, tap_header(&f->tap, to, &h));
}

static void
put_event(struct files *f, const struct record *r)
{
	struct event e = {.kind = r->kind, .from = r->from, .t = r->t, .text = r->text, .torn = r->torn, .count = r->count};

	if (r->kind == RECORD_EXIT) {
		e.status = recording_status(r);
		/* It is the agent's, as in a stream: recordings need not say so. */
		e.from = ACP_AGENT;
	}
	tap_event(&f->tap, e);
}

/* What has no answer when the file ends never gets one: the next file numbers anew. */
static int
forget_requests(struct files *f)
{
	requests_free(f->requests);
	f->requests = requests_new();
	return f->requests ? 0 : -1;
}

/* What is no recording at all is worth one line. */
static void
put_bad(struct files *f, const struct record *r)
{
	bool torn = r->torn && f->found;

	if (f->found || !f->bad)
		cli_warn(tap_name, "%s:%llu: %s at byte %zu: %s", f->name, (unsigned long long)r->number,
			torn ? "the last line is torn" : "not a record", r->error.at, r->error.what);
	f->bad |= !torn;
}

/* 0, or -1 out of memory. */
static int
put_record(struct files *f, const struct record *r)
{
	f->tap.writer.timed = r->timed;
	f->tap.writer.number = f->tap.options->number ? r->number : 0;
	f->tap.muted = r->number < f->tap.options->start;
	f->found |= r->kind != RECORD_HEADER && r->kind != RECORD_BAD && r->kind != RECORD_OTHER;
	switch (r->kind) {
	case RECORD_HEADER:
		put_header(f, r);
		return forget_requests(f);
	case RECORD_MESSAGE:
		if (!f->headed)
			put_header(f, NULL);
		return requests_show(f->requests, r->from, r->t, r->text, &r->msg, show, &f->tap);
	case RECORD_NOISE:
	case RECORD_STDERR:
	case RECORD_EXIT:
	case RECORD_EOF:
	case RECORD_LOST:
		if (!f->headed)
			put_header(f, NULL);
		put_event(f, r);
		return 0;
	case RECORD_BAD:
		put_bad(f, r);
		return 0;
	default:
		return 0;
	}
}

/* 0, or -1 with errno: reading has failed. */
static int
read_all(struct files *f, struct recording *rec)
{
	struct record r;

	f->headed = f->found = f->bad = false;
	while (!tap_full(&f->tap) && !out_failed(&f->tap.out)) {
		if (recording_next(rec, &r) < 0)
			return -1;
		if (r.kind == RECORD_END || r.number > f->tap.options->until) {
			f->found |= r.kind != RECORD_END;
			break;
		}
		if (put_record(f, &r) < 0)
			return -1;
		/* A stream that is read from slowly is shown as it comes. */
		if (recording_waits(rec))
			out_print(&f->tap.out);
		else
			out_print_much(&f->tap.out);
	}
	tap_rest(&f->tap);
	f->found |= tap_full(&f->tap) || out_failed(&f->tap.out);
	return 0;
}

/* What has been read holds something, or that is reported. */
static void
judge(struct files *f)
{
	f->any |= f->found;
	if (f->found && f->bad)
		f->status = EXIT_USAGE;
	else if (!f->found && !f->bad)
		cli_warn(tap_name, "%s: no message in it", f->name);
}

static void
read_file(struct files *f, const char *name)
{
	const struct options *o = f->tap.options;
	int fd = cli_open(tap_name, name, &f->name);
	struct recording *rec = NULL;

	if (fd >= 0)
		rec = recording_open(fd, o->frame.limit, o->frame.hop);
	if (!rec || forget_requests(f) < 0 || read_all(f, rec) < 0) {
		cli_warn(tap_name, "%s: %s", f->name, strerror(errno));
		f->status = errno == ENOMEM ? EXIT_FAILED : EXIT_USAGE;
	} else {
		judge(f);
	}
	recording_close(rec);
}

int
files_run(const struct options *o)
{
	struct files f = {0};
	char **file, *why = NULL;
	int status;

	if (tap_open(&f.tap, o, o->format ? o->format : &format_pretty, o->fold != 0) < 0)
		cli_die(EXIT_FAILED, tap_name, "out of memory");
	status = out_open(&f.tap.out, o->output, o->append, o->files, &why);
	if (status)
		cli_die(status, tap_name, "%s", why ? why : "out of memory");
	for (file = o->files; *file && !tap_full(&f.tap) && !out_failed(&f.tap.out); file++)
		read_file(&f, *file);
	if (!f.any && !f.status && !tap_full(&f.tap))
		f.status = EXIT_USAGE;
	if (out_close(&f.tap.out, &why) < 0) {
		cli_warn(tap_name, "%s", why ? why : "out of memory");
		f.status = EXIT_FAILED;
	}
	free(why);
	requests_free(f.requests);
	tap_close(&f.tap);
	return f.status;
}
