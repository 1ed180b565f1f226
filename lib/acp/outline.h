/* outline: keeps, of a line that is too long, the message without the contents of its members, for msg_guess_kind. */
#ifndef ACP_OUTLINE_H
#define ACP_OUTLINE_H

#include "lib/base/bytes.h"

/* Zeroed at the beginning of a line. */
struct outline {
	struct buf text; /* {"jsonrpc":"2.0","id":7,"result":{}} */
	unsigned depth;
	bool string, escaped;
	bool failed;     /* the outline is too long, or memory ran out */
};

/* Adds the next piece of the line. */
void outline_add(struct outline *, struct slice piece);

#endif
