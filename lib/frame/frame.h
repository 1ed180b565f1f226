/*
 * frame: runs a filter on a stream. It connects to the stream by the transport that fits (attach, wrap, link, proxy, pipe), and
 * presents each transport as two directions of plain messages. It owns reading, order, queues, backpressure, ids, children, signals
 * and the exit status. A filter is a struct filter, and never touches a descriptor of the stream.
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

/* What a filter needs. A filter that needs none of these only watches: noise and long lines pass (HACKING.md, rule 5). */
enum {
	FILTER_EDITS = 1,    /* it changes, discards or holds messages */
	FILTER_SENDS = 2,    /* it replies and sends, for which it needs both directions */
	FILTER_RESPONDS = 4, /* attached, it responds to permission requests and elicitations, beside the client */
};

/* The fate of a message or a line. VERDICT_HOLD: only after frame_hold. */
enum verdict { VERDICT_PASS, VERDICT_DROP, VERDICT_HOLD };

enum frame_event_kind {
	FRAME_NOISE,    /* a line that is not a message: text; why */
	FRAME_STDERR,   /* a line of the agent's stderr: text; relayed: the frame writes it to our stderr */
	FRAME_EOF,      /* a side has ended: from; torn: its last line had no newline */
	FRAME_EXIT,     /* the agent has ended: status as of waitpid */
	FRAME_LOST,     /* attached: `count` records of the stream did not arrive here; text: why */
	FRAME_LONG,     /* a line over the limit was passed or discarded; text: its first bytes */
	FRAME_BATCH,    /* the lines of one read have been shown, and the frame is about to write them */
	FRAME_WRITABLE, /* a part of a queue was written: frame_full may have changed */
	FRAME_TIMER,    /* the time of frame_timer has come */
	FRAME_ROTATE,   /* the log is about to be reopened */
	FRAME_SIGNAL,   /* status: SIGUSR1, or one of frame_options.signals */
};

struct frame_event {
	enum frame_event_kind kind;
	enum acp_side from;
	uint64_t t;      /* us since the stream started */
	uint64_t number; /* of the line in its direction */
	struct slice text;
	bool torn, relayed;
	int status;
	uint64_t count;
	struct json_error why;
};

/* A line in the form in which it leaves: in a proxy chain with the envelope and the ids for the conductor. */
struct outgoing_line {
	struct slice text;    /* without its newline */
	struct slice message; /* all of text, or the content of its envelope */
	uint64_t number;      /* message.number of the latest line that was read in this direction */
	bool torn;            /* it has no newline */
};

/* A log beside the stream, whose errors never stop the session. The frame writes it after each event, and reopens it at SIGUSR1. */
struct frame_log {
	const char *path; /* path, append and inputs are those of struct log_spec (lib/run/log.h) */
	bool append;
	char *const *inputs;
	/* Appends the text that precedes the next record, as log_spec.begin does. 0, or -1 out of memory. May be NULL. */
	int (*begin)(void *state, struct frame *, struct buf *to, bool resumed, uint64_t lost, const char *why);
};

/* All functions get the filter's own state. Those other than `message` may be NULL. */
struct filter {
	const char *name; /* "acp-tap" */
	unsigned needs;   /* FILTER_EDITS | ... */
	void *state;
	const struct frame_log *log; /* or NULL */
	/* Called once, before the first message, when the transport is known. 0; -1: the tool cannot go on, and has reported why. */
	int (*start)(void *state, struct frame *);
	enum verdict (*message)(void *state, struct frame *, enum acp_direction, const struct message *);
	/* Gets the response to a request of the filter's own (frame_request), which the frame does not forward. */
	void (*response)(void *state, struct frame *, void *tag, const struct message *);
	void (*event)(void *state, struct frame *, const struct frame_event *);
	/* For filters that work on lines: gets each line that leaves, also noise and the frame's own lines. `message` comes first. */
	enum verdict (*line)(void *state, struct frame *, enum acp_direction, const struct outgoing_line *);
	/* Called after the last message. It can still send, except after frame_exit or an error. Returns a status for frame_fail. */
	int (*end)(void *state, struct frame *);
	/* Called last, when the queues are written and the client waits for nothing. The filter may still use frame_loop. */
	void (*close)(void *state, struct frame *);
};

/* Runs a filter to its end, and reports errors on stderr. Returns the tool's exit status (HACKING.md, rule 7). */
int frame_run(const struct filter *, const struct frame_options *);

/* --- for the functions of a filter; those that return an int return 0, or -1 out of memory --- */

/* The time in us since the stream started; attached, that of the record which is being shown. */
uint64_t frame_now(const struct frame *);
/* When the stream started: seconds since 1970. */
double frame_started(const struct frame *);
/* Is the stream a one-way pipe, so that a reply would have no reader? */
bool frame_is_one_way(const struct frame *);
/* Do both directions come in one pipe, so that a pause of one stops both? */
bool frame_is_shared(const struct frame *);

