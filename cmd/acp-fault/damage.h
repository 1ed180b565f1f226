/* damage: what is done to the bytes of a line. */
#ifndef DAMAGE_H
#define DAMAGE_H

#include "cmd/acp-fault/chance.h"
#include "lib/base/bytes.h"

/* Puts another byte in place of one of the n (not 0), never a newline: a line stays one. Returns which; *was is the old one. */
size_t damage_byte(const struct chance *, char *text, size_t n, unsigned char *was);
/* How many bytes of n are left of a line that is cut by this fault: some, and not all, where that can be. */
size_t damage_cut(const struct chance *, enum fault, size_t n);
/* A line that is no message, as agents print them, without its newline. */
struct slice damage_noise(const struct chance *);
/* Append what becomes of an id (JSON text): another of its type; one of another type, with its digits where it has some. 0 or -1. */
int damage_id(const struct chance *, struct slice id, struct buf *to);
int damage_id_type(const struct chance *, struct slice id, struct buf *to);
/* Appends the id of a session (JSON text) that there is not. 0 or -1. */
int damage_session(const struct chance *, struct buf *to);

#endif
