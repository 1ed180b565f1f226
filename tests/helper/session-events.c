/*
 * session-events [--calls N] [--sessions N] [--keep] FILE...: what lib/session makes of recordings, an event a line, for the model
 * that says the same in another language.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/recording/recording.h"
#include "lib/session/session.h"

static const char *const names[] = {[SESSION_CONNECTED] = "connected", [SESSION_DISCONNECTED] = "disconnected",
	[SESSION_RESTARTED] = "restarted",
	[SESSION_REQUESTED] = "requested", [SESSION_RESPONDED] = "responded", [SESSION_BEGAN] = "began", [SESSION_OPENED] = "opened",
	[SESSION_ADOPTED] = "adopted", [SESSION_CLOSED] = "closed", [SESSION_FORGOTTEN] = "forgotten",
	[SESSION_HISTORY_BEGAN] = "history-began", [SESSION_HISTORY_ENDED] = "history-ended", [SESSION_STATE] = "state",
	[SESSION_CANCEL] = "cancel", [SESSION_COMPACTION] = "compaction", [SESSION_TURN_QUEUED] = "turn-queued",
	[SESSION_TURN_BEGAN] = "turn-began", [SESSION_TURN_ENDED] = "turn-ended", [SESSION_CALL_BEGAN] = "call-began",
	[SESSION_CALL_CHANGED] = "call-changed", [SESSION_CALL_ENDED] = "call-ended", [SESSION_CALL_FORGOTTEN] = "call-forgotten",
	[SESSION_ASKED] = "asked", [SESSION_ANSWERED] = "answered"};
static const char *const hows[] = {"named", "new", "loaded", "resumed", "forked", "child", "nes"};

static void
flag(const char *name, bool set)
{
	if (set)
		printf(" %s", name);
}

static void
put_turn(const struct session_turn *t, bool ended)
{
	printf(" turn %llu of %s", (unsigned long long)t->number, t->session->id);
	flag("prompted", t->prompted);
	if (!ended)
		return;
	printf(" %llu-%llu-%llu stop %.*s", (unsigned long long)t->asked, (unsigned long long)t->begin, (unsigned long long)t->end,
		t->stop.p ? (int)t->stop.n : 1, t->stop.p ? t->stop.p : "-");
	flag("failed", t->failed);
	flag("unfinished", t->unfinished);
	flag("joined", t->joined);
}

static void
put_call(const struct session_call *call, const struct session_event *e)
{
	printf(" call %s in %llu", call->id, call->turn ? (unsigned long long)call->turn->number : 0);
	flag("again", e->again);
	flag("limit", e->limit);
	if (e->kind == SESSION_CALL_CHANGED)
		flag("late", call->ended);
	if (e->kind != SESSION_CALL_ENDED)
		return;
	printf(" %llu-%llu", (unsigned long long)call->begin, (unsigned long long)call->end);
	flag("failed", call->failed);
	flag("unfinished", call->unfinished);
}

static void
put_question(const struct session_question *q, bool answered)
{
	printf(" about %s in %llu", q->call ? q->call->id : "-", q->turn ? (unsigned long long)q->turn->number : 0);
	if (!answered)
		return;
	printf(" %llu-%llu", (unsigned long long)q->begin, (unsigned long long)q->end);
	flag("unfinished", q->unfinished);
}

static void
event(void *arg, const struct session_event *e)
{
	(void)arg;
	printf("%llu %s", (unsigned long long)e->t, names[e->kind]);
	if (e->session)
		printf(" %s", e->session->id);
	if (e->kind == SESSION_BEGAN || e->kind == SESSION_OPENED || e->kind == SESSION_ADOPTED)
		printf(" %s below %s", hows[e->session->how], e->session->parent ? e->session->parent->id : "-");
	if (e->kind == SESSION_FORGOTTEN)
		flag("limit", e->limit);
	if (e->kind == SESSION_REQUESTED || e->kind == SESSION_RESPONDED) {
		printf(" %s %.*s", acp_side_name(e->request->request->from), (int)e->request->request->method.n, e->request->request->method.p);
		flag("copy", e->request->copy);
		flag("unanswered", e->unanswered);
	}
	if (e->kind >= SESSION_TURN_QUEUED && e->kind <= SESSION_TURN_ENDED)
		put_turn(e->turn, e->kind == SESSION_TURN_ENDED);
	if (e->call && e->kind >= SESSION_CALL_BEGAN && e->kind <= SESSION_CALL_FORGOTTEN)
		put_call(e->call, e);
	if (e->question && e->kind >= SESSION_ASKED)
		put_question(e->question, e->kind == SESSION_ANSWERED);
	printf("\n");
}

static int
read_file(struct sessions *c, const char *name)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	struct recording *reader = fd < 0 ? NULL : recording_open(fd, 64 << 20, NULL);
	struct record r;
	int e = -1;

	while (reader && (e = recording_next(reader, &r)) == 0 && r.kind != RECORD_END) {
		if (r.kind == RECORD_HEADER)
			sessions_begin(c);
		if (r.kind == RECORD_LOST)
			sessions_lost(c);
		if (r.kind != RECORD_MESSAGE)
			continue;
		if (sessions_see(c, &(struct message){.from = r.from, .t = r.t, .line = r.text, .msg = r.msg}, NULL) < 0)
			break;
	}
	recording_close(reader);
	sessions_end(c);
	return e;
}

int
main(int argc, char **argv)
{
	struct session_limits limits = {0};
	struct sessions *c;
	int i, e = 0;

	for (i = 1; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--keep") == 0)
			limits.keep = true;
		else if (i + 1 < argc && strcmp(argv[i], "--calls") == 0)
			limits.calls = strtoul(argv[++i], NULL, 10);
		else if (i + 1 < argc && strcmp(argv[i], "--sessions") == 0)
			limits.sessions = strtoul(argv[++i], NULL, 10);
	}
	c = sessions_new(event, NULL, &limits);
	for (; c && i < argc && e == 0; i++)
		e = read_file(c, argv[i]);
	sessions_free(c);
	return !c || e < 0;
}
