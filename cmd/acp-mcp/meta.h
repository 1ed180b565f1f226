/* meta: members that are put into the _meta of params. */
#ifndef MCP_META_H
#define MCP_META_H

#include "lib/bytes.h"

/* Appends params (an object; anything else counts as an empty one) with these members first in their _meta. 0, or -1 out of memory. */
int meta_put(struct slice params, struct slice members, struct buf *to);

#endif
