#include "lib/run/input.h"

#include <errno.h>
#include <poll.h>

int
input_open(struct input *in, int fd, size_t limit)
{
	*in = (struct input){.limit = limit};
	return io_open(&in->io, fd, false);
}

void
input_close(struct input *in)
{
	io_close(&in->io, false);
	block_drop(in->block);
	in->block = NULL;
	in->start = in->end = in->searched = 0;
	in->ended = true;
}

/*
 * Makes room for a read after the unread bytes. Where the block has too little, or others hold it, the unread bytes move to a new one,
 * twice their size for a long line. A block that grew for a long line is replaced after it. 0, or -1 out of memory.
 */
static int
make_room(struct input *in)
{
	size_t unread = in->end - in->start, cap = INPUT_BLOCK;
	size_t most = in->limit + INPUT_BLOCK;
	struct block *b = in->block;

	if (b && unread == 0 && b->owners == 1 && b->cap == INPUT_BLOCK) {
		in->start = in->end = in->searched = 0;
		return 0;
	}
	/* Less room would cost a system call for few bytes. */
	if (b && (unread || b->cap == INPUT_BLOCK) && b->cap - in->end >= INPUT_BLOCK / 4)
		return 0;
	if (unread > INPUT_BLOCK / 2)
		cap = unread > most / 2 ? most : unread * 2;
	if (cap < unread + INPUT_BLOCK / 4)
		cap = unread + INPUT_BLOCK / 4;
	b = block_new(cap);
	if (!b)
		return -1;
	if (unread)
		memcpy(b->data, in->block->data + in->start, unread);
	block_drop(in->block);
	in->block = b;
	in->searched -= in->start;
	in->start = 0;
	in->end = unread;
	return 0;
}

ssize_t
input_fill(struct input *in)
{
	ssize_t r;

	if (in->ended)
		return 0;
	if (make_room(in) < 0)
		return -1;
	r = io_read(&in->io, in->block->data + in->end, in->block->cap - in->end);
	if (r < 0 && errno == EAGAIN)
		return -1;
	if (r <= 0) {
		in->error = r < 0 ? errno : 0;
		in->ended = true;
		return r;
	}
	in->end += (size_t)r;
	return r;
}

/* Fills in *line with the next n bytes, and steps over `consumed` bytes: these n and a newline. Returns got. */
static enum input_got
hand_out(struct input *in, struct line *line, size_t n, size_t consumed, enum input_got got)
{
	line->text = slice(in->block->data + in->start, n);
	line->block = in->block;
	line->number = in->lines + 1;
	in->start += consumed;
	in->searched = in->start;
	in->lines += got != INPUT_PIECE || line->last;
	return got;
}

static enum input_got
hand_out_piece(struct input *in, struct line *line, size_t n, bool last)
{
	line->first = !in->over;
	line->last = last;
	in->over = !last;
	return hand_out(in, line, n, n, INPUT_PIECE);
}

enum input_got
input_line(struct input *in, struct line *line)
{
	size_t n = in->end - in->start;
	const char *newline = NULL, *from;

	if (in->limit == 0 && n > 0)
		return hand_out_piece(in, line, n, false);
	if (in->end > in->searched) {
		from = in->block->data + in->searched;
		newline = memchr(from, '\n', in->end - in->searched);
	}
	if (newline) {
		n = (size_t)(newline - (in->block->data + in->start));
		if (in->over || n > in->limit)
			return hand_out_piece(in, line, n + 1, true);
		return hand_out(in, line, n, n + 1, INPUT_LINE);
	}
	in->searched = in->end;
	if ((in->over || n > in->limit) && in->limit > 0) {
		/* A last piece without a newline shows that the input ended in the middle of a long line. */
		if (n > 0 || in->ended)
			return hand_out_piece(in, line, n, in->ended);
		return INPUT_NOTHING;
	}
	/* All bytes are handed out: gives back a block that grew for a long line, or any block where the input has no lines. */
	if (n == 0 && in->block && (in->block->cap > INPUT_BLOCK || in->limit == 0)) {
		block_drop(in->block);
		in->block = NULL;
		in->start = in->end = in->searched = 0;
	}
	if (!in->ended)
		return INPUT_NOTHING;
	return n == 0 ? INPUT_END : hand_out(in, line, n, n, INPUT_TORN);
}

enum input_got
input_next(struct input *in, struct line *line)
{
	struct pollfd p = {.fd = in->io.fd, .events = POLLIN};
	enum input_got got;

	do
		got = input_line(in, line);
	while (got == INPUT_NOTHING && (input_fill(in) >= 0 || (errno == EAGAIN && (poll(&p, 1, -1) >= 0 || errno == EINTR))));
	return got;
}

bool
line_next(struct slice *text, struct slice *line)
{
	const char *newline, *end;

	if (text->n == 0)
		return false;
	end = text->p + text->n;
	newline = memchr(text->p, '\n', text->n);
	*line = slice_between(text->p, newline ? newline : end);
	*text = slice_between(newline ? newline + 1 : end, end);
	return true;
}

bool
line_is_blank(const struct line *line)
{
	return line->text.n == 0 || slice_is(line->text, "\r");
}
