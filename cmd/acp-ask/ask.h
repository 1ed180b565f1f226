/* ask: what the parts of acp-ask share. */
#ifndef ASK_H
#define ASK_H

#include <inttypes.h>

#include "lib/base/cli_line.h"
#include "lib/run/endpoint.h"
#include "lib/session/session.h"
#include "lib/usage/usage.h"

static const char tool_name[] = "acp-ask";

enum { EXIT_TIMEOUT = 124 };
enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_NDJSON };

struct permit {
	const char *pattern, *kind; /* of the tool call; of the option */
};

/* The command line. Texts that are not given are NULL. */
struct options {
	char **prompt;           /* the operands, NULL-terminated */
	char *const *command;    /* the agent */
	enum format format;
	bool quiet, verbose;
	uint64_t timeout, grace; /* us; timeout 0: none */
	size_t line_limit;
	int protocol;
	const char *auth, *cwd;
	enum { FS_NONE, FS_READ, FS_WRITE } fs;
	bool terminal;
	const char **mcp, **mcp_urls, **configs; /* NULL-terminated; or NULL */
	const char *mode, *model, *resume, *load, *title, *meta;
	bool list, probe, no_session;
	const char *script;
	struct permit *permits;
	size_t npermits;
	const char *permit_by;
	uint64_t permit_timeout; /* us; 0: none */
	const char *form;
};

/* What a request brought. */
enum got {
	GOT_RESULT,
	GOT_ERROR,   /* its error object */
	GOT_NOTHING, /* no response will come: it is time to end */
};

