/*
 * trace: exports that are written while a stream passes or recordings are read: spans and metrics for OpenTelemetry, and events for
 * Perfetto. Memory holds only the turns, tool calls and requests that have not ended. Times (t) are in us since the start of the stream
 * or recording.
 */
#ifndef TRACE_EXPORT_H
#define TRACE_EXPORT_H

#include "cmd/acp-export/post.h"
#include "lib/redact/redact.h"
#include "lib/span/span.h"
#include "lib/watch/watch.h"

/* Histograms of OpenTelemetry, for otlp.c. Zero them to begin. */
enum metric { METRIC_TOKENS, METRIC_DURATION, METRICS };
struct metrics {
	struct histogram *of[METRICS];
};

struct trace_export;

/* A format. Each function appends one event; returns 0, or -1 when out of memory. */
struct trace_format {
	const char *begin, *end; /* of one document around all events; empty: each batch is a line of its own: */
	int (*line)(const struct trace_export *, struct buf *); /* the batch; NULL: as it is */
	int (*report)(const struct trace_export *, struct buf *); /* the metrics up to now, likewise; or NULL */
	int (*session)(struct trace_export *, const struct session *, struct buf *); /* a new session; or NULL */
	int (*update)(struct trace_export *, const struct span_request *, struct buf *); /* or NULL */
	int (*turn)(struct trace_export *, const struct span_turn *, struct buf *);
	int (*tool)(struct trace_export *, const struct span_tool *, struct buf *);
	int (*wait)(struct trace_export *, const struct span_wait *, struct buf *);
	void (*close)(struct metrics *); /* or NULL */
};

/* Set the first three, zero the others. */
struct trace_export {
	const struct trace_format *format;
	struct watch *watch;    /* its output, and --session */
	struct redact *redact;  /* or NULL */
	struct span *span;
	struct buf batch;       /* the events that are not written yet */
	struct metrics metrics;
	uint64_t first, now;    /* us since 1970, or 0: when the first stream or recording began, and of the last message */
	uint64_t instance;      /* tells this stream from others at the same time */
	bool changed;           /* the metrics, since they were written */
	uint64_t due;           /* t: when they are written again */
	struct buf sessions;    /* by a session's number: 1 if it was written */
	uint64_t tools, waits;  /* how many have ended */
	struct post_counts written;
	bool begun, some;       /* the output has begun; there was an event */
	bool failed;            /* out of memory in an event */
};

extern const struct trace_format trace_otlp, trace_perfetto;

/*
 * These return 0, or -1 when out of memory. begin starts a stream or recording (started: seconds since 1970, 0 if not known), the first
 * one the output; see reads a message; flush writes what has ended so far; end ends what is open, writes all, and ends the output.
 */
int trace_export_open(struct trace_export *);
int trace_export_begin(struct trace_export *, double started);
int trace_export_see(struct trace_export *, const struct message *);
int trace_export_flush(struct trace_export *);
int trace_export_end(struct trace_export *);
/* For `tick` of a watch: the same as flush, and metrics once a minute. Returns when it wants to be called again, or 0. */
uint64_t trace_export_tick(struct trace_export *, uint64_t now);
/* Frees what open allocated; watch and redact stay the caller's. */
void trace_export_close(struct trace_export *);
/* --propagate: adds the traceparent of its turn to a prompt that has none. To be called after see. 0, or -1 out of memory. */
int trace_propagate(struct trace_export *, const struct message *);

/* Converts a time in the stream or recording to us since 1970; where its start is not known, returns t. */
uint64_t trace_time(const struct trace_export *, uint64_t t);
/* Appends a comma, except before the first event of a document. Returns 0, or -1 when out of memory. */
int trace_comma(struct trace_export *, struct buf *);
/* Appends a JSON string of the stream; half a surrogate pair, which strict readers refuse, becomes U+FFFD. Returns 0 or -1. */
int trace_put_string(struct buf *, struct slice string);

#endif
