#include "lib/recording/operands.h"

#include <errno.h>
#include <string.h>

#include "lib/base/cli.h"
#include "lib/run/input.h"

int
operands_open(struct operands *in)
{
	int fd;

	while (*in->files) {
		in->found = in->bad = in->failed = false;
		in->fresh = true;
		fd = cli_open(in->tool, *in->files++, &in->name);
		if (fd >= 0)
			return fd;
		operands_fail(in);
	}
	return -1;
}

void
operands_fail(struct operands *in)
{
	cli_warn(in->tool, "%s: %s", in->name, strerror(errno));
	in->status = errno == ENOMEM || in->status == EXIT_FAILED ? EXIT_FAILED : EXIT_USAGE;
	in->failed = true;
}

void
operands_report(struct operands *in, const struct record *r)
{
	bool torn = r->torn && in->found;
	const char *what = torn ? "the last line is torn" : "not a record";

	/* A file that is no recording at all gets one line. */
	if (!in->found && in->bad)
		return;
	in->bad |= !torn;
	cli_warn(in->tool, "%s:%llu: %s at byte %zu: %s", in->name, (unsigned long long)r->number, what, r->error.at, r->error.what);
}

void
operands_judge(struct operands *in, const char *nothing)
{
	in->any |= in->found;
	if (in->failed)
		return;
	if (in->found && in->bad && !in->status)
		in->status = EXIT_USAGE;
	else if (!in->found && !in->bad)
		cli_warn(in->tool, "%s: %s", in->name, nothing ? nothing : "no message in it");
}

static void
hand_out(struct operands *in, enum input_got got, const struct line *line, int (*fn)(void *, struct slice, const char **), void *arg)
{
	const char *why = recording_too_long;
	bool end = got == INPUT_END;
	int r = got == INPUT_NOTHING ? -1 : got == INPUT_PIECE;

	if (r == 0 && (end || line->text.n)) {
		in->first = in->fresh;
		in->fresh = false;
		r = fn(arg, end ? slice(NULL, 0) : line->text, &why);
	}
	if (r < 0)
		operands_fail(in);
	if (r <= 0)
		return;
	cli_warn(in->tool, "%s: line %llu: %s", in->name, (unsigned long long)line->number, why);
	in->bad = true;
	in->status = EXIT_USAGE;
}

void
operands_lines(struct operands *in, int (*fn)(void *, struct slice, const char **), void *arg)
{
	struct input lines;
	struct line line = {0};
	enum input_got got;
	int fd;

	while ((fd = operands_open(in)) >= 0) {
		if (input_open(&lines, fd, in->limit) < 0) {
			operands_fail(in);
			continue;
		}
		do {
			got = input_next(&lines, &line);
			hand_out(in, got, &line, fn, arg);
		} while (got != INPUT_END && !in->bad && !in->failed);
		input_close(&lines);
	}
}

int
operands_status(const struct operands *in)
{
	return in->status ? in->status : in->any ? 0 : EXIT_USAGE;
}
