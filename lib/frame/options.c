#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/cli.h"
#include "lib/frame/frame_parts.h"

static int
take_transport(struct frame_options *o, const char *argument, const char **why)
{
	static const struct transport *const named[] = {&transport_pipe, &transport_link, &transport_proxy};
	size_t i;

	for (i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		if (strcmp(named[i]->name, argument) == 0) {
			o->transport = named[i];
			o->of_stream = "--way";
			return 1;
		}
	}
	*why = "expected pipe, link or proxy";
	return -1;
}

int
frame_option(struct frame_options *o, int option, const char *argument, const char **why)
{
	switch (option) {
	case 'o':
		o->output = argument;
		return 1;
	case 'a':
		o->append = true;
		return 1;
	case FRAME_OPTION_MAX_LINE:
		*why = cli_want_bytes;
		return cli_bytes(argument, &o->limit) < 0 ? -1 : 1;
	case FRAME_OPTION_WAY:
		return take_transport(o, argument, why);
	case FRAME_OPTION_GRACE:
		*why = cli_want_duration;
		o->of_stream = "--grace";
		return cli_duration(argument, &o->grace) < 0 ? -1 : 1;
	case FRAME_OPTION_CLEAN:
		o->of_stream = "--clean";
		o->clean = true;
		return 1;
	case FRAME_OPTION_ATTACH:
		o->attach = argument;
		return 1;
	case FRAME_OPTION_HOP:
		o->hop = argument;
		return 1;
	}
	return 0;
}

__attribute__((format(printf, 2, 3))) static int
refuse(char **why, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	*why = bytes_vprintf(format, args);
	va_end(args);
	return -1;
}

/* A chain that runs: nothing is started here, and nothing passes. */
static int
check_attached(const struct frame_options *o, char *const *words, char **why)
{
	if (o->command)
		return refuse(why, "--attach joins a running stream, and takes no command");
	if (*words)
		return refuse(why, "%s: --attach takes no operands", *words);
	if (o->of_stream)
		return refuse(why, "%s does not go with --attach", o->of_stream);
	return 0;
}

int
frame_words(struct frame_options *o, char **words, bool dashes, char ***files, char **why)
{
	char **end = words;

	while (files && !dashes && *end && strcmp(*end, "--") != 0)
		end++;
	if (dashes || (files && *end))
		o->command = dashes ? words : end + 1;
	if (o->attach)
		return check_attached(o, words, why);
	if (!files && !dashes && *words)
		return refuse(why, "%s: a command goes after --", *words);
	if (!files && o->hop)
		return refuse(why, "--hop requires --attach");
	if (end > words && cli_is_program(*words))
		return refuse(why, "%s is a program, not a recording: a command goes after --", *words);
	if (o->command && end > words)
		return refuse(why, "%s: give either recordings or a command", *words);
	if (o->command && !o->command[0])
		return refuse(why, "no command after --");
	if (o->command && o->transport)
		return refuse(why, "--way does not go with a command");
	if (end > words && o->of_stream)
		return refuse(why, "%s does not go with recordings", o->of_stream);
	if (files)
		*files = end > words ? words : NULL;
	return 0;
}

/* The options that tools share. */
static void
take_shared(struct frame_options *o, const struct cli *cli, int option, const char *argument)
{
	const char *why = NULL;

	if (frame_option(o, option, argument, &why) < 0)
		cli_bad(cli, option, argument, why);
}

void
frame_read(struct frame_options *o, const struct cli *cli, int argc, char **argv, struct cli_given *given,
	void (*take)(void *, int option, const char *argument), void *arg)
{
	char *why;
	int option;

	setlocale(LC_CTYPE, "");
	o->limit = FRAME_LIMIT;
	o->grace = FRAME_GRACE;
	while ((option = cli_next(cli, argc, argv, given)) != -1) {
		take(arg, option, optarg);
		take_shared(o, cli, option, optarg);
	}
	if (frame_words(o, argv + optind, given->dashes, o->reads ? &o->files : NULL, &why) < 0)
		cli_refuse(cli, why);
	cli_fact(given, o->files, "recordings");
	cli_fact(given, o->command, "a command");
}
