/* pretty: a timeline for people. */
#ifndef PRETTY_H
#define PRETTY_H

#include "cmd/acp-tap/format.h"
#include "lib/base/cells.h"
#include "lib/redact/redact.h"
#include "lib/session/session.h"

/*
 * The output decides on colours and width. fold: 1: a run of chunks is one line; 0: each chunk is a line; -1: fold
 * only if the output is a terminal, where the line grows in place. redact: for the joined text of a run, or NULL. grep: what is
 * shown in place of the preview, or NULL. Returns NULL if out of memory.
 */
struct pretty *pretty_new(const struct watch *, enum cli_color, int fold, struct redact *, struct grep *);
void pretty_free(struct pretty *);
/* What has happened in the sessions. */
void pretty_see(struct pretty *, const struct session_event *);

/* Closes the bracket of a turn that has no end; t: us, of the last record. 0, or -1 out of memory. */
int pretty_close(struct writer *, struct buf *to, const struct session_turn *, uint64_t t);
/* How many cells a line of the output has. */
unsigned pretty_width(const struct watch *);

/* --- the contents of a message in a few words (preview.c) --- */

/* Appends as much as the column has room for. */
void preview_put(struct cells *, const struct message *);
/* The style of a kind of update (a JSON string), or of a method. */
enum style preview_style(struct slice name);
/* The text of a chunk, as a JSON string; p NULL if the message is not a chunk or has no text. */
struct slice preview_chunk(const struct message *, struct slice kind);

/* --- short names for sessions --- */

enum { LABEL = 8, LABEL_SHORT = 4 };

/* The data of a session. */
struct label {
	char text[LABEL + 1];        /* a part of the id that no other session here has */
	char brief[LABEL_SHORT + 1];
	unsigned number;             /* 1 for the first session */
};

/* The label of a session that has none yet. NULL when out of memory. */
struct label *label_new(const struct sessions *, const struct session *, unsigned number);

#endif
