/* acp-tap: writes the messages of a stream or of recordings, and changes nothing. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/acp-tap/tap.h"
#include "lib/recording/home.h"
#include "lib/run/directory.h"

/* One option a line, with its unit and default. The shell completes options and words from it. */
static const char help[] =
	"usage: acp-tap [OPTION]... [-- COMMAND [ARG]...]   watch a stream\n"
	"       acp-tap [OPTION]... FILE...                 print recordings (-: stdin)\n"
	"  -o, --output FILE     write to FILE, not to stderr or stdout; strftime formats\n"
	"                        and %p (process id) are expanded; auto: a recording\n"
	"                        that `last` and `last:AGENT` find\n"
	"  -a, --append          append to the file of -o\n"
	"      --list            print a line for each recording, by default of -o auto\n"
	"  -f, --format record|pretty|full|raw|trace|tsv|json\n"
	"                        what to write (with -o record, else pretty); tsv and\n"
	"                        json: of --list\n"
	"      --fold            pretty: successive chunks as one line\n"
	"      --no-fold         pretty: each chunk as a line\n"
	"  -n, --number          print the number of each record of a recording\n"
	"      --redact[=text]   replace secrets in the output; =text: also all texts\n"
	"      --color auto|always|never  when to use colours (auto)\n"
	"  -m, --match GLOB      only this method or kind of update; !GLOB excludes\n"
	"  -w, --where JQ        only messages for which the jq program is true\n"
	"      --from client|agent  only messages of this side\n"
	"      --kind request|response|notification  only these messages\n"
	"      --session ID      only this session\n"
	"      --grep TEXT       only messages with this text; its case is ignored\n"
	"      --grep-regex RE   only messages with a text that matches RE\n"
	"  -l, --files           print only the names of recordings with such messages\n"
	"  -c, --count N         stop writing after N records\n"
	"      --start N         skip the records of a recording before number N\n"
	"      --until N         skip the records of a recording after number N\n"
	FRAME_HELP_WATCH
	FRAME_HELP_FOLLOW
	"      --max-line SIZE   forward lines of more than SIZE bytes unread (64M)\n"
	FRAME_HELP;

static void
parse_match(const struct cli_argument *t)
{
	struct options *o = t->at;
	char *why;

	o->match = t->argument;
	if (select_glob(o->select, t->argument, &why) < 0)
		cli_wrong(t, why);
}

static void
parse_grep(const struct cli_argument *t)
{
	struct options *o = t->at;
	char *why;

	grep_free(o->grep);
	o->grep = grep_new(t->argument, strcmp(t->option->name, "grep-regex") == 0, &why);
	if (!o->grep)
		cli_wrong(t, why);
}

static const struct cli_option options[] = {
	{"format", 'f', CLI_WORD(struct options, format, "record", "pretty", "full", "raw", "trace", "tsv", "json"),
		.value = FORMAT_RECORD},
	{"match", 'm', CLI_PARSE(parse_match)},
	{CLI_ROWS_BEHIND(struct options, select, select_options)},
	{"grep", 0, CLI_PARSE(parse_grep)},
	{"grep-regex", 0, CLI_PARSE(parse_grep)},
	{"files", 'l', CLI_FLAG(struct options, files)},
	{"count", 'c', CLI_COUNT(struct options, count)},
	{"list", 0, CLI_FLAG(struct options, list)},
	{"number", 'n', CLI_FLAG(struct options, number)},
	{"start", 0, CLI_COUNT(struct options, start)},
	{"until", 0, CLI_COUNT(struct options, until)},
	{"fold", 0, CLI_SET(struct options, fold, 1)},
	{"no-fold", 0, CLI_SET(struct options, fold, 0)},
	{"redact", 0, CLI_OPTIONAL_WORD(struct options, redact, "text")},
	{"color", 0, CLI_WORD(struct options, color, "auto", "always", "never")},
	{CLI_ROWS(struct options, frame, watch_options)},
	{0},
};

static const struct cli_rule rules[] = {
	{"--hop", "recordings|--attach", NULL},
	{"--number|--start|--until", "recordings", NULL},
	{"--follow", "one recording", NULL},
	{"--number", "--format pretty|--format full", NULL},
	{"--fold|--no-fold", "--format pretty", NULL},
	{"--grep", NULL, "--grep-regex"},
	{"--files", "recordings", "--format|--number|--count|--follow|--fold|--no-fold|--redact"},
	{"--files", "--grep|--grep-regex|--match|--where|--from|--kind|--session", NULL},
	{"--list", NULL, "a command|--attach|--format record|--format full|--format raw|--format trace|--number|--start|--until|--count|"
		"--follow|--fold|--no-fold|--redact|--grep|--grep-regex|--files|--match|--where|--from|--kind|--session|--way|--clean"},
	{"--format tsv|--format json", "--list", NULL},
	{NULL, NULL, NULL},
};

static void
check(struct options *o, const struct cli_line *line)
{
	if (!o->format)
		o->format = o->frame.output && !o->list && !o->frame.files ? FORMAT_RECORD : FORMAT_PRETTY;
	cli_check(line, rules);
	if (o->frame.output && strcmp(o->frame.output, "auto") == 0) {
		if (o->frame.files || o->format != FORMAT_RECORD)
			cli_die(EXIT_USAGE, tap_name, "--output auto is for the recording of a stream");
		o->frame.output = o->home = home_output(tap_name, o->frame.command);
		o->frame.append = true;
	}
	if (o->until < o->start)
		cli_die(EXIT_USAGE, tap_name, "--until comes before --start");
	if (o->frame.output && strcmp(o->frame.output, "-") == 0)
		cli_die(EXIT_USAGE, tap_name, "--output -: a file is required%s",
			o->frame.files ? "; without it recordings are printed on standard output" :
			o->frame.attach ? ", such as /dev/stdout" : ", because standard output carries the stream");
}

int
main(int argc, char **argv)
{
	static const struct cli_tool tool = {tap_name, help, options};
	struct options o = {.count = UINT64_MAX, .until = UINT64_MAX, .fold = -1, .select = select_new(), .frame = {.reads = true}};
	struct cli_line line;
	char **all = NULL;
	int status;

	if (!o.select)
		cli_no_memory(tap_name);
	frame_read(&o.frame, &tool, argc, argv, &o, &line);
	check(&o, &line);
	if (o.match && !o.frame.files && !o.frame.command && !o.frame.attach && isatty(STDIN_FILENO) && access(o.match, F_OK) == 0)
		cli_warn(tap_name, "%s is a file: is the pattern of --match missing before it?", o.match);
	if (o.list && !o.frame.files)
		o.frame.files = all = home_recordings(tap_name, NULL);
	if (all && !*all)
		cli_die(EXIT_USAGE, tap_name, "there is no recording; acp-tap -o auto makes one");
	status = o.list ? list_run(&o) : tap_run(&o);
	directory_free(all);
	select_free(o.select);
	grep_free(o.grep);
	free(o.home);
	return status;
}
