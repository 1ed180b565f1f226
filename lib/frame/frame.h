/*
 * frame: what all filters share. It connects to the stream by the transport that fits (attach, wrap, link, proxy, pipe), turns each
 * into the same two directions of plain messages, and owns reading, order, queues, backpressure, ids, children, signals and the
 * exit status. A filter is a struct filter, and never touches a descriptor of the stream.
 */
#ifndef FRAME_H
#define FRAME_H

#include <stdint.h>

#include "lib/acp/requests.h"
#include "lib/run/log.h"
#include "lib/run/loop.h"

struct frame;
struct frame_options; /* frame_options.h */
struct held;

/* What a filter needs. Without any it only watches: noise and long lines pass. */
enum {
	FILTER_EDITS = 1,    /* changes, discards or holds messages */
	FILTER_SENDS = 2,    /* replies and sends: needs both directions */
	FILTER_RESPONDS = 4, /* attached: responds to permission requests and elicitations, beside the client */
};

/* What becomes of a message or a line: HOLD after frame_hold. */
enum verdict { VERDICT_PASS, VERDICT_DROP, VERDICT_HOLD };

enum frame_event_kind {
	FRAME_NOISE,    /* a line that is no message: text; why */
	FRAME_STDERR,   /* a line of the agent's stderr: text; relayed: it is on ours already */
	FRAME_EOF,      /* a side has ended: from, torn */
	FRAME_EXIT,     /* the agent has ended: status as waitpid has it */
	FRAME_LOST,     /* attached: messages passed that did not get here: count; text: why */
	FRAME_LONG,     /* a line beyond the limit passed or was refused: text: its first bytes */
	FRAME_BATCH,    /* all that one read brought has been shown, and is about to be forwarded */
	FRAME_WRITABLE, /* something was written: frame_full may have changed */
	FRAME_TIMER,    /* the time that frame_timer asked for has come */
	FRAME_ROTATE,   /* the log's file is about to be opened anew */
	FRAME_SIGNAL,   /* one of frame_options.signals: status */
};

struct frame_event {
	enum frame_event_kind kind;
	enum acp_side from;
	uint64_t t;      /* us since the start */
	uint64_t number; /* of the line, in its direction */
	struct slice text;
	bool torn, relayed;
	int status;
	uint64_t count;
	struct json_error why;
};

/* A line as it will be on the wire: in a proxy chain with the envelope and the ids of that hop. */
struct outgoing_line {
	struct slice text;    /* without its newline */
	struct slice message; /* all of text, or what its envelope carries */
	uint64_t number;      /* of the line it came in: message.number */
	bool torn;            /* it has no newline */
};

/* A log beside the stream: nothing that happens to it stops the session. Written after each event, opened anew at SIGUSR1. */
struct frame_log {
	const char *path; /* as in lib/run/log.h, and so append and inputs */
	bool append;
	char *const *inputs;
	/* What it begins with; resumed: the notice that `lost` records were lost. 0, or -1 out of memory. May be NULL. */
	int (*begin)(void *state, struct frame *, struct buf *to, bool resumed, uint64_t lost, const char *why);
};

/* All functions are optional but message, and get the filter's own state. */
struct filter {
	const char *name; /* "acp-tap" */
	unsigned needs;   /* FILTER_EDITS | FILTER_SENDS */
	void *state;
	const struct frame_log *log; /* or NULL */
	/* Once, when the transport is known and before the first message. -1: the tool cannot go on (it has said why). */
	int (*start)(void *state, struct frame *);
	enum verdict (*message)(void *state, struct frame *, enum acp_direction, const struct message *);
	/* The response to a request of the filter's own (frame_request); nobody else sees it. */
	void (*response)(void *state, struct frame *, void *tag, const struct message *);
	void (*event)(void *state, struct frame *, const struct frame_event *);
	/* For filters that work on lines: each one that leaves, noise and the frame's own included, after its message. */
	enum verdict (*line)(void *state, struct frame *, enum acp_direction, const struct outgoing_line *);
	/* After the last message, while messages can still be sent. Returns an exit status that counts where the agent's is 0. */
	int (*end)(void *state, struct frame *);
	/* When all that was sent is written, and the client waits for nothing any more: the last chance to use frame_loop. */
	void (*close)(void *state, struct frame *);
};

/* Runs a filter to its end. Returns the tool's exit status (HACKING.md, rule 7); has said on stderr what there was to say. */
int frame_run(const struct filter *, const struct frame_options *);

/* --- for filters, from inside their functions. Those that return an int: 0, or -1 out of memory --- */

