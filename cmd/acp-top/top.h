/* top: what the files of acp-top have in common. */
#ifndef TOP_H
#define TOP_H

#include "lib/acp/permit.h"
#include "lib/run/endpoint.h"
#include "lib/usage/usage.h"
#include "lib/watch/watch.h"

static const char top_name[] = "acp-top";

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_TSV };

/* The options of the command line. */
struct options {
	bool batch;              /* --batch */
	uint64_t delay;          /* --delay, us; 0: the table is printed once */
	enum format format;
	enum cli_color color;
	const char *watch_command;
	struct frame_options frame; /* only limit is used */
	char **sockets;          /* the operands, NULL-terminated; empty: all shared streams */
};

struct top;
struct display;

/* A shared stream. */
struct stream {
	struct stream *prev, *next;
	struct top *top;
	struct watch watch;
	struct watch_guest *guest;
	struct usage *usage;
	struct buf agent;        /* the agent's name */
	char *path;
	uint64_t asked;          /* us on the loop's clock: when attaching began */
	double started;          /* s since 1970, from the header of its recording */
	uint64_t t;              /* us: the time of its last message, or when it ended */
	uint64_t lead;           /* us: its time less the loop's clock (below 0: from 2^64 down); by the wall clock unless it is live */
	bool live;               /* messages have come when they were sent, and show the time; a machine that sleeps stops that clock only */
	unsigned connection;     /* the number of its present connection, from 1 */
	bool shown;              /* everything that it sends at first has been read */
	bool over;               /* it has ended, or could not be attached to */
	struct buf how;          /* how it ended */
};

/* What acp-top has beside a session of lib/session. */
struct seen {
	unsigned connection;     /* the stream's connection on which it is open; only the newest is shown; 0: the client has closed the session */
	bool requires_action;    /* version 2: its last state is requires_action */
	uint64_t changed;        /* us: when its last state came */
	bool works;              /* it is a sub-agent that has not become idle */
	uint64_t began, active;  /* us: when it was seen first; the last message in it or in one of its sub-agents */
	uint64_t turns;          /* how many have begun (lib/session forgets the number with the connection) */
	uint64_t ended, lasted;  /* us: when its last turn ended (0: there was none), and how long that turn was */
	struct buf stop;         /* how the last turn ended; empty: in order */
	struct buf text;         /* the end of the agent's text in the last turn */
	struct buf recent;       /* its last messages, as records */
};

/* The data of a question. */
struct ask {
	struct top *top;
	struct buf params, text; /* params: JSON; text: what is asked */
	bool noted;              /* --watch-command has been started for it */
	struct permit *command;  /* the process of --watch-command while it runs, or NULL */
};

/* The states, in the order of the rows: first those that need the user. */
enum state { STATE_WAITING, STATE_MUTE, STATE_SILENT, STATE_TOOL, STATE_MODEL, STATE_IDLE, STATE_NONE, STATE_ENDED };

enum order { ORDER_STATE, ORDER_AGENT, ORDER_TITLE, ORDER_TURN, ORDER_CONTEXT, ORDER_TOKENS, ORDER_COST, ORDERS };

/* A row of the table: a session, or a stream without one. It is valid until more is read. Its texts are as they were sent. */
struct row {
	struct stream *stream;
	const struct session *session; /* or NULL */
	const struct seen *seen; /* of the session, or NULL */
	const struct usage_session *usage; /* or NULL */
	const struct session_request *question; /* that waits for the user, or NULL */
	unsigned depth, queued;  /* depth: of sub-agents, from 1; queued: prompts that wait for the end of the turn */
	enum state state;
	uint64_t now, since;     /* us in the stream's time: the present, and when the state began (0: not known) */
	uint64_t turn;           /* us: how long its turn has been running, or its last turn ran; 0: there was none */
	struct slice title, directory; /* without a title, title is the id */
	struct slice detail;     /* of the state: what is asked, the title of the tool call, how the turn or the stream ended */
	bool has_tokens, tokens_lower, has_cost;
	uint64_t tokens;
	struct usage_money cost;
	/* For sorting. */
	size_t number, head;     /* the index of the row before sorting, and of the first row of its family */
	enum state first;        /* of a head: the most urgent state in its family */
	struct slice word;       /* of a head: families are sorted by word and figure */
	double figure;
};

