/* transcript_parts: shared by the files of transcript. What runs out of memory sets transcript.failed. */
#ifndef TRANSCRIPT_PARTS_H
#define TRANSCRIPT_PARTS_H

#include "cmd/acp-export/transcript.h"

/* Returns zeroed memory, or NULL when out of memory. */
void *transcript_allocate(struct transcript *, size_t);
/* Returns the session of this id (plain), or NULL. */
struct session *transcript_find_session(struct transcript *, struct slice id);
/* Returns the session of this id (a JSON string); makes it if it is new. NULL: not an id, or out of memory. */
struct session *transcript_session(struct transcript *, struct slice id);
/* Returns the turn that an event at time t belongs to; a new one if none is open. NULL: out of memory. */
struct turn *transcript_turn(struct transcript *, struct session *, uint64_t t);
/* Appends a turn. NULL: out of memory. */
struct turn *transcript_new_turn(struct transcript *, struct session *, uint64_t t);
void transcript_end_turn(struct session *, struct turn *, uint64_t t);
/* Appends an item to the open turn. NULL: out of memory. */
struct item *transcript_item(struct transcript *, struct session *, uint64_t t, enum item_kind);
void transcript_note(struct transcript *, struct session *, uint64_t t, const char *severity, struct slice text);

/* Replaces the content of the buffer by JSON text, or by the plain text of a JSON string. Absent values and null change nothing. */
void transcript_set(struct transcript *, struct buf *, struct slice json);
void transcript_set_plain(struct transcript *, struct buf *, struct slice string);
/* Appends the plain text of a JSON string. */
void transcript_add_plain(struct transcript *, struct buf *, struct slice string);

void transcript_request(struct transcript *, const struct message *);
void transcript_response(struct transcript *, const struct message *);
/* Forgets the open requests: no response will come. */
void transcript_forget(struct transcript *);
/* Adds content: a block, which may continue the text before it, or an array of blocks. */
void transcript_content(struct transcript *, struct session *, uint64_t t, enum item_kind, struct slice content,
	struct slice message_id);
/* Adds or updates a tool call, from an update or a permission request. Returns its item, or NULL. */
struct item *transcript_tool(struct transcript *, struct session *, uint64_t t, struct slice call);
/* Takes the update of a session/update. */
void transcript_update(struct transcript *, struct session *, uint64_t t, struct slice update);
/* Returns the output of a terminal; makes it if it is new. NULL: out of memory. */
struct buf *transcript_terminal(struct transcript *, struct session *, struct slice id);

#endif
