/* inject: what the files of acp-inject have in common. */
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
	const char *text; /* or NULL: in a file */
	const char *path; /* of the file, which is read again for each prompt */
};

/* --answer, --permit, --permit-by and --deny. */
enum answer_kind { ANSWER_WITH, ANSWER_PERMIT, ANSWER_PERMIT_BY, ANSWER_DENY };
struct answer {
	enum answer_kind kind;
	const char *rule;       /* for diagnostics: "--deny fs/write_text_file" */
	struct select *select;  /* the requests, by method */
	const char *text;       /* by kind: the jq program, the kind of option, the command, or the error message */
	int code;               /* ANSWER_DENY: the error code */
	struct jqprog *program; /* ANSWER_WITH; otherwise NULL */
};

/* --send. */
enum send_when { SEND_BEFORE, SEND_AFTER, SEND_ANSWER };
struct send {
	enum acp_direction dir;
	enum send_when when;
	const char *rule;       /* for diagnostics: "--send down:after:session/new" */
	struct select *select;  /* the messages, by method */
	const char *text;       /* the source of the program */
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
	const char **servers;   /* --mcp-server: JSON, or "@FILE" */
	size_t nservers;
	const char *wrap_mcp;   /* --wrap-mcp: a command, or "auto"; or NULL */
	char **wrap;            /* the words of the command; %n in them is the name of the server */
	struct answer *answers;
	size_t nanswers;
	uint64_t permit_timeout; /* us; 0: none */
	struct send *sends;
	size_t nsends;
	bool every, send_every, strict, silent, verbose;
	bool leave;             /* exit when every message was sent and every request that was sent has its response */
	char **texts;           /* allocated while the options were read; freed with the options */
	size_t ntexts;
};

/* --- the outputs of a jq program for a message (passing.c) --- */

struct outputs {
	struct slice input; /* the message that the program edits; p NULL: the program does not edit */
	struct output {
		size_t from, n; /* in text */
		bool same;      /* the output is the message, unchanged */
	} *at;
	size_t n, most;     /* most: the program is stopped after this many outputs; 0: never */
	struct buf text;    /* the outputs that are not `same` */
	bool failed;        /* out of memory */
};
struct slice outputs_at(const struct outputs *, size_t);
void outputs_free(struct outputs *);

/* --- a list of messages to send after another message (later.c) --- */

struct later;
/*
 * Appends a copy of a message to the list. tag: the struct own_request of a request of acp-inject, whose id frame_request_for
 * replaces; otherwise NULL. 0, or -1 out of memory.
 */
int later_add(struct later **, enum acp_direction, struct slice message, void *tag);
/* Moves the messages of `more` to the end of the list. */
void later_join(struct later **, struct later *more);
/* Sends all messages and empties the list, also after a failure. 0, or -1 out of memory. */
int later_send(struct later **, struct frame *);
void later_free(struct later *);

/* --- the filter (stream.c) --- */

struct inject {
	const struct options *options;
	struct frame *frame;
	struct buf reported;       /* the kinds of failures that were reported, each between two NULs */
	unsigned nreported;        /* the number of these kinds */
	bool silence_reported;     /* a warning said that a dropped request gets no response */
	struct commands *commands; /* the slash commands: a prompt that is one gets no context */
	struct sessions *sessions; /* or NULL. data of a session: a bool for each rule, by number: was it applied? Or NULL */
	struct later *later;       /* messages to send as soon as the shown message has left */
	struct permits permits;    /* the programs of --permit-by */
	struct question *questions; /* the requests that these programs decide on */
	const struct answer *resume; /* the rule that held the request which is shown again: only later rules apply. Or NULL */
	struct later *resumed;     /* messages to send after this request */
	struct waiting *waiting;   /* responses that are held until the requests sent for them have their responses */
	struct own_request *own_requests; /* requests of acp-inject that have no response yet */
	bool *fired;               /* by the index of a --send: has its program had an output, or failed? */
	bool refused;              /* a message could not be made or sent, or a request got an error */
	bool stopped;              /* nothing is forwarded any more: --strict met a failure, or memory ran out */
};

