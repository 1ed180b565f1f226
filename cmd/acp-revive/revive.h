/*
 * acp-revive: passes messages between the client and an agent, starts the agent again when it dies, and restores its sessions. Out of
 * memory it ends.
 */
#ifndef REVIVE_H
#define REVIVE_H

#include "lib/acp/requests.h"
#include "lib/base/cli.h"
#include "lib/run/proc.h"
#include "lib/run/report.h"

static const char revive_name[] = "acp-revive";

enum { REVIVE_SHOWN = 200 }; /* bytes of a session's id or of an agent's error that a diagnostic quotes */

struct revive_options {
	char *const *command;
	struct cli_rate restarts;
	uint64_t init_timeout, grace; /* us */
	size_t line_limit;
	bool verbose;
};

/* The agent's process. */
struct agent {
	struct endpoint pipes;     /* its standard output and input */
	struct report_source errors; /* its standard error */
	struct loop_child child;
	pid_t first;               /* the process id of the first agent, or 0 */
	bool ended;                /* the process has ended */
	int status;                /* of an ended process, as from waitpid */
	const char *killed_for;    /* why agent_kill ended it, or NULL */
	struct loop_timer half_closed;
	int unread;                /* a copy of an end of its input (io_copy_end), or -1 */
};

/* The settings of a session, as JSON: two strings, and the agent's list of options. An empty text: the setting is unknown. */
enum setting { SETTING_MODE, SETTING_MODEL, SETTING_OPTIONS, SETTINGS };

/* A session that the client has open. */
struct revive_session {
	struct buf id;             /* a JSON string */
	struct buf params;         /* of session/resume or session/load */
	struct buf settings[SETTINGS];
	size_t bytes;              /* that the session takes in memory */
	unsigned tries;            /* restorations in which the agent has died, and the one that runs */
	bool restored;             /* the present process of the agent has the session */
	bool running;              /* version 2: the agent works in the session */
	struct buf lost;           /* the reason why the session could not be restored, a text with a NUL; empty: it could */
	struct buf refusal;        /* the agent's error as it was restored, or empty */
	bool notified;             /* the client has been told that the session is lost */
	struct revive_session *prev, *next;
};

/* What a later process needs: how the client initialized the agent, how it authenticated, and its sessions. */
struct memory {
	struct revive_session *sessions; /* the least recently used first */
	size_t n, bytes;
	struct buf initialize;     /* the params of the client's initialize, once the agent has accepted them */
	struct buf login, login_method; /* the params and the method of the client's authentication; empty: there was none */
	bool resumes, loads;       /* the agent has session/resume, session/load */
	bool notices;              /* the client shows notices */
	bool version2;
};

/* How far the restoration by a new process has come. */
struct restore {
	enum { RESTORE_INITIALIZE, RESTORE_LOGIN, RESTORE_OPEN, RESTORE_SET, RESTORE_DONE } step;
	struct revive_session *session; /* the session that is being restored, or NULL */
	struct buf settings[SETTINGS];  /* its settings in the new process */
	size_t set;                /* how many of its settings, and then of its options, have been compared */
	struct buf id;             /* of acp-revive's own open request, or empty */
};

struct revive {
	const struct revive_options *options;
	struct loop *loop;
	struct report report;      /* our standard error */
	/* RUNNING: lines pass. RESTORING: a new process gets the sessions of the last one. OVER: the agent has ended for good. */
	enum { RUNNING, RESTORING, OVER } state;
	struct endpoint client;
	struct agent agent;
	bool (*agent_line)(void *revive, enum input_got, const struct line *); /* handles a line of the agent's standard output */
	struct requests *requests; /* that are open; owner: the params of a client's request, the own id of an agent's (allocated); or NULL */
	struct memory memory;
	struct restore restore;
	uint64_t asked;            /* how many ids acp-revive has made */
	struct {
		uint64_t processes;
		struct proc_deaths counted;
		const char *how;   /* the last death in words */
		char room[64];     /* for the words */
		struct buf reason; /* the data of the errors that fail requests */
	} deaths;
	struct buf waiting;        /* lines for the agent that wait for the end of the restoration */
	uint64_t piece_at;         /* how many bytes had been put before the line of the client that comes in pieces */
	bool skips;                /* that line goes nowhere: its process is gone */
	bool own;                  /* the line of the agent that comes in pieces is a response to acp-revive itself */
	struct request *responds_to; /* the request of that line, or of the whole one that is being handled; or NULL */
	struct loop_task settle;
	struct loop_timer timer;   /* of the restoration, or of the end */
	struct {
		bool begun;        /* the client has left, so the agent's input ends */
		bool failed;       /* writing to the client has failed: the status says so where the agent's is 0 */
		uint64_t moved;    /* bytes that had been read and written when the timer was started */
		int signals, status;
	} end;
};

static inline void
need(int r)
{
	if (r < 0)
		cli_die(EXIT_FAILED, revive_name, "out of memory");
}

/* To be called after something was read or written, or has ended: has `settle` decide what follows, before the loop waits again. */
static inline void
revive_changed(struct revive *r)
{
	loop_add_task(r->loop, &r->settle);
}

/* --- agent.c: the process of the agent --- */

/* Starts the agent, for the first time or again. False: the exit status is set, and the reason is on standard error. */
bool agent_start(struct revive *);
/* Sends a signal to the agent's process group. why: borrowed, for killed_for. */
void agent_kill(struct agent *, int signal, const char *why);
/* Appends what the ended agent has not read, from its pipe and the queue: it may begin and end within a line. */
void agent_get_unread(struct agent *, struct buf *to);
/* Kills the rest of the agent's process group, and closes its pipes. */
void agent_close(struct revive *);

/* --- memory.c: what is stored for a later process --- */

/* The params that memory_note_response needs of this request; p NULL: none. */
struct slice memory_params(const struct msg *request);
/* Stores what the agent's response to a request of the client says. params: the request's. */
void memory_note_response(struct memory *, const struct request *, struct slice params, const struct msg *response);
/* Stores what a session/update of the agent says. */
void memory_note_update(struct memory *, const struct msg *);
/* Copies the settings that the result of a request reports, from `first` on. */
void memory_read_settings(struct slice result, enum setting first, struct buf settings[SETTINGS]);
/* Makes the session that a message names the last used one. Returns the session if it is lost, so that the message must be refused. */
struct revive_session *memory_use_session(struct memory *, const struct msg *);
/* The value at a path of members, if it has this type; else p NULL. */
struct slice memory_get(struct slice object, const char *path, enum json_type);
void memory_free(struct memory *);

/* --- restore.c: gives a new process the sessions of the last one --- */

/* Sends a new process its first request. Returns how many sessions are to be restored. */
size_t restore_begin(struct revive *);
/* Handles the response to the request that was sent last, and sends the next. Returns whether everything is restored. */
bool restore_response(struct revive *, const struct msg *);
/* Appends a new id of acp-revive's own, a JSON string. */
void restore_put_id(struct revive *, struct buf *to);
void restore_free(struct restore *);

/* --- revive.c --- */

/* Runs until both sides have ended. Returns the exit status, after messages on standard error. */
int revive_run(const struct revive_options *);

#endif
