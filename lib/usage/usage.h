/*
 * usage: what sessions use, from all that agents report about it.
 *
 * A message is read into a struct usage_report (usage_read: the one table of places and spellings). The report goes
 * into the session that it is about. Sessions form a tree: a sub-agent's session is a child of the one that started it.
 * For each recording (usage_begin) a session has a struct usage_part: its tokens by model, its costs by currency, its
 * context. Between the parts of a session only the last cost, context and model cross. So a summary of a whole recording
 * is its parts, written as JSON (usage_put_parts), and a merge is the parts of all recordings, sorted by time.
 *
 * A turn goes from a prompt to its response (version 2: to the idle state), and takes late updates until the next prompt,
 * the end, or a quiet time (usage_quiet); then it is judged: what its counts are worth depends on their basis.
 */
#ifndef USAGE_H
#define USAGE_H

#include <stdint.h>
/* Where memory is out, an element is not added, and its hh.tbl is NULL. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "lib/base/decimal.h"
#include "lib/acp/requests.h"

struct session_event;
struct session_message;

/* --- counts --- */

enum usage_type { USAGE_TOTAL, USAGE_INPUT, USAGE_OUTPUT, USAGE_THOUGHT, USAGE_READ, USAGE_WRITE, USAGE_TYPES };

/* What was reported; bit i of has says whether n[i] was. */
struct usage_counts {
	uint64_t n[USAGE_TYPES];
	unsigned has;
};

/* Sums of counts. */
struct usage_sums {
	decimal_units n[USAGE_TYPES];
	uint8_t has;
};

/* Which parts lie in which, or beside. */
enum {
	USAGE_READ_INSIDE = 1, USAGE_READ_BESIDE = 2,         /* cache reads and input */
	USAGE_WRITE_INSIDE = 4, USAGE_WRITE_BESIDE = 8,       /* cache writes and input */
	USAGE_THOUGHT_INSIDE = 16, USAGE_THOUGHT_BESIDE = 32, /* thoughts and output */
};

/* "total", "input", "output", "thought", "cache_read", "cache_write" */
extern const char *const usage_types[];
void usage_sums_count(struct usage_sums *, const struct usage_counts *);
void usage_sums_add(struct usage_sums *, const struct usage_sums *);
/* Takes `less` away, also below 0; what has is left alone. */
void usage_sums_less(struct usage_sums *, const struct usage_sums *less);
/* Appends it in decimal. 0, or -1 out of memory. */
int usage_sum_put(const struct usage_sums *, enum usage_type, struct buf *);
/* Appends them as a JSON object, by the names of their types. 0, or -1 out of memory. */
int usage_sums_put(const struct usage_sums *, struct buf *);
/* The sum, or what of it fits. */
uint64_t usage_clip(decimal_units);
/* The combinations that give the reported total: what all of them agree on. */
uint8_t usage_inclusion(const struct usage_counts *);
/* The total, or where none was reported, input and output. */
decimal_units usage_total(const struct usage_sums *);
/*
 * The tokens in kinds that do not overlap, so that they can be added, by what lies inside: USAGE_INPUT is without cached
 * tokens, USAGE_OUTPUT without thoughts; USAGE_TOTAL is their sum.
 */
void usage_disjoint(const struct usage_sums *, uint8_t inside, decimal_units to[USAGE_TYPES]);

/* What the counts of a response cover. */
enum usage_basis { USAGE_AUTO, USAGE_TURN, USAGE_LAST_CALL, USAGE_SESSION };
extern const char *const usage_bases[]; /* "auto", "turn", "call", "session", NULL */

/* used / size in whole percent, rounded down, 100000 at most; 0 where size is 0. */
int usage_percent(uint64_t used, uint64_t size);
/* Is used more than (or, where `at`, at least) that percentage of size? */
bool usage_reaches(uint64_t used, uint64_t size, unsigned percent, bool at);

/* --- one message --- */

enum usage_what {
	USAGE_NOTHING,
	USAGE_HELLO,   /* the response to initialize: name, version, protocol */
	USAGE_OPENED,  /* the response to session/new, load, resume or fork */
	USAGE_UPDATE,  /* the session's state, or what a model call used */
	USAGE_STATE,   /* version 2's state_update */
	USAGE_CHILD,   /* subagent_update */
	USAGE_COMPACT, /* compaction_update */
	USAGE_RESPONSE,  /* the response to a prompt: result or error */
};

