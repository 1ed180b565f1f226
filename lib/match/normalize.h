/* normalize: --normalize, a jq program that changes the messages of both sides before they are compared. */
#ifndef MATCH_NORMALIZE_H
#define MATCH_NORMALIZE_H

#include "lib/acp/requests.h"

struct normalize;

/* Compiles the program. NULL with the reason in *why, which the caller frees; *why NULL: out of memory. */
struct normalize *normalize_new(const char *program, char **why);
void normalize_free(struct normalize *);

enum normalized {
	NORMALIZE_FAILED = -1, /* the program failed: the caller reports and frees *why; *why NULL: out of memory */
	NORMALIZE_DONE,        /* the one output is appended to `to`: a message, or another JSON value */
	NORMALIZE_NOTHING,     /* there is no output: the caller leaves the message out */
};
/* Runs the program, with $from, $method and $session as in --where. request: of a response, its request; or NULL. */
enum normalized normalize_message(struct normalize *, enum acp_side from, const struct msg *, const struct request *,
	struct buf *to, char **why);

#endif
