/*
 * usage: the tokens, costs and context of sessions, from all that agents report about them.
 *
 * usage_read reads a message into a struct usage_report; its table (read.c) has all places and spellings. usage_add adds the report
 * to its session. A sub-agent's session is a child of the session that started it. For each recording (usage_begin) a session has a
 * struct usage_part: its tokens by model, its costs by currency, its context. A part passes only the last cost, context and model
 * to the next. So a summary is parts, written as JSON (usage_put_parts), and a merge sorts the parts of all recordings by time.
 *
 * A turn goes from a prompt to its response (version 2: to the idle state). It takes late updates until the next prompt, the end,
 * or a quiet time (usage_quiet). Then it is judged: its counts are added to the session's sums, by their basis.
 */
#ifndef USAGE_H
#define USAGE_H

#include <stdint.h>
/* When out of memory, uthash does not add an element, and leaves its hh.tbl NULL. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "lib/base/decimal.h"
#include "lib/acp/requests.h"

struct session_event;
struct session_message;

/* --- counts --- */

enum usage_type { USAGE_TOTAL, USAGE_INPUT, USAGE_OUTPUT, USAGE_THOUGHT, USAGE_READ, USAGE_WRITE, USAGE_TYPES };

/* The counts that one report has; bit i of `has` says whether it has n[i]. */
struct usage_counts {
	uint64_t n[USAGE_TYPES];
	unsigned has;
};

/* Sums of counts; bit i of `has` says whether any of them had n[i]. */
struct usage_sums {
	decimal_units n[USAGE_TYPES];
	uint8_t has;
};

/* Which types of tokens another type includes, and which are counted beside it. */
enum {
	USAGE_READ_INSIDE = 1, USAGE_READ_BESIDE = 2,         /* cache reads in the input, or beside it */
	USAGE_WRITE_INSIDE = 4, USAGE_WRITE_BESIDE = 8,       /* cache writes in the input, or beside it */
	USAGE_THOUGHT_INSIDE = 16, USAGE_THOUGHT_BESIDE = 32, /* thoughts in the output, or beside it */
};

/* The names of the types: "total", "input", "output", "thought", "cache_read", "cache_write". */
extern const char *const usage_types[];
void usage_sums_count(struct usage_sums *, const struct usage_counts *);
void usage_sums_add(struct usage_sums *, const struct usage_sums *);
/* Subtracts `less` from the sums, also below 0; `has` stays as it is. */
void usage_sums_less(struct usage_sums *, const struct usage_sums *less);
/* Appends one of the sums in decimal. 0, or -1 out of memory. */
int usage_sum_put(const struct usage_sums *, enum usage_type, struct buf *);
/* Appends the sums as a JSON object, under the names of their types. 0, or -1 out of memory. */
int usage_sums_put(const struct usage_sums *, struct buf *);
/* A sum in 64 bits; 2^64-1 if it is greater. It must not be below 0. */
uint64_t usage_clip(decimal_units);
/* The USAGE_..._INSIDE and _BESIDE on which all combinations agree that give the reported total; 0: none. */
uint8_t usage_inclusion(const struct usage_counts *);
/* The total, or the sum of input and output if no total was reported. */
decimal_units usage_total(const struct usage_sums *);
/*
 * Splits tokens into types that do not overlap, so that they can be added. inside: the USAGE_..._INSIDE that apply. USAGE_INPUT is
 * then without cached tokens, USAGE_OUTPUT without thoughts, and USAGE_TOTAL is the sum of all other types.
 */
void usage_disjoint(const struct usage_sums *, uint8_t inside, decimal_units to[USAGE_TYPES]);

/* What the counts of a response cover: its turn, the turn's last model call, or the session until then. AUTO: not decided. */
enum usage_basis { USAGE_AUTO, USAGE_TURN, USAGE_LAST_CALL, USAGE_SESSION };
extern const char *const usage_bases[]; /* "auto", "turn", "call", "session", NULL */

