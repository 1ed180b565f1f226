/*
 * bridge: the acp-mcp that conduct itself adds before the agent of a chain with proxies, so that the proxies can offer MCP servers of
 * type acp.
 */
#ifndef BRIDGE_H
#define BRIDGE_H

#include "chain.h"

/*
 * Adds it as the last component before the agent, if there are a proxy and an agent, and if the user has not added one there. If no
 * acp-mcp is found, that is reported, and none is added. Returns 0, or -1 with errno.
 */
int bridge_add(struct chain *);

#endif
