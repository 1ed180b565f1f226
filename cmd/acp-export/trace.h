/*
 * trace: exports that are written while the recordings are read: spans for OpenTelemetry, and events for Perfetto. Memory holds
 * only the turns, tool calls and requests that have not ended. Times (t) are in us since the start of the recording.
 */
#ifndef TRACE_EXPORT_H
#define TRACE_EXPORT_H

#include "lib/redact/redact.h"
#include "lib/span/span.h"
#include "lib/watch/watch.h"

struct trace_export;

/* A format. Each function appends one event; returns 0, or -1 when out of memory. */
struct trace_format {
	const char *begin, *end; /* written before and after all events */
	int (*session)(struct trace_export *, const struct session *, struct buf *); /* a new session; or NULL */
	int (*update)(struct trace_export *, const struct span_request *, struct buf *); /* or NULL */
	int (*turn)(struct trace_export *, const struct span_turn *, struct buf *);
	int (*tool)(struct trace_export *, const struct span_tool *, struct buf *);
	int (*wait)(struct trace_export *, const struct span_wait *, struct buf *);
};

/* Set the first three, zero the others. */
struct trace_export {
	const struct trace_format *format;
	struct watch *watch;    /* its output, and --session */
	struct redact *redact;  /* or NULL */
	struct span *span;
	struct buf sessions;    /* by a session's number: 1 if it was written */
	uint64_t tools, waits;  /* how many have ended */
	bool some;              /* an event was written */
	bool failed;            /* out of memory in an event */
};

extern const struct trace_format trace_otlp, trace_perfetto;

/*
 * These return 0, or -1 when out of memory. open begins the output; begin starts a recording (started: seconds since 1970, 0 if not
 * known); see reads a message; end writes what is still open and ends the output.
 */
int trace_export_open(struct trace_export *);
int trace_export_begin(struct trace_export *, double started);
int trace_export_see(struct trace_export *, const struct message *);
int trace_export_end(struct trace_export *);
/* Frees what open allocated; watch and redact stay the caller's. */
void trace_export_close(struct trace_export *);

/* Converts a time in the recording to us since 1970; where its start is not known, returns t. */
uint64_t trace_time(const struct trace_export *, uint64_t t);
/* Appends a comma, except before the first event. Returns 0, or -1 when out of memory. */
int trace_comma(struct trace_export *, struct buf *);
/* Appends a JSON string of the stream; half a surrogate pair, which strict readers refuse, becomes U+FFFD. Returns 0 or -1. */
int trace_put_string(struct buf *, struct slice string);
/* Returns the session at the root of a tree of sub-agents. */
const struct session *trace_root(const struct session *);

#endif
