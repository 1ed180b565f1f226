/* client: shared by the files of acp-http --connect. */
#ifndef CLIENT_H
#define CLIENT_H

#include "cmd/acp-http/http.h"

enum { COOKIES_MOST = 8 * 1024 }; /* bytes of all of them: many servers take no longer header */

struct client;

/* A transfer of libcurl's. */
struct transfer {
	CURL *easy;               /* NULL: none is under way */
	struct curl_slist *headers;
	bool failed;              /* out of memory */
	void (*done)(void *arg, CURLcode);
	void *arg;
	char error[CURL_ERROR_SIZE];
};

/* Streamable HTTP: each message is a POST. What the server sends comes on event streams. */
struct posts {
	struct post *queue;
	struct stream *streams;       /* event streams, by session */
	size_t queued;                /* bytes */
	char *id;                     /* the connection's; NULL: not initialized */
	bool http1;                   /* the server does not speak HTTP/2 */
	bool known;                   /* there is an HTTP/2 connection */
	struct transfer delete;
};

struct client {
	struct service service;
	const struct options *options;
	enum profile profile;
	struct link link;
	void (*changed)(void *client); /* after each event: reads and writes what may be, and ends what is over */
	struct loop_timer exit_timer;
	struct buf cookies;       /* a line NAME=VALUE each */
	bool new_cookies;         /* that are not in the file */
	char *url;                /* as libcurl needs it: http(s)://HOST[:PORT]/... */
	bool left;                /* the client has left, or a signal was received */
	bool hurried;             /* its time is over */
	bool finishing;           /* the end has been sent */
	bool in_order;            /* the connection has ended in order */
	bool over;                /* nothing more comes from the server */
	char why[256];            /* the connection could not be made, or was lost */
	uint64_t received, last_moved; /* bytes */

	/* transfer.c */
	CURLM *multi;
	struct loop_timer due;
	struct loop_task task;

	/* WebSocket and plain lines: a connection that libcurl makes. */
	struct transfer connect;
	struct endpoint far;
	struct io_layer layer;    /* of far: libcurl may have TLS */
	struct ws ws;
	struct buf head;          /* of the response to the handshake */
	bool up;                  /* messages are forwarded */
	struct buf early;         /* messages that came before that, a line each */
	char key[25];             /* of the handshake */

	struct posts posts;
};

/* --- transfer.c: libcurl in the loop, and what the client's files share --- */

/* The connection is over: the local peer's open requests get an error. NULL: in order. */
void client_over(struct client *, const char *why, ...) __attribute__((format(printf, 2, 3)));
/* Stores the cookies of a response, where there is one, and writes them to their file. value: of Set-Cookie; NULL: that was all. */
void client_cookie(struct client *, const char *value);
/* 0, or -1. */
int transfers_open(struct client *);
void transfers_close(struct client *);
/* A new transfer to the URL with --header, the token and the cookies. NULL out of memory: transfer_start says it. */
CURL *transfer_new(struct client *, struct transfer *, void (*done)(void *arg, CURLcode), void *arg);
void transfer_header(struct transfer *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Out of memory the client is over. */
void transfer_start(struct client *, struct transfer *);
void transfer_end(struct client *, struct transfer *);
/* The HTTP status, or 0; why it failed. */
unsigned transfer_status(const struct transfer *);
const char *transfer_reason(const struct transfer *, CURLcode);

/* --- posts.c --- */

void posts_close(struct client *);
void posts_send(struct client *, const struct message *);
/* Starts what can be started, and reads the streams if the local peer has room. Returns the bytes that wait to be sent. */
size_t posts_steer(struct client *);
/* Ends the connection when all has been sent. */
void posts_finish(struct client *);

#endif
