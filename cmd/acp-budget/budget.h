/*
 * budget: what the files of acp-budget have in common.
 *
 * Each session has a state of its own, and never waits for another session.
 *
 *   a prompt of the client      is refused (a limit is reached), or waits (a text of --at is sent first), or is
 *                               forwarded; one with a target opens a budget
 *   a turn ends                 below the target, the response is held and a nudge is sent; otherwise the budget
 *                               ends, and the response is forwarded with the sum of all turns
 *   cancel, close, a new prompt the budget ends when the running turn has ended
 */
#ifndef BUDGET_H
#define BUDGET_H

#include "lib/base/cli.h"
#include "lib/acp/commands.h"
#include "lib/frame/frame_options.h"
#include "lib/base/money.h"
#include "lib/session/session.h"
#include "lib/usage/usage.h"

static const char tool_name[] = "acp-budget";

/* --- the command line --- */

/* --at LEVEL=TEXT */
struct at {
	unsigned level; /* percent of the context */
	const char *text;
};

enum { ATS_MAX = 16 };
enum scope { SCOPE_USER, SCOPE_PROJECT, SCOPE_AGENT, SCOPE_KEY };
enum status { STATUS_STDERR, STATUS_TTY, STATUS_THOUGHT, STATUS_NOTICE, STATUS_NONE };

struct options {
	struct frame_options frame;
	uint64_t target;            /* output tokens; 0: none */
	bool from_prompt;
	unsigned threshold;         /* percent of the target at which no more nudges are sent */
	uint64_t min_gain, max_continuations;
	const char *nudge;
	bool estimate, hard;
	enum usage_basis basis;
	struct money_list limits; /* limits of costs and of tokens: see is_tokens */
	uint64_t max_turns;       /* UINT64_MAX: no limit */
	unsigned max_context;     /* percent; 0: no limit */
	const char *ledger;       /* its file, or "auto"; NULL: none */
	enum scope scope;         /* which entries of the ledger count */
	const char *key;          /* the key of SCOPE_KEY */
	bool strict;              /* refuse prompts if the ledger cannot be read and written */
	bool report;
	int by;                   /* what has a row in the report: an index of by_names */
	uint64_t max_silence;     /* us; 0: no limit */
	struct at at[ATS_MAX];
	size_t nat;
	enum status status;
};

/* Returns whether a limit is one of tokens: its currency is "", and the units of its amount are tokens. */
static inline bool
is_tokens(const struct money *m)
{
	return *m->currency == '\0';
}

/* --- sessions and budgets --- */

/* Whose turn it is: the data of a turn (NULL: of the client, without a target), and of a request. */
struct tag {
	enum { TAG_BUDGET, TAG_AT, TAG_WAITED } kind; /* WAITED: only of a request, a prompt that had to wait for a text of --at */
	struct budget_session *session;
};

/* Bits of budget_session.limits. LIMIT_AMOUNT is the first limit of costs or tokens; the others have the next bits. */
enum { LIMIT_TURNS = 1, LIMIT_CONTEXT = 2, LIMIT_AT = 4, LIMIT_CHILDREN = 8, LIMIT_TARGET = 16, LIMIT_AMOUNT = 32 };

/* The data of a session. session_data makes them when there is something to keep, such as a prompt or what the ledger counts. */
struct budget_session {
	struct session *session;
	struct usage_session *usage; /* NULL: lib/usage does not know the session yet */
	struct buf id;              /* a JSON string */
	struct budget *budget;      /* the budget of the client's last prompt, until the budget ends; or NULL */
	uint64_t prompts, turns;    /* of the client: prompts that were forwarded; turns that have ended */
	uint64_t output;            /* output tokens of all turns */
	uint64_t streamed;          /* --estimate: bytes of the agent's text in this turn */
	struct usage_figures counted; /* what the ledger has of this session and its sub-agents */
	bool explained;             /* the explanation was sent */
	bool compacting;            /* the agent has reported that a compaction runs */
	struct buf nudge;           /* the last nudge, until the client's next prompt */
	struct { size_t explanation, nudge; } echoed; /* how many bytes of a text the agent has repeated as a message of the user */
	struct {
		struct tag tag, waited;
		bool runs;              /* a text was sent, and its turn has not ended */
		uint64_t deadline;      /* us: until when to wait for the end of the turn, which was cancelled or lost; or 0 */
		unsigned fired, tried;  /* bits of options.at: sent since the context has reached the level; sent for prompts that wait */
		unsigned warned;        /* bits of options.at: it was reported that the agent does not list the command */
	} at;
	struct {
		uint64_t last;          /* us: when the agent last sent a message, or was sent a prompt or a response */
		unsigned acted;         /* how many multiples of max_silence have been acted upon */
		bool waits;             /* v2: the agent waits for the user (requires_action) */
	} silence;
	struct { unsigned reached, unenforced; } limits; /* unenforced: those that cannot be, as was reported */
	/* v2: the last idle state that ended a turn of a budget, as received and as forwarded: a repeat of the one becomes the other */
	struct { struct buf received, forwarded; } idle;
};

