/* tool: what the parts of acp-usage share. */
#ifndef TOOL_H
#define TOOL_H

#include "lib/base/cli.h"
#include "lib/base/money.h"
#include "lib/base/text.h"
#include "lib/filter/choice.h"
#include "lib/frame/frame_options.h"
#include "lib/run/out.h"
#include "lib/usage/usage.h"

enum format { FORMAT_LOG, FORMAT_TSV, FORMAT_CSV, FORMAT_JSON, FORMAT_PROM };
/* From here on: normal, yellow, orange, red. */
enum level { LEVEL_UNKNOWN, LEVEL_NORMAL, LEVEL_YELLOW, LEVEL_ORANGE, LEVEL_RED };
enum { LEVELS = 3 };

/* --by: what the rows of the summary are. */
enum by { BY_SESSION, BY_MODEL, BY_DAY, BY_WEEK, BY_MONTH, BY_PROJECT, BY_AGENT };

/* --size [MODEL=]N */
struct size {
	char *model; /* NULL: of all */
	uint64_t size;
};

/* What the command line says. */
struct options {
	enum format format;
	bool summary, merge, all, pass, follow, fill, verbose, wide;
	enum by by;
	double since, before;    /* s since 1970; 0: not given */
	const char *prices;
	bool cache_hour;
	const char *meter;       /* NULL: none; "" standard error; "tty" */
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
	char **inputs;           /* likewise: the files, and that of --prices */
	struct frame_options frame;
};

struct tool {
	const struct options *options;
	struct usage *usage;
	struct out out;
	struct prices *prices;
	struct prom *prom;
	struct meter *meter;
	struct alerts *alerts;
	struct usage_words words;
	struct choice choice; /* --session */
	double started;      /* of the stream or recording, seconds since 1970; 0 where it is not known */
	bool timed;          /* t means something */
	bool live;           /* a stream: frame is set */
	bool headed;         /* the columns' names are written */
	struct frame *frame;
	int status;          /* EXIT_NEGATIVE where a limit was reached */
	bool failed;         /* out of memory, or the output */
};

extern const char tool_name[]; /* "acp-usage" */

/* tool.c: what happens to events. */
int tool_open(struct tool *, const struct options *, bool live);
void tool_close(struct tool *);
/* What is written at the end: the last turns, the summary. */
void tool_end(struct tool *);
/* Something went wrong that has to be said and remembered. */
void tool_fail(struct tool *, const char *what);
/* One line on stderr, never waiting. */
void tool_say(struct tool *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Is it the session of --session, or a child of it? */
bool tool_wants(struct tool *, const struct usage_session *);
/* A message went by. 0, or -1 out of memory. take: as usage_see. */
int tool_see(struct tool *, const struct message *, int (*take)(void *, const struct message *, const struct usage_report *), void *);
/* The recording that is read began then; 0: not known. */
int tool_begin(struct tool *, double started);
enum level tool_level(const struct options *, const struct usage_session *);
extern const char *const level_names[];  /* "", "normal", "yellow", "orange", "red" */
extern const char *const level_advice[];

/* text.c: figures as people and tables have them. All append; 0, or -1 out of memory. */
int put_tokens(struct buf *, uint64_t);          /* 53.0K, 200K, 1M */
int put_wall(struct buf *, double when);         /* 2026-11-20T15:56:02.123456Z */
int put_clock(struct buf *, const struct tool *, uint64_t t); /* 2026-11-20 15:56:02, local, or 1.201s */
/* A session's id, as short as no other begins. */
int put_session(struct buf *, const struct tool *, const struct usage_session *);
/* The columns of a terminal that what is printed gets to, as far as can be known; 0: none. */
size_t terminal_width(void);
/* Days since 1970, of the local time zone; and the day as text. */
int32_t day_of(double when);
int put_day(struct buf *, int32_t day);
/* The level's colour, and its end, where colours are wanted. */
const char *level_color(enum level, bool wanted);
const char *color_off(bool wanted);

/* rows.c */
int row_put(struct tool *, struct buf *, const struct usage_event *);
int row_put_names(struct tool *, struct buf *);

/* summary.c */
enum { SUMMARY_VERSION = 1 }; /* of the lines that --merge reads */
/* Writes it. 0, or -1 out of memory. */
int summary_put(struct tool *);

/* prices.c */
/* hour: cache writes cost what those do that are kept for an hour. */
struct prices *prices_open(const char *path, bool hour);
void prices_close(struct prices *);
/* What the tokens cost by the list. 0; 1 where it does not know the model (said once); -1 out of memory. */
/* inside: as usage_inside has it; tier: as usage_tally.tier. */
int prices_estimate(struct prices *, struct slice model, const struct usage_sums *, uint8_t inside, uint8_t tier,
	struct decimal *to);
/* max_input_tokens, or 0. */
uint64_t prices_size(struct prices *, struct slice model);

/* prom.c */
struct prom *prom_open(const struct options *);
/* Opens the file of --output. 0, or the exit status; what is wrong has been reported. */
int prom_open_file(struct prom *, char *const *inputs);
void prom_close(struct prom *);
void prom_event(struct prom *, const struct usage_event *);
/* Writes what is new, at most once a second, or now. */
void prom_write(struct prom *, struct tool *, bool now);

/* meter.c */
struct meter *meter_open(const struct options *);
void meter_close(struct meter *);
void meter_show(struct meter *, struct tool *, const struct usage_event *);
void meter_draw(struct meter *, struct tool *);
/* Takes it away, for a line of text. */
void meter_hide(struct meter *);

/* alerts.c */
struct alerts *alerts_open(const struct options *);
void alerts_close(struct alerts *);
void alerts_see(struct alerts *, struct tool *, struct usage_session *);
/* Reports limits that nothing could be compared with; where files were read, that is an error. */
void alerts_end(const struct alerts *, struct tool *);

/* The things that the tool does. All return the exit status. */
int stream_run(const struct options *);
int files_run(const struct options *);
/* Opens -o where files are read; exits where it can not. */
void files_open_output(struct tool *);
int merge_run(const struct options *);

#endif
