/*
 * shape: a chunk of text differs from the one before in little but its text. A shape is all of a chunk but its text, so a message
 * that has a known shape, around the inside of a string, is known without a scan. Any JSON string that is not empty fits: who judges
 * by the text itself has to look at the text.
 */
#ifndef SHAPE_H
#define SHAPE_H

#include "lib/acp/msg.h"

enum { SHAPE_MOST = 1024, SHAPES = 8 }; /* bytes of one: longer ones are not kept; and how many are */

struct shape {
	struct slice kind, session; /* of the session/update: JSON strings in the message that was found last; kind is one of chunks */
	bool text;                  /* the type of its content is "text" */
	uint64_t mark;              /* for the tool; 0 in a new one */
	/* the module's own */
	enum acp_method what;
	size_t before, after;       /* bytes before and after the text */
	struct slice at[4];         /* in `bytes`: method, params (to its end), kind, session */
	char bytes[SHAPE_MOST];
};

/* Zero it to begin. */
struct shapes {
	struct shape at[SHAPES];
	unsigned n, next;
};

/* As msg_scan; msg.shape is the message's shape, or NULL. It lasts until the next message is looked at. */
enum msg_kind shapes_scan(struct shapes *, struct slice line, struct msg *, struct json_error *error);
/* The shape of a message that was scanned otherwise; or NULL. */
struct shape *shapes_see(struct shapes *, const struct msg *);

#endif