/* The prompt that runs, or ran last. What the agent has not reported is empty. */
struct turn {
	bool running, over, failed;
	struct buf stop;        /* the stop reason, plain text */
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
	struct loop_timer timer;
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

/* The person at the terminal, who answers questions (answer.c). */
struct person {
	struct loop_fd fd;      /* -1: there is nobody */
	struct buf typed;
	struct question *asked; /* the question that is shown; or NULL */
};

struct ask {
	const struct options *options;
	struct loop *loop;
	struct agent agent;
	struct sessions *sessions;
	struct session *session; /* that is open; or NULL */
	struct buf session_id;   /* of it, a JSON string */
	struct buf opened;       /* the response that opened it */
	char *cwd;               /* its directory */
	struct buf initialized;  /* the result of initialize */
	struct buf input;        /* standard input, where it is no terminal; or the script */
	struct turn turn;
	struct show show;
	struct person person;
	struct terminal *terminals;
	struct question *questions; /* that have no response yet */
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
void put(struct buf *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void put_slice(struct buf *, struct slice);
/* Appends a member of an object: a text as a string; JSON, nothing where p is NULL. */
void put_text(struct buf *, const char *name, struct slice text);
void put_member(struct buf *, const char *name, struct slice json);
/* Appends a text as a JSON string. */
void put_quoted(struct buf *, struct slice text);
/* The plain text of a JSON string, with a NUL, in room; "" of anything else. */
char *plain_of(struct slice string, struct buf *room);
/* Replaces what is kept by the plain text of a JSON string; anything else leaves it. */
void keep_string(struct buf *to, struct slice value);
/* The next element, where this is an array. */
bool next_item(struct json_iter *, struct slice *item);
/* A list of these words (or NULL) and the strings of an array, or NAME=VALUE of one of variables; NULL-terminated, to be freed. */
char **words_new(char *const *first, struct slice array);
void words_free(char **list);
/* Reads a file that an option names, or ends the program. */
void read_named(const char *option, const char *path, size_t most, struct buf *to);

/* --- agent.c --- */

/* Starts the agent and opens standard output. 0, or an exit status after a message. */
int agent_start(struct ask *);
/* Closes the agent's input and waits for its end. */
void agent_end(struct ask *);
/* Sends a request and waits for its response; all that comes before is handled. params are freed; result or error replace *response. */
enum got ask_call(struct ask *, const char *method, struct buf *params, struct buf *response);
/* The same where only a result will do: else it reports why, and sets the exit status. */
bool ask_must(struct ask *, const char *method, struct buf *params, struct buf *result);
/* Sends a request, whose params are freed, and begins the time of --timeout. NULL: nothing is sent any more. */
struct session_request *ask_request(struct ask *, const char *method, struct buf *params);
/* Reports the error that a request got. */
void ask_report(struct ask *, const char *method, struct slice error);
/* Responds to a request of the agent; result is freed. */
void ask_reply(struct ask *, struct slice id, struct buf *result);
void ask_refuse(struct ask *, struct slice id, int code, const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Waits until *done. False: that will not happen any more. */
bool ask_wait(struct ask *, const bool *done);
/* The exit status is this, where there is none yet. */
void ask_fail(struct ask *, int status);
/* Nothing is waited for any more. */
void ask_over(struct ask *, int status);
/* Cancels the turn that runs, and waits for its end at most the grace period; then, or where there is none, all is over. */
void ask_stop(struct ask *, int status);
/* Cancels the turn that runs. */
void ask_cancel(struct ask *);
/* Does the agent advertise this? Paths in its response to initialize, by version; NULL: it is not there in that one. */
bool ask_has(const struct ask *, const char *v1, const char *v2);

/* --- session.c --- */

/* initialize, and authentication. False: it failed, and that has been reported. */
bool session_connect(struct ask *);
/* Reports the methods of authentication that the agent has, and why. */
void session_list_methods(struct ask *, const char *why);

/* --- open.c --- */

/* Opens the session, and sets its mode, model and so on. False likewise. */
bool session_open(struct ask *);
/* Prints the list of sessions. */
void session_list(struct ask *);

/* --- files.c, terminal.c: what the agent may use --- */

/* Opens what is below the session's directory. path: absolute. -1 with errno; EXDEV, ELOOP: it is outside. */
int files_open(const struct ask *, const char *path, int flags);
/* Responds with this error. */
void files_refuse(struct ask *, struct slice id, const char *path, int error);
/* fs/read_text_file; fs/write_text_file */
void files_serve(struct ask *, const struct msg *, bool writes);
/* terminal/create, ... */
void terminal_serve(struct ask *, const struct msg *, const char *method);
/* Ends all commands. */
void terminals_close(struct ask *);

/* --- prompt.c --- */

/* Appends the operands, and standard input, as an array of content; nothing where there is none. Exits where a file cannot be read. */
void prompt_read(struct ask *, struct buf *blocks);
/* Sends a prompt; the array is freed. */
void prompt_begin(struct ask *, struct buf *blocks);
/* Waits for its end. False: there will be none. */
bool prompt_end(struct ask *);

/* --- probe.c, script.c, talk.c --- */

/* Opens a session, tries the agent's methods, and prints what came of it. */
void probe_run(struct ask *);

/* Runs the script; or checks it, which ends the program where it is none. */
void script_run(struct ask *, bool checks);
/* Reads prompts from the terminal until there are no more. */
void talk_run(struct ask *);
/* Ctrl-C while a line is typed. */
void talk_interrupt(struct ask *);
/* A question is asked at the terminal, or no more. */
void talk_yield(bool yields);
/* Something was printed: shows the line that is typed anew. */
void talk_redraw(void);

/* --- answer.c --- */

/* Responds to a permission request or an elicitation, at once or later. */
void answer_permission(struct ask *, const struct msg *);
void answer_form(struct ask *, const struct msg *);
/* The agent does not wait for the response to this request any more; or (p NULL) the turn was cancelled, and so are all questions. */
void answer_cancel(struct ask *, struct slice id);
/* Is there a person who can be asked? */
bool answer_person(const struct ask *);
void answer_open(struct ask *);
void answer_close(struct ask *);

/* --- form.c: an elicitation, which asks for values by a schema --- */

/* The form of these params, which must outlive it. NULL: it is none that can be filled in. */
struct form *form_new(struct slice params);
void form_free(struct form *);
/* Appends the response with the values that this object (JSON) has for it. False: one is missing or not valid. */
bool form_fill(struct form *, struct slice values, struct buf *result);
/* Shows the field that is asked for at the terminal. */
void form_show(struct form *, struct ask *);
/* Reads what was typed for it (ended: the person has declined). True: that was the last, and the response is appended. */
bool form_read(struct form *, struct slice typed, bool ended, struct buf *result);

/* --- show.c --- */

void show_open(struct ask *);
/* Writes what is left to standard output. */
void show_close(struct ask *);
/* A line on standard error, as plain text. */
void show_note(struct ask *, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A message of the agent, as --format ndjson has it. */
void show_message(struct ask *, const struct line *);
/* An update, or a response: what it says of the text and of usage; what happened to a tool call. */
void show_update(struct ask *, const struct session_message *);
void show_call(struct ask *, const struct session_event *);
/* A turn begins, or has ended. */
void show_turn(struct ask *, bool begins);
/* Appends the turn that has ended as an object, JSON. */
void show_put_result(const struct ask *, struct buf *);
/* Text for standard output. */
void show_text(struct ask *, struct slice);
/* Before somebody else writes to the terminal. */
void show_clear(struct ask *);
/* The kind, name or title of what a permission request is about, as far as it is known: plain text in room. */
const char *show_known(const struct ask *, const struct msg *, const char *member, struct buf *room);
/* Writes to the terminal, without a newline, what a person is to type. */
void show_prompt(struct ask *, struct slice text);

#endif
