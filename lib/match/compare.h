/*
 * compare: is a live message the same as a recorded one? No tree is built: both are read where they lie. On the way it learns which ids
 * and directories stand for which.
 */
#ifndef MATCH_COMPARE_H
#define MATCH_COMPARE_H

#include "lib/match/ids.h"

/*
 * How close they have to be: each level asks for all that those before it ask for, so the code compares levels (match >= MATCH_PARAMS),
 * and does not name each. Numbers compare by value, strings unescaped. JSON-RPC ids never matter, and
 * from MATCH_PARAMS up ids and paths are the same where they stand for each other.
 */
enum match {
	MATCH_METHOD, /* kind, method and kind of update */
	MATCH_SHAPE,  /* and members and types, whatever the lengths of arrays */
	MATCH_PARAMS, /* and values */
	/* And the order of members, null beside absence, and what lib/acp/acp.h calls metadata (_meta, times, costs). */
	MATCH_EXACT,
};

/* What they are called; NULL ends them. */
extern const char *const match_names[];

enum difference_kind {
	DIFFERENCE_VALUE,      /* both have it, and it is not the same */
	DIFFERENCE_MISSING,    /* only the recording has it */
	DIFFERENCE_UNEXPECTED, /* only the live side has it */
	DIFFERENCE_ID,         /* one of the ids has stood for another one before */
	DIFFERENCE_ORDER,      /* the same members in another order */
};

/* Valid during the call. The values are JSON text where they lie; p NULL where there is none. */
struct difference {
	enum difference_kind kind;
	struct slice path; /* as jq has it: .params.update.content[0].text; NUL after it */
	struct slice recorded, live;
};

struct compare {
	enum match match;
	struct ids *ids;      /* NULL: ids and paths stand for themselves */
	bool learn;           /* put what is new into ids: these two belong together */
	enum acp_side from;   /* who sent them */
	enum acp_method what; /* of responses: what their request was */
	struct slice session; /* of responses: the recorded session, where they do not say it; JSON text or p NULL */
	struct slice excluded[2]; /* a value in each, recorded and live, that is not compared here; or p NULL */
	/* Gets each difference, those of the recording in its order; false: no further ones. NULL: the first one is enough. */
	bool (*differs)(void *arg, const struct difference *);
	void *arg;
};

/*
 * 0 where they are the same, 1 where not, -1 out of memory. What is no message (MSG_NOISE, with its JSON
 * as text) is compared as a value.
 */
int compare_messages(const struct compare *, const struct msg *recorded, const struct msg *live);
/* The same for two JSON texts that json_scan has accepted. */
int compare_values(const struct compare *, struct slice recorded, struct slice live);

#endif
