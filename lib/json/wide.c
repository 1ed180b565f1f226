/*
 * The scan with wide instructions. The Makefile compiles this source once for each set of instructions (WIDE_SET), with the flags of the
 * set. Vector types of the compiler do most of the work; a set adds only operations that these cannot express.
 *
 * First the scan finds the tokens of the text, a byte for each: a bracket, comma or colon, the opening quote of a string, the first byte of
 * a number or name. Then it checks the grammar of 64 tokens at a time, in words with a bit for each token: the tokens after commas, for
 * example, are the word of the commas, shifted by one. It walks through the brackets one by one, or only counts them if all are curly. It
 * reads numbers, names, escapes and bytes beyond ASCII in the text itself.
 *
 * It reports no errors (json_set.h). It also leaves to json_plain texts that are rare on one line: with white space other than blanks
 * between tokens, or with more than DEEP nested containers.
 */
#include "lib/base/text.h"
#include "lib/json/json_set.h"

#define WIDE_avx512 1
#define WIDE_avx2 2
#define WIDE_sse4 3
#define WIDE_neon 4
#define JOIN(a, b) a##b
#define NUMBER(set) JOIN(WIDE_, set)
#define FUNCTION(set) JOIN(json_scan_, set)

#if NUMBER(WIDE_SET) == WIDE_neon
#include <arm_neon.h>
#else
#include <immintrin.h>
#endif

#if NUMBER(WIDE_SET) == WIDE_avx512
enum { WIDTH = 64 };
#elif NUMBER(WIDE_SET) == WIDE_avx2
enum { WIDTH = 32 };
#else
enum { WIDTH = 16 };
#endif

/* A vec has the bytes of one instruction, a piece 64 bytes. */
typedef signed char vec __attribute__((vector_size(WIDTH)));
typedef vec vec_anywhere __attribute__((aligned(1), may_alias));
enum { PARTS = 64 / WIDTH };
struct piece {
	vec v[PARTS];
};

/* --- operations that each set has in its own way --- */

/* same, less: a bit for each byte of a that equals, or is less than, that of b. */
#if NUMBER(WIDE_SET) == WIDE_avx512

INLINE uint64_t
same(vec a, vec b)
{
	return _mm512_cmpeq_epi8_mask((__m512i)a, (__m512i)b);
}

INLINE uint64_t
less(vec a, vec b)
{
	return _mm512_cmplt_epi8_mask((__m512i)a, (__m512i)b);
}

#else

/* A bit for each byte of a mask, whose bytes are 0 or -1. */
INLINE uint64_t
bits(vec mask)
{
#if NUMBER(WIDE_SET) == WIDE_avx2
	return (uint32_t)_mm256_movemask_epi8((__m256i)mask);
#elif NUMBER(WIDE_SET) == WIDE_sse4
	return (uint16_t)_mm_movemask_epi8((__m128i)mask);
#else
	static const uint8_t bit_of[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
	uint8x16_t set = vandq_u8((uint8x16_t)mask, vld1q_u8(bit_of));

	return (uint64_t)vaddv_u8(vget_low_u8(set)) | (uint64_t)vaddv_u8(vget_high_u8(set)) << 8;
#endif
}

INLINE uint64_t
same(vec a, vec b)
{
	return bits((vec)(a == b));
}

INLINE uint64_t
less(vec a, vec b)
{
	return bits((vec)(a < b));
}

#endif

/* From the table of 16 the byte at the offset that the low four bits of v name. (x86: anything where v is negative.) */
INLINE vec
look_up(const char *table, vec v)
{
#if NUMBER(WIDE_SET) == WIDE_neon
	return (vec)vqtbl1q_u8(vld1q_u8((const uint8_t *)table), vandq_u8((uint8x16_t)v, vdupq_n_u8(15)));
#else
	__m128i t = _mm_loadu_si128((const __m128i *)(const void *)table);
#if NUMBER(WIDE_SET) == WIDE_avx512
	return (vec)_mm512_shuffle_epi8(_mm512_broadcast_i32x4(t), (__m512i)v);
#elif NUMBER(WIDE_SET) == WIDE_avx2
	return (vec)_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(t), (__m256i)v);
#else
	return (vec)_mm_shuffle_epi8(t, (__m128i)v);
#endif
#endif
}

