/* damage: changes to the bytes of a line. */
#ifndef DAMAGE_H
#define DAMAGE_H

#include "cmd/acp-fault/chance.h"
#include "lib/base/bytes.h"

/* Replaces one of the n bytes (n is not 0) by another, never to or from a newline. Returns its index; *was: the old byte. */
size_t damage_byte(const struct chance *, char *text, size_t n, unsigned char *was);
/* Returns how many of its n bytes are left of a line that this fault cuts: at least one, and not all, where possible. */
size_t damage_cut(const struct chance *, enum fault, size_t n);
/* Returns a line that is not a message, such as agents print, without its newline; a static text. */
struct slice damage_noise(const struct chance *);
/*
 * Append an id (JSON text) that replaces `id`: damage_id one of the same type; damage_id_type one of another type, with the same
 * digits if it has only digits. Return 0, or -1 when out of memory.
 */
int damage_id(const struct chance *, struct slice id, struct buf *to);
int damage_id_type(const struct chance *, struct slice id, struct buf *to);
/* Appends the id (JSON text) of a session that does not exist. Returns 0, or -1 when out of memory. */
int damage_session(const struct chance *, struct buf *to);

#endif
