/* fill: what the agent left out is written into the standard places of the stream. */
#ifndef FILL_H
#define FILL_H

#include "cmd/acp-usage/tool.h"

struct fill;

/* NULL when out of memory. */
struct fill *fill_open(const struct options *);
void fill_close(struct fill *);
/* A message that says something about usage: it is taken, and perhaps edited. 0, or -1 out of memory. */
int fill_message(struct fill *, struct tool *, struct frame *, const struct message *, const struct usage_report *);

/* Sends what is to go behind the messages that have been shown. */
void fill_flush(struct fill *, struct frame *);

#endif
