/* -f prom: metrics in Prometheus' text format. */
#include <stdio.h>

#include "cmd/acp-stat/stat.h"
#include "lib/recording/recording.h"

/* A label's value. */
static int
put_value(struct buf *to, struct slice s)
{
	size_t i;
	int r = buf_add_string(to, "\"");

	for (i = 0; i < s.n; i++)
		r |= s.p[i] == '\n' ? buf_add_string(to, "\\n") : s.p[i] == '"' ? buf_add_string(to, "\\\"")
			: s.p[i] == '\\' ? buf_add_string(to, "\\\\") : buf_add(to, s.p + i, 1);
	return r | buf_add_string(to, "\"");
}

struct writer {
	struct buf *to;
	const struct table *table;
	enum by by;
};

/* The row's labels, and one more (name NULL: none). */
static int
put_labels(const struct writer *w, const struct row *r, const char *name, const char *value)
{
	/* --merge is not told whether a row of turns is a session or an agent. */
	const char *names[ROWS] = {"method", w->by == BY_SESSION ? "session" : w->by == BY_AGENT ? "agent" : "name", "kind"};
	struct buf *to = w->to;
	const char *comma = "";
	int e = buf_add_string(to, "{");

	if (r->kind == ROW_METHOD)
		e |= buf_printf(to, "from=\"%s\",", acp_side_name(r->from));
	if (r->kind != ROW_TURN || w->by != BY_ALL || row_name(r).n) {
		e |= buf_printf(to, "%s=", names[r->kind]) | put_value(to, row_name(r));
		comma = ",";
	}
	if (name)
		e |= buf_printf(to, "%s%s=\"%s\"", comma, name, value);
	return e | buf_add_string(to, "} ");
}

