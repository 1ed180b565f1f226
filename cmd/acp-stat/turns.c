/* --by turn: writes a line for each turn as it ends, and keeps nothing of it. */
#include "cmd/acp-stat/stat.h"
#include "lib/base/people.h"
#include "lib/base/text.h"

enum { SESSION = 8, TIME = 8 };

/* One of the turn's times; SPAN_NEVER if it is not known. */
static uint64_t
time_of(const struct tool *tool, const struct span_turn *t, unsigned i)
{
	return tool->timed && (!t->unfinished || i == SPAN_FIRST_UPDATE || i == SPAN_FIRST_TEXT) ? t->times[i] : SPAN_NEVER;
}

static const char *
result_of(const struct span_turn *t)
{
	return t->unfinished ? "open" : t->failed ? "failed" : "ended";
}

static int
put_text(struct tool *tool, const struct span_turn *t, struct buf *to)
{
	char session[SESSION + 1], text[PEOPLE_FIGURE];
	uint64_t tokens, us, model = time_of(tool, t, SPAN_MODEL);
	const char *rate = "-";
	int e;

	session_label(&tool->labels, t->session, session, SESSION);
	e = buf_printf(to, "%-*s%4llu", SESSION, session, (unsigned long long)t->number);
	for (unsigned i = 0; i < SPAN_TIMES; i++) {
		us = time_of(tool, t, i);
		e |= buf_printf(to, "%*s", TIME, us == SPAN_NEVER ? "-" : people_duration(text, us));
	}
	if (turn_tokens(t, &tokens) && model != SPAN_NEVER && model)
		rate = people_count(text, (uint64_t)((double)tokens * 1e6 / (double)model + .5));
	return e | buf_printf(to, "%6s%s\n", rate, t->failed || t->unfinished ? " !" : "");
}

static int
put_tsv(struct tool *tool, const struct span_turn *t, struct buf *to)
{
	struct slice id = slice(t->session->id, t->session->n), stop = t->stop.p ? slice(t->stop.p + 1, t->stop.n - 2) : t->stop;
	uint64_t tokens;
	int e = json_format(to, "%t\t%u\t%s\t%t", id, t->number, result_of(t), stop);

	for (unsigned i = 0; i < SPAN_TIMES; i++)
		e |= put_seconds(to, "\t", time_of(tool, t, i) != SPAN_NEVER, t->times[i]);
	e |= json_format(to, "\t%u\t", t->chunks);
	return e | (turn_tokens(t, &tokens) ? json_format(to, "%u\n", tokens) : buf_add_string(to, "\n"));
}

static int
put_json(struct tool *tool, const struct span_turn *t, struct buf *to)
{
	uint64_t tokens;
	int e = json_format(to, "{\"session\":%j,\"turn\":%u,\"result\":\"%s\"", slice(t->session->id, t->session->n), t->number, result_of(t));

	e |= json_add_member(to, "stop_reason", t->stop);
	for (unsigned i = 0; i < SPAN_TIMES; i++)
		if (time_of(tool, t, i) != SPAN_NEVER)
			e |= json_format(to, ",\"%s_us\":%u", row_time_name(ROW_TURN, i), t->times[i]);
	e |= json_format(to, ",\"chunks\":%u", t->chunks);
	if (turn_tokens(t, &tokens))
		e |= json_format(to, ",\"output_tokens\":%u", tokens);
	return e | buf_add_string(to, "}\n");
}

int
turns_put(struct tool *t, const struct span_turn *turn)
{
	static int (*const put[])(struct tool *, const struct span_turn *, struct buf *) = {
		[FORMAT_TEXT] = put_text, [FORMAT_TSV] = put_tsv, [FORMAT_JSON] = put_json};
	static const char tsv_head[] = "session\tturn\tresult\tstop_reason\ttotal_s\tfirst_update_s\tfirst_text_s\tsilence_s\ttools_s\t"
		"user_s\tmodel_s\tchunks\toutput_tokens\n";
	static const char *const heads[] = {
		[FORMAT_TEXT] = "session turn   total  update    text silence   tools    user   model tok/s\n",
		[FORMAT_TSV] = tsv_head,
		[FORMAT_JSON] = ""};
	enum format format = t->options->format;
	struct buf *to = out_buf(&t->watch->out);
	size_t before = to->n;
	int e = t->header_written ? 0 : buf_add_string(to, heads[format]);

	t->header_written = true;
	e |= put[format](t, turn, to);
	out_commit(&t->watch->out, before, e);
	return e;
}
