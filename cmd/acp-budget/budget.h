/*
 * budget: shared by the files of acp-budget.
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

/* --- what was asked for --- */

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
	uint64_t target;            /* 0: none */
	bool from_prompt;
	unsigned threshold;         /* percent of the target at which no more nudges are sent */
	uint64_t min_gain, max_continuations;
	const char *nudge;
	bool estimate, hard;
	enum usage_basis basis;
	struct money_list limits; /* of costs and tokens: see is_tokens */
	uint64_t max_turns;       /* UINT64_MAX: no limit */
	unsigned max_context;     /* percent; 0: no limit */
	const char *ledger;       /* NULL: none; "auto" */
	enum scope scope;         /* what of the ledger counts */
	const char *key;          /* of SCOPE_KEY */
	bool strict;              /* no prompts without the ledger */
	bool report;
	int by;                   /* of the report */
	uint64_t max_silence;     /* us; 0: no limit */
	struct at at[ATS_MAX];
	size_t nat;
	enum status status;
};

/* Is it a limit of tokens? Then its currency is "", and the units of its amount are tokens. */
static inline bool
is_tokens(const struct money *m)
{
	return *m->currency == '\0';
}

/* --- sessions and budgets --- */

/* A text of acp-budget that the agent may repeat to the client as a message of the user. */
struct echo {
	struct buf text;
	size_t at; /* bytes of it that the agent has repeated so far */
};

/* Whose turn it is; of a turn of the client's without a target: NULL. The data of a turn, and of a request of acp-budget. */
struct tag {
	enum { TAG_BUDGET, TAG_AT, TAG_WAITED } kind; /* WAITED: of a request only: a prompt that had to wait for a text of --at */
	struct budget_session *session;
};

/* The data of a session: the client has prompted it, or the agent repeats what a user has said in it. */
struct budget_session {
	struct session *session;
	struct usage_session *usage; /* NULL: nothing is known yet */
	struct buf id;              /* a JSON string */
	struct budget *budget;      /* of the client's last prompt, until it ends; or NULL */
	uint64_t prompts, turns;    /* of the client: forwarded; ended */
	uint64_t output;            /* tokens of all turns */
	uint64_t streamed;          /* bytes of text in this turn */
	struct usage_figures counted; /* of it and its sub-agents: what the ledger has */
	bool explained, lack_reported; /* lack_reported: it was reported that targets cannot be applied */
	bool compacting;            /* the agent says so */
	struct echo explanation, nudge;
	struct {
		struct tag tag, waited;
		bool runs;              /* a text was sent, and its turn has not ended */
		uint64_t deadline;      /* us: after a cancel, how long to wait for its end; or 0 */
		unsigned fired, tried;  /* bits of options.at: sent since the context came to it; sent for those that wait */
		unsigned warned;        /* likewise: it was reported that the agent does not list the command */
	} at;
	struct {
		uint64_t last;          /* us: the last message of the agent */
		unsigned acted;         /* how many multiples of max_silence have been acted upon */
		bool waits;             /* v2: for the user (requires_action) */
	} silence;
	struct { unsigned reached, unenforced; } limits; /* bits of limits.c: reached; reported as not enforceable */
	/* v2: the last idle state of a budget, as it was received and as it was forwarded: its repeats are changed in the same way */
	struct { struct buf received, forwarded; } idle;
};

enum budget_state { BUDGET_RUNS, BUDGET_CANCELLED, BUDGET_OVER };

struct budget {
	struct tag tag;             /* of its turns. The first member: a tag of TAG_BUDGET is its budget */
	struct budget *next;        /* all there are */
	struct buf id;              /* of the prompt */
	uint64_t target, tokens, gains[2], continuations;
	uint64_t began;             /* us */
	bool estimated;
	enum budget_state state;    /* OVER: it waits for the end of its turn, or the response to its nudge, only to be freed */
	unsigned refs;              /* its turns that are open, and its nudge that has no response */
	uint64_t deadline;          /* us: how long to wait for the end of its nudge; 0: no limit */
	struct held *held;          /* the response to the client's prompt, or (v2) the idle state; or NULL */
	bool holds_idle;            /* it is an idle state */
	struct buf text;            /* what is forwarded in its place; empty: the line as it came */
	struct buf why;             /* not empty: it ends with the running turn, for this reason */
};

/* The budget that a tag belongs to, or NULL. */
static inline struct budget *
budget_of(struct tag *tag)
{
	return tag && tag->kind == TAG_BUDGET ? (struct budget *)tag : NULL;
}

/* How a turn ended. */
struct turn_end {
	struct budget_session *session; /* NULL: none has ended */
	struct tag *tag;            /* of a budget that is not over, or a text of --at; or NULL */
	bool of_client;             /* a prompt of the client began it, or nobody */
	bool idle;                  /* v2: with an idle state */
	bool failed, counted, estimated;
	uint64_t output;
	struct slice stop, error;   /* a JSON string; the error object; or p NULL */
	struct slice outcome;       /* the result, or the idle update */
};

