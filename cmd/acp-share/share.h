/* share: shared by the files of acp-share. */
#ifndef SHARE_H
#define SHARE_H

#include "cmd/acp-share/preface.h"
#include "lib/attach/attach.h"
#include "lib/attach/rendezvous.h"
#include "lib/frame/frame_options.h"

/* At the same time. */
enum { GUESTS = 100 };

struct call;
struct conn;
struct guest;

struct share {
	struct frame *frame;
	const char *name;        /* of the hop (--name) */
	bool answers;            /* --answers */
	struct rendezvous at;
	bool restarted;          /* the stream was initialized before this process came */
	struct preface preface;
	struct guest *guests;
	size_t nguests;
	uint64_t ever;           /* guests that have attached so far */
	struct call *calls;      /* requests of guests that are open, oldest first */
	size_t ncalls;
	uint64_t messages[ACP_DIRECTIONS];
	const char *over[ACP_DIRECTIONS]; /* why nothing more may be sent in that direction; NULL: it may */
	size_t limit;            /* of a line, bytes */
	struct buf record;
	struct block *chunk;     /* the last copies, which all guests share: so much of it is used */
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
/* A message is forwarded, perhaps of a guest: all guests except `except` get a copy. */
void share_show(struct share *, enum acp_direction, const struct message *, const struct guest *except);
/* Adds a guest. Takes ownership of fd. Returns 0, or -1 with errno. */
int guest_add(struct share *, int fd, enum attach_want);
/* A copy for all guests but one; built: the result of building it in share.record. */
void guests_copy(struct share *, int built, const struct guest *except);
/* The response to a guest's request; tag: what its request was sent with. */
void guests_response(struct share *, void *tag, const struct message *);
/* Nothing more may be sent in this direction, for this reason: guests that wait for a response get an error. */
void guests_over(struct share *, enum acp_direction, const char *why);
/* Reads from guests whose messages fit into the queue; frees guests that have detached. */
void guests_settle(struct share *);
/* Writes what is queued to guests that read, then detaches all guests. */
void guests_close(struct share *);

/* list.c: prints the streams that this user shares. Exits with status 0, or 1 if there are none. */
_Noreturn void list_print(bool json);

#endif
