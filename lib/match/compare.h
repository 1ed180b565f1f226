/*
 * compare: finds the differences between a recorded and a live message. It reads both where they lie, without a tree, and learns on
 * the way which of their ids and directories correspond.
 */
#ifndef MATCH_COMPARE_H
#define MATCH_COMPARE_H

#include "lib/match/ids.h"

/*
 * Which parts of the messages have to be equal. Each level includes all earlier levels, so that code compares levels (match >=
 * MATCH_PARAMS). Numbers compare by value, strings unescaped. JSON-RPC ids never matter. From MATCH_PARAMS on, ids and paths are
 * equal if they correspond.
 */
enum match {
	MATCH_METHOD, /* kind, method and kind of update */
	MATCH_SHAPE,  /* also members and types, whatever the lengths of arrays */
	MATCH_PARAMS, /* also values */
	/* also the order of members, whether one is null or absent, and the metadata of lib/acp/acp.h (_meta, times, costs) */
	MATCH_EXACT,
};

/* The names of the levels, NULL at the end. */
extern const char *const match_names[];

enum difference_kind {
	DIFFERENCE_VALUE,      /* both messages have the value, and the values differ */
	DIFFERENCE_MISSING,    /* only the recorded message has it */
	DIFFERENCE_UNEXPECTED, /* only the live message has it */
	DIFFERENCE_ID,         /* one of the ids has corresponded to another one before */
	DIFFERENCE_ORDER,      /* both have the same members, in another order */
};

/* Valid while the callback runs. The values are JSON text in the messages; p NULL: the message has none. */
struct difference {
	enum difference_kind kind;
	struct slice path; /* in the form of jq: .params.update.content[0].text; a NUL follows */
	struct slice recorded, live;
};

struct compare {
	enum match match;
	struct ids *ids;      /* NULL: ids and paths correspond to themselves only */
	bool learn;           /* the messages belong together: add their new pairs to ids */
	enum acp_side from;   /* the sender of both */
	enum acp_method what; /* of responses: the method of their request */
	struct slice session; /* of responses that name no session: the recorded session; JSON text, or p NULL */
	struct slice excluded[2]; /* a value in the recorded and one in the live message that are not compared; or p NULL */
	/* Gets each difference, in the order of the recorded message; returns false to stop. NULL: the first difference is enough. */
	bool (*differs)(void *arg, const struct difference *);
	void *arg;
};

/* Compares two messages; MSG_NOISE, with JSON as its text, is compared as a value. 0: equal; 1: different; -1 out of memory. */
int compare_messages(const struct compare *, const struct msg *recorded, const struct msg *live);
/* As compare_messages, for two JSON texts that json_scan has accepted. */
int compare_values(const struct compare *, struct slice recorded, struct slice live);

#endif
