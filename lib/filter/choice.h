/* choice: the session of --session: its id, or as much of its beginning or its end as no other session has. */
#ifndef CHOICE_H
#define CHOICE_H

#include "lib/base/bytes.h"

/* Set asked; zero the others. */
struct choice {
	const char *asked;
	struct buf id; /* of the first session that fits */
	bool exact;    /* a session with just that id was seen: it is the only one */
	bool several;  /* others have come that fit */
	struct buf others; /* as long as none fits: what there is */
};

/*
 * Is this session (its id, plain text) the one? The first that fits is, until one comes that has just this id. *why: NULL,
 * or once, where another fits too, what to report (the caller frees it).
 */
bool choice_is(struct choice *, struct slice id, char **why);
/* Was one asked for, and none fits? Then the text says so, and what there is. */
bool choice_missed(const struct choice *, struct buf *text);
void choice_free(struct choice *);

#endif