/* used / size in whole percent, rounded down, at most 100000; 0 if size is 0. */
int usage_percent(uint64_t used, uint64_t size);
/* Is `used` more than this percentage of `size`? at: also true where they are equal. */
bool usage_reaches(uint64_t used, uint64_t size, unsigned percent, bool at);

/* --- one message --- */

enum usage_what {
	USAGE_NOTHING,
	USAGE_HELLO,   /* the response to initialize: the agent's name and version, the protocol's version */
	USAGE_OPENED,  /* the response to session/new, load, resume, fork or set_config_option */
	USAGE_UPDATE,  /* the state of a session, or the tokens of a model call */
	USAGE_STATE,   /* version 2's state_update */
	USAGE_CHILD,   /* subagent_update */
	USAGE_COMPACT, /* compaction_update */
	USAGE_RESPONSE,  /* the response to a prompt: result or error */
};

/* What one message says. Slices are JSON values in the message; p is NULL where the message lacks the value. */
struct usage_report {
	enum usage_what what;
	struct slice session;      /* a string; p NULL for USAGE_HELLO, and for a response whose prompt is not known */
	struct slice child;        /* of USAGE_CHILD: the id of the sub-agent's session, a string */
	bool replayed;             /* the message belongs to a session's history */
	bool fresh;                /* of USAGE_OPENED: the session is new, and has used nothing */
	bool sub_agent;            /* `call` is a sub-agent's */
	bool unprompted;             /* the update reports work for which there was no prompt */
	bool has_used, cost_null;
	uint64_t used, size;       /* size: 0: the message lacks it */
	struct slice amount, currency;
	struct usage_counts counts; /* of a response, or of version 2's idle state */
	struct usage_counts call;   /* of one model call */
	struct slice rows;          /* an array of rows per model, for usage_row */
	struct slice model, title, cwd;
	struct slice stop;          /* the stop reason of a turn; the status of a compaction */
	bool failed;               /* the response is an error */
	struct slice name, version; /* of the agent, in USAGE_HELLO */
	bool v2;
	const char *wrong;         /* what is malformed, or NULL; all other members are valid */
	const char *differs;       /* the name of a draft's member that contradicts used and size, or NULL */
};

/* Reads a message. False if it says nothing about usage. */
bool usage_read(const struct message *, struct usage_report *);
/* Reads the next row; begin with an iterator that has only in = report.rows. False at the end. A malformed row sets *wrong. */
bool usage_row(struct json_iter *, struct slice *model, struct usage_counts *, const char **wrong);
/*
 * Appends `base`, the result of a prompt (idle: an idle state of version 2), with the counts of `more`, a later result of the same
 * agent, spliced in; all else is base's own bytes. Where the basis is the turn, or not decided, counts are added. Else the counts
 * of `more` include those of base, and replace them. Rows per model are always added. 0, or -1 out of memory.
 */
int usage_add_responses(struct slice base, struct slice more, bool idle, enum usage_basis, struct buf *to);
/* The tables by which usage_find finds words; usage_words fills them. */
struct usage_words {
	unsigned char low[3][16], high[3][16];
	bool wide; /* the machine compares 32 places at once, else one by one */
};
void usage_words(struct usage_words *);
/* Finds the next word that may matter in a text of many lines. Returns a place in the word, or `end`. */
const char *usage_find(const struct usage_words *, const char *from, const char *end);
/* Could a message in this text say something about usage? */
bool usage_may_matter(const struct usage_words *, struct slice text);

/* --- sessions --- */

/* The tokens that a turn was billed on one model. */
struct usage_row {
	uint32_t model; /* a name's number */
	struct usage_counts counts;
};

/*
 * An abandoned turn got no response, and is not counted. A turn that has ended takes late updates until it is judged. A sub-agent
 * works without a turn, and the end of its work is judged as the end of a turn is.
 */
