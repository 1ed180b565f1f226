/* ask: what the parts of acp-ask share. */
#ifndef ASK_H
#define ASK_H

#include <inttypes.h>

#include "lib/acp/permit.h"
#include "lib/base/cli_line.h"
#include "lib/run/endpoint.h"
#include "lib/session/session.h"
#include "lib/usage/usage.h"

static const char tool_name[] = "acp-ask";

enum { EXIT_TIMEOUT = 124, ASK_JQS = 5 };
enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_NDJSON };

/* The command line. Texts that are not given are NULL. */
struct options {
	char **prompt;           /* the operands, NULL-terminated */
	char *const *command;    /* the agent */
	enum format format;
	bool quiet, verbose;
	uint64_t timeout, grace; /* us; timeout 0: none */
	size_t line_limit;
	int protocol;
	const char *cwd, *auth, *resume, *load, *meta;
	enum { FS_NONE, FS_READ, FS_WRITE } fs;
	bool terminal, list, probe, no_session;
	struct buf given;        /* what ask.jq reads of the options: an array of [NAME, VALUE] or [NAME, KEY, VALUE...], JSON; or empty */
	const char *script;
	const char **permits;    /* PATTERN=KIND, of the tool call and of the option; or NULL */
	const char *permit_by;
	uint64_t permit_timeout; /* us; 0: none */
	const char *form;
	int editor;              /* whose configuration is printed, in place of all else: 1 is the first name; 0: none */
	const char **tools;      /* that stand before the agent there; or NULL */
};

struct ask;

/* The prompt that runs, or ran last. What the agent has not reported is empty. */
struct turn {
	bool running, over, failed;
	struct buf stop;        /* the stop reason, a JSON string */
	struct buf error;       /* the error object, JSON */
	struct usage_sums usage, calls_usage; /* as the turn's end has it; the sum of its model calls */
	struct buf cost;        /* JSON */
	struct buf text;        /* the agent's, plain */
	struct buf calls;       /* tool calls, JSON objects with commas between them */
};

/* What is printed (show.c). */
struct show {
	struct endpoint out;    /* standard output */
	bool terminal, animated; /* standard output is one; standard error is one, and may have a spinner */
	bool spins, prompts;    /* the last line of the terminal is the spinner; asks for something to be typed */
	bool open;              /* the text so far does not end with a newline */
	bool gap;               /* something else came after the text: what follows begins a new line */
	struct buf message;     /* the id of the message whose text was shown last: a JSON string, or empty */
	size_t shown;           /* bytes of its text */
	unsigned phase;
	struct loop_timer timer, quiet;
	struct buf held;        /* text that came while a line is typed: to be shown above that, in whole lines or when no more comes */
};

/* The agent's process (agent.c). */
struct agent {
	struct endpoint live, errors; /* its standard input and output; its standard error */
	struct loop_child child;
	struct loop_timer grace;
	bool reaped, ended;     /* ended: and what it wrote has been read */
	bool leaving, stopped;  /* leaving: its input is closed; stopped: it was sent a signal */
	int status;             /* as waitpid has it, once it is reaped */
};

/* The line that a person types at the terminal (line.c). */
struct typed_line {
	struct loop_fd fd;      /* the terminal; -1: there is none */
	bool asks;              /* for a line, now */
	struct buf prompt;      /* of it, without readline */
	void (*got)(struct ask *, struct slice line, bool ended); /* a line was typed, or (ended) there will be none */
};

/* A conversation (person.c). */
struct talk {
	struct buf text;        /* of the prompt */
	bool done, ended;       /* no line of it is to be typed (else as soon as no question is shown); there will be none */
};

struct ask {
	const struct options *options;
	struct jqprog *jq[ASK_JQS]; /* the programs of ask.jq, in its order; NULL: not needed yet */
	struct loop *loop;
	struct agent agent;
	char **variables;        /* of its environment, which somebody who logs in needs, too; or NULL */
	struct sessions *sessions;
	struct session *session; /* that is open; or NULL */
	struct buf session_id;   /* of it, a JSON string */
	struct buf opened;       /* the response that opened it */
	char *cwd;               /* its directory */
	struct buf initialized;  /* the result of initialize */
	struct buf input;        /* the script; or the prompt, an array of blocks and of files, JSON */
	bool files;              /* it has files: these become blocks when it is known what the agent accepts */
	struct turn turn;
	struct show show;
	struct typed_line line;
	struct talk talk;
	struct terminal *terminals;
	struct question *questions, *asked; /* that have no response yet; the one that the person is shown, or NULL */
	struct permits permits;  /* the programs of --permit-by */
	struct buf form;         /* --form: an object, JSON */
	uint64_t rejected;       /* permission requests */
	struct loop_timer timeout;
	uint64_t id;             /* of the last request */
	struct buf commands;     /* slash commands of the agent, a JSON array */
	unsigned signals;
	bool talks;              /* a person types prompts, one after the other */
	bool stopping;           /* the turn was cancelled, to end */
	bool over;               /* nothing is waited for but the agent's end */
	int status;              /* the exit status; 0: the agent's */
};

/* --- put.c: texts that are made and read. Where there is no memory, all of these end the program. --- */

