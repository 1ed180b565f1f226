/*
 * rulefilter: a filter that does to each message what a rule says, so that tests can see all that
 * the frame lets a filter do. Arguments: RULE... [-- COMMAND...], a rule being METHOD:ACTION; a
 * response goes by its request's method.
 *
 *   drop      drops it             edit      replaces params.text, or result, by "edited"
 *   answer    answers it here      refuse    refuses it with an error
 *   hold      holds it until the next message of method "go"; hold-drop: drops it then
 *   ask       sends test/ask into the same lane ahead of it; ask-back: into the other lane
 *   emit      sends the notification test/emitted ahead of it
 *
 * Needs: none asked for makes it a watcher. What it sees is told on descriptor 2, a line each:
 * "LANE FROM KIND METHOD SESSION". The environment variable FILTER_NEEDS=both makes it need both lanes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/cli.h"
#include "lib/frame.h"

struct rules {
	char **at;
	int n;
	struct held *held[16];
	bool drops[16];
	size_t nheld;
	bool quiet;
};

static void
show(const struct rules *r, enum lane lane, const struct seen *s, const char *what)
{
	static const char *const kinds[] = {"noise", "request", "notification", "response", "batch"};
	struct slice method = seen_method(s), session = seen_session(s);

	if (r->quiet)
		return;
	fprintf(stderr, "%s %s %s%s %.*s %.*s%s\n", lane == LANE_DOWN ? "down" : "up", acp_side_name(s->from),
		what, kinds[s->msg.kind], (int)(method.p ? method.n : 1), method.p ? method.p : "-",
		(int)(session.p ? session.n : 1), session.p ? session.p : "-", s->batch ? s->last ? " last" : " entry" : "");
}

static bool
is(const struct seen *s, const char *rule, const char *action)
{
	const char *colon = strrchr(rule, ':');
	struct slice method = seen_method(s);

	return colon && strcmp(colon + 1, action) == 0 && method.n == (size_t)(colon - rule) + 2 &&
		memcmp(method.p + 1, rule, method.n - 2) == 0;
}

static void
edit(struct frame *f, const struct seen *s)
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

	for (i = 0; i < r->nheld; i++)
		frame_release(f, r->held[i], r->drops[i] ? VERDICT_DROP : VERDICT_PASS, slice(NULL, 0));
	r->nheld = 0;
}

static enum verdict
apply(struct rules *r, struct frame *f, enum lane lane, const struct seen *s, const char *rule)
{
	enum lane other = lane == LANE_DOWN ? LANE_UP : LANE_DOWN;
	bool hold = is(s, rule, "hold"), drop = is(s, rule, "hold-drop");

	if (is(s, rule, "drop"))
		return VERDICT_DROP;
	if (is(s, rule, "edit"))
		edit(f, s);
	if (is(s, rule, "answer"))
		return frame_answer(f, NULL, slice_of("{\"by\":\"filter\"}")) < 0 ? VERDICT_PASS : VERDICT_DROP;
	if (is(s, rule, "refuse"))
		return frame_refuse(f, NULL, -32603, "refused", slice(NULL, 0)) < 0 ? VERDICT_PASS : VERDICT_DROP;
	if (is(s, rule, "ask") || is(s, rule, "ask-back"))
		frame_request(f, is(s, rule, "ask") ? lane : other, "test/ask", slice_of("{\"q\":1}"), r);
	if (is(s, rule, "emit"))
		frame_notify(f, lane, "test/emitted", slice(NULL, 0));
	if ((hold || drop) && r->nheld < 16) {
		r->held[r->nheld] = frame_hold(f);
		r->drops[r->nheld++] = drop;
		return VERDICT_HOLD;
	}
	return VERDICT_PASS;
}

static enum verdict
message(void *state, struct frame *f, enum lane lane, const struct seen *s)
{
	struct rules *r = state;
	enum verdict v = VERDICT_PASS;
	int i;

	show(r, lane, s, "");
	if (slice_is(s->msg.method, "\"go\""))
		release(r, f);
	for (i = 0; i < r->n && v == VERDICT_PASS; i++)
		v = apply(r, f, lane, s, r->at[i]);
	return v;
}

static void
answer(void *state, struct frame *f, void *tag, const struct seen *s)
{
	(void)f;
	show(state, tag == state ? LANE_UP : LANE_DOWN, s, "own-");
}

static void
event(void *state, struct frame *f, const struct frame_event *e)
{
	static const char *const kinds[] = {"noise", "stderr", "eof", "exit", "long"};
	struct rules *r = state;

	(void)f;
	if (!r->quiet)
		fprintf(stderr, "event %s %s%s%.*s\n", kinds[e->kind], acp_side_name(e->from), e->torn ? " torn" : "",
			(int)(e->kind == FRAME_LONG ? 0 : e->text.n), e->text.p ? e->text.p : "");
}

int
main(int argc, char **argv)
{
	struct rules r = {.at = argv + 1, .quiet = getenv("FILTER_QUIET") != NULL};
	struct filter filter = {"rulefilter", 0, &r, NULL, message, answer, event, NULL, NULL, NULL};
	struct frame_options o = {.limit = FRAME_LIMIT, .grace = FRAME_GRACE, .clean = getenv("FILTER_CLEAN") != NULL};
	const char *needs = getenv("FILTER_NEEDS"), *limit = getenv("FILTER_LIMIT"), *grace = getenv("FILTER_GRACE");
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		r.n++;
	if (i < argc)
		o.command = argv + i + 1;
	if (r.n)
		filter.needs = FRAME_EDIT;
	if (needs && strcmp(needs, "both") == 0)
		filter.needs |= FRAME_BOTH_LANES;
	if (limit && cli_bytes(limit, &o.limit) < 0)
		return 2;
	if (grace && cli_duration(grace, &o.grace) < 0)
		return 2;
	return frame_run(&filter, &o);
}
