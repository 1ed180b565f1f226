/* transcript_parts: shared by the files of transcript. What runs out of memory sets transcript.failed. */
#ifndef TRANSCRIPT_PARTS_H
#define TRANSCRIPT_PARTS_H

#include "cmd/acp-export/transcript.h"

/* The event function of lib/session; arg: the transcript. */
void transcript_event(void *arg, const struct session_event *);
/* Shows what a message adds beside what the event function was told. */
void transcript_show(struct transcript *, const struct session_message *);
/* Adds what an update says. */
void transcript_update(struct transcript *, struct session *, struct slice kind, struct slice update);

/* Appends a turn, which begins now. NULL: out of memory. */
struct export_turn *transcript_new_turn(struct transcript *, struct export_session *, enum turn_kind);
/* Returns the turn that what happens now in a session belongs to. NULL: out of memory. */
struct export_turn *transcript_turn(struct transcript *, const struct session *);
/* Appends an item; the turn may be NULL. Returns NULL when out of memory. */
struct item *transcript_item(struct transcript *, struct export_turn *, enum item_kind);
/* Appends a tool call or a question to the turn that is open, and to the work of this one, too (or NULL). As transcript_item. */
struct item *transcript_work(struct transcript *, const struct session *, enum item_kind, const struct session_turn *);
/* Appends a note to the turn that is open. */
void transcript_note(struct transcript *, const struct session *, const char *severity, struct slice text);

/* Replaces the content of the buffer by JSON text, or by the plain text of a JSON string. Absent values and null change nothing. */
void transcript_set(struct transcript *, struct buf *, struct slice json);
void transcript_set_plain(struct transcript *, struct buf *, struct slice string);
/* Appends the plain text of a JSON string. */
void transcript_add_plain(struct transcript *, struct buf *, struct slice string);

/* Adds content: a block, which may continue the text before it, or an array of blocks. echo: in whose session a text of the user is
   left out that repeats a prompt; or NULL. */
void transcript_content(struct transcript *, struct export_turn *, enum item_kind, struct slice content, struct slice message_id,
	const struct session *echo);
/* Adds what an update or a permission request says of a tool call. Returns its item, or NULL. */
struct item *transcript_tool(struct transcript *, const struct session *, struct slice update);
/* Returns the output of a terminal; makes it if it is new. NULL: no id, or out of memory. */
struct buf *transcript_terminal(struct transcript *, const struct session *, struct slice id);

#endif
