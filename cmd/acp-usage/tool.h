/* tool: shared by the files of acp-usage. */
#ifndef TOOL_H
#define TOOL_H

#include "lib/base/calendar.h"
#include "lib/base/cli.h"
#include "lib/base/money.h"
#include "lib/base/text.h"
#include "lib/usage/usage.h"
#include "lib/watch/watch.h"

enum format { FORMAT_LOG, FORMAT_TSV, FORMAT_CSV, FORMAT_JSON, FORMAT_PROM };
/* How full the context is, in rising order. */
enum level { LEVEL_UNKNOWN, LEVEL_NORMAL, LEVEL_YELLOW, LEVEL_ORANGE, LEVEL_RED };
enum { LEVELS = 3 };

/* --by: what a row of the summary is about. */
enum by { BY_SESSION, BY_MODEL, BY_DAY, BY_WEEK, BY_MONTH, BY_PROJECT, BY_AGENT };
extern const char *const by_names[]; /* summary.c; NULL at the end */

/* The period of a row; CALENDAR_ALWAYS where rows are of no period. */
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

/* What the command line says. */
struct options {
	enum format format;
	bool summary, merge, all, pass, fill, verbose, wide;
	enum by by;
	enum { SORT_DATE, SORT_COST, SORT_TOKENS, SORT_TITLE } sort;
	double since, before;    /* seconds since 1970; 0: no limit */
	const char *prices;
	bool cache_hour;
	enum { METER_NONE, METER_STDERR, METER_TTY } meter;
	enum usage_basis basis;
	bool warned;             /* --warn is given */
	unsigned warn[LEVELS];   /* yellow from, orange from, red above */
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
	char **inputs;           /* the files that are read, that of --prices included, then NULL */
	struct frame_options frame;
};

/* -f prom: what is counted for the metrics. */
struct prom {
	bool wanted;
	uint64_t *stops;   /* turns by the number of their stop reason */
	size_t nstops;
	struct usage_sums *models; /* by the number of their name */
	size_t nmodels;
	uint64_t written;  /* loop_clock of the last time */
	bool fresh;
};

struct tool {
	const struct options *options;
	struct watch *watch;
	struct usage *usage;
	struct prices *prices;
	struct prom prom;
	struct meter *meter;
	const struct usage_session *metered; /* the last that changed; NULL: none has */
	struct usage_words words;
	double started;      /* of the stream or recording, seconds since 1970; 0 where it is not known */
	bool timed;          /* messages have times */
	bool enveloped;      /* messages go by in envelopes: whether one is a copy, any message of its session may say */
	bool headed;         /* the names of the columns have been written */
	struct buf added;    /* fill.c: a usage_update that is to go right after a response */
	size_t merged;       /* --merge: sessions since the last total */
	bool entries;        /* --merge: a ledger was read */
	struct buf damage;   /* --merge: what is wrong with a line */
	int status;          /* EXIT_NEGATIVE if a limit was reached */
	/* alerts.c */
	unsigned compared;   /* the limits for which some session had a figure */
	struct usage_session **due; /* whose cost or tokens have changed since they were compared */
	size_t ndue;
};

static const char tool_name[] = "acp-usage";

/* run.c. Returns the exit status. */
int tool_run(const struct options *);

/* events.c */
/* What passes all that happens to the outputs; NULL when out of memory. */
struct usage *events_open(struct tool *);

/* text.c */
/* Reports a failure of the tool itself, which the exit status says. */
void tool_fail(struct tool *, const char *what);
/* Is it the session of --session, or a child of it? */
bool tool_wants(struct tool *, const struct usage_session *);

/* Levels, and figures as text. */
enum level tool_level(const struct options *, const struct usage_session *);
extern const char *const level_names[];  /* "", "normal", "yellow", "orange", "red" */
/* What is left of the context window; 0 where that is not known. */
uint64_t tokens_left(const struct usage_session *);
/* The put_ functions append to a buffer, and return 0, or -1 out of memory. */
int put_tokens(struct buf *, uint64_t);          /* 53.0K, 200K, 1M */
int put_clock(struct buf *, const struct tool *, uint64_t t); /* 2026-11-20 15:56:02, local, or 1.201s */
/* The shortest beginning of a session's id that no other session has. */
int put_session(struct buf *, const struct tool *, const struct usage_session *);
/* The escape sequence that begins the colour of a level; "" unless wanted. */
const char *level_color(enum level, bool wanted);

/* rows.c: before the first row, the names of the columns, where there are some. */
int row_put(struct tool *, struct buf *, const struct usage_event *);

/* report.c */
enum { SUMMARY_VERSION = 1 }; /* of the lines that --merge reads */
/* Writes the summary. 0, or -1 out of memory. */
int summary_put(struct tool *);

/* prices.c */
/* hour: use the price of cache writes that are kept for an hour. Ends the process where it cannot be read. */
struct prices *prices_open(const char *path, bool hour);
void prices_close(struct prices *);
/*
 * Estimates the cost of tokens. inside: as returned by usage_inside; tier: as usage_tally.tier. 0; 1 if the list does not
 * have the model (reported once); -1 out of memory.
 */
int prices_estimate(struct prices *, struct slice model, const struct usage_sums *, uint8_t inside, uint8_t tier,
	struct decimal *to);
/* max_input_tokens, or 0. */
uint64_t prices_size(struct prices *, struct slice model);

/* prom.c */
void prom_event(struct prom *, const struct usage_event *);
/* Writes the metrics if they have changed: at most once a second or, with now, at once. */
void prom_write(struct tool *, bool now);

/* fill.c */
/* Reads a message that has usage, and may edit it; arg is the tool. As `report` of usage_see. */
int fill_message(void *arg, const struct message *, const struct usage_report *);
/* Sends what was added after the messages that have been forwarded. */
void fill_flush(struct tool *);

/* meter.c */
struct meter *meter_open(const struct options *);
/* Where there is one. Hiding removes it from the terminal, so that a line of text can be printed. */
void meter_close(struct tool *);
void meter_draw(struct tool *);
void meter_hide(struct tool *);

/* alerts.c */
/* Something of the session has changed: reports its level. */
void alerts_see(struct tool *, struct usage_session *);
/* Compares the costs and tokens of all that have changed. */
void alerts_check(struct tool *);
/* Reports limits for which there was no figure to compare; for files this sets the exit status. */
void alerts_end(struct tool *);

#endif
