/*
 * bridge: the acp-mcp that conduct itself puts before the agent where proxies are in the chain, so that all of them may
 * offer MCP servers of type acp (PROTOCOL, sections 4 and 5).
 */
#ifndef BRIDGE_H
#define BRIDGE_H

#include "chain.h"

/*
 * Adds it behind the other components, before the agent: where there are a proxy and an agent, and no filter of the
 * user's right before the agent is one. Where no acp-mcp is found a line says so, and none is added. 0, or -1 with errno.
 */
int bridge_add(struct chain *);

#endif
