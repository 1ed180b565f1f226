/* outline: of a line that is too long to be kept, the message without what its members hold, for msg_guess_kind. */
#ifndef ACP_OUTLINE_H
#define ACP_OUTLINE_H

#include "lib/base/bytes.h"

/* Zero it to begin a line. */
struct outline {
	struct buf text; /* {"jsonrpc":"2.0","id":7,"result":{}} */
	unsigned depth;
	bool string, escaped;
	bool failed;     /* it is too long itself, or there is no memory */
};

/* The next piece of the line. */
void outline_add(struct outline *, struct slice piece);

#endif
