/* choice: the session of --session. The user gives its id, or a beginning or an end of the id that no other session has. */
#ifndef CHOICE_H
#define CHOICE_H

#include "lib/base/bytes.h"

/* The caller sets asked, and zeroes the others. */
struct choice {
	const char *asked;
	struct buf id; /* of the first session that fits */
	bool exact;    /* a session with exactly this id was seen, so no other one fits */
	bool several;  /* another session fits, too */
	struct buf others; /* until a session fits: the ids that were seen */
};

/*
 * Is the session with this id (plain text) the chosen one? It is the first that fits, until one comes with exactly the given id. *why: a
 * text to report, once, if another session fits, too (the caller frees it); else NULL.
 */
bool choice_is(struct choice *, struct slice id, char **why);
/* Did the user choose a session, and none fits? Then text says so, and names the sessions. */
bool choice_missed(const struct choice *, struct buf *text);
void choice_free(struct choice *);

#endif
