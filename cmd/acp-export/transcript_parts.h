/* transcript_parts: what the files of transcript have in common. */
#ifndef TRANSCRIPT_PARTS_H
#define TRANSCRIPT_PARTS_H

#include "cmd/acp-export/transcript.h"

/* The event function of lib/session; arg: the transcript. */
void transcript_event(void *arg, const struct session_event *);
/* Adds the parts of a message of which lib/session makes no event. */
void transcript_show(struct transcript *, const struct session_message *);
/* Adds the content of a session/update. kind: the kind of the update, a JSON string. */
void transcript_update(struct transcript *, struct session *, struct slice kind, struct slice update);

/* Appends a turn, which begins now. */
struct export_turn *transcript_new_turn(struct transcript *, struct export_session *, enum turn_kind);
/* Returns the turn to which items of a session now belong; makes one if no turn is open. */
struct export_turn *transcript_turn(struct transcript *, const struct session *);
/* Appends an item to a turn. */
struct item *transcript_item(struct transcript *, struct export_turn *, enum item_kind);
/* Appends a tool call or a question, and adds it to the work of its turn and of an open turn (or NULL). */
struct item *transcript_work(struct transcript *, const struct session *, enum item_kind, const struct session_turn *);
/* Appends a note to the turn of transcript_turn. severity: a word, plain. */
void transcript_note(struct transcript *, const struct session *, struct slice severity, struct slice text);

/* Returns zeroed memory. */
void *transcript_new(size_t size);
/* Replaces the content of the buffer by JSON text, or by the plain text of a JSON string. Absent values and null change nothing. */
void transcript_set(struct buf *, struct slice json);
void transcript_set_plain(struct buf *, struct slice string);

/* Adds content to a message: a block, which may continue the text before the block, or an array of blocks, which replaces what the
   message had; null removes that. turn: that of a prompt; or NULL: that of transcript_turn, where a text of the user that repeats the
   prompt of an open turn is left out. message_id: plain, or empty. */
void transcript_content(struct transcript *, const struct session *, struct export_turn *turn, enum item_kind, struct slice content,
	struct slice message_id);
/* Adds to a tool call, from an update or a permission request. Returns the item of the call. NULL: no id. */
struct item *transcript_tool(struct transcript *, const struct session *, struct slice update);
/* Returns the output of a terminal, which is empty if the id is new. NULL: no id. */
struct buf *transcript_terminal(struct transcript *, const struct session *, struct slice id);

#endif
