/* inject: what the parts of acp-inject share. */
#ifndef INJECT_H
#define INJECT_H

#include "lib/base/cli.h"
#include "lib/frame/frame_options.h"
#include "lib/acp/commands.h"
#include "lib/acp/permit.h"
#include "lib/filter/jqprog.h"
#include "lib/filter/select.h"
#include "lib/session/session.h"

static const char tool_name[] = "acp-inject";

/* --- the options (main.c) --- */

/* --prepend and --append: a text, or the path of a file that holds it. */
struct context {
	bool append;
	const char *text; /* or NULL */
	const char *path;
};

/* --answer, --permit, --permit-by and --deny. */
enum answer_kind { ANSWER_WITH, ANSWER_PERMIT, ANSWER_PERMIT_BY, ANSWER_DENY };
struct answer {
	enum answer_kind kind;
	const char *rule;       /* for diagnostics: "--deny fs/write_text_file" */
	struct select *select;  /* by method */
	const char *text;       /* the program; the kind of option; the command; the error message */
	int code;               /* ANSWER_DENY: the error code */
	struct jqprog *program; /* ANSWER_WITH; otherwise NULL */
};

/* --send. */
enum send_when { SEND_BEFORE, SEND_AFTER, SEND_ANSWER };
struct send {
	enum acp_direction dir;
	enum send_when when;
	const char *rule;       /* for diagnostics: "--send down:after:session/new" */
	struct select *select;  /* by method */
	const char *text;       /* the program as it was written */
	struct jqprog *program;
};

struct options {
	struct frame_options frame;
	struct select *select;  /* the messages that are edited */
	struct select *session; /* --session: the messages that any rule applies to */
	const char *edit_rule;  /* for diagnostics: "--edit", or "--edit-file FILE" */
	struct jqprog *edit;    /* or NULL */
	struct context *contexts;
	size_t ncontexts;
	const char **servers;   /* JSON, or "@FILE" */
	size_t nservers;
	const char *wrap_mcp;   /* a command, or "auto"; or NULL */
	char **wrap;            /* its words; %n in them is the name of the server */
	struct answer *answers;
	size_t nanswers;
	uint64_t permit_timeout; /* us; 0: none */
	struct send *sends;
	size_t nsends;
	bool every, send_every, strict, silent, verbose;
	bool leave;             /* exit when every message was sent and every request has its response */
	char **texts;           /* allocated while the options were read; freed with them */
	size_t ntexts;
};

/* --- what programs make of a message (passing.c) --- */

struct outputs {
	struct slice input; /* the message; p NULL: no output is compared with it */
	struct output {
		size_t from, n; /* in text */
		bool same;      /* the message as it was */
	} *at;
	size_t n, most;     /* most: no further ones are asked for; 0: all are */
	struct buf text;
	bool failed;        /* out of memory */
};
struct slice outputs_at(const struct outputs *, size_t);
void outputs_free(struct outputs *);

/* --- messages that are sent after another one (later.c) --- */

struct later;
/*
 * Appends a copy of a message to the list. tag: that of a request of acp-inject (frame_request_for replaces its id), or NULL. Returns
 * 0, or -1 when out of memory.
 */
int later_add(struct later **, enum acp_direction, struct slice message, void *tag);
/* Appends the messages of `more`, which the list takes over. */
void later_join(struct later **, struct later *more);
/* Sends all messages and empties the list, also after a failure. Returns 0, or -1 when out of memory. */
int later_send(struct later **, struct frame *);
void later_free(struct later *);

/* --- the filter (stream.c) --- */

struct inject {
	const struct options *options;
	struct frame *frame;
	struct buf reported;       /* kinds of failures that were reported, each between two NULs */
	unsigned nreported;        /* how many */
	bool silence_reported;     /* it was reported that a dropped request gets no response */
	struct commands *commands; /* to recognize prompts that are commands */
	struct sessions *sessions; /* data: a bool for each rule, by RULE_CONTEXT or the number of a --send: was it applied? Or NULL */
	struct later *later;       /* to be sent when the messages before them have left */
	struct permits permits;    /* the programs of --permit-by ... */
	struct question *questions; /* ... and the requests that they decide on */
	const struct answer *resume; /* the request that is shown again has been held by this rule: those that follow apply */
	struct waiting *waiting;   /* responses that are held until the requests sent for them have their responses */
	struct own_request *own_requests; /* requests of acp-inject that have no response yet */
	bool *fired;               /* by the index of a --send: whether its program made something, or failed */
	bool refused;              /* a message could not be made or sent, or a request got an error */
	bool stopped;              /* nothing is forwarded any more: --strict met a failure, or memory ran out */
};

