/* frame_options: what the command lines of all filters have in common; it fills in struct frame_options. */
#ifndef FRAME_OPTIONS_H
#define FRAME_OPTIONS_H

#include <getopt.h>

#include "lib/base/cli.h"
#include "lib/frame/frame.h"

struct transport;

/* What the command line says. */
struct frame_options {
	bool reads;              /* set by the tool: it reads recordings, too */
	char **files;            /* the recordings, NULL-terminated; or NULL: a stream */
	const char *output;      /* --output, or NULL */
	bool append;             /* --append */
	const struct transport *transport; /* --way, or NULL */
	const char *attach;      /* --attach: a socket, or "auto"; or NULL */
	const char *hop;         /* --hop: which one of those that the chain relays: a number or a name; or NULL */
	char *const *command;    /* after --, or NULL */
	size_t limit;            /* --max-line, bytes */
	uint64_t grace;          /* --grace, us */
	bool clean;              /* --clean: noise to stderr instead of on */
	const int *signals;      /* signals for FRAME_SIGNAL besides SIGUSR1 with a log, 0 at the end; or NULL */
	const char *of_stream;   /* the last of these options that was given and that only a stream has a use for, or NULL */
};

/* --max-line and --grace where they are not given. */
enum { FRAME_LIMIT = 64 * 1024 * 1024, FRAME_GRACE = 5 * 1000 * 1000 };

/* The entries for getopt_long, and what it returns for them. A tool for which noise can go on has --clean too. */
enum { FRAME_OPTION_MAX_LINE = 0x10000, FRAME_OPTION_WAY, FRAME_OPTION_GRACE, FRAME_OPTION_CLEAN, FRAME_OPTION_ATTACH,
	FRAME_OPTION_HOP };
#define FRAME_LONG_OPTIONS \
	{"max-line", required_argument, NULL, FRAME_OPTION_MAX_LINE}, \
	{"way", required_argument, NULL, FRAME_OPTION_WAY}, \
	{"grace", required_argument, NULL, FRAME_OPTION_GRACE}
#define FRAME_LONG_OPTION_CLEAN {"clean", no_argument, NULL, FRAME_OPTION_CLEAN}
/* And one that can watch a chain that runs, or send to it, these. --hop is also for recordings. */
#define FRAME_LONG_OPTIONS_ATTACH \
	{"attach", required_argument, NULL, FRAME_OPTION_ATTACH}, \
	{"hop", required_argument, NULL, FRAME_OPTION_HOP}
/* All that one has which watches a stream, or reads recordings, and writes what it finds. */
#define FRAME_LONG_OPTIONS_WATCH \
	{"output", required_argument, NULL, 'o'}, \
	{"append", no_argument, NULL, 'a'}, \
	FRAME_LONG_OPTIONS_ATTACH, \
	FRAME_LONG_OPTION_CLEAN, \
	FRAME_LONG_OPTIONS
/* What --help prints for --attach, --hop and --clean; and for --way, --grace, --help and --version. */
#define FRAME_HELP_WATCH \
	"      --attach SOCKET|auto  watch a running stream; see acp-share\n" \
	"      --hop N|NAME      which hop of the running stream or recording (0)\n" \
	"      --clean           write lines that are not messages to stderr instead of\n" \
	"                        forwarding them\n"
#define FRAME_HELP \
	"      --way pipe|link|proxy  how to connect to the stream (detected)\n" \
	"      --grace TIME      how long to wait for the agent to end (5s)\n" \
	"  -h, --help            print this text\n" \
	"  -V, --version         print the version\n"

/*
 * For cmd only, as it ends the process where the command line makes no sense: reads all of it. take sees each option first, of
 * which the shared ones are taken here. Notes the facts "recordings" and "a command".
 */
void frame_read(struct frame_options *, const struct cli *, int argc, char **argv, struct cli_given *,
	void (*take)(void *, int option, const char *argument), void *arg);
/* 1: it is one of these, and taken; 0: it is none; -1: *why says what was expected instead of the argument. */
int frame_option(struct frame_options *, int option, const char *argument, const char **why);
/*
 * The words behind the options: files, or behind "--" a command. dashes: "--" has ended the options. *files:
 * NULL-terminated, or NULL; files NULL: the tool reads none. 0; -1 where the words, or the options with them, make
 * no sense, and *why says so (the caller frees it; NULL when out of memory).
 */
int frame_words(struct frame_options *, char **words, bool dashes, char ***files, char **why);
/* Is this process a link of a chain, or a proxy: is standard input half of a stream, not all there is to read? */
bool frame_is_wired(void);

#endif
