/* ids_parts: what the files of ids share; for lib/match/ids*.c only. */
#ifndef MATCH_IDS_PARTS_H
#define MATCH_IDS_PARTS_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "lib/match/ids.h"

enum side { RECORDED, LIVE, SIDES };

struct id;
struct owner; /* the directories of a session */

/* A pair of directories, as plain text without a slash at the end. */
struct directory {
	struct directory *next;
	struct slice recorded, live;
	char bytes[];
};

struct ids {
	struct id *all;          /* of both sides */
	size_t temporary;        /* pairs that may be forgotten */
	size_t renamed;          /* of all pairs, those that differ */
	bool keep_paths;
	bool moved;              /* some directory stands for another */
	struct owner *owners;
	struct directory *directories;  /* of all sessions, each pair once, the longest recorded ones first */
	size_t ndirectories;
	struct buf key[SIDES];   /* scratch */
};

/* Can there be no directory in this string? */
bool ids_is_plain(const struct ids *, struct slice string);
/* The directories of a session, the longest recorded ones first. */
const struct directory *ids_directories(struct ids *, struct slice session);
/* Appends plain text with the live directories in place of the recorded ones. 1 where it changed, 0, or -1. */
int ids_write_text(const struct directory *, struct slice text, struct buf *to);
void ids_free_directories(struct ids *);

#endif
