/* directory: lists a directory, and finds the one where tools keep their state from run to run. */
#ifndef DIRECTORY_H
#define DIRECTORY_H

#include <stdbool.h>

/*
 * The paths of the directory's entries, without hidden ones, ordered by name with numbers compared as numbers (versionsort).
 * NULL-terminated, freed by directory_free. NULL with errno.
 */
char **directory_paths(const char *directory);
void directory_free(char **paths);

/*
 * $XDG_STATE_HOME/acp/NAME, by default ~/.local/state/acp/NAME. make: creates the directories above NAME with mode 0700. The caller
 * frees it; NULL out of memory.
 */
char *directory_state(const char *name, bool make);

#endif
