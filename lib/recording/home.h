/*
 * home: where recordings lie that nobody has given a place: $XDG_STATE_HOME/acp/AGENT/DATE-TIME-PID.rec, by default below
 * ~/.local/state. For cmd only: what fails ends the process.
 */
#ifndef HOME_H
#define HOME_H

#include "lib/base/bytes.h"
#include "lib/base/cli_line.h"

/* What `-o auto` stands for, beside this command (NULL: the agent is not known), for a log to expand; makes its directory. To be freed. */
char *home_output(const char *tool, char *const *command);
/* Appends the first 64 bytes of a name, with _ for what could lead elsewhere in a path, or hide the file. 0, or -1 out of memory. */
int home_name(struct buf *to, struct slice name);
/* All that lie there, of one agent or (NULL) of all, the oldest first, NULL at the end; to be freed by directory_free. */
char **home_recordings(const char *tool, const char *agent);
/* Adds to n paths, with NULL at the end, those of others that are recordings, and takes these over: NULL, or for directory_free. */
char **home_add(const char *tool, char **all, size_t *n, char **paths);
/* Of words that are files, the newest recording takes the place of `last` and `last:AGENT`. Ends with status 2 where there is none. */
void home_files(const struct cli_line *);

#endif
