/* recorder: what happens while a recording is played is written as a recording, and compared with what was recorded. */
#ifndef REPLAY_RECORDER_H
#define REPLAY_RECORDER_H

#include "lib/match/compare.h"
#include "lib/recording/recording.h"

struct recorder_options {
	const char *record;    /* --record, or NULL */
	bool check, update;    /* --check, --update: in the place of path */
	const char *path;      /* the recording that is played */
	char *const *command;  /* that was started, or NULL */
	enum match match;
	const char *format;    /* of the report */
	const char *normalize; /* --normalize, or NULL */
	const char *live;      /* what it is played to, for the report */
	int fd;                /* where the report goes */
	bool keep_paths, environment;
};

struct recorder;

/* NULL with errno; *why says which file cannot be written, and why (the caller frees it), or is NULL. The options have to stay. */
struct recorder *recorder_new(const struct recorder_options *, char **why);
void recorder_free(struct recorder *);

/* The rest does nothing where the recorder is NULL. */

/* A record of the recording, as it is read. */
void recorder_read(struct recorder *, const struct record *);
/* A line of the live session; noise: it is no message. */
void recorder_line(struct recorder *, enum acp_side from, struct slice line, bool noise);
/* A line that we wrote on standard error, as the agent did. */
void recorder_stderr(struct recorder *, struct slice line);
/* One that was too long to be read. */
void recorder_lost(struct recorder *, enum acp_side from);
/* A side has sent its last; the agent has ended (status as waitpid has it). */
void recorder_eof(struct recorder *, enum acp_side from);
void recorder_exit(struct recorder *, int status);
/* Writes what has happened so far. */
void recorder_flush(struct recorder *);
/*
 * All is over: --check and --update. played: all of the recording was, and nothing else. Returns an exit status: 1 where
 * something differs.
 */
int recorder_end(struct recorder *, bool played);

#endif
