/* What happens to an event: rows, alerts, metrics, the meter. */
#include <stdlib.h>

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
		tool_warn(t, "%s", text.p);
}

static void
write_row(struct tool *t, const struct usage_event *e)
{
	struct buf *to = out_buf(&t->out);
	size_t before = to->n;

	if ((!t->headed && row_put_names(t, to) < 0) || row_put(t, to, e) < 0) {
		to->n = before;
		tool_fail(t, "out of memory: rows are lost");
		return;
	}
	t->headed = true;
	out_mark(&t->out, before);
	if (!t->live)
		out_print_much(&t->out);
}

/* The period that counts what was used then: by --by, and by --since and --before. */
static int32_t
period(void *arg, double started, uint64_t t)
{
	const struct options *o = ((struct tool *)arg)->options;
	double when = started + (double)t / 1e6;

	if (started <= 0)
		return o->since > 0 || o->before > 0 ? USAGE_NEVER : 0;
	if (when < o->since || (o->before > 0 && when >= o->before))
		return USAGE_NEVER;
	return o->by >= BY_DAY && o->by <= BY_MONTH ? day_of(when) : 0;
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
	if (t->prom)
		prom_event(t->prom, e);
	if (t->meter)
		meter_show(t->meter, t, e);
	if (!t->prom && !o->summary && (e->kind != USAGE_EVENT_UPDATE || e->changed || o->all))
		write_row(t, e);
}

int
tool_open(struct tool *t, const struct options *o, bool live)
{
	struct usage_spec spec = {.basis = o->basis, .tiers = o->prices || (o->summary && o->format == FORMAT_JSON),
		.event = event, .note = note, .arg = t};

	t->options = o;
	t->live = live;
	t->choice.asked = o->session;
	if (o->since > 0 || o->before > 0 || (o->by >= BY_DAY && o->by <= BY_MONTH))
		spec.period = period;
	usage_words(&t->words);
	t->usage = usage_new(&spec);
	if (o->prices && !(t->prices = prices_open(o->prices, o->cache_hour)))
		return -1;
	if (o->format == FORMAT_PROM && !(t->prom = prom_open(o)))
		return -1;
	if (o->meter)
		t->meter = meter_open(o);
	if (t->usage)
		return 0;
	cli_warn(tool_name, "out of memory");
	return -1;
}

void
tool_close(struct tool *t)
{
	meter_close(t->meter);
	prom_close(t->prom);
	prices_close(t->prices);
	usage_free(t->usage);
	choice_free(&t->choice);
	buf_free(&t->added);
}

void
tool_end(struct tool *t)
{
	if (usage_end(t->usage) < 0)
		tool_fail(t, "out of memory: the last turns are lost");
	if (t->prom)
		prom_write(t->prom, t, true);
}
