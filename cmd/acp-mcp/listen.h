/*
 * listen: subscriptions/listen of MCP 2026-07-28, a request that stays open: what its filter names is told of with
 * notifications. In older MCP they come unasked, and for resources after resources/subscribe.
 */
#ifndef MCP_LISTEN_H
#define MCP_LISTEN_H

#include "lib/base/bytes.h"

/*
 * Appends the members of a filter that ask for changes of lists: those that a server with these capabilities tells of,
 * of them those that `asked`, a filter, has (p NULL: all). 0, or -1 out of memory.
 */
int listen_put_lists(struct slice capabilities, struct slice asked, struct buf *to);
/* Does a notification of this method, a JSON string, come on subscriptions only? */
bool listen_brings(struct slice method);
/* Is a notification of this method, a JSON string, with these params what the filter asks for? */
bool listen_wants(struct slice filter, struct slice method, struct slice params);
/*
 * Appends an array of the strings that another one (or p NULL) has, with this one in it, or without. 0, or -1 out of
 * memory.
 */
int listen_put_uris(struct slice uris, struct slice uri, bool with, struct buf *to);
/* The id that params, or a result, name a subscription by, JSON; p NULL: none. */
struct slice listen_name(struct slice params);
/*
 * Where *value, params or a result, names a subscription, it becomes a copy in room with this id in its place. 0, or -1 out of
 * memory.
 */
int listen_rename(struct slice *value, struct slice id, struct buf *room);
/* Appends params (or p NULL: none) with the id of the subscription, JSON, in their _meta. 0, or -1 out of memory. */
int listen_put_params(struct slice params, struct slice id, struct buf *to);

#endif
