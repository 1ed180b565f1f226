/* check: checks the messages of a stream against the schemas and the rules of the protocol, and reports findings. */
#ifndef CHECK_CHECK_H
#define CHECK_CHECK_H

#include "cmd/acp-check/schema.h"
#include "lib/watch/watch.h"

static const char check_name[] = "acp-check";

enum check_format { CHECK_TEXT, CHECK_JSON, CHECK_JUNIT, CHECK_GITHUB, CHECK_SARIF };

/* The options of the command line. */
struct options {
	enum check_format format;
	unsigned protocol;  /* the version, 1 or 2; 0: the version that initialize agrees on */
	bool unstable;      /* the unstable schemas are used */
	enum level level;   /* the least severe level that is reported */
	bool ignored[RULES];
	struct select *select; /* selects the messages whose findings are reported */
	bool where;         /* select has programs (--where), which need the texts of messages */
	const char *baseline, *write_baseline; /* paths of files; or NULL */
	bool coverage;      /* the report says what the messages have used, in place of findings */
	enum cli_color color;
	bool mcp;           /* the report says what became of MCP servers, in place of findings */
	bool strict;        /* the exit status is 1 if a finding of the baseline was not found */
	struct frame_options frame;
};

/* Where a finding is. */
struct where {
	const char *file;       /* NULL: a stream */
	uint64_t number;        /* of the record, or of the line in its direction; 0: unknown */
	uint64_t t;             /* us since the start of the stream */
	bool timed;             /* t is known */
	enum acp_side from;     /* the sender */
	const struct message *message; /* valid while the message is checked; or NULL */
};

/* An offer of the agent, or a released terminal (check_offer.c), in a table by its digest. */
struct offered {
	UT_hash_handle hh;
	uint64_t digest;
};

/* The state of a connection that lib/session does not keep. Arrays have the side as index: the one that wrote on this wire. */
struct connection {
	unsigned version;      /* of the protocol, 1 or 2; 1 before initialize */
	bool initialized;      /* initialize was sent */
	bool enveloped;        /* its first message came in an envelope */
	bool partial;          /* earlier messages may be missing */
	bool early;            /* a message of the client came before initialize, and was reported */
	bool early_agent;      /* the agent sent a message before the client sent any */
	bool forgets_session, forgets_call; /* lib/session has reached its limit, with this message or before */
	bool forgot_session, forgot_call;   /* an earlier message reached it: unknown sessions, or calls, are no findings */
	bool seen[3], ended[3]; /* seen: the stream has messages of the side; ended: the side has left */
	uint64_t sent[3], last[3]; /* sent: the number of messages; last: the time of the last one */
	size_t excused[3];     /* responses that may have an unknown id: their requests were noise, or the ids were used again */
	struct buf capabilities[3]; /* the advertised capabilities, JSON text; empty: not known */
	struct buf initialize_params; /* of the client's initialize, until the agent has agreed on a version */
	struct buf logins;     /* the agent's authMethods, a JSON array; empty: not known */
	struct offered *offers, *released;
};

/* Version 2: what the agent said of the session's last prompt. */
struct check_prompt {
	bool accepted;      /* by a response, and no idle state has ended the work since */
	bool spoke;         /* the agent sent a message or a thought in the turn */
	bool echoed;        /* the agent has reported the prompt as a message of the user */
	bool several_reported; /* the agent reported several messages of the user before it accepted the prompt */
	uint64_t accepted_id, reported_id; /* hashes of ids: of the prompt, of the user's last reported message; 0: none */
};

