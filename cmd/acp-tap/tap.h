/* tap: what a stream and a recording have in common: which messages are written, and how. */
#ifndef TAP_H
#define TAP_H

#include "cmd/acp-tap/format.h"
#include "lib/redact/redact.h"
#include "lib/frame/frame_options.h"
#include "lib/run/out.h"
#include "lib/filter/select.h"

/* What the command line says. */
struct options {
	const struct format *format; /* NULL where it is not said */
	struct select *select;
	const char *match;           /* the last of --match */
	uint64_t count;              /* UINT64_MAX: no limit */
	bool number;                 /* -n */
	uint64_t start, until;       /* records; 0, UINT64_MAX: all */
	int fold;                    /* -1 where it is not said */
	bool redact, redact_texts;
	enum cli_color color;
	struct frame_options frame;
};

struct tap {
	const struct options *options;
	struct writer writer;
	struct out out;
	struct redact redact;
	uint64_t left;      /* records that may be written still */
	bool selective;
	bool muted;         /* what passes is looked at, and not written: before --start */
	uint64_t t;         /* of what passed last */
};

/* Prepares for the format given. 0, or -1 out of memory. */
int tap_open(struct tap *, const struct options *, const struct format *, int fold);
/* Frees what tap_open made; says what was redacted. */
void tap_close(struct tap *);
/* What the output begins with: appended to a buffer. 0, or -1 out of memory. */
int tap_header(struct tap *, struct buf *to, const struct heading *);
/* Takes what a format has appended to the output's buffer since it held `before` bytes; r < 0: it has failed to. */
void tap_taken(struct tap *, size_t before, int r);
/* Each message in turn. */
void tap_message(struct tap *, const struct message *);
void tap_event(struct tap *, struct event);
/* What was put off is written after all. */
void tap_rest(struct tap *);
/* May nothing more be written (-c)? */
bool tap_full(const struct tap *);

/* The two things that the tool does. Both return the exit status. */
int stream_run(const struct options *);
int files_run(const struct options *);

extern const char tap_name[]; /* "acp-tap" */

#endif
