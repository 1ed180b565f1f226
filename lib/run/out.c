#include "lib/run/out.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/cli.h"
#include "lib/run/log_file.h"

enum { MUCH = 64 * 1024 };

static void
report(const char *tool, char *why)
{
	cli_warn(tool, "%s", why ? why : "out of memory");
	free(why);
}

static int
open_log(struct out *o, const struct log_spec *spec)
{
	char *why = NULL;
	int status;

	/* To a log these are errors like others. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	o->log = log_open(spec, &why);
	if (o->log)
		return 0;
	status = errno == EINVAL ? EXIT_USAGE : EXIT_FAILED;
	report(o->tool, why);
	return status;
}

int
out_open(struct out *o, const char *tool, const char *path, bool append, char *const *files)
{
	struct log_spec spec = {.path = path, .append = append, .inputs = files};
	struct stat st;

	*o = (struct out){.tool = tool, .name = path ? path : "standard output"};
	if (path)
		return open_log(o, &spec);
	if (fstat(STDOUT_FILENO, &st) == 0 && log_file_is_input(&st, files)) {
		errno = EINVAL;
		report(tool, log_file_why(o->name));
		return EXIT_USAGE;
	}
	return 0;
}

int
out_close(struct out *o)
{
	int failed = out_print(o), error = errno;
	char *name = NULL;

	if (o->log) {
		name = strdup(log_name(o->log));
		failed = log_close(o->log, 0);
		error = errno;
	}
	errno = error;
	if (failed)
		report(o->tool, log_file_why(name ? name : o->name));
	free(name);
	buf_free(&o->own);
	*o = (struct out){0};
	return failed ? -1 : 0;
}

struct buf *
out_buf(struct out *o)
{
	return o->log ? log_buf(o->log) : &o->own;
}

void
out_mark(struct out *o, size_t before)
{
	if (o->log && log_buf(o->log)->n > before)
		log_mark(o->log);
}

void
out_commit(struct out *o, size_t before, int r)
{
	if (r == 0) {
		out_mark(o, before);
		return;
	}
	out_buf(o)->n = before;
	if (o->log)
		log_add(o->log, slice(NULL, 0));
	else
		o->error = ENOMEM;
}

static int
wait_for(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};

	return poll(&p, 1, -1) < 0 && errno != EINTR ? -1 : 0;
}

static int
print_log(struct log *l)
{
	if (log_flush(l) < 0)
		return -1;
	log_wait(l, -1);
	return log_flush(l);
}

static int
print_own(struct out *o)
{
	size_t sent = 0;
	ssize_t n;

	while (!o->error && sent < o->own.n) {
		n = write(STDOUT_FILENO, o->own.p + sent, o->own.n - sent);
		if (n >= 0)
			sent += (size_t)n;
		else if (errno != EINTR && (errno != EAGAIN || wait_for(STDOUT_FILENO) < 0))
			o->error = errno;
	}
	o->own.n = 0;
	errno = o->error;
	return o->error ? -1 : 0;
}

int
out_print(struct out *o)
{
	return o->log ? print_log(o->log) : print_own(o);
}

int
out_print_much(struct out *o)
{
	return out_buf(o)->n >= MUCH ? out_print(o) : 0;
}

bool
out_failed(const struct out *o)
{
	return o->error || (o->log && log_lost(o->log) > 0);
}
