/* Recordings, and reports to be added up. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>

#include "cmd/acp-stat/stat.h"
#include "lib/recording/recording.h"
#include "lib/run/input.h"

struct files {
	struct tool tool;
	struct requests *requests;
	struct json_reader reader; /* of --merge */
	const char *name;  /* of the file that is being read */
	bool found;        /* a message in it */
	bool bad;          /* a line in it is none */
	bool untimed;      /* that a message has no time has been reported */
	int status;
};

/* Set by SIGUSR1. */
static volatile sig_atomic_t asked;

static void
ask(int signal)
{
	(void)signal;
	asked = 1;
}

/* --- recordings --- */

struct showing {
	struct files *files;
	bool timed, failed;
};

static void
show(void *arg, const struct seen *s)
{
	struct showing *g = arg;

	g->failed = tool_see(&g->files->tool, s, g->timed) < 0;
}

/* What has no response when a recording ends never gets one. */
static int
begin(struct files *f, double started)
{
	requests_free(f->requests);
	f->requests = requests_new();
	return f->requests ? tool_begin(&f->tool, started) : -1;
}

/* What is no recording at all is worth one line. */
static void
report_bad(struct files *f, const struct record *r)
{
	bool torn = r->torn && f->found;

	if (f->found || !f->bad)
		cli_warn(tool_name, "%s:%llu: %s at byte %zu: %s", f->name, (unsigned long long)r->number,
			torn ? "the last line is torn" : "not a record", r->error.at, r->error.what);
	f->bad |= !torn;
}

/* 0, or -1 out of memory. */
static int
take(struct files *f, const struct record *r)
{
	struct showing g = {.files = f, .timed = r->timed};

	if (r->kind == RECORD_HEADER)
		return begin(f, r->started);
	if (r->kind == RECORD_BAD)
		report_bad(f, r);
	if (r->kind != RECORD_MESSAGE)
		return 0;
	f->found = true;
	if (!r->timed && !f->untimed)
		cli_warn(tool_name, "%s: messages without times: they are counted, not measured", f->name);
	f->untimed |= !r->timed;
	return requests_show(f->requests, r->from, r->t, r->text, &r->msg, show, &g) < 0 || g.failed ? -1 : 0;
}

/* Waits for more, and writes a report where one is asked for meanwhile. */
static void
wait_for_more(struct files *f, const struct recording *rec)
{
	struct pollfd p = {.fd = recording_fd(rec), .events = POLLIN};
	sigset_t none;

	sigemptyset(&none);
	out_print(&f->tool.out);
	while (ppoll(&p, 1, NULL, &none) < 0 && errno == EINTR) {
		if (asked)
			report(&f->tool, false);
		asked = 0;
		out_print(&f->tool.out);
	}
}

/* 0, or -1 with errno: reading has failed. */
static int
read_all(struct files *f, struct recording *rec)
{
	struct record r;

	while (!out_failed(&f->tool.out)) {
		if (recording_waits(rec))
			wait_for_more(f, rec);
		if (recording_next(rec, &r) < 0)
			return -1;
		if (r.kind == RECORD_END)
			break;
		if (take(f, &r) < 0) {
			errno = ENOMEM;
			return -1;
		}
		out_print_much(&f->tool.out);
	}
	return tool_end(&f->tool);
}

static void
read_recording(struct files *f, const char *name)
{
	int fd = cli_open(tool_name, name, &f->name);
	struct recording *rec = NULL;

	f->found = f->bad = f->untimed = false;
	if (fd >= 0)
		rec = recording_open(fd, f->tool.options->frame.limit, f->tool.options->frame.hop);
	if (!rec || begin(f, 0) < 0 || read_all(f, rec) < 0) {
		cli_warn(tool_name, "%s: %s", f->name, strerror(errno));
		f->status = errno == ENOMEM ? EXIT_FAILED : EXIT_USAGE;
	} else if (f->found && f->bad) {
		f->status = EXIT_USAGE;
	} else if (!f->found && !f->bad) {
		cli_warn(tool_name, "%s: no message in it", f->name);
	}
	recording_close(rec);
}

