/* tap: the part of acp-tap that streams and recordings share: it selects the messages and writes them. */
#ifndef TAP_H
#define TAP_H

#include "cmd/acp-tap/format.h"
#include "lib/redact/redact.h"
#include "lib/frame/frame_options.h"
#include "lib/run/out.h"
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
	struct frame_options frame;
};

struct tap {
	const struct options *options;
	struct writer writer;
	struct out out;
	struct redact redact;
	uint64_t left;      /* records that may still be written (-c) */
	bool selective;
	bool muted;         /* before --start: messages are read but not written */
	uint64_t t;         /* time of the last record, in microseconds */
};

/* Prepares for the format. 0, or -1 out of memory. */
int tap_open(struct tap *, const struct options *, int fold);
/* Frees everything, and reports what was redacted. */
void tap_close(struct tap *);
/* Appends the header of the output to a buffer. 0, or -1 out of memory. */
int tap_header(struct tap *, struct buf *to, const struct heading *);
/* Each message in turn. */
void tap_message(struct tap *, const struct message *);
void tap_event(struct tap *, struct record);
/* Writes what the format has delayed. */
void tap_rest(struct tap *);
/* Has the limit of -c been reached? */
bool tap_full(const struct tap *);

/* Reads a stream; reads files. Both return the exit status. */
int stream_run(const struct options *);
int files_run(const struct options *);

static const char tap_name[] = "acp-tap";

#endif