/* Bit i of the result is the parity of bits 0 to i. */
INLINE uint64_t
prefix_xor(uint64_t word)
{
#if NUMBER(WIDE_SET) == WIDE_neon
	for (int n = 1; n < 64; n *= 2)
		word ^= word << n;
	return word;
#else
	__m128i r = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)word), _mm_set1_epi8(-1), 0);

	return (uint64_t)_mm_cvtsi128_si64(r);
#endif
}

/* --- 64 bytes at a time --- */

INLINE vec
all(char c)
{
	return (vec){0} + (signed char)c;
}

INLINE void
load(struct piece *a, const char *p)
{
#pragma GCC unroll 4
	for (int i = 0; i < PARTS; i++)
		a->v[i] = *(const vec_anywhere *)(const void *)(p + i * WIDTH);
}

INLINE uint64_t
equal(const struct piece *a, char c)
{
	uint64_t word = 0;

#pragma GCC unroll 4
	for (int i = 0; i < PARTS; i++)
		word |= same(a->v[i], all(c)) << (i * WIDTH % 64);
	return word;
}

/* The piece with bit 5 set in each byte, which makes { of [ and } of ]. */
INLINE struct piece
fold(const struct piece *a)
{
	struct piece folded;

#pragma GCC unroll 4
	for (int i = 0; i < PARTS; i++)
		folded.v[i] = a->v[i] | all(0x20);
	return folded;
}

/* Finds the classes of the bytes of a piece. */
INLINE void
classify(const struct piece *a, struct json_classes *m)
{
	static const char separators[16] = {' ', 0, 0, 0, 0, 0, 0, 0, 0, 0, ':', '{', ',', '}', 0, 0};
	struct piece folded = fold(a);

	m->quote = equal(a, '"');
	m->backslash = equal(a, '\\');
	m->blank = equal(a, ' ');
	m->separators = m->unprintable = 0;
#pragma GCC unroll 4
	for (int i = 0; i < PARTS; i++) {
		m->separators |= same(folded.v[i], look_up(separators, folded.v[i])) << (i * WIDTH % 64);
		/* Signed, bytes from 0x80 on are below 0x20 as well. */
		m->unprintable |= less(a->v[i], all(0x20)) << (i * WIDTH % 64);
	}
}

/* Finds the kinds of 64 tokens. */
INLINE void
sort(const char *token, struct json_kinds *k)
{
	struct piece a, folded;

	load(&a, token);
	folded = fold(&a);
	k->open = equal(&folded, '{');
	k->close = equal(&folded, '}');
	k->brace = 0;
#pragma GCC unroll 4
	for (int i = 0; i < PARTS; i++)
		k->brace |= same(a.v[i], folded.v[i]) << (i * WIDTH % 64);
	k->comma = equal(&a, ',');
	k->colon = equal(&a, ':');
	k->quote = equal(&a, '"');
}

enum {
	CHUNK = 4096, /* bytes in which tokens are found at a time; an offset in a chunk fits in 16 bits */
	DEEP = 61,    /* nested containers that fit in a word, with a spare bit */
};

/*
 * The state between two blocks, and the numbers of tokens and odd blocks in the chunk. A carry is 0 or 1, a fill all zeros or all ones.
 */
struct reading {
	uint64_t in_string; /* fill */
	uint64_t escape;    /* carry: the next byte is escaped */
	uint64_t in_scalar; /* carry: the byte before belongs to a number or name */
	size_t tokens, odds;
};

/* The state between two chunks. */
struct wide {
	const char *end; /* of the text */
	const struct json_want *want;
	struct reading reading;
	uint64_t after_open;   /* carry: the next token follows an opening bracket */
	uint64_t want_value;   /* carry: it follows an opening bracket, a comma or a colon */
	uint64_t want_name;    /* carry: it follows a '{' or a comma in an object */
	uint64_t want_colon;   /* carry: it follows a member's name */
	struct slice *value;   /* the place for the current value, whose end is not known */
	struct slice unwanted; /* the place for a value that nobody wants */
	const char *before;    /* the last token of the chunks before */
	const char *checked;   /* the text before this is UTF-8 */
	/*
	 * A bit for each open container, the innermost in bit 0: is it an object? The bit above the outermost one is 1, so the number is 2
	 * or more, and less than 2 + most at an allowed depth.
	 */
	uint64_t open, most;
};

