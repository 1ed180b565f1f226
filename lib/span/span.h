/*
 * span: measures how long requests, turns, tool calls and waits for the user take, by the events of lib/session. Each moment of a turn
 * belongs to the user while a question to the user (a permission, an elicitation) is open, else to tools while a tool call of the turn is
 * open, else to the model. So overlapping tool calls are counted once, and the three times add up to the turn's.
 */
#ifndef SPAN_H
#define SPAN_H

#include <stdint.h>

#include "lib/session/session.h"
#include "lib/usage/usage.h"

#define SPAN_NEVER UINT64_MAX /* the time of an event that did not happen */

/* A request and its response, or a notification. */
struct span_request {
	enum acp_side from;   /* the side that its sender speaks for */
	enum msg_kind kind;
	struct slice method;  /* a JSON string */
	const struct session *at; /* its session, or NULL */
	struct slice update;  /* the kind of a session/update: a JSON string, or p NULL */
	struct slice tool;    /* the name in a tools/call of MCP: a JSON string, or p NULL */
	bool tool_failed;     /* the result of a tools/call of MCP says isError */
	uint64_t begin, end;
	bool failed;          /* the response is an error */
	bool unfinished;      /* it got no response */
};

/* The times of a turn, us. */
enum {
	SPAN_TOTAL,
	SPAN_FIRST_UPDATE, SPAN_FIRST_TEXT, /* from its begin, or SPAN_NEVER; UPDATE: not a state_update; TEXT: not of sub-agents */
	SPAN_SILENCE, /* the longest time without a message from the agent, and without waits for the user */
	SPAN_TOOLS, SPAN_USER, SPAN_MODEL, /* their sum is the total */
	SPAN_TIMES
};

struct span_turn {
	const struct session *session;
	uint64_t number;        /* in its session, from 1; 0: it waits for the turn before */
	uint64_t order, asked;  /* order: among all turns that were asked for; asked: when its prompt came */
	uint64_t begin, end;
	bool failed;            /* the prompt's response is an error */
	bool unfinished;        /* nothing in the stream ended it */
	struct slice stop;      /* the stop reason: a JSON string, or p NULL */
	struct slice error;     /* of a failed prompt: the error object; or p NULL */
	struct buf parent;      /* _meta.traceparent of the prompt, plain text */
	uint64_t times[SPAN_TIMES];
	uint64_t chunks;        /* chunks of text and thoughts, without sub-agents */
	struct usage_sums own;  /* the usage that was reported before its end */
	const struct usage_session *usage; /* or NULL */
	/* private */
	uint64_t at, quiet;
	unsigned running, waiting;
};

struct span_tool {
	const struct session *session;
	struct span_turn *turn;      /* the turn in which it began, while that is open; or NULL */
	uint64_t begin, end;
	uint64_t ran;                /* us: end - begin without its waits for the user */
	struct buf kind, name, title; /* plain text, as last reported; may be empty */
	bool failed;
	bool unfinished;             /* it ended with its turn or the stream */
	/* private */
	uint64_t since;
	unsigned waiting;
	const char *id;              /* plain text, with a NUL at its end */
	size_t n;
};

/* A question to the user. */
struct span_wait {
	const struct session *session; /* or NULL */
	struct span_turn *turn;       /* or NULL */
	struct span_tool *tool;       /* the tool call that it is about; or NULL */
	uint64_t begin, end;
	struct slice method;          /* a JSON string */
	bool unfinished;
};

enum span_kind {
	SPAN_REQUEST, /* a request and its response, or a notification */
	SPAN_TURN,
	SPAN_TOOL,
	SPAN_RAN,     /* a part of a tool call without waits for the user; several before its SPAN_TOOL */
	SPAN_WAIT,
};

/* An interval that has ended. Intervals come in the order of their ends. Valid during the call of the event function. */
struct span_event {
	enum span_kind kind;
	uint64_t begin, end; /* us since the start of the stream or recording */
	const struct span_request *request;
	const struct span_turn *turn;
	const struct span_tool *tool;
	const struct span_wait *wait;
};

struct span;

/* event: called for each interval, by span_see, span_begin and span_end. Returns NULL out of memory. */
struct span *span_new(void (*event)(void *arg, const struct span_event *), void *arg);
void span_free(struct span *);
/* Begins a stream or recording (started: s since 1970, or 0): ends all that is open, as unfinished. 0, or -1 out of memory. */
int span_begin(struct span *, double started);
/* Handles a message, perhaps in an envelope; it finds the request of a response itself. 0, or -1 out of memory. */
int span_see(struct span *, const struct message *);
/* Handles that messages were lost here. */
void span_lost(struct span *);
/* Handles the end of the stream: ends all that is open, as unfinished. 0, or -1 out of memory. */
int span_end(struct span *);
/* When the stream or recording began, s since 1970; or 0. */
double span_started(const struct span *);
/* The sessions, with these structs as their data; the usage, for the names of agents and models. Both are the span's. */
const struct sessions *span_sessions(const struct span *);
const struct usage *span_usage(const struct span *);

#endif
