/*
 * frame: what all filters have in common. It meets the stream in the way that fits (attach, wrap, link,
 * proxy, pipe), turns each into the same two lanes of plain messages, and owns reading, order,
 * queues, backpressure, children, signals and the exit status. A filter is a struct filter.
 */
#ifndef FRAME_H
#define FRAME_H

#include <stdint.h>

#include "lib/loop.h"
#include "lib/requests.h"

struct frame;

enum frame_way { FRAME_AUTO, FRAME_ATTACH, FRAME_WRAP, FRAME_LINK, FRAME_PROXY, FRAME_PIPE };

/* What a filter needs from the way it meets the stream. */
enum {
	FRAME_WATCH = 0,       /* it changes nothing: noise and long lines pass */
	FRAME_EDIT = 1,        /* it changes, drops or holds: noise goes to stderr */
	FRAME_BOTH_LANES = 2,  /* it has to see both directions */
	FRAME_ANSWER = 4,      /* it answers messages or sends its own (implies both lanes) */
	FRAME_SEND = 8,        /* it sends its own, and that is all it does (implies both lanes; noise goes to stderr) */
};

/* What becomes of a message. */
enum verdict {
	VERDICT_PASS, /* with the replacements made by frame_replace, if any */
	VERDICT_DROP,
	VERDICT_HOLD, /* after frame_hold: it steps out of the line until it is released */
};

enum frame_event_kind {
	FRAME_NOISE,  /* a line that is no message: text; why is MSG's error */
	FRAME_STDERR, /* a line of the agent's stderr: text */
	FRAME_EOF,    /* a side has ended: from, torn */
	FRAME_EXIT,   /* the agent has ended: status as waitpid has it */
	FRAME_LOST,   /* attach: messages went by that did not get here: count; text: why */
	FRAME_LONG,   /* a line beyond the limit went by or was refused: size so far unknown, text its first bytes */
};

struct frame_event {
	enum frame_event_kind kind;
	enum acp_side from;
	uint64_t t;        /* us since the start */
	uint64_t number;   /* of the line, in its lane */
	struct slice text;
	bool torn;
	int status;
	uint64_t count;
	struct json_error why;
};

/* A line on its way out, as it will stand on the wire: in a proxy chain with the envelope and the ids of that hop. */
struct leaving {
	struct slice text;   /* without its newline */
	struct slice inside; /* the message itself: all of text, or what its envelope carries */
	uint64_t number;     /* that of the line it came in: seen.number */
	bool torn;           /* it has no newline */
};

/* What a filter owes to a lane whose lines it has taken. */
enum frame_debt {
	FRAME_EVEN,
	FRAME_OWES,      /* more is to come: the lane does not end before */
	FRAME_OWES_FULL, /* and nothing is read for it meanwhile (in a proxy chain for neither lane: they come in one pipe) */
};

/*
 * A filter: a name for diagnostics and a few functions, all optional but message. They get the
 * filter's own state. A filter never touches a descriptor of the stream.
 */
struct filter {
	const char *name; /* "acp-tap" */
	unsigned needs;   /* FRAME_EDIT | ... */
	void *state;
	/* Once, when the way is known and before the first message. -1: the tool can not go on (it has said why). */
	int (*start)(void *state, struct frame *);
	/* Each message; of a batch each entry in turn (a filter without FRAME_EDIT also sees those that are MSG_NOISE). */
	enum verdict (*message)(void *state, struct frame *, enum lane, const struct seen *);
	/* The answer to a request of the filter's own (frame_request), seen by nobody else. */
	void (*answer)(void *state, struct frame *, void *tag, const struct seen *);
	void (*event)(void *state, struct frame *, const struct frame_event *);
	/*
	 * Each line that leaves for a lane, noise and what the frame sends of its own included, behind its messages: for
	 * filters that work on lines. VERDICT_PASS: it goes. VERDICT_DROP: it is gone, and its requests are forgotten.
	 * VERDICT_HOLD: the filter has copied it and puts what is to become of it itself (frame_put). To such a filter a
	 * line beyond the limit is noise, as to one that edits; other noise passes.
	 */
	enum verdict (*leave)(void *state, struct frame *, enum lane, const struct leaving *);
	/* The time that frame_alarm asked for has come. */
	void (*timer)(void *state, struct frame *);
	/* All that one read brought has been shown and is about to be passed on. */
	void (*flush)(void *state, struct frame *);
	/* Something has been written or read: where frame_full kept the filter from adding, it may look again. */
	void (*settled)(void *state, struct frame *);
	/* SIGUSR1 (or another signal named in frame_options.signals). */
	void (*caught)(void *state, struct frame *, int signal);
	/* After the last message, while own messages can still be sent. Returns an exit status that counts where the agent's is 0. */
	int (*end)(void *state, struct frame *);
};

