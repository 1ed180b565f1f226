/* watch_parts: for the files of watch. */
#ifndef WATCH_PARTS_H
#define WATCH_PARTS_H

#include "lib/run/input.h"
#include "lib/watch/watch.h"

enum { WATCH_QUIET = 2000000 /* us without a message, after which `tick` gets quiet */ };

/* watch.c */
void watch_begin(struct watch *, const struct watch_start *);
void watch_end(struct watch *, enum watch_ending);
/* shown: the message for the tool, if its side and request are known; NULL: as lib/session understands it. */
void watch_message(struct watch *, const struct message *, const struct message *shown);
void watch_event(struct watch *, const struct record *);
/* Reads a line of a recording. 0; 1: it has no record, or is the rest of one that was too long; -1 out of memory. */
int watch_line(struct recording *, enum input_got, const struct line *, struct record *);
/* Handles a record of a recording: a message or an event. */
void watch_record(struct watch *, struct record *);

/* Opens the output of `replaces`, and calls w->open. Returns the exit status. */
int watch_open(struct watch *);
/* Makes w->sessions, if the tool wants events. 0, or -1 out of memory. */
int watch_open_sessions(struct watch *);

/* live.c, files.c: run the tool. Return the exit status. */
int watch_stream(struct watch *);
int watch_files(struct watch *);

#endif
