/* http: shared by the files of acp-http, which carries a stream over HTTP, WebSocket or plain TCP. */
#ifndef HTTP_H
#define HTTP_H

#include <curl/curl.h>
#include <openssl/ssl.h>

#include "lib/acp/outline.h"
#include "lib/acp/requests.h"
#include "lib/run/endpoint.h"

static const char tool_name[] = "acp-http";
#define header_name_bytes "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

enum profile { PROFILE_AUTO, PROFILE_WS, PROFILE_HTTP, PROFILE_TCP };

struct options {
	/* --listen */
	const char *address; /* NULL: loopback */
	const char *port;
	bool plain;          /* lines over TCP */
	const char *path;
	const char **origins; /* NULL-terminated; or NULL */
	const char *cert, *key;
	uint64_t max_connections, idle;
	size_t queue;
	char *const *command;
	/* --connect */
	const char *url;
	int profile;
	const char **headers; /* NULL-terminated, "K: V"; or NULL */
	const char *ca;
	const char *cookies; /* file of the cookie jar, or NULL */
	uint64_t timeout;
	/* both */
	struct buf token; /* p NULL: none */
	size_t limit;     /* bytes in a message */
	uint64_t grace, ping; /* us; ping 0: no pings */
	bool verbose;
};

enum { QUEUE_HIGH = OUTPUT_HIGH, QUEUE_LOW = OUTPUT_LOW };
enum { LINGER = 1000 * 1000 }; /* for the peer to close its end: closed with bytes unread, a socket takes back what was written */

/* --- service.c: the loop, signals and standard error --- */

struct service {
	const struct options *options;
	struct loop *loop;
	int signal;           /* the second signal that was received, or 0 */
	bool leaving;         /* the first signal was received */
	void (*leave)(void *owner); /* called at the first signal */
	void *owner;
	struct endpoint log;  /* standard error */
	uint64_t discarded;   /* lines that did not fit in its queue */
};

/* 0, or -1 with errno. */
int service_open(struct service *);
/* Writes what the log still holds, and frees everything. */
void service_close(struct service *);
/* Queues a line for standard error, "acp-http: WHO: ..."; who may be NULL. Never blocks: discards the line if the queue is full. */
void report(struct service *, const char *who, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same, only with --verbose. */
#define report_verbose(service, ...) ((service)->options->verbose ? report(service, __VA_ARGS__) : (void)0)

/* --- link.c: the local peer (the agent's pipes, or standard input and output), and the open requests of both sides --- */

/* Zero it to begin; the owner sets the first group. */
struct link {
	struct service *service;
	const char *name;         /* for diagnostics; borrowed */
	enum acp_side remote;     /* which side the remote peer is */
	void (*send)(void *arg, const struct message *); /* of the local peer, or a response in its stead */
	void (*changed)(void *arg); /* called after each event of the local peer. It may free the link */
	void *arg;

	/* For the owner to read. */
	struct endpoint local;
	bool down;                /* the remote peer has gone: nothing is forwarded */
	bool local_ended;         /* the local peer's output has ended */
	size_t failed;            /* requests of the local peer that got an error because the connection was lost */
	struct requests *requests;

	/* Private. */
	struct requests *failed_requests; /* of the local peer, which have got an error while the remote one may respond */
	bool remote_full;         /* the local peer is not read */
	bool overfull;            /* nor is the remote one: it gets error responses, and does not read them */
	struct outline outlines[2]; /* of a line that is longer than the limit: of the local peer, of the remote one */
	const char *failing;      /* the text of the error response to all requests of the remote peer; NULL: they are forwarded */
	uint64_t lost;            /* messages of the local peer that came after the end */
};

/* Opens the local peer on its output (in) and input (out). Takes ownership of both. Returns 0, or -1 with errno. */
int link_open(struct link *, int in, int out);
void link_close(struct link *);
/* So many bytes wait for the remote peer: from `high` on until they are half of that the local peer is not read. */
void link_steer(struct link *, size_t queued, size_t high);
/* May the remote peer be read? */
bool link_wants(const struct link *);
/* A message of the remote peer, which may be changed; what is not one is reported and answered. False: it is not UTF-8. */
bool link_receive(struct link *, struct buf *text);
/* The same for a line of a remote peer that sends plain lines. */
void link_line(struct link *, enum input_got, const struct line *);
/* The same for a message that has been scanned already. */
void link_deliver(struct link *, struct slice text, const struct msg *);
/* A line of either peer is no message and is discarded: whoever waits for it gets an error. number: of the line, or 0. */
void link_discard(struct link *, enum acp_side from, uint64_t number, struct slice text, const char *why);
/* The remote peer has gone: the local peer's open requests get an error, and its input ends. */
void link_down(struct link *, const char *why);
/* The local peer's open request gets an error. */
void link_fail_request(struct link *, struct request *, const char *why, struct slice data);
/* Responds with an error to the remote peer's open requests and to all later ones. why is borrowed. */
void link_fail(struct link *, const char *why);
/* The session that a message belongs to, a JSON string: of a response its request's, which may be NULL. p NULL: none. */
struct slice link_session(const struct msg *, const struct request *);
/* The number of open requests that this side has sent. */
size_t link_open_requests(const struct link *, enum acp_side from);

/* --- ws.c: WebSocket (RFC 6455) over an endpoint that reads bytes --- */

enum {
	WS_NORMAL = 1000, WS_GOING_AWAY = 1001, WS_PROTOCOL = 1002, WS_NO_STATUS = 1005, WS_NOT_UTF8 = 1007, WS_TOO_LONG = 1009,
	WS_FAILED = 1011,
};

/* Zero it to begin; the owner sets the first group. */
struct ws {
	struct service *service;
	const char *name;     /* for diagnostics */
	struct endpoint *far;
	struct link *link;    /* that gets the messages */
	bool client;          /* we are the client, and mask */

	uint16_t close_code;  /* in the remote peer's close frame; 0: none */
	bool close_sent;
	bool closed_by_us;    /* in order */
	/* Private. */
	unsigned char head[14];
	size_t nhead;         /* bytes of the header that have come */
	uint64_t left;        /* bytes of the payload that have not come */
	size_t ready;         /* bytes of the payload that have come */
	struct buf control;   /* the payload of a control frame */
	struct buf message;   /* the beginning of a message that has not been received whole */
	bool open, binary;    /* a message that has begun; it is ignored */
	bool heard;           /* something was received since the last ping */
	unsigned silent;      /* ping intervals without a sign of life */
	uint64_t last_acked;
	struct loop_timer beat;
};

/* The connection is there: begins to send pings. */
void ws_open(struct ws *);
void ws_close(struct ws *);
void ws_receive(struct ws *, struct slice);
void ws_send(struct ws *, struct slice text);
/* Sends a close frame, once. The endpoint ends when the remote peer has closed its end, or takes long to. */
void ws_finish(struct ws *, uint16_t code, const char *why);
/* Bytes that the remote end has acknowledged, or at least the kernel has accepted. */
uint64_t ws_acked(const struct ws *);
/* The text of Sec-WebSocket-Accept for a key: 28 bytes and a NUL. */
void ws_accept_of(const char *key, char accept[29]);

/* Appends what a file holds, also a pipe that is written in parts. 0, or -1 with errno: EFBIG where it is more than `most`. */
int read_small(const char *path, struct buf *to, size_t most);

/* --- listen.c (--listen), connect.c (--connect): run the bridge, and return the exit status --- */

int listen_run(const struct options *);
int connect_run(const struct options *);

#endif
