#include "lib/json_set.h"

#ifdef __x86_64__

#include <immintrin.h>

#define SET "avx512f,avx512bw,avx512vl,avx512vbmi2,popcnt,pclmul,bmi,bmi2"
#define TARGET __attribute__((target(SET)))

struct piece {
	__m512i v;
};

TARGET INLINE struct piece
load(const char *p)
{
	return (struct piece){_mm512_loadu_si512(p)};
}

TARGET INLINE struct piece
load_tail(const char *p, size_t n)
{
	return (struct piece){
		_mm512_mask_loadu_epi8(_mm512_set1_epi8(' '), ~(~UINT64_C(0) << n), p)};
}

TARGET INLINE void
mark(const struct piece *b, struct json_marks *m)
{
	const __m512i between = _mm512_broadcast_i32x4(
		_mm_setr_epi8(' ', 0, 0, 0, 0, 0, 0, 0, 0, 0, ':', '{', ',', '}', 0, 0));
	/* [ is { then, and ] is } */
	__m512i folded = _mm512_or_si512(b->v, _mm512_set1_epi8(0x20));

	m->quote = _mm512_cmpeq_epi8_mask(b->v, _mm512_set1_epi8('"'));
	m->backslash = _mm512_cmpeq_epi8_mask(b->v, _mm512_set1_epi8('\\'));
	m->blank = _mm512_cmpeq_epi8_mask(b->v, _mm512_set1_epi8(' '));
	m->between = _mm512_cmpeq_epi8_mask(folded, _mm512_shuffle_epi8(between, folded));
	/* Signed, bytes from 0x80 on are below 0x20 as well. */
	m->strange = _mm512_cmplt_epi8_mask(b->v, _mm512_set1_epi8(0x20));
}

TARGET INLINE void
pack(const struct piece *b, uint64_t bits, unsigned base, uint16_t *place, char *token)
{
	static const char numbers[64] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
		17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37,
		38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58,
		59, 60, 61, 62, 63};
	__m512i from = _mm512_set1_epi16((short)base);
	__m512i n = _mm512_maskz_compress_epi8(bits, _mm512_loadu_si512(numbers)), v;

	_mm512_storeu_si512(token, _mm512_maskz_compress_epi8(bits, b->v));
	v = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(n));
	_mm512_storeu_si512(place, _mm512_add_epi16(from, v));
	if (__builtin_popcountll(bits) > 32) {
		v = _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(n, 1));
		_mm512_storeu_si512(place + 32, _mm512_add_epi16(from, v));
	}
}

TARGET INLINE void
sort(const char *token, struct json_kinds *k)
{
	const __m512i bit5 = _mm512_set1_epi8(0x20);
	__m512i v = _mm512_loadu_si512(token);
	__m512i folded = _mm512_or_si512(v, bit5);

	k->open = _mm512_cmpeq_epi8_mask(folded, _mm512_set1_epi8('{'));
	k->close = _mm512_cmpeq_epi8_mask(folded, _mm512_set1_epi8('}'));
	k->brace = _mm512_test_epi8_mask(v, bit5);
	k->comma = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(','));
	k->colon = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(':'));
	k->quote = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('"'));
}

TARGET INLINE uint64_t
prefix_xor(uint64_t bits)
{
	__m128i r = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)bits), _mm_set1_epi8(-1), 0);

	return (uint64_t)_mm_cvtsi128_si64(r);
}

/* The depth behind each token is a running sum: in four steps within 16, then over the four 16s. */
TARGET INLINE bool
count(const struct json_kinds *k, int depth, uint64_t *on_top)
{
	const __m512i one = _mm512_set1_epi8((char)(1 - depth)), none = _mm512_setzero_si512();
	__m512i v = _mm512_mask_set1_epi8(_mm512_movm_epi8(k->close), k->open, 1), sums;

	v = _mm512_add_epi8(v, _mm512_bslli_epi128(v, 1));
	v = _mm512_add_epi8(v, _mm512_bslli_epi128(v, 2));
	v = _mm512_add_epi8(v, _mm512_bslli_epi128(v, 4));
	v = _mm512_add_epi8(v, _mm512_bslli_epi128(v, 8));
	sums = _mm512_shuffle_epi8(v, _mm512_set1_epi8(15));
	v = _mm512_add_epi8(v, _mm512_alignr_epi64(sums, none, 6));
	v = _mm512_add_epi8(v, _mm512_alignr_epi64(sums, none, 4));
	v = _mm512_add_epi8(v, _mm512_alignr_epi64(sums, none, 2));
	*on_top = _mm512_cmpeq_epi8_mask(v, one);
	return !_mm512_cmplt_epi8_mask(v, one);
}

TARGET INLINE int
same_key(const struct json_keys *keys, const char *name, size_t n, const char *end)
{
	__m512i four =
		_mm512_broadcast_i32x4(_mm_maskz_loadu_epi8((__mmask16)((1U << n) - 1), name));
	unsigned halves;

	(void)end;
	for (size_t i = 0; i < keys->n; i += 4) {
		halves = _mm512_cmpeq_epi64_mask(four, _mm512_loadu_si512(keys->name[i]));
		halves &= halves >> 1 & 0x55;
		if (halves)
			return (int)i + __builtin_ctz(halves) / 2;
	}
	return -1;
}

#include "lib/json_wide.inc"

static bool
here(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
		__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi2") &&
		__builtin_cpu_supports("popcnt") && __builtin_cpu_supports("pclmul") &&
		__builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

const struct json_set json_set_avx512 = {"avx512", here, wide_scan};

#else

/* A file with nothing in it is not C. */
extern int json_no_avx512;

#endif
