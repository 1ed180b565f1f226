/* frame_parts: declarations for the files of lib/frame only. */
#ifndef FRAME_PARTS_H
#define FRAME_PARTS_H

#include "lib/acp/outline.h"
#include "lib/frame/frame.h"
#include "lib/frame/frame_options.h"
#include "lib/run/endpoint.h"
#include "lib/run/proc.h"
#include "lib/run/report.h"

struct attachment;
struct edit;
struct sent_request;
struct side;

/* A way to connect to the stream. The frame knows it by these members only. All but open, line and put may be NULL or 0. */
struct transport {
	const char *input, *output; /* in words: the peer that the client's side reads, and the one that it writes to */
	unsigned gives;      /* the needs of a filter that it fulfils: FILTER_EDITS, ... */
	const char *lacks;   /* the error for a filter with other needs */
	bool one_way;        /* replies have no reader */
	bool strict;         /* noise goes to stderr, because it cannot be routed */
	bool lossy;          /* responses may never come: above a limit, the oldest open requests are forgotten */
	bool copies;         /* it reads records of messages that others forward; the ends of sides are records, too */
	/* Opens the sides and assigns them to their directions. 0, or an exit status after reporting the error. */
	int (*open)(struct frame *);
	/* Not NULL: the filter starts with the first input. Starts the filter, as frame_begin does, when a side ends without any. */
	int (*begin)(struct frame *);
	/* Handle a line that was read, or a line that is this message. 0, or -1 out of memory. */
	int (*line)(struct side *, enum input_got, const struct line *);
	int (*message)(struct side *, const struct line *, const struct msg *, bool torn);
	/* Queues a plain message. block: it holds the text; NULL: the text is copied. 0, or -1 out of memory. */
	int (*put)(struct frame *, enum acp_direction, struct block *, struct slice text, const struct msg *, struct request *, bool torn);
	/* Finds the open request that has this id on the wire, or returns NULL. Without this function, requests_find does. */
	struct request *(*find)(struct frame *, struct slice id);
	/* Frees a request's pending.sent. */
	void (*forget)(struct frame *, struct sent_request *);
	/* A side has ended or hung up: begins the grace period of the other side. */
	void (*left)(struct frame *);
	/* Has everything ended except the sides? */
	bool (*over)(const struct frame *);
	/* Called before filter.end; after the loop; at a second signal that asks the tool to end. */
	void (*ending)(struct frame *);
	void (*close)(struct frame *);
	void (*kill)(struct frame *);
	/* The exit status of the wrapped agent, or 0 if it does not count. */
	int (*status)(const struct frame *);
};
extern const struct transport transport_undecided, transport_pipe, transport_link, transport_proxy, transport_wrap, transport_attach;

/* A neighbour in the chain: the client's side, or both in one, or the agent's side. */
struct side {
	struct frame *frame;
	struct endpoint end;
	enum acp_direction dir;           /* of the messages that it sends */
	enum acp_side from;
	struct outline outline;   /* of a long line that is being discarded */
	bool reading;             /* the lines of a read are being shown */
	uint64_t before;          /* bytes that the opposite queue had got, in all, when the first of these lines was shown */
	bool coupled;             /* its messages have filled the opposite queue: it is not read until that queue drains */
};

/* The message or line that is being shown. */
struct delivery {
	enum acp_direction dir;
	struct message message;
	const struct outgoing_line *line; /* NULL: a message is being shown */
	struct request *request; /* of a request: its entry in the table; of a response: its request, or NULL */
	struct edit *edits;
	size_t nedits, capedits;
	struct buf with;
};

/* A message or line that the filter has taken out of the stream. */
struct held {
	struct held *prev, *next;
	enum acp_direction dir;
	const void *owner;
	bool line;               /* it is a line, and will be written unchanged */
	struct buf text;
	struct request *request; /* of a request: its entry in the table; or NULL */
};

/* What the frame adds to an entry in the table of open requests (request.owner), where it has more to remember. */
struct pending {
	bool from_filter;    /* filter.response gets the response */
	void *tag;           /* for filter.response */
	struct sent_request *sent; /* in a proxy chain: the request as the conductor knows it */
	struct held *held;   /* the request itself, while the filter holds it */
};

/* The wrapped agent. */
struct agent {
	struct loop_child child;
	enum { AGENT_NOT_STARTED, AGENT_RUNNING, AGENT_ENDED } state;
	int status;
	bool stopped;        /* we have sent it a signal */
	struct report report; /* our stderr */
	struct report_source errors; /* its stderr */
	struct loop_timer exit_timer;
	bool overdue;        /* a process still held its pipes when exit_timer expired */
	uint64_t last_written; /* bytes that had been written to it when exit_timer was last started */
};

/* A line that came before the transport was known; the most lines that are kept. */
struct early {
	struct line line;
	enum input_got got;
};
enum { EARLY_MOST = 64 };

