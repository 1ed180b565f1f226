/* trace: reads the events that the Rust conductor writes. */
#ifndef TRACE_H
#define TRACE_H

#include <stdint.h>

#include "lib/acp/acp.h"
#include "lib/base/bytes.h"

/* One event. All slices are values as they are written; p is NULL if the member is absent. */
struct trace {
	struct slice type, from, to, id, method, params, payload, is_error;
	enum acp_side sender; /* the side that sent the message */
	uint64_t hop;         /* the hop's number, 0 for the client's; UINT64_MAX: a peer's */
	struct slice below;   /* the name of the component on the hop's agent side, with its quotes */
};

/* Reads an object that json_scan has accepted. False: it is no event, or not one between two neighbours. */
bool trace_read(struct slice object, struct trace *);
/* Appends the event's message, without params that are null, which were absent in the message. 0, or -1 out of memory. */
int trace_message(const struct trace *, struct buf *to);

#endif
