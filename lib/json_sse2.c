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
	const __m128i *from = (const __m128i *)(const void *)p;

	return (struct piece){{_mm_loadu_si128(from), _mm_loadu_si128(from + 1),
		_mm_loadu_si128(from + 2), _mm_loadu_si128(from + 3)}};
}

TARGET INLINE uint64_t
bits(__m128i a, __m128i b, __m128i c, __m128i d)
{
	return (uint64_t)_mm_movemask_epi8(a) | (uint64_t)_mm_movemask_epi8(b) << 16 |
		(uint64_t)_mm_movemask_epi8(c) << 32 | (uint64_t)_mm_movemask_epi8(d) << 48;
}

TARGET INLINE uint64_t
equal(const struct piece *a, char c)
{
	__m128i all = _mm_set1_epi8(c);

	return bits(_mm_cmpeq_epi8(a->v[0], all), _mm_cmpeq_epi8(a->v[1], all),
		_mm_cmpeq_epi8(a->v[2], all), _mm_cmpeq_epi8(a->v[3], all));
}

/* With bit 5 set; [ is { then, and ] is } */
TARGET INLINE struct piece
fold(const struct piece *a)
{
	__m128i bit5 = _mm_set1_epi8(0x20);

	return (struct piece){{_mm_or_si128(a->v[0], bit5), _mm_or_si128(a->v[1], bit5),
		_mm_or_si128(a->v[2], bit5), _mm_or_si128(a->v[3], bit5)}};
}

TARGET INLINE __m128i
between(__m128i v)
{
	__m128i folded = _mm_or_si128(v, _mm_set1_epi8(0x20));

	return _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8(' ')),
				    _mm_cmpeq_epi8(v, _mm_set1_epi8(','))),
		_mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8(':')),
			_mm_or_si128(_mm_cmpeq_epi8(folded, _mm_set1_epi8('{')),
				_mm_cmpeq_epi8(folded, _mm_set1_epi8('}')))));
}

TARGET INLINE void
mark(const struct piece *a, struct json_marks *m)
{
	const __m128i blank = _mm_set1_epi8(' ');

	m->quote = equal(a, '"');
	m->backslash = equal(a, '\\');
	m->blank = equal(a, ' ');
	m->between = bits(between(a->v[0]), between(a->v[1]), between(a->v[2]), between(a->v[3]));
	/* Signed, bytes from 0x80 on are below 0x20 as well. */
	m->strange = bits(_mm_cmplt_epi8(a->v[0], blank), _mm_cmplt_epi8(a->v[1], blank),
		_mm_cmplt_epi8(a->v[2], blank), _mm_cmplt_epi8(a->v[3], blank));
}

TARGET INLINE void
sort(const char *token, struct json_kinds *k)
{
	struct piece a = load(token), folded = fold(&a);

	k->open = equal(&folded, '{');
	k->close = equal(&folded, '}');
	/* Bit 5 goes to bit 7, of which movemask makes the word. */
	k->brace = bits(_mm_slli_epi16(a.v[0], 2), _mm_slli_epi16(a.v[1], 2),
		_mm_slli_epi16(a.v[2], 2), _mm_slli_epi16(a.v[3], 2));
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

const struct json_set json_set_sse2 = {"sse2", here, wide_scan};

#else

/* A file with nothing in it is not C. */
extern int json_no_sse2;

#endif
