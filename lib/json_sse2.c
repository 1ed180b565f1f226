#include "lib/json_set.h"

#ifdef __x86_64__

#include <emmintrin.h>

#define TARGET /* every x86-64 has it */

struct piece {
	__m128i v[4];
};

TARGET INLINE struct piece
load(const char *p)
{
	struct piece a;

	for (int i = 0; i < 4; i++)
		a.v[i] = _mm_loadu_si128((const __m128i *)(const void *)(p + i * 16));
	return a;
}

TARGET INLINE uint64_t
bits(const struct piece *a)
{
	uint64_t word = 0;

	for (int i = 0; i < 4; i++)
		word |= (uint64_t)(uint32_t)_mm_movemask_epi8(a->v[i]) << i * 16;
	return word;
}

TARGET INLINE uint64_t
equal(const struct piece *a, char c)
{
	struct piece same;

	for (int i = 0; i < 4; i++)
		same.v[i] = _mm_cmpeq_epi8(a->v[i], _mm_set1_epi8(c));
	return bits(&same);
}

/* With bit 5 set; [ is { then, and ] is } */
TARGET INLINE struct piece
fold(const struct piece *a)
{
	struct piece folded;

	for (int i = 0; i < 4; i++)
		folded.v[i] = _mm_or_si128(a->v[i], _mm_set1_epi8(0x20));
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
		strange.v[i] = _mm_cmplt_epi8(a->v[i], _mm_set1_epi8(0x20));
	m->strange = bits(&strange);
}

TARGET INLINE void
sort(const char *token, struct json_kinds *k)
{
	struct piece a = load(token), folded = fold(&a), brace;

	k->open = equal(&folded, '{');
	k->close = equal(&folded, '}');
	/* Bit 5 goes to bit 7, of which movemask makes the word. */
	for (int i = 0; i < 4; i++)
		brace.v[i] = _mm_slli_epi16(a.v[i], 2);
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

const struct json_set json_set_sse2 = {"sse2", here, wide_scan};

#else

/* A file with nothing in it is not C. */
extern int json_no_sse2;

#endif
