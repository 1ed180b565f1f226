/*
 * format: an output format for transcripts. Each is one struct in a file of its own, with a row in the table of main.c. It gets the
 * transcript when everything has been read, and writes it through lib/run/out.h.
 */
#ifndef FORMAT_H
#define FORMAT_H

#include "cmd/acp-export/transcript.h"
#include "lib/run/out.h"

struct format {
	const char *name;
	/* Writes the transcript. chosen: the only session to write; NULL: all. Returns 0, or -1 when memory or the output has failed. */
	int (*write)(const struct transcript *, const struct session *chosen, struct out *);
};

extern const struct format format_html, format_markdown;

#endif
