/* frame_parts: what the parts of the frame share. Not for filters. */
#ifndef FRAME_PARTS_H
#define FRAME_PARTS_H

#include "lib/acp/outline.h"
#include "lib/frame/frame.h"
#include "lib/frame/frame_options.h"
#include "lib/run/endpoint.h"
#include "lib/run/proc.h"

struct attachment;
struct edit;
struct sent_request;
struct side;

/* How the stream is met. Nothing outside the transports asks which it is. Members that are NULL or false: nothing of the kind. */
struct transport {
	const char *name;
	const char *input, *output; /* the client's side, in words: what is read, and its reader */
	unsigned gives;      /* what it can give a filter: FILTER_EDITS, ... */
	const char *lacks;   /* why it gives no more */
	bool one_way;        /* replies have nobody to go to */
	bool strict;         /* a line that is no message goes to stderr: it could not be routed */
	bool lossy;          /* responses may never come: open requests are bounded by forgetting the oldest */
	bool copies;         /* what comes has been forwarded already, and its records report the ends */
	/* Opens the sides and joins them to their directions. 0, or an exit status, and it has been said why. */
	int (*open)(struct frame *);
	/* The filter could not be started before something came, and nothing will: start it, as frame_begin does. */
	int (*begin)(struct frame *);
	/* A line; and a line that is this message. 0, or -1 out of memory. */
	int (*line)(struct side *, enum input_got, const struct line *);
	int (*message)(struct side *, const struct line *, const struct msg *, bool torn);
	/* Queues a plain message. block may be NULL: text is copied. 0, or -1 out of memory. */
	int (*put)(struct frame *, enum acp_direction, struct block *, struct slice text, const struct msg *, struct request *, bool torn);
	/* The open request that has this id on the wire; NULL: the table knows. */
	struct request *(*find)(struct frame *, struct slice id);
	/* What the transport kept with a request is not wanted any more. */
	void (*forget)(struct frame *, struct sent_request *);
	/* A side has ended, or hangs up: the grace period of the other begins. */
	void (*left)(struct frame *);
	/* Has all ended besides the sides? */
	bool (*over)(const struct frame *);
	/* The filter is about to end; the loop has ended; another signal has come. */
	void (*ending)(struct frame *);
	void (*close)(struct frame *);
	void (*kill)(struct frame *);
	/* The status of what was wrapped, 0 where it does not count. */
	int (*status)(const struct frame *);
};
extern const struct transport transport_undecided, transport_pipe, transport_link, transport_proxy, transport_wrap, transport_attach;

/* A neighbour: the client's side, or both; or the agent's. */
struct side {
	struct frame *frame;
	struct endpoint end;
	enum acp_direction dir;           /* of what it sends */
	enum acp_side from;
	struct outline outline;   /* of a long line that is discarded */
	bool reading;             /* some lines of one read have been shown */
	uint64_t before;          /* bytes that the other direction had been sent when the first of them was shown */
	bool coupled;             /* its messages have filled the other direction's queue: not read until that drains */
};

/* The message or line that is being shown. */
struct delivery {
	enum acp_direction dir;
	struct message message;
	const struct outgoing_line *line; /* NULL: a message */
	struct request *request; /* its entry in the table, of a request; what it responds to, of a response */
	struct edit *edits;
	size_t nedits, capedits;
	struct buf with;
};

/* What has been taken out of the stream. */
struct held {
	struct held *prev, *next;
	enum acp_direction dir;
	const void *owner;
	bool line;               /* not a message: written as it is */
	struct buf text;
	struct request *request; /* of a request */
};

/* What the table of open requests keeps with a request where that is more than the ordinary. */
struct pending {
	bool from_filter;    /* the filter's: its response goes there */
	void *tag;
	struct sent_request *sent; /* of a proxy: the request as it was sent on */
	struct held *held;   /* it has been taken out of the stream */
};

/* The wrapped agent. */
struct agent {
	struct loop_child child;
	enum { AGENT_NOT_STARTED, AGENT_RUNNING, AGENT_ENDED } state;
	int status;
	bool stopped;        /* by us */
	struct endpoint log; /* its stderr */
	struct endpoint err; /* ours */
	uint64_t discarded;  /* lines of it that found no room */
	struct loop_timer exit_timer;
	bool overdue;        /* something still held its pipes when exit_timer expired */
	uint64_t last_written; /* bytes that had been written to it when exit_timer was last started */
};

/* A line that came before the transport was known. */
struct early {
	struct line line;
	enum input_got got;
};

