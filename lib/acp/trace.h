/* trace: the events that the Rust conductor writes. */
#ifndef TRACE_H
#define TRACE_H

#include <stdint.h>

#include "lib/acp/acp.h"
#include "lib/base/bytes.h"

/* One event. All slices are values as they are written; p is NULL where the member is absent. */
struct trace {
	struct slice type, from, to, id, method, params, payload, is_error;
	enum acp_side sender; /* the side that the message comes from */
	uint64_t hop;         /* 0 is the client's */
	struct slice below;   /* the name on the hop's agent side, with its quotes */
};

/* Reads an object that json_scan has accepted. False where it is no event, or one between others than neighbours by name. */
bool trace_read(struct slice object, struct trace *);
/* Appends the message of the event; params that are null are left out, as they were absent. 0, or -1 out of memory. */
int trace_message(const struct trace *, struct buf *to);

#endif
