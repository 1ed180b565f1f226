/*
 * shape: recognizes chunks of text without a scan. A shape is a chunk without its text. A line that consists of a known shape and, in the
 * place of the text, of the inside of a JSON string that is not empty, has the members of that shape.
 */
#ifndef SHAPE_H
#define SHAPE_H

#include "lib/acp/msg.h"

enum { SHAPE_MOST = 1024, SHAPES = 8 }; /* MOST: bytes of a shape that is kept; SHAPES: the number of kept shapes */

struct shape {
	struct slice kind, session; /* JSON strings in the last message of the shape; kind: a kind of chunk */
	bool text;                  /* the type of its content is "text" */
	uint64_t mark;              /* for the tool; 0 in a new one */
	/* private */
	enum acp_method what;
	size_t before, after;       /* bytes before and after the text */
	struct slice at[4];         /* in `bytes`: method, params (to its end), kind, session */
	char bytes[SHAPE_MOST];
};

/* Zeroed at first. */
struct shapes {
	struct shape at[SHAPES];
	unsigned n, next;
};

/* As msg_scan, but sets msg.shape to the message's shape, or NULL. The shape is valid until the next call. */
enum msg_kind shapes_scan(struct shapes *, struct slice line, struct msg *, struct json_error *error);
/* The shape of a message from msg_scan; or NULL. */
struct shape *shapes_see(struct shapes *, const struct msg *);

#endif
