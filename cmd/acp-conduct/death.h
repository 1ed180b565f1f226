/*
 * death: a component's process has ended. Where that was too early, another takes its place (restart) or its neighbours are joined
 * (bypass), but not before its whole group is gone and all that it wrote is read. Otherwise its end goes on to its neighbours.
 */
#ifndef DEATH_H
#define DEATH_H

#include "chain.h"

struct msg;
struct port;

/* loop_child's function. */
void death_ended(void *component, int status);
/* Something that a dead component's replacement has waited for has come. */
void death_proceed(struct component *);
/* A proxy has ended, and what it wrote is read. */
void death_proxy_over(struct port *);
/* A function of struct route. */
void death_on_mended(struct port *, const struct msg *response);
/* Would the agent be started again if it died now, --restarts aside? Not where the client has left. */
bool death_is_replaceable(const struct component *agent);

#endif
