/* commands: the slash commands that an agent lists for its sessions (available_commands_update). */
#ifndef COMMANDS_H
#define COMMANDS_H

#include "lib/acp/msg.h"

/* The last list of each session. NULL at first. */
struct commands;
/* Keeps the list of an available_commands_update; drops it when its session is closed or deleted. 0, or -1 out of memory. */
int commands_see(struct commands **, const struct msg *);
/* Does this text begin with a slash and a command of the session? session: its id, a JSON string. */
bool commands_has(const struct commands *, struct slice session, const char *text);
/* Does the first text of this session/prompt begin with a slash and a command of its session? */
bool commands_prompt(const struct commands *, const struct msg *prompt);
void commands_free(struct commands *);

#endif
