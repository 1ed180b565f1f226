/* preview: the contents of a message in a few words. */
#ifndef PREVIEW_H
#define PREVIEW_H

#include "lib/base/cells.h"
#include "lib/acp/requests.h"

/* Appends as much as the column has room for. */
void preview_put(struct cells *, const struct message *);
/* The style of a kind of update (a JSON string), or of a method. */
enum style preview_style(struct slice name);
/* The text of a chunk, as a JSON string; p NULL if the message is not a chunk or has no text. */
struct slice preview_chunk(const struct message *, struct slice kind);

#endif
