/*
 * recording: reads and writes recordings (acp-recording(5)). Also reads what others write, recognized
 * line by line: bare newline-delimited messages, the Rust conductor's .jsons traces, and
 * {"t","from","line"|"stderr"} lines.
 */
#ifndef RECORDING_H
#define RECORDING_H

#include <stdint.h>

#include "lib/acp/acp.h"
#include "lib/base/bytes.h"
#include "lib/json/json.h"
#include "lib/acp/msg.h"

enum record_kind {
	RECORD_END,     /* no more */
	RECORD_HEADER,
	RECORD_MESSAGE, /* text is the line's own bytes, a CR included; msg has it scanned */
	RECORD_NOISE,   /* text as it was */
	RECORD_STDERR,  /* likewise */
	RECORD_EXIT,    /* status, or signal */
	RECORD_EOF,     /* from, torn */
	RECORD_LOST,    /* count, text: why */
	RECORD_RESTART, /* the agent was restarted; text: why, or p NULL */
	RECORD_OTHER,   /* an event that is not known: to be ignored */
	RECORD_BAD,     /* a line that cannot be read: error and number say where; reading continues after it */
	RECORD_ERROR,   /* to a guest in a running chain: why something that it sent is discarded: text */
};

/* One record. All slices are valid until the next. */
struct record {
	enum record_kind kind;
	uint64_t t;          /* us since the start of the last header */
	bool timed;          /* it had a time */
	enum acp_side from;
	bool guest;          /* of RECORD_MESSAGE: the response to a request that a guest sent into a running chain */
	struct slice text;
	struct slice raw;    /* the record's whole line */
	struct msg msg;      /* of RECORD_MESSAGE */
	int status;          /* of RECORD_EXIT; -1 if signal is set */
	struct slice signal; /* KILL */
	uint64_t count;      /* of RECORD_LOST */
	bool torn;           /* of RECORD_EOF; of RECORD_BAD: the torn last line of a crash */
	struct slice at;     /* the hop: JSON text (number or string), or p NULL */
	uint64_t number;     /* its line, 1 for the first */
	uint64_t offset;     /* of its line: bytes from the beginning */
	struct json_error error; /* of RECORD_BAD: in the line; of RECORD_NOISE, where it was written as a message: in text */
	/* of RECORD_HEADER */
	double started;      /* seconds since 1970, or 0 where it does not say */
	bool continues;      /* the stream began before it */
	bool selected;       /* not all messages of the stream are in the recording */
	/* of RECORD_OTHER */
	bool rotated;        /* the stream goes on in another recording */
};

struct recording; /* a reader */

/*
 * Reads from fd, which is taken over (a file, or any stream), messages of at most limit bytes. hop: which hop of a
 * recording that holds several, a number or a name, kept and not copied; NULL for hop 0. NULL with errno.
 */
struct recording *recording_open(int fd, size_t limit, const char *hop);
/*
 * From now on ${NAME} in messages becomes what the environment has under that name, as it has to be
 * written in a JSON string ($${NAME} for itself); a record with a name that is not set is bad.
 */
void recording_use_environment(struct recording *);
/* The next record of the hop. Blocks. 0, or -1 with errno where reading fails or memory is out. */
int recording_next(struct recording *, struct record *);
/*
 * A reader without a descriptor, for callers that find the lines: recording_line reads one (its newline off), whose
 * bytes have to last as long as the record. number: the line's. 0; 1 where it holds no record of the hop; -1 out of
 * memory.
 */
struct recording *recording_of_lines(const char *hop);
int recording_line(struct recording *, struct slice line, uint64_t number, struct record *);
/*
 * All has been read; found: there were messages. Does the recording not have the hop that is asked for? Then the text says so, and which
 * it has.
 */
bool recording_missed(const struct recording *, bool found, struct buf *text);
void recording_close(struct recording *);
/* The status of RECORD_EXIT as waitpid has it; signals that have no name here count as none. */
int recording_status(const struct record *);

enum {
	RECORDING_TIME = 32,          /* bytes that are enough for a time */
	RECORDING_AROUND = 64 * 1024, /* bytes that a record may have beside its message */
};
/* Writes microseconds as seconds with six decimals; returns where it ends. */
char *recording_put_time(char *, uint64_t us);
/* Reads seconds, as us, rounded down. False where it is no time. */
bool recording_seconds(struct slice number, uint64_t *us);

/*
 * Append one record with its newline; t in us since the start. 0, or -1 out of memory and the
 * buffer as it was. at is the hop, or -1 for none. text without its newline.
 */

/*
 * started: seconds since 1970, what t counts from; 0 where that is not known. by: "acp-tap 0.1.0". command, NULL-terminated,
 * or NULL: what was started. hops, likewise: the hops' names, 0 first, where the recording holds several.
 */
int recording_put_header(struct buf *, double started, const char *by, char *const *command, char *const *hops);
/* Adds the member name, true, to the header that the buffer ends with, unless it has one of that name. */
int recording_header_add(struct buf *, const char *name);
int recording_put_message(struct buf *, uint64_t t, int at, enum acp_side from, struct slice text);
/* Noise and stderr: as a string, or base64 where it is not UTF-8. */
int recording_put_noise(struct buf *, uint64_t t, int at, enum acp_side from, struct slice text);
int recording_put_stderr(struct buf *, uint64_t t, int at, enum acp_side from, struct slice text);
int recording_put_exit(struct buf *, uint64_t t, int at, int status); /* status as waitpid has it */
int recording_put_eof(struct buf *, uint64_t t, int at, enum acp_side from, bool torn);
/* What only one reader gets: the response to its own request, and why something that it sent is discarded. */
int recording_put_response(struct buf *, uint64_t t, int at, enum acp_side from, struct slice text);
int recording_put_error(struct buf *, uint64_t t, int at, const char *why);
/* A message that this guest has sent. */
int recording_put_by(struct buf *, uint64_t t, int at, enum acp_side from, uint64_t guest, struct slice text);
/* why: plain text; p NULL: not known. */
int recording_put_restart(struct buf *, uint64_t t, int at, struct slice why);
int recording_put_rotated(struct buf *, uint64_t t, int at);
int recording_put_lost(struct buf *, uint64_t t, int at, enum acp_side from, uint64_t count, const char *why);

#endif
