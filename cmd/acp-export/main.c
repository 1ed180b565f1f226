/* acp-export: writes what happened in recorded sessions in a form for other people and programs. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/acp-export/page.h"
#include "cmd/acp-export/trace.h"
#include "lib/recording/home.h"
#include "lib/watch/watch.h"

static const char name[] = "acp-export";

/* One option a line, with its unit and default. The shell completes options and words from it. */
static const char help[] =
	"usage: acp-export [OPTION]... FILE...   (-: standard input)\n"
	"Writes recorded sessions as a page or a text that can be shared, or as a\n"
	"trace: spans for an OpenTelemetry collector, or a timeline for ui.perfetto.dev.\n"
	"  -f, --format html|markdown|otlp|perfetto  what to write (html)\n"
	"  -o, --output FILE     write to FILE, not to standard output\n"
	"      --session ID      only this session; the beginning or the end of its id is\n"
	"                        enough\n"
	"      --redact[=text]   replace secrets; =text: also all texts\n"
	"      --hop N|NAME      which hop of recordings that hold several (0)\n"
	"      --max-line SIZE   skip lines of more than SIZE bytes (64M)\n"
	"  -h, --help            print this text\n"
	"  -V, --version         print the version\n";

/* A page is written when everything has been read, a trace while it is read. Another format is a file with its struct, and a row
   here and in the help. */
static const struct {
	const struct paint *paint;
	const struct trace_format *trace;
} formats[] = {{&paint_html, NULL}, {&paint_markdown, NULL}, {NULL, &trace_otlp}, {NULL, &trace_perfetto}};

struct export {
	struct frame_options frame;
	unsigned format;                  /* of formats: */
	const struct paint *paint;        /* of a page; or NULL: a trace */
	const char *session;              /* --session, or NULL */
	enum redact_option option;
	struct redact redact;
	struct transcript transcript;
	struct trace_export trace;
};

static const struct cli_option options[] = {
	{"format", 'f', CLI_WORD(struct export, format, "html", "markdown", "otlp", "perfetto")},
	{"output", 'o', CLI_TEXT(struct export, frame.output)},
	{"session", 0, CLI_TEXT(struct export, session)},
	{"redact", 0, CLI_OPTIONAL_WORD(struct export, option, "text")},
	{"hop", 0, CLI_TEXT(struct export, frame.hop)},
	{"max-line", 0, CLI_BYTES(struct export, frame.limit)},
	{0},
};

/* --- reading --- */

static int
open_format(struct watch *w)
{
	struct export *e = w->state;
	struct redact *redact = e->option ? &e->redact : NULL;

	e->trace = (struct trace_export){.format = formats[e->format].trace, .watch = w, .redact = redact};
	if ((e->paint ? transcript_open(&e->transcript, redact) : trace_export_open(&e->trace)) == 0)
		return 0;
	cli_warn(name, "out of memory");
	return EXIT_FAILED;
}

/* What cannot be kept in memory makes no page. */
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

	/* What is open goes on in the next part of the same stream. */
	if (start->same)
		return 0;
	return check(w, e->paint ? transcript_begin(&e->transcript, start->started) : trace_export_begin(&e->trace, start->started));
}

static int
message(struct watch *w, const struct message *m, const struct session_message *seen)
{
	struct export *e = w->state;

	(void)seen;
	return check(w, e->paint ? transcript_see(&e->transcript, m, w->timed) : trace_export_see(&e->trace, m));
}

static int
event(struct watch *w, const struct record *r)
{
	struct export *e = w->state;

	return e->paint && r->kind == RECORD_EXIT ? check(w, transcript_exit(&e->transcript, r->t, r->status)) : 0;
}

/* --- writing --- */

static int
finish(struct watch *w, int status)
{
	struct export *e = w->state;
	const struct session *s = NULL, *chosen = NULL;

	w->failed |= (e->paint ? transcript_end(&e->transcript) : trace_export_end(&e->trace)) < 0;
	if (w->failed || !w->any)
		return status;
	while (e->paint && e->session && (s = sessions_next(e->transcript.sessions, s)))
		if (watch_wants(w, slice(s->id, s->n)))
			chosen = s;
	if (e->session && !chosen && !e->trace.some) {
		cli_warn(name, "--session %s: no session has this id", e->session);
		return EXIT_USAGE;
	}
	if (e->paint && page_write(&e->transcript, chosen, e->paint, &w->out) < 0 && !out_failed(&w->out)) {
		cli_warn(name, "out of memory");
		return EXIT_FAILED;
	}
	return status;
}

int
main(int argc, char **argv)
{
	static const struct cli_tool tool = {name, help, options};
	struct export e = {.frame = {.limit = FRAME_LIMIT}};
	struct watch w = {.name = name, .state = &e, .frame = &e.frame, .open = open_format, .begin = begin, .message = message,
		.event = event, .finish = finish};
	struct cli_line line;
	int status;

	setlocale(LC_CTYPE, "");
	cli_read(&tool, argc, argv, &e, &line);
	cli_files(&line);
	home_files(&line);
	if (!line.words[0])
		cli_die(EXIT_USAGE, name, "no recording is given");
	e.frame.files = line.words;
	w.session = e.session;
	e.paint = formats[e.format].paint;
	e.redact.texts = e.option == REDACT_TEXTS;
	if (e.frame.output && strcmp(e.frame.output, "-") == 0)
		e.frame.output = NULL;
	status = watch_run(&w);
	if (e.option)
		redact_report(&e.redact, name);
	transcript_free(&e.transcript);
	trace_export_close(&e.trace);
	redact_free(&e.redact);
	return status;
}
