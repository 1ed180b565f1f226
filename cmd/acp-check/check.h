/* check: checks the messages of a stream, and reports findings. */
#ifndef CHECK_CHECK_H
#define CHECK_CHECK_H

#include "cmd/acp-check/schema.h"
#include "lib/watch/watch.h"

static const char check_name[] = "acp-check";

enum check_format { CHECK_TEXT, CHECK_JSON, CHECK_JUNIT, CHECK_GITHUB, CHECK_SARIF };

/* The options of the command line. */
struct options {
	enum check_format format;
	unsigned protocol;  /* the version: 1, 2, or 0: as initialize agrees */
	bool unstable;      /* also accept the unstable schema */
	enum level level;   /* the least severe level that is reported */
	bool ignored[RULES];
	struct select *select; /* the messages that are reported on */
	bool where;         /* select has programs (--where), which need the messages' texts */
	const char *baseline, *write_baseline; /* or NULL */
	bool coverage;      /* what was used is reported, in place of findings */
	enum cli_color color;
	bool mcp;           /* likewise what became of MCP servers */
	bool strict;        /* what the baseline expects has to be found */
	struct frame_options frame;
};

/* Where a finding is. */
struct where {
	const char *file;       /* NULL: a stream */
	uint64_t number;        /* of the record, or of the line in its direction; 0: none */
	uint64_t t;             /* us since the start */
	bool timed;             /* t is known */
	enum acp_side from;     /* the sender */
	const struct message *message; /* or NULL; valid while it is checked */
};

/* Digests of what was offered: a table with open addresses, at most half full, 0 where nothing is. */
struct offers {
	uint64_t *at;
	size_t n, room;
};

/* What lib/session does not keep of a connection. By side: the one that wrote to this wire, also in an envelope. */
struct connection {
	unsigned version;      /* 0: not known yet */
	bool initialized;      /* initialize was sent */
	bool enveloped;        /* its first message came in an envelope */
	bool partial;          /* earlier messages may be missing */
	bool early;            /* a message came before initialize, and that has been reported */
	bool early_agent;      /* the agent sent one before the client sent anything */
	bool forgets_session, forgets_call; /* there are too many with this message */
	bool forgot_session, forgot_call;   /* there were: none is reported as unknown any more */
	bool seen[3], ended[3]; /* the side is in the stream; it has ended */
	uint64_t sent[3], last[3]; /* how many messages, and when the last was sent */
	size_t excused[3];     /* responses of a side that may have an unknown id: to requests that were noise, or whose id was used again */
	struct buf capabilities[3]; /* what it advertised, JSON text; empty: not known */
	struct buf initialize_params; /* until a version is agreed on */
	struct buf logins;     /* the agent's authMethods, a JSON array; empty: not known */
	struct offers offers;
	struct buf released;   /* digests (uint64_t) of terminals, by their sessions and ids */
};

/* The data of a session. */
struct check_session {
	bool loading;       /* it is known from a session/load or session/resume that has no response yet */
	bool unopened;      /* that failed, and nothing has named the session since */
	bool deleted;       /* by session/delete, which need not close it */
	bool opened[2];     /* without an envelope, and in one */
	bool loaded;        /* session/load has its response, and no turn has begun since */
	bool resuming;      /* a session/resume without replayFrom is open */
	bool running;       /* v2: by its state, or it waits for the user */
	bool stated;        /* v2: a state of the session was reported since session/resume was sent last */
	bool background;    /* v2: a state has listed what runs in the background */
	bool accepted;      /* v2: the prompt of its turn was, and no idle state has ended the work since */
	bool spoke;         /* v2: the agent said something in the turn */
	bool echoed;        /* v2: the message of the prompt was reported */
	bool several_reported; /* v2: several messages of the user were, before the prompt was accepted */
	bool queues;        /* v2: a prompt came before the end of another: whose message is whose is not followed any more */
	bool worked;        /* its turn had output */
	bool counted;       /* usage was reported since its last turn began */
	bool counted_before; /* usage was reported in an earlier turn */
	bool ended;         /* a turn has ended in order, and none has begun since */
	double cost;
	uint64_t currency;  /* a hash; 0: no cost yet */
	uint64_t accepted_id, reported_id; /* hashes of messages of the user in the turn: the accepted, the last reported one; 0: none */
	uint64_t usage;     /* a hash of the last turn's usage; 0: none */
};

/* The data of an open request; all in one allocation. */
struct check_request {
	struct where where;   /* without the message */
	bool connected;       /* it names a connection of MCP over ACP */
	uint64_t sent;        /* how many messages the other side had sent */
	uint64_t releases;    /* the digest of a terminal; 0: none */
	struct slice options; /* of a permission request: JSON text; otherwise p NULL */
	struct slice text;    /* the message, if options.where is set; otherwise p NULL */
	char bytes[];
};

