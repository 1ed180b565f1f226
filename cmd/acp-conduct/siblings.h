/* siblings: acp-mcp and acp-share, which acp-conduct adds to a chain. */
#ifndef SIBLINGS_H
#define SIBLINGS_H

#include "chain.h"

/* The options of the command line. */
struct shares {
	const char *control;  /* a socket or "auto"; NULL: no option --control */
	const char **hops;    /* of --control-hop, numbers and names, NULL-terminated; or NULL: the client's hop */
	size_t max_line;      /* of --max-line, or 0 */
};

/*
 * Adds acp-mcp as the last component before the agent, so that the proxies can offer MCP servers of type acp. Adds nothing if there is no
 * proxy or no agent, or if the user has added an acp-mcp there. Reports if acp-mcp is not found. Returns 0, or -1 with errno.
 */
int siblings_add_mcp(struct chain *);
/*
 * Adds acp-share at the hops that the options name. The components must have names, and are all named again. Returns 0, or -1 with the
 * reason in *why, which the caller frees (NULL out of memory).
 */
int siblings_add_shares(struct chain *, const struct shares *, char **why);

#endif
