/*
 * format: what acp-export writes. A format is one struct in a file of its own, with a row in the table of main.c. It gets the
 * whole transcript once all has been read; it appends to out_buf, marks, and prints (lib/run/out.h).
 */
#ifndef FORMAT_H
#define FORMAT_H

#include "cmd/acp-export/transcript.h"
#include "lib/run/out.h"

struct format {
	const char *name;
	/* chosen: the one session that is asked for, or NULL. 0, or -1 where memory or the output has failed. */
	int (*write)(const struct transcript *, const struct session *chosen, struct out *);
};

extern const struct format format_html, format_markdown;

#endif
