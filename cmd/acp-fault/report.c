#include "cmd/acp-fault/report.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>

#include "lib/cli.h"
#include "lib/log.h"

/* How long a slow reader of the report is waited for when all else is done. */
enum { PATIENCE_MS = 2000 };

struct report {
	struct log *log; /* NULL: none is wanted */
	struct loop *loop;
	struct loop_fd watch;
	uint64_t seed;
	bool told;
};

static const char *const names[FAULTS] = {
	[FAULT_NOISE] = "noise",
	[FAULT_DROP] = "drop",
	[FAULT_CORRUPT] = "corrupt",
	[FAULT_TRUNCATE] = "truncate",
	[FAULT_DUPLICATE] = "duplicate",
	[FAULT_REORDER] = "reorder",
	[FAULT_DELAY] = "delay",
	[FAULT_STALL] = "stall",
	[FAULT_EXIT] = "exit",
};

/* The first record, or the one that says what was lost before it. */
static int
begin(void *arg, struct buf *to, bool resumed, uint64_t lost, const char *why)
{
	const struct report *r = arg;

	if (!resumed)
		return buf_printf(to, "{\"acp-fault\":1,\"seed\":%" PRIu64 "}\n", r->seed);
	if (buf_printf(to, "{\"lost\":%" PRIu64 ",\"why\":", lost) < 0 || json_quote(slice_of(why), to) < 0)
		return -1;
	return buf_add_string(to, "}\n");
}

struct report *
report_open(const char *path, uint64_t seed)
{
	struct report *r = calloc(1, sizeof(*r));
	struct log_spec spec = {.path = path, .append = cli_started_again(), .begin = begin, .arg = r};
	char *name = NULL;

	if (!r) {
		cli_warn(fault_name, "out of memory");
		return NULL;
	}
	r->seed = seed;
	if (!path)
		return r;
	/* To a log these are errors like others. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	r->log = log_open(&spec, &name);
	if (r->log)
		return r;
	cli_warn(fault_name, "%s: %s", name ? name : path, strerror(errno));
	free(name);
	free(r);
	return NULL;
}

void
report_flush(struct report *r)
{
	if (!r->log)
		return;
	if (log_flush(r->log) < 0 && !r->told) {
		cli_warn(fault_name, "%s: %s: records are lost, the session goes on", log_name(r->log), log_why(r->log));
		r->told = true;
	}
	r->watch.fd = log_waiting(r->log);
	loop_watch(r->loop, &r->watch, POLLOUT);
}

static void
ready(void *arg, short revents)
{
	(void)revents;
	report_flush(arg);
}

int
report_watch(struct report *r, struct frame *f)
{
	r->loop = frame_loop(f);
	r->watch = (struct loop_fd){.fd = -1, .events = POLLOUT, .ready = ready, .arg = r};
	report_flush(r);
	return loop_add_fd(r->loop, &r->watch);
}

void
report_unwatch(struct report *r)
{
	loop_remove_fd(r->loop, &r->watch);
}

static int
put(struct buf *to, const struct subject *s, enum fault fault, const char *details, va_list args)
{
	if (buf_printf(to, "{\"t\":%" PRIu64 ".%06" PRIu64 ",\"from\":\"%s\",\"n\":%" PRIu64, s->t / 1000000, s->t % 1000000,
		acp_side_name(s->from), s->n) < 0)
		return -1;
	if (s->method.p && (buf_add_string(to, ",\"method\":") < 0 || buf_add_slice(to, s->method) < 0))
		return -1;
	if (s->id.p && (buf_add_string(to, ",\"id\":") < 0 || buf_add_slice(to, s->id) < 0))
		return -1;
	if (buf_printf(to, ",\"fault\":\"%s\"", names[fault]) < 0 || buf_vprintf(to, details, args) < 0)
		return -1;
	return buf_add_string(to, "}\n");
}

void
report_add(struct report *r, const struct subject *s, enum fault fault, const char *details, ...)
{
	va_list args;
	int got;

	if (!r->log)
		return;
	va_start(args, details);
	got = put(log_buf(r->log), s, fault, details, args);
	va_end(args);
	if (got == 0)
		log_mark(r->log);
	else
		log_add(r->log, slice(NULL, 0));
}

int
report_close(struct report *r)
{
	int status = 0;

	if (r->log && log_close(r->log, PATIENCE_MS) < 0) {
		if (!r->told)
			cli_warn(fault_name, "the last records of the report are lost: %s", strerror(errno));
		status = -1;
	}
	free(r);
	return status;
}
