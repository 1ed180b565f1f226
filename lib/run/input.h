/* input: reads lines into blocks, which grow with a long line up to its limit. */
#ifndef INPUT_H
#define INPUT_H

#include <stdint.h>

#include "lib/base/bytes.h"
#include "lib/run/io.h"

enum { INPUT_BLOCK = 64 * 1024 };

enum input_got {
	INPUT_NOTHING, /* the bytes that were read hold no further line */
	INPUT_LINE,    /* a whole line */
	INPUT_TORN,    /* the last line, without its newline */
	INPUT_PIECE,   /* a part of a line that is over the limit; the text of the last part includes the newline */
	INPUT_END,     /* the input has ended, and all lines have been handed out */
};

struct line {
	struct slice text;   /* without the newline of an INPUT_LINE, with its CR */
	struct block *block; /* that the text lies in: hold it (block_hold) to keep the text */
	uint64_t number;     /* 1 for the first line */
	bool first, last;    /* an INPUT_PIECE is the first, the last of its line */
};

struct input {
	struct io io;
	struct block *block;
	size_t start, end; /* block->data[start, end) has been read and not handed out */
	size_t searched;   /* block->data[start, searched) has no newline */
	size_t limit;      /* the longest line, bytes; 0: the input has no lines */
	uint64_t lines;
	bool over;  /* the next byte belongs to a line that is over the limit */
	bool ended;
	int error;  /* errno of a failed read, which also ends the input; or 0 */
};

/* Takes over fd. limit: the longest line, bytes; 0: the input has no lines, and each read is an INPUT_PIECE. 0, or -1 with errno. */
int input_open(struct input *, int fd, size_t limit);
/* Closes the descriptor and discards unread bytes. */
void input_close(struct input *);
/*
 * Reads once; to be called only after input_line has returned INPUT_NOTHING. Returns the bytes read, 0 at and after the end of input,
 * or -1 with errno: EAGAIN, ENOMEM, or the error of the read, which ends the input.
 */
ssize_t input_fill(struct input *);
/*
 * The next line of the bytes that were read. Its text is valid until this returns no line, or until input_fill; longer while its block is
 * held.
 */
enum input_got input_line(struct input *, struct line *);
/* As input_line, but waits for input. INPUT_NOTHING: reading failed, with errno. */
enum input_got input_next(struct input *, struct line *);

/* Removes the first line from the text, and its newline, which a last line may lack. False: the text was empty. */
bool line_next(struct slice *text, struct slice *line);
/* Is the line empty, or a CR alone? Peers send such lines, and they are ignored. */
bool line_is_blank(const struct line *);

#endif
