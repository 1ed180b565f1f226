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

/*
 * Returns a number below `below` (not 0) for a fault to this message. which: 1 for the first number that a fault needs, 2 for the
 * second, ...; 0 is the one of chance_hits.
 */
uint64_t chance_below(const struct chance *, enum fault, unsigned which, uint64_t below);
/* Returns whether a fault of this probability hits this message. */
bool chance_hits(const struct chance *, enum fault, double probability);
/* Returns a random seed, below 2^32 so that it is short enough to be typed again. */
uint64_t chance_seed(void);

#endif
