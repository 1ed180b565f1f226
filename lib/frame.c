/* The frame: choosing the way, the beginning and the end. */
#include "lib/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "lib/cli.h"
#include "lib/frame_parts.h"

/* The far side of a link (UCSPI): read it on 6, write it on 7. */
enum { FAR_IN = 6, FAR_OUT = 7, EARLY_MOST = 64 };

void
frame_abort(struct frame *f, const char *why)
{
	if (!f->failed)
		frame_say(f, "%s", why);
	f->failed = true;
	frame_fail(f, EXIT_FAILED);
	loop_stop(f->loop);
}

bool
frame_edits(const struct frame *f)
{
	return (f->filter->needs & (FRAME_EDIT | FRAME_SEND)) || f->options->clean || f->way == FRAME_PROXY;
}

void
frame_tell(struct frame *f, struct frame_event *e)
{
	e->t = frame_now(f);
	if (f->filter->event)
		f->filter->event(f->filter->state, f, e);
}

/* --- the way --- */

static const char *const way_names[] = {"auto", "attach", "wrap", "link", "proxy", "pipe"};

/* What a way cannot give, and why; NULL: nothing. */
static const char *
way_lacks(const struct frame *f, enum frame_way way)
{
	unsigned needs = f->filter->needs;

	if (way == FRAME_PIPE && (needs & (FRAME_BOTH_LANES | FRAME_ANSWER | FRAME_SEND)))
		return "a one-way pipe cannot do what is asked: needs both directions";
	if (way == FRAME_ATTACH && (needs & (FRAME_EDIT | FRAME_ANSWER)))
		return "--attach cannot do what is asked: a chain that runs can be watched and sent to, what changes or answers "
			"messages has to stand in it";
	return NULL;
}

/* 0, or an exit status. */
static int
refuse_unsuited(struct frame *f, enum frame_way way)
{
	const char *lacks = way_lacks(f, way);

	if (!lacks)
		return 0;
	frame_say(f, "%s (use -- COMMAND, acp-conduct -f, or a proxy chain)", lacks);
	return EXIT_USAGE;
}

/* 0, or an exit status. */
static int
start_filter(struct frame *f)
{
	const struct filter *filter = f->filter;

	f->begun = true;
	if (filter->start && filter->start(filter->state, f) < 0)
		return EXIT_FAILED;
	f->started_filter = true;
	if (f->caught_early && filter->caught)
		filter->caught(filter->state, f, f->caught_early);
	return 0;
}

static bool
is_proxy_start(const struct msg *m)
{
	return m->what == ACP_PROXY_INITIALIZE && m->kind == MSG_REQUEST;
}

static int
replay_early(struct frame *f)
{
	struct source *s = &f->sources[0];
	size_t i;
	int r = 0;

	for (i = 0; i < f->nearly; i++) {
		if (r == 0)
			r = lane_line(f, s, f->early[i].got, &f->early[i].line);
		block_drop(f->early[i].line.block);
	}
	free(f->early);
	f->early = NULL;
	f->nearly = 0;
	return r;
}

int
frame_begin(struct frame *f)
{
	int status = refuse_unsuited(f, f->way);

	if (status == 0)
		status = start_filter(f);
	if (status == 0)
		return 0;
	frame_fail(f, status);
	f->failed = true;
	loop_stop(f->loop);
	return -1;
}

int
frame_decide(struct frame *f, enum frame_way way)
{
	f->way = way;
	if (way == FRAME_PROXY)
		f->sources[0].from = ACP_UNKNOWN;
	return frame_begin(f) < 0 ? 0 : replay_early(f);
}

static int
keep_early(struct frame *f, enum input_got got, const struct line *line)
{
	struct early *e = realloc(f->early, (f->nearly + 1) * sizeof(*e));

	if (!e)
		return -1;
	f->early = e;
	e[f->nearly++] = (struct early){*line, got};
	block_hold(line->block);
	return 0;
}

