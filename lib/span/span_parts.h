/* What the files of span share: messages (span.c) know of turns, and these of tool calls. */
#ifndef SPAN_PARTS_H
#define SPAN_PARTS_H

#include "lib/span/span.h"

/* Tool calls that are remembered: of more, the oldest are given up. */
enum { TOOLS_MOST = 16 * 1024 };

struct span {
	void (*event)(void *arg, const struct span_event *);
	void *arg;
	struct requests *requests;    /* owner: of a prompt its struct span_turn, of a question its struct span_wait, or NULL */
	struct span_session *sessions;
	struct span_tool *tools;      /* all, the oldest first */
	size_t ntools;
	struct usage *usage;
	struct buf plain;
	uint64_t now, number;         /* now: the latest time that was seen; number: of sessions */
	double started;
};

/* turns.c */
/* NULL when out of memory. */
struct span_turn *span_turn_new(struct span *, struct span_session *, bool prompted);
/* Ends a turn, or takes one that has not begun out of the queue. 0, or -1 out of memory. */
int span_turn_end(struct span *, struct span_turn *);
/* Has the tokens counted that the session has reported so far: what comes later is not waited for. They are of no turn. */
int span_judge(struct span *, struct span_session *);
/* An update or a request of the agent; its kind: a JSON string, or p NULL. 0, or -1 out of memory. */
int span_turn_heard(struct span *, struct span_session *, const struct msg *, struct slice kind);
/* Version 2's states. */
int span_turn_state(struct span *, struct span_session *, struct slice update);

/* tools.c: 0, or -1 out of memory. */
int span_tool_update(struct span *, struct span_session *, struct slice update, bool first);
/* The turn ends: so do its session's calls; those of sub-agents go on without it. */
void span_tools_leave(struct span *, struct span_turn *);
void span_tools_end(struct span *, struct span_session *);
void span_tools_free(struct span *);
int span_wait_begin(struct span *, struct span_session *, struct request *, struct slice params);
void span_wait_end(struct span *, struct request *, bool unfinished);

void span_happened(struct span *, struct span_event);
/* A JSON string as plain text, valid until the next call. */
struct slice span_plain(struct span *, struct slice string);
struct span_session *span_root(struct span_session *);
/* Gives the time since it was last asked to the user, the tools or the model. */
void span_turn_clock(struct span_turn *, uint64_t now);

#endif
