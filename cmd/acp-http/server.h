/* server: shared by the files of acp-http --listen. */
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
	SSL_CTX *tls;             /* or NULL */
	struct proc_guardian guardian;
	struct loop_fd listener;
	struct loop_timer retry;
	struct conn *conns;       /* all */
	struct conn *by_id;       /* those of Streamable HTTP that a client may name */
	struct channel *channels;
	size_t nconns, nchannels, max_channels;
};

/* --- conn.c: a connection of the protocol: an agent, and what waits for its client --- */

/* What an event stream carries: of the connection, or of one session. It outlives the stream, of which there is at most one at a time. */
struct flow {
	struct conn *conn;
	struct exchange *reader;  /* the stream; or NULL */
	struct buf bytes;         /* events */
	size_t taken;             /* of bytes */
	struct buf then;          /* events of the connection that come after all of these */
	UT_hash_handle hh;
	char name[];              /* the session's id; empty: the connection's own */
};

enum { ID_BYTES = 16, LABEL = 16 };

struct conn {
	struct conn *prev, *next;
	struct server *server;
	struct link link;
	struct endpoint err;       /* the agent's standard error */
	struct loop_child child;
	struct loop_timer exit_timer;
	UT_hash_handle hh;
	char id[2 * ID_BYTES + 1];
	char label[LABEL + 1];     /* the beginning of the id, for diagnostics: who has the id has the connection */
	bool ended;                /* the agent */
	bool stopped;              /* by acp-http, after the grace period */
	bool overdue;              /* its pipes were still open after the grace period */
	int status;                /* as waitpid has it */
	uint64_t last_written;     /* bytes that had been written to it when exit_timer was last started */

	enum profile profile;
	struct channel *channel;   /* WebSocket, or plain lines; NULL: Streamable HTTP, or it has gone */
	struct ws ws;
	bool finished;             /* the agent has ended: the remote peer gets what waits for it, and the end */
	bool gone;                 /* the remote peer */
	struct loop_task task;

	/* Streamable HTTP. */
	struct exchange *waiting;  /* those whose response waits for the agent: initialize's, and POSTs while its queue is full */
	struct buf initialize;     /* the id of the request; p NULL: it has its response */
	struct flow *flows, *own;  /* by session; the connection's own, which is among them */
	size_t queued;             /* bytes in all of them */
	size_t readers;            /* streams that are open */
	struct loop_timer idle, beat;
};

/* A connection with an agent. NULL with errno, which has been reported. */
struct conn *conn_new(struct server *, enum profile);
/* The client has left, or has to: the agent's input ends. */
void conn_leave(struct conn *, const char *why);
/* Updates its state before the loop waits again, and frees it where all is over. */
static inline void
conn_wake(void *arg)
{
	struct conn *c = arg;

	loop_add_task(c->server->service.loop, &c->task);
}

void conn_free(struct conn *);
/* The server leaves. */
void conn_end(struct conn *);

/* --- exchange.c: a request and its response; and what event streams carry --- */

/* The response to this request waits for the agent; and no longer. */
void conn_wait(struct conn *, struct exchange *);
void conn_forget(struct exchange *);
/* A POST has come, or a response has been sent: the connection is in use. */
void conn_touch(struct conn *);
/* The flow of a session, or of the connection (empty name); NULL: out of memory, or there are too many. */
struct flow *flow_of(struct conn *, struct slice name);
void flow_free(struct flow *);
/*
 * Queues a message of the agent by session, where there is one. The response to session/load is the connection's, but what belongs to it,
 * the replay, is the session's: it waits for that.
 */
void flow_send(struct conn *, const struct message *);
/* Its event stream begins. */
void flow_attach(struct flow *, struct exchange *);
/* Moves what waited for the flows of a connection, and frees those that nobody needs. */
void flow_steer(struct conn *);
/* A timer of the connection: a comment on each stream that waits. */
void flow_beat(void *conn);

