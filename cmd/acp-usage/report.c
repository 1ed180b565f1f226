/* Writes the summary: as JSON objects, or as a table (table.c). */
#include "cmd/acp-usage/summary.h"
#include "lib/usage/entry.h"

static int
json_figures(struct summary *s, struct buf *to, const struct summary_row *row)
{
	const struct usage_figures *f = &row->figures;
	int hit = summary_hits(f), r;

	r = -(json_format(to, ",\"turns\":%u,\"tokens\":", f->turns) || usage_sums_put(&f->own, to)
		|| buf_add_string(to, ",\"billed\":") || usage_sums_put(&f->billed, to));
	if (f->own_lower || f->billed_lower)
		r |= buf_printf(to, ",\"lower_bound\":\"%s\"", f->own_lower ? "tokens" : "billed");
	if (hit >= 0)
		r |= buf_printf(to, ",\"cache_hit\":%d.%03d", hit / 1000, hit % 1000);
	r |= buf_add_string(to, ",\"cost\":[");
	for (size_t i = 0; i < f->ncosts; i++)
		r |= usage_entry_put_cost(to, usage_name(s->tool->usage, f->costs[i].currency), f->costs[i].amount, f->costs[i].most);
	r |= buf_add(to, "]", 1);
	if (f->has_estimate)
		r |= -(buf_add_string(to, ",\"estimate\":") || decimal_put(f->estimate, 0, to));
	return f->malformed ? r | json_format(to, ",\"malformed\":%u", f->malformed) : r;
}

static int
json_context(struct summary *s, struct buf *to, const struct usage_session *session)
{
	if (!session->has_used)
		return 0;
	return -(json_format(to, ",\"peak\":%u,\"used\":%u", summary_peak(session), session->used)
		|| (session->size && json_format(to, ",\"size\":%u,\"remaining\":%u,\"percent\":%u,\"level\":\"%s\"", session->size,
			tokens_left(session), (uint64_t)usage_percent(session->used, session->size),
			level_names[tool_level(s->tool->options, session)])));
}

static int
json_session(struct summary *s, struct buf *to, const struct usage_session *session)
{
	struct usage *u = s->tool->usage;
	const struct usage_cost *c = usage_costs(session);
	int r;

	r = -(json_context(s, to, session) || usage_put_text(to, "model", usage_name(u, session->model))
		|| usage_put_text(to, "title", usage_name(u, session->title)) || usage_put_text(to, "cwd", usage_name(u, session->cwd))
		|| usage_put_text(to, "agent", usage_agent_name(u, session->agent)));
	if (session->parent)
		r |= usage_put_text(to, "parent", slice(session->parent->id, session->parent->id_length));
	if (c && !session->cleared)
		r |= -(buf_add_string(to, ",\"wire_cost\":{\"amount\":") || decimal_put(usage_cost_wire(c), c->places, to)
			|| json_format(to, ",\"currency\":%j}", usage_name(u, c->currency)));
	return r | -(buf_printf(to, ",\"basis\":\"%s\"", usage_bases[usage_session_basis(u, session)]) < 0);
}

static int
put_row(struct summary *s, const struct summary_row *row, struct buf *to)
{
	enum by by = s->tool->options->by;
	SCOPED struct buf name = {0};
	int r;

	if (row == &s->total) {
		r = buf_printf(to, "{\"total\":true,\"acp-usage\":%d,", SUMMARY_VERSION);
		r |= by == BY_SESSION ? buf_printf(to, "\"sessions\":%zu", s->sessions)
			: buf_printf(to, "\"%ss\":%zu", by_names[by], s->norder);
	} else {
		r = -(buf_printf(to, "{\"%s\":", by_names[by]) || summary_name(s, row, &name)
			|| (name.n || by == BY_SESSION ? json_quote(name.n ? buf_slice(&name) : slice_of(""), to) : buf_add_string(to, "null")));
	}
	r |= json_figures(s, to, row);
	if (row->session)
		r |= json_session(s, to, row->session);
	if (row->figures.restarts && row != &s->total)
		r |= json_format(to, ",\"restarts\":%u", row->figures.restarts);
	/* Parts are written only if they have all usage: not with --since or --before, and not after a ledger was read. */
	if (row->session && s->tool->options->since <= 0 && s->tool->options->before <= 0 && !s->tool->entries)
		r |= usage_put_parts(s->tool->usage, row->session, to);
	return r | buf_add(to, "}\n", 2);
}

static int
print_row(struct summary *s, const struct summary_row *row)
{
	struct buf *to = out_buf(&s->tool->watch->out);
	size_t before = to->n;
	int r = s->tool->options->format == FORMAT_JSON ? put_row(s, row, to) : summary_line(s, row, to);

	out_end_record(&s->tool->watch->out, before);
	if (!s->tool->watch->stream)
		out_print_if_large(&s->tool->watch->out);
	return r;
}

int
summary_put(struct tool *t)
{
	struct summary s = {.tool = t};
	int r = summary_make(&s);

	if (t->options->format != FORMAT_JSON)
		r |= summary_head(&s);
	if (r == 0)
		r = summary_each(&s, print_row);
	if (r == 0)
		r = print_row(&s, &s.total);
	if (s.total.figures.too_large)
		tool_fail(t, "a sum of costs is too large");
	summary_free(&s);
	return r < 0 ? -1 : 0;
}
