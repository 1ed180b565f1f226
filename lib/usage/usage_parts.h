/* usage_parts: what the files of the usage module share. */
#ifndef USAGE_PARTS_H
#define USAGE_PARTS_H

#include <stdlib.h>

#include "lib/usage/usage.h"

enum {
	NAMES_MOST = 65536, /* how many different names are kept: a peer makes them up */
	NAMES_RECENT = 16,
	SAME_PART = 1000000, /* a cost that falls by less than this part of it has not begun anew */
};

struct name {
	UT_hash_handle hh;
	uint32_t number;
	size_t length;
	char text[];
};

struct agent {
	uint32_t name, version;
	enum usage_basis basis; /* USAGE_AUTO: not known */
	uint8_t inside;         /* USAGE_..._INSIDE and the like; 0: not known */
	bool covers;            /* rows and costs of a session include its children */
	bool v2, basis_reported;
};

struct usage {
	struct usage_spec spec;
	struct usage_session *sessions;
	struct usage_session *latest;  /* that was looked up */
	struct name *names;
	struct name **numbered;
	struct name *recent[NAMES_RECENT]; /* those that were asked for last, by their length and end */
	size_t nnames, room;
	struct agent *agents;          /* the first is nobody */
	size_t nagents;
	uint32_t agent;                /* whose stream it is now */
	struct usage_session *waiting; /* for judgement: their turns were answered, oldest first */
	struct requests *open;
	size_t expected;               /* open requests whose responses are not found by a word */
	struct buf text;
	double started;                /* of this recording */
	struct usage_session *here;    /* the sessions that this recording has */
};

/*
 * The kinds of updates that are read: what a member of theirs stands in (read.c; all other kinds are IN_OTHER), what they
 * say, and where in the name three bytes stand that are rare elsewhere, with the bit for these (scan.c).
 */
#define USAGE_KINDS(KIND) \
	KIND("usage_update", IN_UPDATE, USAGE_UPDATE, 0, 1) \
	KIND("context_update", IN_UPDATE, USAGE_UPDATE, 6, 2) \
	KIND("state_update", IN_STATE, USAGE_STATE, 4, 2) \
	KIND("subagent_update", IN_CHILD, USAGE_CHILD, 7, 2) \
	KIND("config_option_update", IN_INFO, USAGE_UPDATE, 12, 2) \
	KIND("session_info_update", IN_INFO, USAGE_UPDATE, 11, 2) \
	KIND("compaction_update", IN_COMPACT, USAGE_COMPACT, 9, 2)

/* Names and sessions (table.c). */
uint32_t usage_intern(struct usage *, struct slice plain);
/* The same for a JSON string; p NULL is 0. */
uint32_t usage_intern_string(struct usage *, struct slice string);
/* The text of a JSON string, in u->text where it has escapes. */
struct slice usage_plain(struct usage *, struct slice string);
/* The session of that id, made where there is none. NULL when out of memory. */
struct usage_session *usage_session_get(struct usage *, struct slice plain);
/* The child, which has no parent yet, gets this one. */
void usage_adopt(struct usage_session *parent, struct usage_session *child);
/* A new part at the end of its list, which is `now`. NULL when out of memory. */
struct usage_part *usage_part_new(struct usage *, struct usage_session *, double started);
uint32_t usage_agent(struct usage *, uint32_t name, uint32_t version, bool v2);
/* A tally of the part. NULL when out of memory. */
struct usage_tally *usage_tally_of(struct usage_part *, uint32_t model, int32_t period, uint8_t tier);
struct usage_share *usage_share_of(struct usage_part *, int32_t period, uint32_t currency);

/* What the _meta of a usage_update says (read.c). */
void usage_read_meta(struct slice meta, struct usage_report *);

/* Does the response to this request open a session, or say which model it has? */
bool usage_opens(enum acp_method);

/* Bases (basis.c). */
void usage_agent_infer(struct slice name, struct slice version, struct agent *);
/* What a turn tells about the basis of this part; decides it where that is clear. */
void usage_infer_basis(struct usage_session *, const struct usage_turn *);
/* A turn's own counts, of the basis. False where the wire lacks them. lower: they are a lower bound. */
bool usage_turn_own(const struct usage_session *, const struct usage_turn *, enum usage_basis, struct usage_sums *own,
	bool *lower);
/* What the turn's calls, or else its rows, add up to. False where there are none. */
bool usage_reported(const struct usage_turn *, struct usage_sums *);

/* What a member of a response (or of v2's idle state) is, by its path (keys, with their quotes, from the outside in). */
enum usage_place { USAGE_PLACE_NONE, USAGE_PLACE_ABOVE /* of one */, USAGE_PLACE_COUNTS, USAGE_PLACE_ROWS };
enum usage_place usage_place(bool idle, const struct slice *keys, size_t n);
/* The type of count that a key stands for; USAGE_TYPES: none. */
enum usage_type usage_spelled(struct slice key);
/* The members of a row per model. */
extern const char usage_row_model[], usage_row_counts[];

/* Saying things (notes.c). usage_note: once for each `what` (USAGE_NOTE_...) and session. */
void usage_note(struct usage *, struct usage_session *, unsigned what, bool verbose, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
void usage_note_malformed(struct usage *, struct usage_session *, const char *what);
void usage_emit(struct usage *, const struct usage_event *);

/* Takes the cost of an update (cost.c). 1 where it changed, 0 where not, -1 out of memory. */
int usage_take_cost(struct usage *, struct usage_session *, uint64_t t, const struct usage_report *);
/* How often the costs of a currency have begun anew. */
uint64_t usage_cost_restarts(const struct usage_session *, uint32_t currency);
/* What the parts before have, when a currency is new in a part, or the order of the parts has changed. */
void usage_cost_link(const struct usage_part *, struct usage_cost *);
/* The cost of a currency in a part, or NULL. */
const struct usage_cost *usage_cost_in(const struct usage_part *, uint32_t currency);
/* A turn begins: what the session cost until then. */
void usage_cost_begin_turn(struct usage_session *);

/* Turns (turn.c). All return 0, or -1 out of memory. */
int usage_begin_turn(struct usage *, struct usage_session *, uint64_t t, bool prompted);
/* A response came: the turn has ended, but for updates that come late. */
int usage_answer(struct usage *, struct usage_session *, uint64_t t, const struct usage_report *);
/* The turn is complete. */
int usage_judge(struct usage *, struct usage_session *);
/* A row without a total, and with nothing that may lie inside another: then there is one. */
void usage_complete(struct usage_counts *);
/* The session is not followed any more in this recording. */
int usage_close(struct usage *, struct usage_session *);

#endif
