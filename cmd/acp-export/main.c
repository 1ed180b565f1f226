/* acp-export: writes what happened in recorded sessions in a form for other people and programs. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/acp-export/page.h"
#include "cmd/acp-export/trace.h"
#include "lib/base/cli_line.h"
#include "lib/filter/choice.h"
#include "lib/recording/operands.h"

enum { LIMIT = 64 * 1024 * 1024 };

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
struct arguments {
	unsigned format;                  /* of formats: */
	const struct paint *paint;        /* of a page; or NULL: */
	const struct trace_format *trace;
	const char *output, *hop;
	struct choice session;
	enum redact_option redact;
	size_t limit;
};

static const struct cli_option options[] = {
	{"format", 'f', CLI_WORD(struct arguments, format, "html", "markdown", "otlp", "perfetto")},
	{"output", 'o', CLI_TEXT(struct arguments, output)},
	{"session", 0, CLI_TEXT(struct arguments, session.asked)},
	{"redact", 0, CLI_OPTIONAL_WORD(struct arguments, redact, "text")},
	{"hop", 0, CLI_TEXT(struct arguments, hop)},
	{"max-line", 0, CLI_BYTES(struct arguments, limit)},
	{0},
};

struct export {
	const struct arguments *arguments;
	struct transcript transcript;
	struct trace_export trace;
	struct redact redact;
	struct operands in;
};

/* --- reading --- */

static bool
failed(const struct export *e)
{
	return e->trace.failed || e->transcript.failed;
}

static void
begin(struct export *e, double started)
{
	if (!e->arguments->trace)
		transcript_begin(&e->transcript, started);
	else
		trace_export_begin(&e->trace, started);
}

static void
see(struct export *e, const struct record *r)
{
	if (!e->arguments->trace)
		transcript_see(&e->transcript, r->from, r->t, r->timed, r->text, &r->msg);
	else
		trace_export_see(&e->trace, r->from, r->t, &r->msg);
}

static void
take_record(struct export *e, const struct record *r)
{
	if (e->in.first)
		begin(e, 0);
	switch (r->kind) {
	case RECORD_HEADER:
		begin(e, r->started);
		break;
	case RECORD_MESSAGE:
		see(e, r);
		break;
	case RECORD_EXIT:
		if (!e->arguments->trace)
			transcript_exit(&e->transcript, r->t, recording_status(r));
		break;
	default:
		break;
	}
}

/* --- writing --- */

/* The session that was asked for. NULL where there is none. */
static const struct session *
choose(const struct transcript *t, struct choice *choice)
{
	const struct session *s, *chosen = NULL;
	char *why;

	for (s = t->sessions; s; s = s->hh.next) {
		if (choice_is(choice, slice(s->id, s->length), &why))
			chosen = s;
		if (why)
			cli_warn(name, "--session: %s", why);
		free(why);
	}
	return chosen;
}

/* Returns the exit status. */
static int
report_no_session(const struct arguments *a)
{
	cli_warn(name, "--session %s: no session has this id", a->session.asked);
	return EXIT_USAGE;
}

/* Likewise. */
static int
write_page(struct export *e, struct arguments *a, struct out *out)
{
	const struct session *chosen = NULL;

	if (a->session.asked && !(chosen = choose(&e->transcript, &a->session)))
		return report_no_session(a);
	if (page_write(&e->transcript, chosen, a->paint, out) < 0 && !out_failed(out)) {
		cli_warn(name, "out of memory");
		return EXIT_FAILED;
	}
	return 0;
}

/* What the format needs. 0, or -1 out of memory. */
static int
open_format(struct export *e, struct arguments *a, struct out *out)
{
	struct redact *redact = a->redact ? &e->redact : NULL;

	if (!a->trace)
		return transcript_open(&e->transcript, redact);
	e->trace = (struct trace_export){.format = a->trace, .out = out, .redact = redact, .choice = &a->session};
	return trace_export_open(&e->trace);
}

/* Returns the exit status. */
static int
end_format(struct export *e, struct arguments *a, struct out *out)
{
	int status = operands_close(&e->in), ended = a->trace ? trace_export_end(&e->trace) : transcript_end(&e->transcript);

	if (ended < 0) {
		cli_warn(name, "out of memory");
		return EXIT_FAILED;
	}
	if (e->in.any)
		ended = !a->trace ? write_page(e, a, out) : a->session.asked && !e->trace.some ? report_no_session(a) : 0;
	return ended ? ended : status;
}

int
main(int argc, char **argv)
{
	static const struct cli_tool tool = {name, help, options};
	struct arguments a = {.limit = LIMIT};
	struct export e = {.arguments = &a};
	struct cli_line line;
	struct record r;
	struct out out;
	int status;

	setlocale(LC_CTYPE, "");
	cli_read(&tool, argc, argv, &a, &line);
	if (!line.words[0])
		cli_die(EXIT_USAGE, name, "no recording is given");
	a.paint = formats[a.format].paint;
	a.trace = formats[a.format].trace;
	e.redact.texts = a.redact == REDACT_TEXTS;
	if (a.output && strcmp(a.output, "-") == 0)
		a.output = NULL;
	status = out_open(&out, name, a.output, false, line.words);
	if (status)
		return status;
	if (open_format(&e, &a, &out) < 0)
		cli_die(EXIT_FAILED, name, "out of memory");
	e.in = (struct operands){.tool = name, .files = line.words, .limit = a.limit, .hop = a.hop};
	while (!failed(&e) && operands_next(&e.in, &r))
		take_record(&e, &r);
	status = end_format(&e, &a, &out);
	if (out_close(&out) < 0)
		status = EXIT_FAILED;
	if (a.redact)
		redact_report(&e.redact, name);
	if (a.trace)
		trace_export_close(&e.trace);
	else
		transcript_free(&e.transcript);
	redact_free(&e.redact);
	choice_free(&a.session);
	return status;
}