/* The data of a session. */
struct check_session {
	/* Loading: session/load or session/resume has no response yet. Unopened: it failed, and no message has named the session since. */
	enum { CHECK_OPENED, CHECK_LOADING, CHECK_UNOPENED } opening;
	/* Resuming: a session/resume without replayFrom is open. Loaded: session/load has its response, and no turn has begun since. */
	enum { CHECK_NO_REPLAY, CHECK_RESUMING, CHECK_LOADED } replay;
	struct check_prompt prompt;
	bool deleted;       /* by session/delete, which need not close it: messages may still name it */
	bool opened[2];     /* by a message without an envelope [0], by one in an envelope [1] */
	bool running;       /* v2: its last state says that it works, or waits for the user */
	bool stated;        /* v2: the agent has reported a state since the last session/resume was sent */
	bool background;    /* v2: a state has had a list of background work */
	bool queues;        /* a prompt came during a turn: which message belongs to which prompt is not followed any more */
	bool worked;        /* the turn had output of the agent, or tool calls */
	bool counted;       /* usage was reported since its last turn began */
	bool counted_before; /* usage was reported in an earlier turn */
	bool ended;         /* a turn has ended without an error and uncancelled, and none has begun since */
	double cost;        /* the last reported amount, in `currency` */
	uint64_t currency;  /* a hash; 0: no cost yet */
	uint64_t usage;     /* a hash of the usage of the last turn; 0: it had none */
};

/* The data of an open request, in one allocation. */
struct check_request {
	struct where where;   /* without the message */
	bool connected;       /* the request names a connection of MCP over ACP */
	uint64_t sent;        /* the number of messages that the other side had sent before the request */
	uint64_t releases;    /* the terminal that the request releases, as check_terminal returns it; 0: none */
	struct slice options; /* the options of a permission request, JSON text; otherwise p NULL */
	struct slice text;    /* the request itself, if options.where is set; otherwise p NULL */
	char bytes[];         /* of the two slices */
};

struct check {
	const struct options *options;
	struct watch *watch;  /* has the output, and lib/session's state */
	struct where where;
	struct message message; /* the message of `where`, out of its envelope; from: the side that its sender speaks for */
	struct connection conn;
	uint64_t marks;       /* changes with what the sides may send; marks, with the sender, shapes without a finding */
	struct schema_findings found;
	bool grouped, color;  /* grouped: the report is for people, has findings by rule, and ends with a verdict */
	struct buf text, examples[RULES]; /* text: scratch; examples: the first findings of each rule, for junit and groups */
	uint64_t count[LEVELS], rule_count[RULES], reported; /* the numbers of reported findings: by level, by rule, of all */
	uint64_t findings;    /* the number of all findings, also of those that are not reported */
	uint64_t messages, sessions;
	/* Findings by rule, method and path: those of --baseline, and with --write-baseline all others, too; or NULL. */
	struct baseline_entry *baseline;
	struct buf covered;   /* an array of coverage.c */
	uint64_t now;         /* the time of the last message or event, us */
	bool selected;        /* messages may be missing anywhere in the stream */
	bool records;         /* the file is a recording, so its lines are records, not bare messages */
	/* A line before the first message of a file that is not a record: it is noise if bare messages follow. */
	struct {
		const char *file; /* NULL: there is none */
		uint64_t number;
		struct buf line;
		struct json_error error;
	} first;
	/* Why requests are given up: the connection has ended; the side that should respond has left; the response was noise. */
	enum { GIVING_UP_END, GIVING_UP_EOF, GIVING_UP_NOISE } giving_up;
	bool failed;          /* out of memory */
};

/* run.c: checks the recordings, or the stream. Returns the exit status. */
int check_run(const struct options *);
/* mcp.c: reports what became of MCP servers (--mcp). Returns the exit status. */
int mcp_run(const struct options *);

/* --- the parts of a check. Out of memory, they set check.failed. --- */

/* state.c: begins a stream, a recording or a connection: forgets the one before. partial: earlier messages may be missing. */
void check_begin(struct check *, bool partial);
/* Makes this message the checked one: sets check.message, where and now. NULL changes nothing. */
void check_locate(struct check *, const struct session_message *);
/* Are all messages of the connection known so far, so that an unknown session, call or offer is an error? */
bool check_is_complete(const struct check *);
/* Does the side advertise this capability, a path such as "session.fork"? */
bool check_advertises(const struct check *, enum acp_side, const char *capability);

