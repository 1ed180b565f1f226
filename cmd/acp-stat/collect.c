/* Counts intervals in rows. */
#include "cmd/acp-stat/stat.h"

/* Counts one more in a row. time: SPAN_NEVER if it has no end. 0, or -1 out of memory. */
static int
count(const struct tool *t, struct row *r, bool failed, bool unfinished, uint64_t time)
{
	if (!r)
		return -1;
	r->count++;
	r->failed += failed;
	r->open += unfinished;
	return t->timed && !unfinished && time != SPAN_NEVER ? hist_add(&r->times[0], time) : 0;
}

static int
add_turn(struct tool *t, const struct span_turn *turn)
{
	struct slice name = {"", 0};
	uint64_t tokens;
	struct row *r;

	if (t->options->by == BY_SESSION)
		name = slice(turn->session->id, turn->session->n);
	else if (t->options->by == BY_AGENT && turn->usage)
		name = usage_agent_name(span_usage(t->span), turn->usage->agent);
	r = table_row(&t->table, ROW_TURN, ACP_UNKNOWN, false, name);
	if (count(t, r, turn->failed, turn->unfinished, SPAN_NEVER) < 0)
		return -1;
	if (turn->unfinished)
		return 0;
	r->cancelled += json_string_is(turn->stop, acp_cancelled);
	r->chunks += turn->chunks;
	if (turn_tokens(turn, &tokens)) {
		r->tokens = hist_sum(r->tokens, tokens);
		r->token_us = hist_sum(r->token_us, turn->times[SPAN_MODEL]);
	}
	for (unsigned i = 0; i < SPAN_TIMES && t->timed; i++)
		if (turn->times[i] != SPAN_NEVER && hist_add(&r->times[i], turn->times[i]) < 0)
			return -1;
	return 0;
}

static struct row *
row_of_tool(struct tool *t, struct slice name)
{
	return table_row(&t->table, ROW_TOOL, ACP_UNKNOWN, false, name.n ? name : slice_of("other"));
}

/* Is this kind of row asked for? */
static bool
wants(enum by by, enum row_kind kind)
{
	return by == BY_ALL || kind == (by == BY_METHOD ? ROW_METHOD : by == BY_TOOL ? ROW_TOOL : ROW_TURN);
}

/* Counts a message in the row of its method, and a tools/call of MCP also in the row of its tool. */
static int
add_request(struct tool *t, const struct span_request *q)
{
	struct slice name = json_text(q->method, &t->text);
	struct row *r = NULL;
	int e = 0;

	if (wants(t->options->by, ROW_METHOD)) {
		r = name.p ? table_row(&t->table, ROW_METHOD, q->from, q->kind == MSG_NOTIFICATION, name) : NULL;
		e = count(t, r, q->failed, q->unfinished, q->kind == MSG_REQUEST ? q->end - q->begin : SPAN_NEVER);
	}
	if (!q->tool.p || !wants(t->options->by, ROW_TOOL))
		return e;
	r = row_of_tool(t, json_text(q->tool, &t->text));
	e |= count(t, r, q->failed || q->tool_failed, q->unfinished, q->end - q->begin);
	return e == 0 && t->timed ? row_add_interval(&t->table, r, q->begin, q->end) : e;
}

bool
tool_wants(struct tool *t, const struct session *s)
{
	bool yes = !t->watch->session;

	for (; s && !yes; s = s->parent)
		yes = watch_wants(t->watch, slice(s->id, s->n));
	return yes;
}

void
collect(void *arg, const struct span_event *e)
{
	struct tool *t = arg;
	const struct session *s = e->turn ? e->turn->session : e->tool ? e->tool->session : e->request ? e->request->at : NULL;
	enum by by = t->options->by;
	struct row *row;
	int r = 0;

	if (!tool_wants(t, s) || t->options->open)
		return;
	if (e->kind == SPAN_REQUEST) {
		r = add_request(t, e->request);
	} else if (e->kind == SPAN_TURN && by == BY_TURN) {
		r = turns_put(t, e->turn);
	} else if (e->kind == SPAN_TURN && wants(by, ROW_TURN)) {
		r = add_turn(t, e->turn);
	} else if (e->kind == SPAN_TOOL && wants(by, ROW_TOOL)) {
		row = row_of_tool(t, buf_slice(&e->tool->kind));
		r = count(t, row, e->tool->failed, e->tool->unfinished, e->tool->ran);
	} else if (e->kind == SPAN_RAN && wants(by, ROW_TOOL) && t->timed) {
		row = row_of_tool(t, buf_slice(&e->tool->kind));
		r = row ? row_add_interval(&t->table, row, e->begin, e->end) : -1;
	}
	t->failed |= r != 0;
}
