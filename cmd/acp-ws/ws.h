/* acp-ws: a bridge between stdio and WebSocket. What its files share. */
#ifndef WS_H
#define WS_H

#include <libwebsockets.h>

#include "lib/acp/outline.h"
#include "lib/acp/requests.h"
#include "lib/run/endpoint.h"

extern const char tool_name[];

struct options {
	/* --listen */
	const char *address; /* NULL: loopback */
	const char *port;
	const char *path;
	const char **origins; /* NULL-terminated */
	uint64_t max_connections;
	char *const *command;
	/* --connect */
	const char *url;
	const char **headers; /* NULL-terminated, "K: V" */
	const char *ca;
	const char *cookies; /* the file that keeps them; or NULL */
	/* both */
	struct buf token; /* p NULL: none */
	size_t limit;     /* of a message, bytes */
	uint64_t grace, ping; /* us; ping 0: never */
	bool verbose;
};

/* --- service.c: libwebsockets' loop, with ours in it --- */

struct service {
	const struct options *options;
	struct loop *loop;
	struct lws_context *lws;
	struct lws_protocols protocols[2];
	lws_sorted_usec_list_t wake;
	bool over;            /* service_run returns */
	int signal;           /* the second one that came, or 0 */
	bool leaving;         /* the first has come */
	void (*leave)(void *owner); /* called then */
	void *owner;
	struct endpoint log;  /* standard error */
	uint64_t unsaid;      /* lines that had no room there */
};

/* What libwebsockets reports of a connection goes to callback; ca: a file of certificates that are trusted, or NULL. 0 or -1. */
int service_open(struct service *, lws_callback_function *callback, const char *ca);
/* Runs until over, or the second signal. 0, or -1 with errno. */
int service_run(struct service *);
void service_close(struct service *);
struct service *service_of(struct lws *);
/* A line on standard error, never waiting: "acp-ws: WHO: ...". */
void say(struct service *, const char *who, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same where it is only of interest with --verbose. */
#define say_more(service, ...) ((service)->options->verbose ? say(service, __VA_ARGS__) : (void)0)

/* --- link.c: a WebSocket and a local peer --- */

struct frame;

/* The owner fills in what is marked so; the rest is zero at first. */
struct link {
	struct service *service;  /* owner's */
	const char *name;         /* owner's: in diagnostics */
	enum acp_side remote;     /* owner's: who is at the other end of the WebSocket */
	void (*changed)(void *);  /* owner's: something has happened. The link may be freed here */
	void *arg;

	/* To look at. */
	struct endpoint local;    /* the agent, or the client */
	struct lws *wsi;          /* NULL: not connected, or no longer */
	bool up;                  /* messages can travel */
	bool down;                /* it is gone, or could not be made */
	bool local_left;          /* its output has ended */
	bool closed_by_us;        /* in order */
	uint16_t close_code;      /* that the remote peer has closed with; 0: none */
	size_t failed;            /* requests of the local peer that got an error because the connection is lost */
	struct requests *requests;

	/* The link's own. */
	struct frame *out, **out_end; /* messages for the remote peer */
	size_t queued;            /* bytes */
	bool full;                /* the local peer is not read because of it */
	struct buf in;            /* a message that has not come whole */
	bool skipping;            /* a binary message */
	struct outline outline;   /* of a line of the local peer that is too long */
	bool local_behind, remote_behind; /* got an error that had no room: not read until there is some */
	bool paused;              /* the WebSocket is not read */
	bool heard, ping_due;
	bool choked;              /* something waits for the remote peer to take it */
	uint64_t taken, arrived;  /* bytes, at the last beat */
	unsigned silent;          /* beats without a sign of life */
	uint64_t received, moved; /* bytes: so far; both it and what was taken when link_moves was asked */
	bool closing;             /* as soon as the queue is empty, with close_with */
	uint16_t close_with;
	const char *close_why;
	const char *failing;      /* what the remote peer's requests get for an error; or NULL */
};

/* Takes over the descriptors of the local peer. 0, or -1 with errno. */
int link_open(struct link *, int in, int out);
void link_close(struct link *);
/* The callbacks of a connection that is up. What it returns is for libwebsockets. */
int link_callback(struct link *, enum lws_callback_reasons, void *in, size_t len);
/*
 * The connection is up; it is gone or could not be made, why NULL for what the link knows itself: the local peer's open requests get
 * an error, and its input ends.
 */
void link_up(struct link *, struct lws *);
void link_down(struct link *, const char *why);
/* The remote peer's requests get an error, those that are open and those that come. why is kept. */
void link_fail(struct link *, const char *why);
/* Closes the connection as soon as all is sent. why is kept. */
void link_finish(struct link *, uint16_t code, const char *why);
/* Closes it now, and whatever is queued is discarded. */
void link_abort(struct link *);
/* How many requests of that side are open. */
size_t link_open_requests(const struct link *, enum acp_side from);

/* Since it was asked last: has a message that is on its way, in either direction, moved on? */
bool link_moves(struct link *);

/* --- taken.c --- */

/* Bytes that the other end of a TCP connection has acknowledged; 0 where that is not known. */
uint64_t taken_bytes(int fd);
/* Bytes that have come from there, whether we have read them or not; 0 where that is not known. */
uint64_t arrived_bytes(int fd);

/* --- handshake.c: who may connect --- */

/* 0: may; else the HTTP status, and *why in words. */
unsigned handshake_check(struct lws *, const struct options *, const char **why);
/* Answers with a status; what it returns is for libwebsockets. */
int handshake_refuse(struct lws *, unsigned status, const char *why);
/* Is it an upgrade to WebSocket in a version that we have? */
bool handshake_upgrades(struct lws *);

/* --- cookies.c: zero a buffer to begin --- */

/* Reads a file, which need not exist; puts them into a Cookie header's value; 0, or -1 with errno. */
int cookies_read(struct buf *jar, const char *path);
int cookies_header(const struct buf *jar, struct buf *to);
/* Takes a Set-Cookie header's value; writes the file. 0, or -1 with errno. */
int cookies_set(struct buf *jar, const char *header);
int cookies_write(const struct buf *jar, const char *path);

/* --- the two ways; each returns the exit status --- */

int listen_run(const struct options *);
int connect_run(const struct options *);

#endif
