/* acp-top: shows the sessions of all agents that run and are shared. */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/acp-top/top.h"
#include "lib/run/proc.h"

enum {
	TICK = 1000 * 1000,     /* us between two pictures in which only times change */
	PATIENCE = 2000 * 1000, /* us that the first table waits for shares that do not respond */
	DEFAULT_WIDTH = 120,    /* columns without a terminal */
};

static const char help[] =
	"usage: acp-top [OPTION]... [SOCKET]...\n"
	"Shows the sessions of all agents that acp-share shares: what each does, which\n"
	"wait for you, and what they cost. SOCKET: only the streams there.\n"
	"  -b, --batch           print the table once, and not on the whole screen\n"
	"  -d, --delay TIME      print it again and again, with this time between\n"
	"  -f, --format text|json|tsv  format of the table (text)\n"
	"      --watch-command CMD  run CMD when a session begins to wait for you, once\n"
	"                        a question, with its row as JSON on standard input\n"
	"      --color auto|always|never  when to use colours (auto)\n"
	"      --max-line SIZE   do not read lines of more than SIZE bytes (64M)\n"
	"  -h, --help            print this text\n"
	"  -V, --version         print the version\n"
	"Keys: arrows, Enter (messages), a (respond), o or F6 (order), / and n (search),\n"
	"q (quit).\n";

static const struct cli_option options[] = {
	{"batch", 'b', CLI_FLAG(struct options, batch)},
	{"delay", 'd', CLI_DURATION(struct options, delay), .least = 100000, .expected = "expected a duration of at least 100ms"},
	{"format", 'f', CLI_WORD(struct options, format, "text", "json", "tsv")},
	{"watch-command", 0, CLI_TEXT(struct options, watch_command)},
	{"color", 0, CLI_WORD(struct options, color, "auto", "always", "never")},
	{"max-line", 0, CLI_BYTES(struct options, frame.limit), .least = 1},
	{0},
};

static const struct cli_rule rules[] = {
	{"--delay|--format", "--batch", NULL},
	{"--watch-command", NULL, "a table that is printed once: --delay is missing"},
	{NULL, NULL, NULL},
};

/* Prints the table when it is due. */
static void
print(struct top *t)
{
	const struct options *o = t->options;
	uint64_t now = loop_now(t->loop);
	struct buf *to = out_buf(&t->out);
	size_t before = to->n;
	bool text = o->format == FORMAT_TEXT;
	int e;

	if (t->printed ? now < t->printed + o->delay && !t->sums.over : !t->sums.shown && now < t->began + PATIENCE)
		return;
	t->printed = now;
	t->width = (unsigned)cli_columns(STDOUT_FILENO);
	t->width = t->width ? t->width : DEFAULT_WIDTH;
	e = text ? put_totals(t, to) || put_names(t, to) : o->format == FORMAT_TSV && put_fields(NULL, FORMAT_TSV, to);
	for (const struct row *r = t->rows; r < t->rows + t->nrows; r++)
		e |= text ? put_row(t, r, t->width, t->color, to) : put_fields(r, o->format, to);
	out_commit(&t->out, before, e ? -1 : 0);
	out_print(&t->out);
	if (o->delay == 0 && t->nrows == 0 && t->status == 0) {
		cli_warn(top_name, "%s", attach_none_shared);
		t->status = EXIT_NEGATIVE;
	}
	if (o->delay == 0 || t->sums.over || out_has_lost(&t->out))
		loop_stop(t->loop);
}

/* Runs --watch-command, once for each question. */
static void
note_questions(struct top *t)
{
	struct ask *a;
	SCOPED struct buf text = {0};

	for (const struct row *r = t->rows; r < t->rows + t->nrows; r++) {
		a = r->question ? r->question->question->data : NULL;
		if (!a || a->noted)
			continue;
		text.n = 0;
		a->noted = true;
		if (put_fields(r, FORMAT_JSON, &text) == 0)
			a->command = permit_ask(&t->commands, t->options->watch_command, slice(text.p, text.n - 1), a);
		t->failed |= !a->command;
	}
}

static void
noted(void *arg, struct slice option, enum permit_outcome outcome)
{
	struct ask *a = arg;

	(void)option;
	a->command = NULL;
	if (outcome == PERMIT_FAILED)
		top_say(a->top, "--watch-command: %s: it could not run, failed, or printed something", a->top->options->watch_command);
}

static void
draw(void *arg)
{
	struct top *t = arg;
	uint64_t after = TICK;

	t->drawn = loop_now(t->loop);
	rows_make(t);
	if (t->options->watch_command)
		note_questions(t);
	if (t->display)
		t->failed |= display_draw(t->display) < 0;
	else
		print(t);
	if (!t->display && t->printed)
		after = t->printed + t->options->delay - t->drawn;
	if ((t->sums.live || !t->display) && !t->draw_timer.added)
		loop_add_timer(t->loop, &t->draw_timer, after);
	if (t->failed) {
		top_say(t, "out of memory");
		t->status = EXIT_FAILED;
		loop_stop(t->loop);
	}
}

static void
caught(void *arg, int signal)
{
	struct top *t = arg;

	if (signal != SIGWINCH)
		loop_stop(t->loop);
	else if (t->display)
		display_resize(t->display);
}

int
main(int argc, char **argv)
{
	static const struct cli_tool tool = {top_name, help, options};
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, 0};
	struct options o = {.frame.limit = FRAME_LIMIT};
	struct top t = {.options = &o, .changes.fd = -1};
	struct cli_line line;

	if (proc_open_stdio() < 0)
		return EXIT_FAILED;
	setlocale(LC_CTYPE, "");
	cli_read(&tool, argc, argv, &o, &line);
	cli_note(&line, o.batch && o.delay == 0, "a table that is printed once: --delay is missing");
	cli_check(&line, rules);
	o.sockets = line.words;
	t.loop = loop_new(signals, caught, &t);
	if (!t.loop)
		cli_die(EXIT_FAILED, top_name, "%s", strerror(errno));
	t.draw_timer = (struct loop_timer){.expired = draw, .arg = &t};
	t.began = loop_now(t.loop);
	t.commands = (struct permits){.loop = t.loop, .decided = noted};
	t.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	t.color = o.batch && cli_wants_color(o.color, STDOUT_FILENO);
	t.status = o.batch ? out_open(&t.out, top_name, NULL, false, o.sockets) : display_open(&t);
	if (t.status == 0 && streams_open(&t) < 0)
		t.status = EXIT_USAGE;
	else if (t.status == 0 || t.streams) {
		top_changed(&t);
		if (loop_run(t.loop) < 0)
			t.status = EXIT_FAILED;
	}
	display_close(t.display);
	t.display = NULL;
	t.status = o.batch ? out_close(&t.out, t.status) : t.status;
	streams_close(&t);
	free(t.rows);
	buf_free(&t.sums.cost);
	buf_free(&t.said);
	loop_free(t.loop);
	return t.status;
}
