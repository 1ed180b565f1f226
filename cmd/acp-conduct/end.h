/*
 * end: how a chain ends. When the client has left, the end goes down once its requests are answered and all it sent has come
 * through; when the agent has ended, the end goes up, one component after the other. There is one state and one deadline: while
 * anything moves nobody is pressed; where nothing has moved for the grace period the end is passed on whatever is under way,
 * who holds it up gets SIGTERM, soon after that everybody, and who is left then SIGKILL.
 */
#ifndef END_H
#define END_H

#include "chain.h"

struct port;

/* The hops between two ends of components that conduct reads, with the proxies between them. */
struct stretch {
	struct port *first, *last;
	bool leaving; /* what is above has ended ... */
	bool left;    /* ... and what is below has been told */
	bool unread;  /* what is above does not read any more */
	bool ebbing;  /* what is below has ended */
	bool flushing, flushed; /* what was sent to find out whether all has come down; it has come */
	bool over;
};

/* Before the first start. 0, or -1 out of memory. */
int end_open(struct chain *);
/* The end begins, or has come further: all get the whole grace period again. */
void end_renew(struct chain *);
/* What is on its way to the port in its direction ends: its reader sees the end of its input. */
void end_pass(struct port *);
/* What it writes is closed now, and so are our copies of what its reader alone decides about. */
void end_closed(struct port *);
/* Has the sender of the messages that go down to this port left? */
bool end_is_leaving(const struct port *);
/* What a port reads has ended, for good. */
void end_source(struct port *);
/* The client does not read any more. */
void end_unread(struct port *client);
/* What route_send_flush has sent has come to this port. */
void end_flushed(struct port *);
/* Remembers why the chain ends, for the errors of requests: what has become of that component, and its last words. */
void end_reason(struct route *, const struct component *, const char *what);
/* Gives up: requests get -32603 with these words, and all components see the end. status 0: the components' counts. */
void end_break(struct route *, int status, const char *why);
/* Goes on with what waits for things to settle. */
void end_settle(struct chain *);
/* Has all that there was been passed on? */
bool end_is_over(const struct chain *);
/* Has everybody gone? */
bool end_all_gone(const struct chain *);
/* Sends a component's group SIGTERM; SIGKILL where it has had that. */
void end_press(struct component *);
/* The same for all that are left, now and again soon (chain.forced is set). */
void end_force(struct chain *);
void end_close(struct chain *);

#endif
