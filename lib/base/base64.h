/* base64: RFC 4648, section 4. */
#ifndef BASE64_H
#define BASE64_H

#include "lib/base/bytes.h"

/* Appends the bytes as base64. 0, or -1 out of memory. */
int base64_encode(struct slice bytes, struct buf *to);
/* Appends the bytes that the text encodes; its padding may be missing. 0; 1: the text is not base64; -1 out of memory. */
int base64_decode(struct slice text, struct buf *to);

#endif
