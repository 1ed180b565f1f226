/* Passes events to the outputs: rows, alerts, metrics, the meter. */
#include "cmd/acp-usage/tool.h"

static void
note(void *arg, const struct usage_session *s, bool verbose, const char *what)
{
	struct tool *t = arg;
	SCOPED struct buf text = {0};

	if ((verbose && !t->options->verbose) || (s && !tool_wants(t, s)))
		return;
	if (s && s->id_length && (put_session(&text, t, s) < 0 || buf_add_string(&text, ": ") < 0))
		text.n = 0;
	if (buf_add_string(&text, what) == 0 && buf_string(&text))
		watch_say(t->watch, "%s", text.p);
}

static void
write_row(struct tool *t, const struct usage_event *e)
{
	struct buf *to = out_buf(&t->watch->out);
	size_t before = to->n;
	int r = row_put(t, to, e);

	out_commit(&t->watch->out, before, r);
	if (r < 0)
		tool_fail(t, "out of memory: rows are lost");
	t->headed |= r == 0;
	/* The row and the meter may share a terminal. */
	if (t->meter && !t->options->frame.output) {
		meter_hide(t);
		watch_print(t->watch);
	}
	/* Turns of many sessions may be judged at once, so the rows are printed before the buffer becomes large. */
	if (!t->watch->stream)
		out_print_if_large(&t->watch->out);
}

/* The period of usage at a time: by --by, or USAGE_NEVER where --since or --before exclude it. */
static int32_t
period(void *arg, double started, uint64_t t)
{
	const struct options *o = ((struct tool *)arg)->options;
	double when = started + (double)t / 1e6;

	if (started <= 0)
		return o->since > 0 || o->before > 0 ? USAGE_NEVER : 0;
	if (when < o->since || (o->before > 0 && when >= o->before))
		return USAGE_NEVER;
	return by_period(o->by) ? calendar_day(when) : 0;
}

static void
event(void *arg, const struct usage_event *e)
{
	struct tool *t = arg;
	const struct options *o = t->options;

	if (!tool_wants(t, e->session) || period(t, t->started, e->t) == USAGE_NEVER)
		return;
	if (e->kind != USAGE_EVENT_COMPACT)
		alerts_see(t, e->session);
	if (o->format == FORMAT_PROM)
		prom_event(t, e);
	else if (!o->summary && (e->kind != USAGE_EVENT_UPDATE || e->changed || o->all))
		write_row(t, e);
	t->metered = e->session;
	meter_draw(t);
}

static int
estimate(void *arg, struct slice model, const struct usage_sums *sums, uint8_t inside, uint8_t tier, struct decimal *to)
{
	return prices_estimate(((struct tool *)arg)->prices, model, sums, inside, tier, to);
}

struct usage *
events_open(struct tool *t)
{
	const struct options *o = t->options;
	struct usage_spec spec = {.basis = o->basis, .tiers = o->prices || (o->summary && o->format == FORMAT_JSON),
		.event = event, .note = note, .estimate = o->prices && o->summary ? estimate : NULL, .arg = t};

	if (o->since > 0 || o->before > 0 || by_period(o->by))
		spec.period = period;
	return usage_new(&spec);
}
