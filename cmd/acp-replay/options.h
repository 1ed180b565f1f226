/* options: those of acp-replay, which all of its files read; and the whole of it, once they have been read. */
#ifndef REPLAY_OPTIONS_H
#define REPLAY_OPTIONS_H

#include "lib/filter/select.h"
#include "lib/match/compare.h"
#include "lib/match/normalize.h"

static const char replay_name[] = "acp-replay";

/* What a request gets that is not recorded. */
enum on_miss { MISS_ERROR, MISS_WAIT, MISS_NEXT };

struct replay_options {
	const char *path;       /* the recording */
	char *const *command;   /* of an agent to be started (we are the client), or NULL */
	const char *hop;        /* --hop, or NULL */
	bool environment;       /* --env */
	size_t limit;           /* --max-line, bytes */
	uint64_t grace;         /* us */
	uint64_t timeout;       /* us; 0: none */
	/* how it is played */
	enum acp_side us;
	enum match match;            /* of the requests of a client */
	const char *program;         /* --normalize, or NULL: */
	struct normalize *normalize;
	bool keep_paths;
	enum on_miss on_miss;
	double speed;           /* the recorded pauses are divided by it; 0: no pauses */
	uint64_t max_pause;     /* us */
	bool loop;              /* the recorded ends of both sides do not matter */
	uint64_t start, until;  /* numbers of records; 0: not given */
	const char *until_word; /* --until as it was given */
	struct select *glob;    /* --until where it is no number, or NULL */
	/* what is written of it */
	const char *record;     /* --record, or NULL */
	bool check, update;     /* --check, --update: in the place of path */
	const char *format;     /* of the report */
};

/* Plays the recording. Returns the exit status; every problem has been reported on stderr. (peer.c) */
int peer_run(const struct replay_options *);

#endif
