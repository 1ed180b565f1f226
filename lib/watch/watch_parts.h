/* What the two drivers of a watch share. */
#ifndef WATCH_PARTS_H
#define WATCH_PARTS_H

#include "lib/watch/watch.h"

enum { WATCH_QUIET = 2000000 /* us without a message: then `tick` is called with quiet */ };

/* watch.c */
void watch_begin(struct watch *, const struct watch_start *);
void watch_end(struct watch *, enum watch_ending);
/* shown: what the tool gets, where its side and request are known; NULL: what lib/session knows of it. */
void watch_message(struct watch *, const struct message *, const struct message *shown);
void watch_event(struct watch *, const struct record *);
/* Either, from a recording. */
void watch_record(struct watch *, struct record *);

/* Opens the output that is `replaces`, and what the tool opens: the exit status. */
int watch_open(struct watch *);
/* Opens the fold, where the tool wants one. 0, or -1 out of memory. */
int watch_open_sessions(struct watch *);
/* Out of memory: said once. */
void watch_fail(struct watch *);

/* live.c, files.c: the exit status */
int watch_stream(struct watch *);
int watch_files(struct watch *);

#endif
