/*
 * cells: writes a line of a table, column by column. Widths are in cells of a terminal (wcwidth).
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
	STYLE_HIT, /* for text that a search has found */
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
	unsigned limit, used; /* where the column ends, and where its text ends, in cells from the beginning of the line */
	unsigned gap;         /* spaces to write before the next character; `used` counts them */
	unsigned between;     /* spaces after a column (1) */
	const char *ellipsis; /* the sign for text that was cut off: one cell wide, or "" */
	size_t cut_at;         /* where in `to` an ellipsis goes; the next three hold used, gap and on at that place */
	unsigned cut_used, cut_gap;
	enum style cut_on;
	bool cut, failed;     /* the column was cut; out of memory */
	enum style style, on; /* the style of the next character, and the present style of the terminal */
};

/* Begins a line. Without utf8 only ASCII is written. */
void cells_begin(struct cells *, struct buf *to, bool utf8, bool color);
/* Ends a line. 0, or -1 if a function of this line was out of memory. */
int cells_end(struct cells *);

/* cells_open begins a column of this width. cells_close ends the column, with the spaces after it, and the style. */
void cells_open(struct cells *, unsigned width);
void cells_close(struct cells *);
/* Writes a whole column, aligned to the right. Text that is too long makes the column wider. */
void cells_right(struct cells *, unsigned width, enum style, const char *text);

void cells_style(struct cells *, enum style);
/* Writes a sign that is one cell wide, or in a line without utf8 its ASCII form. */
void cells_sign(struct cells *, const char *utf8, const char *ascii);
void cells_ascii(struct cells *, const char *);
void cells_printf(struct cells *, const char *, ...) __attribute__((format(printf, 2, 3)));
/* These write text of a peer. cells_text: any bytes. cells_value: a JSON value; a string without its quotes. */
void cells_text(struct cells *, struct slice bytes);
void cells_value(struct cells *, struct slice value);

/* Returns the width of a text of a peer, as cells_text writes it with utf8. */
unsigned cells_width(struct slice bytes);
/* Appends a text of a peer, cut to this width or filled up with spaces. 0, or -1 out of memory. */
int cells_put(struct buf *to, struct slice bytes, unsigned width);

#endif
