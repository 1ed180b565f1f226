/* frame_parts: what the parts of the frame know of each other. Not for filters. */
#ifndef FRAME_PARTS_H
#define FRAME_PARTS_H

#include <sys/uio.h>

#include "lib/frame.h"
#include "lib/input.h"
#include "lib/output.h"
#include "lib/proc.h"
#include "lib/recording.h"

enum { IDS_TOKEN = 17 };

struct batch;
struct hop;

/* Where lines come from. */
struct source {
	struct frame *frame;
	struct input in;
	struct loop_fd watch;
	enum lane lane;
	enum acp_side from;
	bool open;
	bool coupled; /* its messages have filled the other lane's queue: not read until that drains */
	bool paused;  /* not read now */
	bool hung_up; /* seen while paused: what waits there is the last */
};

/* Where lines go to. */
struct sink {
	struct frame *frame;
	struct output out;
	struct loop_fd watch;
	bool open;
	bool last; /* nothing more will be queued: close it when it is empty */
	bool shut; /* a source reads the same socket */
};

/* A change that the filter makes to the message it is shown; with is at [at, at + n) of shown.with. */
struct edit {
	const char *from, *to;
	size_t at, n;
};

/* The message that is being shown, and what becomes of it. */
struct shown {
	enum lane lane;
	struct seen seen;
	struct request *request; /* its entry in the table, of a request; what it answers, of a response */
	struct batch *batch;     /* the array that it is an entry of */
	size_t entry;
	struct edit *edits;
	size_t nedits, capedits;
	struct buf with;
	struct held *held;
};

/* A message that has stepped out of the line. */
struct held {
	struct held *next;
	enum lane lane;
	struct buf text;
	struct request *request; /* of a request */
	struct batch *batch;
	size_t entry;
};

/* What the table of open requests keeps with a request where that is more than the ordinary. */
struct pending {
	bool own;            /* the filter's: its answer goes there */
	void *tag;
	struct batch *batch; /* came in this array */
	struct hop *hop;     /* in proxy: its id on the way out */
	struct held *held;   /* it has stepped out of the line */
};

/* The wrapped agent. */
struct agent {
	struct loop_child child;
	bool running, ended;
	int status;
	bool stopped;        /* by us */
	struct input log;    /* its stderr */
	struct loop_fd log_watch;
	struct output err;   /* ours */
	struct loop_fd err_watch;
	uint64_t unsaid;     /* lines of it that found no room */
	struct loop_timer patience;
	bool overdue;        /* something held its pipes to the end of our patience */
	uint64_t taken;      /* bytes of its input that it had taken when patience was last granted */
};

/* A line that came before the way was known. */
struct early {
	struct line line;
	enum input_got got;
};

struct frame {
	const struct filter *filter;
	const struct frame_options *options;
	struct loop *loop;
	enum frame_way way;
	uint64_t base, began;  /* what frame_now was, at which time of the loop's clock */
	double started;
	struct source sources[LANES];
	struct sink sinks[LANES];
	struct requests *requests;
	struct shown *shown;
	struct held *held;
	struct batch *batches; /* open ones, oldest first */
	struct hop *hops;
	uint64_t last_id;
	unsigned senders;      /* in a pipe: the sides (bits) that are known to have sent something */
	char token[IDS_TOKEN];
	enum acp_dialect dialect;
	struct agent agent;
	struct early *early;
	size_t nearly;
	enum frame_debt debts[LANES];
	struct loop_timer alarm;
	bool begun;            /* the filter has been started */
	bool started_filter;   /* and not ended */
	bool left, failed, quitting;
	size_t behind;         /* reads of what the client left behind */
	int attached;          /* the descriptor that the conductor passed, until it is opened; or -1 */
	char hop_number[24];
	struct recording *records;
	struct echo *echoes;   /* oldest first */
	size_t nechoes;
	uint64_t lost;
	struct buf lost_why;
	int signals;           /* how many asked us to end */
	int caught_early;      /* one for the filter that came before the filter was started */
	int status;
};

/* frame.c */
void frame_abort(struct frame *, const char *why);
/* Noise goes to stderr instead of on. */
bool frame_edits(const struct frame *);
void frame_tell(struct frame *, struct frame_event *);
/* Says which way it is, starts the filter, and shows it what came before. 0, or -1 out of memory; may set failed. */
int frame_decide(struct frame *, enum frame_way);
/* Starts the filter. 0; -1 where it can not go on, and it ends. */
int frame_begin(struct frame *);
/* A line that comes before that. */
int frame_undecided_line(struct frame *, struct source *, enum input_got, const struct line *);

