/* usage_parts: what the files of the usage module share. */
#ifndef USAGE_PARTS_H
#define USAGE_PARTS_H

#include <stdlib.h>

#include "lib/session/session.h"
#include "lib/usage/usage.h"

/* The kinds of names. Each kind has its own limit, so that a peer who invents many of one kind leaves room for the others. */
enum usage_names { USAGE_CURRENCY, USAGE_MODEL, USAGE_CWD, USAGE_TITLE, USAGE_WORD, USAGE_NAMES };

enum {
	NAMES_MOST = 65536, /* names of each kind that are kept, for a peer can invent more */
	CURRENCIES_MOST = 1024,
	NAMES_RECENT = 16,
	USAGE_MODEL_BITS = 0xffffff, /* the bits of usage_tally.model, enough for all names of all kinds */
	SAME_PART = 1000000, /* a cost that falls by less than 1/SAME_PART has not begun again */
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
	uint8_t inside;         /* USAGE_..._INSIDE and _BESIDE; 0: not known */
	bool covers;            /* a session's rows and costs include its children's */
	bool basis_reported;
};

struct usage {
	struct usage_spec spec;
	struct usage_session *sessions;
	struct usage_session *latest;  /* the session that was looked up last */
	struct name *names;
	struct name **numbered;
	struct name *recent[NAMES_RECENT]; /* the names that were asked for last, by their length and last byte */
	size_t nnames, nkind[USAGE_NAMES];
	struct agent *agents;          /* the first stands for an unknown agent */
	size_t nagents;
	uint32_t agent;                /* the agent of what is being read: an index of `agents` */
	struct usage_session *waiting; /* sessions whose turns have ended and wait for judgement, the oldest first */
	struct sessions *stream;       /* the fold of usage_see, or NULL */
	bool begun;                    /* initialize or a prompt was seen: no response belongs to a prompt before the stream */
	bool failed;                   /* out of memory */
	bool v2;                       /* the connection is of version 2 */
	struct buf text;
	double started;                /* when this recording began, s since 1970; 0: not known */
	bool restarted;                /* the agent was restarted in this recording */
	uint32_t nparts;               /* how many parts this recording has */
	struct usage_session *in_recording; /* the sessions that have a part in this recording */
	/* What usage_see's message has ended: it may also begin the session's next turn, and then the ended turn is judged already. */
	struct {
		const struct usage_session *session; /* NULL: it has ended no turn */
		bool known, has_context;
		struct usage_sums own;
		uint64_t context;
	} ended;
};

/* The costs of a session in one currency, over all its parts: the sum of all pieces but the last, and the last piece. */
struct usage_account {
	struct usage_account *next;
	uint32_t currency;   /* a name's number */
	uint32_t restarts;
	bool restarted;      /* the agent was restarted, and no cost has been reported since */
	bool known;          /* `at_turn` is known */
	bool too_large;      /* a sum did not fit */
	struct decimal closed, last;
	struct decimal doubt;   /* what the total lacks if agents began at 0 where this is not known */
	struct decimal at_turn; /* the total when the turn began */
};

/*
 * The kinds of updates that are read: the name; the place of its members (read.c; all other kinds are IN_OTHER); what the report is
 * about; where in the name three bytes stand that are rare elsewhere, and a bit for these bytes (scan.c).
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
/* Keeps a name, and returns its number; beyond the limit that of "(others)", or 0 for a currency, as others cannot be added up. */
uint32_t usage_intern(struct usage *, enum usage_names, struct slice plain);
/* Keeps the name that is in a JSON string, as usage_intern does, and returns its number; 0 if p is NULL. */
uint32_t usage_intern_string(struct usage *, enum usage_names, struct slice string);
/* The text of a JSON string; if it has escapes, in u->text until the next call. */
struct slice usage_plain(struct usage *, struct slice string);
/* Finds the session with this id, or makes it. NULL when out of memory. */
struct usage_session *usage_session_get(struct usage *, struct slice plain);
/* Gives the child this parent, unless it has one. False if it would become its own ancestor. */
bool usage_adopt(struct usage_session *parent, struct usage_session *child);
/* Adds a part at the end of the session's list, and makes it `now`. NULL when out of memory. */
struct usage_part *usage_part_new(struct usage *, struct usage_session *, double started);
/* Finds an agent, or adds it, and returns its number; 0 if it cannot be kept. */
uint32_t usage_agent(struct usage *, uint32_t name, uint32_t version);
/* Finds a tally of the part, or makes it. NULL when out of memory. */
struct usage_tally *usage_tally_of(struct usage_part *, uint32_t model, int32_t period, uint8_t tier);
/* Finds a currency's share in a period, or makes it. first: the share of the part's first value. NULL when out of memory. */
struct usage_share *usage_share_of(struct usage_part *, int32_t period, uint32_t currency, bool first);

