/* acp-export: writes recorded sessions, or a stream, in formats for people and for other programs. */
#include <stdlib.h>

#include "cmd/acp-export/page.h"
#include "cmd/acp-export/trace.h"

static const char name[] = "acp-export";

/* Each option has a line, with its unit and default. The shell completes options and words from this text. */
static const char help[] =
	"usage: acp-export [OPTION]... FILE...   (-: standard input)\n"
	"       acp-export -f otlp|perfetto [OPTION]... [-- COMMAND [ARG]...]\n"
	"Writes recorded sessions as a page or a text that can be shared; or recordings\n"
	"or a stream as a trace: spans and metrics for an OpenTelemetry collector, or a\n"
	"timeline for ui.perfetto.dev.\n"
	"  -f, --format html|markdown|otlp|perfetto  what to write (html)\n"
	"  -o, --output FILE     write to FILE, not to standard output, or of a stream to\n"
	"                        standard error\n"
	"  -a, --append          of -f otlp: append to the file of -o\n"
	"      --post URL        send what -f otlp writes to this collector, such as\n"
	"                        http://localhost:4318\n"
	"      --propagate       add the traceparent of its turn to a prompt without one\n"
	"      --session ID      only this session; the beginning or the end of its id is\n"
	"                        enough\n"
	"      --redact[=text]   replace secrets; =text: also all texts\n"
	"      --pass            forward stdin to stdout; write on stderr or to -o\n"
	FRAME_HELP_WATCH
	FRAME_HELP_FOLLOW
	"      --max-line SIZE   skip lines of more than SIZE bytes (64M)\n"
	FRAME_HELP;

/* A page is written when everything has been read, a trace while it is read. A new format needs a file with its struct, and a row
   here, in the options and in the help. */
static const struct {
	const struct paint *paint;
	const struct trace_format *trace;
} formats[] = {{&paint_html, NULL}, {&paint_markdown, NULL}, {NULL, &trace_otlp}, {NULL, &trace_perfetto}};

struct export {
	struct frame_options frame;
	unsigned format;                  /* the row in formats */
	const struct paint *paint;        /* the paint of a page; NULL: the format is a trace */
	const char *session, *url;        /* --session and --post, or NULL */
	bool propagate, pass;
	struct post post;
	enum redact_option option;
	struct redact redact;
	struct transcript transcript;
	struct trace_export trace;
};

static const struct cli_option options[] = {
	{"format", 'f', CLI_WORD(struct export, format, "html", "markdown", "otlp", "perfetto")},
	{"post", 0, CLI_TEXT(struct export, url)},
	{"propagate", 0, CLI_FLAG(struct export, propagate)},
	{"session", 0, CLI_TEXT(struct export, session)},
	{"redact", 0, CLI_OPTIONAL_WORD(struct export, option, "text")},
	{"pass", 0, CLI_FLAG(struct export, pass)},
	{CLI_ROWS(struct export, frame, watch_options)},
	{0},
};

/* A page needs whole sessions, so that pages are made only from recordings. */
static const struct cli_rule rules[] = {
	{"--hop", "recordings|--attach", NULL},
	{"--follow", "one recording", NULL},
	{"--pass", NULL, "recordings|a command|--attach"},
	{"--post", "--format otlp", "--output"},
	{"--append", "--format otlp", NULL}, /* a timeline is one document */
	{"--propagate", "--format otlp", "recordings|--attach"},
	{"a command|--attach|--pass|--way|--grace|--clean|--follow", "--format otlp|--format perfetto", NULL},
	{NULL, NULL, NULL},
};

/* --- reading --- */

static int
open_format(struct watch *w)
{
	struct export *e = w->state;
	struct redact *redact = e->option ? &e->redact : NULL;

	e->trace = (struct trace_export){.format = formats[e->format].trace, .watch = w, .redact = redact};
	if (e->paint)
		transcript_open(&e->transcript, redact);
	else if (trace_export_open(&e->trace) < 0)
		cli_no_memory(name);
	return 0;
}

/* Stops reading recordings if memory has run out (r < 0). Returns r. */
static int
check(struct watch *w, int r)
{
	w->done |= r < 0;
	return r;
}

static int
begin(struct watch *w, const struct watch_start *start)
{
	struct export *e = w->state;

	/* Open sessions and turns go on in the next part of the same stream. */
	if (start->same)
		return 0;
	if (!e->paint)
		return check(w, trace_export_begin(&e->trace, start->started));
	transcript_begin(&e->transcript, start->started);
	return 0;
}

static int
message(struct watch *w, const struct message *m, const struct session_message *seen)
{
	struct export *e = w->state;

	(void)seen;
	if (!e->paint)
		return check(w, trace_export_see(&e->trace, m) < 0 || (e->propagate && trace_propagate(&e->trace, m) < 0) ? -1 : 0);
	transcript_see(&e->transcript, m, w->timed);
	return 0;
}

static int
event(struct watch *w, const struct record *r)
{
	struct export *e = w->state;

	if (r->kind == RECORD_LOST && e->paint)
		sessions_lost(e->transcript.sessions);
	else if (r->kind == RECORD_LOST)
		span_lost(e->trace.span);
	else if (r->kind == RECORD_EXIT && e->paint)
		transcript_exit(&e->transcript, r->t, r->status);
	return 0;
}

static uint64_t
tick(struct watch *w, uint64_t now, bool quiet)
{
	struct export *e = w->state;

	(void)quiet;
	return e->paint ? 0 : trace_export_tick(&e->trace, now);
}

/* --- writing --- */

static int
finish(struct watch *w, int status)
{
	struct export *e = w->state;
	const struct session *s = NULL, *chosen = NULL;

	if (e->paint)
		transcript_end(&e->transcript);
	else if (trace_export_end(&e->trace) < 0)
		watch_fail(w);
	if (w->failed || !w->any)
		return status;
	while (e->paint && e->session && (s = sessions_next(e->transcript.sessions, s)))
		if (watch_wants(w, slice(s->id, s->n)))
			chosen = s;
	if (watch_missed(w))
		return EXIT_USAGE;
	if (e->paint)
		page_write(&e->transcript, chosen, e->paint, &w->out);
	return status;
}

int
main(int argc, char **argv)
{
	static const struct cli_tool tool = {name, help, options};
	static struct export e = {.frame = {.reads = true}}; /* all that it holds lasts until the process ends */
	struct watch w = {.name = name, .state = &e, .frame = &e.frame, .open = open_format, .begin = begin, .message = message,
		.event = event, .tick = tick, .finish = finish};
	struct cli_line line;
	int status;

	frame_read(&e.frame, &tool, argc, argv, &e, &line);
	cli_check(&line, rules);
	e.paint = formats[e.format].paint;
	if (e.paint && !e.frame.files)
		cli_die(EXIT_USAGE, name, "no recording is given");
	if (!e.pass)
		frame_read_stdin(&e.frame, false);
	w.session = e.session;
	w.needs = e.propagate ? FILTER_EDITS : 0;
	e.redact.all_texts = e.option == REDACT_TEXTS;
	if (e.frame.output && strcmp(e.frame.output, "-") == 0)
		e.frame.output = NULL;
	if (e.url && (status = post_start(&e.post, name, e.url, e.frame.grace)))
		return status;
	if (e.url)
		e.frame.output = e.post.path;
	status = watch_run(&w);
	if (post_end(&e.post, name, &e.trace.written) && status == 0)
		status = EXIT_FAILED;
	if (e.option)
		redact_report(&e.redact, name);
	trace_export_close(&e.trace);
	redact_free(&e.redact);
	return status;
}
