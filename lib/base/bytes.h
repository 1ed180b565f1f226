/* bytes: slices, growing buffers, and shared blocks. */
#ifndef BYTES_H
#define BYTES_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bytes that somebody else owns. p is NULL where there is nothing at all. */
struct slice {
	const char *p;
	size_t n;
};

/* Bytes of our own that grow. Zero it to begin. */
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

/* Copies it to *to, which goes on after it. Returns the copy. */
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

/* Below, at or above 0 as a comes before, is or comes after b, by bytes. */
static inline int
slice_compare(struct slice a, struct slice b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int order = n ? memcmp(a.p, b.p, n) : 0;

	return order ? order : (a.n > b.n) - (a.n < b.n);
}

/* A hash (FNV-1a) of bytes after others; 0: they are the first. */
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

/* White space of JSON. */
static inline bool
byte_is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Does it hold nothing but spaces, tabs and CRs? */
static inline bool
slice_is_blank(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] != ' ' && s.p[i] != '\t' && s.p[i] != '\r')
			return false;
	return true;
}

/* Steps over text, if it is at *p. */
static inline bool
bytes_skip(const char **p, const char *end, const char *text)
{
	size_t n = strlen(text);

	if ((size_t)(end - *p) < n || memcmp(*p, text, n) != 0)
		return false;
	*p += n;
	return true;
}

/* Steps over a whole number at *p, as JSON has it, with at most `most` digits. */
static inline bool
bytes_number(const char **p, const char *end, int most, uint64_t *n)
{
	const char *from = *p;

	for (*n = 0; *p < end && **p >= '0' && **p <= '9' && *p - from < most; ++*p)
		*n = *n * 10 + (uint64_t)(**p - '0');
	return *p > from && (*from != '0' || *p == from + 1);
}

/* Its first bytes, at most `most`; it does not end within a character of UTF-8. */
static inline struct slice
slice_cut(struct slice s, size_t most)
{
	if (s.n <= most)
		return s;
	for (s.n = most; s.n > 0 && ((unsigned char)s.p[s.n] & 0xc0) == 0x80; s.n--)
		;
	return s;
}

static inline struct slice
buf_slice(const struct buf *b)
{
	return (struct slice){b->p, b->n};
}

/* The decimal digits of a number; they lie in room. */
enum { SLICE_DIGITS = 20 };
struct slice slice_digits(uint64_t, char room[SLICE_DIGITS]);

/* All that may fail return 0, or -1 with errno set and the buffer as it was. */
int buf_reserve(struct buf *, size_t more);
int buf_add(struct buf *, const void *, size_t);

static inline int
buf_add_slice(struct buf *b, struct slice s)
{
	return buf_add(b, s.p, s.n);
}

/* Inline, so that the length of a literal costs nothing. */
static inline int
buf_add_string(struct buf *b, const char *s)
{
	return buf_add(b, s, strlen(s));
}

int buf_printf(struct buf *, const char *, ...) __attribute__((format(printf, 2, 3)));
int buf_vprintf(struct buf *, const char *, va_list) __attribute__((format(printf, 2, 0)));
/* Reads to the end of a file; EFBIG: there are more than `most` bytes. */
int buf_read_all(struct buf *, int fd, size_t most);
/* Puts a NUL after the bytes, which n does not count, and returns them; NULL when out of memory. */
char *buf_string(struct buf *);
void buf_free(struct buf *);
/* Before a buffer of a function's own: it is freed where its scope ends, whichever way. SCOPED struct buf text = {0}; */
#define SCOPED __attribute__((cleanup(buf_free)))
/* A new text, to be freed; NULL when out of memory. errno stays as it was. */
char *bytes_printf(const char *, ...) __attribute__((format(printf, 1, 2)));
char *bytes_vprintf(const char *, va_list) __attribute__((format(printf, 1, 0)));

/* A block with one owner and room for cap bytes; NULL when out of memory. */
struct block *block_new(size_t cap);
struct block *block_hold(struct block *);
void block_drop(struct block *);

#endif
