/* --by turn: a line for each turn as it ends; nothing of it is kept. */
#include <stdio.h>
#include <stdlib.h>

#include "cmd/acp-stat/stat.h"
#include "lib/base/cells.h"
#include "lib/base/people.h"
#include "lib/base/text.h"
#include "lib/recording/recording.h"

enum { SESSION = 8, TIME = 8, LABELS_MOST = 4096 };

/* What a line says. */
struct line {
	const struct span_turn *turn;
	uint64_t times[TIMES]; /* SPAN_NEVER: none */
	bool timed, counted;
	uint64_t tokens;
	struct slice stop;     /* a JSON string, or p NULL */
};

static struct line
line_of(const struct tool *t, const struct span_turn *turn)
{
	struct line l = {.turn = turn, .timed = t->timed, .times = {turn->end - turn->begin, turn->first_update, turn->first_text,
		turn->silence, turn->tools, turn->user, turn->model}};
	decimal_units tokens;

	for (unsigned i = 0; i < TIMES; i++)
		if (!t->timed || (turn->unfinished && i != TURN_UPDATE && i != TURN_TEXT))
			l.times[i] = SPAN_NEVER;
	l.counted = turn->counted && (turn->own.has & 1u << USAGE_OUTPUT);
	tokens = l.counted ? turn->own.n[USAGE_OUTPUT] : 0;
	l.tokens = tokens > (decimal_units)UINT64_MAX ? UINT64_MAX : (uint64_t)tokens;
	l.stop = json_type(turn->stop) == JSON_STRING ? turn->stop : slice(NULL, 0);
	return l;
}

/* --- sessions in eight columns */

struct label {
	UT_hash_handle hh;
	char text[SESSION + 1];
	char id[];
};

/* May this session have the label? Then it has it from now on. */
static bool
takes_label(struct tool *t, const char *text, const struct span_session *s)
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

/* The beginning of the id, or its end (ids made from the time begin alike), or the session's number. */
static void
make_label(struct tool *t, char text[SESSION + 1], const struct span_session *s)
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
put_text(struct tool *tool, const struct line *l, struct buf *to)
{
	const struct span_turn *t = l->turn;
	char session[SESSION + 1], rate[PEOPLE_FIGURE] = "-";
	int e;

	make_label(tool, session, t->session);
	e = cells_put(to, slice_of(session), SESSION) | buf_printf(to, "%4llu", (unsigned long long)t->number);
	for (unsigned i = 0; i < TIMES; i++)
		e |= put_time(to, l->times[i]);
	if (l->counted && l->timed && !t->unfinished && t->model)
		people_count(rate, (uint64_t)((double)l->tokens * 1e6 / (double)t->model + .5));
	return e | buf_printf(to, "%6s%s\n", rate, t->failed || t->unfinished ? " !" : "");
}

/* --- for programs --- */

static int
put_tsv(const struct line *l, struct buf *to)
{
	const struct span_turn *t = l->turn;
	char text[RECORDING_TIME], *end;
	int e = text_plain(to, slice(t->session->id, t->session->n));

	e |= buf_printf(to, "\t%llu\t%s\t", (unsigned long long)t->number, result_of(t));
	if (l->stop.p)
		e |= text_plain(to, slice(l->stop.p + 1, l->stop.n - 2));
	for (unsigned i = 0; i < TIMES; i++) {
		e |= buf_add_string(to, "\t");
		end = l->times[i] == SPAN_NEVER ? text : recording_put_time(text, l->times[i]);
		e |= buf_add(to, text, (size_t)(end - text));
	}
	e |= buf_printf(to, "\t%llu\t", (unsigned long long)t->chunks);
	return e | (l->counted ? buf_printf(to, "%llu\n", (unsigned long long)l->tokens) : buf_add_string(to, "\n"));
}

static int
put_json(const struct line *l, struct buf *to)
{
	const struct span_turn *t = l->turn;
	int e = -(buf_add_string(to, "{\"session\":") || json_quote(slice(t->session->id, t->session->n), to));

	e |= buf_printf(to, ",\"turn\":%llu,\"result\":\"%s\"", (unsigned long long)t->number, result_of(t));
	if (l->stop.p)
		e |= -(buf_add_string(to, ",\"stop_reason\":") || buf_add_slice(to, l->stop));
	for (unsigned i = 0; i < TIMES; i++)
		if (l->times[i] != SPAN_NEVER)
			e |= buf_printf(to, ",\"%s_us\":%llu", row_time_name(ROW_TURN, i), (unsigned long long)l->times[i]);
	e |= buf_printf(to, ",\"chunks\":%llu", (unsigned long long)t->chunks);
	if (l->counted)
		e |= buf_printf(to, ",\"output_tokens\":%llu", (unsigned long long)l->tokens);
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
	const struct line l = line_of(t, turn);
	enum format format = t->options->format;
	struct buf *to = out_buf(&t->watch->out);
	size_t before = to->n;
	int e = t->header_written ? 0 : put_head(format, to);

	t->header_written = true;
	e |= format == FORMAT_TSV ? put_tsv(&l, to) : format == FORMAT_JSON ? put_json(&l, to) : put_text(t, &l, to);
	out_commit(&t->watch->out, before, e);
	return e ? -1 : 0;
}
