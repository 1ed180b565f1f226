/* input: reads lines, in blocks that grow to the limit and no further. */
#ifndef INPUT_H
#define INPUT_H

#include <stdint.h>

#include "lib/base/bytes.h"
#include "lib/run/io.h"

enum { INPUT_BLOCK = 64 * 1024 };

enum input_got {
	INPUT_NOTHING, /* no further line in what has been read */
	INPUT_LINE,    /* a whole line */
	INPUT_TORN,    /* the last line, without its newline */
	INPUT_PIECE,   /* a part of a line beyond the limit; `text` has its newline where it is the last part */
	INPUT_END,     /* the end: all has been handed out */
};

struct line {
	struct slice text;   /* of INPUT_LINE without its newline, a CR included */
	struct block *block; /* where it lies; hold it to keep the text */
	uint64_t number;     /* 1 for the first line */
	bool first, last;    /* of INPUT_PIECE */
};

struct input {
	struct io io;
	struct block *block;
	size_t start, end; /* what is read and not handed out: block->data[start, end) */
	size_t searched;   /* no newline before this */
	size_t limit;
	uint64_t lines;
	bool over;  /* in a line beyond the limit */
	bool ended;
	int error;  /* errno of a failed read; such an input has ended too */
};

/* Takes over fd; limit is the longest line in bytes; 0: there are no lines, and each read is an INPUT_PIECE. 0, or -1 with errno. */
int input_open(struct input *, int fd, size_t limit);
void input_close(struct input *);
/*
 * Reads once. Returns the bytes read, 0 at the end of input (or when it had ended), -1 with EAGAIN,
 * with ENOMEM, or with the error of the read, which ends the input. Call it only after input_line
 * has returned INPUT_NOTHING.
 */
ssize_t input_fill(struct input *);
/* The next line of what has been read. It stays where it is until this returns no other or the next input_fill, or as long as its block is held. */
enum input_got input_line(struct input *, struct line *);
/* The same, but waits for more. INPUT_NOTHING: reading fails, errno says why. */
enum input_got input_next(struct input *, struct line *);

/* Takes the first line off the text, without its newline, which the last may lack. False: nothing is left. */
bool line_next(struct slice *text, struct slice *line);
/* Has it no text, or a CR alone? Such lines occur and mean nothing. */
bool line_is_blank(const struct line *);

#endif
