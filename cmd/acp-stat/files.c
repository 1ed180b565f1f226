/* Recordings, and reports to be added up. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/select.h>

#include "cmd/acp-stat/stat.h"
#include "lib/recording/operands.h"
#include "lib/run/input.h"

struct files {
	struct tool tool;
	struct operands in;
	struct requests *requests;
	struct json_reader reader; /* of --merge */
	bool untimed;      /* that a message of this file has no time has been reported */
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
show(void *arg, const struct message *s)
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

/* 0, or -1 out of memory. */
static int
take(struct files *f, const struct record *r)
{
	struct showing g = {.files = f, .timed = r->timed};

	if (f->in.first) {
		f->untimed = false;
		if (begin(f, 0) < 0)
			return -1;
	}
	if (r->kind == RECORD_HEADER)
		return begin(f, r->started);
	if (r->kind == RECORD_END)
		return tool_end(&f->tool);
	if (r->kind != RECORD_MESSAGE)
		return 0;
	if (!r->timed && !f->untimed)
		cli_warn(tool_name, "%s: messages without times: they are counted, not measured", f->in.name);
	f->untimed |= !r->timed;
	return requests_show(f->requests, r->from, r->t, r->text, &r->msg, show, &g) < 0 || g.failed ? -1 : 0;
}

/* Waits for more, and writes a report where one is asked for meanwhile. */
static void
wait_for_more(struct files *f, int fd)
{
	sigset_t none;
	fd_set waited;

	FD_ZERO(&waited);
	FD_SET(fd, &waited);
	sigemptyset(&none);
	out_print(&f->tool.out);
	while (pselect(fd + 1, &waited, NULL, NULL, NULL, &none) < 0 && errno == EINTR) {
		if (asked)
			report(&f->tool, false);
		asked = 0;
		out_print(&f->tool.out);
	}
}

static void
read_recordings(struct files *f)
{
	struct record r;
	int fd;

	do {
		if (operands_wait(&f->in, &fd))
			wait_for_more(f, fd);
		if (!operands_next(&f->in, &r))
			break;
		if (take(f, &r) < 0)
			operands_fail(&f->in);
	} while (true);
}

/* --- --merge --- */

static void
refuse(struct files *f, uint64_t line, const char *what)
{
	if (line)
		cli_warn(tool_name, "%s: line %llu: %s", f->in.name, (unsigned long long)line, what);
	else
		cli_warn(tool_name, "%s: %s", f->in.name, what);
	f->in.status = EXIT_USAGE;
}

static void
take_line(struct files *f, const struct line *line)
{
	const char *why;
	int r = line->text.n ? json_get_line(&f->reader, line->text, &f->tool.table, &why) : 0;

	if (r > 0)
		refuse(f, line->number, why);
	if (r < 0)
		operands_fail(&f->in);
}

/* Until the first line that is wrong. */
static void
read_lines(struct files *f, struct input *in)
{
	enum input_got got;
	struct line line;

	while (f->in.status == 0 && (got = input_next(in, &line)) != INPUT_END) {
		if (got == INPUT_NOTHING)
			operands_fail(&f->in);
		else if (got != INPUT_PIECE)
			take_line(f, &line);
		else if (line.last)
			refuse(f, line.number, "longer than the limit");
	}
}

static void
read_reports(struct files *f)
{
	size_t before;
	struct input in;
	int fd;

	while (f->in.status == 0 && (fd = operands_open(&f->in)) >= 0) {
		before = f->reader.reports;
		if (input_open(&in, fd, f->in.limit) < 0) {
			operands_fail(&f->in);
			break;
		}
		read_lines(f, &in);
		input_close(&in);
		if (f->in.status == 0 && f->reader.n)
			refuse(f, 0, "the report is cut off: its end is missing");
		else if (f->in.status == 0 && f->reader.reports == before)
			cli_warn(tool_name, "%s: no final report in it", f->in.name);
		f->tool.any |= f->reader.reports > 0;
	}
}

/* --- all --- */

static int
open_output(struct files *f, const struct options *o)
{
	struct sigaction action = {.sa_handler = ask};
	sigset_t set;
	int status;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigaction(SIGUSR1, &action, NULL);
	status = out_open(&f->tool.out, tool_name, o->format == FORMAT_PROM ? NULL : o->frame.output, o->frame.append, o->frame.files);
	if (status)
		exit(status);
	return report_open(&f->tool);
}

static int
run(const struct options *o, void (*read_all)(struct files *))
{
	struct files f = {.in = {.tool = tool_name, .files = o->frame.files, .limit = o->frame.limit, .hop = o->frame.hop,
		.out = &f.tool.out}};
	int status;

	if (tool_open(&f.tool, o) < 0)
		cli_die(EXIT_FAILED, tool_name, "out of memory");
	status = open_output(&f, o);
	if (status == 0)
		read_all(&f);
	f.in.any |= f.tool.any;
	status = status ? status : operands_close(&f.in);
	/* Sums without what is damaged would be wrong and not say so. */
	if (f.tool.any && !(o->merge && status))
		report(&f.tool, true);
	if (out_close(&f.tool.out) < 0 || f.tool.failed)
		status = EXIT_FAILED;
	requests_free(f.requests);
	table_free(&f.reader.rows);
	tool_close(&f.tool);
	return status;
}

int
files_run(const struct options *o)
{
	return run(o, read_recordings);
}

int
merge_run(const struct options *o)
{
	return run(o, read_reports);
}
