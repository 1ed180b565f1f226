/*
 * home: the default place of recordings: $XDG_STATE_HOME/acp/AGENT/DATE-TIME-PID.rec; without that variable, ~/.local/state/acp/... .
 * For cmd only: an error ends the process.
 */
#ifndef HOME_H
#define HOME_H

#include "lib/base/bytes.h"
#include "lib/base/cli_line.h"

/* The path for `-o auto` and this command (NULL: not known), for a log to expand. Makes its directory. The caller frees the path. */
char *home_output(const char *tool, char *const *command);
/* Appends the first 64 bytes of a name, with _ for bytes that would change a path's meaning, or hide the file. 0, or -1 out of memory. */
int home_name(struct buf *to, struct slice name);
/* The paths of the recordings of one agent or (NULL) of all, the oldest first, NULL at the end. The caller frees them by directory_free. */
char **home_recordings(const char *tool, const char *agent);
/* Adds those of `paths` (or NULL) that are recordings to the n paths of `all`, NULL at the end, and frees `paths`. For directory_free. */
char **home_add(const char *tool, char **all, size_t *n, char **paths);
/* Replaces the operands `last` and `last:AGENT` by the newest recording. Exits with 2 if there is none. */
void home_files(const struct cli_line *);

#endif