/* What one message says. All slices are JSON values in the message, or p NULL. */
struct usage_report {
	enum usage_what what;
	struct slice session;      /* a string; NULL for a response whose prompt is not known */
	struct slice child;        /* of USAGE_CHILD: a string */
	bool replayed;             /* it is of a history */
	bool fresh;                /* of USAGE_OPENED: a new session, which has used nothing */
	bool sub_agent;            /* call is a sub-agent's */
	bool unprompted;             /* of an update: of work that no prompt asked for */
	bool has_used, has_size, cost_null;
	uint64_t used, size;
	struct slice amount, currency;
	struct usage_counts counts; /* of the response, or of an idle state */
	struct usage_counts call;   /* of one model call */
	struct slice rows;          /* an array of rows per model: usage_row */
	struct slice model, title, cwd;
	struct slice stop;          /* a stop reason; of USAGE_COMPACT the status */
	bool failed;               /* of a response: it is an error */
	struct slice name, version; /* of USAGE_HELLO */
	bool v2;
	const char *wrong;         /* what is malformed, or NULL; the rest holds */
	const char *differs;       /* which of the drafts' members does not fit used and size, or NULL */
};

/* Reads a message. False where it says nothing about usage. */
bool usage_read(const struct message *, struct usage_report *);
/* The next row: zero the iterator but for in = report.rows. False at the end; *wrong is set where a row is malformed. */
bool usage_row(struct json_iter *, struct slice *model, struct usage_counts *, const char **wrong);
/*
 * Appends `base`, the result of a prompt (or v2's idle state: idle), with the counts of `more`, another of the same
 * agent, added wherever they stand, as a splice: all else is base's own bytes. Where the agent's counts are not those
 * of a turn, `more`, the later one, has them already: they take the place of base's; rows per model are added always.
 * 0, or -1 out of memory.
 */
int usage_add_responses(struct slice base, struct slice more, bool idle, enum usage_basis, struct buf *to);
/* What usage_find looks for, made ready by usage_words. */
struct usage_words {
	unsigned char low[3][16], high[3][16];
	unsigned wide; /* bytes at a time, where the machine can: 64, 32 or 0 */
};
void usage_words(struct usage_words *);
/* Finds the next word that may matter in a text of many lines, at the speed of memory; or its end. */
const char *usage_find(const struct usage_words *, const char *from, const char *end);
/* Could a message in this text say something about usage? */
bool usage_may_matter(const struct usage_words *, struct slice text);

/* --- sessions --- */

/* What one model was billed in a turn. */
struct usage_row {
	uint32_t model; /* a name */
	struct usage_counts counts;
};

/* A turn that has ended takes late updates until it is judged. ABANDONED: it has no end, and was none. */
enum usage_turn_state { USAGE_NO_TURN, USAGE_RUNS, USAGE_ENDED, USAGE_ABANDONED };
/* Where the cost of a turn is. If its prompt waited, it cannot always be separated from the cost of the turn before. */
enum usage_turn_cost { USAGE_OWN_COST, USAGE_PERHAPS_BEFORE, USAGE_COST_BEFORE };

/* What a session's turn has brought so far. */
struct usage_turn {
	uint64_t began, ended;             /* us; the prompt's and the response's time */
	struct usage_counts counts;        /* of its response */
	struct usage_sums *calls, *sub_agents; /* of those that were reported; NULL: none */
	uint64_t last_call;                /* total of the last of the calls */
	struct usage_row *rows;
	size_t nrows;
	uint32_t ncalls, stop;             /* stop: a name */
	enum usage_turn_state state : 8;
	enum usage_turn_cost cost : 8;
	bool work;                         /* no turn, but the work of a sub-agent that nobody has prompted */
	bool reported;                     /* some usage of the turn was reported */
	bool costed;                       /* a cost was known when it began */
	bool child_ran;                    /* a sub-agent of the session worked, or one below that */
	bool spent;                        /* its context or cost has changed: a model was called */
};

