/*
 * chance: what happens to which message. Each number depends on the seed and on what it is for, and on nothing else:
 * neither on time, nor on the numbers drawn before, nor on the machine.
 */
#ifndef CHANCE_H
#define CHANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/bytes.h"

/* The numbers are part of what a seed means: a new fault comes last. */
enum fault {
	FAULT_NOISE,
	FAULT_DROP,
	FAULT_CORRUPT,
	FAULT_TRUNCATE,
	FAULT_DUPLICATE,
	FAULT_REORDER,
	FAULT_DELAY,
	FAULT_STALL,
	FAULT_EXIT,
	FAULT_SPLIT,
	FAULT_BANDWIDTH,
	FAULT_ERROR,
	FAULT_HANG,
	FAULT_WRONG_ID,
	FAULT_ID_TYPE,
	FAULT_STALE_SESSION,
	FAULT_OVERTAKE,
	FAULT_CLOSE,
	FAULT_LINGER,
	FAULTS,
};

/* The n-th message of a direction, for one of the rules (rule.h). */
struct chance {
	uint64_t seed, dir, n;
};

/*
 * Returns a number below `below` (not 0) for a fault to this message. which: 1 for the first number that a fault needs, 2 for the
 * second, ...; 0 is the one of chance_hits.
 */
uint64_t chance_below(const struct chance *, enum fault, unsigned which, uint64_t below);
/* Returns whether a fault of this probability hits this message. */
bool chance_hits(const struct chance *, enum fault, double probability);
/* Returns a random seed, below 2^32 so that it is short enough to be typed again. */
uint64_t chance_seed(void);

/* --- what a fault does to the bytes of a line --- */

/* Replaces one of the n bytes (n is not 0) by another, never to or from a newline. Returns its index; *was: the old byte. */
size_t damage_byte(const struct chance *, char *text, size_t n, unsigned char *was);
/* Returns how many of its n bytes are left of a line that this fault cuts: at least one, and not all, where possible. */
size_t damage_cut(const struct chance *, enum fault, size_t n);
/* Returns a line that is not a message, such as agents print, without its newline; a static text. */
struct slice damage_noise(const struct chance *);
/*
 * Appends an id (JSON text) that replaces `id`: of the same type (FAULT_WRONG_ID); of another type, with the same digits if it has
 * only digits (FAULT_ID_TYPE); of a session that does not exist (FAULT_STALE_SESSION). Returns 0, or -1 when out of memory.
 */
int damage_id(const struct chance *, enum fault, struct slice id, struct buf *to);

#endif
