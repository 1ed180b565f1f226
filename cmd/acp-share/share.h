/* share: what the files of acp-share have in common. */
#ifndef SHARE_H
#define SHARE_H

#include "cmd/acp-share/preface.h"
#include "lib/attach/attach.h"
#include "lib/attach/rendezvous.h"
#include "lib/frame/frame_options.h"

/* Guests at the same time. */
enum { GUESTS = 100 };

struct call;
struct conn;
struct guest;

struct share {
	struct frame *frame;
	const char *name;        /* of the hop (--name) */
	bool answers;            /* --answers */
	struct rendezvous at;
	bool restarted;          /* the stream was initialized before this process was started */
	struct preface preface;
	struct guest *guests;
	size_t nguests;
	uint64_t ever;           /* how many guests have attached so far */
	struct call *calls;      /* the open requests of guests, the oldest first */
	size_t ncalls;
	uint64_t messages[ACP_DIRECTIONS];
	const char *over[ACP_DIRECTIONS]; /* why a guest may not send anything more in this direction; NULL: it may */
	size_t limit;            /* bytes of the longest line */
	struct buf record;
	struct block *chunk;     /* the last copies, which all guests share; and how much of the block is used */
	size_t used;
	/* Private to door.c. */
	struct loop_fd listener;
	struct loop_timer accept_timer;
	struct conn *conns;
	size_t nconns;
};

static const char share_name[] = "acp-share";

/* filter.c */
/* Shares the stream until it ends. Returns the exit status. */
int share_run(struct share *, const struct frame_options *);

/* door.c: the socket. */
/* Lets guests in from now on. 0, or -1 out of memory. */
void door_open(struct share *);
void door_close(struct share *);

/* guest.c: a guest watches (reads a recording of the stream from fd, a pipe), or also writes records (fd is a socket). */
/* Copies a forwarded message, which may be a guest's, to all guests except `except`. */
void share_show(struct share *, enum acp_direction, const struct message *, const struct guest *except);
/* Adds a guest. Takes ownership of fd. Returns 0, or -1 with errno. */
int guest_add(struct share *, int fd, enum attach_want);
/* Copies share.record to all guests except one; built: the result of writing that record. */
void guests_copy(struct share *, int built, const struct guest *except);
/* Sends a guest the response to its request; tag: the one with which the request was sent. */
void guests_response(struct share *, void *tag, const struct message *);
/* Ends a direction for guests, for this reason: those that wait for a response get an error. */
void guests_over(struct share *, enum acp_direction, const char *why);
/* Reads from the guests whose messages fit into the queue, and frees the guests that have detached. */
void guests_settle(struct share *);
/* Writes the queues of guests that read, and then detaches all guests. */
void guests_close(struct share *);

/* list.c: prints the streams that this user shares. Exits with status 0, or 1 if there are none. */
_Noreturn void list_print(bool json);

#endif
