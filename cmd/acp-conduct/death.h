/*
 * death: what happens when a component's process has ended. If it ended too early it is restarted, or bypassed (its neighbours are
 * connected), once its whole group is gone and everything that it wrote is read. Otherwise its end is forwarded to its neighbours.
 */
#ifndef DEATH_H
#define DEATH_H

#include "chain.h"

struct msg;
struct port;

/* Handles the end of a component's process; status as from waitpid. A function of struct loop_child. */
void death_ended(void *component, int status);
/* Restarts or bypasses a dead component, unless something that must come first is still missing. */
void death_proceed(struct component *);
/* Closes the port of a proxy that has ended, when everything that it wrote is read. */
void death_proxy_over(struct port *);
/* Handles the response of a restarted proxy or agent to a request of conduct itself. A function of struct route. */
void death_own_response(struct port *, enum acp_method, const struct msg *response);
/* Would the agent be restarted if it died now, apart from --restarts? Not if the client has left. */
bool death_is_replaceable(const struct component *agent);

#endif
