/* pretty: a timeline for people. */
#ifndef PRETTY_H
#define PRETTY_H

#include "cmd/acp-tap/format.h"
#include "lib/redact/redact.h"

/*
 * The output decides on colours and width. fold: 1: a run of chunks is one line; 0: each chunk is a line; -1: fold
 * only if the output is a terminal, where the line grows in place. redact: for the joined text of a run, or NULL. Returns NULL
 * if out of memory.
 */
struct pretty *pretty_new(const struct watch *, enum cli_color, int fold, struct redact *);
void pretty_free(struct pretty *);
/* What has happened in the sessions. */
void pretty_see(struct pretty *, const struct session_event *);

/* Closes the bracket of a turn that has no end; t: us, of the last record. 0, or -1 out of memory. */
int pretty_close(struct writer *, struct buf *to, const struct session_turn *, uint64_t t);
/* How many cells a line of the output has. */
unsigned pretty_width(const struct watch *);

#endif