/* What a message meant. */
struct seen {
	struct session *about;      /* the session that it names, or its request; or NULL */
	struct session_request *request; /* that it is, or answers; or NULL. Valid until the next message */
	struct slice kind;          /* of a session/update: a JSON string, or p NULL */
	bool used;                  /* it may have changed what a session has used */
	struct turn_end end;
};

struct tool {
	const struct options *options;
	struct frame *frame;
	struct sessions *sessions;  /* as the agent sees them */
	struct seen *seeing;        /* of the message that is passed to sessions and usage; or NULL */
	struct usage *usage;
	struct ledger *ledger;      /* or NULL */
	struct usage_words words;
	struct commands *commands;
	struct budget *budgets;
	struct requests *answered;  /* prompts to which acp-budget has responded in the agent's place */
	uint64_t alarm;             /* us: when the clock rings next; 0: never */
	uint64_t last;              /* us: the last message of no session that runs */
	int tty;
	bool client_left;           /* the client's input has ended first */
	bool again;                 /* prompts that have waited come again */
	bool notices;               /* the client shows them */
	const char *end_reason;     /* which side has ended first, in words; NULL: none yet */
	bool has_uncounted, has_counted; /* a turn came without counts; one came with some */
	uint64_t thoughts;
};

/* The files, from the lowest layer up: session.c calls back into turn.c through lib/session and lib/usage alone. */

