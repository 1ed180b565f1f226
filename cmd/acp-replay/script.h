/*
 * script: the recording that is played. It is read once, from the beginning to the end, and what is
 * wanted later is read again from where it lies: no copy of it is kept.
 */
#ifndef REPLAY_SCRIPT_H
#define REPLAY_SCRIPT_H

#include "lib/recording.h"

/* Where the text of a record lies. */
struct place {
	uint64_t at;   /* in the file, bytes */
	uint32_t n;    /* bytes */
	bool whole;    /* the whole record lies there, and its text is not in it as it is */
};

struct script {
	const char *path;
	const char *hop;
	size_t limit;
	int fd;                   /* a regular file; read by descriptions of their own only */
	struct recording *reader; /* from the beginning to the end */
	struct recording *again;  /* of single lines */
	struct buf block;         /* what was read again */
	uint64_t at;              /* where that lies */
};

/*
 * Opens it; what is no regular file is copied into one first, which has no name. path and hop are
 * kept. 0, or -1 with errno; close it in any case.
 */
int script_open(struct script *, const char *path, size_t limit, const char *hop);
void script_close(struct script *);
/* The next record. 0, or -1 with errno. */
int script_next(struct script *, struct record *);
/* Goes back to the beginning. 0, or -1 with errno. */
int script_rewind(struct script *);

/* The place of the record that was read last. */
struct place script_place(const struct record *);
/* Reads a text again; it is valid until the next is. 0, or -1 with errno (EIO where it is not there any more). */
int script_read(struct script *, struct place, struct slice *text);

#endif
