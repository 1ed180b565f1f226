/*
 * recording: reads and writes recordings (acp-recording(5)). Also reads, line by line, bare newline-delimited messages, the Rust
 * conductor's .jsons traces, and {"t","from","line"|"stderr"} lines.
 */
#ifndef RECORDING_H
#define RECORDING_H

#include <stdint.h>

#include "lib/acp/acp.h"
#include "lib/base/bytes.h"
#include "lib/json/json.h"
#include "lib/acp/msg.h"

enum record_kind {
	RECORD_END,     /* there are no more records */
	RECORD_HEADER,
	RECORD_MESSAGE, /* text: the line's own bytes, with its CR; msg: the scanned text */
	RECORD_NOISE,   /* text */
	RECORD_STDERR,  /* text */
	RECORD_EXIT,    /* status, or signal */
	RECORD_EOF,     /* from, torn */
	RECORD_LOST,    /* count, from (if all came from one side), text: why */
	RECORD_RESTART, /* the agent was restarted; text: why, or p NULL */
	RECORD_OTHER,   /* an unknown event, which readers ignore */
	RECORD_BAD,     /* a malformed line: error and number say where; the next line can be read */
	RECORD_ERROR,   /* to a guest in a running chain: text says why a record of it was discarded */
};

/* One record. All slices are valid until the next record is read. */
struct record {
	enum record_kind kind;
	uint64_t t;          /* us since the start in the last header */
	bool timed;          /* the record has a time */
	enum acp_side from;
	bool guest;          /* of RECORD_MESSAGE: the response to a request that a guest sent into a running chain */
	struct slice text;
	struct slice raw;    /* the record's whole line */
	struct msg msg;      /* of RECORD_MESSAGE */
	int status;          /* of RECORD_EXIT; -1 if signal is set */
	struct slice signal; /* of RECORD_EXIT: "KILL", as it is recorded; or p NULL */
	uint64_t count;      /* of RECORD_LOST */
	bool torn;           /* of RECORD_EOF: the last line had no newline; of RECORD_BAD: it is such a line, and broken */
	struct slice at;     /* the hop: JSON text (number or string), or p NULL */
	uint64_t number;     /* of its line, from 1 */
	uint64_t offset;     /* of its line: bytes from the beginning of the file */
	struct json_error error; /* of RECORD_BAD: in the line; of RECORD_NOISE, if it was recorded as a message: in text */
	/* of RECORD_HEADER */
	double started;      /* seconds since 1970; 0: not known */
	bool continues;      /* the stream began before this recording */
	bool selected;       /* the recording has not all messages of the stream */
	/* of RECORD_OTHER */
	bool rotated;        /* the stream goes on in another recording */
};

struct recording; /* a reader */

extern const char recording_too_long[]; /* what is wrong with a RECORD_BAD whose line or message is beyond the limit */

/*
 * Makes a reader of a descriptor, which the reader closes. limit: bytes of a message at most. hop: the chosen hop, a number or a name,
 * which must last as long as the reader; NULL: hop 0. NULL with errno.
 */
struct recording *recording_open(int fd, size_t limit, const char *hop);
/*
 * From now on the reader replaces ${NAME} in messages by that variable of the environment, escaped for a JSON string, and $${NAME} by
 * ${NAME}. A record that names an unset variable is a RECORD_BAD.
 */
void recording_use_environment(struct recording *);
/* Reads the next record of the hop; waits for it. 0, or -1 with errno. */
int recording_next(struct recording *, struct record *);
/*
 * recording_of_lines makes a reader without a descriptor, for callers that find the lines; NULL out of memory. recording_line reads one
 * line, without its newline, whose bytes must last as long as the record. 0; 1: it has no record of the hop; -1 out of memory.
 */
struct recording *recording_of_lines(const char *hop, size_t limit);
int recording_line(struct recording *, struct slice line, uint64_t number, struct record *);
/*
 * After the end: does the recording lack the chosen hop? Then text says so, and names the hops that it has. found: the reader returned
 * messages.
 */
bool recording_missed(const struct recording *, bool found, struct buf *text);
void recording_close(struct recording *);
/* The status of a RECORD_EXIT in the form of waitpid's. A signal whose name is unknown here is PROC_SIGNAL_UNKNOWN. */
int recording_status(const struct record *);

enum {
	RECORDING_TIME = 32,          /* bytes of a time at most */
	RECORDING_AROUND = 64 * 1024, /* bytes of a record without its message at most */
};
/* Writes us as seconds with six decimals. Returns the end. */
char *recording_put_time(char *, uint64_t us);
/* Reads a JSON number of seconds as us, rounded down. False: it is no time, and *us is 0. */
bool recording_seconds(struct slice number, uint64_t *us);

/*
 * These functions append one record with its newline. t: us since the start. at: the hop, or -1. text: without its newline. 0, or -1 out
 * of memory; then the buffer is unchanged.
 */

/*
 * started: seconds since 1970, from which t counts; 0: not known. by: "acp-tap 0.1.0". command: the agent's, with NULL at the end; or
 * NULL. hops: the names of the hops, from 0 on, with NULL at the end; NULL: there is one hop.
 */
int recording_put_header(struct buf *, double started, const char *by, char *const *command, char *const *hops);
/* Adds "NAME":true to the header at the end of the buffer, unless it has that member. */
int recording_header_add(struct buf *, const char *name);
int recording_put_message(struct buf *, uint64_t t, int at, enum acp_side from, struct slice text);
/* For one guest: the response to its request. */
int recording_put_response(struct buf *, uint64_t t, int at, enum acp_side from, struct slice text);
/* A message that a guest has sent. */
int recording_put_by(struct buf *, uint64_t t, int at, enum acp_side from, uint64_t guest, struct slice text);
/*
 * A record without a message: noise, stderr or an event (RECORD_OTHER: "rotated"). Uses t, and the members that enum record_kind names.
 * status: as waitpid has it. Noise and stderr are written as a string, or as base64 if they are not UTF-8.
 */
int recording_put(struct buf *, int at, const struct record *);

#endif
