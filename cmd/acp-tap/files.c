/* Recordings: they are read, and printed in another format or in parts. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/acp-tap/tap.h"
#include "lib/proc.h"

enum { PRINT_AT = 64 * 1024, SIGNAL_MOST = 64 };

struct files {
	struct tap tap;
	struct requests *requests;
	const char *name; /* of the file that is being read */
	bool headed;      /* what it begins with is written */
	int status;
};

static void
show(void *arg, const struct seen *s)
{
	tap_message(arg, s);
}

static int
signal_number(struct slice name)
{
	const char *known;
	int i;

	for (i = 1; i <= SIGNAL_MOST; i++) {
		known = proc_signal_name(i);
		if (known && slice_is(name, known))
			return i;
	}
	return 0;
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
		e.status = r->status >= 0 ? W_EXITCODE(r->status, 0) : signal_number(r->signal);
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

static void
put_bad(struct files *f, const struct record *r)
{
	cli_warn(tap_name, "%s:%llu: %s at byte %zu: %s", f->name, (unsigned long long)r->number,
		r->torn ? "the last line is torn" : "not a record", r->error.at, r->error.what);
	if (!r->torn)
		f->status = EXIT_USAGE;
}

/* 0, or -1 out of memory. */
static int
put_record(struct files *f, const struct record *r)
{
	f->tap.writer.timed = r->timed;
	switch (r->kind) {
	case RECORD_HEADER:
		put_header(f, r);
		return forget_requests(f);
	case RECORD_MESSAGE:
		if (!f->headed)
			put_header(f, NULL);
		return requests_each(f->requests, r->from, r->t, r->text, &r->msg, show, &f->tap);
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

static bool
can_write(struct files *f)
{
	return !f->tap.out.error && !(f->tap.out.log && log_lost(f->tap.out.log));
}

/* 0, or -1 with errno: reading has failed. */
static int
read_all(struct files *f, struct recording *rec)
{
	struct record r;

	f->headed = false;
	while (!tap_full(&f->tap) && can_write(f)) {
		if (recording_next(rec, &r) < 0)
			return -1;
		if (r.kind == RECORD_END)
			break;
		if (put_record(f, &r) < 0)
			return -1;
		/* A stream that is read from slowly is shown as it comes. */
		if (out_buf(&f->tap.out)->n >= PRINT_AT || recording_waits(rec))
			out_print(&f->tap.out);
	}
	tap_rest(&f->tap);
	return 0;
}

static void
read_file(struct files *f, const char *name)
{
	const struct options *o = f->tap.options;
	bool standard = strcmp(name, "-") == 0;
	int fd = standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	struct recording *rec = NULL;

	f->name = standard ? "standard input" : name;
	if (fd >= 0)
		rec = recording_open(fd, o->frame.limit, o->hop);
	if (!rec || forget_requests(f) < 0 || read_all(f, rec) < 0) {
		cli_warn(tap_name, "%s: %s", f->name, strerror(errno));
		f->status = errno == ENOMEM ? EXIT_FAILED : EXIT_USAGE;
	}
	recording_close(rec);
}

static bool
same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && S_ISREG(x.st_mode) && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static void
open_output(struct files *f)
{
	const struct options *o = f->tap.options;
	struct log_spec spec = {.path = o->output, .append = o->append};
	char *name, **file;

	if (!o->output)
		return;
	for (file = o->files; *file; file++)
		if (same_file(o->output, *file))
			cli_die(EXIT_USAGE, tap_name, "%s: it is read and would be written", *file);
	/* To a log these are errors like others. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	f->tap.out.log = log_open(&spec, &name);
	if (!f->tap.out.log)
		cli_die(EXIT_FAILED, tap_name, "%s: %s", name ? name : o->output, strerror(errno));
}

static void
close_output(struct files *f)
{
	struct out *out = &f->tap.out;
	int failed = out_print(out);

	if (out->log) {
		char *name = strdup(log_name(out->log));

		failed = log_close(out->log, 0);
		if (failed)
			cli_warn(tap_name, "%s: %s", name ? name : f->tap.options->output, strerror(errno));
		free(name);
	} else if (failed) {
		cli_warn(tap_name, "standard output: %s", strerror(errno));
	}
	if (failed)
		f->status = EXIT_FAILED;
}

int
files_run(const struct options *o)
{
	struct files f = {0};
	char **file;

	if (tap_open(&f.tap, o, o->format ? o->format : &format_pretty, o->fold != 0) < 0)
		cli_die(EXIT_FAILED, tap_name, "out of memory");
	open_output(&f);
	for (file = o->files; *file && !tap_full(&f.tap) && can_write(&f); file++)
		read_file(&f, *file);
	close_output(&f);
	requests_free(f.requests);
	tap_close(&f.tap);
	return f.status;
}
