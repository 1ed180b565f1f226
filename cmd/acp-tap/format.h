/* format: the formats in which acp-tap writes messages and events. */
#ifndef FORMAT_H
#define FORMAT_H

#include "cmd/acp-tap/grep.h"
#include "lib/base/cli.h"
#include "lib/watch/watch.h"

struct pretty;

/* A format and the state of those that have one. */
struct writer {
	const struct format *format;
	struct pretty *pretty;
	bool timed; /* the record that is written now has a time */
	uint64_t number; /* the number of the record, if it is shown (-n); else 0 */
	struct grep *grep; /* what was looked for, or NULL */
	bool hit;        /* it is in this message, or nothing was looked for */
};

/*
 * A format is a few functions. Each appends its text, if any, to a buffer, and returns 0, or -1 out of
 * memory. All but `message` may be NULL.
 */
struct format {
	int (*header)(struct writer *, struct buf *to, const struct watch_start *);
	/* Is called for each message, also for those that are not selected. */
	void (*watch)(struct writer *, const struct session_message *);
	int (*message)(struct writer *, struct buf *to, const struct message *);
	bool lines; /* it writes lines as they came, and looks at nothing else of a message */
	/* Is the message one whose text is joined with others? The format itself redacts what they are together. */
	bool (*joins)(struct writer *, const struct message *);
	/* Noise, a line of stderr, an exit (status as waitpid has it), an end of input, lost records. text.p NULL: it is left out (--redact). */
	int (*event)(struct writer *, struct buf *to, const struct record *);
	/* Writes text that was delayed (a run of chunks). */
	int (*flush)(struct writer *, struct buf *to);
};

extern const struct format format_record, format_pretty, format_full, format_raw, format_trace;

#endif
