/* tap: the part of acp-tap that streams and recordings share: it selects the messages and writes them. */
#ifndef TAP_H
#define TAP_H

#include "cmd/acp-tap/format.h"
#include "cmd/acp-tap/pretty.h"
#include "lib/redact/redact.h"
#include "lib/filter/select.h"

enum format_number { FORMAT_DEFAULT, FORMAT_RECORD, FORMAT_PRETTY, FORMAT_FULL, FORMAT_RAW, FORMAT_TRACE };

/* What the command line says. */
struct options {
	enum format_number format;   /* not the default, once all is read */
	struct select *select;
	const char *match;           /* the last of --match */
	uint64_t count;              /* UINT64_MAX: no limit */
	bool number;                 /* -n */
	uint64_t start, until;       /* records; 0, UINT64_MAX: all */
	int fold;                    /* 1: --fold; 0: --no-fold; -1: the default */
	enum redact_option redact;
	enum cli_color color;
	char *home;                  /* what --output auto stands for, or NULL */
	struct frame_options frame;
};

/* A request that opens a session, which its response names. */
struct opening {
	enum acp_side from;
	uint64_t t, number, line_number;
	bool timed;
	size_t n;
	char line[];
};

struct tap {
	const struct options *options;
	struct writer writer;
	struct watch *watch;
	struct redact redact;
	uint64_t left;      /* records that may still be written (-c) */
	bool selective;
	bool begun;         /* messages of the stream have passed */
	bool muted;         /* before --start: messages are read but not written */
	uint64_t t;         /* time of the last record, in microseconds */
	struct opening *opening; /* of the response that passes, or NULL */
};

/* Prepares for the format. 0, or -1 out of memory. */
int tap_open(struct tap *, const struct options *, struct watch *);
/* Appends the header of the output to a buffer. 0, or -1 out of memory. */
int tap_header(struct tap *, struct buf *to, const struct watch_start *);
/* Each message in turn. */
void tap_message(struct tap *, const struct message *, const struct session_message *);
void tap_event(struct tap *, struct record);
/* Reads a stream or recordings. Returns the exit status. */
int tap_run(const struct options *);

static const char tap_name[] = "acp-tap";

#endif
