/*
 * end: how a chain ends. When the client has left, the end is forwarded down, once the client's requests have their responses and
 * everything that it sent has been delivered. When the agent has ended, the end is forwarded up, one component after the other.
 *
 * There is one state and one deadline, which moves as long as there is progress. When there was none for the grace period, the
 * ends are forwarded whatever is in progress, and the components that hold up a direction get SIGTERM; then all components do;
 * then those that remain get SIGKILL.
 */
#ifndef END_H
#define END_H

#include "chain.h"

struct port;

/* Adjacent hops that conduct reads, with the proxies between them. */
struct segment {
	struct port *first, *last;
	bool closing_down; /* what is above has ended ... */
	bool closed_down;  /* ... and that was forwarded to what is below */
	bool unread;       /* what is above does not read any more */
	bool closing_up;   /* what is below has ended */
	bool flushing;     /* the message that finds out whether everything has come down was sent */
	bool ended;
};

/* Makes the segments. Call it before the first component starts. Returns 0, or -1 out of memory. */
int end_open(struct chain *);
/* Starts the grace period again, because the end has begun or has made progress. */
void end_renew(struct chain *);
/* Forwards the end of input to what reads from this port, once its queue is written. */
void end_forward(struct port *);
/* Closes what the port writes, and our copies of the pipes that keep its reader's output open. */
void end_closed(struct port *);
/* Has the sender of the messages that go down to this port left? */
bool end_client_has_left(const struct port *);
/* The end of a proxy's peers: they see the end of their input, and none is started from now on. */
void end_peers(struct port *proxy);
/* Has that end begun? */
bool end_of_peers(const struct port *proxy);
/* Handles the end of what this port reads. Further calls do nothing. */
void end_input(struct port *);
/* Handles a client that does not read any more. */
void end_client_unread(struct port *client);
/* Ends the chain as failed: open requests get -32603 with the text `why`, and all components see the end of their input. status: the exit
 * status if no component has set one; 0: the components' count. */
void end_break(struct route *, int status, const char *why);
/* Continues the end where something that it waited for may have happened. Stops the loop when the chain has ended. */
void end_settle(struct chain *);
/* Are all processes of all components gone? */
bool end_all_gone(const struct chain *);
/* Sends SIGTERM to a component's process group; SIGKILL if it had SIGTERM before. */
void end_signal_component(struct component *);
/* Does that for all components that remain, now and again after 2 s. chain.forced must be set. */
void end_force(struct chain *);

#endif
