/* Finds the streams, and follows what happens in each. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>

#include "cmd/acp-top/top.h"
#include "lib/attach/rendezvous.h"
#include "lib/base/calendar.h"
#include "lib/base/text.h"
#include "lib/run/directory.h"
#include "lib/run/proc.h"
#include "lib/run/system.h"

enum {
	SCAN = 2 * 1000 * 1000,  /* us between two looks for new sockets, if the system does not report them; and before attaching again */
	FIRST = 2 * 1000 * 1000, /* us after attaching in which messages may be older ones, which a guest gets first */
	ENDED_MOST = 20,         /* streams, at most, that are shown after their end */
	TEXT = 512,              /* bytes, at least, that are kept of the agent's last text */
	RECENT = 32 * 1024,      /* bytes, at least, that are kept of a session's last messages */
};

/* --- what happens in a session --- */

/* Cuts off the front of a text, so that it begins with a whole line, or else with a whole character. */
static void
cut_front(struct buf *b, size_t keep, bool lines)
{
	struct slice tail = slice_tail(buf_slice(b), keep);

	if (b->n <= 2 * keep)
		return;
	for (; lines && tail.n && tail.p[-1] != '\n'; tail.p++)
		tail.n--;
	memmove(b->p, tail.p, tail.n);
	b->n = tail.n;
}

/* Replaces a text by the first string that is found at these paths. */
static int
set_text(struct buf *to, struct slice object, const char *const *paths)
{
	struct slice v = {0};

	for (; *paths && json_type(v) != JSON_STRING; paths++)
		v = json_path(object, *paths);
	if (json_type(v) != JSON_STRING)
		return 0;
	to->n = 0;
	return json_unescape(v, to);
}

static int
ask_begin(struct session_question *q, struct top *t, struct slice params)
{
	static const char *const paths[] = {"toolCall.title", "subject.toolCall.title", "subject.title", "title", "message",
		"toolCall.toolCallId", NULL};
	struct ask *a = q->data = calloc(1, sizeof(*a));

	if (!a)
		return -1;
	a->top = t;
	return buf_add_slice(&a->params, params) < 0 ? -1 : set_text(&a->text, params, paths);
}

static void
ask_end(struct session_question *q)
{
	struct ask *a = q->data;

	if (!a)
		return;
	if (a->command)
		permit_withdraw(a->command);
	buf_free(&a->params);
	buf_free(&a->text);
	free(a);
	q->data = NULL;
}

static int
turn_end(const struct stream *st, struct seen *s, const struct session_turn *t)
{
	static const char *const message[] = {"message", NULL};

	s->requires_action = false;
	if (t->number == 0)
		return 0;
	/* One that only the end of the stream ended has run until now, and not only to the last message. */
	s->ended = st->watch.ending != WATCH_OPEN ? stream_now(st) : t->end;
	s->lasted = s->ended - t->begin;
	s->stop.n = 0;
	if (t->failed)
		return set_text(&s->stop, t->error, message) || s->stop.n ? 0 : buf_add_string(&s->stop, "failed");
	return json_string_is(t->stop, "end_turn") || !t->stop.p ? 0 : json_unescape(t->stop, &s->stop);
}

/* Stores what an event says of a session. 0, or -1 out of memory. */
static int
session_happened(struct stream *st, struct seen *s, const struct session_event *e)
{
	switch (e->kind) {
	case SESSION_OPENED:
	case SESSION_CLOSED:
		s->connection = e->kind == SESSION_CLOSED || e->session->closed ? 0 : st->connection;
		return 0;
	case SESSION_STATE:
		s->changed = e->t;
		s->works = !json_string_is(json_get(e->state, acp_state), acp_idle);
		s->requires_action = json_string_is(json_get(e->state, acp_state), "requires_action");
		return 0;
	case SESSION_TURN_BEGAN:
		s->turns = e->turn->number;
		s->text.n = 0;
		return 0;
	case SESSION_TURN_ENDED:
		return turn_end(st, s, e->turn);
	case SESSION_FORGOTTEN:
		buf_free(&s->stop);
		buf_free(&s->text);
		buf_free(&s->recent);
		free(s);
		e->session->data = NULL;
		return 0;
	default:
		return 0;
	}
}