static int
put_head(struct buf *to, const char *name, const char *type, const char *help)
{
	return buf_printf(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static int
put_seconds(struct buf *to, uint64_t us)
{
	char text[RECORDING_TIME], *end = recording_put_time(text, us);

	return buf_add(to, text, (size_t)(end - text)) | buf_add_string(to, "\n");
}

static int
put_count(const struct writer *w, const struct row *r, const char *name, const char *label, const char *value, uint64_t n)
{
	return buf_add_string(w->to, name) | put_labels(w, r, label, value) | buf_printf(w->to, "%llu\n", (unsigned long long)n);
}

static int
put_summary(const struct writer *w, const struct row *r, const char *name, const struct hist *h)
{
	char quantile[8];
	unsigned i;
	int e = 0;

	for (i = 0; i < HIST_PERCENTILES && h->n; i++) {
		snprintf(quantile, sizeof(quantile), "0.%u", hist_percentiles[i] % 10 ? hist_percentiles[i] : hist_percentiles[i] / 10);
		e |= buf_add_string(w->to, name) | put_labels(w, r, "quantile", quantile);
		e |= put_seconds(w->to, hist_percentile(h, hist_percentiles[i]));
	}
	e |= buf_printf(w->to, "%s_sum", name) | put_labels(w, r, NULL, NULL) | put_seconds(w->to, h->sum);
	return e | buf_printf(w->to, "%s_count", name) | put_labels(w, r, NULL, NULL) |
		buf_printf(w->to, "%llu\n", (unsigned long long)h->n);
}

/* Rows of a kind. */
static const struct row *
next_of(const struct writer *w, enum row_kind kind, const struct row *r)
{
	for (r = r ? r->hh.next : w->table->rows; r && r->kind != kind; r = r->hh.next)
		;
	return r;
}

static int
put_methods(const struct writer *w)
{
	static const char seconds[] = "acp_request_seconds", all[] = "acp_messages_total", errors[] = "acp_request_errors_total";
	const struct row *r = NULL;
	int e = put_head(w->to, seconds, "summary", "Time from a request to its response.");

	while ((r = next_of(w, ROW_METHOD, r)))
		e |= r->notification ? 0 : put_summary(w, r, seconds, &r->times[0]);
	e |= put_head(w->to, all, "counter", "Requests and notifications.");
	while ((r = next_of(w, ROW_METHOD, r)))
		e |= put_count(w, r, all, "kind", r->notification ? "notification" : "request", r->count);
	e |= put_head(w->to, errors, "counter", "Requests whose response is an error.");
	while ((r = next_of(w, ROW_METHOD, r)))
		e |= r->notification ? 0 : put_count(w, r, errors, NULL, NULL, r->failed);
	return e;
}

static int
put_turn_times(const struct writer *w)
{
	static const char *const help[TIMES] = {"Time from a prompt to the end of its turn.", "Time to a turn's first update.",
		"Time to a turn's first text.", "Longest time without a message from the agent in a turn.", "Time of a turn in tools.",
		"Time of a turn waiting for the user.", "Time of a turn that remains: the model's."};
	const struct row *r = NULL;
	char name[64];
	unsigned i;
	int e = 0;

	for (i = 0; i < TIMES; i++) {
		snprintf(name, sizeof(name), "acp_turn%s%s_seconds", i ? "_" : "", i ? row_time_name(ROW_TURN, i) : "");
		e |= put_head(w->to, name, "summary", help[i]);
		while ((r = next_of(w, ROW_TURN, r)))
			e |= put_summary(w, r, name, &r->times[i]);
	}
	return e;
}

static int
put_turns(const struct writer *w)
{
	static const char turns[] = "acp_stat_turns_total", chunks[] = "acp_turn_chunks_total", tokens[] = "acp_turn_output_tokens_total";
	const struct row *r = NULL;
	int e = put_turn_times(w) | put_head(w->to, turns, "counter", "Turns, by how they ended.");

	while ((r = next_of(w, ROW_TURN, r))) {
		e |= put_count(w, r, turns, "result", "ended", r->count - r->failed - r->open - r->cancelled);
		e |= put_count(w, r, turns, "result", "failed", r->failed) | put_count(w, r, turns, "result", "cancelled", r->cancelled);
		e |= put_count(w, r, turns, "result", "open", r->open);
	}
	e |= put_head(w->to, chunks, "counter", "Chunks of text and thoughts.");
	while ((r = next_of(w, ROW_TURN, r)))
		e |= put_count(w, r, chunks, NULL, NULL, r->chunks);
	e |= put_head(w->to, tokens, "counter", "Output tokens of turns that report them.");
	while ((r = next_of(w, ROW_TURN, r)))
		e |= put_count(w, r, tokens, NULL, NULL, r->tokens);
	return e;
}

static int
put_tools(const struct writer *w)
{
	static const char seconds[] = "acp_tool_seconds", busy[] = "acp_tool_busy_seconds_total", calls[] = "acp_tool_calls_total",
		failures[] = "acp_tool_failures_total";
	const struct row *r = NULL;
	int e = put_head(w->to, seconds, "summary", "Time of a tool call, without the wait for the user.");

	while ((r = next_of(w, ROW_TOOL, r)))
		e |= put_summary(w, r, seconds, &r->times[0]);
	e |= put_head(w->to, busy, "counter", "Time in which at least one call of this kind ran.");
	while ((r = next_of(w, ROW_TOOL, r)))
		e |= buf_add_string(w->to, busy) | put_labels(w, r, NULL, NULL) | put_seconds(w->to, r->busy);
	e |= put_head(w->to, calls, "counter", "Tool calls.");
	while ((r = next_of(w, ROW_TOOL, r)))
		e |= put_count(w, r, calls, NULL, NULL, r->count);
	e |= put_head(w->to, failures, "counter", "Tool calls that failed.");
	while ((r = next_of(w, ROW_TOOL, r)))
		e |= put_count(w, r, failures, NULL, NULL, r->failed);
	return e;
}

int
prom_put(const struct table *t, enum by by, struct buf *to)
{
	const struct writer w = {.to = to, .table = t, .by = by};

	return (t->n[ROW_METHOD] ? put_methods(&w) : 0) | (t->n[ROW_TURN] ? put_turns(&w) : 0) | (t->n[ROW_TOOL] ? put_tools(&w) : 0);
}
