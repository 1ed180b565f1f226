/* meta: what 2026-07-28 puts into params and results beyond older MCP. */
#ifndef MCP_META_H
#define MCP_META_H

#include "lib/base/bytes.h"

/* Appends params (an object; anything else counts as an empty one) with these members first in their _meta. 0, or -1 out of memory. */
int meta_put(struct slice params, struct slice members, struct buf *to);

/*
 * Where *params have an envelope of 2026-07-28 in their _meta, they become a copy in room without it: for a server with which a
 * handshake has been made. 0, or -1 out of memory.
 */
int meta_strip_envelope(struct slice *params, struct buf *room);
/* Likewise a result, without the members that only 2026-07-28 has: older clients may refuse them. */
int meta_strip_result(struct slice *result, struct buf *room);

#endif
