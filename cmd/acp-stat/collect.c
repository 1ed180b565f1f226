/* Intervals become rows. */
#include "cmd/acp-stat/stat.h"

/* The row of a JSON string. */
static struct row *
row_of(struct tool *t, enum row_kind kind, enum acp_side from, bool notification, struct slice string)
{
	SCOPED struct buf plain = {0};
	struct row *r = NULL;

	if (json_type(string) == JSON_STRING && json_unescape(string, &plain) == 0)
		r = table_row(&t->table, kind, from, notification, buf_slice(&plain));
	return r;
}

static int
add_request(struct tool *t, const struct span_request *q)
{
	struct row *r = row_of(t, ROW_METHOD, q->from, q->kind == MSG_NOTIFICATION, q->method);

	if (!r)
		return -1;
	r->count++;
	r->failed += q->failed;
	r->open += q->unfinished;
	return t->timed && !q->unfinished && q->kind == MSG_REQUEST ? hist_add(&r->times[0], q->end - q->begin) : 0;
}

static struct row *
row_of_turn(struct tool *t, const struct span_turn *turn)
{
	const struct usage *u = span_usage(t->span);
	struct slice name = {"", 0};

	if (t->options->by == BY_SESSION)
		name = slice(turn->session->id, turn->session->n);
	else if (t->options->by == BY_AGENT && turn->usage)
		name = usage_agent_name(u, turn->usage->agent);
	return table_row(&t->table, ROW_TURN, ACP_UNKNOWN, false, name);
}

static int
add_times(struct row *r, const struct span_turn *turn)
{
	const uint64_t times[TIMES] = {turn->end - turn->begin, turn->first_update, turn->first_text, turn->silence, turn->tools,
		turn->user, turn->model};

	for (unsigned i = 0; i < TIMES; i++)
		if (times[i] != SPAN_NEVER && hist_add(&r->times[i], times[i]) < 0)
			return -1;
	return 0;
}

static int
add_turn(struct tool *t, const struct span_turn *turn)
{
	struct row *r = row_of_turn(t, turn);
	decimal_units tokens;

	if (!r)
		return -1;
	r->count++;
	r->failed += turn->failed;
	r->open += turn->unfinished;
	if (turn->unfinished)
		return 0;
	r->cancelled += json_type(turn->stop) == JSON_STRING && json_string_is(turn->stop, acp_cancelled);
	r->chunks += turn->chunks;
	if (turn->counted && (turn->own.has & 1u << USAGE_OUTPUT)) {
		tokens = turn->own.n[USAGE_OUTPUT];
		r->tokens = hist_sum(r->tokens, tokens > (decimal_units)UINT64_MAX ? UINT64_MAX : (uint64_t)tokens);
		r->token_us = hist_sum(r->token_us, turn->model);
	}
	return t->timed ? add_times(r, turn) : 0;
}

static struct row *
row_of_tool(struct tool *t, const struct span_tool *tool)
{
	return table_row(&t->table, ROW_TOOL, ACP_UNKNOWN, false, tool->kind.n ? buf_slice(&tool->kind) : slice_of("other"));
}

static int
add_tool(struct tool *t, const struct span_tool *tool)
{
	struct row *r = row_of_tool(t, tool);

	if (!r)
		return -1;
	r->count++;
	r->failed += tool->failed;
	r->open += tool->unfinished;
	return t->timed && !tool->unfinished ? hist_add(&r->times[0], tool->ran) : 0;
}

static int
add_interval(struct tool *t, const struct span_event *e)
{
	struct row *r = t->timed ? row_of_tool(t, e->tool) : NULL;

	return !t->timed ? 0 : r ? row_add_interval(r, e->begin, e->end) : -1;
}

/* Is this kind of row asked for? */
static bool
wants(enum by by, enum row_kind kind)
{
	switch (by) {
	case BY_ALL:
		return true;
	case BY_METHOD:
		return kind == ROW_METHOD;
	case BY_TOOL:
		return kind == ROW_TOOL;
	default:
		return kind == ROW_TURN;
	}
}

static void
event(void *arg, const struct span_event *e)
{
	struct tool *t = arg;
	enum by by = t->options->by;
	int r = 0;

	if (e->kind == SPAN_REQUEST && wants(by, ROW_METHOD))
		r = add_request(t, e->request);
	else if (e->kind == SPAN_TURN && by == BY_TURN)
		r = turns_put(t, e->turn);
	else if (e->kind == SPAN_TURN && wants(by, ROW_TURN))
		r = add_turn(t, e->turn);
	else if (e->kind == SPAN_TOOL && wants(by, ROW_TOOL))
		r = add_tool(t, e->tool);
	else if (e->kind == SPAN_RAN && wants(by, ROW_TOOL))
		r = add_interval(t, e);
	t->failed |= r != 0;
}

int
tool_open(struct tool *t, const struct options *o)
{
	t->options = o;
	t->span = span_new(event, t);
	return t->span ? 0 : -1;
}

void
tool_close(struct tool *t)
{
	span_free(t->span);
	table_free(&t->table);
	replace_close(&t->prom);
}

int
tool_begin(struct tool *t, double started)
{
	int r = span_begin(t->span, started);

	table_begin(&t->table);
	return r;
}

int
tool_see(struct tool *t, const struct message *s, bool timed)
{
	t->timed = timed;
	t->any = true;
	return span_see(t->span, s) < 0 || t->failed ? -1 : 0;
}

int
tool_end(struct tool *t)
{
	return span_end(t->span) < 0 || t->failed ? -1 : 0;
}