/* A block with escapes or unprintable bytes, which the scan reads in the text. */
struct odd {
	const char *p;
	uint64_t escaped; /* the bytes that a backslash escapes */
	uint64_t unprintable; /* control characters, and bytes beyond ASCII */
};

struct chunk {
	const char *p;
	struct odd odd[CHUNK / 64];
	_Alignas(64) uint16_t offset[CHUNK + 64];
	_Alignas(64) char token[CHUNK + 64];
};

/*
 * load_tail: loads a piece of n < 64 bytes, and blanks after them.
 * pack: writes, for each bit, its number plus base to offset and its byte to token; may write up to 64 entries too many to both.
 * count: finds the tokens at depth 1, from the depth before; false: the depth falls below 1.
 * same_key: the index of the key that is the name of n < 16 bytes, or -1; the text goes on to end.
 */
#if NUMBER(WIDE_SET) == WIDE_avx512

INLINE void
load_tail(struct piece *a, const char *p, size_t n)
{
	*a = (struct piece){{(vec)_mm512_mask_loadu_epi8(_mm512_set1_epi8(' '), ~(~UINT64_C(0) << n), p)}};
}

INLINE void
pack(const struct piece *b, uint64_t bits, unsigned base, uint16_t *offset, char *token)
{
	static const char numbers[64] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
		17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37,
		38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58,
		59, 60, 61, 62, 63};
	__m512i from = _mm512_set1_epi16((short)base);
	__m512i n = _mm512_maskz_compress_epi8(bits, _mm512_loadu_si512(numbers)), v;

	_mm512_storeu_si512(token, _mm512_maskz_compress_epi8(bits, (__m512i)b->v[0]));
	v = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(n));
	_mm512_storeu_si512(offset, _mm512_add_epi16(from, v));
	if (__builtin_popcountll(bits) > 32) {
		v = _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(n, 1));
		_mm512_storeu_si512(offset + 32, _mm512_add_epi16(from, v));
	}
}

/* The depth after each token is a running sum: in four steps within 16, then over the four 16s. */
INLINE bool
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

INLINE int
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

#else

INLINE void
load_tail(struct piece *a, const char *p, size_t n)
{
	char copy[64];

	memset(copy, ' ', sizeof(copy));
	memcpy(copy, p, n);
	load(a, copy);
}

/* Writes eight at a time, so that the processor need not predict their number. */
INLINE void
pack(const struct piece *piece, uint64_t left, unsigned base, uint16_t *offset, char *token)
{
	char bytes[64];
	unsigned n;

	memcpy(bytes, piece, sizeof(bytes));
	for (; left; offset += 8, token += 8) {
#pragma GCC unroll 8
		for (int i = 0; i < 8; i++, left &= left - 1) {
			n = (unsigned)__builtin_ctzll(left | UINT64_C(1) << 63);
			offset[i] = (uint16_t)(base + n);
			token[i] = bytes[n];
		}
	}
}

INLINE bool
count(const struct json_kinds *k, int depth, uint64_t *on_top)
{
	uint64_t edges = 0, low = 0, at_first = -(uint64_t)(depth == 1), bit;
	int closes;

	for (uint64_t left = k->open | k->close; left; left ^= bit) {
		bit = left & -left;
		closes = (k->close & bit) != 0;
		depth -= closes;
		if (depth == 1)
			edges |= bit;
		low |= (uint64_t)depth - 1;
		depth += closes ^ 1;
	}
	*on_top = prefix_xor(edges) ^ at_first;
	return !(low >> 63);
}

/* Compares 16 bytes: the name's bytes after n become zeros, as in the keys. */
INLINE int
same_key(const struct json_keys *keys, const char *name, size_t n, const char *end)
{
	static const unsigned char masks[32] = {
		255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255};
	uint64_t word[2] = {0, 0}, mask[2];

	memcpy(mask, masks + 16 - n, 16);
	if (end - name >= 16)
		memcpy(word, name, 16);
	else
		memcpy(word, name, n);
	word[0] &= mask[0];
	word[1] &= mask[1];
	for (size_t i = 0; i < keys->n; i++)
		if (memcmp(keys->name[i], word, 16) == 0)
			return (int)i;
	return -1;
}

