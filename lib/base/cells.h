/*
 * cells: a line of a table, column by column. Widths are in cells of a terminal (wcwidth).
 * Text that is too long is cut between two characters, and ends with an ellipsis. Control characters of a peer, and characters
 * that change the writing direction or are invisible, are shown by name.
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
	STYLE_HIT, /* what was looked for */
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
	unsigned gap;         /* spaces to write before the next character */
	unsigned between;     /* spaces after a column (1) */
	const char *ellipsis; /* of a cut: one cell wide, or "" */
	size_t cut_at;         /* the end of the text that leaves room for the ellipsis */
	unsigned cut_used, cut_gap;
	enum style cut_on;
	bool cut, failed;
	enum style style, on; /* the style of the next character, and the style that the terminal is in */
};

/* Begins a line. Without utf8 only ASCII is written. */
void cells_begin(struct cells *, struct buf *to, bool utf8, bool color);
/* Ends it. 0, or -1 out of memory. */
int cells_end(struct cells *);

/* Begins a column of this width, in cells; ends it, with the spaces after it. */
void cells_open(struct cells *, unsigned width);
void cells_close(struct cells *);
/* Writes a whole column, aligned to the right. Text that is too long makes the column wider. */
void cells_right(struct cells *, unsigned width, enum style, const char *text);

void cells_style(struct cells *, enum style);
/* Writes one of the two, by what the terminal can show. */
void cells_sign(struct cells *, const char *utf8, const char *ascii);
void cells_ascii(struct cells *, const char *);
void cells_printf(struct cells *, const char *, ...) __attribute__((format(printf, 2, 3)));
/* Write text of a peer: any bytes; a JSON value, a string without its quotes. */
void cells_text(struct cells *, struct slice bytes);
void cells_value(struct cells *, struct slice value);

/* How many cells a text takes. */
unsigned cells_width(struct slice bytes);
/* Appends a text that is cut, or filled up with spaces, to this width. 0, or -1 out of memory. */
int cells_put(struct buf *to, struct slice bytes, unsigned width);

#endif
