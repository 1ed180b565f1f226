/* logs: the files of --trace and --record, with the messages of each hop without their envelopes. */
#ifndef LOGS_H
#define LOGS_H

#include "read.h"

struct logs;

/*
 * Opens the files of these paths (NULL: none), for a chain whose components have their names. NULL with errno; *why is then a text
 * that names the file and the error (the caller frees it), or NULL.
 */
struct logs *logs_open(struct route *, const char *trace, const char *record, char **why);
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
/* Writes what is queued and frees it. Returns 0, or -1 if records were lost. */
int logs_close(struct logs *);

#endif
