/*
 * usage: what a session used, from all that agents say about it (PROTOCOL, section 3).
 *
 * A message is read into a struct usage_report (usage_read: the one table of places and spellings),
 * and the report goes into the state of its session, which is a struct usage_session. What comes
 * between a prompt and the next one of its session is a turn: its calls, its answer, its updates.
 * It is judged when it is complete: at the next prompt, at the end, or when it has been quiet
 * (usage_quiet). Then the counts of its answer are worth something, which depends on their basis;
 * so the state keeps the sums for each basis, and evidence for each, and whoever asks for figures
 * gets those of the basis that is believed at that time.
 *
 * The state of a session is so made that two of them can be joined (usage_join), where the second
 * continues the first: all sums add, and what depends on a neighbour (a cost that falls, counts that
 * grow, a turn that is cut) carries its first and last values. A summary of a piece of a stream so
 * is a state, written as JSON (usage_put_partial), with the prompts and answers that found no partner.
 */
#ifndef USAGE_H
#define USAGE_H

#include <stdint.h>
/* Where memory is out, an element is not added, and its hh.tbl is NULL. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "lib/decimal.h"
#include "lib/requests.h"

/* --- counts --- */

enum usage_type { USAGE_TOTAL, USAGE_INPUT, USAGE_OUTPUT, USAGE_THOUGHT, USAGE_READ, USAGE_WRITE, USAGE_TYPES };

/* What was reported; bit i of has tells whether n[i] was. */
struct usage_counts {
	uint64_t n[USAGE_TYPES];
	unsigned has;
};

/* Sums of counts: over[i] * 2^64 + n[i]. */
struct usage_sums {
	uint64_t n[USAGE_TYPES];
	uint32_t over[USAGE_TYPES];
	uint8_t has;
	uint8_t parts; /* USAGE_..._INSIDE and the like, as the totals told */
};

/* Which parts lie in which, or beside. */
enum {
	USAGE_READ_INSIDE = 1, USAGE_READ_BESIDE = 2,       /* cache reads and input */
	USAGE_WRITE_INSIDE = 4, USAGE_WRITE_BESIDE = 8,     /* cache writes and input */
	USAGE_THOUGHT_INSIDE = 16, USAGE_THOUGHT_BESIDE = 32, /* thoughts and output */
};

/* "total", "input", "output", "thought", "cache_read", "cache_write" */
const char *usage_type_name(enum usage_type);
void usage_sums_count(struct usage_sums *, const struct usage_counts *);
void usage_sums_add(struct usage_sums *, const struct usage_sums *);
/* Appends it in decimal. 0, or -1 out of memory. */
int usage_sum_put(const struct usage_sums *, enum usage_type, struct buf *);
int usage_sum_decimal(const struct usage_sums *, enum usage_type, struct decimal *);
/* For ratios only. */
double usage_sum_double(const struct usage_sums *, enum usage_type);
/* The combinations that give the reported total: what all of them agree on. */
uint8_t usage_parts(const struct usage_counts *);

/* The total, or where none was reported, input and output. */
uint64_t usage_total_of(const struct usage_counts *);

/* What the counts of an answer cover. */
enum usage_basis { USAGE_AUTO, USAGE_TURN, USAGE_LAST_CALL, USAGE_SESSION };
/* "auto", "turn", "call", "session" */
const char *usage_basis_name(enum usage_basis);

/* --- one message --- */

enum usage_what {
	USAGE_NOTHING,
	USAGE_HELLO,   /* the answer to initialize: name, version, protocol */
	USAGE_PROMPT,
	USAGE_LOAD,    /* a session that has a history: load, resume */
	USAGE_UPDATE,  /* the session's state, or what a model call used */
	USAGE_STATE,   /* v2's state_update: idle, or not */
	USAGE_ANSWER,  /* of a prompt: result or error */
};

/* What one message says. All slices are JSON values in the message, or p NULL. */
struct usage_report {
	enum usage_what what;
	struct slice session;      /* a string; NULL for an answer whose prompt is not known */
	bool enveloped;            /* the prompt, or the answer to one, that the agent's side sent on */
	uint64_t asked;            /* us: of an answer whose prompt is known, the prompt's time */
	bool has_used, has_size, cost_null;
	uint64_t used, size;
	struct slice amount, currency;
	struct usage_counts counts; /* of the answer, or of v2's idle state */
	struct usage_counts call;   /* of one model call */
	struct slice rows;          /* an array of rows per model: usage_row */
	struct slice model;
	struct slice stop;
	bool idle;                 /* of USAGE_STATE */
	bool accepted;             /* of USAGE_ANSWER: v2's, the turn goes on */
	bool failed;               /* of USAGE_ANSWER: it is an error */
	struct slice name, version; /* of USAGE_HELLO */
	bool v2;
	const char *wrong;         /* what is malformed, or NULL; the rest holds */
	const char *differs;       /* which of the drafts' members does not fit used and size, or NULL */
};

