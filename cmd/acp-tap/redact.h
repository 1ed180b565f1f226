/* redact: takes secrets out of what is written, by splices; never out of what passes. */
#ifndef REDACT_H
#define REDACT_H

#include <stdint.h>

#include "lib/msg.h"

/* Zero it to begin. */
struct redact {
	struct buf text;
	struct splice *splices;
	size_t n, cap;
	struct buf name;
	uint64_t values, messages; /* replaced, and in how many messages */
	uint64_t lines;            /* of noise and stderr whose text was left out */
};

/*
 * A line that is a message or batch with "<redacted>" in place of its secrets: line itself where
 * it has none, else text that is valid until the next call. 0, or -1 out of memory.
 */
int redact_line(struct redact *, struct slice line, bool batch, struct slice *result);
void redact_free(struct redact *);

#endif
