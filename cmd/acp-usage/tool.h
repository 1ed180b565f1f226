/* tool: what the files of acp-usage have in common. */
#ifndef TOOL_H
#define TOOL_H

#include "lib/base/calendar.h"
#include "lib/base/cli.h"
#include "lib/base/money.h"
#include "lib/base/text.h"
#include "lib/usage/usage.h"
#include "lib/watch/watch.h"

enum format { FORMAT_LOG, FORMAT_TSV, FORMAT_CSV, FORMAT_JSON, FORMAT_PROM };
/* How full a session's context is, in rising order. */
enum level { LEVEL_UNKNOWN, LEVEL_NORMAL, LEVEL_YELLOW, LEVEL_ORANGE, LEVEL_RED };
enum { LEVELS = 3 };

/* --by: what a row of the summary is about. */
enum by { BY_SESSION, BY_MODEL, BY_DAY, BY_WEEK, BY_MONTH, BY_PROJECT, BY_AGENT };
extern const char *const by_names[]; /* NULL at the end; summary.c */

/* The period of a row; CALENDAR_ALWAYS if rows are not about periods. */
static inline enum calendar_period
by_period(enum by by)
{
	return by >= BY_DAY && by <= BY_MONTH ? (enum calendar_period)(by - BY_DAY + CALENDAR_DAY) : CALENDAR_ALWAYS;
}

/* --size [MODEL=]N */
struct size {
	char *model; /* NULL: all models */
	uint64_t size;
};

/* The options of the command line. */
struct options {
	enum format format;
	bool summary, merge, all, pass, fill, verbose, wide;
	enum by by;
	enum { SORT_DATE, SORT_COST, SORT_TOKENS, SORT_TITLE } sort;
	double since, before;    /* s since 1970; 0: no limit */
	const char *prices;
	bool cache_hour;
	enum { METER_NONE, METER_STDERR, METER_TTY } meter;
	enum usage_basis basis;
	bool warned;             /* --warn is given */
	unsigned warn[LEVELS];   /* percentages: yellow from, orange from, red above */
	struct money_list warn_cost;
	struct money_list max_cost;
	struct size *sizes;
	size_t nsizes;
	const char *exec;
	enum level fail_at;      /* LEVEL_UNKNOWN: never */
	bool has_max_tokens;
	uint64_t max_tokens;
	const char *session;
	enum cli_color color;
	char **inputs;           /* the files that are read, also the price list, then NULL */
	struct frame_options frame;
};

/* -f prom: what the metrics count besides the sessions. */
struct prom {
	uint64_t *stops;   /* how many turns ended with each stop reason, by its name's number */
	size_t nstops;
	struct usage_sums *models; /* tokens of each model, by its name's number */
	size_t nmodels;
	uint64_t written;  /* loop_clock when the metrics were written last */
	bool fresh;
};

struct tool {
	const struct options *options;
	struct watch *watch;
	struct usage *usage;
	struct prices *prices;
	struct prom prom;
	struct meter *meter;
	const struct usage_session *metered; /* the session that changed last; NULL: none has changed */
	struct usage_words words;
	double started;      /* when the stream or recording began, s since 1970; 0: not known */
	bool timed;          /* messages have times */
	bool enveloped;      /* an envelope was seen: all messages are read, for any may show which others are copies */
	bool headed;         /* the row with the names of the columns is written */
	struct buf added;    /* fill.c: a usage_update that has to follow a response */
	size_t merged;       /* --merge: sessions since the last line with a total */
	bool entries;        /* --merge: a ledger was read */
	struct buf damage;   /* --merge: what is wrong with a line */
	int status;          /* EXIT_NEGATIVE if a limit was reached */
	/* alerts.c */
	unsigned compared;   /* the limits for which some session had a figure, as bits of alerts.c */
	struct usage_session **due; /* sessions to compare: their costs or tokens have changed */
	size_t ndue;
};

static const char tool_name[] = "acp-usage";

