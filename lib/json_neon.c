#include "lib/json_set.h"

#ifdef __aarch64__

#include <arm_neon.h>

#define TARGET /* every AArch64 has it */

struct piece {
	uint8x16_t v[4];
};

TARGET INLINE struct piece
load(const char *p)
{
	struct piece a;

	for (int i = 0; i < 4; i++)
		a.v[i] = vld1q_u8((const uint8_t *)p + i * 16);
	return a;
}

/* From bytes that are 0 or 0xff: each gives the bit of its place in eight, and three rounds of sums join them. */
TARGET INLINE uint64_t
bits(const struct piece *a)
{
	static const uint8_t places[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
	uint8x16_t place = vld1q_u8(places);
	uint8x16_t low = vpaddq_u8(vandq_u8(a->v[0], place), vandq_u8(a->v[1], place));
	uint8x16_t high = vpaddq_u8(vandq_u8(a->v[2], place), vandq_u8(a->v[3], place));

	low = vpaddq_u8(low, high);
	return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(low, low)), 0);
}

TARGET INLINE uint64_t
equal(const struct piece *a, char c)
{
	struct piece same;

	for (int i = 0; i < 4; i++)
		same.v[i] = vceqq_u8(a->v[i], vdupq_n_u8((uint8_t)c));
	return bits(&same);
}

/* With bit 5 set; [ is { then, and ] is } */
TARGET INLINE struct piece
fold(const struct piece *a)
{
	struct piece folded;

	for (int i = 0; i < 4; i++)
		folded.v[i] = vorrq_u8(a->v[i], vdupq_n_u8(0x20));
	return folded;
}

TARGET INLINE void
mark(const struct piece *a, struct json_marks *m)
{
	struct piece folded = fold(a), strange;

	m->quote = equal(a, '"');
	m->backslash = equal(a, '\\');
	m->blank = equal(a, ' ');
	m->between = m->blank | equal(a, ',') | equal(a, ':') | equal(&folded, '{') | equal(&folded, '}');
	/* Signed, bytes from 0x80 on are below 0x20 as well. */
	for (int i = 0; i < 4; i++)
		strange.v[i] = vcltq_s8(vreinterpretq_s8_u8(a->v[i]), vdupq_n_s8(0x20));
	m->strange = bits(&strange);
}

TARGET INLINE void
sort(const char *token, struct json_kinds *k)
{
	struct piece a = load(token), folded = fold(&a), brace;

	k->open = equal(&folded, '{');
	k->close = equal(&folded, '}');
	for (int i = 0; i < 4; i++)
		brace.v[i] = vtstq_u8(a.v[i], vdupq_n_u8(0x20));
	k->brace = bits(&brace);
	k->comma = equal(&a, ',');
	k->colon = equal(&a, ':');
	k->quote = equal(&a, '"');
}

#define PACK_ONE_BY_ONE
#define PREFIX_XOR_BY_SHIFTS
#include "lib/json_wide.h"

static bool
here(void)
{
	return true;
}

const struct json_set json_set_neon = {"neon", here, wide_scan};

#else

/* A file with nothing in it is not C. */
extern int json_no_neon;

#endif
