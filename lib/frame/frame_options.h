/* frame_options: the options that all filters have in common, read into struct frame_options. */
#ifndef FRAME_OPTIONS_H
#define FRAME_OPTIONS_H

#include "lib/base/cli_line.h"
#include "lib/frame/frame.h"

enum frame_way { FRAME_DETECTED, FRAME_PIPE, FRAME_LINK, FRAME_PROXY };

struct frame_options {
	bool reads;              /* set by the tool: it can also read recordings */
	char **files;            /* the recordings, NULL-terminated; NULL: the tool reads a stream */
	const char *output;      /* --output, or NULL */
	bool append;             /* --append */
	enum frame_way way;      /* --way */
	const char *attach;      /* --attach: a socket, or "auto"; or NULL */
	const char *hop;         /* --hop: the number or the name of a hop; or NULL */
	char *const *command;    /* after --, or NULL */
	size_t limit;            /* --max-line, bytes */
	uint64_t grace;          /* --grace, us */
	bool follow;             /* --follow (lib/watch): the recordings are read as they grow */
	bool clean;              /* --clean: noise goes to stderr, and is not forwarded */
	const int *signals;      /* signals that become FRAME_SIGNAL, 0 at the end; or NULL. With a log, SIGUSR1 does, too */
};

/* The defaults of --max-line, in bytes, and --grace, in us. */
enum { FRAME_LIMIT = 64 * 1024 * 1024, FRAME_GRACE = 5 * 1000 * 1000 };

/* The options of every filter; those of a tool that reads a stream or recordings, and writes a report. */
extern const struct cli_option frame_options[], frame_watch_options[];
/* Texts of --help: for --attach, --hop and --clean; for --follow (lib/watch); for --way, --grace, --help and --version. */
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
 * Reads a whole command line: the options into `into`, of which the frame_options are a part, and the words after them: recordings,
 * if the tool reads any, or a command. Notes the facts "recordings", "one recording" and "a command". For cmd only: an error exits.
 */
void frame_read(struct frame_options *, const struct cli_tool *, int argc, char **argv, void *into, struct cli_line *);
/* Makes standard input the recording if the command line names none. always: also if this process is a part of a chain. */
void frame_read_stdin(struct frame_options *, bool always);

#endif
