/* normalize: --normalize, a jq program that both sides' messages go through before they are compared. */
#ifndef MATCH_NORMALIZE_H
#define MATCH_NORMALIZE_H

#include "lib/acp/requests.h"

struct normalize;

/* NULL where it does not compile; *why then says so (the caller frees it), or is NULL when out of memory. */
struct normalize *normalize_new(const char *program, char **why);
void normalize_free(struct normalize *);

enum normalized {
	NORMALIZE_FAILED = -1, /* out of memory; or where *why is not NULL, the program failed: say it and free it */
	NORMALIZE_DONE,        /* the one output is appended to `to`: any JSON value, a message or not */
	NORMALIZE_NOTHING,     /* no output: the message is to be left out */
};
/* $from, $method and $session are those of the message; of a response those of its request. */
enum normalized normalize_message(struct normalize *, enum acp_side from, const struct msg *, const struct request *,
	struct buf *to, char **why);

#endif
