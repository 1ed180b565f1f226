/* usage_parts: what the files of the usage module share. */
#ifndef USAGE_PARTS_H
#define USAGE_PARTS_H

#include <stdlib.h>

#include "lib/session/session.h"
#include "lib/usage/usage.h"

/* What a name is of. Each kind has its own bound, so that a peer who makes up many of one kind has all of the others. */
enum usage_names { USAGE_CURRENCY, USAGE_MODEL, USAGE_CWD, USAGE_TITLE, USAGE_WORD, USAGE_NAMES };

enum {
	NAMES_MOST = 65536, /* how many different names of a kind are kept: a peer makes them up */
	CURRENCIES_MOST = 1024,
	NAMES_RECENT = 16,
	USAGE_MODEL_BITS = 0xffffff, /* of usage_tally.model: all names of all kinds are fewer */
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
	size_t nnames, room, nkind[USAGE_NAMES];
	struct agent *agents;          /* the first is nobody */
	size_t nagents;
	uint32_t agent;                /* an index of agents: the agent of what is being read */
	struct usage_session *waiting; /* for judgement: their turns have ended, the oldest first */
	struct sessions *stream;       /* usage_see's; or NULL */
	bool begun;                    /* initialize or a prompt was seen: no response is to a prompt before the stream */
	bool failed;                   /* out of memory */
	struct buf text;
	double started;                /* of this recording */
	bool restarted;                /* the agent was restarted in this recording */
	uint32_t nparts;               /* of this recording */
	struct usage_session *in_recording; /* the sessions that this recording has */
};

/* The costs of a session in one currency, over all its parts: the pieces but the last, and that one. */
struct usage_account {
	struct usage_account *next;
	uint32_t currency;   /* a name */
	uint32_t restarts;
	bool restarted;      /* the agent was restarted, and no cost has been reported since */
	bool known;          /* at_turn means something */
	bool too_large;      /* a sum does not fit */
	struct decimal closed, last;
	struct decimal doubt;   /* what has to be added, should agents have begun at 0 where that is not known */
	struct decimal at_turn; /* the total when the turn began */
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
/* The number of a name; beyond the bound that of "(others)", or 0 for a currency: what is in others is not added. */
uint32_t usage_intern(struct usage *, enum usage_names, struct slice plain);
/* The same for a JSON string; p NULL is 0. */
uint32_t usage_intern_string(struct usage *, enum usage_names, struct slice string);
/* The text of a JSON string, in u->text where it has escapes. */
struct slice usage_plain(struct usage *, struct slice string);
/* The session of that id, made where there is none. NULL when out of memory. */
struct usage_session *usage_session_get(struct usage *, struct slice plain);
/* The child gets this parent, unless it has one. False where it would be its own ancestor. */
bool usage_adopt(struct usage_session *parent, struct usage_session *child);
/* A new part at the end of its list, which is `now`. NULL when out of memory. */
struct usage_part *usage_part_new(struct usage *, struct usage_session *, double started);
uint32_t usage_agent(struct usage *, uint32_t name, uint32_t version, bool v2);
/* A tally of the part. NULL when out of memory. */
struct usage_tally *usage_tally_of(struct usage_part *, uint32_t model, int32_t period, uint8_t tier);
/* The share of a currency in a period; of its first value, whose period it keeps, where `first`. NULL when out of memory. */
struct usage_share *usage_share_of(struct usage_part *, int32_t period, uint32_t currency, bool first);

/* Counts (counts.c). */
/* Reads a JSON object of sums. NULL, or the name of the first that is no sum. */
const char *usage_sums_read(struct slice object, struct usage_sums *);
/* The total, or where none was reported, input and output. */
uint64_t usage_total_of(const struct usage_counts *);
/* A row without a total, and with nothing that may lie inside another: then there is one. */
void usage_complete(struct usage_counts *);

/* Bases (basis.c). */
void usage_agent_infer(const char *name, const char *version, struct agent *);
/* Adds a turn's evidence of the basis of this part; decides it where that is clear. */
void usage_infer_basis(struct usage_session *, const struct usage_turn *);
/* A turn's own counts, of the basis. False where the wire lacks them. lower: they are a lower bound. */
bool usage_turn_own(const struct usage_session *, const struct usage_turn *, enum usage_basis, struct usage_sums *own,
	bool *lower);
/* What the turn's calls, or else its rows, add up to. False where there are none. */
bool usage_reported(const struct usage_turn *, struct usage_sums *);

/* What a member of a response (or of v2's idle state) is, by its path (keys, with their quotes, from the outside in). */
enum usage_member { USAGE_MEMBER_NONE, USAGE_MEMBER_ABOVE /* of one */, USAGE_MEMBER_COUNTS, USAGE_MEMBER_ROWS };
enum usage_member usage_member(bool idle, const struct slice *keys, size_t n);
/* The type of count that a key spells; USAGE_TYPES: none. */
enum usage_type usage_spelled(struct slice key);
/* The members of a row per model. */
extern const char usage_row_model[], usage_row_counts[];

/* Saying things (table.c). usage_note: once for each `what` (USAGE_NOTE_...) and session. */
void usage_note(struct usage *, struct usage_session *, unsigned what, bool verbose, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
void usage_note_malformed(struct usage *, struct usage_session *, const char *what);
void usage_emit(struct usage *, const struct usage_event *);

/* Takes the cost of an update (cost.c). 1 where it changed, 0 where not, -1 out of memory. */
int usage_add_cost(struct usage *, struct usage_session *, uint64_t t, const struct usage_report *);
/* The accounts: a restart of the agent; all anew from the parts (-1: out of memory); what one adds up to (false: it is too large). */
void usage_accounts_restart(struct usage_session *);
int usage_accounts_make(struct usage *, struct usage_session *);
bool usage_account_total(const struct usage_account *, struct usage_money *);
/* The cost of a currency in a part, or NULL. */
struct usage_cost *usage_cost_in(const struct usage_part *, uint32_t currency);
/* A turn begins: what the session cost until then. */
void usage_cost_begin_turn(struct usage_session *);

/* Turns (turn.c). All return 0, or -1 out of memory. */
int usage_begin_turn(struct usage *, struct usage_session *, uint64_t t);
/* A response came: the turn has ended, but for updates that come late. */
int usage_end_turn(struct usage *, struct usage_session *, uint64_t asked, uint64_t t, const struct usage_report *);
/* The turn is complete. */
int usage_judge(struct usage *, struct usage_session *);
/* How many of usage_tiers a context of that size exceeds. */
uint8_t usage_tier(uint64_t context);
/* The agent was restarted: begins a new part of the session, in which the open turn goes on. */
int usage_part_after_restart(struct usage *, struct usage_session *);
/* The session is not followed any more in this recording. */
int usage_close(struct usage *, struct usage_session *);

#endif