#endif

/* The bytes that a backslash escapes. */
INLINE uint64_t
find_escaped(uint64_t backslash, uint64_t *carry)
{
	static const uint64_t odd = 0xaaaaaaaaaaaaaaaa;
	uint64_t escaped = *carry, begins, codes;

	if (!backslash) {
		*carry = 0;
		return escaped;
	}
	/* Whether a run of backslashes is odd depends on its beginning. One subtraction handles all runs.
	 */
	begins = backslash & ~escaped;
	codes = ((begins << 1 | odd) - begins) ^ odd;
	escaped = codes ^ (backslash | escaped);
	*carry = (codes & backslash) >> 63;
	return escaped;
}

/* Are these 64 bytes printable ASCII without quotes and backslashes? */
INLINE bool
is_plain(const char *p)
{
	struct piece a;
	vec found = {0};

	load(&a, p);
#pragma GCC unroll 4
	for (int i = 0; i < PARTS; i++)
		found |= (vec)(a.v[i] == all('"')) | (vec)(a.v[i] == all('\\')) | (vec)(a.v[i] < all(0x20));
	return !less(found, all(0));
}

/* Adds the tokens of a block, which is piece and lies at p. False: the whole block is the inside of a string. */
INLINE bool
add_tokens(struct reading *r, struct chunk *c, const char *p, const struct piece *piece)
{
	uint64_t escaped, quote, in, scalar, tokens;
	struct json_classes m;

	classify(piece, &m);
	if (!(m.quote | m.backslash | m.unprintable | r->escape | ~r->in_string))
		return false;
	escaped = find_escaped(m.backslash, &r->escape);
	quote = m.quote & ~escaped;
	in = prefix_xor(quote) ^ r->in_string;
	r->in_string = -(in >> 63);
	scalar = ~(in | quote | m.separators);
	tokens = (quote & in) | (m.separators & ~m.blank & ~in) |
		(scalar & ~(scalar << 1 | r->in_scalar));
	r->in_scalar = scalar >> 63;
	pack(piece, tokens, (unsigned)(p - c->p), c->offset + r->tokens, c->token + r->tokens);
	r->tokens += (size_t)__builtin_popcountll(tokens);
	if (escaped | m.unprintable)
		c->odd[r->odds++] = (struct odd){p, escaped, m.unprintable};
	return true;
}

/* Finds the tokens of the next chunk, from c->p up to last at most. */
INLINE void
find_tokens(struct reading *reading, struct chunk *c, const char *last)
{
	const char *p = c->p, *stop = last - p > CHUNK ? p + CHUNK : last;
	struct reading r = *reading; /* a copy without pointers to it can stay in registers */
	struct piece piece;

	r.tokens = r.odds = 0;
	for (; stop - p >= 64; p += 64) {
		load(&piece, p);
		/* In a long string, most blocks are plain. */
		if (!add_tokens(&r, c, p, &piece))
			while (stop - p >= 128 && is_plain(p + 64))
				p += 64;
	}
	if (p < stop) {
		load_tail(&piece, p, (size_t)(stop - p));
		add_tokens(&r, c, p, &piece);
	}
	*reading = r;
}

static bool
escapes_are_right(const char *p, uint64_t escaped, const char *end)
{
	const char *stop, *at;

	for (; escaped; escaped &= escaped - 1) {
		at = p + __builtin_ctzll(escaped);
		if (at >= end || !json_escape_end(at - 1, end, &stop))
			return false;
	}
	return true;
}

/* Is the text UTF-8 without control characters? */
static bool
check_unprintable(struct wide *s, const char *p, uint64_t unprintable)
{
	const char *at;
	unsigned n;

	for (; unprintable; unprintable &= unprintable - 1) {
		at = p + __builtin_ctzll(unprintable);
		if (at < s->checked)
			continue;
		n = text_utf8_length(at, s->end);
		if (n < 2)
			return false;
		s->checked = at + n;
	}
	return true;
}

