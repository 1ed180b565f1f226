#include "lib/base/bytes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct slice
slice_digits(uint64_t n, char room[SLICE_DIGITS])
{
	char *p = room + SLICE_DIGITS;

	do
		*--p = (char)('0' + n % 10);
	while (n /= 10);
	return slice_between(p, room + SLICE_DIGITS);
}

int
buf_reserve(struct buf *b, size_t more)
{
	size_t cap;
	char *p;

	if (b->cap - b->n >= more)
		return 0;
	if (more > SIZE_MAX / 2 - b->n) {
		errno = ENOMEM;
		return -1;
	}
	cap = b->cap + b->cap / 2;
	if (cap < b->n + more)
		cap = b->n + more;
	if (cap < 64)
		cap = 64;
	p = realloc(b->p, cap);
	if (!p)
		return -1;
	b->p = p;
	b->cap = cap;
	return 0;
}

int
buf_add(struct buf *b, const void *p, size_t n)
{
	if (n == 0)
		return 0;
	if (b->cap - b->n < n && buf_reserve(b, n) < 0)
		return -1;
	memcpy(b->p + b->n, p, n);
	b->n += n;
	return 0;
}

int
buf_vprintf(struct buf *b, const char *format, va_list args)
{
	va_list again;
	int n;

	va_copy(again, args);
	n = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (n < 0 || buf_reserve(b, (size_t)n + 1) < 0)
		return -1;
	vsnprintf(b->p + b->n, (size_t)n + 1, format, args);
	b->n += (size_t)n;
	return 0;
}

int
buf_printf(struct buf *b, const char *format, ...)
{
	va_list args;
	int r;

	va_start(args, format);
	r = buf_vprintf(b, format, args);
	va_end(args);
	return r;
}

int
buf_read_all(struct buf *b, int fd, size_t most)
{
	size_t was = b->n;
	ssize_t n;

	do {
		n = buf_reserve(b, 65536) < 0 ? -1 : read(fd, b->p + b->n, 65536);
		b->n += n > 0 ? (size_t)n : 0;
		if (b->n - was > most) {
			errno = EFBIG;
			n = -1;
		}
	} while (n > 0 || (n < 0 && errno == EINTR));
	if (n < 0)
		b->n = was;
	return (int)n;
}

char *
buf_string(struct buf *b)
{
	if (buf_reserve(b, 1) < 0)
		return NULL;
	b->p[b->n] = '\0';
	return b->p;
}

void
buf_free(struct buf *b)
{
	free(b->p);
	*b = (struct buf){0};
}

char *
bytes_vprintf(const char *format, va_list args)
{
	struct buf text = {0};
	int error = errno;

	if (buf_vprintf(&text, format, args) < 0 || !buf_string(&text))
		buf_free(&text);
	errno = error;
	return text.p;
}

char *
bytes_printf(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = bytes_vprintf(format, args);
	va_end(args);
	return text;
}

struct block *
block_new(size_t cap)
{
	struct block *b;

	if (cap > SIZE_MAX - sizeof(*b)) {
		errno = ENOMEM;
		return NULL;
	}
	b = malloc(sizeof(*b) + cap);
	if (!b)
		return NULL;
	b->owners = 1;
	b->cap = cap;
	return b;
}

struct block *
block_hold(struct block *b)
{
	b->owners++;
	return b;
}

void
block_drop(struct block *b)
{
	if (b && --b->owners == 0)
		free(b);
}
