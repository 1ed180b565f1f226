/*
 * trace: formats that are written while a stream passes or recordings are read: spans and metrics for OpenTelemetry, and events for
 * Perfetto. Memory holds only turns, tool calls and requests that have not ended. Times (t) are in us since the start of the stream
 * or recording.
 */
#ifndef TRACE_EXPORT_H
#define TRACE_EXPORT_H

#include "cmd/acp-export/post.h"
#include "lib/redact/redact.h"
#include "lib/span/span.h"
#include "lib/watch/watch.h"

/* The metrics of OpenTelemetry, for otlp.c: histograms by their attributes. Zero the struct to begin. */
enum metric { METRIC_TOKENS, METRIC_DURATION, METRICS };
struct metrics {
	struct histogram *of[METRICS];
};

struct trace_export;

/* A format. session, update, turn, tool and wait append events. The functions return 0, or -1 when out of memory. */
struct trace_format {
	const char *begin, *end; /* what surrounds the events; empty: the output is no document, and each batch is a line */
	/* Appends the batch, or (report) the metrics up to now, as a line. NULL: there are no metrics, and the batch is written as it is. */
	int (*line)(const struct trace_export *, bool report, struct buf *);
	int (*session)(struct trace_export *, const struct session *, struct buf *); /* begins a session; or NULL */
	int (*update)(struct trace_export *, const struct span_request *, struct buf *); /* shows a session/update; or NULL */
	int (*turn)(struct trace_export *, const struct span_turn *, struct buf *);
	int (*tool)(struct trace_export *, const struct span_tool *, struct buf *);
	int (*wait)(struct trace_export *, const struct span_wait *, struct buf *);
	void (*close)(struct metrics *); /* frees the metrics; or NULL */
};

/* The state of an export. Set the first three members, zero the others. */
struct trace_export {
	const struct trace_format *format;
	struct watch *watch;    /* has the output, and the session of --session */
	struct redact *redact;  /* or NULL */
	struct span *span;
	struct buf batch;       /* the events that are not written yet */
	struct metrics metrics;
	uint64_t first, now;    /* when the first stream or recording began, and the time of the last message; as from trace_time */
	uint64_t instance;      /* a number that distinguishes this stream from others at the same time */
	bool changed;           /* the metrics have changed since they were written */
	uint64_t due;           /* t: when the metrics may be written again */
	struct buf sessions;    /* a byte for each number of a session: 1 if the format has begun the session */
	uint64_t tools, waits;  /* how many tool calls, and waits for the user, have ended */
	struct post_counts written;
	bool begun, some;       /* begun: the output has begun; some: there was an event */
	bool failed;            /* out of memory in an event */
};

extern const struct trace_format trace_otlp, trace_perfetto;

/*
 * These return 0, or -1 when out of memory. begin starts a stream or recording (started: seconds since 1970, 0 if not known), and
 * the first time the output; see reads a message; end ends what is open, writes all, and ends the output.
 */
int trace_export_open(struct trace_export *);
int trace_export_begin(struct trace_export *, double started);
int trace_export_see(struct trace_export *, const struct message *);
int trace_export_end(struct trace_export *);
/* For `tick` of a watch: writes the batch, and metrics at most once a minute. Returns when it wants to be called again, or 0. */
uint64_t trace_export_tick(struct trace_export *, uint64_t now);
/* Frees what open allocated; watch and redact stay the caller's. */
void trace_export_close(struct trace_export *);
/* --propagate: adds the traceparent of the turn to a prompt without one; to be called after see. 0, or -1 out of memory. */
int trace_propagate(struct trace_export *, const struct message *);

/* Converts a time in the stream or recording to us since 1970; returns t if the start of the stream is not known. */
uint64_t trace_time(const struct trace_export *, uint64_t t);
/* Appends a comma, except before the first event of a document. Returns 0, or -1 when out of memory. */
int trace_comma(struct trace_export *, struct buf *);
/* Appends a JSON string of the stream; half a surrogate pair, which strict readers refuse, becomes U+FFFD. 0, or -1. */
int trace_put_string(struct buf *, struct slice string);

#endif
