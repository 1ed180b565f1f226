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
#include "lib/usage/usage.h"

static const char tool_name[] = "acp-budget";

/* --- what was asked for --- */

/* --at LEVEL=TEXT */
struct at {
	unsigned level; /* percent of the context */
	const char *text;
};

enum { AT_MOST = 16 };
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
	struct money_list max_cost;
	uint64_t max_tokens, max_turns; /* UINT64_MAX: no limit */
	unsigned max_context;           /* percent; 0: no limit */
	uint64_t max_silence;           /* us; 0: no limit */
	struct at at[AT_MOST];
	size_t nat;
	enum status status;
};

/* --- sessions and budgets --- */

/* A text of acp-budget that the agent may repeat to the client as a message of the user. */
struct echo {
	struct buf text;
	size_t at; /* bytes of it that the agent has repeated so far */
};

/* A prompt of the client that was forwarded. */
struct open {
	struct open *next;
	struct buf id;
	bool answered;      /* acp-budget has responded to it: the agent's response is discarded */
};

/* The tag of a request of acp-budget: what its response belongs to. */
struct request_tag {
	enum { TAG_NUDGE, TAG_AT } kind;
	struct session *session;
};

struct session {
	UT_hash_handle hh;
	struct usage_session *usage;
	struct budget *budget;      /* of the client's last prompt, until it ends; or NULL */
	struct open *opened;        /* prompts of the client that were forwarded, oldest first */
	size_t open;                /* those of them that have no response */
	bool busy;                  /* v2: prompts were accepted, and the session has not been idle since */
	uint64_t prompts, turns;    /* of the client: forwarded; ended */
	uint64_t output;            /* tokens of all turns */
	uint64_t streamed;          /* bytes of text in this turn */
	bool explained, lack_reported; /* lack_reported: it was reported that targets cannot be applied */
	struct echo explanation, nudge;
	/* --at: */
	bool compacting;            /* the agent says so */
	struct request_tag at_tag;  /* the tag of the request that carries the text */
	bool asked, accepted;       /* asked: the text was sent, and its turn has not ended; accepted: v2: it was accepted */
	uint64_t deadline;          /* us: after a cancel, how long to wait for its end; or 0 */
	/* Bits of options.at: asked since the context came to it; asked for those that wait; */
	unsigned fired, tried;
	/* it was reported that the agent does not list the command. */
	unsigned warned;
	/* --max-silence: */
	uint64_t heard;             /* us: the last message of the agent */
	unsigned silent;            /* how many multiples of max_silence have been acted upon */
	struct call *calls;         /* tool calls that run */
	size_t asks;                /* requests of the agent that the client has not answered */
	bool waits;                 /* v2: for the user (requires_action) */
	/* limits: */
	unsigned reached, unenforced; /* bits of limits.c: reached; reported as not enforceable */
	/* v2: the last idle state of a budget as it was received and as it was forwarded: its repeats are changed in the same way */
	struct buf idle_received, idle_forwarded;
	size_t id_length;
	struct slice id;            /* the JSON string, with its quotes; it lies in `text`, after the plain text */
	char text[];
};

struct budget {
	struct request_tag tag;     /* of its nudges. The first member: a tag of TAG_NUDGE is its budget */
	struct budget *next;        /* all there are */
	struct buf id;              /* of the prompt */
	uint64_t target, tokens, gains[2], continuations;
	uint64_t began;             /* us */
	bool estimated;
	bool nudging;               /* a nudge has no response yet */
	bool over;                  /* it has ended, except for the response to a nudge */
	bool accepted;              /* v2: the agent has accepted the last prompt */
	bool holds_idle;            /* v2: `held` is an idle state, not a response */
	bool cancelled;             /* by the client */
	uint64_t deadline;          /* us: how long to wait for the end of its nudge; 0: no limit */
	struct held *held;          /* the response to the client's prompt, or (v2) the idle state; or NULL */
	struct buf text;            /* what is forwarded in its place; empty: the line as it came */
	struct buf why;             /* not empty: it ends with the running turn, for this reason */
};

/* How a turn ended. */
struct turn_end {
	bool failed, counted, estimated;
	uint64_t output;
	struct slice stop;          /* a JSON string, or p NULL */
	struct slice outcome;       /* the result, the error, or the idle update */
};

struct tool {
	const struct options *options;
	struct frame *frame;
	struct usage *usage;
	struct usage_words words;
	struct session *sessions;
	struct commands *commands;
	struct budget *budgets;
	uint64_t alarm;             /* us: when the clock rings next; 0: never */
	uint64_t heard;             /* us, and open requests, of sessions without a turn */
	size_t asks;
	int tty;
	bool v2;                    /* the agent */
	bool client_left;           /* the client's input has ended first */
	bool notices;               /* the client shows them */
	const char *end_reason;     /* which side has ended first, in words; NULL: none yet */
	bool has_uncounted, has_counted; /* a turn came without counts; one came with some */
	bool judged, has_output;    /* the usage of the turn that has just been judged */
	uint64_t output;
	uint64_t thoughts;
};

/*
 * The files in the order in which they stand on each other: what a file calls is in one before it, so no two of them call each
 * other.
 */

