/* Reports for people, at most 80 columns wide, and as tables for programs. */
#include <langinfo.h>

#include "cmd/acp-stat/stat.h"
#include "lib/base/cells.h"
#include "lib/base/people.h"
#include "lib/base/text.h"
#include "lib/recording/recording.h"

static const char bold[] = "\033[1m", plain[] = "\033[0m";

enum { NAME = 36, LABEL = 24, KIND = 14, GROUP = 20, TIME = 7, BAR = 10 };

/* --- cells --- */

/* Appends the end of a name that is too long, because the end of a package's name says more than its beginning. */
static struct slice
short_name(struct slice name, unsigned width)
{
	const char *slash = name.n > width ? memrchr(name.p, '/', name.n) : NULL;

	return slash ? slice_between(slash + 1, name.p + name.n) : name;
}

static int
put_time(struct buf *to, bool known, uint64_t us)
{
	char text[PEOPLE_FIGURE];

	return buf_printf(to, "%*s", TIME, known ? people_duration(text, us) : "-");
}

/* Appends the percentiles, if there are several times, and the greatest time. */
static int
put_times(struct buf *to, const struct hist *h)
{
	int r = 0;

	for (unsigned i = 0; i < HIST_PERCENTILES; i++)
		r |= h->n == 1 ? buf_printf(to, "%*s", TIME, i == 0 ? "n=1" : "") : put_time(to, h->n, hist_percentile(h, hist_percentiles[i]));
	return r | put_time(to, h->n, h->max);
}

/* Appends a share as " 37% ####". */
static int
put_share(struct buf *to, uint64_t part, uint64_t whole)
{
	bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	double share = whole ? (double)part / (double)whole : 0;
	unsigned i, bar = (unsigned)(share * (double)BAR + .5);
	int r = buf_printf(to, "%5.0f%%%s", share * 100, bar ? " " : "");

	for (i = 0; i < bar && i < BAR; i++)
		r |= buf_add_string(to, utf8 ? "█" : "#");
	return r;
}

static int
put_rate(struct buf *to, uint64_t n, uint64_t us)
{
	char text[PEOPLE_FIGURE];

	if (us == 0)
		return buf_printf(to, "%*s", TIME, "-");
	return buf_printf(to, "%*s", TIME, people_count(text, (uint64_t)((double)n * 1e6 / (double)us + .5)));
}

/* --- for people --- */

static int
put_failed(struct buf *to, bool color, int width, uint64_t n)
{
	bool red = color && n > 0;

	return buf_printf(to, "%s%*llu%s", red ? "\033[31m" : "", width, (unsigned long long)n, red ? "\033[0m" : "");
}

static int
put_method(const struct row *r, bool color, struct buf *to)
{
	int e = -(buf_printf(to, "%-7s ", acp_side_name(r->from)) || cells_put(to, row_name(r), NAME - 8));

	e |= -(buf_printf(to, "%6llu", (unsigned long long)r->count) || put_failed(to, color, 6, r->failed));
	if (!r->notification)
		e |= put_times(to, &r->times[0]);
	return e | buf_add_string(to, "\n");
}

/* Appends the row of all turns, a line for each of its times. */
static int
put_all_turns(const struct row *r, bool color, struct buf *to)
{
	static const char *const labels[SPAN_TIMES] = {"total", "to the first update", "to the first text", "longest silence",
		"in tools", "waiting for the user", "the rest: the model"};
	int e = buf_printf(to, "%sturns %-18llu    p50    p90    p99    max    sum%s\n", color ? bold : "", (unsigned long long)r->count,
		color ? plain : "");

	for (unsigned i = 0; i < SPAN_TIMES; i++) {
		e |= -(buf_printf(to, "  %-*s", LABEL - 2, labels[i]) || put_times(to, &r->times[i]));
		if (i == SPAN_TOTAL || i >= SPAN_TOOLS)
			e |= put_time(to, r->times[i].n, r->times[i].sum);
		if (i >= SPAN_TOOLS && r->times[i].n)
			e |= put_share(to, r->times[i].sum, r->times[SPAN_TOTAL].sum);
		e |= buf_add_string(to, "\n");
	}
	e |= -(buf_add_string(to, "  ") || put_failed(to, color, 0, r->failed));
	e |= buf_printf(to, " failed, %llu cancelled, %llu without an end\n", (unsigned long long)r->cancelled, (unsigned long long)r->open);
	e |= -(buf_add_string(to, "  a second of the model's time: chunks") || put_rate(to, r->chunks, r->times[SPAN_MODEL].sum));
	return -(e || buf_add_string(to, "  output tokens") || put_rate(to, r->tokens, r->token_us) || buf_add_string(to, "\n"));
}

/* Returns the short name of a session or agent; its end, if the row before or after this one has the same beginning. */
static struct slice
group_name(const struct row *r)
{
	enum { MOST = GROUP - 1 };
	const struct row *near[] = {r->hh.prev, r->hh.next};
	struct slice name = short_name(row_name(r), MOST);

	for (size_t i = 0; i < 2 && name.n > MOST; i++)
		if (near[i] && near[i]->kind == r->kind &&
			slice_eq(slice_cut(short_name(row_name(near[i]), MOST), MOST), slice_cut(name, MOST)))
			return slice_tail(name, MOST);
	return name;
}

