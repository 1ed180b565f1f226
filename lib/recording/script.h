/*
 * script: the recording that is played. It is read once, from the beginning to the end, and what is
 * wanted later is read again from where it lies: no copy of it is kept.
 */
#ifndef SCRIPT_H
#define SCRIPT_H

#include "lib/recording/recording.h"

/* Where the text of a record lies. */
struct place {
	uint64_t at; /* bytes from the beginning */
	uint32_t n;  /* bytes */
	/* PLACE_RECORD: the record lies there, of which the text has to be made. */
	enum place_kind { PLACE_TEXT, PLACE_RECORD } kind;
};

struct script {
	const char *path;
	const char *hop;
	size_t limit;
	int fd;                   /* a regular file; read by descriptions of their own only */
	struct recording *reader; /* from the beginning to the end */
	struct recording *again;  /* of single lines */
	bool environment;         /* --env */
	struct buf block;         /* what was read again */
	uint64_t at;              /* where that lies */
};

/*
 * Opens it; what is no regular file is copied into one first, which has no name. path and hop are
 * kept. tool: its name, for diagnostics. environment: ${NAME} stands for what is there under that name. 0, or -1 with errno; close it in any case.
 */
int script_open(struct script *, const char *tool, const char *path, size_t limit, const char *hop, bool environment);
void script_close(struct script *);
/* The next record. 0, or -1 with errno. */
int script_next(struct script *, struct record *);
/* Goes back to the beginning. 0, or -1 with errno. */
int script_rewind(struct script *);

/* Where the text of a record lies. */
struct place script_place(const struct record *);
/* Reads a text again; it is valid until the next is. 0, or -1 with errno (EIO where it is not there any more). */
int script_read(struct script *, struct place, struct slice *text);

#endif