/* Is this a valid number or name? The grammar finds a quote after it. */
INLINE bool
scalar_is_right(const char *p, const char *end)
{
	const char *stop;

	if (*p == 't' || *p == 'n') {
		if (end - p < 5 || (memcmp(p, "true", 4) != 0 && memcmp(p, "null", 4) != 0))
			return false;
		p += 4;
	} else if (*p == 'f') {
		if (end - p < 6 || memcmp(p, "false", 5) != 0)
			return false;
		p += 5;
	} else {
		p = json_number_end(p, end, &stop);
		if (!p || p == end)
			return false;
	}
	return *p == ',' || *p == '}' || *p == ']' || *p == ' ';
}

/*
 * Walks through the brackets of 64 tokens. False: one does not fit, or is too deep. Finds the tokens in objects, and those that are in the
 * outermost container only.
 */
INLINE bool
nest(struct wide *s, const struct json_kinds *k, uint64_t *in_object, uint64_t *on_top)
{
	uint64_t open = s->open, wrong = 0, turns = 0, edges = 0, bit, outer, inner;
	unsigned brace, closes;

	for (uint64_t left = k->open | k->close; left; left ^= bit) {
		bit = left & -left;
		closes = (k->close & bit) != 0;
		brace = (k->brace & bit) != 0;
		inner = open << 1 | brace;
		outer = closes ? open >> 1 : open;
		wrong |= (open ^ brace) & closes;
		if ((outer ^ brace) & 1)
			turns |= bit;
		if (outer <= 3)
			edges |= bit;
		open = closes ? open >> 1 : inner;
		if (open - 2 >= s->most)
			return false;
	}
	*in_object = prefix_xor(turns) ^ -(s->open & 1);
	*on_top = prefix_xor(edges) ^ -(uint64_t)(s->open <= 3);
	s->open = open;
	return !wrong;
}

/* Are all containers, open or to come, objects, and few enough that none can be too deep? */
INLINE bool
only_objects(const struct wide *s, const struct json_kinds *k)
{
	int more = __builtin_popcountll(k->open);

	return !((k->open | k->close) & ~k->brace) && !(s->open & (s->open + 1)) && more < 64 &&
		s->open << more < s->most;
}

/* nest, if all containers are objects: it only counts. */
INLINE bool
nest_objects(struct wide *s, const struct json_kinds *k, uint64_t *on_top)
{
	int depth = 63 - __builtin_clzll(s->open);

	if (!count(k, depth, on_top))
		return false;
	depth += __builtin_popcountll(k->open) - __builtin_popcountll(k->close);
	s->open = (UINT64_C(2) << depth) - 1;
	return true;
}

/* The index of the key that is the name between these quotes; -1: none. */
INLINE int
find_key(const struct json_want *want, const char *quote, const char *closing, const char *end)
{
	size_t n = (size_t)(closing - quote) - 1;
	int key = n < 16 ? same_key(want->keys, quote + 1, n, end) : -1;

	/* Empty keys follow the last one, and a name may be empty. */
	if (key >= 0)
		return (size_t)key < want->keys->n ? key : -1;
	if (!memchr(quote, '\\', (size_t)(closing - quote)))
		return -1;
	return json_want_key(want, slice_between(quote, closing + 1));
}

/* Ends the current value, before the comma in front of the next member's name. */
INLINE void
end_value(struct slice *value, const char *name)
{
	while (*--name != ',')
		;
	while (name[-1] == ' ')
		name--;
	value->n = (size_t)(name - value->p);
}

/* Stores the members of the outermost object whose colons are among the tokens from `from` on. */
INLINE bool
store_members(struct wide *s, const struct chunk *c, size_t from, uint64_t colons)
{
	const struct json_want *want = s->want;
	struct slice *value = s->value;
	const char *quote, *closing, *begin;
	size_t at;
	int key;

	for (; colons; colons &= colons - 1) {
		at = from + (size_t)__builtin_ctzll(colons);
		quote = at > 0 ? c->p + c->offset[at - 1] : s->before;
		begin = c->p + c->offset[at];
		for (closing = begin - 1; *closing != '"'; closing--)
			;
		while (*++begin == ' ')
			;
		if (value)
			end_value(value, quote);
		value = &s->unwanted;
		key = find_key(want, quote, closing, s->end);
		if (key >= 0) {
			value = &want->values[key];
			if (value->p)
				return false;
		}
		value->p = begin;
	}
	s->value = value;
	return true;
}

