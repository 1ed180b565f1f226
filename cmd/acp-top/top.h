/* top: what the files of acp-top share. */
#ifndef TOP_H
#define TOP_H

#include "lib/acp/permit.h"
#include "lib/run/endpoint.h"
#include "lib/usage/usage.h"
#include "lib/watch/watch.h"

static const char top_name[] = "acp-top";

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_TSV };

/* What the command line says. */
struct options {
	bool batch;              /* --batch */
	uint64_t delay;          /* --delay, us; 0: once */
	enum format format;
	enum cli_color color;
	const char *watch_command;
	struct frame_options frame; /* limit */
	char **sockets;          /* NULL-terminated; empty: all that are shared */
};

struct top;
struct display;

/* A stream that is shared, at a socket. */
struct stream {
	struct stream *prev, *next;
	struct top *top;
	struct watch watch;
	struct watch_guest *guest;
	struct usage *usage;
	struct buf agent;        /* its name */
	char *path;
	uint64_t asked;          /* us on the loop's clock: when attaching to it began */
	double started;          /* s since 1970, by its header */
	uint64_t t;              /* us: of its last message */
	unsigned connection;     /* from 1 */
	bool shown;              /* all that it sends at first has been read */
	bool over;               /* it has ended, or could not be attached to */
	struct buf how;          /* how it ended */
};

/* What acp-top has beside a session of lib/session. */
struct seen {
	unsigned connection;     /* of the stream, on which it is open: only the newest is shown; 0: its client has closed it */
	bool requires_action;    /* a state of version 2 ... */
	uint64_t changed;        /* ... and when it came, us */
	bool works;              /* a sub-agent that has not become idle */
	uint64_t began, active;  /* us: when it was seen first; of its last message, or of one of its sub-agents */
	uint64_t turns;          /* that have begun; lib/session forgets them with the connection */
	uint64_t ended, lasted;  /* when its last turn ended, and how long that was; ended 0: there was none */
	struct buf stop;         /* how that turn ended; empty: as turns do */
	struct buf text;         /* the end of what the agent said last */
	struct buf recent;       /* its last messages, as records */
};

/* The data of a question. */
struct ask {
	struct top *top;
	struct buf params, text; /* JSON; what it asks */
	bool noted;              /* --watch-command runs for it, or has run ... */
	struct permit *command;  /* ... and this is the process, while it runs; or NULL */
};

/* The order of states is that of rows: first what needs the user. */
enum state { STATE_WAITING, STATE_MUTE, STATE_SILENT, STATE_TOOL, STATE_MODEL, STATE_IDLE, STATE_NONE, STATE_ENDED };

enum order { ORDER_STATE, ORDER_AGENT, ORDER_TITLE, ORDER_TURN, ORDER_CONTEXT, ORDER_TOKENS, ORDER_COST, ORDERS };

/* A row of the table: a session, or a stream that has none. It lasts until more is read. Texts are as they were sent. */
struct row {
	struct stream *stream;
	const struct session *session; /* or NULL */
	const struct seen *seen; /* likewise */
	const struct usage_session *usage; /* or NULL */
	const struct session_request *question; /* for which it waits; or NULL */
	unsigned depth, queued;  /* depth: of a sub-agent; queued: prompts that wait for the end of the turn */
	enum state state;
	uint64_t now, since;     /* us in the stream's time: since when it is in this state; since 0: not known */
	uint64_t turn;           /* us: how long its turn has been running, or its last one ran; 0: there was none */
	struct slice title, directory; /* title: or else the id */
	struct slice detail;     /* what it does: what is asked, the tool's title, how its turn or stream ended */
	bool has_tokens, tokens_lower, has_cost;
	uint64_t tokens;
	struct usage_money cost;
	/* For the order. */
	size_t number, head;     /* its number, and that of the first of its family */
	enum state first;        /* of a head: the first state of its family */
	struct slice word;       /* of the head, by one of which families are sorted */
	double figure;
};

struct totals {
	size_t sessions, running, waiting;
	bool shown, over;        /* each stream has been read as far as it goes now; has ended */
	bool live;               /* times go on, or turns that have ended may get more tokens */
	struct buf cost;         /* of today, plain text; empty: none */
};

struct top {
	const struct options *options;
	struct loop *loop;
	struct stream *streams;
	char *directory;         /* where streams are found; NULL: at the operands */
	struct loop_fd changes;  /* of the directory */
	struct loop_timer scan_timer;
	struct loop_timer draw_timer;
	uint64_t drawn;          /* us on the loop's clock: when it was drawn last */
	uint64_t began, printed; /* likewise: the program; the table (0: not yet) */
	struct out out;          /* of --batch */
	bool utf8, color;
	unsigned width;          /* of the table, in cells */
	enum order order;
	struct row *rows;
	size_t nrows, room;
	struct totals sums;
	struct display *display; /* NULL: --batch */
	struct buf said;         /* plain text in the last line of the screen */
	struct permits commands; /* of --watch-command */
	int status;
	bool failed;             /* out of memory */
};

/* common.c */
/* The one at this socket that has ended (shown until the next one there begins), or that goes on; or NULL. */
struct stream *stream_at(const struct top *, const char *path, bool over);
/* A line about a socket: on standard error, or in the last line of the screen until a key is pressed. */
void top_say(struct top *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Something has changed: draws soon, but not often. */
void top_changed(struct top *);

/* streams.c */
/* Attaches to what is named, or found. 0, or -1: nothing can be looked at; what is wrong has been reported. */
int streams_open(struct top *);
void streams_close(struct top *);

/* rows.c: the rows as they are now, in their order, and the sums. Where memory is out, top.failed is set. */
void rows_make(struct top *);

/* put.c: each appends lines, and returns 0, or -1 out of memory. */
int put_totals(const struct top *, struct buf *);
/* For people: the names of the columns, and a row in them. */
int put_names(const struct top *, struct buf *);
int put_row(const struct top *, const struct row *, unsigned width, bool color, struct buf *);
/* For programs: a row; NULL: the names. */
int put_fields(const struct row *, enum format, struct buf *);

/* display.c: the terminal. 0, or an exit status: it cannot be used, which has been reported. */
int display_open(struct top *);
void display_close(struct display *);
int display_draw(struct display *);
/* Its size may be another. */
void display_resize(struct display *);
/* A message of a session, as a record: it may be the one that is followed. */
void display_message(struct display *, const struct session *, struct slice record);
/* A question has its response: its menu closes. */
void display_answered(struct display *, const struct session_request *);

/* respond.c: the response to a question, which it does not survive. Zero it to begin. */
struct respond {
	struct top *top;
	const struct stream *stream;
	const struct session_request *question; /* NULL: none */
	size_t chosen;
	bool sent;
	struct watch watch;      /* of the connection that the response goes through */
	struct watch_guest *guest; /* NULL: there is none */
};
/* To the question of this row; the one before is closed. */
void respond_open(struct respond *, struct top *, const struct row *);
/* Appends the response of that number. 0; 1: there is no such one; -1 out of memory. */
int respond_put_option(const struct respond *, size_t i, struct buf *to);
/* Sends it, when acp-share lets us in; top_say reports what becomes of it. Stays connected until closed. */
void respond_send(struct respond *, size_t i);
void respond_close(struct respond *);

#endif
