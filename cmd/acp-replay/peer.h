/* peer: the player at its place, between two descriptors or around an agent that it has started. */
#ifndef REPLAY_PEER_H
#define REPLAY_PEER_H

#include <stdint.h>

#include "lib/acp.h"

struct peer_options {
	const char *path;       /* the recording */
	const char *hop;        /* --hop, or NULL */
	size_t limit;           /* --max-line, bytes */
	uint64_t grace;         /* --grace, us */
	enum acp_side us;       /* --as */
	char *const *command;   /* of an agent to be started (us is the client), or NULL */
};

/* Plays the recording. Returns the exit status; has said on stderr what there was to say. */
int peer_run(const struct peer_options *);

#endif
