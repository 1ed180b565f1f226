#ifndef TAP_H
#define TAP_H

#include "cmd/acp-tap/format.h"
#include "lib/filter/select.h"
#include "lib/redact/redact.h"

enum format_number { FORMAT_DEFAULT, FORMAT_RECORD, FORMAT_PRETTY, FORMAT_FULL, FORMAT_RAW, FORMAT_TRACE, FORMAT_TSV,
	FORMAT_JSON };

/* The options. */
struct options {
	enum format_number format;   /* after the options were read, not the default */
	struct select *select;
	const char *match;           /* the last --match */
	struct grep *grep;           /* or NULL */
	bool files;                  /* --files */
	uint64_t count;              /* UINT64_MAX: no limit */
	bool number;                 /* -n */
	bool list;
	uint64_t start, until;       /* records; 0, UINT64_MAX: all */
	int fold;                    /* 1: --fold; 0: --no-fold; -1: the default */
	enum redact_option redact;
	enum cli_color color;
	char *home;                  /* the path for --output auto; or NULL */
	struct frame_options frame;
};

/* list.c: --list: writes a line for each recording. Returns the exit status. */
int list_run(const struct options *);

static const char tap_name[] = "acp-tap";

/* tap.c: watches a stream or reads recordings. Returns the exit status. */
int tap_run(const struct options *);

#endif
