/* Runs the tool: reads a stream, recordings, or reports to be added up, and writes the report in its format. */
#include <signal.h>

#include "cmd/acp-stat/stat.h"

static int
begin(struct watch *w, const struct watch_start *start)
{
	struct tool *t = w->state;

	t->untimed = false;
	t->file = start->name;
	/* Open requests, turns and calls go on in the next part of the same stream. */
	if (start->same)
		return 0;
	t->table.recordings++;
	return span_begin(t->span, start->started);
}

static int
message(struct watch *w, const struct message *m, const struct session_message *seen)
{
	struct tool *t = w->state;

	(void)seen;
	if (!w->timed && !t->untimed)
		watch_warn(w, "messages without times: they are counted, not measured");
	t->untimed |= !w->timed;
	t->timed = w->timed;
	t->now = w->t;
	return span_see(t->span, m) < 0 || t->failed ? -1 : 0;
}

static int
event(struct watch *w, const struct record *r)
{
	struct tool *t = w->state;

	t->now = r->t > t->now ? r->t : t->now;
	if (r->kind == RECORD_LOST)
		span_lost(t->span);
	return 0;
}

/* Ends a recording: open requests, turns and tool calls end without a time. */
static int
end(struct watch *w, bool cut)
{
	struct tool *t = w->state;

	(void)cut;
	if (open_put(t) < 0)
		return -1;
	t->now = 0;
	return span_end(t->span) < 0 || t->failed ? -1 : 0;
}

/* Writes the report. final: it is the last one. */
static void
report(struct tool *t, bool final)
{
	enum format format = t->options->format;
	SCOPED struct buf text = {0};
	int e;

	/* These reports are written line by line as turns end, or (JUnit, GitHub) by limits_check. */
	if (t->options->by == BY_TURN || t->options->open || format >= FORMAT_JUNIT)
		return;
	table_sort(&t->table);
	if (format == FORMAT_TSV)
		e = report_tsv(&t->table, &text);
	else if (format == FORMAT_JSON)
		e = json_put(&t->table, final, &text);
	else if (format == FORMAT_PROM)
		e = prom_put(&t->table, t->options->by, &text);
	else if (t->table.rows)
		e = report_text(&t->table, cli_wants_color(t->options->color, log_fd(t->watch->out.log)), &text);
	else
		e = buf_add_string(&text, "none was seen\n");
	if (e) {
		cli_warn(tool_name, "out of memory: no report");
		t->failed = true;
	} else if (text.n) {
		watch_replace(t->watch, buf_slice(&text));
	}
}

static void
report_now(struct watch *w, int signal)
{
	struct tool *t = w->state;

	(void)signal;
	t->failed |= open_put(t) < 0;
	report(t, false);
}

static int
finish(struct watch *w, int status)
{
	struct tool *t = w->state;

	if (!w->stream && watch_missed(w))
		return status ? status : EXIT_USAGE;
	/* Without the damaged reports the sum would be wrong, and would not say so. */
	if (w->any && !(t->options->merge && status))
		report(t, true);
	if (t->options->limits.n && !(t->options->merge && status))
		status = limits_check(t, status);
	return t->failed ? EXIT_FAILED : status;
}

static int
add_line(struct watch *w, struct slice line, const char **why)
{
	struct tool *t = w->state;

	if (w->first)
		json_reader_begin(&t->reader);
	if (line.p)
		return json_get_line(&t->reader, line, &t->table, why);
	*why = "the report is cut off: its end is missing";
	if (t->reader.n)
		return 1;
	if (t->reader.reports == 0)
		watch_warn(w, "no final report in it");
	w->any |= t->reader.reports > 0;
	return 0;
}

int
tool_run(const struct options *o)
{
	static const int signals[] = {SIGUSR1, 0};
	struct tool t = {.options = o};
	struct watch w = {.name = tool_name, .state = &t, .frame = &o->frame, .session = o->session, .signals = signals, .expects = true,
		.lost = "messages were lost: figures may be too low from here on",
		.replaces = o->format == FORMAT_PROM && o->frame.output, .begin = begin, .message = message, .event = event, .end = end,
		.signal = report_now, .finish = finish, .line = o->merge ? add_line : NULL};
	int status;

	t.watch = &w;
	t.span = span_new(collect, &t);
	if (!t.span)
		cli_die(EXIT_FAILED, tool_name, "out of memory");
	status = watch_run(&w);
	json_reader_begin(&t.reader);
	span_free(t.span);
	table_free(&t.table);
	buf_free(&t.text);
	session_labels_free(t.labels);
	return status;
}