/* Counts (counts.c). */
/* Reads a JSON object of sums. NULL, or the name of the first member that is not a sum. */
const char *usage_sums_read(struct slice object, struct usage_sums *);
/* The total, or the sum of input and output if no total was reported; at most 2^64-1. */
uint64_t usage_total_of(const struct usage_counts *);
/* Adds the total to counts that have only input and output, since then no type can include another. */
void usage_complete(struct usage_counts *);

/* Bases (basis.c). usage_agent_infer sets what an agent's name and version say; other agents stay as they are. */
void usage_agent_infer(const char *name, const char *version, struct agent *);
/* Adds a turn's evidence of the basis to its session, and decides the part's basis if the evidence is clear. */
void usage_infer_basis(struct usage_session *, const struct usage_turn *);
/* A turn's own tokens, by the basis. False if the agent does not report them. lower: they are a lower bound. */
bool usage_turn_own(const struct usage_session *, const struct usage_turn *, enum usage_basis, struct usage_sums *own,
	bool *lower);
/* Keeps the tokens and the context of the session's turn, which the message has ended. */
void usage_keep_end(struct usage *, const struct usage_session *);
/* The sum of the turn's calls, or else of its rows. False if there are neither. */
bool usage_reported(const struct usage_turn *, struct usage_sums *);

/* What a member of a response (or of v2's idle state) is, by its path: the keys, with their quotes, from the outside in. */
enum usage_member { USAGE_MEMBER_NONE, USAGE_MEMBER_ABOVE /* of counts or rows */, USAGE_MEMBER_COUNTS, USAGE_MEMBER_ROWS };
enum usage_member usage_member(bool idle, const struct slice *keys, size_t n);
/* The type of count that a key spells, or USAGE_TYPES. */
enum usage_type usage_spelled(struct slice key);
/* The names of the members of a row per model. */
extern const char usage_row_model[], usage_row_counts[];

/* Notes and events (table.c). usage_note gives each note `what` (USAGE_NOTE_...) once for a session. */
void usage_note(struct usage *, struct usage_session *, unsigned what, bool verbose, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
void usage_note_malformed(struct usage *, struct usage_session *, const char *what);
void usage_emit(struct usage *, const struct usage_event *);

/* Takes the cost of an update (cost.c). 1 if the cost changed, 0 if not, -1 out of memory. */
int usage_add_cost(struct usage *, struct usage_session *, uint64_t t, const struct usage_report *);
/* Takes note of a restart of the agent in all accounts of a session. */
void usage_accounts_restart(struct usage_session *);
/* Makes a session's accounts again from its parts. 0, or -1 out of memory. */
int usage_accounts_make(struct usage *, struct usage_session *);
/* Adds up an account. False if the sum is too large. */
bool usage_account_total(const struct usage_account *, struct usage_money *);
/* The cost of a part in a currency, or NULL. */
struct usage_cost *usage_cost_in(const struct usage_part *, uint32_t currency);
/* Keeps what the session cost when its turn begins. */
void usage_cost_begin_turn(struct usage_session *);

/* Turns (turn.c). Functions of type int return 0, or -1 out of memory. */
int usage_begin_turn(struct usage *, struct usage_session *, uint64_t t);
/* Ends the turn with its response; updates that come late still belong to it. */
int usage_end_turn(struct usage *, struct usage_session *, uint64_t asked, uint64_t t, const struct usage_report *);
/* Judges the turn that has ended, and begins an empty one. */
int usage_judge(struct usage *, struct usage_session *);
/* How many of usage_tiers a context of this size exceeds. */
uint8_t usage_tier(uint64_t context);
/* After a restart of the agent, begins a new part of the session, in which the open turn goes on. */
int usage_part_after_restart(struct usage *, struct usage_session *);
/* Ends a session's recording: judges its turn, and forgets what the next recording must not know. */
int usage_close(struct usage *, struct usage_session *);

#endif