enum budget_state { BUDGET_RUNS, BUDGET_CANCELLED, BUDGET_OVER };

struct budget {
	struct tag tag;             /* the tag of its turns. The first member, since budget_of casts a tag to its budget */
	struct budget *next;        /* in the list of all budgets */
	struct buf id;              /* the id of the client's prompt */
	uint64_t target, tokens, gains[2], continuations; /* gains: the tokens of the last turn, and of the turn before */
	uint64_t began;             /* us */
	bool estimated;
	enum budget_state state;    /* OVER: it is freed when its turn has ended and its nudge has a response */
	unsigned refs;              /* the number of its open turns, and of its nudges without a response */
	uint64_t deadline;          /* us: until when to wait for the end of its nudge; 0: for ever */
	struct held *held;          /* the response to the client's prompt, or (v2) the idle state; or NULL */
	bool holds_idle;            /* held is an idle state */
	struct buf text;            /* what is forwarded in place of held; empty: held, as it came */
	struct buf why;             /* not empty: the reason why the budget ends with the running turn */
};

/* The budget that a tag belongs to, or NULL. */
static inline struct budget *
budget_of(struct tag *tag)
{
	return tag && tag->kind == TAG_BUDGET ? (struct budget *)tag : NULL;
}

/* How a turn ended. */
struct turn_end {
	struct budget_session *session; /* NULL: no turn has ended */
	struct tag *tag;            /* of a budget that is not over, or of a text of --at; or NULL */
	bool of_client;             /* a prompt of the client began the turn, or no prompt did */
	bool idle;                  /* v2: an idle state ended the turn */
	bool failed, counted, estimated; /* counted: output is known; estimated: from the text */
	uint64_t output;            /* tokens */
	struct slice stop, error;   /* the stop reason, a JSON string; the error object; or p NULL */
	struct slice outcome;       /* the result, or the idle update */
};

/* What tool_see has found out about a message. */
struct seen {
	struct session *about;      /* the session that the message, or the request that it answers, names; or NULL */
	struct session_request *request; /* the request that the message is, or answers; or NULL. Valid until the next message */
	struct slice kind;          /* the kind of a session/update: a JSON string, or p NULL */
	bool used;                  /* the message may have changed what a session has used */
	struct turn_end end;
};

struct tool {
	const struct options *options;
	struct frame *frame;
	struct sessions *sessions;  /* as the agent sees them */
	struct seen *seeing;        /* while a message is passed to sessions and usage: what is known of it; or NULL */
	struct usage *usage;
	struct ledger *ledger;      /* or NULL */
	struct usage_words words;
	struct commands *commands;
	struct budget *budgets;
	struct requests *answered;  /* prompts to which acp-budget has responded in the agent's place */
	uint64_t alarm;             /* us: when the timer expires next; 0: never */
	uint64_t last;              /* us: the silence.last of messages that belong to no session that runs */
	int tty;
	bool again;                 /* the frame shows prompts again that have waited */
	bool notices;               /* the client shows notices */
	const char *end_reason;     /* which side has ended first, in words; NULL: none yet */
	enum { COUNTS_UNKNOWN, COUNTS_LACKING, COUNTS_KNOWN } counts; /* some turn has ended without counts; with counts, which is stronger */
	uint64_t thoughts;          /* v2: how many were sent: each has an id */
};

/* The functions of each file, roughly from the lowest layer up. lib/session and lib/usage call those of turn.c back. */

