/* plan_parts: what the files of the plan share; for cmd/acp-replay/plan*.c only. */
#ifndef REPLAY_PLAN_PARTS_H
#define REPLAY_PLAN_PARTS_H

#include "cmd/acp-replay/plan.h"

/* The conversation of a session, or, p NULL, of none; it is made where it is not there. NULL out of memory. */
struct conversation *plan_make_conversation(struct plan *, struct slice session);
/* The cue, whose conversation is set, joins the part of its message. 0 or -1. */
int plan_join_part(struct plan *, struct cue *, const struct msg *);
/* Call it when the conversation's cues, or whether it is open, may have changed. */
void plan_note_idle(struct plan *, struct conversation *);

#endif
