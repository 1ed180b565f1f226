/* acp-diff: compares two recordings. */
#include <errno.h>
#include <stdlib.h>

#include "cmd/acp-diff/diff.h"
#include "lib/base/cli_line.h"
#include "lib/recording/home.h"
#include "lib/run/proc.h"

static const char name[] = "acp-diff";

static const char help[] =
	"usage: acp-diff [OPTION]... A B\n"
	"Compares two recordings. A or B may be -, standard input.\n"
	"  -f, --format text|json|junit|github  format of the report (text)\n"
	"      --match exact|params|shape|method  what must be equal (shape)\n"
	"      --normalize JQ    run this jq program on each message first\n"
	"      --ignore PATH     ignore the value at this path; may be repeated\n"
	"      --keep-paths      do not treat the directories of A and B as the same\n"
	"      --hop N|NAME      compare this hop of recordings that hold several (0)\n"
	"      --env             replace ${NAME} in messages of A by the environment\n"
	"                        variable NAME\n"
	"      --label NAME      name of B in the report\n"
	"      --max-slower N%   exit with 1 if a method's median time in B is longer\n"
	"                        than in A by more than N%; of methods with 5 responses\n"
	"      --max-line SIZE   longest line in bytes (64M)\n"
	"      --color auto|always|never  when to use colours in the text format (auto)\n"
	"  -h, --help            print this text\n"
	"  -V, --version         print the version\n"
	"Exit status: 0 no difference; 1 a difference; 2 A or B cannot be read.\n";

enum { MAX_LINE = 64 * 1024 * 1024 };

static void
parse_ignore(const struct cli_argument *t)
{
	struct buf *all = t->at;

	if (t->argument[0] != '.')
		cli_wrong(t, "expected a path, such as .params.update.used");
	if (buf_printf(all, "%s(try path(%s))", all->n ? "," : "", t->argument) < 0)
		cli_no_memory(name);
}

static void
parse_percent(const struct cli_argument *t)
{
	char *end = NULL;
	double percent = byte_is_digit(*t->argument) ? strtod(t->argument, &end) : 0;

	if (!end || strcmp(end, "%") != 0 || percent > 1e6)
		cli_wrong(t, "expected a percentage, such as 20%");
	*(double *)t->at = percent / 100;
}

static const struct cli_option options[] = {
	{"format", 'f', CLI_WORD(struct diff_options, format, "text", "json", "junit", "github")},
	{"match", 0, CLI_WORD_OF(struct diff_options, match, match_names)},
	{"normalize", 0, CLI_TEXT(struct diff_options, normalize)},
	{"ignore", 0, CLI_PARSE_AT(parse_ignore, struct buf, struct diff_options, ignore)},
	{"keep-paths", 0, CLI_FLAG(struct diff_options, keep_paths)},
	{"hop", 0, CLI_TEXT(struct diff_options, hop)},
	{"env", 0, CLI_FLAG(struct diff_options, environment)},
	{"label", 0, CLI_TEXT(struct diff_options, label)},
	{"max-slower", 0, CLI_PARSE_AT(parse_percent, double, struct diff_options, max_slower)},
	{"max-line", 0, CLI_BYTES(struct diff_options, limit)},
	{"color", 0, CLI_WORD(struct diff_options, color, "auto", "always", "never")},
	{0},
};

static const struct cli_tool tool = {name, help, options};

static struct normalize *
compile_one(const char *option, const char *program)
{
	char *why;
	struct normalize *n = normalize_new(program, &why);

	if (!n)
		cli_die(why ? EXIT_USAGE : EXIT_FAILED, name, "%s: %s", option, why ? why : strerror(ENOMEM));
	return n;
}

/* Compiles --normalize and --ignore to one program; NULL: neither is given. */
static struct normalize *
compile(const struct diff_options *o)
{
	/* --normalize is first compiled alone, so that its errors are reported as its own. */
	struct normalize *n = o->normalize ? compile_one("--normalize", o->normalize) : NULL;
	SCOPED struct buf program = {0};

	if (o->ignore.n == 0)
		return n;
	normalize_free(n);
	if ((o->normalize && buf_printf(&program, "(%s\n) | ", o->normalize) < 0) ||
		buf_printf(&program, ". as $message | try delpaths([%.*s]) catch $message", (int)o->ignore.n, o->ignore.p) < 0 ||
		!buf_string(&program))
		cli_no_memory(name);
	return compile_one("--ignore", program.p);
}

int
main(int argc, char **argv)
{
	/* All that these hold lasts until the process ends. */
	static struct diff_options o = {.limit = MAX_LINE, .match = MATCH_SHAPE, .max_slower = -1};
	static struct diff d = {.options = &o};
	struct cli_line line;
	char **words;
	int status;

	if (proc_open_stdio() < 0)
		return EXIT_FAILED;
	cli_read(&tool, argc, argv, &o, &line);
	cli_files(&line);
	home_files(&line);
	words = line.words;
	if (!words[0] || !words[1] || words[2])
		cli_die(EXIT_USAGE, name, "expected two recordings; try acp-diff --help");
	if (strcmp(words[0], "-") == 0 && strcmp(words[1], "-") == 0)
		cli_die(EXIT_USAGE, name, "only one recording can come from standard input");
	o.path[RECORDED] = words[0];
	o.path[LIVE] = words[1];
	d.normalize = compile(&o);
	load(&d, RECORDED);
	load(&d, LIVE);
	/* A check for leaks does not find jq's own pointers. */
	normalize_free(d.normalize);
	if (d.nentries == 0)
		cli_die(EXIT_USAGE, name, "--normalize leaves out every message: there is nothing to compare");
	if (o.label)
		d.file[LIVE].path = o.label;
	d.ids = ids_new(o.keep_paths);
	diff_must(d.ids ? 0 : -1);
	diff_run(&d);
	if (o.max_slower >= 0)
		compare_times(&d);
	status = report_write(&d);
	if (status == 0 && (d.differences || d.slower))
		return EXIT_NEGATIVE;
	if (status == 0 && o.max_slower >= 0 && d.ntimes == 0)
		cli_die(EXIT_USAGE, name, "--max-slower: no method has 5 responses with times in both recordings: nothing was compared");
	return status;
}
