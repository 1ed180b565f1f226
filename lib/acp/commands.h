/* commands: the slash commands that an agent lists for its sessions (available_commands_update). */
#ifndef COMMANDS_H
#define COMMANDS_H

#include "lib/acp/msg.h"

/* The last list of each session. Begins as NULL. */
struct commands;
/* Notes the list of an available_commands_update; forgets that of a session that is closed or deleted. 0, or -1 out of memory. */
int commands_see(struct commands **, const struct msg *);
/* Does this text begin with a slash and a command in the list of the session (a JSON string)? */
bool commands_has(const struct commands *, struct slice session, const char *text);
/* Does the first text of this session/prompt? */
bool commands_prompt(const struct commands *, const struct msg *prompt);
void commands_free(struct commands *);

#endif
