/*
 * chance: what happens to which message. Each number depends on the seed and on what it is for, and on nothing else:
 * neither on time, nor on the numbers drawn before, nor on the machine.
 */
#ifndef CHANCE_H
#define CHANCE_H

#include <stdbool.h>
#include <stdint.h>

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

/* A number below `below` (not 0) for a fault to this line; a fault that needs several asks for the first, the second, ... */
uint64_t chance_below(const struct chance *, enum fault, unsigned which, uint64_t below);
/* Does a fault of this probability hit this line? */
bool chance_hits(const struct chance *, enum fault, double probability);
/* A seed that nobody has chosen: below 2^32, to be typed again. */
uint64_t chance_seed(void);

#endif
