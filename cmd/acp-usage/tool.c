/* What happens to an event: rows, alerts, metrics, the meter. */
#include <errno.h>
#include <stdlib.h>

#include "cmd/acp-usage/tool.h"

const char *const level_names[] = {"", "normal", "yellow", "orange", "red"};
const char *const level_advice[] = {"", "", "Context filling up", "Start new session or summarize",
	"Next prompt may fail - handoff recommended"};

enum level
tool_level(const struct options *o, const struct usage_session *s)
{
	if (!s->has_used || !s->has_size)
		return LEVEL_UNKNOWN;
	if (usage_reaches(s->used, s->size, o->warn[2], false))
		return LEVEL_RED;
	if (usage_reaches(s->used, s->size, o->warn[1], true))
		return LEVEL_ORANGE;
	return usage_reaches(s->used, s->size, o->warn[0], true) ? LEVEL_YELLOW : LEVEL_NORMAL;
}

bool
tool_wants(const struct tool *t, const struct usage_session *s)
{
	return !t->options->session || (s && strcmp(t->options->session, s->id) == 0);
}

void
tool_fail(struct tool *t, const char *what)
{
	if (!t->failed)
		tool_say(t, "%s", what);
	t->failed = true;
	if (t->frame)
		frame_fail(t->frame, EXIT_FAILED);
}

void
tool_say(struct tool *t, const char *format, ...)
{
	struct buf text = {0};
	va_list ap;

	va_start(ap, format);
	if (buf_vprintf(&text, format, ap) == 0 && buf_string(&text)) {
		if (t->meter)
			meter_hide(t->meter);
		if (t->frame)
			frame_say(t->frame, "%s", text.p);
		else
			cli_warn(tool_name, "%s", text.p);
	}
	va_end(ap);
	buf_free(&text);
	if (t->meter)
		meter_draw(t->meter, t);
}

static void
note(void *arg, const struct usage_session *s, const char *what)
{
	struct tool *t = arg;
	struct buf text = {0}, plain = {0};

	if (s && !tool_wants(t, s))
		return;
	if (s && s->id_length && (put_session(&text, t, s) < 0 || buf_add_string(&text, ": ") < 0))
		text.n = 0;
	if (put_plain(&plain, slice_of(what)) == 0 && buf_add_slice(&text, buf_slice(&plain)) == 0 && buf_string(&text))
		tool_say(t, "%s", text.p);
	buf_free(&text);
	buf_free(&plain);
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

static void
event(void *arg, const struct usage_event *e)
{
	struct tool *t = arg;
	const struct options *o = t->options;

	if (!tool_wants(t, e->session))
		return;
	if (t->alerts)
		alerts_see(t->alerts, t, e);
	if (t->prom)
		prom_event(t->prom, t, e);
	if (t->meter)
		meter_show(t->meter, t, e);
	if (!t->prom && !o->summary && (e->kind == USAGE_EVENT_TURN || e->changed || o->all))
		write_row(t, e);
}

int
tool_open(struct tool *t, const struct options *o, bool live)
{
	struct usage_spec spec = {.basis = o->basis, .partial = o->merge || (o->summary && o->format == FORMAT_JSON),
		.event = event, .note = note, .arg = t};

	t->options = o;
	t->live = live;
	t->usage = usage_new(&spec);
	if (o->prices && !(t->prices = prices_open(o->prices)))
		return -1;
	if (o->format == FORMAT_PROM && !(t->prom = prom_open(o)))
		return -1;
	if (o->meter)
		t->meter = meter_open(o);
	if (!o->merge)
		t->alerts = alerts_open(o);
	if (t->usage && (o->merge || t->alerts))
		return 0;
	cli_warn(tool_name, "out of memory");
	return -1;
}

void
tool_close(struct tool *t)
{
	alerts_close(t->alerts);
	meter_close(t->meter);
	prom_close(t->prom);
	prices_close(t->prices);
	usage_free(t->usage);
	buf_free(&t->out.own);
}

void
tool_end(struct tool *t)
{
	if (!t->options->summary && usage_end(t->usage) < 0)
		tool_fail(t, "out of memory: the last turns are lost");
	if (t->prom)
		prom_write(t->prom, t, true);
}