/* Costs of one currency in a part. A value that falls by more than a millionth begins a new piece. */
struct usage_cost {
	struct usage_cost *next;
	uint32_t currency;   /* a name */
	uint32_t places;     /* decimals as they were written last */
	uint32_t restarts;
	bool nonzero;        /* first and last are not only zeros */
	bool restored;       /* first: the agent had not worked since the part began */
	bool zero;           /* the last value is 0, and not what is in last */
	struct decimal first, last; /* but for zeros, which begin nothing */
	struct decimal closed;  /* the sum of the pieces before the last one */
};

/* An amount, and the most that it may be: after a restart of the agent nobody may know whether its costs began at 0. */
struct usage_money {
	uint32_t currency;   /* a name */
	struct decimal amount, most;
};

/* The tokens of a part on one model, in one period (usage_spec.period). */
struct usage_tally {
	struct usage_tally *next;
	struct usage_sums *reported; /* of turns that report calls or rows: what these differ from own; while the basis is open */
	uint32_t model : 24;       /* a name */
	uint32_t tier : 4;         /* how many of usage_tiers the context was above */
	bool own_lower : 1, billed_lower : 1; /* the sums are lower bounds */
	int32_t period;
	uint32_t turns, billed_turns; /* turns: those of the session's model; billed_turns: those that it was billed in */
	struct usage_sums own;     /* of the main loop */
	struct usage_sums billed;  /* sub-agents included, as far as they are reported */
};

/* Money that was spent in a period. */
struct usage_share {
	struct usage_share *next;
	int32_t period;
	bool first;          /* by the part's first value: how much that added is known when the parts before it are */
	struct usage_money money;
};

/* What a session did in one recording, or until or after a restart of the agent in it. */
struct usage_part {
	struct usage_part *next;
	double started;            /* of the recording, s since 1970; 0: not known */
	uint32_t number;           /* among those of its recording */
	uint32_t agent, model, cwd, title, malformed; /* agent and the like: names, as they were last */
	uint8_t inside;            /* USAGE_..._INSIDE and the like, by the totals */
	enum usage_basis basis : 8; /* USAGE_AUTO: not decided */
	bool restarted;            /* it began with a restart of the agent */
	bool has_counts, has_rows; /* responses had counts; had rows per model */
	bool has_used, has_size;   /* has_used: it has a peak, too */
	uint64_t used, size, peak, peak_size;
	struct usage_tally *tallies;
	struct usage_cost *costs;  /* that of the last currency first */
	struct usage_share *shares; /* only where there are periods */
};

/* What has been said, once per session. */
enum {
	USAGE_NOTE_WRONG = 1, USAGE_NOTE_DIFFERS = 2, USAGE_NOTE_OVER = 4, USAGE_NOTE_LIFETIME = 8,
	USAGE_NOTE_CURRENCY = 16, USAGE_NOTE_SILENT = 32, USAGE_NOTE_BASIS = 64, USAGE_NOTE_HISTORY = 128,
	USAGE_NOTE_LACKS = 256, USAGE_NOTE_SIZE = 512, USAGE_NOTE_CHILDREN = 1024,
};

/* How a session began in this recording. LOADED: no turn has had counts since it was loaded; the first counts lack sub-agents. */
enum usage_origin { USAGE_UNKNOWN, USAGE_FRESH, USAGE_LOADED, USAGE_GOES_ON };

struct usage_session {
	UT_hash_handle hh;         /* all sessions, in the order in which they were seen */
	struct usage_session *parent, *child, *sibling; /* child: the first one */
	struct usage_session *next_in_recording; /* of usage.in_recording */
	struct usage_session *waits_before, *waits_after; /* in the order of those whose turns wait for judgement */
	struct usage_part *parts, *tail, *now; /* by time; tail: the last; now: of the recording that is read, or NULL */
	const struct usage_part *paid; /* the last that has costs */
	struct usage_account *accounts;
	uint64_t active;           /* when a message last spoke of it */
	decimal_units reported_total; /* of the turns of this part, by their calls or rows */
	uint32_t reported_turns, turns, id_length; /* turns: in this recording */
	uint32_t cwd, title;       /* names */
	uint32_t idle;             /* of a sub-agent: hash of its last idle state */
	uint16_t noted;
	uint16_t tool_flags, costs_reached; /* for the tool, as is the level of its alerts */
	uint8_t alert_level;
	enum usage_origin origin : 8;
	bool v2 : 1, had_usage : 1, lifetime : 1, cleared : 1;
	bool busy : 1;             /* a sub-agent works */
	bool fell : 1, unreported : 1; /* counts have fallen; some turns did not report calls or rows */
	bool worked : 1;           /* the agent may have worked in it since it was restarted */
	bool counted : 1;          /* somebody has said what it used */
	/* The last that is known: what crosses from one recording to the next. */
	bool has_used : 1, has_size : 1;
	uint64_t used, size;
	uint32_t model, agent;
	struct usage_turn turn;
	struct usage_counts last;  /* counts of the last response in this recording */
	struct usage_sums *since;  /* of turns after it, that had none: their calls; NULL: none */
	char id[];                 /* plain text, NUL after it; empty: of responses whose prompts are not known */
};

