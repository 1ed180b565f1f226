/* acp-export: writes what happened in recorded sessions in a form for other people and programs. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/acp-export/page.h"
#include "cmd/acp-export/trace.h"
#include "lib/base/cli.h"
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

enum { OPT_SESSION = 256, OPT_REDACT, OPT_HOP, OPT_MAX_LINE };

static const struct option options[] = {
	{"format", required_argument, NULL, 'f'},
	{"output", required_argument, NULL, 'o'},
	{"session", required_argument, NULL, OPT_SESSION},
	{"redact", optional_argument, NULL, OPT_REDACT},
	{"hop", required_argument, NULL, OPT_HOP},
	{"max-line", required_argument, NULL, OPT_MAX_LINE},
	CLI_LONG_OPTIONS,
};

static const struct cli cli = {name, help, "+f:o:hV", options};

/* A page is written when everything has been read, a trace while it is read. Another format is a file with its struct, and a row
   here and in the help. */
static const struct {
	const struct paint *paint;
	const struct trace_format *trace;
} formats[] = {{&paint_html, NULL}, {&paint_markdown, NULL}, {NULL, &trace_otlp}, {NULL, &trace_perfetto}};
static const char *const format_names[] = {"html", "markdown", "otlp", "perfetto", NULL};

struct arguments {
	const struct paint *paint;        /* of a page; or NULL: */
	const struct trace_format *trace;
	const char *output, *hop;
	struct choice session;
	bool redact;
	size_t limit;
};

struct export {
	const struct arguments *arguments;
	struct transcript transcript;
	struct trace_export trace;
	struct redact redact;
	struct operands in;
};

static void
take_option(struct arguments *a, struct redact *redact, int option, const char *argument)
{
	int word;

	switch (option) {
	case 'f':
		word = cli_word(&cli, option, argument, format_names);
		a->paint = formats[word].paint;
		a->trace = formats[word].trace;
		break;
	case 'o':
		a->output = argument;
		break;
	case OPT_SESSION:
		a->session.asked = argument;
		break;
	case OPT_REDACT:
		if (argument && strcmp(argument, "text") != 0)
			cli_bad(&cli, option, argument, "expected text");
		a->redact = true;
		redact->texts |= argument != NULL;
		break;
	case OPT_HOP:
		a->hop = argument;
		break;
	case OPT_MAX_LINE:
		if (cli_bytes(argument, &a->limit) < 0)
			cli_bad(&cli, option, argument, cli_want_bytes);
		break;
	}
}

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
	struct arguments a = {.paint = &paint_html, .limit = LIMIT};
	struct export e = {.arguments = &a};
	struct cli_given given = {0};
	struct record r;
	struct out out;
	int option, status;

	setlocale(LC_CTYPE, "");
	while ((option = cli_next(&cli, argc, argv, &given)) != -1)
		take_option(&a, &e.redact, option, optarg);
	if (!argv[optind])
		cli_refuse(&cli, "no recording is given");
	if (a.output && strcmp(a.output, "-") == 0)
		a.output = NULL;
	status = out_open(&out, name, a.output, false, argv + optind);
	if (status)
		return status;
	if (open_format(&e, &a, &out) < 0)
		cli_die(EXIT_FAILED, name, "out of memory");
	e.in = (struct operands){.tool = name, .files = argv + optind, .limit = a.limit, .hop = a.hop};
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
