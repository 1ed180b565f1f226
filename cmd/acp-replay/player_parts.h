/* player_parts: what the files of the player share; for cmd/acp-replay/player*.c only. */
#ifndef REPLAY_PLAYER_PARTS_H
#define REPLAY_PLAYER_PARTS_H

#include "cmd/acp-replay/player.h"

/* "acp-replay" and a line on stderr that says where in the recording we are. */
void player_say(const struct player *, uint64_t number, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Queues the recorded line with the live side's ids in place of the recorded ones. 0 or -1. */
int player_send(struct player *, struct slice text, const struct msg *);
/* Queues a response with another id. 0 or -1. */
int player_send_answer(struct player *, struct slice text, const struct msg *, struct slice id);
/* Learns a live session's id from the two answers to the same request. 0 or -1. */
int player_learn(struct player *, const struct request *, const struct msg *recorded, const struct kept *live);
void player_forget_sessions(struct player *);

/* A copy of what is needed of a live message later. NULL out of memory. */
struct kept *player_keep(const struct player *, const struct msg *);
/* Takes the oldest of a part that wait. NULL where none does. */
struct kept *player_take(struct player *, struct part *);
/* A turn has ended: those of its cancellations that still wait came at a moment that the recording does not have. 0 or -1. */
int player_drop_cancels(struct player *, struct slice session);
/* Answers what came out of order and can be answered. 1 where it did, 0, or -1. */
int player_answer_early(struct player *);

#endif