/* WORK: a sub-agent has become idle, without a turn of its own; what it used is that of a turn. */
enum usage_event_kind { USAGE_EVENT_UPDATE, USAGE_EVENT_TURN, USAGE_EVENT_COMPACT, USAGE_EVENT_WORK };

/* What has happened. Valid during the call. */
struct usage_event {
	enum usage_event_kind kind;
	struct usage_session *session;
	uint64_t t;                    /* us: of an update; of a turn: when it ended */
	const struct usage_turn *turn;
	bool changed;                  /* of an update: other values than the last */
	uint32_t status;               /* of a compaction: a name */
	/* of a turn: */
	struct usage_sums own, billed; /* what the wire lacks is not there */
	bool own_lower, billed_lower;  /* these are lower bounds */
	enum usage_basis basis;
	uint8_t tier;
};

/* Large contexts may have prices of their own, from these sizes on. */
enum { USAGE_TIERS = 7 };
extern const uint64_t usage_tiers[USAGE_TIERS];

enum { USAGE_NEVER = INT32_MIN }; /* the period of what is not counted */

struct usage_spec {
	enum usage_basis basis;
	/* The period of a time, or NULL: everything is one. */
	int32_t (*period)(void *arg, double started, uint64_t t);
	bool tiers;   /* keep apart by the size of the context */
	bool whole;   /* the stream is seen from its beginning: a session that is not loaded is new */
	void (*event)(void *arg, const struct usage_event *);
	/* Something to say about a session, once. verbose: every run would say it. */
	void (*note)(void *arg, const struct usage_session *, bool verbose, const char *text);
	/* What tokens of a model would cost, for figures, or NULL. 0; 1: not known; -1 out of memory. */
	int (*estimate)(void *arg, struct slice model, const struct usage_sums *, uint8_t inside, uint8_t tier, struct decimal *to);
	void *arg;
};

struct usage;

/* NULL when out of memory. */
struct usage *usage_new(const struct usage_spec *);
void usage_free(struct usage *);
/* A recording begins (s since 1970, or 0): what was open ends. 0, or -1 out of memory. */
int usage_begin(struct usage *, double started);
/*
 * A message went by, as it came (usage_may_matter says which messages need not be shown): turns begin and end by it, and where it
 * says something about usage, `take` gets it out of its envelope, with its report; NULL: usage_add does. 0, or -1 out of memory
 * (or what take returned).
 */
int usage_see(struct usage *, const struct message *, int (*report)(void *arg, const struct message *, const struct usage_report *),
	void *arg);
/*
 * The same for who has a fold of lib/session: all its events (arg is the usage), and after them the message, if it may matter.
 */
void usage_happened(void *arg, const struct session_event *);
int usage_message(struct usage *, const struct session_message *);
/* The agent was restarted: its next costs may go on where they ended, or begin at 0. 0, or -1 out of memory. */
int usage_restart(struct usage *);
/* A report, already read. 0, or -1 out of memory. */
int usage_add(struct usage *, uint64_t t, const struct usage_report *);
/* Judges the turns that have ended, and of whose sessions nothing has come since `since` us. *next: when that was of the next, or 0. */
int usage_quiet(struct usage *, uint64_t since, uint64_t *next);
/* Judges the turn of one session, if it has ended. 0, or -1 out of memory. */
int usage_finish(struct usage *, struct usage_session *);
/* Judges all that are left. */
int usage_end(struct usage *);