/* run.c. Runs the tool, and returns the exit status. */
int tool_run(const struct options *);

/* events.c */
/* Makes the struct usage, which passes events to all outputs. NULL when out of memory. */
struct usage *events_open(struct tool *);

/* text.c */
/* Reports a failure of the tool itself, once, and has the exit status show it. */
void tool_fail(struct tool *, const char *what);
/* Is the session, or one above it, selected by --session? True without --session. */
bool tool_wants(struct tool *, const struct usage_session *);
/* The session with which this sub-agent's session counts. NULL: none, also where --session selects only the sub-agent. */
struct usage_session *tool_parent(struct tool *, const struct usage_session *);
/* Is the session selected, and not included in the figures of its tool_parent? */
bool tool_adds(struct tool *, const struct usage_session *);

/* The level of a session's context; LEVEL_UNKNOWN if its size or use is not known. */
enum level tool_level(const struct options *, const struct usage_session *);
extern const char *const level_names[];  /* "", "normal", "yellow", "orange", "red" */
/* How many tokens of the context window are left; 0 if this is not known. */
uint64_t tokens_left(const struct usage_session *);
/* The put_ functions append to a buffer, and return 0, or -1 out of memory. */
int put_tokens(struct buf *, uint64_t);          /* 53.0K, 200K, 1M */
int put_clock(struct buf *, const struct tool *, uint64_t t); /* 2026-11-20 15:56:02, local, or 1.201s */
/* Appends the shortest beginning of the session's id that no other session has. */
int put_session(struct buf *, const struct tool *, const struct usage_session *);
/* The escape sequence that begins the colour of a level; "" if colours are not wanted. */
const char *level_color(enum level, bool wanted);

/* rows.c. Appends an event's row, after the columns' names if it is the first and the format has them. 0, or -1 out of memory. */
int row_put(struct tool *, struct buf *, const struct usage_event *);

/* report.c */
enum { SUMMARY_VERSION = 1 }; /* the version of the lines that --merge reads */
/* Writes the summary. 0, or -1 out of memory. */
int summary_put(struct tool *);

/* prices.c */
/* Reads a price list; ends the process if this fails. hour: use the price of cache writes that are kept for an hour. */
struct prices *prices_open(const char *path, bool hour);
void prices_close(struct prices *);
/*
 * Estimates the cost of tokens. inside: from usage_inside; tier: as usage_tally.tier. 0; 1 if the price is not known or the cost
 * too large, which is reported once for each model; -1 out of memory.
 */
int prices_estimate(struct prices *, struct slice model, const struct usage_sums *, uint8_t inside, uint8_t tier,
	struct decimal *to);
/* The model's max_input_tokens in the list, or 0. */
uint64_t prices_size(struct prices *, struct slice model);

/* prom.c. Takes note of an event that changes the metrics. */
void prom_event(struct tool *, const struct usage_event *);
/* Writes the metrics, if they have changed and a second has passed; now: in any case. */
void prom_write(struct tool *, bool now);

/* fill.c */
/* As `report` of usage_see, adds a message's usage; edits the message if it lacks some. arg: the tool. 0, or -1 out of memory. */
int fill_message(void *arg, const struct message *, const struct usage_report *);
/* Sends the usage_update that has to follow the last response. */
void fill_flush(struct tool *);

/* meter.c. meter_open returns NULL if there is no terminal for the meter. */
struct meter *meter_open(const struct options *);
/* These do nothing without a meter. meter_hide removes it from the terminal, so that a line of text can be printed. */
void meter_close(struct tool *);
void meter_draw(struct tool *);
void meter_hide(struct tool *);

/* alerts.c */
/* Reports the level of a session that has changed, and has alerts_check compare its cost and tokens. */
void alerts_see(struct tool *, struct usage_session *);
/* Compares the costs and tokens of all sessions that have changed since the last call. */
void alerts_check(struct tool *);
/* Reports limits that were not compared with any figure; for files, this sets the exit status. */
void alerts_end(struct tool *);

#endif
