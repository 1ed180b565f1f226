/* -f prom: metrics in Prometheus' text format. */
#include <stdio.h>

#include "cmd/acp-stat/stat.h"
#include "lib/base/metrics.h"

struct writer {
	struct buf *to;
	enum by by;
};

/* Appends the name of the metric, the labels of the row, and one more label (NULL: none). */
static int
put_labels(const struct writer *w, const struct row *r, const char *metric, const char *label, const char *value)
{
	/* The reports that --merge reads do not say whether a row of turns is a session or an agent. */
	const char *names[ROWS] = {"method", w->by == BY_SESSION ? "session" : w->by == BY_AGENT ? "agent" : "name", "kind"};
	struct metrics_label labels[4] = {0}, *l = labels;

	if (r->kind == ROW_METHOD)
		*l++ = (struct metrics_label){"from", slice_of(acp_side_name(r->from))};
	if (r->kind != ROW_TURN || w->by != BY_ALL || row_name(r).n)
		*l++ = (struct metrics_label){names[r->kind], row_name(r)};
	if (label)
		*l = (struct metrics_label){label, slice_of(value)};
	return metrics_labels(w->to, metric, labels);
}

static int
put_line(const struct writer *w, const struct row *r, const char *name, const char *label, const char *value, uint64_t us)
{
	return -(put_labels(w, r, name, label, value) || put_seconds(w->to, "", true, us) || buf_add(w->to, "\n", 1));
}

static int
put_count(const struct writer *w, const struct row *r, const char *name, const char *label, const char *value, uint64_t n)
{
	return -(put_labels(w, r, name, label, value) || json_format(w->to, "%u\n", n));
}

static int
put_summary(const struct writer *w, const struct row *r, const char *name, const struct hist *h)
{
	char quantile[16], sum[64], count[64];
	int e = 0;

	for (unsigned i = 0; i < HIST_PERCENTILES && h->n; i++) {
		snprintf(quantile, sizeof(quantile), "%g", hist_percentiles[i] / 100.0);
		e |= put_line(w, r, name, "quantile", quantile, hist_percentile(h, hist_percentiles[i]));
	}
	snprintf(sum, sizeof(sum), "%s_sum", name);
	snprintf(count, sizeof(count), "%s_count", name);
	return -(e || put_line(w, r, sum, NULL, NULL, h->sum) || put_count(w, r, count, NULL, NULL, h->n));
}

/* A metric that all rows of a kind have. */
struct metric {
	enum row_kind kind;
	const char *name, *help;
	enum { SUMMARY, SECONDS, COUNT } type;
	bool of_notifications; /* rows of notifications have it, too */
	size_t at;             /* the offset of its value in the row: a hist, or a number */
};
static const struct metric metrics[] = {
	{ROW_METHOD, "acp_request_seconds", "Time from a request to its response.", SUMMARY, false, offsetof(struct row, times[0])},
	{ROW_METHOD, "acp_messages_total", "Requests and notifications.", COUNT, true, offsetof(struct row, count)},
	{ROW_METHOD, "acp_request_errors_total", "Requests whose response is an error.", COUNT, false, offsetof(struct row, failed)},
	{ROW_TURN, "acp_turn_seconds", "Time from a prompt to the end of its turn.", SUMMARY, false, offsetof(struct row, times[SPAN_TOTAL])},
	{ROW_TURN, "acp_turn_first_update_seconds", "Time to a turn's first update.", SUMMARY, false, offsetof(struct row, times[SPAN_FIRST_UPDATE])},
	{ROW_TURN, "acp_turn_first_text_seconds", "Time to a turn's first text.", SUMMARY, false, offsetof(struct row, times[SPAN_FIRST_TEXT])},
	{ROW_TURN, "acp_turn_silence_seconds", "Longest time without a message from the agent in a turn.", SUMMARY, false, offsetof(struct row, times[SPAN_SILENCE])},
	{ROW_TURN, "acp_turn_tools_seconds", "Time of a turn in tools.", SUMMARY, false, offsetof(struct row, times[SPAN_TOOLS])},
	{ROW_TURN, "acp_turn_user_seconds", "Time of a turn waiting for the user.", SUMMARY, false, offsetof(struct row, times[SPAN_USER])},
	{ROW_TURN, "acp_turn_model_seconds", "Time of a turn that remains: the model's.", SUMMARY, false, offsetof(struct row, times[SPAN_MODEL])},
	{ROW_TURN, "acp_stat_turns_total", "Turns, by how they ended.", COUNT, false, offsetof(struct row, count)},
	{ROW_TURN, "acp_turn_chunks_total", "Chunks of text and thoughts.", COUNT, false, offsetof(struct row, chunks)},
	{ROW_TURN, "acp_turn_output_tokens_total", "Output tokens of turns that report them.", COUNT, false, offsetof(struct row, tokens)},
	{ROW_TOOL, "acp_tool_seconds", "Time of a tool call, without the wait for the user.", SUMMARY, false, offsetof(struct row, times[0])},
	{ROW_TOOL, "acp_tool_busy_seconds_total", "Time in which at least one call of this kind ran.", SECONDS, false, offsetof(struct row, busy)},
	{ROW_TOOL, "acp_tool_calls_total", "Tool calls.", COUNT, false, offsetof(struct row, count)},
	{ROW_TOOL, "acp_tool_failures_total", "Tool calls that failed.", COUNT, false, offsetof(struct row, failed)},
};

static int
put_value_of(const struct writer *w, const struct row *r, const struct metric *m)
{
	const void *value = (const char *)r + m->at;
	bool all = m->at == offsetof(struct row, count);

	if (m->type == SUMMARY)
		return put_summary(w, r, m->name, value);
	if (m->type == SECONDS)
		return put_line(w, r, m->name, NULL, NULL, *(const uint64_t *)value);
	if (all && r->kind == ROW_TURN)
		return -(put_count(w, r, m->name, "result", "ended", r->count - r->failed - r->open - r->cancelled) ||
			put_count(w, r, m->name, "result", "failed", r->failed) ||
			put_count(w, r, m->name, "result", "cancelled", r->cancelled) ||
			put_count(w, r, m->name, "result", "open", r->open));
	if (all && r->kind == ROW_METHOD)
		return put_count(w, r, m->name, "kind", r->notification ? "notification" : "request", r->count);
	return put_count(w, r, m->name, NULL, NULL, *(const uint64_t *)value);
}

int
prom_put(const struct table *t, enum by by, struct buf *to)
{
	const struct writer w = {.to = to, .by = by};
	int e = 0;

	for (const struct metric *m = metrics; m < metrics + sizeof(metrics) / sizeof(metrics[0]); m++) {
		if (t->n[m->kind] == 0)
			continue;
		e |= metrics_head(to, m->name, m->type == SUMMARY ? "summary" : "counter", m->help);
		for (const struct row *r = t->rows; r; r = r->hh.next)
			if (r->kind == m->kind && (m->of_notifications || !r->notification))
				e |= put_value_of(&w, r, m);
	}
	return e;
}
