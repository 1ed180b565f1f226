/* recorder: what happens while a recording is played is written as a recording, and compared with what was recorded. */
#ifndef REPLAY_RECORDER_H
#define REPLAY_RECORDER_H

#include "cmd/acp-replay/options.h"
#include "lib/recording/recording.h"

struct recorder;

/* NULL with errno; *why says which file cannot be written, and why (the caller frees it), or is NULL. The options have to stay. */
struct recorder *recorder_new(const struct replay_options *, char **why);
void recorder_free(struct recorder *);

/* All below does nothing where the recorder is NULL. */

/*
 * What a side has done: sent a line, which is a RECORD_MESSAGE, RECORD_NOISE, or on standard error RECORD_STDERR; sent one that was
 * too long to be read, RECORD_LOST; sent its last, RECORD_EOF. line p NULL for the latter two.
 */
void recorder_put(struct recorder *, enum record_kind, enum acp_side from, struct slice line);
/* The agent has ended; status as waitpid has it. */
void recorder_exit(struct recorder *, int status);
/* Writes what has happened so far. */
void recorder_flush(struct recorder *);
/*
 * All is over: --check and --update. played: all of the recording was, and nothing else. kept: why the recording may not be replaced,
 * or NULL. Returns an exit status: 1 where something differs.
 */
int recorder_end(struct recorder *, bool played, const char *kept);

#endif
