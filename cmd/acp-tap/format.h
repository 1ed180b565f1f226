/* format: the ways in which acp-tap writes down what it sees. */
#ifndef FORMAT_H
#define FORMAT_H

#include "lib/base/cli.h"
#include "lib/recording/recording.h"
#include "lib/acp/requests.h"

/* What is no message: noise, a line of stderr, an exit, an end, a loss. */
struct event {
	enum record_kind kind; /* RECORD_NOISE, STDERR, EXIT, EOF or LOST */
	enum acp_side from;
	uint64_t t;
	struct slice text; /* of noise and stderr; why something was lost; p NULL where it is left out */
	size_t size;       /* of noise and stderr, in bytes */
	bool torn;         /* of an end */
	int status;        /* of an exit, as waitpid has it */
	uint64_t count;    /* of a loss */
};

/* What a recording begins with. */
struct heading {
	double started;       /* seconds since 1970, 0 where it is not known */
	char *const *command; /* or NULL */
	struct slice raw;     /* where it was read: its line; else p NULL */
	const char *name;     /* of the file it was read from */
};

struct pretty;

/* A format and the state of those that have one. */
struct writer {
	const struct format *format;
	struct pretty *pretty;
	bool timed; /* what is written now has a time */
	uint64_t number; /* of its record, where that is to be shown; else 0 */
};

/*
 * A format is a few functions. Each appends what it has to say to a buffer, perhaps nothing, and
 * returns 0, or -1 out of memory. All may be NULL.
 */
struct format {
	const char *name;
	int (*header)(struct writer *, struct buf *to, const struct heading *);
	/* Each message, before it is known whether it is selected. */
	void (*watch)(struct writer *, const struct message *);
	/* A line as it came, or a message: a format has one of the two. */
	int (*line)(struct writer *, struct buf *to, const struct message *, struct slice line);
	int (*message)(struct writer *, struct buf *to, const struct message *);
	int (*event)(struct writer *, struct buf *to, const struct event *);
	/* What was put off. */
	int (*rest)(struct writer *, struct buf *to);
};

extern const struct format format_record, format_pretty, format_full, format_raw, format_trace;

#endif