/* Reads a message. False where it says nothing about usage. */
bool usage_read(const struct seen *, struct usage_report *);
/*
 * The same of a text that has not been scanned, where it is an update in the usual spelling: most are, and this is much
 * faster. False where it is not; then scan and read it.
 */
bool usage_read_usual(struct slice text, struct usage_report *);
/* The next row: zero the iterator but for in = report.rows. False at the end; *wrong is set where a row is malformed. */
bool usage_row(struct json_iter *, struct slice *model, struct usage_counts *, const char **wrong);
/*
 * Appends `base`, the result of a prompt (or v2's idle state: idle), with the counts of `more`, another of the same
 * agent, added wherever they stand, as a splice: all else is base's own bytes. Where the agent's counts are not those
 * of a turn, `more`, the later one, has them already: they take the place of base's; rows per model are added always.
 * 0, or -1 out of memory.
 */
int usage_add_answers(struct slice base, struct slice more, bool idle, enum usage_basis, struct buf *to);
/* What usage_find looks for, made ready by usage_words. */
struct usage_words {
	unsigned char low[3][16], high[3][16];
	unsigned wide; /* bytes at a time, where the machine can: 64, 32 or 0 */
};
void usage_words(struct usage_words *);
/* The first place where something stands that may matter, in a text of many lines; or its end. At the speed of memory. */
const char *usage_find(const struct usage_words *, const char *from, const char *end);
/* Could a message in this text say something about usage? */
bool usage_may_matter(const struct usage_words *, struct slice text);

/* --- sessions --- */

/* What a session's turn has brought so far. */
struct usage_turn {
	uint64_t began, ended;        /* us; the prompt's and the answer's time */
	struct usage_counts answer, calls; /* calls: the sum of those that were reported */
	uint64_t last_call;           /* total of the last of them */
	uint64_t billed, billed_output, first_row; /* of the rows per model */
	struct decimal cost;          /* the session's total when the turn began */
	uint32_t ncalls, updates;     /* updates: with another used than the last */
	uint32_t stop;                /* a name */
	/* heard: it brought any usage at all; wrong: some of its answer was malformed */
	bool prompted, answered, rows, enveloped, failed, heard, wrong;
};

/* Costs of one currency. A value that falls begins a new piece. */
struct usage_cost {
	struct usage_cost *next;
	uint32_t currency;   /* a name */
	uint16_t places;     /* decimals as they were written last */
	bool given;          /* first and last are not only zeros */
	struct decimal shown;   /* the last value */
	struct decimal first, last; /* but for zeros, which begin nothing */
	struct decimal closed;  /* the sum of the pieces before the last one */
};

/* What one model was billed in a session. */
struct usage_model {
	struct usage_model *next;
	uint32_t name;
	uint32_t turns;
	struct usage_sums sums;
};

/* What joins a state to the one before it: kept where partials are asked for. */
struct usage_head {
	struct usage_turn before; /* what came before its first prompt */
	struct usage_turn first;  /* its first turn, when it was judged */
	uint64_t first_used;      /* the context when it was judged */
	bool judged, loaded, prompted, first_has_used;
};

/* What has been said, once per session. */
enum {
	USAGE_SAID_WRONG = 1, USAGE_SAID_DIFFERS = 2, USAGE_SAID_OVER = 4, USAGE_SAID_LIFETIME = 8,
	USAGE_SAID_CURRENCY = 16, USAGE_SAID_SILENT = 32, USAGE_SAID_BASIS = 64, USAGE_SAID_HISTORY = 128,
	USAGE_SAID_LACKS = 256, USAGE_SAID_SIZE = 512,
};

struct usage_session {
	UT_hash_handle hh;         /* all sessions, in the order in which they were seen */
	struct usage_session *answered_after, *answered_before; /* turns that wait for judgement */
	struct usage_head *head;
	struct usage_cost *cost;   /* of the last currency first */
	struct usage_model *models; /* only where rows per model were given */
	uint64_t first_t, last_t, active; /* active: when it was last heard of */
	uint64_t used, size, peak, peak_size;
	uint32_t turns, malformed, id_length, model, agent, restarts;
	uint16_t said, user;       /* user: for the tool */
	uint8_t evidence;          /* for a basis */
	uint8_t mark;              /* for the tool: alerts */
	uint16_t cost_mark;
	bool has_used, has_size, has_peak, loaded, had_usage, waiting, lifetime, busy, v2, cleared, unordered;
	bool uncalled;             /* counts of an answer came without those of its calls */
	uint32_t idle;             /* hash of v2's last idle state */
	struct usage_turn turn;
	struct usage_sums by_turn, by_call, by_session; /* the tokens, if the answers' counts have that basis */
	struct usage_counts last;  /* counts of the last answer */
	char id[];                 /* plain text, NUL behind it; empty: of answers whose prompts are not known */
};