/* Replaces a slice of the message that is being shown by a copy of `with`, for VERDICT_PASS or frame_hold. */
int frame_replace(struct frame *, struct slice what, struct slice with);
/* Inserts members (JSON text, such as "a":1) at the beginning of an object of the message that is being shown. */
int frame_add_members(struct frame *, struct slice object, struct slice members);
/*
 * Takes the message or line that is being shown out of the stream; the filter then returns VERDICT_HOLD. Later messages pass it. A
 * held line delays the end of its direction; the frame does not read a direction whose held lines exceed a megabyte. owner: for
 * frame_held_next. The result is valid until frame_release or frame_show_again. NULL out of memory.
 */
struct held *frame_hold(struct frame *, const void *owner);
struct slice frame_held_text(const struct held *);
/* The owner's next held message or line after `after`, or (NULL) its oldest one. NULL: there is none. */
struct held *frame_held_next(const struct frame *, const void *owner, const struct held *after);
/* The oldest open request with this id from the sender of a direction, except the filter's own requests. NULL: there is none. */
struct request *frame_open_request(struct frame *, enum acp_direction, struct slice id);
/* Is the held message the request with this id? */
bool frame_held_is(const struct held *, struct slice id);
/* Ends a hold. VERDICT_PASS: sends the text, or with p NULL the held text; VERDICT_DROP: sends nothing. */
void frame_release(struct frame *, struct held *, enum verdict, struct slice text);
/* Ends the hold of a message, and calls filter.message with it, as if it came only now. */
void frame_show_again(struct frame *, struct held *);

/* These reply, in the receiver's place, to the held request or (NULL) the shown one, which the filter then drops. JSON text. */
int frame_reply(struct frame *, struct held *, struct slice result);
int frame_reply_error(struct frame *, struct held *, int code, const char *message);
int frame_reply_error_object(struct frame *, struct held *, struct slice error);
/* Responds to a forwarded request (frame_open_request), whose id replaces the id of `response`. The receiver of the request gets a
 * $/cancel_request, and its response comes to filter.response with the tag NULL. */
int frame_respond(struct frame *, struct request *, struct slice response);

/* Sends a message into a direction, before the message that is being shown, as if the sender of the direction had sent it. */
int frame_send(struct frame *, enum acp_direction, struct slice message);
/* As frame_send, for a notification that the frame makes. */
int frame_notify(struct frame *, enum acp_direction, const char *method, struct slice params);
/* As frame_send, for a request that the frame makes. Its response comes to filter.response with the tag. */
int frame_request(struct frame *, enum acp_direction, const char *method, struct slice params, void *tag);
/* Sends a $/cancel_request for each of the filter's open requests with this tag. */
int frame_cancel(struct frame *, const void *tag);
/* As frame_request, for another sender's request: replaces its id by one of the filter's own, and appends the result to `sent`. */
int frame_request_for(struct frame *, enum acp_direction, struct slice request, void *tag, struct buf *sent);
/* Queues bytes for a direction unchanged: at the beginning of a line, or (more) as further bytes of that line. */
int frame_put(struct frame *, enum acp_direction, struct slice bytes, bool more);

/* Is the queue of a direction full? A filter that sends more than replies then waits for FRAME_WRITABLE. */
bool frame_full(struct frame *, enum acp_direction);
/* Stops reading messages of this direction, or continues; where frame_is_shared, of both directions. */
void frame_pause(struct frame *, enum acp_direction, bool);
/* With true, the direction does not end when its sender does, until this is called with false. */
void frame_keep_open(struct frame *, enum acp_direction, bool);
/* Ends a direction as soon as its queue is written, though its sender goes on: the filter drops the sender's further messages. The
 * other direction goes on. Not for a proxy chain, where both directions leave by one pipe. */
void frame_close(struct frame *, enum acp_direction);

/* Sets the one timer: FRAME_TIMER comes once, when frame_now reaches this time. */
void frame_timer(struct frame *, uint64_t when);
/* The open log of struct filter, or NULL. */
struct log *frame_log(struct frame *);
/* Writes the log's queue now, as far as that needs no waiting. Without this call, the frame writes it after the event. */
void frame_log_write(struct frame *);
/* For descriptors, timers and children of the filter's own. */
struct loop *frame_loop(struct frame *);

/* Writes one line to stderr: "acp-tap: ...". Never waits. */
void frame_warn(struct frame *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The tool goes on, but exits with this status if the agent's is 0, and no earlier call gave another one than 0. */
void frame_fail(struct frame *, int status);
/* Ends the tool with this status as soon as the queues are written. Shows no further message, and kills a wrapped agent. */
void frame_exit(struct frame *, int status);

#endif
