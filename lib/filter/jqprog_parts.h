/* jqprog_parts: for the files of jqprog. */
#ifndef JQPROG_PARTS_H
#define JQPROG_PARTS_H

#include <jv.h>

#include "lib/base/bytes.h"

/*
 * Changes the text, whose value is `in`, into one whose value is `out`; parts that are the same in both keep their bytes. *result is the
 * text itself if nothing differs, else it is in `to`, which is emptied first. The caller keeps both values. 0, or -1 out of memory.
 */
int jqprog_patch(struct slice text, jv in, jv out, struct buf *to, struct slice *result);

#endif
