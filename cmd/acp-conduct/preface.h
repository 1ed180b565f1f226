/*
 * preface: what somebody who comes late to a hop has to be told: how it was initialized, and for each session that is
 * open the last that was said of its context.
 */
#ifndef PREFACE_H
#define PREFACE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/msg.h"

struct session;

/* A message, and when it went by, us. Empty: none did. */
struct said {
	struct buf text;
	uint64_t t;
};

/* Zero it to begin. */
struct preface {
	struct said question, answer; /* of the initialization */
	struct session *sessions;     /* those that are open, in the order in which they were last heard of */
	size_t bytes;                 /* that their messages take */
};

/* Is this message one to be shown to it? Cheap: it is asked of all that goes by. */
bool preface_wants(const struct msg *plain);
/*
 * A message in its plain form, and how it is written; session: of an answer that of its request, a JSON string or p
 * NULL. Without memory for it, it is not remembered.
 */
void preface_see(struct preface *, enum lane, uint64_t t, struct slice text, const struct msg *plain, struct slice session);
/* Appends it all as records. 0 or -1. */
int preface_put(const struct preface *, int at, struct buf *to);
/* How many sessions are open, of those that are remembered. */
size_t preface_sessions(const struct preface *);
void preface_free(struct preface *);

#endif
