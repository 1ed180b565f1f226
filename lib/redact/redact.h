/* redact: replaces secrets by splices in the lines that a tool writes to a file or prints. Forwarded messages keep theirs. */
#ifndef REDACT_H
#define REDACT_H

#include "lib/acp/msg.h"

/* By which rule a value was replaced. REDACT_TEXT: it was a text, and all texts are replaced. */
enum redact_kind { REDACT_NAME, REDACT_ENVIRONMENT, REDACT_ARGUMENT, REDACT_URL, REDACT_HEADER, REDACT_KEY, REDACT_TEXT,
	REDACT_KINDS };

/* A JSON string may hold JSON, whose strings may hold JSON again: secrets are searched to this depth. */
enum { REDACT_NEST = 4 };

/* The option --redact[=text]. With REDACT_TEXTS all texts are replaced, too. */
enum redact_option { REDACT_NOTHING, REDACT_SECRETS, REDACT_TEXTS };

/* A text that comes in chunks. Its end is kept, because a name in one chunk may belong to a value in the next. */
struct redact_stream {
	struct buf id;   /* session, kind of update, tool call and message; or session and terminal */
	struct buf tail; /* the last bytes of the latest chunk */
};

/* Zeroed and with the first two set it is ready. Callers also count `lines`; the other members are for lib/redact alone. */
struct redact {
	bool all_texts;     /* all texts are replaced, too */
	bool skip_output;   /* the caller decodes the output of terminals, and redacts all of it itself */
	struct buf text;    /* the latest copy of a line */
	struct buf line;    /* a line with the redacted output of a terminal: the copy from which `text` is made */
	struct buf hits;    /* n struct redact_hit of the current line */
	struct buf splices; /* the struct splice that replace the hits */
	size_t n;
	struct buf name, value, plain[REDACT_NEST]; /* unescaped: a member's name, a string, the strings around the current text */
	uint64_t values;   /* that were replaced */
	uint64_t messages; /* with at least one replaced value */
	uint64_t kinds[REDACT_KINDS]; /* replaced values by rule */
	uint64_t lines;    /* lines of noise and of stderr whose text the caller left out */
	struct redact_stream streams[8];
	struct redact_stream *stream; /* the one that the current line continues; valid while chunk is set */
	size_t oldest;      /* counts reuses of streams: the next one modulo their number */
	struct slice chunk; /* the JSON string of the current line that is a chunk of a stream; p NULL: the line has none */
	bool encoded;       /* the chunk is output of a terminal, in base64 */
	bool indexed;       /* `first` and `second` are filled */
	uint64_t first[128], second[128]; /* for each character a bit for each shape of key that has it as its first, second */
};

/*
 * Writes "<redacted>" in place of the secrets of a message. *result is the line itself where it has none, else a copy that is valid
 * until the next call. 0, or -1 out of memory.
 */
int redact_line(struct redact *, struct slice line, struct slice *result);
/*
 * For a line that redact_line does not get: keeps the end of a chunk for the chunks after it. Puts the end of the text before the chunk
 * into `before`, which is empty for other lines. 0, or -1 out of memory.
 */
int redact_pass(struct redact *, struct slice line, struct buf *before);
/*
 * As redact_line, for plain text: for example a text that was put together from the chunks of many messages. The first `before` bytes
 * are the text before it, from redact_pass, which is not in *result.
 */
int redact_plain(struct redact *, struct slice text, size_t before, struct slice *result);
/* As redact_line, for plain text that is the next part of the text with this id. */
int redact_next(struct redact *, struct slice id, struct slice text, struct slice *result);
/* Reports the counts on standard error: "redacted 3 values in 2 messages: 2 by name, 1 key". */
void redact_report(const struct redact *, const char *tool);
void redact_free(struct redact *);

#endif
