/* Recordings, and reports to be added up. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/select.h>

#include "cmd/acp-stat/stat.h"
#include "lib/recording/operands.h"

struct files {
	struct tool tool;
	struct operands in;
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

/* 0, or -1 out of memory. */
static int
take(struct files *f, const struct record *r)
{
	if (f->in.first) {
		f->untimed = false;
		if (tool_begin(&f->tool, 0) < 0)
			return -1;
	}
	if (r->kind == RECORD_HEADER)
		return tool_begin(&f->tool, r->started);
	if (r->kind == RECORD_END)
		return tool_end(&f->tool);
	if (r->kind != RECORD_MESSAGE)
		return 0;
	if (!r->timed && !f->untimed)
		cli_warn(tool_name, "%s: messages without times: they are counted, not measured", f->in.name);
	f->untimed |= !r->timed;
	return tool_see(&f->tool, &(struct message){.from = r->from, .t = r->t, .line = r->text, .msg = r->msg}, r->timed);
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

/* As operands_lines has it. */
static int
take_line(void *arg, struct slice line, const char **why)
{
	struct files *f = arg;

	if (f->in.first)
		json_reader_begin(&f->reader);
	if (line.p)
		return json_get_line(&f->reader, line, &f->tool.table, why);
	*why = "the report is cut off: its end is missing";
	if (f->reader.n)
		return 1;
	if (f->reader.reports == 0)
		cli_warn(tool_name, "%s: no final report in it", f->in.name);
	f->tool.any |= f->reader.reports > 0;
	return 0;
}

static void
read_reports(struct files *f)
{
	operands_lines(&f->in, take_line, f);
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
	json_reader_begin(&f.reader);
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
