/* ws: shared by the files of acp-ws, a bridge between standard input and output and WebSocket. */
#ifndef WS_H
#define WS_H

#include <libwebsockets.h>

#include "lib/acp/outline.h"
#include "lib/acp/requests.h"
#include "lib/run/endpoint.h"

static const char tool_name[] = "acp-ws";

struct options {
	/* --listen */
	const char *address; /* NULL: loopback */
	const char *port;
	const char *path;
	const char **origins; /* NULL-terminated; or NULL */
	uint64_t max_connections;
	char *const *command;
	/* --connect */
	const char *url;
	const char **headers; /* NULL-terminated, "K: V"; or NULL */
	const char *ca;
	const char *cookies; /* file of the cookie jar, or NULL */
	/* both */
	struct buf token; /* p NULL: none */
	size_t limit;     /* bytes in a message */
	uint64_t grace, ping; /* us; ping 0: no pings */
	bool verbose;
};

/* --- service.c: libwebsockets' loop, which runs the tool's loop inside --- */

struct service {
	const struct options *options;
	struct loop *loop;
	struct lws_context *lws;
	struct lws_protocols protocols[2];
	lws_sorted_usec_list_t wake;
	bool over;            /* set by the owner: service_run returns */
	int signal;           /* the second signal that was received, or 0 */
	bool leaving;         /* the first signal was received */
	void (*leave)(void *owner); /* called at the first signal */
	void *owner;
	struct endpoint log;  /* standard error */
	uint64_t discarded;   /* lines that did not fit in its queue */
};

/*
 * Opens libwebsockets, which reports each event of a connection to callback. ca: a file of trusted certificates, or NULL. Returns
 * 0, or -1 with errno.
 */
int service_open(struct service *, lws_callback_function *callback, const char *ca);
/* Runs until over is set, or a second signal is received. Returns 0, or -1 with errno. */
int service_run(struct service *);
/* Writes what the log still holds, and frees everything. */
void service_close(struct service *);
/* The service that a connection belongs to. */
struct service *service_of(struct lws *);
/* Queues a line for standard error, "acp-ws: WHO: ..."; who may be NULL. Never blocks: discards the line if the queue is full. */
void report(struct service *, const char *who, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same, only with --verbose. */
#define report_verbose(service, ...) ((service)->options->verbose ? report(service, __VA_ARGS__) : (void)0)

/* --- link.c: forwards messages between a WebSocket (the remote peer) and two descriptors (the local peer) --- */

struct frame;

/* Zero it to begin; the owner sets the first group. */
struct link {
	/* Set by the owner. */
	struct service *service;
	const char *name;         /* for diagnostics; borrowed */
	enum acp_side remote;     /* which side the remote peer is */
	void (*changed)(void *);  /* called with arg after each event. It may free the link */
	void *arg;

	/* For the owner to read. */
	struct endpoint local;    /* the local peer: the agent, or the client */
	struct lws *wsi;          /* NULL: not connected */
	bool up;                  /* connected: messages are forwarded */
	bool down;                /* the connection has ended, or could not be made */
	bool local_ended;         /* the local peer's output has ended */
	bool closed_by_us;        /* with a close frame */
	uint16_t close_code;      /* in the remote peer's close frame; 0: none */
	size_t failed;            /* requests of the local peer that got an error because the connection was lost */
	struct requests *requests;

	/* Private. */
	struct frame *out;        /* messages for the remote peer */
	size_t queued;            /* bytes in out */
	bool full;                /* the local peer is not read, because out is full */
	struct buf in;            /* the beginning of a message that has not been received whole */
	bool skipping;            /* the rest of a binary message is ignored */
	struct outline outline;   /* of a line of the local peer that is longer than the limit */
	bool local_unanswered, remote_unanswered; /* an error response to it did not fit: it is not read until there is room */
	bool paused;              /* the WebSocket is not read */
	bool heard, ping_due;     /* heard: something was received since the last ping */
	bool remote_busy;         /* out, or the buffer of libwebsockets, waits for the remote peer to read */
	uint64_t last_acked, last_arrived; /* acked_bytes and arrived_bytes at the last ping */
	unsigned silent;          /* ping intervals without a sign of life */
	uint64_t received;        /* bytes received so far */
	uint64_t moved;           /* bytes sent and received, when link_update_progress was last called */
	bool closing;             /* to be closed with close_with when out is empty */
	uint16_t close_with;
	const char *close_why;
	const char *failing;      /* the text of the error response to all requests of the remote peer; NULL: they are forwarded */
};

/* Opens the local peer on its output (in) and input (out). Takes ownership of both. Returns 0, or -1 with errno. */
int link_open(struct link *, int in, int out);
/* Closes the local peer and frees everything that the link owns. */
void link_close(struct link *);
/* Handles an event of the WebSocket. Returns what the callback of libwebsockets has to return. */
int link_callback(struct link *, enum lws_callback_reasons, void *in, size_t len);
/* The WebSocket is connected: messages are forwarded from now on. */
void link_up(struct link *, struct lws *);
/*
 * The connection has ended, or could not be made: the local peer's open requests get an error, and its input ends. why: the reason,
 * or NULL where the link knows it.
 */
void link_down(struct link *, const char *why);
/* Responds with an error to the remote peer's open requests and to all later ones. why is borrowed. */
void link_fail(struct link *, const char *why);
/* Closes the connection with this code when all messages have been sent. why is borrowed. */
void link_finish(struct link *, uint16_t code, const char *why);
/* Closes the connection now. Queued messages are discarded. */
void link_abort(struct link *);
/* The number of open requests that this side has sent. */
size_t link_open_requests(const struct link *, enum acp_side from);

/*
 * Returns whether a message that is being transferred, in either direction, has made progress since the last call; remembers the
 * state for the next call.
 */
bool link_update_progress(struct link *);

/* --- tcp_bytes.c: what the kernel knows of a TCP connection --- */

/* Bytes that the other end has acknowledged; 0 where the system does not report them. */
uint64_t acked_bytes(int fd);
/* Bytes that were received from the other end, read or not; 0 where the system does not report them. */
uint64_t arrived_bytes(int fd);

/* --- handshake.c: decides who may connect --- */

/* Checks a request to connect. Returns 0, or the HTTP status of the refusal, with the reason in *why. */
unsigned handshake_check(struct lws *, const struct options *, const char **why);
/* Sends a response with this status. Returns what the callback of libwebsockets has to return. */
int handshake_refuse(struct lws *, unsigned status, const char *why);
/* Is the request an upgrade to WebSocket version 13? */
bool handshake_upgrades(struct lws *);

/* --- cookies.c: a cookie jar in a buffer. Zero it to begin. All return 0, or -1 with errno --- */

/* Reads the jar from a file, which need not exist. */
int cookies_read(struct buf *jar, const char *path);
/* Appends the value of a Cookie header. */
int cookies_header(const struct buf *jar, struct buf *to);
/* Stores the cookie of a Set-Cookie header's value. */
int cookies_set(struct buf *jar, const char *header);
/* Writes the jar to a file. */
int cookies_write(const struct buf *jar, const char *path);

/* --- listen.c (--listen), connect.c (--connect): run the bridge, and return the exit status --- */

int listen_run(const struct options *);
int connect_run(const struct options *);

#endif
