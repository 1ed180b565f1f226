/* diff: the difference between two texts, line by line. */
#ifndef EXPORT_DIFF_H
#define EXPORT_DIFF_H

#include "lib/base/bytes.h"

/* The kind of a line of a difference. */
enum diff_sign { DIFF_SAME = ' ', DIFF_OLD = '-', DIFF_NEW = '+', DIFF_GAP = '@' };
struct diff_line {
	enum diff_sign sign;
	struct slice text;   /* DIFF_GAP: p NULL */
	size_t skipped;      /* DIFF_GAP: how many lines were left out */
};

/* Appends the lines that changed and a few around each: the sign, and the text or, of a gap, the number. 0, or -1 out of memory. */
int diff_make(struct buf *to, struct slice old, struct slice new);

#endif
