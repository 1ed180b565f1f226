/* Numbers by chance. The same seed gives the same ones, message by message. */
#include "cmd/acp-fault/fault.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/* splitmix64 (Steele, Lea, Flood 2014): a counter and a mixing function. Each word moves the counter. */
static uint64_t
mixed(uint64_t z, uint64_t word)
{
	z += 0x9e3779b97f4a7c15 * (word + 1);
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static uint64_t
draw(const struct chance *c, enum fault fault, unsigned which)
{
	uint64_t z = mixed(c->seed, c->dir);

	z = mixed(z, c->n);
	return mixed(mixed(z, (uint64_t)fault), which);
}

uint64_t
chance_below(const struct chance *c, enum fault fault, unsigned which, uint64_t below)
{
	return draw(c, fault, which) % below;
}

bool
chance_hits(const struct chance *c, enum fault fault, double probability)
{
	/* 53 bits: as many as a double has, so that 1 always hits and 0 never. */
	return probability > 0 && (double)(draw(c, fault, 0) >> 11) * 0x1p-53 < probability;
}

uint64_t
chance_seed(void)
{
	uint32_t seed;

	if (getentropy(&seed, sizeof(seed)) < 0)
		seed = (uint32_t)time(NULL) ^ (uint32_t)getpid() << 16;
	return seed;
}