/* What a rule does with a message. */
enum step {
	STEP_ON,     /* goes on to the next rule; after the last one it is forwarded */
	STEP_HELD,   /* held; it is released later */
	STEP_GONE,   /* it has its response, or is dropped: it is not forwarded */
	STEP_FAILED, /* out of memory */
};

/* A message on its way through the rules. */
struct passing {
	struct inject *inject;
	enum acp_direction dir;
	struct message message; /* as the rules so far have left it */
	struct slice was;       /* the message as it came */
	struct buf text;        /* the changed message; empty if no rule has changed it */
	struct later *later;    /* messages to send after it */
	struct session *session; /* of the message, since passing_was_applied; or NULL */
};

/* Runs the filter. Returns the exit status. */
int stream_run(const struct options *);

/* passing.c */
/*
 * Replaces the message by a copy of this text, which must be a valid message. The text may lie within the old one.
 * Returns 0, or -1 when out of memory.
 */
int passing_become(struct passing *, struct slice text);
/* Passes the changed message to the frame. No rule may change it after this. Returns 0, or -1 when out of memory. */
int passing_settle(struct passing *);
/*
 * Reports that a rule could not be applied to a message: one line for each kind of message and failure. With --strict it
 * ends the filter. then: what happens to the message, in words.
 */
void passing_failed(struct passing *, const char *rule, const char *why, const char *then);
/*
 * What the program makes of the message, by jqprog_edit where outputs.input is the message, else by jqprog_run. 0, or -1 out of memory; 1
 * where it has failed, which has been reported as above.
 */
int passing_run(struct passing *, struct jqprog *, const char *rule, const char *then, struct outputs *);
/* Was the rule of this number applied in the session of the message? After that: notes that it was. 0, or -1 out of memory. */
bool passing_was_applied(struct passing *, size_t rule);
int passing_applied(struct passing *, size_t rule);
/* There is no memory: nothing is forwarded any more. */
void inject_failed(struct inject *);
/* With -v: reports what was done. The detail is cut to 512 bytes. */
void inject_note(struct inject *, const char *what, struct slice detail);

/* --- the rules, in the order in which they are applied. Each changes, responds to, drops or holds the message. --- */

/* edit.c: -e, -E. */
enum step edit_message(struct passing *);

/* answer.c: --answer, --permit, --permit-by, --deny. The first rule that has a response for a request sends it. */
enum step answer_message(struct passing *);
/* Nobody waits any more for what programs decide, if this message says so: it may be about a request that the client has not seen. */
enum step answer_withdraw(struct passing *);
/* A program of --permit-by has decided: for struct permits. */
void answer_decided(void *arg, struct slice option, enum permit_outcome);
/* Ends all programs: for struct filter. */
void answer_close(void *state, struct frame *);

/* context.c: --prepend, --append, --mcp-server. */
enum { RULE_CONTEXT, RULE_SENDS }; /* numbers of rules: RULE_SENDS is that of the first --send */
enum step context_message(struct passing *);
/* Appends the content of a regular file. Returns NULL, or a static text that says why it failed. */
const char *context_file(const char *path, struct buf *to);
/* Appends the description of an MCP server, JSON or @FILE, as one line. Returns NULL, or why it failed. */
const char *context_server(const char *server, struct buf *to);

/* wrap.c: --wrap-mcp. */
enum step wrap_message(struct passing *);

/* send.c: --send. */
enum step send_message(struct passing *);
/* Takes the response to a request of acp-inject. tag: its struct own_request, which is freed. */
void send_response(struct inject *, void *tag, const struct message *);
/* A side has ended (ACP_UNKNOWN: both): releases the held responses that cannot wait any longer. */
void send_side_ended(struct inject *, enum acp_side);
/* Returns whether each --send has fired, every message was sent, and every request has its response. */
bool send_done(const struct inject *);
/* Frees the held responses' records and the open requests' records; releases nothing. */
void send_free(struct inject *);

#endif
