/* redact: takes secrets out of what is written, by splices; never out of what passes. */
#ifndef REDACT_H
#define REDACT_H

#include <stdint.h>

#include "lib/acp/msg.h"

/* Where a secret was found, or in the last place why a text was left out. */
enum redact_kind { REDACT_NAME, REDACT_ENVIRONMENT, REDACT_ARGUMENT, REDACT_URL, REDACT_HEADER, REDACT_KEY, REDACT_TEXT,
	REDACT_KINDS };

/* JSON in a string in JSON: so many strings deep it is read. */
enum { REDACT_NEST = 4 };

/* --redact[=text]; of the latter all texts are left out, too. */
enum redact_option { REDACT_NOTHING, REDACT_SECRETS, REDACT_TEXTS };

/* Zero it to begin. */
struct redact {
	bool texts; /* all texts are left out, too */
	struct buf text;
	struct buf hits, splices; /* n struct redact_hit, and the struct splice that are made of them */
	size_t n;
	struct buf name, value, plain[REDACT_NEST];
	uint64_t values, messages; /* replaced, and in how many messages */
	uint64_t kinds[REDACT_KINDS];
	uint64_t lines;            /* of noise and stderr whose text was left out */
};

/*
 * A line that is a message with "<redacted>" in place of its secrets: line itself where
 * it has none, else text that is valid until the next call. 0, or -1 out of memory.
 */
int redact_line(struct redact *, struct slice line, struct slice *result);
/* The same for plain text, such as one that many messages have brought in pieces. */
int redact_plain(struct redact *, struct slice text, struct slice *result);
/* Reports on standard error what has been done so far: "redacted 3 values in 2 messages: 2 by name, 1 key". */
void redact_report(const struct redact *, const char *tool);
void redact_free(struct redact *);

#endif
