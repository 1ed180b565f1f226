#include "lib/json_set.h"

#ifdef __x86_64__

#include <immintrin.h>

#define TARGET __attribute__((target("avx2,pclmul,bmi,popcnt")))

struct piece {
	__m256i v[2];
};

TARGET INLINE struct piece
load(const char *p)
{
	return (struct piece){{_mm256_loadu_si256((const __m256i *)(const void *)p),
		_mm256_loadu_si256((const __m256i *)(const void *)(p + 32))}};
}

TARGET INLINE uint64_t
bits(__m256i low, __m256i high)
{
	return (uint32_t)_mm256_movemask_epi8(low) |
		(uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}

TARGET INLINE uint64_t
equal(const struct piece *a, char c)
{
	__m256i all = _mm256_set1_epi8(c);

	return bits(_mm256_cmpeq_epi8(a->v[0], all), _mm256_cmpeq_epi8(a->v[1], all));
}

/* With bit 5 set; [ is { then, and ] is } */
TARGET INLINE struct piece
fold(const struct piece *a)
{
	__m256i bit5 = _mm256_set1_epi8(0x20);

	return (struct piece){{_mm256_or_si256(a->v[0], bit5), _mm256_or_si256(a->v[1], bit5)}};
}

TARGET INLINE void
mark(const struct piece *a, struct json_marks *m)
{
	const __m256i between = _mm256_broadcastsi128_si256(
		_mm_setr_epi8(' ', 0, 0, 0, 0, 0, 0, 0, 0, 0, ':', '{', ',', '}', 0, 0));
	const __m256i blank = _mm256_set1_epi8(' ');
	struct piece folded = fold(a);

	m->quote = equal(a, '"');
	m->backslash = equal(a, '\\');
	m->blank = equal(a, ' ');
	m->between = bits(_mm256_cmpeq_epi8(folded.v[0], _mm256_shuffle_epi8(between, folded.v[0])),
		_mm256_cmpeq_epi8(folded.v[1], _mm256_shuffle_epi8(between, folded.v[1])));
	/* Signed, bytes from 0x80 on are below 0x20 as well. */
	m->strange = bits(_mm256_cmpgt_epi8(blank, a->v[0]), _mm256_cmpgt_epi8(blank, a->v[1]));
}

TARGET INLINE void
sort(const char *token, struct json_kinds *k)
{
	struct piece a = load(token), folded = fold(&a);

	k->open = equal(&folded, '{');
	k->close = equal(&folded, '}');
	/* Bit 5 goes to bit 7, of which movemask makes the word. */
	k->brace = bits(_mm256_slli_epi16(a.v[0], 2), _mm256_slli_epi16(a.v[1], 2));
	k->comma = equal(&a, ',');
	k->colon = equal(&a, ':');
	k->quote = equal(&a, '"');
}

TARGET INLINE uint64_t
prefix_xor(uint64_t word)
{
	__m128i r = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)word), _mm_set1_epi8(-1), 0);

	return (uint64_t)_mm_cvtsi128_si64(r);
}

#define ONE_BY_ONE
#include "lib/json_wide.inc"

static bool
here(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul") &&
		__builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt");
}

const struct json_set json_set_avx2 = {"avx2", here, wide_scan};

#else

/* A file with nothing in it is not C. */
extern int json_no_avx2;

#endif