enum usage_event_kind { USAGE_EVENT_UPDATE, USAGE_EVENT_TURN };

/* What has happened. Valid during the call. */
struct usage_event {
	enum usage_event_kind kind;
	struct usage_session *session;
	uint64_t t;                    /* us: of an update; of a turn: when it was answered */
	const struct usage_turn *turn;
	bool changed;                  /* of an update: other values than the last */
	/* of a turn: */
	struct usage_counts own;       /* whatever the basis; what the wire lacks is not there */
	bool has_billed;
	uint64_t billed, billed_output;
	bool has_cost;
	struct decimal cost;           /* what the session's cost grew by */
	enum usage_basis basis;
};

/* An answer whose prompt may be in the piece before. */
struct usage_loose {
	struct usage_loose *next;
	struct usage_turn turn;
	struct usage_counts *rows;
	uint32_t *models; /* of the rows */
	size_t nrows;
	size_t id_length;
	char id[];        /* JSON */
};

struct usage;

struct usage_spec {
	enum usage_basis basis;
	bool partial;   /* keep what usage_put_partial needs */
	void (*event)(void *arg, const struct usage_event *);
	/* Something to say about a session, once. */
	void (*note)(void *arg, const struct usage_session *, const char *text);
	void *arg;
};

/* NULL when out of memory. */
struct usage *usage_new(const struct usage_spec *);
void usage_free(struct usage *);
/* A message went by. 0, or -1 out of memory. */
int usage_see(struct usage *, const struct seen *);
/* A report of it, already read. */
int usage_take(struct usage *, uint64_t t, const struct usage_report *, struct slice id);
/* A new stream or recording begins. */
void usage_begin(struct usage *);
/* Judges the turns that have been answered and not been heard of since `since` us. Returns when the next one is due, or 0. */
int usage_quiet(struct usage *, uint64_t since, uint64_t *next);
/* Judges the turn of one session, if it has been answered. 0, or -1 out of memory. */
int usage_finish(struct usage *, struct usage_session *);
/* Judges all that are left. */
int usage_end(struct usage *);

struct usage_session *usage_find_session(const struct usage *, struct slice id);
struct usage_session *usage_sessions(const struct usage *);
struct usage_session *usage_next(const struct usage_session *);
size_t usage_count(const struct usage *);
/* A name (of a model, a currency, a stop reason) by its number; 0 is none: "". */
struct slice usage_name(const struct usage *, uint32_t);

/* The basis that is believed, and why; certain is false where it can not be known. */
enum usage_basis usage_session_basis(const struct usage *, const struct usage_session *, const char **why, bool *certain);
/* The tokens of a session at the basis believed. Where they can not be had, has is 0. */
void usage_session_tokens(const struct usage *, const struct usage_session *, struct usage_sums *);
/* What was billed: the sum of the rows per model where there are any, else the same. */
void usage_session_billed(const struct usage *, const struct usage_session *, struct usage_sums *);
/* The counts of the turn that has been answered, at the basis believed. False where the wire lacks them. */
bool usage_turn_tokens(const struct usage *, const struct usage_session *, struct usage_counts *);
/* The context after the last model call of the turn, where the turn tells one call's counts. */
bool usage_turn_context(const struct usage *, const struct usage_session *, uint64_t *);
/* The cost of a currency over all pieces. */
int usage_cost_total(const struct usage_cost *, struct decimal *);
/* used / size in whole percent, rounded down; -1 where it is not known. */
int usage_percent(const struct usage_session *);
/* Is used more than (or, where `at`, at least) so many percent of size? */
bool usage_reaches(uint64_t used, uint64_t size, unsigned percent, bool at);

/* --- pieces --- */

/* Appends ,"partial":{...} of a session, or of the stream, to a JSON object that is being written. 0, or -1 out of memory. */
int usage_put_session(const struct usage *, const struct usage_session *, struct buf *);
int usage_put_stream(const struct usage *, const struct requests *, struct buf *);
/*
 * Join a piece (its "partial" members): first its stream, then each of its sessions. Where ordered, it follows what
 * was joined before. 0; 1 where it is no such thing; -1 out of memory.
 */
int usage_join_stream(struct usage *, struct slice partial, bool ordered);
int usage_join_session(struct usage *, struct slice id, struct slice partial, bool ordered);
/* Where a piece begins, by its stream's partial: false where it does not say. more: it has the beginning of a recording in it. */
bool usage_piece_begins(struct slice partial, uint64_t *t, bool *more);
/* What found no partner in any piece. */
int usage_join_end(struct usage *);

#endif
