/*
 * trace: exports that are written as the recordings are read: spans for OpenTelemetry, and events for Perfetto. Nothing but what
 * is open is kept in memory.
 */
#ifndef TRACE_EXPORT_H
#define TRACE_EXPORT_H

#include "lib/filter/choice.h"
#include "lib/redact/redact.h"
#include "lib/run/out.h"
#include "lib/span/span.h"

struct trace_export;

/* How intervals are written. All append; 0, or -1 out of memory. */
struct trace_format {
	const char *begin, *end; /* what stands around all that is appended */
	int (*session)(struct trace_export *, const struct span_session *, struct buf *); /* it is seen for the first time; or NULL */
	int (*update)(struct trace_export *, const struct span_request *, struct buf *); /* or NULL */
	int (*turn)(struct trace_export *, const struct span_turn *, struct buf *);
	int (*tool)(struct trace_export *, const struct span_tool *, struct buf *);
	int (*wait)(struct trace_export *, const struct span_wait *, struct buf *);
};

/* Set the first four, zero the rest. */
struct trace_export {
	const struct trace_format *format;
	struct out *out;
	struct redact *redact;  /* or NULL */
	struct choice *choice;  /* the session that is asked for */
	struct span *span;
	struct buf sessions;    /* by their numbers: 1 for those that have been written */
	uint64_t tools, waits;  /* how many have ended */
	bool some;              /* something has been written */
	bool failed;            /* out of memory */
};

extern const struct trace_format trace_otlp, trace_perfetto;

/* These return 0, or -1 out of memory. */
int trace_export_open(struct trace_export *);
int trace_export_begin(struct trace_export *, double started);
int trace_export_see(struct trace_export *, enum acp_side from, uint64_t t, const struct msg *);
int trace_export_end(struct trace_export *);
void trace_export_close(struct trace_export *);

/* us since 1970 of a time in the recording, or since its beginning where that is not known. */
uint64_t trace_time(const struct trace_export *, uint64_t t);
/* Appends a comma, but for the first time. */
int trace_comma(struct trace_export *, struct buf *);
/* Appends a JSON string of the stream anew: half a surrogate pair, which strict readers refuse, becomes U+FFFD. */
int trace_put_string(struct buf *, struct slice string);
/* The session at the root of a tree of sub-agents. */
const struct span_session *trace_root(const struct span_session *);

#endif