struct frame {
	const struct filter *filter;
	const struct frame_options *options;
	struct loop *loop;
	struct loop_task settle;
	const struct transport *transport;
	struct side near, far;
	struct side *from[ACP_DIRECTIONS], *to[ACP_DIRECTIONS]; /* the side that a direction comes from, and the side that it goes to */
	uint64_t base, began;  /* frame_now was `base` when the loop's clock was `began` */
	double started;
	struct requests *requests;
	struct delivery *delivery;
	struct held *held;
	size_t held_bytes[ACP_DIRECTIONS], held_lines[ACP_DIRECTIONS]; /* of the held lines, without held messages; bytes of memory */
	bool paused[ACP_DIRECTIONS];
	bool kept_open[ACP_DIRECTIONS], closed[ACP_DIRECTIONS]; /* set by frame_keep_open and frame_close */
	uint64_t last_id;
	uint32_t first_pid, random; /* in ids of the filter's own; a restart keeps first_pid and changes random */
	struct loop_timer timer;
	struct log *log;
	struct loop_fd log_watch;
	bool log_failed;       /* the error has been reported */
	/* How far the filter is: at STAGE_BEGUN until its start function succeeds. */
	enum { STAGE_WAITING, STAGE_BEGUN, STAGE_RUNNING, STAGE_ENDED } stage;
	bool client_left, failed, exiting;
	int signals;           /* how many signals have asked the tool to end */
	int early_signal;      /* a signal for the filter that came before it was started; or 0 */
	int status;
	/* Private to the transports. */
	struct early early[EARLY_MOST];
	size_t nearly;
	unsigned senders;      /* of a pipe: a bit for each side that is known to have sent a message */
	enum acp_dialect dialect;
	struct sent_request *sent;
	struct agent agent;
	struct attachment *attached;
};

/* common.c: small functions for all files. */
enum acp_side direction_from(enum acp_direction);
enum acp_direction direction_of(enum acp_side from);
const char *side_input(const struct side *);
struct pending *pending_of(struct request *);
/* Detaches a request from its held message: a peer may respond even to a request that the filter still holds. */
void request_unhold(struct request *);
/* Frees a request that is not in the table, with its struct pending. */
void request_free(struct frame *, struct request *);
/* Takes a request out of the table, and frees it. */
void request_forget(struct frame *, struct request *);
/* Appends the text that all ids of the filter's own begin with, and no other ids. 0, or -1 out of memory. */
int frame_put_id_prefix(const struct frame *, struct buf *to);
void frame_event(struct frame *, struct frame_event *);
/* Reports why, and ends the tool at once, with EXIT_FAILED. */
void frame_abort(struct frame *, const char *why);

/* log.c */
/* Opens the filter's log, if it has one. 0, or an exit status after reporting the error. */
int frame_log_open(struct frame *);
void frame_log_reopen(struct frame *);
/* Writes the log's queue, and closes the log. */
void frame_log_close(struct frame *);

/* flow.c: starts and ends the filter, reads and pauses the sides. */
/* Checks that the transport fulfils the needs of the filter. 0, or an exit status after reporting the error. */
int frame_refuse_unsuited(struct frame *, const struct transport *);
/* Checks the transport and starts the filter, also the log of an attached one. 0; -1: it failed, and the loop stops. */
int frame_begin(struct frame *);
void frame_report_signal(struct frame *, int signal);
/* Opens the client's side on standard input and output. 0, or an exit status after reporting the error. */
int stdio_open(struct frame *);
/* Opens the client's side for both directions. Takes over the descriptors (-1: none). 0, or -1 with errno. */
int near_open(struct frame *, int in, int out);
/* As near_open, for the agent's side, after the client's. */
int far_open(struct frame *, int in, int out);
/* Acts as if the client had closed its end. */
void frame_client_left(struct frame *);
/* Acts as if a side had ended its output. */
void side_end(struct side *);
/* Before the loop waits again, pauses or resumes the sides, and ends the directions, the filter and the loop when it is time. */
void frame_settle(struct frame *);
bool frame_holds_lines(const struct frame *, enum acp_direction);

/* message.c: reads lines, shows messages to the filter, and forwards lines. Its functions return 0, or -1 out of memory. */
/* Appends the message with the filter's edits. */
int delivery_edited(const struct delivery *, struct buf *to);
int plain_line(struct side *, enum input_got, const struct line *);
int plain_message(struct side *, const struct line *, const struct msg *, bool torn);
int plain_put(struct frame *, enum acp_direction, struct block *, struct slice text, const struct msg *, struct request *, bool torn);
/*
 * Shows a plain message to the filter, and forwards it. text: the whole line, which lies in block; block NULL: elsewhere. request:
 * the entry of the request, or the request of the response, if the caller knows it; or NULL.
 */
int message_show(struct frame *, enum acp_direction, enum acp_side from, struct block *, struct slice text, const struct msg *,
	struct request *, bool torn);
/* Queues a text of the filter's; reports and discards one that is not a message. request: the entry of a request, or NULL. */
int message_put(struct frame *, enum acp_direction, struct slice text, struct request *);
/* Queues a line, unless filter.line stops it. In a block its newline follows it, unless torn. message: as in outgoing_line. */
int line_put(struct frame *, enum acp_direction, struct block *, struct slice text, struct slice message, bool torn);

/* plain.c */
/* Are descriptors 6 and 7 a link (UCSPI)? */
bool link_is_offered(void);
/* Is this process a part of a chain, by a link or as a proxy? If standard input is a pipe, waits for its first bytes. */
bool frame_is_wired(void);

#endif