/* session.c: what is known of each session, and what is sent in it */
/* Reports "out of memory" if r, which a function has returned, is not 0. Returns r. */
int tool_check(struct tool *, int r);
/* Returns the data of a session, and makes them if there are none. NULL: out of memory, which it reports. */
struct budget_session *session_data(struct tool *, struct session *);
/* Returns the data of the session with this id, a JSON string. NULL: the session is not known, or (unless make) has no data. */
struct budget_session *session_of(struct tool *, struct slice id, bool make);
/* Returns the data of a session, or of the nearest of its ancestors that has data; or NULL. */
struct budget_session *session_family(const struct session *);
/* Returns the data of the next session that has data; NULL: there is none. Begin with NULL. */
struct budget_session *session_next(const struct tool *, const struct budget_session *);
void session_free(struct budget_session *);
/* Sends a prompt of acp-budget, whose turn gets the tag, to the agent. 0, or -1 out of memory, which it reports. */
int session_prompt(struct tool *, struct budget_session *, struct slice text, struct tag *);
/* Returns the scope of a session: its project, its agent, or the key; "": all sessions, or the project or agent is not known. */
struct slice session_scope(const struct tool *, const struct budget_session *);
/* Returns whether a turn runs. A turn of acp-budget that has been given up does not count. */
bool session_runs(const struct budget_session *);
/* Returns whether the context has reached this level, in percent. */
bool session_is_at(const struct budget_session *, unsigned level);
/* Sends session/cancel to the agent. */
void session_cancel(struct tool *, const struct budget_session *);
/* Passes a message to lib/session and lib/usage, and fills in *seen. Call it with a prompt only when the prompt is forwarded. */
void tool_see(struct tool *, const struct message *, struct seen *);
/* Passes a message that acp-budget has sent to the client in the agent's place to lib/session, but not to lib/usage. */
void tool_see_own(struct tool *, struct slice text);
/* Sets the tag of the turn that this prompt has begun, if there is one. */
void tool_tag(struct session_request *, struct tag *);
/* Writes a line about a session to stderr. */
void session_report(struct tool *, const struct budget_session *, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Makes the timer expire at this time (us) or earlier. tool_deadline: a grace period from now, a time that *deadline gets. */
void tool_alarm(struct tool *, uint64_t when);
void tool_deadline(struct tool *, uint64_t *deadline);
/* Begins the time of --max-silence, after a message of the agent, or to it. NULL: the message belongs to no session that runs. */
void session_heard(struct tool *, struct budget_session *);

/* status.c: status_open returns 0, or -1 if there is no terminal, which it reports */
int status_open(struct tool *);
/* Shows how far a budget is, or (ends) how it has ended: why is NULL if the target was reached. */
void status_report(struct tool *, const struct budget *, bool ends, const char *why);
/* Appends a number as 125,000. 0, or -1 out of memory. */
int put_grouped(struct buf *, uint64_t);

/* limits.c */
/* Returns whether a limit is reached; then text (or NULL) gets the limit and the usage. prompt: --max-turns counts prompts. */
bool limits_reached(struct tool *, const struct budget_session *, bool prompt, struct buf *text);
/* Reports each limit that is reached, once; --hard then cancels. Call it when usage has changed, or (prompt) a prompt has come. */
void limits_check(struct tool *, struct budget_session *, bool prompt);
/* Adds to the ledger what the tree of a session (or NULL) has used; checks the limits of s, unless NULL, and of all that share them. */
void limits_spend(struct tool *, struct session *about, struct budget_session *);
/* Reports each limit that cannot be enforced, once. turn_ended: a turn has ended, so the agent had the chance to report usage. */
void limits_report_unenforced(struct tool *, struct budget_session *, bool turn_ended);

/* Writes how much of its limits each session has used, if stderr is a terminal. */
void limits_show(struct tool *);

/* ledger.c */
struct usage_entry;
/* Returns the path of a ledger, which the caller frees; for "auto", makes its directory. NULL out of memory. */
char *ledger_path(const char *name);
struct ledger *ledger_new(const struct options *);
void ledger_free(struct ledger *);
/* Reads and writes the ledger. Returns what is wrong with the ledger now, valid until the next call; NULL: nothing. */
const char *ledger_trouble(struct tool *);
/* Returns what all processes have spent of the limit with this index, in this scope and in the current period. */
struct decimal ledger_spent(struct tool *, struct slice scope, size_t limit);
/* Finds the cost of the session in this currency that the agent has reported last, in any process. False: none was found. */
bool ledger_last_cost(struct tool *, const struct budget_session *, struct slice currency, struct decimal *amount);
/* Adds the time to an entry, and writes the entry. */
void ledger_add(struct tool *, struct usage_entry *);
/* Writes the entries that could not be written before, or reports that they are lost. */
void ledger_end(struct tool *);

/* spend.c */
/* Adds to the ledger, if there is one, what all sessions of the tree of this session (or NULL) have used since the last entry. */
void session_spend(struct tool *, struct session *);
/* Moves the figures that the ledger has of a session to the root of its new parent, so that they are not added again. */
void session_joined(struct tool *, struct budget_session *child);

/* nudge.c */
/* The beginning of all texts that acp-budget sends because of a target. */
extern const char text_prefix[];
extern const char explanation[], default_nudge[];
/* Appends the text of a nudge, its placeholders filled in. 0, or -1 out of memory. */
int nudge_put(const struct tool *, const struct budget *, struct buf *to);

/* echo.c */
/* Removes the texts of acp-budget from a user message of the agent, live and in the history that session/load replays. */
enum verdict echo_see(struct tool *, struct budget_session *, struct slice update);
/* Appends the text in the content of an update. Returns its length in bytes. */
uint64_t content_text(struct slice update, struct buf *to);

/* target.c */
/* Returns the target in the text blocks of a prompt, a JSON array; 0: none. */
uint64_t target_in_prompt(struct slice blocks);

/* budget.c: what becomes of budgets at the end of a turn */
/* Counts a turn of the client that has ended with all its continuations, and checks the limits. */
void turn_over(struct tool *, struct budget_session *);
/* Returns whether budgets can be applied in this session, as far as is known. Reports once if not. */
bool budget_check(struct tool *, struct budget_session *);
/* Makes a budget for the prompt with this id. NULL out of memory. */
struct budget *budget_new(struct tool *, struct budget_session *, uint64_t target, struct slice id);
/* Frees the budgets that are over and without open turns and nudges, or all. */
void budgets_free(struct tool *, bool all);
/* Handles the message that has ended a turn of a budget: sends a nudge, and holds or drops the message; or ends the budget. */
enum verdict budget_turn(struct tool *, struct budget *, const struct turn_end *);
/* Ends a budget for this reason: now, or if a nudge runs, with the turn of the nudge. */
void budget_drop(struct tool *, struct budget *, const char *why);
/* Ends a budget as budget_drop does, because the client has cancelled, which gets "cancelled" even if the nudge fails. */
void budget_cancel(struct tool *, struct budget *);
/* Ends a budget now, and forwards its held response. why: for the report; NULL or empty: the target was reached. */
void budget_end(struct tool *, struct budget *, const char *why);
/* Ends all budgets of a session, also those that a new prompt has replaced; NULL: of all sessions. why: unless a budget has a reason. */
void budgets_end(struct tool *, const struct budget_session *, const char *why);

/* turn.c: how turns end */
/* Callbacks of lib/session and lib/usage. */
void turn_happened(void *tool, const struct session_event *);
void turn_used(void *tool, const struct usage_event *);
/* Counts the usage in the agent's late response to a prompt to which acp-budget has responded. */
void turn_late(struct tool *, const struct message *);
/* Handles the end of a turn, and returns the verdict on the message that has ended it. */
enum verdict turn_ended(struct tool *, const struct turn_end *);
/* A callback of the frame: handles the response to a request of acp-budget that has this tag. */
void turn_responded(void *tool, struct frame *, void *tag, const struct message *);
/* v2: returns the verdict on an idle state that has ended no turn. */
enum verdict turn_repeated(struct tool *, struct budget_session *, struct slice update);

/* prompt.c: what the client sends, and the texts of --at that are sent before it */
enum verdict prompt_came(struct tool *, const struct message *);
/* Responds with an error to the prompts that wait. */
void prompts_refused(struct tool *, struct budget_session *, int code, const char *why);
/* Responds with an error, in the agent's place, to the prompts that were forwarded (waited: only to those that had to wait). */
void prompts_failed(struct tool *, struct budget_session *, const char *why, bool waited);
/* Returns whether prompts_failed has responded to the prompt of this response, which is then dropped. */
bool prompt_was_answered(struct tool *, const struct message *);
void session_cancelled(struct tool *, struct budget_session *, bool closed);
/* Handles a $/cancel_request. */
enum verdict prompt_withdrawn(struct tool *, const struct message *);
/* Handles the end of the turn of a text of --at, which may also have been given up: no prompt waits for it any more. */
void at_ended(struct tool *, struct budget_session *);
/* clock.c: agents that fall silent, and cancelled continuations that do not end */
void clock_rings(struct tool *);

/* filter.c: returns the exit status */
int filter_run(const struct options *);

#endif