struct exchange {
	struct exchange *prev, *next;          /* of the channel */
	struct exchange *waits_prev, *waits_next; /* of the connection */
	struct channel *channel;
	int32_t stream;           /* HTTP/2's */
	struct buf head;          /* names and values, each with its NUL: method and target are those of :method and :path; until responded */
	struct buf body;
	uint64_t body_left;       /* HTTP/1.1: bytes that have not come */
	bool headed, complete;    /* the request's headers have come; all of it */
	bool responded;           /* what comes of its body then is not kept */
	struct buf response;      /* a body */
	size_t sent;              /* of it */
	bool streams;             /* or an event stream ... */
	struct flow *flow;        /* ... of this; NULL: it is over */
	struct conn *conn;        /* in whose list of waiting exchanges it is; or NULL */
};

struct channel {
	struct channel *prev, *next;
	struct server *server;
	struct endpoint far;
	struct io_layer tls;      /* arg: OpenSSL's, or NULL */
	enum { CHANNEL_NEW, CHANNEL_H1, CHANNEL_H2, CHANNEL_WS, CHANNEL_LINES } kind;
	uint64_t read;            /* bytes */
	struct buf in;            /* not understood yet */
	struct exchange *exchanges;
	size_t bodies;            /* bytes of requests */
	bool last;                /* HTTP/1.1: closed after this response */
	/* The head of a response: of an event stream where x->streams, or else of so many bytes. */
	void (*respond)(struct exchange *x, unsigned status, const char *const *headers, const char *type, size_t length);
	nghttp2_session *h2;
	unsigned noise;           /* HTTP/2: frames that cost and bring nothing, lately ... */
	uint64_t forgiven;        /* ... which is since then */
	struct conn *conn;        /* WebSocket, plain lines */
	struct loop_task task;    /* sends what can be sent, before the loop waits again */
	enum { PHASE_HEAD, PHASE_BODY, PHASE_BUSY, PHASE_IDLE, PHASE_END } phase; /* what timer is for */
	uint64_t last_read;       /* bytes, when timer was last started */
	const struct exchange *late; /* what it waited for then; or NULL, also if that is over */
	size_t late_sent;         /* bytes of its response that had been sent then */
	struct loop_timer timer;
};

struct exchange *exchange_new(struct channel *, int32_t stream);
void exchange_free(struct exchange *);
/* Adds a header. False: it does not fit, or out of memory. */
bool exchange_add(struct exchange *, struct slice name, struct slice value);
/* Is this a header that may come once only, and has come? */
bool exchange_repeats(const struct exchange *, const char *name);
/* The value of a header, or NULL. name: in small letters. */
const char *exchange_header(const struct exchange *, const char *name);
/* Some of the body has come. */
void exchange_body(struct exchange *, struct slice);
/* Responds; with an event stream, where x->flow. headers: pairs, the last of which is NULL; or NULL. */
void exchange_respond(struct exchange *, unsigned status, const char *const *headers, const char *type, struct slice body);
/* The same with text. */
void exchange_refuse(struct exchange *, unsigned status, const char *why);
/* Bytes of the response for the channel. *end: that was all. */
size_t exchange_read(struct exchange *, char *to, size_t n, bool *end);

/* --- channel.c: a TCP connection of a client, which speaks HTTP/1.1, HTTP/2 or WebSocket --- */

/* Takes over a socket. */
void channel_new(struct server *, int fd);
void channel_free(struct channel *);

/* There is more to send. */
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

enum { HEADERS = 16 * 1024 }; /* bytes of a request's: a token and cookies are in them */
void h1_receive(struct channel *);
void h1_send(struct channel *);
void h1_respond(struct exchange *, unsigned status, const char *const *headers, const char *type, size_t length);
/* 0, or -1: the channel has failed. */
int h2_open(struct channel *);
void h2_receive(struct channel *, struct slice);
void h2_send(struct channel *);
void h2_respond(struct exchange *, unsigned status, const char *const *headers, const char *type, size_t length);
void h2_finish(struct channel *);

/* --- serve.c: what a request gets --- */

/* The headers of a request have come: may its body come? Nothing more is done where it has its response. */
void serve_head(struct exchange *);
/* The same for a request that has come whole. */
void serve_request(struct exchange *);

#endif
