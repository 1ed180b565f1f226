/*
 * rulefilter: a filter that does to each message what a rule says, so that tests can see all that
 * the frame lets a filter do. Arguments: RULE... [-- COMMAND...], a rule being METHOD:ACTION; a
 * response goes by its request's method.
 *
 *   drop      drops it             edit      replaces params.text, or result, by "edited"
 *   answer    answers it here      refuse    refuses it with an error
 *   hold      holds it until the next message of method "go"; hold-drop: drops it then;
 *             hold-answer: answers it here then; hold-response: holds only what answers it
 *   ask       sends test/ask into the same direction ahead of it; ask-back: into the other direction
 *   emit      sends the notification test/emitted ahead of it; emit-cancel: a $/cancel_request
 *             that names nothing
 *   give-id   makes a request of a notification: "id":"given"
 *   array     puts it into an array
 *
 * and to the whole line that it came in:
 *
 *   lose      drops it             raw       puts the bytes "raw" and a newline before it
 *   late      holds it, and all that is behind it, for FILTER_LATE (a time)
 *   late-full likewise, and nothing more is read
 *   quit      ends with status 9 behind it
 *   show      tells "leaving NUMBER TEXT inside TEXT"
 *
 * Needs: none asked for makes it a watcher. What it sees is told on descriptor 2, a line each:
 * "LANE FROM KIND METHOD SESSION". In the environment: FILTER_NEEDS=answer says that it edits and answers, FILTER_NEEDS=send that it sends and does nothing else; FILTER_ATTACH and FILTER_HOP
 * are what --attach and --hop are elsewhere; FILTER_CLOCK tells the time of each message; FILTER_QUIET tells nothing; FILTER_CLEAN, FILTER_LIMIT,
 * FILTER_GRACE and FILTER_WAY are what --clean, --max-line, --grace and --way are elsewhere;
 * FILTER_LAST sends test/last both ways at the end; FILTER_STATUS is the status that it ends with;
 * FILTER_PEAK is a file that gets its peak memory in KiB.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cli.h"
#include "lib/frame/frame_options.h"

enum { HELD = 2048 };

struct rules {
	char **at;
	int n;
	uint64_t number;      /* of the line whose messages were shown last */
	bool lose, raw, late, full, quit, show;
	struct held **lines;  /* those that are late */
	size_t nlines;
	uint64_t due;
	struct held *held[HELD];
	enum { GOES, DROPS, ANSWERS } then[HELD];
	size_t nheld;
	bool quiet;
};

static void
show(const struct rules *r, enum acp_direction dir, const struct message *s, const char *what)
{
	static const char *const kinds[] = {"noise", "request", "notification", "response"};
	struct slice method = message_method(s), session = message_session(s);

	if (r->quiet)
		return;
	fprintf(stderr, "%s %s %s%s %.*s %.*s\n", dir == ACP_DOWN ? "down" : "up", acp_side_name(s->from),
		what, kinds[s->msg.kind], (int)(method.p ? method.n : 1), method.p ? method.p : "-",
		(int)(session.p ? session.n : 1), session.p ? session.p : "-");
}

static bool
is(const struct message *s, const char *rule, const char *action)
{
	const char *colon = strrchr(rule, ':');
	struct slice method = message_method(s);

	return colon && strcmp(colon + 1, action) == 0 && method.n == (size_t)(colon - rule) + 2 &&
		memcmp(method.p + 1, rule, method.n - 2) == 0;
}

static void
edit(struct frame *f, const struct message *s)
{
	struct slice what = s->msg.result;

	if (s->msg.params.p)
		what = json_get(s->msg.params, "text");
	if (what.p)
		frame_replace(f, what, slice_of("\"edited\""));
}

static void
release(struct rules *r, struct frame *f)
{
	size_t i;

	for (i = 0; i < r->nheld; i++) {
		if (r->then[i] == ANSWERS)
			frame_reply(f, r->held[i], slice_of("{\"by\":\"filter\"}"));
		frame_release(f, r->held[i], r->then[i] == GOES ? VERDICT_PASS : VERDICT_DROP, slice(NULL, 0));
	}
	r->nheld = 0;
}

static void
emit(struct frame *f, enum acp_direction dir, const struct message *s, const char *rule)
{
	if (is(s, rule, "emit"))
		frame_notify(f, dir, "test/emitted", slice(NULL, 0));
	if (is(s, rule, "emit-cancel"))
		frame_notify(f, dir, "$/cancel_request", slice_of("{}"));
}