/* What a rule does with a message. */
enum step {
	STEP_ON,     /* the message goes on to the next rule; after the last rule it is forwarded */
	STEP_HELD,   /* the message is held, and released later */
	STEP_GONE,   /* the message has its response, or is dropped: it is not forwarded */
	STEP_FAILED, /* out of memory */
};

/* A message on its way through the rules. */
struct passing {
	struct inject *inject;
	enum acp_direction dir;
	struct message message; /* as the earlier rules have left it */
	struct slice was;       /* the message as it came */
	struct buf text;        /* the changed message; empty if no rule has changed it */
	struct later *later;    /* messages to send after this one */
	struct session *session; /* of the message, set by passing_was_applied; or NULL */
};

/* Runs the filter. Returns the exit status. */
int stream_run(const struct options *);

/* passing.c */
/*
 * Replaces the message by a copy of this text, which must be a valid message. The text may lie within the old message.
 * 0, or -1 out of memory.
 */
int passing_become(struct passing *, struct slice text);
/* Passes a changed message to the frame. No rule may change the message after this call. 0, or -1 out of memory. */
int passing_settle(struct passing *);
/*
 * Reports that a rule could not be applied to a message: one line for each kind of message and failure. With --strict the
 * failure ends the filter. then: what happens to the message, in words.
 */
void passing_failed(struct passing *, const char *rule, const char *why, const char *then);
/*
 * Runs a program on the message: by jqprog_edit if outputs.input is the message, else by jqprog_run. 0; 1: the program failed,
 * which passing_failed has reported; -1 out of memory.
 */
int passing_run(struct passing *, struct jqprog *, const char *rule, const char *then, struct outputs *);
/* Was the rule of this number applied in the session of the message? Then passing_applied may note that it was: 0 or -1. */
bool passing_was_applied(struct passing *, size_t rule);
int passing_applied(struct passing *, size_t rule);
/* Out of memory: reports that, forwards nothing more, and ends the filter. */
void inject_failed(struct inject *);
/* Reports with -v what acp-inject did. detail: JSON or a name, of which 512 bytes are shown. */
void inject_note(struct inject *, const char *what, struct slice detail);

/* --- the rules, in the order in which they are applied. Each changes, responds to, drops or holds the message. --- */

/* edit.c: -e, -E. */
enum step edit_message(struct passing *);

/* answer.c: --answer, --permit, --permit-by, --deny. The first rule that has a response for a request sends the response. */
enum step answer_message(struct passing *);
/* Ends the programs for requests that this message cancels or responds to. Responds to requests that the client has not seen. */
enum step answer_withdraw(struct passing *);
/* Takes the decision of a program of --permit-by (permits.decided): responds to the request, or applies the next rules. */
void answer_decided(void *arg, struct slice option, enum permit_outcome);
/* Ends all programs of --permit-by: filter.close. */
void answer_close(void *state, struct frame *);

/* context.c: --prepend, --append, --mcp-server. */
enum { RULE_CONTEXT, RULE_SENDS }; /* numbers of rules: all context is one rule; RULE_SENDS is the number of the first --send */
enum step context_message(struct passing *);
/* Appends the content of a regular file. Returns NULL, or the reason for a failure, which is not to be freed. */
const char *context_file(const char *path, struct buf *to);
/* Appends the description of an MCP server, JSON or @FILE, as one line. Returns as context_file. */
const char *context_server(const char *server, struct buf *to);

/* wrap.c: --wrap-mcp. */
enum step wrap_message(struct passing *);

/* send.c: --send. */
enum step send_message(struct passing *);
/* Takes the response to a request of acp-inject. tag: the struct own_request of the request, which is freed. */
void send_response(struct inject *, void *tag, const struct message *);
/* Releases the held responses that cannot wait any longer, because a side has ended (ACP_UNKNOWN: both sides). */
void send_side_ended(struct inject *, enum acp_side);
/* Returns whether each --send has fired, every message was sent, and every request has its response. */
bool send_done(const struct inject *);
/* Frees all struct waiting and struct own_request; releases no held response. */
void send_free(struct inject *);

#endif
