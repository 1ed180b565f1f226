/* The frame: choosing the way, reading and writing, the end. */
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

static void source_ready(void *arg, short revents);

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
	return (f->filter->needs & FRAME_EDIT) || f->options->clean || f->way == FRAME_PROXY;
}

void
frame_tell(struct frame *f, struct frame_event *e)
{
	e->t = frame_now(f);
	if (f->filter->event)
		f->filter->event(f->filter->state, f, e);
}

/* --- sources and sinks --- */

/* Moves a descriptor out of the way, so that nothing else lands on its number by accident. */
static int
claim(int fd)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 10), null;

	if (own < 0)
		return -1;
	close(fd);
	if (fd > STDERR_FILENO)
		return own;
	null = open("/dev/null", O_RDWR);
	if (null >= 0 && null != fd) {
		dup2(null, fd);
		close(null);
	}
	return own;
}

int
source_open(struct frame *f, enum lane lane, enum acp_side from, int fd)
{
	struct source *s = &f->sources[lane];

	*s = (struct source){.frame = f, .lane = lane, .from = from};
	if (input_open(&s->in, fd, f->options->limit) < 0)
		return -1;
	s->open = true;
	s->watch = (struct loop_fd){.fd = s->in.io.fd, .events = POLLIN, .ready = source_ready, .arg = s};
	return loop_add_fd(f->loop, &s->watch);
}

static void sink_ready(void *arg, short revents);

int
sink_open(struct frame *f, enum lane lane, int fd)
{
	struct sink *k = &f->sinks[lane];

	*k = (struct sink){.frame = f};
	if (output_open(&k->out, fd) < 0)
		return -1;
	k->open = true;
	k->watch = (struct loop_fd){.fd = k->out.io.fd, .events = 0, .ready = sink_ready, .arg = k};
	return loop_add_fd(f->loop, &k->watch);
}

static void
sink_close(struct frame *f, struct sink *k)
{
	loop_remove_fd(f->loop, &k->watch);
	io_close(&k->out.io, true);
	k->open = false;
	if (f->way == FRAME_WRAP && k == &f->sinks[LANE_DOWN])
		wrap_client_left(f);
}

void
source_end(struct frame *f, struct source *s, bool torn)
{
	struct frame_event e = {.kind = FRAME_EOF, .from = s->from, .torn = torn};

	if (!s->open)
		return;
	s->open = false;
	loop_remove_fd(f->loop, &s->watch);
	if (s->in.error)
		frame_say(f, "%s: %s", acp_side_name(s->from), strerror(s->in.error));
	input_close(&s->in);
	frame_tell(f, &e);
	/* An agent that has closed its output has nothing more to say: as if the client had left it. */
	if (f->way == FRAME_WRAP) {
		wrap_client_left(f);
		if (s->lane == LANE_UP && f->sources[LANE_DOWN].open)
			source_end(f, &f->sources[LANE_DOWN], false);
	}
}

static bool
held_in(const struct frame *f, enum lane lane)
{
	const struct held *h;

	for (h = f->held; h; h = h->next)
		if (h->lane == lane)
			return true;
	return false;
}

/* --- the way --- */

static const char *const way_names[] = {"auto", "attach", "wrap", "link", "proxy", "pipe"};

static bool
way_suits(const struct frame *f, enum frame_way way)
{
	return way != FRAME_PIPE || !(f->filter->needs & (FRAME_BOTH_LANES | FRAME_ANSWER));
}

