/*
 * terminal: copies the client's side to a pipe if it is a terminal, or a socket whose end only its reader sees. Components are
 * background process groups, which a terminal stops when they read from it; so conduct reads for the first one.
 */
#ifndef TERMINAL_H
#define TERMINAL_H

#include "lib/run/io.h"
#include "lib/run/loop.h"

struct terminal {
	struct loop *loop; /* NULL: not in use */
	struct io in, out;
	struct loop_fd typed, room;
	char data[4096];
	size_t from, to; /* the bytes of data that are not written yet */
};

/* Copies stdin to a pipe until either ends. It owns `to` from now on, also on failure. Returns 0, or -1 with errno. */
int terminal_open(struct terminal *, struct loop *, int to);
/* Closes the pipe. Does nothing if it is not in use. */
void terminal_close(struct terminal *);

#endif
