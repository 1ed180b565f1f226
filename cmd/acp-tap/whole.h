/* whole: a message in full, indented (--format full). */
#ifndef WHOLE_H
#define WHOLE_H

#include "lib/base/bytes.h"

/* Appends JSON text, one member or element on each line, indented; spelling is kept. 0, or -1 out of memory. */
int whole_put_json(struct buf *to, struct slice json);
/* Appends other text as an indented line. 0, or -1 out of memory. */
int whole_put_text(struct buf *to, struct slice text);

#endif