/* us since the start (attached: the chain's), of what is being shown; and that start, seconds since 1970. */
uint64_t frame_now(const struct frame *);
double frame_started(const struct frame *);
/* Nobody reads a reply: a one-way pipe. And: both directions come in one pipe, so that a paused one stops both. */
bool frame_is_one_way(const struct frame *);
bool frame_is_shared(const struct frame *);

/* Replaces a slice of the message that is being shown (with is copied). Then return VERDICT_PASS. */
int frame_replace(struct frame *, struct slice what, struct slice with);
/* Puts members (JSON text, such as "a":1) at the beginning of an object of the message. */
int frame_add_members(struct frame *, struct slice object, struct slice members);
/*
 * Takes the message or line that is being shown out of the stream; return VERDICT_HOLD. NULL when out of memory. Later ones pass it
 * until it is released, as text (p NULL: as it came), or dropped. A held line delays the end of its direction, and where
 * held lines exceed a megabyte, the direction is not read. owner: for frame_held_next.
 */
struct held *frame_hold(struct frame *, const void *owner);
struct slice frame_held_text(const struct held *);
/* What is held for this owner, oldest first: what follows `after`, or (NULL) the first. NULL: nothing more. */
struct held *frame_held_next(const struct frame *, const void *owner, const struct held *after);
/* The oldest request with this id of the sender of this direction that was passed on and has no response, or NULL. */
struct request *frame_open_request(struct frame *, enum acp_direction, struct slice id);
/* Is it the request with this id? */
bool frame_held_is(const struct held *, struct slice id);
void frame_release(struct frame *, struct held *, enum verdict, struct slice text);
/* Releases a held message so that filter.message is called with it, as if it came only now. */
void frame_show_again(struct frame *, struct held *);

/* Replies to a request in the other side's place: to the one that is held, or (NULL) being shown; then drop it. JSON text. */
int frame_reply(struct frame *, struct held *, struct slice result);
int frame_reply_error(struct frame *, struct held *, int code, const char *message);
int frame_reply_error_object(struct frame *, struct held *, struct slice error);
/* The same for one that was passed on (frame_open_request), with a response of any id. Its receiver is sent a $/cancel_request, and
 * what that responds comes to filter.response with a tag of NULL. */
int frame_respond(struct frame *, struct request *, struct slice response);

/* Send into a direction, ahead of what is being shown: a message as if it had come that way; a notification; a request, whose
 * response comes to filter.response with tag; a $/cancel_request for the filter's requests with this tag; bytes as they are, on a
 * line of their own, or (more) further bytes of that line. */
int frame_send(struct frame *, enum acp_direction, struct slice message);
int frame_notify(struct frame *, enum acp_direction, const char *method, struct slice params);
int frame_request(struct frame *, enum acp_direction, const char *method, struct slice params, void *tag);
int frame_cancel(struct frame *, const void *tag);
/* The same as frame_request with a request that somebody else made: an id of the filter's own replaces its id.
 * What was sent is appended to `sent`. */
int frame_request_for(struct frame *, enum acp_direction, struct slice request, void *tag, struct buf *sent);
int frame_put(struct frame *, enum acp_direction, struct slice bytes, bool more);

/* Is the queue of a direction full? Who sends more than was asked for waits for FRAME_WRITABLE then. */
bool frame_full(struct frame *, enum acp_direction);
/* Nothing is read that would go into this direction (in a proxy chain nothing at all: both come in one pipe). */
void frame_pause(struct frame *, enum acp_direction, bool);
/* A direction does not end while this is true, though its sender has ended. */
void frame_keep_open(struct frame *, enum acp_direction, bool);
/* Ends a direction as soon as its queue is written, though its sender goes on: the filter drops what comes from now on.
 * The other direction goes on, so not in a proxy chain. */
void frame_close(struct frame *, enum acp_direction);

/* FRAME_TIMER comes when frame_now has reached this, once, instead of what was asked for before. */
void frame_timer(struct frame *, uint64_t when);
/* The log that struct filter asks for, or NULL. */
struct log *frame_log(struct frame *);
/* Writes to it now what can be written without waiting, not when what happens has been handled. */
void frame_log_write(struct frame *);
/* For descriptors, timers and children of the filter's own. */
struct loop *frame_loop(struct frame *);

/* One line on stderr: "acp-tap: ...". Never waits. */
void frame_warn(struct frame *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The tool goes on, but its exit status will be at least this where the agent's is 0. */
void frame_fail(struct frame *, int status);
/* Ends with this status as soon as the queues are written: nothing more is read or shown, a wrapped agent is killed. */
void frame_exit(struct frame *, int status);

#endif
