/*
 * control: the socket at which a running chain answers: what it is (list), and, with a descriptor, who wants to watch
 * or to join one of its hops. One line is asked, one is answered; the chain never waits for who asks.
 */
#ifndef CONTROL_H
#define CONTROL_H

#include "chain.h"
#include "lib/bytes.h"

struct control;

/*
 * Listens at a path, or, where that is "auto", in this user's own directory, where a link leads to any other path. Then
 * who attaches himself without naming a hop gets this one. NULL, and *why says why, or is NULL out of memory (the
 * caller's to free).
 */
struct control *control_open(struct chain *, const char *path, size_t hop, char **why);
/* The hop that this number or name means, of n; -1: none. */
ssize_t control_hop(char *const *names, size_t n, struct slice text);
/* Nobody is let in any more. */
void control_close(struct control *);

/* list.c: prints the running chains of this user. Exits with 0, or 1 where there is none. */
_Noreturn void control_list(const char *tool);

#endif
