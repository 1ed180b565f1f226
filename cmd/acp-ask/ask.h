/* ask: what the files of acp-ask have in common. */
#ifndef ASK_H
#define ASK_H

#include <inttypes.h>

#include "lib/acp/permit.h"
#include "lib/base/cli_line.h"
#include "lib/run/endpoint.h"
#include "lib/session/session.h"
#include "lib/usage/usage.h"

static const char tool_name[] = "acp-ask";

enum { EXIT_TIMEOUT = 124, ASK_JQS = 5, MESSAGES = 256 };
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
	struct buf given;        /* the options that ask.jq reads: an array of [NAME, VALUE] or [NAME, KEY, VALUE...], JSON; or empty */
	const char *script;
	const char **permits;    /* PATTERN=KIND: a pattern for tool calls, and the kind of the option to select; or NULL */
	const char *permit_by;
	uint64_t permit_timeout; /* us; 0: none */
	const char *form;
	int editor;              /* the editor whose configuration is printed: 1 is the first of editor_names; 0: none */
	const char **tools;      /* the tools before the agent in that configuration; or NULL */
};

struct ask;

/* The prompt that runs, or ran last. What the agent has not reported is empty. */
struct turn {
	bool running, over, failed;
	bool cancelled;         /* it was cancelled, and runs */
	struct buf stop;        /* the stop reason, a JSON string */
	struct buf error;       /* the error object, JSON */
	struct usage_sums usage, calls_usage; /* as reported at the turn's end; the sum of its model calls */
	struct buf cost;        /* an object, JSON */
	struct buf text;        /* the agent's text, plain */
	struct buf calls;       /* tool calls, JSON objects with commas between them */
};

/* What was shown of the text of a message. */
struct shown {
	uint64_t id;            /* a hash of its id */
	size_t n, solid;        /* how many bytes; and without the white space at their end */
	uint64_t hash, solid_hash;
};

/* What is printed (show.c). */
struct show {
	struct endpoint out;    /* standard output */
	bool terminal, animated; /* standard output is a terminal; standard error is a terminal, which may show a spinner */
	bool spins, prompts;    /* the last line of the terminal is the spinner; is the prompt of a line to be typed */
	bool open;              /* the text so far does not end with a newline */
	bool gap;               /* something else came after the text, so that the next text begins a new line */
	struct shown messages[MESSAGES]; /* the last ones: a ring */
	unsigned newest;        /* its newest element, modulo MESSAGES */
	uint64_t last;          /* the id of the message whose text was shown last */
	unsigned phase;
	struct loop_timer timer, quiet; /* turns the spinner; shows held */
	struct buf held;        /* text that came while a line is typed, to be shown above it in whole lines, or when no more comes */
};

/* The agent's process (agent.c). */
struct agent {
	struct endpoint live, errors; /* its standard input and output; its standard error */
	struct loop_child child;
	struct loop_timer grace;
	bool reaped, ended;     /* reaped: the process has ended; ended: its output has been read, too */
	bool leaving, stopped;  /* leaving: acp-ask has closed its input; stopped: acp-ask has sent it a signal */
	int status;             /* as waitpid returns it, once the agent is reaped */
};

/* The line that a person types at the terminal (line.c). */
struct typed_line {
	struct loop_fd fd;      /* the terminal; -1: there is none */
	bool asks;              /* a line is to be typed now */
	struct buf prompt;      /* without readline: the prompt of that line */
	char *kept;             /* with readline: the text of line_keep; or NULL */
	void (*got)(struct ask *, struct slice line, bool ended); /* a line was typed, or (ended) no more lines will be */
};

/* A conversation (person.c). */
struct talk {
	struct buf text;        /* of the prompt that is typed */
	bool done, ended;       /* done: no line of a prompt is to be typed; ended: there will be no more lines */
};

