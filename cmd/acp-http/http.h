/* http: what the files of acp-http have in common. acp-http carries a stream over HTTP, WebSocket or plain TCP. */
#ifndef HTTP_H
#define HTTP_H

#include <curl/curl.h>
#include <openssl/ssl.h>

#include "lib/acp/outline.h"
#include "lib/acp/requests.h"
#include "lib/run/report.h"

static const char tool_name[] = "acp-http";
#define header_name_bytes "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

enum profile { PROFILE_AUTO, PROFILE_WS, PROFILE_HTTP, PROFILE_TCP };

struct options {
	/* --listen */
	const char *address; /* NULL: loopback */
	const char *port;
	bool plain;          /* serves lines over TCP, not HTTP */
	const char *path;
	const char **origins; /* of web pages that may connect; NULL-terminated, or NULL */
	const char *cert, *key;
	uint64_t max_connections, idle;
	size_t queue;
	char *const *command;
	/* --connect */
	const char *url;
	int profile;
	const char **headers; /* "NAME: VALUE" each; NULL-terminated, or NULL */
	const char *ca;
	const char *cookies; /* the path of the file that keeps cookies, or NULL */
	uint64_t timeout;
	/* both */
	struct buf token; /* p is NULL without a token */
	const char *token_file;
	size_t limit;     /* the most bytes in a message */
	uint64_t grace, ping; /* us; ping 0: no pings */
	bool verbose;
};

enum { QUEUE_HIGH = OUTPUT_HIGH, QUEUE_LOW = OUTPUT_LOW };
enum { LINGER = 1000 * 1000 }; /* us for the peer to close its end: a socket that closes with unread bytes drops its output */

/* --- service.c: the loop, signals and standard error --- */

struct service {
	const struct options *options;
	struct loop *loop;
	int signal;           /* the second signal that was received, or 0 */
	bool leaving;         /* the first signal was received */
	void (*leave)(void *owner); /* called at the first signal */
	void *owner;
	struct report report; /* standard error */
};