static void
remake(struct frame *f, const struct message *s, const char *rule)
{
	if (is(s, rule, "edit"))
		edit(f, s);
	if (is(s, rule, "give-id") && s->msg.method.p)
		frame_replace(f, slice(s->msg.method.p + s->msg.method.n, 0), slice_of(",\"id\":\"given\""));
	if (is(s, rule, "array")) {
		frame_replace(f, slice(s->msg.text.p, 0), slice_of("["));
		frame_replace(f, slice(s->msg.text.p + s->msg.text.n, 0), slice_of("]"));
	}
}

static enum verdict
apply(struct rules *r, struct frame *f, enum acp_direction dir, const struct message *s, const char *rule)
{
	enum acp_direction other = dir == ACP_DOWN ? ACP_UP : ACP_DOWN;
	bool drop = is(s, rule, "hold-drop"), reply = is(s, rule, "hold-answer"), hold = is(s, rule, "hold");

	if (is(s, rule, "drop"))
		return VERDICT_DROP;
	remake(f, s, rule);
	emit(f, dir, s, rule);
	if (is(s, rule, "answer"))
		return frame_reply(f, NULL, slice_of("{\"by\":\"filter\"}")) < 0 ? VERDICT_PASS : VERDICT_DROP;
	if (is(s, rule, "refuse"))
		return frame_reply_error(f, NULL, -32603, "refused") < 0 ? VERDICT_PASS : VERDICT_DROP;
	if (is(s, rule, "ask") || is(s, rule, "ask-back"))
		frame_request(f, is(s, rule, "ask") ? dir : other, "test/ask", slice_of("{\"q\":1}"), r);
	if (s->msg.kind == MSG_RESPONSE)
		drop = reply = false, hold = is(s, rule, "hold-response");
	if ((hold || drop || reply) && r->nheld < HELD) {
		r->held[r->nheld] = frame_hold(f, NULL);
		r->then[r->nheld++] = drop ? DROPS : reply ? ANSWERS : GOES;
		return VERDICT_HOLD;
	}
	return VERDICT_PASS;
}

/* What becomes of the line. */
static void
mark(struct rules *r, const struct message *s)
{
	int i;

	if (r->number != s->number || s->number == 0)
		r->lose = r->raw = r->late = r->full = r->quit = r->show = false;
	r->number = s->number;
	for (i = 0; i < r->n; i++) {
		r->lose |= is(s, r->at[i], "lose");
		r->raw |= is(s, r->at[i], "raw");
		r->full |= is(s, r->at[i], "late-full");
		r->late |= r->full || is(s, r->at[i], "late");
		r->quit |= is(s, r->at[i], "quit");
		r->show |= is(s, r->at[i], "show");
	}
}

static enum verdict
hold_line(struct rules *r, struct frame *f, enum acp_direction dir)
{
	const char *time = getenv("FILTER_LATE");

	if (dir == ACP_UP)
		return VERDICT_PASS;
	if (r->due == 0 && cli_duration(time ? time : "100ms", &r->due) == 0) {
		r->due += frame_now(f);
		frame_timer(f, r->due);
		frame_pause(f, dir, r->full);
	}
	r->lines = reallocarray(r->lines, r->nlines + 1, sizeof(*r->lines));
	r->lines[r->nlines++] = frame_hold(f, NULL);
	return VERDICT_HOLD;
}

static enum verdict
line(void *state, struct frame *f, enum acp_direction dir, const struct outgoing_line *l)
{
	struct rules *r = state;

	if (r->number != l->number)
		r->lose = r->raw = r->late = r->full = r->quit = r->show = false;
	if (r->show)
		fprintf(stderr, "leaving %llu %.*s inside %.*s\n", (unsigned long long)l->number, (int)l->text.n, l->text.p,
			(int)l->message.n, l->message.p);
	if (r->raw)
		frame_put(f, dir, slice_of("raw\n"), false);
	if (r->quit)
		frame_exit(f, 9);
	if (r->late || r->due)
		return hold_line(r, f, dir);
	return r->lose ? VERDICT_DROP : VERDICT_PASS;
}

static void
time_has_come(struct rules *r, struct frame *f)
{
	size_t i;

	for (i = 0; i < r->nlines; i++)
		frame_release(f, r->lines[i], VERDICT_PASS, slice(NULL, 0));
	free(r->lines);
	r->lines = NULL;
	r->nlines = 0;
	r->due = 0;
	frame_pause(f, ACP_DOWN, false);
}

/* Does a rule speak of lines? */
static bool
of_lines(const struct rules *r)
{
	static const char *const actions[] = {":lose", ":raw", ":late", ":late-full", ":quit", ":show"};
	const char *colon;
	size_t j;
	int i;

	for (i = 0; i < r->n; i++)
		for (colon = strrchr(r->at[i], ':'), j = 0; colon && j < sizeof(actions) / sizeof(actions[0]); j++)
			if (strcmp(colon, actions[j]) == 0)
				return true;
	return false;
}

