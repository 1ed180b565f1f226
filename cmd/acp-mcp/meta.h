/* meta: the members of params and results that MCP 2026-07-28 has added. */
#ifndef MCP_META_H
#define MCP_META_H

#include "lib/base/bytes.h"

/* Appends params (p NULL or not an object: {}) with these members first in their _meta. Returns 0, or -1 out of memory. */
int meta_put(struct slice params, struct slice members, struct buf *to);

/*
 * Removes the members of _meta that only 2026-07-28 has from *params, which become a copy in room: for a server that was
 * initialized with a handshake. Does nothing if there are none. Returns 0, or -1 out of memory.
 */
int meta_strip_envelope(struct slice *params, struct buf *room);
/* Removes the members of a result that only 2026-07-28 has, which older clients may refuse. As meta_strip_envelope. */
int meta_strip_result(struct slice *result, struct buf *room);

#endif