enum usage_turn_state { USAGE_NO_TURN, USAGE_WORKS, USAGE_RUNS, USAGE_ABANDONED, USAGE_ENDED, USAGE_WORK_ENDED };
/* What updates have said of the session's context and cost during a turn. SPENT: a value has changed: a model was called. */
enum usage_turn_updates { USAGE_NO_UPDATE, USAGE_REPEATED, USAGE_SPENT };
/* Where the cost of a turn is counted. If the turn's prompt waited, its cost may be part of the previous turn's cost. */
enum usage_turn_cost { USAGE_OWN_COST, USAGE_PERHAPS_BEFORE, USAGE_COST_BEFORE };

/* All that was reported for a session's turn, which runs or has ended. */
struct usage_turn {
	uint64_t began, ended;             /* us; when the prompt was sent, and when the response came */
	struct usage_counts counts;        /* of the response */
	struct usage_sums *calls, *sub_agents; /* sums of the main loop's calls, and of sub-agents' calls; NULL: none */
	uint64_t last_call;                /* the total of the main loop's last call */
	struct usage_row *rows;
	size_t nrows;
	uint32_t ncalls, stop;             /* ncalls: the main loop's; stop: a name's number */
	enum usage_turn_state state : 8;
	enum usage_turn_cost cost : 8;
	enum usage_turn_updates updates : 8;
	bool costed;                       /* the session had a cost when the turn began */
	bool child_ran;                    /* a sub-agent of the session worked, or a sub-agent's sub-agent */
};

/* The costs of a part in one currency. A value that falls by more than a millionth begins a new piece. */
struct usage_cost {
	struct usage_cost *next;
	uint32_t currency;   /* a name's number */
	uint32_t places;     /* decimals of the value that was reported last */
	uint32_t restarts;
	bool zero;           /* the last value was 0, which begins no piece, and which `last` does not hold */
	bool restored;       /* the agent had not worked in this part when it reported `first` */
	struct decimal first, last; /* values that were not 0; 0: there was none */
	struct decimal closed;  /* the sum of all pieces before the last one */
};

/* An amount, and the most that it may be: after a restart of the agent it may be unknown whether its costs began at 0. */
struct usage_money {
	uint32_t currency;   /* a name's number */
	struct decimal amount, most;
};

/* The tokens of a part on one model, in one period (usage_spec.period). */
struct usage_tally {
	struct usage_tally *next;
	struct usage_sums *reported; /* while the basis is open: how much more `own` would be by its turns' calls or rows */
	uint32_t model : 24;       /* a name's number */
	uint32_t tier : 4;         /* how many of usage_tiers the context exceeds */
	bool own_lower : 1, billed_lower : 1; /* the sums are lower bounds */
	int32_t period;
	uint32_t turns, billed_turns; /* with it as the session's model; that were billed on it */
	struct usage_sums own;     /* tokens of the main loop */
	struct usage_sums billed;  /* tokens with sub-agents', as far as these are reported */
};

/* The money that a part spent in a period. */
struct usage_share {
	struct usage_share *next;
	int32_t period;
	bool first;          /* it is what the part's first value added, which depends on earlier parts */
	struct usage_money money;
};

/* What a session did in one recording. A restart of the agent begins another part. */
struct usage_part {
	struct usage_part *next;
	double started;            /* when the recording began, s since 1970; 0: not known */
	uint32_t number;           /* the part's place among all parts of the recording */
	uint32_t agent, model, cwd, title, malformed; /* numbers of the agent and the last names; count of malformed messages */
	uint8_t inside;            /* the USAGE_..._INSIDE and _BESIDE that its totals show */
	enum usage_basis basis : 8; /* USAGE_AUTO: not decided */
	bool restarted;            /* the part began with a restart of the agent */
	bool cleared;              /* after the last cost the agent has reported that there is none (version 2) */
	bool has_counts, has_rows; /* some response had counts; some response had rows per model */
	bool has_used;             /* used, size and peak were reported at a time that is not USAGE_NEVER */
	uint64_t used, size, peak; /* size: 0: not known */
	bool has_context;          /* the part had a context at any time: */
	uint64_t context;          /* the last one */
	struct usage_tally *tallies;
	struct usage_cost *costs;  /* the currency that was reported last comes first */
	struct usage_share *shares; /* if there is usage_spec.period, and of ledger entries */
};

