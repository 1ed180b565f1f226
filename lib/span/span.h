/*
 * span: what took how long: requests, turns, tool calls, and waits for the user, from messages with times: a clock on lib/session's
 * events. Each moment of a turn belongs to one of three: to the user while a question to the user
 * (a permission, an elicitation) is open, else to tools while a tool call of the turn is open, else to the model. So tools that
 * overlap are counted once, and the three add up to the turn.
 */
#ifndef SPAN_H
#define SPAN_H

#include <stdint.h>

#include "lib/session/session.h"
#include "lib/usage/usage.h"

#define SPAN_NEVER UINT64_MAX /* of a time: it has not happened */

/* A request and its response, or a notification. */
struct span_request {
	enum acp_side from;   /* whom its sender speaks as */
	enum msg_kind kind;
	struct slice method;  /* a JSON string */
	const struct session *at; /* its session, or NULL */
	struct slice update;  /* the kind of a session/update: a JSON string, or p NULL */
	struct slice tool;    /* the name in a tools/call of MCP: a JSON string, or p NULL */
	bool tool_failed;     /* it is that, and the result says isError */
	uint64_t begin, end;
	bool failed;          /* the response is an error */
	bool unfinished;      /* there was no response */
};

/* The times of a turn, us. */
enum {
	SPAN_TOTAL,
	SPAN_FIRST_UPDATE, SPAN_FIRST_TEXT, /* after its begin, or SPAN_NEVER; no state_update; text: not of sub-agents */
	SPAN_SILENCE, /* the longest without a message from the agent, while the user was not waited for */
	SPAN_TOOLS, SPAN_USER, SPAN_MODEL, /* their sum is the total */
	SPAN_TIMES
};

struct span_turn {
	const struct session *session;
	uint64_t number;        /* in its session, from 1; while it waits for the one before, 0 */
	uint64_t order, asked;  /* among all turns that were asked for, and when: both stay as they are while it waits */
	uint64_t begin, end;
	bool failed;            /* the prompt's response is an error */
	bool unfinished;        /* the stream ended first */
	struct slice stop;      /* the stop reason: a JSON string, or p NULL */
	struct slice error;     /* of a response that failed: the error object, or p NULL */
	struct buf parent;      /* _meta.traceparent of the prompt, plain text */
	uint64_t times[SPAN_TIMES];
	uint64_t chunks;        /* of text and thoughts, not of sub-agents */
	struct usage_sums own;  /* as far as usage has been reported */
	const struct usage_session *usage; /* or NULL */
	/* the module's own */
	uint64_t at, quiet;
	unsigned running, waiting;
};

struct span_tool {
	const struct session *session;
	struct span_turn *turn;      /* in which it began, as long as that is open; or NULL */
	uint64_t begin, end;
	uint64_t ran;                /* us: end - begin without what it waited for the user */
	struct buf kind, name, title; /* plain text as it was reported last; may be empty */
	bool failed;
	bool unfinished;             /* its turn or the stream ended first */
	/* the module's own */
	uint64_t since;
	unsigned waiting;
	const char *id;              /* plain text, NUL after it */
	size_t n;
};

/* A question to the user. */
struct span_wait {
	const struct session *session; /* or NULL */
	struct span_turn *turn;       /* likewise */
	struct span_tool *tool;       /* about which it is, or NULL */
	uint64_t begin, end;
	struct slice method;          /* a JSON string */
	bool unfinished;
};

enum span_kind {
	SPAN_REQUEST, /* a request has been responded to, or a notification passed */
	SPAN_TURN,
	SPAN_TOOL,
	SPAN_RAN,     /* a tool call has run from begin to end without waiting for the user; several before one SPAN_TOOL */
	SPAN_WAIT,
};

/* Something has ended; in the order of the ends. Valid during the call. */
struct span_event {
	enum span_kind kind;
	uint64_t begin, end; /* us since the start of the stream or recording */
	const struct span_request *request;
	const struct span_turn *turn;
	const struct span_tool *tool;
	const struct span_wait *wait;
};

struct span;

/* event: called at each end, in span_see, span_begin and span_end. NULL when out of memory. */
struct span *span_new(void (*event)(void *arg, const struct span_event *), void *arg);
void span_free(struct span *);
/* A stream or recording begins (s since 1970, or 0): what was open ends unfinished. These return 0, or -1 out of memory. */
int span_begin(struct span *, double started);
/* A message went by, perhaps in an envelope; finds the request that it responds to by itself. */
int span_see(struct span *, const struct message *);
/* Messages were lost. */
void span_lost(struct span *);
/* The stream has ended. */
int span_end(struct span *);
/* s since 1970 of what is read, or 0; and what has been counted, for the names of agents and models. */
double span_started(const struct span *);
/* What it knows them by: data are those above. */
const struct sessions *span_sessions(const struct span *);
const struct usage *span_usage(const struct span *);

#endif
