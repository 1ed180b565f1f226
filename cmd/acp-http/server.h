/* server: what the files of acp-http --listen have in common. */
#ifndef SERVER_H
#define SERVER_H

#include <nghttp2/nghttp2.h>
#include <uthash.h>
#include <utlist.h>

#include "cmd/acp-http/http.h"
#include "lib/run/proc.h"

struct server {
	struct service service;
	const struct options *options;
	SSL_CTX *tls;             /* NULL: no TLS */
	struct proc_guardian guardian;
	struct loop_fd listener;
	struct loop_timer retry;
	struct conn *conns;       /* all connections */
	struct conn *by_id;       /* a hash of the connections of Streamable HTTP that a client may name */
	struct channel *channels;
	size_t nconns, nchannels, max_channels;
};

/* --- conn.c: a connection of the protocol: an agent, and what waits for its client --- */

/* The events for the event stream of the connection, or of one session. They wait while no stream is open; one may be at a time. */
struct flow {
	struct conn *conn;
	struct exchange *reader;  /* the open stream, or NULL */
	struct buf bytes;         /* events */
	size_t taken;             /* how many of `bytes` a stream has taken */
	struct buf then;          /* events for the connection's stream that come after all of `bytes` */
	UT_hash_handle hh;
	char name[];              /* the session's id; empty: the connection's own */
};

enum { ID_BYTES = 16, LABEL = 16 };

struct conn {
	struct conn *prev, *next;
	struct server *server;
	struct link link;
	struct report_source errors; /* the agent's standard error */
	struct loop_child child;
	struct loop_timer exit_timer;
	UT_hash_handle hh;
	char id[2 * ID_BYTES + 1];
	char label[LABEL + 1];     /* the beginning of the id, for diagnostics: a client that knows the id can use the connection */
	char prefix[sizeof(tool_name) + 2 + LABEL]; /* of the lines of the agent's standard error: "acp-http: LABEL" */
	/* The agent. Stopped: it got SIGTERM, after the grace period; overdue: its pipes were still open a grace period after its end. */
	enum { AGENT_RUNS, AGENT_STOPPED, AGENT_ENDED, AGENT_OVERDUE } agent;
	int status;                /* the agent's, as waitpid has it */
	uint64_t last_written;     /* bytes that had been written to the agent when exit_timer was last started */

	enum profile profile;
	struct channel *channel;   /* of WebSocket or plain lines; NULL: Streamable HTTP, or the channel has gone */
	struct ws ws;
	bool finished;             /* the agent has ended: the client gets what waits for it, and the end */
	bool gone;                 /* the client has gone */
	struct loop_task task;

	/* Streamable HTTP. */
	struct exchange *waiting;  /* responses that wait for the agent: to initialize, and to POSTs while the agent's queue is full */
	struct buf initialize;     /* the id of initialize while it has no response, or else p is NULL */
	struct flow *flows, *own;  /* a hash of all flows, by session; the flow of the connection */
	size_t queued;             /* bytes in all flows */
	size_t readers;            /* how many event streams are open */
	struct loop_timer idle, beat;
};

/* Starts an agent, and makes a connection for it. NULL after an error, which is reported (but for lack of memory at the start). */
struct conn *conn_new(struct server *, enum profile);
/* The client has left, or has to: the agent's open requests get an error, and its input ends. */
void conn_leave(struct conn *, const char *why);
/* Updates a connection before the loop waits again, and frees the connection when it is over. */
static inline void
conn_wake(void *arg)
{
	struct conn *c = arg;

	loop_add_task(c->server->service.loop, &c->task);
}

void conn_free(struct conn *);
/* The server leaves: closes the connection as if the client had left. */
void conn_end(struct conn *);

/* --- exchange.c: a request and its response; and what event streams carry --- */

/* An exchange waits for the agent before it gets its response; or waits no longer. */
void conn_wait(struct conn *, struct exchange *);
void conn_forget(struct exchange *);
/* The connection is in use: restarts the timer `idle`, unless an event stream is open. */
void conn_touch(struct conn *);
/* Finds or makes the flow of a session, or of the connection (empty name). NULL: out of memory, or there are too many. */
struct flow *flow_of(struct conn *, struct slice name);
void flow_free(struct flow *);
/*
 * Queues a message of the agent in the flow of its session, or else of the connection. The response to session/load goes to the
 * connection's flow, but waits until a stream has taken the replay, which is in the session's flow.
 */
void flow_send(struct conn *, const struct message *);
/* Begins the event stream of a flow, as the response of the exchange. */
void flow_attach(struct flow *, struct exchange *);
/* Moves events that waited for other flows to the connection's flow, and frees flows that have neither events nor a stream. */
void flow_steer(struct conn *);
/* Appends an event (field: "data: "), or a comment (":"), to one of the flow's buffers. */
void flow_put(struct flow *, struct buf *to, const char *field, struct slice text);
/* Sends a comment on each stream that has no events; called by the connection's timer `beat`. */
void flow_beat(void *conn);

