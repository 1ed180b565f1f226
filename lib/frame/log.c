/* The log beside the stream, whose errors never stop the session. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cli.h"
#include "lib/frame/frame_parts.h"

/* How long the tool, when all else is done, waits for a slow reader of the log. */
enum { PATIENCE_MS = 2000 };

struct log *
frame_log(struct frame *f)
{
	return f->log;
}

static int
begin(void *arg, struct buf *to, bool resumed, uint64_t lost, const char *why)
{
	struct frame *f = arg;
	const struct filter *filter = f->filter;

	return filter->log->begin ? filter->log->begin(filter->state, f, to, resumed, lost, why) : 0;
}

static void
ready(void *arg, short revents)
{
	(void)revents;
	frame_log_write(arg);
}

static void
refuse(struct frame *f, const char *what, char *why)
{
	frame_warn(f, "%s%s", what, why ? why : "out of memory");
	free(why);
}

int
frame_log_open(struct frame *f)
{
	const struct frame_log *l = f->filter->log;
	struct log_spec spec = {.begin = begin, .arg = f};
	int error;
	char *why;

	if (!l)
		return 0;
	spec.path = l->path;
	spec.append = l->append || cli_started_again();
	spec.inputs = l->inputs;
	/* An attached filter forwards nothing. Without a path it writes to standard output, and a reader that leaves ends the tool. */
	spec.output = f->options->attach;
	if (spec.output && !spec.path)
		signal(SIGPIPE, SIG_DFL);
	f->log = log_open(&spec, &why);
	error = errno;
	if (!f->log) {
		refuse(f, "", why);
		return error == EINVAL ? EXIT_USAGE : EXIT_FAILED;
	}
	f->log_watch = (struct loop_fd){.fd = -1, .events = POLLOUT, .ready = ready, .arg = f};
	loop_add_fd(f->loop, &f->log_watch);
	frame_log_write(f);
	return 0;
}

void
frame_log_write(struct frame *f)
{
	if (!f->log)
		return;
	if (log_flush(f->log) < 0 && !f->log_failed) {
		frame_warn(f, "%s: %s: records are lost, the session goes on", log_name(f->log), log_why(f->log));
		f->log_failed = true;
	}
	f->log_watch.fd = log_waiting(f->log);
	loop_set_events(f->loop, &f->log_watch, POLLOUT);
}

void
frame_log_reopen(struct frame *f)
{
	char *why;

	if (f->log && log_reopen(f->log, &why) < 0)
		refuse(f, "cannot be reopened: ", why);
	frame_log_write(f);
}

void
frame_log_close(struct frame *f)
{
	if (!f->log)
		return;
	loop_remove_fd(f->loop, &f->log_watch);
	if (log_close(f->log, PATIENCE_MS) < 0) {
		if (!f->log_failed)
			frame_warn(f, "the last records are lost: %s", strerror(errno));
		frame_fail(f, EXIT_FAILED);
	}
}
