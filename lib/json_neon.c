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
	const uint8_t *from = (const uint8_t *)p;

	return (struct piece){
		{vld1q_u8(from), vld1q_u8(from + 16), vld1q_u8(from + 32), vld1q_u8(from + 48)}};
}

/* From bytes that are 0 or 0xff: each gives the bit of its place in eight, and three rounds of sums
 * join them. */
TARGET INLINE uint64_t
bits(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d)
{
	static const uint8_t places[16] = {
		1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
	uint8x16_t place = vld1q_u8(places);
	uint8x16_t sums = vpaddq_u8(vpaddq_u8(vandq_u8(a, place), vandq_u8(b, place)),
		vpaddq_u8(vandq_u8(c, place), vandq_u8(d, place)));

	return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(sums, sums)), 0);
}

TARGET INLINE uint64_t
equal(const struct piece *a, char c)
{
	uint8x16_t all = vdupq_n_u8((uint8_t)c);

	return bits(vceqq_u8(a->v[0], all), vceqq_u8(a->v[1], all), vceqq_u8(a->v[2], all),
		vceqq_u8(a->v[3], all));
}

/* With bit 5 set; [ is { then, and ] is } */
TARGET INLINE struct piece
fold(const struct piece *a)
{
	uint8x16_t bit5 = vdupq_n_u8(0x20);

	return (struct piece){{vorrq_u8(a->v[0], bit5), vorrq_u8(a->v[1], bit5),
		vorrq_u8(a->v[2], bit5), vorrq_u8(a->v[3], bit5)}};
}

/* Bytes that are one of those in the table, which has each at the place of its low four bits. */
TARGET INLINE uint8x16_t
among(uint8x16_t table, uint8x16_t v)
{
	return vceqq_u8(v, vqtbl1q_u8(table, vandq_u8(v, vdupq_n_u8(15))));
}

/* Signed, bytes from 0x80 on are below 0x20 as well. */
TARGET INLINE uint8x16_t
strange(uint8x16_t v)
{
	return vcltq_s8(vreinterpretq_s8_u8(v), vdupq_n_s8(0x20));
}

TARGET INLINE void
mark(const struct piece *a, struct json_marks *m)
{
	static const uint8_t between[16] = {
		' ', 0, 0, 0, 0, 0, 0, 0, 0, 0, ':', '{', ',', '}', 0, 0};
	uint8x16_t table = vld1q_u8(between);
	struct piece folded = fold(a);

	m->quote = equal(a, '"');
	m->backslash = equal(a, '\\');
	m->blank = equal(a, ' ');
	m->between = bits(among(table, folded.v[0]), among(table, folded.v[1]),
		among(table, folded.v[2]), among(table, folded.v[3]));
	m->strange = bits(strange(a->v[0]), strange(a->v[1]), strange(a->v[2]), strange(a->v[3]));
}

TARGET INLINE void
sort(const char *token, struct json_kinds *k)
{
	const uint8x16_t bit5 = vdupq_n_u8(0x20);
	struct piece a = load(token), folded = fold(&a);

	k->open = equal(&folded, '{');
	k->close = equal(&folded, '}');
	k->brace = bits(vtstq_u8(a.v[0], bit5), vtstq_u8(a.v[1], bit5), vtstq_u8(a.v[2], bit5),
		vtstq_u8(a.v[3], bit5));
	k->comma = equal(&a, ',');
	k->colon = equal(&a, ':');
	k->quote = equal(&a, '"');
}

#define ONE_BY_ONE
#define PREFIX_XOR_BY_SHIFTS
#include "lib/json_wide.inc"

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
