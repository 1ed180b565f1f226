/* inject: what the parts of acp-inject share. */
#ifndef INJECT_H
#define INJECT_H

#include "lib/base/cli.h"
#include "lib/frame/frame_options.h"
#include "lib/acp/commands.h"
#include "lib/filter/jqprog.h"
#include "lib/filter/select.h"

static const char tool_name[] = "acp-inject";

/* --- what is asked for (main.c) --- */

/* --prepend and --append: a text, or a file that has it. */
struct context {
	bool append;
	const char *text; /* or NULL */
	const char *path;
};

/* --answer, --permit and --deny. */
enum answer_kind { ANSWER_WITH, ANSWER_PERMIT, ANSWER_DENY };
struct answer {
	enum answer_kind kind;
	const char *rule;       /* "--deny fs/write_text_file", for messages */
	struct select *select;  /* by method */
	const char *text;       /* the program, the kind of option, or the error's message */
	int code;               /* the error's */
	struct jqprog *program;
};

/* --send. */
enum send_when { SEND_BEFORE, SEND_AFTER, SEND_ANSWER };
struct send {
	enum acp_direction dir;
	enum send_when when;
	const char *rule;       /* "--send down:after:session/new" */
	struct select *select;  /* by method */
	const char *text;
	struct jqprog *program;
};

struct options {
	struct frame_options frame;
	struct select *select;  /* what is edited */
	struct select *session; /* what all rules are about */
	const char *edit_rule;  /* "-e", or "-E FILE" */
	struct jqprog *edit;    /* or NULL */
	struct context *contexts;
	size_t ncontexts;
	const char **servers;   /* JSON, or "@FILE" */
	size_t nservers;
	struct answer *answers;
	size_t nanswers;
	struct send *sends;
	size_t nsends;
	bool every, send_every, strict, silent, verbose;
	bool leave;             /* when all is sent and answered */
	char **kept;            /* texts that were made of options */
	size_t nkept;
};

/* --- names that have been met (once.c) --- */

struct once;
/* Is this name new to the set, with this number? A set begins as NULL. */
bool once_new(struct once *const *, unsigned number, struct slice name);
/* 0, or -1 out of memory. */
int once_add(struct once **, unsigned number, struct slice name);
void once_free(struct once *);

/* --- what goes behind a message (later.c) --- */

struct later;
/* All but `tag` is copied; method NULL: text is a whole message, else the params (p NULL: none). 0, or -1 out of memory. */
int later_add(struct later **, enum acp_direction, const char *method, bool request, struct slice text, void *tag);
/* Puts what is in `more` behind it. */
void later_join(struct later **, struct later *more);
/* Sends all, and empties it. 0, or -1 out of memory. */
int later_send(struct later **, struct frame *);
void later_free(struct later *);

/* --- the filter (stream.c) --- */

struct inject {
	const struct options *options;
	struct frame *frame;
	struct once *told;        /* failures that have been said */
	size_t ntold;
	bool silence_told;        /* that a dropped request has no answer */
	struct commands *commands; /* for prompts that are commands */
	struct once *sessions;    /* what has been done in which session: CONTEXT_DONE, or the number of a --send */
	struct later *later;
	struct waiting *waiting;  /* answers that are held until own requests are answered */
	struct own *own;          /* own requests that are open */
	bool *fired;              /* of each --send: has it? */
	bool refused;             /* something that was sent could not be, or was answered with an error */
	bool stopped;             /* --strict has ended it */
};

/* What a rule does with a message. */
enum step {
	STEP_ON,     /* to the next rule, and on in the end */
	STEP_HELD,
	STEP_GONE,   /* answered or dropped */
	STEP_FAILED, /* out of memory */
};

/* A message on its way through the rules. */
struct passing {
	struct inject *inject;
	enum acp_direction dir;
	struct message message;    /* as the rules so far have left it */
	struct slice was;    /* the message as it came */
	struct buf text;     /* where it has been changed */
	struct later *later; /* what is to go behind it */
};

int stream_run(const struct options *);
/* The message is this text from now on, a valid message; it may be part of what it was. 0, or -1 out of memory. */
int passing_become(struct passing *, struct slice text);
/* Hands the change to the frame; nothing more may be changed. 0 or -1. */
int passing_settle(struct passing *);
/*
 * A rule could not be applied to a message: one line, once for each kind of message and failure,
 * and with --strict the end. then: what becomes of the message.
 */
void passing_failed(struct passing *, const char *rule, const char *why, const char *then);
/* The same for what jqprog_run and its like return, 1 or 2. Frees why. */
void passing_jq_failed(struct passing *, const char *rule, int result, char *why, const char *then);
/* With -v: what has been done here. */
void inject_note(struct inject *, const char *what, struct slice detail);

/* --- the rules, in the order in which they are applied --- */

/* edit.c: -e, -E. */
enum step edit_message(struct passing *);

/* answer.c: --answer, --permit, --deny. The first that matches a request answers it. */
enum step answer_message(struct passing *);

/* context.c: --prepend, --append, --mcp-server. */
enum { CONTEXT_DONE = 0 };
enum step context_message(struct passing *);
/* A file that is there: appended. The same for a server, JSON or @FILE, as one line. NULL, or why not. */
const char *context_file(const char *path, struct buf *to);
const char *context_server(const char *server, struct buf *to);

/* send.c: --send. */
enum step send_message(struct passing *);
void send_answered(struct inject *, void *tag, const struct message *);
/* A side has ended (ACP_UNKNOWN: both): answers that wait for it go on. */
void send_side_ended(struct inject *, enum acp_side);
/* Has each --send fired, and all that it sent been answered? */
bool send_done(const struct inject *);
void send_free(struct inject *);

#endif
