/*
 * script: the recording that is played. It is read once, from the beginning to the end, and what is
 * wanted later is read again from where it lies: no copy of it is kept.
 */
#ifndef REPLAY_SCRIPT_H
#define REPLAY_SCRIPT_H

#include "lib/recording.h"

/* Where the text of a record lies. */
struct place {
	uint64_t at; /* bytes from the beginning */
	uint32_t n;  /* bytes */
	/* PLACE_RECORD: the record lies there, of which the text has to be made; PLACE_COPY: in a file without a name. */
	enum place_kind { PLACE_TEXT, PLACE_RECORD, PLACE_COPY } kind;
};

struct script {
	const char *path;
	const char *hop;
	size_t limit;
	int fd;                   /* a regular file; read by descriptions of their own only */
	struct recording *reader; /* from the beginning to the end */
	struct recording *again;  /* of single lines */
	bool environment;         /* --env */
	int copies;               /* texts that the file has nowhere in one line; -1: none so far */
	uint64_t copied;          /* bytes */
	struct buf block;         /* what was read again */
	uint64_t at;              /* where that lies */
	int from;                 /* in which file */
};

/*
 * Opens it; what is no regular file is copied into one first, which has no name. path and hop are
 * kept. environment: ${NAME} stands for what is there under that name. 0, or -1 with errno; close it in any case.
 */
int script_open(struct script *, const char *path, size_t limit, const char *hop, bool environment);
void script_close(struct script *);
/* The next record. 0, or -1 with errno. */
int script_next(struct script *, struct record *);
/* Goes back to the beginning. 0, or -1 with errno. */
int script_rewind(struct script *);

/* The place of the record that was read last. 0, or -1 with errno. */
int script_place(struct script *, const struct record *, struct place *);
/* Reads a text again; it is valid until the next is. 0, or -1 with errno (EIO where it is not there any more). */
int script_read(struct script *, struct place, struct slice *text);

#endif
