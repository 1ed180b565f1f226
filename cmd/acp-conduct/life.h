/*
 * life: how the components of a routed chain start, end, and are started again (supervise has the rest). What a
 * proxy that died had in its hands is sorted out here: see mend.c.
 */
#ifndef LIFE_H
#define LIFE_H

#include "route.h"

struct component;

/* Starts all components. False where one cannot be started: route.why says why. */
bool life_start(struct route *);
/* The process of a component has ended. A death of a proxy: true where it was mended. */
bool life_died(struct component *, int status);
void life_component_ended(struct component *, int status);
/* A proxy that was started again has answered. */
void life_mended(struct port *, const struct msg *answer);
/* Has a proxy been told to end? */
bool life_is_dismissed(const struct component *);
/* With -v: who is who. */
void life_introduce(struct route *);
/* With -v: what has gone through it, and how it ended. */
void life_sum_up(const struct component *, const char *end);

/* life_end.c. The chain ends, with this status: requests get -32603 with these words and this data. */
void life_break(struct route *, int status, const char *why, struct slice data);
/* A port's input has ended; its output is not read any more. */
void life_ended(struct port *);
void life_unread(struct port *);
/* The agent's process has ended, and all that it said has been read. */
void life_agent_over(struct port *);
/* A signal: as if the client had left. */
void life_client_left(struct route *);
/* Patience is over: true where something was still waited for, and is not any more. */
bool life_impatient(struct route *);
/* Goes on with what waits for things to settle. */
void life_settle(struct route *);
/* Has all that there was been passed on? */
bool life_over(const struct route *);
/* A number that changes with all that moves. */
uint64_t life_progress(const struct route *);

/* mend.c: sorts out what a dead process had in its hands, for the next one. bypass: there is none. */
struct mend_counts {
	size_t adopted, kept, again, unread, failed, past;
	uint64_t lost;
};
void mend_sort(struct port *, const char *why, struct slice data, struct mend_counts *);
/* Takes the port out, and gives what was meant for it to its neighbours. */
void mend_bypass(struct port *, const char *why, struct slice data, struct mend_counts *);

#endif
