/* grep: finds a literal or a regular expression (--grep) in the texts of messages. Ignores case. */
#ifndef GREP_H
#define GREP_H

#include "lib/acp/requests.h"

struct grep;

/* A hit: a part of this text, which is valid until the next search. */
struct grep_hit {
	struct slice text;
	size_t from, to;
};

/* Makes a pattern. regex: a POSIX extended regular expression. NULL with the error in *why (the caller frees it; NULL out of memory). */
struct grep *grep_new(const char *pattern, bool regex, char **why);
void grep_free(struct grep *);
/* Is the pattern in a passing message? A hit may begin in earlier chunks of the same text. */
bool grep_see(struct grep *, const struct message *);
/* Is the pattern in this message alone, or in this plain text? Then fills in the hit. */
bool grep_message(struct grep *, const struct message *, struct grep_hit *);
bool grep_text(struct grep *, struct slice text, struct grep_hit *);

#endif
