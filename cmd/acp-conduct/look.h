/* look: --trace and --record write the messages of each hop, without their envelopes. */
#ifndef LOOK_H
#define LOOK_H

#include "route.h"

struct look;

struct look_spec {
	const char *trace, *record; /* paths, or NULL */
	char *const *names;         /* of the hops; the strings are borrowed */
	size_t nhops;
	bool agent;                 /* the last is the agent's */
};

/* NULL with errno, and *why says which file cannot be written, and why (the caller frees it; NULL: it is no file). */
struct look *look_open(struct route *, const struct look_spec *, char **why);
/*
 * A message between two neighbours: the line's text and the splices that make it plain, or give it its sender's id; what it
 * is then (its `text` aside); the session, a JSON string, where it is not the message that names it, else p NULL. Does
 * nothing on NULL.
 */
void look_message(struct look *, const struct port *from, const struct port *to, enum acp_direction, struct slice text,
	const struct splices *, const struct msg *plain, struct slice session);
/* The same for a message of our own, that is plain already. */
void look_made(struct look *, const struct port *from, const struct port *to, enum acp_direction, struct slice text, struct slice session);
void look_noise(struct look *, const struct port *from, struct slice text);
/* Writes what has been seen, before it is passed on. */
void look_flush(struct look *);
/* 0, or -1 where something was lost. */
int look_close(struct look *);

#endif