struct frame_options {
	enum frame_way way;      /* --way */
	const char *attach;      /* --attach: a socket, or "auto"; or NULL */
	const char *hop;         /* --hop where attached: a number or a name, or NULL */
	char *const *command;    /* after --, or NULL */
	size_t limit;            /* --max-line, bytes */
	uint64_t grace;          /* --grace, us */
	bool clean;              /* --clean: noise to stderr instead of on */
	const int *signals;      /* more signals for filter.caught, 0 at the end; or NULL */
};

/* --max-line and --grace where they are not given. */
enum { FRAME_LIMIT = 64 * 1024 * 1024, FRAME_GRACE = 5 * 1000 * 1000 };

/* Runs a filter to its end. Returns the tool's exit status (DESIGN, rule 7); has said on stderr what there was to say. */
int frame_run(const struct filter *, const struct frame_options *);

/* --- for filters, from inside their functions --- */

enum frame_way frame_way(const struct frame *);
struct loop *frame_loop(struct frame *);
/* us since the start (where attached, the chain's), of what is being shown. */
uint64_t frame_now(const struct frame *);
/* Wall clock of that start, seconds since 1970. */
double frame_started(const struct frame *);

/* Replaces a slice of the message that is being shown (with is copied). Then return VERDICT_PASS. 0, or -1 out of memory. */
int frame_replace(struct frame *, struct slice what, struct slice with);
/*
 * Takes the message that is being shown out of the line; return VERDICT_HOLD. NULL when out of memory. Its
 * text (frame_held_text) is a copy of the whole message. frame_release lets it go on behind what
 * has gone on since, as `text` (p NULL: as it came), or drops it.
 */
struct held;
struct held *frame_hold(struct frame *);
struct slice frame_held_text(const struct held *);
void frame_release(struct frame *, struct held *, enum verdict, struct slice text);

/* Puts a whole message (JSON text) into a lane as if it had come that way, ahead of what is being shown. 0 or -1. */
int frame_emit(struct frame *, enum lane, struct slice message);
/* Sends a request of the filter's own into a lane, with an id that can not clash; the answer comes to filter.answer with tag. 0 or -1. */
int frame_request(struct frame *, enum lane, const char *method, struct slice params, void *tag);
int frame_notify(struct frame *, enum lane, const char *method, struct slice params);
/* Cancels the filter's own requests with this tag ($/cancel_request). Their answers still come. 0 or -1. */
int frame_cancel(struct frame *, const void *tag);
/*
 * A filter may watch descriptors, timers and children of its own on frame_loop. What their functions
 * put into a lane goes on its way when they call frame_settle at their end. Before they add more
 * than was asked for they look whether the lane is full; filter.settled says when to look again.
 */
void frame_settle(struct frame *);
bool frame_full(struct frame *, enum lane);
/*
 * Answers a request in the other side's place: the one that is held, or with NULL the one that is
 * being shown; then drop it. result and data are JSON text. In a batch the answer joins the array
 * of answers. 0 or -1.
 */
int frame_answer(struct frame *, struct held *, struct slice result);
int frame_refuse(struct frame *, struct held *, int code, const char *message, struct slice data);
/* The same with an error object (JSON text) that somebody else has made. */
int frame_refuse_with(struct frame *, struct held *, struct slice error);

/* Puts bytes into a lane as they are, newline included: behind a whole line. 0, or -1 out of memory. */
int frame_put(struct frame *, enum lane, struct slice bytes);
/* Says what is owed to a lane from now on; nothing at first. */
void frame_owe(struct frame *, enum lane, enum frame_debt);
/* Calls filter.timer once when frame_now has reached this, instead of what was asked for before. 0, or -1 out of memory. */
int frame_alarm(struct frame *, uint64_t when);
/*
 * Ends with this status, whatever the agent's, as soon as what is queued has been written: nothing more is read or
 * shown, a wrapped agent and all of its group are killed.
 */
void frame_quit(struct frame *, int status);

/* One line on stderr: "acp-tap: ...". Never waits; where stderr is full it is left out. */
void frame_say(struct frame *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The tool goes on, but its exit status will be at least this where the agent's is 0. */
void frame_fail(struct frame *, int status);

#endif
