/* members: the members of two objects find each other, whatever their order. */
#ifndef MATCH_MEMBERS_H
#define MATCH_MEMBERS_H

#include "lib/json/json.h"

struct member {
	struct slice key, value;
	struct slice name;      /* the key unescaped */
	size_t index;
	struct member *partner; /* in the other object, or NULL */
};

/* Zero it to begin. */
struct members {
	struct member *at;
	size_t n, cap;
	struct buf names;
};

/* All that may fail return 0, or -1 out of memory. */
/* Adds the member at hand (key p NULL: none) and all after it, and reads the names of all. Call it once. */
int members_collect(struct members *, struct json_iter *, struct slice key, struct slice value);
/* Members of one name are partners; where there are several of a name, the first with the first. */
int members_pair(struct members *, struct members *);
/* Do the partners stand in the same order? */
bool members_in_order(const struct members *);
void members_free(struct members *);

#endif
