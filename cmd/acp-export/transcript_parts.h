/* transcript_parts: what the files of transcript share. */
#ifndef TRANSCRIPT_PARTS_H
#define TRANSCRIPT_PARTS_H

#include "cmd/acp-export/transcript.h"

/* Zeroed memory; NULL when there is none. */
void *transcript_allocate(struct transcript *, size_t);
/* The session of this id (a JSON string), which is made where it is new. NULL where it is no id, or when out of memory. */
struct session *transcript_session(struct transcript *, struct slice id);
/* The turn to which what happens now belongs; a new one where none is open. NULL when out of memory. */
struct turn *transcript_turn(struct transcript *, struct session *, uint64_t t);
struct turn *transcript_new_turn(struct transcript *, struct session *, uint64_t t);
void transcript_end_turn(struct session *, struct turn *, uint64_t t);
/* A new item at the end of the turn that is open. NULL when out of memory. */
struct item *transcript_item(struct transcript *, struct session *, uint64_t t, enum item_kind);
void transcript_note(struct transcript *, struct session *, uint64_t t, const char *severity, struct slice text);

/* Replaces what is in the buffer by JSON text, or by what a JSON string says. Absent values and null change nothing. */
void transcript_set(struct transcript *, struct buf *, struct slice json);
void transcript_set_plain(struct transcript *, struct buf *, struct slice string);
/* Appends what a JSON string says. */
void transcript_add_plain(struct transcript *, struct buf *, struct slice string);

void transcript_request(struct transcript *, const struct message *);
void transcript_response(struct transcript *, const struct message *);
/* No response will come to what is open. */
void transcript_forget(struct transcript *);
/* Content: a block, which may go on with the text before it, or an array of blocks. */
void transcript_content(struct transcript *, struct session *, uint64_t t, enum item_kind, struct slice content,
	struct slice message_id);
/* A tool call, from an update or a permission request. Returns its item, or NULL. */
struct item *transcript_tool(struct transcript *, struct session *, uint64_t t, struct slice call);
void transcript_update(struct transcript *, struct session *, uint64_t t, struct slice update);
/* The output of a terminal, which is made where it is new; NULL when out of memory. */
struct buf *transcript_terminal(struct transcript *, struct session *, struct slice id);

#endif
