/* logs: the files of --trace and --record, with the messages of each hop without their envelopes. */
#ifndef LOGS_H
#define LOGS_H

#include "route.h"

struct logs;

struct logs_spec {
	const char *trace, *record; /* paths, or NULL */
	char *const *names;         /* of the hops; the strings are borrowed */
	size_t nhops;
	bool agent;                 /* the last hop is the agent's */
};

/* Opens the files. NULL with errno; *why is then a text that names the file and the error (the caller frees it), or NULL. */
struct logs *logs_open(struct route *, const struct logs_spec *, char **why);
/*
 * Logs a message between two neighbours. text and splices: the line, and what turns it into the message without its envelope, under
 * its sender's id. plain: that message, except its `text`. session: a JSON string if the message itself does not name it; else p
 * NULL. Does nothing if logs is NULL.
 */
void logs_message(struct logs *, const struct port *from, const struct port *to, enum acp_direction, struct slice text,
	const struct splices *, const struct msg *plain, struct slice session);
/* Logs a message that conduct itself made, without an envelope. Does nothing if logs is NULL. */
void logs_made(struct logs *, const struct port *from, const struct port *to, enum acp_direction, struct slice text, struct slice session);
/* Logs a line that is not a message. Does nothing if logs is NULL. */
void logs_noise(struct logs *, const struct port *from, struct slice text);
/* Writes what was logged. Call it before the messages are forwarded. */
void logs_flush(struct logs *);
/* Writes the rest and frees it. Returns 0, or -1 if records were lost. */
int logs_close(struct logs *);

#endif