/* 0, or an exit status. */
static int
way_taken(struct frame *f, enum frame_way way)
{
	const struct filter *filter = f->filter;

	f->way = way;
	if (!way_suits(f, way)) {
		frame_say(f, "a one-way pipe can not do what is asked: needs both directions (use -- COMMAND, "
			"acp-conduct -f, or a proxy chain)");
		return EXIT_USAGE;
	}
	if (filter->start && filter->start(filter->state, f) < 0)
		return EXIT_FAILED;
	f->started_filter = true;
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

static int
decide(struct frame *f, enum frame_way way)
{
	int status = way_taken(f, way);

	if (way == FRAME_PROXY)
		f->sources[0].from = ACP_UNKNOWN;
	if (status) {
		frame_fail(f, status);
		f->failed = true;
		loop_stop(f->loop);
		return 0;
	}
	return replay_early(f);
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
static int
undecided_line(struct frame *f, struct source *s, enum input_got got, const struct line *line)
{
	struct json_error error;
	struct msg m = {0};

	if (got != INPUT_PIECE && msg_scan(line->text, &m, &error) == MSG_NOISE && f->nearly < EARLY_MOST)
		return keep_early(f, got, line);
	if (decide(f, is_proxy_start(&m) ? FRAME_PROXY : FRAME_PIPE) < 0)
		return -1;
	return f->failed ? 0 : lane_line(f, s, got, line);
}

/* --- reading and writing --- */

static bool
drained(const struct sink *k)
{
	return !k->open || k->out.error || k->out.n == 0;
}

static void
couple(struct frame *f, struct source *s)
{
	struct sink *other = lane_sink(f, s->lane == LANE_DOWN ? LANE_UP : LANE_DOWN);

	if (f->filter->needs & (FRAME_ANSWER | FRAME_EDIT))
		s->coupled = other != lane_sink(f, s->lane) && other->out.full;
}

/* Reads once and shows all that came. False when there was nothing, or it was the end. */
static bool
read_once(struct frame *f, struct source *s)
{
	enum input_got got;
	struct line line;
	bool torn = false;
	int r = 0;

	if (input_fill(&s->in) < 0 && !s->in.ended) {
		if (errno != EAGAIN)
			frame_abort(f, strerror(errno));
		return false;
	}
	while (r == 0 && !f->failed && (got = input_line(&s->in, &line)) != INPUT_NOTHING && got != INPUT_END) {
		torn = got == INPUT_TORN;
		r = f->way == FRAME_AUTO ? undecided_line(f, s, got, &line) : lane_line(f, s, got, &line);
	}
	if (r == 0 && s->in.ended && f->way == FRAME_AUTO)
		r = decide(f, FRAME_PIPE);
	if (r < 0)
		frame_abort(f, "out of memory");
	if (f->failed)
		return false;
	couple(f, s);
	if (s->in.ended)
		source_end(f, s, torn);
	if (f->filter->flush && f->started_filter)
		f->filter->flush(f->filter->state, f);
	return s->open;
}

static void
source_ready(void *arg, short revents)
{
	struct source *s = arg;

	(void)revents;
	read_once(s->frame, s);
	frame_settle(s->frame);
}

/* What the client has sent before it left still goes its way. */
static void
client_left(struct frame *f)
{
	struct source *s = &f->sources[LANE_DOWN];

	if (f->left)
		return;
	f->left = true;
	while (s->open && !lane_sink(f, s->lane)->out.full && read_once(f, s))
		output_flush(&lane_sink(f, s->lane)->out);
	if (s->open && !f->failed)
		source_end(f, s, false);
}

static void
sink_failed(struct frame *f, struct sink *k)
{
	bool to_client = k == lane_sink(f, LANE_UP);
	int error = k->out.error;

	if (error != EPIPE && error != ECONNRESET) {
		frame_say(f, "writing to the %s: %s", to_client ? "client" : "agent", strerror(error));
		frame_fail(f, EXIT_FAILED);
	}
	k->watch.events = LOOP_PAUSED;
	if (to_client)
		client_left(f);
}

static void
sink_ready(void *arg, short revents)
{
	struct sink *k = arg;

	/* Nobody reads it any more: told before something is written. */
	if ((revents & (POLLERR | POLLHUP | POLLNVAL)) && !k->out.error) {
		output_fail(&k->out, EPIPE);
		sink_failed(k->frame, k);
	}
	frame_settle(k->frame);
}

static void
flush_sinks(struct frame *f)
{
	struct sink *k;
	size_t i;

	for (i = 0; i < LANES; i++) {
		k = &f->sinks[i];
		if (!k->open)
			continue;
		if (!k->out.error && output_flush(&k->out) < 0)
			sink_failed(f, k);
		if (k->last && drained(k))
			sink_close(f, k);
		else if (!k->out.error)
			k->watch.events = k->out.n ? POLLOUT : 0;
	}
	if (f->agent.running) {
		output_flush(&f->agent.err);
		f->agent.err_watch.events = f->agent.err.n ? POLLOUT : LOOP_PAUSED;
	}
}

static void
pace_sources(struct frame *f)
{
	struct source *s;
	struct sink *own, *other;
	size_t i;

	for (i = 0; i < LANES; i++) {
		s = &f->sources[i];
		if (!s->open)
			continue;
		own = lane_sink(f, s->lane);
		other = lane_sink(f, s->lane == LANE_DOWN ? LANE_UP : LANE_DOWN);
		if (s->coupled && !other->out.full)
			s->coupled = false;
		s->watch.events = own->out.full || s->coupled ? LOOP_PAUSED : POLLIN;
	}
}

/* Has everything come that will? */
static bool
all_in(const struct frame *f)
{
	switch (f->way) {
	case FRAME_WRAP:
		return wrap_over(f);
	case FRAME_LINK:
		return !f->sources[LANE_UP].open;
	default:
		return !f->sources[0].open;
	}
}

static void
end_filter(struct frame *f)
{
	const struct filter *filter = f->filter;
	struct frame_event e = {.kind = FRAME_EXIT, .from = ACP_AGENT, .status = f->agent.status};

	if (f->way == FRAME_WRAP)
		frame_tell(f, &e);
	f->started_filter = false;
	if (filter->end)
		frame_fail(f, filter->end(filter->state, f));
	if (f->sources[LANE_DOWN].open)
		client_left(f);
	f->sinks[LANE_DOWN].last = f->sinks[LANE_UP].last = true;
}

void
frame_settle(struct frame *f)
{
	if (f->failed)
		return;
	flush_sinks(f);
	if (f->way != FRAME_AUTO && f->way != FRAME_PROXY && f->way != FRAME_PIPE && !f->sources[LANE_DOWN].open &&
		!held_in(f, LANE_DOWN))
		f->sinks[LANE_DOWN].last = true;
	if (f->started_filter && all_in(f))
		end_filter(f);
	flush_sinks(f);
	pace_sources(f);
	if (!f->started_filter && f->way != FRAME_AUTO && drained(&f->sinks[LANE_DOWN]) && drained(&f->sinks[LANE_UP]))
		loop_stop(f->loop);
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
		return;
	}
	if (f->signals++ == 0) {
		if (f->way == FRAME_AUTO && decide(f, FRAME_PIPE) < 0)
			frame_abort(f, "out of memory");
		client_left(f);
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

	if (o->command)
		return FRAME_WRAP;
	if (o->way != FRAME_AUTO)
		return o->way;
	if (is_open(FAR_IN) && is_open(FAR_OUT) && proto && strcmp(proto, "ACP") == 0)
		return FRAME_LINK;
	return FRAME_AUTO;
}

/* 0, or an exit status. */
static int
open_way(struct frame *f, enum frame_way way)
{
	bool two = way == FRAME_WRAP || way == FRAME_LINK;
	int status = 0, in, out;

	if (way == FRAME_LINK && (!is_open(FAR_IN) || !is_open(FAR_OUT))) {
		frame_say(f, "descriptors %d and %d are not open: no link", FAR_IN, FAR_OUT);
		return EXIT_USAGE;
	}
	if (way == FRAME_ATTACH || (way != FRAME_WRAP && f->options->command)) {
		frame_say(f, "--way %s can not be had here", way_names[way]);
		return EXIT_USAGE;
	}
	if (way != FRAME_AUTO)
		status = way_taken(f, way);
	if (status)
		return status;
	in = claim(STDIN_FILENO);
	out = claim(STDOUT_FILENO);
	if (in < 0 || out < 0 || source_open(f, LANE_DOWN, two ? ACP_CLIENT : ACP_UNKNOWN, in) < 0 ||
		sink_open(f, two ? LANE_UP : LANE_DOWN, out) < 0)
		goto fail;
	if (way == FRAME_LINK && (source_open(f, LANE_UP, ACP_AGENT, claim(FAR_IN)) < 0 ||
		sink_open(f, LANE_DOWN, claim(FAR_OUT)) < 0))
		goto fail;
	return way == FRAME_WRAP ? wrap_start(f) : 0;
fail:
	frame_say(f, "standard input or output: %s", strerror(errno));
	return EXIT_FAILED;
}

static int
exit_status(struct frame *f)
{
	struct agent *a = &f->agent;
	int status;

	if (f->signals > 1 || !a->running || !a->ended)
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
	struct frame f = {.filter = filter, .options = options};
	struct timespec wall;
	int status;

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
	status = open_way(&f, choose(options));
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

	return now > f->began ? now - f->began : 0;
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