void need(int r);
void put_slice(struct buf *, struct slice);
/* Appends an object with these members, of struct json_member. */
#define put_object(to, ...) need(json_add_object(to, (struct json_member[]){__VA_ARGS__, {0}}))
/* JSON for a member: a text as a string, in room; what was written (p NULL: nothing was); this where it holds. */
struct slice string_in(struct buf *room, struct slice text);
struct slice json_in(const struct buf *);
struct slice json_if(bool, const char *text);
/* The plain text of a JSON string, with a NUL, in room; "" of anything else. */
char *plain_of(struct slice string, struct buf *room);
/* The next element, where this is an array. */
bool next_item(struct json_iter *, struct slice *item);
/* A list of these words (or NULL) and the strings of an array, or NAME=VALUE of one of variables; NULL-terminated, to be freed. */
char **words_new(char *const *first, struct slice array);
void words_free(char **list);
/* Reads a file that an option names, or ends the program. */
void read_named(const char *option, const char *path, size_t most, struct buf *to);
/* Runs a function of ask.jq: its output (JSON) replaces *output. False: it failed; that is reported, and the exit status set. */
bool ask_jq(struct ask *, const char *function, struct slice input, struct buf *output);
void ask_jq_close(struct ask *);

/* --- editor.c --- */

/* The words of --editor, NULL-terminated; prints the configuration of that editor. Returns the exit status. */
extern const char *const editor_names[];
int editor_print(struct ask *);

/* --- agent.c --- */

/* Starts the agent and opens standard output. False: it was not started; that has been reported, and the exit status set. */
bool agent_start(struct ask *);
/* Closes the agent's input and waits for its end. */
void agent_end(struct ask *);
/*
 * Sends a request, and begins the time of --timeout. A sessionId that is null in its params becomes the session's, and a _meta that is
 * null that of --meta. NULL: nothing is sent any more.
 */
struct session_request *ask_request(struct ask *, const char *method, struct slice params);
/*
 * The same with [METHOD, PARAMS], JSON, and waits for the response; all that comes before is handled. Returns which of its members
 * replaces *response, result or error. NULL: no response will come, it is time to end.
 */
const char *ask_call(struct ask *, struct slice request, struct buf *response);
/* Responds to a request of the agent. */
void ask_reply(struct ask *, struct slice id, struct slice result);
void ask_refuse(struct ask *, struct slice id, int code, const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Waits until *done. False: that will not happen any more. */
bool ask_wait(struct ask *, const bool *done);
/* The exit status is this, where there is none yet. Returns false. */
bool ask_fail(struct ask *, int status);
/* Something failed: reports it, and the exit status is 1. False likewise. */
#define ask_report(a, ...) (show_note(a, "acp-ask: " __VA_ARGS__), ask_fail(a, EXIT_NEGATIVE))
/* Nothing is waited for any more. */
void ask_over(struct ask *, int status);
/* Cancels the turn that runs, and waits for its end at most the grace period; then, or where there is none, all is over. */
void ask_stop(struct ask *, int status);
/* Cancels the turn that runs. */
void ask_cancel(struct ask *);

/* --- session.c --- */

/* initialize, and authentication. False: it failed, and that has been reported. */
bool session_connect(struct ask *);
/* Opens the session, and sets its mode, model and so on. False likewise. */
bool session_open(struct ask *);
/* Prints the list of sessions. */
void session_list(struct ask *);
/* Opens a session, tries the agent's methods, and prints what came of it. */
void session_probe(struct ask *);

/* --- offer.c --- */

/* Responds to a request of the agent for what it may use. */
void offer_serve(struct ask *, const struct msg *);
/* Ends all commands. */
void offer_close(struct ask *);

/* --- prompt.c --- */

/* Reads what makes the prompt: the operands, files among them, and standard input, where it is no terminal; or ends the program. */
void prompt_load(struct ask *);
/* Sends a prompt (JSON, a string or an array of blocks), cancels it when it is time (us; 0: never), and waits for its end. */
void prompt_run(struct ask *, struct slice content, uint64_t cancel_after);

/* Runs the script; or checks it, which ends the program where it is none. */
void script_run(struct ask *, bool checks);

/* --- line.c --- */

void line_open(struct ask *, void (*got)(struct ask *, struct slice, bool ended));
void line_close(struct ask *);
/* Asks for a line: after it, or line_leave, it is over. */
void line_ask(struct ask *, struct slice prompt);
/* False: none was asked for. */
bool line_leave(struct ask *);
/* Something was printed while a line is asked for: shows it anew. */
void line_redraw(const struct ask *);
/* We were stopped, and somebody else may have set the terminal up. */
void line_resume(const struct ask *);
/* Has something been typed that can be discarded? */
bool line_has_text(const struct ask *);

/* --- person.c --- */

void person_open(struct ask *);
/* Forgets what has no response, too. */
void person_close(struct ask *);
/* Is there one who can be asked? */
bool person_is_there(const struct ask *);
/* Responds to a permission request or an elicitation, at once or later. */
void answer_begin(struct ask *, const struct msg *);
/* The agent does not wait for the response to this request any more; or (p NULL) the turn was cancelled, and so are all questions. */
void answer_cancel(struct ask *, struct slice id);
/* Reads prompts from the terminal until there are no more. Ctrl-C while no turn runs. */
void talk_run(struct ask *);
void talk_interrupt(struct ask *);

/* --- show.c --- */

void show_open(struct ask *);
/* Writes what is left to standard output. */
void show_close(struct ask *);
/* A line on standard error, as plain text. */
void show_note(struct ask *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for each text of an array, JSON. */
void show_notes(struct ask *, struct slice notes);
/* An update, or a response: what it says of the text and of usage; what happened to a tool call. */
void show_update(struct ask *, const struct session_message *);
void show_call(struct ask *, const struct session_event *);
/* A turn begins, or has ended. */
void show_turn(struct ask *, bool begins);
/* The turn that has ended as an object replaces *result; with --format json it is printed. */
void show_result(struct ask *, struct buf *result);
/* A line on standard output. */
void show_line(struct ask *, struct slice);
/* Before somebody else writes to the terminal. */
void show_clear(struct ask *);
/* The kind, name or title of what a permission request is about, as far as it is known: plain text in room. */
const char *show_known(const struct ask *, const struct msg *, const char *member, struct buf *room);

#endif
