/* look: --trace and --record: what goes by on each hop, as the plain messages that they are. */
#ifndef LOOK_H
#define LOOK_H

#include "route.h"

struct look;

/*
 * Either path may be NULL. names: of the hops, n of them, borrowed; agent: the last is the agent's. NULL with errno, and
 * *file its name (the caller's to free).
 */
struct look *look_open(struct route *, const char *trace, const char *record, char *const *names, size_t n, bool agent,
	char **file);
/*
 * A message between two neighbours: the line's text and the splices that make it plain, or give it its sender's id; what it
 * is then (its `text` aside); its session, a JSON string, p NULL where there is none. Does nothing on NULL.
 */
void look_message(struct look *, const struct port *from, const struct port *to, enum lane, struct slice text,
	const struct splices *, const struct msg *plain, struct slice session);
/* The same for a message of our own, that is plain already. */
void look_made(struct look *, const struct port *from, const struct port *to, enum lane, struct slice text, struct slice session);
void look_noise(struct look *, const struct port *from, struct slice text);
/* Writes what has been seen, before it is passed on. */
void look_flush(struct look *);
/* 0, or -1 where something was lost. */
int look_close(struct look *);

#endif
