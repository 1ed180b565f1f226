/* redact: replaces secrets in what is written, by splices; never in what passes. */
#ifndef REDACT_H
#define REDACT_H

#include "lib/acp/msg.h"

/* How a secret was found. REDACT_TEXT: a text that was left out. */
enum redact_kind { REDACT_NAME, REDACT_ENVIRONMENT, REDACT_ARGUMENT, REDACT_URL, REDACT_HEADER, REDACT_KEY, REDACT_TEXT,
	REDACT_KINDS };

/* JSON in strings in JSON is read to this depth. */
enum { REDACT_NEST = 4 };

/* --redact[=text]. With `text` all texts are left out, too. */
enum redact_option { REDACT_NOTHING, REDACT_SECRETS, REDACT_TEXTS };

/* The end of a text that comes in chunks: a name in one may belong to a value in the next. */
struct redact_stream {
	struct buf id, tail;
};

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
	struct redact_stream streams[8], *stream; /* the latest; that of the current line, or NULL */
	size_t oldest;
	struct slice chunk;        /* the text of the current line, if it is a chunk */
	bool indexed;
	uint64_t first[128], second[128]; /* the shapes of keys whose first, second character is this one, a bit for each */
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
