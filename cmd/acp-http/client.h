/* client: what the files of acp-http --connect have in common. */
#ifndef CLIENT_H
#define CLIENT_H

#include <uthash.h>

#include "cmd/acp-http/http.h"

enum { COOKIES_MOST = 8 * 1024 }; /* bytes of all cookies: many servers take no longer header */

static const char client_no_response[] = "cannot connect: the server has not responded";

struct client;

/* A request and its response, which libcurl transfers. */
struct transfer {
	CURL *easy;               /* NULL: no transfer is under way */
	struct curl_slist *headers;
	bool failed;              /* out of memory for the headers */
	void (*done)(void *arg, CURLcode); /* called at the end */
	void *arg;
	char error[CURL_ERROR_SIZE];
};

/* The state of Streamable HTTP: each message to the server is a POST; the messages of the server come on event streams. */
struct posts {
	struct post *queue;
	struct stream *streams;       /* a hash of event streams, by session */
	size_t queued;                /* bytes of the messages in queue */
	uint64_t sent;                /* bytes of messages that libcurl has */
	uint64_t comments;            /* bytes of event streams that belong to no message */
	char *id;                     /* the connection's; NULL before the response to initialize */
	bool http1;                   /* the server does not speak HTTP/2 */
	bool known;                   /* a transfer has begun: there may be an HTTP/2 connection */
	struct transfer delete;       /* ends the connection */
};

struct client {
	struct service service;
	const struct options *options;
	enum profile profile;
	struct link link;
	void (*changed)(void *client); /* after each event: reads and writes as far as possible, or ends the connection */
	struct loop_timer exit_timer;
	struct buf cookies;       /* a line NAME=VALUE each */
	bool new_cookies;         /* some cookies are not in the file yet */
	char *url;                /* as libcurl needs it: http(s)://HOST[:PORT]/... */
	bool left;                /* the client has left, or a signal was received */
	bool hurried;             /* nothing moved for a grace period after the client had left */
	bool finishing;           /* acp-http has begun to end the connection */
	bool in_order;            /* the connection has ended in order */
	bool over;                /* nothing more comes from the server */
	char why[256];            /* why the connection could not be made, or was lost; or empty */
	uint64_t received, last_moved; /* bytes from the server; what moved() was when exit_timer was last started */

	/* transfer.c */
	CURLM *multi;
	uint64_t looks;           /* how often libcurl has looked at its sockets */
	bool looking;
	struct watched *watched;  /* the sockets of libcurl, the newest first */
	struct loop_timer due, again;
	struct loop_task task;

	/* WebSocket and plain lines: a connection that libcurl makes. */
	struct transfer connect;
	struct endpoint far;
	struct io_layer layer;    /* of far: reads and writes by libcurl, which may use TLS */
	struct ws ws;
	struct buf head;          /* the head of the response to the handshake */
	struct loop_timer handshake; /* runs while the response to the handshake is waited for */
	bool up;                  /* messages are forwarded */
	struct buf early;         /* messages that came before `up`, a line each */
	char key[25];             /* Sec-WebSocket-Key of the handshake */

	struct posts posts;
};

/* --- transfer.c: libcurl in the loop, and what the client's files share --- */

/* The connection is over: the local peer's open requests get an error. why: a format; NULL: c->why, or the connection ended in order. */
void client_over(struct client *, const char *why, ...) __attribute__((format(printf, 2, 3)));
/* Stores a cookie of a response. value: of Set-Cookie; NULL after the last one: writes new cookies to their file. */
void client_cookie(struct client *, const char *value);
/* Connects libcurl with the loop. 0, or -1. */
int transfers_open(struct client *);
void transfers_close(struct client *);
/* Bytes that were written to the sockets, and that the server has not taken. */
uint64_t transfers_unread(const struct client *);
/*
 * In the next turn of the loop, makes libcurl read the newest of its sockets, and so on until it delivers nothing more: what libcurl
 * (7.88) has read for one HTTP/2 stream while it worked for another, or before a pause, it may forget until the socket is readable again.
 */
void transfers_again(struct client *);
/* Makes a transfer to the URL, with --header, the token and the cookies. NULL out of memory, which transfer_start reports. */
CURL *transfer_new(struct client *, struct transfer *, void (*done)(void *arg, CURLcode), void *arg);
void transfer_header(struct transfer *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Starts a transfer that transfer_new made. Out of memory, the client is over. */
void transfer_start(struct client *, struct transfer *);
void transfer_end(struct client *, struct transfer *);
/* The HTTP status of a transfer, or 0; and why a transfer failed (borrowed). */
unsigned transfer_status(const struct transfer *);
const char *transfer_reason(const struct transfer *, CURLcode);

/* --- streams.c --- */

/* An event stream: of a session, or of the connection (empty name). POSTs for the session wait until the stream is open. */
struct stream {
	struct client *client;
	struct transfer get;
	enum { STREAM_IDLE, STREAM_WANTED, STREAM_OPENING, STREAM_OPEN } state; /* idle: not used yet, or refused, or the session is closed */
	bool closed;                  /* the server has closed the stream in order, and nothing was said about that */
	bool paused;                  /* the local peer has no room, or (the connection's stream) a session's stream comes first */
	uint64_t last;                /* client.looks when the stream last brought something */
	bool blocked;                 /* while POSTs are started: a POST for the session is under way, or waits */
	char why[80];                 /* why the stream could not be opened: the POSTs that wait for it fail; or empty */
	struct buf line, data;        /* the beginning of a line; the data of an event */
	uint64_t pause;               /* us before the stream is opened again */
	struct loop_timer again, deadline;
	bool opening;                 /* the deadline is that of the opening, not that of the requests of a lost stream */
	uint64_t opened, lost;        /* the times when the stream was last opened, and last lost */
	UT_hash_handle hh;
	char name[];
};

/* Makes a transfer (transfer_new) for a session, or for the connection (empty name). */
CURL *streams_transfer(struct client *, struct transfer *, const char *session, void (*done)(void *arg, CURLcode), void *arg);
/* Finds or makes the stream of a session, or of the connection (empty name), but does not open the stream. NULL out of memory. */
struct stream *stream_of(struct client *, struct slice name);
/* Forwards a message of the server, and learns from it which sessions there are. May change the text. */
void stream_message(struct client *, struct buf *text);
/* Opens the streams that are wanted, ends those of closed sessions, and reads on where the local peer has room. */
void streams_steer(struct client *);
void streams_close(struct client *);

/* --- posts.c --- */

void posts_close(struct client *);
void posts_send(struct client *, const struct message *);
/* Starts POSTs and streams, and reads the streams if the local peer has room. Returns the bytes that wait to be sent. */
size_t posts_steer(struct client *);
/* Ends the connection with a DELETE once no POST is left, or at once if the client is hurried. */
void posts_finish(struct client *);

#endif
