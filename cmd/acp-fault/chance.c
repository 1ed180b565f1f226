#include "cmd/acp-fault/chance.h"

#include <inttypes.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "lib/json/json.h"

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

/* --- the bytes of a line --- */

size_t
damage_byte(const struct chance *c, char *text, size_t n, unsigned char *was)
{
	size_t at = chance_below(c, FAULT_CORRUPT, 1, n);
	unsigned char is;

	*was = (unsigned char)text[at];
	is = (unsigned char)(*was + 1 + chance_below(c, FAULT_CORRUPT, 2, 255));
	while (is == '\n' || is == *was)
		is++;
	text[at] = (char)is;
	return at;
}

size_t
damage_cut(const struct chance *c, enum fault fault, size_t n)
{
	return n > 1 ? 1 + chance_below(c, fault, 1, n - 1) : n;
}

struct slice
damage_noise(const struct chance *c)
{
	static const char *const lines[] = {
		"",
		"42",
		"acp-fault: this line is no message",
		"[1/3] migrating settings ...",
		"\033[32mready\033[0m",
		"(node:1) Warning: something is deprecated",
		"{\"level\":\"info\",\"text\":\"started\"}",
	};

	return slice_of(lines[chance_below(c, FAULT_NOISE, 1, sizeof(lines) / sizeof(lines[0]))]);
}

/* An id that nobody has used. */
enum { ID_LEAST = 1000 * 1000 * 1000 };

int
damage_id(const struct chance *c, enum fault fault, struct slice id, struct buf *to)
{
	bool string = json_type(id) == JSON_STRING;
	struct slice inside = string ? slice(id.p + 1, id.n - 2) : id;
	uint64_t is, was;

	if (fault == FAULT_STALE_SESSION)
		return buf_printf(to, "\"stale-%08" PRIx32 "\"", (uint32_t)chance_below(c, fault, 1, UINT32_MAX));
	if (fault == FAULT_ID_TYPE && !string)
		return buf_printf(to, "\"%.*s\"", (int)id.n, id.p);
	if (fault == FAULT_ID_TYPE && json_scan(inside, 1, NULL, 0, NULL, NULL) == JSON_NUMBER && json_u64(inside, &was))
		return buf_add_slice(to, inside);
	is = ID_LEAST + chance_below(c, fault, 1, ID_LEAST);
	if (fault == FAULT_WRONG_ID && json_type(id) != JSON_NUMBER)
		return buf_printf(to, "\"acp-fault-%" PRIu64 "\"", is);
	return buf_printf(to, "%" PRIu64, fault == FAULT_WRONG_ID && json_u64(id, &was) && was == is ? is + 1 : is);
}
