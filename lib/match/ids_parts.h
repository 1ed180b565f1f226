/* ids_parts: declarations for lib/match/ids*.c only. */
#ifndef MATCH_IDS_PARTS_H
#define MATCH_IDS_PARTS_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "lib/match/ids.h"

enum side { RECORDED, LIVE, SIDES };

struct pair;      /* a pair of ids */
struct owner;     /* the directories of a session */
struct directory; /* a pair of directories */

struct ids {
	struct pair *pairs[SIDES]; /* all pairs, by the id of each side */
	size_t temporary;        /* pairs that may be forgotten */
	size_t renamed;          /* pairs of different ids */
	bool keep_paths;
	bool moved;              /* there is a pair of different directories */
	struct owner *owners;
	struct directory *directories;  /* of all sessions, each pair once, the longest recorded directories first */
	size_t ndirectories;
	struct buf key[SIDES];   /* scratch */
};

void ids_free_directories(struct ids *);

#endif