/* Makes the loop, which catches signals, and opens standard error. 0, or -1 with errno. */
int service_open(struct service *);
/* Writes the lines that are queued for standard error, and frees the loop. */
void service_close(struct service *);
/* Queues a line for standard error, "acp-http: WHO: ..."; who may be NULL. Never blocks: discards the line if the queue is full. */
void report(struct service *, const char *who, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Calls report, but only with --verbose. */
#define report_verbose(service, ...) ((service)->options->verbose ? report(service, __VA_ARGS__) : (void)0)

/* --- link.c: the local peer (the agent's pipes, or standard input and output), and the open requests of both sides --- */

/* Zero it to begin; the owner sets the first group. */
struct link {
	struct service *service;
	const char *name;         /* for diagnostics; borrowed */
	enum acp_side remote;     /* which side the remote peer is */
	void (*send)(void *arg, const struct message *); /* gets a message of the local peer, or a response in its stead */
	void (*changed)(void *arg); /* called after each event of the local peer. It may free the link */
	void *arg;

	/* For the owner to read. */
	struct endpoint local;
	bool down;                /* the remote peer has gone: nothing is forwarded */
	bool local_ended;         /* the local peer's output has ended */
	size_t failed;            /* requests of the local peer that got an error because the connection was lost */
	struct requests *requests;

	/* Private. */
	bool remote_full;         /* the queue for the remote peer is full: the local peer is not read */
	bool overfull;            /* the remote peer leaves error responses unread, too: it is not read, either */
	struct outline outlines[2]; /* of a line that is longer than the limit: of the local peer, of the remote peer */
	const char *failing;      /* the text of the error response to all requests of the remote peer; NULL: requests are forwarded */
	uint64_t lost;            /* how many messages of the local peer came after the end of the connection */
};

/* Opens the local peer. in: its output; out: its input; the link owns both descriptors. 0, or -1 with errno. */
int link_open(struct link *, int in, int out);
void link_close(struct link *);
/* Says how many bytes wait for the remote peer. Above `high`, the local peer is not read until half of `high` is left. */
void link_steer(struct link *, size_t queued, size_t high);
/* May the remote peer be read? */
bool link_wants(const struct link *);
/* Forwards a message of the remote peer, and may change its bytes; discards other text. False: the text is not UTF-8. */
bool link_receive(struct link *, struct buf *text);
/* Forwards a line of a remote peer that sends plain lines, or discards the line if it is no message. */
void link_line(struct link *, enum input_got, const struct line *);
/* Forwards a message of the remote peer that is scanned already. */
void link_deliver(struct link *, struct slice text, const struct msg *);
/* Reports and discards a line (number, or 0) that is not a message. A peer that may wait for it, or its response, gets an error. */
void link_discard(struct link *, enum acp_side from, uint64_t number, struct slice text, const char *why);
/* The remote peer has gone: the local peer's open requests get an error, and the local peer's input ends. */
void link_down(struct link *, const char *why);
/* Responds to an open request with an error, and frees the request. data: JSON; p NULL: none. */
void link_fail_request(struct link *, struct request *, const char *why, struct slice data);
/* Responds with an error to the remote peer's open requests and to all later ones. why is borrowed. */
void link_fail(struct link *, const char *why);
/* The id of the session that a message belongs to, a JSON string; p NULL: none. A response has that of its request (or NULL). */
struct slice link_session(const struct msg *, const struct request *);
/* The number of open requests that this side has sent. */
size_t link_open_requests(const struct link *, enum acp_side from);

/* --- ws.c: WebSocket (RFC 6455) over an endpoint that reads bytes --- */

enum {
	WS_NORMAL = 1000, WS_GOING_AWAY = 1001, WS_PROTOCOL = 1002, WS_NO_STATUS = 1005, WS_NOT_UTF8 = 1007, WS_TOO_LONG = 1009,
	WS_FAILED = 1011,
};

struct ws {
	/* For the owner to read. */
	uint16_t close_code;  /* in the remote peer's close frame; 0: none */
	bool close_sent;
	bool closed_by_us;    /* ws_finish began the close */
	uint64_t control_bytes; /* of control frames, both ways */

	/* Private. */
	struct endpoint *far;
	struct link *link;    /* gets the messages; NULL: no WebSocket yet */
	bool client;          /* acp-http is the client, and masks its frames */
	unsigned char head[14]; /* the header of a frame */
	size_t nhead;         /* bytes of the header that have come */
	uint64_t left;        /* bytes of the payload that have not come */
	size_t ready;         /* bytes of the payload that have come */
	struct buf control;   /* the payload of a control frame */
	struct buf message;   /* the beginning of a message that has not been received whole */
	bool open, binary;    /* a message has begun; it is a binary one, which is ignored */
	bool heard;           /* something was received since the last ping */
	unsigned silent;      /* ping intervals without a sign of life */
	uint64_t last_acked;
	struct loop_timer beat;
};

/* Begins to send pings, once the handshake is done. */
void ws_open(struct ws *, struct endpoint *far, struct link *);
void ws_close(struct ws *);
void ws_receive(struct ws *, struct slice);
void ws_send(struct ws *, struct slice text);
/* Sends a close frame, once. The endpoint ends when the remote peer has closed its end, or has taken too long for that. */
void ws_finish(struct ws *, uint16_t code, const char *why);
/* The number of bytes that the remote end has acknowledged; if the kernel cannot tell, of bytes that the kernel has accepted. */
uint64_t ws_acked(const struct ws *);
/* Writes the value of Sec-WebSocket-Accept for a key of 24 bytes: 28 bytes and a NUL. */
void ws_accept_of(const char *key, char accept[29]);

/* Appends the contents of a file or pipe, which may come in parts. 0, or -1 with errno: EFBIG for more than `most` bytes. */
int read_small(const char *path, struct buf *to, size_t most);

/* --- listen.c (--listen), connect.c (--connect): run the bridge, and return the exit status --- */

int listen_run(const struct options *);
int connect_run(const struct options *);

#endif
