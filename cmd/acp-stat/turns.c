/* --by turn: writes a line for each turn as it ends, and keeps nothing of it. */
#include <stdio.h>
#include <stdlib.h>

#include "cmd/acp-stat/stat.h"
#include "lib/base/cells.h"
#include "lib/base/people.h"
#include "lib/base/text.h"

enum { SESSION = 8, TIME = 8, LABELS_MOST = 4096 };

/* One of the turn's times; SPAN_NEVER if it is not known. */
static uint64_t
time_of(const struct tool *tool, const struct span_turn *t, unsigned i)
{
	return tool->timed && (!t->unfinished || i == SPAN_FIRST_UPDATE || i == SPAN_FIRST_TEXT) ? t->times[i] : SPAN_NEVER;
}

/* --- sessions in eight columns --- */

struct label {
	UT_hash_handle hh;
	char text[SESSION + 1];
	char id[];
};

/* Gives the session this label, if no other session has it. Returns whether it has. */
static bool
takes_label(struct tool *t, const char *text, const struct session *s)
{
	struct label *l;

	HASH_FIND_STR(t->labels, text, l);
	if (l || HASH_COUNT(t->labels) == LABELS_MOST)
		return l && strcmp(l->id, s->id) == 0;
	if (!(l = calloc(1, sizeof(*l) + s->n + 1)))
		return false;
	snprintf(l->text, sizeof(l->text), "%s", text);
	memcpy(l->id, s->id, s->n);
	HASH_ADD_STR(t->labels, text, l);
	if (!l->hh.tbl)
		free(l);
	return true;
}

/* The label of a session: the beginning of its id, or the end (ids that are made from the time begin alike), or its number. */
static void
make_label(struct tool *t, char text[SESSION + 1], const struct session *s)
{
	text[text_plain_in(text, SESSION, slice(s->id, s->n))] = '\0';
	if (takes_label(t, text, s))
		return;
	text[s->n > SESSION ? text_plain_in(text, SESSION, slice(s->id + s->n - SESSION, SESSION)) : 0] = '\0';
	if (!*text || !takes_label(t, text, s))
		snprintf(text, SESSION + 1, "~%llu", (unsigned long long)(s->number % 10000000));
}

void
turns_free(struct tool *t)
{
	struct label *l, *next;

	HASH_ITER(hh, t->labels, l, next) {
		HASH_DEL(t->labels, l);
		free(l);
	}
}

static const char *
result_of(const struct span_turn *t)
{
	return t->unfinished ? "open" : t->failed ? "failed" : "ended";
}

/* --- for people --- */

static int
put_time(struct buf *to, uint64_t us)
{
	char text[PEOPLE_FIGURE];

	return buf_printf(to, "%*s", TIME, us == SPAN_NEVER ? "-" : people_duration(text, us));
}

static int
put_text(struct tool *tool, const struct span_turn *t, struct buf *to)
{
	char session[SESSION + 1], rate[PEOPLE_FIGURE] = "-";
	uint64_t tokens, model = time_of(tool, t, SPAN_MODEL);
	int e;

	make_label(tool, session, t->session);
	e = -(cells_put(to, slice_of(session), SESSION) || buf_printf(to, "%4llu", (unsigned long long)t->number));
	for (unsigned i = 0; i < SPAN_TIMES; i++)
		e |= put_time(to, time_of(tool, t, i));
	if (turn_tokens(t, &tokens) && model != SPAN_NEVER && model)
		people_count(rate, (uint64_t)((double)tokens * 1e6 / (double)model + .5));
	return e | buf_printf(to, "%6s%s\n", rate, t->failed || t->unfinished ? " !" : "");
}

/* --- for programs --- */

static int
put_tsv(const struct tool *tool, const struct span_turn *t, struct buf *to)
{
	uint64_t tokens;
	int e = text_plain(to, slice(t->session->id, t->session->n));

	e |= buf_printf(to, "\t%llu\t%s\t", (unsigned long long)t->number, result_of(t));
	if (t->stop.p)
		e |= text_plain(to, slice(t->stop.p + 1, t->stop.n - 2));
	for (unsigned i = 0; i < SPAN_TIMES; i++) {
		e |= buf_add_string(to, "\t");
		e |= put_seconds(to, time_of(tool, t, i) != SPAN_NEVER, t->times[i]);
	}
	e |= buf_printf(to, "\t%llu\t", (unsigned long long)t->chunks);
	return e | (turn_tokens(t, &tokens) ? buf_printf(to, "%llu\n", (unsigned long long)tokens) : buf_add_string(to, "\n"));
}

static int
put_json(const struct tool *tool, const struct span_turn *t, struct buf *to)
{
	uint64_t tokens;
	int e = -(buf_add_string(to, "{\"session\":") || json_quote(slice(t->session->id, t->session->n), to));

	e |= buf_printf(to, ",\"turn\":%llu,\"result\":\"%s\"", (unsigned long long)t->number, result_of(t));
	if (t->stop.p)
		e |= -(buf_add_string(to, ",\"stop_reason\":") || buf_add_slice(to, t->stop));
	for (unsigned i = 0; i < SPAN_TIMES; i++)
		if (time_of(tool, t, i) != SPAN_NEVER)
			e |= buf_printf(to, ",\"%s_us\":%llu", row_time_name(ROW_TURN, i), (unsigned long long)t->times[i]);
	e |= buf_printf(to, ",\"chunks\":%llu", (unsigned long long)t->chunks);
	if (turn_tokens(t, &tokens))
		e |= buf_printf(to, ",\"output_tokens\":%llu", (unsigned long long)tokens);
	return e | buf_add_string(to, "}\n");
}

static int
put_head(enum format format, struct buf *to)
{
	if (format == FORMAT_TSV)
		return buf_add_string(to, "session\tturn\tresult\tstop_reason\ttotal_s\tfirst_update_s\tfirst_text_s\tsilence_s\ttools_s\t"
			"user_s\tmodel_s\tchunks\toutput_tokens\n");
	if (format == FORMAT_TEXT)
		return buf_printf(to, "%-*s%4s%*s%*s%*s%*s%*s%*s%*s%6s\n", SESSION, "session", "turn", TIME, "total", TIME, "update", TIME,
			"text", TIME, "silence", TIME, "tools", TIME, "user", TIME, "model", "tok/s");
	return 0;
}

int
turns_put(struct tool *t, const struct span_turn *turn)
{
	enum format format = t->options->format;
	struct buf *to = out_buf(&t->watch->out);
	size_t before = to->n;
	int e = t->header_written ? 0 : put_head(format, to);

	t->header_written = true;
	e |= format == FORMAT_TSV ? put_tsv(t, turn, to) : format == FORMAT_JSON ? put_json(t, turn, to) : put_text(t, turn, to);
	out_commit(&t->watch->out, before, e);
	return e ? -1 : 0;
}