/* Checks the n tokens from `from` on; n is at most 64. */
INLINE bool
tokens_are_right(struct wide *s, const struct chunk *c, size_t from, unsigned n)
{
	const uint64_t valid = ~UINT64_C(0) >> (64 - n);
	uint64_t scalar, value, begin, before, begun, opened, names, colons, named, top, wrong;
	uint64_t inside = ~UINT64_C(0);
	struct json_kinds k;
	size_t at;

	sort(c->token + from, &k);
	k.open &= valid;
	k.close &= valid;
	scalar = valid & ~(k.open | k.close | k.comma | k.colon | k.quote);
	value = valid & (k.open | k.quote | scalar);
	for (; scalar; scalar &= scalar - 1) {
		at = from + (size_t)__builtin_ctzll(scalar);
		if (!scalar_is_right(c->p + c->offset[at], s->end))
			return false;
	}
	if (only_objects(s, &k) ? !nest_objects(s, &k, &top) : !nest(s, &k, &inside, &top))
		return false;

	begin = k.open | k.comma;
	before = begin | k.colon;
	begun = before << 1 | s->want_value;
	s->want_value = before >> (n - 1) & 1;
	opened = k.open << 1 | s->after_open;
	s->after_open = k.open >> (n - 1) & 1;
	begin &= inside;
	names = begin << 1 | s->want_name;
	s->want_name = begin >> (n - 1) & 1;
	named = names & k.quote;
	colons = named << 1 | s->want_colon;
	s->want_colon = named >> (n - 1) & 1;
	/* Values follow exactly the tokens after which they may begin; but a bracket may close at once. */
	wrong = (begun ^ value) & ~(k.close & opened);
	wrong |= names & ~(k.quote | k.close);
	wrong |= colons ^ k.colon;
	if (wrong & valid)
		return false;
	top &= k.colon & valid;
	return !top || s->want->keys->n == 0 || store_members(s, c, from, top);
}

INLINE bool
scan_chunk(struct wide *s, struct chunk *c, const char *last)
{
	size_t tokens, n;

	find_tokens(&s->reading, c, last);
	tokens = s->reading.tokens;
	for (const struct odd *o = c->odd; o < c->odd + s->reading.odds; o++)
		if (!escapes_are_right(o->p, o->escaped, s->end) ||
			!check_unprintable(s, o->p, o->unprintable))
			return false;
	for (size_t from = 0; from < tokens; from += 64) {
		n = tokens - from < 64 ? tokens - from : 64;
		if (!tokens_are_right(s, c, from, (unsigned)n))
			return false;
	}
	if (tokens > 0)
		s->before = c->p + c->offset[tokens - 1];
	return true;
}

/* Scans the text between the outermost brackets, in which no bracket may close the outermost one. */
enum json_type
FUNCTION(WIDE_SET)(struct slice text, unsigned depth, const struct json_want *want)
{
	const char *p = text.p, *end = text.p + text.n, *last = end;
	struct chunk c;
	struct wide s;

	p = json_skip_space(p, end);
	while (last > p && byte_is_space(last[-1]))
		last--;
	/* A closing bracket is its opening one plus 2. */
	if (last - p < 2 || depth == 0 || (*p != '{' && *p != '[') || last[-1] != *p + 2)
		return JSON_NONE;
	last--;
	s.end = end;
	s.want = want;
	s.reading = (struct reading){0};
	s.want_name = *p == '{';
	s.after_open = s.want_value = 1;
	s.want_colon = 0;
	s.value = NULL;
	s.before = s.checked = p;
	s.open = 2 | s.want_name;
	s.most = (UINT64_C(2) << (depth < DEEP ? depth : DEEP)) - 2;
	for (c.p = p + 1; c.p < last; c.p += CHUNK)
		if (!scan_chunk(&s, &c, last))
			return JSON_NONE;
	/* The last bracket is at the place of a value only if the container is empty. */
	if (s.reading.in_string || s.want_colon || s.open > 3 || s.want_value != s.after_open)
		return JSON_NONE;
	if (s.value) {
		while (last[-1] == ' ')
			last--;
		s.value->n = (size_t)(last - s.value->p);
	}
	return p[0] == '{' ? JSON_OBJECT : JSON_ARRAY;
}