struct ask {
	const struct options *options;
	struct jqprog *jq[ASK_JQS]; /* the programs of ask.jq, in its order; NULL: not needed yet */
	struct loop *loop;
	struct agent agent;
	char **variables;        /* that --auth adds to the environment, of the agent and to log in; or NULL */
	struct sessions *sessions;
	struct session *session; /* the session that is open, or is being loaded or resumed; or NULL */
	struct buf session_id;   /* the id of the session, a JSON string */
	struct buf opened;       /* the result that opened the session */
	char *cwd;               /* the directory of the session */
	struct buf initialized;  /* the result of initialize */
	struct buf input;        /* the script; or the prompt, an array of blocks and of files, JSON */
	bool files;              /* the prompt has files: they become blocks when it is known what the agent accepts */
	struct turn turn;
	struct show show;
	struct typed_line line;
	struct talk talk;
	struct terminal *terminals;
	struct question *questions, *asked; /* that have no response yet; the question that the person sees, or NULL */
	struct permits permits;  /* the programs of --permit-by */
	struct buf form;         /* --form: an object, JSON */
	uint64_t rejected;       /* how many permission requests were rejected */
	struct loop_timer timeout;
	uint64_t id;             /* the last number in the id of a request or a terminal */
	struct buf commands;     /* slash commands of the agent, a JSON array */
	unsigned signals;        /* how many have come since the last prompt */
	bool talks;              /* a person types prompts, one after the other */
	bool stopping;           /* the turn was cancelled in order to end */
	bool over;               /* acp-ask waits for nothing but the agent's end */
	int status;              /* the exit status; 0: the agent's */
};

/* --- put.c: makes and reads texts. Out of memory, all of these end the program. --- */

void need(int r);
void put_slice(struct buf *, struct slice);
/* Appends an object with these members, of struct json_member. */
#define put_object(to, ...) need(json_add_object(to, (struct json_member[]){__VA_ARGS__, {0}}))
/* JSON for put_object, which leaves a member with p NULL out: a text as a string, in room; what a buffer has; a text, if true. */
struct slice string_in(struct buf *room, struct slice text);
struct slice json_in(const struct buf *);
struct slice json_if(bool, const char *text);
/* Returns the plain text of a JSON string as a C string, in room; "" of anything else. A NUL in the text becomes U+FFFD. */
char *plain_of(struct slice string, struct buf *room);
/* Makes a NULL-terminated list, to be freed: the words of first (or NULL), and the strings (or objects, as NAME=VALUE) of array. */
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

/* Starts the agent; the first time opens standard output. False: that failed; it is reported, and the exit status set. */
bool agent_start(struct ask *);
/* Closes the agent's input and waits for its end. The agent's status becomes the exit status, if there is none yet. */
void agent_end(struct ask *);
/*
 * Sends a request, and begins the time of --timeout. In params a sessionId that is null becomes the session's, and a _meta that is null
 * becomes the object of --meta. NULL: nothing is sent any more.
 */
struct session_request *ask_request(struct ask *, const char *method, struct slice params);
/*
 * Sends the request [METHOD, PARAMS], JSON, by ask_request, and waits for the response; handles all other messages meanwhile. Returns
 * which member of the response replaces *response, "result" or "error". NULL: no response will come.
 */
