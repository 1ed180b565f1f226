/* usage_parts: what the files of the usage module share. */
#ifndef USAGE_PARTS_H
#define USAGE_PARTS_H

#include "lib/usage.h"

enum {
	NAMES_MOST = 65536, /* how many different names are kept: a peer makes them up */
	NAMES_RECENT = 16,
};

/* What the turns of a session tell about the basis of its answers' counts. */
enum {
	EVIDENCE_FELL = 1,    /* they fell: no running total */
	EVIDENCE_TURN = 2,
	EVIDENCE_CALL = 4,
	EVIDENCE_SESSION = 8,
	EVIDENCE_MANY = 16,   /* there was more than one turn with counts */
	EVIDENCE_LESS = 32,   /* the rows have more: sub-agents on the same model, or the last call only */
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
	bool v2, told;
};

/* A prompt that was not answered in its piece. */
struct open {
	struct open *next;
	uint64_t t;
	bool enveloped;
	size_t id_length, session_length;
	char id[]; /* JSON; the session's behind it */
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
	uint32_t agent_before;         /* and whose it was when the piece that is joined began */
	struct usage_loose *loose, **loose_end;
	struct open *open, **open_end; /* of pieces that were joined */
	struct usage_session *waiting, *waiting_last; /* turns that were answered, oldest first */
	struct buf text;
	bool begun;                    /* a stream began here: what follows has no prompts elsewhere */
	bool greeted;                  /* an agent has said its name */
	bool heard;
	uint64_t first_t;
};

uint32_t usage_intern(struct usage *, struct slice plain);
/* The same for a JSON string; p NULL is 0. */
uint32_t usage_intern_string(struct usage *, struct slice string);
/* The text of a JSON string, in u->text where it has escapes. */
struct slice usage_plain(struct usage *, struct slice string);
struct usage_session *usage_session_get(struct usage *, struct slice plain);
enum usage_basis usage_agent_basis(struct slice name, struct slice version);
uint32_t usage_agent(struct usage *, uint32_t name, uint32_t version, bool v2);

/* What the _meta of a usage_update tells (usage_read.c). */
void usage_read_meta(struct slice meta, struct usage_report *);

/* Counts and bases (usage_figures.c). */
bool usage_fell(const struct usage_counts *now, const struct usage_counts *before);
void usage_less(struct usage_counts *, const struct usage_counts *before);
uint8_t usage_evidence(const struct usage_counts *before, const struct usage_turn *, uint64_t used, bool has_used);
bool usage_own(const struct usage_session *, const struct usage_turn *, enum usage_basis, struct usage_counts *);
void usage_sums_less(struct usage_sums *, const struct usage_counts *);

/* What a member of an answer (or of v2's idle state) is, by its path (keys, with their quotes, from the outside in). */
enum usage_part { USAGE_PART_NONE, USAGE_PART_ABOVE /* of one */, USAGE_PART_COUNTS, USAGE_PART_ROWS };
enum usage_part usage_part(bool idle, const struct slice *keys, size_t n);
/* The type of count that a key stands for; USAGE_TYPES: none. */
enum usage_type usage_spelled(struct slice key);
/* The members of a row per model. */
extern const char usage_row_model[], usage_row_counts[];

/* The flags of a session and of its head in a partial, and how many numbers come with them. */
enum {
	HAS_USED = 1, HAS_SIZE = 2, HAS_PEAK = 4, LOADED = 8, HAD_USAGE = 16, BUSY = 32, V2 = 64, CLEARED = 128, UNORDERED = 256,
	UNCALLED = 512, LIFETIME = 1024, JUDGED = 2048, FIRST_LOADED = 4096, PROMPTED = 8192, FIRST_HAS_USED = 16384,
};
enum { TURN_NUMBERS = 9, SESSION_NUMBERS = 14 };

/* Saying things (usage.c). usage_note: once for each `what` (USAGE_SAID_...) and session. */
void usage_note(struct usage *, struct usage_session *, unsigned what, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
void usage_malformed(struct usage *, struct usage_session *, const char *what);
void usage_happened(struct usage *, const struct usage_event *);
struct usage_loose *usage_loose_new(struct usage *, const struct usage_turn *, struct slice id);
/*
 * The session for an answer that nobody has asked for: the only one there is, or an unknown one. NULL for
 * an error: nobody knows what it answers. 0, or -1 out of memory.
 */
int usage_unknown_answer(struct usage *, const struct usage_turn *, struct usage_session **);

/* Costs (usage_cost.c). */
/* That of a currency, which is now the last one. NULL when out of memory. */
struct usage_cost *usage_cost_of(struct usage_session *, uint32_t currency);
/* Takes the cost of an update. 1 where it changed, 0 where not, -1 out of memory. */
int usage_take_cost(struct usage *, struct usage_session *, const struct usage_report *);

/* Turns (usage_turn.c). All but the last return 0, or -1 out of memory. */
int usage_model_add(struct usage_session *, uint32_t name, const struct usage_sums *, uint32_t turns);
/* What came before the first rows goes to the model of that time. */
int usage_begin_rows(struct usage *, struct usage_session *);
/* The rows of an answer, into the turn and the session's models. */
int usage_take_rows(struct usage *, struct usage_session *, const struct usage_counts *rows, const uint32_t *models, size_t n);
int usage_begin_turn(struct usage_session *, uint64_t t, bool prompted);
/* An answer came: the turn has ended, but for updates that come late. */
int usage_answer(struct usage *, struct usage_session *, const struct usage_turn *answer);
/* The turn is complete. */
int usage_judge(struct usage *, struct usage_session *);
/* A row without a total, and with nothing that may lie inside another: then there is one. */
void usage_complete(struct usage_counts *);
/* Says once which basis is taken for the counts of an agent, and why. */
void usage_tell_basis(struct usage *, struct usage_session *, bool at_end);

#endif
