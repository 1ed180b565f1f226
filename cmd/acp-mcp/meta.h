/*
 * meta: what MCP 2026-07-28 has added to params and results, and how to add and remove it.
 *
 * One part is subscriptions/listen, a request that stays open: the server sends the notifications that its filter names. In older MCP
 * servers send them without a request, and those of resources after resources/subscribe.
 */
#ifndef MCP_META_H
#define MCP_META_H

#include "lib/base/bytes.h"

/* All functions that return an int return 0, or -1 out of memory. */

/* Appends params (p NULL or not an object: {}) with these members first in their _meta. */
int meta_put(struct slice params, struct slice members, struct buf *to);

/*
 * Removes the members of _meta that only 2026-07-28 has from *params, which become a copy in room: for a server that was
 * initialized with a handshake. Does nothing if there are none.
 */
int meta_strip_envelope(struct slice *params, struct buf *room);
/* Removes the members of a result that only 2026-07-28 has, which older clients may refuse. As meta_strip_envelope. */
int meta_strip_result(struct slice *result, struct buf *room);

/*
 * Appends the members of a filter that ask for changes of lists: those that a server with these capabilities reports. asked: a
 * filter, to append only the members that it has, too; p NULL: all.
 */
int listen_put_lists(struct slice capabilities, struct slice asked, struct buf *to);
/* Is this method, a JSON string, one of the notifications that belong to subscriptions? */
bool listen_brings(struct slice method);
/* Does the filter ask for a notification with this method, a JSON string, and these params? */
bool listen_wants(struct slice filter, struct slice method, struct slice params);
/* Appends the array of strings `uris` (p NULL: empty) with uri added, or, if not `with`, without uri. */
int listen_put_uris(struct slice uris, struct slice uri, bool with, struct buf *to);
/* Returns the subscription id in params or in a result, as JSON. p NULL: there is none. */
struct slice listen_name(struct slice params);
/* Replaces the subscription id in *value, params or a result: *value becomes a copy in room. Does nothing if there is none. */
int listen_rename(struct slice *value, struct slice id, struct buf *room);
/* Appends params (p NULL: none) with this subscription id, JSON, in their _meta. */
int listen_put_params(struct slice params, struct slice id, struct buf *to);

#endif
