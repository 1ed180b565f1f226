/*
 * Finds the lines that may matter, by a few words; nothing else is read in the other lines. A key or kind that is spelled with
 * escapes has one for a letter, or for '/' or '_'; such escapes are words, too.
 */
#include "lib/usage/usage_parts.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* A word; where in it three bytes stand that are rare elsewhere; a bit for these bytes, which words with similar bytes share. */
static const struct word {
	const char *text;
	size_t length, rare;
	unsigned char bit;
	bool key; /* the word counts only before a colon */
} words[] = {
#define WORD(text, rare, bit) {text, sizeof(text) - 1, rare, bit, false}
#define KEY(text, rare, bit) {text "\"", sizeof(text), rare, bit, true}
#define KIND(name, in, what, rare, bit) WORD(name, rare, bit),
	/* what read.c reads in notifications */
	USAGE_KINDS(KIND)
	KEY("usage", 0, 1),
	/* all requests and responses, and the notifications that begin a connection or may be a copy */
	KEY("\"id", 1, 16),
	WORD("/restarted", 0, 64),
	WORD("/successor", 0, 4),
	/* a recording's header, its restarts, messages that it has as strings, and escapes that may hide a word */
	WORD("acp-recording", 2, 4),
	WORD("\"restart\"", 6, 32),
	WORD("usage\\", 0, 1),
	WORD("\"id\\", 1, 16),
	WORD("\\u002", 0, 8),
	WORD("\\u004", 0, 8),
	WORD("\\u005", 0, 8),
	WORD("\\u006", 0, 8),
	WORD("\\u007", 0, 8),
#undef KIND
#undef WORD
#undef KEY
};

enum { WORDS = sizeof(words) / sizeof(*words), RARE = 3 };

static bool
before_colon(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
		p++;
	return p < end && *p == ':';
}

/* Is there a word that has its rare bytes at p? */
static bool
is_word_at(const char *from, const char *p, const char *end)
{
	for (const struct word *w = words; w < words + WORDS; w++)
		if (*p == w->text[w->rare] && (size_t)(p - from) >= w->rare && (size_t)(end - p) >= w->length - w->rare
			&& memcmp(p - w->rare, w->text, w->length) == 0
			&& (!w->key || before_colon(p - w->rare + w->length, end)))
			return true;
	return false;
}

/* Compares one place after the other. */
static const char *
find_plainly(const struct usage_words *m, const char *from, const char *end)
{
	unsigned char all;

	for (const char *p = from; end - p >= RARE; p++) {
		all = 255;
		for (int j = 0; j < RARE; j++)
			all &= m->low[j][p[j] & 15] & m->high[j][p[j] >> 4 & 15];
		if (all && is_word_at(from, p, end))
			return p;
	}
	return end;
}

/*
 * For each of the three bytes, sets the bits of the words that have such a byte there, by its low and by its high half. Where the
 * six entries for three bytes of a text have a bit in common, a word with this bit may stand.
 */
void
usage_words(struct usage_words *m)
{
	unsigned char c;

	memset(m, 0, sizeof(*m));
	for (size_t i = 0; i < WORDS; i++) {
		for (size_t j = 0; j < RARE; j++) {
			c = (unsigned char)words[i].text[words[i].rare + j];
			m->low[j][c & 15] |= words[i].bit;
			m->high[j][c >> 4] |= words[i].bit;
		}
	}
#if defined(__x86_64__)
	m->wide = __builtin_cpu_supports("avx2");
#endif
}

#if defined(__x86_64__)
/* The bytes that are read to compare 32 places at a time; the last bytes of a text are compared twice. */
enum { AT_ONCE = 32 + RARE - 1 };

__attribute__((target("avx2"))) static inline __m256i
twice(const unsigned char *table)
{
	return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)table));
}

__attribute__((target("avx2"))) static const char *
find_wide(const struct usage_words *m, const char *from, const char *end)
{
	const __m256i nibble = _mm256_set1_epi8(15), zero = _mm256_setzero_si256();
	__m256i low[RARE], high[RARE], all, v;
	const char *p, *hit;
	unsigned found;

	if (end - from < AT_ONCE)
		return find_plainly(m, from, end);
	for (int j = 0; j < RARE; j++) {
		low[j] = twice(m->low[j]);
		high[j] = twice(m->high[j]);
	}
	for (p = from; end - p >= RARE; p += 32) {
		p = end - p < AT_ONCE ? end - AT_ONCE : p;
		all = _mm256_set1_epi8(-1);
		for (int j = 0; j < RARE; j++) {
			v = _mm256_loadu_si256((const __m256i *)(const void *)(p + j));
			all = _mm256_and_si256(all, _mm256_and_si256(_mm256_shuffle_epi8(low[j], _mm256_and_si256(v, nibble)),
				_mm256_shuffle_epi8(high[j], _mm256_and_si256(_mm256_srli_epi16(v, 4), nibble))));
		}
		found = ~(unsigned)_mm256_movemask_epi8(_mm256_cmpeq_epi8(all, zero));
		for (; found; found &= found - 1) {
			hit = p + __builtin_ctz(found);
			if (is_word_at(from, hit, end))
				return hit;
		}
	}
	return end;
}
#endif

const char *
usage_find(const struct usage_words *m, const char *from, const char *end)
{
#if defined(__x86_64__)
	if (m->wide)
		return find_wide(m, from, end);
#endif
	return find_plainly(m, from, end);
}

bool
usage_may_matter(const struct usage_words *m, struct slice text)
{
	return usage_find(m, text.p, text.p + text.n) < text.p + text.n;
}
