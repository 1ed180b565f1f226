/* jqprog_parts: what the files of jqprog share; for lib/filter/jqprog*.c only. */
#ifndef JQPROG_PARTS_H
#define JQPROG_PARTS_H

#include <jv.h>

#include "lib/base/bytes.h"

/*
 * The text, whose value is `in`, made into one whose value is `out`: what is the same in both
 * keeps its bytes. *result is the text itself where nothing differs, else it lies in `to`, which
 * is emptied first. The values stay the caller's. 0, or -1 out of memory.
 */
int jqprog_patch(struct slice text, jv in, jv out, struct buf *to, struct slice *result);

#endif
