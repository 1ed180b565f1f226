/* fill: adds usage that the agent reports only in its own format to the messages, in the format of the protocol (--fill). */
#ifndef FILL_H
#define FILL_H

#include "cmd/acp-usage/tool.h"

struct fill;

/* NULL when out of memory. */
struct fill *fill_open(const struct options *);
void fill_close(struct fill *);
/* Reads a message that has usage, and may edit it. 0, or -1 out of memory. */
int fill_message(struct fill *, struct tool *, struct frame *, const struct message *, const struct usage_report *);

/* Sends the messages that were added after those that have been forwarded. */
void fill_flush(struct fill *, struct frame *);

#endif