static void
happened(struct watch *w, const struct session_event *e)
{
	static const char *const agents[] = {"agentInfo.name", "info.name", NULL};
	static const char *const titles[] = {"title", "toolCall.title", "subject.toolCall.title", "subject.title", NULL};
	struct stream *st = w->state;
	struct seen *s = e->session ? e->session->data : NULL;
	int r = 0;

	usage_happened(st->usage, e);
	switch (e->kind) {
	case SESSION_CONNECTED:
		st->connection++;
		break;
	case SESSION_BEGAN:
		if ((e->session->data = s = calloc(1, sizeof(*s))))
			*s = (struct seen){.connection = st->connection, .works = true, .began = e->t, .active = e->t};
		r = s ? 0 : -1;
		break;
	case SESSION_ASKED:
		r = ask_begin(e->question, st->top, e->message->message.msg.params);
		break;
	case SESSION_ANSWERED:
		if (st->top->display)
			display_answered(st->top->display, e->request);
		ask_end(e->question);
		break;
	case SESSION_RESPONDED:
		if (e->message && e->request->request->what == ACP_INITIALIZE)
			r = set_text(&st->agent, e->message->message.msg.result, agents);
		break;
	case SESSION_CALL_BEGAN:
	case SESSION_CALL_CHANGED:
		/* Without a new title the last stays. */
		if (!e->call->data)
			e->call->data = calloc(1, sizeof(struct buf));
		r = e->call->data ? set_text(e->call->data, e->message->update.p ? e->message->update : e->message->message.msg.params, titles) : -1;
		break;
	case SESSION_CALL_FORGOTTEN:
		if (e->call->data)
			buf_free(e->call->data);
		free(e->call->data);
		e->call->data = NULL;
		break;
	default:
		r = s ? session_happened(st, s, e) : 0;
	}
	st->top->failed |= r < 0;
}

static int
message(struct watch *w, const struct message *m, const struct session_message *seen)
{
	struct stream *st = w->state;
	struct seen *s = seen->session ? seen->session->data : NULL;
	struct acp_chunk chunk;
	size_t before;
	uint64_t clock = loop_clock();
	int r = usage_message(st->usage, seen);

	/* The one that came soonest after it was sent counts. */
	if (clock > st->asked + FIRST && (!st->live || (int64_t)(m->t - clock - st->lead) > 0)) {
		st->lead = m->t - clock;
		st->live = true;
	}
	st->t = m->t > st->t ? m->t : st->t;
	top_changed(st->top);
	if (!s)
		return r;
	/* An agent that waits for its sub-agent is not silent. */
	for (const struct session *one = seen->session; one && one->data; one = one->parent)
		((struct seen *)one->data)->active = st->t;
	if (seen->message.msg.what == ACP_SESSION_UPDATE && acp_chunk(seen->message.msg.params, &chunk)
		&& json_string_is(chunk.kind, "agent_message_chunk")) {
		r |= json_unescape(chunk.text, &s->text);
		cut_front(&s->text, TEXT, false);
	}
	if (m->line.n > RECENT || !st->top->display)
		return r;
	before = s->recent.n;
	r |= recording_put_message(&s->recent, m->t, -1, m->from, m->line);
	display_message(st->top->display, seen->session, slice_between(s->recent.p + before, s->recent.p + s->recent.n));
	cut_front(&s->recent, RECENT, true);
	return r;
}

static int
event(struct watch *w, const struct record *r)
{
	struct stream *st = w->state;
	char text[64];
	int e = 0;

	if (r->kind == RECORD_EXIT) {
		st->how.n = 0;
		e = buf_add_string(&st->how, proc_describe(r->status, text, sizeof(text)));
	} else if (r->kind == RECORD_EOF && r->from == ACP_CLIENT && !st->how.n) {
		e = buf_add_string(&st->how, "the client has left");
	} else if (r->kind == RECORD_BAD) {
		top_say(st->top, "%s: record %llu: %s", st->path, (unsigned long long)r->number, r->error.what);
	} else if (r->kind == RECORD_LOST) {
		top_say(st->top, "%s: %llu messages were lost: figures may be too low", st->path, (unsigned long long)r->count);
	} else if (r->kind == RECORD_RESTART) {
		e = usage_restart(st->usage);
	}
	top_changed(st->top);
	return e;
}

static void
stream_free(struct stream *st)
{
	DL_DELETE(st->top->streams, st);
	watch_detach(st->guest);
	watch_forget(&st->watch);
	usage_free(st->usage);
	buf_free(&st->agent);
	buf_free(&st->how);
	free(st->path);
	free(st);
}

static int
begin(struct watch *w, const struct watch_start *start)
{
	struct stream *st = w->state, *before = stream_at(st->top, st->path, true);
	struct timespec ts = {0};
	double runs;

	if (before)
		stream_free(before);
	clock_gettime(CLOCK_REALTIME, &ts);
	runs = ((double)ts.tv_sec + (double)ts.tv_nsec / 1e9 - start->started) * 1e6;
	st->lead = (runs > 0 && runs < 1e18 ? (uint64_t)runs : 0) - loop_clock();
	st->live = false;
	st->started = start->started;
	return usage_begin(st->usage, start->started);
}

