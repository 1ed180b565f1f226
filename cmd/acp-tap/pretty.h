/* pretty: writes a timeline for people. */
#ifndef PRETTY_H
#define PRETTY_H

#include "cmd/acp-tap/format.h"
#include "lib/base/cells.h"
#include "lib/redact/redact.h"
#include "lib/session/session.h"

/*
 * The kind of output decides on colours and width. fold: 1: a run of chunks is one line; 0: each chunk is a line; -1: a run is one line
 * only on a terminal, where the line grows in place. redact: for the joined text of a run; or NULL. grep: its hits replace the preview; or
 * NULL. Returns NULL out of memory.
 */
struct pretty *pretty_new(const struct watch *, enum cli_color, int fold, struct redact *, struct grep *);
void pretty_free(struct pretty *);
/* Handles an event of lib/session. */
void pretty_see(struct pretty *, const struct session_event *);

/* Closes the bracket of a turn that did not end; t: of the last record, us. 0, or -1 out of memory. */
int pretty_close(struct writer *, struct buf *to, const struct session_turn *, uint64_t t);
/* The cells of a line of the output. */
unsigned pretty_width(const struct watch *);

/* --- preview.c: the contents of a message in a few words --- */

/* Appends the preview of a message, cut to the width of the column. */
void preview_put(struct cells *, const struct message *);
/* The style of a kind of update, or of a method; name: a JSON string. */
enum style preview_style(struct slice name);
/* The text of a chunk, a JSON string; p NULL: the message is no chunk, or has no text. */
struct slice preview_chunk(const struct message *, struct slice kind);


#endif
