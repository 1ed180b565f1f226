/* peer: the player on two descriptors, or with an agent that it has started. */
#ifndef REPLAY_PEER_H
#define REPLAY_PEER_H

#include <stdint.h>

#include "cmd/acp-replay/player.h"

struct peer_options {
	const char *path;       /* the recording */
	const char *hop;        /* --hop, or NULL */
	bool environment;       /* --env */
	size_t limit;           /* --max-line, bytes */
	uint64_t grace;         /* --grace, us */
	uint64_t timeout;       /* --timeout, us; 0: none */
	char *const *command;   /* of an agent to be started (we are the client), or NULL */
	struct player_options player;
	struct recorder_options recorder; /* path, live and command are the peer's to fill in */
};

/* Plays the recording. Returns the exit status; every problem has been reported on stderr. */
int peer_run(struct peer_options *);

#endif
