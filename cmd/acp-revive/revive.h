/*
 * acp-revive: passes messages between the client and an agent, starts the agent again when it dies, and restores its sessions. Where
 * there is no memory, it ends.
 */
#ifndef REVIVE_H
#define REVIVE_H

#include "lib/acp/requests.h"
#include "lib/base/cli.h"
#include "lib/run/endpoint.h"

static const char revive_name[] = "acp-revive";

enum { REVIVE_SHOWN = 200 }; /* bytes of a session's id or of an agent's error that a diagnostic quotes */

struct revive_options {
	char *const *command;
	const char *allowed;       /* --restarts as it was given: "3/1m" */
	size_t restarts;           /* at most ... */
	uint64_t window;           /* ... in this time, us */
	uint64_t init_timeout, grace; /* us */
	size_t line_limit;
	bool verbose;
};

/* The agent's process. */
struct agent {
	struct endpoint pipes;     /* its standard output and input */
	struct endpoint errors;    /* its standard error ... */
	struct buf tail;           /* ... the last lines of it ... */
	uint64_t discarded;        /* ... and how many found no room */
	struct loop_child child;
	pid_t first;               /* the process id of the first agent, or 0 */
	bool ended;                /* the process has */
	int status;                /* as waitpid has it, where it has ended */
	const char *killed_for;    /* why agent_kill ended it, or NULL */
	struct loop_timer half_closed;
	int unread;                /* a copy of an end of its input (io_copy_end), or -1 */
};

/* What a new process must be set to, as JSON: two strings, and the agent's list of options. An empty one is unknown. */
enum setting { SETTING_MODE, SETTING_MODEL, SETTING_OPTIONS, SETTINGS };

/* A session that the client has open. */
struct revive_session {
	struct buf id;             /* a JSON string */
	struct buf params;         /* of session/resume or session/load */
	struct buf settings[SETTINGS];
	size_t bytes;              /* of memory */
	unsigned tries;            /* restorations that have begun and not ended */
	bool restored;             /* this process of the agent has it */
	bool running;              /* version 2: the agent works in it */
	struct buf lost;           /* it could not be restored: the reason, a text with a NUL; else empty */
	struct buf refusal;        /* with this error of the agent, or empty */
	bool notified;             /* the client has the notice of that */
	struct revive_session *prev, *next;
};

/* What the next process needs: how the client initialized the agent and authenticated, and its sessions. */
struct memory {
	struct revive_session *sessions; /* least recently used first */
	size_t n, bytes;
	struct buf initialize;     /* the client's params, once the agent has accepted them */
	struct buf login, login_method; /* params and method by which the client authenticated; empty: none */
	bool resumes, loads;       /* what the agent can do */
	bool notices;              /* the client shows notices */
	bool version2;
};

/* How far a new process has come. */
struct restore {
	enum { RESTORE_INITIALIZE, RESTORE_LOGIN, RESTORE_OPEN, RESTORE_SET, RESTORE_DONE } step;
	struct revive_session *session; /* what is being restored, or NULL */
	struct buf settings[SETTINGS];  /* the new process's */
	size_t set;                /* how many of the session's settings, and then options, have been compared */
	struct buf id;             /* of our request that is open, or empty */
};

struct revive {
	const struct revive_options *options;
	struct loop *loop;
	/* RUNNING: lines pass. RESTORING: a new process is not there yet where the last one was. OVER: the agent has ended for good. */
	enum { RUNNING, RESTORING, OVER } state;
	struct endpoint client;
	struct agent agent;
	bool (*agent_line)(void *revive, enum input_got, const struct line *); /* of its standard output */
	struct requests *requests; /* open ones; owner: the params of the client's, or the agent's own id, a text of ours; or NULL */
	struct memory memory;
	struct restore restore;
	uint64_t asked;            /* requests with ids of ours */
	struct {
		uint64_t processes;
		uint64_t *times;   /* of the last ones: a ring of options->restarts */
		const char *how;   /* the last one, in words */
		char room[64];     /* for them */
		struct buf reason; /* the data of errors */
	} deaths;
	struct buf waiting;        /* lines for the agent that wait for a restoration */
	struct loop_task settle;
	struct loop_timer timer;   /* of the restoration, or of the end */
	struct {
		bool begun;        /* the client has left, and the agent's input ends */
		uint64_t moved;    /* bytes that had moved when the timer was started */
		int signals, status;
	} end;
};

static inline void
need(int r)
{
	if (r < 0)
		cli_die(EXIT_FAILED, revive_name, "out of memory");
}

/* Something was read or written, or has ended: what follows from it is decided before the loop waits again. */
static inline void
revive_changed(struct revive *r)
{
	loop_add_task(r->loop, &r->settle);
}

/* --- agent.c: the process of the agent --- */

/* Starts it, again if it has ended. False: the exit status is set, after a message on standard error. */
bool agent_start(struct revive *);
/* Sends a signal to its group. why: kept, for killed_for. */
void agent_kill(struct agent *, int signal, const char *why);
/* After its end: gives what it has not read, what is queued and what is in the pipe, without the end of a line that it had partly read. */
void agent_get_unread(struct agent *, struct buf *to);
/* Ends its group, and closes what is left of it. */
void agent_close(struct revive *);

/* --- memory.c: what is noted for the next process --- */

/* The params of a request that memory_note_response needs; p NULL: none. */
struct slice memory_params(const struct msg *request);
/* Notes the agent's response to a request of the client, whose params these were. */
void memory_note_response(struct memory *, const struct request *, struct slice params, const struct msg *response);
/* Notes a session/update of the agent. */
void memory_note_update(struct memory *, const struct msg *);
/* Copies the settings from `first` on that the result of a request reports. */
void memory_read_settings(struct slice result, enum setting first, struct buf settings[SETTINGS]);
/* Notes that a message names a session. Returns the session if it could not be restored, so that the message must be refused. */
struct revive_session *memory_use_session(struct memory *, const struct msg *);
/* The value at a path of members, if it has that type; else p NULL. */
struct slice memory_get(struct slice object, const char *path, enum json_type);
void memory_free(struct memory *);

/* --- restore.c: brings a new process to where the last one was --- */

/* Sends the first request of a new process. Returns how many sessions are to be restored. */
size_t restore_begin(struct revive *);
/* Takes the response to the request that was sent last. Is all restored? */
bool restore_response(struct revive *, const struct msg *);
/* Appends a new id of ours, a JSON string. */
void restore_put_id(struct revive *, struct buf *to);
void restore_free(struct restore *);

/* --- revive.c --- */

/* Runs until both sides have ended. Returns the exit status, after messages on standard error. */
int revive_run(const struct revive_options *);

#endif
