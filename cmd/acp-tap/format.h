/* format: the formats in which acp-tap writes messages and events. */
#ifndef FORMAT_H
#define FORMAT_H

#include "cmd/acp-tap/grep.h"
#include "lib/base/cli.h"
#include "lib/watch/watch.h"

struct pretty;

/* A format, and the state of the formats that have one. */
struct writer {
	const struct format *format;
	struct pretty *pretty;
	bool timed; /* the current record has a time */
	uint64_t number; /* the number of the record, if it is shown (-n); else 0 */
	struct grep *grep; /* the pattern of --grep; or NULL */
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

#endif
