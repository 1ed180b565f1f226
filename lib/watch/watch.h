/*
 * watch: the common part of the tools that only look. A tool gives one struct of functions; watch calls them for a running stream (as a
 * filter, or attached), for recordings and for growing files (--follow) alike:
 *
 *	begin, header     at the beginning of a stream, of a recording in a file, and of a file without a header
 *	happened          for each event of lib/session, before the `message` that caused it
 *	message, event    for each message, and for each record that is no message
 *	end               at the end of a stream or recording that does not go on in the next file
 *	tick              when all that has come was shown, and at the time that the tool asked for
 *	finish            when all has been read: writes the report
 *
 * watch reports errors of operands, of the output and of the stream.
 */
#ifndef WATCH_H
#define WATCH_H

#include "lib/acp/shape.h"
#include "lib/attach/attach.h"
#include "lib/filter/choice.h"
#include "lib/filter/select.h"
#include "lib/frame/frame_options.h"
#include "lib/recording/operands.h"
#include "lib/run/replace.h"
#include "lib/session/session.h"

struct loop;
struct watch;

/* A stream or recording that begins. */
struct watch_start {
	const char *name;      /* of the file; NULL: a running stream */
	double started;        /* s since 1970, or 0 */
	struct slice header;   /* the header's line; p NULL: there is none */
	bool continues, selected; /* as struct record has them */
	bool same;             /* it is the next part of the recording before, which has not ended */
	char *const *command;  /* of a stream: the agent's command, or NULL */
	const struct record *lost; /* not NULL: nothing begins; a log goes on after this loss */
};

/* How a stream or recording ends. HEADER: another one follows in its file. CUT: it goes on in a file that is not read. */
enum watch_ending { WATCH_OPEN, WATCH_OVER, WATCH_HEADER, WATCH_CUT };

/* Each function may be NULL. An int is 0, or -1 out of memory, which watch reports. */
struct watch {
	/* The tool sets these, and zeroes the others. */
	const char *name;      /* "acp-tap" */
	void *state;           /* for the tool */
	const struct frame_options *frame;
	const struct session_limits *limits;
	struct select *select; /* for watch_missed: the selection of messages; or NULL */
	const char *session;   /* --session: the beginning or end of the id; NULL: all */
	const int *signals;    /* for `signal`, with a 0 at the end; or NULL */
	const char *lost;      /* the text for stderr if messages of a stream were lost; or NULL */
	char *const *inputs;   /* the files that are read, none of which may be the output; NULL: frame->files */
	bool replaces;         /* only watch_replace writes --output, so that its contents are always whole */
	bool counts_events;    /* a file with events only is not empty */
	bool takes_bad;        /* malformed records go to `event`, as RECORD_BAD, and are not reported */
	bool expects;          /* a stream without a message is worth a warning */
	unsigned needs;        /* as in struct filter */
	/* Called before anything is read. Reports errors itself, and returns an exit status. */
	int (*open)(struct watch *);
	int (*begin)(struct watch *, const struct watch_start *);
	/* Appends the beginning of the output for a recording or stream. */
	int (*header)(struct watch *, struct buf *to, const struct watch_start *);
	void (*happened)(struct watch *, const struct session_event *);
	/* seen: from sessions_see; NULL if `happened` is NULL. */
	int (*message)(struct watch *, const struct message *, const struct session_message *seen);
	/* A line that is no message, the end of a side, an exit or a loss. A running stream has them as records, too. */
	int (*event)(struct watch *, const struct record *);
	/* cut: another header follows, or the file cannot be read further, or it goes on in a file that is not read. */
	int (*end)(struct watch *, bool cut);
	/* quiet: nothing has come for two seconds. Returns when to call it again, us on the clock of `now`; or 0. */
	uint64_t (*tick)(struct watch *, uint64_t now, bool quiet);
	void (*signal)(struct watch *, int signal);
	/* Called before and (over) after a line on stderr, for a tool that keeps other text on the terminal. */
	void (*aside)(struct watch *, bool over);
	/* Returns the exit status: the given one, unless it finds a worse one. */
	int (*finish)(struct watch *, int status);
	/* For a tool that adds up reports, in place of all these functions: as for operands_lines. At a file's end line.p is NULL. */
	int (*line)(struct watch *, struct slice line, const char **why);
	/* Returns the next place in these lines that may matter to the tool, or end; called from the first message on. */
	const char *(*find)(struct watch *, const char *from, const char *end);

	/* The tool reads these. */
	struct out out;
	struct sessions *sessions; /* if `happened` is set */
	struct frame *stream;  /* NULL: files are read */
	const char *file;      /* the name of the file that is read */
	uint64_t number;       /* of the record in the file, or of the line in its direction; 0: not known */
	enum watch_ending ending; /* during `happened` and `end` at an end; else WATCH_OPEN */
	uint64_t t;            /* of the message, us, as it is written; times may go back */
	bool timed;            /* the record has a time */
	bool first;            /* the line is the first of its file */
	bool relayed;          /* the agent's line of stderr was already written to our stderr */
	bool any;              /* there was a message */
	bool failed;           /* out of memory, or set by the tool: the exit status is that of a failure */
	bool done;             /* set by the tool: it needs no more of any file; a stream goes on */
	bool leave;            /* set by the tool: it needs no more of this file */
	struct operands operands; /* private from here on; but a tool with takes_bad sets operands.bad */
	struct choice choice;
	struct replace replaced_output;
	struct shapes shapes;  /* of a stream */
	bool lossy;            /* messages of the stream were lost */
	uint64_t offset;       /* of the line, in its file */
};

/* The rows of FRAME_HELP_WATCH and FRAME_HELP_FOLLOW: frame_watch_options and --follow. */
extern const struct cli_option watch_options[];

/* Runs the tool. Returns the exit status. */
int watch_run(struct watch *);
/*
 * Begins to attach to the socket of a shared stream, in the caller's loop, without waiting. Only name, frame->limit, limits and the
 * functions from begin to end of the watch are used; malformed records go to `event`. over is called once, when the stream has ended or
 * (why) cannot be attached; it may free the guest. Returns NULL with *why, which the caller frees, or which is NULL out of memory.
 */
struct watch_guest;
struct watch_guest *watch_attach(struct watch *, struct loop *, const char *socket, enum attach_want,
	void (*over)(struct watch *, const char *why), char **why);
/* Sends a record to the shared stream, after `begin`, unless the guest only watches. 0, or -1 out of memory. */
int watch_send(struct watch_guest *, struct slice record);
/* Frees the guest (or NULL), without an event. The watch keeps its sessions until watch_forget frees them. */
void watch_detach(struct watch_guest *);
void watch_forget(struct watch *);
/* Writes a line to stderr, after the tool's name; watch_warn also writes the name of the file that is read. */
void watch_say(struct watch *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void watch_warn(struct watch *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Reports once that memory ran out, and sets `failed`. */
void watch_fail(struct watch *);
/* Writes the committed bytes of `out`; of a running stream only as many as it can write without waiting. */
void watch_print(struct watch *);
/* Writes contents to --output: with `replaces` in place of the old contents, else after them. Reports an error, and sets `failed`. */
void watch_replace(struct watch *, struct slice contents);
/* Does --session (choice.h) select the session with this id, plain text? Reports once if several sessions fit. */
bool watch_wants(struct watch *, struct slice id);
/* For `finish`: were there messages, but none that the user selected? Reports that, with what there is. */
bool watch_missed(struct watch *);

#endif