struct totals {
	size_t sessions, running, waiting;
	bool shown, over;        /* all streams have sent what they send at first; all have ended */
	bool live;               /* the table changes without messages: times go on, or ended turns may get more tokens */
	struct buf cost;         /* today's, plain text; empty: none */
};

struct top {
	const struct options *options;
	struct loop *loop;
	struct stream *streams;
	char *directory;         /* where streams are found; NULL: the operands name them */
	struct loop_fd changes;  /* reports new sockets in the directory */
	struct loop_timer scan_timer;
	struct loop_timer draw_timer;
	uint64_t drawn;          /* us on the loop's clock: when the screen was drawn last */
	uint64_t began, printed; /* us on the loop's clock: when acp-top began, and when it printed the table last (0: not yet) */
	struct out out;          /* of --batch */
	bool utf8, color;
	unsigned width;          /* of the table, in cells */
	enum order order;
	struct row *rows;
	size_t nrows, room;
	struct totals sums;
	struct display *display; /* NULL: --batch */
	struct buf said;         /* a message in the last line of the screen, plain text */
	struct permits commands; /* of --watch-command */
	int status;
	bool failed;             /* out of memory */
};

/* common.c */
/* The stream at this socket that has ended (it is shown until the next one there begins), or the one that runs; or NULL. */
struct stream *stream_at(const struct top *, const char *path, bool over);
/* The present in the time of this stream, or when it ended, us. */
uint64_t stream_now(const struct stream *);
/* Prints a message on standard error, or in the last line of the screen, until a key is pressed. */
void top_say(struct top *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* To be called after a change: has the table drawn soon, at most ten times a second. */
void top_changed(struct top *);

/* streams.c */
/* Attaches to the streams that are named or found. 0, or -1: there is none, which has been reported. */
int streams_open(struct top *);
void streams_close(struct top *);

/* rows.c: makes the rows of this moment, sorted, and the sums. Out of memory it sets top.failed. */
void rows_make(struct top *);

/* put.c: each function appends lines, and returns 0, or -1 out of memory. */
int put_totals(const struct top *, struct buf *);
/* For people: the names of the columns; a row. */
int put_names(const struct top *, struct buf *);
int put_row(const struct top *, const struct row *, unsigned width, bool color, struct buf *);
/* For programs: a row; NULL: the names of the columns. */
int put_fields(const struct row *, enum format, struct buf *);

/* display.c: opens the terminal. 0, or an exit status: it cannot be used, which has been reported. */
int display_open(struct top *);
void display_close(struct display *);
int display_draw(struct display *);
/* Takes over the size of the terminal, which may have changed. */
void display_resize(struct display *);
/* Shows a message of a session, given as a record, if the user follows that session. */
void display_message(struct display *, const struct session *, struct slice record);
/* Closes the menu of a question that has its response. */
void display_answered(struct display *, const struct session_request *);

/* respond.c: the response to a question. It is closed before the question goes. Zero it to begin. */
struct respond {
	struct top *top;
	const struct stream *stream;
	const struct session_request *question; /* NULL: none */
	size_t chosen;
	bool sent;
	struct watch watch;      /* of the connection through which the response is sent */
	struct watch_guest *guest; /* NULL: there is no connection */
};
/* Begins the response to the question of this row, and closes the one before. */
void respond_open(struct respond *, struct top *, const struct row *);
/* Appends the option of this number. 0; 1: there is none; -1 out of memory. */
int respond_put_option(const struct respond *, size_t i, struct buf *to);
/* Sends the option of this number once acp-share has let us in, and reports the outcome by top_say. Stays connected until closed. */
void respond_send(struct respond *, size_t i);
void respond_close(struct respond *);

#endif
