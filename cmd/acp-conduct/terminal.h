/*
 * terminal: the client's side when somebody types, or a socket, where its end shows only to who reads it. Components are background
 * groups, which a terminal would stop when they read it; so conduct reads it for the first one.
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
	size_t from, to; /* what is read and not yet written */
};

/* Copies stdin to a pipe, which it takes over, until either ends. 0, or -1 with errno. */
int terminal_open(struct terminal *, struct loop *, int to);
/* Ends the pipe. Does nothing where it is not in use. */
void terminal_close(struct terminal *);

#endif
