/*
 * cells: one line for a terminal, column by column. Widths are those that people see (wcwidth);
 * text is cut with a mark, never within a character. No control character of a peer gets through,
 * nor any that would turn the writing direction or hide something: they are shown by name.
 */
#ifndef CELLS_H
#define CELLS_H

#include <stdint.h>

#include "lib/bytes.h"

enum style {
	STYLE_PLAIN,
	STYLE_DIM,
	STYLE_BOLD,
	STYLE_THOUGHT,
	STYLE_RED,
	STYLE_GREEN,
	STYLE_YELLOW,
	STYLE_ORANGE,
	STYLE_BLUE,
	STYLE_MAGENTA,
	STYLE_CYAN,
};

struct cells {
	struct buf *to;
	bool utf8, color;
	unsigned limit, used; /* where the column ends; how far the line has come */
	unsigned gap;         /* spaces that are due before the next character */
	size_t mark;          /* the end of the text that leaves room for the mark of a cut */
	unsigned mark_used, mark_gap;
	enum style mark_on;
	bool cut, failed;
	enum style style, on; /* asked for, and what the terminal has */
};

/* Begins a line; utf8: may other characters than ASCII's be written? */
void cells_begin(struct cells *, struct buf *to, bool utf8, bool color);
/* Ends it. 0, or -1 out of memory. */
int cells_end(struct cells *);

/* A column from here on, so many cells wide; and its end, with a space behind it. */
void cells_open(struct cells *, unsigned width);
void cells_close(struct cells *);
/* A column of ASCII, at its right end. Text that is too long makes it wider. */
void cells_right(struct cells *, unsigned width, enum style, const char *text);

void cells_style(struct cells *, enum style);
/* One or the other, as the terminal is. */
void cells_sign(struct cells *, const char *utf8, const char *ascii);
void cells_ascii(struct cells *, const char *);
void cells_printf(struct cells *, const char *, ...) __attribute__((format(printf, 2, 3)));
/* Text of peers: bytes of any kind; a JSON string; any JSON value, a string without its quotes. */
void cells_text(struct cells *, struct slice bytes);
void cells_string(struct cells *, struct slice string);
void cells_value(struct cells *, struct slice value);

/* The characters of a text in turn, as code points; TEXT_BYTE + b for a byte that is not UTF-8; -1 at the end. */
struct text {
	const char *p, *end;
	bool json; /* the inside of a JSON string */
};
enum { TEXT_BYTE = 0x110000 };
struct text text_of_string(struct slice string);
int32_t text_next(struct text *);
/* Appends a code point as UTF-8. 0, or -1 out of memory. */
int text_put(struct buf *, int32_t code);

/* Figures as people like them: 254, 1.2K, 53K in 1024s; 53.0K, 200K, 1M in 1000s. to has room for 16 bytes. */
const char *people_bytes(char *to, uint64_t n);
const char *people_count(char *to, uint64_t n);

#endif
