/* tap: what the files of acp-tap have in common. */
#ifndef TAP_H
#define TAP_H

#include "lib/base/cells.h"
#include "lib/redact/redact.h"
#include "lib/watch/watch.h"

static const char tap_name[] = "acp-tap";

enum format_number { FORMAT_DEFAULT, FORMAT_RECORD, FORMAT_PRETTY, FORMAT_FULL, FORMAT_RAW, FORMAT_TRACE, FORMAT_TSV,
	FORMAT_JSON };

/* The options. */
struct options {
	enum format_number format;   /* after the options were read, not the default */
	struct select *select;
	const char *match;           /* the last --match */
	struct grep *grep;           /* or NULL */
	bool files;                  /* --files */
	uint64_t count;              /* UINT64_MAX: no limit */
	bool number;                 /* -n */
	bool list;
	uint64_t start, until;       /* records; 0, UINT64_MAX: all */
	int fold;                    /* 1: --fold; 0: --no-fold; -1: the default */
	enum redact_option redact;
	enum cli_color color;
	char *home;                  /* the path for --output auto; or NULL */
	struct frame_options frame;
};

/* list.c: --list: writes a line for each recording. Returns the exit status. */
int list_run(const struct options *);

/* tap.c: watches a stream or reads recordings. Returns the exit status. */
int tap_run(const struct options *);

/* --- grep.c: finds a literal or a regular expression (--grep) in the texts of messages; ignores case --- */

struct grep;

/* A hit: a part of this text, which is valid until the next search. */
struct grep_hit {
	struct slice text;
	size_t from, to;
};

/* Makes a pattern. regex: a POSIX extended regular expression. NULL with the error in *why (the caller frees it; NULL out of memory). */
struct grep *grep_new(const char *pattern, bool regex, char **why);
void grep_free(struct grep *);
/* Is the pattern in a passing message? A hit may begin in earlier chunks of the same text. */
bool grep_see(struct grep *, const struct message *);
/* Is the pattern in this message alone, or in this plain text? Then fills in the hit. */
bool grep_message(struct grep *, const struct message *, struct grep_hit *);
bool grep_text(struct grep *, struct slice text, struct grep_hit *);

/* --- the formats in which acp-tap writes messages and events --- */

struct pretty;

/* A format, and the state of the formats that have one. */
struct writer {
	const struct format *format;
	struct pretty *pretty;
	bool timed; /* the current record has a time */
	uint64_t number; /* the number of the record, if it is shown (-n); else 0 */
	bool hit;        /* the pattern is in this message, or there is no pattern */
	struct buf before; /* of a chunk that the format joins, with --redact: the end of the text before it */
};

/*
 * The functions of a format. Each appends its text, if any, to a buffer, and returns 0, or -1 out of memory. All but `message` may be
 * NULL.
 */
struct format {
	int (*header)(struct writer *, struct buf *to, const struct watch_start *);
	/* Called for each message, also for one that is not selected. */
	void (*watch)(struct writer *, const struct session_message *);
	int (*message)(struct writer *, struct buf *to, const struct message *);
	bool lines; /* it writes lines unchanged, and reads nothing else of a message */
	/* Does the format join the text of this message with others? Then it also redacts the joined text. */
	bool (*joins)(struct writer *, const struct message *);
	/* Writes a record that is no message. text.p is NULL if --redact leaves the text out. */
	int (*event)(struct writer *, struct buf *to, const struct record *);
	/* Writes the delayed text of a run of chunks. */
	int (*flush)(struct writer *, struct buf *to);
};

extern const struct format format_record, format_pretty, format_full, format_raw, format_trace;

/* --- pretty.c: a timeline for people --- */

/* The kind of output decides on colours and width. redact: for the joined text of a run; or NULL. Returns NULL out of memory. */
struct pretty *pretty_new(const struct watch *, const struct options *, struct redact *);
void pretty_free(struct pretty *);
/* Handles an event of lib/session. */
void pretty_see(struct pretty *, const struct session_event *);

/* Closes the bracket of a turn that did not end; t: of the last record, us. 0, or -1 out of memory. */
int pretty_close(struct writer *, struct buf *to, const struct session_turn *, uint64_t t);
/* The cells of a line of the output. */
unsigned pretty_width(const struct watch *);

/* --- preview.c: the contents of a message in a few words --- */

/* Appends the preview of a message, cut to the width of the column. */
void preview_put(struct cells *, const struct message *);
/* The style of a kind of update, or of a method; name: a JSON string. */
enum style preview_style(struct slice name);
/* The text of a chunk, a JSON string; p NULL: the message is no chunk, or has no text. */
struct slice preview_chunk(const struct message *, struct slice kind);

#endif
