/*
 * recording: reads and writes recordings (acp-recording(5)). Reads, too, what others write: bare
 * newline-delimited messages, the Rust conductor's .jsons traces, and {"t","from","line"|"stderr"} lines.
 */
#ifndef RECORDING_H
#define RECORDING_H

#include <stdint.h>

#include "lib/acp.h"
#include "lib/bytes.h"
#include "lib/input.h"
#include "lib/json.h"

enum record_kind {
	RECORD_END,     /* no more */
	RECORD_HEADER,
	RECORD_MESSAGE, /* text is the line's own bytes, a CR included */
	RECORD_NOISE,   /* text as it was */
	RECORD_STDERR,  /* likewise */
	RECORD_EXIT,    /* status, or signal */
	RECORD_EOF,     /* from, torn */
	RECORD_LOST,    /* count, text: why */
	RECORD_OTHER,   /* an event that is not known: to be ignored */
	RECORD_BAD,     /* what can not be read: error and number say where; reading goes on behind it */
};

struct record {
	enum record_kind kind;
	uint64_t t;          /* us since the header's start */
	bool timed;          /* it had a time */
	enum acp_side from;
	struct slice text;   /* valid until the next record */
	struct slice raw;    /* the record's whole line */
	int status;          /* of RECORD_EXIT, -1 where signal is given */
	struct slice signal; /* "KILL" */
	uint64_t count;
	bool torn;           /* of RECORD_EOF; of RECORD_BAD: the torn last line of a crash */
	struct slice at;     /* the hop: JSON text (number or string), or p NULL */
	uint64_t number;     /* its line */
	struct json_error error;
	/* of RECORD_HEADER */
	double started;      /* seconds since 1970, or 0 where it does not say */
};

struct recording; /* a reader */

/* Reads from fd, which is taken over (a file, or any stream). hop: which hop of a recording that holds several, NULL for hop 0. NULL with errno. */
struct recording *recording_open(int fd, size_t limit, const char *hop);
/* The next record. Blocks. 0, or -1 with errno where reading fails. */
int recording_next(struct recording *, struct record *);
void recording_close(struct recording *);

/*
 * Append one record with its newline; t in us since the start. 0, or -1 out of memory. at is the
 * hop, or -1 for none. text without its newline.
 */
int recording_put_header(struct buf *, const char *by, char *const *command);
int recording_put_message(struct buf *, uint64_t t, int at, enum acp_side from, struct slice text);
/* Noise and stderr: as a string, or base64 where it is not UTF-8. */
int recording_put_noise(struct buf *, uint64_t t, int at, enum acp_side from, struct slice text);
int recording_put_stderr(struct buf *, uint64_t t, int at, enum acp_side from, struct slice text);
int recording_put_exit(struct buf *, uint64_t t, int at, int status); /* status as waitpid has it */
int recording_put_eof(struct buf *, uint64_t t, int at, enum acp_side from, bool torn);
int recording_put_lost(struct buf *, uint64_t t, int at, enum acp_side from, uint64_t count, const char *why);

#endif