/* Notes about a session, for usage_session.noted: each is given once. */
enum {
	USAGE_NOTE_WRONG = 1, USAGE_NOTE_DIFFERS = 2, USAGE_NOTE_OVER = 4, USAGE_NOTE_LIFETIME = 8,
	USAGE_NOTE_CURRENCY = 16, USAGE_NOTE_SILENT = 32, USAGE_NOTE_BASIS = 64, USAGE_NOTE_HISTORY = 128,
	USAGE_NOTE_LACKS = 256, USAGE_NOTE_SIZE = 512, USAGE_NOTE_CHILDREN = 1024,
};

/* How a session began in this recording. LOADED: since session/load no turn had counts; the first counts lack sub-agents. */
enum usage_origin { USAGE_UNKNOWN, USAGE_FRESH, USAGE_LOADED, USAGE_GOES_ON };

/* What speaks against running totals in a part: nothing; counts have fallen; some turn with counts had no calls or rows. */
enum usage_against { USAGE_NOTHING_AGAINST, USAGE_FELL, USAGE_UNREPORTED };

struct usage_session {
	UT_hash_handle hh;         /* all sessions, in the order in which they were seen */
	struct usage_session *parent, *child, *sibling; /* child: the first one; sibling: the parent's next child */
	struct usage_session *next_in_recording; /* the list usage.in_recording */
	struct usage_session *waits_before, *waits_after; /* the list usage.waiting: sessions whose turns wait for judgement */
	struct usage_part *parts, *tail, *now; /* by time; tail: the last; now: the part of the recording that is read, or NULL */
	const struct usage_part *paid; /* the last part that has costs */
	struct usage_account *accounts;
	uint64_t active;           /* us; when the last message about the session came */
	decimal_units reported_total; /* the total of this part's turns with counts, by their calls or rows */
	uint32_t reported_turns, turns, id_length; /* this part's turns with counts; all turns in this recording */
	uint32_t cwd, title;       /* names' numbers */
	uint32_t idle;             /* of a sub-agent: the hash of its last idle state; 0: none */
	uint16_t noted;
	uint16_t tool_flags, costs_reached; /* the tool's own, as is alert_level */
	uint8_t alert_level;
	enum usage_origin origin : 8;
	enum usage_against against : 8;
	bool had_usage;            /* usage of some turn in this recording was reported */
	bool cleared;              /* as of its parts */
	bool worked;               /* the agent may have worked in the session since it was restarted */
	/* The last values that are known; a recording passes them to the next. After usage_sort the context is that of the parts. */
	bool has_used;
	uint64_t used, size;       /* size: of the context window; 0: not known, also where `used` is not */
	uint32_t model, agent;
	struct usage_turn turn;
	struct usage_counts last;  /* of the last response in this recording that had counts */
	struct usage_sums *since;  /* the calls of later turns, which had no counts; NULL: none */
	char id[];                 /* plain text and a NUL; empty: the session of responses whose prompts are not known */
};

/* WORK: a sub-agent has become idle without a turn of its own; the event reports its usage as a turn's. */
enum usage_event_kind { USAGE_EVENT_UPDATE, USAGE_EVENT_TURN, USAGE_EVENT_COMPACT, USAGE_EVENT_WORK };

/* What has happened to a session. Valid during the call. */
struct usage_event {
	enum usage_event_kind kind;
	struct usage_session *session;
	uint64_t t;                    /* us; when the update came, or when the turn ended */
	const struct usage_turn *turn;
	bool changed;                  /* some value of the update differs from the one before */
	uint32_t status;               /* of a compaction: a name's number */
	/* The members below are a turn's. */
	struct usage_sums own, billed; /* tokens without and with sub-agents', as far as they are known */
	bool own_lower, billed_lower;  /* the sums are lower bounds */
	enum usage_basis basis;
	uint8_t tier;
};

