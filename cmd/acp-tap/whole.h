/* whole: a message in full, for people. */
#ifndef WHOLE_H
#define WHOLE_H

#include "lib/base/bytes.h"

/* Appends JSON text, a member or an element a line, indented; strings and numbers as they are spelled. 0, or -1 out of memory. */
int whole_put_json(struct buf *to, struct slice json);
/* Appends other text as an indented line. 0, or -1 out of memory. */
int whole_put_text(struct buf *to, struct slice text);

#endif
