/* peek: looks into a pipe or socket, and leaves all where it is. */
#ifndef PEEK_H
#define PEEK_H

#include <sys/types.h>

/* Waits until something is there on standard input, and copies at most n bytes of it. 0 at its end, -1 with errno. */
ssize_t peek_stdin(char *to, size_t n);

#endif
