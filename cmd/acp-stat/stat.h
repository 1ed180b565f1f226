/* stat: shared by the files of acp-stat. */
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

/* An interval (us) in which at least one tool of a kind ran; the list is in order of time, without overlaps. */
struct interval {
	uint64_t begin, end;
};

/* A row of the report: a method, a group of turns, or a kind of tool. */
struct row {
	UT_hash_handle hh;
	enum row_kind kind;
	enum acp_side from;   /* of a method */
	bool notification;
	uint64_t count;       /* all that have begun */
	uint64_t failed, open; /* of these; open: without an end */
	uint64_t cancelled, chunks, tokens; /* of turns; tokens: output, as far as it is reported */
	uint64_t token_us;    /* the model's time in turns that report tokens */
	uint64_t busy;        /* us: of a kind of tool: in which at least one call ran */
	struct hist times[SPAN_TIMES]; /* a method's latency and a tool's time are the first */
	uint64_t recording;   /* its number, of the last interval */
	struct interval *intervals; /* of that one */
	size_t nintervals;
	size_t key;           /* how long it is: kind, from, notification, a byte each, then the name */
	char name[];          /* plain text; it stands at the end of the key */
};

struct table {
	struct row *rows, *last; /* last: that was asked for */
	struct buf key;       /* of a row that is looked for */
	size_t n[ROWS];
	uint64_t recordings;  /* that have begun: times begin anew with each */
};

extern const char *const row_kind_names[ROWS]; /* "method", "turn", "tool" */
/* How many kinds of times a row of this kind has, and their names: "latency"; "total", "first_update", ...; "time" */
unsigned row_times(enum row_kind);
const char *row_time_name(enum row_kind, unsigned);
/* The row, which may be new. NULL when out of memory. */
struct row *table_row(struct table *, enum row_kind, enum acp_side, bool notification, struct slice name);
struct slice row_name(const struct row *);
/* The output tokens of a turn, as far as they fit. False where none are reported. */
bool turn_tokens(const struct span_turn *, uint64_t *);
/* These return 0, or -1 out of memory. */
int table_merge(struct table *, const struct table *);
int row_add_interval(const struct table *, struct row *, uint64_t begin, uint64_t end);
/* In the order of their keys, whatever order they came in. */
void table_sort(struct table *);
void table_free(struct table *);

/* --- the tool --- */

/* A report that --merge reads. */
struct json_reader {
	struct table rows; /* of the report that is being read */
	size_t n, reports; /* rows; reports of the file that are added */
};

struct tool {
	const struct options *options;
	struct span *span;
	struct table table;
	struct buf text;     /* of a name with escapes */
	struct watch *watch;
	struct label *labels; /* turns.c: by which text knows the sessions */
	struct json_reader reader;
	const char *file;    /* that is read, or NULL */
	uint64_t now;        /* us: of the last record of the file */
	bool timed;          /* messages have times */
	bool untimed;        /* it was reported that one of this file has none */
	bool any;            /* there was a message */
	bool header_written; /* --by turn, --open: the columns' names are written */
	bool failed;         /* out of memory, or the output */
};

static const char tool_name[] = "acp-stat";

/* Appends so many seconds; nothing where that is not known. 0, or -1 out of memory. */
int put_seconds(struct buf *, bool known, uint64_t us);
/* Is it the session of --session, or a sub-agent of it? */
bool tool_wants(struct tool *, const struct session *);
/* collect.c: an interval becomes a part of a row. Sets tool.failed where it cannot. */
void collect(void *tool, const struct span_event *);

/* The formats: append the whole report. 0, or -1 out of memory. */
int report_text(const struct table *, bool color, struct buf *);
int report_tsv(const struct table *, struct buf *);
int json_put(const struct table *, bool final, struct buf *);
int prom_put(const struct table *, enum by, struct buf *);
/* Before a file, and at the end: forgets what has been read. */
void json_reader_begin(struct json_reader *);
/* Adds what json_put wrote. 0; 1 where it is damaged: *why; -1 out of memory. Rows go to `to` when their report is whole. */
int json_get_line(struct json_reader *, struct slice line, struct table *to, const char **why);

/* turns.c: --by turn: a line for each turn as it ends. 0, or -1 out of memory. */
int turns_put(struct tool *, const struct span_turn *);
void turns_free(struct tool *);

/* limits.c */
void limits_parse(const struct cli_argument *);
/* Reports what is exceeded, at the end. Returns the exit status: that one, or where it is 0 its own. Sets tool.failed. */
int limits_check(struct tool *, int status);
void limits_free(struct limits *);

/* open.c: --open: a line for each request and tool call that is open now. 0, or -1 out of memory. */
int open_put(struct tool *, uint64_t now);

/* Reads a stream, files, or reports. Returns the exit status. */
int tool_run(const struct options *);

#endif
