/* stat: what the files of acp-stat have in common. */
#ifndef STAT_H
#define STAT_H

#include "cmd/acp-stat/hist.h"
#include "lib/base/cli.h"
#include "lib/watch/watch.h"
#include "lib/span/span.h"

enum format { FORMAT_TEXT, FORMAT_TSV, FORMAT_JSON, FORMAT_PROM, FORMAT_JUNIT, FORMAT_GITHUB };
/* --by: what the rows are. BY_ALL: methods, one row for all turns, and tools. */
enum by { BY_ALL, BY_METHOD, BY_SESSION, BY_TURN, BY_TOOL, BY_AGENT };

/* --max: zero it to begin. */
struct limits {
	struct limit *at;
	size_t n;
};

/* The options of the command line. */
struct options {
	struct limits limits;
	bool merge, pass, open;
	const char *session;
	enum format format;
	enum by by;
	enum cli_color color;
	struct frame_options frame;
};

/* --- rows --- */

enum row_kind { ROW_METHOD, ROW_TURN, ROW_TOOL, ROWS };

/* An interval (us) in which at least one tool of a kind ran. Lists are in the order of time, without overlaps. */
struct interval {
	uint64_t begin, end;
};

/* A row of the report: a method, a group of turns, or a kind of tool. */
struct row {
	UT_hash_handle hh;
	enum row_kind kind;
	enum acp_side from;   /* the side that sends a method */
	bool notification;
	uint64_t count;       /* how many have begun */
	uint64_t failed, open; /* how many of them have failed, have no end */
	uint64_t cancelled, chunks, tokens; /* of turns; tokens: the output tokens that were reported */
	uint64_t token_us;    /* us of the model in turns that report tokens */
	uint64_t busy;        /* of a kind of tool: us in which at least one call ran */
	struct hist times[SPAN_TIMES]; /* a method and a tool have only the first: latency, time */
	uint64_t recording;   /* the number of the recording of `intervals` */
	struct interval *intervals; /* the last ones in that recording */
	size_t nintervals;
	size_t key;           /* bytes of the key: kind, from and notification, a byte each, and then the name */
	char name[];          /* plain text, the end of the key */
};

struct table {
	struct row *rows, *last; /* last: the one that was found last */
	struct buf key;       /* of the row that is being looked for */
	size_t n[ROWS];
	uint64_t recordings;  /* how many have begun; times begin anew with each */
};

extern const char *const row_kind_names[ROWS]; /* "method", "turn", "tool" */
/* The figures of each kind of rows that are not times, by their names in -f json, with a NULL at the end; and one of them in a row. */
struct row_figure {
	const char *name;
	size_t at;
};
extern const struct row_figure row_figures[ROWS][8];
uint64_t *row_figure(const struct row *, const struct row_figure *);
/* How many kinds of times a row of this kind has, and their names: "latency"; "total", "first_update", ...; "time" */
unsigned row_times(enum row_kind);
const char *row_time_name(enum row_kind, unsigned);
/* The row with this key, which is made if there is none. NULL out of memory. */
struct row *table_row(struct table *, enum row_kind, enum acp_side, bool notification, struct slice name);
struct slice row_name(const struct row *);
/* The output tokens of a turn, at most 2^64-1. False if none were reported. */
bool turn_tokens(const struct span_turn *, uint64_t *);
/* These return 0, or -1 out of memory. */
int table_merge(struct table *, const struct table *);
int row_add_interval(const struct table *, struct row *, uint64_t begin, uint64_t end);
/* Sorts the rows by their keys. */
void table_sort(struct table *);
void table_free(struct table *);

/* --- the tool --- */

/* A report that --merge reads. */
struct json_reader {
	struct table rows; /* of the report that is being read */
	size_t n, reports; /* rows of that report so far; reports of the file that were added */
};

struct tool {
	const struct options *options;
	struct span *span;
	struct table table;
	struct buf text;     /* scratch, for a name with escapes */
	struct session_label *labels; /* of the sessions whose turns were shown */
	struct watch *watch;
	struct json_reader reader;
	const char *file;    /* the one that is being read, or NULL */
	uint64_t now;        /* us: the time of the file's last record */
	bool timed;          /* messages have times */
	bool untimed;        /* a message of this file had no time, which was reported */
	bool header_written; /* --by turn, --open: the names of the columns have been written */
	bool failed;         /* out of memory, or the output has failed */
};

static const char tool_name[] = "acp-stat";

/* Appends a time in seconds after a text, such as a tab; of an unknown time only the text. 0, or -1 out of memory. */
int put_seconds(struct buf *, const char *before, bool known, uint64_t us);
/* Is this the session of --session, or one of its sub-agents? */
bool tool_wants(struct tool *, const struct session *);
/* collect.c: counts an interval in its row. Sets tool.failed out of memory. */
void collect(void *tool, const struct span_event *);

/* The formats: each function appends the whole report. 0, or -1 out of memory. */
int report_text(const struct table *, bool color, struct buf *);
int report_tsv(const struct table *, struct buf *);
int json_put(const struct table *, bool final, struct buf *);
int prom_put(const struct table *, enum by, struct buf *);
/* Forgets a report that was read in part: before each file, and at the end. */
void json_reader_begin(struct json_reader *);
/* Reads a line that json_put wrote. The rows of a report are added to `to` once it is whole. 0; 1: the line is damaged, *why; -1 out of memory. */
int json_get_line(struct json_reader *, struct slice line, struct table *to, const char **why);

/* turns.c: --by turn: writes a line for a turn that ends. 0, or -1 out of memory. */
int turns_put(struct tool *, const struct span_turn *);

/* limits.c */
void limits_parse(const struct cli_argument *);
/* Reports the limits that are exceeded. Returns the exit status: the given one, or if that is 0 its own. Sets tool.failed out of memory. */
int limits_check(struct tool *, int status);
void limits_free(struct limits *);

/* open.c: with --open, writes a line for each open request and tool call. 0, or -1 out of memory. */
int open_put(struct tool *);

/* Reads a stream, files, or reports. Returns the exit status. */
int tool_run(const struct options *);

#endif
