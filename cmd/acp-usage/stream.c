/* A stream: the filter. Unless it fills in, it watches, and changes nothing. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmd/acp-usage/fill.h"
#include "cmd/acp-usage/peek.h"

enum {
	PATIENCE_MS = 2000,  /* how long a slow reader of the log is waited for when all else is done */
	QUIET_US = 2000000,  /* a turn is complete when it has been quiet so long */
	PEEK = 64 * 1024,
};

struct stream {
	struct tool tool;
	struct fill *fill;
	struct usage_words words;
	struct requests *enveloped; /* requests that passed in envelopes, as what they carry */
	struct loop_fd watch;    /* the log, while its reader is slow */
	struct loop_timer quiet; /* turns that wait to be judged; metrics */
	bool lossy;              /* not all that went by got here */
};

/* --- writing, beside the stream --- */

static void
write_log(struct stream *s)
{
	struct log *l = s->tool.out.log;

	if (!l)
		return;
	if (log_flush(l) < 0) {
		tool_say(&s->tool, "%s: %s: rows are lost, the session goes on", log_name(l), log_why(l));
		frame_fail(s->tool.frame, EXIT_FAILED);
	}
	s->watch.fd = log_waiting(l);
	loop_watch(frame_loop(s->tool.frame), &s->watch, POLLOUT);
}

static void
log_ready(void *arg, short revents)
{
	(void)revents;
	write_log(arg);
}

static void plan(struct stream *s);

static void
expired(void *arg)
{
	struct stream *s = arg;

	plan(s);
	write_log(s);
}

/* Judges what has been quiet, writes metrics, and comes back when there is more to do. */
static void
plan(struct stream *s)
{
	struct loop *loop = frame_loop(s->tool.frame);
	uint64_t now = frame_now(s->tool.frame), next;

	if (usage_quiet(s->tool.usage, now > QUIET_US ? now - QUIET_US : 0, &next) < 0)
		tool_fail(&s->tool, "out of memory");
	if (s->tool.prom)
		prom_write(s->tool.prom, &s->tool, false);
	loop_remove_timer(loop, &s->quiet);
	if (next > 0 && loop_add_timer(loop, &s->quiet, next + QUIET_US > now ? next + QUIET_US - now + 1 : 1) < 0)
		tool_fail(&s->tool, "out of memory");
	else if (next == 0 && s->tool.prom && loop_add_timer(loop, &s->quiet, QUIET_US / 2) < 0)
		tool_fail(&s->tool, "out of memory");
}

/* --- the filter --- */

static int
open_log(struct stream *s)
{
	const struct options *o = s->tool.options;
	struct log_spec spec = {.path = o->output, .append = o->append || cli_started_again()};
	char *why;

	if (s->tool.prom)
		return 0;
	if (out_open_log(&s->tool.out, &spec, &why) == 0)
		return 0;
	cli_warn(tool_name, "%s", why ? why : "out of memory");
	free(why);
	return -1;
}

static int
start(void *state, struct frame *f)
{
	struct stream *s = state;

	s->tool.frame = f;
	s->tool.started = frame_started(f);
	s->tool.timed = true;
	/* What was written before is let alone until the chain has taken us in. */
	if (frame_way(f) == FRAME_ATTACH && open_log(s) < 0)
		return -1;
	s->watch = (struct loop_fd){.fd = -1, .events = POLLOUT, .ready = log_ready, .arg = s};
	s->quiet = (struct loop_timer){.expired = expired, .arg = s};
	return loop_add_fd(frame_loop(f), &s->watch);
}

static void
note_request(struct stream *s, const struct seen *seen)
{
	struct request *oldest;

	if (!requests_open(s->enveloped, seen->from, seen->t, &seen->msg))
		tool_fail(&s->tool, "out of memory");
	if (requests_count(s->enveloped) > REQUESTS_ONE_WAY) {
		oldest = requests_next(s->enveloped, NULL);
		requests_take(s->enveloped, oldest);
		requests_done(oldest);
	}
}

/*
 * A message without its envelope: as a proxy the frame has taken it off, but in a pipe it passes as it is. *asked is the request
 * that an answer is taken for; requests_done is the caller's.
 */
static void
open_envelope(struct stream *s, struct seen *seen, struct request **asked)
{
	struct msg inner;
	const char *why;

	*asked = NULL;
	if (seen->msg.kind == MSG_RESPONSE && seen->request && seen->request->what == ACP_PROXY_SUCCESSOR) {
		*asked = requests_find(s->enveloped, seen->request->from, seen->request->id);
		if (*asked)
			requests_take(s->enveloped, *asked);
		seen->request = *asked;
	} else if (seen->msg.what == ACP_PROXY_SUCCESSOR && msg_open_envelope(&seen->msg, &inner, &why) == 0) {
		seen->msg = inner;
		if (inner.kind == MSG_REQUEST)
			note_request(s, seen);
	}
}