/* Models may have other prices when the context is larger than these sizes. */
enum { USAGE_TIERS = 7 };
extern const uint64_t usage_tiers[USAGE_TIERS];

enum { USAGE_NEVER = INT32_MIN }; /* the period of usage that is not counted */

struct usage_spec {
	enum usage_basis basis;
	/* Returns the period of a time t (us) in a recording that began at `started` (s since 1970). NULL: there is only one. */
	int32_t (*period)(void *arg, double started, uint64_t t);
	bool tiers;   /* keep tallies for each tier of the context's size */
	bool whole;   /* the stream is seen from its beginning, so that a session that is not loaded is new */
	void (*event)(void *arg, const struct usage_event *);
	/* Reports what is odd about a session, once. verbose: a note that every run would give. */
	void (*note)(void *arg, const struct usage_session *, bool verbose, const char *text);
	/* Estimates for figures what tokens of a model cost, or NULL. 0; 1: not known; -1 out of memory. */
	int (*estimate)(void *arg, struct slice model, const struct usage_sums *, uint8_t inside, uint8_t tier, struct decimal *to);
	void *arg;
};

struct usage;

/* Free it with usage_free. NULL when out of memory. */
struct usage *usage_new(const struct usage_spec *);
void usage_free(struct usage *);
/* Begins a recording (started: s since 1970, or 0), and ends all that is open. 0, or -1 out of memory. */
int usage_begin(struct usage *, double started);
/*
 * Takes a message as it came; messages for which usage_may_matter is false may be left out. The message may begin and end turns. If
 * it says something about usage, `report` gets it without its envelope, and what usage_read has read; where `report` is NULL,
 * usage_add gets this. 0, -1 out of memory, or the result of `report`.
 */
int usage_see(struct usage *, const struct message *, int (*report)(void *arg, const struct message *, const struct usage_report *),
	void *arg);
/* For callers that have a fold of lib/session, instead of usage_see: takes all its events. arg: the struct usage. */
void usage_happened(void *arg, const struct session_event *);
/* Takes a message after its events; messages for which usage_may_matter is false may be left out. 0, or -1 out of memory. */
int usage_message(struct usage *, const struct session_message *);
/* Takes note of a restart of the agent: its next costs may go on from the last ones, or begin at 0. 0, or -1 out of memory. */
int usage_restart(struct usage *);
/* Adds the report that usage_read has read from a message at time t (us). 0, or -1 out of memory. */
int usage_add(struct usage *, uint64_t t, const struct usage_report *);
/*
 * Judges the ended turns of sessions about which no message came after `since` (us). *next: the time of the oldest last message
 * about another session with an ended turn, or 0. 0, or -1 out of memory.
 */
int usage_quiet(struct usage *, uint64_t since, uint64_t *next);
/* Judges the turn of one session, if it has ended. 0, or -1 out of memory. */
int usage_finish(struct usage *, struct usage_session *);
/* Ends the recording: judges all turns that are left. 0, or -1 out of memory. */
int usage_end(struct usage *);

struct usage_session *usage_find_session(const struct usage *, struct slice id);
/* The first session; hh.next is the session after it. */
struct usage_session *usage_sessions(const struct usage *);
size_t usage_count(const struct usage *);
/* The name (of a model, a currency, a stop reason) that has this number; "" for 0. */
struct slice usage_name(const struct usage *, uint32_t);
/* By the number of an agent: its name, its version, and the number of its name. */
struct slice usage_agent_name(const struct usage *, uint32_t);
struct slice usage_agent_version(const struct usage *, uint32_t);
uint32_t usage_agent_key(const struct usage *, uint32_t);

/* --- figures --- */

