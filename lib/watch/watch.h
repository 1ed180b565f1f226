/*
 * watch: what tools share that only look: one struct, and nothing in it says whether a stream that runs (as a filter, or attached), a
 * list of recordings or a file that grows (--follow) drives it.
 *
 *	begin, header     a stream or a recording begins: once for a stream, for each header of a file, and for a file without one
 *	message, event    what is in it; `happened`, where it is set, gets what lib/session makes of the messages, before `message`
 *	end               it has ended, and does not go on in the next file
 *	tick              all that has come was shown, or the time that it asked for has come
 *	finish            all has been read: the report
 *
 * What is wrong with operands, the output or the stream is reported here, in one wording.
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

/* What begins. */
struct watch_start {
	const char *name;      /* of the file; NULL: a stream that runs */
	double started;        /* s since 1970, or 0 */
	struct slice header;   /* the header's line; p NULL: there is none */
	bool continues, selected; /* as struct record has them */
	bool same;             /* it is the next part of what is being read: that has not ended */
	char *const *command;  /* of a stream: what was started, or NULL */
	const struct record *lost; /* not NULL: a log goes on after this loss, and nothing begins */
};

/* Why a stream or recording ends: it is over; another header follows in its file; it goes on where it is not read. */
enum watch_ending { WATCH_OPEN, WATCH_OVER, WATCH_HEADER, WATCH_CUT };

/* All functions may be NULL. Those that return an int: 0, or -1 out of memory, which is reported. */
struct watch {
	/* Set these to begin, and zero the others. */
	const char *name;      /* "acp-tap" */
	void *state;           /* the tool's own */
	const struct frame_options *frame;
	const struct session_limits *limits;
	struct select *select; /* which messages the tool selects, or NULL: for watch_missed */
	const char *session;   /* --session: what the id begins or ends with; or NULL: all */
	const int *signals;    /* those that `signal` is called for, 0 at the end; or NULL */
	const char *lost;      /* what is said, once a stream, where messages are missing; or NULL */
	char *const *inputs;   /* all that is read: none of it may be the output; NULL: frame->files */
	bool replaces;         /* --output is written by watch_replace only: a file whose contents are always whole */
	bool counts_events;    /* a file whose records are all events is not empty */
	bool takes_bad;        /* records that cannot be read go to `event` only, as RECORD_BAD */
	bool expects;          /* a stream without a message is worth a warning */
	unsigned needs;        /* as of struct filter */
	/* Before anything is read. An exit status; what is wrong has been reported. */
	int (*open)(struct watch *);
	int (*begin)(struct watch *, const struct watch_start *);
	/* Appends what the output of a recording or stream begins with. */
	int (*header)(struct watch *, struct buf *to, const struct watch_start *);
	void (*happened)(struct watch *, const struct session_event *);
	/* seen: what lib/session says of it; NULL where `happened` is NULL. */
	int (*message)(struct watch *, const struct message *, const struct session_message *seen);
	/* A line that is no message, the end of a side, an exit, a loss: as a record, of a stream, too. */
	int (*event)(struct watch *, const struct record *);
	/* cut: by another header, or because the file cannot be read further, or goes on in one that is not read. */
	int (*end)(struct watch *, bool cut);
	/* quiet: nothing has come for two seconds. Returns when it wants to be called again, us on the clock of `now`; 0: not. */
	uint64_t (*tick)(struct watch *, uint64_t now, bool quiet);
	void (*signal)(struct watch *, int signal);
	/* A line on stderr comes; it has come: for who keeps something else on the terminal. */
	void (*aside)(struct watch *, bool over);
	/* Returns an exit status: this one, unless it has something worse to say. */
	int (*finish)(struct watch *, int status);
	/* For who adds up reports: each line of each file; at its end p is NULL. As operands_lines has it; instead of all above. */
	int (*line)(struct watch *, struct slice line, const char **why);
	/* For who can tell what does not matter: the next place in these lines that may, or their end. From the first message on. */
	const char *(*find)(struct watch *, const char *from, const char *end);

	/* For the tool. */
	struct out out;
	struct sessions *sessions; /* where `happened` is set */
	struct frame *stream;  /* NULL: files are read */
	const char *file;      /* the name of the one that is read */
	uint64_t number;       /* of its record, or of the line in its direction; 0: not known */
	enum watch_ending ending; /* while the end is handled, in `happened` and `end`; else WATCH_OPEN */
	uint64_t t;            /* of the message, us: as it is written, also where times go back */
	bool timed;            /* the record has a time */
	bool first;            /* the line is the first of its file */
	bool relayed;          /* the line of standard error that `event` gets stands on ours already */
	bool any;              /* there was a message */
	bool failed;           /* out of memory, or the tool says so: the exit status says it */
	bool done;             /* set by the tool: nothing more is wanted of any file; a stream goes on */
	bool leave;            /* likewise: nothing more of this one */
	struct operands operands; /* the module's own, but for `bad` where takes_bad is set */
	struct choice choice;
	struct replace replaced_output;
	struct shapes shapes;  /* of a stream */
	bool lossy;
	uint64_t offset;       /* of the line, in its file */
};

/* frame_watch_options, and --follow: FRAME_HELP_WATCH and FRAME_HELP_FOLLOW. */
extern const struct cli_option watch_options[];

/* Returns the exit status. */
int watch_run(struct watch *);
/*
 * One of several streams that are shared, in a loop of the caller's: begins to attach to a socket, and never waits. Of the watch name,
 * frame->limit, limits and the functions from begin to end count; records that cannot be read go to `event`. over is called once: the
 * stream has ended, or (why) it could not be attached; the guest may be freed then. NULL, and *why says why not (to be freed; NULL out
 * of memory).
 */
struct watch_guest;
struct watch_guest *watch_attach(struct watch *, struct loop *, const char *socket, enum attach_want,
	void (*over)(struct watch *, const char *why), char **why);
/* Sends a record, from `begin` on, to who does not only want to watch. 0, or -1 out of memory. */
int watch_send(struct watch_guest *, struct slice record);
/* Frees the guest, without an event. What the watch has of its sessions stays until watch_forget. NULL is none. */
void watch_detach(struct watch_guest *);
void watch_forget(struct watch *);
/* A line on stderr: "acp-tap: ..."; and the same with the name of the file that is read. */
void watch_say(struct watch *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void watch_warn(struct watch *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes what has been committed to `out`: beside a stream, as much as can be written without waiting. */
void watch_print(struct watch *);
/* Gives --output new contents, with `replaces` in place of the old ones. Where that fails it is reported, and `failed` is set. */
void watch_replace(struct watch *, struct slice contents);
/* Is the session of this id (plain text) the one that was asked for (choice.h)? That several fit is reported once. */
bool watch_wants(struct watch *, struct slice id);
/* For `finish`: was there something, but nothing of what was asked for? That is reported, with what there is. */
bool watch_missed(struct watch *);

#endif
