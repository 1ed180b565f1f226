/* share: what the parts of acp-share know of each other. */
#ifndef SHARE_H
#define SHARE_H

#include "cmd/acp-share/preface.h"
#include "lib/attach/rendezvous.h"
#include "lib/frame/frame_options.h"

/* At once. */
enum { GUESTS = 100 };

struct call;
struct conn;
struct guest;

struct share {
	struct frame *frame;
	const char *name;        /* what stands on the agent's side */
	struct rendezvous at;
	bool restarted;          /* the stream was initialized before this process came */
	struct preface preface;
	struct guest *guests;
	size_t nguests;
	uint64_t ever;           /* guests that ever came */
	struct call *calls;      /* requests of guests that are open, oldest first */
	size_t ncalls;
	uint64_t messages[ACP_DIRECTIONS];
	const char *over[ACP_DIRECTIONS]; /* why nothing may be sent in that direction any more; NULL: it may */
	size_t limit;            /* of a line, bytes */
	struct buf record;
	struct block *chunk;     /* the last copies, which all guests share: so much of it is used */
	size_t used;
	/* The door's own. */
	struct loop_fd knock;
	struct loop_timer again;
	struct conn *conns;
	size_t nconns;
};

extern const char share_name[];

/* filter.c */
/* Shares the stream until it ends. Returns the exit status. */
int share_run(struct share *, const struct frame_options *);
/* A message passes, also a guest's: all guests but `except` get a copy. */
void share_show(struct share *, enum acp_direction, const struct message *, const struct guest *except);

/* door.c: the socket. */
/* Lets guests in from now on. 0, or -1 out of memory. */
int door_open(struct share *);
void door_close(struct share *);

/* guest.c: who watches (reads a recording of what passes from fd, a pipe) or joins (writes records, too; a socket). */
/* Takes over fd. 0, or -1 with errno. */
int guest_add(struct share *, int fd, bool joins);
/* A copy for all guests but one; built: the result of building it in share.record. */
void guests_copy(struct share *, int built, const struct guest *except);
/* The response to a guest's request; tag: what its request was sent with. */
void guests_response(struct share *, void *tag, const struct message *);
/* Nothing more may be sent in this direction, and why: who waits for a response gets an error. */
void guests_over(struct share *, enum acp_direction, const char *why);
/* Reads those whose messages find room; forgets those who have left. */
void guests_settle(struct share *);
/* What waits for those who read is written, then all of them are let go. */
void guests_close(struct share *);

/* list.c: prints what this user shares. Ends with status 0, or 1 where there is nothing. */
_Noreturn void list_print(bool json);

#endif