struct exchange {
	struct exchange *prev, *next;          /* in the list of the channel */
	struct exchange *waits_prev, *waits_next; /* in the list of the connection (waiting) */
	struct channel *channel;
	int32_t stream;           /* the number of the HTTP/2 stream */
	struct buf head;          /* names and values, each with a NUL, until `responded`; :method and :path are among them */
	struct buf body;
	uint64_t body_left;       /* HTTP/1.1: bytes of the body that have not come */
	bool headed, complete;    /* the headers of the request have come; the whole request has come */
	bool responded;           /* the response has begun; the rest of the request's body is not kept */
	struct buf response;      /* the body of the response, unless it is an event stream */
	size_t sent;              /* bytes of the body that were sent */
	bool streams;             /* the response is an event stream */
	struct flow *flow;        /* what the event stream carries; NULL: the stream is over */
	struct conn *conn;        /* the connection in whose list the exchange waits, or NULL */
};

struct channel {
	struct channel *prev, *next;
	struct server *server;
	struct endpoint far;
	struct io_layer tls;      /* arg: OpenSSL's SSL, or NULL */
	enum { CHANNEL_NEW, CHANNEL_H1, CHANNEL_H2, CHANNEL_WS, CHANNEL_LINES } kind;
	uint64_t read;            /* bytes that were received */
	struct buf in;            /* bytes that are not understood yet */
	struct exchange *exchanges;
	size_t bodies;            /* bytes of the bodies of all requests */
	bool last;                /* HTTP/1.1: the channel is closed after this response */
	/* Sends the head of a response: of an event stream if x->streams, or else of a body of `length` bytes. */
	void (*respond)(struct exchange *x, unsigned status, const char *const *headers, const char *type, size_t length);
	nghttp2_session *h2;
	unsigned noise;           /* HTTP/2: frames that brought nothing, and are not forgiven */
	uint64_t forgiven;        /* the time when frames were last forgiven */
	struct conn *conn;        /* of WebSocket or plain lines, or NULL */
	struct loop_task task;    /* sends what can be sent, before the loop waits again */
	enum { PHASE_HEAD, PHASE_BODY, PHASE_BUSY, PHASE_IDLE, PHASE_END } phase; /* what `timer` limits */
	const struct exchange *late; /* the exchange that timer waits for; NULL: none, or the exchange has ended */
	uint64_t progress;        /* what had come, or had been sent, when timer was last started */
	struct loop_timer timer;
};

struct exchange *exchange_new(struct channel *, int32_t stream);
void exchange_free(struct exchange *);
/*
 * Adds a header to the head of a request. 0, or the status of a refusal: 400: the header may come only once, and has come already; 431:
 * the head is longer than HEADERS, or out of memory.
 */
unsigned exchange_add(struct exchange *, const char *name, struct slice value);
/* The value of a header of the request (borrowed), or NULL. name: in small letters. */
const char *exchange_header(const struct exchange *, const char *name);
/* Adds a piece to the body of the request; refuses the request if the body is too long. */
void exchange_body(struct exchange *, struct slice);
/* Responds, once: with an event stream if x->flow, or else with the body. headers: names and values in turn, then NULL; or NULL. */
void exchange_respond(struct exchange *, unsigned status, const char *const *headers, const char *type, struct slice body);
/* Responds with the status of an error, and with a line of text. */
void exchange_refuse(struct exchange *, unsigned status, const char *why);
/* Takes at most n bytes of the response's body or event stream, and returns how many. *end: no more follow. */
size_t exchange_read(struct exchange *, char *to, size_t n, bool *end);

/* --- channel.c: a TCP connection of a client, which speaks HTTP/1.1, HTTP/2 or WebSocket --- */

/* Makes a channel of a new socket, and owns the socket, also if it refuses the client. */
void channel_new(struct server *, int fd);
void channel_free(struct channel *);

/* Sends what can be sent, before the loop waits again. */
static inline void
channel_wake(struct channel *ch)
{
	loop_add_task(ch->server->service.loop, &ch->task);
}

static inline void
channel_put(struct channel *ch, struct slice bytes)
{
	if (endpoint_put(&ch->far, NULL, bytes) < 0)
		endpoint_abort(&ch->far);
}

/* --- h1.c, h2.c --- */

enum { HEADERS = 16 * 1024 }; /* the most bytes of a request's headers, with a token and cookies */
void h1_receive(struct channel *);
void h1_send(struct channel *);
void h1_respond(struct exchange *, unsigned status, const char *const *headers, const char *type, size_t length);
/* Begins HTTP/2. 0, or -1: the channel has failed. */
int h2_open(struct channel *);
void h2_receive(struct channel *, struct slice);
void h2_send(struct channel *);
void h2_respond(struct exchange *, unsigned status, const char *const *headers, const char *type, size_t length);

/* --- serve.c: carries out requests, or refuses them --- */

/* The headers of a request have come: refuses a request whose headers are wrong, unless it has its response. */
void serve_head(struct exchange *);
/* The whole request has come: carries it out, unless it has its response. */
void serve_request(struct exchange *);

#endif