/* Frees the memory of a check. */
void check_close(struct check *);
/* check.c: checks a message, after its events. */
void check_message(struct check *, const struct session_message *);
/* Checks a line that is not a message; where is set. */
void check_noise(struct check *, struct slice line);
/* Handles the end of the side where.from: reports open requests to this side. torn: its last line has no newline. */
void check_eof(struct check *, bool torn);

/* check_event.c: the rules of connections, requests and sessions. */
void check_event(struct check *, const struct session_event *);
/* Checks that the session which a message names was opened. Called after the message's events. */
void check_session_of(struct check *, const struct session_message *);
/* check_turn.c: the rules of states, turns, tool calls and permission requests. */
void check_turn_event(struct check *, const struct session_event *);
/* Checks an update, after its events. update: p NULL for a chunk. */
void check_update(struct check *, const struct session_message *, struct slice update);
/* check_capability.c: checks that the other side has advertised a message's method and content, and that a side refuses no method
 * which it has advertised. kind, update: of a session/update, or p NULL. */
void check_capabilities(struct check *, const struct message *, struct slice kind, struct slice update);
/* check_offer.c: keeps what the agent offers, and checks that the client keeps to these offers. */
/* Checks that the terminal which a request names was not released (v1). Returns the terminal that the request releases; 0: none. */
uint64_t check_terminal(struct check *, const struct msg *);
/* Notes by a response that this terminal (0: none) was released, or that one was created, which may have the id of a released one. */
void check_change_terminals(struct check *, const struct message *, uint64_t releases);
void check_offers(struct check *, const struct message *, struct slice kind, struct slice update);
/* Has the sender of this response, which refuses a method, offered something that the method is for? */
bool check_offered(struct check *, const struct message *);
enum covered_kind {
	COVERED_METHOD, COVERED_UPDATE, COVERED_CONTENT, COVERED_SERVER, COVERED_OPTION, COVERED_OUTCOME, COVERED_STOP, COVERED_KINDS
};
/* Returns the capability that the other side must advertise for this name (a JSON string); NULL: none. */
const char *check_capability_for(const struct check *, enum covered_kind, enum acp_side from, struct slice name);

/* coverage.c: lists the names that the sides may use by schema and capabilities; counts those of a message; reports the counts. */
void coverage_offer(struct check *);
void coverage_see(struct check *, struct slice kind, struct slice update);
void coverage_report(struct check *);

/* baseline.c: reads a baseline. Reports errors itself; returns an exit status. */
int baseline_read(struct baseline_entry **, const char *path);
/* Writes this run's findings as a baseline, which must not be one of the inputs. Reports errors itself; returns an exit status. */
int baseline_write(struct baseline_entry **, const char *path, char *const *inputs);
/* Reports the expected findings that were not found; returns how many there are. */
size_t baseline_report(struct baseline_entry **, const char *path);
/* Is this finding expected? 1, 0, or -1 out of memory. method: plain text. writes: also keeps the finding for baseline_write. */
int baseline_expects(struct baseline_entry **, bool writes, enum rule_id, struct slice method, const char *path);
void baseline_free(struct baseline_entry **);

/* report.c: is the message of check.where selected, or, without a message, an event of its sender? */
bool check_selects(struct check *);
/*
 * Reports a finding at check.where, if its rule, level and message are selected and no baseline expects it. path: of the value, in
 * the message. found: the value's text; p NULL: there is no value.
 */
void check_report(struct check *, enum rule_id, const char *path, const char *expected, struct slice found);
/* Writes the end of the report. missed: nothing was checked, so there is no verdict. */
void report_end(struct check *, bool missed);
/* Appends a text in lines that break at blanks and begin with the indent. 0, or -1 out of memory. */
int report_wrapped(struct buf *to, const char *text, const char *indent);

#endif