/* session.c: what is known of each session, and what is sent in it */
/* Reports that memory is out where r is not 0, as a function has returned it. Returns r. */
int tool_check(struct tool *, int r);
/* Responds with an error, "acp-budget: WHY", to the prompt that is held, or (NULL) being handled. */
void tool_reply_error(struct tool *, struct held *, int code, const char *why);
/* The session of that id, a JSON string; NULL where it is not known (where make: out of memory). */
struct session *session_of(struct tool *, struct slice id, bool make);
void sessions_free(struct tool *);
/* Sends a prompt of acp-budget to the agent. tag: see struct request_tag. 0, or -1 when out of memory, which it reports. */
int session_ask(struct tool *, struct session *, struct slice text, void *tag);
/* Sends a session/update with this update to the client. */
void session_update(struct tool *, const struct session *, struct slice update);
/* Passes a prompt to the usage module. */
void session_prompted(struct tool *, struct session *);
void open_free(struct open *);
/* Does anything run in it? */
bool session_runs(const struct session *);
/* session/cancel, for what runs. */
void session_cancel(struct tool *, const struct session *);
/* The clock rings at this time, or earlier; a grace period from now. */
void tool_alarm(struct tool *, uint64_t when);
void tool_deadline(struct tool *, uint64_t *deadline);
/* A sign of life, or a prompt that it is waited for; of no session in particular: NULL. */
void session_heard(struct tool *, struct session *);
/* Notes a tool call that runs, by its id, a JSON string; or that it does not run any more. */
void session_note_call(struct tool *, struct session *, struct slice id, bool runs);
/* A line on stderr about a session. */
void session_report(struct tool *, const struct session *, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* status.c */
int status_open(struct tool *);
void status_progress(struct tool *, const struct budget *);
/* why: NULL where there is nothing to say but that the target was reached. */
void status_end(struct tool *, const struct budget *, const char *why);
/* Figures: 125,000; its part of a whole in percent, rounded down. */
int put_grouped(struct buf *, uint64_t);
uint64_t percent_of(uint64_t n, uint64_t whole);

/* limits.c */
/* Is a limit reached, for a prompt of the client or of acp-budget? Then text (or NULL) gets the limit and the usage. */
bool limits_reached(struct tool *, const struct session *, bool prompt, struct buf *text);
/* To be called when usage has changed: reports each limit that is reached, once. */
void limits_check(struct tool *, struct session *);
/* Reports each limit that cannot be enforced, once. turn_ended: a turn has ended, so the agent had the chance to report usage. */
void limits_report_unenforced(struct tool *, struct session *, bool turn_ended);

/* nudge.c */
/* What all texts of our own in a target's turn begin with. */
extern const char mark[];
extern const char explanation[], default_nudge[];
/* The text of a nudge, its placeholders filled in. 0, or -1 out of memory. */
int nudge_put(const struct tool *, const struct budget *, struct buf *to);

/* echo.c */
int echo_expect(struct echo *, struct slice text);
/* Removes the texts of acp-budget from a user message of the agent, live and in the history that session/load replays. */
enum verdict echo_see(struct tool *, struct session *, struct slice update);
/* The bytes of text in the content of an update. */
uint64_t content_text(struct slice update, struct buf *to);

/* target.c */
/* The target in the text blocks of a prompt, a JSON array (PROTOCOL, section 6); 0: none. */
uint64_t target_in_prompt(struct slice blocks);

/* budget.c: what becomes of budgets at the end of a turn */
/* A turn of the client's has ended with all its continuations. */
void turn_over(struct tool *, struct session *);
/* The result of an answer, or the update of a session/update (the idle state). */
struct slice turn_outcome(const struct msg *);
/* Returns whether budgets can be applied in this session, as far as is known. Reports once if not. */
bool budget_check(struct tool *, struct session *);
/* NULL when out of memory. */
struct budget *budget_new(struct tool *, struct session *, uint64_t target, struct slice id);
/* The turn of the client's prompt has ended with the message that is being handled: holds it and sends a nudge, or ends the budget. */
enum verdict budget_turn(struct tool *, struct budget *, const struct turn_end *);
/* v2: its prompt, or nudge, was accepted. */
void budget_accepted(struct tool *, struct budget *);
/* The turn of a nudge has ended. */
void budget_continued(struct tool *, struct budget *, const struct turn_end *);
/* It ends: now, or where a nudge is in flight, with that. */
void budget_drop(struct tool *, struct budget *, const char *why);
/* The client has cancelled: the same, and the client gets "cancelled" even where the nudge brings no stop reason. */
void budget_cancel(struct tool *, struct budget *);
/* The nudge of a cancelled budget is not waited for any longer. */
void budget_give_up(struct tool *, struct budget *);
/* Ends it now: the held response is forwarded. why: for the report; NULL or empty: the target was reached. */
void budget_end(struct tool *, struct budget *, const char *why);

/* prompt.c: what the client sends, and the texts of --at that are sent before it */
enum verdict prompt_came(struct tool *, struct session *, const struct message *);
void prompts_refused(struct tool *, struct session *, int code, const char *why);
void session_cancelled(struct tool *, struct session *, bool closed);
/* $/cancel_request. */
enum verdict prompt_withdrawn(struct tool *, const struct message *);
/* The turn of a text of --at has ended. */
void ahead_answered(struct tool *, struct session *);
/* It was cancelled and does not end. */
void ahead_give_up(struct tool *, struct session *);
/* The context has changed. */
void ahead_rearm(const struct tool *, struct session *);

/* turn.c: how turns end */
enum verdict turn_answered(struct tool *, struct session *, const struct message *);
void turn_request_answered(struct tool *, struct request_tag *, const struct message *);
/* v2: a state_update. */
enum verdict turn_state(struct tool *, struct session *, const struct message *, const struct usage_report *);

/* clock.c: agents that fall silent, and cancelled continuations that do not end */
/* Each message. */
void clock_see(struct tool *, enum acp_direction, const struct message *);
void clock_rings(struct tool *);

/* filter.c: returns the exit status */
int filter_run(const struct options *);

#endif
