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
	struct own *prev, *next; /* of those that are kept, in their conversation */
	struct place place;
	uint64_t t;         /* us, as recorded */
	uint64_t number;    /* its record's line; 0: none */
	uint8_t kind;       /* RECORD_MESSAGE, RECORD_NOISE or RECORD_STDERR */
	bool names_session; /* a notification that names the session of its conversation */
	struct cue *response; /* of a request: what the live side has to send; or NULL */
};

struct conversation {
	UT_hash_handle hh;
	struct own *own;       /* what we have to send, but for answers */
	struct cue *cues;      /* what the live side has to send or may send, in its order */
	struct cue *needed;    /* the first of them that it has to send, or NULL */
	struct cue *pending;   /* its requests that have come and are not answered */
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

/*
 * A message that the live side has to send. Of a request of ours there is one from when that is read: the response, in no list and
 * with the number 0 until it is read, too.
 */
struct cue {
	struct cue *prev, *next; /* in its conversation */
	struct conversation *conversation;
	struct conversation *opens; /* the one that its response begins */
	uint64_t number; /* of its record; 0: in no list, and freed when the recorded response is read */
	uint64_t t;
	struct place place;
	struct place request;  /* of a response: what it answers */
	uint64_t method;       /* a digest */
	enum msg_kind kind;
	enum acp_method what;  /* of a response its request's */
	bool optional;         /* nothing waits for it */
	bool ends_turn;        /* the idle state after a prompt (v2) */
	bool arrived;
	struct own response;   /* to a request; number 0: not read */
	/* of a request that has come */
	char *id; /* the live id */
	size_t nid;
};

/* Requests or notifications of one method. */
struct wanted {
	enum msg_kind kind;
	uint64_t method;
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

/* What plan_read has read. */
struct reading {
	struct conversation *conversation; /* NULL: nothing to play */
	struct cue *cue;                   /* what the live side has to send; NULL: our side sends it */
	bool sender_unknown;               /* it is left out */
};

struct plan {
	struct script *script;
	enum acp_side us, them;
	const struct plan_range *range;
	enum plan_end end;                  /* it is read until here; what follows is read after plan_pass */
	struct record last;                 /* the record there, and after each plan_read */
	struct place place;                 /* where that lies */
	struct reading reading;             /* what that means */
	bool begun;                         /* a message has been read */
	bool ending;                        /* the record that --until says has been read */
	size_t held;                        /* cues, and records of ours */
	size_t idle;                        /* sessions that have begun and wait for nothing of the live side that has been read */
	size_t unread;                      /* requests that have come and whose response has not been read */
	struct conversation *conversations; /* by session */
	struct conversation *common;        /* that of no session */
	struct conversation *latest;        /* of the record before */
	struct conversation *unopened;      /* those that have not begun */
	struct requests *requests; /* recorded ones that are open; owner: their cue, or of ours that of the response */
	struct own *spare;         /* most are sent as soon as they have been read */
	struct buf key;
	struct buf prompted; /* as the client: the session whose turn goes on; empty where none does */
};

/* Is it a session/update that says that a turn is over (v2)? */
bool plan_is_idle(const struct msg *);

/* 0, or -1 with errno; close it in any case. script has to be open; it and the range have to stay. */
int plan_open(struct plan *, struct script *, const struct plan_range *, enum acp_side us);
void plan_close(struct plan *);
/* Reads the next record, if it goes on: reading. 0, or -1 with errno. */
int plan_read(struct plan *);
/* Goes on after an end that is not that of the recording. */
void plan_pass(struct plan *);
/* From the beginning again: what has not been played is forgotten. 0, or -1 with errno. */
int plan_rewind(struct plan *);

/* Takes away the first of what we have to send. */
void plan_sent(struct plan *, struct conversation *);
/* Takes away those with numbers in (after, to]. */
void plan_drop_own(struct plan *, struct conversation *, uint64_t after, uint64_t to);

/* The conversation of a recorded session (a JSON string, or p NULL); NULL: there is none. */
struct conversation *plan_conversation(struct plan *, struct slice session);
/* All conversations, that of no session first: begin with NULL. NULL after the last. */
struct conversation *plan_next(const struct plan *, const struct conversation *);
/* The conversation has begun. */
void plan_begin(struct plan *, struct conversation *);
/* What a live request or notification may be. */
struct wanted plan_wanted(struct plan *, const struct msg *);
bool plan_is_wanted(const struct wanted *, const struct cue *);
/* Those that have not come, in a conversation or (NULL) in any: begin with NULL. NULL after the last. */
struct cue *plan_next_wanted(const struct plan *, const struct wanted *, const struct conversation *, const struct cue *);

/* It has come, or will not come: nothing waits for it. A request stays valid until plan_forget; all else is freed. */
void plan_arrived(struct plan *, struct cue *);
/* Nothing waits for it, but it may come. */
void plan_relax(struct plan *, struct cue *);
/* Frees a request that has come. */
void plan_forget(struct plan *, struct cue *);

#endif
