/*
 * watch: what happens while a recording is played: it is compared with what was recorded, and written
 * down as a recording of its own.
 */
#ifndef REPLAY_WATCH_H
#define REPLAY_WATCH_H

#include "cmd/acp-replay/report.h"
#include "lib/recording.h"

struct watch_options {
	const char *record;    /* --record, or NULL */
	bool update;           /* --update: in the place of path */
	const char *path;      /* the recording that is played */
	const char *live;      /* what it is played to, for the report */
	char *const *command;  /* that was started, or NULL */
	bool compare;
	enum match match;
	enum report_format format;
	int fd;                /* where the report goes */
	bool color, keep_paths;
	struct normalize *normalize; /* or NULL */
};

struct watch;

/* NULL with errno; *what is what could not be opened. The options have to stay. */
struct watch *watch_new(const struct watch_options *, const char **what);
void watch_free(struct watch *);

/* The rest fails out of memory only: 0 or -1. */

/* A record as it is read. */
int watch_recorded(struct watch *, const struct record *);
/* A line of the live session. */
int watch_live(struct watch *, enum acp_side from, struct slice line);
/* A line that we wrote on standard error, as the agent did. */
int watch_stderr(struct watch *, struct slice line);
/* One that was too long to be read. */
int watch_lost(struct watch *, enum acp_side from);
/* A side has sent its last; the agent has ended (status as waitpid has it). */
int watch_eof(struct watch *, enum acp_side from);
int watch_exit(struct watch *, int status);
/* Writes what has happened so far. */
void watch_flush(struct watch *);
/*
 * All is over; what was found is told. played: all of the recording was, and nothing else. Returns an
 * exit status: 1 where something differs.
 */
int watch_end(struct watch *, bool played);

#endif
