#include "lib/run/out.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/cli.h"
#include "lib/run/log_file.h"

enum { MUCH = 64 * 1024 }; /* bytes: out_print_if_large writes from this size on */

static void
report(const char *tool, char *why)
{
	cli_warn(tool, "%s", why ? why : "out of memory");
	free(why);
}

int
out_open(struct out *o, const char *tool, const char *path, bool append, char *const *files)
{
	struct log_spec spec = {.path = path, .append = append, .inputs = files, .waits = true};
	char *why = NULL;
	struct stat st;
	int error;

	*o = (struct out){.tool = tool};
	if (path) {
		/* For a file these are errors of write, which out_close reports. */
		signal(SIGPIPE, SIG_IGN);
		signal(SIGXFSZ, SIG_IGN);
	}
	if (path || fstat(STDOUT_FILENO, &st) < 0 || !log_file_is_input(&st, files)) {
		o->log = log_open(&spec, &why);
		error = errno;
	} else {
		error = errno = EINVAL;
		why = log_file_why("standard output");
	}
	if (o->log)
		return 0;
	report(tool, why);
	return error == EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

int
out_close(struct out *o, int status)
{
	char *name = strdup(log_name(o->log));

	out_print(o);
	if (status > EXIT_NEGATIVE)
		log_abandon(o->log);
	if (log_close(o->log, 0) < 0) {
		report(o->tool, log_file_why(name ? name : "output"));
		status = EXIT_FAILED;
	}
	free(name);
	*o = (struct out){0};
	return status;
}

struct buf *
out_buf(struct out *o)
{
	return log_buf(o->log);
}

void
out_end_record(struct out *o, size_t before)
{
	/* With `before` 0 the buffer may hold only earlier records. */
	if (log_buf(o->log)->n > before && (before > 0 || log_is_begun(o->log)))
		log_end_record(o->log);
}

void
out_commit(struct out *o, size_t before, int r)
{
	if (r == 0)
		out_end_record(o, before);
	else
		log_add(o->log, slice(NULL, 0));
}

void
out_print(struct out *o)
{
	log_flush(o->log);
	log_wait(o->log, -1);
}

void
out_print_if_large(struct out *o)
{
	if (out_buf(o)->n >= MUCH)
		out_print(o);
}

bool
out_has_lost(const struct out *o)
{
	return log_lost(o->log) > 0;
}