/* Appends a line for each session or agent. */
static int
put_group(const struct row *r, struct buf *to)
{
	const struct hist *h = r->times;
	int e = cells_put(to, row_name(r).n ? group_name(r) : slice_of("-"), GROUP - 1);

	e |= buf_printf(to, "%7llu", (unsigned long long)r->count);
	e |= -(put_time(to, h->n, hist_percentile(h, 50)) || put_time(to, h->n, h->max));
	e |= put_time(to, h[SPAN_FIRST_TEXT].n, hist_percentile(&h[SPAN_FIRST_TEXT], 50));
	for (unsigned i = SPAN_TOOLS; i < SPAN_TIMES; i++)
		e |= h->sum ? buf_printf(to, "%6.0f%%", (double)h[i].sum * 100 / (double)h->sum) : buf_printf(to, "%7s", "-");
	return -(e || put_rate(to, r->tokens, r->token_us) || buf_add_string(to, "\n"));
}

static int
put_tool(const struct row *r, uint64_t most, bool color, struct buf *to)
{
	int e = cells_put(to, row_name(r), KIND);

	e |= -(buf_printf(to, "%6llu", (unsigned long long)r->count) || put_failed(to, color, 7, r->failed));
	e |= -(put_times(to, &r->times[0]) || put_time(to, r->times[0].n || r->busy, r->busy));
	if (most)
		e |= put_share(to, r->busy, most);
	return e | buf_add_string(to, "\n");
}

int
report_text(const struct table *t, bool color, struct buf *to)
{
	static const char *const heads[ROWS] = {
		[ROW_METHOD] = "from    method                       count error    p50    p90    p99    max",
		[ROW_TURN] = "turns of             turns    p50    max   text  tools   user  model  tok/s",
		[ROW_TOOL] = "tools          count failed    p50    p90    p99    max   time"};
	enum row_kind kind = ROWS;
	uint64_t most = 0;
	bool all = false;
	int e = 0;

	for (const struct row *r = t->rows; r; r = r->hh.next) {
		all |= r->kind == ROW_TURN && t->n[ROW_TURN] == 1 && row_name(r).n == 0;
		most = r->busy > most ? r->busy : most;
	}
	for (const struct row *r = t->rows; r; r = r->hh.next) {
		if (r->kind != kind && to->n)
			e |= buf_add_string(to, "\n");
		if (r->kind != kind && !(r->kind == ROW_TURN && all))
			e |= json_format(to, "%s%s%s\n", color ? bold : "", heads[r->kind], color ? plain : "");
		kind = r->kind;
		if (kind == ROW_METHOD)
			e |= put_method(r, color, to);
		else if (kind == ROW_TOOL)
			e |= put_tool(r, most, color, to);
		else
			e |= all ? put_all_turns(r, color, to) : put_group(r, to);
	}
	return e;
}

/* --- for programs --- */

int
put_seconds(struct buf *to, const char *before, bool known, uint64_t us)
{
	char text[RECORDING_TIME], *end = known ? recording_put_time(text, us) : text;

	return -(buf_add_string(to, before) || buf_add_slice(to, slice_between(text, end)));
}

/* Appends a line for each kind of times of a row. */
static int
put_lines(const struct row *r, struct buf *to)
{
	const struct hist *h = r->times;
	int e = 0;

	for (unsigned i = 0; i < row_times(r->kind); i++, h++) {
		e |= json_format(to, "%s\t%s\t%t\t%u\t%u\t%u\t%u\t%u\t%u", row_kind_names[r->kind],
			r->kind == ROW_METHOD ? acp_side_name(r->from) : "", row_name(r), r->count, r->failed, r->cancelled, r->open,
			r->chunks, r->tokens);
		e |= -(put_seconds(to, "\t", true, r->token_us) || put_seconds(to, "\t", true, r->busy));
		e |= json_format(to, "\t%s\t%u", r->notification ? "" : row_time_name(r->kind, i), h->n);
		e |= put_seconds(to, "\t", h->n, h->sum);
		for (unsigned p = 0; p < HIST_PERCENTILES; p++)
			e |= put_seconds(to, "\t", h->n, hist_percentile(h, hist_percentiles[p]));
		e |= -(put_seconds(to, "\t", h->n, h->max) || buf_add_string(to, "\n"));
	}
	return e;
}

int
report_tsv(const struct table *t, struct buf *to)
{
	int e = buf_add_string(to, "row\tfrom\tname\tcount\tfailed\tcancelled\topen\tchunks\toutput_tokens\ttoken_s\tbusy_s\t"
		"time\tn\tsum_s\tp50_s\tp90_s\tp99_s\tmax_s\n");

	for (const struct row *r = t->rows; r; r = r->hh.next)
		e |= put_lines(r, to);
	return e;
}