static uint64_t
caught_up(struct watch *w, uint64_t now, bool quiet)
{
	struct stream *st = w->state;

	(void)now;
	(void)quiet;
	st->shown = true;
	top_changed(st->top);
	return 0;
}

static int32_t
period(void *arg, double started, uint64_t t)
{
	(void)arg;
	return calendar_day(started + (double)t / 1e6);
}

/* --- streams --- */

static void
over(struct watch *w, const char *why)
{
	struct stream *st = w->state, *first = NULL, *one;
	struct top *t = st->top;
	size_t n = 0;

	/* A restarted acp-share listens at the same socket. */
	if (t->directory && !t->scan_timer.added)
		loop_add_timer(t->loop, &t->scan_timer, SCAN);
	/* The stream that has ended at this socket stays in the table. */
	if (why && stream_at(t, st->path, true)) {
		stream_free(st);
		return;
	}
	watch_detach(st->guest);
	st->guest = NULL;
	st->t = stream_now(st);
	st->over = st->shown = true;
	t->failed |= usage_end(st->usage) < 0;
	if (why) {
		top_say(t, "%s", why);
		t->status = t->directory ? t->status : EXIT_USAGE;
		st->how.n = 0;
	}
	if (why || !st->how.n)
		t->failed |= text_plain(&st->how, slice_of(why ? why : "acp-share has ended")) < 0;
	/* Too many ended streams: the one that was found first goes. */
	DL_FOREACH(t->streams, one) {
		first = first || !one->over ? first : one;
		n += one->over;
	}
	if (t->directory && n > ENDED_MOST)
		stream_free(first);
	top_changed(t);
}

static void
attach(struct top *t, const char *path)
{
	static const struct session_limits limits = {.sessions = 1024, .calls = 1024, .keep = true};
	static const struct usage_spec spec = {.period = period};
	struct stream *st = calloc(1, sizeof(*st));
	char *why = NULL;

	if (!st) {
		t->failed = true;
		return;
	}
	*st = (struct stream){.top = t, .asked = loop_now(t->loop), .path = strdup(path), .usage = usage_new(&spec)};
	st->watch = (struct watch){.name = top_name, .state = st, .frame = &t->options->frame, .limits = &limits,
		.happened = happened, .begin = begin, .message = message, .event = event, .tick = caught_up};
	DL_APPEND(t->streams, st);
	t->failed |= !st->path || !st->usage;
	st->guest = t->failed ? NULL : watch_attach(&st->watch, t->loop, path, ATTACH_WATCH, over, &why);
	/* A socket that has gone since it was found is not reported. */
	if (t->failed || (!st->guest && t->directory))
		stream_free(st);
	else if (!st->guest)
		over(&st->watch, why ? why : "out of memory");
	free(why);
	top_changed(t);
}

static void
scan(void *arg)
{
	struct top *t = arg;
	char **paths = directory_paths(t->directory);

	loop_remove_timer(t->loop, &t->scan_timer);
	for (size_t i = 0; paths && paths[i]; i++)
		if (!stream_at(t, paths[i], false))
			attach(t, paths[i]);
	directory_free(paths);
	if (t->changes.fd < 0)
		loop_add_timer(t->loop, &t->scan_timer, SCAN);
}

static void
directory_changed(void *arg, short revents)
{
	struct top *t = arg;
	char text[4096];

	(void)revents;
	while (read(t->changes.fd, text, sizeof(text)) > 0)
		;
	scan(t);
}

int
streams_open(struct top *t)
{
	const char *why = "out of memory";

	for (char **path = t->options->sockets; *path; path++)
		attach(t, *path);
	if (*t->options->sockets)
		return 0;
	t->directory = rendezvous_directory();
	if (!t->directory || rendezvous_check(t->directory, true, &why) < 0) {
		cli_warn(top_name, "%s: %s", t->directory ? t->directory : "", why);
		return -1;
	}
	t->scan_timer = (struct loop_timer){.expired = scan, .arg = t};
	t->changes = (struct loop_fd){.fd = system_watch_directory(t->directory), .events = POLLIN, .ready = directory_changed, .arg = t};
	if (t->changes.fd >= 0)
		loop_add_fd(t->loop, &t->changes);
	scan(t);
	return 0;
}

void
streams_close(struct top *t)
{
	while (t->streams)
		stream_free(t->streams);
	loop_remove_fd(t->loop, &t->changes);
	loop_remove_timer(t->loop, &t->scan_timer);
	proc_close(t->changes.fd);
	free(t->directory);
}