static enum verdict
message(void *state, struct frame *f, enum lane lane, const struct seen *given)
{
	struct stream *s = state;
	struct seen opened = *given, *seen = &opened;
	struct usage_report r;
	struct request *asked;
	bool says;

	open_envelope(s, seen, &asked);
	says = seen->request || usage_may_matter(&s->words, seen->msg.text) ? usage_read(seen, &r) : false;
	if (s->fill)
		fill_flush(s->fill, f);
	if (says && s->fill)
		fill_message(s->fill, &s->tool, f, lane, seen, &r);
	else if (says && usage_take(s->tool.usage, seen->t, &r, seen->msg.id) < 0)
		tool_fail(&s->tool, "out of memory");
	if (asked)
		requests_done(asked);
	return VERDICT_PASS;
}

static void
flush(void *state, struct frame *f)
{
	struct stream *s = state;

	if (s->fill)
		fill_flush(s->fill, f);
	plan(state);
	write_log(state);
}

static void
event(void *state, struct frame *f, const struct frame_event *e)
{
	struct stream *s = state;

	(void)f;
	if (e->kind == FRAME_LOST && !s->lossy)
		tool_say(&s->tool, "messages were lost: figures may lack something from here on");
	s->lossy |= e->kind == FRAME_LOST;
}

static void
caught(void *state, struct frame *f, int signal)
{
	struct stream *s = state;

	if (signal == SIGWINCH) {
		if (s->tool.meter)
			meter_draw(s->tool.meter, &s->tool);
		return;
	}
	if (s->tool.out.log && log_reopen(s->tool.out.log) < 0)
		frame_say(f, "%s: cannot be opened again: %s", s->tool.options->output, strerror(errno));
	write_log(s);
}

static int
end(void *state, struct frame *f)
{
	struct stream *s = state;

	(void)f;
	loop_remove_timer(frame_loop(s->tool.frame), &s->quiet);
	tool_end(&s->tool);
	if (s->tool.options->summary && summary_put(&s->tool, NULL) < 0)
		tool_fail(&s->tool, "out of memory");
	write_log(s);
	loop_remove_fd(frame_loop(s->tool.frame), &s->watch);
	return s->tool.failed ? EXIT_FAILED : s->tool.status;
}

/* --- its beginning and its end --- */

int
stream_run(const struct options *o)
{
	static const int signals[] = {SIGUSR1, SIGWINCH, 0};
	struct stream s = {0};
	struct filter filter = {.name = tool_name, .needs = o->fill ? FRAME_EDIT | FRAME_BOTH_LANES | FRAME_ANSWER : FRAME_WATCH,
		.state = &s, .start = start, .message = message, .event = event, .flush = flush, .caught = caught, .end = end};
	struct frame_options frame = o->frame;
	int status;

	frame.signals = signals;
	usage_words(&s.words);
	if (tool_open(&s.tool, o, true) < 0 || (!o->frame.attach && open_log(&s) < 0))
		return EXIT_FAILED;
	s.enveloped = requests_new();
	if (!s.enveloped || (o->fill && !(s.fill = fill_open(o))))
		cli_die(EXIT_FAILED, tool_name, "out of memory");
	status = frame_run(&filter, &frame);
	if (s.tool.out.log && log_close(s.tool.out.log, PATIENCE_MS) < 0 && status == 0) {
		cli_warn(tool_name, "rows were lost: %s", strerror(errno));
		status = EXIT_FAILED;
	}
	fill_close(s.fill);
	requests_free(s.enveloped);
	s.tool.frame = NULL;
	tool_close(&s.tool);
	return status;
}

/* --- what standard input is --- */

/* A conductor's first message says that we are a proxy. It is written at once, so it is there whole. */
static bool
first_is_proxy(void)
{
	char text[PEEK / 16];
	struct slice line;
	struct json_error error;
	ssize_t n = peek_stdin(text, sizeof(text));
	const char *p = text, *end;
	struct msg m;

	for (; n > 0 && p < text + n; p = end + 1) {
		end = memchr(p, '\n', (size_t)(text + n - p));
		if (!end)
			end = text + n;
		line = slice_between(p, end);
		if (msg_scan(line, &m, &error) != MSG_NOISE)
			return m.what == ACP_PROXY_INITIALIZE;
	}
	return false;
}

bool
stream_is_wired(void)
{
	const char *proto = getenv("PROTO");
	struct stat st;

	if (proto && strcmp(proto, "ACP") == 0 && fcntl(6, F_GETFD) >= 0 && fcntl(7, F_GETFD) >= 0)
		return true;
	if (fstat(STDIN_FILENO, &st) < 0 || !(S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
		return false;
	return first_is_proxy();
}