struct check {
	const struct options *options;
	struct watch *watch;  /* its output, and lib/session */
	struct where where;
	struct message message; /* where.message, as its sender speaks: out of its envelope */
	struct connection conn;
	uint64_t marks;       /* what shapes are marked with while the sides can do the same, above a sender */
	struct schema_findings found;
	bool grouped, color;  /* for people: findings by rule, and a verdict, at the end */
	struct buf text, examples[RULES]; /* text: scratch; examples: the findings of each rule, for junit and groups */
	uint64_t count[LEVELS], rule_count[RULES], reported; /* findings that were reported: by level, by rule, all */
	uint64_t findings;    /* all, whether reported or not */
	uint64_t messages, sessions;
	/* Findings by rule, method and path: those of --baseline, and all that there are for --write-baseline; or NULL. */
	struct baseline_entry *baseline;
	struct buf covered;   /* coverage.c */
	uint64_t now;         /* when something came last */
	bool selected;        /* messages may be missing anywhere */
	/* Why requests are given up: their connection, or the side that they are for, has ended; the response was noise. */
	enum { GIVING_UP_END, GIVING_UP_EOF, GIVING_UP_NOISE } giving_up;
	bool failed;          /* out of memory */
};

/* Checks the recordings, or the stream. Returns the exit status. */
int check_run(const struct options *);
/* mcp.c: the same for --mcp. */
int mcp_run(const struct options *);

/* --- its parts. None returns an error: out of memory sets failed. --- */

/* state.c: a stream, a recording or a connection begins, of which nothing has been seen. */
void check_begin(struct check *, bool partial);
/* What is checked is this message from now on; NULL: as before. */
void check_locate(struct check *, const struct session_message *);
/* Are all messages of the connection known so far, so that what is unknown is an error? */
bool check_is_complete(const struct check *);
/* Does the side advertise this capability, a path? */
bool check_advertises(const struct check *, enum acp_side, const char *capability);
/* The version of the protocol: 1 or 2. */
unsigned check_version(const struct check *);

/* The next element of an array; anything else has none. */
bool check_next(struct json_iter *, struct slice *element);

/* Frees what a check has. */
void check_close(struct check *);
/* Checks a message, after its events. */
void check_message(struct check *, const struct session_message *);
/* Checks a line that is not a message; where is set. */
void check_noise(struct check *, struct slice line);
/* The side where.from has ended: reports the requests to it that have no response. torn: its last line has no newline. */
void check_eof(struct check *, bool torn);

/* check_event.c: the rules of connections, requests and sessions. */
void check_event(struct check *, const struct session_event *);
/* The session that a message names, after the message's events. */
void check_session_of(struct check *, const struct session_message *);
/* check_turn.c: the rules of states, turns, tool calls and permission requests. */
void check_turn_event(struct check *, const struct session_event *);
/* An update, after its events; p NULL for a chunk. */
void check_update(struct check *, const struct session_message *, struct slice update);
/* check_capability.c: methods and content that the other side must have advertised, and methods that a side has advertised and refuses.
 * kind, update: of a session/update, or p NULL. */
void check_capabilities(struct check *, const struct message *, struct slice kind, struct slice update);
/* check_offer.c: what the agent has offered, and whether the client keeps to it. And whether the side that refuses the method of this
 * response has offered what it is for. */
void check_offers(struct check *, const struct message *, struct slice kind, struct slice update);
bool check_offered(struct check *, const struct message *);
/* What the other side needs to advertise for this name (a JSON string); NULL: nothing. */
enum covered_kind {
	COVERED_METHOD, COVERED_UPDATE, COVERED_CONTENT, COVERED_SERVER, COVERED_OPTION, COVERED_OUTCOME, COVERED_STOP, COVERED_KINDS
};
const char *check_capability_for(const struct check *, enum covered_kind, enum acp_side from, struct slice name);

/* coverage.c: the sides have agreed on what they can; a message; and what was used of that. */
void coverage_offer(struct check *);
void coverage_see(struct check *, struct slice kind, struct slice update);
void coverage_report(struct check *);

/* baseline.c. read, write: an exit status; what is wrong has been reported. inputs: what must not be written. */
int baseline_read(struct baseline_entry **, const char *path);
int baseline_write(struct baseline_entry **, const char *path, char *const *inputs);
/* Reports what was expected and not found; returns how many. */
size_t baseline_report(struct baseline_entry **, const char *path);
/* Is this finding expected? method: plain text. -1 out of memory. writes: all are kept. */
int baseline_expects(struct baseline_entry **, bool writes, enum rule_id, struct slice method, const char *path);
void baseline_free(struct baseline_entry **);

/* report.c: is what check.where says selected, now or at all? */
bool check_selects(struct check *);
/*
 * check_report reports a finding at check.where, if its rule and place are selected. path: in the message. found: the text;
 * p NULL: nothing.
 */
void check_report(struct check *, enum rule_id, const char *path, const char *expected, struct slice found);
/* Writes the end of the report; of a check that missed what was asked for, without a verdict. */
void report_end(struct check *, bool missed);
/* Appends a text with line breaks at blanks, and the indent before each line. 0, or -1 out of memory. */
int report_wrapped(struct buf *to, const char *text, const char *indent);

#endif