struct frame {
	const struct filter *filter;
	const struct frame_options *options;
	struct loop *loop;
	struct loop_task settle;
	const struct transport *transport;
	struct side near, far;
	struct side *from[ACP_DIRECTIONS], *to[ACP_DIRECTIONS]; /* where the messages of a direction come from, and where they go */
	uint64_t base, began;  /* what frame_now was, at which time of the loop's clock */
	double started;
	struct requests *requests;
	struct delivery *delivery;
	struct held *held;
	size_t held_bytes[ACP_DIRECTIONS], held_lines[ACP_DIRECTIONS]; /* of lines, not of messages; bytes of memory */
	bool paused[ACP_DIRECTIONS];
	bool kept_open[ACP_DIRECTIONS], closed[ACP_DIRECTIONS]; /* by the filter */
	uint64_t last_id;
	uint32_t first_pid, random; /* in ids of the filter's own; after a restart the first is the same, and the second is not */
	struct loop_timer timer;
	struct log *log;
	struct loop_fd log_watch;
	bool log_failed;       /* it has been said */
	/* Of the filter. After a start that failed it stays at STAGE_BEGUN. */
	enum { STAGE_WAITING, STAGE_BEGUN, STAGE_RUNNING, STAGE_ENDED } stage;
	bool client_left, failed, exiting;
	int signals;           /* the number of those that asked us to end */
	int early_signal;      /* one for the filter that came before it was started */
	int status;
	/* The transports' own. */
	struct early *early;
	size_t nearly;
	unsigned senders;      /* of a pipe: the sides (bits) that are known to have sent something */
	enum acp_dialect dialect;
	struct sent_request *sent;
	struct agent agent;
	struct attachment *attached;
};

/* common.c: what all parts ask and say. */
enum acp_side direction_from(enum acp_direction);
enum acp_direction direction_of(enum acp_side from);
enum acp_direction direction_back(enum acp_direction);
const char *side_input(const struct side *);
struct pending *pending_of(struct request *);
/* What is held of it is no request any more: a peer may respond to what it has not been sent yet. */
void request_unhold(struct request *);
/* With what is kept with it; forget: takes it out of the table, too. */
void request_free(struct frame *, struct request *);
void request_forget(struct frame *, struct request *);
/* What all ids of the filter's own begin with, and no other. 0 or -1. */
int frame_put_id_prefix(const struct frame *, struct buf *to);
void frame_event(struct frame *, struct frame_event *);
void frame_abort(struct frame *, const char *why);

/* log.c */
/* Opens the log that the filter asks for. 0, or an exit status. */
int frame_log_open(struct frame *);
void frame_log_reopen(struct frame *);
/* Writes what is queued, and closes it. */
void frame_log_close(struct frame *);

/* flow.c: how the filter begins, what is read, when it waits, when it ends. */
/* 0, or an exit status: the transport cannot give what the filter needs, and it has been said. */
int frame_refuse_unsuited(struct frame *, const struct transport *);
/* Starts the filter. 0, or an exit status. And: 0; -1 where it cannot go on, and it ends. */
int frame_start(struct frame *);
int frame_begin(struct frame *);
void frame_report_signal(struct frame *, int signal);
/* Opens the client's side on standard input and output. 0, or an exit status, and it has been said why. */
int stdio_open(struct frame *);
/* Opens the client's side on these descriptors (taken over; -1: none), for both directions; then the agent's side. 0, or -1 with errno. */
int near_open(struct frame *, int in, int out);
int far_open(struct frame *, int in, int out);
/* As if the client had closed its end. */
void frame_client_left(struct frame *);
/* As if a side had. */
void side_end(struct side *);
/* Looks, before the loop waits again, what is to be read and what has ended. */
void frame_settle(struct frame *);
bool frame_holds_lines(const struct frame *, enum acp_direction);

/* message.c: lines in, messages shown, lines out. */
/* The message as the filter has edited it. 0 or -1. */
int delivery_edited(const struct delivery *, struct buf *to);
int plain_line(struct side *, enum input_got, const struct line *);
int plain_message(struct side *, const struct line *, const struct msg *, bool torn);
int plain_put(struct frame *, enum acp_direction, struct block *, struct slice text, const struct msg *, struct request *, bool torn);
/*
 * Shows a plain message that lies in block (text: the line with what surrounds it) and forwards it. request: what it responds to,
 * or itself, where that is known.
 */
int message_show(struct frame *, enum acp_direction, enum acp_side from, struct block *, struct slice text, const struct msg *,
	struct request *, bool torn);
/* Queues what the filter made of a message, which has to be one. */
int message_put(struct frame *, enum acp_direction, struct slice text, struct request *);
/* Queues a line as it is. In a block its newline lies after it, if it had one. message: what its envelope carries. 0 or -1. */
int line_put(struct frame *, enum acp_direction, struct block *, struct slice text, struct slice message, bool torn);

/* plain.c */
/* Are descriptors 6 and 7 a link? */
bool link_is_offered(void);
/* Is this process a link of a chain, or a proxy: is standard input half of a stream, not all there is to read? */
bool frame_is_wired(void);

#endif