/* Sums of a session, a model, a day, or of all. Zero it to begin; usage_figures_free frees what it holds. */
struct usage_figures {
	uint64_t turns, malformed, restarts;
	struct usage_sums own, billed;
	bool own_lower, billed_lower;
	decimal_units cached, input; /* for the cache ratio: cache reads, and all input */
	struct usage_money *costs;   /* in the order of the currencies' names */
	size_t ncosts;
	bool too_large;              /* a sum of money does not fit */
	bool has_estimate;           /* usage_spec.estimate knew the price of some tokens */
	struct decimal estimate;
};

void usage_figures_free(struct usage_figures *);
/* These two functions add figures, or an amount, to `to`. 0, or -1 out of memory. */
int usage_figures_add(const struct usage *, struct usage_figures *to, const struct usage_figures *);
int usage_figures_money(const struct usage *, struct usage_figures *to, const struct usage_money *);
/* The cost in this currency, or NULL. */
const struct usage_money *usage_figures_cost(const struct usage *, const struct usage_figures *, const char *currency);
/* Adds a tally of a part. billed: as the use of its model; else as a share of its session. 0, or -1 out of memory. */
int usage_figures_tally(const struct usage *, const struct usage_session *, const struct usage_part *, const struct usage_tally *,
	bool billed, struct usage_figures *to);
/* Appends an amount for people, after ">=" if it may be more. 0, or -1 out of memory. */
int usage_money_put(const struct usage *, const struct usage_money *, struct buf *);
/* Adds a session's own figures, without its children's. 0, or -1 out of memory. */
int usage_figures_session(const struct usage *, const struct usage_session *, struct usage_figures *to);
/* Do the figures of the child's parent include those of the child? */
bool usage_is_covered(const struct usage *, const struct usage_session *child);
/* Adds the figures of a session and its children, each token and cost once. 0, or -1 out of memory. */
int usage_figures_family(const struct usage *, const struct usage_session *, struct usage_figures *to);
/* The USAGE_..._INSIDE and _BESIDE of a part, by its totals, or else by its agent. */
uint8_t usage_inside(const struct usage *, const struct usage_part *);

/* The basis that applies to the last part of a session; USAGE_TURN if none was decided. */
enum usage_basis usage_session_basis(const struct usage *, const struct usage_session *);
/* The tokens of the session's turn that the message of usage_see has ended, by its basis. False if they are not known exactly. */
bool usage_turn_tokens(const struct usage *, const struct usage_session *, struct usage_sums *);
/* The context after the last model call of that turn, or else of the one that runs. False if this call's counts are not known. */
bool usage_turn_context(const struct usage *, const struct usage_session *, uint64_t *);
/* What a session cost in a currency, over all recordings. False if there is no such cost, or it is too large. */
bool usage_cost_total(const struct usage_session *, uint32_t currency, struct usage_money *);
/* Has the cost fallen because it began again? Binary fractions may fall in their last digits, which is no new beginning. */
bool usage_cost_fell(struct decimal now, struct decimal last);
/* May the amount be more than is known? */
bool usage_cost_is_bound(const struct usage_money *);
/* How much the session's turn added to a cost. False if that is not known. */
bool usage_cost_of_turn(const struct usage_session *, const struct usage_cost *, struct decimal *);
/* The cost as the agent reported it last. */
struct decimal usage_cost_wire(const struct usage_cost *);
/* The costs of the last part that has some, with the last currency first; NULL: none. */
const struct usage_cost *usage_costs(const struct usage_session *);

/* --- merging --- */

/* Appends ,"name":"text", unless the text is empty. 0, or -1 out of memory. */
int usage_put_text(struct buf *, const char *name, struct slice text);
/* Appends ,"recordings":[...], the parts of a session, to a JSON object that is being written. 0, or -1 out of memory. */
int usage_put_parts(const struct usage *, const struct usage_session *, struct buf *);
/* Adds the session of an object with "recordings". 0; -1 out of memory; 1: it is malformed, as *why says. */
int usage_get_parts(struct usage *, struct slice object, const char **why);
/* Sorts the sessions, and the parts of each, by time. Call it before figures are read. 0, or -1 out of memory. */
int usage_sort(struct usage *);

#endif
