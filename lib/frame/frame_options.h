/* frame_options: what the command lines of all filters have in common; it fills in struct frame_options. */
#ifndef FRAME_OPTIONS_H
#define FRAME_OPTIONS_H

#include "lib/base/cli_line.h"
#include "lib/frame/frame.h"

enum frame_way { FRAME_DETECTED, FRAME_PIPE, FRAME_LINK, FRAME_PROXY };

/* What the command line says. */
struct frame_options {
	bool reads;              /* set by the tool: it reads recordings, too */
	char **files;            /* the recordings, NULL-terminated; or NULL: a stream */
	const char *output;      /* --output, or NULL */
	bool append;             /* --append */
	enum frame_way way;      /* --way */
	const char *attach;      /* --attach: a socket, or "auto"; or NULL */
	const char *hop;         /* --hop: which one of those that the chain relays: a number or a name; or NULL */
	char *const *command;    /* after --, or NULL */
	size_t limit;            /* --max-line, bytes */
	uint64_t grace;          /* --grace, us */
	bool follow;             /* --follow (lib/watch): what is read may grow */
	bool clean;              /* --clean: noise to stderr instead of on */
	const int *signals;      /* signals for FRAME_SIGNAL besides SIGUSR1 with a log, 0 at the end; or NULL */
};

/* --max-line and --grace where they are not given. */
enum { FRAME_LIMIT = 64 * 1024 * 1024, FRAME_GRACE = 5 * 1000 * 1000 };

/* The options of every filter; and of one that watches a stream, or reads recordings, and writes what it finds. */
extern const struct cli_option frame_options[], frame_watch_options[];
/* What --help prints for --attach, --hop and --clean; for --follow (lib/watch); and for --way, --grace, --help and --version. */
#define FRAME_HELP_WATCH \
	"      --attach SOCKET|auto  watch a running stream; see acp-share\n" \
	"      --hop N|NAME      this hop of the recording (0); of a stream, by name\n" \
	"      --clean           write lines that are not messages to stderr instead of\n" \
	"                        forwarding them\n"
#define FRAME_HELP_FOLLOW \
	"  -F, --follow          keep reading as the recording grows\n"
#define FRAME_HELP \
	"      --way pipe|link|proxy  how to connect to the stream (detected)\n" \
	"      --grace TIME      how long to wait for the agent to end (5s)\n" \
	"  -h, --help            print this text\n" \
	"  -V, --version         print the version\n"

/*
 * For cmd only, as it ends the process where the command line makes no sense: reads all of it, the options of `into`, of which these
 * are a part, and the words after them: recordings, if the tool reads any, or a command. Notes the facts "recordings" and "a command".
 */
void frame_read(struct frame_options *, const struct cli_tool *, int argc, char **argv, void *into, struct cli_line *);
/* Where nothing is named that is read, and this process is no part of a chain either (or always): standard input is a recording. */
void frame_read_stdin(struct frame_options *, bool always);

#endif