/* session.c: what is known of each session, and what is sent in it */
/* Reports that memory is out where r is not 0, as a function has returned it. Returns r. */
int tool_check(struct tool *, int r);
/* The data of a session, made where there are none. NULL: out of memory, which it reports. */
struct budget_session *session_data(struct tool *, struct session *);
/* Those of the session with that id, a JSON string; NULL: it is not known, or (unless make) has none. */
struct budget_session *session_of(struct tool *, struct slice id, bool make);
/* Of the session, or of the nearest above it that has data; or NULL. */
struct budget_session *session_family(const struct session *);
/* All that have data: start with NULL. */
struct budget_session *session_next(const struct tool *, const struct budget_session *);
void session_free(struct budget_session *);
/* Sends a prompt of acp-budget to the agent. 0, or -1 when out of memory, which it reports. */
int session_prompt(struct tool *, struct budget_session *, struct slice text, struct tag *);
/* With which other sessions it counts: its project, its agent, or a key; "" where that is not known, or with all. */
struct slice session_scope(const struct tool *, const struct budget_session *);
/* Does anything run in it that is waited for? */
bool session_runs(const struct budget_session *);
/* Has the context come to this level, in percent? */
bool session_is_at(const struct budget_session *, unsigned level);
/* session/cancel, for what runs. */
void session_cancel(struct tool *, const struct budget_session *);
/* Passes a message to lib/session and lib/usage when it goes to the side that acts on it. */
void tool_see(struct tool *, const struct message *, struct seen *);
/* Passes to lib/session alone what acp-budget has said to the client in the agent's place. */
void tool_see_own(struct tool *, struct slice text);
/* Says whose turn it is that this prompt has begun. */
void tool_tag(struct session_request *, struct tag *);
/* A line on stderr about a session. */
void session_report(struct tool *, const struct budget_session *, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The clock rings at this time, or earlier; a grace period from now. */
void tool_alarm(struct tool *, uint64_t when);
void tool_deadline(struct tool *, uint64_t *deadline);
/* A sign of life, or a prompt that it is waited for; of no session in particular: NULL. */
void session_heard(struct tool *, struct budget_session *);

/* status.c */
int status_open(struct tool *);
/* How far the budget is, or how it ends: why is NULL if its target was reached. */
void status_report(struct tool *, const struct budget *, bool ends, const char *why);
/* A figure: 125,000. */
int put_grouped(struct buf *, uint64_t);

/* limits.c */
/* Is a limit reached, for a prompt of the client or of acp-budget? Then text (or NULL) gets the limit and the usage. */
bool limits_reached(struct tool *, const struct budget_session *, bool prompt, struct buf *text);
/* To be called when usage has changed, or for a prompt, which is one turn more: reports each limit that is reached, once. */
void limits_check(struct tool *, struct budget_session *, bool prompt);
/* Reports each limit that cannot be enforced, once. turn_ended: a turn has ended, so the agent had the chance to report usage. */
void limits_report_unenforced(struct tool *, struct budget_session *, bool turn_ended);

/* At a terminal: how much of its limits each session has used. */
void limits_show(struct tool *);

/* ledger.c */
struct usage_entry;
/* The path of a ledger: of "auto", its directory is made. To be freed; NULL when out of memory. */
char *ledger_path(const char *name);
struct ledger *ledger_new(const struct options *);
void ledger_free(struct ledger *);
/* What is wrong with it now; NULL: nothing. */
const char *ledger_trouble(struct tool *);
/* What was spent of a limit, by number, in the period that runs now and in a scope, by all processes. */
struct decimal ledger_spent(struct tool *, struct slice scope, size_t limit);
/* The cost that the agent has last reported of the session in this currency, in whichever process. False where there is none. */
bool ledger_last_cost(struct tool *, const struct budget_session *, struct slice currency, struct decimal *amount);
/* Writes an entry, with the time. */
void ledger_add(struct tool *, struct usage_entry *);
/* Writes what could not be written, or reports that it is lost. */
void ledger_end(struct tool *);

/* spend.c */
/* Adds to the ledger what the session, with the others of its tree, has used since. */
void session_spend(struct tool *, struct session *);
/* It has a parent now, with which its figures count: what is in the ledger is not added again. */
void session_joined(struct tool *, struct budget_session *child);

/* nudge.c */
/* What all texts of our own in a target's turn begin with. */
extern const char text_prefix[];
extern const char explanation[], default_nudge[];
/* The text of a nudge, its placeholders filled in. 0, or -1 out of memory. */
int nudge_put(const struct tool *, const struct budget *, struct buf *to);

/* echo.c */
int echo_expect(struct echo *, struct slice text);
/* Removes the texts of acp-budget from a user message of the agent, live and in the history that session/load replays. */
enum verdict echo_see(struct tool *, struct budget_session *, struct slice update);
/* The bytes of text in the content of an update. */
uint64_t content_text(struct slice update, struct buf *to);

/* target.c */
/* The target in the text blocks of a prompt, a JSON array; 0: none. */
uint64_t target_in_prompt(struct slice blocks);

/* budget.c: what becomes of budgets at the end of a turn */
/* A turn of the client's has ended with all its continuations. */
void turn_over(struct tool *, struct budget_session *);
/* Returns whether budgets can be applied in this session, as far as is known. Reports once if not. */
bool budget_check(struct tool *, struct budget_session *);
/* NULL when out of memory. */
struct budget *budget_new(struct tool *, struct budget_session *, uint64_t target, struct slice id);
/* Frees those that are over and that nothing waits for, or all. */
void budgets_free(struct tool *, bool all);
/* A turn of its has ended with the message that is being handled: sends a nudge, and holds or drops the message, or ends the budget. */
enum verdict budget_turn(struct tool *, struct budget *, const struct turn_end *);
/* It ends: now, or where a nudge is in flight, with that. */
void budget_drop(struct tool *, struct budget *, const char *why);
/* The client has cancelled: the same, and the client gets "cancelled" even where the nudge brings no stop reason. */
void budget_cancel(struct tool *, struct budget *);
/* The nudge of a cancelled budget is not waited for any longer. */
void budget_give_up(struct tool *, struct budget *);
/* Ends it now: the held response is forwarded. why: for the report; NULL or empty: the target was reached. */
void budget_end(struct tool *, struct budget *, const char *why);

/* turn.c: how turns end */
/* What lib/session and lib/usage report. */
void turn_happened(void *tool, const struct session_event *);
void turn_used(void *tool, const struct usage_event *);
/* The response to a prompt that was answered in the agent's place: what it used counts. */
void turn_late(struct tool *, const struct message *);
/* The turn that has ended with the message that is being handled. */
enum verdict turn_ended(struct tool *, const struct turn_end *);
/* The same for a response to a request of acp-budget, with its tag. */
void turn_responded(void *tool, struct frame *, void *tag, const struct message *);
/* v2: an idle state that ended no turn. */
enum verdict turn_repeated(struct tool *, struct budget_session *, struct slice update);

/* prompt.c: what the client sends, and the texts of --at that are sent before it */
enum verdict prompt_came(struct tool *, const struct message *);
/* Responds to the prompts that are held with an error. */
void prompts_refused(struct tool *, struct budget_session *, int code, const char *why);
/* Responds to the prompts that were forwarded (waited: to those that had to wait before) in the agent's place, with an error. */
void prompts_failed(struct tool *, struct budget_session *, const char *why, bool waited);
/* Is this the agent's response to such a prompt? Then it goes nowhere. */
bool prompt_was_answered(struct tool *, const struct message *);
void session_cancelled(struct tool *, struct budget_session *, bool closed);
/* $/cancel_request. */
enum verdict prompt_withdrawn(struct tool *, const struct message *);
/* The turn of a text of --at has ended, or is waited for no longer. */
void at_ended(struct tool *, struct budget_session *);
/* clock.c: agents that fall silent, and cancelled continuations that do not end */
void clock_rings(struct tool *);

/* filter.c: returns the exit status */
int filter_run(const struct options *);

#endif
