/*
 * cells: one line for a terminal, column by column. Widths are those that people see (wcwidth);
 * text is cut with a mark, never within a character. No control character of a peer gets through,
 * nor any that would turn the writing direction or hide something: they are shown by name.
 */
#ifndef CELLS_H
#define CELLS_H

#include "lib/base/text.h"

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

#endif
