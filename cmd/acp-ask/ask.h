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
	struct buf cwd;          /* its directory, plain text with a NUL */
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

/* Ends the program where there is no memory. */
static inline void
need(int r)
{
	if (r < 0)
		cli_no_memory(tool_name);
}

/* Takes over the text of a JSON string; anything else leaves it as it was. */
static inline void
keep_string(struct buf *to, struct slice value)
{
	if (json_type(value) != JSON_STRING)
		return;
	to->n = 0;
	need(json_unescape(value, to));
}

/* --- agent.c --- */

/* Starts the agent and opens standard output. 0, or an exit status after a message. */
int agent_start(struct ask *);
/* Closes the agent's input and waits for its end. */
void agent_end(struct ask *);
/* Sends a request and waits for its response; all that comes before is handled. params are freed; result or error replace *response. */
enum got ask_call(struct ask *, const char *method, struct buf *params, struct buf *response);
/* The same where only a result will do: else it reports why, and sets the exit status. */
bool ask_must(struct ask *, const char *method, struct buf *params, struct buf *result);
/* The time of --timeout begins now. */
void ask_begin_time(struct ask *);
/* Reports the error that a request got. */
void ask_report(struct ask *, const char *method, struct slice error);
/* Sends a message, whose buffer it frees. Returns the request that it is; or NULL. */
struct session_request *ask_send(struct ask *, struct buf *message);
/* Responds to a request of the agent; result is freed. */
void ask_reply(struct ask *, struct slice id, struct buf *result);
void ask_reply_error(struct ask *, struct slice id, int code, const char *why);
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
bool ask_v2(const struct ask *);

/* --- session.c --- */

/* initialize, and authentication. False: it failed, and that has been reported. */
bool session_connect(struct ask *);
/* Finds the directory of --cwd; exits where there is none. */
void session_directory(struct ask *);
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
void terminal_serve(struct ask *, const struct msg *, struct slice method);
/* Ends all commands. */
void terminals_close(struct ask *);

/* --- prompt.c --- */

/* Reads a descriptor to its end, at most `most` bytes. 0, or -1 with errno. */
int prompt_read_all(int fd, size_t most, struct buf *to);
/* Reads standard input where it is no terminal. Exits where it cannot be read. */
void prompt_input(struct ask *);
/* Appends the operands, and standard input, as an array of content; nothing where there is none. Exits where a file cannot be read. */
void prompt_read(struct ask *, struct buf *blocks);
/* Sends a prompt; the array is freed. */
void prompt_begin(struct ask *, struct buf *blocks);
/* Waits for its end. False: there will be none. */
bool prompt_end(struct ask *);

/* --- probe.c, script.c, talk.c --- */

/* Opens a session, tries the agent's methods, and prints what came of it. */
void probe_run(struct ask *);

/* Checks the script, which ends the program where it is none; then runs it. */
void script_read(struct ask *);
void script_run(struct ask *);
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
/* The agent does not wait for the response to this request any more. */
void answer_forget(struct ask *, struct slice id);
/* The turn was cancelled: so are all questions. */
void answer_cancel(struct ask *);
/* Is there a person who can be asked? */
bool answer_person(const struct ask *);
void answer_open(struct ask *);
void answer_close(struct ask *);

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
/* The tool call that an update, or a permission request, is about; p NULL: none. */
struct slice show_call_object(const struct msg *);
/* What a permission request is about, as far as it is known: plain texts, each with a NUL after it. Zero it first. */
struct subject {
	struct buf title, name, kind;
};
void show_subject(const struct ask *, const struct msg *, struct subject *);
void subject_free(struct subject *);
/* Writes to the terminal, without a newline, what a person is to type. */
void show_prompt(struct ask *, const char *text);

#endif
