/* logs: the files of --trace and --record. They have the messages of each hop, without envelopes. */
#ifndef LOGS_H
#define LOGS_H

#include "read.h"

struct logs;

/*
 * Opens the files at these paths (NULL: none). The components must have names. NULL with errno; *why is then NULL, or a text with the file
 * and the error, which the caller frees.
 */
struct logs *logs_open(struct route *, const char *trace, const char *record, char **why);
/*
 * Logs a message between two neighbours. text: the line. splices: turn the line into the message without its envelope, with its sender's
 * id. plain: that message, except its `text`. session: a JSON string if the message itself does not name its session; else p NULL. Does
 * nothing if logs is NULL.
 */
void logs_message(struct logs *, const struct port *from, const struct port *to, enum acp_direction, struct slice text,
	const struct splices *, const struct msg *plain, struct slice session);
/* Logs a line that is not a message. Does nothing if logs is NULL. */
void logs_noise(struct logs *, const struct port *from, struct slice text);
/* Writes the queued records, closes the files and frees the logs. Returns 0, or -1 if records were lost. */
int logs_close(struct logs *);

#endif
