/*
 * script: the recording as a play. The head reads it record by record; a scout, which is started when
 * somebody asks what is still to come, reads ahead of it and remembers no more than counts.
 */
#ifndef REPLAY_SCRIPT_H
#define REPLAY_SCRIPT_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "lib/recording.h"

/* A live message that waits for its turn. */
struct kept {
	struct kept *next;
	uint64_t line;        /* of the live side */
	uint64_t arrived;     /* how many notifications had come before it */
	struct slice id;      /* of a request; p NULL */
	struct slice session; /* a JSON string with its quotes, or p NULL */
	bool stuck;           /* can not be answered before its turn */
	char bytes[];
};

/* What one side has to send, by kind and method: how often, and what has come of it already. */
struct part {
	UT_hash_handle hh;
	uint64_t scouted;    /* the scout has passed so many */
	uint64_t played;     /* so many have come, and had their turn */
	uint64_t waiting;    /* so many have come, and wait for it */
	struct kept *first, *last; /* those */
	char key[];
};

struct script {
	const char *path;
	const char *hop;
	size_t limit;
	enum acp_side them;  /* the side that is live */
	int fd;              /* the recording, a regular file; read by descriptions of their own only */
	struct recording *head, *scout;
	bool scouted;        /* the scout is at the end */
	struct part *parts;
	struct buf key;
};

/*
 * Opens it; what is no regular file is copied into one first, which has no name. path and hop are
 * kept. 0, or -1 with errno; close it in any case.
 */
int script_open(struct script *, const char *path, size_t limit, const char *hop, enum acp_side them);
void script_close(struct script *);
/* The next record. 0, or -1 with errno. */
int script_next(struct script *, struct record *);
/* Who sent a message of it (a response's sender may be unknown). */
enum acp_side script_sender(const struct record *, const struct msg *);

/* The part of a request or notification; NULL out of memory. */
struct part *script_part(struct script *, const struct msg *);
/* Is one still to come that nobody who waits will take? 1, 0, or -1 with errno. */
int script_has_more(struct script *, const struct part *);

/* The answer that the recording has for a request of the live side. */
struct answer {
	uint64_t request, response; /* their lines; response is 0 where there is none */
	struct buf text;            /* the response's line */
};
/*
 * Looks for the next request of a part that has not had its turn, and for its answer: a pass over the
 * recording, for requests that come out of order. 1 found; 0 not (it is in a batch); -1 with errno.
 */
int script_answer(struct script *, const struct part *, struct answer *);

#endif
