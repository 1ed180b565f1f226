/*
 * plan: the records that have been read and not yet played. The recording is read as it is needed, and what has been played is
 * forgotten, so that memory depends on how far the live side departs from the recorded order. Texts are not kept, only their
 * places in the file.
 *
 * Each message belongs to a conversation: its session's, or the one of all that has no session; an
 * response to that of its request. The order of the recording is kept within a conversation; between two
 * there is none. The client's part is a single conversation.
 */
#ifndef REPLAY_PLAN_H
#define REPLAY_PLAN_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

#include "lib/recording/script.h"
#include "lib/acp/requests.h"
#include "lib/filter/select.h"

/* A record of our side, to be sent. */
struct own {
	struct place place;
	uint64_t t;         /* us, as recorded */
	uint32_t number;    /* its record's line; 0: none */
	uint8_t kind;       /* RECORD_MESSAGE, RECORD_NOISE or RECORD_STDERR */
	bool names_session; /* a notification that names the session of its conversation */
	struct call *call;  /* of a request; or NULL */
};

struct conversation {
	UT_hash_handle hh;
	struct own *own; /* what we have to send, but for answers; [first, nown) */
	size_t first, nown, cap;
	struct cue *cues;      /* what the live side has to send, in its order */
	struct cue *pending;   /* its requests that have come and are not answered */
	struct cue *optional;  /* what may come, but nothing waits for it */
	uint64_t first_record; /* the number of its first record */
	bool open;             /* it has begun: the live side may know its session; else it is one of plan.unopened */
	struct conversation *prev, *next;
	bool opened_by_response; /* a response that has been read begins it */
	bool idle;               /* it counts in plan.idle */
	bool touched;            /* something of it may be due */
	struct conversation *next_touched;
	uint64_t live, recorded; /* us: when something of it happened last, and when that was recorded */
	struct slice session;    /* a JSON string with its quotes, p NULL for none; stored after the key */
	char key[];              /* the session, unescaped */
};

/* What the live side has to send: requests and notifications by kind, method and conversation. */
struct part {
	UT_hash_handle hh;
	struct cue *cues; /* by number */
	struct conversation *conversation;
	size_t nmethod; /* so many bytes of the key are kind and method */
	char key[];
};

/* A message that the live side has to send. */
struct cue {
	struct cue *prev, *next;    /* in its conversation */
	struct cue *before, *after; /* in its part */
	struct part *part;          /* of a request or notification, until it has come */
	struct conversation *conversation;
	struct conversation *opens; /* the one that its response begins */
	struct call *call;          /* of a response: what it answers */
	uint64_t number;            /* of its record */
	uint64_t t;
	struct place place;
	enum msg_kind kind;
	enum acp_method what;
	bool optional;  /* nothing waits for it: it is a spare one */
	bool ends_turn; /* the idle state after a prompt (v2) */
	bool arrived;
	bool forgotten;      /* it is forgotten, but for its recorded response, which is still to be read */
	struct own response; /* of a request; number 0: not read */
	/* of a request that has come */
	char *id; /* the live id */
	size_t nid;
};

/* A request of ours, from when it is read until both the live response has come and the recorded one is read. */
struct call {
	struct call *prev, *next;
	struct conversation *conversation;
	struct place place;
	struct cue *cue; /* the recorded response, from when it is read until the live one comes */
	bool answered;   /* by the live side */
	bool read;       /* the recorded response has been */
};

/* --start and --until. */
struct plan_range {
	uint64_t start, until; /* numbers of records; 0: not given */
	struct select *glob;   /* --until where it is no number, or NULL */
	bool endless;          /* the recorded ends of both sides do not matter */
};

enum plan_end {
	PLAN_GOES_ON,
	PLAN_END,        /* of the recording, or where --until says */
	PLAN_BAD,        /* a record that can not be read */
	PLAN_WE_LEAVE,   /* our side ends its output */
	PLAN_THEY_LEAVE, /* the live side does */
	PLAN_EXIT,       /* the recorded agent ends */
};

struct plan {
	struct script *script;
	enum acp_side us, them;
	const struct plan_range *range;
	enum plan_end end;                  /* it is read until here; what follows is read after plan_pass */
	struct record last;                 /* the record there, and after each plan_read */
	struct place place;                 /* where that lies */
	bool begun;                         /* a message has been read */
	bool ending;                        /* the record that --until says has been read */
	size_t held;                        /* cues, and records of ours */
	size_t idle;                        /* sessions that have begun and wait for nothing of the live side that has been read */
	size_t unread;                      /* requests that have come and whose response has not been read */
	struct conversation *conversations; /* by session */
	struct conversation *common;        /* that of no session */
	struct conversation *latest;        /* of the record before */
	struct conversation *unopened;      /* those that have not begun */
	struct part *parts;
	struct call *calls;
	struct requests *requests; /* recorded ones that are open; owner: their cue or call */
	struct buf key;
	struct buf prompted; /* as the client: the session whose turn goes on; empty where none does */
};

/* Is it a session/update that says that a turn is over (v2)? */
bool plan_is_idle(const struct msg *);

/* What plan_read has read. */
struct reading {
	struct conversation *conversation; /* that of own or cue; NULL: nothing to play */
	bool sender_unknown;               /* it is left out */
	struct own own;                    /* number 0: none; it is not in the plan: send it, or plan_keep it */
	struct cue *cue;                   /* what the live side has to send */
	struct cue *answered;              /* own is the response to this */
	struct slice text;                 /* of own; valid until the next reading */
	const struct msg *msg;             /* of own, where it is a message; likewise */
};

/* 0, or -1 with errno; close it in any case. script has to be open; it and the range have to stay. */
int plan_open(struct plan *, struct script *, const struct plan_range *, enum acp_side us);
void plan_close(struct plan *);
/* Reads the next record, if it goes on. 0, or -1 with errno. */
int plan_read(struct plan *, struct reading *);
/* Goes on after an end that is not that of the recording. */
void plan_pass(struct plan *);
/* From the beginning again: what has not been played is forgotten. 0, or -1 with errno. */
int plan_rewind(struct plan *);

/* 0, or -1 out of memory. */
int plan_keep(struct plan *, struct conversation *, const struct own *);
/* The first of what we have to send; NULL where there is none. plan_sent takes it away. */
const struct own *plan_first(const struct conversation *);
void plan_sent(struct plan *, struct conversation *);
/* Takes away those with numbers in (after, to]. */
void plan_drop_own(struct plan *, struct conversation *, uint64_t after, uint64_t to);

/* The conversation of a recorded session (a JSON string, or p NULL); NULL: there is none. */
struct conversation *plan_conversation(struct plan *, struct slice session);
/* All conversations, that of no session first: begin with NULL. NULL after the last. */
struct conversation *plan_next(const struct plan *, const struct conversation *);
/* The conversation has begun. */
void plan_begin(struct plan *, struct conversation *);
/* The parts of a live request or notification, in a conversation or (NULL) in any: begin with NULL. NULL after the last. */
struct part *plan_next_part(struct plan *, const struct msg *, const struct conversation *, const struct part *);
/* Is it a part of this message's kind and method, whatever the conversation? */
bool plan_is_part_of(struct plan *, const struct part *, const struct msg *);

/* It has come, or will not come: nothing waits for it. It stays valid until plan_forget. */
void plan_arrived(struct plan *, struct cue *);
/* Nothing waits for it, but it may come. */
void plan_relax(struct plan *, struct cue *);
/* Frees one that has come. */
void plan_forget(struct plan *, struct cue *);
/* Frees a request of ours where all is over. */
void plan_end_call(struct plan *, struct call *);

#endif