static enum verdict
message(void *state, struct frame *f, enum acp_direction dir, const struct message *s)
{
	struct rules *r = state;
	enum verdict v = VERDICT_PASS;
	int i;

	show(r, dir, s, "");
	if (getenv("FILTER_CLOCK"))
		fprintf(stderr, "at %llu of %.3f\n", (unsigned long long)frame_now(f), frame_started(f));
	mark(r, s);
	if (slice_is(s->msg.method, "\"go\""))
		release(r, f);
	for (i = 0; i < r->n && v == VERDICT_PASS; i++)
		v = apply(r, f, dir, s, r->at[i]);
	return v;
}

static void
answer(void *state, struct frame *f, void *tag, const struct message *s)
{
	(void)f;
	show(state, tag == state ? ACP_UP : ACP_DOWN, s, "own-");
}

static void
event(void *state, struct frame *f, const struct frame_event *e)
{
	static const char *const kinds[] = {[FRAME_NOISE] = "noise", [FRAME_STDERR] = "stderr", [FRAME_EOF] = "eof",
		[FRAME_EXIT] = "exit", [FRAME_LOST] = "lost", [FRAME_LONG] = "long"};
	struct rules *r = state;

	if (e->kind == FRAME_TIMER)
		time_has_come(r, f);
	if (e->kind > FRAME_LONG)
		return;
	if (!r->quiet && e->kind == FRAME_LOST)
		fprintf(stderr, "event lost %llu %.*s\n", (unsigned long long)e->count, (int)e->text.n, e->text.p ? e->text.p : "");
	else if (!r->quiet)
		fprintf(stderr, "event %s %s%s%s%.*s\n", kinds[e->kind], acp_side_name(e->from), e->torn ? " torn" : "",
			e->kind != FRAME_LONG && e->text.n ? " " : "",
			(int)(e->kind == FRAME_LONG ? 0 : e->text.n), e->text.p ? e->text.p : "");
}

/* FILTER_FIRST: what is sent down before any message has come. */
static int
start(void *state, struct frame *f)
{
	const char *first = getenv("FILTER_FIRST");

	(void)state;
	return first ? frame_notify(f, ACP_DOWN, first, slice(NULL, 0)) : 0;
}

static int
end(void *state, struct frame *f)
{
	const char *status = getenv("FILTER_STATUS");

	(void)state;
	if (getenv("FILTER_LAST")) {
		frame_notify(f, ACP_DOWN, "test/last", slice(NULL, 0));
		frame_notify(f, ACP_UP, "test/last", slice(NULL, 0));
	}
	return status ? atoi(status) : 0;
}

static void
tell_peak(const char *name)
{
	FILE *from = fopen("/proc/self/status", "r"), *to = fopen(name, "w");
	char line[128];
	long kib;

	while (from && to && fgets(line, sizeof(line), from))
		if (sscanf(line, "VmHWM: %ld", &kib) == 1)
			fprintf(to, "%ld\n", kib);
	if (from)
		fclose(from);
	if (to)
		fclose(to);
}

int
main(int argc, char **argv)
{
	struct rules r = {.at = argv + 1, .quiet = getenv("FILTER_QUIET") != NULL};
	struct filter filter = {.name = "rulefilter", .state = &r, .start = start, .message = message, .response = answer,
		.event = event, .end = end};
	struct frame_options o = {.limit = FRAME_LIMIT, .grace = FRAME_GRACE, .clean = getenv("FILTER_CLEAN") != NULL};
	const char *needs = getenv("FILTER_NEEDS"), *limit = getenv("FILTER_LIMIT"), *grace = getenv("FILTER_GRACE");
	const char *way = getenv("FILTER_WAY");
	int i, status;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		r.n++;
	if (i < argc)
		o.command = argv + i + 1;
	if (of_lines(&r))
		filter.line = line;
	else if (r.n)
		filter.needs = FILTER_EDITS;
	if (needs && strcmp(needs, "answer") == 0)
		filter.needs |= FILTER_EDITS | FILTER_SENDS;
	if (needs && strcmp(needs, "send") == 0)
		filter.needs = FILTER_SENDS;
	o.attach = getenv("FILTER_ATTACH");
	o.hop = getenv("FILTER_HOP");
	if (way)
		o.way = strcmp(way, "pipe") == 0 ? FRAME_PIPE : strcmp(way, "link") == 0 ? FRAME_LINK : FRAME_PROXY;
	if (limit && cli_bytes(limit, &o.limit) < 0)
		return 2;
	if (grace && cli_duration(grace, &o.grace) < 0)
		return 2;
	status = frame_run(&filter, &o);
	if (getenv("FILTER_PEAK"))
		tell_peak(getenv("FILTER_PEAK"));
	return status;
}
