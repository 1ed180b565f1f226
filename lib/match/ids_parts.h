/* ids_parts: what the files of ids share; for lib/match/ids*.c only. */
#ifndef MATCH_IDS_PARTS_H
#define MATCH_IDS_PARTS_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "lib/match/ids.h"

struct id;
struct home; /* the folders of a session */

/* A pair of folders, as plain text without a slash at the end. */
struct folder {
	struct folder *next;
	struct slice recorded, live;
	char bytes[];
};

struct ids {
	struct id *by_recorded, *by_live;
	size_t passing;          /* how many there are of those that may be forgotten */
	size_t renamed;          /* of all, those that are not their own twins */
	bool keep_paths;
	bool moved;              /* some folder stands for another */
	struct home *homes;
	struct folder *folders;  /* of all sessions, each pair once, the longest recorded ones first */
	size_t nfolders;
	struct buf recorded, live; /* scratch */
};

/* Is there no folder to be looked for in this string? */
bool ids_is_plain(const struct ids *, struct slice string);
/* The folders of a session, the longest recorded ones first. */
const struct folder *ids_folders(struct ids *, struct slice session);
/* Appends plain text with the live folders in place of the recorded ones. 1 where it changed, 0, or -1. */
int ids_write_text(const struct folder *, struct slice text, struct buf *to);
void ids_free_folders(struct ids *);

#endif
