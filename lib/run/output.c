#include "lib/run/output.h"

#include <errno.h>
#include <stdlib.h>

enum { PARTS_AT_ONCE = 64, COPY_BLOCK = 4096 };

int
output_open(struct output *out, int fd)
{
	*out = (struct output){0};
	return io_open(&out->io, fd, true);
}

static struct output_part *
part_at(struct output *out, size_t i)
{
	return &out->parts[(out->first + i) & (out->cap - 1)];
}

/* Drops a block. One block of copies is kept for the next copy, to save an allocation for each message. */
static void
drop(struct output *out, struct block *b)
{
	if (!out->spare && b->owners == 1 && b->cap == COPY_BLOCK && out->io.kind != IO_CLOSED)
		out->spare = b;
	else
		block_drop(b);
}

/* Removes the oldest part. Returns its block, which the caller has to drop. */
static struct block *
remove_first(struct output *out)
{
	struct block *b = part_at(out, 0)->block;

	out->first = (out->first + 1) & (out->cap - 1);
	out->n--;
	return b;
}

/* Discards the queue. */
static void
discard_queue(struct output *out)
{
	while (out->n > 0)
		drop(out, remove_first(out));
	out->discarded += out->queued;
	out->queued = 0;
	out->full = false;
}

void
output_close(struct output *out)
{
	discard_queue(out);
	block_drop(out->spare);
	out->spare = NULL;
	free(out->parts);
	out->parts = NULL;
	out->cap = 0;
	io_close(&out->io, false);
}

static int
grow(struct output *out)
{
	size_t cap = out->cap ? out->cap * 2 : 16, i;
	struct output_part *parts = malloc(cap * sizeof(*parts));

	if (!parts)
		return -1;
	for (i = 0; i < out->n; i++)
		parts[i] = *part_at(out, i);
	free(out->parts);
	out->parts = parts;
	out->cap = cap;
	out->first = 0;
	return 0;
}

int
output_hold(struct output *out, struct block *block, struct slice text)
{
	struct output_part *last;

	if (text.n == 0)
		return 0;
	if (out->error || out->io.kind == IO_CLOSED) {
		out->discarded += text.n;
		return 0;
	}
	last = out->n ? part_at(out, out->n - 1) : NULL;
	if (last && last->block == block && last->text.p + last->text.n == text.p) {
		last->text.n += text.n;
	} else {
		if (out->n == out->cap && grow(out) < 0)
			return -1;
		*part_at(out, out->n++) = (struct output_part){block_hold(block), text};
	}
	out->queued += text.n;
	out->torn = text.p[text.n - 1] != '\n';
	out->full |= out->queued > OUTPUT_HIGH;
	return 0;
}

/* Where a copy of n bytes fits after the last part, in a block of copies that no other owner holds; else NULL. */
static char *
room_after_last(struct output *out, size_t n)
{
	struct output_part *last = out->n ? part_at(out, out->n - 1) : NULL;
	struct block *b = last ? last->block : NULL;
	size_t used;

	if (!b || b->owners != 1 || b->cap != COPY_BLOCK)
		return NULL;
	used = (size_t)(last->text.p + last->text.n - b->data);
	return b->cap - used >= n ? b->data + used : NULL;
}

int
output_copy_parts(struct output *out, const struct iovec *parts, size_t n, bool newline)
{
	struct block *b = NULL;
	size_t size = newline;
	char *room, *p;
	int r;

	for (size_t i = 0; i < n; i++)
		size += parts[i].iov_len;
	if (size == 0)
		return 0;
	room = room_after_last(out, size);
	if (!room) {
		b = size > COPY_BLOCK ? NULL : out->spare;
		if (b)
			out->spare = NULL;
		else if (!(b = block_new(size > COPY_BLOCK ? size : COPY_BLOCK)))
			return -1;
		room = b->data;
	}
	p = room;
	for (size_t i = 0; i < n; p += parts[i++].iov_len)
		if (parts[i].iov_len > 0)
			memcpy(p, parts[i].iov_base, parts[i].iov_len);
	if (newline)
		*p = '\n';
	r = output_hold(out, b ? b : part_at(out, out->n - 1)->block, slice(room, size));
	if (b)
		drop(out, b);
	return r;
}

int
output_copy(struct output *out, struct slice text)
{
	return output_copy_parts(out, &(struct iovec){(char *)text.p, text.n}, 1, false);
}

int
output_end_line(struct output *out)
{
	return out->torn ? output_copy(out, slice("\n", 1)) : 0;
}

int
output_take(struct output *out, struct buf *to)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < out->n; i++)
		r = buf_add_slice(to, part_at(out, i)->text);
	out->queued = 0;
	discard_queue(out);
	return r;
}

void
output_fail(struct output *out, int error)
{
	out->error = error;
	if (!out->keeps)
		discard_queue(out);
}

static void
remove_written(struct output *out, size_t n)
{
	struct output_part *p;

	out->queued -= n;
	out->written += n;
	while (n > 0) {
		p = part_at(out, 0);
		if (n < p->text.n) {
			p->text.p += n;
			p->text.n -= n;
			break;
		}
		n -= p->text.n;
		drop(out, remove_first(out));
	}
	if (out->queued <= OUTPUT_LOW)
		out->full = false;
}

int
output_flush(struct output *out)
{
	struct iovec parts[PARTS_AT_ONCE];
	size_t n;
	ssize_t r;

	while (out->n > 0 && !out->error) {
		n = out->n < PARTS_AT_ONCE ? out->n : PARTS_AT_ONCE;
		for (size_t i = 0; i < n; i++)
			parts[i] = (struct iovec){(void *)part_at(out, i)->text.p, part_at(out, i)->text.n};
		r = io_writev(&out->io, parts, (int)n);
		if (r < 0 && errno == EAGAIN)
			return 1;
		if (r < 0) {
			out->error = errno;
			return -1;
		}
		remove_written(out, (size_t)r);
	}
	return out->error ? -1 : 0;
}