/* The first message on stdin says whether this is a proxy chain. */
int
frame_undecided_line(struct frame *f, struct source *s, enum input_got got, const struct line *line)
{
	struct json_error error;
	struct msg m = {0};

	if (got != INPUT_PIECE && msg_scan(line->text, &m, &error) == MSG_NOISE && f->nearly < EARLY_MOST)
		return keep_early(f, got, line);
	if (frame_decide(f, is_proxy_start(&m) ? FRAME_PROXY : FRAME_PIPE) < 0)
		return -1;
	return f->failed ? 0 : lane_line(f, s, got, line);
}

/* --- signals --- */

static void
caught(void *arg, int signal)
{
	struct frame *f = arg;
	const struct filter *filter = f->filter;

	if (signal != SIGINT && signal != SIGTERM && signal != SIGHUP) {
		if (filter->caught && f->started_filter)
			filter->caught(filter->state, f, signal);
		else if (f->way == FRAME_AUTO)
			f->caught_early = signal;
		return;
	}
	if (f->signals++ == 0 && !f->quitting) {
		if (f->way == FRAME_AUTO && frame_decide(f, FRAME_PIPE) < 0)
			frame_abort(f, "out of memory");
		frame_client_left(f);
		frame_settle(f);
		return;
	}
	f->status = 128 + signal;
	if (f->agent.running && !f->agent.ended)
		proc_signal(f->agent.child.pid, SIGTERM);
	loop_stop(f->loop);
}

static struct loop *
make_loop(struct frame *f)
{
	int signals[16] = {SIGINT, SIGTERM, SIGHUP};
	const int *more = f->options->signals;
	size_t n = 3;

	while (more && *more && n < sizeof(signals) / sizeof(signals[0]) - 1)
		signals[n++] = *more++;
	return loop_new(signals, caught, f);
}

/* --- the beginning and the end --- */

static bool
is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static enum frame_way
choose(const struct frame_options *o)
{
	const char *proto = getenv("PROTO");

	if (o->attach)
		return FRAME_ATTACH;
	if (o->command)
		return FRAME_WRAP;
	if (o->way != FRAME_AUTO)
		return o->way;
	if (is_open(FAR_IN) && is_open(FAR_OUT) && proto && strcmp(proto, "ACP") == 0)
		return FRAME_LINK;
	return FRAME_AUTO;
}

/* Of a socket that is read from as well, closing alone would not end the other side's input. */
static void
mark_shared_sockets(struct frame *f)
{
	size_t i, j;

	for (i = 0; i < LANES; i++)
		for (j = 0; j < LANES; j++)
			if (f->sinks[i].open && f->sources[j].open &&
				io_same_socket(f->sinks[i].out.io.fd, f->sources[j].in.io.fd))
				f->sinks[i].shut = true;
}

/* Standard input and output are let alone. 0, or an exit status. */
static int
open_attached(struct frame *f)
{
	if (attach_start(f) == 0) {
		mark_shared_sockets(f);
		return 0;
	}
	frame_say(f, "what the conductor passed cannot be read: %s", strerror(errno));
	return EXIT_FAILED;
}

/* 0, or an exit status. */
static int
open_way(struct frame *f, enum frame_way way)
{
	bool two = way == FRAME_WRAP || way == FRAME_LINK;
	int status = 0, in, out;

	f->way = way;
	if (way == FRAME_ATTACH)
		return open_attached(f);
	if (way == FRAME_LINK && (!is_open(FAR_IN) || !is_open(FAR_OUT))) {
		frame_say(f, "descriptors %d and %d are not open: no link", FAR_IN, FAR_OUT);
		return EXIT_USAGE;
	}
	if (way != FRAME_WRAP && f->options->command) {
		frame_say(f, "--way %s cannot be had here", way_names[way]);
		return EXIT_USAGE;
	}
	if (refuse_unsuited(f, way))
		return EXIT_USAGE;
	in = proc_claim(STDIN_FILENO);
	out = proc_claim(STDOUT_FILENO);
	if (in < 0 || out < 0 || source_open(f, LANE_DOWN, two ? ACP_CLIENT : ACP_UNKNOWN, in) < 0 ||
		sink_open(f, two ? LANE_UP : LANE_DOWN, out) < 0)
		goto fail;
	if (way == FRAME_LINK && (source_open(f, LANE_UP, ACP_AGENT, proc_claim(FAR_IN)) < 0 ||
		sink_open(f, LANE_DOWN, proc_claim(FAR_OUT)) < 0))
		goto fail;
	mark_shared_sockets(f);
	if (way == FRAME_WRAP)
		status = wrap_start(f);
	return status || way == FRAME_AUTO ? status : start_filter(f);
fail:
	frame_say(f, "standard input or output: %s", strerror(errno));
	return EXIT_FAILED;
}