const char *ask_call(struct ask *, struct slice request, struct buf *response);
/* Responds to a request of the agent; ask_refuse: with an error. */
void ask_reply(struct ask *, struct slice id, struct slice result);
void ask_refuse(struct ask *, struct slice id, int code, const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Waits until *done, and ends the time of --timeout. False: all is over, and *done is not set. */
bool ask_wait(struct ask *, const bool *done);
/* Sets the exit status, if there is none yet. Returns false. */
bool ask_fail(struct ask *, int status);
/* Reports a failure, and sets the exit status to 1, if there is none yet. Returns false. */
#define ask_report(a, ...) (show_note(a, "acp-ask: " __VA_ARGS__), ask_fail(a, EXIT_NEGATIVE))
/* Makes acp-ask wait for nothing but the agent's end. status: the exit status, if there is none yet. */
void ask_over(struct ask *, int status);
/* Sets the exit status, and cancels the turn: all is over when it has ended, or after the grace period; without a turn, at once. */
void ask_stop(struct ask *, int status);
/* Cancels the turn that runs, and its questions: all that wait, and those that come before its end. */
void ask_cancel(struct ask *);

/* --- session.c --- */

/* Sends initialize, and authenticates. False: that failed, and was reported. */
bool session_connect(struct ask *);
/* Opens the session, and sets its mode, model, options and title. False: that failed, and was reported. */
bool session_open(struct ask *);
/* Reports the error with which the agent responded to a request [METHOD, ...], JSON. */
void session_failed(struct ask *, struct slice request, struct slice error);
/* Prints the list of sessions. */
void session_list(struct ask *);
/* Opens a session (unless --no-session), tries the agent's methods, and prints the results. */
void session_probe(struct ask *);

/* --- offer.c --- */

/* Responds to a request of the agent to use a file or a command; refuses all others. */
void offer_serve(struct ask *, const struct msg *);
/* Responds with an error to the request with this id, if it waits for the end of a command. Returns whether it did. */
bool offer_cancel(struct ask *, struct slice id);
/* Kills all commands that the agent has started. */
void offer_close(struct ask *);

/* --- prompt.c --- */

/* Makes the prompt of the operands, their files, and standard input, if that is not a terminal; or ends the program. */
void prompt_load(struct ask *);
/* Sends a prompt (JSON, a string or an array of blocks), and waits for the turn's end. cancel_after: us; 0: never. */
void prompt_run(struct ask *, struct slice content, uint64_t cancel_after);

/* Runs the script; or (checks) only reads it, and ends the program if a line is wrong. */
void script_run(struct ask *, bool checks);

/* --- line.c --- */

void line_open(struct ask *, void (*got)(struct ask *, struct slice, bool ended));
void line_close(struct ask *);
/* Asks for a line. line_leave must be called when the line was typed (got), or is not needed any more. */
void line_ask(struct ask *, struct slice prompt);
/* Asks for no line any more. False: no line was asked for. */
bool line_leave(struct ask *);
/* Shows the line again, after something was printed while it is typed. */
void line_redraw(const struct ask *);
/* Sets the terminal up again after acp-ask was stopped: another process may have changed its settings. */
void line_resume(const struct ask *);
/* Returns whether something has been typed that line_leave would discard. */
bool line_has_text(const struct ask *);
/* With readline: keeps the text of the line that is being typed, and puts it into the line that is asked for later. */
void line_keep(struct ask *);
void line_take_kept(struct ask *);

/* --- person.c --- */

void person_open(struct ask *);
/* Forgets the questions that have no response, and closes the terminal. */
void person_close(struct ask *);
/* Returns whether there is a person who can be asked. */
bool person_is_there(const struct ask *);
/* Responds to a permission request or an elicitation, at once or later; to an agent whose input is closed, never. */
void answer_begin(struct ask *, const struct msg *);
/* Cancels the question of this request, for whose response the agent does not wait any more; or (p NULL) all, with the turn. */
void answer_cancel(struct ask *, struct slice id);
/* Reads and runs prompts from the terminal until there are no more. talk_interrupt: handles Ctrl-C while no turn runs. */
void talk_run(struct ask *);
void talk_interrupt(struct ask *);

/* --- show.c --- */

void show_open(struct ask *);
/* Writes the rest of the output to standard output, and closes that. */
void show_close(struct ask *);
/* Writes a line to standard error, as plain text. */
void show_note(struct ask *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes a line to standard error for each text of a JSON array. */
void show_notes(struct ask *, struct slice notes);
/* Shows what an update says, and notes the usage in an update or a response. show_call: shows what happened to a tool call. */
void show_update(struct ask *, const struct session_message *);
void show_call(struct ask *, const struct session_event *);
/* Starts the spinner when a turn begins; when it has ended, stops the spinner and ends the last line of text. */
void show_turn(struct ask *, bool begins);
/* Replaces *result by an object with the result of the last turn, and with --format json prints the object. */
void show_result(struct ask *, struct buf *result);
/* Writes a line to standard output. */
void show_line(struct ask *, struct slice);
/* Removes the spinner and ends an open line, before something else is written to the terminal. */
void show_clear(struct ask *);
/* Returns the kind, name or title of the tool call that a permission request is about: plain text, in room; "" if not known. */
const char *show_known(const struct ask *, const struct msg *, const char *member, struct buf *room);

#endif
