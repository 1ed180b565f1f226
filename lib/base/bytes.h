/* bytes: slices, growing buffers, and shared blocks. */
#ifndef BYTES_H
#define BYTES_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bytes that the slice does not own. p NULL: there is no value, in contrast to an empty one. */
struct slice {
	const char *p;
	size_t n;
};

/* Bytes that the buffer owns, and that grow. Zero it to begin; buf_free frees the bytes and zeroes it again. */
struct buf {
	char *p;
	size_t n, cap;
};

/* Bytes with several owners: the last one to release them frees them. */
struct block {
	size_t owners;
	size_t cap;
	char data[];
};

static inline struct slice
slice(const char *p, size_t n)
{
	return (struct slice){p, n};
}

static inline struct slice
slice_of(const char *s)
{
	return (struct slice){s, strlen(s)};
}

static inline struct slice
slice_between(const char *from, const char *to)
{
	return (struct slice){from, (size_t)(to - from)};
}

/* Copies the bytes to *to, moves *to past the copy, and returns the copy. */
static inline struct slice
slice_keep(char **to, struct slice s)
{
	struct slice copy = {s.p ? *to : NULL, s.n};

	if (s.n)
		memcpy(*to, s.p, s.n);
	*to += s.n;
	return copy;
}

static inline bool
slice_eq(struct slice a, struct slice b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool
slice_is(struct slice a, const char *s)
{
	return slice_eq(a, slice_of(s));
}

/* Compares bytes: below 0 if a comes before b, 0 if they are equal, above 0 if a comes after b. */
static inline int
slice_compare(struct slice a, struct slice b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int order = n ? memcmp(a.p, b.p, n) : 0;

	return order ? order : (a.n > b.n) - (a.n < b.n);
}

/* Returns the hash (FNV-1a) of bytes that follow others, whose hash is `before`; 0: no bytes come before. */
static inline uint64_t
slice_hash(uint64_t before, struct slice s)
{
	uint64_t h = before ? before : 14695981039346656037u;

	for (size_t i = 0; i < s.n; i++)
		h = (h ^ (unsigned char)s.p[i]) * 1099511628211u;
	return h;
}

static inline bool
byte_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Is it white space of JSON? */
static inline bool
byte_is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Does the slice hold nothing but spaces, tabs and CRs? */
static inline bool
slice_is_blank(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] != ' ' && s.p[i] != '\t' && s.p[i] != '\r')
			return false;
	return true;
}

/* Moves *p past the text if the bytes at *p begin with it. Returns whether they do. */
static inline bool
bytes_skip(const char **p, const char *end, const char *text)
{
	size_t n = strlen(text);

	if ((size_t)(end - *p) < n || memcmp(*p, text, n) != 0)
		return false;
	*p += n;
	return true;
}

/* Reads a whole number at *p, of at most `most` digits, and moves *p past the digits. False: no digits, or a zero before others. */
static inline bool
bytes_number(const char **p, const char *end, int most, uint64_t *n)
{
	const char *from = *p;

	for (*n = 0; *p < end && **p >= '0' && **p <= '9' && *p - from < most; ++*p)
		*n = *n * 10 + (uint64_t)(**p - '0');
	return *p > from && (*from != '0' || *p == from + 1);
}

/* Returns the first bytes of a slice, at most `most`, without a part of a UTF-8 character at the end. */
static inline struct slice
slice_cut(struct slice s, size_t most)
{
	if (s.n <= most)
		return s;
	for (s.n = most; s.n > 0 && ((unsigned char)s.p[s.n] & 0xc0) == 0x80; s.n--)
		;
	return s;
}

/* Returns the last bytes of a slice, at most `most`, without a part of a UTF-8 character at the beginning. */
static inline struct slice
slice_tail(struct slice s, size_t most)
{
	const char *end = s.p + s.n;

	if (s.n <= most)
		return s;
	for (s.p = end - most; s.p < end && ((unsigned char)*s.p & 0xc0) == 0x80; s.p++)
		;
	return slice_between(s.p, end);
}

static inline struct slice
buf_slice(const struct buf *b)
{
	return (struct slice){b->p, b->n};
}

/* Returns the decimal digits of a number, which lie in room. */
enum { SLICE_DIGITS = 20 };
struct slice slice_digits(uint64_t, char room[SLICE_DIGITS]);

/* All that may fail return 0, or -1 with errno set and the bytes unchanged. buf_reserve makes room for more bytes. */
int buf_reserve(struct buf *, size_t more);
int buf_add(struct buf *, const void *, size_t);

static inline int
buf_add_slice(struct buf *b, struct slice s)
{
	return buf_add(b, s.p, s.n);
}

/* Inline, so that the compiler computes the length of a literal. */
static inline int
buf_add_string(struct buf *b, const char *s)
{
	return buf_add(b, s, strlen(s));
}

int buf_printf(struct buf *, const char *, ...) __attribute__((format(printf, 2, 3)));
int buf_vprintf(struct buf *, const char *, va_list) __attribute__((format(printf, 2, 0)));
/* Appends the bytes of a file up to its end; EFBIG: there are more than `most` bytes. */
int buf_read_all(struct buf *, int fd, size_t most);
/* Puts a NUL, which n does not count, after the bytes, and returns the bytes, which the buffer owns; NULL out of memory. */
char *buf_string(struct buf *);
void buf_free(struct buf *);
/* Frees a function's buffer at each exit from the scope of the variable: SCOPED struct buf text = {0}; */
#define SCOPED __attribute__((cleanup(buf_free)))
/* These two return a new text that the caller frees; NULL out of memory. They do not change errno. */
char *bytes_printf(const char *, ...) __attribute__((format(printf, 1, 2)));
char *bytes_vprintf(const char *, va_list) __attribute__((format(printf, 1, 0)));

/* A new block with one owner and room for cap bytes; NULL out of memory. block_hold adds an owner, block_drop removes one. */
struct block *block_new(size_t cap);
struct block *block_hold(struct block *);
void block_drop(struct block *);

#endif
