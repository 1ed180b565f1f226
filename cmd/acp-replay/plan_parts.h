/* plan_parts: what the files of the plan share; for cmd/acp-replay/plan*.c only. */
#ifndef REPLAY_PLAN_PARTS_H
#define REPLAY_PLAN_PARTS_H

#include "cmd/acp-replay/plan.h"

/* The conversation of a session, or, p NULL, of none; it is made where it is not there. NULL out of memory. */
struct conversation *plan_make_conversation(struct plan *, struct slice session);
/* We have to send it. 0, or -1 out of memory. */
int plan_keep(struct plan *, struct conversation *, const struct own *);
/* The record that has just been read is this cue's: it joins its conversation. */
void plan_add_cue(struct plan *, struct cue *);

#endif
