/* directory: what lies in one, and the one where tools keep what a later run needs. */
#ifndef DIRECTORY_H
#define DIRECTORY_H

#include <stdbool.h>

/* The paths of what lies in it, in the order of the names (numbers as numbers), NULL at the end. NULL with errno. */
char **directory_paths(const char *directory);
void directory_free(char **paths);

/* $XDG_STATE_HOME/acp/NAME, by default below ~/.local/state; make: makes the directories above it, 0700. To be freed; NULL out of memory. */
char *directory_state(const char *name, bool make);

#endif
