/* damage: what is done to the bytes of a line. */
#ifndef DAMAGE_H
#define DAMAGE_H

#include "cmd/acp-fault/chance.h"
#include "lib/bytes.h"

/* Puts another byte in place of one of the n (not 0), never a newline: a line stays one. Returns which; *was is the old one. */
size_t damage_byte(const struct chance *, char *text, size_t n, unsigned char *was);
/* How many bytes of n are left of a line that is cut: some, and not all, where that can be. */
size_t damage_cut(const struct chance *, size_t n);
/* A line that is no message, as agents print them, without its newline. */
struct slice damage_noise(const struct chance *);

#endif
