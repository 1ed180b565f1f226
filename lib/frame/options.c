/* Reads the options that all filters have in common. */
#include <locale.h>
#include <string.h>

#include "lib/frame/frame_parts.h"
#include "lib/recording/home.h"

const struct cli_option frame_options[] = {
	{"max-line", 0, CLI_BYTES(struct frame_options, limit)},
	{"way", 0, CLI_WORD(struct frame_options, way, "pipe", "link", "proxy"), .value = FRAME_PIPE},
	{"grace", 0, CLI_DURATION(struct frame_options, grace)},
	{0},
};

const struct cli_option frame_watch_options[] = {
	{"output", 'o', CLI_TEXT(struct frame_options, output)},
	{"append", 'a', CLI_FLAG(struct frame_options, append)},
	{"attach", 0, CLI_TEXT(struct frame_options, attach)},
	{"hop", 0, CLI_TEXT(struct frame_options, hop)},
	{"clean", 0, CLI_FLAG(struct frame_options, clean)},
	{CLI_HERE(frame_options)},
	{0},
};

/* A running stream is connected already, and a recording needs no connection. */
static const struct cli_rule rules[] = {
	{"--way|--grace|--clean", NULL, "--attach|recordings"},
	{"--way", NULL, "a command"},
	{NULL, NULL, NULL},
};

/* Reads the words after the options: recordings, or after "--" a command. */
static void
read_words(struct frame_options *o, const struct cli_line *line)
{
	const char *name = line->tool->name;
	char **words = line->words, **end = words;

	while (o->reads && !line->dashes && *end && strcmp(*end, "--") != 0)
		end++;
	if (line->dashes || (o->reads && *end))
		o->command = line->dashes ? words : end + 1;
	/* An attached tool starts no command, and reads only the running chain. */
	if (o->attach && o->command)
		cli_die(EXIT_USAGE, name, "--attach joins a running stream, and takes no command");
	if (o->attach && *words)
		cli_die(EXIT_USAGE, name, "%s: --attach takes no operands", *words);
	if (!o->reads && !line->dashes && *words)
		cli_die(EXIT_USAGE, name, "%s: a command goes after --", *words);
	if (end > words)
		home_files(line);
	if (end > words && cli_is_program(*words))
		cli_die(EXIT_USAGE, name, "%s is a program, not a recording: a command goes after --", *words);
	if (end > words)
		cli_files(line);
	if (o->command && end > words)
		cli_die(EXIT_USAGE, name, "%s: give either recordings or a command", *words);
	if (o->command && !o->command[0])
		cli_die(EXIT_USAGE, name, "no command after --");
	o->files = end > words ? words : NULL;
}

void
frame_read(struct frame_options *o, const struct cli_tool *tool, int argc, char **argv, void *into, struct cli_line *line)
{
	setlocale(LC_CTYPE, "");
	o->limit = FRAME_LIMIT;
	o->grace = FRAME_GRACE;
	cli_read(tool, argc, argv, into, line);
	read_words(o, line);
	cli_note(line, o->files, "recordings");
	cli_note(line, o->files && !o->files[1], "one recording");
	cli_note(line, o->command, "a command");
	cli_check(line, rules);
	if (o->append && !o->output)
		cli_die(EXIT_USAGE, tool->name, "--append requires --output");
}

void
frame_read_stdin(struct frame_options *o, bool always)
{
	static char dash[] = "-";
	static char *standard_input[] = {dash, NULL};

	if (!o->files && (always || !(o->command || o->attach || o->way || frame_is_wired())))
		o->files = standard_input;
}