/* --- --merge --- */

static void
refuse(struct files *f, uint64_t line, const char *what)
{
	if (line)
		cli_warn(tool_name, "%s: line %llu: %s", f->name, (unsigned long long)line, what);
	else
		cli_warn(tool_name, "%s: %s", f->name, what);
	f->status = EXIT_USAGE;
}

static void
take_line(struct files *f, const struct line *line)
{
	const char *why;
	int r = line->text.n ? json_get_line(&f->reader, line->text, &f->tool.table, &why) : 0;

	if (r > 0)
		refuse(f, line->number, why);
	if (r < 0) {
		cli_warn(tool_name, "out of memory");
		f->status = EXIT_FAILED;
	}
}

/* Until the first line that is wrong. */
static void
read_lines(struct files *f, struct input *in)
{
	struct pollfd p = {.fd = in->io.fd, .events = POLLIN};
	enum input_got got;
	struct line line;

	while (f->status == 0 && (got = input_line(in, &line)) != INPUT_END) {
		if (got == INPUT_NOTHING) {
			if (input_fill(in) < 0 && (errno != EAGAIN || (poll(&p, 1, -1) < 0 && errno != EINTR)))
				refuse(f, 0, strerror(errno));
		} else if (got != INPUT_PIECE) {
			take_line(f, &line);
		} else if (line.last) {
			refuse(f, line.number, "longer than the limit");
		}
	}
}

static void
read_report(struct files *f, const char *name)
{
	size_t before = f->reader.reports;
	int fd = cli_open(tool_name, name, &f->name);
	struct input in;

	if (fd < 0 || input_open(&in, fd, f->tool.options->frame.limit) < 0) {
		refuse(f, 0, strerror(errno));
		return;
	}
	read_lines(f, &in);
	input_close(&in);
	if (f->status == 0 && f->reader.n)
		refuse(f, 0, "the report is cut off: its end is missing");
	else if (f->status == 0 && f->reader.reports == before)
		cli_warn(tool_name, "%s: no final report in it", f->name);
	f->tool.any |= f->reader.reports > 0;
}

/* --- all --- */

static int
open_output(struct files *f, const struct options *o)
{
	struct sigaction action = {.sa_handler = ask};
	sigset_t set;
	char *why = NULL;
	int status;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGUSR1, &action, NULL);
	status = out_open(&f->tool.out, o->format == FORMAT_PROM ? NULL : o->output, o->append, o->files, &why);
	if (status)
		cli_die(status, tool_name, "%s", why ? why : "out of memory");
	return report_open(&f->tool);
}

static int
close_output(struct files *f)
{
	char *why = NULL;

	if (out_close(&f->tool.out, &why) == 0)
		return 0;
	cli_warn(tool_name, "%s", why ? why : "out of memory");
	free(why);
	return -1;
}

static int
run(const struct options *o, void (*read_file)(struct files *, const char *))
{
	struct files f = {.name = ""};
	char **name;
	int status;

	if (tool_open(&f.tool, o) < 0)
		cli_die(EXIT_FAILED, tool_name, "out of memory");
	status = open_output(&f, o);
	for (name = o->files; status == 0 && *name && !out_failed(&f.tool.out) && !(o->merge && f.status); name++)
		read_file(&f, *name);
	f.status = status ? status : f.status;
	if (!f.tool.any && f.status == 0)
		f.status = EXIT_USAGE;
	/* Sums without what is damaged would be wrong and not say so. */
	if (f.tool.any && !(o->merge && f.status))
		report(&f.tool, true);
	if (close_output(&f) < 0 || f.tool.failed)
		f.status = EXIT_FAILED;
	requests_free(f.requests);
	table_free(&f.reader.rows);
	tool_close(&f.tool);
	return f.status;
}

int
files_run(const struct options *o)
{
	return run(o, read_recording);
}

int
merge_run(const struct options *o)
{
	return run(o, read_report);
}
