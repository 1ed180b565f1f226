/* grep: a text or a regular expression (--grep), in the texts of messages. Case is ignored. */
#ifndef GREP_H
#define GREP_H

#include "lib/acp/requests.h"

struct grep;

/* Where something was found: a part of this text, which is valid until the next search. */
struct grep_hit {
	struct slice text;
	size_t from, to;
};

/* NULL: *why says what is wrong with it (to be freed; NULL: out of memory). regex: it is a POSIX extended regular expression. */
struct grep *grep_new(const char *pattern, bool regex, char **why);
void grep_free(struct grep *);
/* Is it in a message that goes by? Also where it begins in the chunks before this one, of the same text. */
bool grep_see(struct grep *, const struct message *);
/* Is it in this message alone; in this plain text? */
bool grep_message(struct grep *, const struct message *, struct grep_hit *);
bool grep_text(struct grep *, struct slice text, struct grep_hit *);

#endif