static int
exit_status(struct frame *f)
{
	struct agent *a = &f->agent;
	int status;

	if (f->signals > 1 || f->quitting || !a->running || !a->ended)
		return f->status;
	status = a->stopped ? 0 : proc_status(a->status);
	return status ? status : f->status;
}

static void
make_token(struct frame *f)
{
	uint64_t n;

	if (getrandom(&n, sizeof(n), 0) != (ssize_t)sizeof(n))
		n = loop_clock() ^ ((uint64_t)getpid() << 40);
	snprintf(f->token, sizeof(f->token), "%016" PRIx64, n);
}

static void
frame_free(struct frame *f)
{
	struct request *r;
	struct held *h;
	size_t i;

	while ((h = f->held)) {
		f->held = h->next;
		buf_free(&h->text);
		free(h);
	}
	batch_free_all(f);
	while (f->requests && (r = requests_next(f->requests, NULL)))
		request_forget(f, r);
	requests_free(f->requests);
	for (i = 0; i < LANES; i++) {
		input_close(&f->sources[i].in);
		output_close(&f->sinks[i].out);
	}
	for (i = 0; i < f->nearly; i++)
		block_drop(f->early[i].line.block);
	free(f->early);
	loop_free(f->loop);
}

int
frame_run(const struct filter *filter, const struct frame_options *options)
{
	struct frame f = {.filter = filter, .options = options, .attached = -1};
	enum frame_way way = choose(options);
	struct timespec wall;
	int status;

	if (proc_stdio() < 0) {
		frame_say(&f, "/dev/null: %s", strerror(errno));
		return EXIT_FAILED;
	}
	if (way == FRAME_ATTACH && ((status = refuse_unsuited(&f, way)) || (status = attach_connect(&f))))
		return status;
	clock_gettime(CLOCK_REALTIME, &wall);
	f.began = loop_clock();
	f.started = (double)wall.tv_sec + (double)wall.tv_nsec / 1e9;
	make_token(&f);
	f.requests = requests_new();
	f.loop = make_loop(&f);
	if (!f.requests || !f.loop) {
		frame_say(&f, "%s", strerror(errno));
		requests_free(f.requests);
		return EXIT_FAILED;
	}
	status = open_way(&f, way);
	if (status == 0) {
		frame_settle(&f);
		if (loop_run(f.loop) < 0)
			frame_abort(&f, strerror(errno));
	} else {
		frame_fail(&f, status);
	}
	if (f.started_filter && filter->end)
		frame_fail(&f, filter->end(filter->state, &f));
	wrap_end(&f);
	attach_end(&f);
	status = exit_status(&f);
	frame_free(&f);
	return status;
}

/* --- for filters --- */

enum frame_way
frame_way(const struct frame *f)
{
	return f->way;
}

struct loop *
frame_loop(struct frame *f)
{
	return f->loop;
}

uint64_t
frame_now(const struct frame *f)
{
	uint64_t now = loop_now(f->loop);

	return f->base + (now > f->began ? now - f->began : 0);
}

double
frame_started(const struct frame *f)
{
	return f->started;
}

void
frame_say(struct frame *f, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	cli_vwarn(f->filter->name, format, args);
	va_end(args);
}

void
frame_fail(struct frame *f, int status)
{
	if (f->status == 0)
		f->status = status;
}