struct usage_session *usage_find_session(const struct usage *, struct slice id);
/* The first; hh.next is the one after it. */
struct usage_session *usage_sessions(const struct usage *);
size_t usage_count(const struct usage *);
/* A name (of a model, a currency, a stop reason) by its number; 0 is none: "". */
struct slice usage_name(const struct usage *, uint32_t);
/* The name of an agent by its number, and that name's number. */
struct slice usage_agent_name(const struct usage *, uint32_t);
struct slice usage_agent_version(const struct usage *, uint32_t);
uint32_t usage_agent_key(const struct usage *, uint32_t);

/* --- figures --- */

/* What is summed up: of a session, a model, a day, or of all. Zero it to begin. */
struct usage_figures {
	uint64_t turns, malformed, restarts;
	struct usage_sums own, billed;
	bool own_lower, billed_lower;
	decimal_units cached, input; /* of the cache ratio: cache reads, and all input */
	struct usage_money *costs;   /* by the names of the currencies */
	size_t ncosts;
	bool too_large;              /* a sum of money does not fit */
	bool has_estimate;           /* where usage_spec.estimate is set */
	struct decimal estimate;
};

void usage_figures_free(struct usage_figures *);
/* All return 0, or -1 out of memory. */
int usage_figures_add(const struct usage *, struct usage_figures *to, const struct usage_figures *);
int usage_figures_money(const struct usage *, struct usage_figures *to, const struct usage_money *);
/* What a tally of a part of the session has; billed: on its model, else as part of its session. */
int usage_figures_tally(const struct usage *, const struct usage_session *, const struct usage_part *, const struct usage_tally *,
	bool billed, struct usage_figures *to);
/* Appends it as people read it; ">=" where it may be more. 0, or -1 out of memory. */
int usage_money_put(const struct usage *, const struct usage_money *, struct buf *);
/* A session's own figures, without its children. */
int usage_figures_session(const struct usage *, const struct usage_session *, struct usage_figures *to);
/* Do the figures of its parent include those of this child? */
bool usage_is_covered(const struct usage *, const struct usage_session *child);
/* A session's figures with those of its children, each token and cost once. */
int usage_figures_family(const struct usage *, const struct usage_session *, struct usage_figures *to);
/* What lies inside, by the totals and by the agent. */
uint8_t usage_inside(const struct usage *, const struct usage_part *);

/* The basis that is believed in the last part of a session. */
enum usage_basis usage_session_basis(const struct usage *, const struct usage_session *);
/* The tokens of the turn that has ended, at the basis believed. False where the wire lacks them. */
bool usage_turn_tokens(const struct usage *, const struct usage_session *, struct usage_sums *);
/* The context after the last model call of the turn, where the turn has the counts of one call. */
bool usage_turn_context(const struct usage *, const struct usage_session *, uint64_t *);
/* The cost in a currency over all recordings. False where there is none. */
bool usage_cost_total(const struct usage_session *, uint32_t currency, struct usage_money *);
/* Has a cost begun anew? Binary fractions fall in their last digits without that. */
bool usage_cost_fell(struct decimal now, struct decimal last);
/* May it have been more? */
bool usage_cost_is_bound(const struct usage_money *);
/* What the turn added to it. False where that is not known. */
bool usage_cost_of_turn(const struct usage_session *, const struct usage_cost *, struct decimal *);
/* As it was reported last. */
struct decimal usage_cost_wire(const struct usage_cost *);
/* The costs that were reported last, that of the last currency first; NULL: none. */
const struct usage_cost *usage_costs(const struct usage_session *);

/* --- merging --- */

/* Appends ,"recordings":[...] to a JSON object that is being written. 0, or -1 out of memory. */
int usage_put_parts(const struct usage *, const struct usage_session *, struct buf *);
/*
 * Adds the session of such an object. 0, -1 out of memory, 1 where it is none that could have been written: *why says
 * what is wrong with it.
 */
int usage_get_parts(struct usage *, struct slice object, const char **why);
/* Sorts the sessions, and the parts of each, by time: before figures are read. 0, or -1 out of memory. */
int usage_sort(struct usage *);

#endif