/* frame_lane.c: lines in, messages shown, lines out. */
int lane_line(struct frame *, struct source *, enum input_got, const struct line *);
/* Shows a plain message that lies in block (text: the line with what surrounds it) and lets it go on. */
int lane_message(struct frame *, enum lane, enum acp_side from, struct block *, struct slice text, const struct msg *,
	struct request *answered, bool torn);
/* Shows one message; the caller sees to what becomes of it and calls shown_done. */
int lane_show(struct frame *, struct shown *, enum verdict *);
void shown_done(struct frame *, struct shown *);
/* The message as the filter has edited it. 0 or -1. */
int shown_edited(const struct shown *, struct buf *to);
/* frame_filter.c: does it look like an id of a request of the filter's own? */
bool frame_made_id(const struct frame *, struct slice id);
/* Queues a plain message for a lane, in the form that the way wants. block may be NULL: text is copied. */
int lane_put(struct frame *, enum lane, struct block *, struct slice text, const struct msg *, struct request *, bool torn);
/* The same for text that has to be looked at first. */
int lane_put_text(struct frame *, enum lane, struct slice text, struct request *);
struct sink *lane_sink(struct frame *, enum lane);
struct source *lane_source(struct frame *, enum lane);
/* Queues a line as it is. In a block its newline lies behind it, if it had one. 0 or -1. */
int lane_put_line(struct frame *, enum lane, struct block *, struct slice text, bool torn);
const char *source_name(const struct frame *, const struct source *);
enum acp_side lane_from(enum lane);
enum lane lane_of(enum acp_side from);
struct pending *pending_of(struct request *);
void request_forget(struct frame *, struct request *);
/* Noise, and lines that are too long. */
int lane_noise(struct frame *, struct source *, const struct line *, bool torn, struct json_error);

/* frame_batch.c */
int batch_line(struct frame *, enum lane, enum acp_side from, struct block *, struct slice text, const struct msg *, bool torn);
int batch_released(struct frame *, struct held *, enum verdict, struct slice text);
int batch_answer(struct batch *, struct slice answer);
/* A request of the batch has been answered, or will never be. */
int batch_closed_one(struct frame *, struct batch *);
/* An error with a null id has come up `lane`: if it refuses a whole array, that is now answered. */
int batch_refused(struct frame *, enum lane, const struct msg *);
void batch_free_all(struct frame *);

/* frame_proxy.c */
struct splices;
struct hopwise {         /* how a message is put on the proxy's pipe */
	struct splices splices;
	struct buf with;
	char id[SLICE_DIGITS];
};
int proxy_line(struct frame *, struct source *, const struct line *, const struct msg *);
/* 0; 1 where it is not to be sent; -1 out of memory. */
int proxy_out(struct frame *, enum lane, const struct msg *, struct request *, struct hopwise *);
/* An entry of an array that came: its lane, and its plain form appended to `to`. 1: it goes nowhere. */
int proxy_entry(struct frame *, const struct msg *, enum lane *, struct buf *to);
void proxy_forget(struct frame *, struct hop *);
struct request *proxy_answered(struct frame *, struct slice id);

/* frame_wrap.c */
int wrap_start(struct frame *);
void wrap_client_left(struct frame *);
void wrap_end(struct frame *);
bool wrap_over(const struct frame *);

/* frame_attach.c */
/* Joins the chain, before anything else is done. 0, or an exit status, and it has been said why. */
int attach_connect(struct frame *);
/* 0, or -1 with errno. */
int attach_start(struct frame *);
int attach_line(struct frame *, enum input_got, const struct line *);
void attach_ended(struct frame *);
/* Sends a message of the filter's own. 0 or -1. */
int attach_put(struct frame *, enum lane, struct slice text);
/* Says what was lost, and frees. */
void attach_end(struct frame *);

/* frame_flow.c */
int source_open(struct frame *, enum lane, enum acp_side from, int fd);
void source_end(struct frame *, struct source *, bool torn);
/* Takes what waits to be read, as far as it finds room, and then ends it. */
void source_finish(struct frame *, struct source *);
int sink_open(struct frame *, enum lane, int fd);
/* What the filter still owes to a lane that somebody reads. */
enum frame_debt lane_owed(struct frame *, enum lane);
/* As if the client had closed its end. */
void frame_client_left(struct frame *);

#endif
